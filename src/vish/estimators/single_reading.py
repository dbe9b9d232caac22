"""A fit that reads its rows once: the subset and the sums come from the same pass.

Where scaling, relevance and degree are given, only the units of the target are missing before
the sums can begin. The first rows give provisional ones; the centring of the target is an
afterthought anyway (`NormalEquations.centred`), and its scale is a factor of b and of
sum omega y^2.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from vish.estimators.settings import FitSettings
from vish.inference.passes import DistributedSource, total
from vish.inference.sources import ArraySource, Chunk, RowSource
from vish.inference.statistics import Geometry, Statistics
from vish.inference.subset import Candidates, Subset, chosen, likely_bound


def can_read_once(settings: FitSettings) -> bool:
    """Whether nothing that the sums need has to be learned from the rows."""
    given = settings.scaling is not None and settings.relevance is not None
    plain = settings.likelihood.warp is None and settings.likelihood.noise != "auto"
    return given and plain and settings.degree is not None


@dataclass(frozen=True, eq=False)
class SubsetAndSums:
    """What one pass finds."""

    candidates: Candidates
    statistics: Statistics

    @classmethod
    def of_chunk(
        cls, size: int, seed: int, bound: int | None, geometry: Geometry, chunk: Chunk
    ) -> "SubsetAndSums":
        candidates = Candidates.of_chunk(size, seed, bound, chunk)
        return cls(candidates, Statistics.of_chunk(geometry, chunk))

    def __add__(self, other: "SubsetAndSums") -> "SubsetAndSums":
        return SubsetAndSums(self.candidates + other.candidates, self.statistics + other.statistics)


class Opened:
    """A source whose first chunks are here and whose others follow, once."""

    def __init__(self, source: RowSource, size: int) -> None:
        self.n_inputs, self.n_rows = source.n_inputs, source.n_rows
        self._chunks = source.chunks()
        self._first: list[Chunk] = []
        rows, self.complete = 0, False
        while rows <= size and not self.complete:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.complete = True
            else:
                self._first.append(chunk)
                rows += len(chunk.X)
        if not rows:
            raise ValueError("no rows: give at least one")

    @property
    def first_rows(self) -> ArraySource:
        X, y, weights = zip(*(chunk[1:] for chunk in self._first), strict=True)
        joined = None if weights[0] is None else np.concatenate(weights)
        return ArraySource(np.concatenate(X), np.concatenate(y), joined)

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        if first_row:
            raise ValueError("rows that are read once cannot be read from the middle")
        first, self._first = self._first, []
        return chain(first, self._chunks)


def read_once(
    source: RowSource,
    opened: Opened,
    geometry: Geometry,
    settings: FitSettings,
    progress: Callable[[int], None],
) -> tuple[Subset, Statistics]:
    """The subset and the sums of all rows, in the units of `geometry`."""
    size, seed = settings.subset_size, settings.seed
    bound = likely_bound(source.n_rows, size)
    rows: Any = source if isinstance(source, DistributedSource) else opened
    function = partial(SubsetAndSums.of_chunk, size, seed, bound, geometry)
    found = total(rows, function, settings.n_jobs, progress)
    assert found is not None
    candidates = found.candidates
    if candidates.too_few:  # many rows of weight 0: this once, the rows are read again
        again = partial(Candidates.of_chunk, size, seed, None)
        candidates = total(source, again, 1) or candidates
    return chosen(candidates, seed), found.statistics


def rescaled(statistics: Statistics, target_scale: np.ndarray) -> Statistics:
    """The same sums for targets in other units."""
    geometry = replace(statistics.geometry, target_scale=target_scale)
    factor = statistics.geometry.target_scale / target_scale
    return replace(
        statistics,
        geometry=geometry,
        cross=statistics.cross * factor,
        squares=statistics.squares * factor**2,
    )
