"""Row kernels on polynomials: moments, values and gradients, without a harmonic in sight.

Points are [d, n]. Rows are taken in blocks of `block` columns, a multiple of 32; the last
block is filled up with zeros. For each block all monomials are built in one buffer, row by
row as `plan` says (`MomentLayout.plan`); those of degree L and L-1 stand in staircase order
from row `staircase` on. A polynomial of degree 2L and 2L-1 is cut into `Tiles`.
"""

import numpy as np

from vish.sphere.compiled import compiled
from vish.sphere.tiles import (
    FIRST_TILE,
    TILE,
    aligned_rows,
    combinations,
    inner_products,
    multiply_rows,
    reverse_multiply_rows,
)

_FIRST_ROWS = 4 * FIRST_TILE  # first monomials kept in the nearest cache at a time


@compiled
def _padded(count, multiple):
    return -(-count // multiple) * multiple


@compiled
def _load_row(source, start, rows, target):
    """target = source[start : start + rows], zeros behind."""
    part = source[start : start + rows]
    for b in range(rows):
        target[b] = part[b]
    for b in range(rows, target.shape[0]):
        target[b] = 0.0


@compiled
def _load(points, start, x):
    """One block of points, and a row of ones; returns how many columns are real."""
    d, n = points.shape
    rows = min(x.shape[1], n - start)
    for i in range(d):
        _load_row(points[i], start, rows, x[i])
    x[d, :] = 1.0
    return rows


@compiled
def _store_row(source, rows, target, start):
    part = target[start : start + rows]
    for b in range(rows):
        part[b] = source[b]


@compiled
def _monomial_buffer(d, plan, block):
    """Room for the variables and all monomials, padded to whole tiles."""
    last = plan[plan.shape[0] - 1]
    values = aligned_rows(last[2] + last[3] + max(TILE, FIRST_TILE), block)
    values[:] = 0.0
    values[0] = 1.0
    return aligned_rows(d + 1, block), values


@compiled
def _build(x, plan, values):
    for step in range(plan.shape[0]):
        variable, below, size, above = plan[step]
        multiply_rows(x, variable, values, below, size, values, above)


@compiled
def _reverse_build(x, plan, values, adjoints, gradient):
    """Adjoints of the variables from those of the monomials (which are used up)."""
    for step in range(plan.shape[0] - 1, -1, -1):
        variable, below, size, above = plan[step]
        reverse_multiply_rows(x, variable, values, below, size, above, adjoints, gradient)


@compiled
def accumulate_moments(
    points, weights, targets, plan, staircase, first_rows, starts, block, sums, cross
):
    """Moments under the weights, in tiles, and sums of target times last monomial.

    sums += for every last monomial its weighted products with first monomials;
    cross [M, T] += last monomials times targets [T, n].
    """
    d, n = points.shape
    M, T = cross.shape
    n_tiles = starts.shape[0] - 1
    x, values = _monomial_buffer(d, plan, block)
    weight, target = aligned_rows(1, block), aligned_rows(_padded(T, FIRST_TILE), block)
    target[:] = 0.0
    first = aligned_rows(_FIRST_ROWS, block)
    target_sums = np.zeros((_padded(T, FIRST_TILE) // FIRST_TILE, n_tiles, FIRST_TILE * TILE))
    flat_target_sums = target_sums.reshape(-1)
    for start in range(0, n, block):
        rows = _load(points, start, x)
        _build(x, plan, values)
        _load_row(weights, start, rows, weight[0])
        for t in range(T):
            _load_row(targets[t], start, rows, target[t])
        for a in range(0, first_rows.shape[0], _FIRST_ROWS):
            size = min(_FIRST_ROWS, first_rows.shape[0] - a)
            for i in range(size):
                multiply_rows(weight, 0, values, staircase + first_rows[a + i], 1, first, i)
            for p in range(n_tiles):
                extent = (starts[p + 1] - starts[p]) // TILE
                if extent <= a:
                    break
                for i in range(0, min(size, extent - a), FIRST_TILE):
                    place = starts[p] + (a + i) * TILE
                    inner_products(first, i, values, staircase + p * TILE, sums, place)
        for t in range(0, T, FIRST_TILE):
            for p in range(n_tiles):
                place = (t // FIRST_TILE * n_tiles + p) * FIRST_TILE * TILE
                inner_products(target, t, values, staircase + p * TILE, flat_target_sums, place)
    for t in range(T):
        for m in range(M):
            column = t % FIRST_TILE * TILE + m % TILE
            cross[m, t] += target_sums[t // FIRST_TILE, m // TILE, column]


@compiled
def accumulate_products(features, weights, targets, block, gram, cross):
    """Products of features [n, M] with themselves and with targets, each pair once.

    gram[p, a, c] += sum weight feature[a] feature[p TILE + c] where the second is no less
    than the first; cross[p, t, c] += sum target[t] feature[p TILE + c]; both padded.
    """
    n, M = features.shape
    n_tiles, T = gram.shape[0], targets.shape[0]
    values, weight = aligned_rows(n_tiles * TILE, block), aligned_rows(1, block)
    first, target = aligned_rows(_FIRST_ROWS, block), aligned_rows(cross.shape[1], block)
    values[:], first[:], target[:] = 0.0, 0.0, 0.0
    gram_sums, cross_sums = gram.reshape(-1), cross.reshape(-1)
    for start in range(0, n, block):
        rows = min(block, n - start)
        _load_row(weights, start, rows, weight[0])
        for t in range(T):
            _load_row(targets[t], start, rows, target[t])
        for m in range(M):
            _load_row(features[:, m], start, rows, values[m])
        for a in range(0, M, _FIRST_ROWS):
            size = min(_FIRST_ROWS, M - a)
            multiply_rows(weight, 0, values, a, size, first, 0)
            for p in range(a // TILE, n_tiles):
                for i in range(0, size, FIRST_TILE):
                    place = (p * gram.shape[1] + a + i) * TILE
                    inner_products(first, i, values, p * TILE, gram_sums, place)
        for p in range(n_tiles):
            for t in range(0, T, FIRST_TILE):
                place = (p * cross.shape[1] + t) * TILE
                inner_products(target, t, values, p * TILE, cross_sums, place)


@compiled
def _in_fours(coefficients):
    """Coefficients [M, T] in groups of four.  -> [M / 4, T, 4], zeros behind"""
    M, T = coefficients.shape
    groups = np.zeros((_padded(M, 4) // 4, T, 4))
    for m in range(M):
        groups[m // 4, :, m % 4] = coefficients[m]
    return groups


@compiled(fastmath=True)
def _linear_of_block(values, staircase, groups, t, total):
    """total[b] = sum of coefficients times last monomials, four at a time.

    One function for all kernels, so that a mean has the same bits whatever comes with it.
    """
    total[:] = 0.0
    for group in range(groups.shape[0]):
        c, m = groups[group, t], staircase + 4 * group
        for b in range(total.shape[0]):
            lower = c[0] * values[m, b] + c[1] * values[m + 1, b]
            upper = c[2] * values[m + 2, b] + c[3] * values[m + 3, b]
            total[b] += lower + upper


@compiled
def evaluate_linear(points, coefficients, plan, staircase, block, out):
    """out[T, n] = coefficients [M, T] times the last monomials."""
    d, n = points.shape
    x, values = _monomial_buffer(d, plan, block)
    total, groups = np.empty(block), _in_fours(coefficients)
    for start in range(0, n, block):
        rows = _load(points, start, x)
        _build(x, plan, values)
        for t in range(groups.shape[1]):
            _linear_of_block(values, staircase, groups, t, total)
            _store_row(total, rows, out[t], start)


@compiled
def _load_weights(weights, start, rows, weight):
    for t in range(weights.shape[0]):
        _load_row(weights[t], start, rows, weight[t])


@compiled(fastmath=True)
def _add_linear(coefficients, weight, adjoints, first):
    """adjoints[first + m] += sum_t coefficients[m, t] weight[t]."""
    M, T = coefficients.shape
    for m in range(M):
        for t in range(T):
            for b in range(weight.shape[1]):
                adjoints[first + m, b] += coefficients[m, t] * weight[t, b]


@compiled(fastmath=True)
def pull_back_linear(points, coefficients, weights, plan, staircase, block, out):
    """out[d, n] = gradient of sum_t weights[t, n] (value t of `evaluate_linear`)."""
    d, n = points.shape
    x, values = _monomial_buffer(d, plan, block)
    gradient, adjoints = _monomial_buffer(d, plan, block)
    weight = np.zeros((weights.shape[0], block))
    for start in range(0, n, block):
        rows = _load(points, start, x)
        _build(x, plan, values)
        _load_weights(weights, start, rows, weight)
        adjoints[:] = 0.0
        _add_linear(coefficients, weight, adjoints, staircase)
        gradient[:] = 0.0
        _reverse_build(x, plan, values, adjoints, gradient)
        for i in range(d):
            _store_row(gradient[i], rows, out[i], start)


@compiled(fastmath=True)
def evaluate_forms(
    points, form, coefficients, plan, staircase, first_rows, starts, block, out, linear_out
):
    """out[n] = polynomial of degree 2L and 2L-1, its coefficients spread over tiles;
    linear_out[T, n] as of `evaluate_linear`, from the same monomials.
    """
    d, n = points.shape
    x, values = _monomial_buffer(d, plan, block)
    products = aligned_rows(TILE, block)
    total, groups = np.empty(block), _in_fours(coefficients)
    for start in range(0, n, block):
        rows = _load(points, start, x)
        _build(x, plan, values)
        for t in range(groups.shape[1]):
            _linear_of_block(values, staircase, groups, t, total)
            _store_row(total, rows, linear_out[t], start)
        total[:] = 0.0
        for p in range(starts.shape[0] - 1):
            extent = (starts[p + 1] - starts[p]) // TILE
            combinations(form, starts[p], first_rows, extent, values, staircase, products, 0)
            for c in range(TILE):
                for b in range(block):
                    total[b] += products[c, b] * values[staircase + p * TILE + c, b]
        _store_row(total, rows, out, start)


@compiled(fastmath=True)
def pull_back_forms(
    points, form, transposed, factors, coefficients, weights, plan, staircase, first_rows, starts,
    transposed_starts, block, values_out, out,
):  # fmt: skip
    """values_out[n]: the polynomial v of `evaluate_forms`; out[d, n]: the gradient of
    factors[n] v + sum_t weights[t, n] (value t of `evaluate_linear`).

    `transposed` holds the coefficients of `form` in tiles of first monomials.
    """
    d, n = points.shape
    x, values = _monomial_buffer(d, plan, block)
    gradient, adjoints = _monomial_buffer(d, plan, block)
    last_rows = np.arange(values.shape[0])
    products = aligned_rows(TILE, block)
    total, factor = np.empty(block), np.zeros(block)
    weight = np.zeros((weights.shape[0], block))
    for start in range(0, n, block):
        rows = _load(points, start, x)
        _build(x, plan, values)
        _load_row(factors, start, rows, factor)
        _load_weights(weights, start, rows, weight)
        total[:] = 0.0
        adjoints[:staircase] = 0.0
        for p in range(starts.shape[0] - 1):
            extent, place = (starts[p + 1] - starts[p]) // TILE, staircase + p * TILE
            combinations(form, starts[p], first_rows, extent, values, staircase, adjoints, place)
            for c in range(place, place + TILE):
                for b in range(block):
                    total[b] += adjoints[c, b] * values[c, b]
                    adjoints[c, b] *= factor[b]
        for p in range(transposed_starts.shape[0] - 1):
            extent = (transposed_starts[p + 1] - transposed_starts[p]) // TILE
            place = transposed_starts[p]
            combinations(transposed, place, last_rows, extent, values, staircase, products, 0)
            for c in range(min(TILE, first_rows.shape[0] - p * TILE)):
                row = adjoints[staircase + first_rows[p * TILE + c]]
                for b in range(block):
                    row[b] += factor[b] * products[c, b]
        _add_linear(coefficients, weight, adjoints, staircase)
        gradient[:] = 0.0
        _reverse_build(x, plan, values, adjoints, gradient)
        _store_row(total, rows, values_out, start)
        for i in range(d):
            _store_row(gradient[i], rows, out[i], start)
