"""The prior of the weights: a kernel up to a degree, and what lies beyond.

It is all that the Gaussian model and the model with sites have to do with the kernel.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vish.inference.statistics import Geometry


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent weights, with variance a_l at degree l.

    Parameters
    ----------
    kernel : Kernel
    dimension, degree : int
    truncated : bool
        Whether the kernel ends at the degree; else it has a tail.
    """

    kernel: Any
    dimension: int
    degree: int
    truncated: bool

    @classmethod
    def of(cls, kernel: Any, geometry: Geometry, truncated: bool) -> "Prior":
        return cls(kernel, geometry.projection.dimension, geometry.degree, truncated)

    @cached_property
    def _log_spectrum_and_gradient(self) -> tuple[np.ndarray, np.ndarray]:
        return self.kernel.log_spectrum_and_gradient(
            self.dimension, self.degree, truncated=self.truncated
        )

    @property
    def log_spectrum(self) -> np.ndarray:
        """log a_0 .. log a_L, and of the tail.  [L+2]"""
        return self._log_spectrum_and_gradient[0]

    @property
    def jacobian(self) -> np.ndarray:
        """Of the log spectrum, in the log parameters of the kernel.  [L+2, P]"""
        return self._log_spectrum_and_gradient[1]

    @cached_property
    def spectrum(self) -> np.ndarray:
        """a_0 .. a_L.  [L+1]"""
        return self.kernel.spectrum(self.dimension, self.degree, truncated=self.truncated)

    @property
    def tail(self) -> float:
        """Variance beyond the degree."""
        return float(np.exp(self.log_spectrum[-1]))

    @property
    def n_harmonics(self) -> int:
        """Those with variance."""
        return self.kernel.n_harmonics(self.dimension, self.degree)

    def scales(self, degrees: np.ndarray) -> np.ndarray:
        """Standard deviations of the weights of harmonics with these degrees.  [M] -> [M]"""
        return np.sqrt(np.exp(self.log_spectrum[:-1]))[degrees]

    def at(self, log_parameters: np.ndarray) -> "Prior":
        """The same prior with other parameters of the kernel."""
        return replace(self, kernel=self.kernel.with_log_parameters(log_parameters))
