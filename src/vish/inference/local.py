r"""The detail of a Gaussian model: what the rows nearest to a query say beyond the harmonics.

.. math:: y = f_L(x) + h(z) + \epsilon, \qquad z = W x_s

f_L is fitted as if h were noise; h is then conditioned on the residuals of the nearest rows. So
the rows are kept, at most a given number of them, and residuals are computed again whenever f_L
or the rows change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vish.inference.passes import group_sums
from vish.inference.posterior import Posterior
from vish.inference.sources import Chunk, RowSource
from vish.inference.statistics import Geometry
from vish.neighbors.learning import LEARNING_ROWS, LeftOut, learn, sure_gain
from vish.neighbors.process import Detail, LocalProcess
from vish.neighbors.rows import Rows

_FEWEST_ROWS = 20  # that tell of a detail
_MOST_LEVERAGE = 0.95
_MUCH_LEVERAGE = 0.01  # on average: then a row matters to f_L at its neighbours
# Nothing learned: half of what the harmonics leave is noise.
PLAIN_DETAIL = Detail(1.0, 1.5, 0.5, 1.0, np.inf)


@dataclass(frozen=True, eq=False)
class Local:
    """Rows that are kept, and how they speak. Immutable.

    Parameters
    ----------
    rows : Rows
        Inputs and targets as they were given.
    n_neighbors : int
    detail : Detail
    gain : float
        Log density per row that neighbours add at rows left out, less three standard errors.
    """

    rows: Rows
    n_neighbors: int
    detail: Detail = PLAIN_DETAIL
    gain: float = 0.0

    def __add__(self, other: "Local") -> "Local":
        return replace(self, rows=self.rows + other.rows)

    def without(self, other: "Local") -> "Local":
        return replace(self, rows=self.rows.without(other.rows))

    def of_source(self, source: RowSource, n_jobs: int | None = None) -> "Local":
        """The same with the rows of a source in place of its own, read once."""
        rows = self.rows
        none = Rows.none(rows.X.shape[1], rows.y.shape[1], rows.most)
        return replace(self, rows=collect(source, replace(none, bound=rows.bound), n_jobs))

    @property
    def first_rows(self) -> np.ndarray:
        """Inputs of those that are left out in learning: the rows of smallest hash."""
        return self.rows.X[:LEARNING_ROWS]

    def learned(
        self,
        process: LocalProcess,
        variance: np.ndarray,
        roots: Callable[[], Sequence[np.ndarray]],
        n_jobs: int | None = None,
    ) -> "Local":
        """The detail by leaving out the first rows, each for itself.

        `variance` [m, T] is that of the harmonics there, in units of the noise; `roots` are
        those of its covariance between all rows, asked for where a row has weight of its own.
        """
        m = len(variance)
        if len(process.sites.places) < _FEWEST_ROWS:
            return replace(self, detail=PLAIN_DETAIL, gain=0.0)
        # As if the harmonics had not seen the row: exact for a Gaussian model with this noise.
        leverage = np.minimum(variance * self.rows.weights[:m, None], _MOST_LEVERAGE)
        residuals = process.residuals[:m] / (1.0 - leverage)
        unseen = variance / (1.0 - leverage)
        seen = roots() if leverage.mean() > _MUCH_LEVERAGE else ()
        left_out = LeftOut.of(process, np.arange(m), residuals, unseen, n_jobs, seen)
        detail = learn(left_out, n_jobs)
        gains = left_out.log_densities(left_out.solve(detail, n_jobs), detail)
        gains -= left_out.without_detail()
        return replace(self, detail=detail, gain=sure_gain(gains))

    def emptied(self) -> "Local":
        rows = self.rows
        return replace(self, rows=Rows.none(rows.X.shape[1], rows.y.shape[1], rows.most))


@dataclass(frozen=True)
class _OfChunk:
    """The rows of a chunk that may be kept; travels to where the chunks are."""

    most: int
    bound: int

    def __call__(self, chunk: Chunk) -> Rows:
        return Rows.of(chunk.X, chunk.y, chunk.weights, self.most, self.bound)


def collect(source: RowSource, start: Rows, n_jobs: int | None = None, progress=None) -> Rows:
    """Add all rows of a source to those kept, as far as they are within the bound."""
    parts, count = [start], len(start)
    for group in group_sums(source, _OfChunk(start.most, start.bound), n_jobs, progress):
        parts.append(group)
        count += len(group)
        if count > 2 * start.most:
            parts = [Rows.joined(parts)]
            count = len(parts[0])
    return Rows.joined(parts)


def places_of(geometry: Geometry, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """z = W x_s.  [n, D] -> [n, p]"""
    directions, radii = geometry.projection.project(X, n_jobs)
    return directions[:, :-1] * radii[:, None]


def local_process(
    local: Local, posterior: Posterior, mean: np.ndarray, noise: np.ndarray, n_jobs=None
) -> LocalProcess:
    """The process of the rows kept, given the harmonics.  [T], [T]"""
    geometry, rows = posterior.geometry, local.rows
    fitted = posterior.moments(rows.X, False, n_jobs).mean + mean
    residuals = (geometry.standardise(rows.y).T - fitted) / np.sqrt(noise)
    places = places_of(geometry, rows.X, n_jobs)
    return LocalProcess(places, residuals, rows.weights, local.detail, local.n_neighbors)
