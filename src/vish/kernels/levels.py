"""Sums over all degrees: whole numbers first, then an integral.

For levels b(l) = a_l N(d, l) that are smooth in l, the midpoint form of Euler-Maclaurin
gives

.. math:: \\sum_{l>K} b(l) = \\int_{K+1/2}^\\infty b(x)\\,dx
          + \\tfrac{1}{24} b'(K+\\tfrac12) + \\dots

The integral is taken in :math:`v = \\log\\frac{x+\\alpha}{K+1/2+\\alpha}`, where a power
law is an exponential, by Gauss-Legendre on panels of doubling width. So an infinite sum
is a finite one over *nodes*, with a positive measure that does not depend on the kernel.
"""

from functools import lru_cache

import numpy as np

from vish.sphere.levels import log_level_size_at

_PANELS = np.concatenate([[0.0], 2.0 ** np.arange(-3, 9), [335.0]])  # x up to 1e148
_NODES_PER_PANEL = 16


@lru_cache(maxsize=64)
def degree_nodes(dimension, degree, step=1):
    """Degrees x and log measures m with sum_l a_l N(d,l) = sum_i exp(m_i) a(x_i).

    The sum runs over l = 0, 1, ... (`step` 1) or, with `step` s, over the degrees
    beyond `degree`: degree + s, degree + 2s, ... The first ``degree + 1`` nodes of
    `step` 1 are the degrees 0 to `degree`, and the others carry the tail.
    """
    alpha = (dimension - 2) / 2
    direct = max(300, 8 * dimension)  # terms taken one by one beyond `degree`
    first = 0 if step == 1 else degree + step
    last = degree + step * direct
    whole = np.arange(first, last + step + 1, step, dtype=np.float64)
    whole_weights = np.ones_like(whole)
    whole_weights[-2:] = 23 / 24, 1 / 24  # the b' term, as a difference

    points, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    width = np.diff(_PANELS)[:, None] / 2
    v = (_PANELS[:-1, None] + width * (points + 1)).ravel()
    edge = last + step / 2 + alpha
    beyond = edge * np.exp(v) - alpha
    log_weights = np.log((width * weights).ravel()) + v + np.log(edge / step)

    nodes = np.concatenate([whole, beyond])
    log_measure = np.concatenate([np.log(whole_weights), log_weights])
    log_measure += log_level_size_at(dimension, nodes)
    nodes.setflags(write=False)
    log_measure.setflags(write=False)
    return nodes, log_measure


def log_sum(terms):
    """log of the sum of exp(terms); -inf for no terms. SciPy's takes twenty times as long."""
    terms = np.asarray(terms, dtype=np.float64)
    top = terms.max(initial=-np.inf)
    return float(top + np.log(np.exp(terms - top).sum())) if np.isfinite(top) else float(top)


def check_convergence(owner, log_terms, log_total):
    """Refuse levels whose sum has not converged at the last panel (degree 1e148)."""
    if log_sum(log_terms[-_NODES_PER_PANEL:]) > log_total + np.log(1e-5):
        raise ValueError(
            f"{owner}: the levels decay too slowly for a finite variance; they must fall "
            "faster than 1/(l N(d,l)) (for Matern, take nu of at least 0.03)"
        )
