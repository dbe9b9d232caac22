r"""The effect of each column of the table, the others as they are in the rows.

The column is set to each value of a grid in a few rows, and the function averaged over them.
The average is linear in the weights, so its band is exact:
:math:`\bar\psi^\top \Sigma \bar\psi` with the averaged features.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from vish.data.table import Table
from vish.inference.gaussian import GaussianModel

_REACH = 1.959963984540054
_ROWS = 64  # over which an effect is averaged
_GRID = 25
_MOST_LEVELS = 12
_MOST_COLUMNS = 30
_BLOCK = 4_000_000  # numbers of a block of features


@dataclass(frozen=True, eq=False)
class Effect:
    """What the function does along one column.

    Parameters
    ----------
    name, kind : str
    grid : array of shape (n,)
        Values of the column; places of levels of a category.
    labels : list of str, optional
        Of the levels.
    curves : array of shape (n, C)
        The average prediction; one curve, or one for each of several classes.
    lower, upper : array of shape (n,), optional
        The 95 % band of a single curve.
    tenths : array
        Where the rows are.
    size : float
        Standard deviation of the curve over the rows.
    """

    name: str
    kind: str
    grid: np.ndarray
    labels: list[str] | None
    curves: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    tenths: np.ndarray
    size: float


def effects(
    estimator: Any, table: Table, controls: list[dict[str, Any]], raw: dict[str, np.ndarray]
) -> list[Effect]:
    """Effects of the columns, largest first; of many columns, those that matter most."""
    rows = np.random.default_rng(0).permutation(len(next(iter(raw.values()))))[:_ROWS]
    background = {name: values[rows] for name, values in raw.items()}
    lengths = np.linalg.norm(np.atleast_2d(estimator._model.geometry.projection.linear_map), axis=0)
    places = np.cumsum([0, *(len(control["kept"]) for control in controls)])
    relevance = [lengths[a:b].max(initial=0) for a, b in pairwise(places)]
    chosen = np.argsort(-np.array(relevance), kind="stable")[:_MOST_COLUMNS]
    found = [
        _effect(estimator, table, controls[i], background, raw[controls[i]["name"]]) for i in chosen
    ]
    return sorted(found, key=lambda effect: -effect.size)


def _effect(
    estimator: Any,
    table: Table,
    control: dict[str, Any],
    background: dict[str, np.ndarray],
    values: np.ndarray,
) -> Effect:
    labels = None
    if "levels" in control:
        counts = np.bincount(values[values < len(control["levels"])].astype(int))
        grid = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
        grid = grid[counts[grid] > 0].astype(float)
        labels = [control["levels"][int(i)] for i in grid]
        labels = ["(missing)" if label is None else label for label in labels]
    elif control["kind"] == "boolean":
        grid, labels = np.array([0.0, 1.0]), ["false", "true"]
    else:
        grid = np.linspace(control["low"], control["high"], _GRID)
    curves, lower, upper = _averages(estimator, table, control["name"], grid, background)
    present = values[np.isfinite(values)]
    if labels is None:
        along = [np.interp(present, grid, curve) for curve in curves.T]
    else:
        known = present[np.isin(present, grid)]
        along = [curve[np.searchsorted(grid, known)] for curve in curves.T]
    size = max((float(part.std()) for part in along if len(part)), default=0.0)
    tenths = np.quantile(present, np.linspace(0.1, 0.9, 9)) if len(present) else present
    return Effect(
        control["name"], control["kind"], grid, labels, curves, lower, upper, tenths, size
    )


def _averages(
    estimator: Any,
    table: Table,
    name: str,
    grid: np.ndarray,
    background: dict[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    n = len(background[name])
    raw = {key: np.tile(values, len(grid)) for key, values in background.items()}
    raw[name] = np.repeat(grid, n)
    X = table.encode(raw).inputs
    model = estimator._model
    if getattr(estimator, "classes_", None) is not None and len(estimator.classes_) > 2:
        chances = estimator.predict_proba(X)
        return chances.reshape(len(grid), n, -1).mean(axis=1), None, None
    posterior = model.posterior
    step = n * max(1, _BLOCK // (n * len(posterior.means)))
    averages = np.vstack(
        [
            posterior.features(X[i : i + step], 1).reshape(-1, n, len(posterior.means)).mean(axis=1)
            for i in range(0, len(X), step)
        ]
    )  # [grid, M]
    shift = (
        model.equations.mean if isinstance(model, GaussianModel) else model.geometry.target_shift
    )
    mean = averages @ posterior.means[:, 0] + np.atleast_1d(shift)[0]
    spread = _REACH * np.linalg.norm(averages @ posterior.roots[0].T, axis=1)
    lower, centre, upper = (observed(model, f) for f in (mean - spread, mean, mean + spread))
    return centre[:, None], lower, upper


def observed(model: Any, f: np.ndarray) -> np.ndarray:
    """What is observed on average where the function has the value f, in the target's units."""
    if isinstance(model, GaussianModel):
        geometry = model.geometry
        y = f if geometry.warp is None else geometry.warp.inverse(f)
        return geometry.target_shift[0] + geometry.target_scale[0] * y
    likelihood = model.likelihood
    y = f if likelihood.n_latents > 1 else likelihood.conditional_mean(f)
    return model.y_shift + model.y_scale * y
