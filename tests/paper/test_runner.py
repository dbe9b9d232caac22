"""Runs in processes of their own: interrupted anywhere, nothing is lost or done twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vish.paper import figures, methods, runner, splits, synthetic
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
            "split": job.split, "status": "done", "scores": {"mse": 0.5, "nlpd": 1.0},
            "seconds": {"fit": 1.0}, "peak_memory_mb": 100.0, "rows": [54, 6], "source": "",
            "facts": {}} | more  # fmt: skip


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


def test_an_error_of_a_run_is_told_in_its_words(place):
    record = run_one(replace(JOB, split=7), place, limit=120)
    assert record["error"] == "ValueError: yacht has splits 0 to 4, not 7"


def test_the_end_of_a_run_is_no_crash(place):
    given = json.dumps({"job": JOB.as_dict(), "place": [str(place.data), str(place.out)]})
    command = [sys.executable, "-m", "vish.paper.worker", given, str(place.data / "outcome.json")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (process.wait(120), process.stderr.read()) == (0, b"")
    process.stdin.close()
    process.stderr.close()


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
        results.append(record_of(JOB, facts={"cut short": "1 of 4,000 steps"}))
        assert not is_due(JOB, results)
        assert is_due(JOB, results, retry=True)


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


@pytest.mark.parametrize("spoilt", ["nonsense", "123", "null", "[]", '{"data": "uci/yacht"}'])
def test_a_spoilt_line_is_named(tmp_path, spoilt):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(record_of(JOB)) + f"\n{spoilt}\n")
    with pytest.raises(ValueError, match=r"line 2 is no result: delete the line"):
        Results(path)


@pytest.mark.parametrize("lost", ["scores", "facts", "status"])
def test_half_a_record_is_named(tmp_path, lost):
    path = tmp_path / "results.jsonl"
    record = {name: value for name, value in record_of(JOB).items() if name != lost}
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match=r"line 1 is no result"):
        read(path)


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
    (place.data / "banana").mkdir()
    (place.data / "banana" / "banana.csv").touch()
    named = ["vish", "vff", "vish", "vish-banana"]
    default = list(jobs("banana", place, None, None, None, 60))
    assert list(jobs("banana", place, named, None, None, 60)) == default


def test_sizes_are_checked_and_taken_once(place):
    synthetic.write(place.data / "airline" / "flights.parquet", 100)
    named = jobs("airline", place, ["linear"], 1, [50, 100, 0, 50], 60)
    assert [job.data for job in named] == ["flights/50", "flights/100"]
    for sizes, text in (([101], "101 rows are wanted, the table has 100"), ([2], "2 rows are too")):
        with pytest.raises(ValueError, match=text):
            list(jobs("airline", place, ["linear"], 1, sizes, 60))


def test_missing_data_are_refused_before_the_first_run(place):
    (place.data / "uci" / "power.csv").unlink()
    options = PaperOptions("uci", str(place.data), str(place.out), 1, ["linear"])
    with pytest.raises(FileNotFoundError, match=r"uci has no power\.csv or power\.csv\.gz"):
        run(options)
    assert read(place.out / "results.jsonl") == ([], 0)


def test_all_goes_on_without_the_data_that_are_missing(place, monkeypatch):
    monkeypatch.setattr(runner, "run_one", lambda job, *_: record_of(job))
    monkeypatch.setattr(figures, "draw_all", lambda *_: {})
    said: list[str] = []
    options = PaperOptions("all", str(place.data), str(place.out), 1, ["linear"])
    assert run(options, said.append)["runs"] == 6  # uci and timing
    left_out = [line for line in said if "left out" in line]
    assert [line.split()[0] for line in left_out] == ["airline", "susy", "banana"]
    assert "airline2008.parquet or 2008.csv" in left_out[0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (PaperOptions("uki"), "choose uci, airline"),
        (PaperOptions("uci", methods=["vish", "vush"]), "no method vush; there are vish"),
        (PaperOptions("uci", splits=0), "give 1 or more"),
        (PaperOptions("uci", splits=6), "5 fixed splits"),
        (PaperOptions("uci", sizes=[100]), "--sizes is for airline and timing"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(ValueError, match=text):
        run(options)
