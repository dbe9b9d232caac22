"""What every kernel promises: normalisation, gradients, parameters, storage."""

import json
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from vish.kernels import (
    ArcCosine,
    FixedSpectrum,
    FreeSpectrum,
    LevelKernel,
    Matern,
    NeuralTangent,
    Odd,
    Polynomial,
    SquaredExponential,
    Sum,
    Zonal,
    from_dict,
)
from vish.sphere.levels import level_size, level_sizes, log_level_size_at, log_level_sizes


@dataclass(frozen=True)
class Rational(LevelKernel):
    """A user's kernel: one method, and no gradient."""

    scale: float = 0.5
    variance: float = 1.0
    learned = ("scale", "variance")

    def log_levels(self, dimension, degrees):
        return -(dimension + 1) * np.log1p(self.scale * degrees)


SCALED = [
    Matern(0.5, 0.1, 2.0),
    Matern(1.5, 0.3, 2.0, convention="paper"),
    SquaredExponential(0.5, 2.0),
    ArcCosine(1, variance=2.0),
    ArcCosine(0, depth=2, variance=2.0),
    NeuralTangent(variance=2.0),
    Polynomial(3, 0.5, variance=2.0),
    Zonal(np.exp, variance=2.0),
    Rational(variance=2.0),
]
FREE = FreeSpectrum((0.5, 0.7, 0.3, 0.2, 0.2, 0.1))
FIXED = FixedSpectrum(9, (0.4, 0.3, 0.1, 0.1), 0.1, 2.0)
ODD = Odd(Matern(1.5, 0.3, 2.0))
ALL = [*SCALED, FREE, ODD, Matern(1.5, 0.3) + ArcCosine(1) + FREE]


