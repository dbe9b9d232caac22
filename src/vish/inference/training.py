"""Learning the hyperparameters from a subset of the rows.

Every stage starts near the answer of the one before: the diagonal relevance from several
starts at low degree, then the full linear map, then the degree (and the rank of the map)
raised as far as the evidence pays, then everything together. With few rows for the inputs
there is another kind of map, one factor for all. Degrees are compared by the evidence; kinds of
map and ranks, which the evidence flatters, by rows held out too, which also end the learning of a
map where it only learns the others by heart. In the end kernel and noise are learned from all
rows, and the map where that does good.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from vish.inference.ascent import TIGHT
from vish.inference.bound_start import best_start
from vish.inference.degrees import (
    LEAST_GAIN,
    LOOSE,
    TOP_DEGREE,
    Candidate,
    DegreeSearch,
    has_level,
)
from vish.inference.directions import (
    bending_directions,
    cut_rank,
    principal_directions,
    varying_directions,
)
from vish.inference.holdout import Trial, choose, trusted, try_on
from vish.inference.objective import Hyperparameters, Setting

_EARLY_ROWS = 4096  # the first stages do not need more
_LEAST_ROWS = 8  # with fewer, none are held out
_FEW_ROWS, _STARTS_OF_FEW = 2048, 2  # up to so many rows, so many times the starts
_HELD_ROWS = 3000  # at most
_FOLDS = 4
_MANY_HELD = 0.2  # of the rows: with fewer, the map need not be learned again from all
_FAR_FEATURES = 200  # up to here a high degree is tried from the start
_FAR_FACTORS = 1.0, 2.0  # of the relevances it starts from
_MOST_DIRECTIONS = 20  # rows of a linear map that is learned whole
_FEW_DIRECTIONS = 8  # rows of one that is not, when nobody says how many
_PRINCIPAL_DIRECTIONS = (8, 16)  # rows of maps that are not learned but for their size
_ROWS_PER_NUMBER = 2.0  # of data, for every number of the map: with fewer, it is hopeless
_ROWS_PER_INPUT = 30  # with fewer, one factor for all inputs may be better than one for each
_TINY = 10  # times smaller than the noise that rows held out call for: learned by heart
_FEW_ITERATIONS = 10  # where more did no good at the rows held out
_EARLY = 1e-4  # relative change of the density that ends a stage


@dataclass(kw_only=True)
class Training(DegreeSearch):
    """A search in progress: what it may do, what it has found.

    Parameters
    ----------
    setting, max_iter, report, degree, rank, max_features, rows_to_come
        See `DegreeSearch`.
    n_starts : int
    learn_relevance : bool
        Whether the map is learned, or as given.
    """

    n_starts: int
    rng: np.random.Generator
    learn_relevance: bool = True
    trial: Trial | None = None  # of the answer, at the rows held out
    interrupted: bool = False

    # ---- the whole search

    def run(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """The best hyperparameters and degree found."""
        try:
            return self._search(start)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.interrupted = True
            point, degree = self.best
            return point, degree if self.degree is None else self.degree

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
        numbers = [
            self._numbers(c.point) if self._at_risk(c.point, self._learning) else 0
            for c in candidates
        ]
        scores = [c.score for c in candidates]
        chosen = choose(trials, numbers, scores, self.rows_to_come)
        degree, before = candidates[chosen].degree, trials[chosen]
        if not self._held.n_rows:
            return self._finish(before.point, degree)
        point, _ = self._finish(before.point, degree, self._learning)
        after = self._try(point, degree)
        gained = 1 in trusted([before, after])
        self.trial = after if gained else before
        tiny = self.trial.point.noise * _TINY < self.trial.extra_noise
        by_heart = self._learned_by_heart or np.any(tiny)
        many_held = self._held.n_rows > _MANY_HELD * self.setting.source.n_rows
        learn_map = gained and many_held and not by_heart
        max_iter = self.max_iter if gained else _FEW_ITERATIONS
        return self._finish(self.trial.point, degree, None, max_iter, learn_map)

    def _set_rows_aside(self, fold: int = 0) -> None:
        """Hold out some rows, unless they are too few, or sites: those are vague at first."""
        n = self.setting.source.n_rows
        n_held = min(_HELD_ROWS, n // 4) if n >= _LEAST_ROWS and self.setting.learn_noise else 0
        setting = self.setting.rolled(fold * n_held) if fold else self.setting
        self._learning = setting.only_rows(n - n_held)
        self._held = setting.rows(n - n_held, n)

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
        # A higher degree may yet help any of them.
        places = trusted(trials) if self.degree is not None else range(len(kinds))
        return list(dict.fromkeys(kinds[i] for i in places))

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
        """Every kind of map that may be taken, learned on the degrees kept."""
        kept = early.kept_degrees
        diagonal = self._diagonal(kept, start)
        for far in self._far(kept, start):
            diagonal = far if far.score > diagonal.score + LEAST_GAIN else diagonal
        if isinstance(self.rank, int):
            return [self._for_all_degrees(early, self._linear_map(kept, diagonal, self.rank))]
        kinds = [diagonal]
        if self.rank == "auto":
            if self._rows_to_learn_from < _ROWS_PER_INPUT * self.setting.live.sum():
                tied = [start, *self._principal(kept, start)]
                kinds += [self._diagonal(kept, replace(point, tied=True)) for point in tied]
            if rank := self._most_directions():
                linear = self._linear_map(kept, diagonal, rank)
                kinds.append(linear if _mixes(linear.point.relevance) else diagonal)
        learned = {kind: self._for_all_degrees(early, kind) for kind in dict.fromkeys(kinds)}
        return [learned[kind] for kind in kinds]

    def _principal(self, early: Setting, start: Hyperparameters) -> list[Hyperparameters]:
        """Maps onto the leading principal directions of the inputs."""
        ranks = [rank for rank in _PRINCIPAL_DIRECTIONS if rank < self.setting.live.sum()]
        return [replace(start, relevance=principal_directions(early, rank)) for rank in ranks]

    def _for_all_degrees(self, early: Setting, kind: Candidate) -> Candidate:
        """The same kind of map by the bound for all degrees, if that is asked for."""
        if early.truncated:
            return kind
        point, score = self._maximise(
            "bound", early, best_start(early, kind.point, kind.degree), kind.degree,
            self.max_iter, _EARLY,
        )  # fmt: skip
        return Candidate(point, score, kind.degree)

    def _on_more_rows(self, kind: Candidate) -> Candidate:
        """The same kind of map, learned from all rows that are not held out."""
        point, score = self._maximise(
            "rows", self._learning, kind.point, kind.degree, self.max_iter, LOOSE, judged=True
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
        setting, max_iter = setting or self.setting, max_iter or self.max_iter
        point, _ = self._maximise(
            "all", setting, point, degree, max_iter, TIGHT,
            judged=setting is self._learning,
            learn_relevance=learn_relevance and self.learn_relevance,
        )  # fmt: skip
        return point, degree

    def _fixed_map(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """Kernel and noise alone, and the degree if it is free."""
        if self.degree is not None:
            return self._finish(start, self.degree)
        point, score = self._maximise(
            "degree", self.setting, start, 1, 20, LOOSE, learn_relevance=False
        )
        found = [self._at_best_degree(Candidate(point, score, 1)), *self._far(self.setting, start)]
        best = max(found, key=lambda c: c.score)
        return self._finish(best.point, best.degree)

    def _diagonal(self, early: Setting, start: Hyperparameters) -> Candidate:
        """The best of several starts by the evidence, at the low degree.

        One factor per input, or one for all if the start is tied. The first start climbs from
        degree 1; others begin at the next, at relevances of their own, for what is best for
        degree 1 may lead astray. Where rows are few there are more of them; where they are many,
        what is best for the early rows need not be so for all, and a few steps on all decide.
        """
        low, few = self._low_degree(start), early.source.n_rows <= _FEW_ROWS
        climb = [l for l in range(1, low) if has_level(start, l)] + [low]
        found = []
        for number in range(max(1, self.n_starts) * (_STARTS_OF_FEW if few else 1)):
            relevance = start.relevance * self._spread(start) if number else start.relevance
            point, score = replace(start, relevance=relevance), -np.inf
            for degree in climb[1:] if number and len(climb) > 1 else climb:
                point, score = self._maximise("start", early, point, degree, 25, _EARLY)
            if self._learning.source.n_rows > early.source.n_rows:
                rows = self._learning.kept_degrees
                point, score = self._maximise("start", rows, point, low, _FEW_ITERATIONS, _EARLY)
            found.append(Candidate(point, score, low))
        point = max(found, key=lambda c: c.score).point
        point, score = self._maximise("diagonal", early, point, low, self.max_iter, _EARLY)
        return Candidate(point, score, low)

    def _spread(self, start: Hyperparameters) -> np.ndarray:
        """Factors of the relevances for one more start."""
        return np.exp(self.rng.normal(size=1 if start.tied else len(self.setting.live)))

    def _far(self, setting: Setting, start: Hyperparameters) -> list[Candidate]:
        """A high degree at once, where that is cheap.

        To low degrees a function that swings fast is all noise, and so is one degree more.
        """
        degree, n_harmonics = 3, partial(start.kernel.n_harmonics, start.dimension)
        top = TOP_DEGREE if self.degree is None else self.degree
        limit = _FAR_FEATURES if self.degree is not None else min(_FAR_FEATURES, self.max_features)
        while degree < top and n_harmonics(degree + 1) <= limit:
            degree += 1
        while degree > 3 and not has_level(start, degree):
            degree -= 1
        if degree == 3 or degree > top:
            return []
        free = {"learn_relevance": self.learn_relevance}
        found = []
        for factor in _FAR_FACTORS if self.learn_relevance else (1.0,):
            point, score = replace(start, relevance=factor * start.relevance), -np.inf
            for tolerance in (_EARLY, LOOSE):  # the start is far from the answer: slow at first
                point, score = self._maximise(
                    "far", setting, point, degree, self.max_iter, tolerance, **free
                )
            found.append(Candidate(point, score, degree))
        return found

    def _most_directions(self) -> int:
        """Rows of the linear map that these data can tell."""
        live = int(self.setting.live.sum())
        if live == 1:
            return 0  # the diagonal is all there is
        most = live if live <= _MOST_DIRECTIONS else _FEW_DIRECTIONS
        return min(most, int(self._rows_to_learn_from / (_ROWS_PER_NUMBER * live)))

    @property
    def _rows_to_learn_from(self) -> float:
        """Their weight, the same for every fold."""
        share = self._learning.source.n_rows / self.setting.source.n_rows
        return self.setting.weight * share

    def _linear_map(self, early: Setting, diagonal: Candidate, rank: int) -> Candidate:
        """A p x D map, from the diagonal one or, for many inputs, from a few directions."""
        live = int(self.setting.live.sum())
        if rank == live or live <= min(_MOST_DIRECTIONS, self._most_directions()):
            starts = [np.diag(diagonal.point.relevance)[self.setting.live]]
        else:
            starts = [bending_directions(early, rank), varying_directions(early, rank)]
        learned = [self._learn_map(early, diagonal, start) for start in starts]
        trials = [try_on(self._held, early, c.point, c.degree) for c in learned]
        best = choose(trials, [0] * len(learned), [c.score for c in learned])
        if rank < len(starts[best]):
            cut = cut_rank(learned[best].point.relevance, rank)
            return self._learn_map(early, diagonal, cut)
        return learned[best]

    def _learn_map(self, early: Setting, diagonal: Candidate, start: np.ndarray) -> Candidate:
        """A full map, at the degree that the diagonal one was learned on where that is cheap."""
        kernel = diagonal.point.kernel.without_lengthscale()
        point = replace(diagonal.point, relevance=start, kernel=kernel)
        low, degree = self._low_degree(point), diagonal.degree
        cheap = point.kernel.n_harmonics(point.dimension, degree) <= _FAR_FEATURES
        degree = max(low, degree) if cheap else low
        point, score = self._maximise(
            "map", early, point, degree, self.max_iter, _EARLY, judged=True
        )
        return Candidate(point, score, degree)


def _mixes(relevance: np.ndarray) -> bool:
    """Whether a linear map is more than the diagonal one it started from."""
    return bool(np.count_nonzero(relevance, axis=1).max() > 1)
