"""The Gaussian model: statistics and hyperparameters, and what follows from them.

Nothing here needs rows: they are added and taken away, and the posterior is solved, from the
statistics alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vish.inference.evidence import Evidence, evidence
from vish.inference.posterior import Moments, Posterior
from vish.inference.prior import Prior
from vish.inference.statistics import NormalEquations, Statistics
from vish.sphere.threads import map_in_order, row_chunks

_LEAST_ROWS = 3  # any two are on a line


def tells_of_noise(n_rows: int) -> bool:
    """Whether rows say anything about noise and kernel; else those stay as the prior has them."""
    return n_rows >= _LEAST_ROWS


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """A fitted conjugate model. Immutable: updates give new models."""

    statistics: Statistics
    kernel: Any
    noise: np.ndarray  # [T], in units of the standardised (and warped) targets
    truncated: bool

    @property
    def geometry(self):
        return self.statistics.geometry

    @cached_property
    def prior(self) -> Prior:
        return Prior.of(self.kernel, self.geometry, self.truncated)

    @cached_property
    def equations(self) -> NormalEquations:
        return self.statistics.normal_equations.centred()

    @property
    def shift(self) -> np.ndarray:
        """Constant part of the functions.  [T]"""
        return self.equations.mean

    @cached_property
    def _evidence(self) -> Evidence:
        return evidence(self.equations, self.prior.log_spectrum, self.noise)

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the rows (with a tail: its bound), in units of y."""
        scale = np.log(self.geometry.target_scale).sum()
        return self._evidence.value - self.statistics.weight * float(scale)

    @cached_property
    def posterior(self) -> Posterior:
        return Posterior.of(self.geometry, self._evidence, self.prior.tail)

    def with_statistics(self, statistics: Statistics) -> "GaussianModel":
        return replace(self, statistics=statistics)

    # ---- predictions, in units of the standardised (and warped) targets

    def latent(
        self,
        X: np.ndarray,
        with_variance: bool = True,
        n_jobs: int | None = None,
        noise: np.ndarray | None = None,
    ) -> Moments:
        """Mean and variance of the noise-free function.  [n, D] -> [n, T] twice"""
        moments = self.posterior.moments(X, with_variance, n_jobs, noise)
        return Moments(moments.mean + self.shift, moments.variance)

    def _radii(self, X: np.ndarray, n_jobs: int | None) -> np.ndarray:
        radii = np.empty(len(X))

        def fill(rows: slice) -> None:
            radii[rows] = self.geometry.projection.project_chunk(X[rows])[1]

        for _ in map_in_order(fill, row_chunks(len(X)), n_jobs):
            pass
        return radii

    def noise_variance_at(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Variance of the noise at the rows.  [n, D] -> [n, T]"""
        if self.geometry.noise == "constant":
            return np.broadcast_to(self.noise, (len(X), len(self.noise)))
        return self._radii(X, n_jobs)[:, None] ** 2 * self.noise

    def tail_variance_at(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray | float:
        """Variance of f beyond the degree.  [n, D] -> [n, 1]"""
        tail = self.prior.tail
        return tail * self._radii(X, n_jobs)[:, None] ** 2 if tail else 0.0

    def observed(self, X: np.ndarray, n_jobs: int | None = None) -> Moments:
        """Mean and variance of a new observation (warped, if there is a warp)."""
        latent = self.latent(X, n_jobs=n_jobs, noise=self.noise)
        return Moments(latent.mean, latent.variance + self.noise_variance_at(X, n_jobs))
