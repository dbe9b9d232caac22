r"""A Gaussian process conditioned on a few rows near each query.

For a query with neighbours N, in units of the process' variance, with :math:`\rho` the correlation
and :math:`\nu_i` the noise of row i,

.. math::

    (R_{NN} + \mathrm{diag}\,\nu)\, w = c, \qquad
    \text{mean} = w \cdot r_N, \qquad \text{variance} = 1 - w \cdot c, \qquad
    \text{misfit} = r_N^\top (R_{NN} + \mathrm{diag}\,\nu)^{-1} r_N

from one Cholesky factor L: with :math:`a = L^{-1} c` and :math:`b = L^{-1} r_N` they are
:math:`a \cdot b`, :math:`1 - a \cdot a` and :math:`b \cdot b`. The misfit over k says how large
the variance is here.

All systems have one size, so `LANES` queries are solved at once, side by side in the last axis:
every inner loop is a vector instruction.
"""

import numpy as np

from vish.sphere.compiled import compiled

LANES = 8
_LEAST_PIVOT = 1e-14
_LARGEST = 200.0  # exp(-200) is nothing


@compiled
def krige(queries, points, residuals, noise, lengthscale, smoothness, mean, variance, misfit):
    """Condition every query on its neighbours.

    Parameters
    ----------
    queries : [m, p]
    points : [m, k, p]
    residuals : [m, k, T]
    noise : [m, k], of the neighbours; infinite for a row that does not count
    lengthscale, smoothness : float; .5, 1.5 or 2.5
    mean : [m, T], filled
    variance : [m], filled
    misfit : [m, T], filled
    """
    m, k, p = points.shape
    T = residuals.shape[2]
    places = np.empty((k + 1, p, LANES))
    room = np.empty((k + 1) * k // 2 * LANES)
    # k rows of the matrix, then c, then the residuals; the factor is made in place
    system = np.empty((k + 1 + T, k + 1, LANES))
    for start in range(0, m, LANES):
        _gather(queries, points, residuals, start, lengthscale, places, system)
        _correlations(places, smoothness, room, system)
        _add_noise(noise, start, system)
        _factor(system)
        for lane in range(min(LANES, m - start)):
            row = start + lane
            explained = 0.0
            for j in range(k):
                explained += system[k, j, lane] ** 2
            variance[row] = min(max(1.0 - explained, 0.0), 1.0)
            for t in range(T):
                total, squares = 0.0, 0.0
                for j in range(k):
                    value = system[k + 1 + t, j, lane]
                    total += system[k, j, lane] * value
                    squares += value * value
                mean[row, t], misfit[row, t] = total, squares


@compiled
def _gather(queries, points, residuals, start, lengthscale, places, system):
    """Coordinates in lengthscales, and residuals, lane by lane; the last query fills up."""
    m, k, p = points.shape
    for lane in range(LANES):
        row = min(start + lane, m - 1)
        for j in range(p):
            places[k, j, lane] = 0.0
        for i in range(k):
            for j in range(p):
                places[i, j, lane] = (points[row, i, j] - queries[row, j]) / lengthscale
            for t in range(residuals.shape[2]):
                system[k + 1 + t, i, lane] = residuals[row, i, t]


@compiled
def _correlations(places, smoothness, room, system):
    """rho of all pairs of rows, and of the query with every row: the lower triangle."""
    n, p, _ = places.shape
    pair = 0
    for i in range(n):
        for j in range(i):
            for lane in range(LANES):
                room[pair + lane] = 0.0
            for c in range(p):
                for lane in range(LANES):
                    gap = places[i, c, lane] - places[j, c, lane]
                    room[pair + lane] += gap * gap
            pair += LANES
    correlate(room, smoothness)
    pair = 0
    for i in range(n):
        for j in range(i):
            for lane in range(LANES):
                system[i, j, lane] = room[pair + lane]
            pair += LANES
        for lane in range(LANES):
            system[i, i, lane] = 1.0


@compiled
def correlate(squares, smoothness):
    """Matern correlations in place of squared distances in lengthscales.  [n]

    exp(-a) = exp(-a / 256)^256: a short series and eight squarings, vector instructions all.
    """
    factor = 2.0 * smoothness
    linear = 0.0 if smoothness == 0.5 else 1.0
    square = 1.0 / 3.0 if smoothness == 2.5 else 0.0
    for i in range(len(squares)):
        a = min(np.sqrt(factor * squares[i]), _LARGEST)
        t = a * (-1 / 256)
        e = t * (1 / 14)
        e = t * (1 / 13) * (1.0 + e)
        e = t * (1 / 12) * (1.0 + e)
        e = t * (1 / 11) * (1.0 + e)
        e = t * (1 / 10) * (1.0 + e)
        e = t * (1 / 9) * (1.0 + e)
        e = t * (1 / 8) * (1.0 + e)
        e = t * (1 / 7) * (1.0 + e)
        e = t * (1 / 6) * (1.0 + e)
        e = t * (1 / 5) * (1.0 + e)
        e = t * (1 / 4) * (1.0 + e)
        e = t * (1 / 3) * (1.0 + e)
        e = t * (1 / 2) * (1.0 + e)
        e = t * (1.0 + e)  # exp(t) - 1, whose digits the squarings keep
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        e = e * (2.0 + e)
        squares[i] = (1.0 + a * (linear + square * a)) * max(1.0 + e, 0.0)


@compiled
def _add_noise(noise, start, system):
    m, k = noise.shape
    for lane in range(LANES):
        row = min(start + lane, m - 1)
        for i in range(k):
            if noise[row, i] < np.inf:
                system[i, i, lane] += noise[row, i]
                continue
            for j in range(i):  # a row that does not count: of no correlation, and residual 0
                system[i, j, lane] = 0.0
            for j in range(i + 1, system.shape[0]):
                system[j, i, lane] = 0.0


@compiled
def _factor(system):
    """Cholesky factor of the first k rows, and all further rows times its inverse transpose."""
    rows, k = system.shape[0], system.shape[1] - 1
    for c in range(k):
        _subtract_products(system, c, c)
        for lane in range(LANES):
            # With any noise the pivots are positive; rounding may not make them less.
            system[c, c, lane] = 1.0 / np.sqrt(max(system[c, c, lane], _LEAST_PIVOT))
        for i in range(c + 1, rows):
            _subtract_products(system, i, c)
            for lane in range(LANES):
                system[i, c, lane] *= system[c, c, lane]


@compiled(fastmath=True)
def _subtract_products(system, i, c):
    """system[i, c] -= sum over j < c of system[i, j] system[c, j]; a lane each, in registers."""
    a, b, d, e, f, g, h, o = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    row, other = system[i], system[c]
    for j in range(c):
        a += row[j, 0] * other[j, 0]
        b += row[j, 1] * other[j, 1]
        d += row[j, 2] * other[j, 2]
        e += row[j, 3] * other[j, 3]
        f += row[j, 4] * other[j, 4]
        g += row[j, 5] * other[j, 5]
        h += row[j, 6] * other[j, 6]
        o += row[j, 7] * other[j, 7]
    target = row[c]
    target[0] -= a
    target[1] -= b
    target[2] -= d
    target[3] -= e
    target[4] -= f
    target[5] -= g
    target[6] -= h
    target[7] -= o
