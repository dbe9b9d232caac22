"""From rows and settings to a model with a likelihood that is not Gaussian.

Geometry and kernel start from a regression on the first sites. Then, on the subset, sites,
likelihood and hyperparameters take turns while the bound rises; then all rows are read until
their sites have converged.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vish.estimators.search import REFINE_ITERATIONS, Search, make_setting, refined, searched
from vish.estimators.settings import FitSettings
from vish.estimators.site_regression import (
    as_regression,
    first_model,
    first_regression,
    model_at,
    with_sites_of,
)
from vish.inference.ascent import Stage
from vish.inference.convergence import Convergence, converge
from vish.inference.objective import Hyperparameters, Setting
from vish.inference.passes import MappedSource
from vish.inference.progress import Progress
from vish.inference.pseudo_rows import PseudoRows, pseudo_rows
from vish.inference.relearning import relearned_kernel, relearned_likelihood
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource, RowSource
from vish.inference.subset import take_subset
from vish.likelihoods import Likelihood

_ROUNDS, _ROUND_ITERATIONS, _ROUND_PASSES = 15, 15, 20
_ROUNDS_OF_SEVERAL = 4  # latent functions: a pass costs as many solutions, the map stays
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


def fit_sites(source: RowSource, settings: FitSettings, progress: Progress) -> SiteFit:
    """Learn a model by passes over sites."""
    likelihood, n_jobs = settings.likelihood, settings.n_jobs
    if source.n_targets > 1:
        raise ValueError(
            f"y has {source.n_targets} targets: {type(likelihood).__name__} takes one; fit "
            "one model per target"
        )
    if isinstance(source, ArraySource):
        likelihood.check(source.y[:, 0])
    with progress.rows("choosing a subset", source.n_rows) as done:
        subset = take_subset(source, settings.subset_size, settings.seed, done)
    setting = make_setting(subset, "constant", settings)
    model = first_model(setting, settings)
    regression = first_regression(setting, model, learn_noise=settings.optimize)
    noise = np.ones(likelihood.guides)
    start = Hyperparameters(model.geometry.projection.relevance, model.kernel, noise)
    found = searched(regression, start, settings, progress, settings.optimize)
    model = model_at(model, setting, found.point, found.degree)
    all_in_subset = subset.n_read <= settings.subset_size
    if settings.optimize:
        if likelihood.n_latents == 1:
            model = with_sites_of(regression, model, found.point, found.degree)
            if regression.learn_noise:
                model = relearned_likelihood(model, subset, settings.max_iter)
        found = found._replace(point=replace(found.point, noise=noise))
        model = _take_turns(model, setting, found, settings, progress)
        if not all_in_subset:  # as if all rows were like these
            model = replace(model, sites=model.sites * (subset.n_read / settings.subset_size))
    with progress.passes("reading rows, pass", source.n_rows) as done:
        _, tolerance = _tolerances(likelihood)
        end = converge(model, source, MAX_PASSES, n_jobs, done, not settings.optimize, tolerance)
        if settings.optimize and not all_in_subset:
            end = _relearn(end, source, settings, done)
    if settings.refine and settings.learns_relevance:
        end = _refine(end, setting, source, n_jobs, progress, found.trace)
    if not end.converged:
        warnings.warn(
            f"the sites have not converged in {end.n_passes} passes: the fit may be rough",
            ConvergenceWarning,
            stacklevel=4,
        )
    return SiteFit(end, found.trace, subset)


def _tolerances(likelihood: Likelihood) -> tuple[float, float]:
    return _ONE_LATENT if likelihood.n_latents == 1 else _SEVERAL_LATENTS


def _take_turns(
    model: SiteModel, setting: Setting, found: Search, settings: FitSettings, progress: Progress
) -> SiteModel:
    """Sites, likelihood and hyperparameters in turn, on the subset, while the bound rises."""
    subset, n_jobs, point, degree = setting.source, settings.n_jobs, found.point, found.degree
    tolerance, _ = _tolerances(model.likelihood)
    one_latent = model.likelihood.n_latents == 1  # else no regression has all the sites
    end = converge(model, subset, _ROUND_PASSES, n_jobs, fresh=not one_latent, tolerance=tolerance)
    rounds = _ROUNDS if one_latent else _ROUNDS_OF_SEVERAL
    for _ in range(1 if found.interrupted else rounds):
        new = relearned_likelihood(end.model, subset, settings.max_iter)
        moved = settings.learns_relevance and new.likelihood.guides == 1
        if moved:
            regression = as_regression(setting, pseudo_rows(new, subset))
            point = replace(point, kernel=new.kernel)
            point = refined(regression, point, degree, _ROUND_ITERATIONS, found.trace, progress)
            new = model_at(new, setting, point, degree)
            if one_latent:
                new = with_sites_of(regression, new, point, degree)
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
    n_jobs: int | None,
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
    everything = replace(as_regression(setting, rows), known_weight=end.weight)
    relevance = model.geometry.projection.relevance
    point = Hyperparameters(relevance, model.kernel, noise)
    point = refined(everything, point, degree, REFINE_ITERATIONS, trace, progress)
    model = model_at(model, setting, point, degree)
    with progress.passes("reading rows, pass", source.n_rows) as done:
        _, tolerance = _tolerances(model.likelihood)
        result = converge(model, source, MAX_PASSES, n_jobs, done, True, tolerance)
    best = result if result.bound > end.bound else end
    return best._replace(n_passes=end.n_passes + result.n_passes)


def _relearn(
    end: Convergence, source: RowSource, settings: FitSettings, done: Callable[[int], None]
) -> Convergence:
    """The kernel once more, from the sites of all rows; kept if the bound rises."""
    new = relearned_kernel(end.model, settings.max_iter)
    passes_left = MAX_PASSES - end.n_passes
    result = converge(new, source, passes_left, settings.n_jobs, done, fresh=False)
    passes = end.n_passes + result.n_passes
    best = result if result.bound > end.bound else end
    return best._replace(n_passes=passes)


def update_sites(
    model: SiteModel, source: RowSource, n_jobs: int | None, progress: Progress
) -> Convergence:
    """New rows on top of the old: the sites of rows seen before stay as they are.

    The bound is that of the new rows given the old.
    """
    fresh = replace(
        model, base=model.total, sites=Sites.zero(model.geometry, len(model.sites.cross))
    )
    with progress.passes("reading rows, pass", source.n_rows) as done:
        end = converge(fresh, source, MAX_PASSES, n_jobs, done)
    return end._replace(bound=end.bound - model.log_normaliser)
