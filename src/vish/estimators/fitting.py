"""From rows and an estimator's parameters to a Gaussian model.

Scaling and hyperparameters come from a subset of the rows; then all rows are read once, and
the evidence is maximised again on the full statistics.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from vish.estimators.checkpoint import Checkpoint
from vish.estimators.scaling import centre_and_scale
from vish.estimators.settings import kernel_of
from vish.estimators.single_reading import Opened, can_read_once, read_once, rescaled
from vish.inference.ascent import Ascent, Stage
from vish.inference.degrees import has_level
from vish.inference.gaussian import GaussianModel, tells_of_noise
from vish.inference.objective import Hyperparameters, Setting
from vish.inference.passes import group_sums
from vish.inference.progress import Progress
from vish.inference.sources import ArraySource, RowSource
from vish.inference.statistics import Statistics
from vish.inference.subset import take_subset
from vish.inference.training import Training
from vish.sphere.memory import basis_size, physical_memory
from vish.sphere.projection import Projection

_REFINE_ITERATIONS = 10
_CLEAR_GAIN = 3.0  # of log evidence, for noise that is not constant
_MATRICES = 5  # of the size of the Gram matrix that a solution holds at once


@dataclass
class Fit:
    """What a fit leaves behind."""

    model: GaussianModel
    trace: list[Stage]


def fit_gaussian(
    source: RowSource,
    estimator: Any,
    likelihood: Any,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Learn a model of the Gaussian family."""
    if checkpoint is None and can_read_once(estimator, likelihood):
        opened = Opened(source, estimator.subset_size)
        if not opened.complete:
            return _fit_once(source, opened, estimator, likelihood, progress)
        source = opened.first_rows  # all there are
    saved = None if checkpoint is None else checkpoint.load()
    if saved is None:
        model, trace = _learn(source, estimator, likelihood, progress)
        saved = (model, 0, trace)
        if checkpoint is not None:
            checkpoint.save(*saved)
    model, groups, trace = saved
    if groups == 0 and model.statistics.n_rows:  # all rows were in the subset
        return Fit(model, trace)
    model = model.with_statistics(
        _read(model.statistics, source, estimator, progress, checkpoint, groups, model, trace)
    )
    if estimator.optimize:
        model = model.relearned(estimator.max_iter)
    return Fit(model, trace)


def _fit_once(source, opened, estimator, likelihood, progress) -> Fit:
    """The same in one reading: nothing but the units of the target was missing for the sums."""
    seed, kind = seed_of(estimator), likelihood.noise
    size, first = estimator.subset_size, opened.first_rows
    setting = make_setting(take_subset(first, size, seed), kind, estimator)
    relevance = starting_relevance(estimator, setting.live)
    start = Hyperparameters(relevance, kernel_of(estimator), np.ones(first.n_targets))
    geometry = setting.geometry(start, int(estimator.degree))
    with progress.rows("reading rows", source.n_rows) as done:
        subset, statistics = read_once(source, opened, geometry, size, seed, estimator.n_jobs, done)
    search = _search(subset, kind, estimator, likelihood, seed, progress)
    statistics = rescaled(statistics, search.setting.target_scale)
    point = search.point
    model = GaussianModel(statistics, point.kernel, point.noise, search.setting.truncated)
    if estimator.optimize:
        model = model.relearned(estimator.max_iter)
    return Fit(model, search.trace)


def _read(statistics, source, estimator, progress, checkpoint, groups, model, trace):
    """The sums of all rows, from the group on that was not yet read."""
    geometry = statistics.geometry
    with progress.rows("reading rows", source.n_rows) as done:
        done(statistics.n_rows)
        function = partial(Statistics.of_chunk, geometry)
        for part in group_sums(source, function, estimator.n_jobs, done, groups):
            statistics = part if groups == 0 else statistics + part
            groups += 1
            if checkpoint is not None and groups % checkpoint.every == 0:
                checkpoint.save(model.with_statistics(statistics), groups, trace)
    if checkpoint is not None and groups % checkpoint.every:  # else it is written already
        checkpoint.save(model.with_statistics(statistics), groups, trace)
    return statistics


