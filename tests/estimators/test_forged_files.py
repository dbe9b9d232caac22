"""Forged model files: the checksum is right, what they say is not.

Every entry of the header and every array is replaced by what it must not be. Such a file is
refused by name, or it holds a model that predicts finite numbers; nothing else may happen, and
no warning either.
"""

import copy
from pathlib import Path

import numpy as np
import pytest

from vish import VISHClassifier, VISHRegressor, load
from vish.cli.bundle import load_bundle
from vish.cli.errors import BadInput
from vish.cli.inspecting import inspect, seen
from vish.data import arrays as array_source
from vish.kernels import ArcCosine, FreeSpectrum, Matern, NeuralTangent, Odd, Polynomial
from vish.likelihoods import Poisson, StudentT, Warped
from vish.modelfile import ModelFileError, read_model, write_model

GOLDEN = Path(__file__).parents[1] / "golden" / "v1-regression.vish"
DEEP = "x"
for _ in range(90):
    DEEP = [DEEP]
HOSTILE = [
    *(None, True, "x", [], {}, [1.0], ["x"], {"x": 1}, DEEP),
    *(-1, 0, 1, 2, 10**12, 2**63, 10**400),
    *(0.5, -0.5, 1e-308, 1e308, -1e308),
]
FEW = [None, True, "x", [], {}, ["x"], DEEP, -1, 0, 1, 10**12, 10**400, -0.5, 1e308]
REMOVED = object()
# Of entries that all models have, one model is enough.
OF_ALL = ("parameters", "fitted", "trace", "versions", "features", "extra")


def fitted(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
    fixed = {"degree": 2, "rank": None, "optimize": False, "relevance": 0.5}

    def regressor(**parameters):
        return VISHRegressor(**fixed | parameters)

    kernel_of_sum = Matern(1.5, 0.5) + Polynomial(2)
    models = {
        "gaussian": lambda: VISHRegressor(degree=2, n_starts=1, rank=None).fit(X, y),
        "targets": lambda: regressor(kernel=kernel_of_sum).fit(X, np.column_stack([y, y**2])),
        "warped": lambda: regressor(kernel=Odd(Matern(1.5)), degree=3, likelihood=Warped()).fit(
            X, y
        ),
        "student": lambda: regressor(
            kernel=FreeSpectrum([1.0, 0.5, 0.1]), likelihood=StudentT()
        ).fit(X, y),
        "poisson": lambda: regressor(
            kernel=ArcCosine(depth=2), likelihood=Poisson(), tail="variational"
        ).fit(X, np.floor(np.exp(y))),
        "binary": lambda: VISHClassifier(**fixed).fit(X, np.where(y > 0, "yes", "no")),
        "classes": lambda: VISHClassifier(**fixed).fit(X, np.digitize(y, [-0.5, 0.5])),
        "high": lambda: regressor(degree=20).fit(X[:, :1], y),  # by features
    }
    return models[name](), X[:, :1] if name == "high" else X


NAMES = ["gaussian", "targets", "warped", "student", "poisson", "binary", "classes", "high"]


@pytest.fixture(scope="module", params=NAMES)
def saved(request, tmp_path_factory):
    """A name, header and arrays of a file, and rows."""
    path = tmp_path_factory.mktemp("forged") / "model.vish"
    model, X = fitted(request.param)
    model.feature_names_in_ = np.array([f"x{i}" for i in range(X.shape[1])], dtype=object)
    model.save(path)
    return request.param, *read_model(path), X[:5]


def places(value, path=()):
    """Paths of all entries, the records and lists among them; of a long list the first three."""
    inside = value.items() if isinstance(value, dict) else []
    inside = enumerate(value[:3]) if isinstance(value, list) else inside
    for name, item in inside:
        yield (*path, name)
        yield from places(item, (*path, name))


def forged(header, path, value):
    """The header with another value in one place, or none."""
    changed = copy.deepcopy(dict(header))
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    if value is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


def loaded(path, function, refusal):
    """What a function makes of a file; None if it refuses it, by name and in few words."""
    try:
        return function(path)
    except refusal as error:
        text = str(error)
    assert str(path) in text
    assert len(text) < 1000
    return None


def is_refused(path, header, arrays, X=None):
    """Whether a file is refused, by name; else its model predicts finite numbers.

    At the rows; where scaling or sums are others, at the centre of what the model has seen.
    """
    write_model(path, header, arrays)
    model = loaded(path, load, ModelFileError)
    if model is None:
        return True
    model.__dict__.pop("feature_names_in_", None)
    X = arrays["centre"][None] if X is None else X
    with np.errstate(over="ignore"):  # of a variance, where a number is huge
        assert np.isfinite(model.predict_latent(X)).all()
        if isinstance(model, VISHClassifier):
            np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
            assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())
        else:
            assert np.isfinite(model.predict(X)).all()
    return False


