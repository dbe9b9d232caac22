"""`description_`: predictions follow from the numbers that it shows."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from vish import VISHClassifier, VISHRegressor
from vish.likelihoods import Gaussian, Poisson, SinhArcsinh, StudentT, Warped

QUICK = {"n_starts": 1, "degree": 2, "rank": None}


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((120, 2)) * [1, 5] + 2
    return X, np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.1 * rng.standard_normal(120)


def latent(d, X):
    """Mean and variance of the latent functions, from the formula."""
    psi = d.features(X)
    variance = np.transpose([np.sum((psi @ root.T) ** 2, axis=1) for root in d.roots])
    return d.shift + psi @ d.means, variance


def test_features_are_harmonics_of_the_mapped_rows(rows):
    X, y = rows
    d = VISHRegressor(**QUICK).fit(X, y).description_
    extended = np.column_stack([((X - d.centre) / d.scale) @ d.linear_map.T, np.ones(len(X))])
    r = np.linalg.norm(extended, axis=1)
    expected = r[:, None] * d.basis.evaluate(extended / r[:, None])
    np.testing.assert_allclose(d.features(X), expected, rtol=1e-9, atol=1e-12)
    assert d.degrees.tolist() == [0] + 3 * [1] + 5 * [2]


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_a_gaussian_model_predicts_as_it_is_described(rows, noise):
    X, y = rows
    Y = np.column_stack([y, X[:, 0] ** 2])
    model = VISHRegressor(likelihood=Gaussian(noise), **QUICK).fit(X, Y)
    d = model.description_
    assert (d.family, d.noise_kind, d.likelihood, d.warp) == ("gaussian", noise, None, None)
    f, variance = latent(d, X)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(d.y_shift + d.y_scale * f, mean, rtol=1e-7, atol=1e-9)
    total = variance + d.noise_variance_at(X)
    np.testing.assert_allclose(d.y_scale * np.sqrt(total), std, rtol=1e-6)
    assert d.noise.shape == (2,)


def test_other_likelihoods_predict_as_they_are_described(rows):
    X, y = rows
    student = VISHRegressor(likelihood=StudentT(), **QUICK).fit(X, y)
    d = student.description_
    assert (d.family, d.noise, d.likelihood) == ("sites", None, student.likelihood_)
    f, _ = latent(d, X)
    np.testing.assert_allclose(d.y_shift + d.y_scale * f[:, 0], student.predict(X), rtol=1e-6)
    classifier = VISHClassifier(**QUICK).fit(X, y > y.mean())
    f, variance = latent(classifier.description_, X)
    p = expit(f / np.sqrt(1 + np.pi * variance / 8))[:, 0]  # a known approximation
    np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], p, atol=0.02)


def test_levels_are_shares_of_prior_fit_and_rows(rows):
    X, y = rows
    model = VISHRegressor(tail="variational", **QUICK).fit(X, np.column_stack([y, -3 * y]))
    d = model.description_
    all_levels, one = d.levels(), d.levels(1)
    np.testing.assert_allclose(one.prior, d.spectrum * [1, 3, 5])
    assert one.prior.sum() + d.tail == pytest.approx(model.kernel_.variance)
    np.testing.assert_allclose(all_levels.energy, d.levels(0).energy + one.energy)
    assert np.all((one.determined >= 0) & (one.determined <= 1))
    empty = model.empty_like().description_.levels()
    np.testing.assert_allclose([empty.energy, empty.determined], 0, atol=1e-12)


@pytest.mark.parametrize("likelihood", [Gaussian(), Warped(SinhArcsinh()), StudentT(), Poisson()])
def test_probabilities_below_an_observation(rows, likelihood):
    X, y = rows
    counts = isinstance(likelihood, Poisson)
    y = np.floor(np.exp(y - y.min()) ** 0.5) if counts else y
    model = VISHRegressor(likelihood=likelihood, **QUICK).fit(X, y)
    observation = model.description_.observation
    median = model.predict_quantiles(X, [0.5])
    below, under = observation.probabilities_below(X, median, 1)
    if counts:
        assert np.all((under < 0.5 + 1e-9) & (below > 0.5 - 1e-9) & (under < below))
    else:
        np.testing.assert_allclose(below, 0.5, atol=1e-4)
        np.testing.assert_array_equal(below, under)


def test_nothing_is_described_before_a_fit():
    assert not hasattr(VISHRegressor(), "description_")
    with pytest.raises(NotFittedError):
        _ = VISHClassifier().description_


def test_another_likelihood_leaves_no_gaussian_noise_behind(rows):
    model = VISHRegressor(**QUICK).fit(*rows)
    assert model.noise_variance_ > 0
    model.set_params(likelihood=StudentT()).fit(*rows)
    assert not hasattr(model, "noise_variance_")
