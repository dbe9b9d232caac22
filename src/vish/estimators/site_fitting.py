"""From rows and an estimator's parameters to a model with a likelihood that is not Gaussian.

Geometry and kernel start from a regression on the first sites. Then, on the subset, sites,
likelihood and hyperparameters take turns while the bound rises; then all rows are read until
their sites have converged.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import median_abs_deviation
from sklearn.exceptions import ConvergenceWarning

from vish.estimators.fitting import (
    make_setting,
    new_training,
    refine_map,
    relevance_is_free,
    seed_of,
    starting_relevance,
    tell,
)
from vish.estimators.scaling import centre_and_scale
from vish.estimators.settings import kernel_of
from vish.inference.ascent import Stage
from vish.inference.convergence import Convergence, converge
from vish.inference.objective import Hyperparameters, Setting
from vish.inference.passes import MappedSource
from vish.inference.progress import Progress
from vish.inference.sites import (
    PseudoRows,
    SiteModel,
    Sites,
    pseudo_rows,
    relearned_kernel,
    relearned_likelihood,
)
from vish.inference.sources import ArraySource, RowSource
from vish.inference.subset import take_subset
from vish.inference.training import Training
from vish.likelihoods import Likelihood

_ROUNDS, _ROUND_ITERATIONS, _ROUND_PASSES = 15, 15, 20
_ROUNDS_OF_SEVERAL = 4  # latent functions: a pass costs as many solutions, the map stays
_ORDINARY = 10.0  # robust standard deviations from the median
_LEAST_GAIN = 1e-4  # of the bound per row, for one more round
MAX_PASSES = 100
# Relative rise of the bound that ends the passes: in the turns, and at the end. Several latent
# functions converge more slowly, and nothing is gained by the last digits.
_ONE_LATENT, _SEVERAL_LATENTS = (1e-6, 1e-11), (1e-4, 1e-6)


@dataclass
class SiteFit:
    """What a fit leaves behind."""

    end: Convergence
    trace: list[Stage]
    subset: ArraySource  # the rows that the hyperparameters are from


def fit_sites(
    source: RowSource, estimator: Any, likelihood: Likelihood, progress: Progress
) -> SiteFit:
    """Learn a model by passes over sites."""
    seed = seed_of(estimator)
    with progress.rows("choosing a subset", source.n_rows) as done:
        subset = take_subset(source, estimator.subset_size, seed, done)
    setting = make_setting(subset, "constant", estimator)
    model = _first_model(setting, likelihood, estimator)
    regression = _first_regression(setting, model, learn_noise=estimator.optimize)
    training = new_training(regression, estimator, seed, progress)
    noise = np.ones(model.likelihood.guides)
    start = Hyperparameters(starting_relevance(estimator, setting.live), model.kernel, noise)
    if estimator.optimize:
        point, degree = training.run(start)
        tell(training, estimator, point, degree)
    else:
        point, degree = training.hold(start)
    model = _at(model, setting, point, degree)
    all_in_subset = subset.n_read <= estimator.subset_size
    if estimator.optimize:
        if likelihood.n_latents == 1:
            model = _with_sites_of(regression, model, point, degree)
            if regression.learn_noise:
                model = relearned_likelihood(model, subset, estimator.max_iter)
        point = replace(point, noise=noise)
        model = _take_turns(model, setting, point, degree, training, estimator)
        if not all_in_subset:  # as if all rows were like these
            model = replace(model, sites=model.sites * (subset.n_read / estimator.subset_size))
    with progress.passes("reading rows, pass", source.n_rows) as done:
        _, tolerance = _tolerances(likelihood)
        fresh, n_jobs = not estimator.optimize, estimator.n_jobs
        end = converge(model, source, MAX_PASSES, n_jobs, done, fresh, tolerance)
        if estimator.optimize and not all_in_subset:
            end = _relearn(end, source, estimator, done)
    if estimator.refine and relevance_is_free(estimator):
        end = _refine(end, setting, source, estimator, progress, training.trace)
    if not end.converged:
        warnings.warn(
            f"the sites have not converged in {end.n_passes} passes: the fit may be rough",
            ConvergenceWarning,
            stacklevel=4,
        )
    return SiteFit(end, training.trace, subset)


def _tolerances(likelihood: Likelihood) -> tuple[float, float]:
    return _ONE_LATENT if likelihood.n_latents == 1 else _SEVERAL_LATENTS


def _first_model(setting: Setting, likelihood: Likelihood, estimator: Any) -> SiteModel:
    """The likelihood's constants from the subset, with no sites yet."""
    subset = setting.source
    y_shift, y_scale = 0.0, 1.0
    if likelihood.location_scale:
        shift, scale, _ = centre_and_scale(subset.y, subset.weights)
        y_shift, y_scale = float(shift[0]), float(scale[0])
    weights = np.ones(subset.n_rows) if subset.weights is None else subset.weights
    offset = likelihood.offset((subset.y[:, 0] - y_shift) / y_scale, weights)
    relevance = starting_relevance(estimator, setting.live)
    point = Hyperparameters(relevance, kernel_of(estimator), np.ones(len(offset)))
    setting = replace(setting, target_shift=offset, target_scale=np.ones(len(offset)))
    geometry = setting.geometry(point, 1)
    sites = Sites.zero(geometry, len(offset))
    return SiteModel(
        geometry, likelihood, point.kernel, setting.truncated, sites, None, y_shift, y_scale
    )


def _first_regression(setting: Setting, model: SiteModel, learn_noise: bool) -> Setting:
    """A regression that the search starts from: on the first sites.

    Where y is f and noise, it is on y itself, and can learn the noise; rows whose targets are
    far from all others are trusted little.
    """
    subset = setting.source
    if not (learn_noise and model.likelihood.location_scale):
        return _regression(setting, pseudo_rows(model, subset, first=True))
    y = model.standardised(subset.y)
    weights = np.ones(len(y)) if subset.weights is None else subset.weights
    rows = ArraySource(subset.X, y - model.geometry.target_shift[0], weights * _trust(y[:, 0]))
    return _regression(setting, rows, learn_noise=True)


