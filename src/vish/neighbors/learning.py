r"""Hyperparameters of the detail, by rows that are left out.

Each of some rows is predicted from its nearest others, never from itself. Lengthscale, noise and
smoothness are proposed by small squared errors, and by a loss with heavy tails, for which outliers
count less. Of those that squared errors cannot tell from the best, the one of the largest density
is taken. (By density alone a few rows with near twins would decide.) Variance and local scale,
which cost no solve, have the largest

.. math:: \sum_i \log N(r_i;\ h_i,\ v_i + \mathrm{Var}\, h_i + \mathrm{Var}\, \epsilon)

with v the variance of the harmonics, and r_i their residual as if they had not seen row i. That
is Vecchia's likelihood with symmetric neighbourhoods.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from vish.neighbors.process import Conditional, Detail, LocalProcess, Solved, scaled, solve
from vish.sphere.threads import map_in_order

_GRID_ROWS = 1000
_SEARCH_ROWS = 2000
LEARNING_ROWS = 6000  # outliers are rare: the scale is learned from more rows
_BLOCK = 256
_FREEDOM, _STEPS = 4.0, 10  # of the Student t, of EM for its scale
_TINY = 1e-200
_SQUARED, _HEAVY = 0, 1
_MOST_GAIN = 5.0  # of one row
_SURE, _ALIKE = 3.0, 0.3  # standard errors
_STEPS_OF_SIMPLEX = 16
_COMPARED = 4  # of those that squared errors cannot tell apart
_LENGTHSCALES = (0.3, 1.0, 3.0, 10.0)  # of the distance to the last neighbour
_NOISES = (1e-3, 1e-2, 0.1, 0.5, 2.0, 10.0)
_SMOOTHNESSES = (0.5, 1.5)
_NOISE_BOUNDS = (1e-6, 1e4)
_PRIOR_ROWS = (np.inf, 160.0, 80.0, 40.0, 20.0, 10.0, 5.0, 2.0)
_SCALES = (1e-8, 1e8)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows and their nearest others."""

    queries: np.ndarray  # [m, p]
    points: np.ndarray  # [m, k, p]
    residuals: np.ndarray  # [m, k, T]
    noise: np.ndarray  # [m, k], 1 / weight; infinite where there is no row
    targets: np.ndarray  # [m, T], residuals of the rows themselves
    variance: np.ndarray  # [m, T], of the harmonics there
    own_noise: np.ndarray  # [m], 1 / weight of the rows themselves

    @classmethod
    def of(
        cls,
        process: LocalProcess,
        rows: np.ndarray,
        targets: np.ndarray,
        variance: np.ndarray,
        n_jobs: int | None = None,
        roots: Sequence[np.ndarray] = (),
    ) -> "LeftOut":
        """Leave out rows of a process, each for itself.  [m], [m, T], [m, T]

        `targets` are residuals, and `variance` that of the harmonics, as if these had not seen
        the row. With the roots of their covariance between all rows of the process, [n, M] for
        every target, the residuals of the neighbours are so, too.
        """
        sites, m, p = process.sites, len(rows), process.places.shape[1]
        averages = sites.averaged(process.residuals, process.weights)
        queries = process.places[rows] + 0.0
        own = rows if sites.of_row is None else sites.of_row[rows]
        k = min(process.n_neighbors, len(sites.places))
        found = np.empty((m, min(k + 1, len(sites.places))), dtype=np.int64)

        def fill(chunk: np.ndarray) -> None:
            found[chunk], _ = sites.tree.nearest(queries[chunk], k + 1, process.most_leaves)

        for _ in map_in_order(fill, sites.tree.chunks(queries), n_jobs):
            pass
        residuals, noise = averages[found], 1.0 / sites.weights[found]
        # What is left of the row's own place: its other rows, if there are any.
        at = found == own[:, None]
        place, column = np.nonzero(at)
        weight = process.weights[rows[place]]
        left = sites.weights[own[place]] - weight
        total = averages[own[place]] * sites.weights[own[place], None]
        alone = left <= 1e-9 * sites.weights[own[place]]
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = (total - weight[:, None] * process.residuals[rows[place]]) / left[:, None]
            noise[place, column] = np.where(alone, np.inf, 1.0 / left)
        residuals[place, column] = np.where(alone[:, None], 0.0, rest)
        # One was looked for too many: the row's own place where it is empty, else the farthest.
        drop = np.full(m, found.shape[1] - 1)
        drop[place[alone]] = column[alone]
        if found.shape[1] > k:
            keep = np.arange(found.shape[1]) != drop[:, None]
            found, noise = found[keep].reshape(m, k), noise[keep].reshape(m, k)
            residuals = residuals[keep].reshape(m, k, -1)
        if roots:
            given = targets * process.weights[rows, None]
            _take_back(residuals, [root[rows] for root in roots], roots, sites.row_of[found], given)
            residuals[np.isinf(noise)] = 0.0
        points = sites.places[found].reshape(m, -1, p)
        own_noise = 1.0 / process.weights[rows]
        return cls(queries, points, residuals, noise, targets, variance, own_noise)

    def __len__(self) -> int:
        return len(self.queries)

    def first(self, n: int) -> "LeftOut":
        return LeftOut(*(getattr(self, name)[:n] for name in self.__dataclass_fields__))

    def typical_distance(self) -> float:
        """The median distance to the farthest neighbour; 1 if all are in one place."""
        gaps = self.points - self.queries[:, None]
        squares = np.einsum("mkp,mkp->mk", gaps, gaps).max(axis=1)
        distance = float(np.sqrt(np.median(squares)))
        return distance or float(np.sqrt(squares.max())) or 1.0

    def solve(self, detail: Detail, n_jobs: int | None = None) -> Solved:
        """Kriging of all rows."""

        def part(start: int) -> Solved:
            rows = slice(start, start + _BLOCK)
            points, residuals = self.points[rows], self.residuals[rows]
            return solve(self.queries[rows], points, residuals, self.noise[rows], detail)

        parts = list(map_in_order(part, range(0, len(self), _BLOCK), n_jobs))
        mean, variance, misfit, inside = (
            np.concatenate([getattr(part, name) for part in parts]) for name in Solved._fields[:4]
        )
        return Solved(mean, variance, misfit, inside, parts[0].n_neighbors)

    def log_densities(self, solved: Solved, detail: Detail) -> np.ndarray:
        """Of every row, summed over targets.  [m]"""
        found: Conditional = scaled(solved, detail)
        variance = self.variance + found.variance + found.noise * self.own_noise[:, None]
        return log_normal(self.targets - found.mean, variance)

    def without_detail(self) -> np.ndarray:
        """The same by the harmonics alone.  [m]"""
        return log_normal(self.targets, self.variance + self.own_noise[:, None])


