"""The figures of the paper, drawn anew."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vish.paper.results import Record, latest
from vish.plots.style import BLUE, GREY, ORANGE, VERMILLION, axes

CAPTIONS = {
    "figure1.png": "Figure 1: a data set in one dimension, projected onto the circle",
    "figure2.png": "Figure 2: spherical harmonics of degrees 0 to 3",
    "figure3.png": "Figure 3: variance of the inducing variables of VFF in two dimensions",
    "figure4.png": "Figure 4: variance of the inducing variables of VISH",
    "figure5.png": "Figure 5: the banana with 9, 225 and 784 harmonics, and the bound",
}
FEATURES = 49  # of the selections in Figures 3 and 4


def draw_all(
    out: Path, data: str | None, records: list[Record], say: Callable[[str], None] = print,
    only: Sequence[str] | None = None,
) -> dict[str, str]:  # fmt: skip
    """Write the figures; names and captions of those that could be drawn."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn = {}
    for name, caption in CAPTIONS.items():
        if only is not None and name.removesuffix(".png") not in only:
            continue
        try:
            figure = _DRAW[name](data, records)
        except FileNotFoundError as error:
            say(f"{name} is not drawn: {error}")
            continue
        figure.savefig(out / name, dpi=150)
        plt.close(figure)
        drawn[name] = caption
    return drawn


# ---- Figure 1


def projection(data: Any = None, records: Any = None):
    """Rows (x, 1) and y, divided by r = |(x, 1)|, on the half circle; and the way back."""
    from vish import VISHRegressor

    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-2.2, 2.2, 24))
    y = 1.1 + 0.5 * np.sin(2.2 * x) + 0.25 * x + 0.06 * rng.standard_normal(len(x))
    model = VISHRegressor(
        degree=12, rank=None, relevance=np.ones(1), scaling=(np.zeros(1), np.ones(1))
    ).fit(x[:, None], y)
    grid = np.linspace(-2.6, 2.6, 300)
    mean = model.predict(grid[:, None])
    with axes(None) as flat:  # our settings, also for the axes in space
        figure = flat.figure
        flat.remove()
        figure.set_size_inches(7.4, 5.4)
        space = figure.add_subplot(projection="3d", computed_zorder=False)
    r, r_grid = np.hypot(x, 1), np.hypot(grid, 1)
    space.plot(grid, np.ones_like(grid), 0, color=GREY, lw=1)
    angle = np.linspace(0, np.pi, 200)
    space.plot(np.cos(angle), np.sin(angle), 0, color=ORANGE, lw=1, ls="--")
    for a, height in zip(x, y, strict=True):
        space.plot([0, a], [0, 1], [0, height], color=GREY, lw=0.35, alpha=0.7)
    space.plot(grid, np.ones_like(grid), mean, color=BLUE, lw=2, label="f(x) = r g")
    space.plot(
        grid / r_grid, 1 / r_grid, mean / r_grid, color=ORANGE, lw=2, label="g on the circle"
    )
    space.scatter(x, np.ones_like(x), y, color=GREY, s=20, label="rows (x, 1), y", depthshade=False)
    space.scatter(
        x / r, 1 / r, y / r, color=VERMILLION, s=20, marker="^", label="(x, 1) / r, y / r",
        depthshade=False,
    )  # fmt: skip
    space.scatter([0], [0], [0], color="black", s=12)
    space.set_xlabel("x")
    space.set_ylabel("bias")
    space.set_zlabel("y")
    space.set_yticks([0, 0.5, 1])
    space.set_zlim(0, 2.4)
    space.view_init(elev=24, azim=-62)
    space.set_box_aspect((2.2, 1.1, 1.1), zoom=1.0)
    space.legend(loc="upper left", ncols=2)
    return figure


# ---- Figure 2


def harmonics(data: Any = None, records: Any = None):
    """Colour and radius are the value; one row for each degree."""
    import matplotlib.pyplot as plt

    from vish.sphere import HarmonicBasis

    basis = HarmonicBasis(3, 3)
    polar, azimuth = np.meshgrid(np.linspace(0, np.pi, 37), np.linspace(0, 2 * np.pi, 73))
    directions = np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=-1
    )
    values = basis.evaluate(directions.reshape(-1, 3))
    figure = plt.figure(figsize=(9.0, 5.8), layout="constrained")
    colours, largest = plt.get_cmap("PuOr"), np.abs(values).max()
    for m, degree in enumerate(basis.degrees):
        place = m - degree**2  # 0..2l within the level
        # the first of eight columns is for the text
        ax = figure.add_subplot(4, 8, degree * 8 + 5 + place - degree, projection="3d")
        value = values[:, m].reshape(polar.shape)
        surface = np.abs(value)[..., None] * directions
        ax.plot_surface(
            *np.moveaxis(surface, -1, 0), facecolors=colours(0.5 + value / largest / 2), rstride=1,
            cstride=1, linewidth=0, antialiased=False,
        )  # fmt: skip
        reach = np.abs(value).max()
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
        ax.set_box_aspect((1, 1, 1), zoom=1.6)
        ax.set_axis_off()
    for degree in range(4):
        figure.text(0.01, 0.875 - 0.25 * degree, f"degree {degree}", va="center", fontsize=10)
    return figure


# ---- Figures 3 and 4


