"""What every fitted model can do, whatever its likelihood."""

from typing import Any, Protocol

import numpy as np

from vish.inference.posterior import Moments, Posterior
from vish.inference.prior import Prior
from vish.inference.statistics import Geometry


class Model(Protocol):
    """A fitted model: `GaussianModel`, or `SiteModel` for other likelihoods. Immutable."""

    @property
    def geometry(self) -> Geometry: ...

    @property
    def kernel(self) -> Any: ...

    @property
    def truncated(self) -> bool: ...

    @property
    def prior(self) -> Prior: ...

    @property
    def posterior(self) -> Posterior: ...

    @property
    def shift(self) -> np.ndarray: ...  # constant part of the latent functions, [T]

    def latent(
        self, X: np.ndarray, with_variance: bool = True, n_jobs: int | None = None
    ) -> Moments: ...
