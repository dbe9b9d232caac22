"""Funk-Hecke quadrature against closed forms and mpmath."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from vish.kernels import ArcCosine, NeuralTangent, Polynomial, Zonal
from vish.kernels.funk_hecke import level_coefficients
from vish.sphere.levels import log_level_sizes


def by_mpmath(shape, dimension, degree, breaks=(0, 0.1, 1, 2, 3)):
    """The same integral at 30 digits, by tanh-sinh in the angle."""
    with mpmath.workdps(30):
        d = mpmath.mpf(dimension)

        def polynomial(t):
            previous, current = mpmath.mpf(0), mpmath.mpf(1)
            for l in range(degree):
                step = t if l == 0 else ((2 * l + d - 2) * t * current - l * previous) / (l + d - 2)
                previous, current = current, step
            return current

        def weighted(angle, factor):
            return factor * mpmath.sin(angle) ** (d - 2)

        edges = [*breaks, mpmath.pi]
        top = mpmath.quad(
            lambda a: weighted(a, shape(mpmath.cos(a)) * polynomial(mpmath.cos(a))), edges
        )
        return float(top / mpmath.quad(lambda a: weighted(a, 1), edges))


@pytest.mark.parametrize("dimension", [2, 3, 9, 33, 201])
@pytest.mark.parametrize(
    "kernel",
    [ArcCosine(0), ArcCosine(1), ArcCosine(2), NeuralTangent(), Polynomial(5, 0.7)],
    ids=repr,
)
def test_quadrature_agrees_with_closed_forms(kernel, dimension):
    degree = {2: 300, 3: 300, 9: 60}.get(dimension, 12)
    coefficients = level_coefficients(kernel.unit_shape, dimension, degree)
    exact = kernel.spectrum(dimension, degree)
    assert np.abs(coefficients - exact).max() < 5e-15
    # and relative to the root mean square of P_l, what the zero tolerance relies on
    sizes = np.exp(log_level_sizes(dimension, degree))
    assert np.abs((coefficients - exact) * np.sqrt(sizes)).max() < 5e-15


@pytest.mark.parametrize("dimension", [2, 3, 33])
@pytest.mark.parametrize("degree", [0, 1, 4, 7])
def test_exponential_against_mpmath(dimension, degree):
    found = Zonal(np.exp).spectrum(dimension, degree)[-1]
    exact = by_mpmath(mpmath.exp, dimension, degree) / np.e
    assert abs(found - exact) < 1e-15


def _deep_step(t):  # order 0, depth 2: a square-root singularity in the angle
    return 1 - mpmath.acos(1 - mpmath.acos(t) / mpmath.pi) / mpmath.pi


@pytest.mark.parametrize(("dimension", "degree"), [(2, 0), (2, 3), (3, 2), (9, 3)])
def test_deep_step_against_mpmath(dimension, degree):
    found = ArcCosine(0, depth=2).spectrum(dimension, degree)[-1]
    assert abs(found - by_mpmath(_deep_step, dimension, degree)) < 1e-14


def test_legendre_generating_function():
    # sum_l h^l P_l(t) on the globe: a_l = h^l / (2l + 1)
    h = 0.8

    def shape(t):
        return 1 / np.sqrt(1 - 2 * h * t + h * h)

    exact = h ** np.arange(151) / (2 * np.arange(151) + 1) * (1 - h)
    assert_allclose(Zonal(shape).spectrum(3, 150), exact, rtol=0, atol=1e-14)


def test_a_kink_inside_the_interval_is_resolved():
    # the hat in the angle, on the circle: a_l = w/(2 pi) sinc(l w/2)^2
    width = 1.0
    kernel = Zonal(lambda t: np.maximum(0.0, 1 - np.arccos(t) / width))
    l = np.arange(41)
    exact = width / (2 * np.pi) * np.sinc(l * width / (2 * np.pi)) ** 2
    assert_allclose(kernel.spectrum(2, 40), exact, rtol=0, atol=1e-14)


def test_noise_is_refused():
    rng = np.random.default_rng(0)
    kernel = Zonal(lambda t: t + 2 + 0.1 * rng.random(t.shape))
    with pytest.raises(ValueError, match="not resolved by 20000 panels"):
        kernel.spectrum(3, 2)
