"""Kernels as plain dictionaries of JSON values, and back."""

from collections import Counter

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
_DEEPEST = 8  # of kernels inside each other
# Of all kernels together: what they take time for. A hidden layer, and a power of the cosine, each
# cost a pass over the degrees.
_MOST = {"kernels": 100, "layers": 1000, "powers": 500, "numbers": 20_000}


def from_dict(stored):
    """The kernel that `Kernel.to_dict` described.

    Examples
    --------
    >>> from_dict({"kernel": "ArcCosine", "order": 1, "depth": 2, "variance": 0.5})
    ArcCosine(order=1, depth=2, variance=0.5)
    """
    counts = _counts(stored, 1)
    for what, most in _MOST.items():
        if counts[what] > most:
            raise ValueError(f"a stored kernel has at most {most:,} {what}: take a simpler one")
    return _made(stored)


def _counts(stored, depth):
    """How large a kernel would be, of which nothing is built yet."""
    if not isinstance(stored, dict):
        raise ValueError(f"a stored kernel is a dict with its name as 'kernel', not {stored!r}")
    if depth > _DEEPEST:
        raise ValueError(f"a stored kernel has others inside it, at most {_DEEPEST} deep")
    layers, powers = (_whole(stored.get(name)) for name in ("depth", "degree"))
    counts = Counter(kernels=1, layers=layers, powers=powers)
    for value in stored.values():
        counts["numbers"] += len(value) if isinstance(value, list | str) else 1
    for part in _parts(stored):
        counts += _counts(part, depth + 1)
    return counts


def _parts(stored):
    """The kernels of which a kernel is made."""
    name = stored.get("kernel")
    parts = {"Sum": stored.get("kernels"), "Odd": [stored.get("of")]}.get(str(name), [])
    if not isinstance(parts, list):
        raise ValueError(f"a stored Sum has a list of kernels, not {parts!r}")
    return parts


def _whole(value):
    """An integer to be counted; what else a parameter may be, its kernel refuses."""
    return max(0, value) if isinstance(value, int) else 0


def _made(stored):
    parameters = dict(stored)
    name = parameters.pop("kernel", None)
    if name == "Sum":
        return Sum(tuple(map(_made, parameters["kernels"])))
    if name == "Odd":
        return Odd(_made(parameters["of"]))
    if not isinstance(name, str) or name not in _KINDS:
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
