"""Sites: what a pass over the rows computes at a posterior, row by row and in sums.

At mean m and variance v of f, with g and h the derivatives of E log p(y | f) that a likelihood
tells, a row is a site of precision h and first natural parameter h m + g.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vish.inference.posterior import Moments, Posterior
from vish.inference.sources import Chunk
from vish.inference.statistics import Geometry
from vish.likelihoods import Likelihood


@dataclass(frozen=True, eq=False)
class Sites:
    """Sums of the sites of all rows: for each latent function, what stands for G and b."""

    moments: np.ndarray  # [K, engine.size]
    cross: np.ndarray  # b, [K, M], in the basis of harmonics

    @classmethod
    def zero(cls, geometry: Geometry, n_latents: int) -> "Sites":
        engine = geometry.engine
        return cls(np.zeros((n_latents, engine.size)), np.zeros((n_latents, engine.n_harmonics)))

    def __add__(self, other: "Sites") -> "Sites":
        return Sites(self.moments + other.moments, self.cross + other.cross)

    def __mul__(self, factor: float) -> "Sites":
        return Sites(factor * self.moments, factor * self.cross)

    def towards(self, other: "Sites", step: float) -> "Sites":
        """(1 - step) self + step other."""
        return Sites(
            self.moments + step * (other.moments - self.moments),
            self.cross + step * (other.cross - self.cross),
        )


@dataclass(frozen=True, eq=False)
class RowSites:
    """The site of every row, for each latent function."""

    precision: np.ndarray  # h, [n, K]
    natural: np.ndarray  # h m + g, [n, K]

    def __mul__(self, factor: float) -> "RowSites":
        return RowSites(factor * self.precision, factor * self.natural)

    def towards(self, other: "RowSites", step: float) -> "RowSites":
        """(1 - step) self + step other."""
        return RowSites(
            self.precision + step * (other.precision - self.precision),
            self.natural + step * (other.natural - self.natural),
        )


class Pass(NamedTuple):
    """What one reading of the rows gives at the current posterior."""

    sites: Any  # `Sites`, or those of single rows
    expected: float  # sum omega E log p
    weight: float
    n_rows: int

    def __add__(self, other: "Pass") -> "Pass":  # type: ignore[override]
        return Pass(
            self.sites + other.sites,
            self.expected + other.expected,
            self.weight + other.weight,
            self.n_rows + other.n_rows,
        )


def first_sites(likelihood: Likelihood, y: np.ndarray, offset: np.ndarray) -> RowSites:
    """The sites to start from, by the data alone."""
    h, target = likelihood.start(y, offset)
    return RowSites(h, h * (target - offset))


def next_sites(
    likelihood: Likelihood, y: np.ndarray, offset: np.ndarray, moments: Moments
) -> tuple[RowSites, np.ndarray]:
    """The sites at mean (without its constant) and variance of f, and E log p.  -> .., [n]"""
    mean, variance = moments
    value, g, h = likelihood.expectations(y, mean + offset, variance)
    h = np.maximum(h, 0.0)
    return RowSites(h, h * mean + g), value


def whole_pass(geometry: Geometry, result: Pass | None) -> Pass:
    """The sum of all chunks, with b in the basis of harmonics."""
    if result is None:
        raise ValueError("no rows: give at least one")
    cross = geometry.engine.cross(result.sites.cross.T).T
    return result._replace(sites=Sites(result.sites.moments, cross))


def sum_sites(
    geometry: Geometry, chunk: Chunk, found: RowSites, expected: np.ndarray | float = 0.0
) -> Pass:
    """The sums over the rows of a chunk; b not yet in the basis of harmonics."""
    points, radii = geometry.projection.project_chunk(chunk.X)
    omega = np.ones(len(radii)) if chunk.weights is None else chunk.weights
    moments, cross = [], []
    for h, natural in zip(found.precision.T, found.natural.T, strict=True):
        weights, targets = omega * h * radii**2, omega * natural * radii
        sums, b = geometry.engine.accumulate(points, weights, targets[None])
        moments.append(sums)
        cross.append(b[:, 0])
    sites = Sites(np.array(moments), np.array(cross))
    return Pass(sites, float(np.sum(omega * expected)), float(omega.sum()), len(radii))


@dataclass(frozen=True, eq=False)
class SiteReader:
    """What a pass computes of a chunk: the sites at a posterior, or (None) the first ones.

    It carries no more than a worker needs: the posterior, not the rows.
    """

    geometry: Geometry
    likelihood: Likelihood
    posterior: Posterior | None
    y_shift: float
    y_scale: float

    def __call__(self, chunk: Chunk) -> Pass:
        y, offset = (chunk.y[:, 0] - self.y_shift) / self.y_scale, self.geometry.target_shift
        if self.posterior is None:
            return sum_sites(self.geometry, chunk, first_sites(self.likelihood, y, offset))
        moments = self.posterior.moments_of_chunk(chunk.X)
        found, expected = next_sites(self.likelihood, y, offset, moments)
        return sum_sites(self.geometry, chunk, found, expected)
