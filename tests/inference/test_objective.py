"""The objective of learning: its gradient against finite differences, and its vectors."""

import numpy as np
import pytest

from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.inference.sources import ArraySource
from vish.kernels import ArcCosine, FreeSpectrum, Matern
from vish.likelihoods import SinhArcsinh

DIAGONAL, MATRIX = np.array([0.9, 0.0, 0.4]), np.array([[0.9, 0.0, -0.3], [0.2, 0.0, 0.5]])


def make(rng, noise="constant", truncated=True, targets=1, **point):
    X = rng.standard_normal((120, 3))
    X[:, 1] = 2.0  # a column without spread
    y = np.sin(X @ rng.standard_normal((3, targets))) + 0.2 * rng.standard_normal((120, targets))
    source = ArraySource(X, 3 + 2 * y, rng.exponential(size=120))
    live = np.array([True, False, True])
    shift, scale = np.full(targets, 3.0), np.full(targets, 2.0)
    setting = Setting(
        source, np.array([0.0, 2.0, 0.1]), np.ones(3), shift, scale, noise, truncated, live
    )
    given = {"relevance": DIAGONAL, "kernel": Matern(1.5, 0.6, 2.0), "noise": np.full(targets, 0.1)}
    return setting, Hyperparameters(**given | point)


def difference(function, vector, step=1e-4):
    values = []
    for change in step * np.eye(len(vector)):
        f = [function(vector + c * change)[0] for c in (-2, -1, 1, 2)]
        values.append((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step))
    return np.array(values)


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize(
    ("targets", "point"),
    [
        (1, {}),
        (2, {"relevance": MATRIX}),
        (1, {"tied": True}),
        (1, {"relevance": MATRIX, "tied": True}),
        (2, {"warp": SinhArcsinh(0.2, 0.8, 0.1, 1.2)}),
        (1, {"kernel": ArcCosine(depth=2) + Matern(0.5, 0.9)}),
    ],
)
def test_gradient(rng, noise, truncated, targets, point):
    setting, start = make(rng, noise, truncated, targets, **point)
    objective = Objective(setting, start, 3)
    vector = objective.pack(start) + 0.05 * rng.standard_normal(len(objective.pack(start)))
    value, gradient = objective(vector)
    assert np.isfinite(value)
    expected = difference(objective, vector)
    np.testing.assert_allclose(gradient, expected, atol=1e-7 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("free", [{}, {"learn_relevance": False}, {"learn_rest": False}])
@pytest.mark.parametrize(
    "point", [{}, {"relevance": MATRIX}, {"tied": True}, {"warp": SinhArcsinh(0.1, 0.9)}]
)
def test_vectors_and_points(rng, point, free):
    setting, start = make(rng, **point)
    objective = Objective(setting, start, 2, **free)
    vector = objective.pack(start)
    assert vector.shape == (len(objective.bounds),)
    assert np.all((objective.bounds[:, 0] <= vector) & (vector <= objective.bounds[:, 1]))
    back = objective.unpack(vector)
    np.testing.assert_allclose(back.relevance, start.relevance, rtol=1e-14)
    np.testing.assert_array_equal(back.relevance[..., 1], 0)
    np.testing.assert_allclose(back.noise, start.noise)
    np.testing.assert_allclose(back.kernel.log_parameters, start.kernel.log_parameters)
    assert len(objective(vector)[1]) == len(vector)


def test_a_tied_relevance_keeps_its_shape(rng):
    setting, start = make(rng, tied=True)
    objective = Objective(setting, start, 2)
    vector = objective.pack(start)
    vector[0] += np.log(3)
    np.testing.assert_allclose(objective.unpack(vector).relevance, 3 * start.relevance)


def test_the_first_rows(rng):
    setting, _ = make(rng)
    few = setting.only_rows(50)
    assert few.source.n_rows == 50
    assert few.weight == pytest.approx(setting.source.weights[:50].sum())
    assert setting.only_rows(500) is setting


def test_a_free_spectrum(rng):
    setting, start = make(rng, kernel=FreeSpectrum().start(4, 3))
    objective = Objective(setting, start, 3)
    vector = objective.pack(start)
    np.testing.assert_allclose(objective(vector)[1], difference(objective, vector), atol=1e-7)


def test_rows_are_read_once_while_the_map_stays(rng, monkeypatch):
    setting, start = make(rng)
    reads = []
    statistics = Setting.statistics
    monkeypatch.setattr(
        Setting, "statistics", lambda self, *given: reads.append(1) or statistics(self, *given)
    )
    objective = Objective(setting, start, 3, learn_relevance=False)
    vector = objective.pack(start)
    values = [objective(vector + step)[0] for step in (0.0, 0.1, 0.2)]
    assert len(reads) == 1
    assert len(set(values)) == 3
    moving = Objective(setting, start, 3)
    moving(moving.pack(start))
    assert len(reads) == 2
