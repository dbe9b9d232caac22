"""Bad input: a clear error or a right answer, never a LinAlgError, never NaN."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from vish import VISHRegressor
from vish.kernels import Matern, Odd, Polynomial
from vish.likelihoods import Gaussian, SinhArcsinh, Warped

QUICK = {"max_features": 40, "n_starts": 1, "max_iter": 100}
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 3)), RNG.standard_normal(40)


def with_entry(array, value):
    array = array.copy()
    array[(7, *[1] * (array.ndim - 1))] = value
    return array


def fit(X=X, y=Y, weights=None, **parameters):
    return VISHRegressor(**QUICK | parameters).fit(X, y, weights)


def fitted(**parameters):
    fixed = {"degree": 2, "relevance": 0.5, "scaling": ([0.0] * 3, [1.0] * 3), "optimize": False}
    return fit(**fixed | parameters)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit(X=with_entry(X, np.nan)), "contains NaN"),
        (lambda: fit(X=with_entry(X, np.inf)), "contains infinity"),
        (lambda: fit(y=with_entry(Y, np.nan)), "contains NaN"),
        (lambda: fit(y=with_entry(Y, -np.inf)), "contains infinity"),
        (lambda: fit(X=X[:0], y=Y[:0]), r"0 sample\(s\)"),
        (lambda: fit(X=X[:, :0]), r"0 feature\(s\)"),
        (lambda: fit(X=X[:, 0]), "Expected 2D array"),
        (lambda: fit(y=Y[:30]), r"inconsistent numbers of samples: \[40, 30\]"),
        (lambda: fit(y=np.array(["a"] * 40)), "could not convert|dtype='numeric'"),
        (lambda: fit(weights=np.ones(30)), "sample_weight.shape"),
        (lambda: fit(weights=-np.ones(40)), "Negative values"),
        (lambda: fit(weights=np.full(40, np.nan)), "contains NaN"),
        (lambda: fit(weights=np.full(40, np.inf)), "contains infinity"),
        (lambda: fit(weights=np.zeros(40)), "all sample weights are 0|one non-zero"),
        # parameters
        (lambda: fit(degree=-1), 'degree is -1: give an integer of at least 0 or "auto"'),
        (lambda: fit(degree="high"), "degree is 'high'"),
        (lambda: fit(degree=2.5), r"degree is 2\.5"),
        (lambda: fit(degree=200), "largest degree that fits"),
        (lambda: fit(kernel=Odd(Matern()), degree=301), r"degree that fits is \d*[13579];"),
        (lambda: fit(kernel=Odd(Matern()), degree=0), "no variance up to degree 0.*raise"),
        (lambda: fit(kernel=Odd(Polynomial(2, 0.0))), "no variance up to degree 1.*raise"),
        (lambda: fit(max_features=1), "max_features is 1: give an integer of at least 2"),
        (lambda: fit(n_starts=0), "n_starts is 0: give an integer of at least 1"),
        (lambda: fit(subset_size=0), "subset_size is 0"),
        (lambda: fit(max_iter=0), "max_iter is 0"),
        (lambda: fit(max_iter=True), "max_iter is True"),
        (lambda: fit(tail="long"), "tail is 'long': choose one of truncated, variational"),
        (lambda: fit(rank=0), "rank is 0: give an integer of at least 1, None for a diagonal"),
        (lambda: fit(rank=4), "rank is 4, but only 3 of the 3 inputs vary: give at most 3"),
        (lambda: fit(kernel="matern"), r"kernel is 'matern': give one of vish\.kernels"),
        (lambda: fit(likelihood="gaussian"), r"likelihood is 'gaussian': give one of vish\.likeli"),
        (lambda: fit(relevance=[1.0, 2.0]), r"relevance has shape \(2,\): give \(3,\) or \(p, 3\)"),
        (lambda: fit(relevance=np.nan), "relevance .* finite"),
        (lambda: fit(scaling=(np.zeros(3), np.zeros(3))), "scale must be positive"),
        (lambda: fit(scaling=(np.zeros(2), np.ones(2))), "a centre of shape .* 3 finite numbers"),
        (lambda: fit(scaling=3.0), r"scaling is 3\.0: give a pair \(centre, scale\)"),
        (lambda: fit(scaling=(np.full(3, np.nan), np.ones(3))), "a centre that is not finite"),
        (lambda: fit(n_jobs=0), "n_jobs is 0"),
        (lambda: fit(n_jobs="all"), "n_jobs is 'all': give an integer, or None for all cores"),
        (lambda: fit(likelihood=Gaussian(variance=(0.1, 0.2))), "variance .* 1 target"),
        (lambda: Gaussian("loud"), "noise is 'loud': choose one of constant, radial, auto"),
        (lambda: Gaussian(variance=-1.0), r"variance is -1\.0: give a positive number"),
        (lambda: Warped(variance=0.0), r"variance is 0\.0"),
        # fitted models
        (lambda: fitted().predict(X[:, :2]), "2 features, but VISHRegressor is expecting 3"),
        (lambda: fitted().predict(with_entry(X, np.nan)), "contains NaN"),
        (lambda: fitted().predict_quantiles(X, [0.5, 1.0]), "quantiles are .* between 0 and 1"),
        (lambda: fitted().predict_quantiles(X, np.nan), "quantiles are"),
        (lambda: fitted().predict_latent(X, True, True), "ask for one of them"),
        (lambda: fitted().log_density(X, Y[:5]), "inconsistent numbers of samples"),
        (lambda: fitted().log_density(X, np.ones((40, 2))), "y has 2 targets, the model 1"),
        (lambda: fitted().partial_fit(X, np.ones((40, 2))), "y has 2 targets, the model 1"),
        (lambda: fitted().partial_fit(X[:, :2], Y), "2 features"),
        (lambda: fitted().forget(np.vstack([X, X]), np.append(Y, Y)), "cannot forget 80 rows"),
        (lambda: fitted().forget(X, Y, np.full(40, 2.0)), "cannot forget .*the same weights"),
        (lambda: fitted().forget(X, Y, np.full(40, 0.5)), "cannot forget .*the same weights"),
        (lambda: fitted().forget(X[:5], Y[:5] + 100), "cannot forget"),
        (lambda: fitted().merge(fitted(degree=3)), "they differ in degree; make the second"),
        (lambda: fitted().merge(fitted(relevance=0.4)), "they differ in relevance"),
        (lambda: fitted().merge(fitted(likelihood=Gaussian("radial"))), "they differ in noise"),
        (lambda: fitted().merge(fitted(y=Y + 1)), "they differ in shift of the target"),
        (lambda: fitted().merge(fitted(scaling=([1.0] * 3, [1.0] * 3))), "they differ in centre"),
        (lambda: fitted().merge("model"), "cannot merge with a str: give a VISHRegressor"),
        (
            lambda: fitted().merge(fitted(likelihood=Warped(SinhArcsinh(tail=0.9)))),
            "they differ in warp",
        ),
    ],
)  # fmt: skip
def test_clear_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("method", ["predict", "predict_latent", "empty_like", "save", "forget"])
def test_not_fitted(method, tmp_path):
    arguments = {"empty_like": (), "save": (tmp_path / "model",), "forget": (X, Y)}
    with pytest.raises(NotFittedError):
        getattr(VISHRegressor(), method)(*arguments.get(method, (X,)))
    with pytest.raises(NotFittedError):
        fitted().merge(VISHRegressor())


def test_a_fit_that_fails_changes_nothing():
    model = fitted()
    before = model.predict(X)
    with pytest.raises(ValueError, match="rank is 7"):
        model.set_params(rank=7, optimize=True, relevance=None, scaling=None).fit(X[:, :2], Y)
    np.testing.assert_array_equal(model.predict(X), before)
    unfitted = VISHRegressor(rank=7)
    with pytest.raises(ValueError, match="rank is 7"):
        unfitted.fit(X, Y)
    assert not [name for name in vars(unfitted) if name.endswith("_")]


def all_finite(model, X):
    mean, std = model.predict(X, return_std=True)
    values = [mean, std, model.predict_quantiles(X, [0.01, 0.99]), model.log_evidence_]
    values += [model.noise_variance_, model.sample_y(X, 3, random_state=0)]
    return all(np.isfinite(value).all() for value in values) and (std > 0).all()


# ---- right answers


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_rows(n):
    with pytest.warns(UserWarning, match="without spread") if n == 1 else nothing():
        model = fit(X[:n], Y[:n])
    assert all_finite(model, X)
    assert np.all(np.abs(model.predict(X[:n]) - Y[:n]) <= np.ptp(Y[:n]) + 1e-9)


class nothing:
    """A context in which nothing is expected."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@pytest.mark.parametrize("value", [0.0, 5.0, -1e150, 1e-150])
