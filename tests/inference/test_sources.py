"""Rows in memory come as fixed chunks, cut by row number alone."""

import numpy as np
import pytest

from vish.inference.sources import ArraySource
from vish.sphere.threads import CHUNK_ROWS


@pytest.mark.parametrize("n", [0, 1, CHUNK_ROWS, CHUNK_ROWS + 1, 3 * CHUNK_ROWS - 1])
def test_chunks_are_the_rows_in_order(rng, n):
    X, y, weights = rng.standard_normal((n, 3)), rng.standard_normal((n, 2)), rng.random(n)
    source = ArraySource(X, y, weights)
    assert source.n_rows == n
    assert source.n_inputs == 3
    chunks = list(source.chunks())
    assert [chunk.start for chunk in chunks] == list(range(0, n, CHUNK_ROWS))
    if chunks:
        np.testing.assert_array_equal(np.vstack([chunk.X for chunk in chunks]), X)
        np.testing.assert_array_equal(np.vstack([chunk.y for chunk in chunks]), y)
        np.testing.assert_array_equal(np.concatenate([chunk.weights for chunk in chunks]), weights)
        assert all(np.shares_memory(chunk.X, X) for chunk in chunks)  # read in place
    again = [chunk.start for chunk in source.chunks()]
    assert again == [chunk.start for chunk in chunks]


def test_no_weights_are_none(rng):
    (chunk,) = ArraySource(rng.standard_normal((5, 1)), np.zeros((5, 1))).chunks()
    assert chunk.weights is None
