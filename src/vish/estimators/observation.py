"""Predictions of a Gaussian model in the units of the target.

The model speaks of standardised, perhaps warped, targets z; an observation is
y = shift + scale * warp^{-1}(z).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr, ndtri

from vish.inference.gaussian import GaussianModel
from vish.likelihoods import Gaussian

_NODES, _WEIGHTS = hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, eq=False)
class Observation:
    """What a model says of y."""

    model: GaussianModel

    @property
    def _geometry(self):
        return self.model.geometry

    def likelihood(self, given):
        """The likelihood with learned parameters."""
        given = Gaussian() if given is None else given
        noise = self.model.noise
        variance = float(noise[0]) if len(noise) == 1 else tuple(noise.tolist())
        learned = replace(given, noise=self._geometry.noise, variance=variance)
        return learned if given.warp is None else replace(learned, warp=self._geometry.warp)

    def to_y(self, z):
        """Observations from standardised, warped ones, by target.  [..., T] -> [..., T]"""
        geometry = self._geometry
        y = z if geometry.warp is None else geometry.warp.inverse(z)
        return geometry.target_shift + geometry.target_scale * y

    def mean_and_std(self, X, with_std, n_jobs):
        """Of a new observation.  [n, D] -> [n, T] twice"""
        geometry = self._geometry
        if geometry.warp is None:
            if not with_std:
                return self.to_y(self.model.latent(X, False, n_jobs).mean), None
            mean, variance = self.model.observed(X, n_jobs)
            return self.to_y(mean), geometry.target_scale * np.sqrt(variance)
        mean, variance = self.model.observed(X, n_jobs)
        spread = np.sqrt(variance)
        first, second = np.zeros_like(mean), np.zeros_like(mean)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            y = geometry.warp.inverse(mean + spread * node)
            first += weight * y
            second += weight * y**2
        std = np.sqrt(np.maximum(second - first**2, 0.0))
        return geometry.target_shift + geometry.target_scale * first, geometry.target_scale * std

    def quantiles(self, X, levels, n_jobs):
        """[n, D], [Q] -> [n, T, Q]; a monotone map takes quantiles to quantiles."""
        mean, variance = self.model.observed(X, n_jobs)
        spread = np.sqrt(variance)
        return np.stack([self.to_y(mean + spread * q) for q in ndtri(levels)], axis=-1)

    def probabilities_below(self, X, y, n_jobs):
        """P(Y <= y) and P(Y < y), which are the same.  [n, D], [n, T] -> [n, T] twice"""
        mean, variance = self.model.observed(X, n_jobs)
        below = ndtr((self._geometry.standardise(y).T - mean) / np.sqrt(variance))
        return below, below

    def log_density(self, X, y, n_jobs):
        """[n, D], [n, T] -> [n]"""
        geometry = self._geometry
        mean, variance = self.model.observed(X, n_jobs)
        z = geometry.standardise(y).T
        density = -((z - mean) ** 2 / variance + np.log(2 * np.pi * variance)) / 2
        return density.sum(axis=1) + geometry.log_slope(y) - np.log(geometry.target_scale).sum()

    # ---- the noise-free function: in units of y, or of the warped target

    def _latent_units(self):
        geometry = self._geometry
        if geometry.warp is None:
            return geometry.target_shift, geometry.target_scale
        return np.zeros(geometry.n_targets), np.ones(geometry.n_targets)

    def latent(self, X, with_std, n_jobs):
        shift, scale = self._latent_units()
        mean, variance = self.model.latent(X, with_std, n_jobs)
        return shift + scale * mean, scale * np.sqrt(variance) if with_std else None

    def latent_covariance(self, X):
        """[n, D] -> [T, n, n]; what neighbours leave open is taken as independent."""
        _, scale = self._latent_units()
        covariance = self.model.posterior.covariance(X)
        if self.model.local is not None:
            rows = np.arange(len(X))
            covariance[:, rows, rows] += self.model.detail(X).variance.T
        return covariance * scale[:, None, None] ** 2

    def latent_gradients(self, X):
        """[n, D] -> [n, T, D] twice"""
        _, scale = self._latent_units()
        mean, variance = self.model.posterior.gradients(X)
        return mean * scale[:, None], variance * scale[:, None] ** 2

    def functions(self, n, rng):
        """Draws of f as callables [m, D] -> [m, T]."""
        shift, scale = self._latent_units()
        model = self.model

        def function(weights):
            return lambda X: shift + scale * (model.posterior.combine(X, weights) + model.shift)

        return [function(weights) for weights in model.posterior.draw_weights(n, rng)]

    def draw(self, X, n, rng):
        """Joint draws of observations.  [m, D] -> [m, T, n]"""
        model = self.model
        if model.local is None:
            noise = np.sqrt(model.noise_variance_at(X) + model.tail_variance_at(X))
            shift = model.shift
        else:
            detail = model.detail(X)
            noise = np.sqrt(detail.variance + detail.noise + model.tail_variance_at(X))
            shift = model.shift + detail.mean
        draws = [
            self.to_y(
                model.posterior.combine(X, weights)
                + shift
                + noise * rng.standard_normal(noise.shape)
            )
            for weights in model.posterior.draw_weights(n, rng)
        ]
        return np.stack(draws, axis=-1)
