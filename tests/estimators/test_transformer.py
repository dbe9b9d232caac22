"""The transformer: scikit-learn's contract, and what its features are."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from vish import SphericalHarmonics
from vish.sphere import HarmonicBasis


@parametrize_with_checks([SphericalHarmonics(degree=2), SphericalHarmonics(degree=0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_features_are_radius_times_harmonics(rng):
    X = rng.standard_normal((50, 4)) * [1, 10, 0.1, 1e-3] + 7
    transformer = SphericalHarmonics(degree=3).fit(X)
    directions, radii = transformer.projection_.project(X)
    expected = radii[:, None] * HarmonicBasis(5, 3).evaluate(directions)
    np.testing.assert_array_equal(transformer.transform(X), expected)


def test_degree_one_features_span_the_linear_functions(rng):
    X = rng.standard_normal((40, 3))
    features = SphericalHarmonics(degree=1).fit(X).transform(X)[:, 1:]
    linear = np.column_stack([X, np.ones(40)])
    residual = linear - features @ np.linalg.lstsq(features, linear, rcond=None)[0]
    assert np.abs(residual).max() < 1e-12


def test_names_and_frames(rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.standard_normal((10, 2)), columns=["a", "b"])
    frame = SphericalHarmonics(degree=2).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns[:4]) == ["harmonic0_0", "harmonic1_0", "harmonic1_1", "harmonic1_2"]
    assert frame.shape == (10, 9)


def test_linear_map_reduces_the_dimension(rng):
    X = rng.standard_normal((20, 6))
    transformer = SphericalHarmonics(degree=3, relevance=rng.standard_normal((2, 6))).fit(X)
    assert transformer.transform(X).shape == (20, 16)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": -1}, "degree is -1"),
        ({"relevance": np.ones(4)}, r"relevance has shape \(4,\)"),
        ({"scaling": (np.zeros(3), np.zeros(3))}, "scale must be positive"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_parameters(rng, parameters, message):
    X = rng.standard_normal((10, 3))
    with pytest.raises(ValueError, match=message):
        SphericalHarmonics(**parameters).fit_transform(X)
