"""Monomials: orders, the unique split, tiles, and the map to orthonormal harmonics."""

from itertools import combinations_with_replacement
from math import comb, factorial

import numpy as np
import pytest

from vish.sphere import HarmonicBasis
from vish.sphere.monomials import (
    HarmonicMap,
    MomentLayout,
    condition_number,
    first_order,
    first_rank,
    last_order,
    last_rank,
    prefix_sizes,
)

CASES = [(2, 1), (2, 2), (2, 6), (3, 1), (3, 5), (4, 3), (5, 1), (5, 4), (9, 2), (9, 3), (14, 2)]
each_case = pytest.mark.parametrize(("dimension", "degree"), CASES)


def monomials(points, dimension, degree):
    """All monomials in the last order.  [n, d] -> [n, P]"""
    return points[:, last_order(dimension, degree)].prod(axis=2)


@each_case
def test_orders_hold_every_monomial_and_ranks_invert_them(dimension, degree):
    everything = set(combinations_with_replacement(range(dimension), degree))
    first, last = first_order(dimension, degree), last_order(dimension, degree)
    for order in (first, last):
        assert set(map(tuple, order.tolist())) == everything
        assert len(order) == len(everything) == comb(dimension + degree - 1, degree)
    np.testing.assert_array_equal(first_rank(first), np.arange(len(first)))
    np.testing.assert_array_equal(last_rank(last, dimension), np.arange(len(last)))


@each_case
def test_bounds_on_the_outermost_variable_are_prefixes(dimension, degree):
    first, last = first_order(dimension, degree), last_order(dimension, degree)
    sizes = prefix_sizes(dimension, degree)[degree]
    for i, size in enumerate(sizes):
        np.testing.assert_array_equal(first[:, -1] <= i, np.arange(len(first)) < size)
        at_least = last[:, 0] >= dimension - 1 - i
        np.testing.assert_array_equal(at_least, np.arange(len(last)) < size)


def staircase(layout):
    """The sorted variables of every moment, in the order of the vector."""
    d, L = layout.dimension, layout.degree
    last = [*last_order(d, L).tolist(), *last_order(d, L - 1).tolist()]
    first = first_order(d, L).tolist()
    return [
        tuple(sorted(first[a] + last[layout.order[b]]))
        for b, extent in enumerate(layout.extents)
        for a in range(extent)
    ]


@each_case
def test_each_moment_is_counted_once(dimension, degree):
    layout = MomentLayout(dimension, degree)
    moments = staircase(layout)
    everything = {
        moment
        for total in (2 * degree, 2 * degree - 1)
        for moment in combinations_with_replacement(range(dimension), total)
    }
    assert len(moments) == len(set(moments)) == layout.size
    assert set(moments) == everything
    sizes = [comb(dimension + k - 1, k) for k in (2 * degree, 2 * degree - 1)]
    assert layout.size == sum(sizes)


@pytest.mark.parametrize(("dimension", "degree"), [(2, 1), (3, 5), (6, 3)])
def test_moments_of_odd_degrees_are_even(dimension, degree):
    layout = MomentLayout(dimension, degree, odd=True)
    moments = staircase(layout)
    everything = combinations_with_replacement(range(dimension), 2 * degree)
    assert len(moments) == len(set(moments)) == layout.size
    assert set(moments) == set(everything)


@each_case
def test_the_product_of_two_monomials_is_found(rng, dimension, degree):
    layout = MomentLayout(dimension, degree)
    moments = staircase(layout)
    upper = last_order(dimension, degree)
    for right in (upper, last_order(dimension, degree - 1)):
        index = layout.index(upper, right)
        assert index.shape == (len(upper), len(right))
        for i, j in zip(*(rng.integers(0, n, 200) for n in index.shape), strict=True):
            assert moments[index[i, j]] == tuple(sorted([*upper[i], *right[j]]))


