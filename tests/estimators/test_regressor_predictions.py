"""What a fitted model says of new rows: calibrated, consistent, differentiable."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from vish import VISHRegressor, data
from vish.kernels import Matern
from vish.likelihoods import Gaussian, SinhArcsinh, Warped

LIKELIHOODS = {
    "constant": Gaussian(variance=0.05),
    "radial": Gaussian("radial", 0.05),
    "warped": Warped(SinhArcsinh(skew=0.3, tail=0.7), variance=0.05),
}


def held(likelihood, **parameters):
    given = {
        "kernel": Matern(1.5, 0.6, 2.0),
        "degree": 4,
        "relevance": [0.9, 0.5],
        "scaling": ([0.0, 0.0], [1.0, 1.0]),
        "optimize": False,
    }
    return VISHRegressor(likelihood=likelihood, **given | parameters)


@pytest.fixture(params=LIKELIHOODS)
def fitted(request, rng):
    X = rng.standard_normal((200, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(200)
    return held(LIKELIHOODS[request.param]).fit(X, 10 + 4 * y)


def inside(fitted, X, y, share=0.95):
    """Whether a central band covers its share, within binomial error (5 deviations)."""
    low, high = fitted.predict_quantiles(X, [(1 - share) / 2, (1 + share) / 2]).T
    covered = int(np.sum((low < y) & (y < high)))
    lowest, highest = binom.interval(1 - 1e-6, len(y), share)
    return lowest <= covered <= highest


# ---- calibration


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("tail", ["truncated", "variational"])
def test_bands_cover_draws_from_the_prior(rng, noise, tail):
    """Many functions, few test rows each: rows under one function are not independent."""
    prior = held(Gaussian(noise, 0.05), tail=tail)
    X = rng.standard_normal((90, 2))
    prior.fit(X, rng.standard_normal(90))
    empty = prior.empty_like()
    draws = empty.sample_y(X, n_samples=250, random_state=3)
    covered = 0
    for draw in draws.T:
        model = empty.empty_like().partial_fit(X[:80], draw[:80])
        low, high = model.predict_quantiles(X[80:81], [0.025, 0.975])[0]
        covered += low < draw[80] < high
    assert binom.cdf(covered, 250, 0.95) > 1e-4
    assert binom.sf(covered - 1, 250, 0.95) > 1e-4


def test_learned_bands_cover(rng):
    """Hyperparameters learned too: data of the model's own kind, 95 % within binomial error."""
    X = rng.standard_normal((3000, 2))
    empty = held(Gaussian(variance=0.05)).fit(X, rng.standard_normal(3000)).empty_like()
    y = empty.sample_y(X, random_state=1)[:, 0]
    model = VISHRegressor(degree=4, rank=None, n_starts=1).fit(X[:1500], y[:1500])
    assert inside(model, X[1500:], y[1500:])
    assert inside(model, X[1500:], y[1500:], 0.5)


@pytest.mark.parametrize("kind", ["log-normal", "student"])
def test_the_warp_beats_the_plain_gaussian(rng, kind):
    X = rng.standard_normal((1200, 2))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    if kind == "student":
        y = f + 0.3 * rng.standard_t(2, size=1200)
    else:
        y = np.exp(f + 0.4 * rng.standard_normal(1200))
    given = {"degree": 4, "n_starts": 1, "rank": None}
    plain = VISHRegressor(**given).fit(X[:800], y[:800])
    warped = VISHRegressor(likelihood=Warped(SinhArcsinh()), **given).fit(X[:800], y[:800])
    gain = warped.log_density(X[800:], y[800:]) - plain.log_density(X[800:], y[800:])
    assert gain.mean() > (0.03 if kind == "student" else 0.3)
    assert inside(warped, X[800:], y[800:])
    learned = warped.likelihood_.warp
    assert learned.tail < 0.9 or abs(learned.skew) > 0.1


@pytest.mark.parametrize("kind", ["constant", "radial"])
def test_auto_noise_takes_the_right_kind(rng, kind):
    X = rng.standard_normal((800, 2))
    spread = np.sqrt(1 + 2 * (X**2).sum(axis=1)) if kind == "radial" else 1.0
    y = X[:, 0] + 0.3 * spread * rng.standard_normal(800)
    given = {"degree": 2, "n_starts": 1, "rank": None}
    model = VISHRegressor(likelihood=Gaussian("auto"), **given).fit(X, y)
    assert model.likelihood_.noise == kind
    assert model.fit_trace_


# ---- one distribution, asked in several ways


