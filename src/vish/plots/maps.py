"""Maps over two inputs: a surface, and beside it how sure it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vish.plots import asking, style
from vish.plots.display import Display


@dataclass
class SurfaceDisplay(Display):
    """The fit over two inputs: a map of the mean beside a map of its standard deviation.

    Other inputs stay at their medians, or at a row that is given. Data are drawn in the
    colour of what was observed, so that a point stands out where the fit misses it; on the
    right they show why the model is sure where it is.

    Parameters
    ----------
    x, y : array of shape (n_grid,)
        Values of the two inputs.
    mean, std : array of shape (n_grid, n_grid)
        First index along y.
    names : pair of str
        Of the two inputs.
    target_name, std_name : str
    points : tuple of three arrays, optional
        Both inputs and the target of rows to draw.
    note : str
        What was held fixed.

    Attributes
    ----------
    ax_ : pair of Axes
    figure_ : Figure
    maps_, points_ : what was drawn

    See Also
    --------
    vish.plots.PairEffectDisplay : The same, averaged over the other inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import SurfaceDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = VISHRegressor(degree=2, rank=None).fit(X, y)
    >>> display = SurfaceDisplay.from_estimator(model, X, y, n_grid=30)
    >>> display.mean.shape
    (30, 30)
    """

    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    names: tuple[str, str] = ("x0", "x1")
    target_name: str = "y"
    std_name: str = "standard deviation"
    points: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    note: str = ""

    size = (9.6, 4.2)
    n_panels = 2

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        features=(0, 1),
        at="median",
        std="observation",
        target=0,
        target_name=None,
        n_grid=80,
        max_points=300,
        ax=None,
    ):
        """Predict on a grid, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            With `predict(X, return_std=True)`.
        X : array-like or frame of shape (n, D)
            Rows that set the ranges and the medians.
        y : array-like of shape (n,) or (n, n_targets), optional
            Drawn as points where there are two inputs.
        features : pair of int or str, default=(0, 1)
            The two inputs.
        at : "median" or array-like of shape (D,), default="median"
            Where the other inputs are.
        std : {"observation", "function"}, default="observation"
            Of a new observation, noise included, or of the function itself: how much the
            data have left open.
        target : int, default=0
            Which of several targets.
        target_name : str, optional
        n_grid : int, default=80
        max_points : int, default=300
            Most rows drawn; a fixed random choice of more.
        ax : pair of Axes, optional

        Returns
        -------
        SurfaceDisplay
        """
        if std not in ("observation", "function"):
            raise ValueError(f"std is {std!r}: choose observation or function")
        names, values = asking.input_names(estimator, X), asking.as_array(X)
        i, j = asking.input_pair(features, names)
        sides = [asking.padded_span(values[:, column], n_grid) for column in (i, j)]
        rows, note = asking.held_fixed(values, n_grid * n_grid, at)
        rows[:, i], rows[:, j] = (side.ravel() for side in np.meshgrid(*sides))
        table = asking.like_fitted(estimator, rows)
        ask = estimator.predict if std == "observation" else estimator.predict_latent
        mean, spread = (
            asking.one_target(part, target).reshape(n_grid, n_grid)
            for part in ask(table, return_std=True)
        )
        alone, points = values.shape[1] == 2, None
        if y is not None:
            name = getattr(y, "name", None)
            target_name = name if target_name is None else target_name
            if alone:
                kept = asking.thinned(len(values), max_points)
                observed = np.asarray(asking.one_target(y, target), dtype=float)[kept]
                points = (values[kept, i], values[kept, j], observed)
        return cls(
            x=sides[0],
            y=sides[1],
            mean=mean,
            std=spread,
            names=(names[i], names[j]),
            target_name="y" if target_name is None else str(target_name),
            std_name=f"standard deviation of the {std}",
            points=points,
            note="" if alone else note,
        ).plot(ax)

    def _draw(self, ax):
        left, right = ax
        short = [style.short(name, 40) for name in self.names]
        shared = ends(self.mean, None if self.points is None else self.points[2])
        self.maps_ = [
            draw_map(left, self, self.mean, style.short(self.target_name, 40), "cividis", shared),
            draw_map(right, self, self.std, self.std_name, style.blues(), ends(self.std)),
        ]
        self.points_: list[Any] = []
        if self.points is not None:
            x, y, observed = self.points
            self.points_ = [
                left.scatter(
                    x, y, c=observed, cmap="cividis", vmin=shared[0], vmax=shared[1], s=18,
                    edgecolors="white", linewidths=0.6,
                ),
                right.scatter(x, y, color=style.ORANGE, s=6, linewidths=0),
            ]  # fmt: skip
        for panel in ax:
            panel.set(xlabel=short[0], ylabel=short[1])
        style.say(left, self.note)


def draw_map(ax, display, values, label, colours, limits):
    """A coloured map and its key."""
    ax.grid(visible=False)
    drawn = ax.pcolormesh(
        display.x, display.y, values, cmap=colours, vmin=limits[0], vmax=limits[1],
        shading="gouraud", rasterized=True,
    )  # fmt: skip
    style.bar(drawn, ax, label)
    return drawn


def ends(*parts):
    """Least and greatest value."""
    values = np.concatenate([np.ravel(part) for part in parts if part is not None])
    return values.min(), values.max()
