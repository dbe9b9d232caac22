"""Whether to trust the model on these rows, in plain words, and what to do where not."""

from typing import Any, NamedTuple

import numpy as np

from vish.report.evaluation import Evaluation

GOOD, NOTE, WARNING = "good", "note", "warning"
_FEW_ROWS, _TOO_FEW_ROWS = 200, 30
_MANY_OUTSIDE = 0.02
_SURE = 3.0  # standard errors beyond which a difference is no accident


class Finding(NamedTuple):
    """One thing that was found."""

    level: str
    title: str
    advice: str


class Spectrum(NamedTuple):
    """Shares by degree, as `vish.plots.SpectrumDisplay` has them."""

    energy: np.ndarray
    determined: np.ndarray


def findings(
    evaluation: Evaluation, spectrum: Spectrum, task: str, outside: dict[str, Any]
) -> list[Finding]:
    """All findings, warnings first."""
    found = [
        *(_chances(evaluation) if task == "classification" else _bands(evaluation, task)),
        *_against_simple(evaluation, task),
        *_outside(outside),
        *_degree(spectrum),
        *_rows(evaluation, outside),
    ]
    order = {WARNING: 0, NOTE: 1, GOOD: 2}
    return sorted(found, key=lambda finding: order[finding.level])


def headline(found: list[Finding]) -> tuple[str, str]:
    """The level of the whole, and one sentence."""
    warnings = [finding for finding in found if finding.level == WARNING]
    if not warnings:
        notes = any(finding.level == NOTE for finding in found)
        text = "On rows like these, the predictions and their uncertainty can be used"
        return GOOD, text + ("; mind the notes." if notes else ".")
    if len(warnings) == 1:
        return WARNING, "Use it with care: there is one warning."
    return WARNING, f"Use it with care: there are {len(warnings)} warnings."


def _percent(share: float, error: float | None = None) -> str:
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text} %" if error is None else f"{text} ± {100 * error:.1f} %"


def _bands(evaluation: Evaluation, task: str) -> list[Finding]:
    widest = evaluation.scores["coverage"][-1]
    covered, error = widest["covered"], widest["error"]
    title = f"The 95 % band covers {_percent(covered)} of the rows"
    slack = max(_SURE * error, 0.015)
    if covered < 0.95 - slack:
        other = (
            "--likelihood negative-binomial"
            if task == "count"
            else "--likelihood warped, student-t or auto-noise"
        )
        return [
            Finding(
                WARNING,
                title + ": it is too narrow",
                "The model is surer than it should be. Either these rows are unlike those it "
                "learned from (then learn from rows like these, with vish update or a new fit), or "
                f"the noise has another shape (then fit with {other}). Until then, read a 95 % "
                f"band as a {_percent(covered)} band.",
            )
        ]
    # A band of whole numbers cannot be as narrow as it should.
    if covered > 0.95 + max(_SURE * error, 0.02) and task != "count":
        return [
            Finding(
                NOTE,
                title + ": it is wider than it needs to be",
                "Nothing breaks, but the model is less sure than it could be. A likelihood with "
                "heavier tails (--likelihood warped or student-t) often gives narrower bands.",
            )
        ]
    shape = _shape(evaluation, task)
    return shape or [
        Finding(GOOD, title, "What is said to be uncertain is as uncertain as it is said.")
    ]


def _shape(evaluation: Evaluation, task: str) -> list[Finding]:
    """Whether narrower bands are right too: where not, the noise has another shape."""
    bands = evaluation.scores["coverage"][:-1]
    worst = max(bands, key=lambda band: abs(band["covered"] - band["stated"]))
    gap = worst["covered"] - worst["stated"]
    if abs(gap) <= max(_SURE * worst["error"], 0.05) or task == "count":
        return []
    stated = _percent(worst["stated"])
    side = "wide" if gap > 0 else "narrow"
    return [
        Finding(
            WARNING if abs(gap) > 0.1 else NOTE,
            f"The {stated} band covers {_percent(worst['covered'])} of the rows: it is too {side}",
            "The 95 % band is about right, but the noise does not have the shape that the model "
            "assumes; often its tails are heavier. Fit with --likelihood warped or student-t.",
        )
    ]


