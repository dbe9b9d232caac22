"""Where a search starts: the scaling of the rows, and the relevance."""

import warnings

import numpy as np

from vish.estimators.scaling import centre_and_scale
from vish.estimators.settings import FitSettings
from vish.inference.objective import Setting
from vish.inference.sources import ArraySource
from vish.sphere.memory import basis_size, physical_memory
from vish.sphere.projection import Projection

_MATRICES = 5  # of the size of the Gram matrix that a solution holds at once


def make_setting(subset: ArraySource, noise_kind: str, settings: FitSettings) -> Setting:
    """Scaling of inputs and targets from the subset, or as given."""
    centre, scale, live = centre_and_scale(subset.X, subset.weights)
    if settings.scaling is not None:
        centre, scale = settings.scaling
    elif not live.all():
        _warn_constant(np.flatnonzero(~live), settings.feature_names)
    shift, target_scale, _ = centre_and_scale(subset.y, subset.weights)
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
