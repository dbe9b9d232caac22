"""Steps of the search: comparisons, kinds of map, degrees, and what is said of the end."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from vish import VISHRegressor
from vish.estimators.search import _tell, make_problem
from vish.estimators.settings import FitSettings
from vish.inference.sources import ArraySource
from vish.kernels import ArcCosine, Matern
from vish.search.holdout import Losses
from vish.search.inputmap import Diagonal
from vish.search.kinds import Start, capped, kinds, trusted
from vish.search.policy import SearchPolicy
from vish.search.problem import Hyperparameters
from vish.search.stage import Outcome, Status
from vish.search.steps import select
from vish.search.task import Asked, Found, Search


def search_of(rng, n=400, D=3, kernel=None, **asked):
    X = rng.standard_normal((n, D))
    source = ArraySource(X, X[:, :1])
    problem = make_problem(source, "constant", FitSettings.of(VISHRegressor()))
    relevance = Diagonal(np.full(D, 1 / np.sqrt(D)), problem.live)
    start = Hyperparameters(relevance, kernel or Matern(1.5, 0.5), np.ones(1))
    return Search(problem, Asked(**asked)), start


def found(losses):
    losses = np.asarray(losses, dtype=float)
    return Found([], 3, Losses(losses, np.ones_like(losses)))


def test_more_numbers_must_be_better_by_more_than_chance(rng):
    simple, policy = rng.standard_normal(400), SearchPolicy()
    by_chance = simple + rng.standard_normal(400) - 0.01
    clearly = simple + rng.standard_normal(400) - 0.5
    ones = [found(losses) for losses in (simple, by_chance)]
    assert select(ones, policy) is ones[0]
    ones = [found(losses) for losses in (simple, clearly)]
    assert select(ones, policy) is ones[1]


def test_large_errors_are_not_forgiven_for_being_announced():
    policy, one = SearchPolicy(), np.ones(10)
    losses = [Losses(one, 2 * one), Losses(2 * one, one), Losses(one, 1.01 * one)]
    assert trusted(losses, policy) == [1, 2]


def test_one_row_does_not_decide_alone():
    policy, losses = SearchPolicy(), [np.zeros(100), np.full(100, -0.5)]
    losses[1][0] = 1e6
    table = capped(losses, policy)
    assert table.max() == policy.most_lost
    assert table[1].sum() < table[0].sum()
    assert np.all(capped([np.full(3, np.nan), np.zeros(3)], policy)[0] == policy.most_lost)


@pytest.mark.parametrize(
    ("n", "D", "rank", "expected"),
    [
        (400, 3, None, ["diagonal"]),
        (400, 1, "auto", ["diagonal"]),
        (400, 6, "auto", ["diagonal", "linear", "rank 1", "rank 4"]),
        (400, 6, 2, ["rank 2"]),
        (40, 6, "auto", ["tied", "diagonal", "varying 1", "bending 1"]),
        (3000, 30, 4, ["varying 4", "bending 4"]),
    ],
)
def test_kinds_are_those_that_the_rows_can_tell(rng, n, D, rank, expected):
    search, start = search_of(rng, n, D, rank=rank)
    assert [
        kind.name for kind in kinds(search, Start(start, False, start)) if kind.proposed
    ] == expected


def test_degrees_within_a_number_of_harmonics(rng):
    search, start = search_of(rng, D=3)
    assert search.degrees(start, 60) == [1, 2, 3, 4]
    _, without_odd = search_of(rng, D=3, kernel=ArcCosine(1))
    assert search.degrees(without_odd, 60) == [1, 2, 4]
    assert search.low_degree(start) == max(l for l in range(40) if start.n_harmonics(l) <= 300)
    fixed, _ = search_of(rng, degree=2)
    assert fixed.low_degree(start) == 2


def test_a_budget_that_mattered_is_told(rng, recwarn):
    search, start = search_of(rng, max_iter=50)
    outcome = Outcome(start, 3, -1.0, 8, 1.0, Status.BUDGET, last_gain=1e-4)
    _tell(search, outcome)
    assert not recwarn
    with pytest.warns(ConvergenceWarning, match=r"after 8 iterations.* gained 0.1 of log density"):
        _tell(search, outcome._replace(last_gain=0.1))
    with pytest.warns(ConvergenceWarning, match="max_iter=50 before it converged"):
        _tell(search, outcome._replace(n_iter=50))
