"""What a search has done: a line for each stage, as it can be printed and stored."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from vish.search.problem import Hyperparameters
from vish.search.stage import Outcome


class Stage(NamedTuple):
    """One line of the trace of a fit."""

    name: str
    degree: int
    rank: int | None  # of the linear map, None for a diagonal
    n_harmonics: int
    log_evidence: float  # per unit of weight, standardised targets
    n_iter: int
    seconds: float
    status: str = "converged"  # or "budget", "interrupted"


@dataclass
class Trace:
    """The stages so far."""

    report: Callable[[Stage], None] = lambda stage: None
    stages: list[Stage] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, name: str, outcome: Outcome) -> Outcome:
        """Write down a stage; gives its outcome back."""
        point = outcome.point
        self.outcomes.append(outcome)
        self._write(
            Stage(
                name,
                outcome.degree,
                point.relevance.rank,
                outcome.n_harmonics,
                outcome.log_density,
                outcome.n_iter,
                outcome.seconds,
                str(outcome.status),
            )
        )
        return outcome

    def tell(self, name: str, point: Hyperparameters, degree: int, density: float) -> None:
        """Write down a comparison."""
        size, rank = point.n_harmonics(degree), point.relevance.rank
        self._write(Stage(name, degree, rank, size, density, 1, 0.0))

    def _write(self, stage: Stage) -> None:
        self.stages.append(stage)
        self.report(stage)
