r"""Maps of the inputs that are learned: which numbers are free, and what is expected of them.

.. math:: \tilde x = (W x_s, 1), \qquad W = \operatorname{diag}(w), \quad c\,W_0 \quad
          \text{or any } [p, D].

Each kind packs its free numbers into a vector, with bounds, a weak prior that decides only where
the data do not, and the chain rule from W to the vector. Inputs that do not vary stay out.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

_LARGEST, _SMALLEST = 30.0, 1e-4
_LOG_SPREAD = 3.0  # standard deviation of the log of a relevance, around the typical one
_SPREAD = 4.0  # of an entry of a linear map, in typical ones


@dataclass(frozen=True, eq=False)
class Relevance(ABC):
    """A map of the scaled inputs.

    Parameters
    ----------
    matrix : array of shape (D,) or (p, D)
        What `Projection` takes.
    live : array of bool of shape (D,)
        Inputs that vary.
    """

    matrix: np.ndarray
    live: np.ndarray

    in_logs = True  # whether steps are relative

    @property
    def free(self) -> np.ndarray:
        """Its columns for inputs that vary."""
        return self.matrix[..., self.live]

    @property
    def rank(self) -> int | None:
        """Rows of the map; None for a diagonal."""
        return None if self.matrix.ndim == 1 else len(self.matrix)

    @property
    def typical(self) -> float:
        """A relevance that leaves the inputs together at a distance of about 1 from the bias."""
        return 1 / np.sqrt(max(1, self.live.sum()))

    def with_matrix(self, matrix: np.ndarray) -> "Relevance":
        return replace(self, matrix=matrix)

    def with_free(self, free: np.ndarray) -> "Relevance":
        matrix = np.zeros(self.matrix.shape)
        matrix[..., self.live] = free
        return self.with_matrix(matrix)

    @property
    @abstractmethod
    def n_numbers(self) -> int:
        """How many numbers the data have to tell."""

    @abstractmethod
    def pack(self) -> np.ndarray:
        """The free numbers.  [P]"""

    @abstractmethod
    def unpack(self, vector: np.ndarray) -> "Relevance":
        """The same kind of map with other numbers."""

    @property
    @abstractmethod
    def bounds(self) -> np.ndarray:
        """Of the numbers.  [P, 2]"""

    @abstractmethod
    def log_prior(self) -> tuple[float, np.ndarray]:
        """Up to a constant, and its gradient in the numbers."""

    @abstractmethod
    def pull_back(self, gradient: np.ndarray) -> np.ndarray:
        """From a gradient in the matrix to one in the numbers.  -> [P]"""

    def _in_log_bounds(self, n: int) -> np.ndarray:
        return np.tile(np.log([_SMALLEST, _LARGEST]), (n, 1))


class Diagonal(Relevance):
    """One factor for every input, by its log."""

    @property
    def n_numbers(self) -> int:
        return int(self.live.sum())

    def pack(self) -> np.ndarray:
        return np.log(np.maximum(self.free, _SMALLEST))

    def unpack(self, vector: np.ndarray) -> Relevance:
        return self.with_free(np.exp(vector))

    @property
    def bounds(self) -> np.ndarray:
        return self._in_log_bounds(self.n_numbers)

    def log_prior(self) -> tuple[float, np.ndarray]:
        deviation = np.log(self.free / self.typical) / _LOG_SPREAD
        return -float(deviation @ deviation) / 2, -deviation / _LOG_SPREAD

    def pull_back(self, gradient: np.ndarray) -> np.ndarray:
        return gradient[self.live] * self.free


class Tied(Relevance):
    """A map that is known but for its size: the log of the root mean square of its entries."""

    n_numbers = 1

    def _log_size(self) -> float:
        return float(np.log(np.mean(self.free**2)) / 2)

    def pack(self) -> np.ndarray:
        return np.array([self._log_size()])

    def unpack(self, vector: np.ndarray) -> Relevance:
        return self.with_matrix(np.exp(vector[0] - self._log_size()) * self.matrix)

    @property
    def bounds(self) -> np.ndarray:
        return self._in_log_bounds(1)

    def log_prior(self) -> tuple[float, np.ndarray]:
        deviation = (self._log_size() - np.log(self.typical)) / _LOG_SPREAD
        return -(deviation**2) / 2, np.array([-deviation / _LOG_SPREAD])

    def pull_back(self, gradient: np.ndarray) -> np.ndarray:
        return np.array([np.sum(gradient[..., self.live] * self.free)])


class Linear(Relevance):
    """Any matrix, by its entries."""

    in_logs = False

    @property
    def n_numbers(self) -> int:
        p = len(self.matrix)
        return p * int(self.live.sum()) - p * (p - 1) // 2  # a rotation of the rows is no change

    def pack(self) -> np.ndarray:
        return self.free.ravel()

    def unpack(self, vector: np.ndarray) -> Relevance:
        return self.with_free(vector.reshape(len(self.matrix), -1))

    @property
    def bounds(self) -> np.ndarray:
        return np.tile([-_LARGEST, _LARGEST], (self.free.size, 1))

    def log_prior(self) -> tuple[float, np.ndarray]:
        spread = _SPREAD * self.typical
        return -float(np.sum(self.free**2)) / (2 * spread**2), -self.free.ravel() / spread**2

    def pull_back(self, gradient: np.ndarray) -> np.ndarray:
        return gradient[:, self.live].ravel()

    def cut(self, rank: int) -> "Linear":
        """The best map of lower rank, its rows orthogonal."""
        _, values, directions = np.linalg.svd(self.matrix, full_matrices=False)
        return Linear(values[:rank, None] * directions[:rank], self.live)


def relevance_of(matrix: np.ndarray, live: np.ndarray) -> Relevance:
    """A diagonal or linear map, as the shape says."""
    return Diagonal(matrix, live) if matrix.ndim == 1 else Linear(matrix, live)
