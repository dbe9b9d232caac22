"""Raising the evidence from a point, and what was seen on the way.

A search is made of stages. Each is one run of an optimiser from a point, and leaves a line in
the trace. Where rows are held out, they may end a stage that only learns the others by heart.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from vish.inference.holdout import Trial, Watch, try_on
from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.inference.solution import has_few_rows
from vish.inference.sources import ArraySource
from vish.sphere.blas import blas_threads_for

TIGHT = 1e-6  # relative change of the density that ends a stage
# In a long valley the optimiser may stop too early: where it is to go to the end, it begins again
# there while that raises the density by this part of it.
_WORTH_A_RESTART = 1e-3
# The optimiser's first step is as long as its gradient, but for a unit at most, and it ends where a
# step gains little: along logs, by the density of one row, it would end before it has begun.
_ROWS_COUNTED = 30
_MANY_ROWS = 30  # for every number of the map: they cannot be learned by heart
# Of one stage: iterations, and iterations times rows times the size of the matrix to factor (with
# few rows, its cube counts). Where the map could be learned by heart, more do no good.
_LEAST_ITERATIONS, _WORK, _WORK_AT_RISK, _FEW_ROWS = 6, 150_000_000, 60_000_000, 2_500


class Stage(NamedTuple):
    """One line of the trace of a fit."""

    name: str
    degree: int
    rank: int | None  # of the linear map, None for a diagonal
    n_harmonics: int
    log_evidence: float  # per unit of weight, standardised targets
    n_iter: int
    seconds: float


@dataclass(kw_only=True)
class Ascent:
    """The stages of a search, and the best point they have seen.

    Parameters
    ----------
    setting : Setting
        All rows; a stage may see fewer.
    max_iter : int
    report : callable
        Told of every stage.
    """

    setting: Setting
    max_iter: int
    report: Callable[[Stage], None] = lambda stage: None
    trace: list[Stage] = field(default_factory=list)
    best: tuple[Hyperparameters, int] | None = None  # point and degree
    converged: bool = True
    _best_score: tuple[bool, float] = (False, -np.inf)  # by the kernel asked for; per row
    _held: ArraySource = field(init=False)
    _learned_by_heart: bool = False  # the last stage, as rows held out saw it

    def __post_init__(self) -> None:
        n_inputs, n_targets = len(self.setting.centre), len(self.setting.target_shift)
        self._held = ArraySource(np.empty((0, n_inputs)), np.empty((0, n_targets)))

    def _maximise(
        self,
        name: str,
        setting: Setting,
        point: Hyperparameters,
        degree: int,
        max_iter: int,
        tolerance: float,
        judged: bool = False,
        **free: bool,
    ) -> tuple[Hyperparameters, float]:
        """Raise the log density from a point; returns the new point and its score.

        If the stage is judged, rows held out may end it where rows are few for the map. Not by
        the bound for all degrees: its noise is larger than what they see, whatever is learned.
        """
        point = replace(point, kernel=point.kernel.start(point.dimension, degree))
        objective = Objective(setting, point, degree, **free)
        started = time.perf_counter()
        stiffness = objective.stiffness
        counted = _ROWS_COUNTED if objective.in_logs else 1
        best_vector = np.clip(objective.pack(point), *objective.bounds.T)
        best_value = np.inf

        def watched(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best_vector, best_value
            vector = scaled / stiffness
            value, gradient = objective(vector)
            if not np.isfinite(value) or not np.isfinite(gradient).all():
                return 1e100, np.zeros_like(vector)
            if value < best_value:
                best_vector, best_value = vector, value
            return counted * value, counted * gradient / stiffness

        def trial_at(vector: np.ndarray) -> Trial:
            return try_on(self._held, setting, objective.unpack(vector), degree)

        at_risk = self._at_risk(point, setting)
        judged = judged and at_risk and self._held.n_rows > 0 and setting.truncated
        watch = Watch(trial_at, best_vector) if judged else None
        size = point.kernel.n_harmonics(point.dimension, degree)
        few = has_few_rows(setting.source, size)
        to_factor = setting.source.n_rows if few else max(1, size)
        work = to_factor * max(setting.source.n_rows or 0, _FEW_ROWS)
        affordable = (_WORK_AT_RISK if at_risk else _WORK) // work
        iterations = min(max_iter, max(_LEAST_ITERATIONS, affordable))
        options = {"ftol": tolerance, "gtol": 1e-6 * counted, "maxcor": 20}
        try:
            with blas_threads_for(to_factor):
                n_iter, again = 0, True
                while again:
                    before = best_value
                    outcome = minimize(
                        watched,
                        best_vector * stiffness,
                        jac=True,
                        method="L-BFGS-B",
                        bounds=objective.bounds * stiffness[:, None],
                        options=options | {"maxiter": iterations - n_iter},
                        callback=None if watch is None else lambda x: watch(x / stiffness),
                    )
                    n_iter += outcome.nit
                    gained = before - best_value > _WORTH_A_RESTART * abs(best_value)
                    again = tolerance == TIGHT and gained and outcome.success
                last = best_vector
                if watch is not None:
                    best_vector = watch.best_or(last)
                self._learned_by_heart = best_vector is not last
                if self._learned_by_heart:
                    best_value = objective(best_vector)[0]
        except KeyboardInterrupt:
            self._remember(objective.unpack(best_vector), degree, setting, -best_value)
            raise
        self.converged = outcome.status != 1 or n_iter < self.max_iter
        point = objective.unpack(best_vector)
        stage = Stage(
            name, degree, point.rank, size, float(-best_value),
            n_iter, time.perf_counter() - started,
        )  # fmt: skip
        self.trace.append(stage)
        self.report(stage)
        return point, self._remember(point, degree, setting, -best_value)

    def _remember(
        self, point: Hyperparameters, degree: int, setting: Setting, log_density: float
    ) -> float:
        """Keep a point if it is the best so far; returns its score."""
        score = log_density * setting.weight - self._complexity(point, setting)
        rating = (setting.truncated == self.setting.truncated, score / setting.weight)
        if self.best is None or rating > self._best_score:
            self.best, self._best_score = (point, degree), rating
        return score

    def _complexity(self, point: Hyperparameters, setting: Setting) -> float:
        """Half the log of the number of rows for every number of the linear map."""
        return self._numbers(point) * np.log(max(2.0, setting.weight)) / 2

    def _at_risk(self, point: Hyperparameters, setting: Setting) -> bool:
        """Whether the rows are so few for the map that it could learn them by heart."""
        return setting.weight < _MANY_ROWS * self._numbers(point)

    def _numbers(self, point: Hyperparameters) -> int:
        """How many numbers of the map are learned."""
        if point.tied:
            return 1
        numbers = int(self.setting.live.sum())
        if point.rank is not None:  # a rotation of the mapped inputs changes nothing
            numbers = point.rank * numbers - point.rank * (point.rank - 1) // 2
        return numbers

    def refine(self, point: Hyperparameters, degree: int) -> Hyperparameters:
        """A few more iterations from a point, on the rows of the setting."""
        try:
            return self._maximise("refine", self.setting, point, degree, self.max_iter, TIGHT)[0]
        except KeyboardInterrupt:
            return point
