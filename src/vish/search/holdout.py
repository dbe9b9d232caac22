r"""The one criterion of every choice: the log density of rows that were held out.

Rows are set aside in folds until enough were held out in all (where none can be, the evidence
stands in). What a choice between maps or
degrees needs is learned without the fold, and the density of the fold decides.

What the weights of the harmonics cost falls with the rows: with leverages
:math:`h = \omega v / \tau^2`, v the variance of f at a row, :math:`\sum h / 2n` of log density per
row. So the density to expect once N rows like these n are learned from is higher by
:math:`\tfrac12 \sum h\,(1/n - 1/N)`: with many rows to come, a larger basis pays.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vish.inference.solution import Solution
from vish.inference.sources import ArraySource
from vish.search.objective import Objective
from vish.search.policy import SearchPolicy
from vish.search.problem import Hyperparameters, Problem


def folds(problem: Problem, policy: SearchPolicy) -> Iterator[tuple[Problem, ArraySource]]:
    """Rows to learn from, and rows held out, until enough were held out in all."""
    n = problem.source.n_rows
    # Very few cannot be spared; nor do first sites, vague as they are, tell what others would be.
    if n < policy.least_rows or not problem.learn_noise:
        yield problem, problem.some(slice(0)).source
        return
    n_held = int(policy.held_share * n)
    most = round(1 / policy.held_share)
    for fold in range(min(most, -(-policy.held_rows // max(1, n_held)))):
        held = np.zeros(n, dtype=bool)
        held[fold * n_held : (fold + 1) * n_held] = True
        yield problem.some(~held), problem.some(held).source


class Losses(NamedTuple):
    """Of rows held out, times their weights."""

    densities: np.ndarray  # negative logs  [n]
    squares: np.ndarray  # squared errors, of standardised targets  [n]


def joined(parts: list[Losses]) -> Losses:
    """Those of several folds."""
    return Losses(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def held_out(
    problem: Problem,
    point: Hyperparameters,
    degree: int,
    rows: ArraySource,
    total_weight: float = 0.0,
) -> Losses:
    """Losses of rows that the problem does not hold: negative log densities, squared errors.

    Of a model that has seen rows of a total weight, if that is more than those of the problem.
    Without rows, the evidence stands in, less half the log of the rows for each number of the map.
    """
    solution = Objective(problem, point, degree).solve(point)[0]
    n = problem.weight
    if not rows.n_rows:
        price = point.relevance.n_numbers * np.log(max(2.0, n)) / 2
        return Losses(np.array([price - solution.value]), np.ones(1))
    later = solution.numbers_used / 2 * (1 / n - 1 / max(n, total_weight))
    omega, geometry = _weights(rows), solution.geometry
    errors = geometry.standardise(rows.y).T - solution.moments(rows.X, False).mean
    density = densities(solution, point.noise, rows) + omega * later
    return Losses(-density, omega * np.sum(errors**2, axis=1))


def densities(solution: Solution, noise: np.ndarray, rows: ArraySource) -> np.ndarray:
    """Log density of rows that a solution has not seen, times their weights.  [n]"""
    geometry = solution.geometry
    mean, variance = solution.moments(rows.X)
    total = variance + _noise(solution, noise, rows)
    errors = (geometry.standardise(rows.y).T - mean) ** 2
    density = -0.5 * (np.log(2 * np.pi * total) + errors / total).sum(axis=1)
    return _weights(rows) * (density + geometry.log_slope(rows.y))


def noise_densities(
    problem: Problem, point: Hyperparameters, degree: int, rows: ArraySource, factors: np.ndarray
) -> np.ndarray:
    """Log density of the rows held out, by target, with the noise times each factor.  [F, T]"""
    solution = Objective(problem, point, degree).solve(point)[0]
    moments, geometry = solution.moments(rows.X), solution.geometry
    noise = _noise(solution, point.noise, rows)
    errors = (geometry.standardise(rows.y).T - moments.mean) ** 2
    omega = _weights(rows)
    totals = (moments.variance + factor * noise for factor in factors)
    return np.array([-0.5 * omega @ (np.log(total) + errors / total) for total in totals])


def _noise(solution: Solution, noise: np.ndarray, rows: ArraySource) -> np.ndarray:
    """Its variance at the rows.  [n, T] or [T]"""
    if solution.geometry.noise == "constant":
        return noise
    return noise * solution.geometry.projection.project(rows.X)[1][:, None] ** 2


def _weights(rows: ArraySource) -> np.ndarray:
    return np.ones(rows.n_rows) if rows.weights is None else rows.weights
