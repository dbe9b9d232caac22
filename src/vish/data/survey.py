"""The first reading of a table: counts, ranges, and a sample of the rows."""

from dataclasses import dataclass, field

import numpy as np

from vish.data.columns import Column, join
from vish.inference.subset import row_hashes


@dataclass
class Facts:
    """What was seen of one column in all rows."""

    gaps: int = 0
    low: float = np.inf
    high: float = -np.inf
    kinds: set[str] = field(default_factory=set)

    def add(self, column: Column) -> None:
        gaps = column.gaps
        self.gaps += int(gaps.sum())
        if gaps.all():
            return
        self.kinds.add(column.kind)
        if column.levels is None:
            self.low = min(self.low, float(np.nanmin(column.values)))
            self.high = max(self.high, float(np.nanmax(column.values)))


class Survey:
    """Counts and ranges of all rows that were added, and a sample, the same for any pieces.

    Parameters
    ----------
    size : int
        Rows of the sample, those with the smallest hash of their number; all, if fewer.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_rows = 0
        self.facts: dict[str, Facts] = {}
        self._limit = np.uint64(2**64 - 1)
        self._parts: list[tuple[np.ndarray, dict[str, Column]]] = []

    def add(self, columns: dict[str, Column]) -> None:
        """More rows, with the same columns as before."""
        n = len(next(iter(columns.values())))
        hashes = row_hashes(self.n_rows, n, seed=0)
        self.n_rows += n
        for name, column in columns.items():
            self.facts.setdefault(name, Facts()).add(column)
        rows = np.flatnonzero(hashes <= self._limit)
        taken = {name: column.take(rows) for name, column in columns.items()}
        self._parts.append((hashes[rows], taken))
        if sum(len(part) for part, _ in self._parts) > 2 * self.size:
            self._cut()

    def _cut(self) -> None:
        hashes = np.concatenate([part for part, _ in self._parts])
        if len(hashes) <= self.size:
            return
        self._limit = np.partition(hashes, self.size - 1)[self.size - 1]
        self._parts = [
            (
                part[part <= self._limit],
                {name: column.take(part <= self._limit) for name, column in columns.items()},
            )
            for part, columns in self._parts
        ]

    def sample(self) -> dict[str, Column]:
        """The sample, in the order of the rows."""
        self._cut()
        names = self._parts[0][1] if self._parts else {}
        return {name: join([columns[name] for _, columns in self._parts]) for name in names}
