r"""Natural-gradient variational inference: passes over the rows, no learning rate.

For a likelihood that factorises over rows, the optimal Gaussian q has the form of a regression
on pseudo-data. At the marginals (m_n, v_n) of the current q, with g and h the derivatives of
:math:`E_q \log p(y_n \mid f_n)` (`vish.likelihoods`), each row is a site of precision h and
first natural parameter h m + g, and one step is

.. math:: G \leftarrow \sum h \psi \psi^\top, \qquad b \leftarrow \sum (h m + g) \psi,

the statistics of a Gaussian model with noise 1. A step is a convex combination of old and new
statistics, halved whenever the bound

.. math:: L(q) = \sum \omega_n E_q \log p(y_n \mid f_n) - KL(q \,\|\, p)

falls. Several latent functions have statistics of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from vish.inference.evidence import Factor
from vish.inference.objective import bounds_of_kernel, log_prior_of_kernel
from vish.inference.passes import total as total_of
from vish.inference.posterior import Moments, Posterior
from vish.inference.sources import ArraySource, Chunk, RowSource
from vish.inference.statistics import Geometry
from vish.likelihoods import Likelihood

_LEAST_PRECISION = 1e-10  # of a pseudo-observation, so that its target can be written down


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


@dataclass(frozen=True, eq=False)
class SiteModel:
    """A Gaussian q over the weights, given by sites. Immutable.

    The geometry's target_shift is the constant latent value; `base` are sites of rows seen
    before, held fixed; the likelihood speaks of (y - y_shift) / y_scale.
    """

    geometry: Geometry
    likelihood: Likelihood
    kernel: Any
    truncated: bool
    sites: Sites
    base: Sites | None = None
    y_shift: float = 0.0
    y_scale: float = 1.0

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Observations in the units of the likelihood."""
        return (y - self.y_shift) / self.y_scale

    @cached_property
    def log_spectrum(self) -> np.ndarray:
        return self.kernel.log_spectrum_and_gradient(
            self.geometry.projection.dimension, self.geometry.degree, truncated=self.truncated
        )[0]

    @property
    def n_harmonics(self) -> int:
        """Those with prior variance."""
        return self.kernel.n_harmonics(self.geometry.projection.dimension, self.geometry.degree)

    @property
    def tail(self) -> float:
        return float(np.exp(self.log_spectrum[-1]))

    @cached_property
    def total(self) -> Sites:
        return self.sites if self.base is None else self.sites + self.base

    @cached_property
    def degrees(self) -> np.ndarray:
        return self.geometry.engine.basis.degrees

    @cached_property
    def scales(self) -> np.ndarray:
        return np.sqrt(np.exp(self.log_spectrum[:-1]))[self.degrees]

    @cached_property
    def grams(self) -> list[np.ndarray]:
        """G of every latent function.  [M, M] each"""
        return [self.geometry.engine.gram(moments) for moments in self.total.moments]

    @cached_property
    def _solved(self) -> tuple[list[Factor], np.ndarray]:
        """Factor of every latent function, and the whitened means z.  -> [K], [M, K]"""
        factors, whitened = [], []
        for gram, cross in zip(self.grams, self.total.cross, strict=True):
            factor = Factor.of(gram, self.scales, 1.0)
            factors.append(factor)
            whitened.append(factor.solve(self.scales * cross))
        return factors, np.stack(whitened, axis=1)

    @cached_property
    def posterior(self) -> Posterior:
        factors, whitened = self._solved
        means = self.scales[:, None] * whitened
        return Posterior(self.geometry, means, tuple(f.root for f in factors), self.tail)

    @cached_property
    def divergence(self) -> float:
        """KL(q || prior), less the expectation of the fixed sites."""
        factors, whitened = self._solved
        M = len(self.degrees)
        total = 0.0
        for factor, z in zip(factors, whitened.T, strict=True):
            trace = factor.inverse_diagonal.sum()
            total += (trace + z @ z - M + factor.log_determinant) / 2
        if self.base is not None:
            total -= self._expected_base()
        return total

    @property
    def log_normaliser(self) -> float:
        """log of the integral of prior times sites, exp(b.v - v.G v / 2)."""
        factors, whitened = self._solved
        total = np.sum(self.scales[:, None] * self.total.cross.T * whitened)
        return float(total - sum(factor.log_determinant for factor in factors)) / 2

    def _expected_base(self) -> float:
        engine, posterior, total = self.geometry.engine, self.posterior, 0.0
        for k, covariance in enumerate(posterior.covariances):
            assert self.base is not None
            mu = posterior.means[:, k]
            gram = engine.gram(self.base.moments[k])
            total += self.base.cross[k] @ mu - (mu @ gram @ mu + np.sum(gram * covariance)) / 2
        return float(total)

    def centred(self) -> "SiteModel":
        """The same covariances, the means less their mean over the latent functions.

        Where only differences of the latent functions matter (`Softmax`), the likelihood stays
        the same and the prior gains. From z_k = B_k^{-1} s b_k, the new b_k are those of
        z_k - mean(z): (B_k / s) z = z / s + G_k s z, and z_k / s = b_k - G_k mu_k.
        """
        if not self.likelihood.only_differences or self.base is not None:
            return self
        factors, whitened = self._solved
        b, grams = self.sites.cross, self.grams
        means = self.scales[:, None] * whitened  # mu, [M, K]
        explained = np.array([gram @ mean for gram, mean in zip(grams, means.T, strict=True)])
        shared = np.array([gram @ means.mean(axis=1) for gram in grams])
        cross = b - (b - explained).mean(axis=0) - shared
        model = replace(self, sites=Sites(self.sites.moments, cross))
        centred = whitened - whitened.mean(axis=1, keepdims=True)
        vars(model).update(grams=self.grams, _solved=(factors, centred))  # factored once
        return model

    def settled(self, tolerance: float) -> "SiteModel":
        """The means as well placed as they can be without reading the rows again."""
        return self.centred()

    def latent(
        self, X: np.ndarray, with_variance: bool = True, n_jobs: int | None = None
    ) -> Moments:
        """Mean and variance of the latent functions.  [n, D] -> [n, K] twice

        Rows too far for squares are moved in along their direction: there the ratio of mean and
        standard deviation is all that a likelihood sees.
        """
        X = self.geometry.projection.moved_in(X)
        moments = self.posterior.moments(X, with_variance, n_jobs)
        return Moments(moments.mean + self.geometry.target_shift, moments.variance)

    def read(self, source: RowSource, n_jobs: int | None, progress: Callable[[int], None]) -> Pass:
        """One pass: the next sites of all rows, and the expected log density."""
        self.posterior.prepare()
        reader = SiteReader(
            self.geometry, self.likelihood, self.posterior, self.y_shift, self.y_scale
        )
        return whole_pass(self.geometry, total_of(source, reader, n_jobs, progress))

    def first_read(
        self, source: RowSource, n_jobs: int | None, progress: Callable[[int], None]
    ) -> Pass:
        """The sites to start from, by the data alone."""
        reader = SiteReader(self.geometry, self.likelihood, None, self.y_shift, self.y_scale)
        return whole_pass(self.geometry, total_of(source, reader, n_jobs, progress))


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


