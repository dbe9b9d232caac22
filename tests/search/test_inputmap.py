"""Maps to be learned: vectors and back, priors and their slopes, lower ranks."""

import numpy as np
import pytest

from vish.search.inputmap import Diagonal, Linear, Tied, relevance_of

LIVE = np.array([True, True, False, True])
MAPS = [
    Diagonal(np.array([0.5, 2.0, 0.0, 0.1]), LIVE),
    Tied(np.array([0.5, 2.0, 0.0, 0.1]), LIVE),
    Linear(np.array([[0.5, -2.0, 0.0, 0.1], [0.0, 1.0, 0.0, 0.3]]), LIVE),
]


@pytest.mark.parametrize("relevance", MAPS)
def test_vectors_and_back(relevance):
    vector = relevance.pack()
    assert len(relevance.bounds) == len(vector)
    back = relevance.unpack(vector)
    assert type(back) is type(relevance)
    np.testing.assert_allclose(back.matrix, relevance.matrix, rtol=1e-14)


@pytest.mark.parametrize("relevance", MAPS)
def test_slopes(rng, relevance):
    """Of the prior, and of a linear function of the matrix."""
    vector, slope = relevance.pack(), rng.standard_normal(relevance.matrix.shape)

    def value(vector):
        moved = relevance.unpack(vector)
        return moved.log_prior()[0] + np.sum(slope * moved.matrix)

    steps = 1e-6 * np.eye(len(vector))
    expected = [(value(vector + s) - value(vector - s)) / 2e-6 for s in steps]
    found = relevance.log_prior()[1] + relevance.pull_back(slope)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_numbers_to_be_told():
    assert [relevance.n_numbers for relevance in MAPS] == [3, 1, 2 * 3 - 1]
    assert [relevance.rank for relevance in MAPS] == [None, None, 2]


def test_the_shape_says_which():
    assert type(relevance_of(np.ones(4), LIVE)) is Diagonal
    assert type(relevance_of(np.ones((2, 4)), LIVE)) is Linear
