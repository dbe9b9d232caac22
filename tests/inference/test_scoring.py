"""The average information beside the dense formula, and the climb that it scales."""

import numpy as np
import pytest
from scipy.optimize import minimize

from vish.inference.evidence import evidence
from vish.inference.scoring import Slope, average_information, climb
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.kernels import ArcCosine, Matern
from vish.sphere import HarmonicBasis, Projection

DEGREE = 3


def problem(rng, targets=1, n=60):
    projection = Projection(np.zeros(2), np.ones(2), np.array([0.8, 0.5]))
    geometry = Geometry(projection, DEGREE, "constant", np.zeros(targets), np.ones(targets))
    X = rng.standard_normal((n, 2))
    y = np.sin(X @ rng.standard_normal((2, targets))) + 0.3 * rng.standard_normal((n, targets))
    return geometry, X, y, Statistics.of_source(geometry, ArraySource(X, y)).normal_equations


@pytest.mark.parametrize("kernel", [Matern(1.5), ArcCosine(1)], ids=["every level", "gaps"])
def test_information_is_that_of_the_dense_covariance(rng, kernel):
    geometry, X, y, equations = problem(rng)
    log_spectrum, _ = kernel.log_spectrum_and_gradient(3, DEGREE, truncated=True)
    spectrum, noise = np.exp(log_spectrum[:-1]), np.array([0.1])
    basis = HarmonicBasis(3, DEGREE)
    xi, r = geometry.projection.project(X)
    psi = r[:, None] * basis.evaluate(xi)
    levels = [
        spectrum[l] * psi[:, basis.degrees == l] @ psi[:, basis.degrees == l].T
        for l in range(DEGREE + 1)
    ]
    slopes = [*levels, np.zeros_like(levels[0]), noise[0] * np.eye(len(X))]
    K = sum(levels) + slopes[-1]
    moved = [slope @ np.linalg.solve(K, y[:, 0]) for slope in slopes]
    expected = [[a @ np.linalg.solve(K, b) / 2 for a in moved] for b in moved]
    result = evidence(equations, log_spectrum, noise)
    found = average_information(equations, log_spectrum, noise, result)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_the_tail_has_the_curvature_of_its_price(rng):
    """E loses delta R / 2 tau2, whose second derivatives in the logs are known."""
    _, _, _, equations = problem(rng)
    log_spectrum, _ = Matern(1.5).log_spectrum_and_gradient(3, DEGREE, truncated=False)
    noise = np.array([0.1])
    result = evidence(equations, log_spectrum, noise)
    with_tail = average_information(equations, log_spectrum, noise, result)
    without = np.append(log_spectrum[:-1], -np.inf)
    difference = with_tail - average_information(equations, without, noise, result)
    price = np.exp(log_spectrum[-1]) * equations.radii / (2 * noise[0])
    np.testing.assert_allclose(difference[-2:, -2:], price * np.array([[1, -1], [-1, 1]]))
    assert not difference[:-2].any()


def test_targets_have_their_own_noise(rng):
    _, _, _, equations = problem(rng, targets=2)
    log_spectrum, _ = Matern(1.5).log_spectrum_and_gradient(3, DEGREE, truncated=True)
    noise = np.array([0.1, 0.4])
    result = evidence(equations, log_spectrum, noise)
    information = average_information(equations, log_spectrum, noise, result)
    assert information[-1, -2] == 0.0
    assert np.linalg.eigvalsh(information).min() > -1e-9 * information.max()


def quartic(point):
    """A valley with its end at 1, 1; the information is the exact curvature there."""
    x, y = point
    value = -((y - x**2) ** 2) * 50 - (1 - x) ** 2
    gradient = np.array([200 * x * (y - x**2) + 2 * (1 - x), -100 * (y - x**2)])
    jacobian = np.array([[-20 * x, 10.0], [-np.sqrt(2), 0.0]])
    return Slope(value, gradient, jacobian.T @ jacobian)


def test_climb_follows_a_bent_valley():
    bounds = np.tile([-5.0, 5.0], (2, 1))
    np.testing.assert_allclose(climb(quartic, np.array([-1.2, 1.0]), bounds, 100), 1, atol=0.02)


def test_climb_stays_within_bounds_and_finds_the_best_there():
    bounds = np.array([[-2.0, 0.5], [-2.0, 2.0]])
    found = climb(quartic, np.array([-1.2, 1.0]), bounds, 100)
    reference = minimize(lambda p: -quartic(p).value, [0.4, 0.2], bounds=bounds).x
    np.testing.assert_allclose(found, reference, atol=0.02)


def test_climb_never_falls_and_looks_at_no_more_points_than_it_may(rng):
    seen = []

    def counted(point):
        seen.append(quartic(point))
        return seen[-1]

    start, bounds = np.array([-1.2, 1.0]), np.tile([-5.0, 5.0], (2, 1))
    end = climb(counted, start, bounds, 3)
    assert len(seen) == 4
    assert quartic(end).value == max(slope.value for slope in seen)
    assert np.array_equal(climb(quartic, start, bounds, 0), start)


def test_a_point_without_a_density_is_not_taken():
    def cliff(point):
        value = -((point[0] - 1) ** 2) if point[0] < 2 else np.nan
        return Slope(value, -2 * (point - 1), np.array([[0.1]]))  # too flat: it jumps over

    found = climb(cliff, np.zeros(1), np.array([[-5.0, 5.0]]), 60)
    np.testing.assert_allclose(found, 1.0, atol=0.05)
