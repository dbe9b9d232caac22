"""What rows that were not learned from say of hyperparameters.

The evidence flatters a linear map of many learned numbers. So the kinds of map are learned on
part of the rows and compared by the density of the others; and where a kind's errors are larger
there than its noise explains, the noise of the model learned from all rows is enlarged.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.inference.sources import ArraySource

_STEPS = 41  # of the noise, from what was learned to all of the error
_LEAST_NOISE = 0.5  # of the mean squared error: no function is all that certain
_LOG_NOISE_SPREAD = 0.3  # of a Cauchy prior on the log of the noise, around what was learned
_MOST_LOST = 10.0  # of a loss, that one row may count for
_TRIFLE = 0.01  # of the squared errors
_OFTEN, _SELDOM, _EARLY_ITERATIONS = 2, 5, 20  # iterations between two looks at the rows held out
_FEW_ROWS = 10.0  # standard errors of so few are themselves uncertain
_FLATTERY = 10.0  # of log evidence, for every number of a map
_SURE = 3.0  # standard errors
_PATIENCE = 3  # looks without a gain


class Trial(NamedTuple):
    """Hyperparameters, and how they did at the rows held out."""

    point: Hyperparameters
    degree: int
    log_densities: np.ndarray  # [n], at the noise that suits these rows
    squared_errors: np.ndarray  # [n], in standardised units, weighted
    extra_noise: np.ndarray | float  # [T], that noise beyond the learned one
    settled: float = 0.0  # mean log density of a row once only noise is left, after many more

    def joined(self, other: "Trial") -> "Trial":
        """This one, with the rows of another held out too."""
        log_densities = np.concatenate([self.log_densities, other.log_densities])
        squared_errors = np.concatenate([self.squared_errors, other.squared_errors])
        return self._replace(log_densities=log_densities, squared_errors=squared_errors)

    def corrected(self, noise: np.ndarray, share: float) -> np.ndarray:
        """The noise of a model that was learned from all rows.  [T]

        What a map owes to the rows it is learned from falls with their number: `share` is
        the part of them that was learned from here.
        """
        at_most = np.maximum(noise, self.point.noise + self.extra_noise)
        return np.minimum(noise + share * self.extra_noise, at_most)


def try_on(rows: ArraySource, setting: Setting, point: Hyperparameters, degree: int) -> Trial:
    """The density of rows that the setting does not hold."""
    if not rows.n_rows:
        return Trial(point, degree, np.zeros(0), np.zeros(0), 0.0)
    solution, _ = Objective(setting, point, degree).solve(point)
    geometry, moments = solution.geometry, solution.moments(rows.X)
    errors = (geometry.standardise(rows.y).T - moments.mean) ** 2
    omega = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    relative = np.ones((rows.n_rows, 1))
    if geometry.noise == "radial":
        relative = geometry.projection.project(rows.X)[1][:, None] ** 2
    mean_error = np.average(errors / relative, axis=0, weights=omega)
    least = np.maximum(point.noise, _LEAST_NOISE * mean_error)
    noises = np.geomspace(least, np.maximum(least, mean_error), _STEPS)  # [steps, T]
    variances = moments.variance + noises[:, None] * relative
    densities = -0.5 * (np.log(2 * np.pi * variances) + errors / variances)
    prior = -np.log1p((np.log(noises / least) / _LOG_NOISE_SPREAD) ** 2)
    counted = _without_worst(omega, errors / (moments.variance + point.noise * relative))
    best = np.argmax(np.sum(counted * densities, axis=1) + prior, axis=0)  # of every target
    targets = np.arange(len(best))
    chosen = omega * (densities[best, :, targets].sum(axis=0) + geometry.log_slope(rows.y))
    extra = noises[best, targets] - point.noise
    only_noise = -0.5 * (np.log(2 * np.pi * point.noise * relative) + 1).sum(axis=1)
    settled = np.average(only_noise + geometry.log_slope(rows.y), weights=omega)
    if point.warp is not None:  # errors of warped targets are no measure: every warp has its own
        errors = np.zeros_like(errors)
    return Trial(point, degree, chosen, omega * errors.sum(axis=1), extra, float(settled))


def _without_worst(omega: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Weights of the rows, less one row, the worst: none decides alone.  [n], [n, T] -> [n, T]"""
    weights, targets = np.tile(omega[:, None], losses.shape[1]), np.arange(losses.shape[1])
    worst = losses.argmax(axis=0)
    weights[worst, targets] -= np.minimum(weights[worst, targets], 1.0)
    return np.where(weights.sum(axis=0) > 0, weights, omega[:, None])


