"""Predictions averaged over rows while some inputs move, and how sure that average is."""

import numpy as np
from scipy.special import ndtri, softmax

from vish.likelihoods import Gaussian
from vish.plots import asking

_DRAWS = 60


class AverageEffect:
    """The average over rows of the noise-free prediction, as a function of some inputs.

    With Gaussian noise the average is linear in the posterior's weights: its mean and
    variance are exact. Otherwise functions are drawn and each is averaged in the units of
    the target: the mean of an observation (a warped target: its median), or a probability.
    """

    def __init__(self, estimator, values, target, n_rows):
        if not hasattr(estimator, "description_"):
            raise TypeError(
                f"{type(estimator).__name__} cannot say how sure an average is: give a "
                "VISHRegressor or VISHClassifier, or use "
                "sklearn.inspection.PartialDependenceDisplay"
            )
        self.estimator = estimator
        self.rows = values[asking.thinned(len(values), n_rows)]
        self.classes = getattr(estimator, "classes_", None)
        self.target, self.name = self._what(target)

    def _what(self, target):
        """Which output is averaged, and its name."""
        if self.classes is None:
            return target or 0, "y" if self._warp is None else "median of y"
        last = len(self.classes) - 1
        chosen = last if target is None else target
        if not 0 <= chosen <= last:
            raise ValueError(f"target is {target}: give the number of a class, 0 to {last}")
        return chosen, f"probability of {self.classes[chosen]}"

    def moments(self, columns, grid):
        """Mean and standard deviation at every place of the grid.  [g, k] -> [g] twice"""
        if self._linear:
            return self._exact(columns, grid)
        drawn = self._drawn(columns, grid)
        return drawn.mean(axis=0), drawn.std(axis=0)

    def band(self, columns, grid, level):
        """Centre, lower and upper end of the band at every place.  [g, k] -> [g] each"""
        if self._linear:
            mean, std = self._exact(columns, grid)
            reach = ndtri((1 + level) / 2)
            return mean, mean - reach * std, mean + reach * std
        drawn = self._drawn(columns, grid)
        return tuple(np.quantile(drawn, [0.5, (1 - level) / 2, (1 + level) / 2], axis=0))

    @property
    def _linear(self):
        return type(self.estimator.likelihood_) is Gaussian

    @property
    def _warp(self):
        return getattr(self.estimator.likelihood_, "warp", None)

    def _moved(self, columns, place):
        rows = self.rows.copy()
        rows[:, columns] = place
        return rows

    def _exact(self, columns, grid):
        observation, n_jobs = self.estimator.description_.observation, self.estimator.n_jobs
        mean, variance = np.empty(len(grid)), np.empty(len(grid))
        for i, place in enumerate(grid):
            rows = self._moved(columns, place)
            mean[i] = observation.latent(rows, False, n_jobs)[0][:, self.target].mean()
            # The variance of a mean is the mean of the covariances.
            variance[i] = observation.latent_covariance(rows)[self.target].mean()
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def _drawn(self, columns, grid):
        """[draws, g]"""
        rows = np.concatenate([self._moved(columns, place) for place in grid])
        observation = self.estimator.description_.observation
        functions = observation.functions(_DRAWS, np.random.default_rng(0))
        return np.array(
            [self._response(f(rows)).reshape(len(grid), -1).mean(axis=1) for f in functions]
        )

    def _response(self, f):
        """Latent values in the units of the target.  [n, K] -> [n]"""
        description, likelihood = self.estimator.description_, self.estimator.likelihood_
        if self._warp is not None:
            return description.observation.to_y(f)[:, self.target]
        certain = np.zeros_like(f)
        if self.classes is not None:
            several = likelihood.n_latents > 1
            stated = softmax(f, axis=1) if several else likelihood.probabilities(f, certain)
            return stated[:, self.target]
        if likelihood.n_latents > 1:
            centre = likelihood.moments(f, certain)[0]
        else:
            centre = likelihood.conditional_mean(f[:, 0])
        return description.y_shift + description.y_scale * centre
