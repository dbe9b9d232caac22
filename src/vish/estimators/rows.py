"""Rows and targets that were given to an estimator, checked, as a source."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from vish.estimators.labels import check_labels, weights_of_classes
from vish.inference.gaussian import GaussianModel
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource

FLOATS = (np.float64, np.float32)


def rows_of_numbers(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, reset: bool
) -> tuple[ArraySource, bool]:
    """Rows with targets, and whether the target is a single column."""
    X, y = validate_data(
        estimator, X, y, reset=reset, dtype=FLOATS, multi_output=True, y_numeric=True
    )
    y = np.asarray(y, dtype=np.float64)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not sample_weight.any():
            raise ValueError("all sample weights are 0: give at least one row a weight")
    return ArraySource(X, y if y.ndim == 2 else y[:, None], sample_weight), y.ndim == 1


def more_rows_of_numbers(
    estimator: BaseEstimator, model: GaussianModel | SiteModel, X: Any, y: Any, weights: Any = None
) -> ArraySource:
    """Rows with as many targets as the model that was fitted."""
    source, _ = rows_of_numbers(estimator, X, y, weights, reset=False)
    # A likelihood may have several latent functions, but speaks of one target.
    n_targets = model.geometry.n_targets if isinstance(model, GaussianModel) else 1
    if source.n_targets != n_targets:
        raise ValueError(f"y has {source.n_targets} targets, the model {n_targets}")
    return source


def labelled(estimator: BaseEstimator, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
    """Inputs and labels of classes."""
    check_labels(y)
    X, y = validate_data(estimator, X, y, dtype=FLOATS, reset=reset)
    check_classification_targets(y)
    return X, y


def rows_of_classes(
    X: np.ndarray, y: np.ndarray, classes: np.ndarray, sample_weight: Any, class_weight: Any
) -> ArraySource:
    """Rows whose target is the place of their label among the classes."""
    place = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
    unknown = classes[place] != y
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(
            f"y[{row}] is {y[row]!r}, not one of the classes {list(classes)}: give all classes "
            "to the first call of partial_fit"
        )
    weights = None
    if sample_weight is not None or class_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counts = np.bincount(place, minlength=len(classes))
        of_classes = weights_of_classes(class_weight, classes, counts)
        if of_classes is not None:
            weights = weights * of_classes[place]
        if not weights.any():
            raise ValueError("all weights are 0: give at least one row a weight")
    return ArraySource(X, place[:, None].astype(float), weights)


def require_two_classes(source: ArraySource) -> None:
    """Refuse rows of which those that weigh something are of one class."""
    weights = np.ones(source.n_rows) if source.weights is None else source.weights
    if len(np.unique(source.y[weights > 0])) < 2:
        raise ValueError(
            "rows with a positive weight hold less than two classes: a classifier needs at "
            "least two classes"
        )
