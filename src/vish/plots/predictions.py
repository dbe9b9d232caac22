"""Predictions beside what came true: values, and the uncertainty that was stated."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from vish.plots import asking, style
from vish.plots.display import Display

_FEW = 2000  # rows drawn one by one; more are counted in hexagons


@dataclass
class PredictedActualDisplay(Display):
    """Observed values against predicted ones.

    Few rows are drawn as points, many are counted in hexagons. The line of means (observed
    values averaged over rows with like predictions) follows the diagonal when predictions
    are right on average. Axes end at the 0.1 % and 99.9 % quantiles of many rows.

    Parameters
    ----------
    actual, predicted : array of shape (n,)
    target_name : str

    Attributes
    ----------
    bin_predicted, bin_actual : array
        The line of means.
    ax_, figure_ : Axes and Figure
    rows_, means_, diagonal_ : what was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from vish.plots import PredictedActualDisplay
    >>> y = np.linspace(0, 1, 50)
    >>> display = PredictedActualDisplay.from_predictions(y, y + 0.01)
    >>> display.ax_.get_xlabel()
    'predicted y'
    """

    size = (5.6, 4.6)

    actual: np.ndarray
    predicted: np.ndarray
    target_name: str = "y"

    def __post_init__(self):
        order = np.argsort(self.predicted, kind="stable")
        # Bins of equal count: each mean is as certain as the next.
        parts = np.array_split(order, np.clip(len(order) // 10, 1, 40))
        self.bin_predicted = np.array([self.predicted[part].mean() for part in parts])
        self.bin_actual = np.array([self.actual[part].mean() for part in parts])

    @classmethod
    def from_estimator(cls, estimator, X, y, *, target=0, target_name=None, ax=None):
        """Predict, and draw.

        Parameters
        ----------
        estimator : fitted regressor
        X, y : rows to predict, and what was observed
        target : int, default=0
            Which of several targets.
        target_name : str, optional
        ax : Axes, optional

        Returns
        -------
        PredictedActualDisplay
        """
        predicted = asking.one_target(estimator.predict(X), target)
        name = getattr(y, "name", None) if target_name is None else target_name
        return cls.from_predictions(
            asking.one_target(y, target), predicted, target_name=name, ax=ax
        )

    @classmethod
    def from_predictions(cls, y, predicted, *, target_name=None, ax=None):
        """Draw predictions made elsewhere.

        Parameters
        ----------
        y, predicted : array-like of shape (n,)
        target_name : str, optional
        ax : Axes, optional

        Returns
        -------
        PredictedActualDisplay
        """
        y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if y.shape != predicted.shape or y.ndim != 1 or not len(y):
            raise ValueError(
                f"y has shape {y.shape} and predicted {predicted.shape}: give one of each per row"
            )
        return cls(y, predicted, "y" if target_name is None else str(target_name)).plot(ax)

    def _draw(self, ax):
        many = len(self.actual) > _FEW
        x_ends, y_ends = (_ends(values, many) for values in (self.predicted, self.actual))
        if many:
            self.rows_ = ax.hexbin(
                self.predicted, self.actual, gridsize=60, bins="log", mincnt=1,
                extent=(*x_ends, *y_ends), cmap=style.blues(), linewidths=0.1,
            )  # fmt: skip
            style.bar(self.rows_, ax, "rows")
        else:
            (self.rows_,) = ax.plot(
                self.predicted, self.actual, linestyle="none", marker="o", markersize=4,
                color=style.BLUE, alpha=0.5, markeredgewidth=0, label="rows",
            )  # fmt: skip
        both = (max(x_ends[0], y_ends[0]), min(x_ends[1], y_ends[1]))
        (self.diagonal_,) = ax.plot(
            both, both, color=style.BLACK, linewidth=1, linestyle="--", label="equal"
        )
        (self.means_,) = ax.plot(
            self.bin_predicted, self.bin_actual, color=style.VERMILLION, linewidth=1.5,
            marker="o", markersize=4, label="mean of like predictions",
        )  # fmt: skip
        ax.set(
            xlim=x_ends, ylim=y_ends,
            xlabel=f"predicted {style.short(self.target_name, 50)}",
            ylabel=f"observed {style.short(self.target_name, 50)}",
        )  # fmt: skip
        ax.legend(loc="upper left")


def _ends(values, many):
    low, high = np.quantile(values, [0.001, 0.999]) if many else (values.min(), values.max())
    margin = 0.04 * (high - low) or 1.0
    return float(low - margin), float(high + margin)


@dataclass
class CalibrationDisplay(Display):
    """Whether stated uncertainty comes true: the share of rows below predicted quantiles.

    For a calibrated model the share of observations below the predicted quantile of level
    q is q. The grey band is where 95 % of such shares fall by chance, one level at a time.

    Parameters
    ----------
    levels : array of shape (n_levels,)
        Between 0 and 1, increasing.
    observed : array of shape (n_levels,)
        Share of rows at or below the quantile of each level.
    n_rows : int
    kind : {"curve", "pit"}
        What is drawn: observed shares against levels, or the histogram of their steps (the
        probability integral transform), flat for a calibrated model.

    Attributes
    ----------
    coverage_ : float
        Share of rows inside the central 95 % band.
    ax_, figure_ : Axes and Figure
    line_, chance_, diagonal_ : what was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = X[:, 0] + rng.normal(size=500)
    >>> model = VISHRegressor(degree=1).fit(X, y)
    >>> display = CalibrationDisplay.from_estimator(model, X, y)
    >>> bool(0.92 < display.coverage_ < 0.98)
    True
    """

    size = (4.8, 4.6)

    levels: np.ndarray
    observed: np.ndarray
    n_rows: int
    kind: str = "curve"

    @classmethod
    def from_estimator(cls, estimator, X, y, *, kind="curve", n_levels=39, target=0, ax=None):
        """Predict quantiles, count, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            With `predict_quantiles`, or `predict(X, return_std=True)`.
        X, y : rows that the model has not seen, and what was observed
        kind : {"curve", "pit"}, default="curve"
        n_levels : int, default=39
            Levels 1 / (n_levels + 1) and so on; 39 includes 2.5 % and 97.5 %.
        target : int, default=0
            Which of several targets.
        ax : Axes, optional

        Returns
        -------
        CalibrationDisplay
        """
        levels = np.arange(1, n_levels + 1) / (n_levels + 1)
        predicted = asking.quantiles(estimator, X, levels, target)
        return cls.from_quantiles(asking.one_target(y, target), predicted, levels, kind=kind, ax=ax)

    @classmethod
    def from_quantiles(cls, y, quantiles, levels, *, kind="curve", ax=None):
        """Count and draw quantiles predicted elsewhere.

        Parameters
        ----------
        y : array-like of shape (n,)
        quantiles : array-like of shape (n, n_levels)
        levels : array-like of shape (n_levels,)
            Increasing.
        kind : {"curve", "pit"}, default="curve"
        ax : Axes, optional

        Returns
        -------
        CalibrationDisplay
        """
        y, quantiles, levels = (np.asarray(part, dtype=float) for part in (y, quantiles, levels))
        if quantiles.shape != (len(y), len(levels)):
            raise ValueError(
                f"quantiles have shape {quantiles.shape}: give ({len(y)}, {len(levels)}), "
                "a column per level"
            )
        if np.any(np.diff(levels) <= 0) or levels[0] <= 0 or levels[-1] >= 1:
            raise ValueError("levels must increase, between 0 and 1")
        observed = (y[:, None] <= quantiles).mean(axis=0)
        return cls(levels, observed, len(y), kind).plot(ax)

    @property
    def coverage_(self):
        return float(np.diff(np.interp([0.025, 0.975], self._ends(0), self._ends(1)))[0])

    def _ends(self, which):
        return np.concatenate([[0.0], (self.levels, self.observed)[which], [1.0]])

    def _draw(self, ax):
        if self.kind not in ("curve", "pit"):
            raise ValueError(f"kind is {self.kind!r}: choose curve or pit")
        (self._curve if self.kind == "curve" else self._pit)(ax)

    def _curve(self, ax):
        low, high = (
            binom.ppf(tail, self.n_rows, self.levels) / self.n_rows for tail in (0.025, 0.975)
        )
        self.chance_ = ax.fill_between(
            self.levels, low, high, color=style.GREY, alpha=0.3, linewidth=0, label="by chance"
        )
        (self.diagonal_,) = ax.plot(
            [0, 1], [0, 1], color=style.BLACK, linewidth=1, linestyle="--", label="calibrated"
        )
        (self.line_,) = ax.plot(
            self.levels, self.observed, color=style.BLUE, linewidth=2, label="observed"
        )
        ax.set(
            xlim=(0, 1), ylim=(0, 1), aspect="equal",
            xlabel="level of the predicted quantile", ylabel="share of observations below it",
            title=f"the 95 % band covers {style.percent(self.coverage_)}",
        )  # fmt: skip
        ax.legend(loc="upper left")

    def _pit(self, ax):
        # Twenty bars, where there are levels for forty: bars of few rows are all noise.
        step = 2 if len(self.levels) == 39 else 1
        edges, shares = self._ends(0)[::step], np.diff(self._ends(1)[::step])
        widths = np.diff(edges)
        low, high = (binom.ppf(tail, self.n_rows, widths) / self.n_rows for tail in (0.025, 0.975))
        self.chance_ = ax.fill_between(
            edges, *(np.append(end / widths, end[-1] / widths[-1]) for end in (low, high)),
            step="post", color=style.GREY, alpha=0.3, linewidth=0, label="by chance",
        )  # fmt: skip
        ax.stairs(shares / widths, edges, fill=True, color=style.BLUE, alpha=0.2)
        self.line_ = ax.stairs(
            shares / widths, edges, color=style.BLUE, linewidth=1.8, label="observed"
        )
        self.diagonal_ = ax.axhline(
            1, color=style.BLACK, linewidth=1, linestyle="--", label="calibrated"
        )
        ax.set(
            xlim=(0, 1), ylim=(0, 1.25 * max(shares / widths)),
            xlabel="predicted probability of a value below the observed one",
            ylabel="density of rows",
            title=f"the 95 % band covers {style.percent(self.coverage_)}",
        )  # fmt: skip
        ax.legend(loc="upper center", ncols=3)
