"""VISH itself: our best, and with the settings of the paper."""

import warnings

import numpy as np
from scipy.special import logsumexp

from vish import VISHClassifier, VISHRegressor
from vish.kernels import Matern, Odd
from vish.likelihoods import Gaussian, Heteroscedastic, SinhArcsinh, StudentT, Warped
from vish.paper.methods.base import Fitted, Prediction, Training, classes, gaussian

# With few rows several fits are quick, and no degree is out of reach. With more, harmonics of odd
# degree alone buy a higher one, and there may be more of them. With many, noise is Gaussian: passes
# for another would cost more than they give.
FEW_ROWS, MANY_ROWS = 2_000, 200_000
MAX_FEATURES, MAX_FEATURES_BETWEEN, FEATURES_TO_CHOOSE_NOISE = 2_000, 4_000, 1_000
NOISES = (Gaussian(noise="auto"), StudentT(), Heteroscedastic())
NOISES_OF_MANY = (Gaussian(noise="constant"), Gaussian(noise="radial"))


def best(training: Training) -> Fitted:
    """One recipe for all data: degree and map by evidence; the noise by the number of rows.

    With few rows, an average of three predictive densities: noise that is constant or grows with
    the radius, Student's t, and a variance that is a function. With more, one of the first two,
    by the evidence of a smaller fit; with many, the average of constant and radial noise.
    """
    if training.task == "classes":
        return _classifier(VISHClassifier(max_features=MAX_FEATURES), training)
    n = len(training.y)
    if n <= FEW_ROWS:
        models = [VISHRegressor(likelihood=l, max_features=MAX_FEATURES) for l in NOISES]
    elif n < MANY_ROWS:
        models = [_of_odd_degrees(_noise_by_evidence(training), MAX_FEATURES_BETWEEN)]
    else:
        models = [_of_odd_degrees(noise, MAX_FEATURES) for noise in NOISES_OF_MANY]
    return _average([_regressor(model, training) for model in models])


def _noise_by_evidence(training: Training) -> Gaussian | StudentT:
    fits = [_of_odd_degrees(noise, FEATURES_TO_CHOOSE_NOISE) for noise in NOISES[:2]]
    for fit in fits:
        _fit(fit, training)
    found = max(fits, key=lambda fit: fit.log_evidence_).likelihood_
    return Gaussian(noise=found.noise) if isinstance(found, Gaussian) else StudentT()


def _of_odd_degrees(noise, max_features: int) -> VISHRegressor:
    return VISHRegressor(Odd(Matern(1.5)), likelihood=noise, max_features=max_features)


def _average(fits: list[Fitted]) -> Fitted:
    """The mean of the predictive densities, all with the same weight."""
    if len(fits) == 1:
        return fits[0]

    def predict(X, y):
        means, log_densities = zip(*(fit.predict(X, y) for fit in fits), strict=True)
        return Prediction(np.mean(means, axis=0), logsumexp(log_densities, axis=0, b=1 / len(fits)))

    largest = max((fit.facts for fit in fits), key=lambda facts: facts["M"])
    kept = {name: value for name, value in largest.items() if name != "log evidence"}
    return Fitted(predict, kept | {"noise": f"average of {len(fits)}"})


def warped(training: Training) -> Fitted:
    """Odd degrees and a learned monotone warp of the target, for skew and heavy tails."""
    between = FEW_ROWS < len(training.y) < MANY_ROWS
    most = MAX_FEATURES_BETWEEN if between else MAX_FEATURES
    return _regressor(_of_odd_degrees(Warped(SinhArcsinh()), most), training)


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
