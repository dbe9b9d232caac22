"""Passes over sites: the bound never falls, and its optimum is that of a dense GP."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize

from vish.inference.convergence import converge
from vish.inference.pseudo_rows import pseudo_rows
from vish.inference.relearning import relearned_kernel, relearned_likelihood
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.kernels import Matern
from vish.likelihoods import (
    Bernoulli,
    Beta,
    Gamma,
    Heteroscedastic,
    Laplace,
    Likelihood,
    NegativeBinomial,
    Ordinal,
    Poisson,
    Softmax,
    StudentT,
)
from vish.sphere import Projection


def make_model(likelihood, X, y, weights=None, degree=3, kernel=None, truncated=True):
    weights = np.ones(len(y)) if weights is None else weights
    D = X.shape[1]
    offset = likelihood.offset(y, weights)
    projection = Projection(np.zeros(D), np.ones(D), np.full(D, 0.8))
    geometry = Geometry(projection, degree, "constant", offset, np.ones(len(offset)))
    kernel = (kernel or Matern(1.5, 0.7)).start(D + 1, degree)
    return SiteModel(geometry, likelihood, kernel, truncated, Sites.zero(geometry, len(offset)))


def source(X, y, weights=None):
    return ArraySource(X, y[:, None], weights)


def never_falls(bounds):
    return np.all(np.diff(bounds) >= -1e-10 * (1 + np.abs(bounds[:-1])))


def observations(name, f, rng):
    p = 1 / (1 + np.exp(-2 * f))
    return {
        "logit": lambda: (rng.uniform(size=len(f)) < p) * 1.0,
        "probit": lambda: (rng.uniform(size=len(f)) < p) * 1.0,
        "poisson": lambda: rng.poisson(np.exp(1 + f)).astype(float),
        "student": lambda: f + 0.2 * rng.standard_t(2, len(f)),
        "laplace": lambda: f + rng.laplace(0, 0.2, len(f)),
    }[name]()


LIKELIHOODS = {
    "logit": Bernoulli(),
    "probit": Bernoulli("probit"),
    "poisson": Poisson(),
    "student": StudentT(3.0, 0.2),
    "laplace": Laplace(0.3),
}


def direct_optimum(model, X, y, weights=None):
    """Mean and variance at the rows of the q that maximises the bound, and the bound, directly.

    L-BFGS over the whitened mean z and the whole Cholesky factor of q, no sites. A tail adds
    its variance to each row.
    """
    omega = np.ones(len(y)) if weights is None else weights
    psi = model.posterior.features(X) * model.scales  # [N, M]; the kernel is psi psi^T
    _, radii = model.geometry.projection.project(X)
    M, tail, offset = psi.shape[1], model.prior.tail * radii**2, model.geometry.target_shift[0]
    lower, diagonal = np.tril_indices(M), np.diag_indices(M)

    def unpack(theta):
        L = np.zeros((M, M))
        L[lower] = theta[M:]
        L[diagonal] = np.exp(L[diagonal])
        return theta[:M], L

    def moments(z, L):
        return psi @ z + offset, np.sum((psi @ L) ** 2, axis=1) + tail

    def negative_bound(theta):
        z, L = unpack(theta)
        mean, v = moments(z, L)
        value, g, h = model.likelihood.expectations(y, mean[:, None], v[:, None])
        divergence = (z @ z + np.sum(L**2) - M) / 2 - np.log(L[diagonal]).sum()
        by_L = L + psi.T @ ((omega * h[:, 0])[:, None] * (psi @ L))
        by_L[diagonal] = by_L[diagonal] * L[diagonal] - 1
        by_z = z - psi.T @ (omega * g[:, 0])
        return divergence - omega @ value, np.concatenate([by_z, by_L[lower]])

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 0.0, "gtol": 1e-7, "maxcor": 50}
    start = np.zeros(M + len(lower[0]))
    outcome = minimize(negative_bound, start, jac=True, method="L-BFGS-B", options=options)
    return *moments(*unpack(outcome.x)), -outcome.fun


def dense_update(model, X, y):
    """The optimum's own equations in the space of the rows, a dense GP with the same kernel.

    C = K - K (K + H^-1)^-1 K is the covariance, C (h m + g) the mean, at the same marginals.
    """
    psi = model.posterior.features(X) * model.scales
    _, radii = model.geometry.projection.project(X)
    K = psi @ psi.T
    mean, offset = model.latent(X).mean, model.geometry.target_shift
    _, g, h = model.likelihood.expectations(y, *model.latent(X))
    root = np.sqrt(h)
    B = np.eye(len(y)) + root * K * root.T
    covariance = K - K @ (root * np.linalg.solve(B, root * K))
    mean = offset + covariance @ (h * (mean - offset) + g)
    return mean[:, 0], covariance.diagonal() + model.prior.tail * radii**2


@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_optimum_is_that_of_the_dense_model(name, truncated, rng):
    X = rng.normal(size=(200, 2))
    y = observations(name, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1], rng)
    model = make_model(LIKELIHOODS[name], X, y, degree=4, truncated=truncated)
    end = converge(model, source(X, y))
    assert end.converged
    assert never_falls(end.bounds)
    found = end.model.latent(X)
    mean, variance, bound = direct_optimum(end.model, X, y)
    assert end.bound == pytest.approx(bound, abs=1e-5)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-4)
    np.testing.assert_allclose(found.variance[:, 0], variance, atol=1e-4)
    mean, variance = dense_update(end.model, X, y)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-4)
    np.testing.assert_allclose(found.variance[:, 0], variance, atol=1e-4)


def test_weights_are_in_the_dense_optimum_too(rng):
    X = rng.normal(size=(60, 2))
    y, weights = observations("logit", X[:, 0], rng), rng.uniform(0.1, 5, 60)
    model = make_model(Bernoulli(), X, y, weights)
    end = converge(model, source(X, y, weights))
    mean, variance, bound = direct_optimum(end.model, X, y, weights)
    found = end.model.latent(X)
    assert end.bound == pytest.approx(bound, abs=1e-6)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-4)
    np.testing.assert_allclose(found.variance[:, 0], variance, atol=1e-4)


@pytest.mark.parametrize("name", ["softmax", "heteroscedastic"])
def test_several_latent_functions_end_at_a_stationary_point(name, rng):
    """At the end, the sites of one more pass are the sites themselves."""
    X = rng.normal(size=(150, 2))
    if name == "softmax":
        likelihood = Softmax(3)
        y = np.argmax(np.column_stack([X, np.zeros(150)]) + rng.gumbel(size=(150, 3)), axis=1) * 1.0
    else:
        likelihood = Heteroscedastic()
        y = X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=150)
    model = make_model(likelihood, X, y)
    end = converge(model, source(X, y), tolerance=1e-13)
    assert never_falls(end.bounds)
    again = end.model.read(source(X, y), 1, lambda n: None).sites
    scale = np.abs(end.model.sites.cross).max()
    np.testing.assert_allclose(again.cross, end.model.sites.cross, atol=1e-4 * scale)
    np.testing.assert_allclose(again.moments, end.model.sites.moments, atol=1e-4 * scale)


def test_softmax_means_sum_to_nothing(rng):
    """Only differences of the latent functions matter, so the prior centres them."""
    X = rng.normal(size=(80, 2))
    y = rng.integers(4, size=80).astype(float)
    model = make_model(Softmax(4), X, y)
    start = replace(model, sites=model.first_read(source(X, y), 1, lambda n: None).sites)
    start = replace(model, sites=start.read(source(X, y), 1, lambda n: None).sites)
    centred = start.centred()
    before, after = start.latent(X), centred.latent(X)
    np.testing.assert_allclose(
        (after.mean - centred.geometry.target_shift).sum(axis=1), 0, atol=1e-12
    )
    np.testing.assert_allclose(
        before.mean - before.mean[:, :1], after.mean - after.mean[:, :1], atol=1e-11
    )
    np.testing.assert_allclose(after.variance, before.variance, rtol=1e-12)
    fresh = replace(centred)  # solved again, from the new b
    np.testing.assert_allclose(fresh.latent(X).mean, after.mean, atol=1e-11)
    assert centred.divergence < start.divergence


@dataclass(frozen=True)
class Normal(Likelihood):
    """Gaussian noise as a likelihood of its own: its sites are exact after one pass."""

    noise: float = 0.3

    def log_density(self, y, f):
        return -((y - f) ** 2) / (2 * self.noise) - np.log(2 * np.pi * self.noise) / 2

    def slope(self, y, f):
        return (y - f) / self.noise


def test_gaussian_sites_are_a_regression(rng):
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    model = make_model(Normal(), X, y, degree=3)
    end = converge(model, source(X, y))
    assert end.n_passes <= 5
    statistics = Statistics.of_source(model.geometry, source(X, y))
    gram, cross = statistics.normal_equations.gram, statistics.normal_equations.cross
    np.testing.assert_allclose(end.model.grams[0], gram / 0.3, atol=1e-9)
    np.testing.assert_allclose(end.model.sites.cross[0], cross[:, 0] / 0.3, atol=1e-9)
    psi = end.model.posterior.features(X) * end.model.scales
    K = psi @ psi.T + 0.3 * np.eye(90)
    residual = y - model.geometry.target_shift[0]
    evidence = -(residual @ np.linalg.solve(K, residual) + np.linalg.slogdet(2 * np.pi * K)[1]) / 2
    assert end.bound == pytest.approx(evidence, abs=1e-8)


def test_new_sites_on_top_of_old_ones(rng):
    """Exact for Gaussian noise; the bound of the new rows given the old never falls."""
    X, y = rng.normal(size=(120, 2)), rng.normal(size=120)
    model = make_model(Normal(), X, y)
    first = converge(model, source(X[:50], y[:50])).model
    fresh = replace(first, base=first.total, sites=Sites.zero(first.geometry, 1))
    second = converge(fresh, source(X[50:], y[50:]))
    whole = converge(model, source(X, y))
    assert never_falls(second.bounds)
    for mine, other in zip(second.model.latent(X), whole.model.latent(X), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)


def test_new_classes_on_top_of_old_ones(rng):
    X = rng.normal(size=(400, 2))
    y = observations("logit", X[:, 0], rng)
    model = make_model(Bernoulli(), X, y, degree=2)
    first = converge(model, source(X[:200], y[:200])).model
    fresh = replace(first, base=first.total, sites=Sites.zero(first.geometry, 1))
    second = converge(fresh, source(X[200:], y[200:]))
    assert never_falls(second.bounds)
    whole = converge(model, source(X, y)).model.latent(X)
    half = first.latent(X)
    gap = np.abs(second.model.latent(X).mean - whole.mean).mean()
    assert gap < 0.2 * np.abs(half.mean - whole.mean).mean()


def test_the_same_bits_for_any_number_of_threads(rng):
    X = rng.normal(size=(40_000, 3))
    y = observations("logit", X[:, 0] * X[:, 1], rng)
    model = make_model(Bernoulli(), X, y, degree=2)
    ends = [converge(model, source(X, y), n_jobs=n) for n in (1, 2, 4)]
    for end in ends[1:]:
        assert end.bounds == ends[0].bounds
        assert np.array_equal(end.model.sites.moments, ends[0].model.sites.moments)
        assert np.array_equal(end.model.sites.cross, ends[0].model.sites.cross)


def test_weights_are_repeats(rng):
    X = rng.normal(size=(50, 2))
    y, weights = observations("poisson", X[:, 0], rng), rng.integers(0, 4, 50)
    model = make_model(Poisson(), X, y, weights.astype(float))
    weighted = converge(model, source(X, y, weights.astype(float)))
    repeated = converge(model, source(np.repeat(X, weights, axis=0), np.repeat(y, weights)))
    assert weighted.bound == pytest.approx(repeated.bound, rel=1e-11)
    assert weighted.weight == repeated.weight == weights.sum()


def test_exposure_is_a_weight(rng):
    """Rates with the exposure as weight: the likelihood of the counts, but for a constant."""
    X, exposure = rng.normal(size=(50, 1)), rng.uniform(0.5, 20, 50)
    counts = rng.poisson(exposure * np.exp(X[:, 0])).astype(float)
    model = make_model(Poisson(), X, counts / exposure, exposure)
    end = converge(model, source(X, counts / exposure, exposure))
    mean = end.model.latent(X).mean[:, 0]
    slope = counts - exposure * np.exp(mean + end.model.latent(X).variance[:, 0] / 2)
    psi = end.model.posterior.features(X) * end.model.scales
    z = end.model.posterior.means[:, 0] / end.model.scales
    np.testing.assert_allclose(psi.T @ slope, z, atol=1e-4 * np.abs(psi.T @ counts).max())


# ---- 200 problems, most of them nasty


def nasty_problem(seed):
    """A likelihood, rows and weights: separable, out of balance, huge, or hardly any."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, 12, 40]))
    D, degree = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, D)) * 10 ** rng.uniform(-1, 1)
    f = X[:, 0] / (0.1 + np.abs(X[:, 0]).max())  # in (-1, 1): its sign separates classes
    binary = (f > 0) * 1.0
    weights = None
    kind = seed % 10
    if kind == 0:  # separable
        likelihood, y = Bernoulli(str(rng.choice(["logit", "probit"]))), binary
    elif kind == 1:  # out of balance, 1 : 10,000
        likelihood, y = Bernoulli(), np.arange(n) % max(2, n) == 1
        y, weights = y * 1.0, np.where(y, 1.0, 10_000 / n)
    elif kind == 2:  # counts up to a million
        likelihood, y = Poisson(), np.floor(10 ** rng.uniform(-1, 6, n))
    elif kind == 3:
        likelihood, y = (
            NegativeBinomial(10 ** rng.uniform(-2, 2)),
            np.floor(1e6 * rng.uniform(size=n) ** 9),
        )
    elif kind == 4:  # outliers
        likelihood, y = StudentT(1.5, 0.1), f + 1e3 * (rng.uniform(size=n) > 0.8)
    elif kind == 5:
        likelihood, y = Laplace(0.05), f + rng.normal(size=n)
    elif kind == 6:
        likelihood, y = Gamma(10 ** rng.uniform(-1, 2)), 10 ** rng.uniform(-3, 5, n)
    elif kind == 7:
        likelihood, y = (
            Beta(10 ** rng.uniform(-0.5, 2.5)),
            np.clip(rng.beta(0.3, 0.3, n), 1e-9, 1 - 1e-9),
        )
    elif kind == 8:
        likelihood, y = Softmax(4), np.clip(np.floor(2 * f + 2), 0, 3)
    elif seed % 20 == 9:
        likelihood, y = Ordinal((0.3, 2.0)), np.clip(np.floor(2 * f + 2), 0, 3)
    else:
        likelihood, y = Heteroscedastic(), f * (1 + 10 * (f > 0.5))
    if kind != 1 and rng.uniform() < 0.4:  # large weights, and small
        weights = 10 ** rng.uniform(-3, 5, n)
    kernel = Matern(1.5, 10 ** rng.uniform(-1, 0.5), variance=10 ** rng.uniform(-2, 3))
    model = make_model(likelihood, X, y, weights, degree, kernel, bool(rng.uniform() < 0.7))
    return model, source(X, y, weights)


