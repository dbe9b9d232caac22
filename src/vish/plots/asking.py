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


def input_pair(features, names: list[str]) -> tuple[int, int]:
    """Positions of two different inputs."""
    if len(names) < 2:
        raise ValueError("a map needs at least two inputs, X has one")
    i, j = (input_index(feature, names) for feature in features)
    if i == j:
        raise ValueError(f"features are {features}: give two different inputs")
    return i, j


def held_fixed(values: np.ndarray, n_rows: int, at="median") -> tuple[np.ndarray, str]:
    """So many rows in which some inputs are still to be set, and in words what they hold."""
    if isinstance(at, str):
        if at != "median":
            raise ValueError(f'at is {at!r}: choose "median" or "rows", or give a row')
        row, words = np.median(values, axis=0), "other inputs at their medians"
    else:
        row, words = np.asarray(at, dtype=float), "other inputs held fixed"
    if row.shape != values.shape[1:]:
        raise ValueError(f"at has shape {row.shape}: give one number per input")
    return np.tile(row, (n_rows, 1)), words


def span(values: np.ndarray, n_grid: int, *, whole: bool = False) -> np.ndarray:
    """A grid along an input, without its rarest values unless the whole is wanted."""
    low, high = np.quantile(values, [0.0, 1.0] if whole else [0.005, 0.995])
    return np.linspace(low, high, n_grid)


def padded_span(values: np.ndarray, n_grid: int) -> np.ndarray:
    """A grid over all values, and a little beyond."""
    low, high = values.min(), values.max()
    margin = 0.06 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, n_grid)


def tenths(values: np.ndarray) -> np.ndarray:
    """Where nine marks show how the values lie."""
    return np.quantile(values, np.linspace(0.1, 0.9, 9))


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}: give a number between 0 and 1, such as 0.95")


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
