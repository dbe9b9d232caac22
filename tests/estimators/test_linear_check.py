"""A classifier that ends below linear regression says so."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from vish import VISHClassifier
from vish.estimators import site_fitting
from vish.estimators.linear_check import _linear_guesses, warn_if_below_linear
from vish.inference.convergence import converge
from vish.inference.sources import ArraySource


def _clusters(K=5, rows=20):
    rng = np.random.default_rng(0)
    y = np.arange(rows * K) % K
    return 3 * rng.normal(size=(K, 3))[y] + 0.3 * rng.normal(size=(len(y), 3)), y


def test_guesses_are_those_of_regressions_without_the_row():
    X, y = _clusters(3, 6)
    omega = np.random.default_rng(1).uniform(0.5, 2, len(y))
    guesses = _linear_guesses(X, y, omega, 3)
    mean = np.average(X, axis=0, weights=omega)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=omega))
    Z, ridge = np.column_stack([np.ones(len(X)), (X - mean) / scale]), 1e-3 * omega.sum()
    for n in range(len(y)):
        kept = np.arange(len(y)) != n
        weighted = Z[kept] * omega[kept, None]
        weights = np.linalg.solve(
            Z[kept].T @ weighted + ridge * np.eye(4), weighted.T @ np.eye(3)[y[kept]]
        )
        assert guesses[n] == np.argmax(Z[n] @ weights)


@pytest.mark.parametrize("K", [2, 5])
def test_a_model_without_signal_is_told(K):
    X, y = _clusters(K)
    fitted = VISHClassifier(degree=2, rank=None).fit(
        X + np.random.default_rng(1).normal(size=X.shape), y
    )
    source = ArraySource(X, y[:, None].astype(float))
    warn_if_below_linear(fitted._model, source)
    nothing = replace(fitted._model, sites=fitted._model.sites * 0.0)
    with pytest.warns(ConvergenceWarning, match="linear regression by leave-one-out"):
        warn_if_below_linear(nothing, source)


@pytest.mark.parametrize("K", [2, 5])
def test_a_fit_that_ends_without_signal_warns(K, monkeypatch):
    def nowhere(*arguments, **keywords):
        end = converge(*arguments, **keywords)
        return end._replace(model=replace(end.model, sites=end.model.sites * 0.0))

    monkeypatch.setattr(site_fitting, "converge", nowhere)
    with pytest.warns(ConvergenceWarning, match="linear regression by leave-one-out"):
        VISHClassifier(degree=2, rank=None).fit(*_clusters(K))


def test_rows_without_weight_say_nothing():
    X, y = _clusters(2)
    model = VISHClassifier(degree=2, rank=None, optimize=False).fit(X, y)._model
    warn_if_below_linear(model, ArraySource(X, y[:, None].astype(float), np.zeros(len(y))))
