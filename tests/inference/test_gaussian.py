"""The Gaussian model: beside a dense Gaussian process, and relearned from statistics alone."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vish.inference.gaussian import GaussianModel
from vish.inference.relearning import relearned
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.kernels import Matern
from vish.sphere import Projection

KERNEL = Matern(1.5, 0.6, 2.0)


def make(rng, noise, truncated=True, n=60, degree=3):
    projection = Projection(np.array([0.1, -0.2]), np.array([1.0, 0.8]), np.array([0.9, 0.5]))
    geometry = Geometry(projection, degree, noise, np.array([3.0]), np.array([2.0]))
    X = rng.standard_normal((n, 2))
    y = 3 + 2 * np.sin(2 * X[:, :1]) + 0.3 * rng.standard_normal((n, 1))
    statistics = Statistics.of_source(geometry, ArraySource(X, y))
    return GaussianModel(statistics, KERNEL, np.array([0.05]), truncated), X, y[:, 0]


def dense(model, X, Z, y):
    """Exact Gaussian process in the units of the geometry: mean and variance at Z, evidence.

    The mean that the model subtracts is that of the noise's own metric.
    """
    geometry = model.geometry
    levels = np.exp(model.prior.log_spectrum[:-1])

    def prior(A, B):
        features = [model.posterior.features(part) for part in (A, B)]
        return (features[0] * levels[model.equations.degrees]) @ features[1].T

    z = ((y - 3.0) / 2.0) - model.equations.mean[0]
    radii = geometry.projection.project(X)[1]
    noise = model.noise[0] * (radii**2 if geometry.noise == "radial" else 1.0)
    K = prior(X, X) + np.diag(np.broadcast_to(noise, len(X)))
    cross = prior(Z, X)
    mean = cross @ np.linalg.solve(K, z) + model.equations.mean[0]
    variance = np.diag(prior(Z, Z) - cross @ np.linalg.solve(K, cross.T))
    log_evidence = multivariate_normal(cov=K).logpdf(z) - len(y) * np.log(2.0)
    return mean, variance, log_evidence


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_the_dense_gaussian_process(rng, noise):
    model, X, y = make(rng, noise)
    Z = rng.standard_normal((9, 2))
    mean, variance, log_evidence = dense(model, X, Z, y)
    found = model.latent(Z)
    np.testing.assert_allclose(found.mean[:, 0], mean, rtol=1e-8)
    np.testing.assert_allclose(found.variance[:, 0], variance, rtol=1e-8)
    assert model.log_evidence == pytest.approx(log_evidence, rel=1e-9)
    radii = model.geometry.projection.project(Z)[1]
    added = 0.05 * (radii**2 if noise == "radial" else 1.0)
    np.testing.assert_allclose(model.observed(Z).variance[:, 0], variance + added, rtol=1e-8)


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_the_tail_adds_to_the_variance_and_lowers_the_bound(rng, noise):
    model, X, y = make(rng, noise, truncated=False)
    assert model.prior.tail == pytest.approx(KERNEL.tail(3, 3))
    mean, variance, log_evidence = dense(model, X, X[:5], y)
    radii = model.geometry.projection.project(X)[1]
    found = model.latent(X[:5])
    np.testing.assert_allclose(found.mean[:, 0], mean, rtol=1e-8)
    tail = model.prior.tail
    np.testing.assert_allclose(found.variance[:, 0], variance + tail * radii[:5] ** 2)
    np.testing.assert_allclose(model.tail_variance_at(X[:5])[:, 0], tail * radii[:5] ** 2)
    total = len(X) if noise == "radial" else (radii**2).sum()
    assert model.log_evidence == pytest.approx(log_evidence - tail * total / 0.1, rel=1e-8)


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("truncated", [True, False])
def test_relearning_raises_the_evidence_to_a_stationary_point(rng, noise, truncated):
    model, _, _ = make(rng, noise, truncated, n=200)
    better = relearned(model, 200)
    assert better.log_evidence > model.log_evidence
    again = relearned(better, 200)
    assert again.log_evidence == pytest.approx(better.log_evidence, abs=1e-3)
    assert better.statistics is model.statistics


def test_without_rows_nothing_is_relearned(rng):
    model, X, _ = make(rng, "constant")
    empty = model.with_statistics(Statistics.zero(model.geometry))
    assert relearned(empty, 10) is empty
    assert empty.log_evidence == 0
    radii = model.geometry.projection.project(X)[1]
    np.testing.assert_array_equal(empty.latent(X).mean, 0)
    np.testing.assert_allclose(empty.latent(X).variance[:, 0], 2.0 * radii**2)  # the prior
