"""Checks at the door of the sphere: what is wrong, and what to do about it."""

import numbers

import numpy as np


def check_dimension(dimension) -> int:
    if not isinstance(dimension, numbers.Integral) or dimension < 2:
        raise ValueError(
            f"dimension is {dimension!r}: give an integer of at least 2, the number of "
            "coordinates of a point (a circle has 2, a globe 3)"
        )
    return int(dimension)


def check_degree(degree) -> int:
    if not isinstance(degree, numbers.Integral) or degree < 0:
        raise ValueError(f"degree is {degree!r}: give an integer of at least 0")
    return int(degree)


def check_directions(directions, dimension: int) -> np.ndarray:
    """Points as a float array [n, d], finite and nowhere zero."""
    directions = np.asarray(directions)
    if directions.dtype != np.float32:
        directions = directions.astype(np.float64, copy=False)
    if directions.ndim != 2 or directions.shape[1] != dimension:
        raise ValueError(
            f"directions have shape {directions.shape}: expected (n, {dimension}), one row "
            f"per point and one column per coordinate"
        )
    if not np.isfinite(directions).all():
        row = np.flatnonzero(~np.isfinite(directions).all(axis=1))[0]
        raise ValueError(f"directions hold NaN or infinity, first in row {row}: remove such rows")
    zero = ~directions.any(axis=1)
    if zero.any():
        raise ValueError(
            f"row {np.flatnonzero(zero)[0]} of directions is the zero vector, which has no "
            "direction: remove it, or append a constant column before normalising"
        )
    return directions
