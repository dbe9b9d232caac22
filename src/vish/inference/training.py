"""Learning the hyperparameters from a subset of the rows.

Every stage starts near the answer of the one before: the diagonal relevance from several
starts at low degree, then the full linear map, then the degree (and the rank of the map)
raised as far as the evidence pays, then everything together. Stages are compared by the
evidence, less half the log of the number of rows for every learned number of the map.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from vish.inference.evidence import evidence
from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.sphere.memory import basis_size

_EARLY_ROWS = 4096  # the first stages do not need more
_LOW_FEATURES = 250  # a basis this small is cheap to learn on
_LOOSE, _TIGHT = 1e-5, 1e-7  # change of the log density per row that ends a stage


class Stage(NamedTuple):
    """One line of the trace of a fit."""

    name: str
    degree: int
    rank: int | None  # of the linear map, None for a diagonal
    n_harmonics: int
    log_evidence: float  # per unit of weight, standardised targets
    n_iter: int
    seconds: float


class Interrupted(Exception):
    """Ctrl-C during the search; `training.best` is what was found."""


@dataclass
class Training:
    """A search in progress: what it may do, what it has found.

    Parameters
    ----------
    setting : Setting
    degree : int or None
        Largest degree; None raises it while the evidence pays.
    rank : int, None or "auto"
        Rows of the linear map; None for a diagonal; "auto" chooses.
    max_features : int
        Bound of the basis when the degree is chosen.
    n_starts, max_iter : int
    report : callable
        Told of every stage.
    """

    setting: Setting
    degree: int | None
    rank: int | str | None
    max_features: int
    n_starts: int
    max_iter: int
    rng: np.random.Generator
    report: Callable[[Stage], None] = lambda stage: None
    trace: list[Stage] = field(default_factory=list)
    best: tuple[Hyperparameters, int] | None = None
    converged: bool = True

    # ---- one stage

    def _maximise(
        self,
        name: str,
        setting: Setting,
        point: Hyperparameters,
        degree: int,
        max_iter: int,
        tolerance: float,
        **free: bool,
    ) -> tuple[Hyperparameters, float]:
        """Raise the log density from a point; returns the new point and its score."""
        point = replace(point, kernel=point.kernel.start(point.dimension, degree))
        objective = Objective(setting, point, degree, **free)
        started = time.perf_counter()
        best_vector = np.clip(objective.pack(point), *objective.bounds.T)
        best_value = np.inf

        def watched(vector: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best_vector, best_value
            value, gradient = objective(vector)
            if not np.isfinite(value) or not np.isfinite(gradient).all():
                return 1e100, np.zeros_like(vector)
            if value < best_value:
                best_vector, best_value = vector.copy(), value
            return value, gradient

        try:
            outcome = minimize(
                watched,
                best_vector,
                jac=True,
                method="L-BFGS-B",
                bounds=objective.bounds,
                options={"maxiter": max_iter, "ftol": tolerance, "gtol": 1e-6, "maxcor": 20},
            )
        except KeyboardInterrupt:
            self.best = (objective.unpack(best_vector), degree)
            raise Interrupted from None
        self.converged = outcome.status != 1
        point = objective.unpack(best_vector)
        stage = Stage(
            name, degree, point.rank, basis_size(point.dimension, degree), -best_value,
            outcome.nit, time.perf_counter() - started,
        )  # fmt: skip
        self.trace.append(stage)
        self.report(stage)
        score = -best_value * setting.weight - self._complexity(point, setting)
        return point, score

    def _complexity(self, point: Hyperparameters, setting: Setting) -> float:
        """Half the log of the number of rows for every number of the linear map."""
        numbers = int(setting.live.sum())
        if point.rank is not None:  # a rotation of the mapped inputs changes nothing
            numbers = point.rank * numbers - point.rank * (point.rank - 1) // 2
        return numbers * np.log(max(2.0, setting.weight)) / 2

    # ---- the whole search

    def run(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """The best hyperparameters and degree found."""
        try:
            return self._search(start)
        except Interrupted:
            if self.best is None:  # before the first value
                raise KeyboardInterrupt from None
            return self.best

    def _search(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        setting, live = self.setting, int(self.setting.live.sum())
        early = setting.only_rows(_EARLY_ROWS)
        if live == 0:
            degree = self.degree or 1
            return self._maximise("noise", setting, start, degree, self.max_iter, _TIGHT)[0], degree
        if isinstance(self.rank, int) or not self._fits(live + 1, 1):
            point, low = self._mapped_start(early, start)
        else:
            point, low = self._diagonal(early, start)
        candidates = []
        if self.rank in (None, "auto") and point.rank is None:
            diagonal = self._maximise("diagonal", setting, point, low, self.max_iter, _LOOSE)
            candidates.append((*diagonal, low))
            point = diagonal[0]
        if self.rank == "auto" or isinstance(self.rank, int):
            candidates.append((*self._linear_map(early, point, low), low))
        point, score, degree = max(candidates, key=lambda c: c[1])
        self.best = (point, degree)
        if self.degree is None:
            candidates = self._raise_degree(candidates)
            point, score, degree = max(candidates, key=lambda c: c[1])
        elif degree < self.degree:
            degree = self.degree
        final = self._maximise("all", setting, point, degree, self.max_iter, _TIGHT)
        self.best = (final[0], degree)
        return self.best

    def _fits(self, dimension: int, degree: int) -> bool:
        return basis_size(dimension, degree) <= self.max_features

    def _low_degree(self, dimension: int) -> int:
        """A degree that is cheap to learn on, at most the one asked for."""
        degree = 1
        limit = min(self.max_features, _LOW_FEATURES)
        while basis_size(dimension, degree + 1) <= limit and degree < 3:
            degree += 1
        return degree if self.degree is None else min(degree, self.degree)

    def _diagonal(self, early: Setting, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """Several starts at low degree; the best is taken up."""
        low = self._low_degree(start.dimension)
        found = []
        for number in range(max(1, self.n_starts)):
            factor = (1.0, 0.4, 2.0)[number] if number < 3 else np.exp(self.rng.normal())
            point = replace(start, relevance=start.relevance * factor)
            for degree in range(1, low + 1):
                point, score = self._maximise("start", early, point, degree, 25, _LOOSE)
            found.append((point, score))
        return max(found, key=lambda f: f[1])[0], low

    def _mapped_start(self, early: Setting, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        raise NotImplementedError

    def _linear_map(
        self, early: Setting, point: Hyperparameters, low: int
    ) -> tuple[Hyperparameters, float]:
        """The full linear map from a diagonal one."""
        if point.rank is None:
            point = replace(point, relevance=np.diag(point.relevance)[self.setting.live])
        point, _ = self._maximise("map", early, point, low, self.max_iter, _LOOSE)
        return self._maximise("map", self.setting, point, low, self.max_iter, _LOOSE)

    def _raise_degree(self, candidates):
        """Rank and degree by evidence, the map held fixed."""
        results = list(candidates)
        for point, score, low in candidates:
            ranks = [None] if point.rank is None else range(point.rank, 0, -1)
            last_top = 0
            for rank in ranks:
                reduced = point if rank is None else replace(point, relevance=cut_rank(point.relevance, rank))
                if rank is not None and rank < point.rank:
                    reduced = replace(reduced, kernel=_restart(point.kernel))
                top = low
                while self._fits(reduced.dimension, top + 1) and top < 40:
                    top += 1
                if top <= last_top:
                    continue  # a smaller rank must buy a higher degree
                last_top = top
                best_here = -np.inf
                for degree in range(max(low, 1), top + 1) if rank in (None, point.rank) else range(max(low, top - 2), top + 1):
                    new, value = self._maximise("degree", self.setting, reduced, degree, 20, _LOOSE, learn_relevance=False)
                    reduced = new
                    results.append((new, value, degree))
                    if value < best_here + 1.0:
                        break
                    best_here = value
                if rank is not None and best_here < max(r[1] for r in results) - 0.02 * self.setting.weight:
                    break
        return results


def cut_rank(relevance: np.ndarray, rank: int) -> np.ndarray:
    """The best map of lower rank, its rows orthogonal.  [p, D] -> [rank, D]"""
    _, values, directions = np.linalg.svd(relevance, full_matrices=False)
    return values[:rank, None] * directions[:rank]


def _restart(kernel):
    """The kernel with its lengthscale forgotten: what it means depends on the dimension."""
    return replace(kernel, lengthscale=None) if hasattr(kernel, "lengthscale") else kernel
