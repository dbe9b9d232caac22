"""Zonal functions of many cosines at once, compiled: their sums over degrees, and over pairs.

A zonal function is :math:`\\kappa(t) = \\sum_l c_l P_l(t)`, with the Gegenbauer polynomials
scaled to :math:`P_l(1) = 1`. Rows of the matrix of cosines are cut into blocks that threads share.
"""

import numpy as np

from vish.sphere.compiled import compiled
from vish.sphere.threads import map_in_order

_BLOCK = 64  # rows of cosines


def cosines_of_pairs(points: np.ndarray) -> np.ndarray:
    """Inner products of unit vectors, exactly 1 of each with itself.  [d, n] -> [n, n]"""
    cosines = points.T @ points
    np.fill_diagonal(cosines, 1.0)
    return cosines


def zonal_values(
    cosines: np.ndarray, coefficients: np.ndarray, dimension: int, n_jobs: int | None = None
) -> np.ndarray:
    """kappa at every cosine.  [n, m], [L+1] -> [n, m]

    Examples
    --------
    >>> zonal_values(np.array([[1.0, 0.5]]), np.array([1.0, 2.0]), 3)
    array([[3., 2.]])
    """
    values = np.empty_like(cosines)

    def fill(rows: slice) -> None:
        _values(cosines[rows], coefficients, dimension, values[rows])

    _for_blocks(fill, len(cosines), n_jobs)
    return values


def zonal_slopes(
    cosines: np.ndarray, coefficients: np.ndarray, dimension: int, n_jobs: int | None = None
) -> np.ndarray:
    """The derivative of kappa at every cosine.  [n, m], [L+1] -> [n, m]

    Of a sum of P_l on the sphere in d dimensions it is one of P_{l-1} in d + 2.
    """
    l = np.arange(1, len(coefficients))
    slopes = coefficients[1:] * l * (l + dimension - 2) / (dimension - 1)
    if not len(slopes):
        return np.zeros_like(cosines)
    return zonal_values(cosines, slopes, dimension + 2, n_jobs)


def zonal_moments(
    cosines: np.ndarray, weights: np.ndarray, degree: int, dimension: int, n_jobs: int | None = None
) -> np.ndarray:
    """Weighted sums of P_0 .. P_degree over all cosines.  [n, m] twice -> [degree+1]"""
    sums = np.zeros(degree + 1)

    def of_block(rows: slice) -> np.ndarray:
        return _moments(cosines[rows], weights[rows], degree, dimension)

    for part in map_in_order(of_block, _blocks(len(cosines)), n_jobs):
        sums += part
    return sums


def _blocks(n: int) -> list[slice]:
    return [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]


def _for_blocks(function, n: int, n_jobs: int | None) -> None:
    for _ in map_in_order(function, _blocks(n), n_jobs):
        pass


@compiled
def _values(cosines, coefficients, dimension, values):
    n, m = cosines.shape
    last, current = np.empty(m), np.empty(m)
    for i in range(n):
        t = cosines[i]
        for j in range(m):
            last[j], current[j] = 0.0, 1.0
            values[i, j] = coefficients[0]
        for l in range(len(coefficients) - 1):
            up, down = _steps(l, dimension)
            for j in range(m):
                following = up * t[j] * current[j] - down * last[j]
                last[j], current[j] = current[j], following
                values[i, j] += coefficients[l + 1] * following


@compiled(fastmath=True)
def _moments(cosines, weights, degree, dimension):
    n, m = cosines.shape
    last, current, sums = np.empty(m), np.empty(m), np.zeros(degree + 1)
    for i in range(n):
        t, w = cosines[i], weights[i]
        for j in range(m):
            last[j], current[j] = 0.0, 1.0
            sums[0] += w[j]
        for l in range(degree):
            up, down = _steps(l, dimension)
            total = 0.0
            for j in range(m):
                following = up * t[j] * current[j] - down * last[j]
                last[j], current[j] = current[j], following
                total += w[j] * following
            sums[l + 1] += total
    return sums


@compiled
def _steps(l, dimension):
    """Factors of t P_l and P_{l-1} in P_{l+1}."""
    if l == 0:
        return 1.0, 0.0
    return (2 * l + dimension - 2) / (l + dimension - 2), l / (l + dimension - 2)
