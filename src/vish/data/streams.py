"""Rows that come in batches of any size, cut anew into the fixed chunks of the library."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from vish.inference.sources import Chunk
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

    n_rows = None

    def __init__(self, factory: Callable[[], Iterable]) -> None:
        self._factory = factory
        first = next(iter(self._batches()), None)
        if first is None:
            raise ValueError("the factory gives no batches: it must return an iterable of (X, y)")
        self.n_inputs = first[0].shape[1]
        self.n_targets = first[1].shape[1]

    def _batches(self) -> Iterator[Batch]:
        for number, batch in enumerate(self._factory()):
            yield checked_batch(batch, f"batch {number}")

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        for chunk in rechunk(self._uniform()):
            if chunk.start >= first_row:
                yield chunk

    def _uniform(self) -> Iterator[Batch]:
        for number, batch in enumerate(self._batches()):
            shape = (batch[0].shape[1], batch[1].shape[1])
            if shape != (self.n_inputs, self.n_targets):
                raise ValueError(
                    f"batch {number} has {shape[0]} inputs and {shape[1]} targets, the first batch "
                    f"{self.n_inputs} and {self.n_targets}: give all batches the same columns"
                )
            if len(batch[0]):
                yield batch


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


def checked_batch(batch, where: str) -> Batch:
    """A batch as float arrays [n, D], [n, T], [n], or an error that says where and what."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise ValueError(f"{where}: expected (X, y) or (X, y, weights), got {type(batch).__name__}")
    X, y = np.asarray(batch[0]), np.asarray(batch[1])
    weights = (
        np.asarray(batch[2], dtype=float) if len(batch) == 3 and batch[2] is not None else None
    )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{where}: X holds {X.dtype}, not numbers; convert its columns")
    X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(
            f"{where}: X has shape {X.shape} and y {y.shape}: give a row of X for each y"
        )
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(
            f"{where}: X holds NaN or infinity, first in row {row}, column {column}; remove or "
            "impute such rows"
        )
    y = y[:, None] if y.ndim == 1 else y
    if y.dtype.kind in "fiub":
        y = y.astype(np.float64, copy=False)
        if not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y).all(axis=1))[0])
            raise ValueError(f"{where}: y is NaN or infinite in row {row}; remove such rows")
    if weights is not None and (weights.shape != (len(X),) or not (weights >= 0).all()):
        raise ValueError(f"{where}: weights must be one number of at least 0 for each row")
    return X, y, weights
