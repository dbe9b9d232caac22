"""The steps after the map: degree, comparison, the end, and the noise."""

from dataclasses import replace

import numpy as np

from vish.inference.gaussian import GaussianModel
from vish.inference.relearning import relearned
from vish.inference.solution import has_few_rows
from vish.search.bound_start import best_start
from vish.search.holdout import held_out, joined, noise_densities
from vish.search.kinds import capped, trusted
from vish.search.objective import Objective
from vish.search.policy import SearchPolicy
from vish.search.problem import Hyperparameters, Problem
from vish.search.stage import Outcome, Status, cost, maximise
from vish.search.task import Fold, Found, Search

_KERNEL_ITERATIONS, _KERNEL_TOLERANCE = 6, 1e-4


# ---- the degree


def tried(search: Search, learned: list[Fold], degree: int) -> Found:
    """A degree, the map held fixed: kernel and noise are learned without every fold."""
    total = search.asked.total_weight or search.problem.weight
    found, losses = [], []
    for fold in learned:
        kept, point = fold.problem.kept_degrees, fold.point.at_degree(degree)
        if search.asked.learn:
            point = learn_kernel(kept, point, degree)
        found.append(fold._replace(point=point))
        losses.append(held_out(kept, point, degree, fold.rows, total))
    result = Found(found, degree, joined(losses))
    search.trace.tell("degree", found[0].point, degree, result.density)
    return result


def learn_kernel(problem: Problem, point: Hyperparameters, degree: int) -> Hyperparameters:
    """Kernel and noise, the map held fixed."""
    if has_few_rows(problem.source, point.n_harmonics(degree)) or not problem.learn_noise:
        objective = Objective(problem, point, degree, learn_relevance=False)
        return maximise(objective, point, _KERNEL_ITERATIONS, _KERNEL_TOLERANCE).point
    statistics = problem.statistics(point, degree)
    model = GaussianModel(statistics, point.kernel, point.noise, problem.truncated)
    model = relearned(model, _KERNEL_ITERATIONS)
    return replace(point, kernel=model.kernel, noise=model.noise)


def best_degree(search: Search, learned: list[Fold]) -> Found:
    """Up while that pays, or down."""
    point = learned[0].point
    if search.asked.degree is not None:
        return tried(search, learned, search.asked.degree)
    degrees = search.degrees(point, search.asked.max_features)
    place = max(i for i, l in enumerate(degrees) if l <= search.low_degree(point))
    best = first = tried(search, learned, degrees[place])
    for degree in degrees[place + 1 :]:
        found = tried(search, best.folds, degree)
        gains = found.density > best.density + search.policy.least_gain
        if not (gains and 0 in trusted([found.losses, best.losses], search.policy)):
            break
        best = found
    if best is first:
        for degree in degrees[:place][::-1]:
            found = tried(search, best.folds, degree)
            if found.density <= best.density:
                break
            best = found
    return best


def select(found: list[Found], policy: SearchPolicy) -> Found:
    """The highest density of rows held out.

    One that needs more numbers than another must be better by more than the standard error of
    the difference.
    """
    found = [found[i] for i in trusted([one.losses for one in found], policy)]
    losses = capped([one.losses.densities for one in found], policy)
    best = int(np.argmin(losses.sum(axis=1)))
    for place in range(best):
        worse = losses[place] - losses[best]
        if worse.sum() < np.sqrt(len(worse)) * worse.std():
            return found[place]
    return found[best]


# ---- the end


def polish(search: Search, found: Found) -> Outcome:
    """The same kind of map from all rows, then everything together at the degree that is kept.

    Where the rows are few for the map, those held out say how many iterations do good: the last
    stage is tried without the first fold.
    """
    problem, policy, free = search.problem, search.policy, search.asked.learn_relevance
    learning, held, point = found.folds[0]
    degree, tight = found.degree, policy.tight
    affordable = policy.work / max(1.0, cost(Objective(problem, point, degree, free)))
    most, run_out = max(policy.least_iterations, int(affordable)), Status.BUDGET
    if free and held.n_rows and search.at_risk(learning, point):
        tried_first = search.learn("last", learning, point, degree, most, tight, held)
        most, run_out = max(policy.least_iterations, tried_first.n_iter), Status.HELD_OUT
    if free and held.n_rows and problem.live.any() and problem.source.n_rows <= policy.early_rows:
        point = search.learn_map("map", problem, point, policy.early_iterations).point
        point = learn_kernel(problem.kept_degrees, point.at_degree(degree), degree)
    if not problem.truncated:
        point = best_start(problem, point, degree)
    return search.learn(
        "all", problem, point, degree, most, tight, learn_relevance=free, run_out=run_out
    )


def optimism(search: Search, found: Found) -> np.ndarray:
    """What noise learned from rows leaves out, as rows held out show, all folds together.  [T]

    In rows of noise: learned from n rows, it is too small by the factor 1 + optimism / n.
    """
    policy, weights = search.policy, [fold.problem.weight for fold in found.folds]
    factors = np.geomspace(1.0, policy.most_noise, 181)
    densities = -np.log1p((np.log(factors) / policy.noise_spread) ** 2)[:, None]  # their prior
    for problem, rows, point in found.folds:
        if not (rows.n_rows and problem.learn_noise):
            return np.zeros(len(point.noise))
        kept = problem.kept_degrees
        densities = densities + noise_densities(kept, point, found.degree, rows, factors)  # [F, T]
    return (factors[np.argmax(densities, axis=0)] - 1.0) * np.mean(weights)
