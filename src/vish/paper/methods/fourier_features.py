r"""Variational Fourier features of a Matérn process on an interval (Hensman, Durrande, Solin 2017).

The inducing variables are RKHS inner products with 1, cos and sin of :math:`\omega_m (x - a)`,
:math:`\omega_m = 2\pi m / (b - a)`. Their covariance with f(x) is the feature itself; among
themselves it is a diagonal, from the spectral density s, plus boundary terms of low rank:

.. math:: K_{uu} = \mathrm{diag}\Big(\frac{b-a}{2\, s(\omega_m)}\Big) + W W^T,
          \qquad \text{twice the diagonal at } m = 0.

The inner product is :math:`\int (Lg)(Lh) / c` with :math:`L = (\lambda + d/dx)^{\nu + 1/2}`
plus terms in g, g', g'' at a (appendix A there); at a, cosines have the values
:math:`(1, 0, -\omega^2)` and sines :math:`(0, \omega, 0)`.
"""

from typing import Any, NamedTuple

import numpy as np

SMOOTHNESS = (0.5, 1.5, 2.5)
_STEP = 1e-30  # of complex differences


class Basis(NamedTuple):
    """Cosines 0..F-1, then sines 1..F-1, on [lower, upper]."""

    lower: float
    upper: float
    n_frequencies: int  # F

    @property
    def frequencies(self) -> np.ndarray:
        return 2 * np.pi * np.arange(self.n_frequencies) / (self.upper - self.lower)

    @property
    def n_features(self) -> int:
        return 2 * self.n_frequencies - 1

    def evaluate(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Features as rows.  [n] -> [2F-1, n]"""
        out = np.empty((self.n_features, len(x))) if out is None else out
        F = self.n_frequencies
        angle = self.frequencies[1] * (np.clip(x, self.lower, self.upper) - self.lower)
        step = np.exp(1j * angle)
        power = step
        out[0] = 1.0
        for m in range(1, F):  # powers of one complex number: two products for each feature
            out[m], out[F - 1 + m] = power.real, power.imag
            power = power * step
        return out


class LowRankCovariance(NamedTuple):
    """diag(diagonal) + factor factor^T, of the inducing variables of one input."""

    diagonal: np.ndarray  # [M]
    factor: np.ndarray  # [M, R]

    def dense(self) -> np.ndarray:
        return np.diag(self.diagonal) + self.factor @ self.factor.T

    def _inner(self) -> tuple[np.ndarray, np.ndarray]:
        scaled = self.factor / self.diagonal[:, None]
        return scaled, np.eye(self.factor.shape[1]) + self.factor.T @ scaled

    def inverse(self) -> np.ndarray:
        """By Woodbury's identity, in R^3 + M^2 R."""
        scaled, inner = self._inner()
        return np.diag(1 / self.diagonal) - scaled @ np.linalg.solve(inner, scaled.T)

    def log_determinant(self) -> float:
        return float(np.log(self.diagonal).sum() + np.linalg.slogdet(self._inner()[1])[1])


class MaternPrior(NamedTuple):
    """A Matérn process on the interval of a basis; parameters are log variance, log lengthscale."""

    basis: Basis
    nu: float = 1.5

    def covariance(self, parameters: np.ndarray) -> LowRankCovariance:
        """Of the inducing variables; parameters may be complex."""
        variance, lengthscale = np.exp(parameters)
        w, F = self.basis.frequencies, self.basis.n_frequencies
        decay = np.sqrt(2 * self.nu) / lengthscale  # lambda
        power = {0.5: 2 * decay, 1.5: 4 * decay**3, 2.5: 16 / 3 * decay**5}[self.nu]
        density = variance * power / (decay**2 + w**2) ** (self.nu + 0.5)
        diagonal = (self.basis.upper - self.basis.lower) / 2 / density
        diagonal = np.concatenate([2 * diagonal[:1], diagonal[1:], diagonal[1:]])
        one, square, slope = np.ones(F), w**2 / decay**2, w[1:] / decay
        by_smoothness: dict[float, list[tuple[Any, Any]]] = {
            0.5: [(one, None)],
            1.5: [(one, None), (None, slope)],
            # 9/8 g^2 + 3/(4 lambda^2) g g'' + 9/(8 lambda^4) g''^2, as two squares
            2.5: [
                (3 / np.sqrt(8) * one - square / np.sqrt(8), None),
                (square, None),
                (None, np.sqrt(3) * slope),
            ],
        }
        columns = by_smoothness[self.nu]
        factor = np.zeros((self.basis.n_features, len(columns)), dtype=diagonal.dtype)
        for column, (cosines, sines) in enumerate(columns):
            if cosines is not None:
                factor[:F, column] = cosines
            if sines is not None:
                factor[F:, column] = sines
        return LowRankCovariance(diagonal, factor / np.sqrt(variance))

    def pull_back(self, parameters: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Derivative by the parameters of sum_ij slope_ij Kuu_ij, slope symmetric.  [2]"""
        here = self.covariance(parameters)
        pulled = np.empty(2)
        for k in range(2):
            moved = parameters.astype(complex)
            moved[k] += 1j * _STEP
            there = self.covariance(moved)
            pulled[k] = np.diag(slope) @ (there.diagonal.imag / _STEP) + 2 * np.sum(
                (slope @ here.factor) * (there.factor.imag / _STEP)
            )
        return pulled
