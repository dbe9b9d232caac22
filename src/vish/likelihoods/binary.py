r"""Two classes, and ordered classes.

The logistic function is a mixture of normal distribution functions over scales; six of them
are as good as all, to 9e-8 (Monahan and Stefanski, 1992; the numbers are a minimax fit):

.. math:: \sigma(x) \approx \sum_i p_i \Phi(x / c_i).

With a latent value f of N(m, v), each term has a closed form with
:math:`s_i^2 = c_i^2 + v`: the same digits at any v, where a quadrature of twenty nodes has
lost all but one at v = 100. With a = m for class 1, -m for class 0,

.. math::

    E \log \sigma = -\sum_i p_i \{ s_i \varphi(a/s_i) - a \Phi(-a/s_i) \}, \quad
    g = \sum_i p_i \Phi(-a/s_i), \quad h = \sum_i p_i \varphi(a/s_i) / s_i.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logsumexp, ndtr

from vish.likelihoods.base import Expectation, Likelihood

_LINKS = ("logit", "probit")
_LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)
_SHARES = np.array(
    [0.0185354784429403, 0.17319406043868257, 0.3743425909088842, 0.31660251778878934,
     0.1083551097768717, 0.00897024264383188]
)  # fmt: skip
_SCALES = np.array(
    [0.8259056955634632, 1.1149835792850926, 1.4972811172159928, 2.0197175294624214,
     2.729724375602819, 3.7146584488000327]
)  # fmt: skip


def _inverse_link(link: str, p: float) -> float:
    from scipy.special import logit, ndtri

    return float(logit(p) if link == "logit" else ndtri(p))


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    r"""Two classes, y in {0, 1}: :math:`P(y = 1 \mid f) = \sigma(f)` or :math:`\Phi(f)`.

    Parameters
    ----------
    link : {"logit", "probit"}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from vish import VISHClassifier
    >>> from vish.likelihoods import Bernoulli
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = VISHClassifier(degree=3, rank=None, likelihood=Bernoulli("probit")).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    link: str = "logit"
    location_scale: ClassVar[bool] = False
    support: ClassVar[str] = "classes 0 and 1"

    def __post_init__(self) -> None:
        if self.link not in _LINKS:
            raise ValueError(f"link is {self.link!r}: choose one of {', '.join(_LINKS)}")

    def supports(self, y):
        return (y == 0) | (y == 1)

    def log_density(self, y, f):
        signed = (2 * y - 1) * f
        return log_expit(signed) if self.link == "logit" else log_ndtr(signed)

    def slope(self, y, f):
        sign = 2 * y - 1
        if self.link == "logit":
            return sign * expit(-sign * f)
        return sign * np.exp(-(f**2) / 2 - _LOG_ROOT_TWO_PI - log_ndtr(sign * f))

    def offset(self, y, weights):
        rate = (weights @ y + 0.5) / (weights.sum() + 1.0)
        return np.array([_inverse_link(self.link, rate)])

    def start(self, y, offset):
        """The sites at a constant latent value: precision p (1 - p) (probit: its like)."""
        f = np.full(len(y), offset[0])
        p = expit(f) if self.link == "logit" else ndtr(f)
        h = p * (1 - p) if self.link == "logit" else np.exp(-(f**2)) / (2 * np.pi * p * (1 - p))
        return h[:, None], (f + self.slope(y, f) / h)[:, None]

    def expectations(self, y, mean, variance):
        if self.link == "probit":
            return super().expectations(y, mean, variance)
        sign = 2 * y - 1
        a, v = sign * mean[:, 0], variance[:, 0]
        value, g, h = np.zeros(len(a)), np.zeros(len(a)), np.zeros(len(a))
        for share, scale in zip(_SHARES, _SCALES, strict=True):
            s = np.sqrt(scale**2 + v)
            u = a / s
            other = share * ndtr(-u)
            density = (share / np.sqrt(2 * np.pi)) * np.exp(-(u**2) / 2)
            value += a * other - s * density
            g += other
            h += density / s
        return Expectation(value, (sign * g)[:, None], h[:, None])

    def conditional_mean(self, f):
        return expit(f) if self.link == "logit" else ndtr(f)

    def conditional_variance(self, f):
        p = self.conditional_mean(f)
        return p * (1 - p)

    def moments(self, mean, variance):
        p = np.exp(self.log_predictive(np.ones(len(mean)), mean, variance))
        return p, p * (1 - p)

    def probabilities(self, mean, variance):
        """P(y = 0) and P(y = 1), the latent value integrated.  -> [n, 2]"""
        p = self.moments(mean, variance)[0]
        return np.column_stack([1 - p, p])

    def log_predictive(self, y, mean, variance):
        """log P(y), f integrated: finite, however sure the model is."""
        a, v = (2 * y - 1) * mean[:, 0], variance[:, 0]
        if self.link == "probit":
            return log_ndtr(a / np.sqrt(1 + v))
        terms = log_ndtr(a[:, None] / np.sqrt(_SCALES**2 + v[:, None]))
        return np.minimum(logsumexp(terms, b=_SHARES, axis=1), 0.0)

    def conditional_cdf(self, y, f):
        return np.where(y < 0, 0.0, np.where(y < 1, 1 - self.conditional_mean(f), 1.0))

    def _quantile_value(self, y):
        return np.clip(np.ceil(y - 1e-6), 0, 1)


