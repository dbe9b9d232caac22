"""A call that fails, or is interrupted, leaves an estimator as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def rolled_back(estimator: Any) -> Iterator[None]:
    """Give an estimator its attributes back if the work within fails, by Ctrl-C too."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def take_inputs_of(estimator: Any, source: Any) -> None:
    """The number and names of the inputs of a row source; names of an earlier fit go."""
    estimator.n_features_in_ = source.n_inputs
    names = getattr(source, "feature_names", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
