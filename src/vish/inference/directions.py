"""Linear maps to start a search from."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from vish.inference.objective import Setting


def bending_directions(setting: Setting, rank: int) -> np.ndarray:
    """Directions along which the target bends most.  -> [p, D]

    The first is that of linear regression; the others are principal Hessian directions
    (Li, 1992): eigenvectors of sum (residual) x x^T in the metric of the covariance of x.
    """
    X, y, omega = _centred(setting)
    covariance = (X * omega[:, None]).T @ X
    covariance[np.diag_indices_from(covariance)] += 1e-3
    values, vectors = np.linalg.eigh(covariance)
    whitener = vectors / np.sqrt(values) @ vectors.T
    Z = X @ whitener
    slopes = (Z * omega[:, None]).T @ y
    residual = y - Z @ slopes
    bends = np.zeros((Z.shape[1], Z.shape[1]))
    for t in range(y.shape[1]):
        values, vectors = np.linalg.eigh((Z * (omega * residual[:, t])[:, None]).T @ Z)
        bends += vectors * np.abs(values) @ vectors.T
    _, bent = np.linalg.eigh(bends)
    directions = np.linalg.qr(np.hstack([slopes, bent[:, ::-1]]))[0][:, :rank]
    return _relevance(setting, (whitener @ directions).T)


def varying_directions(setting: Setting, rank: int) -> np.ndarray:
    """Directions along which both inputs and targets vary.  -> [p, D]

    Those of partial least squares: the first is the covariance c of inputs and target, the
    others follow from c, Sc, S^2 c, ... with the covariance S of the inputs, uncorrelated.
    """
    X, y, omega = _centred(setting)
    weighted = (X * omega[:, None]).T
    covariance, slopes = weighted @ X, weighted @ y
    directions = np.linalg.qr(slopes)[0]
    while directions.shape[1] < rank:
        directions = np.linalg.qr(np.hstack([slopes, covariance @ directions]))[0]
    directions = directions[:, :rank]
    shared = directions.T @ covariance @ directions
    shared[np.diag_indices_from(shared)] += 1e-10 * np.trace(shared)
    return _relevance(setting, solve_triangular(cholesky(shared), directions.T, trans="T"))


def principal_directions(setting: Setting, rank: int) -> np.ndarray:
    """Directions along which the inputs vary most, all with one factor.  -> [p, D]

    Distances between rows are then nearly those of all inputs.
    """
    X, _, omega = _centred(setting)
    _, _, directions = np.linalg.svd(X * np.sqrt(omega)[:, None], full_matrices=False)
    return _relevance(setting, directions[:rank])


def _centred(setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs that are not constant, targets, and weights of sum one."""
    source = setting.source
    omega = np.ones(source.n_rows) if source.weights is None else source.weights
    X = ((source.X - setting.centre) / setting.scale)[:, setting.live]
    y = (source.y - setting.target_shift) / setting.target_scale
    omega = omega / omega.sum()
    return X - omega @ X, y - omega @ y, omega


def _relevance(setting: Setting, directions: np.ndarray) -> np.ndarray:
    """A map to start from, of directions of unit spread.  [p, live] -> [p, D]"""
    relevance = np.zeros((len(directions), len(setting.live)))
    relevance[:, setting.live] = directions / np.sqrt(len(directions))
    return relevance


def cut_rank(relevance: np.ndarray, rank: int) -> np.ndarray:
    """The best map of lower rank, its rows orthogonal.  [p, D] -> [rank, D]"""
    _, values, directions = np.linalg.svd(relevance, full_matrices=False)
    return values[:rank, None] * directions[:rank]
