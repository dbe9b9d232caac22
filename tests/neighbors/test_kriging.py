"""The solves, against their twin in NumPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from vish.neighbors.kriging import LANES, correlate, krige


def matern(distances, smoothness):
    a = np.sqrt(2 * smoothness) * distances
    return np.exp(-a) * {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[smoothness]


def twin(query, points, residuals, noise, lengthscale, smoothness):
    R = matern(cdist(points, points) / lengthscale, smoothness) + np.diag(noise)
    c = matern(cdist(points, query[None])[:, 0] / lengthscale, smoothness)
    w, solved = np.linalg.solve(R, c), np.linalg.solve(R, residuals)
    return w @ residuals, 1 - w @ c, (residuals * solved).sum(axis=0)


def solved(queries, points, residuals, noise, lengthscale, smoothness):
    m, _, T = residuals.shape
    mean, variance, misfit = np.empty((m, T)), np.empty(m), np.empty((m, T))
    krige(queries, points, residuals, noise, lengthscale, smoothness, mean, variance, misfit)
    return mean, variance, misfit


def problem(m=19, k=12, p=3, T=2):
    rng = np.random.default_rng(0)
    noise = rng.uniform(0.05, 1, (m, k))
    points, residuals = rng.standard_normal((m, k, p)), rng.standard_normal((m, k, T))
    return rng.standard_normal((m, p)), points, residuals, noise


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("m", [1, LANES, 19])
def test_the_kernel_is_its_twin(smoothness, m):
    queries, points, residuals, noise = problem(m)
    mean, variance, misfit = solved(queries, points, residuals, noise, 0.8, smoothness)
    for i in range(m):
        expected = twin(queries[i], points[i], residuals[i], noise[i], 0.8, smoothness)
        np.testing.assert_allclose(mean[i], expected[0], atol=1e-12)
        np.testing.assert_allclose(variance[i], expected[1], atol=1e-12)
        np.testing.assert_allclose(misfit[i], expected[2], rtol=1e-11)


def test_a_row_of_infinite_noise_does_not_count():
    queries, points, residuals, noise = problem()
    noise[:, 4] = np.inf
    residuals[:, 4] = 0.0
    rest = np.arange(noise.shape[1]) != 4
    found = solved(queries, points, residuals, noise, 0.8, 1.5)
    expected = solved(
        queries,
        np.ascontiguousarray(points[:, rest]),
        np.ascontiguousarray(residuals[:, rest]),
        np.ascontiguousarray(noise[:, rest]),
        0.8,
        1.5,
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_correlations_keep_their_digits(smoothness):
    distances = np.append(np.logspace(-12, 2, 200), [0.0, 1e30])
    values = distances**2
    correlate(values, smoothness)
    np.testing.assert_allclose(values, matern(distances, smoothness), atol=1e-12)


def test_all_rows_in_one_place_and_almost_no_noise():
    m, k = 3, 10
    queries, points = np.zeros((m, 2)), np.zeros((m, k, 2))
    residuals = np.random.default_rng(0).standard_normal((m, k, 1))
    mean, variance, misfit = solved(queries, points, residuals, np.full((m, k), 1e-9), 1.0, 1.5)
    np.testing.assert_allclose(mean, residuals.mean(axis=1), atol=1e-4)
    assert np.all((variance >= 0) & (variance < 1e-6))
    assert np.isfinite(misfit).all()
