"""The gradient of the evidence in the map onto the sphere, against finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from vish.inference.evidence import evidence
from vish.inference.relevance import relevance_gradient
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.kernels import Matern
from vish.sphere import Projection
from vish.sphere.threads import CHUNK_ROWS

DIAGONAL = np.array([0.9, 0.4, 1.3])
MATRIX = np.array([[0.9, 0.4, -0.3], [0.2, -0.7, 0.5]])


def make_geometry(relevance, noise, targets, degree=3, route="auto"):
    projection = Projection(np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.8, 1.4]), relevance)
    shift, scale = np.linspace(0.0, 0.3, targets), np.linspace(1.0, 1.5, targets)
    return Geometry(projection, degree, noise, shift, scale, route)


def make_source(rng, n, targets, weighted=True):
    X = rng.standard_normal((n, 3))
    y = np.sin(X @ rng.standard_normal((3, targets))) + 0.2 * rng.standard_normal((n, targets))
    return ArraySource(X, y, rng.exponential(size=n) if weighted else None)


def solve(geometry, source, log_spectrum, noise, centred):
    equations = Statistics.of_source(geometry, source, n_jobs=1).normal_equations
    equations = equations.centred() if centred else equations
    return evidence(equations, log_spectrum, noise), equations.mean


def finite_difference(value, relevance, step=1e-3):
    """Fourth order, in every entry."""
    gradient = np.empty(relevance.shape)
    for i in np.ndindex(relevance.shape):
        change = np.zeros(relevance.shape)
        change[i] = step
        values = [value(relevance + c * change) for c in (-2, -1, 1, 2)]
        gradient[i] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return gradient


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("relevance", [DIAGONAL, MATRIX], ids=["diagonal", "matrix"])
@pytest.mark.parametrize(("targets", "route"), [(1, "moments"), (3, "moments"), (2, "features")])
def test_gradient(rng, noise, truncated, relevance, targets, route):
    """In radial noise the mean moves with the radii, so there nothing is centred."""
    geometry = make_geometry(relevance, noise, targets, route=route)
    source = make_source(rng, 100, targets)
    d, centred = geometry.projection.dimension, noise == "constant"
    log_spectrum, _ = Matern(1.5, 0.6, 2.0).log_spectrum_and_gradient(d, 3, truncated=truncated)
    tau2 = np.linspace(0.05, 0.2, targets)
    tail = float(np.exp(log_spectrum[-1]))
    result, mean = solve(geometry, source, log_spectrum, tau2, centred)
    gradient = relevance_gradient(geometry, source, result, tau2, tail, mean, n_jobs=1)

    def value(relevance):
        moved = replace(geometry, projection=replace(geometry.projection, relevance=relevance))
        return solve(moved, source, log_spectrum, tau2, centred)[0].value

    expected = finite_difference(value, relevance)
    assert gradient.shape == relevance.shape
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


def test_chunks_and_threads(rng):
    geometry = make_geometry(DIAGONAL, "constant", 1, degree=2)
    source = make_source(rng, 2 * CHUNK_ROWS + 5, 1, weighted=False)
    log_spectrum, _ = Matern(1.5, 0.6).log_spectrum_and_gradient(4, 2, truncated=True)
    tau2 = np.array([0.1])
    result, mean = solve(geometry, source, log_spectrum, tau2, True)
    one, two = (
        relevance_gradient(geometry, source, result, tau2, 0.0, mean, n_jobs=n) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)
    ones = ArraySource(source.X, source.y, np.ones(len(source.X)))
    np.testing.assert_allclose(
        relevance_gradient(geometry, ones, result, tau2, 0.0, mean, n_jobs=1), one, rtol=1e-13
    )