def test_density_integrates_to_one_and_has_these_moments(fitted, rng):
    x = rng.standard_normal((1, 2))
    mean, std = fitted.predict(x, return_std=True)
    grid = np.linspace(mean[0] - 25 * std[0], mean[0] + 25 * std[0], 40_001)
    density = np.exp(fitted.log_density(np.repeat(x, len(grid), axis=0), grid))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-6)
    assert np.trapezoid(density * grid, grid) == pytest.approx(mean[0], rel=1e-5)
    second = np.trapezoid(density * (grid - mean[0]) ** 2, grid)
    assert np.sqrt(second) == pytest.approx(std[0], rel=1e-3)
    for q in (0.1, 0.5, 0.9):
        below = grid <= fitted.predict_quantiles(x, q)[0]
        assert np.trapezoid(density[below], grid[below]) == pytest.approx(q, abs=2e-3)


def test_draws_have_these_moments_and_quantiles(fitted, rng):
    X = rng.standard_normal((4, 2))
    draws = fitted.sample_y(X, n_samples=4000, random_state=0)
    assert draws.shape == (4, 4000)
    mean, std = fitted.predict(X, return_std=True)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 5 * std / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.15)
    quantiles = fitted.predict_quantiles(X, [0.1, 0.9])
    below = (draws[:, :, None] < quantiles[:, None]).mean(axis=1)
    np.testing.assert_allclose(below, [[0.1, 0.9]] * 4, atol=5 * np.sqrt(0.09 / 4000))


def test_functions_have_the_latent_moments(fitted, rng):
    X = rng.standard_normal((5, 2))
    functions = fitted.sample_functions(1500, random_state=0)
    values = np.array([f(X) for f in functions])
    mean, cov = fitted.predict_latent(X, return_cov=True)
    _, std = fitted.predict_latent(X, return_std=True)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-6)
    assert np.all(np.abs(values.mean(axis=0) - mean) < 5 * std / np.sqrt(1500))
    np.testing.assert_allclose(np.cov(values.T), cov, atol=0.15 * np.diag(cov).max())
    np.testing.assert_array_equal(functions[0](X[2:]), functions[0](X)[2:])  # one function


def test_plain_gaussian_formulas(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    model = held(Gaussian(variance=0.05)).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(model.log_density(X, y), norm.logpdf(y, mean, std), rtol=1e-10)
    latent, spread = model.predict_latent(X, return_std=True)
    np.testing.assert_array_equal(latent, mean)
    np.testing.assert_allclose(std**2, spread**2 + model.noise_variance_, rtol=1e-10)
    np.testing.assert_allclose(
        model.predict_quantiles(X, 0.975)[:, 0], mean + norm.ppf(0.975) * std, rtol=1e-10
    )
    assert model.score(X, y) > 0.9


def test_gradients_against_finite_differences(fitted, rng):
    X = rng.standard_normal((5, 2))
    mean_gradient, variance_gradient = fitted.predict_gradients(X)
    step = 1e-4
    for i, h in enumerate(step * np.eye(2)):
        parts = [fitted.predict_latent(X + c * h, return_std=True) for c in (-2, -1, 1, 2)]
        for gradient, values in (
            (mean_gradient, [m for m, _ in parts]),
            (variance_gradient, [s**2 for _, s in parts]),
        ):
            difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
            np.testing.assert_allclose(
                gradient[:, i], difference, atol=1e-6 * np.abs(gradient).max()
            )


def test_extrapolation_is_linear(rng):
    X = rng.standard_normal((300, 2))
    model = VISHRegressor(degree=3, rank=None, n_starts=1).fit(X, 2 * X[:, 0] + np.sin(X[:, 1]))
    far = np.array([[1e6, 0.0], [2e6, 0.0], [3e6, 0.0]])
    first, second, third = model.predict(far)
    assert third - second == pytest.approx(second - first, rel=1e-2)
    assert np.all(np.diff(model.predict(far, return_std=True)[1]) > 0)


def test_the_subset_only_learns_and_all_rows_count(rng):
    X = rng.standard_normal((3000, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(3000)
    model = VISHRegressor(degree=5, subset_size=300, n_starts=1).fit(X, y)
    assert model.n_rows_seen_ == 3000
    few = VISHRegressor(degree=5, subset_size=300, n_starts=1).fit(X[:300], y[:300])
    truth = np.sin(2 * X[:, 0])
    assert np.mean((model.predict(X) - truth) ** 2) < 0.5 * np.mean((few.predict(X) - truth) ** 2)
    refined = VISHRegressor(degree=5, subset_size=300, n_starts=1, refine=True).fit(X, y)
    assert refined.log_evidence_ >= model.log_evidence_ - 1
    assert refined.fit_trace_[-1].name == "refine"
    batches = data.batches(lambda: ((X[i : i + 700], y[i : i + 700]) for i in range(0, 3000, 700)))
    streamed = VISHRegressor(degree=5, subset_size=300, n_starts=1, refine=True)
    streamed.fit_source(batches)
    np.testing.assert_allclose(streamed.predict(X), refined.predict(X), atol=1e-6)
