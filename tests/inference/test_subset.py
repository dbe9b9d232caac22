"""The subset of rows: which rows, and that how they are written down does not matter."""

import numpy as np
import pytest

from vish.inference.sources import ArraySource
from vish.inference.subset import row_hashes, take_subset
from vish.sphere.threads import CHUNK_ROWS


def rows(source):
    """Sorted rows with their weights, for comparison."""
    weights = np.ones(source.n_rows) if source.weights is None else source.weights
    table = np.column_stack([source.X, source.y, weights])
    return table[np.lexsort(table.T)]


def numbered(n, weights=None):
    X = np.arange(n, dtype=float)[:, None]
    return ArraySource(X, -X, weights)


def test_hashes_do_not_depend_on_where_one_begins():
    whole = row_hashes(0, 1000, seed=3)
    np.testing.assert_array_equal(row_hashes(400, 100, seed=3), whole[400:500])
    assert len(np.unique(whole)) == 1000
    assert not np.array_equal(whole, row_hashes(0, 1000, seed=4))


def test_hashes_are_even():
    """Uniform: the mean of n of them, and of every bit, within five deviations."""
    n = 20_000
    values = row_hashes(0, n, seed=0)
    assert abs(values.astype(float).mean() / 2**64 - 0.5) < 5 / np.sqrt(12 * n)
    bits = (values[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 / np.sqrt(4 * n)


@pytest.mark.parametrize("n", [50, 2 * CHUNK_ROWS + 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_smallest_hashes_are_taken(rng, n, weighted):
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    subset = take_subset(numbered(n, weights), 40, seed=1)
    candidates = np.arange(n) if weights is None else np.flatnonzero(weights)
    hashes = row_hashes(0, n, seed=1)[candidates]
    expected = np.sort(candidates[np.argsort(hashes)[:40]])
    np.testing.assert_array_equal(np.sort(subset.X[:, 0]), expected)
    np.testing.assert_array_equal(subset.y, -subset.X)
    if weighted:
        np.testing.assert_array_equal(subset.weights, weights[subset.X[:, 0].astype(int)])
    assert subset.n_read == n


def test_all_rows_if_they_are_few():
    np.testing.assert_array_equal(rows(take_subset(numbered(30), 30, 0)), rows(numbered(30)))


def test_the_order_is_mixed():
    """A table may be sorted; the first rows of a subset must be like the others."""
    first = take_subset(numbered(10_000), 10_000, 0).X[:1000, 0]
    assert abs(first.mean() - 5000) < 5 * 10_000 / np.sqrt(12 * 1000)


def test_order_and_repetition_change_no_bit(rng):
    X, y = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(0, 2, (200, 1)).astype(float)
    weights = rng.integers(0, 4, 200)
    subsets = [take_subset(ArraySource(X, y, weights.astype(float)), 10_000, 0)]
    order = rng.permutation(weights.sum())
    repeated = [np.repeat(part, weights, axis=0)[order] for part in (X, y)]
    subsets.append(take_subset(ArraySource(*repeated), 10_000, 0))
    for part in ("X", "y", "weights"):
        np.testing.assert_array_equal(*(getattr(subset, part) for subset in subsets))
    assert subsets[0].weights.sum() == weights.sum()
    assert len(subsets[0].X) == len(np.unique(np.column_stack([X, y])[weights > 0], axis=0))


def test_no_weights_stay_no_weights(rng):
    X = rng.standard_normal((20, 2))
    assert take_subset(ArraySource(X, X[:, :1]), 50, 0).weights is None


def test_no_row_with_a_weight():
    with pytest.raises(ValueError, match="no rows with a positive weight: give at least one row"):
        take_subset(numbered(5, np.zeros(5)), 3, 0)