def _trust(y: np.ndarray) -> np.ndarray:
    """1, or less where y is many robust standard deviations from the median."""
    distance = np.abs(y - np.median(y))
    ordinary = _ORDINARY * (median_abs_deviation(y, scale="normal") or distance.std())
    return (ordinary / np.maximum(distance, ordinary)) ** 4 if ordinary else np.ones(len(y))


def _regression(setting: Setting, rows: Any, learn_noise: bool = False) -> Setting:
    """Sites as a regression, with noise 1 unless that is learned."""
    K = rows.n_targets
    return replace(
        setting,
        source=rows,
        target_shift=np.zeros(K),
        target_scale=np.ones(K),
        learn_noise=learn_noise,
    )


def _at(model: SiteModel, setting: Setting, point: Hyperparameters, degree: int) -> SiteModel:
    """The model at other hyperparameters, without sites."""
    offset = model.geometry.target_shift
    setting = replace(setting, target_shift=offset, target_scale=np.ones(len(offset)))
    geometry = setting.geometry(replace(point, warp=None), degree)
    kernel = point.kernel.start(geometry.projection.dimension, degree)
    return replace(model, geometry=geometry, kernel=kernel, sites=Sites.zero(geometry, len(offset)))


def _with_sites_of(
    regression: Setting, model: SiteModel, point: Hyperparameters, degree: int
) -> SiteModel:
    """The model with the sites of a regression, of one latent function."""
    statistics = regression.statistics(point, degree)
    cross = model.geometry.engine.cross(statistics.cross).T
    sites = Sites(statistics.moments[None], cross) * (1 / point.noise[0])
    return replace(model, sites=sites)


def _take_turns(
    model: SiteModel,
    setting: Setting,
    point: Hyperparameters,
    degree: int,
    training: Training,
    estimator: Any,
) -> SiteModel:
    """Sites, likelihood and hyperparameters in turn, on the subset, while the bound rises."""
    subset, n_jobs = setting.source, estimator.n_jobs
    tolerance, _ = _tolerances(model.likelihood)
    one_latent = model.likelihood.n_latents == 1  # else no regression has all the sites
    end = converge(model, subset, _ROUND_PASSES, n_jobs, fresh=not one_latent, tolerance=tolerance)
    rounds = _ROUNDS if one_latent else _ROUNDS_OF_SEVERAL
    for _ in range(1 if training.interrupted else rounds):
        new = relearned_likelihood(end.model, subset, estimator.max_iter)
        moved = relevance_is_free(estimator) and new.likelihood.guides == 1
        if moved:
            training.setting = _regression(setting, pseudo_rows(new, subset))
            training.max_iter = _ROUND_ITERATIONS
            point = training.refine(replace(point, kernel=new.kernel), degree)
            new = _at(new, setting, point, degree)
            if one_latent:
                new = _with_sites_of(training.setting, new, point, degree)
        else:
            new = relearned_kernel(new, _ROUND_ITERATIONS)
        fresh = moved and not one_latent
        result = converge(new, subset, _ROUND_PASSES, n_jobs, fresh=fresh, tolerance=tolerance)
        gain = result.bound - end.bound
        if gain > 0:
            end = result
        if gain < _LEAST_GAIN * max(1.0, result.weight):
            break
    return end.model


def _refine(
    end: Convergence,
    setting: Setting,
    source: RowSource,
    estimator: Any,
    progress: Progress,
    trace: list[Stage],
) -> Convergence:
    """The map once more, on the sites of all rows; kept if the bound rises."""
    model, degree = end.model, end.model.geometry.degree
    noise = np.ones(model.likelihood.guides)
    rows: Any = (
        pseudo_rows(model, source)
        if isinstance(source, ArraySource)
        else MappedSource(source, PseudoRows.of(model), len(noise))
    )
    everything = replace(_regression(setting, rows), known_weight=end.weight)
    relevance = model.geometry.projection.relevance
    point = Hyperparameters(relevance, model.kernel, noise)
    point = refine_map(everything, point, degree, trace, progress)
    model = _at(model, setting, point, degree)
    with progress.passes("reading rows, pass", source.n_rows) as done:
        _, tolerance = _tolerances(model.likelihood)
        result = converge(model, source, MAX_PASSES, estimator.n_jobs, done, True, tolerance)
    best = result if result.bound > end.bound else end
    return best._replace(n_passes=end.n_passes + result.n_passes)


def _relearn(end: Convergence, source: RowSource, estimator: Any, done: Any) -> Convergence:
    """The kernel once more, from the sites of all rows; kept if the bound rises."""
    new = relearned_kernel(end.model, estimator.max_iter)
    result = converge(new, source, MAX_PASSES - end.n_passes, estimator.n_jobs, done, fresh=False)
    passes = end.n_passes + result.n_passes
    best = result if result.bound > end.bound else end
    return best._replace(n_passes=passes)


def update_sites(
    model: SiteModel, source: ArraySource, estimator: Any, progress: Progress
) -> Convergence:
    """New rows on top of the old: the sites of rows seen before stay as they are.

    The bound is that of the new rows given the old.
    """
    fresh = replace(
        model, base=model.total, sites=Sites.zero(model.geometry, len(model.sites.cross))
    )
    with progress.passes("reading rows, pass", source.n_rows) as done:
        end = converge(fresh, source, MAX_PASSES, estimator.n_jobs, done)
    return end._replace(bound=end.bound - model.log_normaliser)