def _learn(source, estimator, likelihood, progress) -> tuple[GaussianModel, list[Stage]]:
    """Hyperparameters from a subset, with no rows in the statistics unless these are all.

    "auto" noise is constant unless the evidence is clearly larger for the other kind.
    """
    seed = seed_of(estimator)
    with progress.rows("choosing a subset", source.n_rows) as done:
        subset = take_subset(source, estimator.subset_size, seed, done)
    kinds = ("constant", "radial") if likelihood.noise == "auto" else (likelihood.noise,)
    searches = []
    for kind in kinds:
        searches.append(_search(subset, kind, estimator, likelihood, seed, progress))
        if searches[-1].interrupted:
            break
    search, *others = searches
    if (
        others
        and others[0].log_evidence > search.log_evidence + _CLEAR_GAIN / search.setting.weight
    ):
        search = others[0]
    setting, point, degree, trace = search.setting, search.point, search.degree, search.trace
    complete = subset.n_read <= estimator.subset_size
    if estimator.refine and relevance_is_free(estimator):
        everything = setting
        if not complete:
            weight = setting.weight * subset.n_read / subset.n_rows
            everything = replace(setting, source=source, known_weight=weight)
        point = refine_map(everything, point, degree, trace, progress)
    empty = Statistics.zero(setting.geometry(point, degree))
    model = GaussianModel(empty, point.kernel, point.noise, setting.truncated)
    if not complete:
        return model, trace
    # All rows are here, in an order of their own: how they were given changes no bit.
    with progress.rows("reading rows", subset.n_rows) as done:
        statistics = Statistics.of_source(empty.geometry, subset, estimator.n_jobs, done)
    model = model.with_statistics(replace(statistics, n_rows=subset.n_read))
    if estimator.optimize and tells_of_noise(subset.n_read):
        model = model.relearned(estimator.max_iter)
        model = replace(model, noise=search.corrected(model.noise))
    return model, trace


class Search(NamedTuple):
    """What was found for one kind of noise."""

    setting: Setting
    point: Hyperparameters
    degree: int
    trace: list[Stage]
    interrupted: bool
    corrected: Callable[[np.ndarray], np.ndarray]  # noise, by rows that were held out

    @property
    def log_evidence(self) -> float:
        """Per row, of the last stage, which is that of all rows at the degree chosen."""
        return self.trace[-1].log_evidence if self.trace else -np.inf


def _search(subset, noise_kind, estimator, likelihood, seed, progress):
    """Hyperparameters from the subset, for one kind of noise."""
    setting = make_setting(subset, noise_kind, estimator)
    n_targets = subset.y.shape[1]
    relevance = starting_relevance(estimator, setting.live)
    kernel = kernel_of(estimator)
    noise = np.asarray(likelihood.variance, dtype=float)
    if noise.shape not in ((), (1,), (n_targets,)):
        raise ValueError(
            f"variance of the likelihood has shape {noise.shape}, but there is {n_targets} target"
            f"{'s' * (n_targets > 1)}: give one number, or one per target"
        )
    noise = np.broadcast_to(noise, n_targets).copy()
    learned = estimator.optimize and tells_of_noise(subset.n_read)
    if estimator.optimize and not learned:
        noise = np.ones(n_targets)  # all that the target varies may be noise
    start = Hyperparameters(relevance, kernel, noise, likelihood.warp)
    training = new_training(setting, estimator, seed, progress)
    training.rows_to_come = setting.weight * max(0.0, subset.n_read / estimator.subset_size - 1)
    if learned:
        point, degree = training.run(start)
        tell(training, estimator, point, degree)
    else:
        point, degree = training.hold(start)
    found = (point, degree, training.trace, training.interrupted, training.corrected)
    return Search(setting, *found)


def new_training(setting: Setting, estimator: Any, seed: int, progress: Progress) -> Training:
    """The search that an estimator's parameters ask for."""
    return Training(
        setting=setting,
        degree=None if estimator.degree == "auto" else int(estimator.degree),
        rank=estimator.rank,
        max_features=estimator.max_features,
        n_starts=estimator.n_starts,
        max_iter=estimator.max_iter,
        rng=np.random.default_rng(seed),
        learn_relevance=relevance_is_free(estimator),
        report=progress.stage,
    )


