"""Linear maps to start a search from."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from vish.search.problem import Problem


def bending_directions(problem: Problem, rank: int) -> np.ndarray:
    """Directions along which the target bends most.  -> [p, D]

    The first is that of linear regression; the others are principal Hessian directions
    (Li, 1992): eigenvectors of sum (residual) x x^T in the metric of the covariance of x.
    """
    X, y, omega = _centred(problem)
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
    return _relevance(problem, (whitener @ directions).T)


def varying_directions(problem: Problem, rank: int) -> np.ndarray:
    """Directions along which both inputs and targets vary.  -> [p, D]

    Those of partial least squares: the first is the covariance c of inputs and target, the
    others follow from c, Sc, S^2 c, ... with the covariance S of the inputs, uncorrelated.
    """
    X, y, omega = _centred(problem)
    weighted = (X * omega[:, None]).T
    covariance, slopes = weighted @ X, weighted @ y
    directions = np.linalg.qr(slopes)[0]
    while directions.shape[1] < rank:
        directions = np.linalg.qr(np.hstack([slopes, covariance @ directions]))[0]
    directions = directions[:, :rank]
    shared = directions.T @ covariance @ directions
    shared[np.diag_indices_from(shared)] += 1e-10 * np.trace(shared)
    return _relevance(problem, solve_triangular(cholesky(shared), directions.T, trans="T"))


def principal_directions(problem: Problem, rank: int) -> np.ndarray:
    """Directions along which the inputs vary most, all with one factor.  -> [p, D]

    Distances between rows are then nearly those of all inputs.
    """
    X, _, omega = _centred(problem)
    _, _, directions = np.linalg.svd(X * np.sqrt(omega)[:, None], full_matrices=False)
    return _relevance(problem, directions[:rank])


def _centred(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs that are not constant, targets, and weights of sum one."""
    source = problem.source
    omega = np.ones(source.n_rows) if source.weights is None else source.weights
    X = ((source.X - problem.centre) / problem.scale)[:, problem.live]
    y = (source.y - problem.target_shift) / problem.target_scale
    omega = omega / omega.sum()
    return X - omega @ X, y - omega @ y, omega


def _relevance(problem: Problem, directions: np.ndarray) -> np.ndarray:
    """A map to start from, of directions of unit spread.  [p, live] -> [p, D]"""
    relevance = np.zeros((len(directions), len(problem.live)))
    relevance[:, problem.live] = directions / np.sqrt(len(directions))
    return relevance
