"""Kinds of map: which the data could tell, and which rows held out are for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from vish.search.directions import bending_directions, principal_directions, varying_directions
from vish.search.holdout import Losses, held_out, joined
from vish.search.inputmap import Linear, Relevance, Tied
from vish.search.policy import SearchPolicy
from vish.search.problem import Hyperparameters, Problem
from vish.search.task import Fold, Search

Seen = dict[str, Hyperparameters]  # kinds that were learned from the same rows, by name
_FACTORS = (1.0, 1.0, 3.0, 0.5, 6.0, 0.25)  # of the typical relevance, one start after the other
_DIRECTIONS = {"varying": varying_directions, "bending": bending_directions}


class Kind(NamedTuple):
    """A kind of map, and where it starts: at rows to learn from, after the kinds before it."""

    name: str
    start: Callable[[Problem, Seen], Hyperparameters]
    proposed: bool = True  # else it is learned for those after it alone
    climbs: bool = False  # from degree 1


class Start(NamedTuple):
    """A uniform map from which a diagonal one is learned well."""

    point: Hyperparameters
    climbs: bool  # from degree 1; else it begins where maps are learned
    learned: Hyperparameters  # the same map, with the kernel and the noise of the diagonal one


def uniform_start(search: Search, start: Hyperparameters) -> Start:
    """The best of several, after a few steps: the first climbs, others have sizes of their own."""
    best, highest = Start(start, True, start), -np.inf
    for number in range(search.asked.n_starts):
        factor = _FACTORS[number] if number < len(_FACTORS) else 1.5**number
        relevance = start.relevance.with_matrix(factor * start.relevance.matrix)
        point, few, climbs = (
            replace(start, relevance=relevance),
            search.policy.start_iterations,
            not number,
        )
        outcome = search.learn_map("start", search.problem, point, few, climbs)
        if outcome.log_density > highest:
            best = Start(point, climbs, replace(outcome.point, relevance=relevance))
            highest = outcome.log_density
    return best


def kinds(search: Search, start: Start) -> Iterator[Kind]:
    """The kinds of map that the data could tell, each after those that it starts from."""
    problem, policy, rank = search.problem, search.policy, search.asked.rank
    n_live, rows = int(problem.live.sum()), problem.weight
    if rank == "auto" and n_live > 1 and rows < policy.rows_per_input * n_live:
        yield Kind("tied", partial(_tied, start.learned, None))
        for few in policy.principal_directions:
            if few < n_live:
                yield Kind(f"principal {few}", partial(_tied, start.learned, few))
    free = not isinstance(rank, int)
    yield Kind("diagonal", lambda problem, seen: start.point, free, start.climbs)
    if rank is None or n_live == 1:
        return
    most, ranks = n_live, [rank] if isinstance(rank, int) else list(policy.ranks)
    if rank == "auto":
        learned = rows * (1 - policy.held_share) if rows >= policy.least_rows else 0.0
        most = int(learned / (policy.rows_per_number * n_live))
    if n_live <= policy.most_directions and (n_live <= most or isinstance(rank, int)):
        yield Kind("linear", _linear, rank in ("auto", n_live))
        yield from (Kind(f"rank {few}", partial(_cut, few)) for few in ranks if few < n_live)
        return
    for few in ranks:
        if few <= min(most, n_live):
            for name, directions in _DIRECTIONS.items():
                yield Kind(f"{name} {few}", partial(_along, directions, few))


def _tied(
    uniform: Hyperparameters, rank: int | None, problem: Problem, seen: Seen
) -> Hyperparameters:
    """One factor for all inputs, or for their leading principal directions."""
    matrix = uniform.relevance.matrix if rank is None else principal_directions(problem, rank)
    return uniform.mapped_by(Tied(matrix, problem.live))


def _linear(problem: Problem, seen: Seen) -> Hyperparameters:
    """All of the matrix, from the diagonal."""
    return _mapped(problem, seen, np.diag(seen["diagonal"].relevance.matrix)[problem.live])


def _along(directions: Callable, rank: int, problem: Problem, seen: Seen) -> Hyperparameters:
    """A matrix of few rows, along directions of the data."""
    return _mapped(problem, seen, directions(problem, rank))


def _mapped(problem: Problem, seen: Seen, matrix: np.ndarray) -> Hyperparameters:
    return seen["diagonal"].mapped_by(Linear(matrix, problem.live))


def _cut(rank: int, problem: Problem, seen: Seen) -> Hyperparameters:
    """The linear map at a lower rank."""
    whole = seen["linear"]
    relevance: Relevance = whole.relevance
    assert isinstance(relevance, Linear)
    return whole.mapped_by(relevance.cut(rank))


def best_kinds(search: Search, given: list[Fold], tried_kinds: Sequence[Kind]) -> list[list[Fold]]:
    """The kinds of map with the highest densities of rows held out, those of few numbers first."""
    learned: list[list[Fold]] = [[] for _ in tried_kinds]
    losses: list[list[Losses]] = [[] for _ in tried_kinds]
    for problem, rows, _ in given:
        early, seen = search.early(problem), Seen()
        for place, kind in enumerate(tried_kinds):
            most = search.policy.early_iterations
            point = kind.start(early, seen)
            outcome = search.learn_map(kind.name, problem, point, most, kind.climbs)
            seen[kind.name] = outcome.point
            learned[place].append(Fold(problem, rows, outcome.point))
            losses[place].append(held_out(early, outcome.point, outcome.degree, rows))
    places = [place for place, kind in enumerate(tried_kinds) if kind.proposed]
    places.sort(key=lambda place: learned[place][0].point.relevance.n_numbers)
    table = capped([joined(losses[place]).densities for place in places], search.policy)
    best = np.argsort(table.sum(axis=1), kind="stable")[: search.policy.finalists]
    return [[on_all_rows(search, fold) for fold in learned[places[i]]] for i in sorted(best)]


def on_all_rows(search: Search, fold: Fold) -> Fold:
    """The same map, learned on from all rows of a fold, where the early ones were not all."""
    if fold.problem.source.n_rows <= search.policy.early_rows:
        return fold
    problem, point = fold.problem.kept_degrees, fold.point
    degree, most = search.low_degree(point), search.policy.start_iterations
    outcome = search.learn("rows", problem, point, degree, most, search.policy.early)
    return fold._replace(point=outcome.point)


def capped(losses: list[np.ndarray], policy: SearchPolicy) -> np.ndarray:
    """What each loses to the best at every row, where one row may not decide alone.  [kinds, n]"""
    table = np.nan_to_num(np.array(losses), nan=np.inf)
    return np.minimum(table - table.min(axis=0), policy.most_lost)


def trusted(losses: list[Losses], policy: SearchPolicy) -> list[int]:
    """Places of those whose squared errors are not far above the least.

    A density forgives large errors that were announced, but nobody wants them.
    """
    squares = np.nan_to_num([one.squares.sum() for one in losses], nan=np.inf)
    return [i for i, each in enumerate(squares) if each <= policy.most_squares * squares.min()]
