"""A stage ends where it should, and says why."""

import numpy as np
import pytest

from vish import VISHRegressor
from vish.estimators.search import make_problem
from vish.estimators.settings import FitSettings
from vish.inference.sources import ArraySource
from vish.kernels import Matern
from vish.search.inputmap import Diagonal, Linear
from vish.search.objective import Objective
from vish.search.problem import Hyperparameters
from vish.search.stage import Interrupted, Status, maximise


def made(rng, n=200, D=3):
    X = rng.standard_normal((n, D))
    y = np.sin(2 * X[:, :1]) + 0.1 * rng.standard_normal((n, 1))
    problem = make_problem(ArraySource(X, y), "constant", FitSettings.of(VISHRegressor()))
    start = Hyperparameters(Diagonal(np.full(D, 0.5), problem.live), Matern(1.5), np.ones(1))
    return problem, start


def test_it_converges(rng):
    problem, start = made(rng)
    objective = Objective(problem, start, 3)
    outcome = maximise(objective, start, 200, 1e-8)
    assert outcome.status is Status.CONVERGED
    value, gradient = objective(objective.pack(outcome.point))
    assert outcome.log_density == pytest.approx(-value)
    assert np.abs(gradient).max() < 1e-3


def test_a_budget_that_ends_it_is_told(rng):
    problem, start = made(rng)
    outcome = maximise(Objective(problem, start, 3), start, 3, 1e-8)
    assert (outcome.status, outcome.n_iter) == (Status.BUDGET, 3)
    assert outcome.last_gain > 0
    further = maximise(Objective(problem, start, 3), outcome.point, 50, 1e-8)
    assert further.log_density > outcome.log_density


def test_rows_held_out_end_a_map_that_learns_the_others_by_heart(rng):
    problem, start = made(rng, 80, 12)
    linear = start.mapped_by(Linear(np.diag(start.relevance.matrix), problem.live))
    learning, held = problem.some(slice(60)), problem.some(slice(60, 80)).source
    objective = Objective(learning, linear, 2)
    free = maximise(objective, linear, 100, 1e-6)
    watched = maximise(objective, linear, 100, 1e-6, held)
    assert watched.status is Status.HELD_OUT
    assert watched.n_iter < free.n_iter
    assert watched.log_density < free.log_density
    assert np.isfinite(watched.held_density)


def test_an_interruption_carries_the_best_point(rng, monkeypatch):
    problem, start = made(rng)
    objective, calls = Objective(problem, start, 3), []
    call = Objective.__call__

    def counted(self, vector):
        calls.append(vector)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return call(self, vector)

    monkeypatch.setattr(Objective, "__call__", counted)
    with pytest.raises(Interrupted) as stopped:
        maximise(objective, start, 100, 1e-8)
    outcome = stopped.value.outcome
    assert outcome.status is Status.INTERRUPTED
    monkeypatch.undo()
    values = [objective(vector)[0] for vector in calls[:6]]
    assert outcome.log_density == pytest.approx(-min(values))
