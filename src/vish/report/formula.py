"""A fitted model as the page computes it: geometry, weights, variances, and what is observed.

All that `predict` uses, as plain numbers; `harmonics.js` and `links.js` are the same formulas.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from vish.inference.gaussian import GaussianModel
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
    model = estimator._model
    geometry, posterior = model.geometry, model.posterior
    projection = geometry.projection
    gaussian = isinstance(model, GaussianModel)
    extra = model.noise_variance_at(X) if gaussian else np.zeros((len(X), 1))
    chosen = variance.choose(posterior, X, extra, budget)
    shift = model.equations.mean if gaussian else geometry.target_shift
    return {
        "centre": projection.centre.tolist(),
        "scale": projection.scale.tolist(),
        "map": packed(projection.linear_map),
        "basis": variance.program(geometry.engine.basis),
        "means": packed(posterior.means.T),
        "shift": np.broadcast_to(shift, posterior.means.shape[1]).tolist(),
        "tail": posterior.tail,
        "variance": None if chosen is None else {"form": chosen.name} | chosen.stored,
        "variance_error": None if chosen is None else chosen.error,
        "exact": chosen is not None and chosen.error <= variance.EXACT,
        "link": _gaussian_link(model) if gaussian else _site_link(model),
    }


def _gaussian_link(model: GaussianModel) -> dict[str, Any]:
    geometry = model.geometry
    link = {
        "name": "gaussian",
        "shift": float(geometry.target_shift[0]),
        "scale": float(geometry.target_scale[0]),
        "noise": float(model.noise[0]),
        "radial": geometry.noise == "radial",
    }
    if geometry.warp is not None:
        warp = geometry.warp
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


def _site_link(model: Any) -> dict[str, Any]:
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
    scale = {"shift": float(model.y_shift), "scale": float(model.y_scale)}
    kind = type(likelihood).__name__
    if isinstance(likelihood, Heteroscedastic):
        return {"name": "heteroscedastic"} | scale | rule
    if isinstance(likelihood, StudentT | Laplace | Gamma | Beta):
        parameters = asdict(likelihood)
        return {"name": "integrated", "likelihood": kind, "parameters": parameters} | scale | rule
    # What remains: the first latent function alone, in the units of the target if it has them.
    return {"name": "latent", "likelihood": kind, "units": bool(units)} | scale
