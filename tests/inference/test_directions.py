"""Maps to start from: they hold the directions that matter."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

from vish import VISHRegressor
from vish.estimators.search import make_setting
from vish.estimators.settings import FitSettings
from vish.inference.directions import (
    bending_directions,
    cut_rank,
    principal_directions,
    varying_directions,
)
from vish.inference.objective import Setting
from vish.inference.sources import ArraySource


def setting(X, y):
    return make_setting(ArraySource(X, y[:, None]), "constant", FitSettings.of(VISHRegressor()))


def angle_between(directions, truth):
    """Largest principal angle between the row spaces, as a sine."""
    q, _ = np.linalg.qr(directions.T)
    p, _ = np.linalg.qr(np.atleast_2d(truth).T)
    return np.linalg.norm(p - q @ (q.T @ p), 2)


def test_bending_directions_find_slope_and_curvature(rng):
    X = rng.standard_normal((4000, 30))
    slope, bend = np.eye(30)[:2] + np.eye(30)[[5, 7]]
    y = X @ slope + (X @ bend) ** 2 + 0.1 * rng.standard_normal(4000)
    directions = bending_directions(setting(X, y), 4)
    assert directions.shape == (4, 30)
    assert angle_between(directions, np.array([slope, bend])) < 0.25


def test_directions_ignore_columns_without_spread(rng):
    X = rng.standard_normal((300, 5))
    X[:, 2] = 1.0
    y = X[:, 0] + X[:, 1] ** 2
    with pytest.warns(UserWarning, match="relevance 0: 2"):
        directions = bending_directions(setting(X, y), 3)
    np.testing.assert_array_equal(directions[:, 2], 0)
    assert angle_between(directions, np.eye(5)[:2]) < 0.3


def test_cutting_the_rank_is_the_best_approximation(rng):
    W = rng.standard_normal((5, 7))
    cut = cut_rank(W, 2)
    values = np.linalg.svd(W)[1]
    assert cut.shape == (2, 7)
    # W^T W, which is all that matters for distances, loses only the small singular values.
    lost = np.linalg.eigvalsh(W.T @ W - cut.T @ cut)
    assert lost.max() == pytest.approx(values[2] ** 2)
    assert lost.min() > -1e-10


def test_varying_directions_find_what_few_rows_can_tell(rng):
    """Thirty inputs that are all noisy views of two hidden ones."""
    hidden, views = rng.standard_normal((60, 2)), rng.standard_normal((2, 30))
    X = hidden @ views + 0.3 * rng.standard_normal((60, 30))
    y = hidden[:, 0] + 0.1 * rng.standard_normal(60)
    directions = varying_directions(setting(X, y), 2)
    assert directions.shape == (2, 30)
    fit = np.linalg.lstsq(X @ directions.T, y)[0]
    assert np.corrcoef(X @ directions.T @ fit, hidden[:, 0])[0, 1] > 0.97


def test_varying_directions_are_those_of_partial_least_squares(rng):
    X = rng.standard_normal((300, 8)) @ rng.standard_normal((8, 8))
    y = np.sin(X[:, 0]) + X[:, 1]
    peer = PLSRegression(3).fit(X, y)  # scales the inputs, as the setting does
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ varying_directions(setting(X, y), 3).T
    expected = peer.x_scores_ / peer.x_scores_.std(axis=0) / np.sqrt(3)
    signs = np.sign(np.sum(scores * expected, axis=0))
    np.testing.assert_allclose(scores * signs, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("start", [bending_directions, varying_directions])
def test_a_weight_is_a_repetition(rng, start):
    X, weights = rng.standard_normal((200, 4)), rng.integers(1, 4, 200)
    y = X[:, 0] + X[:, 1] ** 2
    rows = np.repeat(np.arange(200), weights)
    repeated = setting(X[rows], y[rows])
    weighted = make_setting(
        ArraySource(X, y[:, None], weights.astype(float)),
        "constant",
        FitSettings.of(VISHRegressor()),
    )
    one, other = start(repeated, 3), start(weighted, 3)
    signs = np.sign(np.sum(one * other, axis=1, keepdims=True))
    np.testing.assert_allclose(one, signs * other, rtol=0, atol=1e-6)


def test_principal_directions_are_those_of_most_variance(rng):
    """Of equal length and at right angles; constant columns do not count."""
    X = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 6))
    X[:, 3] = 5.0
    live = np.array([True, True, True, False, True, True])
    source = ArraySource(X, X[:, :1], rng.exponential(size=400))
    given = (X.mean(axis=0), np.ones(6), np.zeros(1), np.ones(1), "constant", True, live)
    relevance = principal_directions(Setting(source, *given), 2)
    np.testing.assert_allclose(relevance @ relevance.T, np.eye(2) / 2, atol=1e-12)
    np.testing.assert_array_equal(relevance[:, 3], 0.0)
    weights = source.weights / source.weights.sum()
    centred = (X - weights @ X) * live
    rest = centred - 2 * centred @ relevance.T @ relevance  # all but these two
    np.testing.assert_allclose(rest, 0.0, atol=1e-10)