def sure_gain(gains: np.ndarray) -> float:
    """The mean of gains in log density, less three standard errors.

    No row may gain much, so that one outlier does not decide for; losses count in full.
    """
    gains = np.minimum(gains, _MOST_GAIN)
    return float(gains.mean() - _SURE * gains.std() / np.sqrt(len(gains)))


def log_normal(gap: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return -0.5 * (gap**2 / variance + np.log(2 * np.pi * variance)).sum(axis=1)


def _take_back(residuals, own, roots, rows, given) -> None:
    """Take from the harmonics at the neighbours what they had from the row that is left out.

    Without row i, f_L at x_j is less by cov(f_i, f_j) omega_i times the residual of i without it.
    """
    for start in range(0, len(residuals), _BLOCK):
        block = slice(start, start + _BLOCK)
        for t, (root, mine) in enumerate(zip(roots, own, strict=True)):
            covariance = root[rows[block]] @ mine[block, :, None]  # [m, k, 1]
            residuals[block, :, t] += covariance[:, :, 0] * given[block, t, None]


def heavy_tailed(squares: np.ndarray) -> np.ndarray:
    """-log density of errors under a Student t of the scale that suits them best.  [m, T]

    Neither a few outliers nor a few rows with near twins decide by it, as they would by squared
    errors and by the density of the process.
    """
    scale = np.median(squares, axis=0) + _TINY
    for _ in range(_STEPS):  # EM
        weights = (_FREEDOM + 1) / (_FREEDOM + squares / scale)
        scale = np.mean(weights * squares, axis=0) + _TINY
    return 0.5 * np.log(scale) + 0.5 * (_FREEDOM + 1) * np.log1p(squares / (_FREEDOM * scale))


@dataclass(frozen=True, eq=False)
class Trial:
    """Some hyperparameters, and the squared errors they have."""

    detail: Detail
    solved: Solved
    losses: tuple[np.ndarray, np.ndarray]  # [m] each: squared errors, and with heavy tails

    @classmethod
    def of(cls, left_out: LeftOut, detail: Detail, n_jobs: int | None) -> "Trial":
        solved = left_out.solve(detail, n_jobs)
        squares = (left_out.targets - solved.mean) ** 2
        return cls(detail, solved, (squares.sum(axis=1), heavy_tailed(squares).sum(axis=1)))

    def loss(self, which: int) -> float:
        return float(self.losses[which].mean())

    def as_good_as(self, best: "Trial", which: int, errors: float = 2.0) -> bool:
        """Within some standard errors of the best."""
        more = self.losses[which] - best.losses[which]
        return float(more.mean()) <= errors * float(more.std()) / np.sqrt(len(more))


def learn(left_out: LeftOut, n_jobs: int | None = None) -> Detail:
    """A grid, a simplex from its best points, and then the scale."""
    few, some = left_out.first(_GRID_ROWS), left_out.first(_SEARCH_ROWS)
    distance = left_out.typical_distance()
    trials: list[Trial] = []
    for smoothness in _SMOOTHNESSES:
        grid = [
            Trial.of(few, Detail(length * distance, smoothness, 1.0, noise, np.inf), n_jobs)
            for length in _LENGTHSCALES
            for noise in _NOISES
        ]
        for which in (_SQUARED, _HEAVY):
            trials += _refined(some, _best(grid, which).detail, which, distance, n_jobs)
    proposed = [*_good(trials, _SQUARED), *_good(trials, _HEAVY)]
    compared = [Trial.of(left_out, trial.detail, n_jobs) for trial in proposed]
    best = _best(compared, _SQUARED)
    compared = [trial for trial in compared if trial.as_good_as(best, _SQUARED, _ALIKE)]
    return max((_with_scale(left_out, trial) for trial in compared), key=lambda pair: pair[0])[1]


def _best(trials: list[Trial], which: int) -> Trial:
    return min(trials, key=lambda trial: trial.loss(which))


def _good(trials: list[Trial], which: int) -> list[Trial]:
    """Some of the trials that a loss cannot tell from the best, from the best to the worst."""
    best = _best(trials, which)
    good = [trial for trial in trials if trial.as_good_as(best, which)]
    good.sort(key=lambda trial: trial.loss(which))
    return good[:: -(-len(good) // _COMPARED)]


def _refined(
    left_out: LeftOut, start: Detail, which: int, distance: float, n_jobs: int | None
) -> list[Trial]:
    """Lengthscale and noise by Nelder and Mead's simplex, in logarithms: all that was tried."""
    trials: list[Trial] = []
    bounds = np.log([(0.05 * distance, 20.0 * distance), _NOISE_BOUNDS]).T

    def loss(x: np.ndarray) -> float:
        length, noise = np.exp(np.clip(x, *bounds))
        detail = replace(start, lengthscale=float(length), noise=float(noise))
        trials.append(Trial.of(left_out, detail, n_jobs))
        value = trials[-1].loss(which)
        return value if which == _HEAVY else 0.5 * np.log(value + _TINY)

    x = np.log([start.lengthscale, start.noise])
    simplex = x + np.array([[0.0, 0.0], [0.7, 0.0], [0.0, 1.0]])
    options = {
        "maxfev": _STEPS_OF_SIMPLEX,
        "initial_simplex": simplex,
        "fatol": 1e-4,
        "xatol": 0.02,
    }
    minimize(loss, x, method="Nelder-Mead", options=options)
    return trials


def _with_scale(left_out: LeftOut, trial: Trial) -> tuple[float, Detail]:
    """The gain in density with the variance and the local scale that suit best.

    A local scale must earn its place: what counts is its sure gain over one scale for all.
    """
    solved, detail = trial.solved, trial.detail
    expected = solved.variance + detail.noise * left_out.own_noise
    moment = float(
        np.clip(trial.loss(_SQUARED) / np.mean(expected) / left_out.targets.shape[1], *_SCALES)
    )

    def densities(variance: float, prior_rows: float) -> np.ndarray:
        tried = replace(detail, variance=float(variance), prior_rows=prior_rows)
        return left_out.log_densities(solved, tried)

    best, reference, chosen = -np.inf, None, detail
    for prior_rows in _PRIOR_ROWS:
        steps = np.exp(np.linspace(-2.0, 0.5, 6)) * moment
        variance = max(steps, key=lambda step: densities(step, prior_rows).mean())
        for step in (0.25, 0.1):
            near = variance * np.exp(step * np.array([-1.0, 0.0, 1.0]))
            variance = max(near, key=lambda value: densities(value, prior_rows).mean())
        found = densities(variance, prior_rows)
        reference = found if reference is None else reference
        sure = sure_gain(found - reference)
        if sure > best:
            best = sure
            chosen = replace(detail, variance=float(variance), prior_rows=prior_rows)
    found = densities(chosen.variance, chosen.prior_rows)
    return float(np.minimum(found - left_out.without_detail(), _MOST_GAIN).mean()), chosen
