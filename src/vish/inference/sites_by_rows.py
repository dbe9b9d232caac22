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
from vish.inference.means import Slope, best_means
from vish.inference.posterior import Moments
from vish.inference.row_kernel import RowKernel
from vish.inference.site_reading import Pass, RowSites, sum_sites, whole_pass
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
        sites = model.sites_of_rows(source, n_jobs, fresh)
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
    def _strong(self) -> np.ndarray:
        """Sites that say more than the prior.  [n, K] of bool

        There mean and variance follow from the site: with precision p, m = (b - alpha) / p and
        v = (1 - (B^{-1})_ii) / p keep the digits.
        """
        return self._precisions * self.prior.kernel.diagonal()[:, None] > 1.0

    @cached_property
    def _means(self) -> np.ndarray:
        """Of f at the rows.  [n, K]"""
        alphas = self._solved[1]
        cross = self.prior.weights[:, None] * self.sites.natural
        precisions = np.where(self._strong, self._precisions, 1.0)
        return np.where(self._strong, (cross - alphas) / precisions, self.prior.kernel @ alphas)

    @cached_property
    def _variances(self) -> np.ndarray:
        """Of f at the rows.  [n, K]"""
        kernel, factors = self.prior.kernel, self._solved[0]
        explained = [np.square(kernel @ factor.root.T).sum(axis=1) for factor in factors]
        variance = np.maximum(kernel.diagonal()[:, None] - np.transpose(explained), 0.0)
        kept = np.transpose([factor.inverse_diagonal for factor in factors])
        precisions = np.where(self._strong, self._precisions, 1.0)
        variance = np.where(self._strong, (1.0 - kept) / precisions, variance)
        return variance + self.prior.rest[:, None]

    @cached_property
    def divergence(self) -> float:
        """KL(q || prior)."""
        factors, alphas = self._solved
        total = float(np.sum(alphas * self._means))
        for factor in factors:
            total += factor.inverse_diagonal.sum() - len(alphas) + factor.log_determinant
        return total / 2

    def _with_alphas(self, alphas: np.ndarray) -> "SiteModelByRows":
        """The same covariances, other means; factored once.

        From alpha = b - omega h m, the new b are those of the new alpha and m.
        """
        weights = np.where(self.prior.weights > 0, self.prior.weights, 1.0)[:, None]
        natural = self.sites.precision * (self.prior.kernel @ alphas) + alphas / weights
        model = replace(self, sites=RowSites(self.sites.precision, natural))
        kept = {name: vars(self)[name] for name in ("_strong", "_variances") if name in vars(self)}
        vars(model).update(_solved=(self._solved[0], alphas), **kept)
        return model

    def settled(self, tolerance: float) -> "SiteModelByRows":
        """The same covariances, the best means; see `vish.inference.means`."""
        if not self.likelihood.only_differences:
            return self
        (factors, alphas), kernel, omega = self._solved, self.prior.kernel, self.prior.weights
        source, roots = self.prior.source, np.sqrt(self._precisions)
        y, offset = self.model.standardised(source.y[:, 0]), self.model.geometry.target_shift

        def slope(point: np.ndarray) -> Slope:
            mean = kernel @ point
            value, g, _ = self.likelihood.expectations(y, mean + offset, self._variances)
            gradient = omega[:, None] * g - point
            return Slope(
                float(omega @ value - np.sum(point * mean) / 2), gradient, kernel @ gradient
            )

        def curbed(gradient: np.ndarray) -> np.ndarray:
            """(I - S K) rho, function by function."""
            right = roots * (kernel @ gradient)
            solved = [factor.solve(b) for factor, b in zip(factors, right.T, strict=True)]
            return gradient - roots * np.transpose(solved)

        return self._with_alphas(
            best_means(alphas, slope, lambda point: kernel @ point, curbed, tolerance)
        )

    def read(
        self, source: ArraySource, n_jobs: int | None, progress: Callable[[int], None]
    ) -> Pass:
        """The next sites of all rows, and the expected log density."""
        progress(source.n_rows)
        return self.model.pass_at(source, Moments(self._means, self._variances))