@pytest.fixture(autouse=True)
def without_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def test_a_header_with_another_value_in_any_place(saved, tmp_path):
    name, header, arrays, X = saved
    assert not is_refused(tmp_path / "model.vish", header, arrays, X)
    refused = {}
    for place in places(header):
        if place[0] in OF_ALL and name != "gaussian":
            continue
        for value in [*HOSTILE, REMOVED]:
            changed = forged(header, place, value)
            try:
                result = is_refused(tmp_path / "model.vish", changed, arrays, X)
            except Exception as error:
                error.add_note(f"{place} of {name} is {str(value)[:50]}")
                raise
            refused.setdefault(place[0], []).append(result)
    assert all(any(results) for results in refused.values()), "an entry that may be anything"


def hostile_arrays(array):
    """What an array may be replaced by."""
    flat, spoilt = array.ravel(), array.copy()
    yield from (REMOVED, array[:0], array[None], flat[: len(flat) // 2], np.append(flat, 1.0))
    yield from (array.astype(kind) for kind in ("f4", "f2", "i8", "u1", "?"))
    yield from (-array, 0 * array, 1e-300 * array, 1e6 * array, np.full_like(array, 1e200))
    for value in (np.nan, np.inf, -np.inf, -1e200, 1e200):
        spoilt = array.copy()
        spoilt.flat[-1] = value
        yield spoilt


def test_another_array_in_any_place(saved, tmp_path):
    _, header, arrays, _ = saved
    for name, array in arrays.items():
        for number, other in enumerate(hostile_arrays(array)):
            changed = {key: value for key, value in arrays.items() if key != name}
            changed |= {} if other is REMOVED else {name: other}
            try:
                result = is_refused(tmp_path / "model.vish", header, changed)
            except Exception as error:
                error.add_note(f"{name} is {other!r}, the {number}th")
                raise
            assert result or _may_be_good(name, array, other), name


def _may_be_good(name, array, other):
    """One input has one factor, or a matrix of one."""
    if other is REMOVED or other.dtype != array.dtype or not np.isfinite(other).all():
        return False
    return other.shape == array.shape or (name == "relevance" and other.size == array.size == 1)


def kernel_in(levels, kernel):
    for _ in range(levels):
        kernel = {"kernel": "Odd", "of": kernel}
    return kernel


MATERN = Matern(1.5).to_dict()
COSTLY = {
    "deep": kernel_in(90, MATERN),
    "sum of sums": kernel_in(5, {"kernel": "Sum", "kernels": [kernel_in(5, MATERN)]}),
    "many": {"kernel": "Sum", "kernels": [MATERN] * 10_000},
    "layers": {"kernel": "ArcCosine", "order": 1, "depth": 10**12},
    "layers of many": {"kernel": "Sum", "kernels": [NeuralTangent(900).to_dict()] * 50},
    "power": {"kernel": "Polynomial", "degree": 1000},
    "numbers": kernel_in(1, {"kernel": "FreeSpectrum", "variances": [1.0] * 100_000}),
    "shares": {"kernel": "FixedSpectrum", "dimension": 3, "shares": [1.0] + [0.0] * 10**5},
    "itself": {"kernel": "Sum", "kernels": {"kernel": "Sum"}},
    "other kind": {"kernel": ["Matern"]},
    "of another dimension": FreeSpectrum([1.0]).freeze(9, 0).to_dict(),
}


def test_kernels_that_would_take_for_ever(tmp_path):
    model, X = fitted("gaussian")
    path = tmp_path / "model.vish"
    model.save(path)
    header, arrays = read_model(path)
    for name, kernel in COSTLY.items():
        assert is_refused(path, header | {"kernel": kernel}, arrays, X), name


def with_sizes(D, degree, route, harmonics, sums):
    """Arrays of a Gaussian model that agree with each other."""
    one = ("target_shift", "target_scale", "squares", "noise_variance")
    arrays = {name: np.ones(D) for name in ("centre", "scale", "relevance")}
    arrays |= {name: np.ones(1) for name in one}
    arrays |= {"moments": np.ones(sums), "cross": np.ones((harmonics, 1))}
    return {"degree": degree, "route": route}, arrays


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        with_sizes(1, 25_000, "moments", 50_001, 100_001),  # a matrix of 20 GB
        with_sizes(1, 10**12, "features", 9, 45),
        with_sizes(1, 10**400, "features", 9, 45),
        with_sizes(100_000, 0, "features", 1, 1),  # all levels of a huge dimension
        with_sizes(100_000, 100_000, "features", 9, 45),
        with_sizes(2, 0, "moments", 1, 1),
    ],
    ids=str,
)
def test_sizes_that_would_take_all_memory(header, arrays, tmp_path):
    path = tmp_path / "model.vish"
    model, _ = fitted("gaussian")
    model.save(path)
    assert is_refused(path, read_model(path)[0] | header, arrays)


