"""What is asked of a search, and what its steps share."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from vish.inference.sources import ArraySource
from vish.search.holdout import Losses
from vish.search.objective import Objective
from vish.search.policy import SearchPolicy
from vish.search.problem import Hyperparameters, Problem
from vish.search.stage import Outcome, Status, maximise
from vish.search.trace import Trace


@dataclass(frozen=True)
class Asked:
    """What the user wants of a search."""

    degree: int | None = None  # None: as high as pays
    rank: int | str | None = "auto"  # rows of the map; None: a diagonal
    max_features: int = 1000
    n_starts: int = 3
    max_iter: int = 200
    learn: bool = True  # anything; else only the degree is chosen
    learn_relevance: bool = True
    total_weight: float = 0.0  # of all rows, if the problem holds only some


class Fold(NamedTuple):
    """Rows learned from, rows held out, and what was learned."""

    problem: Problem
    rows: ArraySource
    point: Hyperparameters


class Found(NamedTuple):
    """Hyperparameters at a degree, fold by fold, and the density of all rows held out."""

    folds: list[Fold]
    degree: int
    losses: Losses  # of the rows held out

    @property
    def density(self) -> float:
        """Mean per row."""
        weight = sum(fold.rows.total_weight or fold.problem.weight for fold in self.folds)
        total = -float(self.losses.densities.sum())
        return total / weight if weight and np.isfinite(total) else -np.inf


@dataclass(frozen=True)
class Search:
    """A problem, what is asked, how time is spent, and where the steps are written down."""

    problem: Problem
    asked: Asked
    policy: SearchPolicy = field(default_factory=SearchPolicy)
    trace: Trace = field(default_factory=Trace)

    def learn(
        self,
        name: str,
        problem: Problem,
        point: Hyperparameters,
        degree: int,
        iterations: int,
        tolerance: float,
        held: ArraySource | None = None,
        learn_relevance: bool = True,
        run_out: Status = Status.BUDGET,
    ) -> Outcome:
        """A stage, written down; rows held out watch a map that could learn the others by heart."""
        objective = Objective(problem, point, degree, learn_relevance)
        if held is not None and not (held.n_rows and self.at_risk(problem, point)):
            held = None
        most = min(iterations, self.asked.max_iter)
        outcome = maximise(objective, point, most, tolerance, held, run_out=run_out)
        return self.trace.add(name, outcome)

    def at_risk(self, problem: Problem, point: Hyperparameters) -> bool:
        """Whether the rows are so few for the map that it could learn them by heart."""
        return problem.weight < self.policy.rows_at_risk * point.relevance.n_numbers

    def learn_map(
        self,
        name: str,
        problem: Problem,
        point: Hyperparameters,
        iterations: int,
        climbs: bool = False,
    ) -> Outcome:
        """Everything, at the degree on which maps are learned, on rows enough for that.

        A map that climbs is learned at degrees 1 and 2 before.
        """
        rows, low, policy = self.early(problem), self.low_degree(point), self.policy
        for degree in (1, 2) if climbs else ():
            if degree < low and point.has_level(degree):
                few = policy.start_iterations
                point = self.learn("climb", rows, point, degree, few, policy.early).point
        return self.learn(name, rows, point, low, iterations, policy.early)

    def early(self, problem: Problem) -> Problem:
        """The rows on which maps are learned, for the kernel of the degrees kept."""
        return problem.kept_degrees.first(self.policy.early_rows)

    # ---- degrees

    def degrees(self, point: Hyperparameters, limit: float) -> list[int]:
        """Degrees with variance whose harmonics are at most so many; 1 always."""
        top = 1
        while top < self.policy.top_degree and point.n_harmonics(top + 1) <= limit:
            top += 1
        return [l for l in range(1, top + 1) if l == 1 or point.has_level(l)]

    def low_degree(self, point: Hyperparameters) -> int:
        """The highest degree that is cheap, and 2 if possible: degree 1 tells no map.

        Or the next with variance, for kernels without degree 2.
        """
        asked = self.asked
        limit = np.inf if asked.degree is not None else asked.max_features
        few = self.policy.harmonics_per_row * self.problem.weight
        cheap = self.degrees(point, min(limit, few, self.policy.low_features))[-1]
        possible = [l for l in (2, 3) if point.has_level(l) and point.n_harmonics(l) <= limit]
        degree = max(cheap, *possible[:1], 1)
        return degree if asked.degree is None else min(degree, asked.degree)
