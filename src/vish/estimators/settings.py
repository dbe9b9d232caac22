"""The parameters of an estimator: checked at the door, then one typed record for a fit."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vish.estimators.local import TAILS, WITHOUT_NEIGHBORS, check_neighbors
from vish.kernels import Kernel, Matern
from vish.likelihoods import Gaussian, Likelihood, Warped

_LIKELIHOODS = (Gaussian, Warped, Likelihood, type(None))


@dataclass(frozen=True, eq=False)
class FitSettings:
    """What a fit is asked to do: parameters that were checked, with defaults filled in.

    Parameters
    ----------
    kernel : Kernel
    likelihood : Gaussian, Warped or Likelihood
    degree : int or None
        None where it is to be chosen.
    max_features : int
    truncated : bool
        Whether the kernel is its first degrees.
    rank : int, None or "auto"
    relevance : array or None
        As given; None where it is to be learned, or to be the same for all inputs.
    scaling : pair of arrays or None
    optimize : bool
    n_starts, subset_size : int
    refine : bool
    max_iter : int
    n_jobs : int or None
    seed : int
        Of hashes and starts; 0 without a random state, so that fits repeat.
    feature_names : array or None
        For what is said of columns.
    """

    kernel: Kernel
    likelihood: Any
    degree: int | None
    max_features: int
    truncated: bool
    rank: int | str | None
    relevance: np.ndarray | None
    scaling: tuple[np.ndarray, np.ndarray] | None
    optimize: bool
    n_starts: int
    subset_size: int
    refine: bool
    max_iter: int
    n_jobs: int | None
    seed: int
    feature_names: np.ndarray | None = None

    @classmethod
    def of(cls, estimator: Any, likelihood: Any = None) -> "FitSettings":
        """From parameters that `check_parameters` accepts; draws the seed.

        `likelihood` is the estimator's own by default, or else Gaussian.
        """
        given = estimator.likelihood if likelihood is None else likelihood
        rank, relevance, scaling = estimator.rank, estimator.relevance, estimator.scaling
        if scaling is not None:
            centre, scale = (np.asarray(part, dtype=float) for part in scaling)
            scaling = centre, scale
        return cls(
            kernel=Matern(1.5) if estimator.kernel is None else estimator.kernel,
            likelihood=Gaussian() if given is None else given,
            degree=None if estimator.degree == "auto" else int(estimator.degree),
            max_features=int(estimator.max_features),
            truncated=estimator.tail != "variational",
            rank=int(rank) if isinstance(rank, numbers.Integral) else rank,
            relevance=None if relevance is None else np.asarray(relevance, dtype=float),
            scaling=scaling,
            optimize=bool(estimator.optimize),
            n_starts=int(estimator.n_starts),
            subset_size=int(estimator.subset_size),
            refine=bool(estimator.refine),
            max_iter=int(estimator.max_iter),
            n_jobs=estimator.n_jobs,
            seed=_seed(estimator.random_state),
            feature_names=getattr(estimator, "feature_names_in_", None),
        )

    @property
    def learns_relevance(self) -> bool:
        return self.relevance is None and self.optimize


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that cannot be meant, saying what can."""
    _integer(estimator, "max_features", 2)
    _integer(estimator, "n_starts", 1)
    _integer(estimator, "subset_size", 1)
    _integer(estimator, "max_iter", 1)
    if estimator.n_jobs is not None and not _is_integer(estimator.n_jobs):
        raise ValueError(f"n_jobs is {estimator.n_jobs!r}: give an integer, or None for all cores")
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


def _integer(estimator: Any, name: str, least: int, alternative: str = "") -> None:
    value = getattr(estimator, name)
    if not _is_integer(value) or value < least:
        raise ValueError(f"{name} is {value!r}: give an integer of at least {least}{alternative}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
