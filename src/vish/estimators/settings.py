"""The parameters of an estimator, checked once at the door."""

import numbers
from typing import Any

from vish.kernels import Kernel, Matern

_TAILS = ("truncated", "variational")


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that cannot be meant, saying what can."""
    _integer(estimator, "max_features", 2)
    _integer(estimator, "n_starts", 1)
    _integer(estimator, "subset_size", 1)
    _integer(estimator, "max_iter", 1)
    if estimator.degree != "auto":
        _integer(estimator, "degree", 0, ' or "auto"')
    if estimator.tail not in _TAILS:
        raise ValueError(f"tail is {estimator.tail!r}: choose one of {', '.join(_TAILS)}")
    if estimator.rank is not None and estimator.rank != "auto":
        _integer(estimator, "rank", 1, ', None for a diagonal, or "auto"')
    if estimator.kernel is not None and not isinstance(estimator.kernel, Kernel):
        raise ValueError(
            f"kernel is {estimator.kernel!r}: give one of vish.kernels, such as Matern(1.5)"
        )


def kernel_of(estimator: Any) -> Kernel:
    return Matern(1.5) if estimator.kernel is None else estimator.kernel


def _integer(estimator: Any, name: str, least: int, alternative: str = "") -> None:
    value = getattr(estimator, name)
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}: give an integer of at least {least}{alternative}")
