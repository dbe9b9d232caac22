"""Harmonics on the globe."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vish.plots import style
from vish.plots.display import Display
from vish.sphere import HarmonicBasis

_GAP = 2.25  # between the centres of globes of radius 1


@dataclass
class HarmonicsDisplay(Display):
    """The harmonics of the ordinary sphere as globes: a row for each degree.

    A model of two inputs is a sum of these. Orange is negative, blue positive, white zero;
    each globe has its own scale. The last coordinate, in a model that of the bias, points up.

    Parameters
    ----------
    values : array of shape (n_harmonics, n_pixels, n_pixels)
        Of each harmonic, seen from afar; nan outside of the globe.
    degrees : array of shape (n_harmonics,)

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    globes_ : what was drawn

    Examples
    --------
    >>> from vish.plots import HarmonicsDisplay
    >>> display = HarmonicsDisplay.from_degree(2)
    >>> len(display.globes_)
    9
    """

    values: np.ndarray
    degrees: np.ndarray

    def __post_init__(self):
        largest = int(np.max(self.degrees))
        self.size = (1.0 + 0.95 * (2 * largest + 1), 0.3 + 0.95 * (largest + 1))

    @classmethod
    def from_degree(cls, degree=3, *, elevation=25.0, azimuth=30.0, n_pixels=120, ax=None):
        """Evaluate the harmonics up to a degree, and draw.

        Parameters
        ----------
        degree : int, default=3
            The largest.
        elevation, azimuth : float
            Where the eye is, in degrees.
        n_pixels : int, default=120
            Of a globe's diameter.
        ax : Axes, optional

        Returns
        -------
        HarmonicsDisplay
        """
        basis = HarmonicBasis(dimension=3, degree=degree)
        side = (np.arange(n_pixels) + 0.5) / n_pixels * 2 - 1
        right, up = (part.ravel() for part in np.meshgrid(side, side))
        seen = right**2 + up**2 <= 1
        towards = np.sqrt(1 - right[seen] ** 2 - up[seen] ** 2)
        directions = np.column_stack([right[seen], up[seen], towards]) @ _axes(elevation, azimuth)
        values = np.full((len(basis), n_pixels**2), np.nan)
        values[:, seen] = basis.evaluate(directions).T
        return cls(values.reshape(-1, n_pixels, n_pixels), basis.degrees).plot(ax)

    def _draw(self, ax):
        largest = int(np.max(self.degrees))
        self.globes_: list[Any] = []
        for degree in range(largest + 1):
            level = self.values[self.degrees == degree]
            for place, globe in enumerate(level):
                x, y = _GAP * (place - (len(level) - 1) / 2), -_GAP * degree
                reach = np.nanmax(np.abs(globe))
                drawn = ax.imshow(
                    globe, origin="lower", extent=(x - 1, x + 1, y - 1, y + 1),
                    cmap=style.two_sided(), vmin=-reach, vmax=reach, interpolation="bilinear",
                )  # fmt: skip
                outline = style.circle((x, y), 1.0)
                drawn.set_clip_path(ax.add_patch(outline))
                self.globes_.append(drawn)
        half = _GAP * (largest + 0.5)
        ax.set(
            xlim=(-half, half), ylim=(-_GAP * (largest + 0.5), _GAP / 2), aspect="equal",
            xticks=[], yticks=-_GAP * np.arange(largest + 1),
            yticklabels=np.arange(largest + 1), ylabel="degree",
        )  # fmt: skip
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)


def _axes(elevation, azimuth):
    """The eye's right, up and forward, in the coordinates of the sphere.  [3, 3]"""
    tilt, turn = np.deg2rad(elevation), np.deg2rad(azimuth)
    towards = [np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)]
    right = [-np.sin(turn), np.cos(turn), 0.0]
    return np.array([right, np.cross(towards, right), towards])
