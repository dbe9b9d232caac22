"""The commands from files to files: what they write is what the library says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import houses
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import vish
from vish.cli import run
from vish.cli.bundle import load_bundle

folder, make_houses = houses.folder, houses.make_houses  # fixtures

INPUTS = "area,garden,style,town,rooms"


def command(capsys, *arguments):
    """Standard output of a command that succeeds, as JSON."""
    code = run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def predictions(capsys, model, data, out, *options):
    command(capsys, "predict", model, data, "--out", out, *options)
    return pd.read_csv(out)


def test_all_kinds_of_columns_without_a_flag(tmp_path, make_houses, capsys):
    make_houses(200).to_csv(tmp_path / "train.csv", index=False)
    new = make_houses(50, seed=2).drop(columns=["price"])
    new.loc[0, "town"] = "never seen"
    new["garden"] = new["garden"].astype(object)
    new.loc[1, ["area", "garden", "town", "sold", "hour"]] = None
    new.loc[2, "area"] = 1e4
    new.to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "model.vish"
    fitted = command(capsys, "fit", tmp_path / "train.csv", "--target", "price", "--out", model)
    assert fitted["rows"] == 200
    assert fitted["task"] == "regression"
    out = tmp_path / "out.csv"
    result = command(
        capsys, "predict", model, tmp_path / "new.csv", "--out", out,
        "--std", "--quantiles", "0.1,0.9", "--flag-outside", "--keep", "id",
    )  # fmt: skip
    found = pd.read_csv(out)
    assert list(found) == ["id", "prediction", "std", "q0.1", "q0.9", "outside"]
    assert found["id"].tolist() == new["id"].tolist()
    assert np.isfinite(found.drop(columns=["id", "outside"])).all(axis=None)
    assert (found["q0.1"] < found["prediction"]).all()
    assert found["outside"][[0, 2]].all()
    assert result["outside"] == found["outside"].sum()
    assert result["outside_by_column"]["town"] == 1


def test_predictions_are_those_of_the_library(folder, tmp_path, capsys):
    found = predictions(
        capsys, folder / "price.vish", folder / "more.csv", tmp_path / "p.csv", "--std"
    )
    bundle = load_bundle(str(folder / "price.vish"))
    X = bundle.table.transform(pd.read_csv(folder / "more.csv"))
    bundle.estimator.__dict__.pop("feature_names_in_")
    mean, std = bundle.estimator.predict(X, return_std=True)
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-14)
    np.testing.assert_allclose(found["std"], std, rtol=1e-14)


def test_the_format_does_not_matter(folder, tmp_path, capsys):
    options = ["--target", "price", "--features", INPUTS, "--degree", "2", "--rank", "none"]
    for ending in ("csv", "parquet", "feather"):
        command(capsys, "fit", folder / f"train.{ending}", *options, "--out", tmp_path / ending)
        out = tmp_path / f"out.{ending}"
        command(capsys, "predict", tmp_path / ending, folder / f"train.{ending}", "--out", out)
    csv = pd.read_csv(tmp_path / "out.csv")
    for found in (
        pd.read_parquet(tmp_path / "out.parquet"),
        pd.read_feather(tmp_path / "out.feather"),
    ):
        np.testing.assert_allclose(found["prediction"], csv["prediction"], rtol=1e-12)


def test_folders_patterns_and_several_files(folder, tmp_path, capsys):
    houses = pd.read_csv(folder / "train.csv")
    (tmp_path / "parts").mkdir()
    for i in range(3):
        houses[i * 100 : (i + 1) * 100].to_csv(tmp_path / "parts" / f"{i}.csv.gz", index=False)
    out, whole = tmp_path / "out.csv", tmp_path / "whole.csv"
    expected = predictions(capsys, folder / "price.vish", folder / "train.csv", whole)
    for data in ([tmp_path / "parts"], [tmp_path / "parts" / "*.csv.gz"],
                 [tmp_path / "parts" / f"{i}.csv.gz" for i in range(3)]):  # fmt: skip
        command(capsys, "predict", folder / "price.vish", *data, "--out", out)
        pd.testing.assert_frame_equal(pd.read_csv(out), expected)


@pytest.mark.parametrize("text", ["a;b;y\n1;2;3\n", "a\tb\ty\n1\t2\t3\n", "\ufeffa,b,y\n1,2,3\n"])
def test_separators_and_byte_order_marks(tmp_path, capsys, text):
    lines = text.splitlines()
    separator = lines[1][1]
    rng = np.random.default_rng(0)
    rows = [separator.join(f"{v:.3f}" for v in row) for row in rng.normal(size=(40, 3))]
    (tmp_path / "t.csv").write_text("\n".join([lines[0], *rows]), encoding="utf-8")
    model = tmp_path / "m.vish"
    fitted = command(
        capsys, "fit", tmp_path / "t.csv", "--target", "y", "--degree", 1, "--out", model
    )
    assert fitted["inputs"] == ["a", "b"]


def test_forgetting_what_was_learned_gives_the_model_back(folder, tmp_path, capsys):
    model = shutil.copy(folder / "price.vish", tmp_path / "model.vish")
    before = predictions(capsys, model, folder / "more.csv", tmp_path / "a.csv", "--std")
    updated = command(capsys, "update", model, folder / "more.csv", "--no-relearn")
    assert (updated["rows_before"], updated["rows_after"]) == (300, 360)
    between = predictions(capsys, model, folder / "more.csv", tmp_path / "b.csv", "--std")
    assert np.abs(between - before).to_numpy().max() > 0.1
    command(capsys, "forget", model, folder / "more.csv", "--no-relearn")
    after = predictions(capsys, model, folder / "more.csv", tmp_path / "c.csv", "--std")
    np.testing.assert_allclose(after, before, rtol=1e-9)


def test_merging_is_updating(folder, tmp_path, capsys):
    part, both, updated = (tmp_path / name for name in ("part", "both", "updated"))
    like = ["--like", folder / "price.vish"]
    assert command(capsys, "fit", folder / "more.csv", *like, "--out", part)["rows"] == 60
    assert command(capsys, "merge", folder / "price.vish", part, "--out", both)["rows"] == 360
    command(capsys, "update", folder / "price.vish", folder / "more.csv", "--out", updated)
    a = predictions(capsys, both, folder / "more.csv", tmp_path / "a.csv")
    b = predictions(capsys, updated, folder / "more.csv", tmp_path / "b.csv")
    np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("optimize", [True, False])
def test_what_was_asked_of_a_model_stays_with_those_made_like_it(
    folder, tmp_path, capsys, optimize
):
    model, part = tmp_path / "model", tmp_path / "part"
    bundle = load_bundle(str(folder / "price.vish"))
    bundle.estimator.optimize = optimize
    bundle.save(str(model))
    command(capsys, "fit", folder / "more.csv", "--like", model, "--out", part)
    command(capsys, "update", model, folder / "more.csv", "--no-relearn")
    assert [vish.load(path).optimize for path in (part, model)] == [optimize, optimize]


def test_scores_of_numbers(folder, tmp_path, capsys):
    result = command(capsys, "evaluate", folder / "price.vish", folder / "more.csv")
    found = predictions(
        capsys, folder / "price.vish", folder / "more.csv", tmp_path / "p.csv", "--std"
    )
    y = pd.read_csv(folder / "more.csv")["price"]
    residuals = y - found["prediction"]
    assert result["scores"]["RMSE"]["value"] == pytest.approx(np.sqrt(np.mean(residuals**2)))
    assert result["scores"]["MAE"]["error"] == pytest.approx(np.abs(residuals).std() / np.sqrt(60))
    expected = vish.metrics.nlpd(y, found["prediction"], found["std"])
    assert result["scores"]["NLPD"]["value"] == pytest.approx(expected)
    for band in result["coverage"]:
        covered = vish.metrics.coverage(y, found["prediction"], found["std"], level=band["stated"])
        assert band["covered"] == pytest.approx(covered)
        assert abs(covered - band["stated"]) < 4 * band["error"]


def test_scores_of_classes(folder, capsys):
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

    result = command(capsys, "evaluate", folder / "dear.vish", folder / "more.csv")
    bundle = load_bundle(str(folder / "dear.vish"))
    bundle.estimator.__dict__.pop("feature_names_in_")
    rows = pd.read_csv(folder / "more.csv")
    p = bundle.estimator.predict_proba(bundle.table.transform(rows))[:, 1]
    y = (rows["dear"] == "yes").astype(int)
    scores = {name: score["value"] for name, score in result["scores"].items()}
    assert scores["log loss"] == pytest.approx(log_loss(y, p))
    assert scores["Brier"] == pytest.approx(brier_score_loss(y, p))
    assert scores["AUC"] == pytest.approx(roc_auc_score(y, p))
    assert scores["accuracy"] > 0.7
    assert sum(b["rows"] for b in result["reliability"]) == 60


def test_classes_and_counts_are_predicted(folder, tmp_path, capsys):
    found = predictions(capsys, folder / "dear.vish", folder / "more.csv", tmp_path / "c.csv")
    assert list(found) == ["prediction", "probability_no", "probability_yes"]
    assert set(found["prediction"]) <= {"yes", "no"}
    np.testing.assert_allclose(found["probability_no"] + found["probability_yes"], 1, atol=1e-12)
    found = predictions(
        capsys, folder / "visits.vish", folder / "more.csv", tmp_path / "n.csv", "--quantiles", 0.5
    )
    assert (found["q0.5"] == found["q0.5"].round()).all()
    assert (
        "NLPD" in command(capsys, "evaluate", folder / "visits.vish", folder / "more.csv")["scores"]
    )


def test_two_whole_numbers_are_classes(folder, tmp_path, capsys):
    model = tmp_path / "grade.vish"
    options = ["--features", "area,rooms", "--degree", 1, "--out", model]
    fitted = command(capsys, "fit", folder / "train.csv", "--target", "grade", *options)
    assert fitted["task"] == "classification"
    assert vish.load(model).classes_.tolist() == [0, 1]
    command(capsys, "update", model, folder / "more.csv")
    command(capsys, "evaluate", model, folder / "more.csv")


def test_rows_without_a_target_are_left_out(folder, tmp_path, capsys):
    houses = pd.read_csv(folder / "train.csv")
    houses.loc[:9, "price"] = np.nan
    houses.to_csv(tmp_path / "gaps.csv", index=False)
    options = ["--features", INPUTS, "--degree", 1, "--rank", "none", "--out", tmp_path / "m"]
    result = command(capsys, "fit", tmp_path / "gaps.csv", "--target", "price", *options)
    assert result["rows"] == 290
    assert "10 rows have no 'price' and are left out" in result["notes"]


def test_weights_repeat_rows(folder, tmp_path, capsys):
    houses = pd.read_csv(folder / "train.csv")[["area", "rooms", "price"]].dropna()
    houses["times"] = np.arange(len(houses)) % 3
    repeated = houses.loc[houses.index.repeat(houses["times"])].drop(columns="times")
    houses.to_csv(tmp_path / "w.csv", index=False)
    repeated.to_csv(tmp_path / "r.csv", index=False)
    options = ["--target", "price", "--degree", 2, "--rank", "none"]
    command(
        capsys, "fit", tmp_path / "w.csv", *options, "--weight", "times", "--out", tmp_path / "w"
    )
    command(capsys, "fit", tmp_path / "r.csv", *options, "--out", tmp_path / "r")
    a = predictions(capsys, tmp_path / "w", folder / "more.csv", tmp_path / "a.csv")
    b = predictions(capsys, tmp_path / "r", folder / "more.csv", tmp_path / "b.csv")
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_inspect_says_what_became_of_each_column(folder, capsys):
    facts = command(capsys, "inspect", folder / "price.vish")
    assert facts["target"] == "price"
    assert facts["rows"] == 300
    assert {c["name"]: c["kind"] for c in facts["columns"]} == {
        "area": "number",
        "garden": "boolean",
        "style": "category",
        "town": "category",
        "rooms": "number",
    }
    assert run(["inspect", str(folder / "price.vish")]) == 0
    shown = capsys.readouterr().out
    assert "gaps filled with" in shown
    assert "30 levels, target mean" in shown
    assert "it can update, forget and merge" in shown


def fitted_with_tail(capsys, folder, out, tail, *options):
    cheap = ["--features", INPUTS, "--degree", 1, "--rank", "none", *options]
    return command(
        capsys, "fit", folder / "train.csv", "--target", "price", *cheap, "--tail", tail,
        "--out", out,
    )  # fmt: skip


@pytest.mark.parametrize("tail", ["truncated", "variational", "neighbors", "auto"])
def test_the_tail_is_the_one_asked_for(folder, tmp_path, capsys, tail):
    model = tmp_path / "m.vish"
    fitted = fitted_with_tail(capsys, folder, model, tail)
    facts = command(capsys, "inspect", model)
    assert (facts["tail"], facts["rows_kept"]) == (fitted["tail"], fitted["rows_kept"])
    assert vish.load(model).tail == tail
    assert facts["tail"] in (("neighbors", "truncated") if tail == "auto" else (tail,))
    assert facts["rows_kept"] == (300 if facts["tail"] == "neighbors" else 0)
    assert run(["inspect", str(model)]) == 0
    kept = ", 300 rows kept" if facts["tail"] == "neighbors" else ""
    assert f"\ntail {facts['tail']}{kept}\n" in capsys.readouterr().out


def test_the_tail_is_truncated_where_nothing_is_asked(folder, capsys):
    for name in ("price", "dear", "visits"):
        facts = command(capsys, "inspect", folder / f"{name}.vish")
        assert (facts["tail"], facts["rows_kept"]) == ("truncated", 0)


def test_rows_kept_are_added_taken_away_and_merged(folder, tmp_path, capsys):
    model, part, both = (tmp_path / name for name in ("model", "part", "both"))
    fitted_with_tail(capsys, folder, model, "neighbors")
    before = predictions(capsys, model, folder / "more.csv", tmp_path / "a.csv", "--std")
    command(capsys, "fit", folder / "more.csv", "--like", model, "--out", part)
    command(capsys, "merge", model, part, "--out", both)
    assert command(capsys, "inspect", both)["rows_kept"] == 360
    command(capsys, "update", model, folder / "more.csv", "--no-relearn")
    assert command(capsys, "inspect", model)["rows_kept"] == 360
    command(capsys, "forget", model, folder / "more.csv", "--no-relearn")
    assert command(capsys, "inspect", model)["rows_kept"] == 300
    after = predictions(capsys, model, folder / "more.csv", tmp_path / "b.csv", "--std")
    np.testing.assert_allclose(after, before, rtol=1e-8)


def test_a_model_saved_from_python(folder, tmp_path, capsys):
    rows = pd.read_csv(folder / "more.csv")
    model = vish.VISHRegressor(degree=1).fit(rows[["area", "constant"]].assign(constant=range(60)),
                                             rows["price"])  # fmt: skip
    model.save(tmp_path / "m.vish")
    assert (
        len(predictions(capsys, tmp_path / "m.vish", folder / "more.csv", tmp_path / "p.csv")) == 60
    )
    scores = ["evaluate", tmp_path / "m.vish", folder / "more.csv", "--target", "price"]
    assert command(capsys, *scores)["rows"] == 60


def test_quiet_says_nothing(folder, tmp_path, capsys):
    model = str(shutil.copy(folder / "price.vish", tmp_path / "m.vish"))
    more = str(folder / "more.csv")
    for arguments in (
        ["predict", model, more, "--out", str(tmp_path / "p.csv")],
        ["update", model, more],
        ["forget", model, more],
    ):
        assert run([*arguments, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")


def test_lines_for_a_log(folder, tmp_path, capsys):
    out = str(tmp_path / "m.vish")
    arguments = [
        "fit",
        str(folder / "train.csv"),
        "--target",
        "price",
        "--degree",
        "1",
        "--out",
        out,
    ]
    assert run(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{out}: regression of 'price' from 300 rows")
    assert "note: column 'constant': constant: left out" in captured.err
    assert "\x1b" not in captured.err


def test_standard_output_can_be_piped(folder):
    arguments = ["predict", folder / "price.vish", folder / "more.csv", "--out", "-"]
    result = subprocess.run(
        [sys.executable, "-m", "vish", *map(str, arguments)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == '"prediction"'
    assert len(result.stdout.splitlines()) == 61


@pytest.mark.parametrize(
    "name", ["fit", "predict", "evaluate", "update", "forget", "merge", "inspect", "demo", "bench"]
)
def test_every_command_has_help_with_an_example_and_json(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example" in shown
    assert f"vish {name}" in shown
    assert "--json" in shown


def test_the_commands_in_the_readme_run(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "README.md").read_text()
    (block,) = re.findall(r"```sh\n(python.*?)```", text, re.S)
    lines = [line for line in block.splitlines() if line]
    monkeypatch.chdir(tmp_path)
    for line in lines:
        if line.startswith("vish "):
            assert run(line.split()[1:]) == 0, capsys.readouterr().err
        else:
            environment = os.environ | {
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            }
            subprocess.run(line, shell=True, check=True, env=environment)
    assert "442 now" in capsys.readouterr().out
    assert len(pd.read_csv("predictions.csv")) == 42


def test_help_is_quick_to_load():
    code = "import sys, vish.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert not {"numpy", "numba", "sklearn", "pandas", "pyarrow"} & set(loaded.split())


def test_the_demonstration_and_the_benchmarks(tmp_path, monkeypatch, capsys):
    from benchmarks import __main__ as benchmarks
    from vish import demo

    monkeypatch.setattr(demo, "main", lambda arguments: print("talk", arguments))
    result = command(capsys, "demo", "--rows", 1000, "--out", tmp_path)
    assert result == {"rows": 1000, "pictures": []}
    monkeypatch.setattr(benchmarks, "import_module", lambda name: pytest.fail("not a name"))
    assert run(["bench", "nothing"]) == 2
    assert "no benchmark 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["concrete", "energy"])
def test_better_than_boosted_trees(data_dir, tmp_path, capsys, name):
    """Test MSE on the first fixed split, beside HistGradientBoosting with defaults."""
    rows = pd.read_csv(data_dir / "uci" / f"{name}.csv")
    held = json.loads((data_dir / "uci" / "test_rows.json").read_text())[name][0]
    test, train = rows.iloc[held], rows.drop(index=held)
    train.to_csv(tmp_path / "train.csv", index=False)
    test.to_csv(tmp_path / "test.csv", index=False)
    trees = HistGradientBoostingRegressor(random_state=0).fit(train.drop(columns="y"), train["y"])
    theirs = np.mean((trees.predict(test.drop(columns="y")) - test["y"]) ** 2)
    options = ["--target", "y", "--out", tmp_path / "m.vish"]
    command(capsys, "fit", tmp_path / "train.csv", *options)
    result = command(capsys, "evaluate", tmp_path / "m.vish", tmp_path / "test.csv")
    assert result["scores"]["RMSE"]["value"] ** 2 < theirs
