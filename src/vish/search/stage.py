"""One run of an optimiser: objective, start, budget -> outcome."""

import contextlib
import time
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from vish.inference.solution import has_few_rows
from vish.inference.sources import ArraySource
from vish.search.holdout import densities
from vish.search.objective import Objective
from vish.search.problem import Hyperparameters
from vish.sphere.blas import blas_threads_for

# L-BFGS's first step is as long as its gradient, but for a unit at most, and it ends where a step
# gains little: along logs, by the density of one row, it would end before it has begun.
_ROWS_COUNTED = 30
_WORTH_A_RESTART = 1e-3  # of the density, gained: L-BFGS may have stopped in a valley
_MEMORY = 20  # corrections that L-BFGS keeps
_FLAT = 1e-6  # gradient that ends a run
_STOPPED = 99  # what SciPy says of a run that its callback ended
_PATIENCE = 2  # looks at rows held out without a gain


class Status(StrEnum):
    """Why a stage ended."""

    CONVERGED = "converged"
    BUDGET = "budget"
    HELD_OUT = "held out"  # rows that were held out were for no more
    INTERRUPTED = "interrupted"


class Outcome(NamedTuple):
    """Where a stage ended, and why."""

    point: Hyperparameters
    degree: int
    log_density: float  # per unit of weight, of standardised targets
    n_iter: int
    seconds: float
    status: Status
    last_gain: float = 0.0  # of the log density, in the last step
    held_density: float = -np.inf  # of the rows held out, where a stage was watched

    @property
    def n_harmonics(self) -> int:
        return self.point.n_harmonics(self.degree)


class Interrupted(Exception):
    """Ctrl-C within a stage: carries the best point of that stage."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def cost(objective: Objective) -> float:
    """Of one evaluation, about: multiplications of matrices, and the rows."""
    n, M = objective.problem.source.n_rows or 0, max(1, objective.n_harmonics)
    if has_few_rows(objective.problem.source, M):
        return float(n) ** 3
    return float(M) ** 2 * (M + n / 10)


class Watch:
    """Looks at rows held out every few iterations; the best point seen is the answer."""

    def __init__(self, objective: Objective, rows: ArraySource, every: int) -> None:
        self._objective, self._rows, self._every = objective, rows, every
        self.best, self.vector, self.iterations = -np.inf, np.zeros(0), 0
        self._calls = 0

    def look(self, vector: np.ndarray) -> None:
        """Stops the run where the last two looks were no better than one before."""
        solution = self._objective.solution_at(vector)
        noise = self._objective.unpack(vector).noise
        density = float(densities(solution, noise, self._rows).sum())
        if density > self.best:
            self.best, self.vector, self.iterations = density, vector.copy(), self._calls
        elif self._calls - self.iterations >= _PATIENCE * self._every:
            raise StopIteration

    def __call__(self, vector: np.ndarray) -> None:
        """After an iteration."""
        self._calls += 1
        if self._calls % self._every == 0:
            self.look(vector)


def maximise(
    objective: Objective,
    start: Hyperparameters,
    iterations: int,
    tolerance: float,
    rows: ArraySource | None = None,
    every: int = 5,
    run_out: Status = Status.BUDGET,
) -> Outcome:
    """Raise the log density from a point by L-BFGS.

    Parameters
    ----------
    iterations : int
        At most.
    tolerance : float
        Relative change of the density that ends the stage. A stage that would stop for it begins
        again where it stands while that gains.
    rows : ArraySource, optional
        Held out: they end the stage when their density rises no more, and the answer is the
        point that was best for them.
    every : int
        Iterations from one look at them to the next.
    run_out : Status
        What it means that there are no more iterations.
    """
    started = time.perf_counter()
    stiffness, counted = objective.stiffness, _ROWS_COUNTED if objective.in_logs else 1
    best_vector = objective.pack(start.at_degree(objective.degree))
    best_vector = np.clip(best_vector, *objective.bounds.T)
    best_value, gain, n_iter = np.inf, 0.0, 0

    def watched(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best_vector, best_value, gain
        vector = scaled / stiffness
        value, gradient = objective(vector)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return 1e100, np.zeros_like(vector)
        if value < best_value:
            gain = best_value - value
            best_vector, best_value = vector, value
        return counted * value, counted * gradient / stiffness

    def outcome(status: Status) -> Outcome:
        point, seconds = objective.unpack(best_vector), time.perf_counter() - started
        value = float(-best_value)
        return Outcome(point, objective.degree, value, n_iter, seconds, status, float(gain))

    size = max(1, objective.n_harmonics)
    few = has_few_rows(objective.problem.source, size)
    status = Status.CONVERGED
    watch = None if rows is None else Watch(objective, rows, every)
    try:
        with blas_threads_for(objective.problem.source.n_rows if few else size):
            if watch:
                watch.look(best_vector)
            while True:
                before = best_value
                run = minimize(
                    watched,
                    best_vector * stiffness,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=objective.bounds * stiffness[:, None],
                    options={
                        "ftol": tolerance,
                        "gtol": _FLAT * counted,
                        "maxcor": _MEMORY,
                        "maxiter": max(1, iterations - n_iter),
                    },
                    callback=watch and (lambda scaled: watch(scaled / stiffness)),
                )
                n_iter += run.nit
                if run.status == _STOPPED:
                    status = Status.HELD_OUT
                    break
                if run.status == 1 or n_iter >= iterations:
                    status = run_out
                    break
                if not (n_iter and before - best_value > _WORTH_A_RESTART * abs(best_value)):
                    break
    except KeyboardInterrupt:
        raise Interrupted(outcome(Status.INTERRUPTED)) from None
    if watch:
        if status is not Status.HELD_OUT:
            with contextlib.suppress(StopIteration):
                watch.look(best_vector)
        best_vector, n_iter = watch.vector, watch.iterations
        best_value = objective(best_vector)[0]
    return outcome(status)._replace(held_density=watch.best if watch else -np.inf)
