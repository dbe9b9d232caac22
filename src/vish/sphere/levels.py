"""How many harmonics each degree has: the level sizes N(d, l).

On the sphere S^{d-1} of R^d the harmonics of degree l span a space of dimension

.. math:: N(d, l) = \\binom{d+l-1}{l} - \\binom{d+l-3}{l-2}
                  = \\frac{2l+d-2}{d-2} \\prod_{j=1}^{d-3} \\frac{l+j}{j},

with N(d, 0) = 1 and N(d, 1) = d. The second form is smooth in l and is what
logarithms and sums over all degrees use.
"""

from functools import lru_cache
from math import comb, log

import numpy as np

from vish.sphere.validation import check_degree, check_dimension

__all__ = ["level_size", "level_sizes", "log_level_size_at", "log_level_sizes"]


def level_size(dimension, degree):
    """Number of harmonics of exactly this degree, as an exact Python integer.

    Examples
    --------
    >>> [level_size(9, l) for l in range(5)]
    [1, 9, 44, 156, 450]
    """
    d, l = check_dimension(dimension), check_degree(degree)
    if l == 0:
        return 1
    if l == 1:
        return d
    return comb(d + l - 1, l) - comb(d + l - 3, l - 2)


def level_sizes(dimension, degree):
    """Level sizes of the degrees 0 to `degree`, as 64-bit integers.

    As floats, each rounded once, where an integer would overflow; `log_level_sizes`
    holds any size.

    Examples
    --------
    >>> level_sizes(3, 4)
    array([1, 3, 5, 7, 9])
    """
    sizes = [level_size(dimension, l) for l in range(check_degree(degree) + 1)]
    if max(sizes) < 2**63:
        return np.array(sizes, dtype=np.int64)
    largest = int(np.finfo(np.float64).max)
    return np.array([float(size) if size <= largest else np.inf for size in sizes])


def log_level_sizes(dimension, degree):
    """Logarithms of the level sizes of the degrees 0 to `degree`, however large.

    Examples
    --------
    >>> float(round(log_level_sizes(201, 300)[-1], 3))
    332.747
    """
    return _log_level_sizes(check_dimension(dimension), check_degree(degree)).copy()


@lru_cache(maxsize=128)
def _log_level_sizes(dimension, degree):
    # math.log takes integers beyond the range of a float.
    return np.array([log(level_size(dimension, l)) for l in range(degree + 1)])


def log_level_size_at(dimension, degrees):
    """Log level size continued to real degrees: a sum of positive logs, no cancellation.

    Examples
    --------
    >>> np.exp(log_level_size_at(9, [0.0, 1.0, 2.0])).round(10)
    array([ 1.,  9., 44.])
    """
    d = check_dimension(dimension)
    degrees = np.asarray(degrees, dtype=np.float64)
    if d == 2:
        return np.where(degrees == 0, 0.0, np.log(2.0))
    total = np.log1p(2 * degrees / (d - 2))
    for j in range(1, d - 2):
        total += np.log1p(degrees / j)
    return total