@dataclass(frozen=True)
class Ordinal(Likelihood):
    r"""Ordered classes 0..K-1, :math:`P(y \le k \mid f) = \Phi(c_k - f)`.

    The cuts are c_0 = 0, and each next one a learned gap higher.

    Parameters
    ----------
    gaps : tuple of float
        K - 2 positive distances between neighbouring cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import Ordinal
    >>> x = np.linspace(-1, 1, 300)
    >>> stars = np.digitize(x + 0.2 * np.sin(40 * x), [-0.4, 0.4])  # 0, 1 or 2
    >>> model = VISHRegressor(degree=2, likelihood=Ordinal(gaps=(1.0,))).fit(x[:, None], stars)
    >>> model.predict_quantiles([[-0.9], [0.0], [0.9]], [0.5])[:, 0]
    array([0., 1., 2.])
    """

    gaps: tuple[float, ...] = (1.0,)
    location_scale: ClassVar[bool] = False
    support: ClassVar[str] = "ordered classes 0, 1, ... up to the number of gaps plus 1"

    @property
    def n_classes(self) -> int:
        return len(self.gaps) + 2

    @property
    def _cuts(self):
        return np.concatenate([[-np.inf, 0.0], np.cumsum(self.gaps), [np.inf]])

    def supports(self, y):
        return (y == np.floor(y)) & (y >= 0) & (y < self.n_classes)

    def log_density(self, y, f):
        cuts, k = self._cuts, np.asarray(y, dtype=int)
        low, high = cuts[k] - f, cuts[k + 1] - f
        flip = low > 0  # work in the tail that keeps its digits
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        upper, lower = log_ndtr(high), log_ndtr(low)
        with np.errstate(divide="ignore"):
            return upper + np.log1p(-np.exp(np.minimum(lower - upper, -1e-300)))

    def slope(self, y, f):
        cuts, k = self._cuts, np.asarray(y, dtype=int)
        density = self.log_density(y, f)
        with np.errstate(over="ignore", invalid="ignore"):
            low = np.exp(-((cuts[k] - f) ** 2) / 2 - _LOG_ROOT_TWO_PI - density)
            high = np.exp(-((cuts[k + 1] - f) ** 2) / 2 - _LOG_ROOT_TWO_PI - density)
        return low - high

    def offset(self, y, weights):
        rate = (weights @ (y > 0) + 0.5) / (weights.sum() + 1.0)
        return np.array([_inverse_link("probit", rate)])

    def start(self, y, offset):
        f = np.full(len(y), offset[0])
        return np.full((len(y), 1), 0.5), (f + 2 * np.clip(self.slope(y, f), -5, 5))[:, None]

    @property
    def parameters(self):
        return np.log(self.gaps)

    def with_parameters(self, parameters):
        return Ordinal(tuple(np.exp(parameters).tolist()))

    @property
    def bounds(self):
        return np.tile(np.log([1e-3, 1e2]), (len(self.gaps), 1))

    def probabilities(self, mean, variance):
        """P(y = k), the latent value integrated.  -> [n, K]"""
        spread = np.sqrt(1 + variance)
        return np.diff(ndtr((self._cuts - mean) / spread), axis=1)

    def conditional_mean(self, f):
        return sum(ndtr(f - cut) for cut in self._cuts[1:-1])

    def conditional_variance(self, f):
        second = sum((2 * k + 1) * ndtr(f - cut) for k, cut in enumerate(self._cuts[1:-1]))
        return second - self.conditional_mean(f) ** 2

    def conditional_cdf(self, y, f):
        k = np.clip(np.floor(y).astype(int), -1, self.n_classes - 1)
        return ndtr(self._cuts[k + 1] - f)

    def _quantile_value(self, y):
        return np.clip(np.ceil(y - 1e-6), 0, self.n_classes - 1)
