"""Variational Fourier features against the dense Gaussian process they approximate."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from vish.paper.methods.base import Training
from vish.paper.methods.fourier import (
    AdditivePrior,
    KroneckerPrior,
    additive_vff,
    bound,
    sums,
    vff,
)
from vish.paper.methods.fourier_features import SMOOTHNESS, Basis, MaternPrior


def matern(nu, r, variance, lengthscale):
    r = np.sqrt(2 * nu) * np.abs(r) / lengthscale
    shape = {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu]
    return variance * shape * np.exp(-r)


def dense(K, K_test, variance, noise, y):
    """Log evidence, and mean and standard deviation of new observations."""
    C = K + noise * np.eye(len(y))
    solved = np.linalg.solve(C, y)
    value = -0.5 * (y @ solved + np.linalg.slogdet(C)[1] + len(y) * np.log(2 * np.pi))
    explained = np.einsum("ij,ji->i", K_test, np.linalg.solve(C, K_test.T))
    return value, K_test @ solved, np.sqrt(variance + noise - explained)


@pytest.mark.parametrize("nu", SMOOTHNESS)
def test_the_inner_product_reproduces(nu):
    """<k(x, .), phi_m>_H = phi_m(x): with k(x, .) put on the basis, K_uu c = phi(x)."""
    basis, x = Basis(0.0, 6.0, 400), np.array([2.7, 3.0])
    prior = MaternPrior(basis, nu)
    features = basis.evaluate(x)
    back = features.T @ np.linalg.solve(prior.covariance(np.log([1.3, 0.2])).dense(), features)
    tolerance = {0.5: 0.02, 1.5: 1e-5, 2.5: 1e-8}[nu]  # the spectrum's tail
    assert back == pytest.approx(matern(nu, x[:, None] - x, 1.3, 0.2), abs=tolerance)


@pytest.mark.parametrize("nu", SMOOTHNESS)
def test_diagonal_plus_low_rank(nu):
    covariance = MaternPrior(Basis(-1.0, 2.0, 12), nu).covariance(np.log([0.7, 0.4]))
    whole = covariance.dense()
    assert covariance.factor.shape[1] == round(nu + 0.5)
    assert covariance.inverse() @ whole == pytest.approx(np.eye(len(whole)), abs=1e-9)
    assert covariance.log_determinant() == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-12)


def test_features_are_cosines_and_sines(rng):
    basis, x = Basis(-2.0, 3.0, 30), rng.uniform(-2, 3, 50)
    angle = np.outer(basis.frequencies, x + 2)
    expected = np.vstack([np.cos(angle), np.sin(angle)[1:]])
    assert basis.evaluate(x) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("nu", "tolerance"), [(1.5, 1e-3), (2.5, 1e-6)])
def test_many_frequencies_are_the_dense_process(rng, nu, tolerance):
    """Evidence, mean and deviation, for a sum over two inputs."""
    X, Z = rng.uniform(0, 1, (40, 2)), rng.uniform(0, 1, (7, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(40)
    variances, lengthscales, noise = [1.3, 0.6], [0.2, 0.3], 0.02
    prior = AdditivePrior([MaternPrior(Basis(-2.5, 3.5, 250), nu)] * 2)
    p = np.log(np.column_stack([variances, lengthscales])).ravel()
    value, _, posterior = bound(prior, sums(prior, X, y), p, noise)
    K, K_test = (
        sum(matern(nu, A[:, d, None] - X[:, d], variances[d], lengthscales[d]) for d in range(2))
        for A in (X, Z)
    )
    exact, mean, std = dense(K, K_test, sum(variances), noise, y)
    assert value == pytest.approx(exact, abs=40 * tolerance)
    assert value < exact + 1e-6  # a bound from below
    found = posterior.predict(Z)
    assert found[0] == pytest.approx(mean, abs=tolerance)
    assert found[1] == pytest.approx(std, abs=tolerance)


def test_products_are_the_dense_process(rng):
    X, Z = rng.uniform(0, 1, (40, 2)), rng.uniform(0, 1, (7, 2))
    y = np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(40)
    one = MaternPrior(Basis(-1.0, 2.0, 22), 2.5)
    prior = KroneckerPrior(one, one)
    value, _, posterior = bound(prior, sums(prior, X, y), np.log([1.2, 0.25, 0.25]), 0.05)
    K, K_test = (
        1.2
        * matern(2.5, A[:, 0, None] - X[:, 0], 1, 0.25)
        * matern(2.5, A[:, 1, None] - X[:, 1], 1, 0.25)
        for A in (X, Z)
    )
    exact, mean, std = dense(K, K_test, 1.2, 0.05, y)
    assert value == pytest.approx(exact, abs=0.1)
    assert value < exact
    found = posterior.predict(Z)
    assert found[0] == pytest.approx(mean, abs=2e-3)
    assert found[1] == pytest.approx(std, abs=2e-3)


@pytest.mark.parametrize("nu", SMOOTHNESS)
def test_the_gradient_is_that_of_the_bound(rng, nu):
    X, y = rng.uniform(0, 1, (60, 2)), rng.standard_normal(60)
    one = MaternPrior(Basis(-1.0, 2.0, 6), nu)
    for prior, p in (
        (AdditivePrior([one, one]), np.log([1.2, 0.5, 0.4, 0.8])),
        (KroneckerPrior(one, one), np.log([1.2, 0.5, 0.8])),
    ):
        s = sums(prior, X, y)
        q = np.append(p, np.log(0.3))

        def value(q, prior=prior, s=s):
            return bound(prior, s, q[:-1], np.exp(q[-1]))[0]

        expected = approx_fprime(q, value, 1e-6)
        assert bound(prior, s, p, 0.3)[1] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_weights_enter_the_sums(rng):
    """As sites do: G with weights, b as given."""
    X, shift, weight = rng.uniform(0, 1, (30, 1)), rng.normal(size=30), rng.uniform(0, 2, 30)
    prior = AdditivePrior([MaternPrior(Basis(-1.0, 2.0, 4))])
    F = prior.features(X)
    found = sums(prior, X, shift, weight)
    assert pytest.approx(F * weight @ F.T) == found.G
    assert found.b == pytest.approx(F @ shift)


def test_learning_finds_additive_structure(rng):
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(400)
    fitted = additive_vff(Training(X[:300], y[:300]))
    prediction = fitted.predict(X[300:], y[300:])
    assert np.mean((prediction.mean - y[300:]) ** 2) < 0.03
    assert -prediction.log_density.mean() < 0
    assert fitted.facts["M"] == 3 * 59


def test_vff_of_one_and_two_inputs(rng):
    x = rng.uniform(0, 1, (300, 2))
    y = np.sin(6 * x[:, 0]) + 0.1 * rng.standard_normal(300)
    for D in (1, 2):
        prediction = vff(Training(x[:200, :D], y[:200])).predict(x[200:, :D], y[200:])
        assert np.mean((prediction.mean - y[200:]) ** 2) < 0.02
    with pytest.raises(ValueError, match="VFF has no form for 3 inputs"):
        vff(Training(np.zeros((5, 3)), np.zeros(5)))
