"""The rows that are kept: each once, in an order of their own, at most so many.

Rows with the same numbers are one row with the sum of their weights. Each has a hash of its
numbers, by which rows are ordered, found again and bounded: those of a hash above `bound` are not
kept, and when rows become too many the bound falls to the hash of the last that fits. What is kept
then depends on the rows and the bound alone, not on the order in which rows came, on the machine
they came from, or on rows that were taken away again.
"""

from dataclasses import dataclass, replace

import numpy as np

NO_BOUND = 2**64 - 1
_NOTHING_LEFT = 1e-9  # of a weight, after rows were taken away


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows in the order of their hashes. Immutable; changes give new ones."""

    X: np.ndarray  # [n, D]
    y: np.ndarray  # [n, T]
    weights: np.ndarray  # [n]
    hashes: np.ndarray  # [n], ascending
    most: int
    bound: int = NO_BOUND

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        most: int,
        bound: int = NO_BOUND,
    ) -> "Rows":
        """Keep rows of positive weight whose hash is within the bound.  [n, D], [n, T], [n]"""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        hashes = content_hashes(X, y)
        taken = hashes <= np.uint64(bound)
        if weights is not None:
            taken &= weights > 0
        weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not taken.all():
            X, y, weights, hashes = X[taken], y[taken], weights[taken], hashes[taken]
        return cls(X, y, weights, hashes, most, bound)._joined()._bounded()

    @classmethod
    def none(cls, n_inputs: int, n_targets: int, most: int) -> "Rows":
        empty = np.empty(0)
        X, y = np.empty((0, n_inputs)), np.empty((0, n_targets))
        return cls(X, y, empty, empty.astype(np.uint64), most)

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def complete(self) -> bool:
        """Whether all rows that were seen are here."""
        return self.bound == NO_BOUND

    @property
    def n_bytes(self) -> int:
        return self.X.nbytes + self.y.nbytes + self.weights.nbytes

    def _take(self, rows: np.ndarray | slice) -> "Rows":
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            weights=self.weights[rows],
            hashes=self.hashes[rows],
        )

    def _joined(self) -> "Rows":
        """In order, equal rows as one."""
        if not len(self):
            return self
        ordered = self._take(np.argsort(self.hashes, kind="stable"))
        first = np.append(True, ordered.hashes[1:] != ordered.hashes[:-1])
        if first.all():
            return ordered
        starts = np.flatnonzero(first)
        weights = np.add.reduceat(ordered.weights, starts)
        return replace(ordered._take(starts), weights=weights)

    def _bounded(self) -> "Rows":
        if len(self) <= self.most:
            return self
        return replace(self._take(slice(self.most)), bound=int(self.hashes[self.most - 1]))

    def __add__(self, other: "Rows") -> "Rows":
        return Rows.joined([self, other])

    @classmethod
    def joined(cls, parts: "list[Rows]") -> "Rows":
        """Rows of all, within the smallest of the bounds."""
        bound = min(part.bound for part in parts)
        if bound < NO_BOUND:
            parts = [part._take(part.hashes <= np.uint64(bound)) for part in parts]
        X, y, weights, hashes = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("X", "y", "weights", "hashes")
        )
        most = min(part.most for part in parts)
        return cls(X, y, weights, hashes, most, bound)._joined()._bounded()

    def without(self, gone: "Rows") -> "Rows":
        """Take rows away, as if they had never been seen; a row that is not here is an error."""
        gone = gone._take(gone.hashes <= np.uint64(self.bound))
        at = np.searchsorted(self.hashes, gone.hashes)
        known = np.zeros(len(gone), dtype=bool)
        inside = at < len(self)
        known[inside] = self.hashes[at[inside]] == gone.hashes[inside]
        left = self.weights.copy()
        left[at[known]] -= gone.weights[known]
        small = _NOTHING_LEFT * self.weights
        known[known] = left[at[known]] >= -small[at[known]]
        if not known.all():
            missing = np.flatnonzero(~known)
            inputs = np.array2string(gone.X[missing[0]], precision=6, threshold=6)
            raise ValueError(
                f"{len(missing)} of the rows to forget {'was' if len(missing) == 1 else 'were'} "
                f"not seen (or not so often), such as {inputs} with target {gone.y[missing[0]]}: "
                "give rows as they were given to fit or partial_fit"
            )
        kept = left > small
        return replace(self._take(kept), weights=left[kept])


def content_hashes(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A 64-bit hash of the numbers of every row.  [n, D], [n, T] -> [n]"""
    hashes = np.full(len(X), 0x9E3779B97F4A7C15, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for table in (X, y):
            for column in table.T:
                bits = np.add(column, 0.0, dtype=np.float64).view(np.uint64)  # -0.0 becomes 0.0
                hashes = _mixed(hashes ^ _mixed(bits))
                hashes += np.uint64(0x9E3779B97F4A7C15)
    return _mixed(hashes)


def _mixed(z: np.ndarray) -> np.ndarray:
    """The finishing step of SplitMix64: every bit depends on all."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
