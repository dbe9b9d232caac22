"""Kernels that are a shape of the cosine, and the unit spectrum of such a shape."""

from abc import abstractmethod
from functools import lru_cache

import numpy as np

from vish.kernels.base import ScaledKernel
from vish.kernels.funk_hecke import level_coefficients
from vish.sphere.levels import log_level_sizes

# A level variance smaller than this times sqrt(N(d,l)) is rounding (and so, in a_l, is
# at most this divided by sqrt(N(d,l)) of the largest).
TOLERANCE = 1e-14


class ShapeKernel(ScaledKernel):
    """A kernel whose values have a closed form, `unit_shape`, of value 1 at angle 0."""

    @abstractmethod
    def unit_shape(self, angles):
        """Values at an array of angles, scaled to 1 at angle 0."""

    @property
    def _identity(self):
        """What the spectrum depends on: the kernel with another variance is the same."""
        return tuple(v for k, v in vars(self).items() if k != "variance")

    def unit_log_spectrum(self, dimension, degree):
        key = _Shape(self)
        return _log_spectrum(key, dimension, degree).copy(), np.zeros((degree + 2, 0))

    def _unit_log_spectrum(self, dimension, degree):
        return shape_log_spectrum(self.unit_shape, dimension, degree)

    def _evaluate_full(self, cosines, dimension):
        return self.variance * self.unit_shape(np.arccos(cosines))


class _Shape:
    """A kernel compared without its variance: the key of the cache."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.identity = (type(kernel), kernel._identity)

    def __hash__(self):
        try:
            return hash(self.identity)
        except TypeError:  # a shape that cannot be hashed: its own identity will do
            return id(self.kernel.shape)

    def __eq__(self, other):
        return self.identity == other.identity


@lru_cache(maxsize=256)
def _log_spectrum(key, dimension, degree):
    return key.kernel._unit_log_spectrum(dimension, degree)


def shape_log_spectrum(unit_shape, dimension, degree):
    """Log levels and log tail of a shape by Funk-Hecke.  [degree + 2]"""
    log_sizes = log_level_sizes(dimension, degree)
    levels = level_variances(unit_shape, dimension, degree)
    tail = _tail(unit_shape, dimension, levels)
    with np.errstate(divide="ignore"):
        return np.append(np.log(levels) - log_sizes, np.log(tail))


def level_variances(unit_shape, dimension, degree, *, strict=True):
    """a_l N(d, l) of a unit shape; rounding is zero, a negative level an error or zero."""
    log_sizes = log_level_sizes(dimension, degree)
    coefficients = level_coefficients(unit_shape, dimension, degree)
    with np.errstate(divide="ignore", over="ignore"):
        log_levels = np.log(np.abs(coefficients)) + log_sizes
        largest = min(log_levels.max(), 0.0)
        # In logs: N(d, l) may be beyond a float.
        rounding = log_levels <= np.log(TOLERANCE) + log_sizes / 2 + largest
    negative = ~rounding & (coefficients < 0)
    if strict and negative.any():
        degree_found = int(np.flatnonzero(negative)[0])
        raise ValueError(
            f"the shape is not positive definite in dimension {dimension}: its level of "
            f"degree {degree_found} has coefficient {coefficients[degree_found]:.3g}; use "
            "a shape that is, such as a power series in the cosine without negative terms, "
            "or fewer inputs"
        )
    absent = rounding | negative
    return np.where(absent, 0.0, np.exp(np.where(absent, 0.0, log_levels)))


def _tail(unit_shape, dimension, levels):
    """Variance beyond the given levels: what is missing from 1, unless that is rounding.

    A slow tail is large, and the difference accurate; a fast one is summed directly.
    """
    degree = len(levels) - 1
    missing = 1.0 - levels.sum()
    kept = levels > 0
    log_size = log_level_sizes(dimension, degree)[kept].max(initial=0.0)
    if missing > 10 * TOLERANCE * np.exp(log_size / 2):
        return missing
    further = level_variances(unit_shape, dimension, 2 * degree + 64, strict=False)
    return further[degree + 1 :].sum()
