"""Regression with likelihoods that are not Gaussian, from rows to predictions."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from vish import VISHRegressor
from vish.kernels import Matern
from vish.likelihoods import (
    Beta,
    Gamma,
    Gaussian,
    Heteroscedastic,
    Laplace,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
)

QUICK = {"max_features": 15, "n_starts": 1}


def make(name, rng, n=500):
    """Inputs, observations, and what their mean should be."""
    x = rng.uniform(-2, 2, n)
    f = np.sin(2 * x)
    if name == "poisson":
        return x, rng.poisson(np.exp(1 + f)).astype(float), np.exp(1 + f)
    if name == "negative binomial":
        return x, rng.poisson(rng.gamma(3, np.exp(1 + f) / 3)).astype(float), np.exp(1 + f)
    if name == "gamma":
        return x, rng.gamma(5, np.exp(f) / 5), np.exp(f)
    if name == "beta":
        p = 1 / (1 + np.exp(-f))
        return x, rng.beta(30 * p, 30 * (1 - p)), p
    if name == "student":
        return x, 100 + 10 * (f + 0.2 * rng.standard_t(3, n)), 100 + 10 * f
    if name == "laplace":
        return x, 100 + 10 * (f + rng.laplace(0, 0.2, n)), 100 + 10 * f
    return x, 5 + f + np.exp(x / 2) / 3 * rng.normal(size=n), 5 + f


LIKELIHOODS = {
    "poisson": Poisson(),
    "negative binomial": NegativeBinomial(),
    "gamma": Gamma(),
    "beta": Beta(),
    "student": StudentT(),
    "laplace": Laplace(),
    "heteroscedastic": Heteroscedastic(),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_fit_and_predict(name, rng):
    x, y, mean = make(name, rng)
    model = VISHRegressor(likelihood=LIKELIHOODS[name], **QUICK).fit(x[:, None], y)
    found, std = model.predict(x[:, None], return_std=True)
    assert np.mean((found - mean) ** 2) < 0.04 * mean.var()
    assert (std > 0).all()
    quantiles = model.predict_quantiles(x[:, None], [0.1, 0.9])
    inside = np.mean((y >= quantiles[:, 0]) & (y <= quantiles[:, 1]))
    assert 0.75 < inside < 0.92  # at least 0.8 where y is discrete
    plain = VISHRegressor(**QUICK).fit(x[:, None], y)
    better = model.log_density(x[:, None], y).mean() - plain.log_density(x[:, None], y).mean()
    assert better > (0.02 if name != "beta" else -0.02)
    assert model.n_iter_ < 100
    draws = model.sample_y(x[:5, None], 300, random_state=0)
    assert draws.shape == (5, 300)
    if name != "student":
        error = 5 * std[:5] / np.sqrt(300)
        assert np.all(np.abs(draws.mean(axis=1) - found[:5]) < error)


def test_learned_parameters(rng):
    x, y, _ = make("negative binomial", rng, 3000)
    model = VISHRegressor(likelihood=NegativeBinomial(), **QUICK).fit(x[:, None], y)
    assert model.likelihood_.shape == pytest.approx(3, rel=0.2)
    x, y, _ = make("gamma", rng, 3000)
    model = VISHRegressor(likelihood=Gamma(), **QUICK).fit(x[:, None], y)
    assert model.likelihood_.shape == pytest.approx(5, rel=0.1)
    x, y, _ = make("beta", rng, 3000)
    model = VISHRegressor(likelihood=Beta(), **QUICK).fit(x[:, None], y)
    assert model.likelihood_.precision == pytest.approx(30, rel=0.1)


def test_heteroscedastic_noise_is_found(rng):
    x, y, _ = make("heteroscedastic", rng, 2000)
    model = VISHRegressor(likelihood=Heteroscedastic(), **QUICK).fit(x[:, None], y)
    _, std = model.predict(x[:, None], return_std=True)
    ratio = std / (np.exp(x / 2) / 3)
    assert np.quantile(ratio, 0.05) > 0.75
    assert np.quantile(ratio, 0.95) < 1.35


def test_ordered_classes(rng):
    x = rng.uniform(-2, 2, 800)
    noisy = 1.5 * x + rng.normal(size=800)
    y = np.sum([noisy > cut for cut in (-1, 0, 2)], axis=0).astype(float)
    model = VISHRegressor(likelihood=Ordinal((1.0, 1.0)), **QUICK).fit(x[:, None], y)
    np.testing.assert_allclose(model.likelihood_.gaps, [1, 2], rtol=0.3)
    assert np.mean(np.round(model.predict(x[:, None])) == y) > 0.6


def test_affine_targets_change_nothing(rng):
    """A location-scale likelihood speaks of the standardised target."""
    x, y, _ = make("student", rng)
    first = VISHRegressor(likelihood=StudentT(), **QUICK).fit(x[:, None], y)
    second = VISHRegressor(likelihood=StudentT(), **QUICK).fit(x[:, None], 8 * y - 1024)
    np.testing.assert_allclose(
        second.predict(x[:, None]), 8 * first.predict(x[:, None]) - 1024, rtol=1e-7
    )
    np.testing.assert_allclose(
        second.log_density(x[:, None], 8 * y - 1024),
        first.log_density(x[:, None], y) - np.log(8),
        atol=1e-6,
    )
    assert second.log_evidence_ == pytest.approx(first.log_evidence_ - 500 * np.log(8), rel=1e-6)


def test_outliers_do_not_bend_a_student(rng):
    x, y, mean = make("student", rng)
    y[::50] += 1000
    robust = VISHRegressor(likelihood=StudentT(), **QUICK).fit(x[:, None], y)
    plain = VISHRegressor(likelihood=Gaussian(), **QUICK).fit(x[:, None], y)
    errors = [np.mean((m.predict(x[:, None]) - mean) ** 2) for m in (robust, plain)]
    assert errors[0] < 2
    assert errors[0] < errors[1] / 5


def test_a_student_learns_a_map_and_a_degree_as_a_gaussian_does(rng):
    """The scale that it starts with is far too large: by that, all of this would be noise."""
    X = rng.normal(size=(1500, 3))
    f = np.sin(2 * (X[:, 0] + X[:, 1])) + X[:, 2]
    y = f + 0.03 * rng.standard_t(3, 1500)
    train, test = slice(0, 1000), slice(1000, 1500)
    errors, densities = [], []
    for likelihood in (Gaussian(), StudentT()):
        model = VISHRegressor(likelihood=likelihood, max_features=200).fit(X[train], y[train])
        errors.append(np.mean((model.predict(X[test]) - f[test]) ** 2))
        densities.append(model.log_density(X[test], y[test]).mean())
    assert errors[1] < 0.01 * f.var()
    assert densities[1] > densities[0] + 0.02


@pytest.mark.parametrize("shift", [0, 100, 1000])
def test_gross_outliers_do_not_choose_the_map(rng, shift):
    X = rng.normal(size=(600, 3))
    f = np.sin(2 * (X[:, 0] + X[:, 1])) + X[:, 2]
    y = f + 0.05 * rng.standard_t(4, 600)
    y[rng.random(600) < 0.02] += shift
    model = VISHRegressor(likelihood=StudentT(), max_features=100).fit(X, y)
    assert np.mean((model.predict(X) - f) ** 2) < 0.15 * f.var()


@pytest.mark.parametrize(("likelihood", "weighted"), [(StudentT(), False), (Gaussian(), True)])
def test_weights_that_differ_between_folds(rng, likelihood, weighted):
    """Which maps are tried hangs on the weight of the rows: the same for every fold."""
    X = rng.normal(size=(400, 10))
    y = X[:, 0] + 0.3 * rng.standard_t(3, 400)
    weights = rng.exponential(size=400) if weighted else None
    settings = {"likelihood": likelihood, "degree": 1, "n_starts": 1, "max_iter": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = VISHRegressor(**settings).fit(X, y, sample_weight=weights)
    assert np.mean((model.predict(X) - X[:, 0]) ** 2) < 0.1


def test_a_degree_is_chosen_at_the_noise_that_was_given(rng):
    x = np.linspace(-2, 2, 400)
    y = np.sin(6 * x) + 0.02 * rng.standard_t(4, 400)
    model = VISHRegressor(
        Matern(1.5, 0.3, 1.0), likelihood=StudentT(4.0, 0.03), optimize=False, relevance=1.0
    ).fit(x[:, None], y)
    assert model.degree_ > 8
    assert model.score(x[:, None], y) > 0.95


def test_all_rows_after_a_subset(rng):
    """The subset's sites are where the passes over all rows start; they end where others do."""
    x, y, _ = make("poisson", rng, 3000)
    model = VISHRegressor(likelihood=Poisson(), subset_size=300, **QUICK).fit(x[:, None], y)
    projection = model._model.geometry.projection
    same = VISHRegressor(
        model.kernel_, likelihood=Poisson(), degree=model.degree_, optimize=False,
        relevance=model.relevance_, scaling=(projection.centre, projection.scale),
    ).fit(x[:, None], y)  # fmt: skip
    offset = model._model.geometry.target_shift - same._model.geometry.target_shift
    assert np.abs(offset) < 0.2
    assert model.n_rows_seen_ == 3000
    np.testing.assert_allclose(model.predict(x[:, None]), same.predict(x[:, None]), rtol=0.02)


