r"""The same q where rows and their harmonics fit in memory: several functions share what is dear.

The features :math:`\psi` of all rows are held. A reading of the rows at new means is then one
product, so that the means of all latent functions are found together (`vish.inference.means`) for
every factorisation. Where rows are not many for the harmonics, products of matrices also give the
Gram matrices and the variances, :math:`v = |R s \psi|^2`, for less than moments and polynomials.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from vish.inference.evidence import Factor
from vish.inference.means import Slope, best_means
from vish.inference.passes import DistributedSource, total
from vish.inference.posterior import Moments, Posterior
from vish.inference.site_reading import Pass, RowSites, Sites, sum_sites, whole_pass
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource, Chunk, RowSource, in_memory
from vish.likelihoods import Likelihood

_MOST_FEATURES = 20_000_000  # rows times harmonics, 160 MB
_MANY_ROWS = 4  # times the harmonics: with more, moments and polynomials are cheaper


def rows_at_hand(model: SiteModel, source: RowSource) -> ArraySource | None:
    """The rows, where features may be held and are worth it: the means of one function are not.

    A stream that is short enough is read into memory, for the same bits as from there; rows of a
    cluster stay where they are.
    """
    if not model.likelihood.only_differences or model.base is not None:
        return None
    most = _MOST_FEATURES // max(len(model.degrees), source.n_inputs)
    if isinstance(source, ArraySource):
        return source if 0 < source.n_rows <= most else None
    return None if isinstance(source, DistributedSource) else in_memory(source, most)


@dataclass(frozen=True, eq=False)
class SiteModelAtHand:
    """A Gaussian q over the weights, by a site for each row. See `SiteModel`."""

    model: SiteModel  # what it stands for; its sites do not count
    source: ArraySource
    features: np.ndarray  # psi, [n, M]
    rest: np.ndarray  # variance beyond the degree, [n]
    sites: RowSites
    n_jobs: int | None = None

    @classmethod
    def of(
        cls, model: SiteModel, source: ArraySource, n_jobs: int | None, fresh: bool
    ) -> "SiteModelAtHand":
        """With the first sites, or those that follow from the posterior of the model."""
        directions, radii = model.geometry.projection.project(source.X, n_jobs)
        basis = model.geometry.engine.basis
        features = radii[:, None] * basis.evaluate(directions, n_jobs)
        sites = model.sites_of_rows(source, n_jobs, fresh)
        return cls(model, source, features, model.prior.tail * radii**2, sites, n_jobs)

    def by_sums(self) -> SiteModel:
        """The model with the sums of these sites."""
        return replace(self.model, sites=self._sums)

    @cached_property
    def _sums(self) -> Sites:
        def of_chunk(chunk: Chunk) -> Pass:
            rows = slice(chunk.start, chunk.start + len(chunk.X))
            found = RowSites(self.sites.precision[rows], self.sites.natural[rows])
            return sum_sites(self.model.geometry, chunk, found)

        return whole_pass(self.model.geometry, total(self.source, of_chunk, self.n_jobs)).sites

    @property
    def likelihood(self) -> Likelihood:
        return self.model.likelihood

    @cached_property
    def _weights(self) -> np.ndarray:
        """omega.  [n]"""
        weights = self.source.weights
        return np.ones(self.source.n_rows) if weights is None else np.asarray(weights, float)

    @property
    def _few_rows(self) -> bool:
        return self.source.n_rows <= _MANY_ROWS * self.features.shape[1]

    @cached_property
    def _factors(self) -> list[Factor]:
        """Of every latent function."""
        model, scales = self.model, self.model.scales
        if not self._few_rows:
            grams = map(model.geometry.engine.gram, self._sums.moments)
            return [Factor.of(gram, scales, 1.0) for gram in grams]
        factors = []
        for precision in self.sites.precision.T:
            rows = np.sqrt(self._weights * precision)[:, None] * self.features
            factors.append(Factor.of(rows.T @ rows, scales, 1.0))
        return factors

    @cached_property
    def _whitened(self) -> np.ndarray:
        """The means z of the whitened weights.  [M, K]"""
        cross = self.features.T @ (self._weights[:, None] * self.sites.natural)
        return self._solved(self.model.scales[:, None] * cross)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        """B^{-1} of every function.  [M, K] -> [M, K]"""
        columns = zip(self._factors, right.T, strict=True)
        return np.stack([factor.solve(column) for factor, column in columns], axis=1)

    @cached_property
    def _variances(self) -> np.ndarray:
        """Of f at the rows.  [n, K]"""
        geometry, features = self.model.geometry, self.features
        if not self._few_rows:
            nothing, roots = np.zeros(self._whitened.shape), tuple(f.root for f in self._factors)
            posterior = Posterior(geometry, nothing, roots, self.model.prior.tail)
            return posterior.moments(self.source.X, n_jobs=self.n_jobs).variance
        right = (features * self.model.scales).T
        explained = [np.square(factor.halfway(right)).sum(axis=0) for factor in self._factors]
        return np.transpose(explained) + self.rest[:, None]

    @cached_property
    def divergence(self) -> float:
        """KL(q || prior); tr B^{-1} - M = -tr(G Sigma), a sum over the rows."""
        within = self._variances - self.rest[:, None]
        total = np.sum(self._whitened**2) - self._weights @ (self.sites.precision * within).sum(1)
        return float(total + sum(factor.log_determinant for factor in self._factors)) / 2

    def settled(self, tolerance: float) -> "SiteModelAtHand":
        """The same covariances, the best means.

        The sites take the gradient there as their own, so that their means are one step of a pass
        further: none, at the best.
        """
        features = self.features * self.model.scales  # whitened: the prior is that of z
        y, offset = self.model.standardised(self.source.y[:, 0]), self.model.geometry.target_shift
        omega = self._weights

        def slope(z: np.ndarray) -> Slope:
            value, g, _ = self.likelihood.expectations(y, features @ z + offset, self._variances)
            gradient = features.T @ (omega[:, None] * g) - z
            return Slope(float(omega @ value - np.sum(z**2) / 2), gradient, gradient)

        z = best_means(self._whitened, slope, lambda z: z, self._solved, tolerance)
        mean = features @ z
        _, g, _ = self.likelihood.expectations(y, mean + offset, self._variances)
        natural = self.sites.precision * mean + g
        model = replace(self, sites=RowSites(self.sites.precision, natural))
        vars(model).update(_factors=self._factors, _variances=self._variances)  # factored once
        return model

    def read(
        self, source: ArraySource, n_jobs: int | None, progress: Callable[[int], None]
    ) -> Pass:
        """The next sites of all rows, and the expected log density."""
        mean = self.features @ (self.model.scales[:, None] * self._whitened)
        progress(source.n_rows)
        return self.model.pass_at(source, Moments(mean, self._variances))
