"""Passes over sites until the bound rises no more."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vish.inference.sites import SiteModel
from vish.inference.sites_by_rows import SiteModelByRows
from vish.inference.solution import has_few_rows
from vish.inference.sources import ArraySource, RowSource
from vish.sphere.blas import blas_threads_for

_SLACK = 1e-10  # relative fall of the bound that rounding may cause
_TOLERANCE = 1e-11  # relative rise of the bound that ends the passes
_LATE_RISE = 1e-5  # of the bound per row: less, when the passes have run out, is no matter
_LEAST_STEP = 2.0**-20
_GROWTH = 1.1  # of the step after a rise: much more, and it would fall again every third time
# The longest step where only differences of the latent functions matter: where two classes compete,
# the sites see half of the curvature, elsewhere all of it, and 2/3 leaves a third of either error.
_LONGEST_OF_DIFFERENCES = 2 / 3


class Convergence(NamedTuple):
    """The end of a run of passes."""

    model: Any  # `SiteModel`
    bound: float
    bounds: list[float]  # of every accepted step
    n_passes: int
    converged: bool
    weight: float
    n_rows: int


def converge(
    model: SiteModel,
    source: RowSource,
    max_passes: int = 100,
    n_jobs: int | None = None,
    progress: Callable[[int], None] = lambda n: None,
    fresh: bool = True,
    tolerance: float = _TOLERANCE,
) -> Convergence:
    """Site updates until the bound rises no more.

    `fresh` starts from the data; otherwise the sites of the model are taken up: by sums as they
    are, by rows (where those are few) as they follow from its posterior.
    """
    if model.base is None and has_few_rows(source, model.prior.n_harmonics):
        assert isinstance(source, ArraySource)
        # What overflows belongs to a step too bold, and its bound tells.
        with blas_threads_for(source.n_rows), np.errstate(over="ignore", invalid="ignore"):
            few = SiteModelByRows.of(model, source, n_jobs, fresh)
            end = _converge(few, source, max_passes, n_jobs, progress, False, tolerance)
            return end._replace(model=end.model.by_sums())
    with blas_threads_for(model.prior.n_harmonics):
        return _converge(model, source, max_passes, n_jobs, progress, fresh, tolerance)


def _converge(
    model: Any,
    source: RowSource,
    max_passes: int,
    n_jobs: int | None,
    progress: Callable[[int], None],
    fresh: bool,
    tolerance: float,
) -> Convergence:
    passes = 0
    if fresh:
        start = model.first_read(source, n_jobs, progress)
        model, passes = replace(model, sites=start.sites), 1
    current = model.read(source, n_jobs, progress)
    passes += 1
    bound = current.expected - model.divergence
    while not np.isfinite(bound) and passes < max_passes:  # too bold a start: shrink to the prior
        model = replace(model, sites=model.sites * 0.5)
        current = model.read(source, n_jobs, progress)
        passes += 1
        bound = current.expected - model.divergence
    longest = _LONGEST_OF_DIFFERENCES if model.likelihood.only_differences else 1.0
    bounds, step, converged, rise = [bound], longest, False, np.inf
    while passes < max_passes:
        trial = replace(model, sites=model.sites.towards(current.sites, step)).centred()
        result = trial.read(source, n_jobs, progress)
        passes += 1
        value = result.expected - trial.divergence
        if not value >= bound - _SLACK * (1 + abs(bound)):
            step /= 2
            if step < _LEAST_STEP:
                converged = True  # no step rises: as good as it gets
                break
            continue
        rise = value - bound
        model, current, bound = trial, result, value
        bounds.append(bound)
        if rise <= tolerance * (1 + abs(bound)) and step > 0.2:
            converged = True
            break
        step = min(longest, _GROWTH * step)
    converged = converged or rise <= _LATE_RISE * current.weight
    return Convergence(model, bound, bounds, passes, converged, current.weight, current.n_rows)
