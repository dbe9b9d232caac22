"""The sections of the page, as HTML: every text from outside is escaped here or in `page`."""

import math
import platform
import re
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np

from vish.report import pictures
from vish.report.effects import Effect
from vish.report.evaluation import Evaluation
from vish.report.page import figure, table
from vish.report.subject import Subject
from vish.report.verdict import Finding

_PICTURED = 6  # effects that get a picture
_LINKS = {
    "verdict": "Verdict", "scores": "Scores", "what-if": "What if", "calibration": "Calibration",
    "effects": "Effects", "degree": "Degree", "fit": "Fit", "data": "Data",
    "reproduce": "Reproduce",
}  # fmt: skip


def header(subject: Subject, evaluation: Evaluation) -> str:
    estimator = subject.estimator
    facts = {
        "rows learned from": f"{estimator.n_rows_seen_:,}",
        "rows scored": f"{evaluation.n_rows:,}",
        "inputs": f"{estimator.n_features_in_:,}",
        "degree": f"{estimator.degree_}",
        "harmonics": f"{estimator.n_harmonics_:,}",
    }
    cells = "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items())
    links = "".join(f'<li><a href="#{k}">{v}</a></li>' for k, v in _LINKS.items())
    kind = {"regression": "Regression", "classification": "Classification", "count": "Counts"}
    return (
        f"<header><h1>{escape(subject.target)}</h1>"
        f'<p class="quiet">{kind[subject.task]} by {escape(subject.model)}, on the rows of '
        f"{escape(subject.data)}</p><dl class='facts'>{cells}</dl>"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>'
    )


def verdict(level: str, sentence: str, found: list[Finding]) -> str:
    items = "".join(
        f'<li class="{f.level}"><span class="tag">{f.level}</span><h3>{escape(f.title)}</h3>'
        f"<p>{_with_options(f.advice)}</p></li>"
        for f in found
    )
    return f'<p class="headline {level}">{sentence}</p><ul class="findings">{items}</ul>'


def _with_options(text: str) -> str:
    """Plain text as HTML, options of the command in the letters of a command."""
    return re.sub(r"--[a-z-]+|vish [a-z]+\b", r'<code class="option">\g<0></code>', escape(text))


_MEANINGS = {
    "RMSE": "typical error, in the units of the target; lower is better",
    "MAE": "mean absolute error; lower is better",
    "R2": "share of the variance explained; higher is better",
    "NLPD": "minus the log density of what came true; lower is better, it judges the bands too",
    "accuracy": "share of rows whose most probable class is right",
    "log loss": "minus the log probability of what came true; lower is better",
    "Brier": "squared error of the probabilities; lower is better",
    "AUC": "chance that a row of the second class gets the higher probability",
}


def scores(subject: Subject, evaluation: Evaluation) -> str:
    models = {"this model": evaluation.scores, **evaluation.baseline_scores}
    names = list(evaluation.scores["scores"])
    rows = [
        [
            name.replace("R2", "R²"),
            *(_score(m["scores"].get(name)) for m in models.values()),
            _MEANINGS[name],
        ]
        for name in names
    ]
    simple = [name for name in models if name != "this model"]
    text = table(["", *models, ""], rows, set(range(1, 1 + len(models))))
    text = re.sub(r" (± [^<]*)</td>", r' <span class="error">\1</span></td>', text)
    meanings = "".join(
        f"<dt>{name.replace('R2', 'R²')}</dt><dd>{_MEANINGS[name]}</dd>" for name in names
    )
    text += (
        '<details class="meanings"><summary>What the scores mean</summary>'
        f"<dl>{meanings}</dl></details>"
    )
    n, total = evaluation.n_rows, subject.survey.n_rows
    sampled = (
        f", a random sample of {total:,}"
        if total > n + subject.survey.facts[subject.target].gaps
        else ""
    )
    note = (
        f"From {n:,} rows{sampled}; ± is one standard error. To compare, {' and '.join(simple)} "
        "learned from these same rows, each row predicted by a fit that has not seen it."
    )
    bands_covered = ""
    if "coverage" in evaluation.scores:
        bands = [
            [f"{100 * b['stated']:.0f} %", f"{100 * b['covered']:.1f} ± {100 * b['error']:.1f} %"]
            for b in evaluation.scores["coverage"]
        ]
        whole = "Bands end at whole numbers, and so cover more." if subject.task == "count" else ""
        covers = table(["band", "covers"], bands, {1}, whole)
        bands_covered = f'<div class="narrow later">{covers}</div>'
    return f'<p>{escape(note)}</p><div class="scores">{text}</div>{bands_covered}'


def _score(score: dict[str, float] | None) -> str:
    """Value and error, to the digit that the error lets stand."""
    if score is None or not math.isfinite(score["value"]):
        return "–"
    value, error = score["value"], score["error"]
    if not error or not math.isfinite(error):
        return f"{value:.4g}"
    digits = min(max(0, 1 - math.floor(math.log10(error))), 9)
    if abs(value) >= 1e7:
        return f"{value:.4g} ± {error:.2g}"
    return f"{value:z,.{digits}f} ± {error:,.{digits}f}"


