"""Matern and squared exponential: tails, limits and closed forms."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from vish.kernels import Matern, SquaredExponential
from vish.kernels.levels import degree_nodes
from vish.sphere.levels import level_size, level_sizes, log_level_size_at


def long_sum_tail(kernel, dimension, degree, power, last=1_000_000):
    """Tail by adding a million levels, and a power law for the rest."""
    l = np.arange(last + 1.0)
    with np.errstate(divide="ignore"):
        log_terms = kernel.log_levels(dimension, l) + log_level_size_at(dimension, l)
    terms = np.exp(log_terms - log_terms.max())
    alpha = (dimension - 2) / 2
    rest = terms[-1] * (last + alpha) ** power * (last + alpha + 0.5) ** (1 - power) / (power - 1)
    return (terms[degree + 1 :].sum() + rest) / (terms.sum() + rest)


@pytest.mark.parametrize("dimension", [2, 3, 9, 33])
@pytest.mark.parametrize(("nu", "lengthscale"), [(0.5, 0.1), (0.5, 0.01), (0.3, 1.0), (2.5, 0.3)])
def test_matern_tail_against_a_long_sum(nu, lengthscale, dimension):
    kernel = Matern(nu, lengthscale, variance=3.0)
    for degree in (0, 4, 60, 500):
        expected = 3 * long_sum_tail(kernel, dimension, degree, 2 * nu + 1)
        assert_allclose(kernel.tail(dimension, degree), expected, rtol=1e-8)


def test_matern_tail_against_mpmath():
    # nu = 1/2 on the globe: sum_{l>L} (2l+1) (100 + l(l+1))^(-3/2)
    with mpmath.workdps(20):

        def term(l):
            return (2 * l + 1) * (100 + l * (l + 1)) ** mpmath.mpf("-1.5")

        def total(first):
            direct = mpmath.fsum(term(l) for l in range(first, 400))
            return direct + mpmath.sumem(term, [400, mpmath.inf], tol=1e-15)

        expected = float(total(5) / total(0))
    assert_allclose(Matern(0.5, 0.1).tail(3, 4), expected, rtol=1e-11)


def test_matern_paper_convention():
    kernel = Matern(1.5, 0.3, convention="paper")
    l = np.arange(4)
    density = (2 * 1.5 / 0.3**2 + 4 * np.pi**2 * l * (l + 7)) ** -(1.5 + 4.5)
    spectrum = kernel.spectrum(9, 3)
    assert_allclose(spectrum / spectrum[0], density / density[0], rtol=1e-13)
    assert_allclose(
        kernel.tail(9, 3), long_sum_tail(kernel, 9, 3, power=5.0), rtol=1e-9
    )  # decays one power faster


def test_matern_half_on_the_circle_is_a_hyperbolic_cosine():
    angles = np.array([0.0, 0.1, 0.5, 1.0, 2.0, np.pi])
    s = 1 / 0.3
    exact = np.cosh(s * (np.pi - angles)) / np.cosh(s * np.pi)
    assert_allclose(Matern(0.5, 0.3).evaluate(np.cos(angles), 2), exact, atol=1e-11)


def test_squared_exponential_is_the_limit_of_matern():
    smooth = Matern(1e6, 0.4).spectrum(5, 6)
    assert_allclose(smooth, SquaredExponential(0.4).spectrum(5, 6), rtol=1e-3)


@pytest.mark.parametrize(
    ("lengthscale", "dimension", "degree"),
    [(3.0, 3, 10), (5.1, 3, 6), (1.3, 33, 15), (4.0, 2, 8)],
)
def test_tiny_tails_are_summed_directly(lengthscale, dimension, degree):
    with mpmath.workdps(30):
        rho2 = mpmath.mpf(lengthscale) ** 2

        def term(l):
            return level_size(dimension, l) * mpmath.exp(-rho2 * l * (l + dimension - 2) / 2)

        total = mpmath.fsum(term(l) for l in range(80))
        tail = mpmath.fsum(term(l) for l in range(degree + 1, 80)) / total
    found = SquaredExponential(lengthscale).tail(dimension, degree)
    assert 0 < found < 1e-200
    assert_allclose(found, float(tail), rtol=1e-11)


@pytest.mark.parametrize("dimension", [2, 3, 9, 33])
def test_start_is_not_all_constant(dimension):
    for kernel in (Matern(), Matern(0.5), Matern(convention="paper"), SquaredExponential()):
        started = kernel.start(dimension, 3)
        levels = started.spectrum(dimension, 3) * level_sizes(dimension, 3)
        assert 0.5 < levels[1] / levels[0] < 2
        assert_allclose(kernel.spectrum(dimension, 3), started.spectrum(dimension, 3))
    assert Matern(1.5).start(9, 3).lengthscale == 2 * np.sqrt(1.5 * np.log(9)) / 9


def test_nodes_sum_a_power_law():
    # sum_{l>=0} 2 (l + 1)^-1.5, weight 1 at 0, on the circle: 2 zeta(1.5) - 1
    degrees, log_measure = degree_nodes(2, 5)
    total = np.exp(log_measure) @ (degrees + 1) ** -1.5
    assert_allclose(total, 2 * float(mpmath.zeta(1.5)) - 1, rtol=1e-11)
