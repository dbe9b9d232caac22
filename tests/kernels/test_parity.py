"""Odd kernels: the odd part of another one, with its variance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vish.kernels import ArcCosine, Matern, Odd, Polynomial, SquaredExponential, Zonal
from vish.sphere.levels import level_sizes

KERNELS = [
    Matern(1.5, 0.5, 2.0),
    Matern(0.5, 0.1),
    SquaredExponential(0.7),
    ArcCosine(0),
    Matern(1.5, 0.3) + Polynomial(1),
    Zonal(np.exp),
]


@pytest.mark.parametrize("dimension", [2, 3, 9])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_odd_part_with_the_same_variance(kernel, dimension):
    """k_odd(t) is proportional to k(t) - k(-t), and k_odd(1) = k(1)."""
    cosines = np.array([1.0, 0.8, 0.3, -0.1, -0.7])
    odd = Odd(kernel).evaluate(cosines, dimension)
    mirrored = kernel.evaluate(cosines, dimension) - kernel.evaluate(-cosines, dimension)
    assert_allclose(odd, mirrored * kernel.evaluate([1.0], dimension) / mirrored[0], rtol=1e-12)
    assert_allclose(Odd(kernel).evaluate(-cosines, dimension), -odd, rtol=1e-12)

    spectrum, whole = (k.spectrum(dimension, 7) for k in (Odd(kernel), kernel))
    assert not spectrum[::2].any()
    ratio = (spectrum / np.where(whole > 0, whole, 1.0))[1::2]
    assert_allclose(ratio[whole[1::2] > 0], ratio[0], rtol=1e-9)


@pytest.mark.parametrize("kernel", [Matern(1.5, 0.5), SquaredExponential(0.7)], ids=repr)
@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_values_are_the_mercer_sum_of_the_spectrum(kernel, dimension):
    cosines = np.array([0.9, 0.3, -0.6])
    expected = Odd(kernel).evaluate(cosines, dimension, degree=801)
    assert_allclose(Odd(kernel).evaluate(cosines, dimension), expected, atol=2e-6)


@pytest.mark.parametrize(("dimension", "lengthscale"), [(9, 20.0), (17, 2.0), (33, 1.0)])
def test_a_kernel_that_is_nearly_constant_keeps_its_digits(dimension, lengthscale):
    kernel, cosines = Odd(Matern(1.5, lengthscale)), np.array([1.0, 0.5, -0.3])
    expected = kernel.evaluate(cosines, dimension, degree=401)
    assert_allclose(kernel.evaluate(cosines, dimension), expected, rtol=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 9])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_both_normalisations(kernel, dimension):
    variance = kernel.evaluate([1.0], dimension)[0]
    sizes = level_sizes(dimension, 6)
    kept = Odd(kernel).spectrum(dimension, 6, truncated=True) @ sizes
    assert_allclose(kept, variance, rtol=1e-12)
    everything = Odd(kernel).spectrum(dimension, 6) @ sizes + Odd(kernel).tail(dimension, 6)
    assert_allclose(everything, variance, rtol=1e-9)


@pytest.mark.parametrize("kernel", [Matern(0.5, 0.1), Matern(1.5, 0.3), ArcCosine(0)], ids=repr)
@pytest.mark.parametrize("dimension", [3, 9])
def test_the_tail_is_the_sum_of_further_odd_degrees(kernel, dimension):
    far = 4001
    levels = Odd(kernel).spectrum(dimension, far) * level_sizes(dimension, far)
    expected = levels[8:].sum() + Odd(kernel).tail(dimension, far)
    assert_allclose(Odd(kernel).tail(dimension, 7), expected, rtol=2e-7)


def test_how_many_harmonics():
    """Those of degree 1, 3, .., L are the homogeneous polynomials of degree L."""
    assert Odd(Matern()).n_harmonics(9, 3) == 165
    assert Odd(Matern()).n_harmonics(5, 15) == 3876
    assert Odd(Matern()).n_harmonics(5, 16) == 3876
    assert Matern().n_harmonics(9, 3) == 210
    assert ArcCosine(1).n_harmonics(9, 3) == 54
    assert Matern(1.5).freeze(9, 1).n_harmonics(9, 3) == 10  # no more is stored


def test_what_it_is_made_of():
    assert Odd(Matern(1.5, 0.5)).without_lengthscale() == Odd(Matern(1.5))
    both = Odd(Matern(1.5, 0.5)) + Odd(ArcCosine(0))
    assert both.is_odd
    assert both.without_lengthscale() == Odd(Matern(1.5)) + Odd(ArcCosine(0))
    assert not (Odd(Matern()) + Matern()).is_odd
    assert not Matern().is_odd
    assert Odd(Matern(1.5, 0.5)).freeze(3, 5).is_odd
