"""The command: options and refusals. Runs themselves are in test_runner.py."""

import json

import pytest

from vish.cli import run


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["uki"], "choose uci, airline, timing, susy, banana, figures, all, tables"),
        (["uci", "--methods", "vush"], "no method vush"),
        (["uci", "--splits", "7"], "5 fixed splits"),
        (["airline", "--sizes", "many"], "--sizes has 'many': give numbers of rows, or all"),
        (["uci", "--data", "nowhere"], "nowhere is not a folder"),
        (["uci"], "give --data, or set VISH_DATA"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, arguments, text):
    monkeypatch.delenv("VISH_DATA", raising=False)
    assert run(["paper", *arguments, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1


def test_timing_needs_no_data(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("VISH_DATA", raising=False)
    arguments = ["timing", "--methods", "linear", "--sizes", "3000", "--out", str(tmp_path)]
    assert run(["paper", *arguments]) == 0
    assert "1 runs, 0 of them not done" in capsys.readouterr().out


def test_tables_of_no_results(tmp_path, capsys):
    assert run(["paper", "tables", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 0
    assert found["tables"] == []


def test_tables_are_written_from_results(tmp_path, capsys):
    record = {
        "experiment": "banana", "data": "banana", "method": "vish-banana/2", "split": 0,
        "status": "done", "scores": {"bound": -647.9, "nlpd": 0.5, "auc": 0.8},
        "seconds": {"fit": 0.1, "predict": 0.0}, "peak_memory_mb": 99.0, "rows": [400, 400],
        "source": "banana", "facts": {"M": 9},
    }  # fmt: skip
    (tmp_path / "results.jsonl").write_text(json.dumps(record) + "\n")
    assert run(["paper", "tables", "--out", str(tmp_path)]) == 0
    assert "1 runs, 0 of them not done" in capsys.readouterr().out
    assert "| vish-banana/2 | 9 | -647.9 |" in (tmp_path / "tables.md").read_text()
