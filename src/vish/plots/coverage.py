"""Whether bands hold what they promise, at every level."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from vish.plots import asking, style
from vish.plots.display import Display


@dataclass
class CoverageDisplay(Display):
    """Actual coverage of central bands against the nominal one, by level.

    Below the diagonal bands are too narrow (the model is too sure), above it too wide. The
    grey band is where 95 % of such shares fall by chance, one level at a time.

    Parameters
    ----------
    levels : array of shape (n_levels,)
        Nominal coverage, between 0 and 1.
    actual : array of shape (n_levels,)
        Share of rows inside their band of that level.
    n_rows : int

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    line_, chance_, diagonal_ : what was drawn

    See Also
    --------
    vish.plots.CalibrationDisplay : Quantiles one by one: also shows bands that are shifted.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import ndtri
    >>> from vish.plots import CoverageDisplay
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> levels = np.array([0.5, 0.95])
    >>> reach = np.tile(ndtri((1 + levels) / 2), (1000, 1))
    >>> display = CoverageDisplay.from_bands(y, -reach, reach, levels)
    >>> display.actual
    array([0.512, 0.96 ])
    """

    levels: np.ndarray
    actual: np.ndarray
    n_rows: int

    size = (4.8, 4.6)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, levels=None, target=0, ax=None):
        """Predict bands, count, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            With `predict_quantiles`, or `predict(X, return_std=True)`.
        X, y : rows that the model has not seen, and what was observed
        levels : array-like, optional
            Of the bands; 5 %, 10 %, ..., 95 % and 99 % by default.
        target : int, default=0
            Which of several targets.
        ax : Axes, optional

        Returns
        -------
        CoverageDisplay
        """
        levels = [*(np.arange(1, 20) / 20), 0.99] if levels is None else levels
        levels = np.asarray(levels, dtype=float)
        for level in levels.tolist():
            asking.check_level(level)
        both = np.concatenate([(1 - levels) / 2, (1 + levels) / 2])
        lower, upper = np.split(asking.quantiles(estimator, X, both, target), 2, axis=1)
        return cls.from_bands(asking.one_target(y, target), lower, upper, levels, ax=ax)

    @classmethod
    def from_bands(cls, y, lower, upper, levels, *, ax=None):
        """Count and draw bands predicted elsewhere.

        Parameters
        ----------
        y : array-like of shape (n,)
        lower, upper : array-like of shape (n, n_levels)
        levels : array-like of shape (n_levels,)
        ax : Axes, optional

        Returns
        -------
        CoverageDisplay
        """
        y, lower, upper, levels = (np.asarray(a, dtype=float) for a in (y, lower, upper, levels))
        for name, ends in (("lower", lower), ("upper", upper)):
            if ends.shape != (len(y), len(levels)):
                raise ValueError(
                    f"{name} has shape {ends.shape}: give ({len(y)}, {len(levels)}), a column per "
                    "level"
                )
        inside = (y[:, None] >= lower) & (y[:, None] <= upper)
        return cls(levels, inside.mean(axis=0), len(y)).plot(ax)

    def _draw(self, ax):
        levels = np.concatenate([[0.0], self.levels, [1.0]])
        low, high = (binom.ppf(tail, self.n_rows, levels) / self.n_rows for tail in (0.025, 0.975))
        self.chance_ = ax.fill_between(
            levels, low, high, color=style.GREY, alpha=0.3, linewidth=0, label="by chance"
        )
        (self.diagonal_,) = ax.plot(
            [0, 1], [0, 1], color=style.BLACK, linewidth=1, linestyle="--", label="as promised"
        )
        (self.line_,) = ax.plot(
            self.levels, self.actual, color=style.BLUE, linewidth=1.5, marker="o", markersize=4,
            label="actual", clip_on=False, zorder=3,
        )  # fmt: skip
        at = int(np.argmin(np.abs(self.levels - 0.95)))
        ax.set(
            xlim=(0, 1), ylim=(0, 1), aspect="equal",
            xlabel="nominal coverage of the band", ylabel="share of observations inside",
            title=f"the {100 * self.levels[at]:g} % band covers {style.percent(self.actual[at])}",
        )  # fmt: skip
        ax.legend(loc="upper left")
