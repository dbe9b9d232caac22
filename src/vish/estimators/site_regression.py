"""Sites as a regression: what the search for hyperparameters sees of another likelihood.

At any posterior the sites of the rows are a weighted regression with noise 1
(`vish.inference.sites`). The search needs no more than that, and its answer is a model again.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import median_abs_deviation

from vish.estimators.scaling import centre_and_scale
from vish.estimators.search import starting_relevance
from vish.estimators.settings import FitSettings
from vish.inference.pseudo_rows import pseudo_rows
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource
from vish.search.inputmap import relevance_of
from vish.search.problem import Hyperparameters, Problem

_ORDINARY = 10.0  # robust standard deviations from the median


def first_model(problem: Problem, settings: FitSettings) -> SiteModel:
    """The likelihood's constants from the subset, with no sites yet."""
    subset, likelihood = problem.source, settings.likelihood
    y_shift, y_scale = 0.0, 1.0
    if likelihood.location_scale:
        weights = np.ones(subset.n_rows) if subset.weights is None else subset.weights
        shift, scale, _ = centre_and_scale(subset.y, weights * _trust(subset.y[:, 0]))
        y_shift, y_scale = float(shift[0]), float(scale[0])
    weights = np.ones(subset.n_rows) if subset.weights is None else subset.weights
    offset = likelihood.offset((subset.y[:, 0] - y_shift) / y_scale, weights)
    relevance = relevance_of(starting_relevance(settings, problem.live), problem.live)
    point = Hyperparameters(relevance, settings.kernel, np.ones(len(offset)))
    problem = replace(problem, target_shift=offset, target_scale=np.ones(len(offset)))
    geometry = problem.geometry(point, 1)
    sites = Sites.zero(geometry, len(offset))
    return SiteModel(
        geometry, likelihood, point.kernel, problem.truncated, sites, None, y_shift, y_scale
    )


def first_regression(problem: Problem, model: SiteModel, learn_noise: bool) -> Problem:
    """A regression that the search starts from: on the first sites.

    Where y is f and noise, it is on y itself, and can learn the noise; rows whose targets are
    far from all others are trusted little.
    """
    subset = problem.source
    if not (learn_noise and model.likelihood.location_scale):
        return as_regression(problem, pseudo_rows(model, subset, first=True))
    y = model.standardised(subset.y)
    weights = np.ones(len(y)) if subset.weights is None else subset.weights
    rows = ArraySource(subset.X, y - model.geometry.target_shift[0], weights * _trust(y[:, 0]))
    return as_regression(problem, rows, learn_noise=True)


def _trust(y: np.ndarray) -> np.ndarray:
    """1, or less where y is many robust standard deviations from the median."""
    distance = np.abs(y - np.median(y))
    ordinary = _ORDINARY * (median_abs_deviation(y, scale="normal") or distance.std())
    return (ordinary / np.maximum(distance, ordinary)) ** 4 if ordinary else np.ones(len(y))


def as_regression(problem: Problem, rows: Any, learn_noise: bool = False) -> Problem:
    """Sites as a regression, with noise 1 unless that is learned."""
    K = rows.n_targets
    return replace(
        problem,
        source=rows,
        target_shift=np.zeros(K),
        target_scale=np.ones(K),
        learn_noise=learn_noise,
    )


def model_at(model: SiteModel, problem: Problem, point: Hyperparameters, degree: int) -> SiteModel:
    """The model at other hyperparameters, without sites."""
    offset = model.geometry.target_shift
    problem = replace(problem, target_shift=offset, target_scale=np.ones(len(offset)))
    geometry = problem.geometry(replace(point, warp=None), degree)
    kernel = point.kernel.start(geometry.projection.dimension, degree)
    return replace(model, geometry=geometry, kernel=kernel, sites=Sites.zero(geometry, len(offset)))


def with_sites_of(
    regression: Problem, model: SiteModel, point: Hyperparameters, degree: int
) -> SiteModel:
    """The model with the sites of a regression, of one latent function."""
    statistics = regression.statistics(point, degree)
    cross = model.geometry.engine.cross(statistics.cross).T
    sites = Sites(statistics.moments[None], cross) * (1 / point.noise[0])
    return replace(model, sites=sites)
