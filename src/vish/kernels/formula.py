"""Kernels given by a formula for their levels: the base class of a user's own kernel."""

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from vish.kernels.base import ScaledKernel
from vish.kernels.levels import check_convergence, degree_nodes, log_sum

_STEP = 6e-6  # cube root of the rounding error: best for a central difference


class LevelKernel(ScaledKernel):
    """A kernel whose level a_l is a smooth formula in l, normalised here.

    Your own kernel is a frozen dataclass with one method, `log_levels`. Its parameters
    are positive; `learned` names those to be learned, with the variance last, and
    `bounds` may give their range.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from vish.kernels import LevelKernel
    >>> @dataclass(frozen=True)
    ... class Exponential(LevelKernel):
    ...     rate: float = 1.0
    ...     variance: float = 1.0
    ...     learned = ("rate", "variance")
    ...
    ...     def log_levels(self, dimension, degrees):
    ...         return -self.rate * degrees
    >>> kernel = Exponential(rate=np.log(2.0))
    >>> kernel.spectrum(dimension=2, degree=3)       # (1/3) 2^-l on the circle
    array([0.33333333, 0.16666667, 0.08333333, 0.04166667])
    >>> round(kernel.tail(dimension=2, degree=3), 12)
    0.083333333333
    """

    @abstractmethod
    def log_levels(self, dimension, degrees):
        """Log a_l up to a constant, for an array of degrees (floats, any size).

        Called at whole degrees and, for the sum over all degrees, at large degrees
        that need not be whole. -inf is a level that vanishes.
        """

    def log_levels_gradient(self, dimension, degrees):
        """Gradient of `log_levels` in the logs of `learned` but the variance.  [n, P-1]

        A central difference; give a formula where there is one.
        """
        columns = []
        for name in self.learned[:-1]:
            value = getattr(self, name)
            above, below = (
                replace(self, **{name: value * np.exp(sign * _STEP)})  # type: ignore[type-var]
                for sign in (1, -1)
            )
            high = self._checked_levels(above, dimension, degrees)
            low = self._checked_levels(below, dimension, degrees)
            here = (high > -np.inf) & (low > -np.inf)
            difference = np.subtract(high, low, where=here, out=np.zeros_like(high))
            columns.append(difference / (2 * _STEP))
        return np.column_stack(columns) if columns else np.zeros((len(degrees), 0))

    def unit_log_spectrum(self, dimension, degree):
        kernel = self.start(dimension, degree)
        degrees, log_measure = degree_nodes(dimension, degree)
        log_values = self._checked_levels(kernel, dimension, degrees)
        gradient = kernel.log_levels_gradient(dimension, degrees)  # [n, P-1]
        log_terms = log_values + log_measure
        log_total = log_sum(log_terms)
        check_convergence(type(self).__name__, log_terms, log_total)

        kept, rest = slice(None, degree + 1), slice(degree + 1, None)
        log_tail = log_sum(log_terms[rest])
        # d log(sum of terms) is the mean of d log a under the terms' shares.
        mean = _mean(log_terms, log_total, gradient)
        tail_mean = _mean(log_terms[rest], log_tail, gradient[rest])
        values = np.append(log_values[kept], log_tail) - log_total
        return values, np.vstack([gradient[kept], tail_mean]) - mean

    @staticmethod
    def _checked_levels(kernel, dimension, degrees):
        with np.errstate(over="ignore", divide="ignore"):
            values = np.asarray(kernel.log_levels(dimension, degrees), dtype=np.float64)
        if values.shape != degrees.shape:
            raise ValueError(
                f"{type(kernel).__name__}.log_levels must return one value for each of "
                f"{degrees.shape} degrees, got shape {values.shape}; write it with NumPy "
                "functions of the array of degrees"
            )
        if not np.all(values < np.inf):  # also catches nan
            first = degrees[~(values < np.inf)][0]
            raise ValueError(
                f"{type(kernel).__name__}.log_levels is not a number below infinity at "
                f"degree {first:g} in dimension {dimension}; it must be a log variance "
                "(-inf for none) at every degree up to 1e150"
            )
        return values


def _mean(log_terms, log_total, gradient):
    if log_total == -np.inf:
        return np.zeros(gradient.shape[1])
    shares = np.exp(log_terms - log_total)
    present = shares > 0  # 0 * inf far out in the tail is 0
    return shares[present] @ gradient[present]
