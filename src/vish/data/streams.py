"""Rows that come in batches of any size, cut anew into the fixed chunks of the library."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vish.inference.sources import ArraySource, Chunk
from vish.sphere.threads import CHUNK_ROWS

Batch = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def rechunk(batches: Iterable[Batch], first_row: int = 0) -> Iterator[Chunk]:
    """Chunks cut at multiples of `CHUNK_ROWS`, whatever the sizes of the batches.

    `first_row` is the global number of the first row of the first batch, a multiple of
    `CHUNK_ROWS`.
    """
    waiting: list[Batch] = []
    rows, start = 0, first_row
    for batch in batches:
        waiting.append(batch)
        rows += len(batch[0])
        if rows < CHUNK_ROWS:
            continue
        X, y, weights = _join(waiting)
        for place in range(0, rows - rows % CHUNK_ROWS, CHUNK_ROWS):
            part = slice(place, place + CHUNK_ROWS)
            yield Chunk(start, X[part], y[part], None if weights is None else weights[part])
            start += CHUNK_ROWS
        rest = slice(rows - rows % CHUNK_ROWS, rows)
        rows %= CHUNK_ROWS
        waiting = [(X[rest], y[rest], None if weights is None else weights[rest])] if rows else []
    if rows:
        yield Chunk(start, *_join(waiting))


def _join(parts: list[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    X, y, weights = zip(*parts, strict=True)
    return (
        np.concatenate(X),
        np.concatenate(y),
        None if weights[0] is None else np.concatenate(weights),
    )


class BatchSource:
    """Rows from a function that starts a fresh iteration over batches each time."""

    n_rows: int | None = None
    feature_names: Sequence[str] | None = None

    def __init__(self, factory: Callable[[], Iterable]) -> None:
        if not callable(factory):
            raise ValueError(
                f"the factory is a {type(factory).__name__}: give a function that returns an "
                "iterable of (X, y), afresh for each pass"
            )
        self._factory = factory
        self._rows_of_a_pass: int | None = None
        first = factory()
        if first is factory() and iter(first) is first:
            raise ValueError(
                "the factory returns the same iterator each time, which can be read only once: "
                "make a new one in each call"
            )
        begun = next(iter(first), None)
        if begun is None:
            raise ValueError("the factory gives no batches: it must return an iterable of (X, y)")
        X, y, _ = checked_batch(begun, "batch 0")
        self.n_inputs, self.n_targets = X.shape[1], y.shape[1]

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        for chunk in rechunk(self._batches()):
            if chunk.start >= first_row:
                yield chunk

    def _batches(self) -> Iterator[Batch]:
        rows = 0
        for number, given in enumerate(self._factory()):
            batch = checked_batch(given, f"batch {number}")
            shape = (batch[0].shape[1], batch[1].shape[1])
            if shape != (self.n_inputs, self.n_targets):
                raise ValueError(
                    f"batch {number} has {shape[0]} inputs and {shape[1]} targets, the first batch "
                    f"{self.n_inputs} and {self.n_targets}: give all batches the same columns"
                )
            rows += len(batch[0])
            if len(batch[0]):
                yield batch
        if self._rows_of_a_pass not in (None, rows):
            raise ValueError(
                f"the factory gave {self._rows_of_a_pass:,} rows in one pass and {rows:,} in "
                "another: it must give the same rows each time"
            )
        self._rows_of_a_pass = rows


def batches(factory: Callable[[], Iterable]) -> BatchSource:
    """Rows from anything that can be iterated over more than once.

    Parameters
    ----------
    factory : callable
        Without arguments; returns an iterable of batches (X, y) or (X, y, weights). It is
        called once for each pass, and must give the same rows each time.

    Returns
    -------
    source
        For `fit_source`.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor, data
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> def pieces():
    ...     for i in range(0, 1000, 100):
    ...         yield X[i : i + 100], np.sin(5 * X[i : i + 100, 0])
    >>> model = VISHRegressor(degree=6).fit_source(data.batches(pieces))
    >>> model.n_rows_seen_
    1000
    """
    return BatchSource(factory)


@dataclass(frozen=True, eq=False)
class CheckedArrays(ArraySource):
    """Arrays read in place, each chunk checked as it is read."""

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        for chunk in super().chunks(first_row):
            where = f"rows {chunk.start:,} to {chunk.start + len(chunk.X) - 1:,}"
            yield Chunk(chunk.start, *checked_batch(chunk[1:], where))


def arrays(X, y, weights=None) -> CheckedArrays:
    """Rows of arrays or memory maps, read in place, chunk by chunk.

    Parameters
    ----------
    X : array of shape (n, D), or path
        A path is that of a ``.npy`` file, which is mapped into memory, not loaded.
    y : array of shape (n,) or (n, n_targets), or path
    weights : array of shape (n,), or path, optional

    Returns
    -------
    source
        For `fit_source`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from vish import VISHRegressor, data
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", X)
    ...     source = data.arrays(f"{folder}/X.npy", np.sin(5 * X[:, 0]))
    ...     model = VISHRegressor(degree=6).fit_source(source)
    >>> model.n_rows_seen_
    1000
    """
    X, y, weights = (
        np.load(part, mmap_mode="r") if isinstance(part, str | os.PathLike) else part
        for part in (X, y, weights)
    )
    X, y = np.asanyarray(X), np.asanyarray(y)
    y = y[:, None] if y.ndim == 1 else y
    checked_batch((X[:1], y[:1], None), "the arrays")
    lengths = [len(part) for part in (X, y, weights) if part is not None]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"the arrays have {', '.join(f'{n:,}' for n in lengths)} rows: give as many to each"
        )
    return CheckedArrays(X, y, None if weights is None else np.asanyarray(weights))


def checked_batch(batch, where: str) -> Batch:
    """A batch as float arrays [n, D], [n, T], [n], or an error that says where and what."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise ValueError(
            f"{where}: a {type(batch).__name__} is no batch; give (X, y) or (X, y, weights)"
        )
    X, y = np.asarray(batch[0]), np.asarray(batch[1])
    weights = np.asarray(batch[2]) if len(batch) == 3 and batch[2] is not None else None
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{where}: X holds {X.dtype}, not numbers; convert its columns")
    X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
    if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
        raise ValueError(
            f"{where}: X has shape {X.shape} and y {y.shape}: give a row of X for each y"
        )
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(
            f"{where}: X holds NaN or infinity, first in row {row}, column {column}; remove or "
            "impute such rows"
        )
    return (
        X,
        checked_target(y[:, None] if y.ndim == 1 else y, where),
        checked_weights(weights, len(X), where),
    )


def checked_target(y: np.ndarray, where: str) -> np.ndarray:
    """Targets [n, T] as finite float64, or classes as they are, none missing."""
    if y.dtype.kind in "fiub":
        y = y.astype(np.float64, copy=False)
        bad = ~np.isfinite(y)
    elif y.dtype.kind == "O":
        bad = np.array([_missing(value) for value in y.ravel()], dtype=bool).reshape(y.shape)
    else:
        return y
    if bad.any():
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        raise ValueError(f"{where}: y is missing or infinite in row {row}; remove such rows")
    return y


def _missing(value: object) -> bool:
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # of pandas


def checked_weights(weights: np.ndarray | None, n: int, where: str) -> np.ndarray | None:
    """Weights [n], finite and at least 0."""
    if weights is None:
        return None
    good = weights.shape == (n,) and weights.dtype.kind in "fiub"
    if not good or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"{where}: weights must be one finite number of at least 0 for each row; correct "
            "them, or leave the row out"
        )
    return weights.astype(np.float64, copy=False)
