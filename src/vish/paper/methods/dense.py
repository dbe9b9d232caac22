r"""Exact Gaussian processes with a Matérn-3/2 kernel, or a sum of one for each input.

.. math::

    \log p(y) = -\tfrac12 y^T C^{-1} y - \tfrac12 \log|C| - \tfrac N2 \log 2\pi,
    \qquad C = K + \tau^2 I,

and with :math:`A = \alpha\alpha^T - C^{-1}, \alpha = C^{-1} y`, its derivative is
:math:`\tfrac12 \sum_{ij} A_{ij} \partial C_{ij}`. Above 3,000 rows the hyperparameters come
from 2,000 of them; the posterior is always that of all rows.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular
from scipy.optimize import minimize

from vish.paper.methods.base import Fitted, Training, gaussian

MOST_LEARNED, SUBSET = 3_000, 2_000
_ROOT3 = np.sqrt(3.0)
_BLOCK = 1_000

# A kernel: (log parameters, X, Z) -> K [n, m]; its pull-back: (log parameters, X, A) ->
# sum_ij A_ij dK_ij / dlog parameter.
Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def gpr(training: Training) -> Fitted:
    """One lengthscale for all inputs, which are standardised."""
    return _fit(training, _Radial(training.X.shape[1], shared=True))


def gpr_ard(training: Training) -> Fitted:
    """A lengthscale for each input."""
    return _fit(training, _Radial(training.X.shape[1], shared=False))


def additive_gpr(training: Training) -> Fitted:
    """A lengthscale and a variance for each input."""
    return _fit(training, _Additive(training.X.shape[1]))


class _Radial:
    """sigma^2 (1 + sqrt3 r) exp(-sqrt3 r); parameters: log variance, log lengthscales."""

    def __init__(self, D: int, shared: bool) -> None:
        self.D, self.shared = D, shared
        self.start = np.append(0.0, np.full(1 if shared else D, 0.5 * np.log(D)))

    def _scaled(self, p, X):
        return X / np.exp(p[1:])

    def diagonal(self, p: np.ndarray) -> float:
        return float(np.exp(p[0]))

    def matrix(self, p, X, Z):
        r = _ROOT3 * np.sqrt(_squares(self._scaled(p, X), self._scaled(p, Z)))
        return np.exp(p[0]) * (1 + r) * np.exp(-r)

    def pull_back(self, p, X, A):
        S = self._scaled(p, X)
        r = _ROOT3 * np.sqrt(_squares(S, S))
        decay = np.exp(p[0] - r)
        first = np.sum(A * (1 + r) * decay)
        # dK/dlog l_d = 3 sigma^2 exp(-sqrt3 r) (x_d - z_d)^2 / l_d^2
        B = 3 * A * decay
        each = 2 * (S**2 * B.sum(axis=1)[:, None] - S * (B @ S)).sum(axis=0)
        return np.append(first, each.sum() if self.shared else each)


class _Additive:
    """A sum over inputs; parameters: log variances, log lengthscales."""

    def __init__(self, D: int) -> None:
        self.D = D
        self.start = np.append(np.full(D, -np.log(D)), np.zeros(D))

    def diagonal(self, p: np.ndarray) -> float:
        return float(np.exp(p[: self.D]).sum())

    def _parts(self, p, X, Z):
        for d in range(self.D):
            scale = _ROOT3 / np.exp(p[self.D + d])
            yield np.exp(p[d]), np.abs(np.subtract.outer(X[:, d] * scale, Z[:, d] * scale))

    def matrix(self, p, X, Z):
        K = np.zeros((len(X), len(Z)))
        for variance, r in self._parts(p, X, Z):
            K += variance * (1 + r) * np.exp(-r)
        return K

    def pull_back(self, p, X, A):
        firsts, seconds = [], []
        for variance, r in self._parts(p, X, X):
            B = variance * A * np.exp(-r)
            firsts.append(np.sum(B * (1 + r)))
            seconds.append(np.sum(B * r**2))
        return np.array(firsts + seconds)


def log_evidence(kernel, p, X, y) -> tuple[float, np.ndarray]:
    """Value and gradient; the last parameter is the log of the noise variance."""
    noise = np.exp(p[-1])
    C = kernel.matrix(p[:-1], X, X)
    C[np.diag_indices_from(C)] += noise
    factor, info = lapack.dpotrf(C, lower=True, overwrite_a=True)
    if info:
        return -np.inf, np.zeros_like(p)
    alpha = cho_solve((factor, True), y)
    value = -0.5 * y @ alpha - np.log(np.diag(factor)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    A = np.outer(alpha, alpha) - inverse
    gradient = np.append(kernel.pull_back(p[:-1], X, A), noise * np.trace(A))
    return float(value), 0.5 * gradient


def _fit(training: Training, kernel) -> Fitted:
    X, y = training.X, training.y
    facts = {}
    learned = np.arange(len(y))
    if len(y) > MOST_LEARNED:
        learned = np.random.default_rng(training.seed).choice(len(y), SUBSET, replace=False)
        facts["hyperparameters from rows"] = SUBSET

    def loss(p):
        value, gradient = log_evidence(kernel, p, X[learned], y[learned])
        return (-value, -gradient) if np.isfinite(value) else (1e25, np.zeros_like(p))

    start = np.append(kernel.start, np.log(0.1))
    bounds = [(-10.0, 12.0)] * (len(start) - 1) + [(-14.0, 3.0)]
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}
    )
    p, noise = found.x[:-1], np.exp(found.x[-1])
    C = kernel.matrix(p, X, X)
    C[np.diag_indices_from(C)] += noise
    factor, info = lapack.dpotrf(C, lower=True, overwrite_a=True)
    if info:
        raise ArithmeticError("the covariance of the training rows is singular")
    alpha = cho_solve((factor, True), y)

    def predict(Z, truth):
        mean, variance = np.empty(len(Z)), np.empty(len(Z))
        for i in range(0, len(Z), _BLOCK):
            K = kernel.matrix(p, X, Z[i : i + _BLOCK])
            mean[i : i + _BLOCK] = K.T @ alpha
            explained = solve_triangular(factor, K, lower=True)
            variance[i : i + _BLOCK] = kernel.diagonal(p) - np.sum(explained**2, axis=0)
        return gaussian(mean, np.sqrt(np.maximum(variance, 0) + noise), truth)

    return Fitted(predict, facts | {"iterations": int(found.nit)})


def _squares(X, Z):
    """Squared distances, never negative."""
    S = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * X @ Z.T
    return np.maximum(S, 0.0)
