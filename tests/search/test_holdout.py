"""Rows held out: every row once, and the density that the fitted model gives them."""

import numpy as np
import pytest
from scipy.stats import norm

from vish import VISHRegressor
from vish.estimators.search import make_problem
from vish.estimators.settings import FitSettings
from vish.inference.sources import ArraySource
from vish.kernels import Matern
from vish.likelihoods import Gaussian
from vish.search.holdout import folds, held_out, noise_densities
from vish.search.inputmap import Diagonal
from vish.search.objective import Objective
from vish.search.policy import SearchPolicy
from vish.search.problem import Hyperparameters

N, HELD = 120, 40


def problem(rng, noise="constant", weights=None):
    """Rows to learn from, the others, and hyperparameters."""
    X = rng.standard_normal((N + HELD, 3))
    y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((N + HELD, 1))
    found = make_problem(ArraySource(X[:N], y[:N]), noise, FitSettings.of(VISHRegressor()))
    relevance = Diagonal(np.array([0.6, 0.2, 0.3]), np.ones(3, dtype=bool))
    point = Hyperparameters(relevance, Matern(1.5, 0.7, 2.0), np.array([0.2]))
    return found, ArraySource(X[N:], y[N:], weights), point


@pytest.mark.parametrize(("n", "expected"), [(20, 4), (1000, 3), (2400, 1), (4000, 1), (9000, 1)])
def test_folds_until_enough_rows_were_held_out(n, expected):
    source = ArraySource(np.arange(2.0 * n).reshape(n, 2), np.arange(1.0 * n)[:, None])
    whole = make_problem(source, "constant", FitSettings.of(VISHRegressor()))
    found = list(folds(whole, SearchPolicy()))
    assert len(found) == expected
    seen = np.concatenate([rows.y[:, 0] for _, rows in found])
    assert len(np.unique(seen)) == len(seen)
    for learning, rows in found:
        both = np.concatenate([learning.source.y[:, 0], rows.y[:, 0]])
        np.testing.assert_array_equal(np.sort(both), np.arange(n))


def test_very_few_rows_are_not_held_out(rng):
    whole, _, _ = problem(rng)
    ((learning, rows),) = folds(whole.first(3), SearchPolicy())
    assert (learning.source.n_rows, rows.n_rows) == (3, 0)


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_density_is_that_of_the_estimator(rng, noise):
    learning, held, point = problem(rng, noise)
    model = VISHRegressor(
        point.kernel, likelihood=Gaussian(noise=noise, variance=0.2), degree=3, optimize=False,
        relevance=point.relevance.matrix, scaling=(learning.centre, learning.scale),
    ).fit(learning.source.X, learning.source.y[:, 0])  # fmt: skip
    expected = model.log_density(held.X, held.y[:, 0]) + np.log(learning.target_scale)
    found = held_out(learning, point, 3, held)
    squares = (model.predict(held.X) - held.y[:, 0]) ** 2 / learning.target_scale**2
    np.testing.assert_allclose(found.squares, squares, rtol=0, atol=2e-3)
    np.testing.assert_allclose(
        -found.densities, expected, rtol=0, atol=2e-3
    )  # its mean is exact, ours not


def test_a_weight_is_a_repetition(rng):
    learning, held, point = problem(rng)
    weights = rng.integers(1, 4, HELD)
    weighted = ArraySource(held.X, held.y, weights.astype(float))
    rows = np.repeat(np.arange(HELD), weights)
    repeated = ArraySource(held.X[rows], held.y[rows])
    sums = [held_out(learning, point, 3, each).densities.sum() for each in (weighted, repeated)]
    assert sums[0] == pytest.approx(sums[1])


def test_weights_cost_less_with_more_rows(rng):
    """The price of the harmonics, sum h / 2n, against the leverages of the rows."""
    learning, held, point = problem(rng)
    few, many = (held_out(learning, point, 3, held, n).densities for n in (N, 10 * N))
    gain = few - many
    solution = Objective(learning, point, 3).solve(point)[0]
    leverages = solution.moments(learning.source.X).variance / point.noise
    np.testing.assert_allclose(gain, leverages.sum() / 2 * (1 / N - 0.1 / N), rtol=1e-6)


def test_noise_that_is_too_small_shows(rng):
    learning, held, point = problem(rng)
    small = Hyperparameters(point.relevance, point.kernel, np.array([0.02]))
    factors = np.array([1.0, 4.0, 5000.0])
    found = noise_densities(learning, small, 3, held, factors)
    assert found.shape == (3, 1)
    assert found[1] > found[0]
    assert found[1] > found[2]
    mean, variance = Objective(learning, small, 3).solve(small)[0].moments(held.X)
    y = (held.y - learning.target_shift) / learning.target_scale
    expected = norm.logpdf(y, mean, np.sqrt(variance + 0.08)).sum()
    assert found[1] - HELD * np.log(2 * np.pi) / 2 == pytest.approx(expected)
