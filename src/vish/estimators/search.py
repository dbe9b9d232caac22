"""The search for hyperparameters as the estimators call it: the one place that knows it."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vish.estimators.settings import FitSettings
from vish.inference.ascent import Ascent, Stage
from vish.inference.degrees import has_level
from vish.inference.objective import Hyperparameters, Setting
from vish.inference.progress import Progress
from vish.inference.training import Training


class Search(NamedTuple):
    """What was found from a start."""

    setting: Setting
    point: Hyperparameters
    degree: int
    trace: list[Stage]
    interrupted: bool
    corrected: Callable[[np.ndarray], np.ndarray]  # noise, by rows that were held out

    @property
    def log_evidence(self) -> float:
        """Per row, of the last stage, which is that of all rows at the degree chosen."""
        return self.trace[-1].log_evidence if self.trace else -np.inf


def searched(
    setting: Setting,
    start: Hyperparameters,
    settings: FitSettings,
    progress: Progress,
    learn: bool,
    rows_to_come: float = 0.0,
) -> Search:
    """The best hyperparameters, or (unless `learn`) the start, at a degree that may be free.

    `rows_to_come` is the weight of the rows that are not in the setting's source.
    """
    training = Training(
        setting=setting,
        degree=settings.degree,
        rank=settings.rank,
        max_features=settings.max_features,
        n_starts=settings.n_starts,
        max_iter=settings.max_iter,
        rng=np.random.default_rng(settings.seed),
        learn_relevance=settings.learns_relevance,
        report=progress.stage,
        rows_to_come=rows_to_come,
    )
    if learn:
        point, degree = training.run(start)
        _tell(training, settings, point, degree)
    else:
        point, degree = training.hold(start)
    found = (point, degree, training.trace, training.interrupted, training.corrected)
    return Search(setting, *found)


def refined(
    setting: Setting,
    point: Hyperparameters,
    degree: int,
    max_iter: int,
    trace: list[Stage],
    progress: Progress,
) -> Hyperparameters:
    """A few more steps from a point, on the rows of a setting."""
    ascent = Ascent(setting=setting, max_iter=max_iter, report=progress.stage, trace=trace)
    return ascent.refine(point, degree)


def _tell(training: Training, settings: FitSettings, point: Hyperparameters, degree: int) -> None:
    """Warnings that a search has earned."""
    if training.interrupted:
        warnings.warn(
            "interrupted while learning: the best hyperparameters so far are used",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif not training.converged:
        warnings.warn(
            f"learning stopped at max_iter={settings.max_iter} before it converged: "
            "increase max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    if settings.degree is not None or degree > 1:
        return
    higher = 2 if has_level(point, 2) else 3
    needed = point.kernel.n_harmonics(point.dimension, higher)
    if needed > settings.max_features:
        warnings.warn(
            f"max_features={settings.max_features} leaves degree 1, a linear model: degree "
            f"{higher} needs {needed:,} features; raise max_features or lower rank",
            UserWarning,
            stacklevel=4,
        )