@pytest.mark.parametrize("likelihood", [Poisson(), StudentT(), Heteroscedastic()])
def test_the_evidence_of_more_rows_is_added(rng, likelihood):
    X = rng.standard_normal((300, 2))
    y = rng.poisson(np.exp(np.sin(X[:, 0]))).astype(float)
    given = {"likelihood": likelihood, "kernel": Matern(1.5, 0.5), "degree": 3, "relevance": 0.5}
    model = VISHRegressor(**given, optimize=False).fit(X, y)
    whole = model.log_evidence_
    model.fit(X[:200], y[:200])
    first = model.log_evidence_
    grown = model.partial_fit(X[200:250], y[200:250]).partial_fit(X[250:], y[250:])
    assert grown.log_evidence_ == pytest.approx(whole, abs=0.01 * abs(whole - first))


def test_partial_fit_approaches_the_fit_of_all(rng):
    x, y, mean = make("poisson", rng, 1200)
    model = VISHRegressor(likelihood=Poisson(), degree=5, n_starts=1)
    model.partial_fit(x[:100, None], y[:100])
    before = np.mean((model.predict(x[:, None]) - mean) ** 2)
    for start in range(100, 1200, 100):
        model.partial_fit(x[start : start + 100, None], y[start : start + 100])
    after = np.mean((model.predict(x[:, None]) - mean) ** 2)
    assert model.n_rows_seen_ == 1200
    assert after < before / 2