def _chances(evaluation: Evaluation) -> list[Finding]:
    gap, n = evaluation.scores["calibration_error"], evaluation.n_rows
    chance = 0.4 * np.sqrt(10 / n)  # of ten bins of a calibrated model, about
    title = f"Stated probabilities are off by {_percent(gap)} on average"
    if gap > 0.03 + chance:
        return [
            Finding(
                WARNING,
                title,
                "A stated 80 % does not come true in 80 % of the rows. Either these rows are "
                "unlike those it learned from, or the degree is too small: compare the reliability "
                "diagram, then fit with a larger --degree or more rows.",
            )
        ]
    return [Finding(GOOD, title, "Probabilities come true about as often as they say.")]


def _against_simple(evaluation: Evaluation, task: str) -> list[Finding]:
    gains = {name: evaluation.gain(name) for name in evaluation.baselines}
    name = min(gains, key=lambda baseline: gains[baseline][0])  # the best of them
    gain, error = gains[name]
    measure = "log loss" if task == "classification" else "NLPD"
    size = f"{measure} lower by {gain:.3g} ± {error:.1g}"
    if gain > 2 * error and gain > 0:
        return [Finding(GOOD, f"Better than {name}: {size}", "The curvature it learned is real.")]
    advice = (
        f"On these rows {name} would do: it is simpler and quicker. If you expected more, give "
        "the model more inputs, more rows, or a larger --max-features."
    )
    if gain < -2 * error:
        worse = f"{measure} higher by {-gain:.3g} ± {error:.1g}"
        return [Finding(WARNING, f"Worse than {name}: {worse}", advice)]
    return [Finding(WARNING, f"No better than {name}", advice)]


def _outside(outside: dict[str, Any]) -> list[Finding]:
    if not outside["rows"]:
        return []
    share = outside["rows"] / outside["of"]
    worst = ", ".join(f"{name} ({n:,})" for name, n in list(outside["by_column"].items())[:3])
    title = f"{_percent(share)} of the rows lie outside what the model has seen"
    if share <= _MANY_OUTSIDE:
        return [Finding(NOTE, title, f"By column: {worst}.")]
    return [
        Finding(
            WARNING,
            title,
            f"By column: {worst}. There it extrapolates, linearly and with wider bands; learn from "
            "such rows before relying on it.",
        )
    ]


def _degree(spectrum: Spectrum) -> list[Finding]:
    kept = np.flatnonzero(np.isfinite(spectrum.determined))  # degrees with any variance
    if len(kept) < 2:
        return []
    L, step = int(kept[-1]), int(kept[-1] - kept[-2])
    last, determined = float(spectrum.energy[L]), float(spectrum.determined[L])
    if L >= 2 and last > 0.05 and determined > 0.25:
        return [
            Finding(
                NOTE,
                f"The degree {L} may be too small",
                f"Its last degree still holds {_percent(last)} of the fit, and the data determine "
                f"{_percent(determined)} of it. Try --degree {L + step}, or a larger "
                "--max-features.",
            )
        ]
    return []


def _rows(evaluation: Evaluation, outside: dict[str, Any]) -> list[Finding]:
    found = []
    if evaluation.n_rows < _FEW_ROWS:
        found.append(
            Finding(
                WARNING if evaluation.n_rows < _TOO_FEW_ROWS else NOTE,
                f"Scores are from {evaluation.n_rows:,} rows only",
                "Mind the error bars; more rows with a known target make the verdict firmer.",
            )
        )
    if outside["same_count"]:
        found.append(
            Finding(
                NOTE,
                "These may be the rows that the model has learned from",
                "There are exactly as many. Scores of such rows flatter a model: report on rows "
                "that were held back.",
            )
        )
    return found
