"""Where rows come from: the protocol of a row source, and rows held in memory.

A source yields its rows as fixed chunks, cut by global row number alone: rows 0..8191, then
8192..16383, and so on. Sums over chunks in their order then have the same bits whatever the
source and the number of threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from vish.sphere.threads import CHUNK_ROWS, row_chunks


class Chunk(NamedTuple):
    """Rows start, start + 1, ... of a source."""

    start: int
    X: np.ndarray  # [n, D]
    y: np.ndarray  # [n, T]
    weights: np.ndarray | None  # [n], or None for all 1


class RowSource(Protocol):
    """Anything that yields the same chunks of rows each time it is asked."""

    @property
    def n_inputs(self) -> int: ...

    @property
    def n_targets(self) -> int: ...

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Names of the inputs; None where they have none."""
        ...

    @property
    def n_rows(self) -> int | None:
        """None when unknown before reading."""
        ...

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        """All rows from a multiple of `CHUNK_ROWS` on, in order, cut at such multiples."""
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows in memory (or in a memory map), read in place."""

    X: np.ndarray  # [N, D]
    y: np.ndarray  # [N, T]
    weights: np.ndarray | None = None  # [N]
    feature_names: Sequence[str] | None = None  # [D]

    @property
    def n_inputs(self) -> int:
        return self.X.shape[1]

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def n_targets(self) -> int:
        return self.y.shape[1]

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        for rows in row_chunks(self.n_rows)[first_row // CHUNK_ROWS :]:
            weights = None if self.weights is None else self.weights[rows]
            yield Chunk(rows.start, self.X[rows], self.y[rows], weights)


def in_memory(source: RowSource, most: int) -> ArraySource | None:
    """The rows of a source as arrays; None if there are none, or more than `most`."""
    if source.n_rows is not None and source.n_rows > most:
        return None
    chunks: list[Chunk] = []
    for chunk in source.chunks():
        if chunk.start + len(chunk.X) > most:
            return None
        chunks.append(chunk)
    if not chunks:
        return None
    X, y = (np.concatenate([chunk[i] for chunk in chunks]) for i in (1, 2))
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return ArraySource(X, y, np.concatenate(weights) if weights else None, source.feature_names)
