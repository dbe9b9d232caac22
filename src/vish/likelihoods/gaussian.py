"""The conjugate family: Gaussian noise, and Gaussian noise after a learned warp."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

_NOISES = ("constant", "radial", "auto")


@dataclass(frozen=True)
class Gaussian:
    r"""Gaussian noise, y = f(x) + eps.

    Parameters
    ----------
    noise : {"constant", "radial", "auto"}
        "constant": one standard deviation everywhere. "radial": one proportional to the
        radius r of the row, larger far from the centre. "auto": the one with the larger
        evidence.
    variance : float or array of shape (n_targets,), optional
        Variance of the noise as a fraction of the variance of the target; where the
        search starts, or the value itself when nothing is optimised.

    Examples
    --------
    >>> from vish.likelihoods import Gaussian
    >>> Gaussian(noise="auto")
    Gaussian(noise='auto', variance=0.1)
    """

    noise: str = "constant"
    variance: float = 0.1

    warp: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.noise not in _NOISES:
            raise ValueError(f"noise is {self.noise!r}: choose one of {', '.join(_NOISES)}")
        if not np.all(np.asarray(self.variance) > 0) or not np.all(np.isfinite(self.variance)):
            raise ValueError(f"variance is {self.variance!r}: give a positive number")


@dataclass(frozen=True)
class SinhArcsinh:
    r"""A monotone map of the target for skewed and heavy-tailed noise.

    .. math::

        z = \sinh(\delta \operatorname{arsinh} u - \epsilon), \qquad u = (y - m) / s

    A :math:`\delta` below 1 means tails heavier than a Gaussian's, :math:`\epsilon` skew. At
    :math:`\delta = 1, \epsilon = 0` the map is affine. All four parameters are learned.

    Examples
    --------
    >>> import numpy as np
    >>> from vish.likelihoods import SinhArcsinh
    >>> warp = SinhArcsinh(tail=0.5)
    >>> y = np.array([-10.0, 0.0, 10.0])
    >>> bool(np.allclose(warp.inverse(warp.forward(y)), y))
    True
    """

    skew: float = 0.0
    tail: float = 1.0
    location: float = 0.0
    scale: float = 1.0

    @property
    def parameters(self) -> np.ndarray:
        """skew, log tail, location, log scale."""
        return np.array([self.skew, np.log(self.tail), self.location, np.log(self.scale)])

    @property
    def bounds(self) -> np.ndarray:
        return np.array([[-4.0, 4.0], [-3.0, 1.5], [-5.0, 5.0], [-6.0, 4.0]])

    def with_parameters(self, parameters: np.ndarray) -> "SinhArcsinh":
        skew, log_tail, location, log_scale = map(float, parameters)
        return replace(
            self, skew=skew, tail=np.exp(log_tail), location=location, scale=np.exp(log_scale)
        )

    def forward(self, y: np.ndarray) -> np.ndarray:
        """z of y."""
        return np.sinh(self.tail * np.arcsinh((y - self.location) / self.scale) - self.skew)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """y of z."""
        return self.location + self.scale * np.sinh((np.arcsinh(z) + self.skew) / self.tail)

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """log dz/dy."""
        u = (y - self.location) / self.scale
        argument = self.tail * np.arcsinh(u) - self.skew
        return np.log(self.tail / self.scale) + _log_cosh(argument) - np.log1p(u**2) / 2

    def parameter_gradients(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of z and of log dz/dy in `parameters`.  -> [4, ...] each"""
        u = (y - self.location) / self.scale
        angle = np.arcsinh(u)
        argument = self.tail * angle - self.skew
        cosh, tanh, root = np.cosh(argument), np.tanh(argument), np.sqrt(1 + u**2)
        # d argument / d parameters: by skew, log tail, location, log scale
        by_u = self.tail / root
        d_argument = np.stack([-np.ones_like(u), self.tail * angle, -by_u / self.scale, -by_u * u])
        d_u = np.stack([np.zeros_like(u), np.zeros_like(u), -np.ones_like(u) / self.scale, -u])
        d_log_slope = tanh * d_argument - u / (1 + u**2) * d_u
        d_log_slope[1] += 1.0
        d_log_slope[3] -= 1.0
        return cosh * d_argument, d_log_slope


@dataclass(frozen=True)
class Warped:
    """Gaussian noise on a learned monotone map of the target, z = warp(y) = f(x) + eps.

    Keeps the speed of the conjugate model for skewed and heavy-tailed targets.

    Parameters
    ----------
    warp : SinhArcsinh
        The family of maps, and where its parameters start.
    noise, variance
        As for `Gaussian`, for z.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.likelihoods import SinhArcsinh, Warped
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 500)
    >>> y = np.exp(x + 0.5 * rng.normal(size=500))  # skewed
    >>> model = VISHRegressor(degree=1, likelihood=Warped(SinhArcsinh())).fit(x[:, None], y)
    >>> low, middle, high = model.predict_quantiles([[0.0]], [0.025, 0.5, 0.975])[0]
    >>> bool(high - middle > 2 * (middle - low))
    True
    """

    warp: SinhArcsinh = field(default_factory=SinhArcsinh)
    noise: str = "constant"
    variance: float = 0.1

    def __post_init__(self) -> None:
        Gaussian(self.noise, self.variance)  # the same rules


def _log_cosh(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, -x) - np.log(2.0)
