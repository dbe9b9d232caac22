"""The posterior: draws, covariance, gradients, and the two forms of the variance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from vish.inference.evidence import evidence
from vish.inference.posterior import Posterior
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.kernels import Matern
from vish.sphere import Projection
from vish.sphere.threads import CHUNK_ROWS

RELEVANCES = {
    "diagonal": np.array([0.9, 0.4, 1.3]),
    "matrix": np.array([[0.9, 0.4, -0.3], [0.2, -0.7, 0.5]]),
}


def fit(rng, relevance, kernel, tau2, n=200, degree=3, noise="constant", route="auto", tail=False):
    """A posterior of as many targets as noises, its rows, and the kernel's spectrum."""
    D, T = relevance.shape[-1], len(tau2)
    projection = Projection(np.full(D, 0.1), np.full(D, 1.2), relevance)
    geometry = Geometry(projection, degree, noise, np.zeros(T), np.ones(T), route)
    X = rng.standard_normal((n, D))
    y = np.sin(X @ rng.standard_normal((D, T))) + 0.1 * rng.standard_normal((n, T))
    equations = Statistics.of_source(geometry, ArraySource(X, y), n_jobs=1).normal_equations
    log_spectrum, _ = kernel.log_spectrum_and_gradient(
        projection.dimension, degree, truncated=not tail
    )
    result = evidence(equations, log_spectrum, np.asarray(tau2))
    posterior = Posterior.of(geometry, result, float(np.exp(log_spectrum[-1])))
    return posterior, X, np.exp(log_spectrum[:-1])[equations.degrees]


def healthy(rng, relevance="diagonal", **options):
    kernel = Matern(1.5, 0.6, 2.0)
    return fit(rng, RELEVANCES[relevance], kernel, np.array([0.1, 0.1, 0.4]), **options)[0]


def cancelling(rng, route="auto"):
    """All rows crowd one pole and the prior is far wider than the posterior."""
    relevance = np.full(3, 0.02)
    return fit(rng, relevance, Matern(1.5, 1.0, 1e7), np.array([0.01]), n=400, route=route)


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("route", ["moments", "features"])
def test_mean_variance_and_covariance_by_features(rng, noise, route, tail):
    posterior = healthy(rng, noise=noise, route=route, tail=tail)
    assert posterior.polynomial_variance
    X = 2 * rng.standard_normal((60, 3))
    psi, r = posterior.features(X), posterior.geometry.projection.project(X)[1]
    mean, variance = posterior.moments(X, n_jobs=1)
    assert mean.shape == variance.shape == (60, 3)
    np.testing.assert_allclose(mean, psi @ posterior.means, atol=1e-12 * np.abs(mean).max())
    covariance = posterior.covariance(X)
    diagonal = np.einsum("tnn->nt", covariance)
    np.testing.assert_allclose(diagonal, variance, rtol=1e-10)
    for t in range(3):
        expected = psi @ posterior.covariances[t] @ psi.T + np.diag(posterior.tail * r**2)
        np.testing.assert_allclose(covariance[t], expected, atol=1e-12 * expected.max())
    np.testing.assert_array_equal(variance[:, 0], variance[:, 1])  # the same noise
    assert (posterior.tail > 0) == tail


def test_the_tail_adds_its_variance_times_the_squared_radius(rng):
    posterior = healthy(rng, tail=True)
    X = rng.standard_normal((50, 3))
    r = posterior.geometry.projection.project(X)[1]
    without = replace(posterior, tail=0.0).moments(X).variance
    added = posterior.moments(X).variance - without
    np.testing.assert_allclose(added, np.repeat(posterior.tail * r[:, None] ** 2, 3, 1), rtol=1e-10)


def test_blocks_and_threads(rng):
    posterior = healthy(rng)
    X = rng.standard_normal((CHUNK_ROWS + 100, 3))
    mean, variance = posterior.moments(X, n_jobs=1)
    again = posterior.moments(X, n_jobs=2)
    np.testing.assert_array_equal(again.mean, mean)
    np.testing.assert_array_equal(again.variance, variance)
    part = posterior.moments_of_chunk(X[CHUNK_ROWS:])
    np.testing.assert_allclose(part.variance, variance[CHUNK_ROWS:], rtol=1e-14)
    only_mean = posterior.moments(X, with_variance=False)
    np.testing.assert_array_equal(only_mean.mean, mean)
    assert posterior.moments(X[:0]).mean.shape == (0, 3)