def relearned_kernel(model: SiteModel, max_iter: int) -> SiteModel:
    """Kernel parameters that maximise the evidence of the pseudo-data, the sites held fixed.

    At the fixed point of the sites its gradient is that of the bound itself.
    """
    geometry, grams = model.geometry, model.grams
    size = max(1.0, float(sum(abs(geometry.engine.total_weight(g)) for g in grams)))

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        kernel = model.kernel.with_log_parameters(theta)
        values, jacobian = kernel.log_spectrum_and_gradient(
            geometry.projection.dimension, geometry.degree, truncated=model.truncated
        )
        scales = np.sqrt(np.exp(values[:-1]))[model.degrees]
        value, slope = log_prior_of_kernel(kernel)
        by_level = np.zeros(len(values))
        for gram, b in zip(grams, model.total.cross, strict=True):
            factor = Factor.of(gram, scales, 1.0)
            z = factor.solve(scales * b)
            value += (scales * b) @ z / 2 - factor.log_determinant / 2
            terms = (z**2 + factor.inverse_diagonal - 1) / 2
            by_level[:-1] += np.bincount(model.degrees, terms, len(values) - 1)
            tail = np.exp(values[-1]) * model.geometry.engine.total_weight(gram) / 2
            value, by_level[-1] = value - tail, by_level[-1] - tail
        return -value / size, -(jacobian.T @ by_level + slope) / size

    bounds = bounds_of_kernel(model.kernel, latent=True)
    start = np.clip(model.kernel.log_parameters, *bounds.T)
    outcome = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": max_iter}
    )
    return replace(model, kernel=model.kernel.with_log_parameters(outcome.x))


def relearned_likelihood(model: SiteModel, source: ArraySource, max_iter: int) -> SiteModel:
    """Parameters of the likelihood that maximise the expected log density, q held fixed."""
    if not len(model.likelihood.parameters):
        return model
    y = model.standardised(source.y[:, 0])
    mean, variance = model.latent(source.X)
    omega = np.ones(len(y)) if source.weights is None else source.weights
    bounds = model.likelihood.bounds

    def objective(theta: np.ndarray) -> float:
        likelihood = model.likelihood.with_parameters(theta)
        return -float(omega @ likelihood.expectations(y, mean, variance).value) / omega.sum()

    start = np.clip(model.likelihood.parameters, *bounds.T)
    outcome = minimize(
        objective,
        start,
        jac="3-point",
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iter},
    )
    return replace(model, likelihood=model.likelihood.with_parameters(outcome.x))
