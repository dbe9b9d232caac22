"""`vish evaluate`: scores with their standard errors, and whether probabilities come true."""

from typing import Any

import numpy as np

from vish.cli.bundle import load_bundle
from vish.cli.errors import BadInput, one_line
from vish.cli.rows import TableFiles
from vish.cli.talk import Talk
from vish.report.scores import BANDS, class_codes, class_scores, regression_scores

_LEVELS = [q for band in BANDS for q in ((1 - band) / 2, (1 + band) / 2)]


def evaluate(model: str, paths: list[str], target: str | None, talk: Talk) -> dict[str, Any]:
    """Scores of a model on rows with a target."""
    bundle, data = load_bundle(model), TableFiles(paths)
    wanted = bundle.require_target(target)
    estimator = bundle.estimator
    classes = getattr(estimator, "classes_", None)
    parts, outside = [], 0
    with talk.rows("evaluating", data.n_rows) as done, talk.warnings_as_notes():
        for rows in bundle.labelled(data, wanted, talk, False, done):
            outside += int(rows.outside.sum())
            try:
                if classes is None:
                    parts.append(_regression(estimator, rows.X, rows.y))
                else:
                    parts.append(_classes(estimator, rows.X, rows.y, wanted.name))
            except ValueError as error:
                raise BadInput(one_line(error)) from error
    if not parts:
        raise BadInput(f"{data.where} has no rows with a target: give at least one")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    with np.errstate(all="ignore"):  # a row far outside may be off by more than squares can hold
        scores = regression_scores(columns) if classes is None else class_scores(columns, classes)
    n = len(next(iter(columns.values())))
    return {"model": model, "rows": n, "outside": outside} | scores


def _regression(estimator: Any, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    bands = estimator.predict_quantiles(X, _LEVELS)
    columns = {"y": y, "mean": estimator.predict(X), "density": estimator.log_density(X, y)}
    for i, band in enumerate(BANDS):
        inside = (bands[:, 2 * i] <= y) & (y <= bands[:, 2 * i + 1])
        columns[f"in{band}"] = inside.astype(float)
    return columns


def _classes(estimator: Any, X: np.ndarray, y: np.ndarray, name: str) -> dict[str, np.ndarray]:
    codes = class_codes(y, estimator.classes_, name)
    return {"code": codes, "chances": estimator.predict_proba(X)}
