r"""Evidence of a spectrum and a noise variance, and its gradients, without the rows.

With s = sqrt(a), B = I + s G s / tau2, Sigma = s B^{-1} s and mu = Sigma b / tau2,

.. math::

    E = -\tfrac N2 \log 2\pi\tau^2 - \tfrac12 \log|B| - \frac{yy}{2\tau^2}
        + \frac{b^\top\mu}{2\tau^2} - \frac{\delta R}{2\tau^2}

for each target, and the sum for several: they share the spectrum, not the noise. The last
term is the price of the variational tail. Everything is whitened, z = mu / s, so it stays
finite where a level has no variance.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

from vish.inference.statistics import NormalEquations

# The least part of a diagonal element of B that may be left as a pivot: rounding in G is 1e-15 of
# it, and more by way of moments. With less left, clip eigenvalues instead.
_LEAST_PIVOT = 1e-10
_ROUNDING = 1e-14  # of yy, the least that a sum of squared residuals can be told from zero


@dataclass(frozen=True, eq=False)
class Factor:
    """B = I + s G s / tau2 of one target, factored once: B^{-1} = R^T R.

    `root` has root^T root = s B^{-1} s = Sigma, so that a variance is a sum of squares. Harmonics
    without prior variance are left out: B is the identity there, and m of the M are factored.
    """

    scales: np.ndarray  # s, [M]
    kept: np.ndarray | slice  # places of the harmonics with variance, [m]
    log_determinant: float
    triangle: np.ndarray | None  # lower Cholesky factor, or None
    eigen: tuple[np.ndarray, np.ndarray] | None  # eigenvalues and vectors of B, or None

    @classmethod
    def of(cls, gram: np.ndarray, scales: np.ndarray, noise: float) -> "Factor":
        some = np.flatnonzero(scales)
        kept: np.ndarray | slice = slice(None)
        if 0 < len(some) < len(scales):
            kept, gram = some, gram[np.ix_(some, some)]
        B = gram * (scales[kept, None] * scales[kept])
        B /= noise
        shifted = B.copy()
        shifted[np.diag_indices_from(B)] += 1.0
        whole = shifted.diagonal().copy()
        triangle, failed = dpotrf(shifted.T, lower=1, clean=1, overwrite_a=1)
        pivots = triangle.diagonal()
        if not failed and np.all(pivots**2 > _LEAST_PIVOT * whole):
            return cls(scales, kept, 2 * float(np.log(pivots).sum()), triangle, None)
        values, vectors = eigh(B)
        noise_floor = len(B) * np.finfo(float).eps * values[-1]  # below it, rounding alone
        values = 1.0 + np.where(values > noise_floor, values, 0.0)
        return cls(scales, kept, float(np.log(values).sum()), None, (values, vectors))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """B^{-1} right, for right sides s b; directions that no row has touched give 0."""
        solved, right = np.zeros_like(right), right[self.kept]
        if self.eigen is None:
            solved[self.kept] = cho_solve((self.triangle, True), right, check_finite=False)
        else:
            values, vectors = self.eigen
            inverse = np.where(values > 1.0, 1 / values, 0.0)
            solved[self.kept] = vectors @ (inverse * (vectors.T @ right).T).T
        return solved

    def halfway(self, right: np.ndarray) -> np.ndarray:
        """R right, whose squares add up to right^T B^{-1} right.  [M, n] -> [m, n]"""
        right = right[self.kept]
        if self.triangle is not None:
            return dtrsm(1.0, self.triangle, right, lower=1)
        return self._inverse_root @ right

    @cached_property
    def _inverse_root(self) -> np.ndarray:
        """R.  [m, m]"""
        if self.triangle is not None:
            return dtrtri(self.triangle, lower=1)[0]  # above the diagonal there are zeros
        assert self.eigen is not None
        values, vectors = self.eigen
        return (vectors / np.sqrt(values)).T

    @cached_property
    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of B^{-1}.  [M]"""
        diagonal = np.ones(len(self.scales))
        diagonal[self.kept] = np.square(self._inverse_root).sum(axis=0)
        return diagonal

    @cached_property
    def root(self) -> np.ndarray:
        """root^T root = Sigma.  [M, M]"""
        return self._whole(self._inverse_root * self.scales[self.kept])

    @cached_property
    def covariance(self) -> np.ndarray:
        """Sigma.  [M, M]"""
        if self.triangle is None:
            return self.root.T @ self.root
        half, _ = dlauum(self._inverse_root * self.scales[self.kept], lower=1, overwrite_c=1)
        half += np.tril(half, -1).T  # above the diagonal it has zeros
        return self._whole(half)

    def _whole(self, matrix: np.ndarray) -> np.ndarray:
        """With zeros for the harmonics left out.  [m, m] -> [M, M]"""
        if isinstance(self.kept, slice):
            return matrix
        whole = np.zeros((len(self.scales),) * 2)
        whole[np.ix_(self.kept, self.kept)] = matrix
        return whole


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence at one point, its gradients, and what was solved on the way.

    d_log_spectrum holds dE / d log a_l for l = 0..L and dE / d log delta.
    """

    value: float
    d_log_spectrum: np.ndarray  # [L+2]
    d_log_noise: np.ndarray  # [T]
    means: np.ndarray  # mu, [M, T]
    factors: tuple[Factor, ...]  # one per target


def evidence(equations: NormalEquations, log_spectrum: np.ndarray, noise: np.ndarray) -> Evidence:
    """Log evidence (a lower bound of it, with a tail) and its gradients.

    Parameters
    ----------
    equations : NormalEquations
    log_spectrum : array of shape (L + 2,)
        log a_0 .. log a_L and log delta; -inf for a level or a tail without variance.
    noise : array of shape (T,)
        tau2 of every target.
    """
    degrees, M = equations.degrees, len(equations.degrees)
    spectrum, tail = np.exp(log_spectrum[:-1]), float(np.exp(log_spectrum[-1]))
    scales = np.sqrt(spectrum)[degrees]
    value, d_log_noise = equations.log_jacobian, np.empty(len(noise))
    per_harmonic, means = np.zeros(M), np.empty(equations.cross.shape)
    factors: list[Factor] = []
    for t, tau2 in enumerate(noise):
        if t and tau2 == noise[t - 1]:
            factor = factors[-1]
        else:
            factor = Factor.of(equations.gram, scales, tau2)
        factors.append(factor)
        b, yy = equations.cross[:, t], equations.squares[t]
        z = factor.solve(scales * b) / tau2
        mu = scales * z
        misfit = max(yy - b @ mu, tau2 * (z @ z), _ROUNDING * yy)  # |y - psi mu|^2 + tau2 |z|^2
        tail_term = tail * equations.radii
        value += (
            -equations.weight / 2 * np.log(2 * np.pi * tau2)
            - factor.log_determinant / 2
            - (misfit + tail_term) / (2 * tau2)
        )
        diagonal = factor.inverse_diagonal
        per_harmonic += (z**2 + diagonal - 1) / 2
        # |y - psi mu|^2, as s G mu / tau2 = s b / tau2 - z
        residual = misfit - tau2 * (z @ z)
        trace = tau2 * (M - diagonal.sum())  # tr(Sigma G)
        d_log_noise[t] = -equations.weight / 2 + (residual + trace + tail_term) / (2 * tau2)
        means[:, t] = mu
    by_level = np.bincount(degrees, per_harmonic, len(spectrum))
    d_log_tail = -tail * equations.radii * np.sum(0.5 / noise)
    return Evidence(
        float(value), np.append(by_level, d_log_tail), d_log_noise, means, tuple(factors)
    )
