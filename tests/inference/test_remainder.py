"""Rows taken away: what shows that they were never there, and when rounding can be seen."""

import warnings

import numpy as np
import pytest

from vish import VISHRegressor
from vish.likelihoods import Poisson, StudentT


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)


def fitted(rows, **options):
    X, y = rows
    return VISHRegressor(degree=3, rank=None, max_iter=30, **options).fit(X[:300], y[:300])


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_rows_never_seen_are_refused_where_the_sums_show_it(rows, noise):
    from vish.likelihoods import Gaussian

    X, y = rows
    rng = np.random.default_rng(1)
    for strange_X, strange_y in [
        (X[:100] + 5.0, y[:100]),  # elsewhere
        (X[:100], y[:100] + 20.0),  # other targets
        (5 * X[:200], y[:200]),
        (np.tile(X[:1], (250, 1)), np.repeat(y[:1], 250)),  # one row many times
        (rng.normal(3, 0.1, size=(50, 3)), rng.normal(size=50)),
    ]:
        model = fitted(rows, likelihood=Gaussian(noise=noise))
        before = model.predict(X)
        with pytest.raises(ValueError, match=r"cannot forget .* give rows that were fitted"):
            model.forget(strange_X, strange_y)
        np.testing.assert_array_equal(model.predict(X), before)


def test_rows_that_were_seen_are_forgotten_without_a_word(rows):
    X, y = rows
    for n in (1, 100, 290, 299, 300):
        model = fitted(rows).set_params(optimize=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.forget(X[:n], y[:n])
        assert model.n_rows_seen_ == 300 - n


@pytest.mark.parametrize("what", ["x", "y"])
def test_rounding_by_a_far_row_is_told(rows, what):
    X, y = rows
    model = fitted(rows).set_params(optimize=False)
    x_far, y_far = (np.full((1, 3), 1e8), y[:1]) if what == "x" else (X[:1], np.array([1e10]))
    model.partial_fit(x_far, y_far)
    with pytest.warns(UserWarning, match="digits are left in the sums of the rest"):
        model.forget(x_far, y_far)


@pytest.mark.parametrize("likelihood", [StudentT(), Poisson()])
def test_only_the_gaussian_family_is_merged(rows, likelihood):
    X, y = rows
    counts = np.abs(np.rint(y))
    sites = VISHRegressor(degree=1, rank=None, likelihood=likelihood).fit(X, counts)
    for one, other in ((sites, sites), (sites, fitted(rows)), (fitted(rows), sites)):
        with pytest.raises(ValueError, match="merge is exact, and exists, for the Gaussian family"):
            one.merge(other)
