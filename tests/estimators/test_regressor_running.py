"""While a fit runs: progress, Ctrl-C, warnings; and inside scikit-learn's machinery."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vish import VISHRegressor
from vish.inference import ascent
from vish.inference.statistics import Statistics
from vish.likelihoods import Gaussian


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((150, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(150)


def interrupt_after(monkeypatch, where, name, calls):
    """Ctrl-C at a later call of a function."""
    original, count = getattr(where, name), [0]

    def counted(*arguments, **named):
        count[0] += 1
        if count[0] > calls:
            raise KeyboardInterrupt
        return original(*arguments, **named)

    monkeypatch.setattr(where, name, counted)


@pytest.mark.parametrize("calls", [0, 1, 5, 40])
def test_ctrl_c_during_the_search(rows, monkeypatch, calls):
    X, y = rows
    interrupt_after(monkeypatch, ascent.Objective, "__call__", calls)
    with pytest.warns(ConvergenceWarning, match="interrupted while learning: the best .* so far"):
        model = VISHRegressor(degree=4).fit(X, y)
    assert model.degree_ == 4
    assert model.n_rows_seen_ == 150
    assert np.isfinite(model.predict(X)).all()
    if calls >= 40:
        assert model.score(X, y) > 0.9


def test_ctrl_c_does_not_leave_the_bound_for_all_degrees_at_a_constant(rng, monkeypatch):
    """What was learned on the degrees kept has a higher score, and is no place to stop."""
    X = rng.standard_normal((300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(300)

    class Stop(ascent.Stage):
        def __new__(cls, name, *rest):
            if name == "rows":
                raise KeyboardInterrupt
            return super().__new__(cls, name, *rest)

    monkeypatch.setattr(ascent, "Stage", Stop)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = VISHRegressor(degree=4, tail="variational").fit(X, y)
    assert model.score(X, y) > 0.8


def test_ctrl_c_with_both_kinds_of_noise(rows, monkeypatch):
    """One interruption ends the whole search."""
    X, y = rows
    interrupt_after(monkeypatch, ascent.Objective, "__call__", 12)
    with pytest.warns(ConvergenceWarning, match="interrupted") as told:
        VISHRegressor(likelihood=Gaussian("auto")).fit(X, y)
    assert len(told) == 1


def test_more_iterations_before_ctrl_c_are_not_worse(rows, monkeypatch):
    X, y = rows
    evidence = []
    for calls in (3, 30, 90):
        with monkeypatch.context() as patch:
            interrupt_after(patch, ascent.Objective, "__call__", calls)
            with pytest.warns(ConvergenceWarning):
                evidence.append(VISHRegressor(degree=3).fit(X, y).log_evidence_)
    assert evidence[0] < evidence[2]
    assert evidence[1] < evidence[2] + 1


def interrupted(*arguments, **named):
    raise KeyboardInterrupt


def test_ctrl_c_during_the_data_pass(rows, monkeypatch):
    X, y = rows
    fixed = {"relevance": 0.7, "degree": 3}
    model, unfitted = VISHRegressor(**fixed).fit(X, y), VISHRegressor(**fixed, optimize=False)
    before, names = model.predict(X), sorted(vars(model))
    monkeypatch.setattr("vish.estimators.fitting.Statistics.of_chunk", interrupted)
    for update in (model.partial_fit, model.forget, model.set_params(optimize=False).fit):
        with pytest.raises(KeyboardInterrupt):
            update(X, y)
        np.testing.assert_array_equal(model.predict(X), before)
        assert model.n_rows_seen_ == 150
        assert sorted(vars(model)) == names
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :1], y)  # other columns than before
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, y)
    assert not [name for name in vars(unfitted) if name.endswith("_")]
    assert Statistics.of_chunk is interrupted


def test_too_few_iterations_are_told(rows):
    X, y = rows
    with pytest.warns(ConvergenceWarning, match="max_iter=1 before it converged: increase"):
        VISHRegressor(degree=3, max_iter=1).fit(X, y)


def test_progress_is_shown_on_request(rows, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    X, y = rows
    VISHRegressor(degree=2, n_starts=1).fit(X, y).partial_fit(X, y)
    silent = capfd.readouterr()
    assert (silent.out, silent.err) == ("", "")
    model = VISHRegressor(degree=2, n_starts=1, verbose=1).fit(X, y)
    shown = capfd.readouterr().err
    assert "reading rows" in shown
    model.partial_fit(X, y)
    assert "reading rows" in capfd.readouterr().err


def test_the_trace_tells_the_stages(rows):
    X, y = rows
    model = VISHRegressor(n_starts=2, max_features=60).fit(X, y)
    names = [stage.name for stage in model.fit_trace_]
    assert names[0] == "start"
    assert names[-1] == "all"
    assert "degree" in names
    last = model.fit_trace_[-1]
    assert (last.degree, last.n_harmonics) == (model.degree_, model.n_harmonics_)
    assert model.n_iter_ == sum(stage.n_iter for stage in model.fit_trace_)
    assert all(stage.seconds >= 0 and stage.n_harmonics <= 60 for stage in model.fit_trace_)


def test_the_same_fit_every_time(rows):
    X, y = rows
    one, two = (VISHRegressor(max_features=60).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    subsets = [
        VISHRegressor(degree=2, subset_size=60, random_state=seed).fit(X, y).predict(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(subsets[0], subsets[1])
    assert not np.array_equal(subsets[0], subsets[2])


def test_threads_change_nothing(rng):
    X = rng.standard_normal((20_000, 2))
    y = X[:, 0] ** 2
    fixed = {"degree": 3, "relevance": 0.5, "optimize": False}
    one, two = (VISHRegressor(**fixed, n_jobs=n).fit(X, y).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


# ---- inside scikit-learn


QUICK = {"degree": 2, "n_starts": 1, "rank": None}


def test_weights_reach_the_model_through_a_search(rows):
    """Half the rows are wrong and have weight 0."""
    X, y = rows
    X, y = np.repeat(X, 2, axis=0), np.column_stack([y, -50 - y]).ravel()
    weights = np.tile([1.0, 0.0], 150)
    with sklearn.config_context(enable_metadata_routing=True):
        model = VISHRegressor(**QUICK)
        model = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        search = GridSearchCV(pipeline, {"vishregressor__degree": [1, 3]}, cv=3)
        search.fit(X, y, sample_weight=weights)
    assert search.best_params_ == {"vishregressor__degree": 3}
    plain = VISHRegressor(**QUICK | {"degree": 3}).fit(X[::2], y[::2])
    np.testing.assert_allclose(search.predict(X), plain.predict(X), atol=0.05)


def test_kernels_are_parameters_of_a_grid(rows):
    from vish.kernels import Matern, SquaredExponential

    X, y = rows
    grid = {"kernel": [Matern(0.5), SquaredExponential()]}
    search = GridSearchCV(VISHRegressor(degree=3, n_starts=1, rank=None), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert cross_val_score(search.best_estimator_, X, y, cv=2).mean() > 0.8