@pytest.mark.parametrize("decade", range(20))
def test_nasty_problems_end_well(decade):
    for seed in range(10 * decade, 10 * decade + 10):
        model, rows = nasty_problem(seed)
        end = converge(model, rows, n_jobs=1)
        assert np.isfinite(end.bounds).all(), seed
        assert never_falls(np.array(end.bounds)), seed
        assert end.n_passes <= 100, seed
        assert end.converged or end.n_passes == 100, seed
        mean, variance = end.model.latent(rows.X)
        assert np.isfinite(mean).all(), seed
        assert (variance > 0).all(), seed


# ---- hyperparameters


def test_kernel_is_learned_by_the_bound(rng):
    """Sites held fixed, a better kernel of the pseudo-data; sites again, a better bound."""
    X = rng.normal(size=(300, 2))
    y = observations("logit", 2 * np.sin(2 * X[:, 0]), rng)
    end = converge(make_model(Bernoulli(), X, y, degree=5), source(X, y))
    bounds = [end.bound]
    for _ in range(8):
        end = converge(relearned_kernel(end.model, 50), source(X, y), fresh=False)
        bounds.append(end.bound)
    assert np.all(np.diff(bounds) > -1e-2)  # the kernel also has a weak prior
    assert bounds[-1] > bounds[0] + 5
    # at the fixed point the bound itself is flat in the kernel
    best = end.model.kernel.log_parameters
    for step in (-0.2, 0.2):
        other = end.model.kernel.with_log_parameters(best + step * np.array([0.0, 1.0]))
        moved = converge(replace(end.model, kernel=other), source(X, y))
        assert moved.bound < end.bound + 0.05


