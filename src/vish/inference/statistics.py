r"""All that a Gaussian model keeps of the rows.

For rows with weight :math:`\omega`, in the units of the geometry (below),

.. math::

    G = \sum \omega \psi \psi^\top, \quad b = \sum \omega y \psi, \quad
    \sum \omega y^2, \quad \sum \omega \log r, \quad \sum \omega

with :math:`\psi = r \phi(\xi)` for constant noise; radial noise has :math:`\psi = \phi(\xi)` and
:math:`y / r` in place of y. They are sums over rows: statistics add, subtract and merge.
G is kept as the engine's vector of moments, not as a matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from vish.inference.passes import total
from vish.inference.sources import Chunk, RowSource
from vish.sphere.engines import Engine, choose_engine
from vish.sphere.projection import Projection


@dataclass(frozen=True, eq=False)
class Geometry:
    """How a row becomes a term of the sums; fixed before the first row is read.

    Parameters
    ----------
    projection : Projection
        Rows to directions and radii.
    degree : int
        Largest degree L.
    noise : {"constant", "radial"}
        Whether the noise has one standard deviation, or one proportional to the radius.
    target_shift, target_scale : array of shape (T,)
        Targets enter as (y - shift) / scale. The shift keeps the digits of sum y^2; the
        exact centring comes later, from the statistics.
    route : {"auto", "moments", "features"}
        The engine that sums.
    warp : optional
        A monotone map of the standardised targets, with `forward` and `log_slope`.
    odd : bool
        Whether there are harmonics of odd degree only; L is odd then.
    """

    projection: Projection
    degree: int
    noise: str
    target_shift: np.ndarray
    target_scale: np.ndarray
    route: str = "auto"
    warp: Any = None
    odd: bool = False

    @property
    def n_targets(self) -> int:
        return len(self.target_shift)

    @cached_property
    def engine(self) -> Engine:
        return choose_engine(self.projection.dimension, self.degree, self.route, self.odd)

    def standardise(self, y: np.ndarray) -> np.ndarray:
        """Targets in the units of the sums, by target.  [n, T] -> [T, n]"""
        y = ((y - self.target_shift) / self.target_scale).T
        return np.ascontiguousarray(y if self.warp is None else self.warp.forward(y))

    def log_slope(self, y: np.ndarray) -> np.ndarray | float:
        """log |dz/dy| of the warp, summed over targets.  [n, T] -> [n]"""
        if self.warp is None:
            return 0.0
        return self.warp.log_slope((y - self.target_shift) / self.target_scale).sum(axis=1)

    def __getstate__(self) -> dict:
        """Travels without its engine, which every process builds for itself."""
        return {name: value for name, value in vars(self).items() if name != "engine"}

    def mismatch(self, other: "Geometry") -> str | None:
        """What differs between two geometries whose statistics are to be added."""
        if self is other:
            return None
        pairs = {
            "relevance": (self.projection.relevance, other.projection.relevance),
            "centre": (self.projection.centre, other.projection.centre),
            "scale": (self.projection.scale, other.projection.scale),
            "degree": (self.degree, other.degree),
            "parity of the harmonics": (self.odd, other.odd),
            "noise": (self.noise, other.noise),
            "shift of the target": (self.target_shift, other.target_shift),
            "scale of the target": (self.target_scale, other.target_scale),
            "warp": (self.warp, other.warp),
            "engine": (self.engine.name, other.engine.name),
        }
        return next((name for name, (a, b) in pairs.items() if not np.array_equal(a, b)), None)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over rows, in the units of a geometry. Immutable; `+` and `-` give new ones."""

    geometry: Geometry
    moments: np.ndarray  # [engine.size], stands for G
    cross: np.ndarray  # [M, T], stands for b
    squares: np.ndarray  # [T], sum omega y^2
    log_radii: float  # sum omega log r
    weight: float  # sum omega
    n_rows: int
    log_slopes: float = 0.0  # sum omega log |dz/dy| of the warp

    @classmethod
    def zero(cls, geometry: Geometry) -> "Statistics":
        engine, T = geometry.engine, geometry.n_targets
        moments, cross = np.zeros(engine.size), np.zeros((engine.n_harmonics, T))
        return cls(geometry, moments, cross, np.zeros(T), 0.0, 0.0, 0)

    @classmethod
    def of_chunk(cls, geometry: Geometry, chunk: Chunk) -> "Statistics":
        """The sums of one chunk of rows."""
        points, radii = geometry.projection.project_chunk(chunk.X)
        y = geometry.standardise(chunk.y)
        omega = np.ones(len(radii)) if chunk.weights is None else chunk.weights.astype(float)
        if geometry.noise == "radial":
            weights, targets, y = omega, omega * y / radii, y / radii
        else:
            weights, targets = omega * radii**2, omega * y * radii
        moments, cross = geometry.engine.accumulate(points, weights, targets)
        return cls(
            geometry,
            moments,
            cross,
            np.einsum("n,tn,tn->t", omega, y, y),
            float(omega @ np.log(radii)),
            float(omega.sum()),
            len(radii),
            float(np.sum(omega * geometry.log_slope(chunk.y))),
        )

    @classmethod
    def of_source(
        cls,
        geometry: Geometry,
        source: RowSource,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> "Statistics":
        """The sums of all rows of a source, read once, the same bits for any n_jobs.

        `progress` is told the number of rows of each chunk done.
        """
        result = total(source, partial(cls.of_chunk, geometry), n_jobs, progress)
        return cls.zero(geometry) if result is None else result

    def _combine(self, other: "Statistics", sign: int) -> "Statistics":
        difference = self.geometry.mismatch(other.geometry)
        if difference is not None:
            raise ValueError(
                f"these statistics cannot be combined: they differ in {difference}; "
                "make the second model with empty_like() of the first"
            )
        return Statistics(
            self.geometry,
            self.moments + sign * other.moments,
            self.cross + sign * other.cross,
            self.squares + sign * other.squares,
            self.log_radii + sign * other.log_radii,
            self.weight + sign * other.weight,
            self.n_rows + sign * other.n_rows,
            self.log_slopes + sign * other.log_slopes,
        )

    def __add__(self, other: "Statistics") -> "Statistics":
        return self._combine(other, 1)

    def __sub__(self, other: "Statistics") -> "Statistics":
        return self._combine(other, -1)

    @cached_property
    def normal_equations(self) -> "NormalEquations":
        """G, b and the rest in the basis of harmonics."""
        engine = self.geometry.engine
        gram = engine.gram(self.moments)
        radial = self.geometry.noise == "radial"
        return NormalEquations(
            gram,
            engine.cross(self.cross),
            self.squares,
            self.weight,
            engine.total_weight(gram),
            self.log_slopes - (self.geometry.n_targets * self.log_radii if radial else 0.0),
            engine.basis.degrees,
            engine.dimension,
            np.zeros(self.geometry.n_targets),
        )


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """What the evidence needs of the rows.

    `radii` is the R of the tail term: sum omega r^2 (constant noise) or sum omega (radial).
    `log_jacobian` is the log derivative of what is modelled in what was observed: of a warp,
    and of y / r in radial noise.
    """

    gram: np.ndarray  # [M, M]
    cross: np.ndarray  # [M, T]
    squares: np.ndarray  # [T]
    weight: float
    radii: float
    log_jacobian: float
    degrees: np.ndarray  # [M]
    dimension: int
    mean: np.ndarray  # [T], already subtracted from the targets

    def centred(self) -> "NormalEquations":
        """Subtract the mean of the targets after the fact.

        The constant 1 is psi_k / sqrt(d), with the harmonic sqrt(d) xi_d along the bias:
        its sums stand in a column of G. Without rows, or at degree 0, nothing changes.
        """
        k = np.searchsorted(self.degrees, 1) + (self.dimension == 2)  # where the recursion puts it
        if len(self.degrees) == 1 or self.gram[k, k] <= 0:
            return self
        root = np.sqrt(self.dimension)
        of_one = self.gram[:, k] / root  # sum omega psi
        mean = root * self.cross[k] / self.gram[k, k]
        return replace(
            self,
            cross=self.cross - of_one[:, None] * mean,
            squares=self.squares - 2 * mean * self.cross[k] / root + mean**2 * of_one[k] / root,
            mean=self.mean + mean,
        )

    def at_degree(self, degree: int) -> "NormalEquations":
        """Those of a lower degree: the leading block."""
        M = int(np.searchsorted(self.degrees, degree, side="right"))
        return replace(self, gram=self.gram[:M, :M], cross=self.cross[:M], degrees=self.degrees[:M])
