"""Fitted estimators to model files and back.

A file holds the parameters, the geometry, the hyperparameters and the statistics; the
posterior is solved again when the file is read, so that a loaded model can be updated. What a file
says is checked against tables before anything is built, and the model made of it by a prediction.
"""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from vish.estimators.base import VISHBase
from vish.estimators.classifier import VISHClassifier
from vish.estimators.local import TAILS
from vish.estimators.modelchecks import (
    ANYTHING,
    FLAG,
    NUMBER,
    RECORD,
    TEXT,
    WHOLE,
    Rule,
    check,
    check_record,
    check_state,
    choice,
    either,
    list_of,
    optional,
    whole,
)
from vish.estimators.modelstate import (
    describe,
    describe_likelihood,
    plain,
    plain_parameters,
    restore,
    restore_likelihood,
    stages,
)
from vish.estimators.observation import Observation
from vish.estimators.regressor import VISHRegressor
from vish.inference.gaussian import GaussianModel
from vish.likelihoods import Bernoulli, Gaussian, Softmax, Warped
from vish.modelfile import read_model, refusing, write_model

_ESTIMATORS = {kind.__name__: kind for kind in (VISHRegressor, VISHClassifier)}
_FITTED = {
    "n_iter_": WHOLE,
    "n_features_in_": WHOLE,
    "n_rows_seen_": WHOLE,
    "log_evidence_": NUMBER,
}
_HEADER = {
    "estimator": choice(*_ESTIMATORS),
    "parameters": RECORD,
    "learned_likelihood": RECORD,
    "fitted": RECORD,
    "one_target": FLAG,
    "classes": optional(list_of(ANYTHING)),
    "trace": list_of(ANYTHING),
    "features": optional(list_of(TEXT)),
    "versions": RECORD,
    "extra": optional(RECORD),
}
_NUMBERS = list_of(NUMBER)
_INTEGER = Rule(lambda v: type(v) is int, "a whole number")
_MOST_JOBS = 4096
# Parameters of the estimators that a fitted model uses; the others are checked when it is fitted.
_PARAMETERS = {
    "degree": either(choice("auto"), WHOLE),
    "max_features": whole(2),
    "tail": choice(*TAILS),
    "n_neighbors": whole(1),
    "neighbor_rows": whole(1),
    "rank": optional(either(choice("auto"), whole(1))),
    "relevance": optional(either(NUMBER, _NUMBERS, list_of(_NUMBERS))),
    "scaling": optional(list_of(_NUMBERS, 2)),
    "optimize": either(FLAG, WHOLE),
    "n_starts": whole(1),
    "subset_size": whole(1),
    "refine": either(FLAG, WHOLE),
    "max_iter": whole(1),
    "n_jobs": optional(
        Rule(lambda v: type(v) is int and 0 < abs(v) <= _MOST_JOBS, "a number of threads")
    ),
    "random_state": optional(_INTEGER),
    "verbose": either(FLAG, NUMBER),
    "class_weight": optional(choice("balanced")),
}