def test_parameters_of_the_likelihood_are_learned(rng):
    X = rng.normal(size=(2000, 1))
    y = X[:, 0] + 0.3 * rng.standard_t(3, 2000)
    end = converge(make_model(StudentT(10.0, 1.0), X, y), source(X, y))
    for _ in range(10):
        better = relearned_likelihood(end.model, source(X, y), 100)
        end = converge(better, source(X, y))
    assert end.model.likelihood.scale == pytest.approx(0.3, rel=0.1)
    assert end.model.likelihood.degrees_of_freedom == pytest.approx(3, rel=0.25)


def test_pseudo_rows_are_a_regression_with_the_same_posterior(rng):
    X = rng.normal(size=(150, 2))
    y = observations("logit", X[:, 0], rng)
    end = converge(make_model(Bernoulli(), X, y), source(X, y), tolerance=1e-13)
    rows = pseudo_rows(end.model, source(X, y))
    geometry = replace(end.model.geometry, target_shift=np.zeros(1))
    equations = Statistics.of_source(geometry, rows).normal_equations
    np.testing.assert_allclose(equations.gram, end.model.grams[0], atol=1e-4)
    np.testing.assert_allclose(equations.cross[:, 0], end.model.sites.cross[0], atol=1e-4)


def test_no_rows():
    X, y = np.zeros((0, 2)), np.zeros(0)
    model = make_model(Bernoulli(), np.ones((2, 2)), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="no rows: give at least one"):
        converge(model, source(X, y))
