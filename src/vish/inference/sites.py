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
from typing import Any

import numpy as np

from vish.inference.evidence import Factor
from vish.inference.passes import total as total_of
from vish.inference.posterior import Moments, Posterior
from vish.inference.prior import Prior
from vish.inference.site_reading import Pass, SiteReader, Sites, whole_pass
from vish.inference.sources import RowSource
from vish.inference.statistics import Geometry
from vish.likelihoods import Likelihood


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
    def prior(self) -> Prior:
        return Prior.of(self.kernel, self.geometry, self.truncated)

    @property
    def shift(self) -> np.ndarray:
        """Constant part of the latent functions.  [K]"""
        return self.geometry.target_shift

    @cached_property
    def total(self) -> Sites:
        return self.sites if self.base is None else self.sites + self.base

    @cached_property
    def degrees(self) -> np.ndarray:
        return self.geometry.engine.basis.degrees

    @cached_property
    def scales(self) -> np.ndarray:
        return self.prior.scales(self.degrees)

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
        return Posterior(self.geometry, means, tuple(f.root for f in factors), self.prior.tail)

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
        b, grams = self.sites.cross, np.array(self.grams)
        means = self.scales[:, None] * whitened  # mu, [M, K]
        unscaled = b - np.einsum("kij,jk->ki", grams, means)
        cross = b - unscaled.mean(axis=0) - grams @ means.mean(axis=1)
        model = replace(self, sites=Sites(self.sites.moments, cross))
        centred = whitened - whitened.mean(axis=1, keepdims=True)
        vars(model).update(grams=self.grams, _solved=(factors, centred))  # factored once
        return model

    def latent(
        self, X: np.ndarray, with_variance: bool = True, n_jobs: int | None = None
    ) -> Moments:
        """Mean and variance of the latent functions.  [n, D] -> [n, K] twice

        Rows too far for squares are moved in along their direction: there the ratio of mean and
        standard deviation is all that a likelihood sees.
        """
        X = self.geometry.projection.moved_in(X)
        moments = self.posterior.moments(X, with_variance, n_jobs)
        return Moments(moments.mean + self.shift, moments.variance)

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
