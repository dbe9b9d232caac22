"""The process of the detail: a dense Gaussian process, the ends of its range, degenerate rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from vish.neighbors.learning import LeftOut, learn, log_normal
from vish.neighbors.process import Detail, LocalProcess

DETAIL = Detail(0.7, 1.5, 0.6, 0.3, np.inf)


def matern(distances, smoothness):
    a = np.sqrt(2 * smoothness) * distances
    return np.exp(-a) * (1 if smoothness == 0.5 else 1 + a)


def dense(places, residuals, weights, queries, detail):
    noise = np.diag(detail.noise / weights)
    K = matern(cdist(places, places) / detail.lengthscale, detail.smoothness) + noise
    c = matern(cdist(places, queries) / detail.lengthscale, detail.smoothness)
    w = np.linalg.solve(K, c)
    return w.T @ residuals, detail.variance * (1 - (w * c).sum(axis=0))


def rows(n=150, p=3, T=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((n, T)), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("smoothness", [0.5, 1.5])
@pytest.mark.parametrize("doubled", [False, True], ids=["", "places twice"])
def test_with_all_rows_as_neighbours_it_is_a_dense_process(smoothness, doubled):
    places, residuals, weights = rows()
    if doubled:
        places[75:] = places[:75]
    detail = replace(DETAIL, smoothness=smoothness)
    queries = np.random.default_rng(1).standard_normal((40, 3)) / 2
    found = LocalProcess(places, residuals, weights, detail, 150, 10**9).predict(queries)
    mean, variance = dense(places, residuals, weights, queries, detail)
    np.testing.assert_allclose(found.mean, mean, atol=1e-8)
    inside = variance < 1 - detail.variance * detail.noise
    np.testing.assert_allclose(found.variance[inside, 0], variance[inside], atol=0.2)
    np.testing.assert_allclose(found.noise, 0.18)


def test_the_variance_among_neighbours_is_that_of_a_dense_process():
    places, residuals, weights = rows(400)
    queries = places[:30] * 0.1
    found = LocalProcess(places, residuals, weights, DETAIL, 400, 10**9).predict(queries)
    _, variance = dense(places, residuals, weights, queries, DETAIL)
    np.testing.assert_allclose(found.variance[:, 0], variance, atol=1e-8)


@pytest.mark.parametrize("prior_rows", [np.inf, 5.0])
@pytest.mark.parametrize("variance", [0.01, 0.6, 500.0])
def test_far_away_all_is_as_the_harmonics_have_it(prior_rows, variance):
    places, residuals, weights = rows()
    detail = replace(DETAIL, variance=variance, prior_rows=prior_rows, noise=0.001)
    found = LocalProcess(places, residuals, weights, detail, 40).predict(np.full((2, 3), 1e6))
    np.testing.assert_allclose(found.mean, 0, atol=1e-9)
    np.testing.assert_allclose(found.variance + found.noise, 1, rtol=1e-3)


def test_threads_change_no_bit():
    places, residuals, weights = rows(3000)
    process = LocalProcess(places, residuals, weights, replace(DETAIL, prior_rows=5.0), 20)
    queries = np.random.default_rng(1).standard_normal((2500, 3))
    for one, two in zip(process.predict(queries, 1), process.predict(queries, 2), strict=True):
        np.testing.assert_array_equal(one, two)


def test_where_residuals_are_larger_so_is_the_variance():
    places, residuals, weights = rows(2000, T=1)
    residuals *= np.where(places[:, :1] > 0, 3.0, 0.3)
    process = LocalProcess(places, residuals, weights, replace(DETAIL, prior_rows=5.0), 40)
    found = process.predict(np.array([[1.0, 0, 0], [-1.0, 0, 0]]))
    assert found.noise[0, 0] > 20 * found.noise[1, 0]


DEGENERATE = {
    "one row": (np.zeros((1, 2)), 40),
    "two rows in one place": (np.zeros((2, 2)), 40),
    "all in one place": (np.ones((100, 2)), 40),
    "fewer than neighbours": (np.random.default_rng(0).standard_normal((7, 2)), 40),
    "a constant column": (np.column_stack([np.arange(90.0), np.zeros(90)]), 40),
    "two clusters": (np.repeat([[0.0, 0.0], [1e6, 1e6]], 60, axis=0), 40),
    "almost in one place": (1e-9 * np.random.default_rng(0).standard_normal((100, 2)), 40),
}


@pytest.mark.parametrize("noise", [1e-6, 1.0])
@pytest.mark.parametrize("prior_rows", [2.0, np.inf])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_rows_have_finite_predictions(name, prior_rows, noise):
    places, k = DEGENERATE[name]
    residuals = np.random.default_rng(1).standard_normal((len(places), 1))
    detail = Detail(1.0, 0.5, 0.9, noise, prior_rows)
    process = LocalProcess(places, residuals, np.ones(len(places)), detail, k)
    queries = np.vstack([places[:3], places[:3] + 1e-7, [[5.0, 5.0], [1e150, 0.0]]])
    found = process.predict(queries)
    assert all(np.isfinite(part).all() for part in found)
    assert (found.variance >= 0).all()
    assert (found.noise > 0).all()


def test_no_rows_say_nothing():
    process = LocalProcess(np.empty((0, 2)), np.empty((0, 3)), np.empty(0), DETAIL, 40)
    found = process.predict(np.zeros((4, 2)))
    np.testing.assert_array_equal(found.mean, np.zeros((4, 3)))
    np.testing.assert_allclose(found.variance + found.noise, 1)


# ---- learning


def left_out_of(process, m):
    return LeftOut.of(process, np.arange(m), process.residuals[:m], np.zeros((m, 2)))


@pytest.mark.parametrize("doubled", [False, True], ids=["", "places twice"])
def test_leaving_out_is_a_process_without_the_row(doubled):
    places, residuals, weights = rows(60)
    if doubled:
        places[30:] = places[:30]
    detail = replace(DETAIL, prior_rows=5.0)
    process = LocalProcess(places, residuals, weights, detail, 60, 10**9)
    solved = left_out_of(process, 10).solve(detail)
    for i in range(10):
        rest = np.arange(60) != i
        expected, variance = dense(
            places[rest], residuals[rest], weights[rest], places[i : i + 1], detail
        )
        np.testing.assert_allclose(solved.mean[i], expected[0], atol=1e-10)
        np.testing.assert_allclose(detail.variance * solved.variance[i], variance[0], atol=1e-10)


def test_densities_are_those_of_the_moments():
    places, residuals, weights = rows(60)
    left_out = left_out_of(LocalProcess(places, residuals, weights, DETAIL, 10), 20)
    solved = left_out.solve(DETAIL)
    from vish.neighbors.process import scaled

    mean, variance, noise = scaled(solved, DETAIL)
    total = variance + noise / weights[:20, None]
    expected = log_normal(residuals[:20] - mean, total)
    np.testing.assert_allclose(left_out.log_densities(solved, DETAIL), expected)


@pytest.mark.parametrize("signal", [0.0, 0.7, 0.98])
def test_learning_finds_how_much_is_noise(signal):
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 1, (3000, 2))
    wave = np.sqrt(2) * np.sin(12 * places[:, :1])
    residuals = np.sqrt(signal) * wave + np.sqrt(1 - signal) * rng.standard_normal((3000, 1))
    process = LocalProcess(places, residuals, np.ones(3000), DETAIL, 40)
    m = 1500
    left_out = LeftOut.of(process, np.arange(m), residuals[:m], np.zeros((m, 1)))
    detail = learn(left_out)
    noise = scaled_noise = detail.variance * detail.noise
    queries = rng.uniform(0.1, 0.9, (500, 2))
    found = replace(process, detail=detail).predict(queries)
    truth = np.sqrt(signal) * np.sqrt(2) * np.sin(12 * queries[:, :1])
    assert np.mean((found.mean - truth) ** 2) < 0.12 * (1 - signal) + 0.01
    assert abs(np.mean(found.variance + found.noise) - (1 - signal)) < 0.15 * (1 - signal) + 0.01
    assert noise == scaled_noise > 0


def test_learning_is_the_same_on_any_number_of_threads():
    places, residuals, weights = rows(700)
    process = LocalProcess(places, residuals, weights, DETAIL, 10)
    left_out = left_out_of(process, 600)
    assert learn(left_out, 1) == learn(left_out, 2)
