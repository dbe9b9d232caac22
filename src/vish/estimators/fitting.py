"""From rows and settings to a Gaussian model.

Scaling and hyperparameters come from a subset of the rows; then all rows are read once, and
the evidence is maximised again on the full statistics.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from vish.estimators.checkpoint import Checkpoint
from vish.estimators.search import (
    REFINE_ITERATIONS,
    Search,
    make_setting,
    refined,
    searched,
    starting_relevance,
)
from vish.estimators.settings import FitSettings
from vish.estimators.single_reading import Opened, can_read_once, read_once, rescaled
from vish.inference.ascent import Stage
from vish.inference.gaussian import GaussianModel, tells_of_noise
from vish.inference.objective import Hyperparameters
from vish.inference.passes import group_sums
from vish.inference.progress import Progress
from vish.inference.relearning import relearned
from vish.inference.sources import RowSource
from vish.inference.statistics import Statistics
from vish.inference.subset import Subset, take_subset

_CLEAR_GAIN = 3.0  # of log evidence, for noise that is not constant


@dataclass
class Fit:
    """What a fit leaves behind."""

    model: GaussianModel
    trace: list[Stage]


def fit_gaussian(
    source: RowSource,
    settings: FitSettings,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Learn a model of the Gaussian family."""
    if checkpoint is None and can_read_once(settings):
        opened = Opened(source, settings.subset_size)
        if not opened.complete:
            return _fit_once(source, opened, settings, progress)
        source = opened.first_rows  # all there are
    saved = None if checkpoint is None else checkpoint.load()
    if saved is None:
        model, trace = _learn(source, settings, progress)
        saved = (model, 0, trace)
        if checkpoint is not None:
            checkpoint.save(*saved)
    model, groups, trace = saved
    if groups == 0 and model.statistics.n_rows:  # all rows were in the subset
        return Fit(model, trace)
    model = model.with_statistics(
        _read(model, source, settings.n_jobs, progress, checkpoint, groups, trace)
    )
    if settings.optimize:
        model = relearned(model, settings.max_iter)
    return Fit(model, trace)


def _fit_once(source: RowSource, opened: Opened, settings: FitSettings, progress: Progress) -> Fit:
    """The same in one reading: nothing but the units of the target was missing for the sums."""
    kind, size, first = settings.likelihood.noise, settings.subset_size, opened.first_rows
    assert settings.degree is not None
    setting = make_setting(take_subset(first, size, settings.seed), kind, settings)
    relevance = starting_relevance(settings, setting.live)
    start = Hyperparameters(relevance, settings.kernel, np.ones(first.n_targets))
    geometry = setting.geometry(start, settings.degree)
    with progress.rows("reading rows", source.n_rows) as done:
        subset, statistics = read_once(source, opened, geometry, settings, done)
    found = _search(subset, kind, settings, progress)
    statistics = rescaled(statistics, found.setting.target_scale)
    model = GaussianModel(
        statistics, found.point.kernel, found.point.noise, found.setting.truncated
    )
    if settings.optimize:
        model = relearned(model, settings.max_iter)
    return Fit(model, found.trace)


def _read(
    model: GaussianModel,
    source: RowSource,
    n_jobs: int | None,
    progress: Progress,
    checkpoint: Checkpoint | None,
    groups: int,
    trace: list[Stage],
) -> Statistics:
    """The sums of all rows, from the group on that was not yet read."""
    statistics = model.statistics
    with progress.rows("reading rows", source.n_rows) as done:
        done(statistics.n_rows)
        function = partial(Statistics.of_chunk, statistics.geometry)
        for part in group_sums(source, function, n_jobs, done, groups):
            statistics = part if groups == 0 else statistics + part
            groups += 1
            if checkpoint is not None and groups % checkpoint.every == 0:
                checkpoint.save(model.with_statistics(statistics), groups, trace)
    if checkpoint is not None and groups % checkpoint.every:  # else it is written already
        checkpoint.save(model.with_statistics(statistics), groups, trace)
    return statistics


def _learn(
    source: RowSource, settings: FitSettings, progress: Progress
) -> tuple[GaussianModel, list[Stage]]:
    """Hyperparameters from a subset, with no rows in the statistics unless these are all."""
    with progress.rows("choosing a subset", source.n_rows) as done:
        subset = take_subset(source, settings.subset_size, settings.seed, done)
    found = _best_noise(subset, settings, progress)
    setting, point, degree, trace = found.setting, found.point, found.degree, found.trace
    complete = subset.n_read <= settings.subset_size
    if settings.refine and settings.learns_relevance:
        everything = setting
        if not complete:
            weight = setting.weight * subset.n_read / subset.n_rows
            rows: Any = source  # to refine, any source does
            everything = replace(setting, source=rows, known_weight=weight)
        point = refined(everything, point, degree, REFINE_ITERATIONS, trace, progress)
    empty = Statistics.zero(setting.geometry(point, degree))
    model = GaussianModel(empty, point.kernel, point.noise, setting.truncated)
    if not complete:
        return model, trace
    # All rows are here, in an order of their own: how they were given changes no bit.
    with progress.rows("reading rows", subset.n_rows) as done:
        statistics = Statistics.of_source(empty.geometry, subset, settings.n_jobs, done)
    model = model.with_statistics(replace(statistics, n_rows=subset.n_read))
    if settings.optimize and tells_of_noise(subset.n_read):
        model = relearned(model, settings.max_iter)
        model = replace(model, noise=found.corrected(model.noise))
    return model, trace


def _best_noise(subset: Subset, settings: FitSettings, progress: Progress) -> Search:
    """The search for the noise asked for.

    "auto" is constant unless the evidence is clearly larger for the other kind.
    """
    if settings.likelihood.noise != "auto":
        return _search(subset, settings.likelihood.noise, settings, progress)
    constant = _search(subset, "constant", settings, progress)
    if constant.interrupted:
        return constant
    radial = _search(subset, "radial", settings, progress)
    clear = constant.log_evidence + _CLEAR_GAIN / constant.setting.weight
    return radial if radial.log_evidence > clear else constant


def _search(subset: Subset, noise_kind: str, settings: FitSettings, progress: Progress) -> Search:
    """Hyperparameters from the subset, for one kind of noise."""
    setting = make_setting(subset, noise_kind, settings)
    n_targets = subset.y.shape[1]
    relevance = starting_relevance(settings, setting.live)
    noise = np.asarray(settings.likelihood.variance, dtype=float)
    if noise.shape not in ((), (1,), (n_targets,)):
        raise ValueError(
            f"variance of the likelihood has shape {noise.shape}, but there is {n_targets} target"
            f"{'s' * (n_targets > 1)}: give one number, or one per target"
        )
    noise = np.broadcast_to(noise, n_targets).copy()
    learn = settings.optimize and tells_of_noise(subset.n_read)
    if settings.optimize and not learn:
        noise = np.ones(n_targets)  # all that the target varies may be noise
    start = Hyperparameters(relevance, settings.kernel, noise, settings.likelihood.warp)
    rows_to_come = setting.weight * max(0.0, subset.n_read / settings.subset_size - 1)
    return searched(setting, start, settings, progress, learn, rows_to_come)
