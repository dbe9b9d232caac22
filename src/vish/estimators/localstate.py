"""The rows that a model keeps, and its detail, as entries of a model file, and back.

The header says how many rows there are and a sum of their hashes, so that rows which were cut,
added or changed are found even where the checksum of the file was made anew.
"""

import sys
from typing import Any

import numpy as np

from vish.estimators.modelchecks import NUMBER, POSITIVE, WHOLE, Rule, check_record, choice, whole
from vish.inference.local import Local
from vish.neighbors.process import Detail
from vish.neighbors.rows import NO_BOUND, Rows, content_hashes

_ARRAYS = {"row_inputs": "X", "row_targets": "y", "row_weights": "weights"}
_DETAIL = {
    "lengthscale": POSITIVE,
    "smoothness": Rule(lambda v: type(v) is float and v in (0.5, 1.5, 2.5), ".5, 1.5 or 2.5"),
    "variance": POSITIVE,
    "noise": POSITIVE,
    "prior_rows": POSITIVE,  # null would do for infinity; the largest number does as well
}
_HEX = Rule(
    lambda v: isinstance(v, str) and len(v) == 16 and set(v) <= set("0123456789abcdef"),
    "16 hexadecimal digits",
)
_LOCAL = _DETAIL | {
    "tail": choice("neighbors"),
    "n_neighbors": whole(1),
    "most": whole(1),
    "n_rows": WHOLE,
    "bound": _HEX,
    "digest": _HEX,
    "gain": NUMBER,
}


def describe_local(local: Local | None) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Entry of the header, and arrays."""
    if local is None:
        return None, {}
    rows, detail = local.rows, local.detail
    header = {
        "tail": "neighbors",
        "n_neighbors": int(local.n_neighbors),
        "most": int(rows.most),
        "n_rows": len(rows),
        "bound": f"{rows.bound:016x}",
        "digest": _digest(rows.hashes),
        "gain": float(local.gain),
    }
    header |= {name: float(min(getattr(detail, name), sys.float_info.max)) for name in _DETAIL}
    arrays = {name: getattr(rows, field) for name, field in _ARRAYS.items()} if len(rows) else {}
    return header, arrays


def restore_local(
    header: Any, arrays: dict[str, np.ndarray], n_inputs: int, n_targets: int
) -> Local | None:
    """What `describe_local` described; anything else is a ValueError."""
    if header is None:
        return None
    check_record(header, _LOCAL, "local")
    values = {name: header[name] for name in _DETAIL}
    if values["prior_rows"] == sys.float_info.max:
        values["prior_rows"] = np.inf
    bound, n = int(header["bound"], 16), header["n_rows"]
    none = Rows.none(n_inputs, n_targets, header["most"])
    X, y, weights = none.X, none.y, none.weights
    if n:
        X, y, weights = (_array(arrays, name) for name in _ARRAYS)
    if X.shape != (n, n_inputs) or y.shape != (n, n_targets) or weights.shape != (n,):
        raise ValueError(
            f"the rows kept have the shapes {X.shape}, {y.shape} and {weights.shape}, not those "
            f"of {n} rows of {n_inputs} inputs and {n_targets} targets: rows were cut or added"
        )
    if n and not weights.min() > 0:
        raise ValueError("the rows kept have a weight that is not positive")
    hashes = content_hashes(X, y)
    if _digest(hashes) != header["digest"] or (hashes[1:] <= hashes[:-1]).any():
        raise ValueError("the rows kept are not those that were saved: rows were changed")
    if n > header["most"] or (n and int(hashes[-1]) > bound) or bound > NO_BOUND:
        raise ValueError("there are more rows than the model keeps")
    rows = Rows(X, y, weights, hashes, header["most"], bound)
    return Local(rows, header["n_neighbors"], Detail(**values), header["gain"])


def _array(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"there is no array {name!r}: the rows kept were cut off")
    array = arrays[name]
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"array {name!r} does not hold finite numbers of float64")
    return array


def _digest(hashes: np.ndarray) -> str:
    return f"{int(hashes.sum(dtype=np.uint64)):016x}"