def test_constant_target(value):
    model = fit(y=np.full(40, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9, atol=1e-300)
    assert all_finite(model, X)


def test_constant_columns_get_no_relevance():
    table = np.column_stack([X[:, 0], np.full(40, 3.0), X[:, 1], np.zeros(40)])
    y = np.sin(X[:, 0])
    with pytest.warns(UserWarning, match="columns without spread get relevance 0: 1, 3; drop"):
        model = fit(table, y, rank=None)
    np.testing.assert_array_equal(model.relevance_[[1, 3]], 0)
    assert (model.relevance_[[0, 2]] > 0).all()
    without = fit(table[:, [0, 2]], y, rank=None)
    np.testing.assert_allclose(model.predict(table), without.predict(table[:, [0, 2]]), atol=0.02)
    moved = table + np.array([0, 1e6, 0, -5])
    np.testing.assert_array_equal(model.predict(moved), model.predict(table))
    with pytest.warns(UserWarning, match="without spread"):
        mapped = fit(table, y, rank=2)
    np.testing.assert_array_equal(mapped.relevance_[:, [1, 3]], 0)


def test_constant_columns_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "flat": 1.0})
    with pytest.warns(UserWarning, match="relevance 0: flat;"):
        fit(frame, Y)


def test_all_columns_constant():
    with pytest.warns(UserWarning, match="without spread"):
        model = fit(np.ones((40, 2)), Y)
    np.testing.assert_allclose(model.predict(np.ones((5, 2))), Y.mean(), atol=0.1)
    assert all_finite(model, np.ones((5, 2)))


