"""What rows that were not learned from say of hyperparameters.

The evidence flatters a linear map of many learned numbers. So the kinds of map are learned on
part of the rows and compared by the density of the others; and where a kind's errors are larger
there than its noise explains, the noise of the model learned from all rows is enlarged.
"""

from typing import NamedTuple

import numpy as np

from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.inference.posterior import Posterior
from vish.inference.sources import ArraySource

_FACTORS = np.logspace(0.0, 1.5, 31)  # of the noise
_LOG_FACTOR_SPREAD = 0.3  # standard deviation of a prior on the log of the factor
_MOST_LOST = 10.0  # of log density, that one row may count for
_TOO_FAR = 2.0  # times the least squared error
_LEAST_NOISE = 0.05  # of the mean squared error: no function is all that certain


class Trial(NamedTuple):
    """Hyperparameters, and how they did at the rows held out."""

    point: Hyperparameters
    degree: int
    log_densities: np.ndarray  # [n], at the noise that suits these rows
    squared_errors: np.ndarray  # [n], of standardised targets
    optimism: np.ndarray | float  # [T], that noise relative to the learned one, >= 1
    least_noise: np.ndarray | float = 0.0  # [T], a small part of the mean squared error

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
        factor = 1 + (self.optimism - 1) * share
        at_most = np.maximum(noise, self.optimism * self.point.noise)
        return np.maximum(np.minimum(factor * noise, at_most), self.least_noise)


def try_on(rows: ArraySource, setting: Setting, point: Hyperparameters, degree: int) -> Trial:
    """The density of rows that the setting does not hold."""
    if not rows.n_rows:
        return Trial(point, degree, np.zeros(0), np.zeros(0), 1.0)
    result, geometry, log_spectrum, _ = Objective(setting, point, degree).evaluate(point)
    tail = float(np.exp(log_spectrum[-1]))
    posterior = Posterior.of(geometry, result, tail)
    moments = posterior.moments(rows.X, n_jobs=setting.n_jobs, noise=point.noise)
    errors = (geometry.standardise(rows.y).T - moments.mean) ** 2
    omega = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    relative = np.ones((rows.n_rows, 1))
    if geometry.noise == "radial":
        relative = geometry.projection.project(rows.X)[1][:, None] ** 2
    noise = point.noise * relative
    variances = moments.variance + _FACTORS[:, None, None] * noise
    densities = -0.5 * omega[:, None] * (np.log(2 * np.pi * variances) + errors / variances)
    prior = -((np.log(_FACTORS) / _LOG_FACTOR_SPREAD) ** 2) / 2
    best = np.argmax(densities.sum(axis=1) + prior[:, None], axis=0)  # of every target
    chosen = densities[best, :, np.arange(len(best))].sum(axis=0)
    least = _LEAST_NOISE * np.average(errors / relative, axis=0, weights=omega)
    log_densities = chosen + omega * geometry.log_slope(rows.y)
    return Trial(point, degree, log_densities, omega * errors.sum(axis=1), _FACTORS[best], least)


def _densities(trials: list[Trial]) -> np.ndarray:
    """Log densities of which one row cannot decide alone.  [k, n]"""
    densities = np.array([trial.log_densities for trial in trials])
    return np.maximum(densities, densities.max(axis=0) - _MOST_LOST)


def sums_of_densities(trials: list[Trial]) -> np.ndarray:
    """What trials are compared by.  [k]"""
    return _densities(trials).sum(axis=1)


def trusted(trials: list[Trial], standard_errors: float = 2.0) -> list[Trial]:
    """Those that are not clearly worse than the best; all, if no rows were held out."""
    if not len(trials[0].log_densities):
        return trials
    trials = _tame(trials)
    densities = _densities(trials)
    lost = densities[densities.sum(axis=1).argmax()] - densities
    return [trials[i] for i in np.flatnonzero(lost.sum(axis=1) <= standard_errors * _error(lost))]


def _tame(trials: list[Trial]) -> list[Trial]:
    """Without those that err too far: the density forgives a few rows that are far off."""
    errors = np.array([trial.squared_errors for trial in trials])
    least = errors[errors.sum(axis=1).argmin()]
    too_far = errors.sum(axis=1) > _TOO_FAR * least.sum()
    clear = (errors - least).sum(axis=1) > _error(errors - least)
    return [trials[i] for i in np.flatnonzero(~(too_far & clear))]


def _error(losses: np.ndarray) -> np.ndarray:
    """Standard error of the sum of each row.  [k, n] -> [k]"""
    return np.sqrt(losses.shape[1]) * losses.std(axis=1)


def choose(trials: list[Trial], numbers: list[int], scores: list[float]) -> int:
    """Which to take: the simplest that is not clearly worse than the best at rows held out.

    Unless others beat it by both judges, those rows and the evidence. Without such rows, the
    evidence decides.

    Parameters
    ----------
    numbers : list of int
        How many numbers of each map were learned.
    scores : list of float
        Log evidence, less what those numbers cost.
    """
    if not len(trials[0].log_densities):
        return int(np.argmax(scores))
    densities = sums_of_densities(trials)
    good = {id(trial) for trial in trusted(trials, standard_errors=1.0)}
    found = [i for i, trial in enumerate(trials) if id(trial) in good]
    simplest = min(found, key=lambda i: (numbers[i], -scores[i]))
    better = [
        i for i in found if scores[i] >= scores[simplest] and densities[i] >= densities[simplest]
    ]
    return max(better, key=lambda i: densities[i])
