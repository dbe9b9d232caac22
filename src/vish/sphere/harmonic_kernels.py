"""Row kernels of the harmonic recursion: values, and the reverse sweep for gradients.

Rows are taken in small blocks. Within a block the harmonics are stored one after another,
[M, block], so that every line of the recursion is a product of contiguous vectors; the
result is then transposed into the output. `points` are [d, n] (see `harmonics.py` for the
arrays that describe the recursion).
"""

import numpy as np

from vish.sphere.compiled import compiled


@compiled
def _block_rows(n_harmonics):
    """Rows per block: the harmonics of a block should fit in the second-level cache."""
    return max(16, min(128, 8 * (65536 // (8 * max(1, n_harmonics)))))


@compiled(fastmath=True)
def _circle(x, y, degree, values):
    """values[0] = 1; values[2m-1], values[2m] = Re, Im of (x + iy)^m."""
    n = x.shape[0]
    for i in range(n):
        values[0, i] = 1.0
    if degree == 0:
        return
    for i in range(n):
        values[1, i] = x[i]
        values[2, i] = y[i]
    for m in range(2, degree + 1):
        real, imaginary = values[2 * m - 3], values[2 * m - 2]
        for i in range(n):
            values[2 * m - 1, i] = real[i] * x[i] - imaginary[i] * y[i]
            values[2 * m, i] = real[i] * y[i] + imaginary[i] * x[i]


@compiled(fastmath=True)
def _polynomials(t, rho2, betas, out):
    """P_k / P_0 for all parents' degrees m and k = 1..L-m, one row after another."""
    L = betas.shape[0]
    n = t.shape[0]
    row = 0
    for m in range(L):
        beta = betas[m]
        for k in range(1, L - m + 1):
            inverse = 1 / beta[k]
            if k == 1:
                for i in range(n):
                    out[row, i] = t[i] * inverse
            elif k == 2:
                for i in range(n):
                    out[row, i] = (t[i] * out[row - 1, i] - beta[1] * rho2[i]) * inverse
            else:
                for i in range(n):
                    out[row, i] = (
                        t[i] * out[row - 1, i] - beta[k - 1] * rho2[i] * out[row - 2, i]
                    ) * inverse
            row += 1


@compiled(fastmath=True)
def _forward(points, parents, factors, steps, betas, values, polynomials, rho2):
    """All harmonics of one block, unscaled, in the order of computation."""
    d, n = points.shape
    degree = (steps[0] - 1) // 2
    _circle(points[0], points[1], degree, values)
    for i in range(n):
        rho2[i] = points[0, i] * points[0, i] + points[1, i] * points[1, i]
    for step in range(d - 2):
        t = points[step + 2]
        for i in range(n):
            rho2[i] += t[i] * t[i]
        _polynomials(t, rho2, betas[step], polynomials)
        for c in range(steps[step], steps[step + 1]):
            parent, factor = values[parents[c]], polynomials[factors[c]]
            for i in range(n):
                values[c, i] = parent[i] * factor[i]


@compiled
def evaluate_rows(points, parents, factors, steps, betas, columns, scales, out):
    """out[n, M] = scaled harmonics of the points [d, n], in the order of `columns`."""
    d, n = points.shape
    M = parents.shape[0]
    degree = (steps[0] - 1) // 2
    block = _block_rows(M)
    values = np.empty((M, block), points.dtype)
    polynomials = np.empty((degree * (degree + 1) // 2, block), points.dtype)
    rho2 = np.empty(block, points.dtype)
    x = np.empty((d, block), points.dtype)
    for start in range(0, n, block):
        rows = min(block, n - start)
        for i in range(d):
            for b in range(rows):
                x[i, b] = points[i, start + b]
            for b in range(rows, block):
                x[i, b] = 0.0
        _forward(x, parents, factors, steps, betas, values, polynomials, rho2)
        for first in range(0, rows, 8):
            last = min(first + 8, rows)
            for m in range(columns.shape[0]):
                source, scale = values[columns[m]], scales[m]
                for b in range(first, last):
                    out[start + b, m] = source[b] * scale


@compiled
def pull_back_rows(points, parents, factors, steps, betas, columns, scales, weights, out):
    """out[d, n] = gradient of sum_m weights[n, m] Y_m at the points [d, n]."""
    d, n = points.shape
    M = parents.shape[0]
    degree = (steps[0] - 1) // 2
    block = _block_rows(M)
    values = np.empty((M, block), points.dtype)
    adjoints = np.empty((M, block), points.dtype)
    shape = (degree * (degree + 1) // 2, block)
    polynomials, polynomial_adjoints = np.empty(shape, points.dtype), np.empty(shape, points.dtype)
    rho2 = np.empty(block, points.dtype)
    rho2_adjoint = np.empty(block, points.dtype)
    x, gradient = np.empty((d, block), points.dtype), np.empty((d, block), points.dtype)
    for start in range(0, n, block):
        rows = min(block, n - start)
        for i in range(d):
            for b in range(rows):
                x[i, b] = points[i, start + b]
            for b in range(rows, block):
                x[i, b] = 0.0
        _forward(x, parents, factors, steps, betas, values, polynomials, rho2)
        adjoints[:] = 0.0
        for m in range(columns.shape[0]):
            for b in range(rows):
                adjoints[columns[m], b] = weights[start + b, m] * scales[m]
        gradient[:] = 0.0
        _reverse(
            x, parents, factors, steps, betas, values, adjoints,
            polynomials, polynomial_adjoints, rho2, rho2_adjoint, gradient,
        )  # fmt: skip
        for i in range(d):
            for b in range(rows):
                out[i, start + b] = gradient[i, b]


@compiled(fastmath=True)
def _reverse(
    x, parents, factors, steps, betas, values, adjoints,
    polynomials, polynomial_adjoints, rho2, rho2_adjoint, gradient,
):  # fmt: skip
    """The forward sweep of one block, backwards: last coordinate first."""
    d, n = x.shape
    degree = (steps[0] - 1) // 2
    for step in range(d - 3, -1, -1):
        t = x[step + 2]
        rho2[:] = 0.0
        for i in range(step + 3):
            for b in range(n):
                rho2[b] += x[i, b] * x[i, b]
        _polynomials(t, rho2, betas[step], polynomials)
        polynomial_adjoints[:] = 0.0
        for c in range(steps[step + 1] - 1, steps[step] - 1, -1):
            parent, factor = parents[c], factors[c]
            for b in range(n):
                adjoints[parent, b] += adjoints[c, b] * polynomials[factor, b]
                polynomial_adjoints[factor, b] += adjoints[c, b] * values[parent, b]
        rho2_adjoint[:] = 0.0
        _reverse_polynomials(
            t, rho2, betas[step], polynomials, polynomial_adjoints, gradient[step + 2], rho2_adjoint
        )
        for i in range(step + 3):
            for b in range(n):
                gradient[i, b] += 2 * x[i, b] * rho2_adjoint[b]
    for m in range(1, degree + 1):  # grad of Re, Im (x + iy)^m is m times the power m - 1
        for b in range(n):
            real, imaginary = values[2 * m - 3, b] if m > 1 else 1.0, 0.0
            if m > 1:
                imaginary = values[2 * m - 2, b]
            u, v = adjoints[2 * m - 1, b], adjoints[2 * m, b]
            gradient[0, b] += m * (u * real + v * imaginary)
            gradient[1, b] += m * (v * real - u * imaginary)


@compiled(fastmath=True)
def _reverse_polynomials(t, rho2, betas, polynomials, adjoints, t_adjoint, rho2_adjoint):
    """Adjoints of t and rho2 from those of P_k / P_0 (which are used up)."""
    L = betas.shape[0]
    n = t.shape[0]
    for m in range(L - 1, -1, -1):
        beta = betas[m]
        first = m * L - m * (m - 1) // 2
        for k in range(L - m, 0, -1):
            row = first + k - 1
            for b in range(n):
                adjoint = adjoints[row, b] / beta[k]
                if k == 1:
                    t_adjoint[b] += adjoint
                else:
                    t_adjoint[b] += adjoint * polynomials[row - 1, b]
                    adjoints[row - 1, b] += adjoint * t[b]
                    if k == 2:
                        rho2_adjoint[b] -= adjoint * beta[1]
                    else:
                        rho2_adjoint[b] -= adjoint * beta[k - 1] * polynomials[row - 2, b]
                        adjoints[row - 2, b] -= adjoint * beta[k - 1] * rho2[b]
