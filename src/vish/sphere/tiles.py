"""Register tiles: the inner loops of every polynomial kernel.

``inner_products``  out[a, c] += sum_columns first[a] last[c]     for 4 x TILE numbers
``combinations``    out[c] = sum_a form[a, c] source[rows[a]]     for TILE rows
``multiply_rows``   target[above + row] = x[variable] source[below + row], and its reverse

Compilers do not find a register tile by themselves, so these are written as vector
instructions: the accumulators, each a vector of rows, stay in registers while a loop runs
over what is summed. 4 x 6 accumulators fill the 32 registers of AVX-512, 4 x 3 the 16 of
narrower machines. Blocks have a multiple of 32 rows and lie on cache lines (`aligned_rows`).
"""

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import types
from numba.extending import intrinsic

from vish.sphere.compiled import compiled

_WIDE = bool(get_host_cpu_features().get("avx512f"))
_LANES = 8 if _WIDE else 4
TILE = 6 if _WIDE else 3
FIRST_TILE = 4
BLOCK_MULTIPLE = 32

_INT, _DOUBLE = ir.IntType(64), ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, _LANES)
_ZERO = ir.Constant(_VECTOR, [0.0] * _LANES)


class _Matrix:
    """Addresses and vector loads of a C-ordered float64 array, while building code."""

    def __init__(self, context, builder, array_type, value):
        array = context.make_array(array_type)(context, builder, value)
        self.builder = builder
        self.start = builder.ptrtoint(array.data, _INT)
        self.stride = builder.extract_value(array.strides, 0)
        self.row_bytes = builder.mul(
            builder.extract_value(array.shape, array_type.ndim - 1), _integer(8)
        )

    def row(self, number):
        """Address of a row (of a vector: of a number)."""
        return self.builder.add(self.start, self.builder.mul(self.stride, number))

    def load(self, address, kind=_VECTOR):
        return self.builder.load(self.builder.inttoptr(address, kind.as_pointer()), align=8)

    def store(self, address, value):
        self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer()), align=8)


def _integer(value):
    return ir.Constant(_INT, value)


def _multiply_add(builder, a, b, c):
    product = builder.fmul(a, b, flags=("contract",))
    return builder.fadd(c, product, flags=("contract",))


def _sum_loop(builder, stop, step, n_accumulators, body):
    """for offset in range(0, stop, step): accumulators = body(offset, accumulators)"""
    before = builder.block
    loop, after = (builder.append_basic_block(name) for name in ("tile", "tile_end"))
    builder.branch(loop)
    builder.position_at_end(loop)
    offset = builder.phi(_INT)
    offset.add_incoming(_integer(0), before)
    accumulators = [builder.phi(_VECTOR) for _ in range(n_accumulators)]
    sums = body(offset, accumulators)
    following = builder.add(offset, step)
    builder.cbranch(builder.icmp_signed("<", following, stop), loop, after)
    offset.add_incoming(following, loop)
    for accumulator, total in zip(accumulators, sums, strict=True):
        accumulator.add_incoming(_ZERO, before)
        accumulator.add_incoming(total, loop)
    builder.position_at_end(after)
    return sums


def _matrices(context, builder, signature, args):
    """The arrays among the arguments as `_Matrix`, the integers as they are."""
    return [
        _Matrix(context, builder, kind, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, args, strict=True)
    ]


