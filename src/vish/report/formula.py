"""A fitted model as the page computes it: geometry, weights, variances, and what is observed.

All that `predict` uses, as plain numbers; `harmonics.js` and `links.js` are the same formulas.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from vish.estimators.description import Description
from vish.likelihoods import (
    Bernoulli,
    Beta,
    Gamma,
    Heteroscedastic,
    Laplace,
    NegativeBinomial,
    Poisson,
    Softmax,
    StudentT,
)
from vish.likelihoods.base import NODES, WEIGHTS
from vish.likelihoods.binary import _SCALES, _SHARES
from vish.likelihoods.softmax import _draws
from vish.report import variance
from vish.report.packing import packed


def formula(estimator: Any, X: np.ndarray, budget: int = variance.BUDGET) -> dict[str, Any]:
    """The model in JSON values; how variances are written is checked at rows X [n, D]."""
    model = estimator.description_
    chosen = variance.choose(model.posterior, X, model.noise_variance_at(X), budget)
    return {
        "centre": model.centre.tolist(),
        "scale": model.scale.tolist(),
        "map": packed(model.linear_map),
        "basis": variance.program(model.basis),
        "means": packed(model.means.T),
        "shift": np.broadcast_to(model.shift, model.means.shape[1]).tolist(),
        "tail": model.tail,
        "harmonics_only": model.keeps_rows,
        "variance": None if chosen is None else {"form": chosen.name} | chosen.stored,
        "variance_error": None if chosen is None else chosen.error,
        "exact": chosen is not None and chosen.error <= variance.EXACT,
        "link": _site_link(model) if model.noise is None else _gaussian_link(model, model.noise),
    }


def _gaussian_link(model: Description, noise: np.ndarray) -> dict[str, Any]:
    link = {
        "name": "gaussian",
        "shift": float(model.y_shift[0]),
        "scale": float(model.y_scale[0]),
        "noise": float(noise[0]),
        "radial": model.noise_kind == "radial",
    }
    warp = model.warp
    if warp is not None:
        nodes, weights = hermegauss(40)  # as in vish.estimators.observation
        link |= {
            "name": "warped",
            "skew": warp.skew,
            "tail": warp.tail,
            "location": warp.location,
            "width": warp.scale,
            "nodes": nodes.tolist(),
            "weights": (weights / weights.sum()).tolist(),
        }
    return link


def _site_link(model: Description) -> dict[str, Any]:
    likelihood = model.likelihood
    rule = {"nodes": NODES.tolist(), "weights": WEIGHTS.tolist()}
    if isinstance(likelihood, Bernoulli):
        if likelihood.link == "probit":
            return {"name": "bernoulli", "shares": [1.0], "scales": [1.0], "logit": False}
        shares, scales = _SHARES.tolist(), _SCALES.tolist()
        return {"name": "bernoulli", "shares": shares, "scales": scales, "logit": True}
    if isinstance(likelihood, Softmax):
        return {"name": "softmax", "draws": packed(_draws(likelihood.n_classes))}
    if isinstance(likelihood, Poisson):
        return {"name": "poisson"} | rule
    if isinstance(likelihood, NegativeBinomial):
        return {"name": "negative binomial", "shape": likelihood.shape} | rule
    units = likelihood.location_scale
    scale = {"shift": float(model.y_shift[0]), "scale": float(model.y_scale[0])}
    kind = type(likelihood).__name__
    if isinstance(likelihood, Heteroscedastic):
        return {"name": "heteroscedastic"} | scale | rule
    if isinstance(likelihood, StudentT | Laplace | Gamma | Beta):
        parameters = asdict(likelihood)
        return {"name": "integrated", "likelihood": kind, "parameters": parameters} | scale | rule
    # What remains: the first latent function alone, in the units of the target if it has them.
    return {"name": "latent", "likelihood": kind, "units": bool(units)} | scale
