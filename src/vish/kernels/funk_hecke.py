"""Funk-Hecke: the levels of any zonal shape, by quadrature in the angle.

.. math:: a_l = \\int_0^\\pi \\kappa(\\cos\\theta)\\, P_l(\\cos\\theta)\\,
          w(\\theta)\\, d\\theta, \\qquad w(\\theta) \\propto \\sin^{d-2}\\theta,

by Gauss-Legendre on panels in the angle, halved until the shape is resolved on each. In
the angle the usual kinks of a kernel at cosine 1 are smooth or, for deep kernels, end
in ever smaller panels; kinks inside the interval are found in the same way. The panels
are narrow enough for the harmonics and the weight from the start.
"""

import numpy as np

from vish.kernels.gegenbauer import zonal_polynomials

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(32)
# Legendre coefficients of a function known at the 32 points, the last six only.
_LAST = np.arange(26, 32)
_TRAILING = (
    (np.polynomial.legendre.legvander(_POINTS, 31)[:, _LAST] * _WEIGHTS[:, None])
    * (2 * _LAST + 1)
    / 2
)
_RESOLVED = 1e-16  # error of one panel, as part of the value at angle 0
_MOST_HALVINGS = 56
_MOST_PANELS = 20_000


def level_coefficients(shape_of_angle, dimension, degree):
    """Coefficients a_0 ... a_degree of a shape, a function of arrays of angles.

    The error is of the order of the rounding of the largest value times the root mean
    square of P_l, which is N(d, l)^(-1/2).
    """
    angles, weights, values = _resolved_nodes(shape_of_angle, dimension, degree)
    weighted = weights * values
    versines = 2 * np.sin(np.minimum(angles, np.pi - angles) / 2) ** 2
    polynomials = zonal_polynomials(np.cos(angles), dimension, degree, versines)
    return np.array([weighted @ polynomial for polynomial in polynomials])


def _resolved_nodes(shape_of_angle, dimension, degree):
    """Angles, probability weights and shape values at the nodes of all panels."""
    # 32 nodes take a frequency of 20 per panel: P_l has frequency l, and the weight is a
    # bump of width d^(-1/2) whose spectrum ends near 8 d^(1/2).
    frequency = degree + 8 * np.sqrt(dimension)
    edges = np.linspace(0.0, np.pi, 2 + int(frequency * np.pi / 40))
    left, width = edges[:-1], np.diff(edges)
    scale = np.max(np.abs(shape_of_angle(np.zeros(1))))
    done: list[tuple[np.ndarray, ...]] = []
    panels = 0
    for halving in range(_MOST_HALVINGS + 1):
        angles = left[:, None] + width[:, None] * (_POINTS + 1) / 2  # [panels, 32]
        values = shape_of_angle(angles.ravel()).reshape(angles.shape)
        weights = width[:, None] / 2 * _WEIGHTS * _weight(angles, dimension)
        unresolved = np.abs(values @ _TRAILING).max(axis=1) * weights.sum(axis=1)
        rough = (unresolved > _RESOLVED * scale) & (halving < _MOST_HALVINGS)
        smooth = ~rough
        panels += int(np.count_nonzero(smooth))
        done.append(tuple(part[smooth].ravel() for part in (angles, weights, values)))
        if not rough.any():
            break
        if panels + np.count_nonzero(rough) > _MOST_PANELS:
            raise ValueError(
                f"the shape is not resolved by {_MOST_PANELS} panels in the angle; it must "
                "be a piecewise smooth function of the cosine, without noise"
            )
        width = np.repeat(width[rough] / 2, 2)
        left = np.repeat(left[rough], 2)
        left[1::2] += width[1::2]
    angles, weights, values = (np.concatenate(part) for part in zip(*done, strict=True))
    order = np.argsort(angles)  # the same sum whatever the order of halving
    return angles[order], (weights / weights.sum())[order], values[order]


def _weight(angles, dimension):
    """sin^(d-2), times about the constant that makes it a probability density."""
    height = np.sqrt(max(dimension - 2, 1) / (2 * np.pi))
    return height * np.exp((dimension - 2) * np.log(np.sin(angles)))
