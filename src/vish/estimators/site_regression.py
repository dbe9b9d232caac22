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
from vish.inference.objective import Hyperparameters, Setting
from vish.inference.pseudo_rows import pseudo_rows
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource

_ORDINARY = 10.0  # robust standard deviations from the median


def first_model(setting: Setting, settings: FitSettings) -> SiteModel:
    """The likelihood's constants from the subset, with no sites yet."""
    subset, likelihood = setting.source, settings.likelihood
    y_shift, y_scale = 0.0, 1.0
    if likelihood.location_scale:
        shift, scale, _ = centre_and_scale(subset.y, subset.weights)
        y_shift, y_scale = float(shift[0]), float(scale[0])
    weights = np.ones(subset.n_rows) if subset.weights is None else subset.weights
    offset = likelihood.offset((subset.y[:, 0] - y_shift) / y_scale, weights)
    relevance = starting_relevance(settings, setting.live)
    point = Hyperparameters(relevance, settings.kernel, np.ones(len(offset)))
    setting = replace(setting, target_shift=offset, target_scale=np.ones(len(offset)))
    geometry = setting.geometry(point, 1)
    sites = Sites.zero(geometry, len(offset))
    return SiteModel(
        geometry, likelihood, point.kernel, setting.truncated, sites, None, y_shift, y_scale
    )


def first_regression(setting: Setting, model: SiteModel, learn_noise: bool) -> Setting:
    """A regression that the search starts from: on the first sites.

    Where y is f and noise, it is on y itself, and can learn the noise; rows whose targets are
    far from all others are trusted little.
    """
    subset = setting.source
    if not (learn_noise and model.likelihood.location_scale):
        return as_regression(setting, pseudo_rows(model, subset, first=True))
    y = model.standardised(subset.y)
    weights = np.ones(len(y)) if subset.weights is None else subset.weights
    rows = ArraySource(subset.X, y - model.geometry.target_shift[0], weights * _trust(y[:, 0]))
    return as_regression(setting, rows, learn_noise=True)


def _trust(y: np.ndarray) -> np.ndarray:
    """1, or less where y is many robust standard deviations from the median."""
    distance = np.abs(y - np.median(y))
    ordinary = _ORDINARY * (median_abs_deviation(y, scale="normal") or distance.std())
    return (ordinary / np.maximum(distance, ordinary)) ** 4 if ordinary else np.ones(len(y))


def as_regression(setting: Setting, rows: Any, learn_noise: bool = False) -> Setting:
    """Sites as a regression, with noise 1 unless that is learned."""
    K = rows.n_targets
    return replace(
        setting,
        source=rows,
        target_shift=np.zeros(K),
        target_scale=np.ones(K),
        learn_noise=learn_noise,
    )


def model_at(model: SiteModel, setting: Setting, point: Hyperparameters, degree: int) -> SiteModel:
    """The model at other hyperparameters, without sites."""
    offset = model.geometry.target_shift
    setting = replace(setting, target_shift=offset, target_scale=np.ones(len(offset)))
    geometry = setting.geometry(replace(point, warp=None), degree)
    kernel = point.kernel.start(geometry.projection.dimension, degree)
    return replace(model, geometry=geometry, kernel=kernel, sites=Sites.zero(geometry, len(offset)))


def with_sites_of(
    regression: Setting, model: SiteModel, point: Hyperparameters, degree: int
) -> SiteModel:
    """The model with the sites of a regression, of one latent function."""
    statistics = regression.statistics(point, degree)
    cross = model.geometry.engine.cross(statistics.cross).T
    sites = Sites(statistics.moments[None], cross) * (1 / point.noise[0])
    return replace(model, sites=sites)
