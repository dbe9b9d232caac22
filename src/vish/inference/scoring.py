r"""Raising the evidence of fixed statistics by its average information.

In the log variances of the levels and of the noise, steps by gradients are slow: the noise is
told by every row, the shape of the spectrum by a few harmonics. The average of the observed and
the expected information,

.. math:: A_{ij} = \tfrac12\, y^\top K^{-1} K_i K^{-1} K_j K^{-1} y

with :math:`K_i` the derivative of the covariance of the targets, scales them, and costs one more
solution with the factor that the evidence has already made. About ten steps are enough.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vish.inference.evidence import Evidence
from vish.inference.statistics import NormalEquations

_ENOUGH = 1e-4  # rise of the log evidence that ends the climb
_ROUNDING = 1e-13  # of the log evidence, a rise that is not one
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e9
_LONGEST_STEP = 3.0  # in the log of any parameter


class Slope(NamedTuple):
    """A log density at a point, with its gradient and information."""

    value: float
    gradient: np.ndarray  # [P]
    information: np.ndarray  # [P, P], positive semidefinite


def average_information(
    equations: NormalEquations, log_spectrum: np.ndarray, noise: np.ndarray, result: Evidence
) -> np.ndarray:
    """A, in log a_0 .. log a_L, log delta and the log noise of every target.  [L+2+T, L+2+T]"""
    degrees, n_levels = equations.degrees, len(log_spectrum) - 1
    tail = float(np.exp(log_spectrum[-1])) * equations.radii
    information = np.zeros((n_levels + 1 + len(noise),) * 2)
    for t, (tau2, factor) in enumerate(zip(noise, result.factors, strict=True)):
        mu, place = result.means[:, t], n_levels + 1 + t
        z = np.divide(mu, factor.scales, out=np.zeros_like(mu), where=factor.scales > 0)
        by_level = np.zeros((len(z), n_levels))
        by_level[np.arange(len(z)), degrees] = z
        solved = factor.solve(by_level)
        residual = equations.squares[t] - equations.cross[:, t] @ mu - tau2 * (z @ z)
        information[:n_levels, :n_levels] += by_level.T @ (by_level - solved) / 2
        shared = by_level.T @ solved.sum(axis=1) / 2
        information[:n_levels, place] = information[place, :n_levels] = shared
        own = max(residual, 0.0) / (2 * tau2) - shared.sum()
        price = tail / (2 * tau2)  # of the tail: the bound loses this
        information[place, place] = max(own, 0.0) + price
        information[n_levels, n_levels] += price
        information[n_levels, place] = information[place, n_levels] = -price
    return information


def climb(
    at: Callable[[np.ndarray], Slope], start: np.ndarray, bounds: np.ndarray, max_iter: int
) -> np.ndarray:
    """The point where a log density rises no more, from a start, within bounds.  [P] -> [P]

    Damped steps: as bold as the last one allows.

    Parameters
    ----------
    at : callable
        From a point to its `Slope`.
    bounds : array of shape (P, 2)
    max_iter : int
        Most points looked at.
    """
    point, damping = np.clip(start, *bounds.T), _FIRST_DAMPING
    here = at(point)
    for _ in range(max_iter):
        low, high = point <= bounds[:, 0], point >= bounds[:, 1]
        free = ~(low & (here.gradient < 0)) & ~(high & (here.gradient > 0))
        if not free.any() or damping > _MOST_DAMPING:
            break
        information = here.information[np.ix_(free, free)]
        information = information + np.diag(damping * (1 + information.diagonal()))
        step = np.zeros_like(point)
        step[free] = np.linalg.solve(information, here.gradient[free])
        step /= max(1.0, np.abs(step).max() / _LONGEST_STEP)
        there = np.clip(point + step, *bounds.T)
        tried = at(there)
        rise = tried.value - here.value
        if not rise > _ROUNDING * abs(here.value):
            damping = max(10 * damping, _FIRST_DAMPING)
            continue
        point, here = there, tried
        if rise < _ENOUGH:
            break
        damping = max(damping / 10, _LEAST_DAMPING)
    return point
