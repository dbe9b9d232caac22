"""A random subset of rows, the same whatever the source: chosen by a hash of the row number.

What is learned from the subset must not depend on how its rows are written down: equal rows
are joined, and the order depends on the set of rows alone. Then a weight is a repeated row, and
the order of the rows changes nothing, to the bit, while all rows are in the subset.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from vish.inference.passes import total
from vish.inference.sources import ArraySource, Chunk, RowSource

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, odd: what the state of SplitMix64 grows by
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class Subset(ArraySource):
    """Some rows of a source, in memory."""

    n_read: int = 0  # rows of the source


def mixed(z: np.ndarray) -> np.ndarray:
    """SplitMix64's output at a state, a bijection.  [n] of uint64 -> [n]

    Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    with np.errstate(over="ignore"):
        for shift, factor in _ROUNDS:
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def row_hashes(start: int, n: int, seed: int) -> np.ndarray:
    """A 64-bit hash of (seed, row number) for rows start..start+n-1."""
    with np.errstate(over="ignore"):
        z = np.arange(start, start + n, dtype=np.uint64)
        z += np.uint64((seed + 1) * GOLDEN % 2**64)
    return mixed(z)


def take_subset(
    source: RowSource,
    size: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Subset:
    """The `size` rows of smallest hash (all rows, if fewer), equal rows joined, shuffled.

    Rows of weight 0 are no rows. One reading; memory for a few times `size` rows at most.
    """
    bound = likely_bound(source.n_rows, size)
    found = total(source, partial(Candidates.of_chunk, size, seed, bound), 1, progress)
    if found is not None and found.too_few:  # many rows have weight 0: look again, at all
        found = total(source, partial(Candidates.of_chunk, size, seed, None), 1, progress)
    return chosen(found, seed)


def chosen(found: "Candidates | None", seed: int) -> Subset:
    """The subset, once all rows have been candidates."""
    if found is None or not len(found.hashes):
        raise ValueError("no rows with a positive weight: give at least one row")
    return _canonical(found.cut(), seed)


def likely_bound(n_rows: int | None, size: int) -> int | None:
    """A hash that hardly ever fewer than `size` of the rows stay below; None for all rows.

    The number below it is binomial: 10 standard deviations are added to what is wanted.
    """
    wanted = size + 10 * (size**0.5 + 10)
    if n_rows is None or wanted >= n_rows:
        return None
    return int(wanted / n_rows * 2**64)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows that may be among the `size` of smallest hash."""

    size: int
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    hashes: np.ndarray
    n_read: int
    bound: int | None = None  # rows of a larger hash were not looked at

    @classmethod
    def of_chunk(cls, size: int, seed: int, bound: int | None, chunk: Chunk) -> "Candidates":
        hashes = row_hashes(chunk.start, len(chunk.X), seed)
        rows = cls(size, chunk.X, chunk.y, chunk.weights, hashes, len(hashes), bound)
        if bound is not None:
            rows = rows._take(np.flatnonzero(hashes <= np.uint64(bound)))
        if rows.weights is not None and not rows.weights.all():
            rows = rows._take(rows.weights > 0)
        return rows.cut()

    @property
    def too_few(self) -> bool:
        """Whether a row beyond the bound belongs to the subset."""
        return self.bound is not None and len(self.hashes) < self.size

    def _take(self, rows: np.ndarray) -> "Candidates":
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, X=self.X[rows], y=self.y[rows], weights=weights, hashes=self.hashes[rows]
        )

    def cut(self) -> "Candidates":
        """Only the `size` smallest hashes, in the order of the rows."""
        if len(self.hashes) <= self.size:
            return self
        bound = np.partition(self.hashes, self.size - 1)[self.size - 1]
        return self._take(self.hashes <= bound)

    def __add__(self, other: "Candidates") -> "Candidates":
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.concatenate([self.weights, other.weights])
        both = Candidates(
            self.size,
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            weights,
            np.concatenate([self.hashes, other.hashes]),
            self.n_read + other.n_read,
            self.bound,
        )
        return both.cut() if len(both.hashes) > 2 * self.size else both


def _canonical(rows: Candidates, seed: int) -> Subset:
    """The same rows in an order of their own: sorted, equal ones joined, then shuffled."""
    table = np.hstack([rows.X, rows.y])
    order = np.lexsort(table.T)
    table = table[order]
    first = np.append(True, (table[1:] != table[:-1]).any(axis=1))  # of each run of equal rows
    weights = rows.weights
    if weights is not None or not first.all():
        weights = np.ones(len(table)) if weights is None else weights[order]
        weights = np.add.reduceat(weights, np.flatnonzero(first))
    mixed = np.random.default_rng(seed).permutation(int(first.sum()))
    take = order[first][mixed]
    weights = None if weights is None else weights[mixed]
    return Subset(rows.X[take], rows.y[take], weights, n_read=rows.n_read)
