"""The fit along one input, with its bands."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from vish.likelihoods import Gaussian
from vish.plots import asking, style
from vish.plots.display import Display


class Band(NamedTuple):
    """The range that holds a share of the observations, or the function itself."""

    label: str
    lower: np.ndarray
    upper: np.ndarray


@dataclass
class FitDisplay(Display):
    """The fit along one input, with bands: a model of one input, or a slice of many.

    Along a slice the other inputs stay at their medians, or are those of the rows themselves
    (`at="rows"`). The wide band is where `level` of new observations fall; the narrow one
    where the function itself lies, or, where noise is not simply added to a function (a
    warped target, for example), where half of new observations fall.

    Parameters
    ----------
    grid : array of shape (n_grid,)
        Values of the input.
    centre : array of shape (n_grid,)
        The predicted mean; the median where the noise is not simply added.
    bands : list of Band
        Widest first.
    name, target_name, centre_name, points_name : str
    points : pair of arrays, optional
        To draw: values of the input, and of the target.
    rug : array, optional
        Values of the input to mark at the foot of the picture: where there are data.
    note : str
        What was held fixed.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    line_, bands_, points_, rug_ : what was drawn

    See Also
    --------
    vish.plots.PredictedActualDisplay : All inputs at once.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import FitDisplay
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = VISHRegressor(degree=8).fit(X, np.sin(2 * X[:, 0]))
    >>> display = FitDisplay.from_estimator(model, X, np.sin(2 * X[:, 0]))
    >>> [band.label for band in display.bands]
    ['95 % of observations', '95 % for the function']
    """

    grid: np.ndarray
    centre: np.ndarray
    bands: list[Band]
    name: str = "x0"
    target_name: str = "y"
    centre_name: str = "mean"
    points: tuple[np.ndarray, np.ndarray] | None = None
    points_name: str = "data"
    rug: np.ndarray | None = None
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        feature=0,
        at="median",
        level=0.95,
        target=0,
        target_name=None,
        n_grid=200,
        max_points=2000,
        ax=None,
    ):
        """Predict along one input, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            With `predict_quantiles`, or `predict(X, return_std=True)`.
        X : array-like or frame of shape (n, D)
            Rows that set the range, the medians and the marks of where there are data.
        y : array-like of shape (n,) or (n, n_targets), optional
            Drawn as points where there is one input.
        feature : int or str, default=0
            The input along which to go.
        at : {"median", "rows"} or array-like of shape (D,), default="median"
            Where the other inputs are: at their medians; where they are in rows with like
            values of this input, over which predictions are pooled, so that inputs which
            belong together (a flight's departure and arrival) stay together; or at a row
            that is given.
        level : float, default=0.95
            Share of new observations in the wide band.
        target : int, default=0
            Which of several targets.
        target_name : str, optional
        n_grid : int, default=200
        max_points : int, default=2000
            Most rows drawn; a fixed random choice of more.
        ax : Axes, optional

        Returns
        -------
        FitDisplay
        """
        names, values = asking.input_names(estimator, X), asking.as_array(X)
        column = asking.input_index(feature, names)
        along = values[:, column]
        if y is not None and target_name is None:
            target_name = getattr(y, "name", None)
        shared: dict[str, Any] = {
            "name": names[column],
            "target_name": "y" if target_name is None else target_name,
        }
        y = None if y is None else np.asarray(asking.one_target(y, target), dtype=float)
        if isinstance(at, str) and at == "rows":
            return cls(**_pooled(estimator, X, along, y, level, target), **shared).plot(ax)
        alone = values.shape[1] == 1
        # Along a slice the rarest values would leave most of the picture empty of data.
        grid = asking.span(along, n_grid, whole=alone)
        rows, note = asking.held_fixed(values, n_grid, at)
        rows[:, column] = grid
        table = asking.like_fitted(estimator, rows)
        centre, centre_name, bands = _centre_and_bands(estimator, table, level, target)
        points = None
        if y is not None and alone:
            kept = asking.thinned(len(along), max_points)
            points = (along[kept], y[kept])
        return cls(
            grid=grid,
            centre=centre,
            bands=bands,
            centre_name=centre_name,
            points=points,
            rug=None if alone else asking.tenths(along),
            note="" if alone else note,
            **shared,
        ).plot(ax)

    def _draw(self, ax):
        self.points_ = self.rug_ = None
        self.bands_: list[Any] = []
        for band, alpha in zip(self.bands, (0.18, 0.40), strict=False):
            drawn = ax.fill_between(
                self.grid, band.lower, band.upper,
                color=style.BLUE, alpha=alpha, linewidth=0, label=band.label,
            )  # fmt: skip
            self.bands_.append(drawn)
        if self.points is not None:
            # Above the bands, so that no band hides them; below the line.
            (self.points_,) = ax.plot(
                *self.points, linestyle="none", marker="o", color=style.BLACK,
                markersize=2.5 if len(self.points[0]) > 200 else 4,
                alpha=0.35 if len(self.points[0]) > 200 else 0.7,
                markeredgewidth=0, label=self.points_name,
            )  # fmt: skip
        (self.line_,) = ax.plot(
            self.grid, self.centre, color=style.BLUE, linewidth=2, label=self.centre_name
        )
        if self.rug is not None:
            self.rug_ = style.rug(ax, self.rug)
        ax.margins(x=0.01)
        ax.set(xlabel=style.short(self.name, 60), ylabel=style.short(self.target_name, 60))
        style.say(ax, self.note)
        style.legend_below(ax, 3 if len(ax.get_legend_handles_labels()[0]) > 4 else 4)


def _pooled(estimator, X, along, y, level, target):
    """Predictions of rows with like values, pooled into one distribution for each bin."""
    asking.check_level(level)
    order = np.argsort(along, kind="stable")
    bins = np.array_split(order, np.clip(len(order) // 50, 1, 40))
    sample = [rows[asking.thinned(len(rows), 250)] for rows in bins]
    levels = (np.arange(80) + 0.5) / 80
    stated = asking.quantiles(estimator, asking.take(X, np.concatenate(sample)), levels, target)
    parts = np.split(stated, np.cumsum([len(rows) for rows in sample])[:-1])
    # Evenly spaced quantiles of every row, thrown together, are the mixture of the rows.
    wanted = [(1 - level) / 2, 0.25, 0.5, 0.75, (1 + level) / 2]
    low, lower, middle, upper, high = np.array([np.quantile(part, wanted) for part in parts]).T
    grid = np.array([along[rows].mean() for rows in bins])
    wide = Band(f"{100 * level:g} % of observations", low, high)
    return {
        "grid": grid,
        "centre": middle,
        "bands": [wide, Band("50 % of observations", lower, upper)],
        "centre_name": "median",
        "points": None if y is None else (grid, np.array([np.median(y[rows]) for rows in bins])),
        "points_name": "observed median",
        "rug": asking.tenths(along),
        "note": "rows with like values, other inputs as they are",
    }


def _centre_and_bands(estimator, table, level, target):
    """The line, its name and the bands, widest first."""
    asking.check_level(level)
    share, reach = f"{100 * level:g} %", ndtri((1 + level) / 2)
    ends = asking.quantiles(estimator, table, [(1 - level) / 2, (1 + level) / 2], target)
    wide = Band(f"{share} of observations", *ends.T)
    likelihood = getattr(estimator, "likelihood_", None)
    if isinstance(likelihood, Gaussian):
        latent = estimator.predict_latent(table, return_std=True)
        mean, std = (asking.one_target(part, target) for part in latent)
        return (
            mean,
            "mean",
            [wide, Band(f"{share} for the function", mean - reach * std, mean + reach * std)],
        )
    lower, middle, upper = asking.quantiles(estimator, table, [0.25, 0.5, 0.75], target).T
    return middle, "median", [wide, Band("50 % of observations", lower, upper)]
