"""Statistics are sums over rows: they add, subtract, weigh and repeat, to the last bit."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.sphere import HarmonicBasis, Projection
from vish.sphere.threads import row_chunks

FIELDS = ("moments", "cross", "squares", "log_radii", "weight")
both_noises = pytest.mark.parametrize("noise", ["constant", "radial"])
both_routes = pytest.mark.parametrize("route", ["moments", "features"])


def make_geometry(inputs=3, degree=3, noise="constant", targets=1, route="auto", **changes):
    projection = Projection(
        np.linspace(-0.2, 0.3, inputs), np.linspace(0.8, 1.5, inputs), np.linspace(1.2, 0.5, inputs)
    )
    shift, scale = np.linspace(0.1, 0.4, targets), np.linspace(1.0, 2.0, targets)
    return replace(Geometry(projection, degree, noise, shift, scale, route), **changes)


def make_rows(rng, n, inputs=3, targets=1):
    X = rng.standard_normal((n, inputs))
    return X, np.sin(X[:, :1]) + rng.standard_normal((n, targets))


def statistics(geometry, X, y, weights=None, n_jobs=1):
    return Statistics.of_source(geometry, ArraySource(X, y, weights), n_jobs=n_jobs)


def assert_close(actual, expected, tolerance=1e-13):
    """Every field, its largest error against its largest number."""
    for name in FIELDS:
        a, b = np.asarray(getattr(actual, name)), np.asarray(getattr(expected, name))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max(), err_msg=name)


def assert_identical(actual, expected):
    for name in (*FIELDS, "n_rows"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), err_msg=name)


@both_noises
@both_routes
@pytest.mark.parametrize("inputs", [1, 3])
def test_definition(rng, inputs, noise, route):
    """Section 5, word for word, from the features."""
    geometry = make_geometry(inputs, noise=noise, targets=2, route=route)
    X, y = make_rows(rng, 200, inputs, targets=2)
    omega = rng.exponential(size=200)
    equations = statistics(geometry, X, y, omega).normal_equations
    directions, r = geometry.projection.project(X)
    phi = HarmonicBasis(inputs + 1, 3).evaluate(directions)
    y = (y - geometry.target_shift) / geometry.target_scale
    psi = phi if noise == "radial" else r[:, None] * phi
    y = y / r[:, None] if noise == "radial" else y
    weighted = omega[:, None] * psi
    np.testing.assert_allclose(equations.gram, weighted.T @ psi, atol=1e-11)
    np.testing.assert_allclose(equations.cross, weighted.T @ y, atol=1e-11)
    np.testing.assert_allclose(equations.squares, omega @ y**2, rtol=1e-13)
    np.testing.assert_allclose(equations.weight, omega.sum(), rtol=1e-13)
    radii = omega.sum() if noise == "radial" else omega @ r**2
    np.testing.assert_allclose(equations.radii, radii, rtol=1e-13)
    log_jacobian = -2 * omega @ np.log(r) if noise == "radial" else 0.0  # two targets
    np.testing.assert_allclose(equations.log_jacobian, log_jacobian, rtol=1e-12)


@both_noises
@both_routes
def test_they_add_and_subtract(rng, noise, route):
    geometry = make_geometry(noise=noise, route=route)
    X, y = make_rows(rng, 700)
    whole = statistics(geometry, X, y)
    a, b = statistics(geometry, X[:250], y[:250]), statistics(geometry, X[250:], y[250:])
    assert_close(a + b, whole)
    assert_close((a + b) - b, a)
    assert ((a + b) - b).n_rows == a.n_rows == 250
    assert_identical(a + b, b + a)
    assert_identical(a + Statistics.zero(geometry), a)
    nothing = statistics(geometry, X[:0], y[:0])
    assert_identical(nothing, Statistics.zero(geometry))


@both_noises
@both_routes
def test_an_integer_weight_is_a_repeated_row_and_zero_is_no_row(rng, noise, route):
    geometry = make_geometry(noise=noise, route=route)
    X, y = make_rows(rng, 400)
    weights = rng.integers(0, 4, 400)
    repeated = statistics(geometry, X.repeat(weights, axis=0), y.repeat(weights, axis=0))
    for kind in (float, np.int32, np.float32):
        assert_close(statistics(geometry, X, y, weights.astype(kind)), repeated)
    assert_identical(statistics(geometry, X, y, np.ones(400)), statistics(geometry, X, y))


@both_noises
@both_routes
def test_threads_change_no_bit(rng, noise, route):
    geometry = make_geometry(noise=noise, route=route, targets=2)
    X, y = make_rows(rng, 20_001, targets=2)
    weights = rng.exponential(size=len(X))
    one = statistics(geometry, X, y, weights)
    assert one.n_rows == 20_001
    for n_jobs in (2, 4):
        assert_identical(statistics(geometry, X, y, weights, n_jobs), one)


def test_many_chunks_are_summed_in_groups(rng):
    """More chunks than a group holds; a running total of rows."""
    geometry = make_geometry(inputs=1, degree=1)
    X, y = make_rows(rng, 80_000, inputs=1)
    seen: list[int] = []
    source = ArraySource(X, y)
    total = Statistics.of_source(geometry, source, n_jobs=2, progress=seen.append)
    assert sum(seen) == total.n_rows == 80_000
    assert len(seen) == len(row_chunks(80_000))
    parts = [statistics(geometry, X[i::4], y[i::4]) for i in range(4)]
    assert_close(sum(parts[1:], start=parts[0]), total)
    assert_identical(statistics(geometry, X, y), total)


def test_layout_and_precision_of_the_rows(rng):
    geometry = make_geometry()
    X, y = make_rows(rng, 5000)
    X, y = X.astype(np.float32), y.astype(np.float32)
    expected = statistics(geometry, X.astype(np.float64), y.astype(np.float64))
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    for rows in (X, np.asfortranarray(X.astype(float)), frozen, strided):
        assert_identical(statistics(geometry, rows, y), expected)


@both_noises
def test_several_targets_are_each_alone(rng, noise):
    geometry = make_geometry(noise=noise, targets=6)
    X, y = make_rows(rng, 500, targets=6)
    together = statistics(geometry, X, y)
    for t in range(6):
        shift, scale = geometry.target_shift[[t]], geometry.target_scale[[t]]
        alone = replace(geometry, target_shift=shift, target_scale=scale)
        expected = statistics(alone, X, y[:, [t]])
        np.testing.assert_array_equal(together.moments, expected.moments)
        np.testing.assert_allclose(together.cross[:, [t]], expected.cross, atol=1e-12)
        np.testing.assert_allclose(together.squares[[t]], expected.squares, rtol=1e-14)


@both_noises
@pytest.mark.parametrize("inputs", [1, 2, 8])
def test_centring_after_the_fact_is_centring_before(rng, inputs, noise):
    geometry = make_geometry(inputs, degree=2, noise=noise, targets=2)
    X, y = make_rows(rng, 300, inputs, targets=2)
    omega = rng.exponential(size=300)
    after = statistics(geometry, X, y + 3.0, omega).normal_equations.centred()
    r = geometry.projection.project(X)[1]
    share = omega / r**2 if noise == "radial" else omega
    mean = share @ geometry.standardise(y + 3.0).T / share.sum()
    shift = geometry.target_shift + mean * geometry.target_scale
    centred = replace(geometry, target_shift=shift)
    before = statistics(centred, X, y + 3.0, omega).normal_equations
    np.testing.assert_allclose(after.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(after.cross, before.cross, atol=1e-10)
    np.testing.assert_allclose(after.squares, before.squares, rtol=1e-11)
    np.testing.assert_array_equal(after.gram, before.gram)
    again = after.centred()
    np.testing.assert_allclose(again.mean, after.mean, rtol=1e-12)
    np.testing.assert_allclose(again.squares, after.squares, rtol=1e-11)


def test_centring_nothing_changes_nothing():
    empty = Statistics.zero(make_geometry()).normal_equations
    assert empty.centred() is empty
    constant = Statistics.zero(make_geometry(degree=0)).normal_equations
    assert constant.centred() is constant


def test_a_provisional_shift_keeps_the_digits(rng):
    X, y = make_rows(rng, 500)
    far = make_geometry(target_shift=np.array([1e6]))
    near = make_geometry(target_shift=np.array([0.0]))
    y = np.round(y * 2**20) / 2**20  # so that 1e6 + y is exact
    shifted = statistics(far, X, y + 1e6).normal_equations.centred()
    plain = statistics(near, X, y).normal_equations.centred()
    np.testing.assert_allclose(shifted.squares, plain.squares, rtol=1e-13)
    np.testing.assert_allclose(shifted.cross, plain.cross, atol=1e-11)


@both_noises
def test_a_lower_degree_is_the_leading_block(rng, noise):
    X, y = make_rows(rng, 300)
    whole = statistics(make_geometry(degree=4, noise=noise), X, y).normal_equations
    for degree in range(4):
        part = whole.at_degree(degree)
        alone = statistics(make_geometry(degree=degree, noise=noise), X, y).normal_equations
        np.testing.assert_allclose(part.gram, alone.gram, atol=1e-11)
        np.testing.assert_allclose(part.cross, alone.cross, atol=1e-11)
        np.testing.assert_array_equal(part.degrees, alone.degrees)
        np.testing.assert_allclose(part.radii, alone.radii, rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"degree": 2}, "degree"),
        ({"noise": "radial"}, "noise"),
        ({"target_shift": np.array([0.2])}, "shift of the target"),
        ({"target_scale": np.array([3.0])}, "scale of the target"),
        ({"route": "features"}, "engine"),
        ({"projection": Projection(np.zeros(3), np.ones(3), np.ones(3))}, "relevance"),
    ],
)
def test_other_geometries_are_refused(change, word):
    a, b = Statistics.zero(make_geometry()), Statistics.zero(make_geometry(**change))
    for combine in (a.__add__, a.__sub__):
        with pytest.raises(ValueError, match=f"differ in {word}; .* empty_like"):
            combine(b)


@pytest.mark.parametrize("name", ["centre", "scale", "relevance"])
def test_other_projections_are_refused(name):
    a = make_geometry()
    moved = replace(a.projection, **{name: getattr(a.projection, name) + 0.5})
    with pytest.raises(ValueError, match=f"differ in {name}"):
        Statistics.zero(a) + Statistics.zero(replace(a, projection=moved))


def test_an_equal_geometry_made_again_is_accepted(rng):
    X, y = make_rows(rng, 50)
    total = statistics(make_geometry(), X, y) + statistics(make_geometry(), X, y)
    assert total.n_rows == 100


PEAK = """
import numpy as np
from benchmarks.memory import peak
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.sphere import Projection

projection = Projection(np.zeros(4), np.ones(4), np.ones(4))
geometry = Geometry(projection, 2, "constant", np.zeros(1), np.ones(1), {route!r})
row = np.arange(4.0)[None]
for n in (65_536, 65_536, 1_048_576):
    # the same row again and again: an input of any length without memory of its own
    X, y = np.broadcast_to(row, (n, 4)), np.broadcast_to(row[:, :1], (n, 1))
    Statistics.of_source(geometry, ArraySource(X, y), n_jobs=2)
    print(peak())
"""


@both_routes
@pytest.mark.skipif(sys.platform != "linux", reason="memory as Linux tells it")
def test_memory_does_not_grow_with_the_rows(route):
    command = [sys.executable, "-c", PEAK.format(route=route)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, before, after = map(float, printed.split())
    assert after - before < 4  # megabytes; one vector of a million numbers is 8
