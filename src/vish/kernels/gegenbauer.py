"""Zonal harmonics by the stable three-term recurrence, and Mercer sums of them.

With :math:`P_l` the Gegenbauer polynomial scaled to :math:`P_l(1) = 1`,

.. math:: (l+d-2)\\, P_{l+1}(t) = (2l+d-2)\\, t\\, P_l(t) - l\\, P_{l-1}(t),

and the sum of all products of orthonormal harmonics of degree l is
:math:`N(d,l) P_l(t) = \\frac{l+\\alpha}{\\alpha} C_l^{(\\alpha)}(t)`,
:math:`\\alpha = (d-2)/2`; on the circle it is :math:`2\\cos l\\theta`.
"""

import numpy as np

from vish.sphere.levels import level_sizes
from vish.sphere.validation import check_degree, check_dimension


def zonal_polynomials(cosines, dimension, degree, versines=None):
    """Yield P_0(t), P_1(t), ... P_degree(t), all within [-1, 1].

    The recurrence runs on the differences P_{l+1} - P_l in 1 - |t| (Reinsch's form),
    which keeps the digits at both poles; `versines` gives 1 - |t| where it is known
    better than the cosine tells.
    """
    sign = np.where(cosines < 0, -1.0, 1.0)  # P_l(-t) = (-1)^l P_l(t)
    versines = 1 - np.abs(cosines) if versines is None else versines
    current, difference = np.ones_like(versines), -versines
    for l in range(degree + 1):
        yield sign * current if l % 2 else current
        if l:
            kick = (2 * l + dimension - 2) * versines * current
            difference = (l * difference - kick) / (l + dimension - 2)
        current = current + difference


def zonal_harmonics(cosines, dimension, degree):
    """Zonal function of every degree: the addition theorem's right-hand side.

    Parameters
    ----------
    cosines : array_like
        Inner products of unit vectors.
    dimension : int
        Ambient dimension d of the sphere S^{d-1}.
    degree : int
        Largest degree L.

    Returns
    -------
    ndarray of shape (degree + 1, ...)
        Sum over the orthonormal harmonics of degree l of phi(xi) phi(xi'); N(d, l) at 1.

    Examples
    --------
    >>> zonal_harmonics([1.0, 0.0], 3, 2)
    array([[ 1. ,  1. ],
           [ 3. ,  0. ],
           [ 5. , -2.5]])
    """
    dimension, degree = check_dimension(dimension), check_degree(degree)
    cosines = np.asarray(cosines, dtype=np.float64)
    sizes = level_sizes(dimension, degree)
    polynomials = zonal_polynomials(cosines, dimension, degree)
    return np.stack([size * p for size, p in zip(sizes, polynomials, strict=True)])


def mercer_sum(level_variances, cosines, dimension):
    """Sum over l of (a_l N(d,l)) P_l(t): a kernel from its level variances."""
    polynomials = zonal_polynomials(cosines, dimension, len(level_variances) - 1)
    total = np.zeros_like(cosines)
    for share, polynomial in zip(level_variances, polynomials, strict=True):
        total += share * polynomial
    return total


def reduced_mercer_sum(level_variances, cosines, dimension, reductions):
    """The same kernel through (1 - t)^m k(t), whose levels decay l^(2m) times faster.

    The reduction of Yennie, Ravenhall and Wilson (1954), for slow series away from
    t = 1. The last `reductions` levels of the cut series are dropped: they lack a
    neighbour.
    """
    levels = np.asarray(level_variances, dtype=np.float64)
    for _ in range(reductions):
        # t P_l = ( l P_{l-1} + (l+d-2) P_{l+1} ) / (2l+d-2)
        l = np.arange(len(levels), dtype=np.float64)
        ratio = np.ones_like(l)  # at l = 0 all of t P_0 is P_1
        ratio[1:] = (l[1:] + dimension - 2) / (2 * l[1:] + dimension - 2)
        up, down = ratio * levels, (1 - ratio) * levels
        levels = levels - np.append(0.0, up[:-1]) - np.append(down[1:], 0.0)
        levels = levels[:-1]
    return mercer_sum(levels, cosines, dimension) / (1 - cosines) ** reductions
