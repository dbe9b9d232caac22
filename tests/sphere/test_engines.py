"""Two routes, one answer: moments = features, forms are adjoint to sums, gradients."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.sphere import HarmonicBasis, Projection
from vish.sphere.engines import HarmonicEngine, PolynomialEngine, choose_engine
from vish.sphere.memory import basis_size

MOST_HARMONICS = 1500
FEW = [(2, 1), (2, 5), (3, 1), (3, 4), (4, 6), (6, 3), (9, 1), (9, 2), (9, 3), (20, 2)]


def unit_points(rng, dimension, n):
    """[d, n]"""
    x = rng.standard_normal((dimension, n))
    return x / np.linalg.norm(x, axis=0)


def both(dimension, degree):
    return [choose_engine(dimension, degree, name) for name in ("moments", "features")]


def close(actual, expected, tolerance):
    """The largest error against the largest number."""
    error = np.abs(actual - expected).max()
    assert error <= tolerance * np.abs(expected).max(), error / np.abs(expected).max()


def tangent(points, gradient):
    return gradient - points * (points * gradient).sum(axis=0)


@pytest.mark.parametrize("dimension", range(2, 21))
def test_moments_are_features(rng, dimension):
    """Wherever the moment route is chosen; rows crowd the pole as small relevances do."""
    degree = 0
    while basis_size(dimension, degree + 1) <= MOST_HARMONICS and degree < 20:
        degree += 1
        engine = choose_engine(dimension, degree)
        if not isinstance(engine, PolynomialEngine):
            continue
        points = rng.standard_normal((dimension, 70))
        points[-1, :20] += 5.0
        points /= np.linalg.norm(points, axis=0)
        weights, targets = rng.exponential(size=70), rng.standard_normal((2, 70))
        moments, cross = engine.accumulate(points, weights, targets)
        assert moments.shape == (engine.size,)
        features = HarmonicBasis(dimension, degree).evaluate(points.T)
        gram = engine.gram(moments)
        close(gram, (features * weights[:, None]).T @ features, 1e-12)
        np.testing.assert_array_equal(gram, gram.T)
        close(engine.cross(cross), features.T @ targets.T, 1e-12)


@pytest.mark.parametrize("name", ["moments", "features"])
@pytest.mark.parametrize(("dimension", "degree"), [(2, 3), (3, 7), (4, 1), (5, 9), (9, 3), (7, 5)])
def test_odd_degrees_are_those_of_all_degrees(rng, dimension, degree, name):
    """Sums, forms and gradients: as of an engine of all degrees, where the others have no part."""
    odd, whole = (choose_engine(dimension, degree, name, flag) for flag in (True, False))
    kept = np.flatnonzero(whole.basis.degrees % 2)
    np.testing.assert_array_equal(odd.basis.degrees, whole.basis.degrees[kept])
    points, omega = unit_points(rng, dimension, 90), rng.exponential(size=90)
    targets, factors = rng.standard_normal((2, 90)), rng.standard_normal(90)
    sums, cross = odd.accumulate(points, omega, targets)
    assert sums.shape == (odd.size,)
    expected, expected_cross = whole.accumulate(points, omega, targets)
    gram = whole.gram(expected)
    close(odd.gram(sums), gram[np.ix_(kept, kept)], 1e-12)
    close(odd.cross(cross), whole.cross(expected_cross)[kept], 1e-12)
    assert abs(odd.total_weight(odd.gram(sums)) - omega.sum()) < 1e-11 * omega.sum()
    assert abs(whole.total_weight(gram) - omega.sum()) < 1e-11 * omega.sum()

    matrix = rng.standard_normal((len(kept), len(kept)))
    matrix += matrix.T
    coefficients = rng.standard_normal((len(kept), 2))
    larger = np.zeros_like(gram), np.zeros((len(gram), 2))
    larger[0][np.ix_(kept, kept)], larger[1][kept] = matrix, coefficients
    answers = []
    for engine, (S, c) in ((odd, (matrix, coefficients)), (whole, larger)):
        quadratic, linear = engine.quadratic_form(S), engine.linear_form(c)
        pulled = engine.pull_back(points, quadratic, factors, linear, targets)
        gradients = (
            tangent(points, pulled[1]),
            tangent(points, engine.linear_pull_back(points, linear, targets)),
        )
        answers.append((*engine.forms(points, quadratic, linear), pulled[0], *gradients))
    for ours, theirs in zip(*answers, strict=True):
        close(ours, theirs, 1e-11)


@pytest.mark.parametrize(("n", "n_targets"), [(1, 1), (31, 2), (160, 4), (161, 5), (333, 9)])
@pytest.mark.parametrize(("dimension", "degree"), [(2, 3), (5, 3)])
def test_any_number_of_rows_and_targets(rng, dimension, degree, n, n_targets):
    points = unit_points(rng, dimension, n)
    weights, targets = rng.exponential(size=n), rng.standard_normal((n_targets, n))
    ours, expected = (
        (engine.gram(sums), engine.cross(cross))
        for engine in both(dimension, degree)
        for sums, cross in [engine.accumulate(points, weights, targets)]
    )
    close(ours[0], expected[0], 1e-13)
    close(ours[1], expected[1], 1e-13)
    assert ours[1].shape == (basis_size(dimension, degree), n_targets)


@pytest.mark.parametrize("name", ["moments", "features"])
@pytest.mark.parametrize(("dimension", "degree"), FEW)
def test_quadratic_form_is_the_adjoint_of_gram(rng, dimension, degree, name):
    """sum_n omega_n phi_n^T S phi_n = tr(S G), and likewise the linear form and b."""
    engine = choose_engine(dimension, degree, name)
    points, omega = unit_points(rng, dimension, 75), rng.exponential(size=75)
    matrix = rng.standard_normal((engine.n_harmonics, engine.n_harmonics))
    matrix += matrix.T
    coefficients = rng.standard_normal((engine.n_harmonics, 3))
    targets = rng.standard_normal((3, 75))
    sums, cross = engine.accumulate(points, omega, targets)
    gram = engine.gram(sums)
    values = engine.quadratic(points, engine.quadratic_form(matrix))
    size = np.linalg.norm(gram) * np.linalg.norm(matrix)
    assert abs(omega @ values - np.sum(matrix * gram)) < 1e-13 * size
    linear = engine.linear(points, engine.linear_form(coefficients))
    close(np.sum(targets * linear), np.sum(coefficients * engine.cross(cross)), 1e-12)


@pytest.mark.parametrize("n", [1, 64, 133])
@pytest.mark.parametrize(("dimension", "degree"), FEW)
def test_values_and_gradients_of_both_engines_agree(rng, dimension, degree, n):
    points = unit_points(rng, dimension, n)
    M = basis_size(dimension, degree)
    matrix = rng.standard_normal((M, M))
    matrix += matrix.T
    coefficients, weights = rng.standard_normal((M, 3)), rng.standard_normal((3, n))
    factors = rng.standard_normal(n)
    answers = []
    for engine in both(dimension, degree):
        linear, quadratic = engine.linear_form(coefficients), engine.quadratic_form(matrix)
        values, both_pulled = engine.pull_back(points, quadratic, factors, linear, weights)
        pulled = engine.linear_pull_back(points, linear, weights)
        assert both_pulled.shape == pulled.shape == (dimension, n)
        only_values = engine.quadratic(points, quadratic)
        close(only_values, values, 1e-14 * M)
        parts = (engine.linear(points, linear), tangent(points, pulled))
        answers.append((*parts, values, tangent(points, both_pulled)))
    for ours, expected in zip(*answers, strict=True):
        close(ours, expected, 1e-12)


@pytest.mark.parametrize("name", ["moments", "features"])
@pytest.mark.parametrize(("dimension", "degree"), [(2, 4), (3, 3), (5, 3), (9, 2), (9, 1)])
def test_gradients_against_finite_differences(rng, dimension, degree, name):
    engine = choose_engine(dimension, degree, name)
    points = unit_points(rng, dimension, 40)
    M = engine.n_harmonics
    matrix = rng.standard_normal((M, M))
    quadratic = engine.quadratic_form(matrix + matrix.T)
    linear = engine.linear_form(rng.standard_normal((M, 2)))
    weights, factors = rng.standard_normal((2, 40)), rng.standard_normal(40)
    direction = tangent(points, rng.standard_normal(points.shape))

    def moved(c, h=1e-3):
        x = points + c * h * direction
        x /= np.linalg.norm(x, axis=0)
        of_linear = (weights * engine.linear(x, linear)).sum(axis=0)
        return np.array([of_linear, of_linear + factors * engine.quadratic(x, quadratic)])

    difference = (moved(-2) - 8 * moved(-1) + 8 * moved(1) - moved(2)) / 12e-3
    pulled = engine.linear_pull_back(points, linear, weights)
    gradient = engine.pull_back(points, quadratic, factors, linear, weights)[1]
    for ours, expected in zip((pulled, gradient), difference, strict=True):
        close((ours * direction).sum(axis=0), expected, 1e-7)


def test_the_choice():
    assert isinstance(choose_engine(9, 3), PolynomialEngine)
    assert isinstance(choose_engine(5, 0), HarmonicEngine)
    assert isinstance(choose_engine(3, 30), HarmonicEngine)  # badly conditioned
    assert isinstance(choose_engine(3, 3, "features"), HarmonicEngine)
    assert choose_engine(9, 3).size == 3003 + 1287
    assert choose_engine(9, 4).size == 19_305
    assert choose_engine(9, 3, odd=True).size == 3003
    assert isinstance(choose_engine(5, 15, odd=True), PolynomialEngine)


def test_chunks_in_threads_leave_blas_as_they_found_it(rng):
    """The number of BLAS threads belongs to the process; overlapping chunks must not keep it."""

    def blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    projection = Projection(np.zeros(2), np.ones(2), np.ones(2))
    geometry = Geometry(projection, 8, "constant", np.zeros(1), np.ones(1), "features")
    source = ArraySource(rng.standard_normal((50_000, 2)), np.zeros((50_000, 1)))
    with threadpool_limits(3, "blas"):
        before = blas_threads()
        Statistics.of_source(geometry, source, n_jobs=4)
        assert blas_threads() == before
