r"""Rows of a table to points on the unit sphere, and gradients back.

.. math::

    x_s = (x - \text{centre}) / \text{scale}, \qquad
    \tilde x = (W x_s, 1), \qquad r = |\tilde x|, \qquad \xi = \tilde x / r

`W` is the relevance: a vector (one factor per input) or a p x D matrix. The last
coordinate of the direction is the bias, so one input already lives on a circle and is no
special case. Inside, points are stored by coordinate, [d, n], the layout of the kernels.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vish.sphere.compiled import compiled
from vish.sphere.threads import map_in_order, row_chunks

_FAR = 1e50  # scales from the centre, where squares of squares are still finite


@dataclass(frozen=True, eq=False)
class Projection:
    """The map from a row of D inputs to a direction in R^d and a radius.

    Parameters
    ----------
    centre, scale : array of shape (D,)
        Subtracted from, and divided into, the inputs.
    relevance : array of shape (D,) or (p, D)
        The learned linear map; a vector stands for a diagonal matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from vish.sphere import Projection
    >>> projection = Projection(centre=np.zeros(1), scale=np.ones(1), relevance=np.ones(1))
    >>> directions, radii = projection.project(np.array([[0.0], [1.0]]))
    >>> directions.round(3)
    array([[0.   , 1.   ],
           [0.707, 0.707]])
    >>> radii.round(3)
    array([1.   , 1.414])
    """

    centre: np.ndarray
    scale: np.ndarray
    relevance: np.ndarray

    def __post_init__(self) -> None:
        for name in ("centre", "scale", "relevance"):
            value = np.array(getattr(self, name), dtype=np.float64)
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        if self.centre.shape != self.scale.shape or self.centre.ndim != 1:
            raise ValueError(
                f"centre has shape {self.centre.shape} and scale {self.scale.shape}: "
                "give one number per input to each"
            )
        if self.relevance.ndim not in (1, 2) or self.relevance.shape[-1] != self.n_inputs:
            raise ValueError(
                f"relevance has shape {self.relevance.shape}: give ({self.n_inputs},) or "
                f"(p, {self.n_inputs}) for {self.n_inputs} inputs"
            )
        if not np.all(self.scale > 0):
            raise ValueError("scale must be positive: give 1 for a column without spread")

    @property
    def n_inputs(self) -> int:
        """D, the number of columns of a row."""
        return self.centre.shape[0]

    @property
    def dimension(self) -> int:
        """d, the ambient dimension of the sphere: mapped inputs and the bias."""
        return self.relevance.shape[0] + 1

    @cached_property
    def linear_map(self) -> np.ndarray:
        """W as a p x D matrix, also when it is diagonal."""
        return np.diag(self.relevance) if self.relevance.ndim == 1 else self.relevance

    def project_chunk(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Directions by coordinate and radii of a few rows.  [n, D] -> [d, n], [n]"""
        directions = np.empty((self.dimension, X.shape[0]))
        radii = np.empty(X.shape[0])
        if self.relevance.ndim == 1:
            _project_diagonal(X, self.centre, self.scale, self.relevance, directions, radii)
        else:
            _project_linear(X, self.centre, self.scale, self.relevance, directions, radii)
        return directions, radii

    def project(self, X: np.ndarray, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Directions and radii of all rows.  [n, D] -> [n, d], [n]"""
        directions = np.empty((X.shape[0], self.dimension))
        radii = np.empty(X.shape[0])

        def fill(rows: slice) -> None:
            chunk, radii[rows] = self.project_chunk(X[rows])
            directions[rows] = chunk.T

        for _ in map_in_order(fill, row_chunks(X.shape[0]), n_jobs):
            pass
        return directions, radii

    def standardise(self, X: np.ndarray) -> np.ndarray:
        """x_s, the inputs before the linear map.  [n, D] -> [n, D]"""
        return (X - self.centre) / self.scale

    def moved_in(self, X: np.ndarray) -> np.ndarray:
        """Rows at most 1e50 scales from the centre, in the direction they had.  [n, D] -> [n, D]"""
        largest = np.abs(X).max(initial=0.0) / 2 + np.abs(self.centre).max(initial=0.0) / 2
        if largest <= _FAR / 2 * np.abs(self.scale).min(initial=np.inf):
            return X
        # Halves, and logs of quotients, for neither the differences nor these need be finite.
        half = X / 2 - self.centre / 2
        with np.errstate(divide="ignore"):
            sizes = np.log(np.abs(half))
        distance = (sizes - np.log(self.scale)).max(axis=1, keepdims=True) + np.log(2)
        far = distance > np.log(_FAR)
        moved = np.sign(half) * np.exp(sizes - np.where(far, distance - np.log(_FAR), 0.0))
        return np.where(far, 2 * (self.centre / 2 + moved), X)

    def pull_back(self, X: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient in the relevance from gradients in x~, summed over rows.

        `gradient` is [d, n]; the bias, its last row, is fixed and does not count.
        Returns the shape of `relevance`.
        """
        standardised = self.standardise(X)
        if self.relevance.ndim == 1:
            return np.einsum("in,ni->i", gradient[:-1], standardised)
        return gradient[:-1] @ standardised

    def input_gradient(self, gradient: np.ndarray) -> np.ndarray:
        """Gradient in the inputs from gradients in x~.  [d, n] -> [n, D]"""
        if self.relevance.ndim == 1:
            return gradient[:-1].T * (self.relevance / self.scale)
        return gradient[:-1].T @ (self.relevance / self.scale)


@compiled
def _project_diagonal(X, centre, scale, relevance, directions, radii):
    n, D = X.shape
    for i in range(D):
        for row in range(n):
            directions[i, row] = (X[row, i] - centre[i]) / scale[i] * relevance[i]
    _normalise(directions, radii)


@compiled
def _project_linear(X, centre, scale, relevance, directions, radii):
    n, D = X.shape
    p = relevance.shape[0]
    standardised = np.empty(n)
    directions[:] = 0.0
    for i in range(D):
        for row in range(n):
            standardised[row] = (X[row, i] - centre[i]) / scale[i]
        for k in range(p):
            factor = relevance[k, i]
            for row in range(n):
                directions[k, row] += factor * standardised[row]
    _normalise(directions, radii)


@compiled
def _normalise(points, radii):
    """Append the bias 1 to the [d-1, n] coordinates and divide by the length."""
    d, n = points.shape
    points[d - 1, :] = 1.0
    radii[:] = 0.0
    for i in range(d):
        for row in range(n):
            radii[row] += points[i, row] * points[i, row]
    for row in range(n):
        if np.isfinite(radii[row]):
            radii[row] = np.sqrt(radii[row])
        else:  # squares overflow long before the length does
            largest = 0.0
            for i in range(d):
                largest = max(largest, abs(points[i, row]))
            total = 0.0
            for i in range(d):
                total += (points[i, row] / largest) ** 2
            radii[row] = largest * np.sqrt(total)
    for i in range(d):
        for row in range(n):
            points[i, row] /= radii[row]
