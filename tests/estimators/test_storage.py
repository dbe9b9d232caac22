"""Fitted regressors through files, pickles and clones: the same bits, and still alive."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from vish import VISHRegressor, load
from vish.kernels import ArcCosine, Matern, Odd, SquaredExponential, Sum, Zonal
from vish.likelihoods import Gaussian, SinhArcsinh, Warped
from vish.modelfile import ModelFileError, write_model

CASES = {
    "default": {},
    "radial": {"likelihood": Gaussian("radial")},
    "auto noise": {"likelihood": Gaussian("auto")},
    "warped": {"likelihood": Warped(SinhArcsinh())},
    "variational": {"tail": "variational", "kernel": Matern(0.5)},
    "linear map": {"rank": 2},
    "odd degrees": {"kernel": Odd(Matern(1.5))},
    "odd kernel, even degree": {"kernel": Odd(Matern(1.5)), "degree": 4},
    "sum of kernels": {"kernel": SquaredExponential() + ArcCosine(depth=2)},
    "fixed": {"relevance": [0.5, 0.2, 1.0], "scaling": ([0.0] * 3, [1.0] * 3), "optimize": False},
    "NumPy values": {"degree": np.int64(3), "random_state": np.random.RandomState(3)},
}


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((120, 3))
    return X, np.exp(np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(120))


def make(**parameters):
    return VISHRegressor(**{"degree": 3, "n_starts": 1} | parameters)


def answers(model, X):
    parts = [*model.predict(X, return_std=True), model.predict_latent(X)]
    return np.column_stack([*parts, model.predict_quantiles(X, [0.1])])


@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_a_file_gives_the_same_bits(rows, tmp_path, parameters):
    X, y = rows
    model = make(**parameters).fit(X[:100], y[:100])
    model.save(tmp_path / "model.vish")
    loaded = load(tmp_path / "model.vish")
    np.testing.assert_array_equal(answers(loaded, X), answers(model, X))
    for name in ("degree_", "n_harmonics_", "kernel_", "likelihood_", "log_evidence_", "n_iter_"):
        assert getattr(loaded, name) == getattr(model, name), name
    assert loaded.noise_variance_ == model.noise_variance_
    assert loaded.fit_trace_ == model.fit_trace_
    assert (loaded.n_rows_seen_, loaded.n_features_in_) == (100, 3)
    np.testing.assert_array_equal(loaded.relevance_, model.relevance_)

    for one in (loaded, model):  # and it can be updated
        one.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(answers(loaded, X), answers(model, X))
    assert loaded.merge(model).n_rows_seen_ == 240
    loaded.save(tmp_path / "again.vish")
    np.testing.assert_array_equal(answers(load(tmp_path / "again.vish"), X), answers(model, X))


def test_a_kernel_of_ones_own_is_kept_as_its_spectrum(rows, tmp_path):
    X, y = rows
    model = make(kernel=Zonal(lambda t: np.exp(t - 1))).fit(X, y)
    model.save(tmp_path / "model.vish")
    loaded = load(tmp_path / "model.vish")
    np.testing.assert_allclose(answers(loaded, X), answers(model, X), rtol=1e-9)
    assert type(loaded.kernel_).__name__ == "FixedSpectrum"
    loaded.partial_fit(X[:10], y[:10])
    assert loaded.n_rows_seen_ == 130


def test_several_targets_and_names(rows, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=["mass", "length", "colour"])
    model = make().fit(frame, np.column_stack([y, -y, y**2]))
    model.save(tmp_path / "model.vish")
    loaded = load(tmp_path / "model.vish")
    assert list(loaded.feature_names_in_) == ["mass", "length", "colour"]
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.noise_variance_, model.noise_variance_)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["length", "mass", "colour"]])


def test_a_model_without_rows(rows, tmp_path):
    X, y = rows
    make().fit(X, y).empty_like().save(tmp_path / "empty.vish")
    loaded = load(tmp_path / "empty.vish")
    assert loaded.n_rows_seen_ == 0
    assert loaded.partial_fit(X, y).n_rows_seen_ == 120


def test_a_kernel_that_would_be_refused_is_kept_as_its_spectrum(rows, tmp_path):
    X, y = rows
    kernel = Sum((Matern(1.5, 0.5),) * 101)
    model = make(kernel=kernel, optimize=False, rank=None).fit(X, y)
    model.save(tmp_path / "model.vish")
    loaded = load(tmp_path / "model.vish")
    np.testing.assert_allclose(answers(loaded, X), answers(model, X), rtol=1e-9)


def test_a_model_that_has_forgotten_nearly_all(rows, tmp_path):
    X, y = rows
    model = make(optimize=False, rank=None).fit(X, y)
    model.forget(X[1:], y[1:]).save(tmp_path / "one.vish")  # rounding is left, of either sign
    np.testing.assert_array_equal(load(tmp_path / "one.vish").predict(X), model.predict(X))


@pytest.mark.parametrize("magnitude", [1e-200, 1e200])
def test_units_of_any_size(rows, tmp_path, magnitude):
    X, y = rows
    model = make(optimize=False, rank=None).fit(magnitude * X, y)
    model.save(tmp_path / "model.vish")
    loaded = load(tmp_path / "model.vish")
    np.testing.assert_array_equal(loaded.predict(magnitude * X), model.predict(magnitude * X))


def test_what_could_not_be_read_again_is_not_written(rows, tmp_path):
    X, y = rows
    model = make(optimize=False, rank=None).fit(X, y)
    with pytest.raises(ValueError, match=r"parameters\['n_jobs'\] is 'all', not null or a number"):
        model.set_params(n_jobs="all").save(tmp_path / "model.vish")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_pickle(rows, parameters):
    X, y = rows
    model = make(**parameters).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(copy, X), answers(model, X))
    np.testing.assert_array_equal(
        answers(copy.partial_fit(X, y), X), answers(model.partial_fit(X, y), X)
    )


@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_clone(rows, parameters):
    X, y = rows
    model = make(**parameters)
    copy = clone(model.fit(X, y))
    assert not hasattr(copy, "relevance_")
    if not isinstance(parameters.get("random_state"), np.random.RandomState):  # it moves on
        np.testing.assert_array_equal(answers(copy.fit(X, y), X), answers(model, X))


def test_other_files_are_refused(tmp_path):
    write_model(tmp_path / "other.vish", {"something": 1}, {})
    with pytest.raises(ModelFileError, match="not one this version of vish understands"):
        load(tmp_path / "other.vish")
    with pytest.raises(FileNotFoundError, match="no model file"):
        load(tmp_path / "missing.vish")
