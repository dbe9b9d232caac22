"""VISH: Gaussian processes on millions of rows in seconds.

Sparse Gaussian processes with spherical harmonic features (Dutordoir, Durrande and
Hensman, ICML 2020). Names load when first used, so that ``import vish`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vish.estimators.classifier import VISHClassifier
    from vish.estimators.regressor import VISHRegressor
    from vish.estimators.storage import load
    from vish.estimators.transformer import SphericalHarmonics

# Where each public name lives.
_HOMES = {
    "SphericalHarmonics": "vish.estimators.transformer",
    "VISHClassifier": "vish.estimators.classifier",
    "VISHRegressor": "vish.estimators.regressor",
    "load": "vish.estimators.storage",
}
_MODULES = ("data", "kernels", "likelihoods", "metrics", "plots", "sphere")

__all__ = [
    "SphericalHarmonics",
    "VISHClassifier",
    "VISHRegressor",
    "__version__",
    "data",
    "kernels",
    "likelihoods",
    "load",
    "metrics",
    "plots",
    "sphere",
]


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        # pyproject.toml is the one place where the version is written.
        value = import_module("importlib.metadata").version("vish")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"vish.{name}")
    else:
        raise AttributeError(f"module 'vish' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
