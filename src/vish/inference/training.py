"""Learning the hyperparameters from a subset of the rows.

Every stage starts near the answer of the one before: the diagonal relevance from several
starts at low degree, then the full linear map, then the degree (and the rank of the map)
raised as far as the evidence pays, then everything together. With few rows for the inputs
there is another kind of map, one factor for all. Degrees are compared by the evidence; kinds of
map and ranks, which the evidence flatters, by the density of rows held out. In the end kernel and
noise are learned from all rows, and the map where that does good.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from vish.inference.bound_start import best_start, without_lengthscale
from vish.inference.directions import cut_rank, telling_directions
from vish.inference.holdout import Trial, choose, trusted, try_on
from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.inference.sources import ArraySource
from vish.sphere.memory import basis_size
from vish.sphere.threads import blas_threads_for

_EARLY_ROWS = 4096  # the first stages do not need more
_LEAST_ROWS = 8  # with fewer, none are held out
_HELD_ROWS = 3000  # at most
_FOLDS = 4
_MANY_HELD = 0.2  # of the rows: with fewer, the map need not be learned again from all
_LOW_FEATURES = 300  # a basis this small is cheap to learn on
_FAR_FEATURES = 200  # up to here a high degree is tried from the start
_MOST_DIRECTIONS = 20  # rows of a linear map that is learned whole
_FEW_DIRECTIONS = 8  # rows of one that is not, when nobody says how many
_ROWS_PER_NUMBER = 3  # of data, for every number of the map: with fewer, it fits the noise
_ROWS_PER_INPUT = 30  # with fewer, one factor for all inputs may be better than one for each
_TOP_DEGREE = 40
_LEAST_GAIN = 1.0  # of log evidence, for one more degree
_HOPELESS = 0.05  # of log evidence per row, for one less rank
_FEW_ITERATIONS = 10  # where more did no good at the rows held out
_LEAST_ITERATIONS, _WORK = 20, 20_000  # of one stage: iterations times harmonics
_EARLY, _LOOSE, _TIGHT = 1e-4, 1e-5, 1e-6  # relative change of the density that ends a stage


class Stage(NamedTuple):
    """One line of the trace of a fit."""

    name: str
    degree: int
    rank: int | None  # of the linear map, None for a diagonal
    n_harmonics: int
    log_evidence: float  # per unit of weight, standardised targets
    n_iter: int
    seconds: float


class Candidate(NamedTuple):
    """Hyperparameters, the score by which they are compared, and their degree."""

    point: Hyperparameters
    score: float
    degree: int


class Interrupted(Exception):
    """Ctrl-C during the search; `Training.best` is what was found."""


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
    learn_relevance : bool
        Whether the map is learned, or as given.
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
    learn_relevance: bool = True
    report: Callable[[Stage], None] = lambda stage: None
    trace: list[Stage] = field(default_factory=list)
    best: tuple[Hyperparameters, int] | None = None  # point and degree
    _best_score: float = -np.inf  # per row
    _learning: Setting = field(init=False)  # the rows that are not held out
    _held: ArraySource = field(init=False)
    trial: Trial | None = None  # of the answer, at the rows held out
    converged: bool = True
    interrupted: bool = False

    def __post_init__(self) -> None:
        self._learning, self._held = self.setting, self.setting.rows(0, 0)

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

        size = basis_size(point.dimension, degree)
        iterations = min(max_iter, max(_LEAST_ITERATIONS, _WORK // size))
        try:
            with blas_threads_for(size):
                outcome = minimize(
                    watched,
                    best_vector,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=objective.bounds,
                    options={"maxiter": iterations, "ftol": tolerance, "gtol": 1e-6, "maxcor": 20},
                )
        except KeyboardInterrupt:
            self._remember(objective.unpack(best_vector), degree, setting, -best_value)
            raise Interrupted from None
        self.converged = outcome.status != 1 or outcome.nit < self.max_iter
        point = objective.unpack(best_vector)
        stage = Stage(
            name, degree, point.rank, size, float(-best_value),
            outcome.nit, time.perf_counter() - started,
        )  # fmt: skip
        self.trace.append(stage)
        self.report(stage)
        return point, self._remember(point, degree, setting, -best_value)

    def _remember(
        self, point: Hyperparameters, degree: int, setting: Setting, log_density: float
    ) -> float:
        """Keep a point if it is the best so far; returns its score."""
        score = log_density * setting.weight - self._complexity(point, setting)
        if self.best is None or score / setting.weight > self._best_score:
            self.best, self._best_score = (point, degree), score / setting.weight
        return score

    def _complexity(self, point: Hyperparameters, setting: Setting) -> float:
        """Half the log of the number of rows for every number of the linear map."""
        return self._numbers(point) * np.log(max(2.0, setting.weight)) / 2

    def _numbers(self, point: Hyperparameters) -> int:
        """How many numbers of the map are learned."""
        numbers = 1 if point.tied else int(self.setting.live.sum())
        if point.rank is not None:  # a rotation of the mapped inputs changes nothing
            numbers = point.rank * numbers - point.rank * (point.rank - 1) // 2
        return numbers

    # ---- the whole search

    def run(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """The best hyperparameters and degree found."""
        try:
            return self._search(start)
        except Interrupted:
            self.interrupted = True
            assert self.best is not None
            point, degree = self.best
            return point, degree if self.degree is None else self.degree

    def refine(self, point: Hyperparameters, degree: int) -> Hyperparameters:
        """A few more iterations from a point, on the rows of the setting."""
        try:
            return self._maximise("refine", self.setting, point, degree, self.max_iter, _TIGHT)[0]
        except Interrupted:
            return point

    def hold(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """Everything as given; only the degree is chosen, if it is free."""

        def at(degree: int) -> Candidate:
            point = replace(start, kernel=start.kernel.start(start.dimension, degree))
            value = Objective(self.setting, point, degree).evaluate(point)[0].value
            size, per_row = basis_size(point.dimension, degree), value / self.setting.weight
            self.trace.append(Stage("given", degree, point.rank, size, per_row, 1, 0.0))
            return Candidate(point, value, degree)

        if self.degree is not None:
            return at(self.degree).point, self.degree
        best = at(1)
        for degree in range(2, self._top_degree(start.dimension) + 1):
            higher = at(degree)
            if higher.score < best.score + _LEAST_GAIN:
                break
            best = higher
        return best.point, best.degree

    def _search(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        if not self.setting.live.any():  # nothing varies: the noise is all there is to learn
            return self._finish(start, 1 if self.degree is None else self.degree)
        if not self.learn_relevance:
            return self._fixed_map(start)
        candidates = [self._on_more_rows(kind) for kind in self._kinds(start)]
        if self.degree is None:
            candidates = self._raise_degree(candidates)
        else:
            candidates = [c._replace(degree=self.degree) for c in candidates]
        trials = [self._try(c.point, c.degree) for c in candidates]
        numbers = [self._numbers(c.point) for c in candidates]
        chosen = choose(trials, numbers, [c.score for c in candidates])
        degree, before = candidates[chosen].degree, trials[chosen]
        if not self._held.n_rows:
            return self._finish(before.point, degree)
        point, _ = self._finish(before.point, degree, self._learning)
        after = self._try(point, degree)
        gained = any(trial is after for trial in trusted([before, after]))
        self.trial = after if gained else before
        learn_map = gained and self._held.n_rows > _MANY_HELD * self.setting.source.n_rows
        max_iter = self.max_iter if gained else _FEW_ITERATIONS
        return self._finish(self.trial.point, degree, None, max_iter, learn_map)

    def _set_rows_aside(self, fold: int = 0) -> None:
        """Hold out some rows, unless there are too few, or only pseudo-data: those are vague."""
        n = self.setting.source.n_rows
        n_held = min(_HELD_ROWS, n // 4) if n >= _LEAST_ROWS and self.setting.learn_noise else 0
        setting = self.setting.rolled(fold * n_held) if fold else self.setting
        self._learning = setting.only_rows(n - n_held)
        self._held = setting.rows(n - n_held, n)

    def _try(self, point: Hyperparameters, degree: int) -> Trial:
        return try_on(self._held, self._learning, point, degree)

    def corrected(self, noise: np.ndarray) -> np.ndarray:
        """Noise learned from all rows, as the rows that were held out say it should be.  [T]"""
        share = self._learning.source.n_rows / max(1, self.setting.source.n_rows)
        return noise if self.trial is None else self.trial.corrected(noise, share)

    def _kinds(self, start: Hyperparameters) -> list[Candidate]:
        """The kinds of map worth going on with, learned on some rows and tried on others.

        Where the degree is given and the rows are few, every row is held out once, and only
        the best kind is left.
        """
        early = self._early()
        kinds = self._kinds_on(early, start)
        if len(kinds) == 1:
            return kinds
        trials = self._try_kinds(kinds, early)
        if self.degree is not None and self.setting.source.n_rows <= _EARLY_ROWS:
            for fold in range(1, _FOLDS):
                early = self._early(fold)
                again = self._try_kinds(self._kinds_on(early, start), early)
                trials = [a.joined(b) for a, b in zip(trials, again, strict=True)]
            self._early()
            return [kinds[int(np.argmax([trial.log_densities.sum() for trial in trials]))]]
        good = {id(trial) for trial in trusted(trials)}
        return [kind for kind, trial in zip(kinds, trials, strict=True) if id(trial) in good]

    def _early(self, fold: int = 0) -> Setting:
        """Some rows to learn from, after others were set aside."""
        self._set_rows_aside(fold)
        return self._learning.only_rows(_EARLY_ROWS)

    def _try_kinds(self, kinds: list[Candidate], early: Setting) -> list[Trial]:
        degrees = [kind.degree if self.degree is None else self.degree for kind in kinds]
        return [
            try_on(self._held, early, kind.point, degree)
            for kind, degree in zip(kinds, degrees, strict=True)
        ]

    def _kinds_on(self, early: Setting, start: Hyperparameters) -> list[Candidate]:
        """Every kind of map that may be taken."""
        diagonal = self._diagonal(early, start)
        for far in self._far(early, start):
            diagonal = far if far.score > diagonal.score + _LEAST_GAIN else diagonal
        if isinstance(self.rank, int):
            return [self._linear_map(early, diagonal, self.rank)]
        kinds = [diagonal]
        if self.rank == "auto":
            if self._learning.weight < _ROWS_PER_INPUT * self.setting.live.sum():
                kinds.append(self._diagonal(early, replace(start, tied=True)))
            if rank := self._most_directions():
                kinds.append(self._linear_map(early, diagonal, rank))
        return kinds

    def _on_more_rows(self, kind: Candidate) -> Candidate:
        """The same kind of map, learned from all rows that are not held out."""
        point, score = self._maximise(
            "rows", self._learning, kind.point, kind.degree, self.max_iter, _LOOSE
        )
        return Candidate(point, score, kind.degree)

    def _finish(
        self,
        point: Hyperparameters,
        degree: int,
        setting: Setting | None = None,
        max_iter: int | None = None,
        learn_relevance: bool = True,
    ) -> tuple[Hyperparameters, int]:
        """Everything together, to the end; on all rows unless others are named."""
        free = {"learn_relevance": learn_relevance and self.learn_relevance}
        setting, max_iter = setting or self.setting, max_iter or self.max_iter
        point, _ = self._maximise("all", setting, point, degree, max_iter, _TIGHT, **free)
        return point, degree

    def _fixed_map(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """Kernel and noise alone, and the degree if it is free."""
        if self.degree is not None:
            return self._finish(start, self.degree)
        point, score = self._maximise(
            "degree", self.setting, start, 1, 20, _LOOSE, learn_relevance=False
        )
        steps = [*self._ladder(Candidate(point, score, 1)), *self._far(self.setting, start)]
        best = max(steps, key=lambda c: c.score)
        return self._finish(best.point, best.degree)

    def _low_degree(self, dimension: int) -> int:
        """A degree to learn a map on, at most the one asked for: 3 if cheap, 2 if possible."""
        limits = {2: self.max_features, 3: min(self.max_features, _LOW_FEATURES)}
        degree = max([1, *(l for l, most in limits.items() if basis_size(dimension, l) <= most)])
        return degree if self.degree is None else max(0, min(degree, self.degree))

    def _diagonal(self, early: Setting, start: Hyperparameters) -> Candidate:
        """Several starts at degrees 1 and 2; the best is taken up at the low degree.

        One factor per input, or one for all if the start is tied.
        """
        low = self._low_degree(start.dimension)
        kept = early.kept_degrees
        found = []
        for number in range(max(1, self.n_starts)):
            factor = (1.0, 0.4, 2.0)[number] if number < 3 else np.exp(self.rng.normal())
            point, score = replace(start, relevance=start.relevance * factor), -np.inf
            for degree in range(min(1, low), min(2, low) + 1):
                point, score = self._maximise("start", kept, point, degree, 25, _EARLY)
            found.append(Candidate(point, score, low))
        point = max(found, key=lambda c: c.score).point
        point = self._start_of_bound("diagonal", early, point, low)
        point, score = self._maximise("diagonal", early, point, low, self.max_iter, _EARLY)
        return Candidate(point, score, low)

    def _start_of_bound(
        self, name: str, early: Setting, point: Hyperparameters, degree: int
    ) -> Hyperparameters:
        """A point from which the bound for all degrees can be raised, if that is asked for."""
        if early.truncated:
            return point
        point, _ = self._maximise(name, early.kept_degrees, point, degree, self.max_iter, _EARLY)
        return best_start(early, point, degree)

    def _far(self, setting: Setting, start: Hyperparameters) -> list[Candidate]:
        """A high degree at once, where that is cheap.

        To low degrees a function that swings fast is all noise, and so is one degree more.
        """
        degree, dimension = 3, start.dimension
        top = _TOP_DEGREE if self.degree is None else self.degree
        limit = _FAR_FEATURES if self.degree is not None else min(_FAR_FEATURES, self.max_features)
        while degree < top and basis_size(dimension, degree + 1) <= limit:
            degree += 1
        if degree == 3 or degree > top:
            return []
        free = {"learn_relevance": self.learn_relevance}
        point, score = start, -np.inf
        for tolerance in (_EARLY, _LOOSE):  # the start is far from the answer: slow at first
            point, score = self._maximise(
                "far", setting, point, degree, self.max_iter, tolerance, **free
            )
        return [Candidate(point, score, degree)]

    def _most_directions(self) -> int:
        """Rows of the linear map that these data can tell."""
        live = int(self.setting.live.sum())
        if live == 1:
            return 0  # the diagonal is all there is
        most = live if live <= _MOST_DIRECTIONS else _FEW_DIRECTIONS
        return min(most, int(self._learning.weight / (_ROWS_PER_NUMBER * live)))

    def _linear_map(self, early: Setting, diagonal: Candidate, rank: int) -> Candidate:
        """A p x D map, from the diagonal one or, for many inputs, from a few directions."""
        live = int(self.setting.live.sum())
        if rank == live or live <= min(_MOST_DIRECTIONS, self._most_directions()):
            relevance = np.diag(diagonal.point.relevance)[self.setting.live]
        else:
            relevance = telling_directions(early, rank)
        kernel = without_lengthscale(diagonal.point.kernel)
        point = replace(diagonal.point, relevance=relevance, kernel=kernel)
        learned = self._learn_map(early, point, diagonal.degree)
        if rank < len(relevance):
            cut = cut_rank(learned.point.relevance, rank)
            learned = self._learn_map(early, replace(point, relevance=cut), diagonal.degree)
        return learned

    def _learn_map(self, early: Setting, point: Hyperparameters, degree: int) -> Candidate:
        """A full map, at the degree that the diagonal one was learned on where that is cheap."""
        low = self._low_degree(point.dimension)
        degree = max(low, degree) if basis_size(point.dimension, degree) <= _FAR_FEATURES else low
        point = self._start_of_bound("map", early, point, degree)
        point, score = self._maximise("map", early, point, degree, self.max_iter, _EARLY)
        return Candidate(point, score, degree)

    # ---- degree and rank

    def _raise_degree(self, candidates: list[Candidate]) -> list[Candidate]:
        """The best degree by evidence, within `max_features`, of every kind and rank.

        The map is held fixed while degrees are compared.
        """
        tried: list[Candidate] = []
        for candidate in candidates:
            tried.extend(self._ladder(candidate))
            if candidate.point.rank is None or not self._may_cut_rank:
                continue
            reached = self._top_degree(candidate.point.dimension)
            for rank in range(candidate.point.rank - 1, 0, -1):
                top = self._top_degree(rank + 1)
                if top == reached or (rank % 2 and rank > 8):
                    continue  # a smaller rank must buy a higher degree
                reached = top
                point = replace(
                    candidate.point,
                    relevance=cut_rank(candidate.point.relevance, rank),
                    kernel=without_lengthscale(candidate.point.kernel),
                )
                low = max(candidate.degree, self._low_degree(point.dimension))
                point, score = self._maximise("rank", self._learning, point, low, 10, _LOOSE)
                if score < candidate.score - _HOPELESS * self._learning.weight:
                    break
                tried.extend(self._ladder(Candidate(point, score, low)))
        ranking: dict[tuple[int | None, bool], Candidate] = {}
        for candidate in sorted(tried, key=lambda c: -c.score):
            ranking.setdefault((candidate.point.rank, candidate.point.tied), candidate)
        return list(ranking.values())

    @property
    def _may_cut_rank(self) -> bool:
        """The pseudo-data of first sites are too vague to tell one rank from the next."""
        return self.rank == "auto" and self.setting.learn_noise

    def _top_degree(self, dimension: int) -> int:
        degree = 1
        while basis_size(dimension, degree + 1) <= self.max_features and degree < _TOP_DEGREE:
            degree += 1
        return degree

    def _ladder(self, candidate: Candidate) -> list[Candidate]:
        """Higher degrees with the same map, while the evidence rises."""
        steps, point = [candidate], candidate.point
        for degree in range(candidate.degree + 1, self._top_degree(point.dimension) + 1):
            point, score = self._maximise(
                "degree", self._learning, point, degree, 20, _LOOSE, learn_relevance=False
            )
            steps.append(Candidate(point, score, degree))
            if score < steps[-2].score + _LEAST_GAIN:
                break
        return steps
