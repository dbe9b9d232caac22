"""The pictures of a report, from the displays of `vish.plots`."""

from typing import Any

import numpy as np

from vish.plots import (
    CalibrationDisplay,
    EvidenceTraceDisplay,
    PredictedActualDisplay,
    ReliabilityDisplay,
    SpectrumDisplay,
    style,
)
from vish.report.effects import Effect
from vish.report.evaluation import LEVELS, Evaluation
from vish.report.svg import inline

_MOST_POINTS = 1500
_SIZE = (5.0, 4.0)


def _inline(display: Any, label: str, prefix: str, size: tuple[float, float] = _SIZE) -> str:
    import matplotlib.pyplot as plt

    display.figure_.set_size_inches(size)  # letters stay readable on a phone
    try:
        return inline(display.figure_, label, prefix)
    finally:
        plt.close(display.figure_)


def predicted(evaluation: Evaluation, target: str) -> str:
    """Observed against predicted values; of many rows, some."""
    y, mean = evaluation.columns["y"], evaluation.columns["mean"]
    kept = np.random.default_rng(0).permutation(len(y))[:_MOST_POINTS]
    kept = kept[np.isfinite(mean[kept])]
    display = PredictedActualDisplay.from_predictions(y[kept], mean[kept], target_name=target)
    return _inline(display, f"observed against predicted {target}", "predicted")


def calibration(evaluation: Evaluation) -> str:
    display = CalibrationDisplay(LEVELS, evaluation.shares_below, evaluation.n_rows).plot()
    display.ax_.set_title("")  # the verdict says it, and for discrete targets more exactly
    return _inline(display, "share of observations below predicted quantiles", "calibration")


def reliability(evaluation: Evaluation, classes: np.ndarray) -> str:
    codes, chances = evaluation.columns["code"], evaluation.columns["chances"]
    stated: Any = chances[:, 1] if len(classes) == 2 else chances
    display = ReliabilityDisplay.from_predictions(codes, stated, labels=np.arange(len(classes)))
    if len(classes) == 2:
        import matplotlib.pyplot as plt

        plt.close(display.figure_)
        display.event = f"class {classes[1]}"
        display.plot()
    return _inline(display, "frequency against stated probability", "reliability")


def spectrum_of(estimator: Any) -> SpectrumDisplay:
    """Shares by degree, all latent functions together."""
    description = estimator.description_
    return SpectrumDisplay(**description.levels()._asdict(), tail=description.tail)


def spectrum(display: SpectrumDisplay) -> str:
    return _inline(display.plot(), "variance of prior and fit by degree", "spectrum", (5.6, 4.0))


def trace(estimator: Any) -> str | None:
    if not list(getattr(estimator, "fit_trace_", [])):
        return None
    display = EvidenceTraceDisplay.from_estimator(estimator)
    with style.axes(display.ax_):
        style.legend_below(display.ax_, 5)
    return _inline(display, "evidence after every stage of the search", "trace")


def effects(found: list[Effect], target: str, classes: np.ndarray | None) -> list[str]:
    """Pictures of effects, on one scale: a small effect should look small."""
    values = np.concatenate(
        [np.concatenate([e.curves.ravel(), *_ends(e)]) for e in found] or [np.zeros(1)]
    )
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = 0.05 * (high - low) or 1.0
    ends = (low - margin, high + margin)
    return [_effect(effect, target, classes, ends, i) for i, effect in enumerate(found)]


def _ends(effect: Effect) -> list[np.ndarray]:
    return [end for end in (effect.lower, effect.upper) if end is not None]


def _effect(
    found: Effect,
    target: str,
    classes: np.ndarray | None,
    ends: tuple[float, float],
    number: int,
) -> str:
    """One column's effect: a line with its band, or points for the levels."""
    import matplotlib.pyplot as plt

    with style.axes(None, (4.0, 2.9)) as ax:
        if found.labels is None:
            _lines(ax, found, classes)
        else:
            _levels(ax, found, classes)
        ax.set_ylim(ends)
        several = classes is not None and len(classes) > 2
        if classes is not None and not several:
            ax.set_ylabel(f"probability of {style.short(classes[1])}")
        else:
            ax.set_ylabel("probability" if several else style.short(target, 30))
        if several:
            ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    figure = ax.figure
    try:
        return inline(figure, f"effect of {found.name}", f"effect{number}")
    finally:
        plt.close(figure)


def _lines(ax: Any, found: Effect, classes: np.ndarray | None) -> None:
    grid, tenths = found.grid, found.tenths
    if found.kind == "date":
        grid, tenths = ((v * 1e6).astype("datetime64[us]") for v in (grid, tenths))
    elif found.kind == "time":
        grid, tenths = grid / 3600, tenths / 3600
    if found.lower is not None:
        ax.fill_between(grid, found.lower, found.upper, color=style.BLUE, alpha=0.22, linewidth=0)
    for k, curve in enumerate(found.curves.T):
        label = None if classes is None else style.short(classes[k if len(classes) > 2 else 1])
        ax.plot(grid, curve, color=style.CYCLE[k % 7], linewidth=2, label=label)
    ax.plot(
        tenths, np.full(len(tenths), 0.012), linestyle="none", marker="|", color=style.BLACK,
        markersize=6, transform=ax.get_xaxis_transform(), clip_on=False,
    )  # fmt: skip
    ax.margins(x=0.01)
    if found.kind == "date":
        import matplotlib.dates as mdates

        locator = mdates.AutoDateLocator(minticks=3, maxticks=5)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator))
    else:
        ax.locator_params(axis="x", nbins=6)
    hours = " (hours)" if found.kind == "time" else ""
    ax.set_xlabel(style.short(found.name, 40) + hours)


def _levels(ax: Any, found: Effect, classes: np.ndarray | None) -> None:
    places = np.arange(len(found.grid))
    if found.lower is not None and found.upper is not None:
        ax.vlines(places, found.lower, found.upper, color=style.BLUE, alpha=0.45, linewidth=6)
    n = found.curves.shape[1]
    for k, curve in enumerate(found.curves.T):
        label = None if classes is None else style.short(classes[k if len(classes) > 2 else 1])
        ax.plot(
            places + (k - (n - 1) / 2) * 0.12, curve, linestyle="none",
            marker=style.MARKERS[k % 7], color=style.CYCLE[k % 7], markersize=4.5, label=label,
        )  # fmt: skip
    many = len(places) > 4 or max(len(label) for label in found.labels or [""]) > 9
    ax.set_xticks(
        places, [style.short(label, 14) for label in found.labels or []],
        rotation=40 if many else 0, ha="right" if many else "center", rotation_mode="anchor",
    )  # fmt: skip
    ax.set_xlim(-0.6, len(places) - 0.4)
    ax.grid(visible=False, axis="x")
    ax.set_xlabel(style.short(found.name, 40))
