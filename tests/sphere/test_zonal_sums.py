"""Zonal functions of many cosines, against SciPy's Gegenbauer polynomials."""

import numpy as np
import pytest
from scipy.special import eval_gegenbauer

from vish.sphere.zonal_sums import zonal_moments, zonal_slopes, zonal_values


def polynomials(cosines, dimension, degree):
    """P_0 .. P_degree, by definition.  -> [degree+1, n, m]"""
    if dimension == 2:
        return np.array([np.cos(l * np.arccos(cosines)) for l in range(degree + 1)])
    alpha = (dimension - 2) / 2
    return np.array(
        [
            eval_gegenbauer(l, alpha, cosines) / eval_gegenbauer(l, alpha, 1.0)
            for l in range(degree + 1)
        ]
    )


@pytest.mark.parametrize("dimension", [2, 3, 9, 31])
@pytest.mark.parametrize("degree", [0, 1, 2, 12])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sums_over_degrees_and_over_pairs(rng, dimension, degree, n_jobs):
    cosines, weights = rng.uniform(-1, 1, (150, 40)), rng.standard_normal((150, 40))
    cosines[0, :2] = 1.0, -1.0
    coefficients = rng.standard_normal(degree + 1)
    expected = polynomials(cosines, dimension, degree)
    values = zonal_values(cosines, coefficients, dimension, n_jobs)
    np.testing.assert_allclose(values, np.tensordot(coefficients, expected, 1), atol=1e-12)
    moments = zonal_moments(cosines, weights, degree, dimension, n_jobs)
    np.testing.assert_allclose(moments, np.sum(weights * expected, axis=(1, 2)), atol=1e-11)


@pytest.mark.parametrize("dimension", [2, 3, 9, 31])
@pytest.mark.parametrize("degree", [0, 1, 2, 7])
def test_slopes(rng, dimension, degree):
    cosines, step = rng.uniform(-0.99, 0.99, (5, 30)), 1e-3
    coefficients = rng.standard_normal(degree + 1)
    f = [zonal_values(cosines + c * step, coefficients, dimension) for c in (-2, -1, 1, 2)]
    expected = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)
    slopes = zonal_slopes(cosines, coefficients, dimension)
    np.testing.assert_allclose(slopes, expected, atol=1e-6 * (1 + np.abs(expected).max()))
