"""From rows on the sphere to Gram matrices, and from coefficients to values: two routes.

An engine sums, over rows, products of two harmonics (and of harmonics with targets), and
evaluates linear and quadratic forms in the harmonics with their gradients:

    gram    G = sum_n weight_n phi_n phi_n^T        [M, M]
    cross   b = sum_n target_n phi_n                [M, T]
    linear     c^T phi(xi),      quadratic     phi(xi)^T S phi(xi)

`PolynomialEngine` never evaluates a harmonic: it works on monomials and counts each moment
once. `HarmonicEngine` evaluates the harmonics block by block; it is right for low
dimensions at high degree, where monomials are badly conditioned. `choose_engine` picks one.

Points are [d, n] with n a chunk of rows; chunks and threads are the caller's. Engines of the odd
degrees alone, up to an odd one, have fewer harmonics and need moments of degree 2L only.
"""

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np

from vish.sphere.blocks import in_blocks
from vish.sphere.harmonics import HarmonicBasis
from vish.sphere.memory import basis_size
from vish.sphere.monomials import (
    HarmonicMap,
    MomentLayout,
    condition_number,
    last_order,
)
from vish.sphere.polynomial_kernels import (
    accumulate_moments,
    accumulate_products,
    evaluate_forms,
    evaluate_linear,
    pull_back_forms,
    pull_back_linear,
)
from vish.sphere.tiles import BLOCK_MULTIPLE, FIRST_TILE, TILE

# Squared, this bounds what rounding errors of moments may grow to in the Gram matrix.
_WORST_CONDITION = 150.0


