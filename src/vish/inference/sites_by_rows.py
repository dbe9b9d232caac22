r"""The same q by the kernel matrix of the rows: cheaper where they are fewer than harmonics.

With the prior covariance K of f at the rows (`vish.inference.row_kernel`), sites of precision
h and first natural parameter b, and W = sqrt(omega h), everything follows from B = I + W K W:

.. math:: S = W B^{-1} W, \quad \alpha = (I - S K)\, b, \quad m = K \alpha, \quad
          v = \operatorname{diag}(K - K S K), \quad
          2 KL = \operatorname{tr} B^{-1} - n + \log |B| + \alpha^\top K \alpha.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from vish.inference.evidence import Factor
from vish.inference.posterior import Moments
from vish.inference.row_kernel import RowKernel
from vish.inference.site_reading import (
    Pass,
    RowSites,
    first_sites,
    next_sites,
    sum_sites,
    whole_pass,
)
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource, Chunk
from vish.likelihoods import Likelihood


@dataclass(frozen=True, eq=False)
class PriorAtRows:
    """Rows, and the prior of f at them."""

    source: ArraySource
    weights: np.ndarray  # omega, [n]
    kernel: np.ndarray  # K of the kept degrees, [n, n]
    rest: np.ndarray  # variance beyond them, [n]

    @classmethod
    def of(cls, model: SiteModel, source: ArraySource, n_jobs: int | None) -> "PriorAtRows":
        rows = RowKernel(model.geometry, model.prior.log_spectrum, source.X, n_jobs)
        _, radii = rows.projected
        kernel = rows.on_sphere * (radii[:, None] * radii)
        weights = np.ones(len(radii)) if source.weights is None else source.weights
        return cls(source, np.asarray(weights, dtype=float), kernel, rows.tail * radii**2)


@dataclass(frozen=True, eq=False)
class SiteModelByRows:
    """A Gaussian q over f at some rows, given by a site for each. See `SiteModel`."""

    model: SiteModel  # what it stands for; its sites do not count
    prior: PriorAtRows
    sites: RowSites

    @classmethod
    def of(
        cls, model: SiteModel, source: ArraySource, n_jobs: int | None, fresh: bool
    ) -> "SiteModelByRows":
        """With the first sites, or those that follow from the posterior of the model."""
        y, offset = model.standardised(source.y[:, 0]), model.geometry.target_shift
        if fresh:
            sites = first_sites(model.likelihood, y, offset)
        else:
            moments = model.posterior.moments(source.X, n_jobs=n_jobs)
            sites, _ = next_sites(model.likelihood, y, offset, moments)
        return cls(model, PriorAtRows.of(model, source, n_jobs), sites)

    def by_sums(self) -> SiteModel:
        """The model with the sums of these sites."""
        source, geometry = self.prior.source, self.model.geometry
        chunk = Chunk(0, source.X, source.y, source.weights)
        sums = whole_pass(geometry, sum_sites(geometry, chunk, self.sites))
        return replace(self.model, sites=sums.sites)

    @property
    def likelihood(self) -> Likelihood:
        return self.model.likelihood

    @cached_property
    def _precisions(self) -> np.ndarray:
        """omega h.  [n, K]"""
        return self.prior.weights[:, None] * self.sites.precision

    @cached_property
    def _solved(self) -> tuple[list[Factor], np.ndarray]:
        """Factor of every latent function, and alpha.  -> [K], [n, K]"""
        kernel, factors, alphas = self.prior.kernel, [], []
        cross = self.prior.weights[:, None] * self.sites.natural
        for precision, b in zip(self._precisions.T, cross.T, strict=True):
            root = np.sqrt(precision)
            factors.append(Factor.of(kernel, root, 1.0))
            alphas.append(b - root * factors[-1].solve(root * (kernel @ b)))
        return factors, np.stack(alphas, axis=1)

    @cached_property
    def _moments(self) -> Moments:
        """Mean and variance of f at the rows, without what lies beyond the degree.

        Where a site says more than the prior, both follow from the site: with precision p,
        m = (b - alpha) / p and v = (1 - (B^{-1})_ii) / p keep the digits.
        """
        kernel, (factors, alphas) = self.prior.kernel, self._solved
        mean, diagonal = kernel @ alphas, kernel.diagonal()[:, None]
        explained = [np.square(kernel @ factor.root.T).sum(axis=1) for factor in factors]
        variance = np.maximum(diagonal - np.transpose(explained), 0.0)
        strong = self._precisions * diagonal > 1.0
        precisions = np.where(strong, self._precisions, 1.0)
        kept = np.transpose([factor.inverse_diagonal for factor in factors])
        cross = self.prior.weights[:, None] * self.sites.natural
        mean = np.where(strong, (cross - alphas) / precisions, mean)
        return Moments(mean, np.where(strong, (1.0 - kept) / precisions, variance))

    @cached_property
    def divergence(self) -> float:
        """KL(q || prior)."""
        factors, alphas = self._solved
        total = float(np.sum(alphas * self._moments.mean))
        for factor in factors:
            total += factor.inverse_diagonal.sum() - len(alphas) + factor.log_determinant
        return total / 2

    def centred(self) -> "SiteModelByRows":
        """The same covariances, the means less their mean; see `SiteModel.centred`.

        From alpha = b - omega h m, the new b are those of the new alpha and m.
        """
        if not self.likelihood.only_differences:
            return self
        factors, alphas = self._solved
        alphas = alphas - alphas.mean(axis=1, keepdims=True)
        weights = np.where(self.prior.weights > 0, self.prior.weights, 1.0)[:, None]
        natural = self.sites.precision * (self.prior.kernel @ alphas) + alphas / weights
        model = replace(self, sites=RowSites(self.sites.precision, natural))
        vars(model).update(_solved=(factors, alphas))  # factored once
        return model

    def read(
        self, source: ArraySource, n_jobs: int | None, progress: Callable[[int], None]
    ) -> Pass:
        """The next sites of all rows, and the expected log density."""
        y, offset = self.model.standardised(source.y[:, 0]), self.model.geometry.target_shift
        mean, variance = self._moments
        moments = Moments(mean, variance + self.prior.rest[:, None])
        sites, expected = next_sites(self.likelihood, y, offset, moments)
        progress(source.n_rows)
        omega = self.prior.weights
        return Pass(sites, float(omega @ expected), float(omega.sum()), source.n_rows)
