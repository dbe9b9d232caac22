r"""VFF, its Kronecker form in two inputs, and additive VFF (A-VFF) with Gaussian noise.

All are variational inducing-variable models (Titsias, 2009): with features
:math:`\phi(x) = k_u(x)`, :math:`G = \sum \phi\phi^T`, :math:`b = \sum y \phi` of one pass,
:math:`P = K_{uu} + G/\tau^2` and :math:`m = P^{-1} b / \tau^2`,

.. math::

    E = -\tfrac N2 \log 2\pi\tau^2 - \tfrac12 \log|P| + \tfrac12 \log|K_{uu}|
        - \frac{y^Ty - b^Tm}{2\tau^2} - \frac{N\sigma^2 - \mathrm{tr} K_{uu}^{-1}G}{2\tau^2}

    \partial E = \mathrm{tr}(S\, \partial K_{uu}), \qquad
    S = \tfrac12 ( K_{uu}^{-1} - P^{-1} - mm^T - K_{uu}^{-1} G K_{uu}^{-1} / \tau^2 ).

Additive: features of all inputs side by side, Kuu block-diagonal. Two inputs: their products,
Kuu a Kronecker product. Settings as in the authors' code: inputs on [0, 1] by training ranges,
the interval [-2, 3], frequencies 0..29.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, cholesky, lapack
from scipy.optimize import minimize

from vish.paper.methods.base import Fitted, Training, gaussian
from vish.paper.methods.fourier_features import Basis, MaternPrior
from vish.sphere.blas import blas_threads_for

LOWER, UPPER, N_FREQUENCIES = -2.0, 3.0, 30
N_FREQUENCIES_2D = 14  # 27 x 27 products
_CHUNK = 8192


class Sums(NamedTuple):
    """What is kept of the rows."""

    G: np.ndarray  # [M, M]
    b: np.ndarray  # [M]
    yy: float
    n: float


class AdditivePrior:
    """f(x) = sum_d f_d(x_d): a process for each input."""

    def __init__(self, priors: list[MaternPrior]) -> None:
        self.priors = priors
        ends = np.cumsum([0, *(prior.basis.n_features for prior in priors)])
        self.blocks = [slice(*ends[d : d + 2]) for d in range(len(priors))]
        self.n_features = int(ends[-1])
        # log variance and log lengthscale of each input
        self.start = np.tile([-np.log(len(priors)), np.log(0.5)], len(priors))

    def features(self, X: np.ndarray) -> np.ndarray:
        """[n, D] -> [M, n]"""
        out = np.empty((self.n_features, len(X)))
        for d, (prior, block) in enumerate(zip(self.priors, self.blocks, strict=True)):
            prior.basis.evaluate(X[:, d], out[block])
        return out

    def _each(self, p):
        return zip(self.priors, p.reshape(-1, 2), self.blocks, strict=True)

    def variance(self, p: np.ndarray) -> float:
        return float(np.exp(p[::2]).sum())

    def variance_gradient(self, p: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(p)) % 2 == 0, np.exp(p), 0.0)

    def covariance(self, p):
        """Kuu, its inverse and the log of its determinant."""
        parts = [prior.covariance(own) for prior, own, _ in self._each(p)]
        dense = block_diag(*(part.dense() for part in parts))
        inverse = block_diag(*(part.inverse() for part in parts))
        return dense, inverse, sum(part.log_determinant() for part in parts)

    def pull_back(self, p, slope):
        return np.concatenate(
            [prior.pull_back(own, slope[block, block]) for prior, own, block in self._each(p)]
        )


class KroneckerPrior:
    """A product of two Matérn kernels: features are products, Kuu a Kronecker product.

    Parameters: log variance, and the log lengthscale of each input.
    """

    def __init__(self, first: MaternPrior, second: MaternPrior) -> None:
        self.first, self.second = first, second
        self.n_features = first.basis.n_features * second.basis.n_features
        self.start = np.log([1.0, 0.5, 0.5])

    def features(self, X: np.ndarray) -> np.ndarray:
        left, right = (
            prior.basis.evaluate(X[:, d]) for d, prior in enumerate((self.first, self.second))
        )
        return (left[:, None] * right[None]).reshape(self.n_features, -1)

    def _own(self, p):
        return p[:2], np.array([0.0, p[2]])  # the second has variance 1

    def variance(self, p: np.ndarray) -> float:
        return float(np.exp(p[0]))

    def variance_gradient(self, p: np.ndarray) -> np.ndarray:
        return np.array([np.exp(p[0]), 0.0, 0.0])

    def covariance(self, p):
        left, right = self._parts(p)
        log_determinant = right.log_determinant() * len(left.diagonal)
        log_determinant += left.log_determinant() * len(right.diagonal)
        return (
            np.kron(left.dense(), right.dense()),
            np.kron(left.inverse(), right.inverse()),
            log_determinant,
        )

    def _parts(self, p):
        own, other = self._own(p)
        return self.first.covariance(own), self.second.covariance(other)

    def pull_back(self, p, slope):
        left, right = self._parts(p)
        own, other = self._own(p)
        m, k = len(left.diagonal), len(right.diagonal)
        four = slope.reshape(m, k, m, k)
        to_left = np.einsum("iajb,ab->ij", four, right.dense(), optimize=True)
        to_right = np.einsum("iajb,ij->ab", four, left.dense(), optimize=True)
        return np.append(
            self.first.pull_back(own, to_left), self.second.pull_back(other, to_right)[1]
        )


class Posterior(NamedTuple):
    """q(f): mean phi.m, variance of f sigma^2 + phi.C phi."""

    prior: AdditivePrior | KroneckerPrior
    m: np.ndarray  # [M]
    C: np.ndarray  # P^-1 - Kuu^-1, [M, M]
    variance: float
    noise: float

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of new observations."""
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for i in range(0, len(X), _CHUNK):
            F = self.prior.features(X[i : i + _CHUNK])
            mean[i : i + _CHUNK] = self.m @ F
            variance[i : i + _CHUNK] = self.variance + np.einsum("mn,mn->n", F, self.C @ F)
        return mean, np.sqrt(np.maximum(variance, 0.0) + self.noise)


