"""The page as a file: complete, offline, safe, and what it says."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import tables

from vish.cli import run

reports = tables.reports  # a fixture


class Page(HTMLParser):
    """Elements, ids, and texts of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def command(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.parametrize("task", ["regression", "two", "three", "count"])
def test_one_small_file_without_a_network(reports, task):
    _, path = reports[0](task)
    text = path.read_text()
    assert path.stat().st_size < 2_000_000
    page = Page(text)
    assert not [a for a in page.all("link") if a.get("rel") != "icon"]
    assert page.all("script") == [{"type": "application/json", "id": "model"}, {}]
    for _, attributes in page.elements:
        for name, value in attributes.items():
            if name in ("src", "href", "xlink:href", "action", "poster"):
                assert value.startswith(("#", "data:,"))
            assert not name.startswith("on")
    assert "@import" not in text
    assert "url(http" not in text
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("task", ["regression", "two", "three", "count"])
def test_names_of_columns_are_text(reports, task):
    _, path = reports[0](task)
    page = Page(path.read_text())
    shown = "".join(page.texts)
    for name in tables.NASTY:
        assert name in shown
    assert not page.all("img")
    labels = {a["for"] for a in page.all("label") if "for" in a}
    controls = [a for tag in ("input", "select") for a in page.all(tag)]
    for control in controls:
        labelled = control["id"] in labels or "aria-label" in control
        assert labelled or control["type"] == "checkbox"  # inside its label
    assert {column["name"] for column in tables.data_of(path)["columns"]} >= set(tables.NASTY)


@pytest.mark.parametrize("task", ["regression", "two", "three", "count"])
def test_every_section_is_there(reports, task):
    _, path = reports[0](task)
    page = Page(path.read_text())
    wanted = ["verdict", "scores", "what-if", "calibration", "effects", "degree", "fit", "data"]
    found = [a["id"] for a in page.all("section")]
    assert found == [*wanted, "reproduce"]
    assert len(page.all("svg")) >= 9
    text = "".join(page.texts)
    assert f"vish report {path.with_suffix('.vish')}" in text
    names = {"two": "logistic regression", "three": "logistic regression"}
    assert names.get(task, "Poisson regression" if task == "count" else "linear regression") in text


def test_the_scores_are_those_of_evaluate(reports, capsys, tmp_path):
    report, folder = reports
    for task in ("regression", "two", "count"):
        model, _ = report(task)
        said = command(capsys, "report", model, folder / "held.csv", "--out", tmp_path / "r.html")
        found = command(capsys, "evaluate", model, folder / "held.csv")
        assert said["rows_scored"] == found["rows"] == 150
        for name, score in found["scores"].items():
            assert said["scores"][name]["value"] == pytest.approx(score["value"], rel=1e-12)
        for one, two in zip(said.get("coverage", []), found.get("coverage", []), strict=True):
            assert one["covered"] == two["covered"]
        assert said["exact_bands"]


def test_a_narrow_band_is_said_first(reports, capsys, tmp_path):
    report, _ = reports
    model, _ = report("regression")
    table = tables.flats(400, seed=3)
    table["price"] += np.random.default_rng(0).normal(0, 25, 400)
    table.to_csv(tmp_path / "noisy.csv", index=False)
    out = tmp_path / "r.html"
    said = command(capsys, "report", model, tmp_path / "noisy.csv", "--out", out)
    first = said["findings"][0]
    assert first["level"] == "warning"
    assert re.match(
        r"The 95 % band covers [45]\d(\.\d)? % of the rows: it is too narrow", first["title"]
    )
    assert said["verdict"].startswith("Use it with care")
    text = out.read_text()
    assert text.index(first["title"]) < text.index('<section id="scores"')


def test_rows_outside_and_rows_without_a_target(reports, capsys, tmp_path):
    report, _ = reports
    model, _ = report("regression")
    table = tables.flats(200, seed=4)
    table.loc[:49, tables.SCRIPT] += 1000
    table.loc[190:, "price"] = np.nan
    table.to_csv(tmp_path / "far.csv", index=False)
    said = command(capsys, "report", model, tmp_path / "far.csv", "--out", tmp_path / "r.html")
    assert said["rows"] == 200
    assert said["rows_scored"] == 190
    titles = [f["title"] for f in said["findings"] if f["level"] == "warning"]
    assert any("outside what the model has seen" in title for title in titles)
    assert "10 have no price" in (tmp_path / "r.html").read_text()


def test_a_model_saved_from_python(capsys, tmp_path):
    from vish import VISHRegressor

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = np.sin(frame["a"]) + 0.1 * rng.normal(size=200)
    VISHRegressor(degree=3, rank=None).fit(frame, y).save(tmp_path / "m.vish")
    frame.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "r.html"
    said = command(
        capsys, "report", tmp_path / "m.vish", tmp_path / "d.csv", "--out", out, "--target", "y"
    )
    assert said["exact_bands"]
    assert "--target y" in out.read_text()


def test_neighbours_are_in_the_scores_and_not_in_the_panel(capsys, tmp_path):
    from vish import VISHRegressor

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-2, 2, (600, 1)), columns=["a"])
    y = np.sin(12 * frame["a"]) + 0.1 * rng.normal(size=600)
    learned, held = slice(0, 400), slice(400, 600)
    model = VISHRegressor(degree=2, tail="neighbors").fit(frame[learned], y[learned])
    model.save(tmp_path / "m.vish")
    frame.assign(y=y)[held].to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "r.html"
    said = command(
        capsys, "report", tmp_path / "m.vish", tmp_path / "d.csv", "--out", out, "--target", "y"
    )
    rmse = np.sqrt(np.mean((model.predict(frame[held]) - y[held]) ** 2))
    assert said["scores"]["RMSE"]["value"] == pytest.approx(rmse)
    assert rmse < 0.2
    assert not said["exact_bands"]
    assert "harmonics only" in out.read_text()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"out": "r.pdf"}, "--out is .*r.pdf: end it with .html"),
        ({"out": "no/folder/r.html"}, "there is no folder .*: create it first"),
        ({"data": "none.csv"}, "there is no file, folder or pattern .*none.csv"),
        ({"target": "rent"}, "has no column 'rent'"),
        ({"drop": "street"}, "has no column 'street'"),
        ({"empty": True}, "has no rows"),
        ({"blank": True}, "has no rows with a target"),
    ],
)
def test_bad_input_is_one_line(reports, capsys, tmp_path, change, text):
    report, _ = reports
    model, _ = report("regression")
    table = tables.flats(20)
    if "drop" in change:
        table = table.drop(columns=change["drop"])
    if "empty" in change:
        table = table[:0]
    if "blank" in change:
        table["price"] = np.nan
    table.to_csv(tmp_path / "d.csv", index=False)
    data, out = tmp_path / change.get("data", "d.csv"), tmp_path / change.get("out", "r.html")
    target = ["--target", change["target"]] if "target" in change else []
    capsys.readouterr()
    assert run(["report", str(model), str(data), "--out", str(out), "-q", *target]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(text, error)
    assert not list(tmp_path.glob("*.html"))
    assert not list(tmp_path.glob(".vish-*"))


def test_unknown_classes_are_refused(reports, capsys, tmp_path):
    report, _ = reports
    model, _ = report("two")
    table = tables.flats(20)
    table["dear"] = "perhaps"
    table.to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "r.html"
    assert run(["report", str(model), str(tmp_path / "d.csv"), "--out", str(out), "-q"]) == 2
    assert "holds the class 'perhaps'" in capsys.readouterr().err
    assert not out.exists()
