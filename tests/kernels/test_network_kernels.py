"""Arc-cosine and neural tangent kernels: exact zeros, shapes, tails."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vish.kernels import ArcCosine, NeuralTangent
from vish.sphere.levels import level_sizes

SHALLOW = [ArcCosine(0), ArcCosine(1), ArcCosine(2), NeuralTangent()]
VANISHING = [
    (ArcCosine(0), range(2, 40, 2)),
    (ArcCosine(1), range(3, 40, 2)),
    (ArcCosine(2), range(4, 40, 2)),
    (NeuralTangent(), range(3, 40, 2)),
]


@pytest.mark.parametrize("dimension", [2, 3, 9, 33])
@pytest.mark.parametrize(("kernel", "zeros"), VANISHING)
def test_vanishing_levels_are_exactly_zero_and_no_others(kernel, zeros, dimension):
    spectrum = kernel.spectrum(dimension, 39)
    assert set(np.flatnonzero(spectrum == 0)) == set(zeros)
    assert (spectrum >= 0).all()


@pytest.mark.parametrize("dimension", [2, 3, 9, 33])
@pytest.mark.parametrize(
    "kernel", [ArcCosine(0, 2), ArcCosine(1, 2), ArcCosine(2, 2), NeuralTangent(2)]
)
def test_no_level_vanishes_at_greater_depth(kernel, dimension):
    assert (kernel.spectrum(dimension, 8) > 0).all()


@pytest.mark.parametrize("dimension", [2, 3, 9, 33, 201])
@pytest.mark.parametrize("kernel", SHALLOW)
def test_levels_and_tail_add_up_to_the_variance(kernel, dimension):
    for degree in (0, 1, 2, 3, 6, 20):
        kept = kernel.spectrum(dimension, degree) @ level_sizes(dimension, degree)
        assert_allclose(kept + kernel.tail(dimension, degree), 1.0, rtol=1e-11)


def test_smooth_tail_is_accurate_where_the_difference_cancels():
    # order 2 on the circle at degree 2000: 2 a_l = (8 / (3 pi))^2 ... ~ l^-6
    kernel = ArcCosine(2)
    further = kernel.spectrum(2, 60_000)[2001:]
    assert_allclose(kernel.tail(2, 2000), 2 * further.sum(), rtol=1e-6)
    assert kernel.tail(2, 2000) < 1e-16


@pytest.mark.parametrize("kernel", [*SHALLOW, ArcCosine(1, 3), NeuralTangent(3)])
@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_mercer_sum_converges_to_the_kernel(kernel, dimension):
    cosines = np.cos([0.0, 0.3, 1.0, 2.0, np.pi])
    full = kernel.evaluate(cosines, dimension)
    assert full[0] == 1.0
    for degree in (10, 40, 160):
        error = np.abs(kernel.evaluate(cosines, dimension, degree) - full)
        tail = kernel.tail(dimension, degree)
        assert error.max() <= tail * (1 + 1e-6) + 1e-12
        assert_allclose(error[0], tail, rtol=1e-6, atol=1e-12)


def test_shapes_against_their_formulas():
    angles = np.linspace(0, np.pi, 9)
    rest, sine, cosine = np.pi - angles, np.sin(angles), np.cos(angles)
    step = rest / np.pi
    ramp = (sine + rest * cosine) / np.pi
    square = (3 * sine * cosine + rest * (1 + 2 * cosine**2)) / (3 * np.pi)
    for order, shape in enumerate((step, ramp, square)):
        assert_allclose(ArcCosine(order).unit_shape(angles), shape, atol=1e-15)
    assert_allclose(NeuralTangent().unit_shape(angles), (ramp + cosine * step) / 2, atol=1e-15)
    inner = np.arccos(ramp)
    second = (np.sin(inner) + (np.pi - inner) * np.cos(inner)) / np.pi
    assert_allclose(ArcCosine(1, 2).unit_shape(angles), second, atol=1e-14)
    tangent = (second + (ramp + cosine * step) * (1 - inner / np.pi)) / 3
    assert_allclose(NeuralTangent(2).unit_shape(angles), tangent, atol=1e-14)


def test_arccosine_is_the_average_over_random_features():
    # E[relu(w.x) relu(w.y)] on the circle, by exact quadrature over w
    angles = (np.arange(4000) + 0.5) * 2 * np.pi / 4000
    features = [np.maximum(np.cos(angles - shift), 0) for shift in (0.0, 0.7)]
    ratio = (features[0] @ features[1]) / (features[0] @ features[0])
    assert_allclose(ArcCosine(1).evaluate(np.cos(0.7), 2), ratio, atol=1e-6)