def make_setting(subset: ArraySource, noise_kind: str, estimator: Any) -> Setting:
    """Scaling of inputs and targets from the subset, or as given."""
    centre, scale, live = centre_and_scale(subset.X, subset.weights)
    if estimator.scaling is not None:
        centre, scale = (np.asarray(part, dtype=float) for part in estimator.scaling)
    elif not live.all():
        _warn_constant(np.flatnonzero(~live), estimator)
    shift, target_scale, _ = centre_and_scale(subset.y, subset.weights)
    truncated = estimator.tail != "variational"
    return Setting(
        subset, centre, scale, shift, target_scale, noise_kind, truncated, live, estimator.n_jobs
    )


def starting_relevance(estimator: Any, live: np.ndarray) -> np.ndarray:
    """The relevance as given, or the same for every column that varies."""
    D = len(live)
    if estimator.relevance is None:
        if isinstance(estimator.rank, int) and estimator.rank > max(1, live.sum()):
            raise ValueError(
                f"rank is {estimator.rank}, but only {live.sum()} of the {D} inputs vary: "
                f"give at most {max(1, live.sum())}"
            )
        relevance = np.where(live, 1 / np.sqrt(max(1, live.sum())), 0.0)
    else:
        relevance = np.asarray(estimator.relevance, dtype=float)
        relevance = np.full(D, relevance) if relevance.ndim == 0 else relevance
        Projection(np.zeros(D), np.ones(D), relevance)  # checks the shape
    degree = 1 if estimator.degree == "auto" else int(estimator.degree)
    rank = estimator.rank if isinstance(estimator.rank, int) else len(relevance)
    odd = kernel_of(estimator).is_odd and degree % 2 == 1
    _check_gram_size(min(rank, len(relevance)) + 1, degree, odd)
    return relevance


def _check_gram_size(dimension: int, degree: int, odd: bool) -> None:
    """Refuse features whose Gram matrix, factored, would not fit in memory."""
    limit = int(np.sqrt(physical_memory() / (_MATRICES * 8)))
    if (size := basis_size(dimension, degree, odd)) > limit:
        fits, step = (1, 2) if odd else (0, 1)
        while basis_size(dimension, fits + step, odd) <= limit:
            fits += step
        raise ValueError(
            f"degree {degree} of {dimension - 1} mapped inputs has {size:,} features, whose "
            f"matrices do not fit in memory: the largest degree that fits is {fits}; lower the "
            "degree or the rank"
        )


def refine_map(
    setting: Setting, point: Hyperparameters, degree: int, trace: list[Stage], progress: Progress
) -> Hyperparameters:
    """A few steps of the search on all rows."""
    ascent = Ascent(
        setting=setting, max_iter=_REFINE_ITERATIONS, report=progress.stage, trace=trace
    )
    return ascent.refine(point, degree)


def relevance_is_free(estimator: Any) -> bool:
    return estimator.relevance is None and estimator.optimize


def seed_of(estimator: Any) -> int:
    """An integer for hashes and starts; 0 without a random state, so that fits repeat."""
    if estimator.random_state is None:
        return 0
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def _warn_constant(columns: np.ndarray, estimator: Any) -> None:
    names = getattr(estimator, "feature_names_in_", None)
    listed = ", ".join(str(c if names is None else names[c]) for c in columns[:10])
    warnings.warn(
        f"columns without spread get relevance 0: {listed}; drop them, or give a scaling",
        UserWarning,
        stacklevel=4,
    )


def tell(training: Training, estimator: Any, point: Hyperparameters, degree: int) -> None:
    """Warnings that a search has earned."""
    if training.interrupted:
        warnings.warn(
            "interrupted while learning: the best hyperparameters so far are used",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif not training.converged:
        warnings.warn(
            f"learning stopped at max_iter={estimator.max_iter} before it converged: "
            "increase max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    if estimator.degree != "auto" or degree > 1:
        return
    higher = 2 if has_level(point, 2) else 3
    needed = point.kernel.n_harmonics(point.dimension, higher)
    if needed > estimator.max_features:
        warnings.warn(
            f"max_features={estimator.max_features} leaves degree 1, a linear model: degree "
            f"{higher} needs {needed:,} features; raise max_features or lower rank",
            UserWarning,
            stacklevel=4,
        )
