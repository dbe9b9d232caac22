"""Classes of a row source: found in one reading, then replaced by their numbers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from vish.inference.passes import MappedSource
from vish.inference.sources import Chunk

_TOO_MANY = 1000


@dataclass(frozen=True)
class Classes:
    """The different values of a target and how often each comes, as a sum over chunks."""

    counts: dict

    @classmethod
    def of_chunk(cls, chunk: Chunk) -> "Classes":
        y = chunk.y[:, 0]
        check_classification_targets(y.astype(str) if y.dtype == object else y)
        found, counts = np.unique(y, return_counts=True)
        return cls(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def __add__(self, other: "Classes") -> "Classes":
        counts = dict(self.counts)
        for label, count in other.counts.items():
            counts[label] = counts.get(label, 0) + count
        if len(counts) > _TOO_MANY:
            raise ValueError(
                f"the target has more than {_TOO_MANY} different values: is it a number to be "
                "predicted by VISHRegressor?"
            )
        return Classes(counts)


def encoded_source(source: Any, classes: np.ndarray, weights: np.ndarray | None) -> MappedSource:
    """A source whose target is the number of its class, with the weights of the classes."""
    return MappedSource(source, partial(encode, classes=classes, class_weights=weights), 1)


def encode(chunk: Chunk, classes: np.ndarray, class_weights: np.ndarray | None) -> Chunk:
    place = np.searchsorted(classes, chunk.y[:, 0].astype(classes.dtype))
    weights = chunk.weights
    if class_weights is not None:
        weights = class_weights[place] * (1.0 if weights is None else weights)
    return chunk._replace(y=place[:, None].astype(float), weights=weights)
