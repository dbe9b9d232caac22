"""The Gaussian model: statistics and hyperparameters, and what follows from them.

Nothing here needs rows: they are added and taken away, and the posterior is solved, from the
statistics alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vish.inference.evidence import Evidence, evidence
from vish.inference.local import Local, local_process, places_of
from vish.inference.posterior import Moments, Posterior
from vish.inference.prior import Prior
from vish.inference.statistics import NormalEquations, Statistics
from vish.neighbors.process import Conditional, LocalProcess
from vish.sphere.threads import map_in_order, row_chunks

_OF_HARMONICS = {"prior", "equations", "_evidence", "posterior"}
_LARGEST_ROOTS = 20_000_000  # numbers
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
    local: Local | None = None  # the rows kept for the detail beyond the harmonics

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
        moments = self.harmonics(X, with_variance, n_jobs, noise)
        if self.local is None:
            return moments
        detail = self.detail(X, n_jobs)
        if not with_variance:
            return Moments(moments.mean + detail.mean, moments.variance)
        return Moments(moments.mean + detail.mean, moments.variance + detail.variance)

    def harmonics(
        self,
        X: np.ndarray,
        with_variance: bool = True,
        n_jobs: int | None = None,
        noise: np.ndarray | None = None,
    ) -> Moments:
        """Mean and variance of f_L, all of f where no rows are kept.  [n, D] -> [n, T] twice"""
        moments = self.posterior.moments(X, with_variance, n_jobs, noise)
        return Moments(moments.mean + self.shift, moments.variance)

    @cached_property
    def process(self) -> LocalProcess:
        """The detail, given f_L and the rows kept."""
        if self.local is None:
            raise ValueError("the model keeps no rows")
        return local_process(self.local, self.posterior, self.shift, self.noise)

    def detail(self, X: np.ndarray, n_jobs: int | None = None) -> Conditional:
        """Mean and variance of h, and variance of the noise.  [n, D] -> [n, T] three times"""
        found = self.process.predict(places_of(self.geometry, X, n_jobs), n_jobs)
        mean = np.sqrt(self.noise) * found.mean
        return Conditional(mean, self.noise * found.variance, self.noise * found.noise)

    def with_local(self, local: Local | None) -> "GaussianModel":
        """The same harmonics, solved as they are, with other rows beside them."""
        model = replace(self, local=local)
        solved = {name: value for name, value in vars(self).items() if name in _OF_HARMONICS}
        vars(model).update(solved)
        return model

    def learned_detail(self, n_jobs: int | None = None) -> "GaussianModel":
        """The hyperparameters of the detail by rows that are left out."""
        if self.local is None or not len(self.local.rows) or self.statistics.weight <= 0:
            return self
        variance = self.posterior.moments(self.local.first_rows, True, n_jobs).variance
        found = self.local.learned(self.process, variance / self.noise, self._roots_at_rows, n_jobs)
        model = self.with_local(found)
        vars(model)["process"] = replace(self.process, detail=found.detail).beside(self.process)
        return model

    def _roots_at_rows(self) -> list[np.ndarray]:
        """Roots of the covariance of f_L between the rows kept, if they fit.  [n, M] each"""
        local, M = self.local, len(self.posterior.means)
        if local is None or len(local.rows) * M > _LARGEST_ROOTS:
            return []
        features = self.posterior.features(local.rows.X)
        roots = zip(self.posterior.roots, self.noise, strict=True)
        return [features @ (root.T / np.sqrt(noise)) for root, noise in roots]

    def _radii(self, X: np.ndarray, n_jobs: int | None) -> np.ndarray:
        radii = np.empty(len(X))

        def fill(rows: slice) -> None:
            radii[rows] = self.geometry.projection.project_chunk(X[rows])[1]

        for _ in map_in_order(fill, row_chunks(len(X)), n_jobs):
            pass
        return radii

    def noise_variance_at(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Variance of the noise at the rows.  [n, D] -> [n, T]"""
        if self.local is not None:
            return self.detail(X, n_jobs).noise
        if self.geometry.noise == "constant":
            return np.broadcast_to(self.noise, (len(X), len(self.noise)))
        return self._radii(X, n_jobs)[:, None] ** 2 * self.noise

    def tail_variance_at(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray | float:
        """Variance of f beyond the degree.  [n, D] -> [n, 1]"""
        tail = self.prior.tail
        return tail * self._radii(X, n_jobs)[:, None] ** 2 if tail else 0.0

    def observed(self, X: np.ndarray, n_jobs: int | None = None) -> Moments:
        """Mean and variance of a new observation (warped, if there is a warp)."""
        if self.local is not None:
            moments, detail = self.harmonics(X, n_jobs=n_jobs), self.detail(X, n_jobs)
            variance = moments.variance + detail.variance + detail.noise
            return Moments(moments.mean + detail.mean, variance)
        latent = self.latent(X, n_jobs=n_jobs, noise=self.noise)
        return Moments(latent.mean, latent.variance + self.noise_variance_at(X, n_jobs))
