"""Checkpoints of a long fit: what was learned, and the sums of the rows read so far.

A fit that starts again with the same checkpoint takes up where the last complete group of
chunks ended, and ends with the same bits as one that was never stopped.
"""

import hashlib
import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from vish.estimators.modelstate import describe, plain, plain_parameters, restore
from vish.inference.ascent import Stage
from vish.inference.gaussian import GaussianModel
from vish.inference.passes import GROUP_ROWS
from vish.inference.remainder import check_sums
from vish.inference.sources import ArraySource, RowSource
from vish.modelfile import ModelFileError, read_model, refusing, write_model
from vish.sphere.threads import CHUNK_ROWS

EVERY_ROWS = 4_194_304


def refuse_checkpoint(path: Any) -> None:
    """Sites, unlike sums, cannot be taken up half way."""
    if path is not None:
        raise ValueError("checkpoints exist for the Gaussian family only: leave it out")


def asked_of(estimator: BaseEstimator) -> dict[str, Any]:
    """All parameters of an estimator that change the result, as plain values."""
    parameters = plain_parameters(estimator)
    for name in ("n_jobs", "verbose"):
        parameters.pop(name)
    asked = {name: repr(getattr(estimator, name)) for name in ("kernel", "likelihood")}
    return asked | {"parameters": parameters}


class Checkpoint:
    """The file of one fit.

    Parameters
    ----------
    path : str or path
    asked : dict
        What was asked for (`asked_of`): with the source's rows, as far as they can be told, the
        fit's identity.
    source : RowSource
    rows : int
        Between two writings; rounded up to whole groups of chunks.
    """

    def __init__(
        self, path: Any, asked: dict[str, Any], source: RowSource, rows: int | None = None
    ) -> None:
        rows = EVERY_ROWS if rows is None else rows
        if rows < 1:
            raise ValueError(f"checkpoint_rows is {rows}: give at least 1")
        self.path, self.every = path, -(-rows // GROUP_ROWS)
        identity = asked | {
            "rows": source.n_rows,
            "inputs": source.n_inputs,
            "source": _fingerprint(source),
        }
        text = json.dumps(identity, sort_keys=True, default=str)
        self._identity = hashlib.sha256(text.encode()).hexdigest()

    def load(self) -> tuple[GaussianModel, int, list[Stage]] | None:
        """The model so far, the groups it has seen, and the trace; None at the start."""
        if not os.path.exists(self.path):
            return None
        try:
            header, arrays = read_model(self.path)
        except ModelFileError as error:
            raise ModelFileError(
                f"{error}; it was given as a checkpoint: delete it to start anew, or give another "
                "path"
            ) from error
        if header.get("identity") != self._identity:
            raise ValueError(
                f"{self.path}: this checkpoint belongs to another fit (other parameters or other "
                "rows); delete it, or give another path"
            )
        model = restore(header, arrays)
        assert isinstance(model, GaussianModel)
        with refusing(self.path):
            check_sums(model.statistics)
            _check_rows(model.statistics.n_rows, header["groups"])
        return model, header["groups"], [Stage(*stage) for stage in header["trace"]]

    def save(self, model: GaussianModel, groups: int, trace: list[Stage]) -> None:
        """Write the state; the file is replaced in one step."""
        header, arrays = describe(model)
        header |= {
            "identity": self._identity,
            "groups": groups,
            "trace": [[plain(item) for item in stage] for stage in trace],
        }
        write_model(self.path, header, arrays)


def _check_rows(n_rows: int, groups: int) -> None:
    """All groups but the last are full; before the first, rows are the subset's or none."""
    if groups and not (groups - 1) * GROUP_ROWS < n_rows <= groups * GROUP_ROWS:
        raise ValueError(f"{groups} groups of rows do not have {n_rows:,} rows")


def _fingerprint(source: Any) -> Any:
    """What tells a source's rows from others: its own word for it, or the ends of its arrays."""
    own = getattr(source, "fingerprint", None)
    if own is not None or not isinstance(source, ArraySource):
        return own
    digest = hashlib.sha256()
    for array in (source.X, source.y, source.weights):
        if array is not None:
            for end in (array[:CHUNK_ROWS], array[-CHUNK_ROWS:]):
                digest.update(np.ascontiguousarray(end).tobytes())
    return digest.hexdigest()