def test_draws_have_the_posterior_mean_and_covariance(rng):
    posterior = healthy(rng, n=40)
    X, n = rng.standard_normal((6, 3)), 40_000
    draws = posterior.draw_weights(n, rng)
    assert draws.shape == (n, *posterior.means.shape)
    values = np.einsum("pm,nmt->tnp", posterior.features(X), draws)
    mean, expected = posterior.moments(X).mean.T, posterior.covariance(X)
    for t in range(3):
        variance = np.diag(expected[t])
        error = values[t].mean(axis=0) - mean[t]
        assert np.all(np.abs(error) < 4.5 * np.sqrt(variance / n))
        sampled = np.cov(values[t].T)
        standard_error = np.sqrt((np.outer(variance, variance) + expected[t] ** 2) / n)
        assert np.all(np.abs(sampled - expected[t]) < 4.5 * standard_error)
    between = np.corrcoef(values[0, :, 0], values[1, :, 0])[0, 1]
    assert abs(between) < 4.5 / np.sqrt(n)  # targets are drawn independently


def assert_gradients(posterior, X, step, tolerance):
    mean, variance = posterior.gradients(X)
    T, D = posterior.geometry.n_targets, X.shape[1]
    assert mean.shape == variance.shape == (len(X), T, D)
    for i in range(D):
        h = step * np.eye(D)[i]
        moved = [posterior.moments(X + c * h, n_jobs=1) for c in (-2, -1, 1, 2)]
        for ours, name in ((mean, "mean"), (variance, "variance")):
            v = [getattr(m, name) for m in moved]
            expected = (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * step)
            error = np.abs(ours[:, :, i] - expected).max()
            assert error < tolerance * np.abs(ours).max(), (name, error / np.abs(ours).max())


@pytest.mark.parametrize("relevance", RELEVANCES)
@pytest.mark.parametrize("route", ["moments", "features"])
@pytest.mark.parametrize("tail", [False, True])
def test_gradients_in_the_inputs(rng, relevance, route, tail):
    posterior = healthy(rng, relevance, route=route, tail=tail)
    assert_gradients(posterior, rng.standard_normal((20, 3)), 1e-3, 1e-8)


@pytest.mark.parametrize("route", ["moments", "features"])
def test_the_factor_form_where_the_polynomial_cancels(rng, route):
    """Against a variance by QR of the rows themselves, which never squares them."""
    posterior, X, prior = cancelling(rng, route)
    assert not posterior.polynomial_variance
    new = rng.standard_normal((50, 3))
    scaled = posterior.features(X) * np.sqrt(prior) / np.sqrt(0.01)
    triangle = np.linalg.qr(np.vstack([scaled, np.eye(len(prior))]), mode="r")
    right = (posterior.features(new) * np.sqrt(prior)).T
    expected = np.sum(solve_triangular(triangle, right, trans="T") ** 2, axis=0)
    variance = posterior.moments(new).variance[:, 0]
    np.testing.assert_allclose(variance, expected, rtol=1e-5)
    forms = posterior.geometry.engine.quadratic_form(posterior.covariances[0])
    points, r = posterior.geometry.projection.project_chunk(new)
    polynomial = r**2 * posterior.geometry.engine.quadratic(points, forms)
    assert np.abs(polynomial / expected - 1).max() > 1e-6  # what was avoided


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e4])
def test_with_noise_only_the_digits_that_show_are_kept(rng, noise, size, monkeypatch):
    """The sum of variance and noise is right to 1e-6, and cheap once the noise is large."""
    posterior, _, _ = cancelling(rng)
    posterior = replace(posterior, geometry=replace(posterior.geometry, noise=noise))
    X = rng.standard_normal((300, 3))
    radii = posterior.geometry.projection.project(X)[1]
    added = size * (radii[:, None] ** 2 if noise == "radial" else 1.0)
    exact = posterior.moments(X).variance
    quick = posterior.moments(X, noise=np.array([size])).variance
    np.testing.assert_allclose(quick + added, exact + added, rtol=1e-6)
    if size == 1e4:
        monkeypatch.delattr(Posterior, "_sums_of_squares")
        assert (posterior.moments(X, noise=np.array([size])).variance >= 0).all()


@pytest.mark.parametrize("route", ["moments", "features"])
def test_gradients_where_the_polynomial_cancels(rng, route):
    posterior = cancelling(rng, route)[0]
    assert_gradients(posterior, rng.standard_normal((20, 3)), 3e-2, 1e-6)
