"""Dask: each partition becomes sums on its worker; only sums travel."""

import hashlib
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from vish.data.frames import FrameSource, choose_features, numeric
from vish.data.streams import checked_target, checked_weights
from vish.inference.passes import GROUP, GROUP_ROWS
from vish.inference.sources import ArraySource, Chunk
from vish.sphere.threads import thread_count

_PATIENCE = 30.0  # seconds without a scheduler before we give up
_AHEAD = 4  # partitions submitted at once for each thread of the workers


class DaskSource:
    """Rows of a Dask DataFrame or Array.

    Chunks are cut within partitions. Where every partition but the last has a multiple of
    `GROUP_ROWS` (65,536) rows, the sums have the same bits as those of rows in memory;
    otherwise they agree to rounding (1e-12 relative).
    """

    def __init__(self, collection, target, features=None, weight=None, client=None) -> None:
        self._client = client if client is not None else _default_client()
        if hasattr(collection, "columns"):
            partitions, lengths, layout = _of_frame(collection, target, features, weight)
        else:
            partitions, lengths, layout = _of_arrays(collection, target, weight)
        self._partitions, self._layout = partitions, layout
        self.feature_names = layout["features"]
        self.n_inputs, self.n_targets = layout["n_inputs"], layout["n_targets"]
        known = all(isinstance(n, int) for n in lengths)
        self._lengths = lengths if known else list(self._in_order(lengths))
        self.n_rows = sum(self._lengths)
        if self.n_rows == 0:
            raise ValueError("the Dask collection has no rows; give at least one")

    @property
    def fingerprint(self) -> list:
        """What tells these rows from others: columns, and the rows of each partition."""
        text = repr(self._lengths).encode()
        return [{k: str(v) for k, v in self._layout.items()}, hashlib.sha256(text).hexdigest()]

    def group_sums(
        self, function: Callable[[Chunk], Any], progress: Callable[[int], None], first: int
    ) -> Iterator[Any]:
        """Sums over groups of chunks, computed on the workers, in the order of the rows."""
        import dask

        work = dask.delayed(partition_sums, pure=False)
        shared, tasks, rows, start, group = self._share(function), [], [], 0, 0
        for number, (part, length) in enumerate(zip(self._partitions, self._lengths, strict=True)):
            groups = -(-length // GROUP_ROWS)
            if group + groups > first and length:
                skip = max(0, first - group)
                where = f"partition {number}"
                tasks.append(work(part, self._layout, shared, where, start, length, skip))
                rows.append(length - skip * GROUP_ROWS)
            start, group = start + length, group + groups
        for sums, n in zip(self._in_order(tasks), rows, strict=True):
            yield from sums
            progress(n)

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        """Rows brought here, partition by partition: for predictions and tests.

        Unlike those of other sources, chunks are cut within partitions.
        """
        import dask

        read = dask.delayed(partition_chunks, pure=False)
        tasks, start = [], 0
        for number, (part, length) in enumerate(zip(self._partitions, self._lengths, strict=True)):
            if start + length > first_row:
                where = f"partition {number}"
                tasks.append(read(part, self._layout, where, start, length))
            start += length
        for chunks in self._in_order(tasks, ahead=1):
            yield from (chunk for chunk in chunks if chunk.start >= first_row)

    # ---- talking to the cluster

    def _share(self, function: Any) -> Any:
        """A function (it may hold a posterior) that each worker gets once.

        It is the result of a task, not scattered: scattered data are lost with their worker.
        """
        if self._client is None:
            return function
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            with _cluster_errors(self._client):
                return self._client.submit(_same, function, pure=False)

    def _in_order(self, tasks: list, ahead: int = 0) -> Iterator[Any]:
        """Results of tasks, in order, with no more under way than keeps the workers busy."""
        import dask

        if self._client is None:
            step = ahead or _AHEAD * thread_count()
            for i in range(0, len(tasks), step):
                yield from dask.compute(*tasks[i : i + step])
            return
        pending: deque = deque()
        block = ahead
        while tasks or pending:
            if tasks and len(pending) <= block:
                with _cluster_errors(self._client):
                    block = ahead or _AHEAD * max(4, sum(self._client.nthreads().values()))
                    with dask.config.set({"optimization.fuse.delayed": True}):  # with its reading
                        pending.extend(self._client.compute(tasks[:block]))
                tasks = tasks[block:]
            yield self._result(pending.popleft())

    def _result(self, future: Any) -> Any:
        """The result of a task, or an error soon after the scheduler is gone."""
        lost, told = None, False
        with _cluster_errors(self._client):
            while True:
                try:
                    return future.result(timeout=2)
                except TimeoutError:
                    if self._client.status != "running":
                        lost = time.monotonic() if lost is None else lost
                        if time.monotonic() - lost > _PATIENCE:
                            raise _gone() from None
                        continue
                    lost = None
                    if not told and not self._client.nthreads():
                        told = True
                        warnings.warn(
                            "the Dask cluster has no workers: waiting; start some with "
                            f"`dask worker {self._client.scheduler.address}`",
                            UserWarning,
                            stacklevel=2,
                        )


def dask(collection, target, features=None, weight=None, client=None) -> DaskSource:
    """Rows of a Dask collection, on one machine or many.

    Each partition is reduced to sums on its worker; rows never travel. The sums have the same
    bits as those of the same rows in memory where every partition but the last has a multiple
    of 65,536 rows, whatever the number of workers; otherwise they agree to 1e-12.

    Parameters
    ----------
    collection : dask.dataframe.DataFrame or dask.array.Array
    target : str or list of str, or dask.array.Array
        Columns of the frame, or an array with as many rows.
    features : list of str, optional
        Input columns of a frame; all others by default.
    weight : str or dask.array.Array, optional
        Sample weights.
    client : distributed.Client, optional
        The current client by default; without one, Dask's own threads.

    Returns
    -------
    source
        For `fit_source`.

    Notes
    -----
    The rows of each partition are counted first; of a frame this reads one column. Partitions
    of a million rows or so are a good size.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from vish import VISHRegressor, data
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> rows, y = da.from_array(X, chunks=(250, 1)), da.from_array(np.sin(5 * X[:, 0]), chunks=250)
    >>> model = VISHRegressor(degree=6).fit_source(data.dask(rows, target=y))
    >>> model.n_rows_seen_
    1000
    """
    return DaskSource(collection, target, features, weight, client)


# ---- on a worker


def partition_sums(
    partition: Any,
    layout: dict,
    function: Callable[[Chunk], Any],
    where: str,
    start: int,
    length: int,
    skip: int,
) -> list:
    """Sums of function(chunk) over the groups of one partition, after the first `skip`."""
    sums: list = []
    rows = partition_rows(partition, layout, where, length)
    for number, chunk in enumerate(rows.chunks(skip * GROUP_ROWS)):
        part = function(chunk._replace(start=start + chunk.start))
        if number % GROUP == 0:
            sums.append(part)
        else:
            sums[-1] = sums[-1] + part
    return sums


def partition_chunks(
    partition: Any, layout: dict, where: str, start: int, length: int
) -> list[Chunk]:
    """All rows of one partition."""
    rows = partition_rows(partition, layout, where, length)
    return [chunk._replace(start=start + chunk.start) for chunk in rows.chunks()]


def partition_rows(
    partition: Any, layout: dict, where: str, length: int
) -> FrameSource | ArraySource:
    """One partition as a source of its own, checked."""
    rows: FrameSource | ArraySource
    if layout["features"] is None:
        X, y, weights = partition
        X, y = numeric(np.asarray(X), "X", where), np.asarray(y)
        X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
        y = checked_target(y[:, None] if y.ndim == 1 else y, where)
        weights = None if weights is None else np.asarray(weights)
        rows = ArraySource(X, y, checked_weights(weights, len(X), where))
    else:
        target, features, weight = (layout[name] for name in ("targets", "features", "weight"))
        rows = FrameSource(partition, target, features, weight, where)
    if rows.n_rows != length:
        raise ValueError(
            f"{where} has {rows.n_rows:,} rows, but had {length:,} before; a collection must give "
            "the same rows each time"
        )
    return rows


def _same(function: Any) -> Any:
    return function


def _joined(*parts: Any) -> tuple:
    return parts


# ---- partitions of a collection


def _of_frame(frame, target, features, weight) -> tuple[list, list, dict]:
    """Partitions and their lengths, to be computed; and which column is what."""
    import dask

    targets = [target] if isinstance(target, str) else list(target)
    features = choose_features(list(frame.columns), targets, features, weight, "the Dask frame")
    columns = [*features, *targets, *([weight] if weight else [])]
    layout = {
        "features": features,
        "targets": targets,
        "weight": weight,
        "n_inputs": len(features),
        "n_targets": len(targets),
    }
    length = dask.delayed(len, pure=False)
    lengths = [length(part) for part in frame[[targets[0]]].to_delayed()]
    return frame[columns].to_delayed(), lengths, layout


def _of_arrays(X, y, weights) -> tuple[list, list, dict]:
    import dask

    if not hasattr(y, "to_delayed") or X.ndim != 2:
        raise ValueError(
            "for a Dask array [n, D], give the target as a Dask array with as many rows"
        )
    X = X.rechunk({1: -1})
    columns, known = [X], not np.isnan(X.chunks[0]).any()
    for other in (y, weights):
        if other is None:
            continue
        if known and other.shape[0] != X.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]:,} rows and target or weight {other.shape[0]:,}: give as many"
            )
        other = other.rechunk({1: -1}) if other.ndim == 2 else other
        columns.append(other.rechunk({0: X.chunks[0]}) if known else other)
    parts = [block.to_delayed().ravel() for block in columns]
    if weights is None:
        parts.append([None] * len(parts[0]))
    join, length = dask.delayed(_joined, pure=False), dask.delayed(len, pure=False)
    layout = {
        "features": None,
        "n_inputs": X.shape[1],
        "n_targets": 1 if y.ndim == 1 else y.shape[1],
    }
    lengths = list(X.chunks[0]) if known else [length(part) for part in parts[0]]
    return [join(*row) for row in zip(*parts, strict=True)], lengths, layout


def _default_client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


# ---- errors


@contextmanager
def _cluster_errors(client: Any) -> Iterator[None]:
    """What Dask raises when the cluster fails, as errors that say what to do."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            f"workers died again and again ({str(error).splitlines()[0]}): give them more memory, "
            "or smaller partitions (frame.repartition, array.rechunk)"
        ) from error
    except (CancelledError, OSError, RuntimeError) as error:
        running = client.status == "running"
        if running and isinstance(error, CancelledError):
            raise RuntimeError(
                "rows were lost with a worker and cannot be computed again (they were persisted or "
                "scattered); make the collection from files, or persist it again"
            ) from error
        if running and not isinstance(error, CommClosedError):
            raise  # from the work itself
        raise _gone() from error


def _gone() -> RuntimeError:
    return RuntimeError(
        "the Dask scheduler cannot be reached any more: start it again, and fit again with the "
        "same checkpoint to continue"
    )
