"""One run in a process of its own: `python -m vish.paper.worker JOB OUTCOME`.

The outcome is written as JSON when the run is done. The process ends with the one that started
it: it watches its standard input, which closes then.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from vish.paper.jobs import Job, Place, load, training
from vish.paper.methods import METHODS
from vish.paper.methods.base import Fitted, Training

_WARM_ROWS = 5000  # enough for the route that many rows take
PACKAGES = ("vish", "numpy", "scipy", "numba", "scikit-learn")


def run(job: Job, place: Place) -> dict[str, Any]:
    """Fit, predict and score."""
    rows = load(job, place)
    method = METHODS[job.method]
    given = training(job, rows)
    fit = method.load()
    warm_up(job, fit, given)
    start = time.perf_counter()
    fitted = fit(given)
    learned = time.perf_counter()
    prediction = fitted.predict(rows.X_test, rows.y_test)
    end = time.perf_counter()
    mean, nlpd = prediction.mean, -float(np.mean(prediction.log_density))
    if given.task == "classes":
        from sklearn.metrics import roc_auc_score

        scores = {"auc": float(roc_auc_score(rows.y_test, mean)), "nlpd": nlpd}
        scores["error"] = float(np.mean((mean > 0.5) != (rows.y_test > 0.5)))
    else:
        scores = {"mse": float(np.mean((mean - rows.y_test) ** 2)), "nlpd": nlpd}
    facts = dict(fitted.facts)
    if "log evidence" in facts:
        scores["bound"] = facts.pop("log evidence")
    return {
        "status": "done",
        "scores": scores,
        "seconds": {"fit": learned - start, "predict": end - learned},
        "peak_memory_mb": peak_memory(),
        "rows": [len(rows.y), len(rows.y_test)],
        "source": rows.source,
        "facts": facts,
        "versions": versions(method.needs),
    }


def warm_up(job: Job, fit: Callable[[Training], Fitted], given: Training) -> None:
    """Compile what is compiled: the first fit of a process is not what a fit costs."""
    if job.experiment in ("airline", "timing") and job.method.startswith("vish"):
        few = replace(given, X=given.X[:_WARM_ROWS], y=given.y[:_WARM_ROWS])
        fit(few).predict(few.X, few.y)


def peak_memory() -> float:
    """Of this process, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # not ru_maxrss: a child inherits that of its parent
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def versions(needs: tuple[str, ...]) -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for package in (*PACKAGES, *needs):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def _end_with_parent() -> None:
    while os.read(
        0, 1
    ):  # until it closes; sys.stdin has a lock, on which the interpreter would abort
        pass
    os._exit(3)


def main(arguments: list[str]) -> None:
    """Job and places as JSON; the outcome goes to a file, whole or not at all."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    given = json.loads(arguments[0])
    place = Place(*(Path(part) for part in given["place"]))
    outcome = run(Job(**given["job"]), place)
    path = Path(arguments[1])
    half = path.with_suffix(".part")
    half.write_text(json.dumps(outcome))
    half.replace(path)


if __name__ == "__main__":
    main(sys.argv[1:])
