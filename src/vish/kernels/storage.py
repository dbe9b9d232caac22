"""Kernels as plain dictionaries of JSON values, and back."""

from vish.kernels.arccosine import ArcCosine, NeuralTangent
from vish.kernels.fixed import FixedSpectrum
from vish.kernels.free import FreeSpectrum
from vish.kernels.laplacian import Matern, SquaredExponential
from vish.kernels.parity import Odd
from vish.kernels.sums import Sum
from vish.kernels.zonal import Polynomial

_KINDS = {
    kind.__name__: kind
    for kind in (
        Matern,
        SquaredExponential,
        ArcCosine,
        NeuralTangent,
        Polynomial,
        FreeSpectrum,
        FixedSpectrum,
    )
}


def from_dict(stored):
    """The kernel that `Kernel.to_dict` described.

    Examples
    --------
    >>> from_dict({"kernel": "ArcCosine", "order": 1, "depth": 2, "variance": 0.5})
    ArcCosine(order=1, depth=2, variance=0.5)
    """
    parameters = dict(stored)
    name = parameters.pop("kernel", None)
    if name == "Sum":
        return Sum(tuple(from_dict(part) for part in parameters["kernels"]))
    if name == "Odd":
        return Odd(from_dict(parameters["of"]))
    if name not in _KINDS:
        names = ", ".join([*_KINDS, "Sum", "Odd"])
        raise ValueError(f"no kernel is named {name!r}; the names are {names}")
    return _KINDS[name](**parameters)


def require_storable(kernel):
    """Refuse a kernel that holds the user's code."""
    if type(kernel) not in _KINDS.values():
        raise ValueError(
            f"{type(kernel).__name__} holds code, which a model file does not keep; store "
            "kernel.freeze(dimension, degree), its spectrum as numbers"
        )
