"""One learned variance per degree: no shape is assumed at all."""

from dataclasses import dataclass, replace

import numpy as np

from vish.kernels import checks
from vish.kernels.base import Kernel
from vish.kernels.laplacian import Matern
from vish.sphere.levels import log_level_sizes
from vish.sphere.validation import check_degree, check_dimension

_RANGE = (1e-8, 1e8)


@dataclass(frozen=True)
class FreeSpectrum(Kernel):
    """A spectrum whose every level has its own variance.

    .. math:: a_l = v_l / N(d, l)

    so v_l is the variance of all harmonics of degree l together, and the kernel at
    cosine 1 is the sum of the v_l. Degrees without a v_l have no variance. As the v_l
    are free, nothing is rescaled when ``truncated=True``: further degrees are cut off.

    Parameters
    ----------
    variances : sequence of float, optional
        v_0, v_1, ...; by default the levels of ``Matern(1.5)`` at its start.

    Examples
    --------
    >>> kernel = FreeSpectrum([1.0, 0.6, 0.5])
    >>> kernel.spectrum(dimension=3, degree=2)
    array([1. , 0.2, 0.1])
    >>> kernel.start(dimension=3, degree=1)
    FreeSpectrum(variances=(1.0, 0.6))
    """

    variances: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.variances is None:
            return
        remedy = "one variance for each degree from 0; leave them None for a starting value"
        try:
            given = tuple(self.variances)
        except TypeError:
            given = ()
        if not given:
            raise ValueError(
                f"FreeSpectrum: variances must be a sequence, got {self.variances!r}; {remedy}"
            )
        checked = (checks.positive("FreeSpectrum", "each variance", v, remedy) for v in given)
        checks.keep(self, variances=tuple(checked))

    @property
    def parameter_names(self):
        return tuple(f"variance_{l}" for l in range(len(self._given())))

    @property
    def log_parameters(self):
        return np.log(np.array(self._given()))

    @property
    def log_bounds(self):
        return np.tile(np.log(_RANGE), (len(self._given()), 1))

    def with_log_parameters(self, log_parameters):
        theta = np.asarray(log_parameters, dtype=np.float64)
        if theta.shape != (len(self._given()),):
            raise ValueError(
                f"FreeSpectrum has {len(self._given())} log parameters, got an array of "
                f"shape {theta.shape}; kernel.start(dimension, degree) changes their number"
            )
        return FreeSpectrum(tuple(np.exp(theta).tolist()))

    def start(self, dimension, degree):
        """One variance for each degree: cut off, or continued like ``Matern(1.5)``."""
        dimension, degree = check_dimension(dimension), check_degree(degree)
        log_levels = np.log(Matern(1.5).spectrum(dimension, degree, truncated=True))
        log_levels += log_level_sizes(dimension, degree)
        known = (self.variances or ())[: degree + 1]
        if known:
            log_levels += np.log(known[-1]) - log_levels[len(known) - 1]
        new = np.clip(np.exp(log_levels[len(known) :]), *_RANGE)
        return replace(self, variances=known + tuple(new.tolist()))

    def log_spectrum_and_gradient(self, dimension, degree, *, truncated=False):
        dimension, degree = check_dimension(dimension), check_degree(degree)
        kernel = self if self.variances else self.start(dimension, degree)
        variances = np.array(kernel.variances)
        kept = min(degree + 1, len(variances))
        values = np.full(degree + 2, -np.inf)
        jacobian = np.zeros((degree + 2, len(variances)))
        values[:kept] = np.log(variances[:kept]) - log_level_sizes(dimension, kept - 1)
        jacobian[np.arange(kept), np.arange(kept)] = 1.0
        rest = variances[degree + 1 :].sum()
        if rest > 0 and not truncated:
            values[-1] = np.log(rest)
            jacobian[-1, degree + 1 :] = variances[degree + 1 :] / rest
        return values, jacobian

    def _given(self):
        if self.variances is None:
            raise ValueError(
                "FreeSpectrum: the variances are not set; give them, or call "
                "kernel.start(dimension, degree) for starting values"
            )
        return self.variances

    def _evaluate_full(self, cosines, dimension):
        return self.evaluate(cosines, dimension, len(self._given()) - 1)
