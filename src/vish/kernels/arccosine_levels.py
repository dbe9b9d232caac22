"""Levels of one hidden layer, in closed form.

With a weight vector w uniform on the sphere, the activation
:math:`\\sigma(t) = \\max(t, 0)^n` gives the arc-cosine kernel of order n,
:math:`\\kappa(\\xi\\cdot\\xi') \\propto E[\\sigma(w\\cdot\\xi) \\sigma(w\\cdot\\xi')]`. So
its levels are squares of the activation's own, :math:`a_l = \\lambda_l^2 / E[\\sigma^2]`:

.. math:: \\lambda_l = E[\\sigma(t) P_l(t)] =
   \\frac{\\Gamma(d/2)\\, n!\\, 2^{-n-1}}
        {\\Gamma(\\frac{n-l}{2}+1)\\,\\Gamma(\\frac{n+l+d}{2})},
   \\qquad \\frac{\\lambda_{l+2}}{\\lambda_l} = \\frac{n-l}{n+l+d},

with :math:`2\\lambda_0 = E|t|^n` and :math:`2\\lambda_1 = E|t|^{n+1}`. The zeros at
l = n+2, n+4, ... are exact.
"""

import numpy as np
from scipy.special import betaln, gammaln

from vish.kernels.levels import degree_nodes, log_sum


def arccosine_log_levels(order, dimension, degree):
    """Log a_0 ... a_degree of order n at depth 1, with sum_l a_l N(d, l) = 1."""
    l = np.arange(degree - 1)
    with np.errstate(divide="ignore"):
        log_ratios = 2 * np.log(np.abs(order - l) / (order + l + dimension))
    values = np.empty(degree + 1)
    log_square = np.log(2 * _absolute_moment(2 * order, dimension))  # of 4 E[sigma^2]
    for first in range(min(2, degree + 1)):  # even and odd degrees
        start = 2 * np.log(_absolute_moment(order + first, dimension)) - log_square
        values[first::2] = start + np.append(0.0, np.cumsum(log_ratios[first::2]))
    return values


def arccosine_log_envelope(order, dimension, degrees):
    """The same levels beyond degree n, at real degrees, without their zeros."""
    # 1/|Gamma(1-z)| = Gamma(z)/pi at z = (l-n)/2 with l-n odd.
    z, c = (degrees - order) / 2, order + dimension / 2
    log_gammas = betaln(z, c) - gammaln(c)  # Gamma(z)/Gamma(z+c), also at huge z
    constant = gammaln(dimension / 2) + gammaln(c) - gammaln(order + 0.5)
    constant += 2 * gammaln(order + 1) - (2 * order + 1) * np.log(2) - 1.5 * np.log(np.pi)
    return constant + 2 * log_gammas


def neural_tangent_log_levels(dimension, degree):
    """Log a_l of (kappa_1(t) + t kappa_0(t)) / 2, the neural tangent kernel at depth 1."""
    l = np.arange(degree + 1)
    step = np.exp(arccosine_log_levels(0, dimension, degree + 1))
    ramp = np.exp(arccosine_log_levels(1, dimension, degree))
    # t P_l = ( l P_{l-1} + (l+d-2) P_{l+1} ) / (2l+d-2); t P_0 = P_1
    down = np.append(0.0, l[1:] / (2 * l[1:] + dimension - 2))
    product = down * np.append(0.0, step[:-2])[: degree + 1] + (1 - down) * step[1:]
    with np.errstate(divide="ignore"):
        return np.log((ramp + product) / 2)


def neural_tangent_log_envelope(dimension, degrees):
    """The same levels at real degrees of at least 2, without their zeros."""
    down = degrees / (2 * degrees + dimension - 2)
    terms = (
        arccosine_log_envelope(1, dimension, degrees),
        np.log(down) + arccosine_log_envelope(0, dimension, degrees - 1),
        np.log1p(-down) + arccosine_log_envelope(0, dimension, degrees + 1),
    )
    return np.logaddexp.reduce(terms) - np.log(2)


def log_alternate_tail(log_envelope, dimension, degree, parity):
    """Log of the variance at the degrees of one parity beyond `degree`."""
    last = degree if (degree - parity) % 2 == 0 else degree - 1
    degrees, log_measure = degree_nodes(dimension, last, 2)
    return log_sum(log_envelope(degrees) + log_measure)


def _absolute_moment(power, dimension):
    """E|t|^m, t one coordinate of a uniform point of the sphere, by exact ratios."""
    if power % 2:
        # E|t| is 2/pi on the circle and 1/2 in three dimensions; d -> d+2 takes d/(d+1).
        below = np.arange(2 + dimension % 2, dimension, 2)
        moment = (0.5 if dimension % 2 else 2 / np.pi) * float(np.prod(below / (below + 1.0)))
    else:
        moment = 1.0
    for m in range(power % 2, power, 2):
        moment *= (m + 1) / (m + dimension)  # E|t|^(m+2) / E|t|^m
    return moment
