"""A spectrum kept as numbers: how a kernel without a name is stored."""

from dataclasses import dataclass

import numpy as np

from vish.kernels import checks
from vish.kernels.base import ScaledKernel
from vish.kernels.gegenbauer import mercer_sum
from vish.kernels.levels import log_sum
from vish.sphere.levels import log_level_sizes
from vish.sphere.validation import check_dimension


@dataclass(frozen=True)
class FixedSpectrum(ScaledKernel):
    """The levels of a kernel for one dimension, up to one degree; made by `freeze`.

    .. math:: a_l = \\sigma^2 s_l / N(d, l)

    Parameters
    ----------
    dimension : int
        Ambient dimension it was computed for.
    shares : sequence of float
        s_0, s_1, ...: the part of the variance in each level.
    remainder : float
        The part beyond the last level. Shares and remainder add up to 1.
    variance : float
        Value at cosine 1; the only parameter that is learned.

    Examples
    --------
    >>> import numpy as np
    >>> from vish.kernels import Zonal
    >>> frozen = Zonal(np.exp, variance=2.0).freeze(dimension=3, degree=2)
    >>> frozen.spectrum(dimension=3, degree=2).round(6)
    array([0.864665, 0.270671, 0.052653])
    """

    dimension: int
    shares: tuple[float, ...]
    remainder: float = 0.0
    variance: float = 1.0

    def __post_init__(self):
        shares = tuple(float(share) for share in self.shares)
        parts = np.array([*shares, self.remainder])
        if not shares or not np.all(parts >= 0) or not abs(parts.sum() - 1) < 1e-9:
            raise ValueError(
                "FixedSpectrum: shares and remainder must be at least 0 and add up to 1, "
                f"got the sum {parts.sum():g}; kernel.freeze(dimension, degree) makes them"
            )
        checks.keep(
            self,
            dimension=check_dimension(self.dimension),
            shares=shares,
            remainder=float(self.remainder),
            variance=checks.variance("FixedSpectrum", self.variance),
        )

    @property
    def is_odd(self):
        return not any(self.shares[::2])

    def has_levels(self, dimension, degree):
        """As stored; what lies beyond is known as a whole only."""
        levels = np.zeros(degree + 1, dtype=bool)
        stored = np.array(self.shares[: degree + 1]) > 0
        levels[: len(stored)] = stored
        return levels

    def unit_log_spectrum(self, dimension, degree):
        last = len(self.shares) - 1
        if dimension != self.dimension or degree > last:
            raise ValueError(
                f"FixedSpectrum holds dimension {self.dimension} up to degree {last}, and "
                f"was asked for dimension {dimension}, degree {degree}; freeze the "
                "kernel for these again"
            )
        with np.errstate(divide="ignore"):
            log_shares = np.log([*self.shares, self.remainder])
        values = log_shares[: degree + 1] - log_level_sizes(dimension, degree)
        log_tail = log_sum(log_shares[degree + 1 :])
        return np.append(values, log_tail), np.zeros((degree + 2, 0))

    def _evaluate_full(self, cosines, dimension):
        """All that is stored; the remainder is known at cosine 1 only."""
        levels = self._level_variances(dimension, len(self.shares) - 1)
        return np.where(cosines == 1, self.variance, mercer_sum(levels, cosines, dimension))
