"""What pictures ask of an estimator and of a table, whoever made them."""

import numpy as np
from scipy.special import ndtri

_CHUNK = 50_000  # rows asked at a time: with many quantiles the answers are long


def as_array(X) -> np.ndarray:
    """A table as numbers.  [n, D]"""
    array = np.asarray(X, dtype=np.float64)
    if array.ndim != 2 or not len(array):
        raise ValueError(f"X has shape {array.shape}: give a table with at least one row")
    return array


def one_target(values, target: int) -> np.ndarray:
    """[n] or [n, T] -> [n]"""
    values = np.asarray(values)
    return values if values.ndim == 1 else values[:, target]


def input_names(estimator, X=None, n_inputs: int | None = None) -> list[str]:
    """Names of the columns: those of the table, those of the fit, or x0, x1, ..."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    count = n_inputs if n_inputs is not None else np.shape(X)[1]
    return [f"x{i}" for i in range(count)]


def input_index(feature, names: list[str]) -> int:
    """Position of an input that is named or counted."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"there is no input {feature!r}: choose one of {', '.join(names)}")
        return names.index(feature)
    index = int(feature)
    if not -len(names) <= index < len(names):
        raise ValueError(f"feature is {feature}: give 0 to {len(names) - 1}")
    return index % len(names)


def like_fitted(estimator, array: np.ndarray):
    """Rows in the form the estimator was fitted with: a frame, if it knows column names."""
    if not hasattr(estimator, "feature_names_in_"):
        return array
    import pandas as pd

    return pd.DataFrame(array, columns=estimator.feature_names_in_)


def quantiles(estimator, X, levels, target: int = 0) -> np.ndarray:
    """Quantiles of new observations, Gaussian where only mean and std are known.  [n, Q]"""
    levels = np.asarray(levels, dtype=float)
    parts = []
    for start in range(0, len(X), _CHUNK):
        rows = X[start : start + _CHUNK]
        if hasattr(estimator, "predict_quantiles"):
            answer = np.asarray(estimator.predict_quantiles(rows, levels))
            parts.append(answer if answer.ndim == 2 else answer[:, target])
            continue
        try:
            mean, std = estimator.predict(rows, return_std=True)
        except TypeError as error:
            raise TypeError(
                f"{type(estimator).__name__} tells no uncertainty: bands need an estimator with "
                "predict_quantiles(X, quantiles) or predict(X, return_std=True)"
            ) from error
        mean, std = one_target(mean, target), one_target(std, target)
        parts.append(mean[:, None] + std[:, None] * ndtri(levels))
    return np.concatenate(parts)


def take(X, rows: np.ndarray):
    """Some rows of a table, in the form it has."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def thinned(n_rows: int, most: int) -> np.ndarray:
    """Numbers of at most so many rows, the same ones every time."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
