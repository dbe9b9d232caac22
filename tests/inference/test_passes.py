"""Sums over chunks in groups: the same order for any number of threads, from any group on."""

import numpy as np
import pytest

from vish.inference.passes import GROUP, GROUP_ROWS, group_sums, total
from vish.inference.sources import ArraySource
from vish.inference.subset import likely_bound, row_hashes, take_subset
from vish.sphere.threads import CHUNK_ROWS

N = 2 * GROUP_ROWS + 3 * CHUNK_ROWS + 17


@pytest.fixture
def source(rng):
    return ArraySource(rng.standard_normal((N, 1)), rng.standard_normal((N, 1)))


def of_chunk(chunk):
    return float(chunk.X.sum()) * 1e17 + float(chunk.y.sum())  # the order of a sum shows


def by_hand(source):
    groups, values = [], [of_chunk(chunk) for chunk in source.chunks()]
    for start in range(0, len(values), GROUP):
        group = values[start]
        for value in values[start + 1 : start + GROUP]:
            group = group + value
        groups.append(group)
    return groups


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_groups_are_summed_in_order(source, threads):
    assert list(group_sums(source, of_chunk, threads)) == by_hand(source)
    first, second, third = by_hand(source)
    assert total(source, of_chunk, threads) == (first + second) + third


@pytest.mark.parametrize("first", [0, 1, 2, 3, 9])
def test_a_pass_can_begin_at_any_group(source, first):
    assert list(group_sums(source, of_chunk, 2, first=first)) == by_hand(source)[first:]


def test_progress_is_told_all_rows(source):
    told = []
    total(source, of_chunk, 2, told.append)
    assert sum(told) == N
    assert told[0] == CHUNK_ROWS


def test_no_rows_have_no_sum():
    assert total(ArraySource(np.empty((0, 1)), np.empty((0, 1))), of_chunk) is None


class Elsewhere:
    """Chunks that live on other machines."""

    n_inputs, n_rows = 1, N

    def chunks(self, first_row=0):
        raise AssertionError("rows must not travel")

    def group_sums(self, function, progress, first):
        progress(N)
        yield from [1.0, 2.0, 3.0][first:]


def test_a_distributed_source_sums_where_its_rows_are():
    told = []
    assert total(Elsewhere(), of_chunk, 1, told.append) == 6.0
    assert told == [N]
    assert list(group_sums(Elsewhere(), of_chunk, first=2)) == [3.0]


@pytest.mark.parametrize("size", [1, 50, 5000, N - 1, N, 10**6])
def test_the_subset_is_the_rows_of_smallest_hash(source, size):
    subset = take_subset(source, size, seed=3)
    order = np.argsort(row_hashes(0, N, 3))[:size]
    assert subset.n_read == N
    np.testing.assert_array_equal(np.sort(subset.X[:, 0]), np.sort(source.X[order, 0]))


def test_the_bound_on_hashes_keeps_little_and_enough():
    bound = likely_bound(10**6, 1000)
    below = (row_hashes(0, 10**6, 5) <= np.uint64(bound)).sum()
    assert 1000 < below < 2000
    assert likely_bound(1000, 1000) is None
    assert likely_bound(None, 1000) is None


def test_the_subset_where_most_rows_have_no_weight(rng):
    weights = np.zeros(N)
    some = rng.permutation(N)[:700]
    weights[some] = 1 + rng.random(700)
    X = rng.standard_normal((N, 1))
    subset = take_subset(ArraySource(X, X, weights), 600, seed=1)
    hashes = row_hashes(0, N, 1)
    chosen = some[np.argsort(hashes[some])[:600]]
    np.testing.assert_array_equal(np.sort(subset.X[:, 0]), np.sort(X[chosen, 0]))
    assert subset.weights is not None
    assert subset.weights.sum() == pytest.approx(weights[chosen].sum())


def test_hashes_do_not_depend_on_where_a_chunk_begins():
    np.testing.assert_array_equal(row_hashes(0, 100, 9)[40:], row_hashes(40, 60, 9))
    assert len(np.unique(row_hashes(0, 100_000, 0))) == 100_000
