"""Identities of the harmonics: addition theorem, orthonormality, rotation, Euler, gradient."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import roots_gegenbauer
from scipy.stats import ortho_group

from vish.sphere import HarmonicBasis
from vish.sphere.memory import basis_size


def unit_vectors(rng, n, d):
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def zonal(x, y, degree):
    """sum_k phi_lk(x) phi_lk(y) / N(d, l) by the three-term recurrence.  -> [L+1, n, n]

    The normalised polynomials have slope l(l+d-2)/(d-1) at 1, which would blow up the
    rounding of the cosine; so the cosine is 1 - |x - y|^2 / 2 in extended precision.
    """
    d = x.shape[1]
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    x, y = (v / np.sqrt((v**2).sum(axis=1, keepdims=True)) for v in (x, y))
    t = 1 - ((x[:, None] - y[None]) ** 2).sum(axis=-1) / 2
    values = [np.ones_like(t), t]
    for l in range(1, degree):
        values.append(((2 * l + d - 2) * t * values[-1] - l * values[-2]) / (l + d - 2))
    return np.array(values[: degree + 1])


@pytest.mark.parametrize(
    ("dimension", "degree"),
    [
        *[(2, 1000), (3, 100), (4, 30), (5, 20), (9, 7), (16, 4), (33, 3), (101, 2), (201, 2)],
        *[(2, 0), (7, 1)],
    ],
)
def test_addition_theorem(rng, dimension, degree):
    basis = HarmonicBasis(dimension, degree)
    assert len(basis) == basis_size(dimension, degree) <= 21_000
    x, y = unit_vectors(rng, 12, dimension), unit_vectors(rng, 9, dimension)
    x = np.vstack([x, np.eye(dimension)[-1], np.eye(dimension)[0], -y[0]])
    values_x, values_y = basis.evaluate(x), basis.evaluate(y)
    expected = zonal(x, y, degree)
    for l in range(degree + 1):
        level = basis.degrees == l
        products = values_x[:, level] @ values_y[:, level].T / level.sum()
        assert np.abs(products - expected[l]).max() < 1e-12


def sphere_quadrature(dimension, degree):
    """Nodes and weights exact for polynomials up to the degree: Gegenbauer rules, nested."""
    n = 2 * degree + 2
    angle = 2 * np.pi * np.arange(n) / n
    points, weights = np.column_stack([np.cos(angle), np.sin(angle)]), np.full(n, 1 / n)
    for d in range(3, dimension + 1):
        t, w = roots_gegenbauer(degree + 1, (d - 2) / 2)
        ring = np.sqrt(1 - t**2)[:, None, None] * points
        points = np.concatenate([ring, np.broadcast_to(t[:, None, None], (*ring.shape[:2], 1))], 2)
        points = points.reshape(-1, d)
        weights = (w[:, None] / w.sum() * weights).ravel()
    return points, weights


@pytest.mark.parametrize(("dimension", "degree"), [(2, 40), (3, 12), (4, 7), (5, 5)])
def test_orthonormality(dimension, degree):
    points, weights = sphere_quadrature(dimension, degree)
    values = HarmonicBasis(dimension, degree).evaluate(points)
    gram = (values * weights[:, None]).T @ values
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-11)


@pytest.mark.parametrize(("dimension", "degree"), [(2, 6), (3, 5), (4, 1), (5, 4), (9, 3), (40, 2)])
def test_pull_back_is_the_gradient(rng, dimension, degree):
    basis = HarmonicBasis(dimension, degree)
    x = unit_vectors(rng, 5, dimension)
    cotangent = rng.standard_normal((5, len(basis)))
    gradient = basis.pull_back(x, cotangent)
    step = 1e-4
    for i in range(dimension):
        h = step * np.eye(dimension)[i]
        values = [(cotangent * basis.evaluate(x + c * h)).sum(axis=1) for c in (-2, -1, 1, 2)]
        difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
        np.testing.assert_allclose(gradient[:, i], difference, atol=1e-7 * np.abs(gradient).max())


@given(d=st.integers(2, 12), degree=st.integers(0, 5), seed=st.integers(0, 2**32 - 1))
def test_euler_identity(d, degree, seed):
    """Harmonics are homogeneous: x . grad Y = l Y."""
    rng = np.random.default_rng(seed)
    basis = HarmonicBasis(d, degree)
    x = unit_vectors(rng, 3, d)
    cotangent = rng.standard_normal((3, len(basis)))
    radial = (basis.pull_back(x, cotangent) * x).sum(axis=1)
    expected = (basis.degrees * cotangent * basis.evaluate(x)).sum(axis=1)
    np.testing.assert_allclose(radial, expected, atol=1e-12 * len(basis))


@given(d=st.integers(2, 10), degree=st.integers(0, 5), seed=st.integers(0, 2**32 - 1))
def test_level_sums_are_invariant_under_rotation(d, degree, seed):
    rng = np.random.default_rng(seed)
    basis = HarmonicBasis(d, degree)
    rotation = ortho_group(d, seed=rng).rvs()
    x = unit_vectors(rng, 4, d)
    values, rotated = basis.evaluate(x), basis.evaluate(x @ rotation)
    for l in range(degree + 1):
        level = basis.degrees == l
        np.testing.assert_allclose(
            rotated[:, level] @ rotated[:, level].T,
            values[:, level] @ values[:, level].T,
            atol=1e-12 * level.sum(),
        )


def test_harmonicity_of_every_function(rng):
    """The Laplacian vanishes: exact for these polynomials by a fourth-order difference."""
    basis = HarmonicBasis(4, 3)
    x = unit_vectors(rng, 6, 4)
    laplacian, h = np.zeros((6, len(basis))), 0.5
    for e in np.eye(4):
        values = [basis.evaluate(x + c * h * e) for c in (-1, 0, 1)]
        laplacian += (values[0] - 2 * values[1] + values[2]) / h**2
    assert np.abs(laplacian).max() < 1e-12


def test_kept_degrees_are_columns_of_the_whole(rng):
    whole, part = HarmonicBasis(5, 4), HarmonicBasis(5, 4, degrees_kept=[0, 1, 2, 4])
    x = unit_vectors(rng, 7, 5)
    columns = np.isin(whole.degrees, [0, 1, 2, 4])
    np.testing.assert_array_equal(part.evaluate(x), whole.evaluate(x)[:, columns])
    np.testing.assert_array_equal(part.degrees, whole.degrees[columns])
    cotangent = np.zeros((7, len(whole)))
    cotangent[:, columns] = rng.standard_normal((7, len(part)))
    np.testing.assert_allclose(
        part.pull_back(x, cotangent[:, columns]), whole.pull_back(x, cotangent), atol=1e-13
    )


def test_single_precision(rng):
    basis = HarmonicBasis(6, 3)
    x = unit_vectors(rng, 30, 6)
    single = basis.evaluate(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, basis.evaluate(x), atol=1e-5)
    assert basis.pull_back(x.astype(np.float32), single).dtype == np.float32


def test_threads_and_layout_change_nothing(rng):
    basis = HarmonicBasis(5, 3)
    x = unit_vectors(rng, 9000, 5)
    expected = basis.evaluate(x, n_jobs=1)
    frozen = np.asfortranarray(x)
    frozen.flags.writeable = False
    for n_jobs in (2, 4, -1, None):
        np.testing.assert_array_equal(basis.evaluate(frozen, n_jobs=n_jobs), expected)
    np.testing.assert_array_equal(basis.evaluate(x[4095:4100]), expected[4095:4100])
    assert basis.evaluate(x[:0]).shape == (0, len(basis))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HarmonicBasis(1, 2), "dimension is 1: give an integer of at least 2"),
        (lambda: HarmonicBasis(2.5, 2), "dimension is 2.5"),
        (lambda: HarmonicBasis(3, -1), "degree is -1: give an integer of at least 0"),
        (lambda: HarmonicBasis(3, 2, degrees_kept=[4]), "none above 2"),
        (lambda: HarmonicBasis(3, 2, degrees_kept=[]), "at least one degree"),
        (lambda: HarmonicBasis(3, 2).evaluate(np.ones((4, 2))), r"expected \(n, 3\)"),
        (lambda: HarmonicBasis(3, 2).evaluate([[1, 0, np.nan]]), "NaN or infinity, first in row 0"),
        (lambda: HarmonicBasis(2, 2).evaluate([[1, 0], [0, np.inf]]), "first in row 1"),
        (lambda: HarmonicBasis(2, 2).evaluate([[1, 0], [0, 0]]), "row 1 .* zero vector"),
        (lambda: HarmonicBasis(2, 1).pull_back([[1, 0]], [[1.0]]), r"cotangent has shape \(1, 1\)"),
        (lambda: HarmonicBasis(100, 30), "degree up to 30 .* largest degree that fits is"),
        (
            lambda: HarmonicBasis(9, 6).evaluate(np.broadcast_to(np.ones(9), (10**8, 9))),
            "4,290 harmonics at 100,000,000 points .* largest degree that fits is",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
