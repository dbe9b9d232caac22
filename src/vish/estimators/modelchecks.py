"""What the entries of a model file must be, as tables, and the check of a file against them.

A checksum tells that a file is as it was written, not that it was written by us. So every entry
of the header and every array is compared with a table before anything is built from it: a
degree that does not belong to the arrays could ask for a basis larger than the machine.
"""

import reprlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vish.sphere.memory import basis_size, physical_memory

# ---- rules for values of JSON


@dataclass(frozen=True)
class Rule:
    """What a value must be: a test, and the same in words."""

    holds: Callable[[Any], bool]
    words: str


def choice(*names: str) -> Rule:
    return Rule(lambda v: isinstance(v, str) and v in names, " or ".join(map(repr, names)))


def either(*rules: Rule) -> Rule:
    words = " or ".join(rule.words for rule in rules)
    return Rule(lambda v: any(rule.holds(v) for rule in rules), words)


def optional(rule: Rule) -> Rule:
    return either(Rule(lambda v: v is None, "null"), rule)


def list_of(rule: Rule, length: int | None = None) -> Rule:
    size = "" if length is None else f"{length} times "
    return Rule(
        lambda v: isinstance(v, list) and length in (None, len(v)) and all(map(rule.holds, v)),
        f"a list of {size}{rule.words}",
    )


def whole(least: int) -> Rule:
    words = f"a whole number of at least {least}"
    return Rule(lambda v: type(v) is int and least <= v < 2**63, words)


def _is_number(value: Any) -> bool:
    """Finite, and an integer only if it is the same as a float."""
    if type(value) is int:
        return abs(value) <= 2**53
    return isinstance(value, float) and abs(value) <= sys.float_info.max


ANYTHING = Rule(lambda v: True, "anything")
FLAG = Rule(lambda v: isinstance(v, bool), "true or false")
TEXT = Rule(lambda v: isinstance(v, str), "text")
WHOLE = whole(0)
NUMBER = Rule(_is_number, "a number")
POSITIVE = Rule(lambda v: _is_number(v) and v > 0, "a number above 0")
# Where rows were forgotten, rounding may leave a sum of squares a little below zero.
NEARLY_POSITIVE = Rule(lambda v: _is_number(v) and v > -1, "a number of at least 0")
RECORD = Rule(lambda v: isinstance(v, dict), "a record")


def check(value: Any, rule: Rule, where: str) -> None:
    """Refuse a value that is not what it must be."""
    if not rule.holds(value):
        raise ValueError(f"{where} is {reprlib.repr(value)}, not {rule.words}")


def check_record(
    stored: Any, rules: Mapping[str, Rule], where: str, *, absent: Any = (), others: bool = False
) -> None:
    """Refuse a record with an entry that is wrong, missing (but for `absent`) or unknown."""
    check(stored, RECORD, where)
    for name, rule in rules.items():
        if name in stored:
            check(stored[name], rule, f"{where}[{name!r}]")
        elif name not in absent:
            raise ValueError(f"{where} has no {name!r}")
    unknown = set(stored) - set(rules)
    if unknown and not others:
        raise ValueError(f"{where} has an entry {reprlib.repr(min(unknown))}, which is unknown")


# ---- a model: what `modelstate.describe` writes

WARP = {"skew": NUMBER, "tail": POSITIVE, "location": NUMBER, "scale": POSITIVE}
_GEOMETRY = {
    "degree": WHOLE,
    "noise": choice("constant", "radial"),
    "route": choice("moments", "features"),
    "odd": FLAG,
    "truncated": FLAG,
    "model": choice("gaussian", "sites"),
    "kernel": RECORD,
    "warp": optional(RECORD),
}
_TOTALS = {
    "log_radii": NEARLY_POSITIVE,
    "weight": Rule(lambda v: _is_number(v) and v >= 0, "a number of at least 0"),
    "n_rows": WHOLE,
    "log_slopes": NUMBER,
}
_HEADERS = {
    "gaussian": _GEOMETRY | {"totals": RECORD},
    "sites": _GEOMETRY | {"likelihood": RECORD, "y_shift": NUMBER, "y_scale": POSITIVE},
}
# Shapes by letter: D inputs, T targets (or latent functions), M harmonics, S sums.
_GEOMETRY_SHAPES = {"centre": "D", "scale": "D", "target_shift": "T", "target_scale": "T"}
_SHAPES = {
    "gaussian": _GEOMETRY_SHAPES
    | {"moments": "S", "cross": "MT", "squares": "T", "noise_variance": "T"},
    "sites": _GEOMETRY_SHAPES | {"site_moments": "TS", "site_cross": "TM"},
}
_ABOVE = {"scale": 0.0, "target_scale": 0.0, "noise_variance": 0.0, "squares": -1.0}
_LARGEST_RELEVANCE = 1e150  # radii are squared
_MATRICES = 3  # of M x M that a solution holds at once
_HIGHEST_BY_MOMENTS = 16  # beyond, monomials are badly conditioned (`sphere.engines`)
_MANY = 64  # C(2n, n) is larger than 2^n, and no array has 2^64 numbers
_LARGEST_CONSTANT = 10_000  # dimensions of a model of degree 0, whose arrays do not tell


