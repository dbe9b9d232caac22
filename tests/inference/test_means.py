"""The climb to the best means, beside a general optimiser."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from vish.inference.means import Slope, best_means


def test_it_ends_where_a_general_optimiser_does(rng):
    """Multinomial regression, by the inner product of a prior that is not the identity."""
    n, M, K = 40, 6, 4
    features, y = rng.normal(size=(n, M)), rng.integers(K, size=n)
    root = rng.normal(size=(M, M))
    P = root @ root.T + np.eye(M)

    def value(u):
        mean = features @ P @ u
        return np.sum(mean[np.arange(n), y] - logsumexp(mean, axis=1)) - np.sum(u * (P @ u)) / 2

    def slope(u):
        gradient = features.T @ (np.eye(K)[y] - softmax(features @ P @ u, axis=1)) - u
        return Slope(value(u), gradient, P @ gradient)

    def curbed(gradient):
        """By the curvature of two classes that compete."""
        return np.linalg.solve(np.eye(M) + features.T @ features @ P / 4, gradient)

    found = best_means(np.zeros((M, K)), slope, lambda u: P @ u, curbed, 1e-14)
    peer = minimize(
        lambda u: -value(u.reshape(M, K)),
        np.zeros(M * K),
        jac=lambda u: -slope(u.reshape(M, K)).image.ravel(),
        options={"gtol": 1e-9},
    )
    assert value(found) >= -peer.fun - 1e-10
    np.testing.assert_allclose(found, peer.x.reshape(M, K), atol=1e-5)


def test_nothing_moves_at_the_top():
    start = np.ones((2, 2))
    flat = Slope(3.0, np.zeros((2, 2)), np.zeros((2, 2)))
    assert best_means(start, lambda u: flat, lambda u: u, lambda g: g, 1e-9) is start
