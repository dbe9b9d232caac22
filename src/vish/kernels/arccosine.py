"""Kernels of infinitely wide networks: arc-cosine and neural tangent.

One hidden layer has its levels in closed form (`arccosine_levels`); deeper kernels go
through Funk-Hecke.
"""

from dataclasses import dataclass

import numpy as np

from vish.kernels import checks
from vish.kernels.arccosine_levels import (
    arccosine_log_envelope,
    arccosine_log_levels,
    log_alternate_tail,
    neural_tangent_log_envelope,
    neural_tangent_log_levels,
)
from vish.kernels.levels import log_sum
from vish.kernels.shapes import ShapeKernel
from vish.sphere.levels import log_level_sizes

_DEPTH = "depth 1 is one hidden layer"


@dataclass(frozen=True)
class ArcCosine(ShapeKernel):
    """Arc-cosine kernel (Cho and Saul, 2009), composed with itself `depth` times.

    .. math::
        \\kappa_0 &= 1 - \\theta/\\pi \\\\
        \\kappa_1 &= (\\sin\\theta + (\\pi-\\theta)\\cos\\theta) / \\pi \\\\
        \\kappa_2 &= (3\\sin\\theta\\cos\\theta
                      + (\\pi-\\theta)(1 + 2\\cos^2\\theta)) / (3\\pi)

    At depth 1 some levels vanish, exactly: the even degrees from 2 (order 0), the odd
    from 3 (order 1), the even from 4 (order 2).

    Parameters
    ----------
    order : {0, 1, 2}
        Power of the rectified activation: step, ReLU, squared ReLU.
    depth : int
        Number of hidden layers.
    variance : float
        Value at cosine 1.

    Examples
    --------
    >>> ArcCosine(order=1).spectrum(dimension=3, degree=4).round(6)
    array([0.375   , 0.166667, 0.023438, 0.      , 0.000651])
    >>> ArcCosine(order=0).evaluate([1.0, 0.0, -1.0], dimension=3)
    array([1. , 0.5, 0. ])
    """

    order: int = 1
    depth: int = 1
    variance: float = 1.0

    def __post_init__(self):
        if isinstance(self.order, bool) or self.order not in (0, 1, 2):
            raise ValueError(
                f"ArcCosine: order must be 0, 1 or 2, got {self.order!r}; 1 is the ReLU. "
                "Another shape can be given to Zonal"
            )
        checks.keep(
            self,
            order=int(self.order),
            depth=checks.whole("ArcCosine", "depth", self.depth, 1, _DEPTH),
            variance=checks.variance("ArcCosine", self.variance),
        )

    def unit_shape(self, angles):
        for _ in range(self.depth - 1):
            angles = _angle(_complement(self.order, angles))
        return 1.0 - _complement(self.order, angles)

    def _unit_log_spectrum(self, dimension, degree):
        if self.depth > 1:
            return super()._unit_log_spectrum(dimension, degree)
        n = self.order
        highest = max(degree, n)
        values = arccosine_log_levels(n, dimension, highest)
        log_levels = values + log_level_sizes(dimension, highest)
        far = log_alternate_tail(
            lambda l: arccosine_log_envelope(n, dimension, l), dimension, highest, n + 1
        )
        return np.append(values[: degree + 1], log_sum([*log_levels[degree + 1 :], far]))


@dataclass(frozen=True)
class NeuralTangent(ShapeKernel):
    """Neural tangent kernel of a ReLU network (Jacot et al., 2018).

    .. math::
        \\Theta_0 = \\Sigma_0 = t, \\quad
        \\Sigma_h = \\kappa_1(\\Sigma_{h-1}), \\quad
        \\Theta_h = \\Sigma_h + \\Theta_{h-1}\\, \\kappa_0(\\Sigma_{h-1}),

    divided by its value depth + 1 at cosine 1; :math:`\\kappa_0, \\kappa_1` as in
    `ArcCosine`. At depth 1 the odd levels from 3 vanish, exactly.

    Parameters
    ----------
    depth : int
        Number of hidden layers.
    variance : float
        Value at cosine 1.

    Examples
    --------
    >>> NeuralTangent().spectrum(dimension=3, degree=4).round(6)
    array([0.25    , 0.166667, 0.039062, 0.      , 0.002604])
    """

    depth: int = 1
    variance: float = 1.0

    def __post_init__(self):
        checks.keep(
            self,
            depth=checks.whole("NeuralTangent", "depth", self.depth, 1, _DEPTH),
            variance=checks.variance("NeuralTangent", self.variance),
        )

    def unit_shape(self, angles):
        tangent = np.cos(angles)
        for _ in range(self.depth):
            complement = _complement(1, angles)
            tangent = 1.0 - complement + tangent * (1.0 - _complement(0, angles))
            angles = _angle(complement)
        return tangent / (self.depth + 1)

    def _unit_log_spectrum(self, dimension, degree):
        if self.depth > 1:
            return super()._unit_log_spectrum(dimension, degree)
        highest = max(degree, 1)
        values = neural_tangent_log_levels(dimension, highest)
        log_levels = values + log_level_sizes(dimension, highest)
        far = log_alternate_tail(
            lambda l: neural_tangent_log_envelope(dimension, l), dimension, highest, 0
        )
        return np.append(values[: degree + 1], log_sum([*log_levels[degree + 1 :], far]))


def _complement(order, angles):
    """1 minus the arc-cosine shape, without cancellation at small angles."""
    if order == 0:
        return angles / np.pi
    sine, cosine = np.sin(angles), np.cos(angles)
    if order == 1:
        return 2 * np.sin(angles / 2) ** 2 - (sine - angles * cosine) / np.pi
    return (angles - sine * cosine) / np.pi + 2 * (1 - angles / np.pi) * sine**2 / 3


def _angle(complement):
    """The angle whose cosine is 1 - complement."""
    return 2 * np.arcsin(np.sqrt(np.clip(complement / 2, 0.0, 1.0)))
