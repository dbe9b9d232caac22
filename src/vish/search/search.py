"""The whole search, on one screen."""

from typing import NamedTuple

import numpy as np

from vish.search.bound_start import best_start
from vish.search.holdout import folds
from vish.search.kinds import best_kinds, kinds, uniform_start
from vish.search.problem import Hyperparameters
from vish.search.stage import Interrupted, Outcome, Status
from vish.search.steps import best_degree, optimism, polish, select
from vish.search.task import Fold, Search


class Answer(NamedTuple):
    """What a search has found."""

    outcome: Outcome
    losses: np.ndarray  # of the rows held out: their log densities, negative
    optimism: np.ndarray  # of the noise, in rows: see `steps.optimism`  [T]


def run(search: Search, start: Hyperparameters) -> Answer:
    """The best hyperparameters found; the best so far, after Ctrl-C."""
    try:
        return _run(search, start)
    except (Interrupted, KeyboardInterrupt) as stop:
        if isinstance(stop, Interrupted):
            search.trace.add("interrupted", stop.outcome)
        if not (seen := search.trace.outcomes):
            raise
        best = max(seen, key=lambda outcome: outcome.log_density)
        degree = best.degree if search.asked.degree is None else search.asked.degree
        point = best.point.at_degree(degree)
        if not search.problem.truncated:  # it was learned on the degrees kept
            point = best_start(search.problem, point, degree)
        best = best._replace(point=point, degree=degree)
        none = np.zeros(len(start.noise))
        return Answer(best._replace(status=Status.INTERRUPTED), np.zeros(0), none)


def _run(search: Search, start: Hyperparameters) -> Answer:
    problem, asked = search.problem, search.asked
    given = [Fold(*fold, start) for fold in folds(problem, search.policy)]
    learned = [given]
    if problem.live.any() and asked.learn and asked.learn_relevance:
        uniform = uniform_start(search, start)
        learned = best_kinds(search, given, list(kinds(search, uniform)))
    found = select([best_degree(search, each) for each in learned], search.policy)
    if not asked.learn:
        point = start.at_degree(found.degree)
        outcome = Outcome(point, found.degree, found.density, 0, 0.0, Status.CONVERGED)
        return Answer(outcome, found.losses.densities, np.zeros(len(start.noise)))
    return Answer(polish(search, found), found.losses.densities, optimism(search, found))


def refine(search: Search, point: Hyperparameters, degree: int) -> Outcome:
    """A few more iterations from a point, on the rows of the problem."""
    try:
        return search.learn("refine", search.problem, point, degree, 200, search.policy.tight)
    except Interrupted as stop:
        return stop.outcome
