"""Fitted estimators to model files and back.

A file holds the parameters, the geometry, the hyperparameters and the statistics; the
posterior is solved again when the file is read, so that a loaded model can be updated.
"""

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from vish import likelihoods
from vish.estimators.regressor import VISHRegressor
from vish.inference.gaussian import GaussianModel
from vish.inference.statistics import Geometry, Statistics
from vish.inference.training import Stage
from vish.kernels.storage import from_dict
from vish.modelfile import ModelFileError, read_model, write_model
from vish.sphere.projection import Projection

_STATISTICS = ("moments", "cross", "squares")
_TOTALS = ("log_radii", "weight", "n_rows", "log_slopes")


def save(estimator: VISHRegressor, path: Any) -> None:
    """Write a fitted estimator to a file."""
    model = estimator._model
    geometry, statistics = model.geometry, model.statistics
    projection = geometry.projection
    header = {
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "kernel": _kernel(model.kernel, projection.dimension, geometry.degree),
        "likelihood": _likelihood(estimator.likelihood_),
        "degree": int(geometry.degree),
        "noise": geometry.noise,
        "route": geometry.engine.name,
        "truncated": bool(model.truncated),
        "one_target": bool(estimator._one_target),
        "totals": {name: _plain(getattr(statistics, name)) for name in _TOTALS},
        "n_iter": int(estimator.n_iter_),
        "trace": [[_plain(item) for item in stage] for stage in estimator.fit_trace_],
        "features": _names(estimator),
        "versions": {name: version(name) for name in ("vish", "numpy", "scipy", "numba")}
        | {"python": platform.python_version()},
    }
    arrays = {
        "centre": projection.centre,
        "scale": projection.scale,
        "relevance": projection.relevance,
        "target_shift": geometry.target_shift,
        "target_scale": geometry.target_scale,
        "noise_variance": model.noise,
    } | {name: getattr(statistics, name) for name in _STATISTICS}
    write_model(path, header, arrays)


def load(path: Any) -> VISHRegressor:
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
    """
    header, arrays = read_model(path)
    try:
        return _restore(header, arrays)
    except (KeyError, TypeError, IndexError) as error:
        raise ModelFileError(
            f"{path}: the file is a model file, but not one this version of vish understands "
            f"({error!r}); upgrade vish, or save the model again"
        ) from error


def _restore(header: dict, arrays: dict[str, np.ndarray]) -> VISHRegressor:
    likelihood = _restored_likelihood(header["likelihood"])
    projection = Projection(arrays["centre"], arrays["scale"], arrays["relevance"])
    geometry = Geometry(
        projection,
        header["degree"],
        header["noise"],
        arrays["target_shift"],
        arrays["target_scale"],
        header["route"],
        likelihood.warp,
    )
    totals = header["totals"]
    statistics = Statistics(geometry, **{n: arrays[n] for n in _STATISTICS}, **totals)
    kernel = from_dict(header["kernel"])
    model = GaussianModel(statistics, kernel, arrays["noise_variance"], header["truncated"])
    estimator = VISHRegressor(kernel, likelihood=likelihood, **header["parameters"])
    estimator._one_target = header["one_target"]
    estimator.n_iter_ = header["n_iter"]
    estimator.n_features_in_ = projection.n_inputs
    if header["features"] is not None:
        estimator.feature_names_in_ = np.array(header["features"], dtype=object)
    estimator.fit_trace_ = [Stage(*stage) for stage in header["trace"]]
    return estimator._adopt(model)


def _parameters(estimator: VISHRegressor) -> dict:
    """Parameters that are plain values; the others are in the fitted state."""
    kept = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in ("kernel", "likelihood"):
            continue
        if name == "scaling" and value is not None:
            value = [np.asarray(part).tolist() for part in value]
        elif name == "relevance" and value is not None:
            value = np.asarray(value).tolist()
        elif name == "random_state" and not isinstance(value, int | None):
            value = None
        kept[name] = _plain(value)
    return kept


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _names(estimator: VISHRegressor) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _kernel(kernel: Any, dimension: int, degree: int) -> dict:
    """A user's own kernel is stored as its spectrum."""
    try:
        return kernel.to_dict()
    except ValueError:
        return kernel.freeze(dimension, degree).to_dict()


def _likelihood(likelihood: Any) -> dict:
    stored = {"likelihood": type(likelihood).__name__, **asdict(likelihood)}
    variance = stored["variance"]
    stored["variance"] = list(variance) if isinstance(variance, tuple) else variance
    return stored


def _restored_likelihood(stored: dict) -> Any:
    stored = dict(stored)
    kind = getattr(likelihoods, stored.pop("likelihood"))
    if isinstance(stored["variance"], list):
        stored["variance"] = tuple(stored["variance"])
    if "warp" in stored:
        stored["warp"] = likelihoods.SinhArcsinh(**stored["warp"])
    return kind(**stored)
