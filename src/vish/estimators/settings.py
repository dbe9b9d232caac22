"""The parameters of an estimator, checked once at the door."""

import numbers
from typing import Any

import numpy as np

from vish.estimators.local import TAILS, WITHOUT_NEIGHBORS, check_neighbors
from vish.kernels import Kernel, Matern
from vish.likelihoods import Gaussian, Likelihood, Warped

_LIKELIHOODS = (Gaussian, Warped, Likelihood, type(None))


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that cannot be meant, saying what can."""
    _integer(estimator, "max_features", 2)
    _integer(estimator, "n_starts", 1)
    _integer(estimator, "subset_size", 1)
    _integer(estimator, "max_iter", 1)
    if estimator.degree != "auto":
        _integer(estimator, "degree", 0, ' or "auto"')
    local = hasattr(estimator, "n_neighbors")
    tails = TAILS if local else WITHOUT_NEIGHBORS
    if estimator.tail not in tails:
        raise ValueError(f"tail is {estimator.tail!r}: choose one of {', '.join(tails)}")
    if local:
        check_neighbors(estimator)
    if estimator.rank is not None and estimator.rank != "auto":
        _integer(estimator, "rank", 1, ', None for a diagonal, or "auto"')
    if estimator.kernel is not None and not isinstance(estimator.kernel, Kernel):
        raise ValueError(
            f"kernel is {estimator.kernel!r}: give one of vish.kernels, such as Matern(1.5)"
        )
    if not isinstance(estimator.likelihood, _LIKELIHOODS):
        raise ValueError(
            f"likelihood is {estimator.likelihood!r}: give one of vish.likelihoods, such as "
            "Gaussian()"
        )
    _check_relevance(estimator.relevance)
    if estimator.scaling is not None:
        _check_scaling(estimator.scaling, estimator.n_features_in_)


def _check_relevance(relevance: Any) -> None:
    """Its shape is checked where it is used."""
    if relevance is not None and not np.all(np.isfinite(np.asarray(relevance, dtype=float))):
        raise ValueError("relevance is not finite: give finite numbers, or None to learn them")


def _check_scaling(scaling: Any, n_inputs: int) -> None:
    remedy = f"give a pair (centre, scale) of {n_inputs} finite numbers each, or None"
    try:
        centre, scale = (np.asarray(part, dtype=float) for part in scaling)
    except (TypeError, ValueError):
        raise ValueError(f"scaling is {scaling!r}: {remedy}") from None
    for name, part in (("centre", centre), ("scale", scale)):
        if part.shape != (n_inputs,):
            raise ValueError(f"scaling has a {name} of shape {part.shape}: {remedy}")
        if not np.all(np.isfinite(part)):
            raise ValueError(f"scaling has a {name} that is not finite: {remedy}")


def kernel_of(estimator: Any) -> Kernel:
    return Matern(1.5) if estimator.kernel is None else estimator.kernel


def _integer(estimator: Any, name: str, least: int, alternative: str = "") -> None:
    value = getattr(estimator, name)
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}: give an integer of at least {least}{alternative}")
