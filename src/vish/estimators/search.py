"""The search for hyperparameters as the estimators call it: the one place that knows it.

Where it starts (the scaling of the rows, and the relevance), and what it finds.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vish.estimators.scaling import centre_and_scale, check_spread_of_target
from vish.estimators.settings import FitSettings
from vish.inference.ascent import Ascent, Stage
from vish.inference.degrees import has_level
from vish.inference.objective import Hyperparameters, Setting
from vish.inference.progress import Progress
from vish.inference.sources import ArraySource
from vish.inference.training import Training
from vish.sphere.memory import basis_size, physical_memory
from vish.sphere.projection import Projection

_MATRICES = 5  # of the size of the Gram matrix that a solution holds at once
REFINE_ITERATIONS = 10  # on all rows, where that is asked for


def make_setting(subset: ArraySource, noise_kind: str, settings: FitSettings) -> Setting:
    """Scaling of inputs and targets from the subset, or as given."""
    centre, scale, live = centre_and_scale(subset.X, subset.weights)
    if settings.scaling is not None:
        centre, scale = settings.scaling
    elif not live.all():
        _warn_constant(np.flatnonzero(~live), settings.feature_names)
    shift, target_scale, _ = centre_and_scale(subset.y, subset.weights)
    check_spread_of_target(target_scale)
    return Setting(
        subset, centre, scale, shift, target_scale, noise_kind, settings.truncated, live,
        settings.n_jobs,
    )  # fmt: skip


def starting_relevance(settings: FitSettings, live: np.ndarray) -> np.ndarray:
    """The relevance as given, or the same for every column that varies."""
    D, n_live = len(live), max(1, int(live.sum()))
    if settings.relevance is None:
        if isinstance(settings.rank, int) and settings.rank > n_live:
            raise ValueError(
                f"rank is {settings.rank}, but only {live.sum()} of the {D} inputs vary: "
                f"give at most {n_live}"
            )
        relevance = np.where(live, 1 / np.sqrt(n_live), 0.0)
    else:
        relevance = settings.relevance
        relevance = np.full(D, relevance) if relevance.ndim == 0 else relevance
        Projection(np.zeros(D), np.ones(D), relevance)  # checks the shape
    degree = 1 if settings.degree is None else settings.degree
    rank = settings.rank if isinstance(settings.rank, int) else len(relevance)
    odd = settings.kernel.is_odd and degree % 2 == 1
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


def _warn_constant(columns: np.ndarray, names: np.ndarray | None) -> None:
    listed = ", ".join(str(c if names is None else names[c]) for c in columns[:10])
    warnings.warn(
        f"columns without spread get relevance 0: {listed}; drop them, or give a scaling",
        UserWarning,
        stacklevel=4,
    )


# ---- the search


class Search(NamedTuple):
    """What was found from a start."""

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


def searched(
    setting: Setting,
    start: Hyperparameters,
    settings: FitSettings,
    progress: Progress,
    learn: bool,
    rows_to_come: float = 0.0,
) -> Search:
    """The best hyperparameters, or (unless `learn`) the start, at a degree that may be free.

    `rows_to_come` is the weight of the rows that are not in the setting's source.
    """
    training = Training(
        setting=setting,
        degree=settings.degree,
        rank=settings.rank,
        max_features=settings.max_features,
        n_starts=settings.n_starts,
        max_iter=settings.max_iter,
        rng=np.random.default_rng(settings.seed),
        learn_relevance=settings.learns_relevance,
        report=progress.stage,
        rows_to_come=rows_to_come,
    )
    if learn:
        point, degree = training.run(start)
        _tell(training, settings, point, degree)
    else:
        point, degree = training.hold(start)
    found = (point, degree, training.trace, training.interrupted, training.corrected)
    return Search(setting, *found)


def refined(
    setting: Setting,
    point: Hyperparameters,
    degree: int,
    max_iter: int,
    trace: list[Stage],
    progress: Progress,
) -> Hyperparameters:
    """A few more steps from a point, on the rows of a setting."""
    ascent = Ascent(setting=setting, max_iter=max_iter, report=progress.stage, trace=trace)
    return ascent.refine(point, degree)


def _tell(training: Training, settings: FitSettings, point: Hyperparameters, degree: int) -> None:
    """Warnings that a search has earned."""
    if training.interrupted:
        warnings.warn(
            "interrupted while learning: the best hyperparameters so far are used",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif not training.converged:
        warnings.warn(
            f"learning stopped at max_iter={settings.max_iter} before it converged: "
            "increase max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    if settings.degree is not None or degree > 1:
        return
    higher = 2 if has_level(point, 2) else 3
    needed = point.kernel.n_harmonics(point.dimension, higher)
    if needed > settings.max_features:
        warnings.warn(
            f"max_features={settings.max_features} leaves degree 1, a linear model: degree "
            f"{higher} needs {needed:,} features; raise max_features or lower rank",
            UserWarning,
            stacklevel=4,
        )
