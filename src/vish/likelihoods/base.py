r"""What a likelihood answers: expectations under a Gaussian, and predictions.

Inference asks for the expectation of the log density under a Gaussian marginal
:math:`N(m, v)` of the latent value of a row, and its derivatives,

.. math:: g = \partial_m E_q[\log p], \qquad h = -2\, \partial_v E_q[\log p].

By default they come from Gauss-Hermite quadrature, h being the derivative of that very
quadrature, so that the bound they belong to can be checked to the last digit.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logsumexp

_N_NODES = 20
NODES, WEIGHTS = hermegauss(_N_NODES)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
_FINE_NODES, _FINE_WEIGHTS = hermegauss(48)
_FINE_WEIGHTS = _FINE_WEIGHTS / _FINE_WEIGHTS.sum()

# y = f + sinh(u): a grid that resolves scales from 1e-4 to 1e4
_U = np.linspace(-10.0, 10.0, 401)
_OFFSETS, _STEPS = np.sinh(_U), np.cosh(_U) * (_U[1] - _U[0])


class Expectation(NamedTuple):
    """E_q[log p] of every row, and its derivatives by latent.

    Examples
    --------
    >>> import numpy as np
    >>> from vish.likelihoods import Poisson
    >>> Poisson().expectations(np.array([2.0]), np.zeros((1, 1)), np.ones((1, 1))).slope.round(3)
    array([[0.351]])
    """

    value: np.ndarray  # [n]
    slope: np.ndarray  # g, [n, K]
    curvature: np.ndarray  # h, [n, K]


class Likelihood(ABC):
    """The distribution of an observation y given its latent value f.

    A likelihood of your own is a frozen dataclass with one method, `log_density`; the rest
    has defaults, for an observation on the real line around f. Override what is known in
    closed form, and `conditional_mean`, `conditional_variance` and `conditional_cdf` where y
    lives on another scale than f. Parameters named in `learned` are learned; they must be
    positive.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from vish.likelihoods import Likelihood
    >>> @dataclass(frozen=True)
    ... class Logistic(Likelihood):
    ...     scale: float = 1.0
    ...     learned = ("scale",)
    ...
    ...     def log_density(self, y, f):
    ...         u = (y - f) / self.scale
    ...         return -u - 2 * np.logaddexp(0, -u) - np.log(self.scale)
    >>> mean, variance = Logistic().moments(np.zeros((1, 1)), np.full((1, 1), 1e-6))
    >>> variance.round(3)  # pi^2 / 3
    array([3.29])
    """

    n_latents: ClassVar[int] = 1
    location_scale: ClassVar[bool] = True  # whether y may be shifted and scaled beforehand
    only_differences: ClassVar[bool] = False  # of the latent values matter
    learned: ClassVar[tuple[str, ...]] = ()
    support: ClassVar[str] = "finite numbers"

    @property
    def guides(self) -> int:
        """How many of the latent functions guide the choice of the geometry."""
        return 1

    # ---- the definition

    @abstractmethod
    def log_density(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y | f); y and f broadcast."""

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """d log p / df."""
        step = 1e-5 * (1 + np.abs(f))
        return (self.log_density(y, f + step) - self.log_density(y, f - step)) / (2 * step)

    def supports(self, y: np.ndarray) -> np.ndarray:
        """Which observations are possible."""
        return np.isfinite(y)

    def check(self, y: np.ndarray) -> None:
        """Refuse observations outside the support."""
        wrong = ~self.supports(y)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{type(self).__name__} needs {self.support}: y[{row}] is {y[row]:g}; remove such "
                "rows or choose another likelihood"
            )

    # ---- inference

    def offset(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A constant latent value to start from and to shrink to.  -> [K]"""
        return np.array([np.average(y, weights=weights)])

    def start(self, y: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First sites: precision and pseudo-target of every row.  -> [n, K] twice"""
        spread = np.var(y) if len(y) > 1 else 1.0
        return np.full((len(y), 1), 1 / max(float(spread), 1e-12)), y[:, None].astype(float)

    def expectations(self, y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Expectation:
        """E[log p] under N(mean, variance) and its derivatives; mean, variance are [n, K]."""
        m, spread, y = mean[:, :1], np.sqrt(variance[:, :1]), y[:, None]
        f = m + spread * NODES
        slopes = self.slope(y, f)
        value = self.log_density(y, f) @ WEIGHTS
        g = slopes @ WEIGHTS
        h = -(slopes @ (WEIGHTS * NODES)) / spread[:, 0]
        return Expectation(value, g[:, None], h[:, None])

    # ---- parameters

    @property
    def parameters(self) -> np.ndarray:
        """Logarithms of the learned parameters.  [P]"""
        return np.log([float(getattr(self, name)) for name in self.learned])

    def with_parameters(self, parameters: np.ndarray) -> Any:
        values = dict(zip(self.learned, np.exp(parameters).tolist(), strict=True))
        return replace(self, **values)  # type: ignore[type-var]

    @property
    def bounds(self) -> np.ndarray:
        return np.tile(np.log([1e-6, 1e6]), (len(self.learned), 1))

    # ---- prediction

    def conditional_mean(self, f: np.ndarray) -> np.ndarray:
        """E[y | f]."""
        return f + self._integrals(f)[0]

    def conditional_variance(self, f: np.ndarray) -> np.ndarray:
        """Var[y | f]."""
        first, second = self._integrals(f)
        return second - first**2

    def _integrals(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f = np.asarray(f)[..., None]
        mass = np.exp(self.log_density(f + _OFFSETS, f)) * _STEPS
        return (mass * _OFFSETS).sum(axis=-1), (mass * _OFFSETS**2).sum(axis=-1)

    def conditional_cdf(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """P(Y <= y | f), by integration."""
        y, f = np.broadcast_arrays(y, f)
        scale = np.abs(y - f) + 1.0
        below = np.linspace(0.0, 1.0, 201)[1:]
        u = -40.0 * below**3  # y' = y + scale * sinh(u)-like grid towards minus infinity
        grid = y[..., None] + scale[..., None] * np.sinh(u)
        density = np.exp(self.log_density(grid, f[..., None]))
        return -np.trapezoid(density, grid, axis=-1)

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of an observation, the latent value integrated.  -> [n] twice"""
        m, spread = mean[:, 0], np.sqrt(variance[:, 0])
        nodes = [m + spread * node for node in NODES]  # one by one: integrals need memory
        inner = np.stack([self.conditional_mean(f) for f in nodes], axis=1)
        within = np.stack([self.conditional_variance(f) for f in nodes], axis=1)
        first = inner @ WEIGHTS
        return first, within @ WEIGHTS + (inner - first[:, None]) ** 2 @ WEIGHTS

    def log_predictive(self, y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """log p(y), the latent value integrated.  -> [n]"""
        f = mean[:, :1] + np.sqrt(variance[:, :1]) * _FINE_NODES
        return logsumexp(self.log_density(y[:, None], f), b=_FINE_WEIGHTS, axis=1)

    def cdf(self, y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """P(Y <= y), the latent value integrated.  -> [n]"""
        if not variance.any():
            return self.conditional_cdf(y, mean[:, 0])
        m, spread = mean[:, 0], np.sqrt(variance[:, 0])
        parts = [self.conditional_cdf(y, m + spread * node) for node in NODES]
        return np.stack(parts, axis=1) @ WEIGHTS

    def quantiles(self, mean: np.ndarray, variance: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Quantiles of an observation, by bisection on the distribution function.  -> [n, Q]"""
        centre, spread = self.moments(mean, variance)
        spread = np.sqrt(np.where(np.isfinite(spread), spread, 1.0)) + 1e-12
        columns = []
        for level in levels:
            low, high = centre - spread, centre + spread
            for _ in range(60):
                outside = self.cdf(low, mean, variance) > level
                if not outside.any():
                    break
                low = np.where(outside, low - 2 * (high - low), low)
            for _ in range(60):
                outside = self.cdf(high, mean, variance) < level
                if not outside.any():
                    break
                high = np.where(outside, high + 2 * (high - low), high)
            for _ in range(50):
                middle = (low + high) / 2
                above = self.cdf(middle, mean, variance) >= level
                low, high = np.where(above, low, middle), np.where(above, middle, high)
            columns.append(self._quantile_value(high))
        return np.stack(columns, axis=1)

    def _quantile_value(self, y: np.ndarray) -> np.ndarray:
        return y
