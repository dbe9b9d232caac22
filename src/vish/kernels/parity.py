"""Kernels of odd functions: fewer harmonics, and all of the hemisphere that rows reach.

Rows never leave the upper half of the sphere, where the bias coordinate is positive, and a
function given there has one odd continuation to the lower half. So even degrees, left out, are
hardly missed; constants and linear functions of the inputs are of degree 1.
"""

from dataclasses import dataclass

import numpy as np

from vish.kernels.base import Kernel
from vish.kernels.fixed import FixedSpectrum
from vish.kernels.levels import log_sum
from vish.sphere.levels import log_level_sizes
from vish.sphere.validation import check_degree, check_dimension

_DIRECT = 300  # degrees beyond the last whose parity is told one by one
_LEAST_DIFFERENCE = 1e-6  # of k(1) and k(-1), relative


@dataclass(frozen=True)
class Odd(Kernel):
    """The odd degrees of a kernel, scaled up to the same variance.

    .. math:: k_{odd}(t) = k(1)\\, \\frac{k(t) - k(-t)}{k(1) - k(-1)}

    On rows that are mapped to the sphere, the harmonics of odd degree alone resolve about as much
    as all, and they are fewer, towards half as the degree grows; or, with as many, the degree is
    higher. Far from all rows the function is odd: where it goes to plus infinity in one direction
    it goes to minus infinity in the opposite one. Of `ArcCosine(1)` and `NeuralTangent()` the odd
    degree is 1, which leaves a linear model.

    Parameters
    ----------
    kernel : Kernel
        Its parameters are those of the odd kernel, too.

    Examples
    --------
    >>> from vish.kernels import Matern, Odd
    >>> kernel = Odd(Matern(1.5, lengthscale=0.5))
    >>> kernel.spectrum(dimension=3, degree=3).round(6)
    array([0.      , 0.163269, 0.      , 0.042432])
    >>> kernel.evaluate([1.0, 0.0, -1.0], dimension=3)
    array([ 1.,  0., -1.])
    """

    kernel: Kernel

    def __post_init__(self):
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"Odd: give a kernel, such as Odd(Matern(1.5)), not {self.kernel!r}")
        if isinstance(self.kernel, FixedSpectrum):
            raise ValueError(
                "Odd: of a stored spectrum the degrees beyond the last are known as a whole only; "
                "take the odd ones first, Odd(kernel).freeze(dimension, degree)"
            )

    @property
    def parameter_names(self):
        return self.kernel.parameter_names

    @property
    def log_parameters(self):
        return self.kernel.log_parameters

    @property
    def log_bounds(self):
        return self.kernel.log_bounds

    def with_log_parameters(self, log_parameters):
        return Odd(self.kernel.with_log_parameters(log_parameters))

    def start(self, dimension, degree):
        return Odd(self.kernel.start(dimension, degree))

    @property
    def is_odd(self):
        return True

    def has_levels(self, dimension, degree):
        return self.kernel.has_levels(dimension, degree) & (np.arange(degree + 1) % 2 == 1)

    def without_lengthscale(self):
        return Odd(self.kernel.without_lengthscale())

    def log_spectrum_and_gradient(self, dimension, degree, *, truncated=False):
        dimension, degree = check_dimension(dimension), check_degree(degree)
        far = degree if truncated else degree + _DIRECT
        values, jacobian = self.kernel.log_spectrum_and_gradient(
            dimension, far, truncated=truncated
        )
        log_sizes = np.append(log_level_sizes(dimension, far), 0.0)
        log_all = values + log_sizes  # of whole levels, and of the rest
        log_odd = np.where(np.append(np.arange(far + 1) % 2, 1), log_all, -np.inf)
        if not truncated:
            log_odd[-1] += _log_odd_share(log_all, far)
        if log_sum(log_odd) == -np.inf:
            raise ValueError(
                f"{self!r} has no variance up to degree {degree} in dimension {dimension}; raise "
                "the degree, or take a kernel that has odd degrees"
            )
        # Scaled to the same total, d log a_l gains the difference of the totals' slopes.
        scale = log_sum(log_all) - log_sum(log_odd)
        slope = _mean(log_all, jacobian) - _mean(log_odd, jacobian)
        log_odd, jacobian = log_odd + scale, jacobian + slope
        beyond = slice(degree + 1, None)
        levels = log_odd[: degree + 1] - log_sizes[: degree + 1]
        values = np.append(levels, log_sum(log_odd[beyond]))
        jacobian = np.vstack([jacobian[: degree + 1], _mean(log_odd[beyond], jacobian[beyond])])
        return values, jacobian * (values > -np.inf)[:, None]

    def to_dict(self):
        return {"kernel": "Odd", "of": self.kernel.to_dict()}

    def _evaluate_full(self, cosines, dimension):
        whole = self.kernel.evaluate(np.array([1.0, -1.0]), dimension)
        if whole[0] - whole[1] < _LEAST_DIFFERENCE * whole[0]:  # it would cancel; few degrees count
            return super()._evaluate_full(cosines, dimension)
        odd = self.kernel.evaluate(cosines, dimension) - self.kernel.evaluate(-cosines, dimension)
        return whole[0] * odd / (whole[0] - whole[1])


def _mean(log_terms, jacobian):
    """Gradient of the log of the sum: the mean under the terms' shares."""
    total = log_sum(log_terms)
    return np.exp(log_terms - total) @ jacobian if total > -np.inf else np.zeros(jacobian.shape[1])


def _log_odd_share(log_all, last):
    """The part of odd degrees in the rest, which goes on like the last three levels.

    With neighbours o and e, odd and even, o / (o + e) of the rest is odd. Half a step comes in
    besides, for the rest begins with the parity that the last level does not have.
    """
    *log_levels, log_rest = log_all[-4:]
    top = max(log_levels)
    if log_rest == -np.inf or top == -np.inf:
        return np.log(0.5)
    first, middle, third = np.exp(np.array(log_levels) - top)
    outer = (first + third) / 2
    odd, even = (outer, middle) if last % 2 else (middle, outer)
    half_step = even / 2 * np.exp(min(top - log_rest, 10.0))  # where levels fall fast, all is small
    share = odd / (odd + even) * (1 - half_step if last % 2 else 1 + half_step)
    with np.errstate(divide="ignore"):
        return np.log(np.clip(share, 0.0, 1.0))
