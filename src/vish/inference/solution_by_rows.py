r"""The same evidence from the kernel matrix of the rows: cheaper where they are few.

The prior covariance of the rows is :math:`K_{ij} = \rho_i \rho_j k_{ij}`, with k that of
`vish.inference.row_kernel` and :math:`\rho = r` for constant noise and 1 for radial. With
C = K + tau2 / omega, :math:`\alpha = C^{-1} y` and
:math:`A = (\alpha \alpha^\top - C^{-1}) / 2`, a change of K changes the evidence by the sum of
A dK.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vish.inference.evidence import Factor
from vish.inference.posterior import Moments
from vish.inference.row_kernel import RowKernel
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry
from vish.sphere.zonal_sums import zonal_moments, zonal_slopes

_BLOCK = 2048  # new rows at a time


@dataclass(frozen=True, eq=False)
class SolutionByRows:
    """The evidence at one point, its gradients, and predictions. See `evidence.Evidence`.

    Parameters
    ----------
    geometry : Geometry
    source : ArraySource
    log_spectrum : array of shape (L + 2,)
    noise : array of shape (T,)
    """

    geometry: Geometry
    source: ArraySource
    log_spectrum: np.ndarray
    noise: np.ndarray
    n_jobs: int | None = None

    # ---- the rows, and their kernel

    @cached_property
    def _rows(self) -> ArraySource:
        """Those that weigh something."""
        source = self.source
        if source.weights is None or np.all(source.weights > 0):
            return source
        some = source.weights > 0
        return ArraySource(source.X[some], source.y[some], source.weights[some])

    @cached_property
    def _weights(self) -> np.ndarray:
        rows = self._rows
        return np.ones(rows.n_rows) if rows.weights is None else np.asarray(rows.weights, float)

    @cached_property
    def _prior(self) -> RowKernel:
        return RowKernel(self.geometry, self.log_spectrum, self._rows.X, self.n_jobs)

    @property
    def _radial(self) -> bool:
        return self.geometry.noise == "radial"

    @cached_property
    def _lengths(self) -> np.ndarray:
        """rho.  [n]"""
        radii = self._prior.projected[1]
        return np.ones_like(radii) if self._radial else radii

    @cached_property
    def _scales(self) -> np.ndarray:
        """w rho.  [n]"""
        return np.sqrt(self._weights) * self._lengths

    @cached_property
    def _targets(self) -> np.ndarray:
        """y, or y / r.  [T, n]"""
        y = self.geometry.standardise(self._rows.y)
        return y / self._prior.projected[1] if self._radial else y

    @property
    def _kernel(self) -> np.ndarray:
        """Without rho.  [n, n]"""
        return self._prior.on_sphere

    @property
    def tail(self) -> float:
        return self._prior.tail

    # ---- the solution

    @cached_property
    def _factors(self) -> list[Factor]:
        """B = I + w K w / tau2 of every target, with w = sqrt(omega)."""
        factors: list[Factor] = []
        for t, tau2 in enumerate(self.noise):
            same = t > 0 and tau2 == self.noise[t - 1]
            factors.append(factors[-1] if same else Factor.of(self._kernel, self._scales, tau2))
        return factors

    @cached_property
    def _inverses(self) -> list[np.ndarray]:
        """C^{-1}, times rho from both sides, of every target.  [n, n] each"""
        return [f.covariance / tau2 for f, tau2 in zip(self._factors, self.noise, strict=True)]

    @cached_property
    def _alphas(self) -> np.ndarray:
        """rho alpha.  [T, n]"""
        y = self._targets / self._lengths
        return np.array([C @ row for C, row in zip(self._inverses, y, strict=True)])

    @cached_property
    def _whitened(self) -> np.ndarray:
        """B^{-1} w y.  [T, n]"""
        return self._alphas * self.noise[:, None] / self._scales

    @cached_property
    def _weight(self) -> float:
        return float(self._weights.sum())

    @cached_property
    def _price_of_tail(self) -> np.ndarray:
        """delta R / (2 tau2).  [T]"""
        return self.tail * float(self._weights @ self._lengths**2) / (2 * self.noise)

    @cached_property
    def value(self) -> float:
        y, log_radii = self._targets, np.log(self._prior.projected[1])
        value = float(np.sum(self._weights * self.geometry.log_slope(self._rows.y)))
        if self._radial:
            value -= len(y) * float(self._weights @ log_radii)
        determinants = np.array([factor.log_determinant for factor in self._factors])
        fits = np.einsum("tn,tn->t", self._alphas / self._lengths, y)
        value -= np.sum(self._weight * np.log(2 * np.pi * self.noise) + determinants + fits) / 2
        return value - float(self._price_of_tail.sum())

    @cached_property
    def _slopes(self) -> np.ndarray:
        """dE / dK, times rho from both sides.  [n, n]"""
        slopes = self._alphas.T @ self._alphas
        for inverse in self._inverses:
            slopes -= inverse
        slopes /= 2
        return slopes

    @cached_property
    def d_log_spectrum(self) -> np.ndarray:
        """dE / d log a_l, and of the tail.  [L+2]"""
        geometry = self.geometry
        sums = zonal_moments(
            self._prior.cosines,
            self._slopes,
            geometry.degree,
            geometry.projection.dimension,
            self.n_jobs,
        )
        return np.append(self._prior.level_variances * sums, -self._price_of_tail.sum())

    @cached_property
    def d_log_noise(self) -> np.ndarray:
        """[T]"""
        traces = np.array([factor.inverse_diagonal.sum() for factor in self._factors])
        squares = np.einsum("tn,tn->t", self._whitened, self._whitened) / self.noise
        surplus = self._weight - len(self._weights)
        return (squares - traces - surplus) / 2 + self._price_of_tail

    def relevance_gradient(self) -> np.ndarray:
        """dE / d relevance. -> shape of the relevance"""
        geometry = self.geometry
        points, r = self._prior.projected
        d = geometry.projection.dimension
        slopes = zonal_slopes(self._prior.cosines, self._prior.level_variances, d, self.n_jobs)
        slopes *= self._slopes
        tangent = 2 * (points @ slopes) / r
        along = np.einsum("ij,ij->i", slopes, self._prior.cosines)
        radial = -2 * along / r
        if self._radial:
            radial += np.einsum("tn,tn->n", self._alphas, self._targets) / r
            radial -= len(self.noise) * self._weights / r
        else:
            radial += 2 * np.einsum("ij,ij->i", self._slopes, self._kernel) / r
            radial -= self.tail * self._weights * r * np.sum(1 / self.noise)
        return geometry.projection.pull_back(self._rows.X, tangent + radial * points)

    # ---- predictions

    def moments(self, X: np.ndarray, with_variance: bool = True) -> Moments:
        """Mean and variance of f at new rows.  [m, D] -> [m, T] twice"""
        parts = list(self._moments_by_block(X, with_variance))
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Moments(mean, variance)

    def _moments_by_block(self, X: np.ndarray, with_variance: bool) -> Iterable[Moments]:
        prior = float(self._prior.level_variances.sum()) + self.tail
        for start in range(0, max(1, len(X)), _BLOCK):
            new, r = self.geometry.projection.project_chunk(X[start : start + _BLOCK])
            kernel = self._prior.between(new)  # [m, n]
            mean = r[:, None] * (kernel @ self._alphas.T)
            variance = np.empty_like(mean)
            if with_variance:
                for t, (factor, tau2) in enumerate(zip(self._factors, self.noise, strict=True)):
                    explained = np.square(kernel @ factor.root.T).sum(axis=1) / tau2
                    variance[:, t] = r**2 * np.maximum(prior - explained, 0.0)
            yield Moments(mean, variance)
