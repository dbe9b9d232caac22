"""Where the bound for all degrees can be raised from.

Where much of the kernel lies beyond the degree, the bound is highest for a function that is
constant, and no step leads away. So the map is learned on the degrees kept; then the bound is
compared on a grid of larger maps and smoother kernels.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from vish.inference.objective import Hyperparameters, Objective, Setting
from vish.sphere.blas import blas_threads_for


def best_start(setting: Setting, point: Hyperparameters, degree: int) -> Hyperparameters:
    """The highest point of the grid around one that was learned on the degrees kept."""
    best, highest = point, -np.inf
    kernels = _smoother(point.kernel, point.dimension, degree)
    noises = [point.noise]
    if setting.learn_noise:
        noises = [np.full_like(point.noise, noise) for noise in (0.02, 0.1, 0.4)]
    with blas_threads_for(point.kernel.n_harmonics(point.dimension, degree)):
        for larger in (1.0, 2.0, 4.0, 8.0):
            mapped = replace(point, relevance=larger * point.relevance)
            objective = Objective(setting, mapped, degree)
            for kernel, noise in product(kernels, noises):
                tried = replace(mapped, kernel=kernel, noise=noise)
                value = objective.solve(tried)[0].value
                if value > highest:
                    best, highest = tried, value
    return best


def _smoother(kernel, dimension: int, degree: int) -> list:
    """Kernels of longer and longer lengthscale and larger and larger variance."""
    kernel = kernel.without_lengthscale().start(dimension, degree)
    longer, larger = (
        np.array([name in parameter for parameter in kernel.parameter_names], dtype=float)
        for name in ("lengthscale", "variance")
    )
    bounds = np.array(kernel.log_bounds).T
    return [
        kernel.with_log_parameters(
            np.clip(kernel.log_parameters + l * longer + v * larger, *bounds)
        )
        for l in np.log([1.0, 2.0, 4.0, 8.0])[: 4 if longer.any() else 1]
        for v in np.log([1.0, 3e1, 1e3, 3e4])
    ]
