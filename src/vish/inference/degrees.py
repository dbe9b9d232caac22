"""The degree of the harmonics, and the rank of a map: as high as pays.

A map is held fixed while degrees are compared, by the evidence of all rows: that of the rows
learned from, and the density of those held out and of those to come, given them. A map of lower
rank buys a higher degree within the same number of harmonics.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from vish.inference.ascent import Ascent, Stage
from vish.inference.directions import cut_rank
from vish.inference.holdout import Trial, try_on
from vish.inference.objective import Hyperparameters, Objective, Setting

LOOSE = 1e-5  # relative change of the density that ends a stage
_LOW_FEATURES = 300  # a basis this small is cheap to learn on
TOP_DEGREE = 40
LEAST_GAIN = 1.0  # of log evidence, for one more degree
_HOPELESS = 0.05  # of log evidence per row, for one less rank


class Candidate(NamedTuple):
    """Hyperparameters, the score by which they are compared, and their degree."""

    point: Hyperparameters
    score: float
    degree: int


@dataclass(kw_only=True)
class DegreeSearch(Ascent):
    """A search that may choose its degree.

    Parameters
    ----------
    setting, max_iter, report
        See `Ascent`.
    degree : int or None
        Largest degree; None raises it while the evidence pays.
    rank : int, None or "auto"
        Rows of the linear map; None for a diagonal; "auto" chooses.
    max_features : int
        Bound of the basis when the degree is chosen.
    rows_to_come : float
        Weight of the rows that the search does not see: with many of them a larger basis pays.
    """

    degree: int | None
    rank: int | str | None
    max_features: int
    rows_to_come: float = 0.0
    _learning: Setting = field(init=False)  # the rows that are not held out

    def __post_init__(self) -> None:
        super().__post_init__()
        self._learning = self.setting

    def hold(self, start: Hyperparameters) -> tuple[Hyperparameters, int]:
        """Everything as given; only the degree is chosen, if it is free."""

        def at(degree: int) -> Candidate:
            point = replace(start, kernel=start.kernel.start(start.dimension, degree))
            value = Objective(self.setting, point, degree).solve(point)[0].value
            size, per_row = _size(point, degree), value / self.setting.weight
            self.trace.append(Stage("given", degree, point.rank, size, per_row, 1, 0.0))
            return Candidate(point, value, degree)

        if self.degree is not None:
            return at(self.degree).point, self.degree
        best = at(1)
        for degree in range(2, self._top_degree(start) + 1):
            if not has_level(best.point, degree):
                continue
            higher = at(degree)
            if higher.score < best.score + LEAST_GAIN:
                break
            best = higher
        return best.point, best.degree

    def _top_degree(self, point: Hyperparameters) -> int:
        degree = 1
        while degree < TOP_DEGREE and _size(point, degree + 1) <= self.max_features:
            degree += 1
        return degree

    def _low_degree(self, point: Hyperparameters) -> int:
        """A degree to learn a map on, at most the one asked for: 3 if cheap, 2 if possible.

        A kernel without degree 2 takes 3 if possible: degree 1 tells no map.
        """
        cheap = min(self.max_features, _LOW_FEATURES)
        limits = {2: self.max_features, 3: cheap if has_level(point, 2) else self.max_features}
        possible = [
            l for l, most in limits.items() if has_level(point, l) and _size(point, l) <= most
        ]
        degree = max([1, *possible])
        return degree if self.degree is None else max(0, min(degree, self.degree))

    def _raise_degree(self, candidates: list[Candidate]) -> list[Candidate]:
        """The best degree, within `max_features`, of every kind and rank.

        The map is held fixed while degrees are compared.
        """
        raised: list[Candidate] = []
        for candidate in candidates:
            raised.append(self._at_best_degree(candidate))
            if candidate.point.rank is None or candidate.point.tied or not self._may_cut_rank:
                continue
            reached = self._top_degree(candidate.point)
            for rank in range(candidate.point.rank - 1, 0, -1):
                point = replace(
                    candidate.point,
                    relevance=cut_rank(candidate.point.relevance, rank),
                    kernel=candidate.point.kernel.without_lengthscale(),
                )
                top = self._top_degree(point)
                if top == reached or (rank % 2 and rank > 8):
                    continue  # a smaller rank must buy a higher degree
                reached = top
                low = max(candidate.degree, self._low_degree(point))
                point, score = self._maximise("rank", self._learning, point, low, 10, LOOSE)
                if score < candidate.score - _HOPELESS * self._learning.weight:
                    break
                raised.append(self._at_best_degree(Candidate(point, score, low)))
        return raised

    @property
    def _may_cut_rank(self) -> bool:
        """First sites whose noise is not learned are too vague to tell one rank from the next."""
        return self.rank == "auto" and self.setting.learn_noise

    def _at_best_degree(self, candidate: Candidate) -> Candidate:
        """The same map at the highest degree that pays.

        By the evidence of all rows: that of the rows learned from, and the density of those held
        out and to come given them. What the latter add is rough, so that the climb also goes on
        while the rows at hand alone are for it.
        """
        best = last = candidate
        highest, settled = self._evidence(candidate)
        for degree in range(candidate.degree + 1, self._top_degree(candidate.point) + 1):
            if not has_level(last.point, degree):
                continue
            point, score = self._maximise(
                "degree", self._learning, last.point, degree, 20, LOOSE, learn_relevance=False
            )
            last = Candidate(point, score, degree)
            evidence, settled = self._evidence(last, settled)
            gains = evidence > highest + LEAST_GAIN
            if not gains.any():
                break
            if gains[-1]:
                best = last
            highest = np.maximum(highest, evidence)
        return best

    def _try(self, point: Hyperparameters, degree: int) -> Trial:
        return try_on(self._held, self._learning, point, degree)

    def _evidence(self, candidate: Candidate, least: float = -np.inf) -> tuple[np.ndarray, float]:
        """Of the rows at hand, and with those to come; and what one of the latter comes to.  [2]

        That is at least what it came to at a lower degree: more degrees leave no more noise, once
        rows are many.
        """
        trial = self._try(candidate.point, candidate.degree)
        settled = max(least, trial.settled)
        rows_to_come = np.array([0.0, self.rows_to_come])
        return candidate.score + trial.log_densities.sum() + rows_to_come * settled, settled


def _size(point: Hyperparameters, degree: int) -> int:
    return point.kernel.n_harmonics(point.dimension, degree)


def has_level(point: Hyperparameters, degree: int) -> bool:
    """Whether harmonics of this degree have any variance: some kernels leave degrees out."""
    return bool(point.kernel.has_levels(point.dimension, degree)[degree])
