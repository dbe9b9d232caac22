r"""Monomials on the sphere: order, unique split, and the map to orthonormal harmonics.

A monomial is a sorted tuple of L variables out of d. Two orders are used:

* *first*: by largest variable, so that "largest <= i" is a prefix;
* *last*: by smallest variable, downwards, so that "smallest >= i" is a prefix. It is the
  first order with the variables counted backwards.

In either order, the monomials of degree L whose outermost variable is i are that variable
times a prefix of those of degree L-1: one product each builds them all.

*Counting each moment once.* Sort the 2L variables of a monomial. Its first L are a monomial
with largest variable i, its last L one with smallest variable v >= i, and the split is
unique. So the moments of one last monomial are its products with a prefix of the first
ones, those with "largest <= v"; the moments of degree 2L-1 likewise, with L-1 last
variables. The last monomials of both degrees stand in one list, by smallest variable
downwards, so that the prefixes get shorter along the list: a staircase, counted once.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb

import numpy as np
from scipy import sparse

from vish.sphere.harmonics import HarmonicBasis


def prefix_sizes(dimension: int, degree: int) -> np.ndarray:
    """Monomials of degree k in variables 0..i, C(i + k, k).  [L+1, d]"""
    return np.array([[comb(i + k, k) for i in range(dimension)] for k in range(degree + 1)])


@lru_cache(maxsize=128)
def first_order(dimension: int, degree: int) -> np.ndarray:
    """Variables of every monomial, ascending, in the first order.  [P, L]"""
    if degree == 0:
        return np.zeros((1, 0), dtype=np.int32)
    lower = first_order(dimension, degree - 1)
    sizes = [comb(i + degree - 1, degree - 1) for i in range(dimension)]
    groups = [np.column_stack([lower[:n], np.full(n, i)]) for i, n in enumerate(sizes)]
    return np.vstack(groups).astype(np.int32)


def first_rank(variables: np.ndarray) -> np.ndarray:
    """Place in the first order of sorted variables [..., L]: sum_k C(v_k + k, k + 1)."""
    rank = np.zeros(variables.shape[:-1], dtype=np.int64)
    for k in range(variables.shape[-1]):
        v = variables[..., k].astype(np.int64)
        term = np.ones_like(v)
        for i in range(k + 1):  # C(v + k, k + 1), exact in integers
            term = term * (v + i) // (i + 1)
        rank += term
    return rank


def last_order(dimension: int, degree: int) -> np.ndarray:
    """Variables of every monomial, ascending, in the last order.  [P, L]"""
    return dimension - 1 - first_order(dimension, degree)[:, ::-1]


def last_rank(variables: np.ndarray, dimension: int) -> np.ndarray:
    """Place in the last order of sorted variables [..., L]."""
    return first_rank(dimension - 1 - variables[..., ::-1])


@dataclass(frozen=True)
class MomentLayout:
    """The staircase of moments of degree 2L and 2L-1, as one vector.

    Row b belongs to the b-th last monomial and holds its products with the first monomials
    0..extents[b]-1. For the harmonics of odd degree alone, L odd, there are no moments of degree
    2L-1: their products are even.
    """

    dimension: int
    degree: int
    odd: bool = False

    @cached_property
    def prefixes(self) -> np.ndarray:
        return prefix_sizes(self.dimension, self.degree)

    @cached_property
    def _smallest(self) -> np.ndarray:
        """Smallest variable of the last monomials of degree L, then of degree L-1."""
        upper = last_order(self.dimension, self.degree)[:, 0]
        if self.odd:
            return upper
        if self.degree == 1:  # the monomial 1 goes with every first monomial
            return np.append(upper, self.dimension - 1)
        return np.append(upper, last_order(self.dimension, self.degree - 1)[:, 0])

    @cached_property
    def order(self) -> np.ndarray:
        """Last monomials in staircase order, as places in (degree L, degree L-1).  [M]"""
        return np.argsort(-self._smallest, kind="stable")

    @cached_property
    def place(self) -> np.ndarray:
        """The inverse of `order`.  [M]"""
        return np.argsort(self.order)

    @cached_property
    def first_rows(self) -> np.ndarray:
        """Where each first monomial stands among the last ones.  [P_L]"""
        first = first_order(self.dimension, self.degree)
        return self.place[last_rank(first, self.dimension)]

    @cached_property
    def plan(self) -> np.ndarray:
        """How to build all monomials, as products (variable, from row, rows, to row).  [*, 4]

        Row 0 is the monomial 1; degrees 1..L-1 follow in the last order, then, from row
        `staircase` on, the last monomials in staircase order. Variable d is a column of ones.
        """
        d, L = self.dimension, self.degree
        sizes = self.prefixes
        levels = np.concatenate([[0], np.cumsum(sizes[:, -1])])
        plan = []
        for k in range(1, L):
            place = levels[k]
            for i in range(d):
                plan.append((d - 1 - i, levels[k - 1], sizes[k - 1, i], place))
                place += sizes[k - 1, i]
        place, copied = levels[L], levels[L - 1]
        for i in range(d):  # the smallest variable is d - 1 - i
            plan.append((d - 1 - i, levels[L - 1], sizes[L - 1, i], place))
            place += sizes[L - 1, i]
            size = sizes[L - 2, i] if L > 1 else int(i == 0)
            if size and not self.odd:
                plan.append((d, copied, size, place))
                copied, place = copied + size, place + size
        return np.array(plan)

    @cached_property
    def staircase(self) -> int:
        """Row where the last monomials begin."""
        return int(self.prefixes[:-1, -1].sum())

    @cached_property
    def extents(self) -> np.ndarray:
        """How many first monomials go with each last one, in staircase order.  [M]"""
        return self.prefixes[self.degree][self._smallest[self.order]]

    @cached_property
    def offsets(self) -> np.ndarray:
        """Start of each row of the staircase, and the end of all.  [M + 1]"""
        return np.concatenate([[0], np.cumsum(self.extents)])

    @property
    def size(self) -> int:
        return int(self.offsets[-1])

    def index(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Place of every product of a left (degree L) and a right (L or L-1) monomial.

        Variables [P, L] and [Q, L'] -> [P, Q].
        """
        keys, places = self._keys
        out = np.empty((len(left), len(right)), dtype=np.int64)
        of_right = self._key(right)
        for row, of_left in enumerate(self._key(left)):  # keys of a product are a sum
            out[row] = places[np.searchsorted(keys, of_left + of_right)]
        return out

    def _key(self, variables: np.ndarray) -> np.ndarray:
        """A number of each monomial's own: the sum of random ones of its variables.  [P, L] -> [P]

        64 bits, modulo 2^64.
        """
        numbers = np.random.default_rng(0).integers(2**64, size=self.dimension, dtype=np.uint64)
        return numbers[variables].sum(axis=1, dtype=np.uint64)

    @cached_property
    def _keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys of all moments, ascending, and their places."""
        d, L = self.dimension, self.degree
        last = np.concatenate([self._key(last_order(d, k)) for k in (L, L - 1)])[self.order]
        row = np.repeat(np.arange(len(self.extents)), self.extents)
        first = self._key(first_order(d, L))[np.arange(self.size) - self.offsets[row]]
        keys = first + last[row]
        places = np.argsort(keys)
        keys = keys[places]
        assert (keys[1:] > keys[:-1]).all()  # no two alike
        return keys, places

    def tiles(self, width: int, height: int, transposed: bool = False) -> "Tiles":
        """The staircase cut into tiles, for kernels that work on tiles."""
        return Tiles.cut(self, width, height, transposed)


@dataclass(frozen=True)
class Tiles:
    """The staircase in tiles of `width` rows, each filled up to a full rectangle.

    Tile p holds rows p * width and following: numbers [starts[p] : starts[p+1]] of a padded
    vector are a matrix [extent, width], the extent a multiple of `height`. `gather` finds
    each moment in the padded vector. Transposed, a row belongs to a first monomial.
    """

    starts: np.ndarray
    gather: np.ndarray

    @classmethod
    def cut(cls, layout: MomentLayout, width: int, height: int, transposed: bool) -> "Tiles":
        row = np.repeat(np.arange(len(layout.extents)), layout.extents)
        column = np.arange(layout.size) - layout.offsets[row]
        extents = layout.extents
        if transposed:
            row, column = column, row
            extents = np.bincount(row)
        extents = np.append(extents, np.zeros(-len(extents) % width, dtype=int))
        tall = -(-extents.reshape(-1, width).max(axis=1) // height) * height
        starts = np.concatenate([[0], np.cumsum(tall * width)])
        return cls(starts, starts[row // width] + column * width + row % width)

    def pad(self, form: np.ndarray) -> np.ndarray:
        """A vector in the layout of the moments, spread over the tiles."""
        padded = np.zeros(self.starts[-1])
        padded[self.gather] = form
        return padded


def _raising(dimension: int, degree: int) -> np.ndarray:
    """Place of x_i times every monomial of the degree, one degree higher.  [d, P]"""
    monomials = last_order(dimension, degree)
    raised = [
        np.sort(np.column_stack([monomials, np.full(len(monomials), i)]), axis=1)
        for i in range(dimension)
    ]
    return np.array([last_rank(r, dimension) for r in raised])


class HarmonicMap:
    """Harmonics up to degree L as combinations of the monomials of degree L and L-1.

    Those with the parity of L are homogeneous polynomials of degree L on the sphere, the
    others of degree L-1: phi[rows[p]] = matrices[p] @ monomials of degree L-p, p = 0, 1. Of the
    harmonics of odd degree alone, L odd, there is p = 0 only.
    """

    def __init__(self, dimension: int, degree: int, odd: bool = False) -> None:
        self.dimension, self.degree = dimension, degree
        degrees = HarmonicBasis(dimension, degree).degrees
        parities = (0,) if odd else (0, 1)
        self.rows = [np.flatnonzero(degrees % 2 == (degree - p) % 2) for p in parities]
        self.matrices = self._matrices(degrees, parities)
        if odd:
            self.rows = [np.arange(len(self.rows[0]))]  # there are no others in between
        else:
            self.raising = _raising(dimension, degree - 1)  # from degree L-1 to L

    def _matrices(self, degrees, parities):
        """Coefficients by the harmonic recursion itself, carried out on polynomials."""
        d, L = self.dimension, self.degree
        up = [_raising(d, k) for k in range(L)]
        sizes = prefix_sizes(d, L)[:, -1]

        def times(variable, rows, degree):
            out = np.zeros((len(rows), sizes[degree + 1]))
            out[:, up[degree][variable]] = rows
            return out

        def times_rho2(last_variable, rows, degree):
            out = np.zeros((len(rows), sizes[degree + 2]))
            for i in range(last_variable + 1):
                out[:, up[degree + 1][i][up[degree][i]]] += rows
            return out

        recursion = HarmonicBasis(d, L)._recursion
        coefficients = [np.ones(1)] * len(recursion.degrees)
        power = np.array([[1.0], [0.0]])  # real and imaginary part of (x_1 + i x_2)^m
        for m in range(1, L + 1):
            x, y = times(0, power, m - 1), times(1, power, m - 1)
            power = np.array([x[0] - y[1], y[0] + x[1]])
            coefficients[2 * m - 1], coefficients[2 * m] = power

        for step in range(d - 2):
            j = step + 2
            new = np.arange(recursion.steps[step], recursion.steps[step + 1])
            parents = recursion.parents[new]
            parent_degrees = recursion.degrees[parents]
            k_new = recursion.degrees[new] - parent_degrees
            for m in range(L):
                mine = parent_degrees == m
                if not mine.any():
                    continue
                family = np.unique(parents[mine])
                beta = recursion.betas[step, m]
                lower, current = None, np.array([coefficients[p] for p in family])
                for k in range(1, L - m + 1):
                    raised = times(j, current, m + k - 1)
                    if lower is not None:
                        raised -= beta[k - 1] * times_rho2(j, lower, m + k - 2)
                    lower, current = current, raised / beta[k]
                    children = new[mine & (k_new == k)]
                    places = np.searchsorted(family, recursion.parents[children])
                    for child, place in zip(children, places, strict=True):
                        coefficients[child] = current[place]

        matrices = []
        for p in parities:
            blocks = []
            for l in range((L - p) % 2, L - p + 1, 2):
                level = recursion.order[degrees == l]
                rows = np.array([coefficients[c] for c in level]) * recursion.scales[level, None]
                for degree in range(l, L - p, 2):
                    rows = times_rho2(d - 1, rows, degree)
                blocks.append(sparse.csr_array(rows))
            matrices.append(sparse.vstack(blocks).tocsr() if blocks else sparse.csr_array((0, 0)))
        return matrices


def condition_number(dimension: int, degree: int, odd: bool = False) -> float:
    r"""Of the map from scaled monomials sqrt(K!/alpha!) xi^alpha to orthonormal harmonics.

    Its rows are orthogonal; the square of a row of degree l inside degree K is, with
    j = (K-l)/2, :math:`\prod_{i=1}^j 2i(2l+d-2+2i) \prod_{i<l}(d+2i) / K!`.
    """
    d = dimension
    logs = []
    for K in (degree,) if odd else (degree, degree - 1):
        for l in range(K % 2, K + 1, 2):
            i, j = np.arange(1, (K - l) // 2 + 1), np.arange(l)
            log = np.log(2.0 * i * (2 * l + d - 2 + 2 * i)).sum() + np.log(d + 2.0 * j).sum()
            logs.append(log - np.log(np.arange(1.0, K + 1)).sum())
    return float(np.exp((max(logs) - min(logs)) / 2))
