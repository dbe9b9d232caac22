"""Neighbours in the regressor: every method knows them, rows are added and taken away exactly."""

import re

import numpy as np
import pytest
from sklearn.base import clone

import vish
from vish import VISHRegressor
from vish.likelihoods import Gaussian, Poisson, SinhArcsinh, Warped
from vish.modelfile import ModelFileError, read_model, write_model


def wiggle(n=900, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = np.abs(X[:, 0]) + X[:, 1] + np.sin(9 * X[:, 1]) + noise * rng.standard_normal(n)
    return X, y


def fixed(**parameters):
    """Nothing is learned: equalities hold between fits."""
    given = {
        "degree": 3,
        "relevance": 1.0,
        "scaling": (np.zeros(2), np.ones(2)),
        "optimize": False,
        "tail": "neighbors",
        "n_neighbors": 15,
        "likelihood": Gaussian(variance=0.3),
    }
    return VISHRegressor(**(given | parameters))


@pytest.fixture(scope="module")
def fitted():
    X, y = wiggle()
    return VISHRegressor(tail="neighbors", degree=4, n_starts=1, n_neighbors=20).fit(X, y)


def assert_same(a, b, X, tolerance=1e-8):
    for one, two in zip(a.predict(X, return_std=True), b.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, two, atol=tolerance)


def test_detail_beyond_the_degree_is_found(fitted):
    X, y = wiggle(500, 1)
    plain = VISHRegressor(degree=4, n_starts=1).fit(*wiggle())
    mean, std = fitted.predict(X, return_std=True)
    assert np.mean((mean - y) ** 2) < 0.3 * np.mean((plain.predict(X) - y) ** 2)
    assert fitted.log_density(X, y).mean() > plain.log_density(X, y).mean() + 0.4
    assert 0.9 < np.mean(np.abs(mean - y) < 1.96 * std) < 0.99
    assert fitted.tail_ == "neighbors"
    assert plain.tail_ == "truncated"


def test_far_away_it_is_the_truncated_model(fitted):
    far = np.array([[60.0, -40.0], [-100.0, 80.0]])
    plain = clone(fitted).set_params(tail="truncated").fit(*wiggle())
    for one, two in zip(
        fitted.predict(far, return_std=True), plain.predict(far, return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=0.02)


def test_methods_agree(fitted):
    X, y = wiggle(30, 2)
    mean, std = fitted.predict(X, return_std=True)
    low, middle, high = fitted.predict_quantiles(X, [0.025, 0.5, 0.975]).T
    np.testing.assert_allclose(middle, mean)
    np.testing.assert_allclose(high - low, 2 * 1.959964 * std, rtol=1e-6)
    density = -0.5 * ((y - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(fitted.log_density(X, y), density)
    latent, spread = fitted.predict_latent(X, return_std=True)
    np.testing.assert_allclose(latent, mean)
    assert (spread < std).all()
    _, cov = fitted.predict_latent(X, return_cov=True)
    np.testing.assert_allclose(np.diag(cov), spread**2, rtol=1e-6)
    draws = fitted.sample_y(X, 4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)


def test_threads_change_no_bit(fitted):
    X, _ = wiggle(3000, 3)
    one = clone(fitted).set_params(n_jobs=1).fit(*wiggle())
    two = clone(fitted).set_params(n_jobs=2).fit(*wiggle())
    for a, b in zip(one.predict(X, return_std=True), two.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("most", [2000, 400])
def test_updates_are_exact(most):
    X, y = wiggle()
    queries, _ = wiggle(100, 5)
    whole = fixed(neighbor_rows=most).fit(X, y)
    empty = whole.empty_like()
    parts = empty.empty_like().partial_fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    assert_same(parts, whole, queries)
    first, second = empty.empty_like(), empty.empty_like()
    first.partial_fit(X[:300], y[:300])
    second.partial_fit(X[300:], y[300:])
    assert_same(first.merge(second), whole, queries)
    assert_same(second.merge(first), whole, queries)
    if most > len(X):
        rest = empty.partial_fit(X[200:], y[200:])
        assert_same(whole.forget(X[:200], y[:200]), rest, queries)


def test_the_order_of_rows_and_a_weight_for_a_repeated_row_change_nothing():
    X, y = wiggle()
    queries, _ = wiggle(100, 5)
    mixed = np.random.default_rng(0).permutation(len(X))
    assert_same(fixed().fit(X[mixed], y[mixed]), fixed().fit(X, y), queries)
    twice = fixed().fit(np.vstack([X, X]), np.append(y, y))
    assert_same(fixed().fit(X, y, np.full(len(X), 2.0)), twice, queries)


def test_rows_that_were_never_seen_cannot_be_forgotten():
    X, y = wiggle()
    model = fixed().fit(X, y)
    before = model.predict(X[:50])
    with pytest.raises(ValueError, match="1 of the rows to forget was not seen"):
        model.forget(np.vstack([X[:1], [[0.5, 0.5]]]), np.append(y[:1], 7.0))
    np.testing.assert_array_equal(model.predict(X[:50]), before)


def test_models_with_and_without_rows_do_not_merge():
    X, y = wiggle()
    with pytest.raises(ValueError, match="one of the models has neighbours"):
        fixed().fit(X, y).merge(fixed(tail="truncated").fit(X, y))


def test_no_more_rows_are_kept_than_asked_for():
    X, y = wiggle()
    model = fixed(neighbor_rows=200).fit(X, y)
    assert len(model._model.local.rows) == 200
    assert model.n_rows_seen_ == 900
    model.partial_fit(*wiggle(900, 8))
    assert len(model._model.local.rows) == 200


def test_auto_takes_neighbours_only_where_they_help(fitted):
    X, y = wiggle()
    assert clone(fitted).set_params(tail="auto").fit(X, y).tail_ == "neighbors"
    rng = np.random.default_rng(0)
    straight = X @ [1.0, 2.0] + rng.standard_normal(len(X))
    auto = clone(fitted).set_params(tail="auto", degree=2).fit(X, straight)
    assert auto.tail_ == "truncated"


def test_several_targets_and_a_warp():
    X, y = wiggle()
    both = clone(fixed()).set_params(likelihood=None, optimize=True).fit(X, np.c_[y, -3 * y + 1])
    mean, std = both.predict(X[:50], return_std=True)
    np.testing.assert_allclose(mean[:, 1], -3 * mean[:, 0] + 1, atol=1e-4)
    np.testing.assert_allclose(std[:, 1], 3 * std[:, 0], rtol=1e-4)
    warped = VISHRegressor(tail="neighbors", degree=3, n_starts=1, likelihood=Warped(SinhArcsinh()))
    warped.fit(X, np.exp(y))
    mean, std = warped.predict(X[:50], return_std=True)
    assert np.corrcoef(mean, np.exp(y[:50]))[0, 1] > 0.9
    assert (std > 0).all()


@pytest.mark.filterwarnings("ignore:columns without spread")
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_few_rows(n):
    X, y = wiggle(n)
    model = VISHRegressor(tail="neighbors", degree=2, n_starts=1).fit(X, y)
    mean, std = model.predict(wiggle(20, 3)[0], return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_degenerate_tables():
    X, y = wiggle(300)
    X = np.repeat(np.c_[X, np.ones(300)], 2, axis=0)
    X[:100] = X[0]
    with pytest.warns(UserWarning, match="without spread"):
        model = VISHRegressor(tail="neighbors", degree=2, n_starts=1).fit(X, np.repeat(y, 2))
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_a_source_is_the_table(tmp_path):
    X, y = wiggle()
    queries, _ = wiggle(100, 5)
    source = vish.data.batches(
        lambda: ((X[i : i + 100], y[i : i + 100]) for i in range(0, 900, 100))
    )
    assert_same(fixed().fit_source(source), fixed().fit(X, y), queries)


# ---- files


def test_a_model_comes_back_from_its_file(fitted, tmp_path):
    X, _ = wiggle(100, 6)
    fitted.save(tmp_path / "model.vish")
    again = vish.load(tmp_path / "model.vish")
    for a, b in zip(
        again.predict(X, return_std=True), fitted.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    more = wiggle(50, 7)
    assert_same(again.partial_fit(*more), vish.load(tmp_path / "model.vish").partial_fit(*more), X)


def changed(name):
    def cut(header, arrays):
        arrays["row_inputs"] = arrays["row_inputs"][:-1]

    def moved(header, arrays):
        arrays["row_targets"] = arrays["row_targets"].copy()
        arrays["row_targets"][3] += 1e-9

    def gone(header, arrays):
        del arrays["row_weights"]

    def fewer(header, arrays):
        for key in ("row_inputs", "row_targets", "row_weights"):
            arrays[key] = arrays[key][1:]

    def not_a_number(header, arrays):
        arrays["row_inputs"] = arrays["row_inputs"] * np.nan

    def bad_detail(header, arrays):
        header["local"]["lengthscale"] = 0.0

    return locals()[name]


@pytest.mark.parametrize("name", ["cut", "moved", "gone", "fewer", "not_a_number", "bad_detail"])
def test_rows_that_were_cut_or_changed_are_refused(fitted, tmp_path, name):
    path = tmp_path / "model.vish"
    fitted.save(path)
    header, arrays = read_model(path)
    arrays = dict(arrays)
    changed(name)(header, arrays)
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError):
        vish.load(path)


# ---- parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors is 0: give an integer of at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors is 2.5: give an integer"),
        ({"n_neighbors": True}, "n_neighbors is True"),
        ({"neighbor_rows": 5}, "neighbor_rows is 5: give an integer of at least 100"),
        ({"tail": "nearest"}, "tail is 'nearest': choose one of truncated, variational"),
        ({"likelihood": Poisson()}, "with the likelihood Poisson choose"),
        ({"likelihood": Gaussian(noise="radial")}, "noise of the likelihood 'radial'"),
    ],
)
def test_parameters_that_cannot_be_meant(parameters, message):
    model = VISHRegressor(tail="neighbors").set_params(**parameters)
    X, y = wiggle(50)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X, np.abs(np.round(y)))


def test_a_classifier_has_no_neighbours():
    X, y = wiggle(50)
    with pytest.raises(ValueError, match="tail is 'neighbors': choose one of truncated, varia"):
        vish.VISHClassifier(tail="neighbors").fit(X, y > 0)
