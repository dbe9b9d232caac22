"""A classifier beside the plainest rival: linear regression on the classes."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vish.estimators.scaling import centre_and_scale
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource
from vish.likelihoods import Bernoulli, Softmax

_ALLOWED = 0.02  # of accuracy, below the linear rival
_MOST_ROWS = 5_000
_RIDGE = 1e-3  # of the inputs' variance


def warn_if_below_linear(model: SiteModel, source: ArraySource) -> None:
    """Warn of a fit that knows its own rows less well than linear regression knows others.

    The rival's accuracy is by leave-one-out, ours on rows that were learned from: a fit that
    still falls short has ended at a bad optimum.
    """
    X, y = source.X[:_MOST_ROWS], source.y[:_MOST_ROWS, 0].astype(int)
    omega = np.ones(len(y)) if source.weights is None else source.weights[:_MOST_ROWS]
    moments, likelihood = model.latent(X), model.likelihood
    assert isinstance(likelihood, Bernoulli | Softmax)
    p = likelihood.probabilities(moments.mean, moments.variance)
    guesses = _linear_guesses(X, y, omega, p.shape[1])
    ours, linear = (np.average(g == y, weights=omega) for g in (p.argmax(axis=1), guesses))
    if ours < linear - _ALLOWED:
        warnings.warn(
            f"the fit is right on {ours:.0%} of its own rows, linear regression by leave-one-out "
            f"on {linear:.0%}: the search has ended at a bad optimum; try another random_state, "
            "a higher n_starts, or a fixed degree and rank",
            ConvergenceWarning,
            stacklevel=4,
        )


def _linear_guesses(X: np.ndarray, y: np.ndarray, omega: np.ndarray, n_classes: int) -> np.ndarray:
    """The class of every row by ridge regression on indicators, that row left out.  [n]"""
    centre, scale, _ = centre_and_scale(X, omega)
    Z = np.column_stack([np.ones(len(X)), (X - centre) / scale])
    targets, weighted = np.eye(n_classes)[y], omega[:, None] * Z
    inverse = np.linalg.inv(Z.T @ weighted + _RIDGE * omega.sum() * np.eye(Z.shape[1]))
    leverage = np.sum((weighted @ inverse) * Z, axis=1)
    residuals = (targets - Z @ (inverse @ (weighted.T @ targets))) / (1 - leverage)[:, None]
    return np.argmax(targets - residuals, axis=1)
