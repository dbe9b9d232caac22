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
_LEAST_NOISE = 0.05  # of the mean squared error: no function is all that certain


class Trial(NamedTuple):
    """Hyperparameters, and how they did at the rows held out."""

    point: Hyperparameters
    degree: int
    log_densities: np.ndarray  # [n], at the noise that suits these rows
    optimism: np.ndarray | float  # [T], that noise relative to the learned one, >= 1
    least_noise: np.ndarray | float = 0.0  # [T], a small part of the mean squared error

    def joined(self, other: "Trial") -> "Trial":
        """This one, with the rows of another held out too."""
        log_densities = np.concatenate([self.log_densities, other.log_densities])
        return self._replace(log_densities=log_densities)

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
        return Trial(point, degree, np.zeros(0), 1.0)
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
    return Trial(point, degree, chosen + omega * geometry.log_slope(rows.y), _FACTORS[best], least)


def trusted(trials: list[Trial], standard_errors: float = 2.0) -> list[Trial]:
    """Those that are not clearly worse than the best; all, if no rows were held out."""
    if not len(trials[0].log_densities):
        return trials
    best = max(trials, key=lambda trial: trial.log_densities.sum())

    def clearly_worse(trial: Trial) -> bool:
        lost = np.clip(best.log_densities - trial.log_densities, -_MOST_LOST, _MOST_LOST)
        return lost.sum() > standard_errors * np.sqrt(len(lost)) * lost.std()

    return [trial for trial in trials if trial is best or not clearly_worse(trial)]


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
    densities = [trial.log_densities.sum() for trial in trials]
    good = {id(trial) for trial in trusted(trials, standard_errors=1.0)}
    found = [i for i, trial in enumerate(trials) if id(trial) in good]
    simplest = min(found, key=lambda i: (numbers[i], -scores[i]))
    better = [
        i for i in found if scores[i] >= scores[simplest] and densities[i] >= densities[simplest]
    ]
    return max(better, key=lambda i: densities[i])
