"""Observations on the real line, the half line and the unit interval."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import (
    betainc,
    betaln,
    digamma,
    erf,
    expit,
    gammainc,
    gammaln,
    logit,
    logsumexp,
    ndtr,
    stdtr,
)

from vish.likelihoods.base import NODES, WEIGHTS, Expectation, Likelihood

_TINY = 1e-290


@dataclass(frozen=True)
class StudentT(Likelihood):
    r"""Heavy tails: :math:`y = f + s\,t_\nu`.

    The bound is that of the scale mixture,
    :math:`-\tfrac{\nu+1}2 \log(1 + E(y-f)^2 / (\nu s^2))`: its updates are exact.

    Parameters
    ----------
    degrees_of_freedom, scale : float
        nu and s; learned. The scale starts in units of the standardised target.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import StudentT
    >>> x = np.linspace(-1, 1, 200)
    >>> y = x + 0.1 * np.sin(50 * x)
    >>> y[::20] += 30  # outliers
    >>> model = VISHRegressor(degree=1, likelihood=StudentT()).fit(x[:, None], y)
    >>> bool(abs(model.predict([[0.5]])[0] - 0.5) < 0.05)
    True
    """

    degrees_of_freedom: float = 4.0
    scale: float = 0.5
    learned: ClassVar[tuple[str, ...]] = ("degrees_of_freedom", "scale")

    @property
    def _constant(self):
        nu = self.degrees_of_freedom
        return gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(np.pi * nu) / 2 - np.log(self.scale)

    def log_density(self, y, f):
        nu = self.degrees_of_freedom
        return self._constant - (nu + 1) / 2 * np.log1p(((y - f) / self.scale) ** 2 / nu)

    def slope(self, y, f):
        nu = self.degrees_of_freedom
        return (nu + 1) * (y - f) / (nu * self.scale**2 + (y - f) ** 2)

    def offset(self, y, weights):
        order = np.argsort(y)
        half = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
        return np.array([y[order][min(half, len(y) - 1)]])  # the median

    def start(self, y, offset):
        nu, s2 = self.degrees_of_freedom, self.scale**2
        h = (nu + 1) / (nu * s2 + (y - offset[0]) ** 2)
        return h[:, None], y[:, None].astype(float)

    def expectations(self, y, mean, variance):
        nu, s2 = self.degrees_of_freedom, self.scale**2
        residual = y - mean[:, 0]
        square = residual**2 + variance[:, 0]
        h = (nu + 1) / (nu * s2 + square)
        value = self._constant - (nu + 1) / 2 * np.log1p(square / (nu * s2))
        return Expectation(value, (h * residual)[:, None], h[:, None])

    @property
    def bounds(self):
        return np.log([[1.1, 1e3], [1e-4, 1e2]])

    def conditional_mean(self, f):
        return f

    def conditional_variance(self, f):
        nu = self.degrees_of_freedom
        value = self.scale**2 * nu / (nu - 2) if nu > 2 else np.inf
        return np.full(np.shape(f), value)

    def conditional_cdf(self, y, f):
        return stdtr(self.degrees_of_freedom, (y - f) / self.scale)


@dataclass(frozen=True)
class Laplace(Likelihood):
    """Double-exponential noise, y = f + Laplace(scale): robust, and its centre is a median.

    Parameters
    ----------
    scale : float
        Learned. It starts in units of the standardised target.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import Laplace
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 300)
    >>> y = x + rng.laplace(scale=0.2, size=300)
    >>> model = VISHRegressor(degree=1, likelihood=Laplace()).fit(x[:, None], y)
    >>> lower, upper = model.predict_quantiles([[0.5]], [0.25, 0.75])[0]
    >>> bool(lower < 0.5 < upper)
    True
    """

    scale: float = 0.5
    learned: ClassVar[tuple[str, ...]] = ("scale",)

    def log_density(self, y, f):
        return -np.abs(y - f) / self.scale - np.log(2 * self.scale)

    def slope(self, y, f):
        return np.sign(y - f) / self.scale

    def start(self, y, offset):
        h = 1 / (self.scale * np.maximum(np.abs(y - offset[0]), self.scale))
        return h[:, None], y[:, None].astype(float)

    def expectations(self, y, mean, variance):
        residual, spread = y - mean[:, 0], np.sqrt(variance[:, 0])
        u = residual / spread
        density = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
        absolute = 2 * spread * density + residual * erf(u / np.sqrt(2))  # E|y - f|
        value = -absolute / self.scale - np.log(2 * self.scale)
        g = erf(u / np.sqrt(2)) / self.scale
        h = 2 * density / (spread * self.scale)
        return Expectation(value, g[:, None], h[:, None])

    @property
    def bounds(self):
        return np.log([[1e-4, 1e2]])

    def conditional_mean(self, f):
        return f

    def conditional_variance(self, f):
        return np.full(np.shape(f), 2 * self.scale**2)

    def conditional_cdf(self, y, f):
        u = (y - f) / self.scale
        return np.where(u < 0, np.exp(np.minimum(u, 0)) / 2, 1 - np.exp(-np.maximum(u, 0)) / 2)


@dataclass(frozen=True)
class Gamma(Likelihood):
    r"""Positive observations with mean :math:`e^f` and a learned shape.

    Parameters
    ----------
    shape : float
        The coefficient of variation is 1 / sqrt(shape).

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import Gamma
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 500)
    >>> y = np.exp(x) * rng.gamma(4.0, 1 / 4, size=500)
    >>> model = VISHRegressor(degree=1, likelihood=Gamma()).fit(x[:, None], y)
    >>> bool(3 < model.likelihood_.shape < 5)
    True
    """

    shape: float = 2.0
    learned: ClassVar[tuple[str, ...]] = ("shape",)
    location_scale: ClassVar[bool] = False
    support: ClassVar[str] = "numbers above 0"

    def supports(self, y):
        return np.isfinite(y) & (y > 0)

    def log_density(self, y, f):
        k = self.shape
        return k * (np.log(k) - f) + (k - 1) * np.log(y) - k * y * np.exp(-f) - gammaln(k)

    def slope(self, y, f):
        return self.shape * (y * np.exp(-f) - 1)

    def offset(self, y, weights):
        return np.array([np.log(np.average(y, weights=weights))])

    def start(self, y, offset):
        return np.full((len(y), 1), self.shape), np.log(y)[:, None]

    def expectations(self, y, mean, variance):
        k, m, v = self.shape, mean[:, 0], variance[:, 0]
        ratio = y * np.exp(np.minimum(-m + v / 2, 700.0))
        value = k * (np.log(k) - m) + (k - 1) * np.log(y) - k * ratio - gammaln(k)
        return Expectation(value, (k * (ratio - 1))[:, None], (k * ratio)[:, None])

    @property
    def bounds(self):
        return np.log([[1e-2, 1e5]])

    def conditional_mean(self, f):
        return np.exp(f)

    def conditional_variance(self, f):
        return np.exp(2 * f) / self.shape

    def conditional_cdf(self, y, f):
        return gammainc(self.shape, self.shape * np.maximum(y, 0.0) * np.exp(-f))


@dataclass(frozen=True)
class Beta(Likelihood):
    r"""Fractions between 0 and 1 with mean :math:`\sigma(f)` and a learned precision.

    Parameters
    ----------
    precision : float
        The variance is mean (1 - mean) / (precision + 1); learned.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import Beta
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 500)
    >>> share = 1 / (1 + np.exp(-2 * x))
    >>> y = rng.beta(10 * share, 10 * (1 - share))
    >>> model = VISHRegressor(degree=1, likelihood=Beta()).fit(x[:, None], y)
    >>> bool(abs(model.predict([[0.0]])[0] - 0.5) < 0.05)
    True
    """

    precision: float = 10.0
    learned: ClassVar[tuple[str, ...]] = ("precision",)
    location_scale: ClassVar[bool] = False
    support: ClassVar[str] = "numbers above 0 and below 1"

    def supports(self, y):
        return (y > 0) & (y < 1)

    def _shapes(self, f):
        """p (1 - p), and the two parameters of the distribution, exact at both ends."""
        p, q = np.maximum(expit(f), _TINY), np.maximum(expit(-f), _TINY)
        return p * q, self.precision * p, self.precision * q

    def log_density(self, y, f):
        _, a, b = self._shapes(f)
        return (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - betaln(a, b)

    def slope(self, y, f):
        pq, a, b = self._shapes(f)
        return self.precision * pq * (logit(y) - digamma(a) + digamma(b))

    def offset(self, y, weights):
        return np.array([logit(np.average(y, weights=weights))])

    def start(self, y, offset):
        p = expit(offset[0])
        h = max(self.precision * p * (1 - p), 1e-3)
        return np.full((len(y), 1), h), np.clip(logit(y), -10, 10)[:, None]

    @property
    def bounds(self):
        return np.log([[1e-1, 1e6]])

    def conditional_mean(self, f):
        return expit(f)

    def conditional_variance(self, f):
        p = expit(f)
        return p * (1 - p) / (1 + self.precision)

    def conditional_cdf(self, y, f):
        _, a, b = self._shapes(f)
        return betainc(a, b, np.clip(y, 0.0, 1.0))


@dataclass(frozen=True)
class Heteroscedastic(Likelihood):
    r"""Gaussian noise whose log variance is a second process:
    :math:`y \sim N(f, e^s)`, f and s both latent.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import Heteroscedastic
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 500)
    >>> y = x + np.exp(x) * 0.3 * rng.normal(size=500)
    >>> model = VISHRegressor(degree=1, likelihood=Heteroscedastic()).fit(x[:, None], y)
    >>> _, std = model.predict([[-0.8], [0.8]], return_std=True)
    >>> bool(std[1] > 2 * std[0])
    True
    """

    n_latents: ClassVar[int] = 2

    def log_density(self, y, f):
        """f is [..., 2]: mean and log variance."""
        mean, log_variance = f[..., 0], f[..., 1]
        return -((y - mean) ** 2 * np.exp(-log_variance) + log_variance + np.log(2 * np.pi)) / 2

    def offset(self, y, weights):
        mean = np.average(y, weights=weights)
        spread = max(np.average((y - mean) ** 2, weights=weights), 1e-12)
        return np.array([mean, np.log(spread)])

    def start(self, y, offset):
        h = np.column_stack([np.full(len(y), np.exp(-offset[1])), np.full(len(y), 0.5)])
        deviation = (y - offset[0]) ** 2 * np.exp(-offset[1])
        return h, np.column_stack([y, offset[1] + np.minimum(deviation, 10.0) - 1])

    def expectations(self, y, mean, variance):
        precision = np.exp(np.minimum(-mean[:, 1] + variance[:, 1] / 2, 700.0))
        residual = y - mean[:, 0]
        square = (residual**2 + variance[:, 0]) * precision
        value = -(np.log(2 * np.pi) + mean[:, 1] + square) / 2
        slope = np.column_stack([residual * precision, (square - 1) / 2])
        return Expectation(value, slope, np.column_stack([precision, square / 2]))

    def moments(self, mean, variance):
        noise = np.exp(mean[:, 1] + variance[:, 1] / 2)
        return mean[:, 0], variance[:, 0] + noise

    def _spreads(self, mean, variance):
        """Standard deviation of y at nodes of the log variance.  -> [n, nodes]"""
        log_noise = mean[:, 1:] + np.sqrt(variance[:, 1:]) * NODES
        return np.sqrt(variance[:, :1] + np.exp(log_noise))

    def log_predictive(self, y, mean, variance):
        spread = self._spreads(mean, variance)
        u = (y[:, None] - mean[:, :1]) / spread
        return logsumexp(-(u**2) / 2 - np.log(spread) - np.log(2 * np.pi) / 2, b=WEIGHTS, axis=1)

    def cdf(self, y, mean, variance):
        return ndtr((y[:, None] - mean[:, :1]) / self._spreads(mean, variance)) @ WEIGHTS
