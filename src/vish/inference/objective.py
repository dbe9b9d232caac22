"""The evidence as a function of everything that is learned, with its gradient.

A point is a set of `Hyperparameters`: the relevance, the kernel, the noise of every target
and the parameters of the target's warp. `Objective` packs those that are free into a vector
with bounds and weak priors, and answers value and gradient for an optimiser.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vish.inference.solution import Solution, SolutionBySums, has_few_rows
from vish.inference.solution_by_rows import SolutionByRows
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.sphere.levels import level_sizes
from vish.sphere.projection import Projection

NOISE_BOUNDS = (1e-7, 1e2)
_LARGEST_RELEVANCE, _SMALLEST_RELEVANCE = 30.0, 1e-4
_LARGEST_LATENT_VARIANCE = 1e3
_STIFFNESS_OF_NOISE = 5.0
# Weak priors (standard deviations): they decide only where the data do not.
_LOG_RELEVANCE_SPREAD, _RELEVANCE_SPREAD, _LOG_VARIANCE_SPREAD = 3.0, 2.0, 5.0


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Everything that is learned but the weights of the harmonics."""

    relevance: np.ndarray  # [D] or [p, D]
    kernel: Any
    noise: np.ndarray  # [T], in units of the standardised (and warped) targets
    warp: Any = None
    tied: bool = False  # whether the relevance moves as a whole, by one factor

    @property
    def dimension(self) -> int:
        return len(self.relevance) + 1

    @property
    def rank(self) -> int | None:
        """Rows of the linear map; None for a diagonal."""
        return None if self.relevance.ndim == 1 else len(self.relevance)


@dataclass(frozen=True, eq=False)
class Setting:
    """What stays fixed while hyperparameters are learned."""

    source: ArraySource  # the rows, targets in their own units; to refine, any source
    centre: np.ndarray
    scale: np.ndarray
    target_shift: np.ndarray
    target_scale: np.ndarray
    noise_kind: str  # "constant" or "radial"
    truncated: bool
    live: np.ndarray  # [D] of bool: columns that are not constant
    n_jobs: int | None = None
    learn_noise: bool = True
    known_weight: float | None = None  # of the rows, where the source cannot tell

    @cached_property
    def weight(self) -> float:
        if self.known_weight is not None:
            return self.known_weight
        weights = self.source.weights
        return float(self.source.n_rows if weights is None else weights.sum())

    @cached_property
    def kept_degrees(self) -> "Setting":
        """The same rows for the kernel of the kept degrees alone."""
        return self if self.truncated else replace(self, truncated=True)

    def geometry(self, point: Hyperparameters, degree: int) -> Geometry:
        projection = Projection(self.centre, self.scale, point.relevance)
        targets = (self.noise_kind, self.target_shift, self.target_scale)
        odd = point.kernel.is_odd and degree % 2 == 1
        return Geometry(projection, degree, *targets, warp=point.warp, odd=odd)

    def rows(self, start: int, stop: int) -> ArraySource:
        """Some of the rows (a subset is in random order)."""
        source = self.source
        weights = None if source.weights is None else source.weights[start:stop]
        return ArraySource(source.X[start:stop], source.y[start:stop], weights)

    def only_rows(self, n: int) -> "Setting":
        """The first n rows."""
        return self if n >= self.source.n_rows else replace(self, source=self.rows(0, n))

    def rolled(self, n: int) -> "Setting":
        """The same rows, the last n of them first."""
        source = self.source
        rows = np.roll(np.arange(source.n_rows), n)
        weights = None if source.weights is None else source.weights[rows]
        return replace(self, source=ArraySource(source.X[rows], source.y[rows], weights))

    def statistics(self, point: Hyperparameters, degree: int) -> Statistics:
        geometry = self.geometry(point, degree)
        return Statistics.of_source(geometry, self.source, self.n_jobs)


def log_prior_of_kernel(kernel) -> tuple[float, np.ndarray]:
    """Weak prior on the log of every variance of the kernel, and its gradient."""
    variances = np.array(["variance" in name for name in kernel.parameter_names], dtype=bool)
    deviation = np.where(variances, kernel.log_parameters, 0.0)
    value = -float(np.sum(deviation**2)) / (2 * _LOG_VARIANCE_SPREAD**2)
    return value, -deviation / _LOG_VARIANCE_SPREAD**2


