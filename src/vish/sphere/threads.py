"""Fixed chunks of rows over a pool of threads.

A chunk is the unit of work and of summation. Chunks are cut by row number alone and their
results are taken in order, so that the number of threads changes no bit of a result.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

CHUNK_ROWS = 8192

Item = TypeVar("Item")
Result = TypeVar("Result")


def row_chunks(n_rows: int) -> list[slice]:
    """The fixed chunks that cover rows 0..n_rows-1."""
    return [slice(i, min(i + CHUNK_ROWS, n_rows)) for i in range(0, n_rows, CHUNK_ROWS)]


def thread_count(n_jobs: int | None = None) -> int:
    """Number of threads for scikit-learn's `n_jobs`; None is all cores we may use.

    The environment variable VISH_NUM_THREADS replaces "all cores".
    """
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: give a positive number of threads, or None for all cores")
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        cores = os.cpu_count() or 1
    cores = int(os.environ.get("VISH_NUM_THREADS", cores))
    return max(1, cores if n_jobs is None else cores + 1 + n_jobs)


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> Iterator[Result]:
    """Results of function(item), in the order of the items.

    At most twice as many items as threads are under way, so the memory in use does not
    grow with their number, and Ctrl-C is heard between items. One item needs no threads.
    """
    threads = thread_count(n_jobs)
    items = iter(items)
    first = list(islice(items, 2))
    items = chain(first, items)
    if threads == 1 or len(first) < 2:
        yield from map(function, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
