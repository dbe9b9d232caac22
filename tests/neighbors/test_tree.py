"""The search for neighbours, against all distances."""

import numpy as np
import pytest

from vish.neighbors.tree import Tree


def brute_force(points, queries, k):
    squares = ((queries[:, None] - points[None]) ** 2).sum(axis=2)
    order = np.lexsort((np.broadcast_to(np.arange(len(points)), squares.shape), squares))
    return order[:, :k], np.take_along_axis(squares, order[:, :k], axis=1)


@pytest.mark.parametrize(
    ("n", "p", "k"), [(1, 2, 3), (5, 3, 40), (33, 1, 4), (700, 2, 40), (3000, 6, 10)]
)
def test_without_a_bound_the_search_is_exact(n, p, k):
    rng = np.random.default_rng(n)
    points, queries = rng.standard_normal((n, p)), rng.standard_normal((50, p))
    found, squares = Tree.of(points).nearest(queries, k, 10**9)
    expected, exact = brute_force(points, queries, k)
    np.testing.assert_allclose(squares, exact, rtol=1e-12)
    np.testing.assert_array_equal(found, expected)


def test_of_equal_distances_the_first_points_are_taken():
    points = np.tile([[0.0, 0.0], [1.0, 0.0]], (200, 1))
    found, squares = Tree.of(points).nearest(np.zeros((3, 2)), 7, 10**9)
    np.testing.assert_array_equal(found, np.tile(2 * np.arange(7), (3, 1)))
    assert not squares.any()


def test_few_leaves_find_near_points():
    rng = np.random.default_rng(0)
    points, queries = rng.standard_normal((20_000, 6)), rng.standard_normal((200, 6))
    tree = Tree.of(points)
    _, exact = tree.nearest(queries, 20, 10**9)
    found, squares = tree.nearest(queries, 20, 16)
    assert np.median(squares[:, -1] / exact[:, -1]) < 1.3
    assert all(len(set(row)) == 20 for row in found)


def test_enough_leaves_are_taken_for_all_neighbours():
    points = np.random.default_rng(0).standard_normal((1000, 3))
    found, squares = Tree.of(points).nearest(points[:5], 300, 1)
    assert np.isfinite(squares).all()
    assert found.max() < 1000


def test_threads_change_no_bit_of_the_tree():
    points = np.random.default_rng(0).standard_normal((5000, 4))
    one, two = Tree.of(points, 1), Tree.of(points, 2)
    np.testing.assert_array_equal(one.order, two.order)
    np.testing.assert_array_equal(one.points, two.points)


def test_a_query_does_not_depend_on_others():
    rng = np.random.default_rng(0)
    tree = Tree.of(rng.standard_normal((5000, 5)))
    queries = rng.standard_normal((300, 5))
    together, _ = tree.nearest(queries, 10, 4)
    alone = np.concatenate([tree.nearest(query[None], 10, 4)[0] for query in queries])
    np.testing.assert_array_equal(together, alone)


def test_chunks_cover_all_queries():
    rng = np.random.default_rng(0)
    chunks = Tree.of(rng.standard_normal((3000, 3))).chunks(rng.standard_normal((2500, 3)))
    np.testing.assert_array_equal(np.sort(np.concatenate(chunks)), np.arange(2500))
