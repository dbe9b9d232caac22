"""VISH itself: our best, and with the settings of the paper."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import clone

from vish import VISHClassifier, VISHRegressor
from vish.kernels import Matern
from vish.likelihoods import Gaussian, Heteroscedastic, SinhArcsinh, StudentT, Warped
from vish.paper.methods.base import Fitted, Prediction, Training, classes, gaussian

MAX_FEATURES = 2000
# From so many rows on 1,000 harmonics are the bound, and noise is Gaussian: more passes cost more
# than they give.
MANY_ROWS, MAX_FEATURES_OF_MANY = 200_000, 1000
FEW_ROWS = 2000  # up to here several fits are quick


def best(training: Training) -> Fitted:
    """One recipe for all data: the degree by evidence, and the noise.

    It is constant or grows with the radius, or it is Student's t, whichever has more evidence. With
    few rows its variance may also be a function; then rows held out choose.
    """
    if training.task == "classes":
        return _classifier(VISHClassifier(max_features=_bound(training)), training)
    n, noises = len(training.y), [Gaussian(noise="auto"), StudentT(), Heteroscedastic()]
    models = [VISHRegressor(likelihood=l, max_features=_bound(training)) for l in noises]
    if n <= FEW_ROWS:
        return _regressor(models[_densest(models, training)], training)
    fits = [_regressor(model, training) for model in models[: 1 if n >= MANY_ROWS else 2]]
    return max(fits, key=lambda fit: fit.facts["log evidence"])


def _densest(models: list[VISHRegressor], training: Training) -> int:
    """The place of the model that gives a fifth of the rows, held out, the largest density."""
    rows = np.random.default_rng(training.seed).permutation(len(training.y))
    held, learned = np.split(rows, [len(rows) // 5])
    part = replace(training, X=training.X[learned], y=training.y[learned])
    fits = [_regressor(clone(model), part) for model in models]
    densities = [fit.predict(training.X[held], training.y[held]).log_density for fit in fits]
    return int(np.argmax([density.sum() for density in densities]))


def warped(training: Training) -> Fitted:
    """The same with a learned monotone warp of the target, for skew and heavy tails."""
    model = VISHRegressor(likelihood=Warped(SinhArcsinh()), max_features=_bound(training))
    return _regressor(model, training)


def as_in_the_paper(training: Training) -> Fitted:
    """Matérn-3/2 in the paper's convention, its bound for all degrees, one relevance per input.

    Regression is that of the projected targets: the noise grows with the radius.
    """
    kernel = Matern(1.5, convention="paper")
    settings: dict = {"degree": training.degree or 3, "rank": None, "tail": "variational"}
    if training.task == "classes":
        return _classifier(VISHClassifier(kernel, **settings), training)
    return _regressor(VISHRegressor(kernel, likelihood=Gaussian("radial"), **settings), training)


def fixed_degree(training: Training) -> Fitted:
    """Our defaults at the paper's degree and with one relevance per input: for timing."""
    return _regressor(VISHRegressor(degree=training.degree or 3, rank=None), training)


def _bound(training: Training) -> int:
    return MAX_FEATURES if len(training.y) < MANY_ROWS else MAX_FEATURES_OF_MANY


def _fit(model, training: Training) -> dict:
    if training.task == "classes":  # the paper's splits are of rows in regression, of seeds here
        model.set_params(random_state=training.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the facts say what was chosen
        model.fit(training.X, training.y)
    facts = {"M": int(model.n_harmonics_), "degree": int(model.degree_)}
    if model.relevance_.ndim == 2:
        facts["rank"] = len(model.relevance_)
    return facts | {"log evidence": float(model.log_evidence_)}


def _regressor(model: VISHRegressor, training: Training) -> Fitted:
    facts = _fit(model, training)
    likelihood = model.likelihood_
    facts["noise"] = getattr(likelihood, "noise", type(likelihood).__name__)
    if isinstance(likelihood, Gaussian):

        def predict(X, y):
            mean, std = model.predict(X, return_std=True)
            return gaussian(mean, std, y)
    else:

        def predict(X, y):
            return Prediction(model.predict(X), model.log_density(X, y))

    return Fitted(predict, facts)


def _classifier(model: VISHClassifier, training: Training) -> Fitted:
    y = training.y.astype(int)
    facts = _fit(model, Training(training.X, y, training.seed, "classes"))

    def predict(X, y):
        return classes(np.asarray(model.predict_proba(X))[:, 1], y)

    return Fitted(predict, facts)
