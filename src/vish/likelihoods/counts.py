"""Counts."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, gammaln, pdtr

from vish.likelihoods.base import Expectation, Likelihood


class _Counts(Likelihood):
    """Counts with mean exp(f)."""

    location_scale: ClassVar[bool] = False
    support: ClassVar[str] = "counts (numbers of at least 0)"

    def supports(self, y):
        return np.isfinite(y) & (y >= 0)

    def offset(self, y, weights):
        return np.log([(weights @ y + 0.5) / (weights.sum() + 0.5)])

    def start(self, y, offset):
        return y[:, None] + 0.5, np.log(y + 0.5)[:, None]

    def conditional_mean(self, f):
        return np.exp(f)

    def _quantile_value(self, y):
        return np.maximum(np.ceil(y - 1e-6), 0.0)


@dataclass(frozen=True)
class Poisson(_Counts):
    r"""Counts, :math:`y \sim \mathrm{Poisson}(e^f)`.

    With an exposure E per row (time, population), give the rate y / E as the target and E
    as the sample weight: the likelihood is the same.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import Poisson
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 500)
    >>> counts = rng.poisson(np.exp(1 + x))
    >>> model = VISHRegressor(degree=1, likelihood=Poisson()).fit(x[:, None], counts)
    >>> bool(abs(model.predict([[0.0]])[0] - np.e) < 0.3)
    True
    >>> model.predict_quantiles([[0.0]], [0.05, 0.95])  # counts
    array([[0., 6.]])
    """

    def log_density(self, y, f):
        return y * f - np.exp(f) - gammaln(y + 1)

    def slope(self, y, f):
        return y - np.exp(f)

    def expectations(self, y, mean, variance):
        m, v = mean[:, 0], variance[:, 0]
        rate = np.exp(np.minimum(m + v / 2, 700.0))
        value = y * m - rate - gammaln(y + 1)
        return Expectation(value, (y - rate)[:, None], rate[:, None])

    def conditional_variance(self, f):
        return np.exp(f)

    def conditional_cdf(self, y, f):
        return np.where(y < 0, 0.0, pdtr(np.maximum(np.floor(y), 0), np.exp(f)))


@dataclass(frozen=True)
class NegativeBinomial(_Counts):
    r"""Counts with extra spread: mean :math:`\mu = e^f`, variance :math:`\mu + \mu^2 / r`.

    Parameters
    ----------
    shape : float
        r; learned.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import NegativeBinomial
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 1000)
    >>> counts = rng.poisson(np.exp(2 + x) * rng.gamma(2.0, 1 / 2, size=1000))
    >>> model = VISHRegressor(degree=1, likelihood=NegativeBinomial()).fit(x[:, None], counts)
    >>> bool(1.5 < model.likelihood_.shape < 2.5)
    True
    """

    shape: float = 1.0
    learned: ClassVar[tuple[str, ...]] = ("shape",)

    def log_density(self, y, f):
        r = self.shape
        constant = gammaln(y + r) - gammaln(r) - gammaln(y + 1) + r * np.log(r)
        return constant + y * f - (y + r) * np.logaddexp(np.log(r), f)

    def slope(self, y, f):
        r = self.shape
        return y - (y + r) * np.exp(f - np.logaddexp(np.log(r), f))

    @property
    def bounds(self):
        return np.log([[1e-3, 1e4]])

    def conditional_variance(self, f):
        return np.exp(f) + np.exp(2 * f) / self.shape

    def conditional_cdf(self, y, f):
        p = np.exp(np.log(self.shape) - np.logaddexp(np.log(self.shape), f))
        return np.where(y < 0, 0.0, betainc(self.shape, np.maximum(np.floor(y), 0) + 1, p))
