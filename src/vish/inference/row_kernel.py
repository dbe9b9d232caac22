r"""The kernel matrix of rows, by the addition theorem.

The harmonics of a degree sum up to a zonal function, so that the prior covariance of f at rows
on the sphere is :math:`k_{ij} = \sum_l a_l N_l P_l(\xi_i \cdot \xi_j)`, and that of f itself
:math:`r_i r_j k_{ij}`. No harmonic is ever evaluated.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vish.inference.statistics import Geometry
from vish.sphere.levels import log_level_sizes
from vish.sphere.zonal_sums import cosines_of_pairs, zonal_values


@dataclass(frozen=True, eq=False)
class RowKernel:
    """Rows on the sphere, and the covariance of f between them.

    Parameters
    ----------
    geometry : Geometry
    log_spectrum : array of shape (L + 2,)
        Of the prior (`vish.inference.prior`).
    X : array of shape (n, D)
    """

    geometry: Geometry
    log_spectrum: np.ndarray
    X: np.ndarray
    n_jobs: int | None = None

    @cached_property
    def projected(self) -> tuple[np.ndarray, np.ndarray]:
        """Directions and radii.  [d, n], [n]"""
        return self.geometry.projection.project_chunk(self.X)

    @cached_property
    def level_variances(self) -> np.ndarray:
        """a_l N_l.  [L+1]"""
        sizes = log_level_sizes(self.geometry.projection.dimension, self.geometry.degree)
        return np.exp(self.log_spectrum[:-1] + sizes)

    @property
    def tail(self) -> float:
        """Variance beyond the degree."""
        return float(np.exp(self.log_spectrum[-1]))

    @cached_property
    def cosines(self) -> np.ndarray:
        """xi_i . xi_j.  [n, n]"""
        return cosines_of_pairs(self.projected[0])

    @cached_property
    def on_sphere(self) -> np.ndarray:
        """k.  [n, n]"""
        return self._zonal(self.cosines)

    def between(self, points: np.ndarray) -> np.ndarray:
        """k between other directions and the rows.  [d, m] -> [m, n]"""
        return self._zonal(np.ascontiguousarray(points.T @ self.projected[0]))

    def _zonal(self, cosines: np.ndarray) -> np.ndarray:
        dimension = self.geometry.projection.dimension
        return zonal_values(cosines, self.level_variances, dimension, self.n_jobs)
