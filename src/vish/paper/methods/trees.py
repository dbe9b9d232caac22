"""Boosted trees: LightGBM, stopped early on a tenth of the training rows."""

from typing import Any

import numpy as np

from vish.paper.methods.base import Fitted, Held, Training, classes, gaussian

TREES, RATE, PATIENCE = 5000, 0.05, 100


def boosted(training: Training) -> Fitted:
    """Up to 5,000 trees at rate 0.05; the rest is LightGBM's own.

    It states no uncertainty: the noise is one Gaussian as wide as the residuals of the rows
    held out.
    """
    import lightgbm

    parts = Held(training.X, training.y, training.seed)
    X_held, y_held = training.X[parts.held], training.y[parts.held]
    rows = lightgbm.Dataset(training.X[parts.kept], training.y[parts.kept])
    booster: Any = lightgbm.train(
        {
            "objective": "regression" if training.task == "regression" else "binary",
            "learning_rate": RATE,
            "seed": training.seed,
            "verbose": -1,
        },
        rows,
        TREES,
        valid_sets=[rows.create_valid(X_held, y_held)],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    facts = {"trees": int(booster.best_iteration or TREES)}
    if training.task == "classes":
        return Fitted(lambda X, y: classes(booster.predict(X), y), facts)
    std = float(np.sqrt(np.mean((y_held - booster.predict(X_held)) ** 2)))
    return Fitted(lambda X, y: gaussian(booster.predict(X), std, y), facts)
