r"""The best means of several latent functions while their covariances stay as they are.

A pass over sites solves every latent function on its own, though the likelihood ties their means
together: such steps are many, and each costs a factorisation per function. With the variances held
the bound is concave in the means alone,

.. math:: F(u) = \sum_n \omega_n E \log p(y_n \mid m_n, v_n) - \tfrac12 \sum_k u_k^\top P u_k,
          \qquad m = \Psi P u,

with P the prior covariance of the weights or, by rows, of f there (:math:`\Psi P = P = K`). In the
inner product of P its gradient is :math:`\rho = \Psi^\top (\omega g) - u`. L-BFGS climbs along it
(Nocedal and Wright, 2006, algorithm 7.4), from the inverse of the curvature that the sites have,
:math:`\rho - G \Sigma \rho`; no matrix is factored. Where the gradient is 0, a pass leaves the
means where they are, whatever the precisions of its sites.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_MEMORY, _STEPS, _HALVINGS = 10, 50, 20
_SUFFICIENT = 1e-4  # of the rise that the slope promises


class Slope(NamedTuple):
    """The bound at a point, its gradient, and that times P."""

    value: float
    gradient: np.ndarray  # rho, [M, K]
    image: np.ndarray  # P rho, [M, K]


class _Pair(NamedTuple):
    """A step, by how much the gradient fell along it, and the inverse of their product."""

    step: np.ndarray
    image_of_step: np.ndarray
    fall: np.ndarray
    image_of_fall: np.ndarray
    inverse: float


def best_means(
    start: np.ndarray,
    slope: Callable[[np.ndarray], Slope],
    prior: Callable[[np.ndarray], np.ndarray],
    curbed: Callable[[np.ndarray], np.ndarray],
    tolerance: float,
) -> np.ndarray:
    """Climb until a step promises less than a relative rise of `tolerance`.

    Parameters
    ----------
    start : array of shape (M, K)
    slope : callable
        Value and gradient at a point.
    prior : callable
        P times a point.
    curbed : callable
        A gradient divided by the curvature that the sites have.
    tolerance : float
    """
    point, at = start, slope(start)
    pairs: list[_Pair] = []
    for _ in range(_STEPS):
        direction = _direction(at, pairs, curbed)
        rise = float(np.sum(at.image * direction))
        if not rise > tolerance * (1 + abs(at.value)):
            break
        length, found = 1.0, None
        for _ in range(_HALVINGS):
            trial = slope(point + length * direction)
            if trial.value >= at.value + _SUFFICIENT * length * rise:
                found = trial
                break
            length /= 2
        if found is None:  # what is left is rounding
            break
        step, fall = length * direction, at.gradient - found.gradient
        image_of_step, image_of_fall = prior(step), at.image - found.image
        product = float(np.sum(image_of_step * fall))
        if product > 0:
            pairs.append(_Pair(step, image_of_step, fall, image_of_fall, 1 / product))
            del pairs[:-_MEMORY]
        point, at = point + step, found
    return point


def _direction(
    at: Slope, pairs: list[_Pair], curbed: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The two loops of algorithm 7.4, products being those of P."""
    direction, shares = at.gradient, []
    for pair in reversed(pairs):
        shares.append(pair.inverse * float(np.sum(pair.image_of_step * direction)))
        direction = direction - shares[-1] * pair.fall
    direction = curbed(direction)
    for pair, share in zip(pairs, reversed(shares), strict=True):
        back = pair.inverse * float(np.sum(pair.image_of_fall * direction))
        direction = direction + (share - back) * pair.step
    return direction