def test_more_memory_than_there_is(tmp_path, monkeypatch):
    path = tmp_path / "model.vish"
    fitted("gaussian")[0].save(path)
    monkeypatch.setattr("vish.estimators.modelchecks.physical_memory", lambda: 1000)
    with pytest.raises(ModelFileError, match=r"model\.vish holds .* does not fit in memory"):
        load(path)


def test_two_changes_at_once(saved, tmp_path):
    name, header, arrays, X = saved
    rng = np.random.default_rng(len(name))
    everywhere = list(places(header))
    for _ in range(150):
        changed = header
        for _ in range(2):
            place = everywhere[rng.integers(len(everywhere))]
            value = HOSTILE[rng.integers(len(HOSTILE))]
            try:
                changed = forged(changed, place, value)
            except (LookupError, TypeError):  # the first change has taken the place away
                continue
        is_refused(tmp_path / "model.vish", changed, arrays, X)


# ---- the command's own entry, and checkpoints


def test_a_recipe_with_another_value_in_any_place(tmp_path):
    header, arrays = read_model(GOLDEN)
    path, refused = tmp_path / "model.vish", 0
    for place in places(header["extra"]):
        for value in [*FEW, REMOVED]:
            changed = forged(header["extra"], place, value)
            write_model(path, header | {"extra": changed}, arrays)
            bundle = loaded(str(path), load_bundle, BadInput)
            if bundle is None:
                refused += 1
                continue
            columns = inspect(str(path))["columns"]
            assert all(isinstance(seen(column), str) for column in columns)
            X = bundle.table.transform({name: [None] for name in bundle.table.used_columns})
            bundle.estimator.__dict__.pop("feature_names_in_", None)
            assert np.isfinite(bundle.estimator.predict(X)).all()
    assert refused > 500


def test_the_command_refuses_a_forged_model(tmp_path):
    header, arrays = read_model(GOLDEN)
    path = tmp_path / "model.vish"
    for changed in ({"degree": 10**12}, {"kernel": MATERN | {"nu": -1}}, {"noise": "loud"}):
        write_model(path, header | changed, arrays)
        with pytest.raises(BadInput, match=r"model\.vish: .* not one this version of vish"):
            load_bundle(str(path))


def test_a_checkpoint_with_another_value_in_any_place(tmp_path):
    path, rng = tmp_path / "half.vish", np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    source = array_source(X, np.sin(X[:, 0]))

    def fit(path):
        model = VISHRegressor(degree=2, optimize=False, relevance=0.5, subset_size=50)
        return model.fit_source(source, checkpoint=path)

    expected = fit(path).predict(X)
    header, arrays = read_model(path)
    for place in places(header):
        if place[0] in ("kernel", "totals"):  # a sum of other rows cannot be told here
            continue
        for value in FEW:
            write_model(path, forged(header, place, value), arrays)
            model = loaded(path, fit, ValueError)
            assert model is None or np.isfinite(model.predict(X)).all()
    for name in arrays:
        write_model(path, header, arrays | {name: np.nan * arrays[name]})
        with pytest.raises(ModelFileError, match=r"half\.vish.*holds NaN"):
            fit(path)
    write_model(path, header, arrays)
    np.testing.assert_array_equal(fit(path).predict(X), expected)
