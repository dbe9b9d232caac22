"""A fitted model as a JSON header and plain arrays, and back: what files and checkpoints hold."""

from dataclasses import asdict, fields
from typing import Any, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from vish import likelihoods
from vish.estimators.localstate import describe_local, restore_local
from vish.estimators.modelchecks import (
    ANYTHING,
    NUMBER,
    POSITIVE,
    RECORD,
    TEXT,
    WARP,
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
from vish.inference.ascent import Stage
from vish.inference.gaussian import GaussianModel
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.statistics import Geometry, Statistics
from vish.kernels.storage import from_dict
from vish.modelfile import refusing
from vish.sphere.projection import Projection

_SUMS = ("moments", "cross", "squares")
_TOTALS = ("log_radii", "weight", "n_rows", "log_slopes")
_LIKELIHOODS = sorted({*likelihoods.__all__} - {"Expectation", "Likelihood", "SinhArcsinh"})
_MOST_GAPS = 10_000
# Parameters of likelihoods by name; those that are not here are positive numbers.
_OF_LIKELIHOODS = {
    "link": choice("logit", "probit"),
    "noise": choice("constant", "radial", "auto"),
    "variance": either(POSITIVE, list_of(POSITIVE)),
    "warp": RECORD,
    "gaps": Rule(lambda v: list_of(POSITIVE).holds(v) and len(v) <= _MOST_GAPS, "a list of gaps"),
    "n_classes": whole(2),
}
_BY_TYPE = {str: TEXT, int: WHOLE, int | None: optional(WHOLE), float: NUMBER}
_OF_STAGES = {name: _BY_TYPE.get(hint, ANYTHING) for name, hint in get_type_hints(Stage).items()}

State = tuple[dict[str, Any], dict[str, np.ndarray]]


def describe(model: GaussianModel | SiteModel) -> State:
    """Header and arrays of a model, of either kind."""
    geometry = model.geometry
    projection = geometry.projection
    header = {
        "kernel": _kernel(model.kernel, projection.dimension, geometry.degree),
        "degree": int(geometry.degree),
        "noise": geometry.noise,
        "route": geometry.engine.name,
        "odd": bool(geometry.odd),
        "truncated": bool(model.truncated),
        "warp": None if geometry.warp is None else asdict(geometry.warp),
    }
    arrays = {
        "centre": projection.centre,
        "scale": projection.scale,
        "relevance": projection.relevance,
        "target_shift": geometry.target_shift,
        "target_scale": geometry.target_scale,
    }
    if isinstance(model, GaussianModel):
        statistics = model.statistics
        header |= {
            "model": "gaussian",
            "totals": {name: plain(getattr(statistics, name)) for name in _TOTALS},
        }
        arrays |= {name: getattr(statistics, name) for name in _SUMS}
        arrays["noise_variance"] = model.noise
        header["local"], rows = describe_local(model.local)
        arrays |= rows
    else:
        header |= {
            "model": "sites",
            "likelihood": describe_likelihood(model.likelihood),
            "y_shift": model.y_shift,
            "y_scale": model.y_scale,
        }
        arrays |= {"site_moments": model.total.moments, "site_cross": model.total.cross}
    return header, arrays


def restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> GaussianModel | SiteModel:
    """The model that `describe` described; anything else is a `ModelFileError`.

    The model is not solved: its basis is built when it is first needed.
    """
    with refusing(getattr(header, "path", "the model")):
        check_state(header, arrays)
        if "groups" in header:  # of a checkpoint
            check(header["groups"], WHOLE, "groups")
            check(header["model"], choice("gaussian"), "model")
            stages(header.get("trace"))
        return _restored(header, arrays)


def _restored(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> GaussianModel | SiteModel:
    warp = None if header["warp"] is None else likelihoods.SinhArcsinh(**header["warp"])
    geometry = Geometry(
        Projection(arrays["centre"], arrays["scale"], arrays["relevance"]),
        header["degree"],
        header["noise"],
        arrays["target_shift"],
        arrays["target_scale"],
        header["route"],
        warp,
        header.get("odd", False),  # files of earlier versions have all degrees
    )
    kernel, truncated = from_dict(header["kernel"]), header["truncated"]
    if header["model"] == "gaussian":
        moments, cross, squares = (arrays[name] for name in _SUMS)
        statistics = Statistics(geometry, moments, cross, squares, **header["totals"])
        local = restore_local(
            header.get("local"), arrays, geometry.projection.n_inputs, geometry.n_targets
        )
        return GaussianModel(statistics, kernel, arrays["noise_variance"], truncated, local)
    sites = Sites(arrays["site_moments"], arrays["site_cross"])
    likelihood = restore_likelihood(header["likelihood"])
    if getattr(likelihood, "n_latents", 0) != geometry.n_targets:
        raise ValueError(f"{likelihood!r} does not have {geometry.n_targets} latent functions")
    units = (header["y_shift"], header["y_scale"])
    if units != (0, 1) and not likelihood.location_scale:
        raise ValueError(f"y_shift and y_scale are not 0 and 1, as {likelihood!r} has them")
    return SiteModel(geometry, likelihood, kernel, truncated, sites, None, *units)


def describe_likelihood(likelihood: Any) -> dict[str, Any]:
    """A likelihood by name and parameters; one of the user's own cannot be stored."""
    name = type(likelihood).__name__
    if getattr(likelihoods, name, None) is not type(likelihood):
        raise ValueError(
            f"a model with the likelihood {name} cannot be saved: files hold no code; use one of "
            "vish.likelihoods, or pickle the estimator"
        )
    stored = {
        key: list(v) if isinstance(v, tuple) else plain(v) for key, v in asdict(likelihood).items()
    }
    return {"likelihood": name, **stored}


def restore_likelihood(stored: dict[str, Any]) -> Any:
    """The likelihood that `describe_likelihood` described."""
    check(stored, RECORD, "likelihood")
    check(stored.get("likelihood"), choice(*_LIKELIHOODS), "likelihood")
    name = stored["likelihood"]
    kind = getattr(likelihoods, name)
    values = {key: value for key, value in stored.items() if key != "likelihood"}
    known = [field.name for field in fields(kind)]
    rules = {key: _OF_LIKELIHOODS.get(key, POSITIVE) for key in known}
    check_record(values, rules, name, absent=known)
    if "warp" in values:
        check_record(values["warp"], WARP, "warp")
        values["warp"] = likelihoods.SinhArcsinh(**values["warp"])
    return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in values.items()})


def stages(trace: Any) -> list[Stage]:
    """The stages of a fit, as a file lists them."""
    check(trace, list_of(list_of(ANYTHING)), "trace")
    for number, stage in enumerate(trace):
        named = dict(zip(Stage._fields, stage, strict=False))
        check_record(named, _OF_STAGES, f"trace[{number}]", absent=Stage._field_defaults)
    return [Stage(*stage) for stage in trace]


def _kernel(kernel: Any, dimension: int, degree: int) -> dict[str, Any]:
    """A user's own kernel, or one that is too large to be read again, is kept as its spectrum."""
    try:
        stored = kernel.to_dict()
        from_dict(stored)
        return stored
    except ValueError:
        return kernel.freeze(dimension, degree).to_dict()


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Parameters that are plain values; kernel and likelihood are in the fitted state."""
    kept = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in ("kernel", "likelihood"):
            continue
        if name == "scaling" and value is not None:
            value = [np.asarray(part).tolist() for part in value]
        elif name == "relevance" and value is not None:
            value = np.asarray(value).tolist()
        elif name == "class_weight" and isinstance(value, dict):
            value = None  # its effect is in the statistics
        elif name == "random_state" and not isinstance(value, int | None):
            value = None
        kept[name] = plain(value)
    return kept
