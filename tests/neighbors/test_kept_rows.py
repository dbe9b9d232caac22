"""Rows that are kept: sums of rows, bounded, whatever the order in which they came."""

import numpy as np
import pytest

from vish.neighbors.rows import Rows


def table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 2))


def assert_same(a, b):
    for name in ("X", "y", "weights", "hashes"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.bound == b.bound


@pytest.mark.parametrize("most", [10_000, 300])
def test_order_and_parts_do_not_matter(most):
    X, y = table()
    whole = Rows.of(X, y, None, most)
    mixed = np.random.default_rng(1).permutation(len(X))
    assert_same(Rows.of(X[mixed], y[mixed], None, most), whole)
    first, second = Rows.of(X[:600], y[:600], None, most), Rows.of(X[600:], y[600:], None, most)
    assert_same(first + second, whole)
    assert_same(second + first, whole)
    assert len(whole) == min(most, 1000)


def test_forgotten_rows_were_never_seen():
    X, y = table()
    whole = Rows.of(X, y, None, 10_000)
    assert_same(
        whole.without(Rows.of(X[:200], y[:200], None, 10_000)),
        Rows.of(X[200:], y[200:], None, 10_000),
    )


def test_forgotten_rows_were_never_seen_within_the_bound():
    X, y = table()
    whole = Rows.of(X, y, None, 300)
    rest = whole.without(Rows.of(X[:200], y[:200], None, 300))
    assert_same(rest, Rows.of(X[200:], y[200:], None, 300, whole.bound))
    assert rest.bound == whole.bound


def test_equal_rows_are_one_with_the_sum_of_the_weights():
    X, y = table(10)
    twice = Rows.of(np.vstack([X, X]), np.vstack([y, y]), None, 100)
    assert_same(twice, Rows.of(X, y, np.full(10, 2.0), 100))
    assert_same(twice.without(Rows.of(X, y, None, 100)), Rows.of(X, y, None, 100))


def test_rows_of_no_weight_are_no_rows():
    X, y = table(10)
    weights = np.arange(10.0)
    assert_same(Rows.of(X, y, weights, 100), Rows.of(X[1:], y[1:], weights[1:], 100))


def test_zero_is_zero_and_narrow_numbers_are_wide_ones():
    X, y = np.array([[0.0, 1.5]]), np.array([[2.0]])
    known = Rows.of(X, y, None, 10)
    assert known.hashes == Rows.of(X * np.array([-1.0, 1.0]), y, None, 10).hashes
    assert known.hashes == Rows.of(X.astype(np.float32), y, None, 10).hashes


def test_a_row_that_was_not_seen_is_named():
    X, y = table()
    rows = Rows.of(X, y, None, 10_000)
    with pytest.raises(ValueError, match=r"2 of the rows to forget were not seen.*such as"):
        rows.without(Rows.of(X[:2] + 1, y[:2], None, 10_000))
    with pytest.raises(ValueError, match=r"not seen \(or not so often\)"):
        rows.without(Rows.of(X[:1], y[:1], np.array([2.0]), 10_000))
