r"""Orthonormal harmonics on S^{d-1} by recursion over the coordinates.

Start with the circle, :math:`\sqrt 2\,\mathrm{Re}`, :math:`\sqrt 2\,\mathrm{Im}` of
:math:`(x_1 + i x_2)^m`. From dimension j-1 to j, a harmonic Y of degree m has the children
:math:`Y P_k` of degree m + k, polynomials in :math:`t = x_j` and
:math:`\rho^2 = x_1^2 + \dots + x_j^2`,

.. math::

    P_k = (t P_{k-1} - \beta_{k-1} \rho^2 P_{k-2}) / \beta_k, \qquad
    \beta_k = \sqrt{\frac{k (k + 2\lambda - 1)}{4 (k + \lambda)(k + \lambda - 1)}},
    \qquad \lambda = m + \tfrac{j-2}{2}.

The child with k = 0 is its parent up to a constant. All such constants are gathered in one
scale per harmonic, so each harmonic costs one product, when its last k > 0 is reached, and
one scaling. There are no angles and no tables; the recursion is stable in any dimension.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from vish.sphere.harmonic_kernels import evaluate_rows, pull_back_rows
from vish.sphere.levels import level_sizes
from vish.sphere.memory import check_basis_size, check_matrix_size
from vish.sphere.threads import map_in_order, row_chunks
from vish.sphere.validation import check_degree, check_dimension, check_directions


class HarmonicBasis:
    """All harmonics of d variables up to a degree, orthonormal under the uniform measure.

    Ordered by degree, then by position in the recursion.

    Parameters
    ----------
    dimension : int
        d, the number of coordinates of a point; the sphere is S^{d-1}. At least 2.
    degree : int
        The largest degree L.
    degrees_kept : sequence of int, optional
        Keep the harmonics of these degrees only (the first-order arc-cosine kernel, for
        one, has no odd degree above 1). All degrees by default.

    Examples
    --------
    >>> import numpy as np
    >>> from vish.sphere import HarmonicBasis
    >>> basis = HarmonicBasis(dimension=3, degree=2)
    >>> basis.level_sizes
    array([1, 3, 5])
    >>> points = np.array([[0.0, 0.6, 0.8], [1.0, 0.0, 0.0]])
    >>> values = basis.evaluate(points)
    >>> values.shape
    (2, 9)
    >>> (values**2).sum(axis=1)  # each level sums to its size, everywhere
    array([9., 9.])
    """

    def __init__(self, dimension: int, degree: int, *, degrees_kept=None) -> None:
        self.dimension = check_dimension(dimension)
        self.degree = check_degree(degree)
        kept = range(self.degree + 1) if degrees_kept is None else sorted(set(degrees_kept))
        if not all(0 <= check_degree(l) <= self.degree for l in kept) or not kept:
            raise ValueError(
                f"degrees_kept is {degrees_kept!r}: give at least one degree, none above {degree}"
            )
        self.degrees_kept = np.array(kept)
        check_basis_size(self.dimension, self.degree)
        self._recursion = _recursion(self.dimension, self.degree)

    def __repr__(self) -> str:
        gaps = "" if len(self.degrees_kept) > self.degree else f", degrees_kept={self.degrees_kept}"
        return f"HarmonicBasis(dimension={self.dimension}, degree={self.degree}{gaps})"

    def __len__(self) -> int:
        return len(self.degrees)

    @cached_property
    def level_sizes(self) -> np.ndarray:
        """N(d, l), the number of harmonics of each degree kept."""
        return level_sizes(self.dimension, self.degree)[self.degrees_kept]

    @cached_property
    def degrees(self) -> np.ndarray:
        """Degree of every harmonic.  [M]"""
        return np.repeat(self.degrees_kept, self.level_sizes)

    @cached_property
    def _columns(self) -> np.ndarray:
        """Where each output column stands in the order of computation.  [M]"""
        recursion = self._recursion
        kept = np.isin(recursion.degrees[recursion.order], self.degrees_kept)
        return recursion.order[kept]

    def evaluate(self, directions, n_jobs: int | None = None) -> np.ndarray:
        """Values of the harmonics at unit vectors.  [n, d] -> [n, M]

        float32 points give float32 values; everything else is computed in float64.
        The points are taken as they are: the harmonics are extended to all of R^d as
        homogeneous polynomials of their degree.
        """
        directions = check_directions(directions, self.dimension)
        dtype = directions.dtype
        check_matrix_size(len(directions), self.dimension, self.degree, len(self), dtype.itemsize)
        out = np.empty((len(directions), len(self)), dtype=dtype)
        columns = self._columns
        scales = self._recursion.scales[columns].astype(dtype)

        def fill(rows: slice) -> None:
            points = np.ascontiguousarray(directions[rows].T)
            evaluate_rows(points, *self._recursion.program(dtype), columns, scales, out[rows])

        for _ in map_in_order(fill, row_chunks(len(directions)), n_jobs):
            pass
        return out

    def pull_back(self, directions, cotangent, n_jobs: int | None = None) -> np.ndarray:
        """Gradient of sum_m cotangent_m Y_m in the coordinates.  [n, d], [n, M] -> [n, d]

        The gradient is that of the homogeneous polynomials in R^d: by Euler's identity its
        radial part is sum_m degree_m cotangent_m Y_m, and what remains is tangent.
        """
        directions = check_directions(directions, self.dimension)
        dtype = directions.dtype
        cotangent = np.asarray(cotangent, dtype=dtype)
        if cotangent.shape != (len(directions), len(self)):
            raise ValueError(
                f"cotangent has shape {cotangent.shape}: expected one row per point and one "
                f"column per harmonic, {(len(directions), len(self))}"
            )
        gradient = np.empty(directions.shape, dtype=dtype)
        columns = self._columns
        scales = self._recursion.scales[columns].astype(dtype)

        def fill(rows: slice) -> None:
            points = np.ascontiguousarray(directions[rows].T)
            weights = np.array(cotangent[rows], order="C")
            transposed = np.empty_like(points)
            program = self._recursion.program(dtype)
            pull_back_rows(points, *program, columns, scales, weights, transposed)
            gradient[rows] = transposed.T

        for _ in map_in_order(fill, row_chunks(len(directions)), n_jobs):
            pass
        return gradient


@dataclass(frozen=True, eq=False)
class _Recursion:
    """The recursion as arrays, in the order in which the harmonics are computed.

    parents, factors : [M]
        Harmonic c is harmonic parents[c] times polynomial factors[c] of its step.
    steps : [d-1]
        Harmonics steps[i]..steps[i+1]-1 appear with coordinate i + 2 (from 0).
    betas : [d-2, L, L+1]
        beta_k of the step, by the parent's degree m and k.
    degrees, scales : [M]
        Degree, and the product of all constants.
    order : [M]
        Sorts the harmonics by degree, then by position in the recursion.
    """

    parents: np.ndarray
    factors: np.ndarray
    steps: np.ndarray
    betas: np.ndarray
    degrees: np.ndarray
    scales: np.ndarray
    order: np.ndarray

    def program(self, dtype) -> tuple[np.ndarray, ...]:
        return self.parents, self.factors, self.steps, self.betas.astype(dtype)


@lru_cache(maxsize=64)
def _recursion(dimension: int, degree: int) -> _Recursion:
    L = degree
    circle = 2 * np.arange(1, L + 1)
    degrees = np.repeat(np.arange(L + 1), [1, *(2 for _ in circle)])
    squares = np.where(degrees == 0, 1.0, 2.0)  # scales squared: sqrt(2) on the circle
    parents, factors = np.zeros(len(degrees), int), np.zeros(len(degrees), int)
    position = np.arange(len(degrees))  # creation number of each harmonic, in list order
    steps, betas = [len(degrees)], np.zeros((dimension - 2, L, L + 1))

    for j in range(3, dimension + 1):
        listed = degrees[position]
        children = L - listed + 1
        k = np.arange(children.sum()) - np.repeat(np.cumsum(children) - children, children)
        parent, m = np.repeat(position, children), np.repeat(listed, children)
        new = k > 0
        position = np.repeat(position, children)
        position[new] = len(degrees) + np.arange(new.sum())

        parents = np.concatenate([parents, parent[new]])
        factors = np.concatenate([factors, _factor_index(m[new], k[new], L)])
        constants = _constants(j, L)
        squares = np.concatenate(
            [squares * constants[degrees], (squares * constants[degrees])[parent[new]]]
        )
        degrees = np.concatenate([degrees, (m + k)[new]])
        betas[j - 3] = _betas(j, L)
        steps.append(len(degrees))

    order = position[np.argsort(degrees[position], kind="stable")]
    return _Recursion(parents, factors, np.array(steps), betas, degrees, np.sqrt(squares), order)


def _factor_index(m, k, L):
    """Polynomials P_k (k = 1..L-m) of parents of degree m = 0..L-1, one after another."""
    return m * L - m * (m - 1) // 2 + k - 1


def _constants(j: int, L: int) -> np.ndarray:
    """P_0 squared for parents of degree m = 0..L: Beta(1/2, b) / Beta(1/2, b + m), b = (j-1)/2."""
    b = (j - 1) / 2
    i = np.arange(L)
    return np.concatenate([[1.0], np.cumprod((b + 0.5 + i) / (b + i))])


def _betas(j: int, L: int) -> np.ndarray:
    """beta_k for parents of degree m = 0..L-1 (rows) and k = 0..L (columns); beta_0 = 0."""
    m, k = np.arange(L)[:, None], np.arange(1, L + 1)[None, :]
    lam = m + (j - 2) / 2
    beta = np.sqrt(k * (k + 2 * lam - 1) / (4 * (k + lam) * (k + lam - 1)))
    return np.hstack([np.zeros((L, 1)), beta])
