"""Passes over rows: a function of every chunk, summed in a fixed order.

Everything that reads rows is such a pass: the subset, the statistics, the sites, the gradient
of the relevance. Chunks are summed in groups, and groups in order, so that the bits of a sum
depend neither on threads nor on workers. A source that is spread over machines computes the
group sums where its rows are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from vish.inference.sources import Chunk, RowSource
from vish.sphere.threads import CHUNK_ROWS, map_in_order

GROUP = 8  # chunks that are summed among themselves before they join the total
GROUP_ROWS = GROUP * CHUNK_ROWS

Sum = TypeVar("Sum")


@runtime_checkable
class DistributedSource(Protocol):
    """A row source whose chunks live elsewhere."""

    def group_sums(
        self, function: Callable[[Chunk], Any], progress: Callable[[int], None], first: int
    ) -> Iterator[Any]:
        """Sums of function(chunk) over groups of chunks, from group `first` on, in order."""
        ...


def group_sums(
    source: RowSource,
    function: Callable[[Chunk], Sum],
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    first: int = 0,
) -> Iterator[Sum]:
    """Sums of function(chunk) over groups of `GROUP` chunks, in order.

    Parameters
    ----------
    function : callable
        Of a chunk; its results are added with `+`.
    progress : callable
        Told the number of rows of each chunk (or group) done.
    first : int
        The group to begin with.
    """
    tell = progress or (lambda n: None)
    if isinstance(source, DistributedSource):
        yield from source.group_sums(function, tell, first)
        return

    def counted(chunk: Chunk) -> tuple[Sum, int]:
        return function(chunk), len(chunk.X)

    chunks = source.chunks(first * GROUP_ROWS)
    group: Any = None
    for number, (part, rows) in enumerate(map_in_order(counted, chunks, n_jobs)):
        group = part if number % GROUP == 0 else group + part
        tell(rows)
        if number % GROUP == GROUP - 1:
            yield group
            group = None
    if group is not None:
        yield group


def total(
    source: RowSource,
    function: Callable[[Chunk], Sum],
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Sum | None:
    """The sum of function(chunk) over all rows; None without rows."""
    result: Any = None
    for group in group_sums(source, function, n_jobs, progress):
        result = group if result is None else result + group
    return result


@dataclass(frozen=True, eq=False)
class _After:
    """A function of chunks that were changed first."""

    function: Callable[[Chunk], Any]
    change: Callable[[Chunk], Chunk]

    def __call__(self, chunk: Chunk) -> Any:
        return self.function(self.change(chunk))


class MappedSource:
    """A source whose chunks are changed, where they are: other targets or weights."""

    def __init__(self, source: Any, change: Callable[[Chunk], Chunk], n_targets: int) -> None:
        self._source, self._change = source, change
        self.n_inputs, self.n_rows, self.n_targets = source.n_inputs, source.n_rows, n_targets
        self.feature_names = source.feature_names
        if isinstance(source, DistributedSource):
            self.group_sums = self._group_sums

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        return (self._change(chunk) for chunk in self._source.chunks(first_row))

    def _group_sums(self, function, progress, first):
        return self._source.group_sums(_After(function, self._change), progress, first)