def _strip(builder, column):
    """Byte offsets of the vectors of columns column..column+31."""
    start = builder.mul(column, _integer(8))
    lanes = [_integer(8 * _LANES * v) for v in range(BLOCK_MULTIPLE // _LANES)]
    return [builder.add(start, lane) for lane in lanes]


def _broadcast(builder, scalar):
    lane = ir.Constant(ir.IntType(32), 0)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
    vector = builder.insert_element(_ZERO, scalar, lane)
    return builder.shuffle_vector(vector, vector, mask)


def _totals(builder, vectors):
    """One vector with the sums of as many vectors as it has lanes.

    Neighbours are added while they are interleaved: three steps for eight vectors, where the
    sum of each by itself would take three for every one.
    """
    half = 1
    while len(vectors) > 1:
        groups = range(0, _LANES, 2 * half)
        lower = [g + lane for g in groups for lane in (*range(half), *range(_LANES, _LANES + half))]
        upper = [lane + half for lane in lower]
        vectors = [
            builder.fadd(_interleaved(builder, a, b, lower), _interleaved(builder, a, b, upper))
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        half *= 2
    return vectors[0]


def _interleaved(builder, a, b, lanes):
    """The named lanes of two vectors, those of the second counted on."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), lanes))


@intrinsic
def inner_products(_, first, a, last, b, out, start):
    """out[start :][:4, :TILE] += first[a : a+4] @ last[b : b+TILE].T, over the whole block.

    `out` is a vector whose numbers from `start` on are rows of TILE numbers.
    """

    def generate(context, builder, signature, args):
        f, a, l, b, o, start = _matrices(context, builder, signature, args)
        f_rows = [f.row(builder.add(a, _integer(i))) for i in range(FIRST_TILE)]
        l_rows = [l.row(builder.add(b, _integer(c))) for c in range(TILE)]

        def body(offset, sums):
            right = [l.load(builder.add(row, offset)) for row in l_rows]
            result = []
            for i, row in enumerate(f_rows):
                left = f.load(builder.add(row, offset))
                result += [
                    _multiply_add(builder, left, right[c], sums[i * TILE + c]) for c in range(TILE)
                ]
            return result

        sums = _sum_loop(builder, f.row_bytes, _integer(8 * _LANES), FIRST_TILE * TILE, body)
        for i in range(0, len(sums), _LANES):
            address = o.row(builder.add(start, _integer(i)))
            totals = _totals(builder, sums[i : i + _LANES])
            o.store(address, builder.fadd(o.load(address), totals))
        return context.get_dummy_value()

    return types.void(*_signature(first, a, last, b, out, start)), generate


@intrinsic
def _combine_columns(_, form, start, rows, n, source, skip, out, target, column):
    """out[target+c, 32 columns] = sum_a form[start + a TILE + c] source[skip + rows[a]]."""

    def generate(context, builder, signature, args):
        m, start, index, n, s, skip, o, target, column = _matrices(
            context, builder, signature, args
        )
        strip = _strip(builder, column)
        first_coefficient = m.row(start)

        def body(a, sums):
            row = builder.load(builder.inttoptr(index.row(a), _INT.as_pointer()), align=8)
            address = s.row(builder.add(row, skip))
            right = [s.load(builder.add(address, lane)) for lane in strip]
            coefficients = builder.add(first_coefficient, builder.mul(a, _integer(8 * TILE)))
            result = []
            for c in range(TILE):
                scalar = m.load(builder.add(coefficients, _integer(8 * c)), _DOUBLE)
                left = _broadcast(builder, scalar)
                mine = sums[c * len(strip) : (c + 1) * len(strip)]
                result += [
                    _multiply_add(builder, left, value, total)
                    for value, total in zip(right, mine, strict=True)
                ]
            return result

        sums = _sum_loop(builder, n, _integer(1), TILE * len(strip), body)
        for i, vector in enumerate(sums):
            row = o.row(builder.add(target, _integer(i // len(strip))))
            o.store(builder.add(row, strip[i % len(strip)]), vector)
        return context.get_dummy_value()

    arguments = (form, start, rows, n, source, skip, out, target, column)
    return types.void(*_signature(*arguments)), generate


@intrinsic
def _multiply_columns(_, x, variable, source, below, size, target, above, column):
    """target[above + row] = x[variable] * source[below + row], in 32 columns."""

    def generate(context, builder, signature, args):
        x, variable, s, below, size, t, above, column = _matrices(context, builder, signature, args)
        strip = _strip(builder, column)
        factors = [x.load(builder.add(x.row(variable), lane)) for lane in strip]

        def body(row, _):
            source_row, target_row = s.row(builder.add(below, row)), t.row(builder.add(above, row))
            products = [
                builder.fmul(factor, s.load(builder.add(source_row, lane)))
                for factor, lane in zip(factors, strip, strict=True)
            ]
            for lane, product in zip(strip, products, strict=True):
                t.store(builder.add(target_row, lane), product)
            return []

        _sum_loop(builder, size, _integer(1), 0, body)
        return context.get_dummy_value()

    arguments = (x, variable, source, below, size, target, above, column)
    return types.void(*_signature(*arguments)), generate


@intrinsic
def _reverse_columns(_, x, variable, source, below, size, above, adjoints, gradient, column):
    """Reverse of `_multiply_columns`: adds to adjoints[below :] and gradient[variable]."""

    def generate(context, builder, signature, args):
        x, variable, s, below, size, above, d, g, column = _matrices(
            context, builder, signature, args
        )
        strip = _strip(builder, column)
        factors = [x.load(builder.add(x.row(variable), lane)) for lane in strip]

        def body(row, sums):
            source_row = s.row(builder.add(below, row))
            lower, upper = d.row(builder.add(below, row)), d.row(builder.add(above, row))
            result = []
            for lane, factor, total in zip(strip, factors, sums, strict=True):
                adjoint = d.load(builder.add(upper, lane))
                address = builder.add(lower, lane)
                d.store(address, _multiply_add(builder, adjoint, factor, d.load(address)))
                value = s.load(builder.add(source_row, lane))
                result.append(_multiply_add(builder, adjoint, value, total))
            return result

        sums = _sum_loop(builder, size, _integer(1), len(strip), body)
        for lane, total in zip(strip, sums, strict=True):
            address = builder.add(g.row(variable), lane)
            g.store(address, builder.fadd(g.load(address), total))
        return context.get_dummy_value()

    arguments = (x, variable, source, below, size, above, adjoints, gradient, column)
    return types.void(*_signature(*arguments)), generate


def _signature(*kinds):
    """Arrays as they come, every integer as int64."""
    return [kind if isinstance(kind, types.Array) else types.int64 for kind in kinds]


@compiled
def combinations(form, start, rows, n, source, skip, out, target):
    """out[target + c] = sum_{a < n} form[start + a TILE + c] source[skip + rows[a]]."""
    for column in range(0, out.shape[1], BLOCK_MULTIPLE):
        _combine_columns(form, start, rows, n, source, skip, out, target, column)


@compiled
def multiply_rows(x, variable, source, below, size, target, above):
    """target[above + row] = x[variable] * source[below + row] for `size` rows of a block."""
    for column in range(0, source.shape[1], BLOCK_MULTIPLE):
        _multiply_columns(x, variable, source, below, size, target, above, column)


@compiled
def reverse_multiply_rows(x, variable, values, below, size, above, adjoints, gradient):
    """Reverse of `multiply_rows`: adds to adjoints[below :] and to gradient[variable]."""
    for column in range(0, values.shape[1], BLOCK_MULTIPLE):
        _reverse_columns(x, variable, values, below, size, above, adjoints, gradient, column)


@compiled
def aligned_rows(rows, columns):
    """An uninitialised [rows, columns] array that begins on a cache line."""
    raw = np.empty(rows * columns + 8)
    skip = (64 - raw.ctypes.data % 64) % 64 // 8
    return raw[skip : skip + rows * columns].reshape(rows, columns)
