r"""The effect of each column of the table, by accumulated local effects (Apley and Zhu, 2020).

Between two neighbouring values of a column, the rows that lie there are moved from one to the
other, and the change of the function is averaged; the changes are added up along the column. So
columns that belong together (a departure and an arrival) stay together, where moving one alone
through all rows would ask for rows that cannot be. A category has no neighbours: it is set to
each of its levels in the same rows.

Either way the effect is the function's weights times averaged features, so its band is exact:
:math:`\bar\psi^\top \Sigma \bar\psi`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import softmax

from vish.data.table import Table
from vish.estimators.description import Description
from vish.likelihoods import Softmax

_REACH = 1.959963984540054
_STEPS = 24  # along a column
_ROWS_PER_STEP = 32
_ROWS = 200  # for the average level, and for levels of a category
_MOST_LEVELS = 12
_MOST_COLUMNS = 30


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
    lengths = np.linalg.norm(estimator.description_.linear_map, axis=0)
    places = np.cumsum([0, *(len(control["kept"]) for control in controls)])
    relevance = [lengths[a:b].max(initial=0) for a, b in pairwise(places)]
    chosen = np.argsort(-np.array(relevance), kind="stable")[:_MOST_COLUMNS]
    function = _Function(estimator, table)
    found = [_effect(function, controls[i], raw) for i in chosen]
    return sorted(found, key=lambda effect: -effect.size)


def _effect(function: "_Function", control: dict[str, Any], raw: dict[str, np.ndarray]) -> Effect:
    name, kind, values = control["name"], control["kind"], raw[control["name"]]
    present = values[np.isfinite(values)]
    some = np.random.default_rng(0).permutation(len(values))[:_ROWS]
    labels = None
    if kind in ("category", "boolean"):
        grid, labels = _levels(control, present)
        features = _set_to(function, name, grid, raw, some)
    else:
        grid = np.unique(
            np.quantile(present, np.linspace(0.005, 0.995, _STEPS + 1), method="nearest")
        )
        features = _accumulated(function, name, grid, raw) + function.of(raw, some).mean(axis=0)
    curves, lower, upper = function.seen(features)
    if labels is None:
        along = [np.interp(present, grid, curve) for curve in curves.T]
    else:
        known = present[np.isin(present, grid)]
        along = [curve[np.searchsorted(grid, known)] for curve in curves.T]
    size = max((float(part.std()) for part in along if len(part)), default=0.0)
    tenths = np.quantile(present, np.linspace(0.1, 0.9, 9)) if len(present) else present
    return Effect(name, kind, grid, labels, curves, lower, upper, tenths, size)


def _levels(control: dict[str, Any], present: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The most frequent levels, in their own order."""
    if control["kind"] == "boolean":
        return np.array([0.0, 1.0]), ["false", "true"]
    counts = np.bincount(present[present < len(control["levels"])].astype(int), minlength=1)
    places = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
    places = places[counts[places] > 0]
    names = [control["levels"][i] for i in places]
    return places.astype(float), ["(missing)" if name is None else str(name) for name in names]


def _set_to(
    function: "_Function", name: str, grid: np.ndarray, raw: dict[str, np.ndarray], rows: np.ndarray
) -> np.ndarray:
    """Averages over the rows, the column set to each value.  -> [grid, M]"""
    return np.array(
        [function.of(raw, rows, {name: np.full(len(rows), v)}).mean(axis=0) for v in grid]
    )


def _accumulated(
    function: "_Function", name: str, grid: np.ndarray, raw: dict[str, np.ndarray]
) -> np.ndarray:
    """Changes added up along the column, their mean over the rows 0.  -> [grid, M]"""
    values, rng = raw[name], np.random.default_rng(0)
    changes, counts = [], []
    for low, high in pairwise(grid):
        inside = np.flatnonzero((values >= low) & (values <= high))
        rows = rng.permutation(inside)[:_ROWS_PER_STEP]
        ends = [{name: np.full(len(rows), end)} for end in (low, high)]
        before, after = (function.of(raw, rows, end) for end in ends)
        changes.append((after - before).mean(axis=0))
        counts.append(len(inside))
    if not changes:
        return np.zeros((len(grid), function.width))
    total = np.vstack([np.zeros(function.width), np.cumsum(changes, axis=0)])
    middles = (total[1:] + total[:-1]) / 2
    return total - np.average(middles, axis=0, weights=counts)


class _Function:
    """A model as something linear that can be averaged: its features."""

    def __init__(self, estimator: Any, table: Table) -> None:
        self._table, self._description = table, estimator.description_
        self.width = len(self._description.means)

    def of(
        self,
        raw: dict[str, np.ndarray],
        rows: np.ndarray,
        changed: dict[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Features of some rows, with some columns changed.  -> [n, M]"""
        values = {key: column[rows] for key, column in raw.items()} | (changed or {})
        return self._description.features(self._table.encode(values).inputs, 1)

    def seen(self, averages: np.ndarray) -> tuple[np.ndarray, Any, Any]:
        """Curves in the units of the target, and the ends of the band.  [n, M] -> [n, C]"""
        model = self._description
        mean = averages @ model.means + model.shift
        if isinstance(model.likelihood, Softmax):
            return softmax(mean, axis=1), None, None
        spread = _REACH * np.linalg.norm(averages @ model.roots[0].T, axis=1)
        ends = (mean[:, 0] - spread, mean[:, 0], mean[:, 0] + spread)
        lower, centre, upper = (observed(model, f) for f in ends)
        return centre[:, None], lower, upper


def observed(model: Description, f: np.ndarray) -> np.ndarray:
    """What is observed on average where the function has the value f, in the target's units."""
    y, likelihood = f, model.likelihood
    if model.warp is not None:
        y = model.warp.inverse(f)
    elif likelihood is not None and likelihood.n_latents == 1:
        y = likelihood.conditional_mean(f)
    return model.y_shift[0] + model.y_scale[0] * y
