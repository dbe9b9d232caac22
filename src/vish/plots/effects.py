"""Effects of inputs on the prediction, averaged over the others, with their uncertainty."""

from dataclasses import dataclass

import numpy as np

from vish.plots import asking, maps, style
from vish.plots.averages import AverageEffect
from vish.plots.display import Display


@dataclass
class EffectDisplay(Display):
    """The effect of one input: predictions averaged over rows, with a band.

    Partial dependence: everything else of the rows stays as it is while the input moves. The
    band is where the average itself lies; it is wide where the data have not settled it.
    Where inputs belong together, moving one alone makes rows that do not exist:
    `FitDisplay.from_estimator(..., at="rows")` keeps them together.

    Parameters
    ----------
    grid : array of shape (n_grid,)
        Values of the input.
    effect, lower, upper : array of shape (n_grid,)
        The average and its band.
    name, target_name : str
    level : float
        Of the band.
    rug : array, optional
        Values of the input to mark at the foot of the picture: where there are data.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    line_, band_, rug_ : what was drawn

    See Also
    --------
    vish.plots.PairEffectDisplay : Of two inputs.
    vish.plots.FitDisplay : A slice, with the band of new observations.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import EffectDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> model = VISHRegressor(degree=3, rank=None).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> display = EffectDisplay.from_estimator(model, X, feature=0)
    >>> bool(abs(np.ptp(display.effect) - 1) < 0.1)
    True
    """

    grid: np.ndarray
    effect: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    name: str = "x0"
    target_name: str = "y"
    level: float = 0.95
    rug: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls, estimator, X, *, feature=0, level=0.95, target=None, target_name=None, n_grid=40,
        n_rows=200, ax=None,
    ):  # fmt: skip
        """Average predictions along one input, and draw.

        Parameters
        ----------
        estimator : fitted VISHRegressor or VISHClassifier
        X : array-like or frame of shape (n, D)
            Rows to average over; they set the range too.
        feature : int or str, default=0
            The input that moves.
        level : float, default=0.95
            Of the band.
        target : int, optional
            Which of several targets; of a classifier, the number of the class, the last by
            default.
        target_name : str, optional
        n_grid : int, default=40
        n_rows : int, default=200
            Most rows averaged over; a fixed random choice of more.
        ax : Axes, optional

        Returns
        -------
        EffectDisplay
        """
        asking.check_level(level)
        names, values = asking.input_names(estimator, X), asking.as_array(X)
        column = asking.input_index(feature, names)
        average = AverageEffect(estimator, values, target, n_rows)
        along = values[:, column]
        grid = asking.span(along, n_grid)
        centre, lower, upper = average.band([column], grid[:, None], level)
        return cls(
            grid=grid,
            effect=centre,
            lower=lower,
            upper=upper,
            name=names[column],
            target_name=average.name if target_name is None else str(target_name),
            level=level,
            rug=asking.tenths(along),
        ).plot(ax)

    def _draw(self, ax):
        self.band_ = ax.fill_between(
            self.grid, self.lower, self.upper, color=style.BLUE, alpha=0.3, linewidth=0,
            label=f"{100 * self.level:g} % for the average",
        )  # fmt: skip
        (self.line_,) = ax.plot(
            self.grid, self.effect, color=style.BLUE, linewidth=2, label="average over rows"
        )
        self.rug_ = None if self.rug is None else style.rug(ax, self.rug)
        ax.margins(x=0.01)
        ax.set(
            xlabel=style.short(self.name, 60),
            ylabel=f"average {style.short(self.target_name, 50)}",
        )
        style.legend_below(ax, 3)


@dataclass
class PairEffectDisplay(Display):
    """The joint effect of two inputs: predictions averaged over rows, and how sure they are.

    Everything else of the rows stays as it is while the two inputs move. The map on the right
    is the standard deviation of that average: what the data have left open about it.

    Parameters
    ----------
    x, y : array of shape (n_grid,)
        Values of the two inputs.
    effect, std : array of shape (n_grid, n_grid)
        First index along y.
    names : pair of str
        Of the two inputs.
    target_name : str

    Attributes
    ----------
    ax_ : pair of Axes
    figure_ : Figure
    maps_, contours_ : what was drawn

    See Also
    --------
    vish.plots.EffectDisplay : Of one input.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import PairEffectDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> model = VISHRegressor(degree=2, rank=None).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> display = PairEffectDisplay.from_estimator(model, X, features=(0, 1), n_grid=10)
    >>> bool(abs(display.effect[-1, -1] - 0.95) < 0.1)
    True
    """

    x: np.ndarray
    y: np.ndarray
    effect: np.ndarray
    std: np.ndarray
    names: tuple[str, str] = ("x0", "x1")
    target_name: str = "y"

    size = (9.6, 4.2)
    n_panels = 2

    @classmethod
    def from_estimator(
        cls, estimator, X, *, features=(0, 1), target=None, target_name=None, n_grid=20, n_rows=50,
        ax=None,
    ):  # fmt: skip
        """Average predictions on a grid, and draw.

        Parameters
        ----------
        estimator : fitted VISHRegressor or VISHClassifier
        X : array-like or frame of shape (n, D)
            Rows to average over; they set the ranges too.
        features : pair of int or str, default=(0, 1)
            The two inputs.
        target : int, optional
            Which of several targets; of a classifier, the number of the class, the last by
            default.
        target_name : str, optional
        n_grid : int, default=20
        n_rows : int, default=50
            Most rows averaged over; a fixed random choice of more.
        ax : pair of Axes, optional

        Returns
        -------
        PairEffectDisplay
        """
        names, values = asking.input_names(estimator, X), asking.as_array(X)
        i, j = asking.input_pair(features, names)
        sides = [asking.span(values[:, column], n_grid) for column in (i, j)]
        average = AverageEffect(estimator, values, target, n_rows)
        grid = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
        effect, std = (part.reshape(n_grid, n_grid) for part in average.moments([i, j], grid))
        name = average.name if target_name is None else str(target_name)
        return cls(sides[0], sides[1], effect, std, (names[i], names[j]), name).plot(ax)

    def _draw(self, ax):
        short = [style.short(name, 40) for name in self.names]
        label = f"average {style.short(self.target_name, 40)}"
        self.maps_ = [
            maps.draw_map(ax[0], self, self.effect, label, "cividis", maps.ends(self.effect)),
            maps.draw_map(
                ax[1], self, self.std, "its standard deviation", style.blues(), maps.ends(self.std)
            ),
        ]
        self.contours_ = None
        if np.ptp(self.effect) > 0:
            self.contours_ = ax[0].contour(
                self.x, self.y, self.effect, levels=6, colors="white", linewidths=0.8,
                linestyles="solid",
            )  # fmt: skip
        for panel in ax:
            panel.set(xlabel=short[0], ylabel=short[1])
