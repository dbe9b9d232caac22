"""Arrays as text that a page can read: base64 of their little-endian bytes."""

import base64
from typing import Any

import numpy as np

_KINDS = {"f8": "<f8", "f4": "<f4", "i4": "<i4"}


def packed(array: Any, kind: str = "f8") -> dict[str, str]:
    """An array, row by row; `kind` is f8, f4 or i4."""
    data = np.ascontiguousarray(array, dtype=_KINDS[kind]).tobytes()
    return {"kind": kind, "data": base64.b64encode(data).decode("ascii")}


def unpacked(stored: dict[str, str]) -> np.ndarray:
    """The array again, flat."""
    return np.frombuffer(base64.b64decode(stored["data"]), dtype=_KINDS[stored["kind"]])