@pytest.mark.parametrize("dimension", [2, 3, 9, 33])
@pytest.mark.parametrize("kernel", SCALED, ids=repr)
def test_both_normalisations(kernel, dimension):
    for degree in (0, 1, 3, 6):
        sizes = level_sizes(dimension, degree)
        full = kernel.spectrum(dimension, degree)
        truncated = kernel.spectrum(dimension, degree, truncated=True)
        assert_allclose(full @ sizes + kernel.tail(dimension, degree), 2.0, rtol=1e-10)
        assert_allclose(truncated @ sizes, 2.0, rtol=1e-12)
        assert_allclose(truncated * full[0], full * truncated[0], rtol=1e-11)


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("dimension", [2, 9])
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gradient_against_finite_differences(kernel, dimension, truncated):
    degree, step = 4, 1e-5
    values, jacobian = kernel.log_spectrum_and_gradient(dimension, degree, truncated=truncated)
    theta = kernel.log_parameters
    assert values.shape == (degree + 2,)
    assert jacobian.shape == (degree + 2, len(theta)) == (6, len(kernel.parameter_names))
    present = values > -np.inf
    assert (jacobian[~present] == 0).all()
    assert present[-1] or truncated or kernel.tail(dimension, degree) == 0
    assert_allclose(np.exp(values[:-1]), kernel.spectrum(dimension, degree, truncated=truncated))
    for i, direction in enumerate(np.eye(len(theta)) * step):
        above, below = (
            kernel.with_log_parameters(theta + sign * direction).log_spectrum_and_gradient(
                dimension, degree, truncated=truncated
            )[0][present]
            for sign in (1, -1)
        )
        difference = (above - below) / (2 * step)
        assert_allclose(jacobian[present, i], difference, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", [*ALL, FIXED], ids=repr)
def test_parameters_round_trip(kernel):
    theta = kernel.log_parameters
    bounds = kernel.log_bounds
    assert bounds.shape == (len(theta), 2)
    assert ((bounds[:, 0] < theta) & (theta < bounds[:, 1])).all()
    again = kernel.with_log_parameters(theta)
    assert_allclose(again.log_parameters, theta, rtol=1e-14)
    with pytest.raises(ValueError, match="log parameters"):
        kernel.with_log_parameters(np.zeros(len(theta) + 1))


@pytest.mark.parametrize("kernel", [*ALL, FIXED, Matern(), FreeSpectrum()], ids=repr)
def test_values_are_immutable_comparable_and_pickled(kernel):
    same = pickle.loads(pickle.dumps(kernel))
    assert same == kernel
    assert hash(same) == hash(kernel)
    assert repr(same) == repr(kernel)
    with pytest.raises(FrozenInstanceError):
        kernel.variance = 3.0


@pytest.mark.parametrize(
    "kernel",
    [k for k in [*ALL, FIXED, Matern(), FreeSpectrum()] if not isinstance(k, Zonal | Rational)],
    ids=repr,
)
def test_dictionaries_round_trip_through_json(kernel):
    assert from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel


@pytest.mark.parametrize(
    "kernel",
    [Matern(1.5, 0.3), SquaredExponential(0.3), Rational(2.0), Zonal(np.exp)],
    ids=repr,
)
@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_mercer_sum_converges(kernel, dimension):
    cosines = np.cos([0.0, 0.3, 1.0, 2.0, np.pi])
    full = kernel.evaluate(cosines, dimension)
    cut = kernel.evaluate(cosines, dimension, 200)
    assert_allclose(full[0], kernel.variance, rtol=1e-10)
    assert np.abs(full - cut).max() <= kernel.tail(dimension, 200) * (1 + 1e-6) + 1e-9


def test_sum_adds_everything():
    parts = Matern(1.5, 0.3, 0.5), ArcCosine(1, variance=2.0), FREE
    total = parts[0] + parts[1] + parts[2]
    assert total == Sum(parts) == parts[0] + (parts[1] + parts[2])
    for truncated in (False, True):
        expected = sum(part.spectrum(9, 3, truncated=truncated) for part in parts)
        assert_allclose(total.spectrum(9, 3, truncated=truncated), expected, rtol=1e-14)
    assert_allclose(total.tail(9, 3), sum(part.tail(9, 3) for part in parts), rtol=1e-14)
    assert_allclose(total.evaluate(0.3, 9), sum(part.evaluate(0.3, 9) for part in parts))
    assert_allclose(
        total.evaluate(0.3, 9, 2),
        sum(part.evaluate(0.3, 9, 2) for part in parts),
        rtol=1e-13,
    )
    assert len(total.log_parameters) == 2 + 1 + 6
    started = (Matern() + SquaredExponential()).start(9, 3)
    assert started == Matern().start(9, 3) + SquaredExponential().start(9, 3)


def test_sum_of_kernels_without_a_level_has_none():
    odd = ArcCosine(1) + NeuralTangent()
    values, jacobian = odd.log_spectrum_and_gradient(9, 5)
    assert values[3] == values[5] == -np.inf
    assert np.isfinite(jacobian).all()


def test_free_spectrum_starts_and_resizes():
    started = FreeSpectrum().start(9, 3)
    assert_allclose(started.spectrum(9, 3), Matern(1.5).spectrum(9, 3, truncated=True), rtol=1e-13)
    longer = started.start(9, 5)
    assert longer.variances[:4] == started.variances
    assert len(longer.variances) == 6
    assert all(v > 0 for v in longer.variances)
    assert longer.start(9, 3) == started
    assert FREE.tail(9, 3) == pytest.approx(0.3)
    assert_allclose(FREE.evaluate([1.0], 9), [2.0])


@settings(max_examples=40, deadline=None)
@given(
    lengthscale=st.floats(1e-3, 1e2),
    nu=st.floats(0.05, 20),
    dimension=st.integers(2, 60),
    degree=st.integers(0, 12),
)
def test_spectra_stay_finite_over_the_bounds(lengthscale, nu, dimension, degree):
    for kernel in (Matern(nu, lengthscale), SquaredExponential(min(lengthscale, 10.0))):
        for truncated in (False, True):
            values, jacobian = kernel.log_spectrum_and_gradient(
                dimension, degree, truncated=truncated
            )
            assert np.isfinite(values[:-1]).all()
            assert np.isfinite(jacobian).all()
        kept = kernel.spectrum(dimension, degree) @ level_sizes(dimension, degree)
        assert kept + kernel.tail(dimension, degree) == pytest.approx(1.0, rel=1e-10)


def test_level_sizes():
    assert level_sizes(9, 4).tolist() == [1, 9, 44, 156, 450]
    assert level_sizes(2, 3).tolist() == [1, 2, 2, 2]
    assert level_size(201, 100) > 2**200
    assert level_sizes(201, 100).dtype == np.float64
    for dimension in (2, 3, 9, 201):
        exact = log_level_sizes(dimension, 300)
        assert_allclose(log_level_size_at(dimension, np.arange(301.0)), exact, rtol=1e-14)
