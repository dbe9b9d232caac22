"""`vish update`, `vish forget` and `vish merge`: models changed without their rows."""

from typing import Any

import numpy as np

from vish.cli.bundle import LabelledRows, load_bundle
from vish.cli.errors import BadInput, one_line
from vish.cli.outputs import check_output
from vish.cli.rows import TableFiles, find_files
from vish.cli.talk import Talk

_BLOCK_BYTES = 2**29


def change(
    what: str,
    model: str,
    paths: list[str],
    out: str | None,
    target: str | None,
    relearn: bool,
    talk: Talk,
) -> dict[str, Any]:
    """Learn more rows (`what` is "update"), or take rows away ("forget"), and save."""
    out = model if out is None else out
    check_output(out, find_files(paths))
    bundle = load_bundle(model)
    data = TableFiles(paths)
    wanted = bundle.require_target(target)
    estimator = bundle.estimator
    if what == "forget" and not hasattr(estimator, "forget"):
        raise BadInput(f"{model} is a classifier: only regression can forget; fit again instead")
    before = int(estimator.n_rows_seen_)
    relearned, estimator.optimize = estimator.optimize, estimator.optimize and relearn
    blocks: list[LabelledRows] = []
    n_rows = outside = size = 0

    def apply() -> None:
        X = np.concatenate([rows.X for rows in blocks])
        y = np.concatenate([rows.y for rows in blocks])
        weights = None
        if wanted.weight is not None:
            weights = np.concatenate([rows.weights for rows in blocks])
        if what == "forget":
            estimator.forget(X, y, sample_weight=weights)
        else:
            y = y if not hasattr(estimator, "classes_") else _labels(y, estimator.classes_)
            estimator.partial_fit(X, y, sample_weight=weights)
        blocks.clear()

    try:
        with talk.rows("reading rows", data.n_rows) as done, talk.warnings_as_notes():
            for rows in bundle.labelled(data, wanted, talk, True, done):
                blocks.append(rows)
                n_rows += len(rows.y)
                outside += int(rows.outside.sum())
                size += rows.X.nbytes
                if size > _BLOCK_BYTES:
                    apply()
                    size = 0
            if blocks:
                apply()
    except ValueError as error:
        raise BadInput(one_line(error)) from error
    if n_rows == 0:
        raise BadInput(f"{data.where} has no rows with a target: give at least one")
    estimator.optimize = relearned
    bundle.save(out)
    return {
        "model": out,
        "rows": n_rows,
        "rows_before": before,
        "rows_after": int(estimator.n_rows_seen_),
        "outside": outside,
        "log_evidence": float(estimator.log_evidence_),
    }


def _labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return y.astype(int) if classes.dtype.kind in "iu" else y.astype(str)


def merge(models: list[str], out: str, talk: Talk) -> dict[str, Any]:
    """One model that has seen the rows of all."""
    check_output(out, models)
    if len(models) < 2:
        raise BadInput("one model only: give two or more to be merged")
    bundles = [load_bundle(path) for path in models]
    first = bundles[0]
    for path, bundle in zip(models, bundles, strict=True):
        if not hasattr(bundle.estimator, "forget"):
            raise BadInput(f"{path} is a classifier: only regression models can be merged")
        if bundle.estimator.description_.family != "gaussian":
            kind = type(bundle.estimator.likelihood_).__name__
            raise BadInput(
                f"{path} has the likelihood {kind}: only the Gaussian family can be merged"
            )
        if bundle.table.to_recipe()["encodings"] != first.table.to_recipe()["encodings"]:
            raise BadInput(
                f"{path} and {models[0]} treat their columns differently: make one of them with "
                f"vish fit --like {models[0]}"
            )
    merged = first.estimator
    try:
        for bundle in bundles[1:]:
            merged = merged.merge(bundle.estimator)
    except ValueError as error:
        hint = f"make one of them with vish fit --like {models[0]}"
        raise BadInput(f"the models cannot be merged ({one_line(error)}): {hint}") from error
    first.estimator = merged
    first.save(out)
    return {
        "model": out,
        "merged": models,
        "rows": int(merged.n_rows_seen_),
        "log_evidence": float(merged.log_evidence_),
    }
