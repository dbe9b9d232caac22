"""Runs in processes of their own: interrupted anywhere, nothing is lost or done twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from vish.paper import methods, runner, splits
from vish.paper.command import PaperOptions, run
from vish.paper.jobs import Job, Place, jobs
from vish.paper.results import Results, key_of, latest, read
from vish.paper.runner import is_due, run_all, run_one

JOB = Job("uci", "uci/yacht", "linear", 0, 4)


@pytest.fixture
def place(tmp_path, rng):
    """Five tiny data sets under the names of the real ones."""
    folder = tmp_path / "data" / "uci"
    folder.mkdir(parents=True)
    for name in splits.UCI:
        X = rng.normal(size=(60, 3))
        rows = np.column_stack([X, X @ [1, 2, 3] + 0.1 * rng.normal(size=60)])
        np.savetxt(folder / f"{name}.csv", rows, delimiter=",", header="a,b,c,y")
    tests = {name: [list(range(i, 60, 10)) for i in range(5)] for name in splits.UCI}
    (folder / "test_rows.json").write_text(json.dumps(tests))
    return Place(tmp_path / "data", tmp_path / "out")


def record_of(job, **more):
    return {"experiment": job.experiment, "data": job.data, "method": job.label,
            "split": job.split, "status": "done"} | more  # fmt: skip


# ---- one run


def test_a_run_is_a_record(place):
    record = run_one(JOB, place, limit=120)
    assert record["status"] == "done"
    assert (record["data"], record["method"], record["split"]) == JOB.key
    assert record["scores"]["mse"] < 0.1
    assert record["rows"] == [54, 6]
    assert record["seconds"]["fit"] > 0
    assert record["peak_memory_mb"] > 10
    assert {"vish", "numpy", "python"} <= record["versions"].keys()
    json.dumps(record)


def test_a_run_out_of_time_is_ended(place):
    started = time.perf_counter()
    record = run_one(JOB, place, 0.5, worker=("-c", "import time; time.sleep(100)"))
    assert time.perf_counter() - started < 20
    assert (record["status"], record["error"]) == ("timeout", "not done in 0.5 s")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by signal 9"),
        ("import sys; sys.exit(7)", "ended with code 7"),
    ],
)
def test_a_failure_is_recorded_with_its_reason(place, code, error):
    record = run_one(JOB, place, 60, worker=("-c", code))
    assert record["status"] == "failed"
    assert record["error"].startswith(error)


def test_a_missing_peer_says_how_to_get_it(place, monkeypatch):
    lost = methods.METHODS["linear"]._replace(needs=("no_such_package",))
    monkeypatch.setitem(methods.METHODS, "linear", lost)
    record = run_one(JOB, place, 60)
    assert (record["status"], record["error"]) == ("missing", "missing: make peers")
    assert runner.in_words(record) == "missing: make peers"


def test_a_missing_peer_is_run_once_it_is_there(tmp_path, monkeypatch):
    with Results(tmp_path / "results.jsonl") as results:
        results.append(record_of(JOB, status="missing", error=runner.MISSING))
        assert is_due(JOB, results)
        lost = methods.METHODS["linear"]._replace(needs=("no_such_package",))
        monkeypatch.setitem(methods.METHODS, "linear", lost)
        assert not is_due(JOB, results)


def test_what_failed_is_run_again_on_demand_only(tmp_path):
    with Results(tmp_path / "results.jsonl") as results:
        assert is_due(JOB, results)
        results.append(record_of(JOB, status="failed", error="x"))
        assert not is_due(JOB, results)
        assert is_due(JOB, results, retry=True)
        results.append(record_of(JOB))
        assert not is_due(JOB, results, retry=True)
        assert latest(results.records) == [record_of(JOB)]


# ---- the file


def test_a_half_written_line_is_dropped(tmp_path):
    path = tmp_path / "results.jsonl"
    whole = json.dumps(record_of(JOB)) + "\n"
    path.write_text(whole + whole[:25])
    with Results(path) as results:
        assert len(results.records) == 1
        results.append(record_of(JOB, split=1))
    assert [r["split"] for r in read(path)[0]] == [0, 1]
    assert path.read_text().startswith(whole)


def test_a_spoilt_line_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(record_of(JOB)) + "\nnonsense\n")
    with pytest.raises(ValueError, match=r"line 2 is not JSON: delete the line"):
        Results(path)


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "results.jsonl"
    with Results(path), pytest.raises(ValueError, match="in use by another"):
        Results(path)
    Results(path).close()  # free again


# ---- many runs


def test_nothing_is_run_twice(place, monkeypatch):
    calls = []

    def counted(job, place, limit):
        calls.append(job.key)
        return record_of(job, scores={}, seconds={}, peak_memory_mb=0)

    monkeypatch.setattr(runner, "run_one", counted)
    todo = list(jobs("uci", place, ["linear", "a-vff"], 2, None, 10.0))
    assert len(todo) == 20
    with Results(place.out / "results.jsonl") as results:
        run_all(todo[:7], place, results, 10, say=lambda text: None)
    with Results(place.out / "results.jsonl") as results:
        run_all(todo, place, results, 10, say=lambda text: None)
    assert Counter(calls) == Counter(job.key for job in todo)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(number) for number in listed.stdout.split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at Linux processes")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_killed_and_started_again(place, ending):
    """The command itself, ended in the middle of a run."""
    command = [sys.executable, "-m", "vish", "paper", "uci", "--data", str(place.data)]
    command += ["--splits", "1", "--methods", "linear", "--out", str(place.out)]
    path = place.out / "results.jsonl"
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: len(lines_of(path)) >= 2 and children(process.pid))
    workers = children(process.pid)
    os.kill(process.pid, ending)
    said = process.communicate(timeout=60)[1]
    wait_for(lambda: not any(is_running(worker) for worker in workers), 30)
    kept = lines_of(path)
    assert 2 <= len(kept) < 5
    if ending == signal.SIGTERM:
        assert process.returncode == 130
        assert "the same command goes on" in said
    with path.open("a") as file:
        file.write(kept[0][:40])  # as a crash of the machine could leave it
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert lines_of(path)[: len(kept)] == kept
    assert Counter(key_of(r) for r in read(path)[0]) == Counter(
        (f"uci/{name}", "linear", 0) for name in splits.UCI
    )
    assert f"[1/{5 - len(kept)}]" in done.stderr
    assert "| linear |" in (place.out / "tables.md").read_text()


def test_failures_stand_in_the_table(place, monkeypatch):
    lost = methods.METHODS["lightgbm"]._replace(needs=("no_such_package",))
    monkeypatch.setitem(methods.METHODS, "lightgbm", lost)

    def one(job, place, limit):
        if job.method == "lightgbm":
            return run_one(job, place, limit)
        return record_of(job, status="failed", error="ValueError: no luck")

    monkeypatch.setattr(runner, "run_one", one)
    options = PaperOptions("uci", str(place.data), str(place.out), 1, ["linear", "lightgbm"])
    result = run(options, lambda text: None)
    assert result["not_done"] == result["runs"] == 10
    for name in ("tables.md", "index.html"):
        text = (place.out / name).read_text()
        assert "failed: ValueError: no luck" in text
        assert "missing: make peers" in text


@pytest.mark.parametrize(
    ("experiment", "data", "method", "reason"),
    [
        ("uci", "uci/yacht", "vff", "for one or two inputs; see the banana"),
        ("uci", "uci/yacht", "a-vff", None),
        ("airline", "flights/10000", "gpr", None),
        ("airline", "flights/100000", "gpr-ard", "exact: for 20,000 rows at most"),
        ("susy", "susy-10k", "vish-warped", "not for classes"),
        ("banana", "banana", "vff-banana", None),
        ("banana", "banana", "linear", "not for banana"),
    ],
)
def test_methods_and_rows_that_do_not_go_together(experiment, data, method, reason):
    assert Job(experiment, data, method, 0).unsuited == reason


def test_what_is_not_for_the_rows_stands_in_the_table_and_is_not_run(place):
    options = PaperOptions("uci", str(place.data), str(place.out), 1, ["vff"], retry=True)
    said: list[str] = []
    assert run(options, said.append)["not_done"] == 5
    assert run(options, said.append)["runs"] == 5
    assert len(said) == 10  # a line before and after each, once
    assert "for one or two inputs" in (place.out / "tables.md").read_text()


def test_the_banana_takes_methods_by_their_own_names(place):
    named = jobs("banana", place, ["vish", "vff", "vish"], None, None, 60)
    assert {job.method for job in named} == {"vish-banana", "vff-banana"}
    default = jobs("banana", place, None, None, None, 60)
    assert len(list(default)) == len(set(jobs("banana", place, ["vish", "vff"], None, None, 60)))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (PaperOptions("uki"), "choose uci, airline"),
        (PaperOptions("uci", methods=["vish", "vush"]), "no method vush; there are vish"),
        (PaperOptions("uci", splits=0), "give 1 or more"),
        (PaperOptions("uci", splits=6), "5 fixed splits"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(ValueError, match=text):
        run(options)
