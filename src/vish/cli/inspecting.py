"""`vish inspect`: what is in a model file, and what became of each column."""

import os
from typing import Any

import numpy as np

from vish.cli.bundle import Bundle, load_bundle


def inspect(path: str) -> dict[str, Any]:
    """All that a model file says."""
    bundle = load_bundle(path)
    model, header = bundle.estimator, bundle.header
    facts: dict[str, Any] = {
        "file": path,
        "bytes": os.path.getsize(path),
        "estimator": type(model).__name__,
        "task": None if bundle.target is None else bundle.target.task,
        "target": None if bundle.target is None else bundle.target.name,
        "weight": None if bundle.target is None else bundle.target.weight,
        "rows": int(model.n_rows_seen_),
        "degree": int(model.degree_),
        "harmonics": int(model.n_harmonics_),
        "tail": model.tail_,
        "rows_kept": model.description_.rows_kept,
        "kernel": repr(model.kernel_),
        "likelihood": repr(model.likelihood_),
        "log_evidence": float(model.log_evidence_),
        "versions": header["versions"],
        "can_forget_and_merge": header["model"] == "gaussian",
    }
    classes = getattr(model, "classes_", None)
    if classes is not None:
        facts["classes"] = classes.tolist()
    noise = getattr(model, "noise_variance_", None)
    if isinstance(noise, float):
        facts["noise_std"] = float(np.sqrt(noise))
    facts["columns"] = _columns(bundle)
    return facts


def _columns(bundle: Bundle) -> list[dict[str, Any]]:
    """Columns with ranges or levels, and the relevance of their inputs."""
    relevances = np.linalg.norm(np.atleast_2d(bundle.estimator.relevance_), axis=0)
    named: dict[str, float] = dict(
        zip(bundle.table.get_feature_names_out(), relevances, strict=True)
    )
    encodings = {e["name"]: e for e in bundle.table.to_recipe()["encodings"]}
    columns = []
    for column in list(bundle.table.columns_):
        encoding = encodings.get(column["name"], {})
        extra: dict[str, Any] = {}
        if "low" in encoding:
            extra["low"], extra["high"] = encoding["low"], encoding["high"]
        if "levels" in encoding:
            extra["levels"], extra["code"] = len(encoding["levels"]), encoding["code"]
        weights = [float(named[name]) for name in column["inputs"]]
        columns.append(column | extra | {"relevances": weights})
    return columns


def seen(column: dict[str, Any]) -> str:
    """The range or the levels of a column, in a few words."""
    if "levels" in column:
        return f"{column['levels']} levels, {column['code']}"
    if "low" not in column or abs(column["low"]) > 1e300:
        return ""
    ends = column["low"], column["high"]
    if column["kind"] == "date":
        return " to ".join(
            str(np.datetime64(int(end), "s")).replace("T00:00:00", "") for end in ends
        )
    if column["kind"] == "time":
        return " to ".join(f"{int(end // 3600):02d}:{int(end % 3600 // 60):02d}" for end in ends)
    if column["kind"] == "boolean":
        return ""
    return f"{ends[0]:.6g} to {ends[1]:.6g}"
