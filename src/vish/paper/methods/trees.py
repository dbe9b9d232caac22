"""Boosted trees: LightGBM, the number of trees chosen on a tenth of the training rows.

It states no uncertainty: the noise is one Gaussian. Up to 50,000 rows its width is that of
residuals out of five folds, and the trees are grown again on all rows; above, a tenth of the
rows is enough to tell the width, and is not missed.
"""

from typing import Any

import numpy as np

from vish.paper.methods.base import Fitted, Held, Training, classes, gaussian

TREES, RATE, PATIENCE = 5000, 0.05, 100
FEW_ROWS, FOLDS = 50_000, 5


def boosted(training: Training) -> Fitted:
    """Up to 5,000 trees at rate 0.05; the rest is LightGBM's own."""
    parts = Held(training.X, training.y, training.seed)
    booster = _grow(training, parts.kept, TREES, parts.held)
    trees = int(booster.best_iteration or TREES)
    held, residuals = parts.held, None
    if len(training.y) <= FEW_ROWS:
        everything = np.arange(len(training.y))
        if training.task == "regression":
            folds = np.array_split(np.concatenate([parts.kept, parts.held]), FOLDS)
            residuals = [
                training.y[fold]
                - _grow(training, np.setdiff1d(everything, fold), trees).predict(training.X[fold])
                for fold in folds
            ]
        booster = _grow(training, everything, trees)
    facts = {"trees": trees}
    if training.task == "classes":
        return Fitted(lambda X, y: classes(booster.predict(X), y), facts)
    if residuals is None:
        residuals = [training.y[held] - booster.predict(training.X[held])]
    std = float(np.sqrt(np.mean(np.concatenate(residuals) ** 2)))
    return Fitted(lambda X, y: gaussian(booster.predict(X), std, y), facts)


def _grow(training: Training, rows: np.ndarray, trees: int, held: np.ndarray | None = None) -> Any:
    """Trees on some rows; stopped early where rows are held out."""
    import lightgbm

    data = lightgbm.Dataset(training.X[rows], training.y[rows])
    watched = [] if held is None else [data.create_valid(training.X[held], training.y[held])]
    stop: list = [lightgbm.early_stopping(PATIENCE, verbose=False)] if watched else []
    settings = {
        "objective": "regression" if training.task == "regression" else "binary",
        "learning_rate": RATE,
        "seed": training.seed,
        "verbose": -1,
    }
    return lightgbm.train(settings, data, trees, valid_sets=watched, callbacks=stop)
