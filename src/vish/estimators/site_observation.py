"""Predictions of a model with sites, in the units of the observations."""

from dataclasses import dataclass

import numpy as np

from vish.inference.posterior import Moments
from vish.inference.sites import SiteModel
from vish.likelihoods import Bernoulli, NegativeBinomial, Ordinal, Poisson
from vish.sphere.threads import map_in_order, row_chunks

_DISCRETE = (Poisson, NegativeBinomial, Bernoulli, Ordinal)


@dataclass(frozen=True, eq=False)
class SiteObservation:
    """What a model says of y: the likelihood, with the latent functions integrated."""

    model: SiteModel

    def likelihood(self, given):
        """The likelihood with learned parameters."""
        return self.model.likelihood

    def by_chunk(self, function, X, n_jobs, *arrays):
        """function(mean, variance, *parts) for chunks of rows, put together.

        Latent moments are made and used chunk by chunk: quadrature over all rows at once
        would need memory for every node.
        """
        self.model.posterior.prepare()
        results: list = []

        def of_chunk(rows):
            moments = self.model.latent(X[rows], n_jobs=1)
            return function(moments.mean, moments.variance, *(a[rows] for a in arrays))

        results = list(map_in_order(of_chunk, row_chunks(len(X)), n_jobs))
        if isinstance(results[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))
        return np.concatenate(results)

    def mean_and_std(self, X, with_std, n_jobs):
        mean, variance = self.by_chunk(self.model.likelihood.moments, X, n_jobs)
        scale = self.model.y_scale
        mean = self.model.y_shift + scale * mean[:, None]
        return mean, scale * np.sqrt(variance)[:, None] if with_std else None

    def quantiles(self, X, levels, n_jobs):
        def of(mean, variance):
            return self.model.likelihood.quantiles(mean, variance, levels)

        return self.model.y_shift + self.model.y_scale * self.by_chunk(of, X, n_jobs)[:, None, :]

    def probabilities_below(self, X, y, n_jobs):
        """P(Y <= y) and P(Y < y).  [n, D], [n, 1] -> [n, 1] twice"""

        def cdf(mean, variance, y):
            return self.model.likelihood.cdf(y, mean, variance)

        y = self.model.standardised(y[:, 0])
        below = self.by_chunk(cdf, X, n_jobs, y)[:, None]
        if not isinstance(self.model.likelihood, _DISCRETE):
            return below, below
        return below, self.by_chunk(cdf, X, n_jobs, np.ceil(y) - 1)[:, None]

    def log_density(self, X, y, n_jobs):
        def of(mean, variance, y):
            return self.model.likelihood.log_predictive(y, mean, variance)

        y = self.model.standardised(y[:, 0])
        self.model.likelihood.check(y)
        return self.by_chunk(of, X, n_jobs, y) - np.log(self.model.y_scale)

    # ---- the latent functions, in the units of the likelihood

    def latent(self, X, with_std, n_jobs):
        moments: Moments = self.model.latent(X, with_std, n_jobs)
        return moments.mean, np.sqrt(moments.variance) if with_std else None

    def latent_covariance(self, X):
        return self.model.posterior.covariance(X)

    def latent_gradients(self, X):
        return tuple(self.model.posterior.gradients(X))

    def functions(self, n, rng):
        model = self.model

        def function(weights):
            return lambda X: model.posterior.combine(X, weights) + model.shift

        return [function(weights) for weights in model.posterior.draw_weights(n, rng)]

    def draw(self, X, n, rng):
        """Joint draws of observations.  [m, D] -> [m, 1, n]"""
        tail = self.model.prior.tail
        _, radii = self.model.geometry.projection.project(X)
        f = np.stack([function(X) for function in self.functions(n, rng)], axis=1)  # [m, n, K]
        f = f + np.sqrt(tail) * radii[:, None, None] * rng.standard_normal(f.shape)
        f = f.reshape(len(X) * n, -1)
        level = rng.uniform(size=len(f))
        y = np.concatenate(
            [
                self.model.likelihood.quantiles(f[rows], np.zeros_like(f[rows]), level[rows][None])
                for rows in row_chunks(len(f))
            ]
        )
        return self.model.y_shift + self.model.y_scale * y.reshape(len(X), 1, n)
