"""Tables: means and deviations, the paper's numbers, what is missing; and that numbers are its."""

from html.parser import HTMLParser

import pytest

from vish.paper import published, tables

FACTS = {"M": 210}


def record(method, split, mse, nlpd, data="uci/energy", **more):
    return {
        "experiment": data.partition("/")[0], "data": data, "method": method, "split": split,
        "status": "done", "scores": {"mse": mse, "nlpd": nlpd},
        "seconds": {"fit": 1.0, "predict": 0.5}, "peak_memory_mb": 100.0, "rows": [691, 77],
        "source": "UCI energy", "facts": FACTS,
    } | more  # fmt: skip


def cells(table, method):
    row = next(row for row in table.rows if row[0] == method)
    return dict(zip(table.headings, row, strict=True))


def test_mean_deviation_and_difference():
    records = [record("a-vff", 0, 0.010, -0.8), record("a-vff", 1, 0.014, -0.9)]
    table = tables.of_data("uci/energy", records)
    assert table.rows[0] == [
        "a-vff", "210", "0.0120 ± 0.0020", "0.011 ± 0.000", "+0.0010", "-0.850 ± 0.050",
        "-0.824 ± 0.110", "-0.026", "1.5 ± 0.0", "100", "2", "",
    ]  # fmt: skip
    assert table.note == "UCI energy; 691 rows to learn from, 77 to test."


def test_methods_without_a_number_in_the_paper_have_none():
    table = tables.of_data("uci/energy", [record("lightgbm", 0, 0.01, -0.8)])
    assert table.rows[0][3:5] == ["", ""]


def test_what_was_cut_short_is_said():
    facts = {"cut short": "500 of 4,000 steps", "seconds, extrapolated": 1234.5, "M": 500}
    records = [record("svgp", 0, 0.8, 1.3, "flights/10000", experiment="airline", facts=facts)]
    table = tables.of_data("flights/10000", records)
    assert "cut short: 500 of 4,000 steps" in table.rows[0][-1]
    assert "all would take 1,234 s, extrapolated" in table.rows[0][-1]
    assert "The paper's columns are for the flights of 2008" in table.note
    facts = {"hyperparameters from rows": 2000}
    table = tables.of_data("uci/energy", [record("gpr", 0, 0.8, 1.3, facts=facts)])
    assert table.rows[0][-1] == "hyperparameters from 2,000 rows"


def test_a_missing_method_is_shown():
    lost = {"experiment": "uci", "data": "uci/energy", "method": "svgp", "split": 0,
            "status": "missing", "error": "missing: make peers"}  # fmt: skip
    row = cells(tables.of_data("uci/energy", [lost]), "svgp")
    assert row["MSE"] == "–"
    assert row["splits"] == "0"
    assert row["remarks"] == "missing: make peers"


def test_only_times_are_compared_on_synthetic_rows():
    data = "synthetic/5929413"
    records = [record("vish-fixed/3", 0, 0.8, 1.3, data, experiment="timing")]
    table = tables.of_data(data, records)
    assert cells(table, "vish-fixed/3")["paper, on a GPU"] == "41.3 ± 0.8"
    assert "difference" not in table.headings


def test_where_we_stand():
    records = [record("vish", 0, 0.003, -1.5), record("a-vff", 0, 0.01, -1.6)]
    table, again = tables.standing(records)
    assert table.rows[0] == ["a-vff, run here", "1 of 2"]
    assert table.rows[1][1] == "2 of 2"  # .003 <= .003 + .003, -1.5 <= -1.575 + .13
    assert again.rows == [["a-vff", "0 of 1"]]
    (again,) = tables.standing([record("a-vff", 0, 0.01, -0.7), record("a-vff", 1, 0.01, -0.8)])
    assert again.rows == [["a-vff", "1 of 1"]]  # -.75 is in -.824 ± .22
    assert tables.standing([record("lightgbm", 0, 0.01, -1.6)]) == []


class Checker(HTMLParser):
    """Tags that are opened are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed_and_escaped():
    found = [tables.Table("a < b", ["x & y"], [["<script>"]], "note")]
    page = tables.html(found, "Title", {"figure1.png": "Figure 1"})
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert "script" not in checker.seen
    assert "img" in checker.seen


def test_markdown_rows_have_as_many_cells_as_headings():
    text = tables.markdown([tables.Table("t", ["a", "b"], [["1|2", "3"]])], "Title")
    assert "| 1\\|2 | 3 |" in text


def test_the_numbers_are_those_of_the_paper(data_dir):
    """Each printed mean stands in the text of the paper, which may lie beside the data."""
    paper = data_dir.parent / "vish-paper.tex"
    if not paper.exists():
        pytest.skip(f"no {paper}")
    text = paper.read_text()
    numbers = [
        value[0]
        for rows in (*published.UCI.values(), *published.AIRLINE.values(), published.SUSY)
        for scores in rows.values()
        for value in scores.values()
    ]
    assert len(numbers) == 50 + 40 + 5
    for number in numbers:
        forms = {f"${number:.{digits}f}" for digits in range(5)} | {f"${number:g}"}
        assert any(form in text for form in forms), number
