"""One look for every picture: colours, lines and axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Okabe and Ito (2008), Color universal design.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#6E6E6E"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY, BLACK)
MARKERS = ("o", "^", "s", "D", "v", "P", "X")  # in print, shapes tell what colours cannot

_SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 10,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "savefig.dpi": 150,
    "xtick.color": GREY,
    "xtick.labelcolor": BLACK,
    "xtick.labelsize": 9,
    "ytick.color": GREY,
    "ytick.labelcolor": BLACK,
    "ytick.labelsize": 9,
}


@contextmanager
def axes(ax=None, size=(6.0, 4.2)) -> Iterator:
    """Axes to draw on, new ones unless given, with our settings while drawing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'vish[plot]'") from error
    with plt.rc_context(_SETTINGS):
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        yield ax


def short(name: str, longest: int = 24) -> str:
    """A column's name as it fits beside a bar; `$` is not mathematics."""
    name = str(name)
    cut = name if len(name) <= longest else name[: longest - 1] + "…"
    return cut.replace("$", r"\$")


def percent(share: float) -> str:
    """0.9543 as '95.4 %'."""
    return f"{100 * share:.1f} %"