def bounds_of_kernel(kernel, latent: bool) -> np.ndarray:
    """Bounds of the kernel's log parameters.  [P, 2]

    Log-odds or log-rates with a standard deviation of 30 are as good as certain; there, a
    larger variance only makes the variance of f lose its digits.
    """
    bounds = np.array(kernel.log_bounds)
    if latent:
        variances = ["variance" in name for name in kernel.parameter_names]
        bounds[variances, 1] = np.minimum(bounds[variances, 1], np.log(_LARGEST_LATENT_VARIANCE))
    return bounds


class Objective:
    """Negative log posterior density per row, as a function of a vector.

    Parameters
    ----------
    setting : Setting
    start : Hyperparameters
        Gives the values that are not learned, and the shape of those that are.
    degree : int
    learn_relevance, learn_rest : bool
        What is free: the relevance; kernel, noise and warp.
    """

    def __init__(
        self,
        setting: Setting,
        start: Hyperparameters,
        degree: int,
        learn_relevance: bool = True,
        learn_rest: bool = True,
    ) -> None:
        self.setting, self.start, self.degree = setting, start, degree
        self._relevance = learn_relevance and bool(setting.live.any())
        self._rest = learn_rest
        self._diagonal = start.relevance.ndim == 1
        self._typical = 1 / np.sqrt(max(1, setting.live.sum()))

    # ---- vectors and points

    def pack(self, point: Hyperparameters) -> np.ndarray:
        parts: list[np.ndarray] = []
        if self._relevance and self.start.tied:
            parts.append(np.array([self._log_size(point)]))
        elif self._relevance:
            free = point.relevance[..., self.setting.live]
            parts.append(np.log(np.abs(free)) if self._diagonal else free.ravel())
        if self._rest:
            parts.append(point.kernel.log_parameters)
            if self.setting.learn_noise:
                parts.append(np.log(point.noise))
            if point.warp is not None:
                parts.append(point.warp.parameters)
        return np.concatenate(parts) if parts else np.empty(0)

    def unpack(self, vector: np.ndarray) -> Hyperparameters:
        point, place = self.start, 0

        def take(n: int) -> np.ndarray:
            nonlocal place
            place += n
            return vector[place - n : place]

        if self._relevance and self.start.tied:
            factor = np.exp(take(1) - self._log_size(point))
            point = replace(point, relevance=factor * point.relevance)
        elif self._relevance:
            relevance = np.zeros(point.relevance.shape)
            free = relevance[..., self.setting.live]
            values = take(free.size).reshape(free.shape)
            relevance[..., self.setting.live] = np.exp(values) if self._diagonal else values
            point = replace(point, relevance=relevance)
        if self._rest:
            kernel = point.kernel.with_log_parameters(take(len(point.kernel.log_parameters)))
            point = replace(point, kernel=kernel)
            if self.setting.learn_noise:
                point = replace(point, noise=np.exp(take(len(point.noise))))
            if point.warp is not None:
                warp = point.warp.with_parameters(take(len(point.warp.parameters)))
                point = replace(point, warp=warp)
        return point

    @cached_property
    def bounds(self) -> np.ndarray:
        parts: list[np.ndarray] = []
        if self._relevance:
            free = 1 if self.start.tied else self.start.relevance[..., self.setting.live].size
            limits = (
                np.log([_SMALLEST_RELEVANCE, _LARGEST_RELEVANCE])
                if self._diagonal or self.start.tied
                else np.array([-_LARGEST_RELEVANCE, _LARGEST_RELEVANCE])
            )
            parts.append(np.tile(limits, (free, 1)))
        if self._rest:
            parts.append(bounds_of_kernel(self.start.kernel, not self.setting.learn_noise))
            if self.setting.learn_noise:
                parts.append(np.tile(np.log(NOISE_BOUNDS), (len(self.start.noise), 1)))
            if self.start.warp is not None:
                parts.append(self.start.warp.bounds)
        return np.vstack(parts)

    @property
    def in_logs(self) -> bool:
        """Whether steps are relative; those of a linear map are not."""
        return not self._relevance or self._diagonal or self.start.tied

    @cached_property
    def stiffness(self) -> np.ndarray:
        """How fast the density falls along each number, roughly, beside the others.  [P]

        Every row tells the noise, few the other logs: a step that suits the noise hardly moves
        them.
        """
        scales = np.ones(len(self.bounds))
        if self.in_logs and self._rest and self.setting.learn_noise:
            n_warp = 0 if self.start.warp is None else len(self.start.warp.bounds)
            stop = len(scales) - n_warp
            scales[stop - len(self.start.noise) : stop] = _STIFFNESS_OF_NOISE
        return scales

    def _log_size(self, point: Hyperparameters) -> float:
        """Log of the root mean square of the relevances."""
        return float(np.log(np.mean(point.relevance[..., self.setting.live] ** 2)) / 2)

    # ---- value and gradient

    def solve(self, point: Hyperparameters) -> tuple[Solution, np.ndarray]:
        """The regression at a point, and the gradient of its log spectrum in the kernel."""
        setting = self.setting
        log_spectrum, jacobian = point.kernel.log_spectrum_and_gradient(
            point.dimension, self.degree, truncated=setting.truncated
        )
        given = (setting.source, log_spectrum, point.noise, setting.n_jobs)
        sizes = level_sizes(point.dimension, self.degree)
        if has_few_rows(setting.source, int(sizes[log_spectrum[:-1] > -np.inf].sum())):
            return SolutionByRows(setting.geometry(point, self.degree), *given), jacobian
        return SolutionBySums.of(self._statistics(point), *given), jacobian

    def _statistics(self, point: Hyperparameters) -> Statistics:
        """The rows are read again only if the map or the warp moved."""
        if point.relevance is self.start.relevance and point.warp is self.start.warp:
            return self._statistics_of_start
        return self.setting.statistics(point, self.degree)

    @cached_property
    def _statistics_of_start(self) -> Statistics:
        return self.setting.statistics(self.start, self.degree)

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Negative log density per row, and its gradient."""
        point, setting = self.unpack(vector), self.setting
        solution, jacobian = self.solve(point)
        value, parts = solution.value, []
        if self._relevance:
            free = point.relevance[..., setting.live]
            gradient = solution.relevance_gradient()[..., setting.live]
            if point.tied:
                deviation = self._log_size(point) - np.log(self._typical)
                value -= deviation**2 / (2 * _LOG_RELEVANCE_SPREAD**2)
                gradient = np.sum(gradient * free) - deviation / _LOG_RELEVANCE_SPREAD**2
            elif self._diagonal:
                deviation = np.log(free / self._typical)
                value -= np.sum(deviation**2) / (2 * _LOG_RELEVANCE_SPREAD**2)
                gradient = gradient * free - deviation / _LOG_RELEVANCE_SPREAD**2
            else:
                value -= np.sum(free**2) / (2 * _RELEVANCE_SPREAD**2)
                gradient = gradient - free / _RELEVANCE_SPREAD**2
            parts.append(gradient.ravel())
        if self._rest:
            prior, slope = log_prior_of_kernel(point.kernel)
            value += prior
            parts.append(jacobian.T @ solution.d_log_spectrum + slope)
            if setting.learn_noise:
                parts.append(solution.d_log_noise)
            if point.warp is not None:
                parts.append(self._warp_gradient(point, solution))
        n = self.setting.weight
        return -value / n, -np.concatenate(parts) / n

    def _warp_gradient(self, point: Hyperparameters, solution: Solution) -> np.ndarray:
        """dE/d(parameters of the warp).

        E depends on the warped targets z by dE/dz = -(z - psi . mu) / tau2, and on the
        warp's slope by sum log |dz/dy|.
        """
        source, geometry = self.setting.source, solution.geometry
        omega = np.ones(source.n_rows) if source.weights is None else source.weights
        mean = solution.moments(source.X, False).mean  # [n, T]
        slope = -(geometry.standardise(source.y).T - mean) / point.noise
        if geometry.noise == "radial":
            _, radii = geometry.projection.project(source.X)
            slope = slope / radii[:, None] ** 2
        standard = (source.y - geometry.target_shift) / geometry.target_scale
        d_z, d_log_slope = point.warp.parameter_gradients(standard)  # [P, n, T] each
        return np.einsum("n,pnt->p", omega, slope * d_z + d_log_slope)
