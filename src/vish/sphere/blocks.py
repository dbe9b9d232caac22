"""A sparse matrix that falls into dense blocks, multiplied by them.

A harmonic of the recursion is even or odd in each coordinate, and so are the monomials in it. The
map between the two is block-diagonal but for the order of rows and columns, with one block for
each choice of parities, and large blocks are faster dense.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

_LARGE = 500  # rows, from which on dense blocks are faster


@dataclass(frozen=True, eq=False)
class BlockMatrix:
    """A matrix as its blocks: their rows, their columns, and what stands there."""

    shape: tuple[int, int]
    blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> "BlockMatrix":
        """Rows and columns that share no entry, however indirectly, are in different blocks."""
        n = matrix.shape[0]
        _, labels = connected_components(sparse.block_array([[None, matrix], [matrix.T, None]]))
        groups = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
        places = [(group[group < n], group[group >= n] - n) for group in groups]
        return cls(matrix.shape, [(r, c, matrix[r][:, c].toarray()) for r, c in places])

    @property
    def T(self) -> "BlockMatrix":
        return BlockMatrix(self.shape[::-1], [(c, r, block.T) for r, c, block in self.blocks])

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        product, right = np.zeros((self.shape[0], *right.shape[1:])), np.ascontiguousarray(right)
        for rows, columns, block in self.blocks:
            product[rows] = block @ right[columns]
        return product


def in_blocks(matrix: sparse.csr_array) -> BlockMatrix | sparse.csr_array:
    """The matrix in the form that multiplies faster."""
    return BlockMatrix.of(matrix) if matrix.shape[0] >= _LARGE else matrix
