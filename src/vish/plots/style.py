"""One look for every picture: colours, lines and axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# Okabe and Ito (2008), Color universal design.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#6E6E6E"
NAVY = "#00395C"  # on blue
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
def axes(ax=None, size=(6.0, 4.2), n_panels: int = 1) -> Iterator:
    """Axes to draw on, new ones unless given, with our settings while drawing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'vish[plot]'") from error
    with plt.rc_context(_SETTINGS):
        if ax is None:
            figure: Any
            figure, ax = plt.subplots(ncols=n_panels, figsize=size, layout="constrained")
            figure.get_layout_engine().set(wspace=0.06)
        elif n_panels > 1 and np.shape(ax) != (n_panels,):
            raise ValueError(f"this picture has {n_panels} panels: give as many axes, in a list")
        yield ax


def sequential(name: str, *colours: str):
    """A colour map through these colours: in print darker is more."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, colours)


def blues():
    """From a pale to a dark blue."""
    return sequential("blues", "#DCEAF3", "#56A0CC", "#002F4B")


def two_sided():
    """From orange through white to blue, for what has a middle; in grey, blue is the darker."""
    return sequential("two_sided", "#F2B266", "#FFFFFF", "#3480B8")


def bar(drawn, ax, label: str):
    """The key of a colour map, beside its axes."""
    key = ax.figure.colorbar(drawn, ax=ax, label=label, pad=0.02)
    key.outline.set_visible(False)
    return key


def say(ax, note: str) -> None:
    """A remark above the axes: what was held fixed, for example."""
    if note:
        ax.set_title(note, loc="left", fontsize=9, color=GREY)


def circle(centre, radius: float):
    """An outline."""
    from matplotlib.patches import Circle

    return Circle(centre, radius, fill=False, edgecolor=GREY, linewidth=0.8)


def rug(ax, values):
    """Marks at the foot of the picture that show where there are data."""
    (marks,) = ax.plot(
        values, np.full(len(values), 0.012), linestyle="none", marker="|", color=BLACK,
        markersize=8, transform=ax.get_xaxis_transform(), label="tenths of the data",
        clip_on=False,
    )  # fmt: skip
    return marks


def legend_below(ax, n_columns: int) -> None:
    """A legend below the axes, where it covers nothing."""
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=n_columns,
        columnspacing=1.2, handlelength=1.6,
    )  # fmt: skip


def short(name: str, longest: int = 24) -> str:
    """A column's name as it fits beside a bar; `$` is not mathematics."""
    name = str(name)
    cut = name if len(name) <= longest else name[: longest - 1] + "…"
    return cut.replace("$", r"\$")


def percent(share: float) -> str:
    """0.9543 as '95.4 %'."""
    return f"{100 * share:.1f} %"
