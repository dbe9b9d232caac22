"""Linear maps to start a search from."""

import numpy as np

from vish.inference.objective import Setting


def telling_directions(setting: Setting, rank: int) -> np.ndarray:
    """Directions along which the target bends most, as a map to start from.  -> [p, D]

    The first is that of linear regression; the others are principal Hessian directions
    (Li, 1992): eigenvectors of sum (residual) x x^T in the metric of the covariance of x.
    """
    source = setting.source
    omega = np.ones(source.n_rows) if source.weights is None else source.weights
    X = ((source.X - setting.centre) / setting.scale)[:, setting.live]
    y = (source.y - setting.target_shift) / setting.target_scale
    omega = omega / omega.sum()
    X, y = X - omega @ X, y - omega @ y
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
    relevance = np.zeros((rank, len(setting.live)))
    relevance[:, setting.live] = (whitener @ directions).T / np.sqrt(rank)
    return relevance


def cut_rank(relevance: np.ndarray, rank: int) -> np.ndarray:
    """The best map of lower rank, its rows orthogonal.  [p, D] -> [rank, D]"""
    _, values, directions = np.linalg.svd(relevance, full_matrices=False)
    return values[:rank, None] * directions[:rank]
