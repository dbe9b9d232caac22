"""What is asked of a kernel's parameters, and what to do when it is not met."""

from math import isfinite
from operator import index

import numpy as np


def positive(owner, name, value, remedy):
    """`value` as a positive finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (isfinite(number) and number > 0):
        raise ValueError(
            f"{owner}: {name} must be a positive finite number, got {value!r}; {remedy}"
        )
    return number


def variance(owner, value):
    """The variance of a kernel: its value at cosine 1."""
    return positive(owner, "variance", value, "it is the kernel's value at cosine 1")


def lengthscale(owner, value):
    """A length scale, or None for the starting value of the dimension it is used in."""
    remedy = "leave it None to start from a value that suits the dimension"
    return None if value is None else positive(owner, "lengthscale", value, remedy)


def whole(owner, name, value, least, remedy):
    """`value` as an integer of at least `least`."""
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise ValueError(
            f"{owner}: {name} must be an integer of at least {least}, got {value!r}; {remedy}"
        )
    return number


def cosines(values):
    """Cosines as floats in [-1, 1]; a rounding error past the end is clipped."""
    values = np.asarray(values, dtype=np.float64)
    wrong = ~(np.abs(values) <= 1 + 1e-9)
    if wrong.any():
        raise ValueError(
            f"cosines must lie in [-1, 1], got {float(values[wrong].flat[0])!r}; "
            "take inner products of unit vectors (divide each row by its norm)"
        )
    return np.clip(values, -1.0, 1.0)


def keep(instance, **values):
    """Store checked values on a frozen dataclass while it is being constructed."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)