def check_state(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a header and arrays that no model has, before anything is built from them."""
    check(header.get("model"), _GEOMETRY["model"], "model")
    kind = header["model"]
    check_record(header, _HEADERS[kind], "header", absent=("odd",), others=True)
    if header["warp"] is not None:
        check_record(header["warp"], WARP, "warp")
    if kind == "gaussian":
        check_record(header["totals"], _TOTALS, "totals", absent=("log_slopes",))
        if header["totals"]["weight"] > 0 and not header["totals"]["n_rows"]:
            raise ValueError("totals have a weight, but no rows")
    for name in ("relevance", *_SHAPES[kind]):
        _check_numbers(arrays, name)
    _check_shapes(header, arrays, kind)


def _check_numbers(arrays: Mapping[str, np.ndarray], name: str) -> None:
    if name not in arrays:
        raise ValueError(f"there is no array {name!r}")
    array = arrays[name]
    if array.dtype != np.float64 or not array.size:
        raise ValueError(f"array {name!r} holds {array.size} {array.dtype}, not numbers of float64")
    if not np.isfinite(array).all():
        raise ValueError(f"array {name!r} holds NaN or infinity")
    if name in _ABOVE and not (array > _ABOVE[name]).all():
        raise ValueError(f"array {name!r} holds {array.min():g}, which is too small")
    if name == "relevance" and np.abs(array).max() > _LARGEST_RELEVANCE:
        raise ValueError(f"array {name!r} holds {np.abs(array).max():g}, which is too large")


def _check_shapes(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kind: str) -> None:
    """Compare the arrays with each other, and with the degree."""
    relevance = arrays["relevance"]
    sizes = {"D": arrays["centre"].size, "T": arrays["target_shift"].size}
    if relevance.ndim not in (1, 2) or relevance.shape[-1] != sizes["D"]:
        raise ValueError(f"relevance has shape {relevance.shape} for {sizes['D']} inputs")
    sizes |= _basis_sizes(header, len(relevance) + 1)
    for name, letters in _SHAPES[kind].items():
        if arrays[name].shape != tuple(sizes[letter] for letter in letters):
            raise ValueError(
                f"array {name!r} has shape {arrays[name].shape}, which does not belong to degree "
                f"{header['degree']} of {len(relevance)} mapped inputs and {sizes['T']} targets"
            )
    if 8 * _MATRICES * sizes["M"] ** 2 > physical_memory():
        raise MemoryError


def _basis_sizes(header: Mapping[str, Any], dimension: int) -> dict[str, int]:
    """Numbers of harmonics and of sums, by whole numbers alone: no basis is built."""
    degree, odd, by_moments = header["degree"], header.get("odd"), header["route"] == "moments"
    if odd and degree % 2 == 0:
        raise ValueError(f"degree is {degree}, but the harmonics are those of odd degree")
    if by_moments and not 1 <= degree <= _HIGHEST_BY_MOMENTS:
        raise ValueError(f"degree is {degree}, which the route 'moments' does not take")
    most = _MANY if degree else _LARGEST_CONSTANT
    if min(dimension, degree or dimension) > most:
        raise ValueError(f"degree {degree} in dimension {dimension} has too many harmonics")
    M = basis_size(dimension, degree, bool(odd))
    sums = basis_size(dimension, 2 * degree, bool(odd)) if by_moments else M * (M + 1) // 2
    return {"M": M, "S": sums}
