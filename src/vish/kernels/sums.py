"""Sums of kernels: levels, tails and variances add."""

from dataclasses import dataclass

import numpy as np

from vish.kernels.base import Kernel


@dataclass(frozen=True)
class Sum(Kernel):
    """Sum of independent parts, written ``k1 + k2``.

    .. math:: a_l = \\sum_i a_l^{(i)}

    Parameters
    ----------
    kernels : sequence of Kernel
        The parts; a sum among them is taken apart. Their parameters are concatenated.

    Examples
    --------
    >>> from vish.kernels import Matern, Polynomial
    >>> kernel = Matern(1.5, lengthscale=0.5) + Polynomial(degree=1)
    >>> kernel.parameter_names
    ('0.lengthscale', '0.variance', '1.variance')
    >>> kernel.evaluate([1.0], dimension=3)
    array([2.])
    """

    kernels: tuple[Kernel, ...]

    def __post_init__(self):
        parts: list[Kernel] = []
        for kernel in self.kernels:
            if not isinstance(kernel, Kernel):
                raise ValueError(
                    f"Sum: every part must be a kernel, got {kernel!r}; for a "
                    "constant add Polynomial(degree=0, variance=...)"
                )
            parts.extend(kernel.kernels if isinstance(kernel, Sum) else [kernel])
        if not parts:
            raise ValueError("Sum: there are no kernels to add; give at least one")
        object.__setattr__(self, "kernels", tuple(parts))

    @property
    def parameter_names(self):
        return tuple(
            f"{i}.{name}"
            for i, kernel in enumerate(self.kernels)
            for name in kernel.parameter_names
        )

    @property
    def log_parameters(self):
        return np.concatenate([kernel.log_parameters for kernel in self.kernels])

    @property
    def log_bounds(self):
        return np.vstack([kernel.log_bounds for kernel in self.kernels])

    def with_log_parameters(self, log_parameters):
        theta = np.asarray(log_parameters, dtype=np.float64)
        counts = [len(kernel.parameter_names) for kernel in self.kernels]
        if theta.shape != (sum(counts),):
            raise ValueError(
                f"Sum has {sum(counts)} log parameters, got an array of shape {theta.shape}"
            )
        pieces = np.split(theta, np.cumsum(counts)[:-1])
        pairs = zip(self.kernels, pieces, strict=True)
        return Sum(tuple(kernel.with_log_parameters(piece) for kernel, piece in pairs))

    def start(self, dimension, degree):
        return Sum(tuple(kernel.start(dimension, degree) for kernel in self.kernels))

    def has_levels(self, dimension, degree):
        return np.any([kernel.has_levels(dimension, degree) for kernel in self.kernels], axis=0)

    @property
    def is_odd(self):
        return all(kernel.is_odd for kernel in self.kernels)

    def without_lengthscale(self):
        return Sum(tuple(kernel.without_lengthscale() for kernel in self.kernels))

    def log_spectrum_and_gradient(self, dimension, degree, *, truncated=False):
        parts = [
            kernel.log_spectrum_and_gradient(dimension, degree, truncated=truncated)
            for kernel in self.kernels
        ]
        values = np.logaddexp.reduce([value for value, _ in parts])
        # d log(a + b) = a/(a+b) d log a + b/(a+b) d log b
        scale = np.where(values > -np.inf, values, 0.0)
        columns = [np.exp(value - scale)[:, None] * jacobian for value, jacobian in parts]
        return values, np.hstack(columns)

    def to_dict(self):
        return {"kernel": "Sum", "kernels": [kernel.to_dict() for kernel in self.kernels]}

    def _evaluate_full(self, cosines, dimension):
        values = [kernel.evaluate(cosines, dimension) for kernel in self.kernels]
        return np.sum(values, axis=0)
