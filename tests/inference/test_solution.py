"""A regression by the sums over its rows, and by their kernel matrix: the same numbers."""

import numpy as np
import pytest

from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.inference.solution import SolutionBySums, has_few_rows
from vish.inference.solution_by_rows import SolutionByRows
from vish.inference.sources import ArraySource
from vish.kernels import Matern, Polynomial
from vish.likelihoods import SinhArcsinh

MATRIX = np.array([[0.9, 0.2, -0.3], [0.2, -0.6, 0.5]])


def both(setting, point, degree):
    """The regression at a point by either route."""
    log_spectrum, _ = point.kernel.log_spectrum_and_gradient(
        point.dimension, degree, truncated=setting.truncated
    )
    given = (setting.source, log_spectrum, point.noise, setting.n_jobs)
    sums = SolutionBySums.of(setting.statistics(point, degree), *given)
    return sums, SolutionByRows(setting.geometry(point, degree), *given)


def make(rng, n=60, noise="constant", truncated=True, targets=1):
    X = rng.standard_normal((n, 3))
    y = np.sin(X @ rng.standard_normal((3, targets))) + 0.2 * rng.standard_normal((n, targets))
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9)
    shift, scale = np.full(targets, 3.0), np.full(targets, 2.0)
    scaling = (np.array([0.0, 0.2, 0.1]), np.array([1.0, 0.7, 1.2]))
    source, live = ArraySource(X, 3 + 2 * y, weights), np.ones(3, dtype=bool)
    return Setting(source, *scaling, shift, scale, noise, truncated, live)


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize(
    ("targets", "point"),
    [
        (1, {}),
        (3, {"relevance": MATRIX, "noise": np.array([0.1, 0.1, 0.4])}),
        (2, {"warp": SinhArcsinh(0.2, 0.8, 0.1, 1.2)}),
        (1, {"noise": np.array([1e-5]), "kernel": Matern(2.5, 1.0, 100.0)}),
        (1, {"kernel": Polynomial(degree=3)}),  # levels 4 and 5 have no variance
    ],
)
def test_both_routes_agree(rng, noise, truncated, targets, point):
    setting = make(rng, noise=noise, truncated=truncated, targets=targets)
    given = {"relevance": np.array([0.9, 0.5, 0.4]), "kernel": Matern(1.5, 0.6, 2.0)}
    point = Hyperparameters(**{**given, "noise": np.full(targets, 0.1), **point})
    sums, rows = both(setting, point, 5)
    tight = {"rtol": 1e-7, "atol": 1e-7 * abs(sums.value)}
    np.testing.assert_allclose(rows.value, sums.value, rtol=1e-9)
    np.testing.assert_allclose(rows.d_log_spectrum, sums.d_log_spectrum, **tight)
    np.testing.assert_allclose(rows.d_log_noise, sums.d_log_noise, **tight)
    np.testing.assert_allclose(rows.relevance_gradient(), sums.relevance_gradient(), **tight)
    new = rng.standard_normal((50, 3))
    ours, theirs = rows.moments(new), sums.moments(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-7)
    np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-7 * theirs.variance.max())


def test_the_smaller_matrix_is_taken(rng):
    setting = make(rng, n=60)
    point = Hyperparameters(np.ones(3), Matern(1.5, 0.6, 2.0), np.full(1, 0.1))
    assert isinstance(Objective(setting, point, 2).solve(point)[0], SolutionBySums)  # 14 harmonics
    assert isinstance(Objective(setting, point, 6).solve(point)[0], SolutionByRows)  # 140
    assert not has_few_rows(ArraySource(np.zeros((9000, 3)), np.zeros((9000, 1))), 10**6)
