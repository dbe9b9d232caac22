"""One regression solved at one point, by the sums over its rows or by their kernel matrix.

Both routes give the same numbers. The first costs the cube of the number of harmonics, whatever
the number of rows; the second the cube of the number of rows, whatever that of harmonics.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vish.inference.evidence import Evidence, evidence
from vish.inference.posterior import Moments, Posterior
from vish.inference.relevance import relevance_gradient
from vish.inference.sources import ArraySource, RowSource
from vish.inference.statistics import Geometry, Statistics

_MOST_ROWS = 2000  # of a kernel matrix: it must not take much memory


class Solution(Protocol):
    """The evidence at a point, its gradients, and predictions."""

    @property
    def value(self) -> float: ...

    @property
    def d_log_spectrum(self) -> np.ndarray: ...  # [L+2]

    @property
    def d_log_noise(self) -> np.ndarray: ...  # [T]

    @property
    def geometry(self) -> Geometry: ...

    def relevance_gradient(self) -> np.ndarray: ...  # shape of the relevance

    def moments(self, X: np.ndarray, with_variance: bool = True) -> Moments: ...


@dataclass(frozen=True, eq=False)
class SolutionBySums:
    """The route of `Statistics`."""

    geometry: Geometry
    source: RowSource
    result: Evidence
    noise: np.ndarray
    tail: float
    n_jobs: int | None = None

    @classmethod
    def of(cls, statistics: Statistics, source, log_spectrum, noise, n_jobs) -> "SolutionBySums":
        result = evidence(statistics.normal_equations, log_spectrum, noise)
        tail = float(np.exp(log_spectrum[-1]))
        return cls(statistics.geometry, source, result, noise, tail, n_jobs)

    @property
    def value(self) -> float:
        return self.result.value

    @property
    def d_log_spectrum(self) -> np.ndarray:
        return self.result.d_log_spectrum

    @property
    def d_log_noise(self) -> np.ndarray:
        return self.result.d_log_noise

    def relevance_gradient(self) -> np.ndarray:
        return relevance_gradient(
            self.geometry, self.source, self.result, self.noise, self.tail,
            np.zeros(len(self.noise)), self.n_jobs,
        )  # fmt: skip

    def moments(self, X: np.ndarray, with_variance: bool = True) -> Moments:
        posterior = Posterior.of(self.geometry, self.result, self.tail)
        return posterior.moments(X, with_variance, self.n_jobs, noise=self.noise)


def has_few_rows(source: RowSource, n_harmonics: int) -> bool:
    """Whether the kernel matrix of the rows is the smaller one."""
    return isinstance(source, ArraySource) and 0 < source.n_rows <= min(n_harmonics, _MOST_ROWS)
