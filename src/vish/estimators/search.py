"""The search for hyperparameters as the estimators call it: the one place that knows it.

Where it starts (the scaling of the rows, and the relevance), and what it finds.
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vish.estimators.scaling import centre_and_scale, check_spread_of_target
from vish.estimators.settings import FitSettings
from vish.inference.progress import Progress
from vish.inference.sources import ArraySource
from vish.search.problem import Hyperparameters, Problem
from vish.search.search import refine, run
from vish.search.stage import Outcome, Status
from vish.search.task import Asked, Search
from vish.search.trace import Stage, Trace
from vish.sphere.memory import basis_size, physical_memory
from vish.sphere.projection import Projection

_MATRICES = 5  # of the size of the Gram matrix that a solution holds at once
REFINE_ITERATIONS = 10  # on all rows, where that is asked for


def make_problem(subset: ArraySource, noise_kind: str, settings: FitSettings) -> Problem:
    """Scaling of inputs and targets from the subset, or as given."""
    centre, scale, live = centre_and_scale(subset.X, subset.weights)
    if settings.scaling is not None:
        centre, scale = settings.scaling
    elif not live.all():
        _warn_constant(np.flatnonzero(~live), settings.feature_names)
    shift, target_scale, _ = centre_and_scale(subset.y, subset.weights)
    check_spread_of_target(target_scale)
    return Problem(
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


class Learned(NamedTuple):
    """What was found from a start."""

    problem: Problem
    point: Hyperparameters
    degree: int
    trace: list[Stage]
    losses: np.ndarray  # of rows held out: their log densities, negative
    optimism: np.ndarray  # of the noise, in rows  [T]
    interrupted: bool


def searched(
    problem: Problem,
    start: Hyperparameters,
    settings: FitSettings,
    progress: Progress,
    learn: bool,
    total_weight: float = 0.0,
) -> Learned:
    """The best hyperparameters, or (unless `learn`) the start, at a degree that may be free.

    `total_weight` is that of all rows, where the problem holds only some.
    """
    asked = Asked(
        degree=settings.degree,
        rank=settings.rank,
        max_features=settings.max_features,
        n_starts=settings.n_starts,
        max_iter=settings.max_iter,
        learn=learn,
        learn_relevance=settings.learns_relevance,
        total_weight=total_weight,
    )
    search = Search(problem, asked, trace=Trace(progress.stage))
    answer = run(search, start)
    outcome = answer.outcome
    if learn:
        _tell(search, answer.outcome)
    return Learned(
        problem,
        outcome.point,
        outcome.degree,
        search.trace.stages,
        answer.losses,
        answer.optimism,
        outcome.status is Status.INTERRUPTED,
    )


def refined(
    problem: Problem,
    point: Hyperparameters,
    degree: int,
    max_iter: int,
    trace: list[Stage],
    progress: Progress,
) -> Hyperparameters:
    """A few more steps from a point, on the rows of a problem."""
    search = Search(problem, Asked(degree, max_iter=max_iter), trace=Trace(progress.stage, trace))
    return refine(search, point, degree).point


def _tell(search: Search, outcome: Outcome) -> None:
    """Warnings that a search has earned."""
    asked, point = search.asked, outcome.point
    if outcome.status is Status.INTERRUPTED:
        _warn("interrupted while learning: the best hyperparameters so far are used")
    elif outcome.status is Status.BUDGET and outcome.n_iter >= asked.max_iter:
        _warn(
            f"learning stopped at max_iter={asked.max_iter} before it converged: increase max_iter"
        )
    elif outcome.status is Status.BUDGET and outcome.last_gain > search.policy.matters:
        _warn(
            f"the last stage ended after {outcome.n_iter} iterations, when its time was up and "
            f"each still gained {outcome.last_gain:.2g} of log density per row: lower "
            "max_features or degree, or refine=True"
        )
    if asked.degree is not None or outcome.degree > 1:
        return
    higher = 2 if point.has_level(2) else 3
    needed = point.n_harmonics(higher)
    if needed > asked.max_features:
        warnings.warn(
            f"max_features={asked.max_features} leaves degree 1, a linear model: degree "
            f"{higher} needs {needed:,} features; raise max_features or lower rank",
            UserWarning,
            stacklevel=5,
        )


def _warn(text: str) -> None:
    warnings.warn(text, ConvergenceWarning, stacklevel=5)
