"""Neighbours in an estimator: rows collected in a fit, added, taken away and merged."""

import numbers
from typing import Any

from vish.inference.gaussian import GaussianModel
from vish.inference.local import Local, collect
from vish.inference.sources import RowSource
from vish.likelihoods import Gaussian, Likelihood
from vish.neighbors.rows import Rows

TAILS = ("truncated", "variational", "neighbors", "auto")
WITHOUT_NEIGHBORS = ("truncated", "variational")
_FEWEST_ROWS = 100  # that may be kept


def check_neighbors(estimator: Any) -> None:
    """Refuse parameters of the neighbours that cannot be meant."""
    for name, least in (("n_neighbors", 1), ("neighbor_rows", _FEWEST_ROWS)):
        value = getattr(estimator, name)
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} is {value!r}: give an integer of at least {least}")
    if estimator.tail != "neighbors":
        return
    if isinstance(estimator.likelihood, Likelihood):
        raise ValueError(
            'tail is "neighbors", which needs a target that is observed itself: with the '
            f'likelihood {type(estimator.likelihood).__name__} choose "truncated" or "variational"'
        )
    likelihood = Gaussian() if estimator.likelihood is None else estimator.likelihood
    if likelihood.noise != "constant":
        raise ValueError(
            f'tail is "neighbors" and the noise of the likelihood {likelihood.noise!r}: '
            'neighbours learn the noise of each place; give noise="constant"'
        )


def with_neighbors(
    model: GaussianModel, source: RowSource, estimator: Any, shown: Any
) -> GaussianModel:
    """Read the rows that are kept and learn the detail, as `tail` asks; one more reading."""
    if estimator.tail in WITHOUT_NEIGHBORS or model.geometry.noise != "constant":
        return model
    n_inputs, n_targets = model.geometry.projection.n_inputs, model.geometry.n_targets
    none = Rows.none(n_inputs, n_targets, int(estimator.neighbor_rows))
    with shown.rows("keeping rows", source.n_rows) as done:
        rows = collect(source, none, estimator.n_jobs, done)
    model = model.with_local(Local(rows, int(estimator.n_neighbors)))
    if estimator.optimize:
        model = model.learned_detail(estimator.n_jobs)
    if estimator.tail == "auto" and not (model.local is not None and model.local.gain > 0):
        return model.with_local(None)
    return model


def with_rows(model: GaussianModel, source: RowSource, n_jobs: int | None) -> Local | None:
    """The rows that a model keeps, and those of a source."""
    local = model.local
    return None if local is None else local + local.of_source(source, n_jobs)


def without_rows(model: GaussianModel, source: RowSource, n_jobs: int | None) -> Local | None:
    """The rows that a model keeps, but for those of a source."""
    local = model.local
    return None if local is None else local.without(local.of_source(source, n_jobs))


def rows_of_both(first: GaussianModel, second: GaussianModel) -> Local | None:
    """The rows that two models keep."""
    if first.local is None and second.local is None:
        return None
    if first.local is None or second.local is None:
        raise ValueError(
            "one of the models has neighbours and the other has not: make the second model with "
            "empty_like() of the first"
        )
    return first.local + second.local


def no_rows(model: GaussianModel) -> Local | None:
    return None if model.local is None else model.local.emptied()


def tail_of(model: Any) -> str:
    """The tail that a model has."""
    if getattr(model, "local", None) is not None:
        return "neighbors"
    return "truncated" if model.truncated else "variational"
