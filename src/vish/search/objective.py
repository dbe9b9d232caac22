"""The evidence as a function of everything that is learned, with its gradient.

`Objective` packs what is free of a point (map, kernel, noise of every target, warp) into a vector
with bounds and weak priors, and answers value and gradient for an optimiser.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from vish.inference.gaussian import NOISE_BOUNDS
from vish.inference.solution import Solution, SolutionBySums, has_few_rows
from vish.inference.solution_by_rows import SolutionByRows
from vish.inference.statistics import Statistics
from vish.search.problem import Hyperparameters, Problem
from vish.sphere.levels import level_sizes

_STIFFNESS_OF_NOISE = 5.0  # every row tells the noise, few the other logs


class Objective:
    """Negative log posterior density per row, as a function of a vector.

    Parameters
    ----------
    problem : Problem
    start : Hyperparameters
        Gives the values that are not learned, and the shape of those that are.
    degree : int
    learn_relevance : bool
        Whether the map is free, or only kernel, noise and warp.
    """

    def __init__(
        self,
        problem: Problem,
        start: Hyperparameters,
        degree: int,
        learn_relevance: bool = True,
    ) -> None:
        self.problem, self.degree = problem, degree
        self.start = start.at_degree(degree)
        self._relevance = learn_relevance and bool(problem.live.any())
        parts = self._split(len(self.bounds))
        self.latest: tuple[np.ndarray, Solution] | None = None  # vector and what was solved there
        self._places = dict(zip(("relevance", "kernel", "noise", "warp"), parts, strict=True))

    # ---- vectors and points

    def _sizes(self) -> list[int]:
        """Of relevance, kernel, noise and warp in the vector."""
        start = self.start
        return [
            len(start.relevance.bounds) if self._relevance else 0,
            len(start.kernel.log_parameters),
            len(start.noise) if self.problem.learn_noise else 0,
            0 if start.warp is None else len(start.warp.parameters),
        ]

    def _split(self, n: int) -> list[np.ndarray]:
        return np.split(np.arange(n), np.cumsum(self._sizes())[:-1])

    def pack(self, point: Hyperparameters) -> np.ndarray:
        """Free numbers of a point.  [P]"""
        parts = [
            point.relevance.pack(),
            point.kernel.log_parameters,
            np.log(point.noise),
            () if point.warp is None else point.warp.parameters,
        ]
        return np.concatenate(
            [part for part, n in zip(parts, self._sizes(), strict=True) if n] or [np.zeros(0)]
        )

    def unpack(self, vector: np.ndarray) -> Hyperparameters:
        """The point of a vector."""
        of, point = {name: vector[place] for name, place in self._places.items()}, self.start
        point = replace(point, kernel=point.kernel.with_log_parameters(of["kernel"]))
        if len(of["relevance"]):
            point = replace(point, relevance=point.relevance.unpack(of["relevance"]))
        if len(of["noise"]):
            point = replace(point, noise=np.exp(of["noise"]))
        if point.warp is not None:
            point = replace(point, warp=point.warp.with_parameters(of["warp"]))
        return point

    @cached_property
    def bounds(self) -> np.ndarray:
        """[P, 2]"""
        start, latent = self.start, not self.problem.learn_noise
        parts = [
            start.relevance.bounds,
            start.kernel.log_bounds_of_latent if latent else start.kernel.log_bounds,
            np.tile(np.log(NOISE_BOUNDS), (len(start.noise), 1)),
            np.zeros((0, 2)) if start.warp is None else start.warp.bounds,
        ]
        kept = [part for part, n in zip(parts, self._sizes(), strict=True) if n]
        return np.vstack(kept) if kept else np.zeros((0, 2))

    @property
    def in_logs(self) -> bool:
        """Whether all steps are relative; those of a linear map are not."""
        return not self._relevance or self.start.relevance.in_logs

    @cached_property
    def stiffness(self) -> np.ndarray:
        """How fast the density falls along each number, roughly, beside the others.  [P]"""
        scales = np.ones(len(self.bounds))
        if self.in_logs:
            scales[self._places["noise"]] = _STIFFNESS_OF_NOISE
        return scales

    @property
    def n_harmonics(self) -> int:
        return self.start.n_harmonics(self.degree)

    # ---- value and gradient

    def solve(self, point: Hyperparameters) -> tuple[Solution, np.ndarray]:
        """The regression at a point, and the gradient of its log spectrum in the kernel."""
        problem = self.problem
        log_spectrum, jacobian = point.kernel.log_spectrum_and_gradient(
            point.dimension, self.degree, truncated=problem.truncated
        )
        given = (problem.source, log_spectrum, point.noise, problem.n_jobs)
        sizes = level_sizes(point.dimension, self.degree)
        if has_few_rows(problem.source, int(sizes[log_spectrum[:-1] > -np.inf].sum())):
            return SolutionByRows(problem.geometry(point, self.degree), *given), jacobian
        return SolutionBySums.of(self._statistics(point), *given), jacobian

    def _statistics(self, point: Hyperparameters) -> Statistics:
        """The rows are read again only if the map or the warp moved."""
        if point.relevance is self.start.relevance and point.warp is self.start.warp:
            return self._statistics_of_start
        return self.problem.statistics(point, self.degree)

    @cached_property
    def _statistics_of_start(self) -> Statistics:
        return self.problem.statistics(self.start, self.degree)

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Negative log density per row, and its gradient."""
        point = self.unpack(vector)
        solution, jacobian = self.solve(point)
        self.latest = vector.copy(), solution
        value, slope = point.kernel.log_prior()
        value += solution.value
        gradient = np.empty(len(vector))
        gradient[self._places["kernel"]] = jacobian.T @ solution.d_log_spectrum + slope
        if self._relevance:
            prior, slope = point.relevance.log_prior()
            value += prior
            pulled = point.relevance.pull_back(solution.relevance_gradient())
            gradient[self._places["relevance"]] = pulled + slope
        if self.problem.learn_noise:
            gradient[self._places["noise"]] = solution.d_log_noise
        if point.warp is not None:
            gradient[self._places["warp"]] = self._warp_gradient(point, solution)
        n = self.problem.weight
        return -value / n, -gradient / n

    def solution_at(self, vector: np.ndarray) -> Solution:
        """What was solved there last, or anew."""
        if self.latest is not None and np.array_equal(self.latest[0], vector):
            return self.latest[1]
        return self.solve(self.unpack(vector))[0]

    def _warp_gradient(self, point: Hyperparameters, solution: Solution) -> np.ndarray:
        """dE/d(parameters of the warp).

        E depends on the warped targets z by dE/dz = -(z - psi . mu) / tau2, and on the
        warp's slope by sum log |dz/dy|.
        """
        source, geometry = self.problem.source, solution.geometry
        omega = np.ones(source.n_rows) if source.weights is None else source.weights
        mean = solution.moments(source.X, False).mean  # [n, T]
        slope = -(geometry.standardise(source.y).T - mean) / point.noise
        if geometry.noise == "radial":
            _, radii = geometry.projection.project(source.X)
            slope = slope / radii[:, None] ** 2
        standard = (source.y - geometry.target_shift) / geometry.target_scale
        d_z, d_log_slope = point.warp.parameter_gradients(standard)  # [P, n, T] each
        return np.einsum("n,pnt->p", omega, slope * d_z + d_log_slope)
