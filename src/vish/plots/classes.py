"""Classes: where each is predicted, and whether stated probabilities come true."""

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import beta

from vish.metrics import events_and_probabilities, reliability_bins
from vish.plots import asking, style
from vish.plots.display import Display


@dataclass
class DecisionMapDisplay(Display):
    """Predicted probabilities over two inputs, with the boundary and the data.

    Two classes: the probability of the second as shades from orange to blue, and lines
    where it is 10, 50 and 90 %. More: the most probable class as a colour, paler where it
    is less sure. Other inputs stay at their medians.

    Parameters
    ----------
    x, y : array of shape (n_grid,)
        Values of the two inputs.
    probabilities : array of shape (n_grid, n_grid, n_classes)
        First index along y.
    classes : array of shape (n_classes,)
    names : pair of str
        Of the two inputs.
    points : tuple of three arrays, optional
        Both inputs and the class (its number) of rows to draw.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    map_, boundary_, points_ : what was drawn

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from vish.plots import DecisionMapDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> display = DecisionMapDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> display.probabilities.shape
    (150, 150, 2)
    """

    size = (5.8, 4.6)

    x: np.ndarray
    y: np.ndarray
    probabilities: np.ndarray
    classes: np.ndarray
    names: tuple[str, str] = ("x0", "x1")
    points: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    note: str = ""

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, features=(0, 1), n_grid=150, max_points=1000, ax=None
    ):
        """Predict on a grid, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba` and `classes_`.
        X : array-like or frame of shape (n, D)
            Rows that set the ranges and the medians.
        y : array-like of shape (n,), optional
            Classes of the rows, drawn as points.
        features : pair of int or str, default=(0, 1)
            The two inputs.
        n_grid : int, default=150
        max_points : int, default=1000
            Most rows drawn; a fixed random choice of more.
        ax : Axes, optional

        Returns
        -------
        DecisionMapDisplay
        """
        names, values = asking.input_names(estimator, X), asking.as_array(X)
        i, j = asking.input_pair(features, names)
        sides = [asking.padded_span(values[:, column], n_grid) for column in (i, j)]
        rows, note = asking.held_fixed(values, n_grid * n_grid)
        rows[:, i], rows[:, j] = (side.ravel() for side in np.meshgrid(*sides))
        stated = np.asarray(estimator.predict_proba(asking.like_fitted(estimator, rows)))
        points = None
        if y is not None:
            kept = asking.thinned(len(values), max_points)
            numbers = np.searchsorted(estimator.classes_, np.asarray(y)[kept])
            points = (values[kept, i], values[kept, j], numbers)
        return cls(
            x=sides[0],
            y=sides[1],
            probabilities=stated.reshape(n_grid, n_grid, -1),
            classes=np.asarray(estimator.classes_),
            names=(names[i], names[j]),
            points=points,
            note=note if values.shape[1] > 2 else "",
        ).plot(ax)

    def _draw(self, ax):
        ax.grid(visible=False)
        colours = self._two(ax) if len(self.classes) == 2 else self._many(ax)
        self.points_ = []
        for k, name in enumerate(self.classes):
            colour, marker = colours[k], style.MARKERS[k % 7]
            x, y = [], []
            if self.points is not None:
                which = self.points[2] == k
                x, y = self.points[0][which], self.points[1][which]
            drawn = ax.plot(
                x, y, linestyle="none", marker=marker, color=colour, markersize=5,
                markeredgecolor="white", markeredgewidth=0.5, label=style.short(name),
            )  # fmt: skip
            self.points_.extend(drawn)
        ax.set(
            xlim=self.x[[0, -1]], ylim=self.y[[0, -1]],
            xlabel=style.short(self.names[0], 50), ylabel=style.short(self.names[1], 50),
        )  # fmt: skip
        style.say(ax, self.note)
        if self.points is not None or len(self.classes) > 2:
            style.legend_below(ax, min(len(self.classes), 5))

    def _two(self, ax):
        stated = self.probabilities[..., 1]
        self.map_ = ax.pcolormesh(
            self.x, self.y, stated, cmap=style.two_sided(), vmin=0, vmax=1,
            shading="gouraud", rasterized=True,
        )  # fmt: skip
        self.boundary_ = ax.contour(
            self.x, self.y, stated, levels=[0.1, 0.5, 0.9], colors=style.BLACK,
            linewidths=[0.8, 1.8, 0.8], linestyles=["dotted", "solid", "dotted"],
        )  # fmt: skip
        style.bar(self.map_, ax, f"probability of {style.short(self.classes[1])}")
        return [style.VERMILLION, style.NAVY]

    def _many(self, ax):
        from matplotlib.colors import to_rgb

        colours = [style.CYCLE[k % 7] for k in range(len(self.classes))]
        winner, surest = self.probabilities.argmax(axis=2), self.probabilities.max(axis=2)
        # White at an even chance among all classes, three fifths of the colour when certain.
        even = 1 / len(self.classes)
        strength = 0.6 * ((surest - even) / (1 - even))[..., None]
        rgb = np.array([to_rgb(colour) for colour in colours])[winner]
        half_x, half_y = (self.x[1] - self.x[0]) / 2, (self.y[1] - self.y[0]) / 2
        self.map_ = ax.imshow(
            1 - strength * (1 - rgb), origin="lower", aspect="auto", interpolation="nearest",
            extent=(self.x[0] - half_x, self.x[-1] + half_x,
                    self.y[0] - half_y, self.y[-1] + half_y),
        )  # fmt: skip
        # How far each class leads the best of the others: its zero is a smooth boundary.
        self.boundary_ = []
        for k in range(len(self.classes)):
            others = np.delete(self.probabilities, k, axis=2).max(axis=2)
            lead = self.probabilities[..., k] - others
            if lead.min() < 0 < lead.max():
                self.boundary_.append(
                    ax.contour(self.x, self.y, lead, levels=[0], colors=style.BLACK, linewidths=1.2)
                )
        return colours


