"""The search for hyperparameters: what it finds on data of a known kind."""

import numpy as np
import pytest

from vish import VISHRegressor
from vish.estimators.search import make_setting
from vish.estimators.settings import FitSettings
from vish.inference.sources import ArraySource
from vish.inference.training import _mixes


def test_irrelevant_inputs_get_little_relevance(rng):
    X = rng.standard_normal((500, 4))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(500)
    relevance = VISHRegressor(degree=4, rank=None).fit(X, y).relevance_
    assert relevance[:2].min() > 5 * relevance[2:].max()


def test_a_map_of_one_row_is_no_diagonal():
    assert _mixes(np.array([[0.5, 0.2, 0.0]]))
    assert not _mixes(np.diag([0.5, 0.2, 0.0]))


def test_a_linear_map_finds_a_ridge_function(rng):
    X = rng.standard_normal((800, 4))
    direction = np.array([1.0, -1.0, 0.5, 0.0])
    y = np.sin(1.5 * X @ direction) + 0.1 * rng.standard_normal(800)
    model = VISHRegressor(rank=1, degree=8).fit(X, y)
    assert model.relevance_.shape == (1, 4)
    found = model.relevance_[0] / np.linalg.norm(model.relevance_)
    assert abs(found @ direction) / np.linalg.norm(direction) > 0.999
    auto = VISHRegressor(max_features=120).fit(X, y)
    assert auto.relevance_.ndim == 2
    assert auto.score(X, y) > 0.95


@pytest.mark.parametrize("degree", [8, "auto"])
def test_a_map_is_found_for_a_function_that_swings(rng, degree):
    """Low degrees see only noise: the map must be learned at a degree that sees more."""
    X = rng.standard_normal((1500, 2))
    y = np.sin(4 * (X[:, 0] - X[:, 1])) + 0.1 * rng.standard_normal(1500)
    near = np.abs(X[1000:]).max(axis=1) < 2.5  # further out, few rows tell of the function
    errors = {}
    for rank in ("auto", None):
        model = VISHRegressor(degree=degree, rank=rank, max_features=300).fit(X[:1000], y[:1000])
        errors[rank] = np.mean((model.predict(X[1000:]) - y[1000:])[near] ** 2)
        if rank == "auto":
            leading = np.linalg.svd(model.relevance_)[2][0]
    np.testing.assert_allclose(leading * np.sign(leading[0]), [0.5**0.5, -(0.5**0.5)], atol=0.05)
    assert errors["auto"] < 0.75 * errors[None]


def test_every_row_is_held_out_once(rng):
    source = ArraySource(rng.standard_normal((20, 2)), np.arange(20.0)[:, None])
    rows = make_setting(source, "constant", FitSettings.of(VISHRegressor()))
    held = [rows.rolled(5 * fold).rows(15, 20) for fold in range(4)]
    np.testing.assert_array_equal(np.sort(np.concatenate([h.y[:, 0] for h in held])), np.arange(20))
    whole = rows.rolled(5).source
    np.testing.assert_array_equal(whole.X[whole.y[:, 0] == 3.0], rows.source.X[3:4])


def test_a_given_map_and_a_free_degree(rng):
    X = rng.standard_normal((300, 2))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    learned = VISHRegressor(relevance=[1.0, 0.1], max_features=100).fit(X, y)
    np.testing.assert_array_equal(learned.relevance_, [1.0, 0.1])
    assert learned.degree_ > 3
    held = VISHRegressor(relevance=[1.0, 0.1], optimize=False, max_features=100).fit(X, y)
    assert held.degree_ > 1
    assert held.kernel_.variance == 1.0
    assert held.likelihood_.variance == 0.1


def test_one_factor_for_all_inputs_when_rows_are_few(rng):
    """Many inputs that matter alike: nothing is gained by telling them apart."""
    X = rng.standard_normal((150, 40))
    y = X @ np.full(40, 0.16) + 0.3 * rng.standard_normal(150)
    with pytest.warns(UserWarning, match="max_features=100 leaves degree 1"):
        relevance = VISHRegressor(max_features=100).fit(X, y).relevance_
    assert relevance.ndim == 1
    assert np.ptp(relevance) < 1e-12


@pytest.mark.parametrize("degree", [0, 1])
def test_the_lowest_degrees(rng, degree):
    X = rng.standard_normal((200, 2))
    y = 1 + 2 * X[:, 0] + 0.1 * rng.standard_normal(200)
    model = VISHRegressor(degree=degree, rank=None).fit(X, y)
    assert model.n_harmonics_ == (1, 4)[degree]
    assert np.isfinite(model.predict(X)).all()
    if degree:
        assert model.score(X, y) > 0.99


@pytest.mark.parametrize("rank", [None, "auto", 3, 6])
@pytest.mark.parametrize("degree", [2, 3, "auto"])
def test_the_bound_for_all_degrees_does_not_end_at_a_constant(rng, degree, rank):
    """Where most of the kernel lies beyond the degree, a constant is a local maximum."""
    X = rng.standard_normal((2300, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(2300)
    model = VISHRegressor(degree=degree, rank=rank, tail="variational").fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.8


def test_inputs_that_move_together_are_few_directions(rng):
    """Many columns, few rows, no linear map to be learned: the principal directions do."""
    hidden = rng.standard_normal((260, 3))
    X = hidden @ rng.standard_normal((3, 80)) + 0.05 * rng.standard_normal((260, 80))
    y = np.sin(2 * hidden[:, 0]) + hidden[:, 1] * hidden[:, 2]
    model = VISHRegressor().fit(X[:200], y[:200])
    assert model.relevance_.shape[0] in (8, 16)
    assert np.var(y[200:] - model.predict(X[200:])) < 0.15 * np.var(y[200:])