def save(estimator: VISHBase, path: Any, extra: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file, with an extra entry in its header."""
    header, arrays = describe(estimator._model)
    names = getattr(estimator, "feature_names_in_", None)
    header |= {
        "estimator": type(estimator).__name__,
        "parameters": plain_parameters(estimator),
        "learned_likelihood": describe_likelihood(estimator.likelihood_),
        "fitted": {name: plain(getattr(estimator, name)) for name in _FITTED},
        "one_target": bool(getattr(estimator, "_one_target", True)),
        "classes": _classes(estimator),
        "trace": [[plain(item) for item in stage] for stage in estimator.fit_trace_],
        "features": None if names is None else [str(name) for name in names],
        "versions": {name: version(name) for name in ("vish", "numpy", "scipy", "numba")}
        | {"python": platform.python_version()},
        "extra": extra,
    }
    check_state(header, arrays)  # nothing is written that could not be read again
    _check_estimator(header, estimator._model)
    write_model(path, header, arrays)


def load(path: Any) -> Any:
    """Read an estimator that was written by its `save`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Fitted, ready to predict and to be updated.

    Raises
    ------
    ModelFileError
        If the file is not a model, any byte of it has changed, or what it says makes no sense.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import vish
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = vish.VISHRegressor(degree=2).fit(X, X[:, 0] ** 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.vish")
    ...     again = vish.load(Path(folder) / "model.vish")
    >>> bool(np.array_equal(again.predict(X), model.predict(X)))
    True
    """
    return load_with_header(path)[0]


def load_with_header(path: Any) -> tuple[Any, dict[str, Any]]:
    """The estimator and all that its file says of it."""
    header, arrays = read_model(path)
    with refusing(path), np.errstate(all="ignore"):
        model = restore(header, arrays)
        _check_estimator(header, model)
        estimator = _restored(header, model)
        _check_solution(estimator, model)
    if header["features"] is not None:
        estimator.feature_names_in_ = np.array(header["features"], dtype=object)
    return estimator, header


def _restored(header: dict[str, Any], model: Any) -> Any:
    likelihood = restore_likelihood(header["learned_likelihood"])
    kind = _ESTIMATORS[header["estimator"]]
    estimator = kind(model.kernel, likelihood=likelihood, **header["parameters"])
    estimator._one_target = header["one_target"]
    estimator.fit_trace_ = stages(header["trace"])
    for name, value in header["fitted"].items():
        setattr(estimator, name, value)
    if header["classes"] is not None:
        estimator.classes_ = np.array(header["classes"])
    return estimator._adopt(model)


def _check_estimator(header: dict[str, Any], model: Any) -> None:
    """Refuse what a header says of the estimator, if it does not belong to its model."""
    check_record(header, _HEADER, "header", others=True)
    kind, n_inputs = _ESTIMATORS[header["estimator"]], model.geometry.projection.n_inputs
    known = set(kind._get_param_names()) - {"kernel", "likelihood"}
    rules = {name: _PARAMETERS.get(name, ANYTHING) for name in sorted(known)}
    check_record(header["parameters"], rules, "parameters", absent=known)
    check_record(header["fitted"], _FITTED, "fitted")
    check_record(header["versions"], dict.fromkeys(header["versions"], TEXT), "versions")
    check(header["features"], optional(list_of(TEXT, n_inputs)), "features")
    rows_and_inputs = header["fitted"]["n_rows_seen_"], header["fitted"]["n_features_in_"]
    n_rows = model.statistics.n_rows if isinstance(model, GaussianModel) else rows_and_inputs[0]
    if rows_and_inputs != (n_rows, n_inputs):
        raise ValueError("fitted does not count the rows and inputs of the model")
    stages(header["trace"])
    _check_likelihood(header, model)
    if kind is VISHClassifier:
        _check_classes(header["classes"], model.likelihood)
    elif header["classes"] is not None or (header["one_target"] and _n_targets(model) > 1):
        raise ValueError("classes or targets are not those of the model")


def _n_targets(model: Any) -> int:
    return model.geometry.n_targets if isinstance(model, GaussianModel) else 1


def _check_likelihood(header: dict[str, Any], model: Any) -> None:
    """Refuse a likelihood that is not the model's own."""
    stored = header["learned_likelihood"]
    likelihood = restore_likelihood(stored)
    if isinstance(model, GaussianModel):
        right = isinstance(likelihood, Gaussian | Warped)
        right = right and Observation(model).likelihood(likelihood) == likelihood
    else:
        right = stored == header["likelihood"]
    if header["estimator"] == VISHClassifier.__name__:
        right &= isinstance(likelihood, Bernoulli | Softmax)
    if not right or stored.get("warp") != header["warp"]:
        raise ValueError(f"the likelihood {likelihood!r} is not that of the model")


def _check_classes(classes: Any, likelihood: Any) -> None:
    """Refuse classes that are not as many as the likelihood has, of one type and in order."""
    n_classes = max(2, likelihood.n_latents)
    check(classes, list_of(ANYTHING, n_classes), "classes")
    found = np.array(classes)
    alike = any(all(map(kind.holds, classes)) for kind in (TEXT, FLAG, NUMBER, _INTEGER))
    if not alike or found.dtype.kind == "O" or not (found[:-1] < found[1:]).all():
        raise ValueError("classes are not all text or all numbers, different and in order")


def _check_solution(estimator: VISHBase, model: Any) -> None:
    """Refuse a model whose sums are not of rows, or that does not predict numbers."""
    projection, engine = model.geometry.projection, model.geometry.engine
    gaussian = isinstance(model, GaussianModel)
    grams = [model.equations.gram] if gaussian else model.grams
    # sum omega r^2, or sum omega: r is at least 1
    least = model.statistics.weight / 2 if gaussian else 0.0
    if not all(engine.total_weight(gram) >= least for gram in grams):
        raise ValueError("the sums are not those of rows with the total weight")
    rows = np.nan_to_num(projection.centre + np.outer([0, 1, -1], projection.scale))
    predict = estimator.predict
    if isinstance(estimator.likelihood_, Bernoulli | Softmax):
        predict = getattr(estimator, "predict_proba", estimator.predict_latent)
    shown = predict(rows[:1]), estimator.predict_latent(rows), estimator.log_evidence_
    _, away = projection.project(np.zeros_like(rows[:1]))
    if not all(np.isfinite(values).all() for values in (*shown, away**2)):
        raise ValueError("the model does not predict finite numbers")


def _classes(estimator: VISHBase) -> list | None:
    classes = getattr(estimator, "classes_", None)
    return None if classes is None else [plain(c) for c in classes.tolist()]
