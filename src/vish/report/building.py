"""The report, put together: evaluate a sample of rows, judge, draw, and write the page."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from vish.report import pictures, sections
from vish.report.controls import controls, somewhere
from vish.report.effects import effects
from vish.report.evaluation import Evaluation, evaluated
from vish.report.formula import formula
from vish.report.packing import packed
from vish.report.page import page, section
from vish.report.panel import panel
from vish.report.subject import Subject
from vish.report.verdict import Finding, Spectrum, findings, headline

SAMPLE_ROWS = 50_000
_CHECKED = 200  # rows at which the page's variances are compared with the model's


@dataclass(frozen=True, eq=False)
class Report:
    """A page, and what it says in short."""

    html: str
    headline: str
    findings: list[Finding]
    evaluation: Evaluation
    exact: bool  # whether the panel's bands are those of the model


def build(subject: Subject) -> Report:
    """The report on a model and rows with a known target."""
    estimator, classes = subject.estimator, getattr(subject.estimator, "classes_", None)
    raw = subject.table.raw(subject.columns)
    rows = subject.table.encode(raw)
    evaluation = evaluated(estimator, rows.inputs, subject.y, subject.target, subject.task)
    spectrum = pictures.spectrum_of(estimator)
    outside = {
        "rows": int(rows.outside.sum()),
        "of": len(rows.outside),
        "by_column": dict(Counter(rows.outside_by_column).most_common()),
        "same_count": subject.survey.n_rows == int(estimator.n_rows_seen_),
    }
    shares = Spectrum(spectrum.energy_share, spectrum.determined)
    found = findings(evaluation, shares, subject.task, outside)

    knobs = controls(subject.table, subject.columns)
    along = effects(estimator, subject.table, knobs, raw)
    checked = np.vstack([rows.inputs[:_CHECKED], somewhere(subject.table, knobs, _CHECKED)])
    model = formula(estimator, checked)
    names = [] if classes is None else [str(name) for name in classes]
    data = {
        "model": model,
        "columns": knobs,
        "task": subject.task,
        "classes": names,
        "target": subject.target,
        "span": _span(evaluation),
        "usual": _usual(rows.inputs),
    }
    order = [effect.name for effect in along]
    level, sentence = headline(found)
    parts = [
        sections.header(subject, evaluation),
        section("verdict", "Verdict", sections.verdict(level, sentence, found)),
        section("scores", "Scores", sections.scores(subject, evaluation)),
        section("what-if", "What if", panel(knobs, order, names, model)),
        section("calibration", "Calibration", sections.calibration(subject, evaluation)),
        section("effects", "Effects of the columns", sections.effects(subject, along)),
        section("degree", "Is the degree enough?", sections.degree(spectrum)),
        section("fit", "How it was learned", sections.fit(estimator)),
        section("data", "Data", sections.data(subject, outside)),
        section("reproduce", "To make this report again", sections.reproduce(subject)),
    ]
    title = f"{subject.target}: report on {subject.model}"
    body = f"{parts[0]}<main>{''.join(parts[1:])}</main>"
    exact = model["exact"] and not model["harmonics_only"]
    return Report(page(title, body, data), sentence, found, evaluation, exact)


def _span(evaluation: Evaluation) -> list[float]:
    """Where most observations lie: the panel's axis starts from it."""
    if "y" not in evaluation.columns:
        return [0.0, 1.0]
    return np.quantile(evaluation.columns["y"], [0.01, 0.99]).tolist()


def _usual(X: np.ndarray) -> dict[str, Any]:
    """How far from their centre rows lie, in their own units: what is farther is unlike them.

    In the page the distance of a row x is |root (x - centre)|.
    """
    centre = X.mean(axis=0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(X.T)) if len(X) > 1 else np.eye(len(X.T)))
    kept = values > 1e-9 * max(values[-1], 1e-300)
    root = vectors[:, kept].T / np.sqrt(values[kept])[:, None]
    distances = np.linalg.norm((X - centre) @ root.T, axis=1)
    limit = float(np.quantile(distances, 0.9995, method="higher"))
    return {"centre": centre.tolist(), "root": packed(root), "limit": limit}