@dataclass
class ReliabilityDisplay(Display):
    """Whether stated probabilities come true: observed frequency against probability.

    Rows are sorted into bins by the probability that was stated; bars at the points are
    95 % intervals of the frequency. Two classes: of the second class. More: of the most
    probable class being right.

    Parameters
    ----------
    stated, observed : array of shape (n_bins,)
        Mean probability and frequency of each bin; nan for an empty one.
    counts : array of shape (n_bins,)
    event : str
        What was predicted.

    Attributes
    ----------
    error_ : float
        The expected calibration error.
    ax_, figure_ : Axes and Figure
    points_, diagonal_, counts_ : what was drawn

    See Also
    --------
    vish.metrics.expected_calibration_error

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from vish.plots import ReliabilityDisplay
    >>> X, y = make_moons(500, noise=0.3, random_state=0)
    >>> display = ReliabilityDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> int(display.counts.sum())
    500
    """

    size = (4.8, 4.6)

    stated: np.ndarray
    observed: np.ndarray
    counts: np.ndarray
    event: str = field(default="event")

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_bins=10, ax=None):
        """Predict, count, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba` and `classes_`.
        X, y : rows that the model has not seen, and their classes
        n_bins : int, default=10
        ax : Axes, optional

        Returns
        -------
        ReliabilityDisplay
        """
        stated, classes = np.asarray(estimator.predict_proba(X)), np.asarray(estimator.classes_)
        if len(classes) == 2:
            stated = stated[:, 1]
        return cls.from_predictions(y, stated, n_bins=n_bins, labels=classes, ax=ax)

    @classmethod
    def from_predictions(cls, y, probabilities, *, n_bins=10, labels=None, ax=None):
        """Count and draw probabilities predicted elsewhere.

        Parameters
        ----------
        y, probabilities, n_bins, labels
            As for `vish.metrics.expected_calibration_error`.
        ax : Axes, optional

        Returns
        -------
        ReliabilityDisplay
        """
        events, stated = events_and_probabilities(y, probabilities, labels)
        counts, observed, means = reliability_bins(events, stated, n_bins, np.ones(len(events)))
        event = "the most probable class"
        if np.ndim(probabilities) == 1:
            event = f"class {(np.unique(y) if labels is None else labels)[-1]}"
        return cls(means, observed, counts.astype(int), event).plot(ax)

    @property
    def error_(self):
        filled = self.counts > 0
        gaps = np.abs(self.observed - self.stated)[filled]
        return float(gaps @ self.counts[filled] / self.counts.sum())

    def _draw(self, ax):
        filled = self.counts > 0
        stated, observed, counts = (
            part[filled] for part in (self.stated, self.observed, self.counts)
        )
        edges = np.linspace(0, 1, len(self.counts) + 1)
        # Counts at the foot of the picture, the tallest a fifth of its height.
        self.counts_ = ax.stairs(
            0.2 * self.counts / self.counts.max(), edges, fill=True, color=style.SKY,
            alpha=0.5, label="rows",
        )  # fmt: skip
        (self.diagonal_,) = ax.plot(
            [0, 1], [0, 1], color=style.BLACK, linewidth=1, linestyle="--", label="calibrated"
        )
        # Clopper and Pearson's interval: right also for a bin of three rows.
        hits = np.round(observed * counts)
        low = np.where(hits > 0, beta.ppf(0.025, hits, counts - hits + 1), 0.0)
        high = np.where(hits < counts, beta.ppf(0.975, hits + 1, counts - hits), 1.0)
        self.points_ = ax.errorbar(
            stated, observed,
            yerr=np.maximum([observed - low, high - observed], 0), fmt="o-",
            color=style.BLUE, markersize=5, linewidth=1.5, elinewidth=1, label="observed",
            clip_on=False, zorder=3,
        )  # fmt: skip
        ax.set(
            xlim=(0, 1), ylim=(0, 1), aspect="equal",
            xlabel=f"predicted probability of {style.short(self.event, 40)}",
            ylabel="observed frequency",
            title=f"expected calibration error {style.percent(self.error_)}",
        )  # fmt: skip
        ax.legend(loc="upper left")
