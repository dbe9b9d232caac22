"""The state of an estimator: given back if a call fails, copied, its inputs taken over."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from vish.inference.sources import RowSource

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


def take_inputs_of(estimator: BaseEstimator, source: RowSource) -> None:
    """The number and names of the inputs of a row source; names of an earlier fit go."""
    estimator.n_features_in_ = source.n_inputs
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