def variance_fourier(data: Any = None, records: Any = None):
    """Squares of the area of the prior variance; the first 7 x 7 products are what VFF takes."""
    from vish.paper.methods.fourier_features import Basis, MaternPrior

    n, shown = 60, 13
    # Variances of the coefficients, without the terms of the boundary; 1, cos, sin, cos 2, ...
    # The mean of cos² is a half: so much less variance has a coefficient of orthonormal features.
    cosines = 1 / MaternPrior(Basis(0, 2 * np.pi, n)).covariance(np.zeros(2)).diagonal[:n]
    cosines[1:] /= 2
    one = np.concatenate([cosines[:1], np.repeat(cosines[1:], 2)])
    variances = np.outer(one, one)
    side = round(np.sqrt(FEATURES))
    with axes(None, (5.4, 5.2)) as ax:
        _squares(ax, *np.divmod(np.arange(shown**2), shown), variances[:shown, :shown].ravel())
        ax.plot([-0.5, side - 0.5, side - 0.5], [side - 0.5, side - 0.5, -0.5], "--",
                color=VERMILLION, lw=1.6, label=f"the first {FEATURES}")  # fmt: skip
        kept = variances[:side, :side].sum() / variances.sum()
        best = np.sort(variances, axis=None)[::-1][:FEATURES].sum() / variances.sum()
        shares = f"{100 * kept:.1f} %, the best {100 * best:.1f} %"
        ax.set_title(f"VFF: the first {FEATURES} carry {shares}")
        ax.set_xlabel("i, of $\\psi_i(x_1)$")
        ax.set_ylabel("j, of $\\psi_j(x_2)$")
        ax.set_aspect("equal")
        ax.legend(loc="upper right")
    return ax.figure


def variance_harmonics(data: Any = None, records: Any = None):
    """The same on the sphere: the first 49 harmonics are the degrees 0 to 6."""
    from vish.kernels import Matern

    degree, shown, last = 100, 8, 6
    spectrum = Matern(1.5, 1.0).spectrum(dimension=3, degree=degree)
    levels = np.repeat(np.arange(degree + 1), 2 * np.arange(degree + 1) + 1)
    orders = np.concatenate([np.arange(-l, l + 1) for l in range(degree + 1)])
    variances = spectrum[levels]
    kept, seen = variances[:FEATURES].sum() / variances.sum(), levels <= shown
    with axes(None, (6.6, 4.3)) as ax:
        _squares(ax, orders[seen], levels[seen], variances[seen])
        top = last + 0.5
        ax.plot([-last - 1, last + 1, 0.7, -0.7, -last - 1], [top, top, -0.7, -0.7, top], "--",
                color=VERMILLION, lw=1.6, label=f"the first {FEATURES}")  # fmt: skip
        ax.set_title(f"VISH: the first {FEATURES} carry {100 * kept:.1f} %, and are the best")
        ax.set_xlabel("k, within the degree")
        ax.set_ylabel("degree $\\ell$")
        ax.set_xlim(-shown - 0.8, shown + 0.8)
        ax.set_aspect("equal")
        ax.legend(loc="lower right")
    return ax.figure


def _squares(ax, x, y, variances) -> None:
    """Squares whose area is the variance; the largest fills its cell."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    sides = 0.95 * np.sqrt(variances / variances.max())
    patches = [Rectangle((a - s / 2, b - s / 2), s, s) for a, b, s in zip(x, y, sides, strict=True)]
    ax.add_collection(PatchCollection(patches, facecolor=BLUE, edgecolor="none"))
    ax.set_xlim(-0.8, x.max() + 0.8)
    ax.set_ylim(-0.8, y.max() + 0.8)


# ---- Figure 5


def banana(data: str | None, records: list[Record]):
    """Maps of three fits, and the bound against M: from the results, as far as they are there."""
    import matplotlib.pyplot as plt

    from vish.paper import splits
    from vish.paper.methods.banana import spherical_model
    from vish.plots import DecisionMapDisplay

    rows = splits.banana(splits.data_folder(data))
    with axes(None) as spare:
        plt.close(spare.figure)
        figure, sides = plt.subplots(1, 4, figsize=(15.5, 3.9), layout="constrained")
    points = {}
    for degree, ax in zip((2, 14, 27), sides, strict=False):
        model = spherical_model(degree).fit(rows.X, rows.y.astype(int))
        DecisionMapDisplay.from_estimator(model, rows.X, rows.y.astype(int), ax=ax)
        ax.set_title(f"M = {model.n_harmonics_}, bound {model.log_evidence_:.1f}")
        points[int(model.n_harmonics_)] = float(model.log_evidence_)
    runs = [r for r in latest(records) if r["data"] == "banana" and r["status"] == "done"]
    for name, colour, marker, label in (
        ("vish-banana", BLUE, "o", "VISH"),
        ("vff-banana", ORANGE, "^", "VFF (another prior)"),
    ):
        found = {
            r["facts"]["M"]: r["scores"]["bound"] for r in runs if r["method"].startswith(name)
        }
        found |= points if name == "vish-banana" else {}
        if found:
            M = sorted(found)
            sides[3].plot(M, [found[m] for m in M], marker=marker, color=colour, label=label)
    sides[3].set_xscale("log")
    sides[3].set_xlabel("M")
    sides[3].set_title("bound on the log evidence")
    sides[3].legend(loc="lower right")
    return figure


_DRAW: dict[str, Callable] = {
    "figure1.png": projection,
    "figure2.png": harmonics,
    "figure3.png": variance_fourier,
    "figure4.png": variance_harmonics,
    "figure5.png": banana,
}
