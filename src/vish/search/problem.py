"""What a search is given: rows and their scaling; and what it looks for: hyperparameters."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.search.inputmap import Relevance
from vish.sphere.projection import Projection


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Everything that is learned but the weights of the harmonics."""

    relevance: Relevance
    kernel: Any
    noise: np.ndarray  # [T], in units of the standardised (and warped) targets
    warp: Any = None

    @property
    def dimension(self) -> int:
        return len(self.relevance.matrix) + 1

    def n_harmonics(self, degree: int) -> int:
        """Those with prior variance."""
        return self.kernel.n_harmonics(self.dimension, degree)

    def has_level(self, degree: int) -> bool:
        """Whether harmonics of this degree have any variance: some kernels leave degrees out."""
        return bool(self.kernel.has_levels(self.dimension, degree)[degree])

    def at_degree(self, degree: int) -> "Hyperparameters":
        """With a starting value for every parameter of the kernel."""
        return replace(self, kernel=self.kernel.start(self.dimension, degree))

    def mapped_by(self, relevance: Relevance) -> "Hyperparameters":
        """With another map; a lengthscale means something else in another dimension."""
        same = len(relevance.matrix) == len(self.relevance.matrix)
        kernel = self.kernel if same else self.kernel.without_lengthscale()
        return replace(self, relevance=relevance, kernel=kernel)


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays fixed while hyperparameters are learned."""

    source: ArraySource  # the rows, targets in their own units; to refine, any source
    centre: np.ndarray
    scale: np.ndarray
    target_shift: np.ndarray
    target_scale: np.ndarray
    noise_kind: str  # "constant" or "radial"
    truncated: bool
    live: np.ndarray  # [D] of bool: columns that are not constant
    n_jobs: int | None = None
    learn_noise: bool = True
    known_weight: float | None = None  # of the rows, where the source cannot tell

    @cached_property
    def weight(self) -> float:
        if self.known_weight is not None:
            return self.known_weight
        weights = self.source.weights
        return float(self.source.n_rows if weights is None else weights.sum())

    @cached_property
    def kept_degrees(self) -> "Problem":
        """The same rows for the kernel of the kept degrees alone."""
        return self if self.truncated else replace(self, truncated=True)

    def geometry(self, point: Hyperparameters, degree: int) -> Geometry:
        projection = Projection(self.centre, self.scale, point.relevance.matrix)
        targets = (self.noise_kind, self.target_shift, self.target_scale)
        odd = point.kernel.is_odd and degree % 2 == 1
        return Geometry(projection, degree, *targets, warp=point.warp, odd=odd)

    def statistics(self, point: Hyperparameters, degree: int) -> Statistics:
        return Statistics.of_source(self.geometry(point, degree), self.source, self.n_jobs)

    def some(self, rows: Any) -> "Problem":
        """Only the rows of a slice or an array of places (a subset is in random order)."""
        source = self.source
        weights = None if source.weights is None else source.weights[rows]
        return replace(self, source=ArraySource(source.X[rows], source.y[rows], weights))

    def first(self, n: int) -> "Problem":
        """The first n rows."""
        return self if n >= self.source.n_rows else self.some(slice(n))