def sums(prior, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Sums:
    """One pass over the rows; y may be several numbers in one, as b of sites is."""
    M = prior.n_features
    G, b = np.zeros((M, M)), np.zeros(M)
    for i in range(0, len(y), _CHUNK):
        F = prior.features(X[i : i + _CHUNK])
        part = F if weight is None else F * np.sqrt(weight[i : i + _CHUNK])
        G += part @ part.T  # a symmetric product: BLAS SYRK
        b += F @ y[i : i + _CHUNK]
    return Sums(G, b, float(y @ y), float(len(y)))


def bound(prior, s: Sums, p: np.ndarray, noise: float):
    """E, its gradient by p and log noise, and the posterior."""
    K, K_inverse, K_log = prior.covariance(p)
    P = K + s.G / noise
    scale = 1 / np.sqrt(np.diag(P))  # frequencies differ by orders of magnitude
    factor = cholesky(P * scale * scale[:, None], lower=True, check_finite=False)
    inverse, _ = lapack.dpotri(factor, lower=True)
    inverse = (np.tril(inverse) + np.tril(inverse, -1).T) * scale * scale[:, None]
    P_log = 2 * np.log(np.diag(factor)).sum() - 2 * np.log(scale).sum()
    m = inverse @ s.b / noise
    variance = prior.variance(p)
    KG = K_inverse @ s.G
    left_over = s.n * variance - np.trace(KG)  # of the prior: what the features cannot say
    value = (
        -s.n / 2 * np.log(2 * np.pi * noise)
        + (K_log - P_log) / 2
        - (s.yy - s.b @ m + left_over) / (2 * noise)
    )
    S = 0.5 * (K_inverse - inverse - np.outer(m, m) - KG @ K_inverse / noise)
    by_p = prior.pull_back(p, S) - s.n / (2 * noise) * prior.variance_gradient(p)
    by_noise = (
        -s.n + np.sum(inverse * s.G) / noise
        + (s.yy - 2 * s.b @ m + m @ s.G @ m + left_over) / noise
    ) / 2  # fmt: skip
    posterior = Posterior(prior, m, inverse - K_inverse, variance, noise)
    return float(value), np.append(by_p, by_noise), posterior


def learn(prior, s: Sums, max_iter: int = 500) -> tuple[Posterior, float, int]:
    """Maximise the bound; posterior, bound and iterations.

    Per row: the first step of L-BFGS is as long as the gradient.
    """

    def loss(q):
        try:
            value, gradient, _ = bound(prior, s, q[:-1], np.exp(q[-1]))
        except np.linalg.LinAlgError:
            return 1e25, np.zeros_like(q)
        return -value / s.n, -gradient / s.n

    start = np.append(prior.start, np.log(0.1))
    bounds = [(-12.0, 8.0) if d % 2 == 0 else (-4.0, 4.0) for d in range(len(start) - 1)]
    if isinstance(prior, KroneckerPrior):
        bounds = [(-12.0, 8.0), (-4.0, 4.0), (-4.0, 4.0)]
    with blas_threads_for(prior.n_features):
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[*bounds, (-14.0, 3.0)],
            options={"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 1e-8},
        )  # fmt: skip
    value, _, posterior = bound(prior, s, found.x[:-1], np.exp(found.x[-1]))
    return posterior, value, int(found.nit)


# ---- the methods


def additive_vff(training: Training, nu: float = 1.5) -> Fitted:
    """30 frequencies for each input."""
    D = training.X.shape[1]
    basis = Basis(LOWER, UPPER, N_FREQUENCIES)
    return _fit(training, AdditivePrior([MaternPrior(basis, nu)] * D))


def vff(training: Training, nu: float = 1.5) -> Fitted:
    """One input, or two with a Kronecker product."""
    D = training.X.shape[1]
    if D == 1:
        return additive_vff(training, nu)
    if D > 2:
        raise ValueError(f"VFF has no form for {D} inputs: its features would be {59**D:.0e}")
    prior = MaternPrior(Basis(LOWER, UPPER, N_FREQUENCIES_2D), nu)
    return _fit(training, KroneckerPrior(prior, prior))


def _fit(training: Training, prior) -> Fitted:
    lowest = training.X.min(axis=0)
    spread = training.X.max(axis=0) - lowest
    spread = np.where(spread > 0, spread, 1.0)
    s = sums(prior, (training.X - lowest) / spread, training.y)
    posterior, value, iterations = learn(prior, s)

    def predict(X, y):
        return gaussian(*posterior.predict((X - lowest) / spread), y)

    facts = {"M": prior.n_features, "log evidence": value, "iterations": iterations}
    return Fitted(predict, facts)
