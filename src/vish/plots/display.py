"""What all pictures share: how they are drawn."""

from abc import ABC, abstractmethod
from typing import Any

from vish.plots import style


class Display(ABC):
    """A picture: a dataclass of its numbers, and a way to draw them.

    Attributes
    ----------
    ax_ : Axes, or an array of them where there are several panels
    figure_ : Figure
    """

    size: tuple[float, float] = (6.0, 4.2)  # of a new figure, in inches
    n_panels: int = 1  # side by side

    ax_: Any
    figure_: Any

    @abstractmethod
    def _draw(self, ax) -> None:
        """Draw on axes, and keep what was drawn in attributes."""

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default. A picture of two panels takes a pair.

        Returns
        -------
        self
        """
        with style.axes(ax, self.size, self.n_panels) as ax:
            self._draw(ax)
        self.ax_ = ax
        self.figure_ = ax.figure if self.n_panels == 1 else ax[0].figure
        return self
