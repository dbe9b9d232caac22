"""Runs, each in a process of its own, one after the other; interrupted, they go on later.

A run that is in the results is not done again, except one whose peer was missing and is there
now, or with `retry` one that failed or was cut short.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from vish.paper.jobs import Job, Place
from vish.paper.methods import METHODS
from vish.paper.results import Record, Results

MISSING = "missing: make peers"
_WORKER = ("-m", "vish.paper.worker")


def is_due(job: Job, results: Results, retry: bool = False) -> bool:
    """Whether a run is still to be done."""
    record = results.last(job.key)
    if record is None:
        return True
    if record["status"] == "missing":
        return not METHODS[job.method].missing
    if record["status"] == "unsuited":
        return job.unsuited is None
    return retry and (record["status"] != "done" or "cut short" in record["facts"])


def run_all(
    jobs: Iterable[Job], place: Place, results: Results, limit: float, retry: bool = False,
    say: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Do what is due."""
    due = [job for job in jobs if is_due(job, results, retry)]
    for number, job in enumerate(due, start=1):
        say(f"[{number}/{len(due)}] {job.label} on {job.data}, split {job.split}")
        record = run_one(job, place, limit)
        results.append(record)
        say("    " + in_words(record))


def run_one(job: Job, place: Place, limit: float, worker: tuple[str, ...] = _WORKER) -> Record:
    """One run as a record: done, failed, out of time, missing a peer, or not for these rows."""
    record: Record = {
        "experiment": job.experiment, "data": job.data, "method": job.label, "split": job.split,
        "seed": job.seed,
    }  # fmt: skip
    if job.unsuited:
        return record | {"status": "unsuited", "error": job.unsuited}
    if METHODS[job.method].missing:
        return record | {"status": "missing", "error": MISSING}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="vish-paper-") as folder:
        outcome, errors = Path(folder) / "outcome.json", Path(folder) / "errors.txt"
        given = json.dumps({"job": job.as_dict(), "place": [str(place.data), str(place.out)]})
        command = [sys.executable, *worker, given, str(outcome)]
        with open(errors, "wb") as stream:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=stream, stderr=stream,
                start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                record |= {"status": "timeout", "error": f"not done in {limit:g} s"}
            finally:  # also when interrupted
                _kill(process)
        record["wall_seconds"] = time.perf_counter() - started
        if "status" in record:
            return record
        if outcome.exists():
            return record | json.loads(outcome.read_text())
        return record | {"status": "failed", "error": _why(process.returncode, errors)}


def _kill(process: subprocess.Popen) -> None:
    """The process and what it started."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, AttributeError):
            process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()


def _why(code: int, errors: Path) -> str:
    lines = [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]
    if code < 0:
        return f"ended by signal {-code}" + (" (out of memory?)" if code == -9 else "")
    return lines[-1].strip()[:300] if lines else f"ended with code {code}"


def in_words(record: Record) -> str:
    """A line about a run."""
    if record["status"] == "missing":
        return record["error"]
    if record["status"] != "done":
        return f"{record['status']}: {record['error']}"
    scores = ", ".join(f"{name} {value:.4g}" for name, value in record["scores"].items())
    seconds = sum(record["seconds"].values())
    return f"{scores}; {seconds:.1f} s, {record['peak_memory_mb']:,.0f} MB"
