"""A random subset of rows, the same whatever the source: chosen by a hash of the row number.

What is learned from the subset must not depend on how its rows are written down: equal rows
are joined, and the order depends on the set of rows alone. Then a weight is a repeated row, and
the order of the rows changes nothing, to the bit, while all rows are in the subset.
"""

import numpy as np

from vish.inference.sources import ArraySource, Chunk, RowSource


def row_hashes(start: int, n: int, seed: int) -> np.ndarray:
    """A 64-bit hash of (seed, row number) for rows start..start+n-1 (SplitMix64)."""
    with np.errstate(over="ignore"):
        z = np.arange(start, start + n, dtype=np.uint64)
        z += np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        return z ^ (z >> np.uint64(31))


def take_subset(source: RowSource, size: int, seed: int) -> ArraySource:
    """The `size` rows of smallest hash (all rows, if fewer), equal rows joined, shuffled.

    Rows of weight 0 are no rows. One reading; never more than a few chunks beyond `size`.
    """
    kept: list[Chunk] = []
    hashes: list[np.ndarray] = []
    bound = np.uint64(2**64 - 1)
    for chunk in source.chunks():
        key = row_hashes(chunk.start, len(chunk.X), seed)
        take = key <= bound
        if chunk.weights is not None:
            take &= chunk.weights > 0
        if not take.any():
            continue
        kept.append(_pick(chunk, take))
        hashes.append(key[take])
        if sum(map(len, hashes)) > 2 * size:
            kept, hashes, bound = _cut(kept, hashes, size)
    if sum(map(len, hashes)) > size:
        kept, hashes, _ = _cut(kept, hashes, size)
    return _canonical(_join(kept), seed)


def _canonical(rows: Chunk, seed: int) -> ArraySource:
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
    return ArraySource(rows.X[take], rows.y[take], None if weights is None else weights[mixed])


def _pick(chunk: Chunk, take: np.ndarray) -> Chunk:
    weights = None if chunk.weights is None else chunk.weights[take]
    return Chunk(chunk.start, chunk.X[take], chunk.y[take], weights)


def _join(chunks: list[Chunk]) -> Chunk:
    if not chunks:
        raise ValueError("no rows with a positive weight: give at least one row")
    weights = None
    if chunks[0].weights is not None:
        weights = np.concatenate([c.weights for c in chunks if c.weights is not None])
    return Chunk(
        0, np.concatenate([c.X for c in chunks]), np.concatenate([c.y for c in chunks]), weights
    )


def _cut(
    kept: list[Chunk], hashes: list[np.ndarray], size: int
) -> tuple[list[Chunk], list[np.ndarray], np.uint64]:
    """Only the `size` smallest hashes, and the largest of them."""
    whole, key = _join(kept), np.concatenate(hashes)
    bound = np.partition(key, size - 1)[size - 1]
    take = key <= bound
    return [_pick(whole, take)], [key[take]], bound