class Engine(ABC):
    """What both routes answer; `name` is how the user asks for one."""

    name: str

    def __init__(self, dimension: int, degree: int, odd: bool = False) -> None:
        self.dimension, self.degree = dimension, degree
        kept = range(1, degree + 1, 2) if odd else None
        self.basis = HarmonicBasis(dimension, degree, degrees_kept=kept)

    @property
    def n_harmonics(self) -> int:
        """M."""
        return len(self.basis)

    def total_weight(self, gram: np.ndarray) -> float:
        """Sum of the weights: the squares of a level's harmonics add up to its size."""
        first = self.basis.level_sizes[0]
        return float(gram[:first, :first].trace() / first)

    @property
    @abstractmethod
    def size(self) -> int:
        """Length of the vector of sums that stands for G."""

    @abstractmethod
    def accumulate(
        self, points: np.ndarray, weights: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of one chunk: those that stand for G, and those that stand for b [M, T].

        points [d, n], weights [n], targets [T, n] (with their weights already on).
        """

    @abstractmethod
    def gram(self, sums: np.ndarray) -> np.ndarray:
        """G from its sums.  -> [M, M]"""

    @abstractmethod
    def cross(self, sums: np.ndarray) -> np.ndarray:
        """b from its sums.  [M, T] -> [M, T]"""

    @abstractmethod
    def linear_form(self, coefficients: np.ndarray) -> Any:
        """Prepare c^T phi for evaluation.  [M, T]"""

    @abstractmethod
    def quadratic_form(self, matrix: np.ndarray) -> Any:
        """Prepare phi^T S phi for evaluation.  [M, M], symmetric"""

    @abstractmethod
    def linear(self, points: np.ndarray, form: Any) -> np.ndarray:
        """Values of a linear form.  [d, n] -> [T, n]"""

    @abstractmethod
    def linear_pull_back(self, points: np.ndarray, form: Any, weights: np.ndarray) -> np.ndarray:
        """Gradient of sum_t weights[t, n] c_t^T phi in the points.  -> [d, n]

        Only its part tangent to the sphere has a meaning of its own.
        """

    @abstractmethod
    def forms(
        self, points: np.ndarray, quadratic: Any, linear: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values of a quadratic form and of a linear one.  [d, n] -> [n], [T, n]"""

    def quadratic(self, points: np.ndarray, form: Any) -> np.ndarray:
        """Values of a quadratic form alone.  [d, n] -> [n]"""
        return self.forms(points, form, np.empty((self.n_harmonics, 0)))[0]

    @abstractmethod
    def pull_back(
        self,
        points: np.ndarray,
        quadratic: Any,
        factors: np.ndarray,
        linear: Any,
        weights: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values v of a quadratic form; gradient of factors v + sum_t weights[t] c_t^T phi.

        -> [n], [d, n]
        """


class PolynomialEngine(Engine):
    """Moments of degree 2L and 2L-1, and polynomials of those degrees."""

    name = "moments"
    _form_block = 64  # rows per block; blocks are longer when rows are summed

    def __init__(self, dimension: int, degree: int, odd: bool = False) -> None:
        super().__init__(dimension, degree, odd)
        self.layout = layout = MomentLayout(dimension, degree, odd)
        self._sum_tiles = layout.tiles(TILE, FIRST_TILE)
        self._form_tiles = layout.tiles(TILE, 1)
        self._transposed_tiles = layout.tiles(TILE, 1, transposed=True)
        self._map = HarmonicMap(dimension, degree, odd)
        self._matrices = [in_blocks(matrix) for matrix in self._map.matrices]
        upper = last_order(dimension, degree)
        self._even = layout.index(upper, upper)  # places of the moments of degree 2L
        if not odd:
            self._raised = [np.ix_(row, row) for row in self._map.raising]
            self._mixed = layout.index(upper, last_order(dimension, degree - 1))
        self._build = (layout.plan, layout.staircase)
        # as many rows as keep the monomials of a block in the second-level cache
        strips = 480_000 // (8 * BLOCK_MULTIPLE * (layout.staircase + self.n_harmonics))
        self._sum_block = BLOCK_MULTIPLE * max(4, min(8, strips))

    @property
    def size(self) -> int:
        return self.layout.size

    def accumulate(self, points, weights, targets):
        layout, tiles = self.layout, self._sum_tiles
        sums = np.zeros(tiles.starts[-1])
        cross = np.zeros((self.n_harmonics, len(targets)))
        shape = (*self._build, layout.first_rows, tiles.starts, self._sum_block)
        accumulate_moments(points, weights, targets, *shape, sums, cross)
        return sums[tiles.gather], cross[layout.place]

    def gram(self, sums):
        even, to_upper = sums[self._even], self._matrices[0]
        of_upper = to_upper @ (to_upper @ even).T
        if len(self._map.rows) == 1:
            return (of_upper + of_upper.T) / 2
        # |xi| = 1: the moments of degree 2L-2 are sums of those of degree 2L
        lower = sum(even[raised] for raised in self._raised)
        upper_rows, lower_rows = self._map.rows
        to_lower = self._matrices[1]
        gram = np.empty((self.n_harmonics, self.n_harmonics))
        gram[np.ix_(upper_rows, upper_rows)] = of_upper
        gram[np.ix_(lower_rows, lower_rows)] = to_lower @ (to_lower @ lower).T
        mixed = (to_lower @ (to_upper @ sums[self._mixed]).T).T
        gram[np.ix_(upper_rows, lower_rows)] = mixed
        gram[np.ix_(lower_rows, upper_rows)] = mixed.T
        return (gram + gram.T) / 2

    def cross(self, sums):
        ends = np.cumsum([matrix.shape[1] for matrix in self._matrices])
        cross, parts = np.empty_like(sums), np.split(sums, ends[:-1])
        for rows, matrix, part in zip(self._map.rows, self._matrices, parts, strict=True):
            cross[rows] = matrix @ part
        return cross

    def linear_form(self, coefficients):
        parts = [
            matrix.T @ coefficients[rows]
            for rows, matrix in zip(self._map.rows, self._matrices, strict=True)
        ]
        return np.ascontiguousarray(np.vstack(parts)[self.layout.order])

    def quadratic_form(self, matrix):
        coefficients = self.moment_coefficients(matrix)
        return self._form_tiles.pad(coefficients), self._transposed_tiles.pad(coefficients)

    def moment_coefficients(self, matrix):
        """The adjoint of `gram`: contract the matrix with the map, add equal monomials."""

        def contract(p: int, q: int) -> np.ndarray:
            left, right = self._matrices[p], self._matrices[q]
            block = matrix[np.ix_(self._map.rows[p], self._map.rows[q])]
            return left.T @ (right.T @ block.T).T

        even = contract(0, 0)
        if len(self._map.rows) == 1:
            return np.bincount(self._even.ravel(), even.ravel(), self.size)
        mixed, lower = 2 * contract(0, 1), contract(1, 1)
        for raised in self._raised:
            even[raised] += lower
        coefficients = np.bincount(self._even.ravel(), even.ravel(), self.size)
        coefficients += np.bincount(self._mixed.ravel(), mixed.ravel(), self.size)
        return coefficients

    def linear(self, points, form):
        out = np.empty((form.shape[1], points.shape[1]))
        evaluate_linear(points, form, *self._build, self._form_block, out)
        return out

    def linear_pull_back(self, points, form, weights):
        out = np.empty_like(points)
        pull_back_linear(points, form, weights, *self._build, self._form_block, out)
        return out

    def forms(self, points, quadratic, linear):
        out = np.empty(points.shape[1]), np.empty((linear.shape[1], points.shape[1]))
        shape = (self.layout.first_rows, self._form_tiles.starts, self._form_block)
        evaluate_forms(points, quadratic[0], linear, *self._build, *shape, *out)
        return out

    def pull_back(self, points, quadratic, factors, linear, weights):
        values, gradient = np.empty(points.shape[1]), np.empty_like(points)
        starts = (self._form_tiles.starts, self._transposed_tiles.starts)
        shape = (*self._build, self.layout.first_rows, *starts, self._form_block)
        forms = (*quadratic, factors, linear, weights)
        pull_back_forms(points, *forms, *shape, values, gradient)
        return values, gradient


class HarmonicEngine(Engine):
    """Harmonic features of a chunk, and products of matrices.

    Sums over rows do not go through BLAS: its bits depend on its threads, whose number
    belongs to the process and not to the thread that sums a chunk.
    """

    name = "features"
    _sum_block = 160

    def __init__(self, dimension: int, degree: int, odd: bool = False) -> None:
        super().__init__(dimension, degree, odd)
        self._upper = np.triu_indices(self.n_harmonics)

    @property
    def size(self) -> int:
        return len(self._upper[0])

    def _features(self, points):
        return self.basis.evaluate(points.T, n_jobs=1)

    def accumulate(self, points, weights, targets):
        features, M = self._features(points), self.n_harmonics
        gram = np.zeros((-(-M // TILE), -(-M // FIRST_TILE) * FIRST_TILE, TILE))
        cross = np.zeros((gram.shape[0], -(-len(targets) // FIRST_TILE) * FIRST_TILE, TILE))
        accumulate_products(features, weights, targets, self._sum_block, gram, cross)
        whole, targets_first = (
            tiles.transpose(1, 0, 2).reshape(tiles.shape[1], -1) for tiles in (gram, cross)
        )
        return whole[self._upper], np.ascontiguousarray(targets_first[: len(targets), :M].T)

    def gram(self, sums):
        gram = np.empty((self.n_harmonics, self.n_harmonics))
        gram[self._upper] = sums
        gram.T[self._upper] = sums
        return gram

    def cross(self, sums):
        return sums

    def linear_form(self, coefficients):
        return coefficients

    def quadratic_form(self, matrix):
        return matrix

    def linear(self, points, form):
        return form.T @ self._features(points).T

    def linear_pull_back(self, points, form, weights):
        return self.basis.pull_back(points.T, weights.T @ form.T, n_jobs=1).T

    def forms(self, points, quadratic, linear):
        features = self._features(points)
        values = np.einsum("nm,nm->n", features @ quadratic, features)
        return values, linear.T @ features.T

    def pull_back(self, points, quadratic, factors, linear, weights):
        features = self._features(points)
        half = features @ quadratic
        cotangent = 2 * factors[:, None] * half + weights.T @ linear.T
        gradient = self.basis.pull_back(points.T, cotangent, n_jobs=1).T
        return np.einsum("nm,nm->n", half, features), np.ascontiguousarray(gradient)


_ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (PolynomialEngine, HarmonicEngine)
}


@lru_cache(maxsize=32)
def choose_engine(dimension: int, degree: int, name: str = "auto", odd: bool = False) -> Engine:
    """The engine for a dimension and degree, by conditioning and cost.

    Parameters
    ----------
    name : {"auto", "moments", "features"}
        Force one of the routes.
    odd : bool
        Whether the odd degrees alone are wanted; then the degree must be odd.
    """
    if name != "auto":
        return _ENGINES[name](dimension, degree, odd)
    if degree == 0 or condition_number(dimension, degree, odd) > _WORST_CONDITION:
        return HarmonicEngine(dimension, degree, odd)
    M = basis_size(dimension, degree, odd)
    moments = MomentLayout(dimension, degree, odd).size + 8 * M  # a monomial costs about 8
    return (PolynomialEngine if moments < M * (M + 1) // 2 + 8 * M else HarmonicEngine)(
        dimension, degree, odd
    )
