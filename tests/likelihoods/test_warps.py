"""The conjugate family: the warp is a monotone map with these derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vish.likelihoods import Gaussian, SinhArcsinh, Warped

warps = st.builds(
    SinhArcsinh,
    skew=st.floats(-2, 2),
    tail=st.floats(0.2, 3),
    location=st.floats(-3, 3),
    scale=st.floats(0.1, 5),
)
Y = np.linspace(-20, 20, 101)


@given(warp=warps)
def test_the_warp_is_monotone_and_has_an_inverse(warp):
    z = warp.forward(Y)
    assert np.all(np.diff(z) > 0)
    np.testing.assert_allclose(warp.inverse(z), Y, rtol=1e-9, atol=1e-8)


@given(warp=warps)
def test_the_slope(warp):
    step = 1e-4
    y = [warp.forward(Y + c * step) for c in (-2, -1, 1, 2)]
    slope = (y[0] - 8 * y[1] + 8 * y[2] - y[3]) / (12 * step)
    np.testing.assert_allclose(np.exp(warp.log_slope(Y)), slope, rtol=1e-5, atol=1e-9)


@given(warp=warps)
def test_parameter_gradients(warp):
    d_forward, d_log_slope = warp.parameter_gradients(Y)
    step = 1e-5
    for i, change in enumerate(step * np.eye(4)):
        up, down = (warp.with_parameters(warp.parameters + c * change) for c in (1, -1))
        for gradient, values in (
            (d_forward[i], (up.forward(Y) - down.forward(Y)) / (2 * step)),
            (d_log_slope[i], (up.log_slope(Y) - down.log_slope(Y)) / (2 * step)),
        ):
            np.testing.assert_allclose(
                gradient, values, rtol=1e-5, atol=1e-6 * (1 + np.abs(values).max())
            )


def test_parameters_there_and_back():
    warp = SinhArcsinh(0.3, 0.7, -1.0, 2.0)
    back = warp.with_parameters(warp.parameters)
    np.testing.assert_allclose(back.parameters, warp.parameters, rtol=1e-15)
    assert warp.bounds.shape == (4, 2)
    plain = SinhArcsinh()
    np.testing.assert_allclose(plain.forward(Y), Y, rtol=1e-12)
    np.testing.assert_allclose(plain.log_slope(Y), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian("loud"), "noise is 'loud': choose one of constant, radial, auto"),
        (lambda: Gaussian(variance=0.0), r"variance is 0\.0: give a positive number"),
        (lambda: Gaussian(variance=np.nan), "variance is nan"),
        (lambda: Gaussian(variance=(0.1, -0.1)), r"variance is \(0\.1, -0\.1\)"),
        (lambda: Warped(noise="loud"), "noise is 'loud'"),
        (lambda: Warped(variance=np.inf), "variance is inf"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
