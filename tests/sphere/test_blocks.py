"""Products by dense blocks are those of the whole matrix."""

import numpy as np
import pytest
from scipy import sparse

from vish.sphere.blocks import BlockMatrix, in_blocks
from vish.sphere.monomials import HarmonicMap


@pytest.fixture
def shuffled(rng):
    """Blocks of several shapes, an empty row and an empty column, in random order."""
    blocks = [rng.standard_normal(shape) for shape in ((3, 4), (1, 2), (5, 5))]
    blocks += [np.zeros((1, 0)), np.zeros((0, 1))]
    whole = sparse.block_diag(blocks).toarray()
    n, m = whole.shape
    return whole[rng.permutation(n)][:, rng.permutation(m)]


def test_products_are_those_of_the_matrix(rng, shuffled):
    matrix, (n, m) = BlockMatrix.of(sparse.csr_array(shuffled)), shuffled.shape
    right, left = rng.standard_normal((m, 6)), rng.standard_normal((n, 2))
    np.testing.assert_allclose(matrix @ right, shuffled @ right, atol=1e-14)
    np.testing.assert_allclose(matrix.T @ left, shuffled.T @ left, atol=1e-14)
    assert (matrix.shape, matrix.T.shape) == ((n, m), (m, n))


def test_a_large_map_falls_into_blocks_of_parities(rng):
    """One for each choice of the parities of five coordinates, their sum odd."""
    (matrix,) = HarmonicMap(5, 9, odd=True).matrices
    blocks = in_blocks(matrix)
    assert isinstance(blocks, BlockMatrix)
    assert len(blocks.blocks) == 16
    right = rng.standard_normal((matrix.shape[1], 3))
    np.testing.assert_allclose(blocks @ right, matrix @ right, rtol=1e-12, atol=1e-12)
    small = HarmonicMap(5, 3).matrices[0]
    assert in_blocks(small) is small
