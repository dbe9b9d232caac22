"""Centre and scale of columns of any magnitude."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vish import VISHRegressor, data
from vish.estimators.scaling import centre_and_scale
from vish.likelihoods import StudentT


@given(power=st.integers(-1000, 1000), seed=st.integers(0, 2**32 - 1))
def test_powers_of_two_change_no_bit(power, seed):
    X = np.random.default_rng(seed).standard_normal((20, 2)) + 3
    centre, scale, varies = centre_and_scale(X)
    assert varies.all()
    moved = centre_and_scale(X * 2.0**power)
    np.testing.assert_array_equal(moved[0], centre * 2.0**power)
    np.testing.assert_array_equal(moved[1], scale * 2.0**power)
    assert moved[2].all()


def test_mean_and_standard_deviation(rng):
    X, weights = rng.standard_normal((50, 3)) * [1, 1e3, 1e-3] + 5, rng.integers(0, 3, 50)
    centre, scale, _ = centre_and_scale(X, weights)
    repeated = np.repeat(X, weights, axis=0)
    np.testing.assert_allclose(centre, repeated.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(scale, repeated.std(axis=0), rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e30, 1e-30])
def test_a_column_without_spread(dtype, value):
    X = np.column_stack([np.full(1000, value), np.arange(1000.0)]).astype(dtype)
    centre, scale, varies = centre_and_scale(X)
    np.testing.assert_array_equal(varies, [False, True])
    assert scale[0] == 1
    np.testing.assert_allclose(centre[0], dtype(value), rtol=1e-5)


def test_one_row():
    centre, scale, varies = centre_and_scale(np.array([[3.0, -4.0]]))
    np.testing.assert_array_equal(centre, [3, -4])
    np.testing.assert_array_equal(scale, 1)
    assert not varies.any()


@pytest.mark.parametrize("likelihood", [None, StudentT()])
@pytest.mark.parametrize("size", [1e155, 1e250, 1e305])
def test_a_target_whose_variance_overflows_is_refused(likelihood, size):
    X = np.random.default_rng(0).standard_normal((40, 2))
    for fit in (
        lambda model: model.fit(X, size * X[:, 0]),
        lambda model: model.fit_source(data.arrays(X, size * X[:, 0])),
    ):
        with pytest.raises(ValueError, match=r"spreads by \d.*divide it by a constant"):
            fit(VISHRegressor(degree=2, rank=None, likelihood=likelihood))
