"""Scores with their standard errors: how good predictions are, and whether they come true."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

BANDS = (0.5, 0.8, 0.95)


class Score(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float


def regression_scores(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """Of rows with y, mean, density (its logarithm), and in0.5, ... (inside the band, or not)."""
    residuals = columns["y"] - columns["mean"]
    mse = _mean(residuals**2)
    rmse = float(np.sqrt(mse.value))
    total = float(np.var(columns["y"]))
    scores = {
        # the square root is as uncertain as its slope says
        "RMSE": Score(rmse, mse.error / (2 * rmse) if rmse else 0.0),
        "MAE": _mean(np.abs(residuals)),
        "R2": Score(1 - mse.value / total, mse.error / total) if total else None,
        "NLPD": _mean(-columns["density"]),
    }
    bands = [
        {"stated": band, "covered": share.value, "error": share.error}
        for band in BANDS
        if f"in{band}" in columns
        for share in [_share(columns[f"in{band}"])]
    ]
    return {"scores": _dicts(scores), "coverage": bands}


def class_codes(y: np.ndarray, classes: np.ndarray, name: str) -> np.ndarray:
    """Numbers of the classes of rows; refuses classes that the model does not know."""
    known = list(map(str, classes))
    labels = y.astype(int) if classes.dtype.kind in "iu" else y
    found, places = np.unique(labels.astype(str), return_inverse=True)
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise ValueError(
            f"column {name!r} holds the class {str(unknown[0])!r}, which the model does not "
            f"know: it knows {', '.join(known)}"
        )
    return np.array([known.index(label) for label in found])[places]


def class_scores(columns: dict[str, np.ndarray], classes: np.ndarray) -> dict[str, Any]:
    """Of rows with code (of the class) and chances (of all classes)."""
    from vish.metrics import (
        events_and_probabilities,
        expected_calibration_error,
        reliability_bins,
    )

    codes, chances = columns["code"], np.clip(columns["chances"], 0, 1)
    own = chances[np.arange(len(codes)), codes]
    squares = (chances**2).sum(axis=1) - 2 * own + 1
    scores = {
        "accuracy": _share((chances.argmax(axis=1) == codes).astype(float)),
        "log loss": _mean(-np.log(np.maximum(own, 1e-300))),
        "Brier": _mean(squares / (2 if len(classes) == 2 else 1)),
    }
    if len(classes) == 2 and 0 < codes.sum() < len(codes):
        scores["AUC"] = _area(codes, chances[:, 1])
    labels = np.arange(len(classes))
    stated: Any = chances[:, 1] if len(classes) == 2 else chances
    events, probabilities = events_and_probabilities(codes, stated, labels)
    counts, frequencies, means = reliability_bins(events, probabilities, 10, np.ones(len(codes)))
    bins = [
        {"stated": float(p), "came_true": float(f), "error": _binomial(f, c), "rows": int(c)}
        for p, f, c in zip(means, frequencies, counts, strict=True)
        if c
    ]
    gap = expected_calibration_error(codes, stated, labels=labels)
    return {"scores": _dicts(scores), "calibration_error": gap, "reliability": bins}


def _mean(values: np.ndarray) -> Score:
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Score(float(values.mean()), error)


def _share(values: np.ndarray) -> Score:
    share = float(values.mean())
    return Score(share, _binomial(share, len(values)))


def _binomial(share: float, n: float) -> float:
    """Standard error of a frequency; not 0 where all rows agree (Agresti and Coull)."""
    p = (share * n + 2) / (n + 4)
    return float(np.sqrt(p * (1 - p) / (n + 4)))


def _area(events: np.ndarray, scores: np.ndarray) -> Score:
    """Area under the ROC curve and its error (DeLong, DeLong and Clarke-Pearson, 1988)."""
    from scipy.stats import rankdata

    positive, negative = scores[events == 1], scores[events == 0]
    m, n = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:m] - rankdata(positive)) / n  # of each positive: negatives below it
    below = 1 - (ranks[m:] - rankdata(negative)) / m
    spread = sum(np.var(v, ddof=1) / len(v) for v in (above, below) if len(v) > 1)
    return Score(float(above.mean()), float(np.sqrt(spread)))


def _dicts(scores: Mapping[str, Score | None]) -> dict[str, Any]:
    return {k: {"value": s.value, "error": s.error} for k, s in scores.items() if s is not None}
