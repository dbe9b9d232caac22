"""Polynomial and user-given shapes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vish.kernels import FixedSpectrum, Polynomial, Zonal, zonal_harmonics
from vish.kernels.gegenbauer import mercer_sum, reduced_mercer_sum
from vish.sphere.levels import level_sizes


@pytest.mark.parametrize("dimension", [2, 3, 9, 201])
@pytest.mark.parametrize("offset", [0.0, 0.5, 2.0])
def test_polynomial_is_its_mercer_sum(dimension, offset):
    kernel = Polynomial(degree=4, offset=offset, variance=2.0)
    cosines = np.linspace(-1, 1, 11)
    exact = 2 * ((cosines + offset) / (1 + offset)) ** 4
    assert_allclose(kernel.evaluate(cosines, dimension), exact, atol=1e-14)
    assert_allclose(kernel.evaluate(cosines, dimension, 4), exact, atol=1e-12)
    assert kernel.tail(dimension, 4) == 0.0
    assert (kernel.spectrum(dimension, 9)[5:] == 0).all()
    assert (kernel.spectrum(dimension, 4)[1::2] == 0).all() == (offset == 0)
    levels = kernel.spectrum(dimension, 4) * level_sizes(dimension, 4)
    assert_allclose(kernel.tail(dimension, 2), levels[3:].sum(), rtol=1e-12)


def test_zonal_of_a_polynomial_has_exact_zeros():
    spectrum = Zonal(lambda t: t**3).spectrum(9, 8)
    assert np.flatnonzero(spectrum).tolist() == [1, 3]
    assert Zonal(lambda t: t**3).tail(9, 3) == 0.0


def test_zonal_tail_in_both_regimes():
    exponential = Zonal(np.exp)
    levels = exponential.spectrum(3, 30) * level_sizes(3, 30)
    for degree in (1, 5, 8):
        assert_allclose(exponential.tail(3, degree), levels[degree + 1 :].sum(), rtol=1e-3)
    slow = Zonal(lambda t: np.exp(-np.arccos(t)))
    kept = slow.spectrum(3, 10) @ level_sizes(3, 10)
    assert_allclose(slow.tail(3, 10) + kept, 1.0, rtol=1e-14)


def test_zonal_scales_by_its_value_at_one_and_is_cached():
    calls = []

    def shape(t):
        calls.append(t.size)
        return 5 * np.exp(t)

    kernel = Zonal(shape, variance=3.0)
    first = kernel.spectrum(4, 6)
    count = len(calls)
    assert_allclose(kernel.with_log_parameters([np.log(6.0)]).spectrum(4, 6), 2 * first)
    assert len(calls) == count
    assert_allclose(kernel.evaluate([1.0, 0.0], 4), [3.0, 3 / np.e])


def test_zonal_harmonics_are_the_known_polynomials():
    t = np.linspace(-1, 1, 7)
    angles = np.arccos(t)
    circle = zonal_harmonics(t, 2, 5)
    expected = [np.ones(7)] + [2 * np.cos(l * angles) for l in range(1, 6)]
    assert_allclose(circle, expected, atol=1e-14)
    globe = zonal_harmonics(t.reshape(7, 1), 3, 3)
    assert globe.shape == (4, 7, 1)
    assert_allclose(globe[3, :, 0], 7 * (5 * t**3 - 3 * t) / 2, atol=1e-14)


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_zonal_harmonics_are_orthogonal(dimension):
    angles, weights = np.polynomial.legendre.leggauss(200)
    angles, weights = (angles + 1) * np.pi / 2, weights * np.pi / 2
    weights = weights * np.sin(angles) ** (dimension - 2)
    values = zonal_harmonics(np.cos(angles), dimension, 40)
    scaled = values / np.sqrt(level_sizes(dimension, 40))[:, None]
    gram = (scaled * weights / weights.sum()) @ scaled.T
    assert_allclose(gram, np.eye(41), atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_reduced_sum_of_a_finite_series(dimension):
    levels = np.append([0.3, 0.4, 0.2, 0.1], np.zeros(8))  # room for the neighbours
    cosines = np.array([-1.0, -0.3, 0.4, 0.9])
    direct = mercer_sum(levels, cosines, dimension)
    for reductions in (1, 2, 3):
        reduced = reduced_mercer_sum(levels, cosines, dimension, reductions)
        assert_allclose(reduced, direct, atol=1e-12)


def test_freeze_keeps_the_spectrum():
    kernel = Zonal(lambda t: np.exp(2 * t), variance=1.7)
    frozen = kernel.freeze(5, 4)
    assert isinstance(frozen, FixedSpectrum)
    for degree in (2, 4):
        for truncated in (False, True):
            expected = kernel.spectrum(5, degree, truncated=truncated)
            found = frozen.spectrum(5, degree, truncated=truncated)
            assert_allclose(found, expected, rtol=1e-12)
        assert_allclose(frozen.tail(5, degree), kernel.tail(5, degree), rtol=1e-9)
    assert frozen.parameter_names == ("variance",)
    assert_allclose(frozen.evaluate([1.0], 5), [1.7])
