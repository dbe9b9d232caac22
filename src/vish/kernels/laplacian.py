"""Kernels that are functions of the Laplacian, whose eigenvalues are l(l+d-2)."""

from dataclasses import dataclass, field, replace

import numpy as np

from vish.kernels import checks
from vish.kernels.formula import LevelKernel
from vish.sphere.validation import check_dimension


@dataclass(frozen=True)
class Matern(LevelKernel):
    """Matérn kernel of the sphere.

    .. math:: a_l \\propto \\left( \\frac{2\\nu}{\\rho^2} + l(l+d-2) \\right)^{-\\nu-(d-1)/2}

    Parameters
    ----------
    nu : float
        Smoothness; any positive number (below 0.03 the variance of all degrees is out
        of reach of a float sum, and using it raises an error). Not learned.
    lengthscale : float, optional
        :math:`\\rho`, in radians; by default ``2 sqrt(nu log d) / d``, at which the
        constant and the linear functions have about the same variance.
    variance : float
        Value at cosine 1.
    convention : {"sphere", "paper"}
        "paper" is the spectral density of R^d used by Dutordoir et al. (2020):
        exponent :math:`-(\\nu + d/2)`, and :math:`4\\pi^2` on the eigenvalue.

    Examples
    --------
    >>> kernel = Matern(nu=1.5, lengthscale=0.5)
    >>> kernel.spectrum(dimension=3, degree=2).round(6)
    array([0.119788, 0.081479, 0.04347 ])
    >>> round(kernel.tail(dimension=3, degree=2), 6)
    0.418427
    """

    nu: float = 1.5
    lengthscale: float | None = None
    variance: float = 1.0
    convention: str = field(default="sphere", kw_only=True)
    learned = ("lengthscale", "variance")

    def __post_init__(self):
        smoothness = "0.5 is rough, 2.5 smooth; SquaredExponential is the limit"
        checks.keep(
            self,
            nu=checks.positive("Matern", "nu", self.nu, smoothness),
            lengthscale=checks.lengthscale("Matern", self.lengthscale),
            variance=checks.variance("Matern", self.variance),
        )
        if self.convention not in ("sphere", "paper"):
            raise ValueError(
                f"Matern: convention must be 'sphere' or 'paper', got {self.convention!r}; "
                "'sphere' is the Matérn kernel of the sphere's own dimension"
            )

    def start(self, dimension, degree):
        if self.lengthscale is not None:
            return self
        d = check_dimension(dimension)
        lengthscale = 2 * np.sqrt(self.nu * np.log(d)) / d
        return replace(self, lengthscale=float(lengthscale / np.sqrt(self._factor)))

    def log_levels(self, dimension, degrees):
        return -self._exponent(dimension) * np.logaddexp(0.0, self._log_ratio(dimension, degrees))

    def log_levels_gradient(self, dimension, degrees):
        with np.errstate(divide="ignore"):
            ratio = self._log_ratio(dimension, degrees)
        share = np.exp(-np.logaddexp(0.0, -ratio))  # q / (1 + q), and q grows like rho^2
        return -2 * self._exponent(dimension) * share[:, None]

    @property
    def _factor(self):
        return 1.0 if self.convention == "sphere" else 4 * np.pi**2

    def _exponent(self, dimension):
        own = dimension - 1 if self.convention == "sphere" else dimension
        return self.nu + own / 2

    def _log_ratio(self, dimension, degrees):
        """log q, q = rho^2 l(l+d-2) / (2 nu), without overflow at huge degrees."""
        scale = np.log(self._factor / (2 * self.nu)) + 2 * np.log(_given(self))
        return np.log(degrees) + np.log(degrees + dimension - 2.0) + scale


@dataclass(frozen=True)
class SquaredExponential(LevelKernel):
    """Squared-exponential kernel of the sphere: the heat kernel.

    .. math:: a_l \\propto \\exp\\left( -\\tfrac{1}{2} \\rho^2\\, l(l+d-2) \\right)

    Parameters
    ----------
    lengthscale : float, optional
        :math:`\\rho`, in radians; by default ``sqrt(2 log d / (d - 1))``, at which the
        constant and the linear functions have the same variance.
    variance : float
        Value at cosine 1.

    Examples
    --------
    >>> kernel = SquaredExponential(lengthscale=1.0)
    >>> kernel.spectrum(dimension=3, degree=2).round(6)
    array([0.421881, 0.155201, 0.021004])
    >>> SquaredExponential(lengthscale=5.0).tail(dimension=3, degree=6) < 1e-290
    True
    """

    lengthscale: float | None = None
    variance: float = 1.0
    learned = ("lengthscale", "variance")
    bounds = {"lengthscale": (1e-3, 1e1)}  # noqa: RUF012

    def __post_init__(self):
        checks.keep(
            self,
            lengthscale=checks.lengthscale("SquaredExponential", self.lengthscale),
            variance=checks.variance("SquaredExponential", self.variance),
        )

    def start(self, dimension, degree):
        if self.lengthscale is not None:
            return self
        # d exp(-rho^2 (d-1)/2) = 1: level 1 as large as level 0.
        d = check_dimension(dimension)
        lengthscale = np.sqrt(2 * np.log(d) / (d - 1))
        return replace(self, lengthscale=float(lengthscale))

    def log_levels(self, dimension, degrees):
        return -0.5 * _given(self) ** 2 * degrees * (degrees + dimension - 2.0)

    def log_levels_gradient(self, dimension, degrees):
        return 2 * self.log_levels(dimension, degrees)[:, None]


def _given(kernel):
    """The length scale, which `start` has filled in where it was None."""
    if kernel.lengthscale is None:
        raise ValueError("the lengthscale is not set; call kernel.start(dimension, degree)")
    return kernel.lengthscale
