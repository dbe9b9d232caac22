"""Dask: each partition becomes sums on its worker; only sums travel."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vish.data.frames import choose_features, numeric
from vish.inference.passes import GROUP, GROUP_ROWS
from vish.inference.sources import Chunk
from vish.sphere.threads import CHUNK_ROWS

_PATIENCE = 30.0  # seconds without a scheduler before we give up


class DaskSource:
    """Rows of a Dask DataFrame or Array.

    Chunks are cut within partitions. Where every partition but the last has a multiple of
    `GROUP_ROWS` (65,536) rows, the sums have the same bits as those of rows in memory;
    otherwise they agree to rounding.
    """

    def __init__(self, collection, target, features=None, weight=None, client=None) -> None:
        import dask

        self._client = client if client is not None else _default_client()
        if hasattr(collection, "dask") and hasattr(collection, "columns"):
            partitions, layout = _of_frame(collection, target, features, weight)
        else:
            partitions, layout = _of_arrays(collection, target, weight)
        self._partitions, self._layout = partitions, layout
        self.feature_names = layout["features"]
        lengths = [dask.delayed(_length)(part) for part in partitions]
        self._lengths = [int(n) for n in self._compute(lengths)]
        self.n_rows = sum(self._lengths)
        if self.n_rows == 0:
            raise ValueError("the Dask collection has no rows; give at least one")
        self.n_inputs, self.n_targets = layout["n_inputs"], layout["n_targets"]

    def _compute(self, tasks: list) -> list:
        import dask

        if self._client is None:
            return list(dask.compute(*tasks))
        return list(self._results(self._client.compute(tasks)))

    def _results(self, futures: list) -> Iterator[Any]:
        """Results in order, or an error soon after the scheduler is gone."""
        from concurrent.futures import CancelledError

        lost: float | None = None
        for future in futures:
            while True:
                try:
                    yield future.result(timeout=2)
                    break
                except TimeoutError:
                    if self._client.status == "running":
                        lost = None
                    elif lost is None:
                        lost = time.monotonic()
                    elif time.monotonic() - lost > _PATIENCE or self._client.status == "closed":
                        raise _gone() from None
                except (CancelledError, OSError) as error:
                    raise _gone() from error

    def group_sums(
        self, function: Callable[[Chunk], Any], progress: Callable[[int], None], first: int
    ) -> Iterator[Any]:
        """Sums over groups of chunks, computed on the workers, in the order of the rows."""
        import dask

        shared = function
        if self._client is not None:
            shared = self._client.scatter(function, broadcast=True, hash=False)
        tasks, rows, start, group = [], [], 0, 0
        for part, length in zip(self._partitions, self._lengths, strict=True):
            groups = -(-length // GROUP_ROWS)
            if group + groups > first and length:
                skip = max(0, first - group)
                tasks.append((part, start, skip))
                rows.append(length - min(length, skip * GROUP_ROWS))
            start, group = start + length, group + groups
        if self._client is None:
            work = dask.delayed(partition_sums)
            results = iter(
                dask.compute(*[work(p, self._layout, shared, s, k) for p, s, k in tasks])
            )
        else:
            parts = self._client.compute([part for part, _, _ in tasks])
            futures = [
                self._client.submit(partition_sums, part, self._layout, shared, s, k, pure=False)
                for part, (_, s, k) in zip(parts, tasks, strict=True)
            ]
            del parts
            results = self._results(futures)
        for sums, n in zip(results, rows, strict=True):
            yield from sums
            progress(n)

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        """Rows brought here, partition by partition: for small jobs and tests."""
        start = 0
        for part, length in zip(self._partitions, self._lengths, strict=True):
            if start + length > first_row:
                for chunk in partition_chunks(self._compute([part])[0], self._layout, start):
                    if chunk.start >= first_row:
                        yield chunk
            start += length


def dask(collection, target, features=None, weight=None, client=None) -> DaskSource:
    """Rows of a Dask collection.

    Parameters
    ----------
    collection : dask.dataframe.DataFrame or dask.array.Array
    target : str or list of str, or dask.array.Array
        Columns of the frame, or an array with the same chunks of rows.
    features : list of str, optional
        Input columns of a frame; all others by default.
    weight : str or dask.array.Array, optional
    client : distributed.Client, optional
        The current client by default; without one, Dask's own threads.

    Returns
    -------
    source
        For `fit_source`.
    """
    return DaskSource(collection, target, features, weight, client)


def partition_sums(
    partition: Any, layout: dict, function: Callable[[Chunk], Any], start: int, skip: int
) -> list:
    """On a worker: sums of function(chunk) over the groups of one partition."""
    sums: list = []
    for number, chunk in enumerate(partition_chunks(partition, layout, start)):
        if number < skip * GROUP:
            continue
        part = function(chunk)
        if number % GROUP == 0:
            sums.append(part)
        else:
            sums[-1] = sums[-1] + part
    return sums


def partition_chunks(partition: Any, layout: dict, start: int) -> Iterator[Chunk]:
    X, y, weights = _arrays(partition, layout)
    for place in range(0, len(X), CHUNK_ROWS):
        rows = slice(place, place + CHUNK_ROWS)
        yield Chunk(start + place, X[rows], y[rows], None if weights is None else weights[rows])


def _arrays(partition: Any, layout: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if layout["features"] is None:  # arrays
        X, y, weights = partition
        y = y[:, None] if y.ndim == 1 else y
    else:
        X = np.empty((layout["n_inputs"], len(partition)))
        for i, name in enumerate(layout["features"]):
            X[i] = numeric(partition[name].to_numpy(), name, "a partition")
        X = X.T
        y = np.column_stack([partition[name].to_numpy() for name in layout["targets"]])
        name = layout["weight"]
        weights = None if name is None else numeric(partition[name].to_numpy(), name, "a partition")
    X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
    y = y.astype(np.float64, copy=False) if y.dtype.kind in "fiub" else y
    bad = not np.isfinite(X).all() or (y.dtype.kind == "f" and not np.isfinite(y).all())
    if bad:
        raise ValueError("a partition holds NaN or infinity; remove or impute such rows")
    return X, y, weights


def _length(partition: Any) -> int:
    return len(partition[0]) if isinstance(partition, tuple) else len(partition)


def _of_frame(frame, target, features, weight):
    targets = [target] if isinstance(target, str) else list(target)
    features = choose_features(list(frame.columns), targets, features, weight, "the frame")
    columns = [*features, *targets, *([weight] if weight else [])]
    layout = {
        "features": features,
        "targets": targets,
        "weight": weight,
        "n_inputs": len(features),
        "n_targets": len(targets),
    }
    return frame[columns].to_delayed(), layout


def _of_arrays(X, y, weights):
    import dask

    if not hasattr(y, "to_delayed"):
        raise ValueError(
            "for a Dask array, give the target as a Dask array with the same chunks of rows"
        )
    blocks = [a.rechunk({1: -1}) if a.ndim == 2 else a for a in (X, y)]
    if blocks[0].chunks[0] != blocks[1].chunks[0]:
        blocks[1] = blocks[1].rechunk({0: blocks[0].chunks[0]})
    parts = [block.to_delayed().ravel() for block in blocks]
    if weights is None:
        rows = zip(*parts, [None] * len(parts[0]), strict=True)
    else:
        aligned = weights.rechunk({0: blocks[0].chunks[0]}).to_delayed().ravel()
        rows = zip(*parts, aligned, strict=True)
    layout = {
        "features": None,
        "n_inputs": X.shape[1],
        "n_targets": 1 if y.ndim == 1 else y.shape[1],
    }
    join = dask.delayed(lambda *parts: tuple(parts))
    return [join(*row) for row in rows], layout


def _default_client():
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _gone() -> RuntimeError:
    return RuntimeError(
        "the Dask scheduler cannot be reached any more: start it again, and fit again with the "
        "same checkpoint to continue"
    )
