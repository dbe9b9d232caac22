r"""The process of the detail, conditioned on the nearest rows.

Residuals :math:`r` of the harmonics come in units of the noise that the harmonics see, which is
the variance of all they do not explain. In these units, with c the conditional variance of
`kriging` and :math:`\sigma^2, \tau^2` those of process and noise,

.. math::

    \mathrm{Var}\, h = g \, (\min(\sigma^2 c, 1 - \tau^2) + (1 - u)(1 - \sigma^2 - \tau^2)_+),
    \qquad \mathrm{Var}\, \epsilon = g \tau^2

where :math:`g = 1 + u (s - 1)` and :math:`s = (a + \text{misfit} / \sigma^2) / (a + k)` is what
the neighbours themselves say of the scale, against `a` rows that say 1. `u` is 1 among the
neighbours and falls to 0 far away from them: there the variance is 1, that of the harmonics.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vish.neighbors.kriging import krige
from vish.neighbors.tree import Tree
from vish.sphere.threads import map_in_order

MOST_LEAVES = 32
_TINY = 1e-300
_OF_ROWS = {"sites", "_at_sites"}


@dataclass(frozen=True)
class Detail:
    """Hyperparameters, in units of the mapped inputs and of the noise of the harmonics."""

    lengthscale: float
    smoothness: float  # .5 or 1.5
    variance: float  # sigma^2
    noise: float  # tau^2 / sigma^2
    prior_rows: float  # a; infinite where the scale is the same everywhere


class Conditional(NamedTuple):
    """Of h at some queries: mean [m, T], its variance [m, T], that of the noise [m, T]."""

    mean: np.ndarray
    variance: np.ndarray
    noise: np.ndarray


class Solved(NamedTuple):
    """What kriging says before it is given a scale."""

    mean: np.ndarray  # [m, T]
    variance: np.ndarray  # [m], of 1
    misfit: np.ndarray  # [m, T]
    within: np.ndarray  # [m], u
    n_neighbors: int


def solve(queries, points, residuals, noise, detail: Detail) -> Solved:
    """Condition queries on their neighbours.  [m, p], [m, k, p], [m, k, T], [m, k]"""
    m, k, T = residuals.shape
    mean, misfit, variance = np.empty((m, T)), np.empty((m, T)), np.empty(m)
    krige(
        queries,
        points,
        residuals,
        noise * detail.noise,
        detail.lengthscale,
        detail.smoothness,
        mean,
        variance,
        misfit,
    )
    return Solved(mean, variance, misfit, within(queries, points), k)


def within(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """1 for a query among its neighbours, towards 0 away from them.  [m, p], [m, k, p] -> [m]

    The spread of the neighbours over twice the squared distance to their centre.
    """
    gaps = points - queries[:, None]
    centre = gaps.mean(axis=1)
    distance = np.einsum("mp,mp->m", centre, centre)
    spread = np.maximum(np.einsum("mkp,mkp->m", gaps, gaps) / points.shape[1] - distance, 0.0)
    far = 2.0 * distance > spread
    return np.where(far, spread / np.maximum(2.0 * distance, _TINY), 1.0)


def scaled(solved: Solved, detail: Detail) -> Conditional:
    """Give what was solved the variances of process and noise."""
    total, noise = detail.variance * (1 + detail.noise), detail.variance * detail.noise
    u = solved.within[:, None]
    local = np.ones_like(solved.misfit)
    if np.isfinite(detail.prior_rows):
        a = detail.prior_rows
        local = (a + solved.misfit / detail.variance) / (a + solved.n_neighbors)
    local = 1 + u * (local - 1)
    known = np.minimum(detail.variance * solved.variance, max(1.0 - noise, 0.0))[:, None]
    return Conditional(
        solved.mean, local * (known + (1 - u) * max(1.0 - total, 0.0)), local * noise
    )


@dataclass(frozen=True, eq=False)
class LocalProcess:
    """The detail, given residuals of rows at places.

    Parameters
    ----------
    places : array of shape (n, p)
        Mapped inputs.
    residuals : array of shape (n, T)
        In units of the noise of the harmonics.
    weights : array of shape (n,)
        A row of weight 2 has half the noise.
    detail : Detail
    n_neighbors : int
    """

    places: np.ndarray
    residuals: np.ndarray
    weights: np.ndarray
    detail: Detail
    n_neighbors: int
    most_leaves: int = MOST_LEAVES

    @cached_property
    def sites(self) -> "Sites":
        return Sites.of(self.places, self.weights)

    @cached_property
    def _at_sites(self) -> np.ndarray:
        return self.sites.averaged(self.residuals, self.weights)

    def beside(self, other: "LocalProcess") -> "LocalProcess":
        """The same with what another process of these rows has already built."""
        vars(self).update({name: vars(other)[name] for name in _OF_ROWS & set(vars(other))})
        return self

    def prepare(self) -> None:
        """Do now what all threads would otherwise do at their first chunk."""
        self.sites.tree  # noqa: B018
        self._at_sites  # noqa: B018

    def predict(self, Z: np.ndarray, n_jobs: int | None = None) -> Conditional:
        """The detail at mapped rows.  [m, p] -> [m, T] three times"""
        m, T = len(Z), self.residuals.shape[1]
        if not len(self.places):
            noise = min(self.detail.variance * self.detail.noise, 1.0)
            return Conditional(
                np.zeros((m, T)), np.full((m, T), 1.0 - noise), np.full((m, T), noise)
            )
        self.prepare()
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        result = Conditional(np.empty((m, T)), np.empty((m, T)), np.empty((m, T)))

        def fill(rows: np.ndarray) -> None:
            found, _ = self.sites.tree.nearest(Z[rows], self.n_neighbors, self.most_leaves)
            solved = solve(
                Z[rows],
                self.sites.places[found],
                self._at_sites[found],
                1.0 / self.sites.weights[found],
                self.detail,
            )
            for target, part in zip(result, scaled(solved, self.detail), strict=True):
                target[rows] = part

        for _ in map_in_order(fill, self.sites.tree.chunks(Z), n_jobs):
            pass
        return result


@dataclass(frozen=True, eq=False)
class Sites:
    """Distinct places: rows at one place are one row, of the sum of the weights.

    For a Gaussian process with this noise that is the same, and neighbours are places.
    """

    places: np.ndarray  # [s, p]
    weights: np.ndarray  # [s]
    of_row: np.ndarray | None  # [n], the site of every row; None where all places differ

    @classmethod
    def of(cls, places: np.ndarray, weights: np.ndarray) -> "Sites":
        places = np.ascontiguousarray(places, dtype=np.float64) + 0.0
        order = np.lexsort(places.T) if len(places) else np.empty(0, dtype=np.int64)
        ordered = places[order]
        first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(order)]
        if first.all():
            return cls(places, weights, None)
        of_row = np.empty(len(places), dtype=np.int64)
        of_row[order] = np.cumsum(first) - 1
        return cls(ordered[first], np.bincount(of_row, weights), of_row)

    @cached_property
    def tree(self) -> Tree:
        return Tree.of(self.places)

    @cached_property
    def row_of(self) -> np.ndarray:
        """One of the rows of every site.  [s]"""
        if self.of_row is None:
            return np.arange(len(self.places))
        return np.unique(self.of_row, return_index=True)[1]

    def averaged(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted means of the rows of every site.  [n, T] -> [s, T]"""
        if self.of_row is None:
            return values
        sums = [np.bincount(self.of_row, weights * column) for column in values.T]
        return np.stack(sums, axis=1) / self.weights[:, None]
