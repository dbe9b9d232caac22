"""The sites of rows as a regression: weighted rows with other targets."""

from dataclasses import dataclass

import numpy as np

from vish.inference.posterior import Posterior
from vish.inference.site_reading import first_sites, next_sites
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource, Chunk
from vish.likelihoods import Likelihood

_LEAST_PRECISION = 1e-10  # of a pseudo-observation, so that its target can be written down


@dataclass(frozen=True, eq=False)
class PseudoRows:
    """The sites of rows as a weighted regression with noise 1: a change of chunks.

    Targets are those of the processes, without their constants. Several latent functions
    share the mean of their precisions, which is exact for one; their targets are scaled so that
    the noise is 1 for each of them.
    """

    likelihood: Likelihood
    offset: np.ndarray
    posterior: Posterior | None  # None: the first sites
    y_shift: float
    y_scale: float

    @classmethod
    def of(cls, model: SiteModel, first: bool = False) -> "PseudoRows":
        posterior = None if first else model.posterior
        offset = model.geometry.target_shift
        return cls(model.likelihood, offset, posterior, model.y_shift, model.y_scale)

    def __call__(self, chunk: Chunk) -> Chunk:
        y = (chunk.y[:, 0] - self.y_shift) / self.y_scale
        if self.posterior is None:
            found = first_sites(self.likelihood, y, self.offset)
        else:
            moments = self.posterior.moments_of_chunk(chunk.X)
            found, _ = next_sites(self.likelihood, y, self.offset, moments)
        kept = self.likelihood.guides
        h = np.maximum(found.precision[:, :kept], _LEAST_PRECISION)
        shared = h.mean(axis=1, keepdims=True)
        omega = 1.0 if chunk.weights is None else chunk.weights
        targets = found.natural[:, :kept] / np.sqrt(h * shared)
        return chunk._replace(y=targets, weights=omega * shared[:, 0])


def pseudo_rows(model: SiteModel, source: ArraySource, first: bool = False) -> ArraySource:
    """`PseudoRows` of rows in memory."""
    change = PseudoRows.of(model, first)
    chunks = [change(chunk) for chunk in source.chunks()]
    targets, weights = (np.concatenate([c[i] for c in chunks]) for i in (2, 3))
    return ArraySource(source.X, targets, weights)