def trusted(trials: list[Trial], standard_errors: float = 2.0) -> list[int]:
    """The places of those that are not clearly worse than the best.

    First by their squared errors, then by their densities: a density forgives large errors
    that were announced, but nobody wants them. All, if no rows were held out.
    """
    if not len(trials[0].log_densities):
        return list(range(len(trials)))
    squares = np.array([trial.squared_errors for trial in trials])
    trifle = _TRIFLE * squares.sum(axis=1).min()
    places = _not_clearly_worse(range(len(trials)), squares, max(2.0, standard_errors), trifle)
    losses = -np.array([trial.log_densities for trial in trials])
    return _not_clearly_worse(places, losses, standard_errors, trifle=1.0)


def _not_clearly_worse(
    places: Iterable[int], losses: np.ndarray, limit: float, trifle: float
) -> list[int]:
    """Those places whose losses [trials, n] exceed the least by no more than can be chance.

    That is so many standard errors; nor does a trifle count, however sure.
    """
    places = list(places)
    least = min(places, key=lambda i: losses[i].sum())

    def clearly_worse(place: int) -> bool:
        lost = np.clip(losses[place] - losses[least], -_MOST_LOST, _MOST_LOST)
        return bool(lost.sum() > max(limit * np.sqrt(len(lost)) * lost.std(), trifle))

    return [i for i in places if not clearly_worse(i)]


def choose(
    trials: list[Trial], numbers: list[int], scores: list[float], rows_to_come: float = 0.0
) -> int:
    """Which to take of those that are not clearly worse than the best at rows held out.

    The one with the best evidence of all rows: those learned from, those held out, and those to
    come. Every number of its map that could learn few rows by heart is made to pay well: it is
    flattered by them. Without rows held out, the evidence decides alone.

    Parameters
    ----------
    numbers : list of int
        How many numbers of each map were learned from too few rows.
    scores : list of float
        Log evidence, less what those numbers cost.
    rows_to_come : float
        Weight of the rows that the search does not see.
    """
    if not (n := len(trials[0].log_densities)):
        return int(np.argmax(scores))

    def evidence(place: int) -> float:
        trial = trials[place]
        more = trial.log_densities.sum() + rows_to_come * trial.settled
        return float(scores[place] + more - _FLATTERY * numbers[place])

    return max(trusted(trials, 1 + _FEW_ROWS / np.sqrt(n)), key=evidence)


class Watch:
    """A callback that ends a search when rows held out say that it only learns by heart.

    Parameters
    ----------
    trial_at : callable
        The trial of a vector of hyperparameters.
    start : array
        The vector that the search starts from.
    """

    def __init__(self, trial_at: Callable[[np.ndarray], Trial], start: np.ndarray) -> None:
        self._trial_at = trial_at
        self._seen = [(start.copy(), trial_at(start))]
        self._best = self._seen[0]
        self._iterations = 0

    def __call__(self, vector: np.ndarray) -> None:
        """After every iteration."""
        self._iterations += 1
        if self._iterations % (_OFTEN if self._iterations <= _EARLY_ITERATIONS else _SELDOM):
            return
        self._seen.append((vector, self._trial_at(vector)))
        places = range(len(self._seen))
        best = max(places, key=lambda i: self._seen[i][1].log_densities.sum())
        self._best = self._seen[best]
        if len(self._seen) - best > _PATIENCE and self._clearly_worse(self._seen[-1][1]):
            raise StopIteration

    def _clearly_worse(self, trial: Trial) -> bool:
        return trusted([trial, self._best[1]], _SURE) == [1]

    def best_or(self, vector: np.ndarray) -> np.ndarray:
        """The vector, unless one seen before was clearly better."""
        return self._best[0] if self._clearly_worse(self._trial_at(vector)) else vector
