"""Effects: exact for a function that is a sum, and of the columns together where they belong."""

import numpy as np
import pandas as pd
import pytest

from vish import VISHClassifier, VISHRegressor
from vish.data import Table
from vish.data.columns import columns_of
from vish.report.controls import controls
from vish.report.effects import effects


def of(frame, y, estimator):
    table = Table().fit(frame)
    model = estimator.fit(table.transform(frame), y)
    columns = columns_of(frame, table.used_columns)
    found = effects(model, table, controls(table, columns), table.raw(columns))
    return {effect.name: effect for effect in found}, found


def test_a_linear_function_has_its_slopes(rng):
    a = rng.normal(size=800)
    frame = pd.DataFrame({"a": a, "b": a + 0.3 * rng.normal(size=800), "c": rng.normal(size=800)})
    y = 2 * frame["a"] - frame["b"] + 1e-3 * rng.normal(size=800)
    effect, order = of(frame, y, VISHRegressor(degree=1, rank=None))
    for name, slope in {"a": 2, "b": -1, "c": 0}.items():
        found = effect[name]
        np.testing.assert_allclose(
            np.diff(found.curves[:, 0]), slope * np.diff(found.grid), atol=5e-3
        )
        assert (found.lower <= found.curves[:, 0]).all()
        assert found.size == pytest.approx(abs(slope) * frame[name].std(), abs=0.05)
    assert [found.name for found in order] == ["a", "b", "c"]


def test_levels_and_truths(rng):
    frame = pd.DataFrame({"kind": rng.choice(["x", "y", "z"], 600), "yes": rng.random(600) < 0.5})
    shift = frame["kind"].map({"x": 0.0, "y": 1.0, "z": 3.0})
    y = shift + 2 * frame["yes"] + 0.01 * rng.normal(size=600)
    effect, _ = of(frame, y, VISHRegressor(degree=1, rank=None))
    assert effect["kind"].labels == ["x", "y", "z"]
    np.testing.assert_allclose(np.diff(effect["kind"].curves[:, 0]), [1, 2], atol=0.01)
    assert effect["yes"].labels == ["false", "true"]
    np.testing.assert_allclose(np.diff(effect["yes"].curves[:, 0]), [2], atol=0.01)


def test_several_classes_have_probabilities(rng):
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = np.digitize(frame["a"] + 0.5 * rng.normal(size=300), [-0.5, 0.5])
    effect, order = of(frame, y, VISHClassifier(degree=1, rank=None))
    assert order[0].name == "a"
    assert effect["a"].curves.shape[1] == 3
    np.testing.assert_allclose(effect["a"].curves.sum(axis=1), 1)
    assert effect["a"].curves[0].argmax() == 0
    assert effect["a"].curves[-1].argmax() == 2
