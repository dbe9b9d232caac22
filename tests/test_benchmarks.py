"""The benchmark runner: ratios, goals, missing peers, results as JSON."""

import json
import sys
from types import SimpleNamespace

import pytest

from benchmarks import Row, best_times
from benchmarks.__main__ import available, cells, main


def test_a_ratio_is_put_as_its_goal_is():
    assert Row("x", 1.0, "peer", 30.0, times_faster=20).ratio == 30
    assert Row("x", 1.0, "peer", 30.0, times_faster=20).met
    assert Row("x", 6.0, "peer", 3.0, times_slower=3).ratio == 2
    assert Row("x", 6.0, "peer", 3.0, times_slower=3).met
    assert Row("x", 6.0, "peer", 1.0, times_slower=3).met is False
    assert Row("x", 6.0, "peer", 1.0).met is None


def test_a_missing_peer_says_how_to_get_it():
    row = Row("x", 0.002, "peer", None, times_faster=20)
    assert row.met is None
    assert cells(row) == ["x", "2 ms", "peer: missing: make peers", "", "≥ 20"]
    assert cells(Row("x", 0.002, "", None)) == ["x", "2 ms", "", "", ""]


def test_functions_are_warmed_up_and_timed_in_turns():
    calls = []
    times = best_times(lambda: calls.append("a"), lambda: calls.append("b"), repeat=2)
    assert calls == ["a", "b"] * 3
    assert all(0 < time < 1 for time in times)


def test_results_go_to_a_file(tmp_path, monkeypatch, capsys):
    rows = [
        Row("spin", 1.0, "peer", 2.0, times_faster=1.5),
        Row("spin", 1.0, "other", None),
    ]
    name = available()[0]
    bench = SimpleNamespace(run=lambda: iter(rows))
    monkeypatch.setitem(sys.modules, f"benchmarks.bench_{name}", bench)
    main([name, "--out", str(tmp_path / "results.json")])
    printed = capsys.readouterr().out
    assert "cores" in printed
    assert "missing" in printed
    results = json.loads((tmp_path / "results.json").read_text())
    assert [row["ratio"] for row in results["rows"]] == [2.0, None]
    assert results["machine"]["numpy"]


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no benchmark nothing; have " in capsys.readouterr().err
