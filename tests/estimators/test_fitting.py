"""From parameters to a search: settings, starts, and which noise is taken."""

import numpy as np
import pytest

from vish import VISHRegressor
from vish.estimators.search import make_setting, starting_relevance
from vish.estimators.settings import FitSettings
from vish.inference.sources import ArraySource
from vish.likelihoods import Gaussian


def test_the_scaling_is_that_of_the_rows_or_as_given(rng):
    X, y = rng.standard_normal((50, 2)) * [1, 100] + 7, rng.standard_normal((50, 1))
    source = ArraySource(X, 10 * y)
    setting = make_setting(source, "constant", FitSettings.of(VISHRegressor()))
    np.testing.assert_allclose(setting.centre, X.mean(axis=0))
    np.testing.assert_allclose(setting.scale, X.std(axis=0))
    np.testing.assert_allclose(setting.target_scale, 10 * y.std())
    given = make_setting(source, "radial", FitSettings.of(VISHRegressor(scaling=([1, 2], [3, 4]))))
    np.testing.assert_array_equal([given.centre, given.scale], [[1, 2], [3, 4]])
    assert (given.noise_kind, given.truncated) == ("radial", True)


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [
        (None, [0.5**0.5, 0.0, 0.5**0.5]),
        (0.3, [0.3] * 3),
        ([1, 2, 3], [1.0, 2.0, 3.0]),
        (np.ones((2, 3)), np.ones((2, 3))),
    ],
)
def test_where_the_relevance_starts(relevance, expected):
    live = np.array([True, False, True])
    np.testing.assert_allclose(
        starting_relevance(FitSettings.of(VISHRegressor(relevance=relevance)), live), expected
    )


def test_seeds():
    def seed(random_state):
        return FitSettings.of(VISHRegressor(random_state=random_state)).seed

    assert seed(None) == 0
    assert seed(5) == seed(5) != 0


def test_a_matrix_too_large_for_memory_is_refused():
    live = np.ones(8, dtype=bool)
    with pytest.raises(ValueError, match=r"features, whose matrices .* lower the degree or the r"):
        starting_relevance(FitSettings.of(VISHRegressor(degree=15)), live)
    mapped = FitSettings.of(VISHRegressor(degree=15, rank=2))
    starting_relevance(mapped, live)  # it is the mapped inputs that count


def test_fixed_hyperparameters_are_kept(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    for noise in ("constant", "radial"):
        model = VISHRegressor(degree=2, likelihood=Gaussian(noise, 0.3), optimize=False).fit(X, y)
        assert model.likelihood_ == Gaussian(noise, 0.3)
        assert model.noise_variance_ == pytest.approx(0.3 * y.var())
    auto = VISHRegressor(degree=2, likelihood=Gaussian("auto", 0.3), optimize=False).fit(X, y)
    assert auto.likelihood_.noise in ("constant", "radial")
