"""What every kernel answers: a spectrum, its tail, its values and its parameters.

A zonal kernel on S^{d-1} is a sequence of levels,

.. math:: k(\\xi, \\xi') = \\sum_l a_l N(d, l) P_l(\\xi \\cdot \\xi'),

and everything the inference needs is log a_0 ... log a_L, the log of the tail variance
:math:`\\delta = \\sum_{l>L} a_l N(d, l)`, and their gradients.
"""

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np

from vish.kernels import checks
from vish.kernels.gegenbauer import mercer_sum, reduced_mercer_sum
from vish.kernels.levels import log_sum
from vish.sphere.levels import level_sizes, log_level_sizes
from vish.sphere.validation import check_degree, check_dimension

_FULL_DEGREES = 4096  # where a Mercer sum that does not converge is cut


class Kernel(ABC):
    """A zonal kernel. Use one of the kernels, or subclass `LevelKernel` for your own.

    Examples
    --------
    >>> from vish.kernels import Kernel, Matern
    >>> kernel = Matern(1.5) + Matern(0.5)
    >>> isinstance(kernel, Kernel)
    True
    >>> kernel.spectrum(dimension=3, degree=4).shape
    (5,)
    """

    learned: ClassVar[tuple[str, ...]] = ("variance",)
    bounds: ClassVar[dict[str, tuple[float, float]]] = {
        "variance": (1e-6, 1e5),
        "lengthscale": (1e-3, 1e2),
    }

    @abstractmethod
    def log_spectrum_and_gradient(self, dimension, degree, *, truncated=False):
        """Log a_0 ... log a_L and log tail, with the gradient in the log parameters.

        Returns
        -------
        values : ndarray of shape (degree + 2,)
            The last entry is the log of the tail: -inf if there is none, or `truncated`.
        jacobian : ndarray of shape (degree + 2, P)
            Zero in the rows whose value is -inf.
        """

    def spectrum(self, dimension, degree, *, truncated=False):
        """Prior variance a_l of one harmonic of each degree 0 to `degree`.

        Parameters
        ----------
        dimension : int
            Ambient dimension d; inputs plus one.
        degree : int
            Largest degree L.
        truncated : bool
            Whether the kept degrees alone share the variance,
            sum_{l<=L} a_l N(d,l) = variance, or all degrees to infinity do (default).

        Returns
        -------
        ndarray of shape (degree + 1,)
        """
        return np.exp(self._log_spectrum(dimension, degree, truncated)[:-1])

    def tail(self, dimension, degree):
        """Variance beyond `degree`: the sum over l > L of a_l N(d, l)."""
        return float(np.exp(self._log_spectrum(dimension, degree, False)[-1]))

    def evaluate(self, cosines, dimension, degree=None):
        """Kernel values at the given cosines.

        Parameters
        ----------
        cosines : array_like
            Inner products of unit vectors, in [-1, 1].
        dimension : int
            Ambient dimension d.
        degree : int, optional
            Cut the Mercer sum at this degree (the variance still belongs to all
            degrees); by default the full kernel: its closed form, or the Mercer sum
            to convergence. Where that is slow (Matern with nu = 0.5) values within
            0.01 radian of cosine 1 are good to about 1e-3, others to 1e-8.
        """
        dimension, cosines = check_dimension(dimension), checks.cosines(cosines)
        if degree is None:
            return self._evaluate_full(cosines, dimension)
        degree = check_degree(degree)
        return mercer_sum(self._level_variances(dimension, degree), cosines, dimension)

    @property
    def parameter_names(self):
        """Names of the P learnable parameters."""
        return self.learned

    @property
    def log_parameters(self):
        """Logarithms of the learnable parameters.  [P]"""
        values = [getattr(self, name) for name in self.learned]
        if any(value is None for value in values):
            missing = self.learned[values.index(None)]
            raise ValueError(
                f"{type(self).__name__}: {missing} is not set; give it, or call "
                "kernel.start(dimension, degree) for a starting value"
            )
        return np.log(np.array(values, dtype=np.float64))

    @property
    def log_bounds(self):
        """Bounds of `log_parameters` for an optimiser.  [P, 2]"""
        everything = {**Kernel.bounds, **self.bounds}
        return np.log([everything.get(name, (1e-6, 1e6)) for name in self.learned])

    def with_log_parameters(self, log_parameters):
        """The same kernel with other learnable parameters."""
        theta = np.asarray(log_parameters, dtype=np.float64)
        if theta.shape != (len(self.learned),):
            raise ValueError(
                f"{type(self).__name__} has the {len(self.learned)} log parameters "
                f"{self.learned}, got an array of shape {theta.shape}"
            )
        values = dict(zip(self.learned, np.exp(theta).tolist(), strict=True))
        return replace(self, **values)  # type: ignore[type-var]

    def start(self, dimension, degree):
        """The kernel with a starting value for each parameter that is None."""
        return self

    @property
    def is_odd(self):
        """Whether no even degree has any variance, in whatever dimension."""
        return False

    def without_lengthscale(self):
        """The kernel with its lengthscale forgotten: what it means depends on the dimension."""
        return replace(self, lengthscale=None) if hasattr(self, "lengthscale") else self  # type: ignore[type-var]

    def has_levels(self, dimension, degree):
        """Whether each degree 0 to `degree` has any variance.  -> [L+1] of bool"""
        started = self.start(dimension, degree)
        return started._log_spectrum(dimension, degree, True)[:-1] > -np.inf

    def n_harmonics(self, dimension, degree):
        """How many harmonics up to the degree have any variance.

        Examples
        --------
        >>> from vish.kernels import ArcCosine, Matern
        >>> Matern(1.5).n_harmonics(dimension=9, degree=4)
        660
        >>> ArcCosine(1).n_harmonics(dimension=9, degree=4)  # it has no degree 3
        504
        """
        return int(level_sizes(dimension, degree)[self.has_levels(dimension, degree)].sum())

    def freeze(self, dimension, degree):
        """The kernel as numbers: a `FixedSpectrum` for one dimension and degree."""
        from vish.kernels.fixed import FixedSpectrum

        levels = self._level_variances(dimension, degree)
        rest = self.tail(dimension, degree)
        total = float(levels.sum() + rest)
        return FixedSpectrum(dimension, tuple(levels / total), rest / total, total)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values from which `from_dict` makes the kernel again."""
        from vish.kernels.storage import require_storable

        require_storable(self)
        stored = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        lists = {k: list(v) if isinstance(v, tuple) else v for k, v in stored.items()}
        return {"kernel": type(self).__name__, **lists}

    def __add__(self, other):
        from vish.kernels.sums import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((self, other))

    def _log_spectrum(self, dimension, degree, truncated):
        return self.log_spectrum_and_gradient(dimension, degree, truncated=truncated)[0]

    def _level_variances(self, dimension, degree):
        """a_l N(d, l), the variance of each whole level."""
        log_values = self._log_spectrum(dimension, degree, False)[:-1]
        return np.exp(log_values + log_level_sizes(dimension, degree))

    def _evaluate_full(self, cosines, dimension):
        """Mercer sum to convergence, with slow series reduced away from cosine 1."""
        degree = 32
        while (rest := self.tail(dimension, degree)) > 0 and degree < _FULL_DEGREES:
            levels = self._level_variances(dimension, degree)
            if rest <= 1e-15 * levels.sum():
                break
            degree *= 2
        levels = self._level_variances(dimension, degree)
        variance = levels.sum() + rest
        values = mercer_sum(levels, cosines, dimension)
        if rest > 1e-14 * variance:
            for reductions, least in ((1, 1e-6), (2, 1e-3)):
                far = 1 - cosines > least
                reduced = reduced_mercer_sum(levels, cosines[far], dimension, reductions)
                values[far] = reduced
        return np.where(cosines == 1, variance, values)


class ScaledKernel(Kernel):
    """A kernel that is a variance times a unit shape; it gives `unit_log_spectrum`."""

    variance: float

    @abstractmethod
    def unit_log_spectrum(self, dimension, degree):
        """Log levels, log tail and their gradient at variance 1, shared by all degrees.

        Returns
        -------
        values : ndarray of shape (degree + 2,)
        jacobian : ndarray of shape (degree + 2, P - 1)
            In the log of each of `learned` but the last, which is the variance.
        """

    def log_spectrum_and_gradient(self, dimension, degree, *, truncated=False):
        dimension, degree = check_dimension(dimension), check_degree(degree)
        values, jacobian = self.unit_log_spectrum(dimension, degree)
        if truncated:
            # Divide by the kept variance T: d log T is the mean of d log a_l under
            # the shares of the levels.
            log_levels = values[:-1] + log_level_sizes(dimension, degree)
            log_total = log_sum(log_levels)
            if log_total == -np.inf:
                raise ValueError(
                    f"{self!r} has no variance up to degree {degree} in dimension "
                    f"{dimension}; raise the degree"
                )
            mean = np.exp(log_levels - log_total) @ jacobian[:-1]
            values, jacobian = values - log_total, jacobian - mean
            values[-1] = -np.inf
        present = values > -np.inf
        jacobian = np.column_stack([jacobian, np.ones(degree + 2)]) * present[:, None]
        return values + np.log(self.variance), jacobian