@each_case
def test_the_plan_builds_the_last_monomials(rng, dimension, degree):
    layout = MomentLayout(dimension, degree)
    x = rng.standard_normal(dimension + 1)
    x[-1] = 1.0
    values = np.full(layout.staircase + len(layout.order), np.nan)
    values[0] = 1.0
    for variable, below, size, above in layout.plan:
        values[above : above + size] = x[variable] * values[below : below + size]
    both = np.concatenate([monomials(x[None], dimension, k)[0] for k in (degree, degree - 1)])
    np.testing.assert_allclose(values[layout.staircase :], both[layout.order], rtol=1e-14)
    first = x[first_order(dimension, degree)].prod(axis=1)
    np.testing.assert_allclose(values[layout.staircase + layout.first_rows], first, rtol=1e-14)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("width", "height"), [(3, 4), (6, 1)])
@each_case
def test_tiles_are_the_staircase_filled_up(rng, dimension, degree, width, height, transposed):
    layout = MomentLayout(dimension, degree)
    tiles = layout.tiles(width, height, transposed=transposed)
    numbers = rng.standard_normal(layout.size)
    padded = tiles.pad(numbers)
    np.testing.assert_array_equal(padded[tiles.gather], numbers)
    assert len(np.unique(tiles.gather)) == layout.size

    dense = np.zeros((len(layout.extents), max(layout.extents)))
    for b, extent in enumerate(layout.extents):
        dense[b, :extent] = numbers[layout.offsets[b] :][:extent]
    dense = dense.T if transposed else dense
    for p, (start, stop) in enumerate(zip(tiles.starts, tiles.starts[1:], strict=False)):
        tile = padded[start:stop].reshape(-1, width).T
        assert tile.shape[1] % height == 0
        part = dense[p * width : (p + 1) * width, : tile.shape[1]]
        np.testing.assert_array_equal(tile[: part.shape[0], : part.shape[1]], part)
        assert not dense[p * width : (p + 1) * width, tile.shape[1] :].any()
        assert not tile[part.shape[0] :].any()
        assert not tile[:, part.shape[1] :].any()


@each_case
def test_the_map_gives_the_harmonics(rng, dimension, degree):
    x = rng.standard_normal((40, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    harmonic_map = HarmonicMap(dimension, degree)
    values = HarmonicBasis(dimension, degree).evaluate(x)
    np.testing.assert_array_equal(
        np.sort(np.concatenate(harmonic_map.rows)), range(values.shape[1])
    )
    for p in (0, 1):
        by_monomials = harmonic_map.matrices[p] @ monomials(x, dimension, degree - p).T
        np.testing.assert_allclose(by_monomials.T, values[:, harmonic_map.rows[p]], atol=1e-12)


def scaled_maps(dimension, degree):
    """The maps from sqrt(K!/alpha!) xi^alpha, and the degree of each of their rows."""
    harmonic_map = HarmonicMap(dimension, degree)
    degrees = HarmonicBasis(dimension, degree).degrees
    for p in (0, 1):
        K = degree - p
        variables = last_order(dimension, K)
        powers = (variables[:, :, None] == np.arange(dimension)).sum(axis=1)
        alpha = np.array([[factorial(k) for k in row] for row in powers]).prod(axis=1)
        scaled = harmonic_map.matrices[p].toarray() / np.sqrt(factorial(K) / alpha)
        yield K, degrees[harmonic_map.rows[p]], scaled


@each_case
def test_rows_of_the_scaled_map_are_orthogonal(dimension, degree):
    d = dimension
    for K, degrees, scaled in scaled_maps(dimension, degree):
        diagonal = []
        for l in degrees.tolist():
            raised = [2 * i * (2 * l + d - 2 + 2 * i) for i in range(1, (K - l) // 2 + 1)]
            entry = np.prod([float(d + 2 * i) for i in range(l)]) * np.prod(raised)
            diagonal.append(entry / factorial(K))
        expected = np.diag(diagonal)
        np.testing.assert_allclose(scaled @ scaled.T, expected, atol=1e-13 * np.max(diagonal))


@each_case
def test_condition_number(dimension, degree):
    values = [np.linalg.svd(part, compute_uv=False) for *_, part in scaled_maps(dimension, degree)]
    values = np.concatenate(values)
    expected = values.max() / values.min()
    np.testing.assert_allclose(condition_number(dimension, degree), expected, rtol=1e-11)


def test_condition_numbers_of_the_design():
    assert round(condition_number(3, 14)) == 69
    assert max(condition_number(d, L) for d in range(3, 21) for L in range(1, 9)) < 49.5
