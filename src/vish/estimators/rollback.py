"""A call that fails, or is interrupted, leaves an estimator as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


@contextmanager
def rolled_back(estimator: BaseEstimator) -> Iterator[None]:
    """Give an estimator its attributes back if the work within fails, by Ctrl-C too."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise
