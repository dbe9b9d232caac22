"""Expectations under a Gaussian: derivatives of the very same numbers, closed forms, densities."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp

from vish.likelihoods import (
    Bernoulli,
    Beta,
    Gamma,
    Heteroscedastic,
    Laplace,
    NegativeBinomial,
    Ordinal,
    Poisson,
    Softmax,
    StudentT,
)

CLASSES = [0.0, 1.0, 2.0, 3.0]
REAL = [-3.0, -0.2, 0.1, 7.0]
# a likelihood, and observations that it can make
CASES = {
    "logit": (Bernoulli(), [0.0, 1.0]),
    "probit": (Bernoulli("probit"), [0.0, 1.0]),
    "ordinal": (Ordinal((0.5, 1.5)), CLASSES),
    "poisson": (Poisson(), [0.0, 1.0, 30.0]),
    "negative binomial": (NegativeBinomial(2.5), [0.0, 1.0, 30.0]),
    "student": (StudentT(3.0, 0.7), REAL),
    "laplace": (Laplace(0.6), REAL),
    "gamma": (Gamma(2.5), [0.01, 1.0, 20.0]),
    "beta": (Beta(7.0), [0.01, 0.5, 0.97]),
    "heteroscedastic": (Heteroscedastic(), REAL),
    "softmax": (Softmax(4), CLASSES),
}
EXACT = ("logit", "poisson", "laplace", "gamma", "heteroscedastic")  # closed forms of E log p


def marginals(likelihood, observations, rng, variances):
    """Every observation at every variance, at random means.  -> [n], [n, K], [n, K]"""
    y = np.repeat(observations, len(variances))
    n, K = len(y), likelihood.n_latents
    mean = rng.uniform(-2.5, 2.5, (n, K))
    mixed = np.column_stack([np.roll(np.tile(variances, len(observations)), k) for k in range(K)])
    return y, mean, mixed


def difference(function, step):
    """Derivative at 0, of fourth order."""
    values = [function(c * step) for c in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


@pytest.mark.parametrize("name", CASES)
def test_slope_and_curvature_are_derivatives_of_the_value(name, rng):
    likelihood, observations = CASES[name]
    y, mean, variance = marginals(likelihood, observations, rng, np.logspace(-6, 2, 17))
    value, slope, curvature = likelihood.expectations(y, mean, variance)
    assert np.isfinite(value).all()
    for k in range(likelihood.n_latents):
        one = np.eye(likelihood.n_latents)[k]
        v, g, h = variance[:, k], slope[:, k], curvature[:, k]

        def moved(t, one=one):
            return likelihood.expectations(y, mean + np.outer(t, one), variance).value

        def stretched(t, one=one):
            return likelihood.expectations(y, mean, variance * np.exp(np.outer(t, one))).value

        rounding = 1e-14 * (1 + np.abs(value))
        step = 2e-3 * np.minimum(1.0, np.sqrt(v))
        error = np.abs(difference(moved, step) - g)
        assert np.all(error <= 1e-7 * np.abs(g) + rounding / step)
        step = 2e-3 / (1 + v)
        error = np.abs(difference(stretched, step) + h * v / 2)  # d/d log v
        assert np.all(error <= 1e-7 * np.abs(h * v) + rounding / step)


def dense_expectation(likelihood, y, mean, variance):
    """E log p by the trapezium rule, which is exact for a Gaussian weight.  -> [n]"""
    x = np.linspace(-12, 12, 4001)
    weights = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    f = mean[:, :1] + np.sqrt(variance[:, :1]) * x
    return likelihood.log_density(y[:, None], f) @ weights


@pytest.mark.parametrize(
    ("name", "largest", "tolerance"),
    [
        ("logit", 100.0, 4e-7),  # the mixture of six
        ("poisson", 5.0, 1e-12),
        ("laplace", 100.0, 1e-5),  # of the trapezium rule, at the kink
        ("gamma", 5.0, 1e-12),
        ("probit", 1.0, 1e-7),  # from here on, twenty nodes
        ("ordinal", 1.0, 1e-5),
        ("negative binomial", 1.0, 1e-7),
        ("beta", 0.3, 1e-5),
    ],
)
def test_expectation_against_fine_quadrature(name, largest, tolerance, rng):
    likelihood, observations = CASES[name]
    variances = np.geomspace(1e-4, largest, 9)
    y, mean, variance = marginals(likelihood, observations, rng, variances)
    value = likelihood.expectations(y, mean, variance).value
    expected = dense_expectation(likelihood, y, mean, variance)
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


def test_heteroscedastic_expectation_against_quadrature_in_two_dimensions(rng):
    y, mean, variance = marginals(*CASES["heteroscedastic"], rng, np.array([0.01, 0.3, 2.0]))
    x = np.linspace(-10, 10, 401)
    w = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    f = np.empty((len(y), 401, 401, 2))
    f[..., 0] = (mean[:, :1] + np.sqrt(variance[:, :1]) * x)[:, :, None]
    f[..., 1] = (mean[:, 1:] + np.sqrt(variance[:, 1:]) * x)[:, None, :]
    expected = w @ (Heteroscedastic().log_density(y[:, None, None], f) @ w).T
    value = Heteroscedastic().expectations(y, mean, variance).value
    np.testing.assert_allclose(value, expected, rtol=1e-10)


def test_student_bound_is_below_the_expectation_and_meets_it_without_spread(rng):
    likelihood, observations = CASES["student"]
    y, mean, variance = marginals(likelihood, observations, rng, np.array([1e-3, 1.0, 10.0]))
    bound = likelihood.expectations(y, mean, variance).value
    assert np.all(bound < dense_expectation(likelihood, y, mean, variance))
    sharp = likelihood.expectations(y, mean, np.full_like(mean, 1e-12)).value
    np.testing.assert_allclose(sharp, likelihood.log_density(y, mean[:, 0]), rtol=1e-9)


def test_softmax_bound_is_below_the_expectation_and_meets_it_without_spread(rng):
    likelihood, observations = CASES["softmax"]
    y, mean, variance = marginals(likelihood, observations, rng, np.array([1e-2, 0.5, 4.0]))
    bound = likelihood.expectations(y, mean, variance).value
    draws = rng.standard_normal((20_000, *mean.shape))
    sampled = likelihood.log_density(y, mean + np.sqrt(variance) * draws)
    error = sampled.std(axis=0) / np.sqrt(len(draws))
    assert np.all(bound < sampled.mean(axis=0) + 3 * error)
    sharp = likelihood.expectations(y, mean, np.full_like(mean, 1e-12)).value
    np.testing.assert_allclose(sharp, likelihood.log_density(y, mean), rtol=1e-9)


def test_softmax_bound_is_tight_for_very_different_variances(rng):
    """The fixed point a = softmax(m + (1 - 2a) v / 2) is reached: g sums to 0."""
    mean, variance = rng.normal(0, 30, (500, 5)), 10.0 ** rng.uniform(-8, 5, (500, 5))
    y = rng.integers(5, size=500).astype(float)
    value, slope, curvature = Softmax(5).expectations(y, mean, variance)
    assert np.isfinite(value).all()
    np.testing.assert_allclose(slope.sum(axis=1), 0, atol=1e-11)
    assert curvature.min() > -1e-12


@pytest.mark.parametrize("name", ["logit", "probit", "ordinal", "softmax", "student", "laplace"])
def test_curvature_is_not_negative(name, rng):
    likelihood, observations = CASES[name]
    y, mean, variance = marginals(likelihood, observations, rng, np.logspace(-6, 2, 17))
    h = likelihood.expectations(y, mean, variance).curvature
    assert h.min() > -1e-9


@pytest.mark.parametrize("name", CASES)
def test_slope_is_the_derivative_of_the_log_density(name, rng):
    likelihood, observations = CASES[name]
    if likelihood.n_latents > 1:
        pytest.skip("several latent functions have no scalar slope")
    y = np.repeat(observations, 7)
    f = np.tile(np.linspace(-6, 6, 7), len(observations)) + 0.01
    expected = difference(lambda t: likelihood.log_density(y, f + t), 1e-3)
    np.testing.assert_allclose(likelihood.slope(y, f), expected, rtol=1e-7, atol=1e-8)


# ---- densities have total mass 1


@pytest.mark.parametrize("f", [-2.0, 0.3, 3.0])
@pytest.mark.parametrize("name", CASES)
def test_densities_have_mass_one(name, f):
    likelihood, _ = CASES[name]
    latent = np.full(likelihood.n_latents, f) * np.linspace(1, 0.5, likelihood.n_latents)

    def density(y):
        values = likelihood.log_density(np.array(y), latent if latent.size > 1 else latent[0])
        return float(np.exp(values))

    if name in ("logit", "probit"):
        total = density(0.0) + density(1.0)
    elif name in ("ordinal", "softmax"):
        total = sum(density(float(k)) for k in range(4))
    elif name in ("poisson", "negative binomial"):
        total = sum(density(float(k)) for k in range(2000))
    elif name == "beta":
        parts = [(0, 1e-3), (1e-3, 0.5), (0.5, 0.999), (0.999, 1)]
        total = sum(quad(density, *part, limit=400)[0] for part in parts)
    elif name == "gamma":
        total = quad(density, 0, np.exp(f))[0] + quad(density, np.exp(f), np.inf)[0]
    else:
        total = quad(density, -np.inf, f)[0] + quad(density, f, np.inf)[0]
    assert total == pytest.approx(1, abs=1e-7)


# ---- starts


@pytest.mark.parametrize("name", CASES)
def test_first_sites_are_finite_and_positive(name):
    likelihood, observations = CASES[name]
    y = np.array(observations)
    offset = likelihood.offset(y, np.ones(len(y)))
    h, target = likelihood.start(y, offset)
    assert offset.shape == (likelihood.n_latents,)
    assert h.shape == target.shape == (len(y), likelihood.n_latents)
    assert np.isfinite(target).all()
    assert np.isfinite(h).all()
    assert h.min() > 0


@pytest.mark.parametrize("name", CASES)
def test_offset_takes_weights_as_repeats(name, rng):
    likelihood, observations = CASES[name]
    y = np.array(observations)
    weights = rng.integers(1, 4, len(y))
    np.testing.assert_allclose(
        likelihood.offset(y, weights.astype(float)),
        likelihood.offset(np.repeat(y, weights), np.ones(weights.sum())),
        rtol=1e-12,
    )


def test_logistic_mixture_is_the_logistic_function():
    x = np.linspace(-40, 40, 20_001)
    p, _ = Bernoulli().moments(x[:, None], np.zeros((len(x), 1)))
    assert np.abs(p - 1 / (1 + np.exp(-x))).max() < 1e-7


def test_log_probabilities_of_a_sure_model_stay_finite():
    mean, variance = np.array([[-300.0], [300.0]]), np.ones((2, 1))
    for link in ("logit", "probit"):
        for y in (np.zeros(2), np.ones(2)):
            assert np.isfinite(Bernoulli(link).log_predictive(y, mean, variance)).all()
        both = [Bernoulli(link).log_predictive(np.full(2, k), mean, variance) for k in (0.0, 1.0)]
        np.testing.assert_allclose(logsumexp(both, axis=0), 0, atol=1e-7)
