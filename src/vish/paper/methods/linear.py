"""The floor: linear and logistic regression."""

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from vish.paper.methods.base import Fitted, Training, classes, gaussian


def linear(training: Training) -> Fitted:
    """Least squares with the variance of its residuals, or logistic regression."""
    if training.task == "classes":
        logistic = LogisticRegression(max_iter=1000).fit(training.X, training.y)
        return Fitted(lambda X, y: classes(logistic.predict_proba(X)[:, 1], y))
    model = LinearRegression().fit(training.X, training.y)
    n, D = training.X.shape
    residuals = training.y - model.predict(training.X)
    std = float(np.sqrt(np.sum(residuals**2) / max(n - D - 1, 1)))
    return Fitted(lambda X, y: gaussian(model.predict(X), std, y))
