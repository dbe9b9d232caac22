"""Predictive moments, distribution functions and quantiles against draws; what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest

from vish import VISHRegressor
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

N_DRAWS = 200_000
LEVELS = np.array([0.05, 0.5, 0.9])


def draw_negative_binomial(rng, f, shape=2.5):
    return rng.poisson(rng.gamma(shape, np.exp(f) / shape)).astype(float)


def draw_ordinal(rng, f, cuts=(0.0, 0.5, 2.0)):
    noisy = f + rng.standard_normal(f.shape)
    return np.sum([noisy > cut for cut in cuts], axis=0).astype(float)


# a likelihood, and how to draw y from f
CASES = {
    "logit": (Bernoulli(), lambda rng, f: (rng.uniform(size=f.shape) < 1 / (1 + np.exp(-f))) * 1.0),
    "probit": (Bernoulli("probit"), lambda rng, f: (rng.standard_normal(f.shape) < f) * 1.0),
    "ordinal": (Ordinal((0.5, 1.5)), draw_ordinal),
    "poisson": (Poisson(), lambda rng, f: rng.poisson(np.exp(f)).astype(float)),
    "negative binomial": (NegativeBinomial(2.5), draw_negative_binomial),
    "student": (StudentT(5.0, 0.7), lambda rng, f: f + 0.7 * rng.standard_t(5, f.shape)),
    "laplace": (Laplace(0.6), lambda rng, f: f + rng.laplace(0, 0.6, f.shape)),
    "gamma": (Gamma(2.5), lambda rng, f: rng.gamma(2.5, np.exp(f) / 2.5)),
    "beta": (
        Beta(7.0),
        lambda rng, f: rng.beta(7 / (1 + np.exp(-f)), 7 / (1 + np.exp(f))),
    ),
}
CONTINUOUS = ("student", "laplace", "gamma", "beta")


def drawn(name, rng, mean, variance):
    likelihood, draw = CASES[name]
    f = mean + np.sqrt(variance) * rng.standard_normal(N_DRAWS)
    return likelihood, draw(rng, f), np.full((1, 1), mean), np.full((1, 1), variance)


@pytest.mark.parametrize(("mean", "variance"), [(0.4, 0.05), (-0.7, 0.6)])
@pytest.mark.parametrize("name", CASES)
def test_moments(name, mean, variance, rng):
    likelihood, y, m, v = drawn(name, rng, mean, variance)
    first, second = likelihood.moments(m, v)
    spread = y.std()
    assert abs(first[0] - y.mean()) < 4 * spread / np.sqrt(N_DRAWS)
    fourth = np.mean((y - y.mean()) ** 4) ** 0.5
    assert abs(second[0] - y.var()) < 5 * fourth / np.sqrt(N_DRAWS)


@pytest.mark.parametrize("name", CASES)
def test_distribution_function_and_quantiles(name, rng):
    likelihood, y, m, v = drawn(name, rng, 0.4, 0.5)
    for at in np.quantile(y, [0.1, 0.5, 0.8]):
        assert abs(likelihood.cdf(np.array([at]), m, v)[0] - np.mean(y <= at)) < 0.005
    quantiles = likelihood.quantiles(m, v, LEVELS)[0]
    assert np.all(np.diff(quantiles) >= 0)
    if name in CONTINUOUS:
        for level, quantile in zip(LEVELS, quantiles, strict=True):
            assert likelihood.cdf(np.array([quantile]), m, v)[0] == pytest.approx(level, abs=1e-6)
            assert abs(np.mean(y <= quantile) - level) < 0.005
    else:
        np.testing.assert_array_equal(quantiles, np.quantile(y, LEVELS, method="inverted_cdf"))


@pytest.mark.parametrize("name", CASES)
def test_predictive_density(name, rng):
    """The share of draws near y, or at y, is what the density says."""
    likelihood, y, m, v = drawn(name, rng, 0.4, 0.5)
    if name in CONTINUOUS:
        low, high = np.quantile(y, [0.4, 0.6])
        grid = np.linspace(low, high, 201)
        many = (np.repeat(m, 201, axis=0), np.repeat(v, 201, axis=0))
        found = np.trapezoid(np.exp(likelihood.log_predictive(grid, *many)), grid)
        assert abs(found - np.mean((y >= low) & (y <= high))) < 0.006
    else:
        for value in (0.0, 1.0):
            found = np.exp(likelihood.log_predictive(np.array([value]), m, v)[0])
            assert abs(found - np.mean(y == value)) < 0.005


def test_heteroscedastic_predictions(rng):
    mean, variance = np.array([[0.4, -0.5]]), np.array([[0.2, 0.6]])
    f, s = (mean + np.sqrt(variance) * rng.standard_normal((N_DRAWS, 2))).T
    y = f + np.exp(s / 2) * rng.standard_normal(N_DRAWS)
    likelihood = Heteroscedastic()
    first, second = likelihood.moments(mean, variance)
    assert abs(first[0] - y.mean()) < 0.01
    assert abs(second[0] / y.var() - 1) < 0.02
    for level, quantile in zip(
        LEVELS, likelihood.quantiles(mean, variance, LEVELS)[0], strict=True
    ):
        assert abs(np.mean(y <= quantile) - level) < 0.005


@pytest.mark.parametrize("variance", [0.01, 1.0, 25.0])
def test_softmax_probabilities(variance, rng):
    mean, spread = np.array([[0.5, -1.0, 2.0]]), np.full((1, 3), variance)
    f = mean + np.sqrt(variance) * rng.standard_normal((N_DRAWS, 3))
    expected = np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True)).mean(axis=0)
    p = Softmax(3).probabilities(mean, spread)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(p[0], expected, atol=0.012)


def test_ordinal_probabilities_are_those_of_the_density():
    likelihood = Ordinal((0.5, 1.5))
    mean, variance = np.array([[0.3]]), np.array([[0.7]])
    p = likelihood.probabilities(mean, variance)[0]
    assert p.sum() == pytest.approx(1, abs=1e-14)
    single = [
        np.exp(likelihood.log_predictive(np.array([float(k)]), mean, variance))[0] for k in range(4)
    ]
    np.testing.assert_allclose(p, single, rtol=1e-9)


# ---- what is refused


@pytest.mark.parametrize(
    ("likelihood", "wrong", "text"),
    [
        (Bernoulli(), 2.0, r"Bernoulli needs classes 0 and 1: y\[2\] is 2"),
        (Ordinal((1.0,)), 3.0, r"Ordinal needs ordered classes .*: y\[2\] is 3"),
        (Poisson(), -1.0, r"Poisson needs counts \(numbers of at least 0\): y\[2\] is -1"),
        (NegativeBinomial(), -0.5, r"NegativeBinomial needs counts .*: y\[2\] is -0.5"),
        (Gamma(), 0.0, r"Gamma needs numbers above 0: y\[2\] is 0"),
        (Beta(), 1.0, r"Beta needs numbers above 0 and below 1: y\[2\] is 1"),
        (Softmax(3), 1.5, r"Softmax needs classes 0, 1, ... below n_classes: y\[2\] is 1.5"),
    ],
)
def test_observations_outside_the_support(likelihood, wrong, text):
    good = 0.5 if isinstance(likelihood, Beta) else 1.0
    y = np.array([good, good, wrong, good])
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match=text + "; remove such rows"):
        VISHRegressor(likelihood=likelihood).fit(X, y)


def test_observations_outside_the_support_in_an_update_and_a_density():
    X, y = np.linspace(-1, 1, 12)[:, None], np.arange(12.0)
    model = VISHRegressor(likelihood=Poisson(), degree=1, n_starts=1).fit(X, y)
    with pytest.raises(ValueError, match="Poisson needs counts"):
        model.partial_fit(X, y - 5)
    with pytest.raises(ValueError, match="Poisson needs counts"):
        model.log_density(X, y - 5)


def test_unknown_link():
    with pytest.raises(ValueError, match="link is 'cloglog': choose one of logit, probit"):
        Bernoulli("cloglog")


def test_several_targets():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="y has 2 targets: Poisson takes one"):
        VISHRegressor(likelihood=Poisson()).fit(X, np.ones((4, 2)))


# ---- a likelihood of one's own: the example of the docstring


@dataclass(frozen=True)
class Logistic(Likelihood):
    scale: float = 1.0
    learned = ("scale",)

    def log_density(self, y, f):
        u = (y - f) / self.scale
        return -u - 2 * np.logaddexp(0, -u) - np.log(self.scale)


def test_own_likelihood_from_fit_to_draws(rng):
    x = rng.uniform(-2, 2, 400)
    y = 50 + 20 * (np.sin(2 * x) + rng.logistic(0, 0.2, 400))
    model = VISHRegressor(likelihood=Logistic(), n_starts=1, max_features=25).fit(x[:, None], y)
    assert model.likelihood_.scale * y.std() == pytest.approx(4.0, rel=0.15)
    grid = np.linspace(-1.8, 1.8, 50)[:, None]
    mean, std = model.predict(grid, return_std=True)
    assert np.abs(mean - 50 - 20 * np.sin(2 * grid[:, 0])).max() < 5
    np.testing.assert_allclose(std, 4 * np.pi / np.sqrt(3), rtol=0.25)
    quantiles = model.predict_quantiles(grid, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(quantiles[:, 1], mean, atol=0.1)
    draws = model.sample_y(grid[:2], 500, random_state=0)
    share = np.mean(draws <= quantiles[:2, -1][:, None], axis=1)
    np.testing.assert_allclose(share, 0.9, atol=0.05)
    assert np.mean(model.log_density(x[:, None], y)) > -4.0


def test_defaults_of_an_own_likelihood(rng):
    """Slope, moments, distribution function by integration: those of the logistic."""
    likelihood = Logistic(0.5)
    y, f = rng.normal(size=5), rng.normal(size=5)
    u = (y - f) / 0.5
    np.testing.assert_allclose(likelihood.slope(y, f), np.tanh(u / 2) / 0.5, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(likelihood.conditional_mean(f), f, atol=1e-8)
    np.testing.assert_allclose(
        likelihood.conditional_variance(f), np.full(5, np.pi**2 / 12), rtol=1e-6
    )
    np.testing.assert_allclose(likelihood.conditional_cdf(y, f), 1 / (1 + np.exp(-u)), atol=1e-3)