def calibration(subject: Subject, evaluation: Evaluation) -> str:
    if subject.task == "classification":
        classes = subject.estimator.classes_
        text = (
            "Rows are sorted by the probability that was stated; on the diagonal it comes true as "
            "often as it says. Bars are 95 % intervals."
        )
        return (
            f'<div class="pictures">{figure(pictures.reliability(evaluation, classes), text)}</div>'
        )
    steps = " Counts are placed at random within their steps." if subject.task == "count" else ""
    curve = figure(
        pictures.calibration(evaluation),
        "The share of observations below each predicted quantile. On the diagonal, uncertainty is "
        "as large as it is said to be; steeper in the middle means bands that are too wide, "
        "flatter bands that are too narrow." + steps,
    )
    scatter = figure(
        pictures.predicted(evaluation, subject.target),
        "Predictions beside what came true: the line of means should follow the diagonal.",
    )
    return f'<div class="pictures">{curve}{scatter}</div>'


def effects(subject: Subject, along: list[Effect]) -> str:
    classes = getattr(subject.estimator, "classes_", None)
    several = classes is not None and len(classes) > 2
    text = (
        "A column is moved a little at a time, in rows that have such values, and the changes of "
        "the prediction are added up: what the column does by itself, columns that belong together "
        "kept together. " + ("" if several else "The band is where the average lies with 95 %. ")
    ) + "All on one scale; marks at the foot are tenths of the data. Largest effects first."
    shown = along[:_PICTURED]
    drawn = "".join(map(figure, pictures.effects(shown, subject.target, classes)))
    rest = ""
    if len(along) > _PICTURED:
        rows = [[effect.name, f"{effect.size:.3g}"] for effect in along]
        sizes = table(["column", "standard deviation of its effect"], rows, {1})
        rest = f'<div class="narrow later">{sizes}</div>'
    return f'<p>{text}</p><div class="pictures small">{drawn}</div>{rest}'


def degree(spectrum: Any) -> str:
    text = (
        "Variance of the prior and energy of the fit by degree. If the last degree still holds "
        "much of the fit and the data determine it, a larger degree may pay; if it holds little, "
        "or the data do not determine it, the degree is enough."
    )
    return f'<div class="pictures">{figure(pictures.spectrum(spectrum), text)}</div>'


def fit(estimator: Any) -> str:
    facts = [
        ["kernel", _rounded(repr(estimator.kernel_))],
        ["likelihood", _rounded(repr(estimator.likelihood_))],
        ["log evidence", f"{float(estimator.log_evidence_):,.2f}"],
    ]
    drawn = pictures.trace(estimator)
    if drawn is not None:
        seconds = sum(float(stage.seconds) for stage in estimator.fit_trace_)
        facts.append(["search", f"{len(estimator.fit_trace_)} stages, {seconds:.1f} s"])
        text = "Evidence after every stage of the search for hyperparameters; higher is better."
        drawn = f'<div class="pictures">{figure(drawn, text)}</div>'
    return table(["", ""], facts, set()) + (drawn or "")


def _rounded(text: str) -> str:
    """Five digits of every number."""
    return re.sub(r"\d+\.\d{5,}(?:e-?\d+)?", lambda found: f"{float(found[0]):.5g}", text)


def data(subject: Subject, outside: dict[str, Any]) -> str:
    facts, recipe = subject.survey.facts, subject.table.to_recipe()
    encodings = {encoding["name"]: encoding for encoding in recipe["encodings"]}
    rows = []
    for column in subject.table.columns_:
        name, encoding = column["name"], encodings.get(column["name"])
        here = facts.get(name)
        rows.append(
            [
                name,
                column["kind"],
                "" if encoding is None else _learned(encoding),
                "" if here is None else _range(here.low, here.high, column["kind"]),
                "" if here is None else f"{here.gaps:,}",
                "" if encoding is None else f"{outside['by_column'].get(name, 0):,}",
                column["note"],
            ]
        )
    headings = ["column", "kind", "when learned", "in these rows", "gaps", "outside", "note"]
    lost = facts[subject.target].gaps
    text = f"{subject.survey.n_rows:,} rows"
    text += f", of which {lost:,} have no {subject.target} and are left out" if lost else ""
    text += f". Rows outside are counted among {outside['of']:,}."
    return f"<p>{escape(text)}</p>{table(headings, rows, {4, 5})}"


def _learned(encoding: dict[str, Any]) -> str:
    if "levels" in encoding:
        return f"{len(encoding['levels']):,} levels"
    return _range(encoding["low"], encoding["high"], encoding["kind"])


def _range(low: float, high: float, kind: str) -> str:
    if kind == "boolean" or not (abs(low) < 1e300 and abs(high) < 1e300):
        return ""
    if kind == "date":
        return " to ".join(str(np.datetime64(int(end), "s"))[:10] for end in (low, high))
    if kind == "time":
        return " to ".join(f"{int(e // 3600):02d}:{int(e % 3600 // 60):02d}" for e in (low, high))
    return f"{low:.6g} to {high:.6g}"


def reproduce(subject: Subject) -> str:
    fitted = subject.header.get("versions", {})
    now = {name: version(name) for name in ("vish", "numpy", "scipy", "numba", "matplotlib")}
    now["python"] = platform.python_version()
    rows = [[name, fitted.get(name, "–"), now[name]] for name in now]
    versions = table(["", "when fitted", "for this report"], rows, set())
    parameters = subject.header.get("parameters", {})
    kept = ", ".join(f"{k}={v!r}" for k, v in parameters.items() if k not in ("verbose", "n_jobs"))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"<pre>{escape(subject.command)}</pre>"
        f"<p class='quiet'>Made on {made}. The model was fitted with {escape(kept)}.</p>"
        f'<div class="narrow">{versions}</div>'
    )