def test_gaussian_only(rng):
    x, y, _ = make("poisson", rng, 50)
    model = VISHRegressor(likelihood=Poisson(), **QUICK).fit(x[:, None], y)
    with pytest.raises(ValueError, match="forget is exact, and exists, for the Gaussian family"):
        model.forget(x[:, None], y)
    with pytest.raises(ValueError, match="the Gaussian family only"):
        model.empty_like()


def test_passes_that_run_out_are_told(rng, monkeypatch):
    monkeypatch.setattr("vish.estimators.site_fitting.MAX_PASSES", 3)
    x, y, _ = make("poisson", rng, 100)
    model = VISHRegressor(Matern(1.5, 0.5), likelihood=Poisson(), degree=4, optimize=False)
    with pytest.warns(ConvergenceWarning, match="have not converged in 3 passes"):
        model.fit(x[:, None], y)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_hardly_any_rows(name, rng):
    for n in (1, 2, 3):
        x, y, _ = make(name, rng, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = VISHRegressor(likelihood=LIKELIHOODS[name], **QUICK).fit(x[:, None], y)
        assert np.isfinite(model.predict(x[:, None])).all()
        assert np.isfinite(model.log_evidence_)


def test_huge_counts(rng):
    x = rng.uniform(-2, 2, 200)
    y = rng.poisson(np.exp(10 + 3.5 * np.sin(x))).astype(float)
    assert y.max() > 5e5
    model = VISHRegressor(likelihood=Poisson(), degree=8, n_starts=1).fit(x[:, None], y)
    assert np.median(np.abs(model.predict(x[:, None]) / y - 1)) < 0.05
