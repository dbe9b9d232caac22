"""Fitted estimators to model files and back.

A file holds the parameters, the geometry, the hyperparameters and the statistics; the
posterior is solved again when the file is read, so that a loaded model can be updated.
"""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from vish.estimators.classifier import VISHClassifier
from vish.estimators.modelstate import (
    describe,
    describe_likelihood,
    plain,
    plain_parameters,
    restore,
    restore_likelihood,
)
from vish.estimators.regressor import VISHRegressor
from vish.inference.ascent import Stage
from vish.modelfile import ModelFileError, read_model, write_model

_ESTIMATORS = {kind.__name__: kind for kind in (VISHRegressor, VISHClassifier)}
_FITTED = ("n_iter_", "n_features_in_", "n_rows_seen_", "log_evidence_")


def save(estimator: Any, path: Any, extra: dict[str, Any] | None = None) -> None:
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
        If the file is not a model, or any byte of it has changed.

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
    try:
        return _restored(header, arrays), header
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelFileError(
            f"{path}: the file is a model file, but not one this version of vish understands "
            f"({error!r}); upgrade vish, or save the model again"
        ) from error


def _restored(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    model = restore(header, arrays)
    likelihood = restore_likelihood(header["learned_likelihood"])
    kind = _ESTIMATORS[header["estimator"]]
    estimator = kind(model.kernel, likelihood=likelihood, **header["parameters"])
    estimator._one_target = header["one_target"]
    estimator.fit_trace_ = [Stage(*stage) for stage in header["trace"]]
    for name, value in header["fitted"].items():
        setattr(estimator, name, value)
    if header["classes"] is not None:
        estimator.classes_ = np.array(header["classes"])
    if header["features"] is not None:
        estimator.feature_names_in_ = np.array(header["features"], dtype=object)
    return estimator._restore(model)


def _classes(estimator: Any) -> list | None:
    classes = getattr(estimator, "classes_", None)
    return None if classes is None else [plain(c) for c in classes.tolist()]
