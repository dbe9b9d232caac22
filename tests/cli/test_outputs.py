"""What a command writes: never over what it reads, and nothing that a spreadsheet would run."""

import os
import shutil

import houses
import pandas as pd
import pyarrow as pa
import pytest

from vish.cli import run
from vish.cli.spreadsheets import as_text, unformulated

folder = houses.folder  # a fixture


@pytest.fixture
def place(folder, tmp_path):
    """A folder of its own, with files that have several names each."""
    for name in ("train.csv", "more.csv", "train.parquet", "price.vish"):
        shutil.copy(folder / name, tmp_path)
    shutil.copy(tmp_path / "price.vish", tmp_path / "other.vish")
    (tmp_path / "tables").mkdir()
    shutil.copy(tmp_path / "train.csv", tmp_path / "tables")
    os.symlink(tmp_path / "tables", tmp_path / "elsewhere")
    os.symlink(tmp_path / "train.csv", tmp_path / "link.csv")
    os.link(tmp_path / "train.csv", tmp_path / "hard.csv")
    os.symlink(tmp_path / "more.csv", tmp_path / "link.html")
    os.symlink(tmp_path / "price.vish", tmp_path / "link.vish")
    return tmp_path


def contents(place):
    return {p: p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        "fit {0}/train.csv --target price --out {0}/train.csv",
        "fit {0}/train.csv --target price --out {0}/tables/../train.csv",
        "fit {0}/train.csv --target price --out {0}/link.csv",
        "fit {0}/train.csv --target price --out {0}/hard.csv",
        "fit {0}/link.csv --target price --out {0}/train.csv",
        "fit {0}/tables --target price --out {0}/tables/train.csv",
        "fit {0}/tables --target price --out {0}/elsewhere/train.csv",
        "fit {0}/t*.csv --target price --out {0}/train.csv",
        "fit {0}/train.csv --like {0}/price.vish --out {0}/price.vish",
        "fit {0}/train.csv --like {0}/price.vish --out {0}/link.vish",
        "fit {0}/train.csv --like {0}/price.vish --out {0}/train.csv",
        "predict {0}/price.vish {0}/train.csv --out {0}/train.csv",
        "predict {0}/price.vish {0}/train.csv --out {0}/link.csv",
        "predict {0}/price.vish {0}/train.csv --out {0}/hard.csv",
        "predict {0}/price.vish {0}/train.parquet --out {0}/train.parquet",
        "predict {0}/price.vish {0}/tables --out {0}/tables/train.csv",
        "predict {0}/price.vish {0}/tables --out {0}/tables/new.csv",
        "predict {0}/price.vish {0}/tables --out {0}/elsewhere/new.csv",
        "update {0}/price.vish {0}/train.csv --out {0}/train.csv",
        "update {0}/price.vish {0}/train.csv --out {0}/link.csv",
        "forget {0}/price.vish {0}/train.csv --out {0}/hard.csv",
        "merge {0}/price.vish {0}/other.vish --out {0}/price.vish",
        "merge {0}/price.vish {0}/other.vish --out {0}/link.vish",
        "report {0}/price.vish {0}/more.csv --out {0}/link.html",
        "paper uci --data {0}/tables --out {0}/tables",
        "paper uci --data {0}/tables --out {0}/elsewhere/results",
    ],
)
def test_an_output_that_is_an_input_is_refused_before_any_work(place, command, capsys):
    before = contents(place)
    assert run(command.format(place).split()) == 2
    text = capsys.readouterr().err
    assert "input" in text
    assert "choose another" in text
    assert contents(place) == before


def test_a_model_may_be_replaced_by_its_update(place):
    assert run(["update", f"{place}/price.vish", f"{place}/more.csv", "--quiet"]) == 0
    again = [f"{place}/price.vish", f"{place}/more.csv", "--out", f"{place}/price.vish", "--quiet"]
    assert run(["forget", *again]) == 0


RUN = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "-", "=1"]
STAY = ["a=b", "-1.5", "+3", "1e-5", "-1,5", "plain", "", "-12%", None]


def test_cells_that_a_spreadsheet_would_run_become_text():
    column = unformulated(pa.array(RUN + STAY))
    assert column.to_pylist() == ["'" + cell for cell in RUN] + STAY
    assert [as_text(cell) for cell in RUN] == ["'" + cell for cell in RUN]
    numbers = pa.array([-1.0, 2.0])
    assert unformulated(numbers) is numbers
    categories = pa.array(["=1", "b"]).dictionary_encode()
    assert unformulated(categories).to_pylist() == ["'=1", "b"]


def test_predictions_hold_no_cell_that_a_spreadsheet_would_run(place, folder):
    rows = pd.read_csv(place / "more.csv").assign(**{"=note": "=1+1"})
    rows.to_csv(place / "formulas.csv", index=False)
    for kind in ("csv", "parquet"):
        out = place / f"new.{kind}"
        arguments = [f"{place}/price.vish", f"{place}/formulas.csv", "--keep", "=note,id"]
        assert run(["predict", *arguments, "--out", str(out), "--quiet"]) == 0
    written = pd.read_csv(place / "new.csv")
    assert set(written["'=note"]) == {"'=1+1"}
    assert list(written["id"]) == list(rows["id"])
    assert set(pd.read_parquet(place / "new.parquet")["=note"]) == {"=1+1"}


def test_class_names_hold_no_formula(place):
    rows = pd.read_csv(place / "train.csv")
    rows["dear"] = rows["dear"].map({"yes": "=1+1", "no": "-no"})
    rows[["area", "rooms", "dear"]].to_csv(place / "classes.csv", index=False)
    fit = [f"{place}/classes.csv", "--target", "dear", "--degree", "1", "--rank", "none"]
    assert run(["fit", *fit, "--out", f"{place}/c.vish", "--quiet"]) == 0
    predict = [f"{place}/c.vish", f"{place}/classes.csv", "--out", f"{place}/p.csv", "--quiet"]
    assert run(["predict", *predict]) == 0
    assert set(pd.read_csv(place / "p.csv")["prediction"]) <= {"'=1+1", "'-no"}
