"""Very few rows, many classes, far inputs, and a map refined for any likelihood."""

import numpy as np
import pytest

from vish import VISHClassifier, VISHRegressor, data
from vish.likelihoods import Poisson


@pytest.mark.filterwarnings("ignore:columns without spread")
@pytest.mark.parametrize("n", [1, 2])
def test_rows_that_tell_nothing_of_noise_leave_the_prior(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400 + n, 2)), rng.normal(size=400 + n)
    model = VISHRegressor().fit(X[:n], y[:n])
    _, std = model.predict(X[n:], return_std=True)
    scale = 1.0 if n == 1 else np.std(y[:n])
    assert std.min() > 0.3 * scale
    if n == 1:
        low, high = model.predict_quantiles(X[n:], [0.025, 0.975]).T
        assert np.mean((low < y[n:]) & (y[n:] < high)) > 0.7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("K", [15, 20, 30])
def test_many_classes_of_few_rows_are_told_apart(K):
    rng = np.random.default_rng(0)
    y = np.arange(40 * K) % K
    n = 20 * K
    X = 3 * rng.normal(size=(K, 3))[y] + 0.3 * rng.normal(size=(40 * K, 3))
    model = VISHClassifier(degree=2, rank=None).fit(X[:n], y[:n])
    assert model.score(X[n:], y[n:]) > 0.93


@pytest.mark.parametrize("K", [2, 3])
def test_far_inputs_have_the_limit_of_near_ones(K):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.digitize(X[:, 0], [0.0] if K == 2 else [-0.5, 0.5])
    model = VISHClassifier(degree=2, rank=None).fit(X, y)
    direction = np.array([[1.0, 0.3], [-1.0, 0.2], [0.1, 1.0]])
    far = [model.predict_proba(size * direction) for size in (1e6, 1e60, 1e150, 1e300)]
    for p in far[1:]:
        np.testing.assert_allclose(p, far[0], atol=1e-3)
    assert np.abs(far[0] - 1 / K).max() > 0.2
    assert np.isfinite(model.decision_function(1e300 * direction)).all()


@pytest.mark.parametrize("kind", ["binary", "three classes", "counts"])
def test_refine_learns_the_map_from_all_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    f = 2 * np.sin(2 * X[:, 0]) + X[:, 1]
    options = {"degree": 3, "rank": None, "subset_size": 150, "max_iter": 30}
    if kind == "counts":
        make, y = VISHRegressor, rng.poisson(np.exp(f / 2)).astype(float)
        options["likelihood"] = Poisson()
    else:
        make = VISHClassifier
        y = np.digitize(f + 0.5 * rng.normal(size=1500), [0.0] if kind == "binary" else [-1, 1])
    plain = make(**options).fit(X, y)
    refined = make(**options, refine=True).fit(X, y)
    assert refined.log_evidence_ >= plain.log_evidence_
    if kind != "three classes":  # there the regression that guides the map is rough
        assert refined.log_evidence_ > plain.log_evidence_ + 1
        assert not np.array_equal(refined.relevance_, plain.relevance_)
    assert refined.fit_trace_[-1].name == "refine"
    source = data.batches(lambda: ((X[i : i + 500], y[i : i + 500]) for i in (0, 500, 1000)))
    streamed = make(**options, refine=True).fit_source(source)
    np.testing.assert_allclose(streamed.relevance_, refined.relevance_, rtol=1e-3)
