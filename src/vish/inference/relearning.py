"""Hyperparameters once more, from what a model keeps of its rows; the map stays as it is.

A Gaussian model keeps statistics, of which kernel and noise follow in a few steps by their average
information. A model with sites keeps those: they are a regression with noise 1, of which the
kernel follows; the likelihood's own parameters need rows.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import minimize

from vish.inference.evidence import Factor, evidence
from vish.inference.gaussian import GaussianModel, tells_of_noise
from vish.inference.objective import NOISE_BOUNDS, bounds_of_kernel, log_prior_of_kernel
from vish.inference.scoring import Slope, average_information, climb
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource
from vish.sphere.blas import blas_threads_for


def relearned(model: GaussianModel, max_iter: int) -> GaussianModel:
    """Kernel and noise that maximise the evidence of the statistics."""
    if not tells_of_noise(model.statistics.n_rows) or model.statistics.weight <= 0:
        return model
    equations, P, T = model.equations, len(model.kernel.log_parameters), len(model.noise)

    def at(theta: np.ndarray) -> Slope:
        prior, noise = model.prior.at(theta[:P]), np.exp(theta[P:])
        result = evidence(equations, prior.log_spectrum, noise)
        value, slope = log_prior_of_kernel(prior.kernel)
        by_kernel = prior.jacobian.T @ result.d_log_spectrum + slope
        chain = block_diag(prior.jacobian, np.eye(T))
        information = average_information(equations, prior.log_spectrum, noise, result)
        gradient = np.append(by_kernel, result.d_log_noise)
        return Slope(result.value + value, gradient, chain.T @ information @ chain)

    bounds = np.vstack([model.kernel.log_bounds, np.tile(np.log(NOISE_BOUNDS), (T, 1))])
    start = np.append(model.kernel.log_parameters, np.log(model.noise))
    with blas_threads_for(len(equations.degrees)):
        theta = climb(at, start, bounds, max_iter)
    return replace(model, kernel=model.prior.at(theta[:P]).kernel, noise=np.exp(theta[P:]))


def relearned_kernel(model: SiteModel, max_iter: int) -> SiteModel:
    """Kernel parameters that maximise the evidence of the pseudo-data, the sites held fixed.

    At the fixed point of the sites its gradient is that of the bound itself.
    """
    engine, grams = model.geometry.engine, model.grams
    size = max(1.0, float(sum(abs(engine.total_weight(g)) for g in grams)))

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        prior = model.prior.at(theta)
        scales, n_levels = prior.scales(model.degrees), len(prior.log_spectrum) - 1
        value, slope = log_prior_of_kernel(prior.kernel)
        by_level = np.zeros(n_levels + 1)
        for gram, b in zip(grams, model.total.cross, strict=True):
            factor = Factor.of(gram, scales, 1.0)
            z = factor.solve(scales * b)
            value += (scales * b) @ z / 2 - factor.log_determinant / 2
            terms = (z**2 + factor.inverse_diagonal - 1) / 2
            by_level[:-1] += np.bincount(model.degrees, terms, n_levels)
            tail = prior.tail * engine.total_weight(gram) / 2
            value, by_level[-1] = value - tail, by_level[-1] - tail
        return -value / size, -(prior.jacobian.T @ by_level + slope) / size

    bounds = bounds_of_kernel(model.kernel, latent=True)
    start = np.clip(model.kernel.log_parameters, *bounds.T)
    outcome = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": max_iter}
    )
    return replace(model, kernel=model.prior.at(outcome.x).kernel)


def relearned_likelihood(model: SiteModel, source: ArraySource, max_iter: int) -> SiteModel:
    """Parameters of the likelihood that maximise the expected log density, q held fixed."""
    if not len(model.likelihood.parameters):
        return model
    y = model.standardised(source.y[:, 0])
    mean, variance = model.latent(source.X)
    omega = np.ones(len(y)) if source.weights is None else source.weights
    bounds = model.likelihood.bounds

    def objective(theta: np.ndarray) -> float:
        likelihood = model.likelihood.with_parameters(theta)
        return -float(omega @ likelihood.expectations(y, mean, variance).value) / omega.sum()

    start = np.clip(model.likelihood.parameters, *bounds.T)
    outcome = minimize(
        objective,
        start,
        jac="3-point",
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iter},
    )
    return replace(model, likelihood=model.likelihood.with_parameters(outcome.x))
