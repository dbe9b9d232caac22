"""Kernels from a function of the cosine: polynomials, and any shape of the user's."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.special import gammaln

from vish.kernels import checks
from vish.kernels.levels import log_sum
from vish.kernels.shapes import ShapeKernel
from vish.sphere.levels import log_level_sizes


@dataclass(frozen=True)
class Polynomial(ShapeKernel):
    """Polynomial kernel; it ends at its own degree.

    .. math:: \\kappa(t) = \\left( \\frac{t + c}{1 + c} \\right)^p

    Its levels are sums of positive terms, from
    :math:`E[t^k P_l] = \\Gamma(d/2)\\, k!\\, 2^{-k} /
    (\\Gamma(\\frac{k-l}{2}+1)\\, \\Gamma(\\frac{k+l+d}{2}))` for even k - l >= 0.

    Parameters
    ----------
    degree : int
        The power p.
    offset : float
        The constant c >= 0; with 0 only every other level is present.
    variance : float
        Value at cosine 1.

    Examples
    --------
    >>> kernel = Polynomial(degree=2, offset=1.0)
    >>> kernel.spectrum(dimension=3, degree=3).round(6)
    array([0.333333, 0.166667, 0.033333, 0.      ])
    >>> kernel.tail(dimension=3, degree=2)
    0.0
    """

    degree: int = 3
    offset: float = 1.0
    variance: float = 1.0

    def __post_init__(self):
        power = "it is the power of the cosine"
        degree = checks.whole("Polynomial", "degree", self.degree, 0, power)
        offset = self.offset
        if offset != 0:
            remedy = "0 is allowed too; a negative offset is not positive definite"
            offset = checks.positive("Polynomial", "offset", offset, remedy)
        checks.keep(
            self,
            degree=degree,
            offset=float(offset),
            variance=checks.variance("Polynomial", self.variance),
        )

    def unit_shape(self, angles):
        return ((np.cos(angles) + self.offset) / (1 + self.offset)) ** self.degree

    def _unit_log_spectrum(self, dimension, degree):
        values = np.full(max(degree, self.degree) + 1, -np.inf)
        for l in range(self.degree + 1):
            values[l] = log_sum(self._log_terms(dimension, l))
        log_levels = values + log_level_sizes(dimension, len(values) - 1)
        # The shape is 1 at cosine 1: divide the rounding of the gammas away.
        values, log_levels = values - log_sum(log_levels), log_levels - log_sum(log_levels)
        return np.append(values[: degree + 1], log_sum(log_levels[degree + 1 :]))

    def _log_terms(self, dimension, l):
        """Log contribution to a_l of each power k = l, l+2, ... of the cosine."""
        last = self.degree
        # offset 0 has the power p alone
        powers = [k for k in range(l, last + 1, 2) if self.offset or k == last]
        k = np.array(powers, dtype=np.float64)
        binomials = np.log([float(comb(self.degree, power)) for power in powers])
        # log of c^(p-k) / (1+c)^p, where c = 0 has k = p only
        offsets = (self.degree - k) * np.log(self.offset or 1.0)
        offsets -= self.degree * np.log1p(self.offset)
        moments = gammaln(dimension / 2) + gammaln(k + 1) - k * np.log(2.0)
        moments -= gammaln((k - l) / 2 + 1) + gammaln((k + l + dimension) / 2)
        return binomials + offsets + moments


@dataclass(frozen=True)
class Zonal(ShapeKernel):
    """Any positive definite function of the cosine, scaled to `variance` at 1.

    .. math:: k(\\xi, \\xi') = \\sigma^2\\, \\kappa(\\xi \\cdot \\xi') / \\kappa(1)

    Its levels come from quadrature: they, and the tail, are known to about 1e-14 of the
    value at 1 (times the square root of the level's size), and below that are zero.

    Parameters
    ----------
    shape : callable
        Maps an array of cosines to an array of values of the same shape. A function
        defined in a module can be pickled; a lambda cannot.
    variance : float
        Value at cosine 1.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = Zonal(np.exp)
    >>> kernel.spectrum(dimension=3, degree=3).round(6)   # modified Bessel functions
    array([0.432332, 0.135335, 0.026327, 0.003703])
    """

    shape: Callable[[np.ndarray], np.ndarray]
    variance: float = 1.0

    def __post_init__(self):
        if not callable(self.shape):
            raise ValueError(
                f"Zonal: shape must be a function of an array of cosines, got "
                f"{self.shape!r}; for example Zonal(np.exp)"
            )
        checks.keep(self, variance=checks.variance("Zonal", self.variance))

    def unit_shape(self, angles):
        at_one = float(self._values(np.ones(1))[0])
        if at_one <= 0:
            raise ValueError(
                f"Zonal: the shape is {at_one:g} at cosine 1, where a kernel has its "
                "variance; it must be positive there"
            )
        return self._values(np.cos(angles)) / at_one

    def _evaluate_full(self, cosines, dimension):
        return self.variance * self._values(cosines) / self._values(np.ones(1))[0]

    def _values(self, cosines):
        values = np.asarray(self.shape(cosines))
        if values.shape != cosines.shape or values.dtype.kind not in "fiu":
            raise ValueError(
                f"Zonal: the shape returned {values.dtype} of shape {values.shape} for "
                f"cosines of shape {cosines.shape}; write it with NumPy functions, so that "
                "each cosine gives one real value"
            )
        if not np.isfinite(values).all():
            first = cosines[~np.isfinite(values)].flat[0]
            raise ValueError(
                f"Zonal: the shape is not finite at cosine {first:.17g}; it must be finite "
                "on all of [-1, 1]"
            )
        return values.astype(np.float64)
