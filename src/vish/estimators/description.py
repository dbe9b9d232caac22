r"""A fitted model as it is: the map of the inputs, the prior, the weights, and the units of y.

What pictures, reports and the command know of a model, they know from here.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vish.estimators.observation import Observation
from vish.estimators.site_observation import SiteObservation
from vish.inference.gaussian import GaussianModel
from vish.inference.model import Model
from vish.inference.posterior import Posterior
from vish.inference.sites import SiteModel
from vish.sphere.harmonics import HarmonicBasis


class Levels(NamedTuple):
    """What each degree has of the prior and of the fit.  [L+1] each"""

    prior: np.ndarray  # variance, a_l times the number of harmonics
    energy: np.ndarray  # sum of the squared means of the weights
    determined: np.ndarray  # share of the weights that the rows determine; nan without variance


@dataclass(frozen=True, eq=False)
class Description:
    r"""A fitted model in numbers, as the `description_` of an estimator.

    With rows scaled, mapped and put on the sphere, :math:`(W (x - c) / s, 1) = r \xi`, the
    latent functions are

    .. math:: f_k(x) = \mathrm{shift}_k + r \sum_m v_{mk} \phi_m(\xi), \qquad
              v_k \sim N(\mu_k, R_k^\top R_k),

    with harmonics :math:`\phi_m`; for K targets or classes there are K of them.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = VISHRegressor(degree=3).fit(X, np.sin(X[:, 0]))
    >>> d = model.description_
    >>> f = d.shift + d.features(X) @ d.means
    >>> y = d.y_shift + d.y_scale * f
    >>> bool(np.allclose(y[:, 0], model.predict(X)))
    True
    """

    model: Model
    observation: Observation | SiteObservation

    @property
    def family(self) -> str:
        """Either "gaussian", whose models can be merged and can forget, or "sites"."""
        return "gaussian" if isinstance(self.model, GaussianModel) else "sites"

    # ---- the map of the inputs

    @property
    def centre(self) -> np.ndarray:
        """c.  [D]"""
        return self.model.geometry.projection.centre

    @property
    def scale(self) -> np.ndarray:
        """s.  [D]"""
        return self.model.geometry.projection.scale

    @property
    def linear_map(self) -> np.ndarray:
        """W.  [p, D]"""
        return self.model.geometry.projection.linear_map

    # ---- harmonics and their prior

    @property
    def basis(self) -> HarmonicBasis:
        """The harmonics."""
        return self.model.geometry.engine.basis

    @property
    def degrees(self) -> np.ndarray:
        """Of the harmonics.  [M]"""
        return self.basis.degrees

    @property
    def spectrum(self) -> np.ndarray:
        """Prior variance a_l of a weight, by degree.  [L+1]"""
        return self.model.prior.spectrum

    @property
    def tail(self) -> float:
        """Prior variance beyond the degree."""
        return self.model.prior.tail

    def features(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """r phi(xi).  [n, D] -> [n, M]"""
        return self.posterior.features(X, n_jobs)

    @property
    def keeps_rows(self) -> bool:
        """Whether the nearest rows tell what the harmonics leave."""
        return isinstance(self.model, GaussianModel) and self.model.local is not None

    @property
    def rows_kept(self) -> int:
        """Rows that the model holds for that; equal rows are one."""
        local = self.model.local if isinstance(self.model, GaussianModel) else None
        return 0 if local is None else len(local.rows)

    # ---- the weights

    @property
    def posterior(self) -> Posterior:
        """Of the weights: solved once, evaluated anywhere."""
        return self.model.posterior

    @property
    def means(self) -> np.ndarray:
        """mu.  [M, K]"""
        return self.posterior.means

    @property
    def roots(self) -> tuple[np.ndarray, ...]:
        """R of every latent function.  [M, M] each"""
        return self.posterior.roots

    @property
    def shift(self) -> np.ndarray:
        """Constant part of the latent functions.  [K]"""
        return self.model.shift

    def levels(self, function: int | None = None) -> Levels:
        """Shares of the degrees, of one latent function or of all together."""
        which = slice(None) if function is None else slice(function, function + 1)
        n_levels, means, roots = len(self.spectrum), self.means[:, which], self.roots[which]
        sizes = np.bincount(self.degrees, minlength=n_levels)
        prior = self.spectrum * sizes
        energy = np.bincount(self.degrees, np.sum(means**2, axis=1), n_levels)
        diagonal = np.mean([np.sum(root**2, axis=0) for root in roots], axis=0)  # of Sigma
        left = np.bincount(self.degrees, diagonal, n_levels) / np.where(prior > 0, prior, np.nan)
        return Levels(prior, energy, np.clip(1 - left, 0, 1))

    # ---- what is observed

    @property
    def likelihood(self) -> Any:
        """Of the sites; None for the Gaussian family, which has `noise` and `warp`."""
        return self.model.likelihood if isinstance(self.model, SiteModel) else None

    @property
    def y_shift(self) -> np.ndarray:
        """Centre of the targets.  [T]"""
        if isinstance(self.model, SiteModel):
            return np.array([self.model.y_shift])
        return self.model.geometry.target_shift

    @property
    def y_scale(self) -> np.ndarray:
        """Scale of the targets: the likelihood speaks of (y - y_shift) / y_scale.  [T]"""
        if isinstance(self.model, SiteModel):
            return np.array([self.model.y_scale])
        return self.model.geometry.target_scale

    @property
    def noise(self) -> np.ndarray | None:
        """Variance of Gaussian noise, of the scaled (and warped) targets.  [T]"""
        return self.model.noise if isinstance(self.model, GaussianModel) else None

    def noise_variance_at(self, X: np.ndarray) -> np.ndarray:
        """Variance of Gaussian noise at rows; else 0.  [n, D] -> [n, T]"""
        if isinstance(self.model, GaussianModel):
            return self.model.noise_variance_at(X)
        return np.zeros((len(X), 1))

    @property
    def noise_kind(self) -> str:
        """Whether the noise is "constant", or "radial": its deviation times r."""
        return self.model.geometry.noise

    @property
    def warp(self) -> Any:
        """The warp of the scaled targets, or None."""
        return self.model.geometry.warp
