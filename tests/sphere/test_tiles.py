"""Each register-tile primitive says the same as its NumPy twin."""

import numba
import numpy as np
import pytest

from vish.sphere.tiles import (
    FIRST_TILE,
    TILE,
    aligned_rows,
    combinations,
    inner_products,
    multiply_rows,
    reverse_multiply_rows,
)


@numba.njit
def call_inner_products(first, a, last, b, out, start):
    inner_products(first, a, last, b, out, start)


@pytest.fixture(params=[32, 96, 160])
def block(request):
    return request.param


@pytest.fixture
def rows(rng, block):
    """A function that makes an aligned block of n random rows."""

    def make(n):
        array = aligned_rows(n, block)
        array[:] = rng.standard_normal((n, block))
        return array

    return make


def test_rows_begin_on_a_cache_line():
    for n in range(1, 9):
        assert aligned_rows(n, 32).ctypes.data % 64 == 0


def test_inner_products(rng, rows):
    first, last, out = rows(9), rows(TILE + 5), rng.standard_normal(4 * TILE + 10)
    expected = out.copy()
    products = first[3 : 3 + FIRST_TILE] @ last[2 : 2 + TILE].T
    expected[7 : 7 + FIRST_TILE * TILE] += products.ravel()
    call_inner_products(first, 3, last, 2, out, 7)
    np.testing.assert_allclose(out, expected, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 11])
def test_combinations(rng, rows, n):
    form, source, out = rng.standard_normal(TILE * n + 5), rows(20), rows(TILE + 3)
    index = rng.integers(0, 17, 11)
    expected = out.copy()
    coefficients = form[5:].reshape(n, TILE)
    expected[2 : 2 + TILE] = coefficients.T @ source[3 + index[:n]]
    combinations(form, 5, index, n, source, 3, out, 2)
    np.testing.assert_allclose(out, expected, atol=1e-13)


@pytest.mark.parametrize("size", [1, 4, 7])
def test_multiply_rows(rows, size):
    x, source, target = rows(5), rows(12), rows(15)
    expected = target.copy()
    expected[6 : 6 + size] = x[3] * source[2 : 2 + size]
    multiply_rows(x, 3, source, 2, size, target, 6)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("size", [1, 4, 7])
def test_reverse_multiply_rows(rows, size):
    x, values, adjoints, gradient = rows(5), rows(20), rows(20), rows(5)
    lower, upper = slice(2, 2 + size), slice(11, 11 + size)
    expected_gradient, expected = gradient.copy(), adjoints.copy()
    expected_gradient[3] += (adjoints[upper] * values[lower]).sum(axis=0)
    expected[lower] += adjoints[upper] * x[3]
    reverse_multiply_rows(x, 3, values, 2, size, 11, adjoints, gradient)
    np.testing.assert_allclose(adjoints, expected, atol=1e-14)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-13)
