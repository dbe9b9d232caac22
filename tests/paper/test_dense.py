"""Exact Gaussian processes: gradients, and agreement with scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from vish.paper.methods import dense
from vish.paper.methods.base import Training


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((60, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(60)


@pytest.mark.parametrize(
    "kernel", [dense._Radial(3, True), dense._Radial(3, False), dense._Additive(3)]
)
def test_the_gradient_is_that_of_the_evidence(rows, rng, kernel):
    p = np.append(kernel.start + 0.2 * rng.standard_normal(len(kernel.start)), -1.5)
    value, gradient = dense.log_evidence(kernel, p, *rows)
    expected = approx_fprime(p, lambda q: dense.log_evidence(kernel, q, *rows)[0], 1e-6)
    assert np.isfinite(value)
    assert gradient == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_the_evidence_is_that_of_scikit_learn(rows):
    X, y = rows
    kernel = ConstantKernel(1.5) * Matern([0.7, 1.0, 2.0], nu=1.5) + WhiteKernel(0.1)
    peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(X, y)
    p = np.log([1.5, 0.7, 1.0, 2.0, 0.1])
    value, _ = dense.log_evidence(dense._Radial(3, False), p, X, y)
    assert value == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-9)


def test_the_fit_predicts(rows):
    X, y = rows
    for method in (dense.gpr, dense.gpr_ard, dense.additive_gpr):
        prediction = method(Training(X[:50], y[:50])).predict(X[50:], y[50:])
        assert np.mean((prediction.mean - y[50:]) ** 2) < 0.2


def test_many_rows_learn_from_some(rows, monkeypatch):
    monkeypatch.setattr(dense, "MOST_LEARNED", 40)
    monkeypatch.setattr(dense, "SUBSET", 30)
    assert dense.gpr(Training(*rows)).facts["hyperparameters from rows"] == 30