def test_duplicate_columns_share():
    y = np.sin(2 * X[:, 0])
    model = fit(np.column_stack([X, X, X[:, :1]]), y)
    assert model.score(np.column_stack([X, X, X[:, :1]]), y) > 0.9


@pytest.mark.parametrize(("x_power", "y_power"), [(-498, 498), (498, -498), (498, 498), (-498, 0)])
def test_extreme_scales(x_power, y_power):
    """1e-150 to 1e150, as powers of two: they round nothing, so nothing may change."""
    x_scale, y_scale = 2.0**x_power, 2.0**y_power
    y = np.sin(2 * X[:, 0]) + 0.1 * Y
    plain, scaled = fit(y=y), fit(x_scale * X, y_scale * y)
    np.testing.assert_allclose(scaled.predict(x_scale * X) / y_scale, plain.predict(X), rtol=1e-9)
    assert all_finite(scaled, x_scale * X)


def test_scales_that_differ_between_columns():
    scales = np.array([1e-150, 1.0, 1e150])
    y = np.sin(2 * X[:, 0]) + X[:, 2]
    model = fit(scales * X, y)
    assert model.score(scales * X, y) > 0.9


def test_outlying_rows_and_far_predictions():
    table = np.vstack([X, [[1e12, -1e12, 1e12]]])
    model = fit(table, np.append(Y, 0.0), degree=2)
    assert all_finite(model, table)
    assert all_finite(model, 1e100 * X)


def test_large_offset_of_the_target():
    y = np.sin(2 * X[:, 0])
    near, far = (fit(y=y + shift, degree=3, relevance=0.7) for shift in (0.0, 1e9))
    np.testing.assert_allclose(far.predict(X) - 1e9, near.predict(X), atol=1e-3)


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_no_noise_at_all(noise):
    """An exactly linear target: the noise stops at its floor."""
    model = fit(y=X @ [1.0, 2.0, -3.0], likelihood=Gaussian(noise))
    assert all_finite(model, X)
    np.testing.assert_allclose(model.predict(X), X @ [1.0, 2.0, -3.0], atol=1e-2)


def test_rows_that_contradict_each_other():
    table, y = np.repeat(X[:5], 8, axis=0), RNG.standard_normal(40)
    model = fit(table, y, kernel=Matern(0.5))
    assert all_finite(model, table)


def test_max_features_that_leave_degree_one():
    with pytest.warns(UserWarning, match="max_features=10 leaves degree 1, .* degree 2 needs 27"):
        fit(np.random.default_rng(1).standard_normal((40, 5)), Y, max_features=10, rank=None)


def test_more_targets_than_rows():
    y = RNG.standard_normal((6, 9))
    model = fit(X[:6], y)
    assert model.predict(X).shape == (40, 9)
    assert model.noise_variance_.shape == (9,)
    assert all_finite(model, X)
