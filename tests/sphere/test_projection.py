"""Rows to the sphere and gradients back."""

import numpy as np
import pytest

from vish.sphere import Projection


def make_projection(rng, n_inputs, rank=None):
    shape = (n_inputs,) if rank is None else (rank, n_inputs)
    return Projection(
        rng.standard_normal(n_inputs), rng.uniform(0.5, 2, n_inputs), rng.standard_normal(shape)
    )


@pytest.mark.parametrize(("n_inputs", "rank"), [(1, None), (3, None), (1, 1), (4, 2), (2, 5)])
def test_definition(rng, n_inputs, rank):
    projection = make_projection(rng, n_inputs, rank)
    X = rng.standard_normal((30, n_inputs))
    lifted = np.column_stack([projection.standardise(X) @ projection.linear_map.T, np.ones(30)])
    directions, radii = projection.project(X)
    assert directions.shape == (30, projection.dimension)
    np.testing.assert_allclose(radii, np.linalg.norm(lifted, axis=1), rtol=1e-14)
    np.testing.assert_allclose(directions * radii[:, None], lifted, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_any_layout_and_type(rng, dtype):
    projection = make_projection(rng, 3)
    X = (10 * rng.standard_normal((40, 3))).astype(dtype)
    expected, _ = projection.project(X.astype(np.float64))
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    for view in (X, frozen, np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(projection.project(view)[0], expected)


def test_far_points_stay_finite():
    projection = Projection(np.zeros(2), np.ones(2), np.ones(2))
    directions, radii = projection.project(np.array([[1e300, 1e300], [3e-300, 0], [-1e200, 0]]))
    np.testing.assert_allclose(directions[0], [np.sqrt(0.5), np.sqrt(0.5), 0], atol=1e-15)
    np.testing.assert_allclose(radii, [np.sqrt(2) * 1e300, 1, 1e200])


@pytest.mark.parametrize("rank", [None, 3])
def test_pull_back_is_the_gradient(rng, rank):
    """Of sum_n g(x~_n) with g linear in x~, so that the difference quotient is exact."""
    projection = make_projection(rng, 4, rank)
    X = rng.standard_normal((25, 4))
    slope = rng.standard_normal((projection.dimension, 25))

    def total(relevance):
        moved = Projection(projection.centre, projection.scale, relevance)
        directions, radii = moved.project(X)
        return np.sum(slope * (directions * radii[:, None]).T)

    gradient = projection.pull_back(X, slope)
    assert gradient.shape == projection.relevance.shape
    for index in np.ndindex(gradient.shape):
        step = np.zeros_like(gradient)
        step[index] = 0.5
        difference = total(projection.relevance + step) - total(projection.relevance - step)
        assert gradient[index] == pytest.approx(difference, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("rank", [None, 2])
def test_input_gradient(rng, rank):
    projection = make_projection(rng, 3, rank)
    slope = rng.standard_normal((projection.dimension, 6))
    expected = slope[:-1].T @ projection.linear_map / projection.scale
    np.testing.assert_allclose(projection.input_gradient(slope), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(2), np.ones(3), np.ones(2)), "one number per input"),
        ((np.zeros(2), np.ones(2), np.ones(3)), r"relevance has shape \(3,\)"),
        ((np.zeros(2), np.array([1.0, 0.0]), np.ones(2)), "scale must be positive"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        Projection(*arguments)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e259, 1e307])
@pytest.mark.parametrize("centre", [0.0, 1e307, -1e300])
@pytest.mark.parametrize("value", [0.0, 1e60, 1.7e308, -1.7e308])
def test_rows_are_moved_in_by_any_scale_and_centre(scale, centre, value):
    """No more than 1e50 scales, towards the same side, and without an overflow."""
    projection = Projection(np.array([centre, 0.0]), np.array([scale, 1.0]), np.ones(2))
    X = np.array([[value, 0.0], [centre, 1.0]])
    moved = projection.moved_in(X)
    assert np.isfinite(moved).all()
    halved = moved[0, 0] / 2 - centre / 2
    rounding = 1e-12 * abs(centre) + 1e-12 * abs(moved[0, 0])
    assert abs(halved) <= 0.51e50 * max(scale, 1e-50) + rounding
    assert halved == 0 or np.sign(halved) == np.sign(value / 2 - centre / 2)
    np.testing.assert_array_equal(moved[1], X[1])
