"""Classes of a row source: found in one reading, then replaced by their numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vish.inference.passes import DistributedSource
from vish.inference.sources import Chunk

_TOO_MANY = 1000


@dataclass(frozen=True)
class Classes:
    """The different values of a target, as a sum over chunks."""

    found: tuple

    @classmethod
    def of_chunk(cls, chunk: Chunk) -> "Classes":
        return cls(tuple(np.unique(chunk.y[:, 0]).tolist()))

    def __add__(self, other: "Classes") -> "Classes":
        found = tuple(sorted({*self.found, *other.found}))
        if len(found) > _TOO_MANY:
            raise ValueError(
                f"the target has more than {_TOO_MANY} different values: is it a number to be "
                "predicted by VISHRegressor?"
            )
        return Classes(found)


@dataclass(frozen=True, eq=False)
class Encoded:
    """A function of chunks whose classes have become numbers."""

    function: Callable[[Chunk], Any]
    classes: np.ndarray

    def __call__(self, chunk: Chunk) -> Any:
        return self.function(encode(chunk, self.classes))


def encode(chunk: Chunk, classes: np.ndarray) -> Chunk:
    place = np.searchsorted(classes, chunk.y[:, 0].astype(classes.dtype))
    return chunk._replace(y=place[:, None].astype(float))


class EncodedSource:
    """A source whose target is the number of its class."""

    n_targets = 1

    def __init__(self, source: Any, classes: np.ndarray) -> None:
        self._source, self._classes = source, classes
        self.n_inputs, self.n_rows = source.n_inputs, source.n_rows
        if isinstance(source, DistributedSource):
            self.group_sums = self._group_sums

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        return (encode(chunk, self._classes) for chunk in self._source.chunks(first_row))

    def _group_sums(self, function, progress, first):
        return self._source.group_sums(Encoded(function, self._classes), progress, first)
