"""The state of an estimator: kept if a call fails, and copied."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from sklearn.base import BaseEstimator, clone

Fitted = TypeVar("Fitted", bound=BaseEstimator)


@contextmanager
def rolled_back(estimator: BaseEstimator) -> Iterator[None]:
    """Give an estimator its attributes back if the work within fails, by Ctrl-C too."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def fitted_copy(estimator: Fitted) -> Fitted:
    """A copy of an estimator that shares what was fitted, which never changes."""
    copy = clone(estimator)
    for name, value in vars(estimator).items():
        if name.endswith("_") or name.startswith("_"):
            setattr(copy, name, value)
    return copy
