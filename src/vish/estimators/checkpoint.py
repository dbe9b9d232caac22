"""Checkpoints of a long fit: what was learned, and the sums of the rows read so far.

A fit that starts again with the same checkpoint takes up where the last complete group of
chunks ended, and ends with the same bits as one that was never stopped.
"""

import hashlib
import json
import os
from typing import Any

from vish.estimators.modelstate import describe, plain, plain_parameters, restore
from vish.inference.gaussian import GaussianModel
from vish.inference.training import Stage
from vish.modelfile import read_model, write_model

_EVERY_GROUPS = 64  # about four million rows


class Checkpoint:
    """The file of one fit.

    Parameters
    ----------
    path : str or path
    estimator
        Its parameters, and the source's size, are the fit's identity.
    source : RowSource
    """

    def __init__(self, path: Any, estimator: Any, source: Any, every: int = _EVERY_GROUPS) -> None:
        self.path, self.every = path, every
        identity = {
            "parameters": plain_parameters(estimator),
            "kernel": repr(estimator.kernel),
            "likelihood": repr(estimator.likelihood),
            "rows": source.n_rows,
            "inputs": source.n_inputs,
        }
        text = json.dumps(identity, sort_keys=True, default=str)
        self._identity = hashlib.sha256(text.encode()).hexdigest()

    def load(self) -> tuple[GaussianModel, int, list[Stage]] | None:
        """The model so far, the groups it has seen, and the trace; None at the start."""
        if not os.path.exists(self.path):
            return None
        header, arrays = read_model(self.path)
        if header.get("identity") != self._identity:
            raise ValueError(
                f"{self.path}: this checkpoint belongs to another fit (other parameters or other "
                "rows); delete it, or give another path"
            )
        model = restore(header, arrays)
        assert isinstance(model, GaussianModel)
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
