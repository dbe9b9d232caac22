"""The tabular front door: every kind of column, gaps, unseen levels, no leaks, JSON and back."""

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from vish import VISHRegressor
from vish.data import Table
from vish.data.columns import columns_of, join, names_of
from vish.data.survey import Survey

N = 600


@pytest.fixture
def frame(rng):
    """A column of each kind."""
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, N), "D")
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=N),
            "flag": rng.random(N) < 0.5,
            "few": rng.choice(list("xyz"), N),
            "many": rng.choice([f"level{i}" for i in range(40)], N),
            "day": days,
            "written": days.strftime("%Y-%m-%d"),
            "clock": [f"{h:02d}:30" for h in rng.integers(0, 24, N)],
            "month": rng.integers(1, 13, N),
            "constant": 3,
            "key": [f"row {i}" for i in range(N)],
            "digits": [str(v) for v in rng.normal(size=N)],
            "zip": rng.choice(["01234", "04321", "99999"], N),
        }
    )
    frame["copy"] = frame["number"]
    frame["renamed"] = frame["few"].map({"x": "u", "y": "v", "z": "w"})
    frame["gappy"] = rng.normal(size=N)
    frame.loc[frame.index % 10 == 0, "gappy"] = np.nan
    frame["empty"] = np.nan
    return frame


@pytest.fixture
def target(frame, rng):
    return frame["number"] + frame["many"].str[5:].astype(int) / 10 + rng.normal(size=N)


@pytest.fixture
def table(frame, target):
    return Table(cyclic={"month": 12}).fit(frame, target)


def column(table, name):
    (found,) = [c for c in table.columns_ if c["name"] == name]
    return found


@pytest.mark.parametrize(
    ("name", "kind", "inputs"),
    [
        ("number", "number", ["number"]),
        ("flag", "boolean", ["flag"]),
        ("few", "category", ["few=x", "few=y", "few=z"]),
        ("many", "category", ["many (target mean)"]),
        ("clock", "time", ["clock (sine)", "clock (cosine)"]),
        ("month", "number", ["month (sine)", "month (cosine)"]),
        ("digits", "number", ["digits"]),
        ("zip", "category", ["zip=01234", "zip=04321", "zip=99999"]),
        ("gappy", "number", ["gappy", "gappy is missing"]),
    ],
)
def test_what_becomes_of_a_column(table, name, kind, inputs):
    assert (column(table, name)["kind"], column(table, name)["inputs"]) == (kind, inputs)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("constant", "constant: left out"),
        ("key", "600 texts, nearly one for each row: left out"),
        ("copy", "the same as 'number': left out"),
        ("renamed", "the same as 'few': left out"),
        ("written", "dates written as text, the same as 'day': left out"),
        ("empty", "no values: left out"),
    ],
)
def test_what_is_left_out_is_noted(table, name, note):
    assert column(table, name)["inputs"] == []
    assert column(table, name)["note"] == note


def test_numbers_stay_as_they_are(table, frame):
    X = pd.DataFrame(table.transform(frame), columns=table.get_feature_names_out())
    np.testing.assert_array_equal(X["number"], frame["number"])
    np.testing.assert_array_equal(X["flag"], frame["flag"])
    np.testing.assert_array_equal(X["few=y"], frame["few"] == "y")
    angle = 2 * np.pi * frame["month"] / 12
    np.testing.assert_allclose(X["month (sine)"], np.sin(angle), atol=1e-14)
    np.testing.assert_array_equal(X["gappy is missing"], frame["gappy"].isna())
    np.testing.assert_array_equal(X["gappy"], frame["gappy"].fillna(frame["gappy"].median()))


def test_dates_become_years_and_cycles(table, frame):
    made = column(table, "day")["inputs"]
    # Plain days have no time of day.
    assert made == [
        "day: years",
        *(f"day: {c} ({f})" for c in ("time of year", "day of week") for f in ("sine", "cosine")),
    ]
    X = pd.DataFrame(table.transform(frame), columns=table.get_feature_names_out())
    week = X[["day: day of week (sine)", "day: day of week (cosine)"]].round(9)
    assert len(week.drop_duplicates()) == 7
    monday = week[frame["day"].dt.day_of_week == 0]
    assert len(monday.drop_duplicates()) == 1


@pytest.mark.parametrize("form", ["arrow", "dict", "batch"])
def test_the_form_of_the_table_does_not_matter(table, frame, form):
    forms = {
        "arrow": lambda: pa.Table.from_pandas(frame),
        "dict": lambda: {name: frame[name].to_list() for name in frame},
        "batch": lambda: pa.RecordBatch.from_pandas(frame),
    }
    np.testing.assert_array_equal(table.transform(forms[form]()), table.transform(frame))


def test_the_order_of_columns_and_other_columns_do_not_matter(table, frame):
    other = frame[frame.columns[::-1]].assign(more="text")
    np.testing.assert_array_equal(table.transform(other), table.transform(frame))


def test_a_recipe_is_json_and_comes_back(table, frame):
    again = Table.from_recipe(json.loads(json.dumps(table.to_recipe())))
    np.testing.assert_array_equal(again.transform(frame), table.transform(frame))
    np.testing.assert_array_equal(
        again.read(frame, learning=True).inputs, table.read(frame, learning=True).inputs
    )
    assert again.columns_ == table.columns_
    assert list(again.get_feature_names_out()) == list(table.get_feature_names_out())


def test_pieces_give_the_same_recipe(frame, target):
    pieces = [(frame[i : i + 170], target[i : i + 170]) for i in range(0, N, 170)]
    whole, parts = Table().fit(frame, target), Table().fit_pieces(iter(pieces))
    assert json.dumps(whole.to_recipe()) == json.dumps(parts.to_recipe())


def test_a_sample_does_not_depend_on_the_pieces(rng):
    values = rng.normal(size=5000)
    samples = []
    for size in (5000, 700, 33):
        survey = Survey(500)
        for i in range(0, 5000, size):
            survey.add(columns_of({"x": values[i : i + size]}, ["x"]))
        samples.append(survey.sample()["x"].values)
        assert survey.n_rows == 5000
        assert survey.facts["x"].high == values.max()
    assert len(samples[0]) == 500
    np.testing.assert_array_equal(samples[0], samples[1])
    np.testing.assert_array_equal(samples[0], samples[2])


class TestUnseen:
    def test_of_few_levels_is_the_average_row(self, rng):
        table = Table().fit({"few": ["a", "a", "b", "b", "c", "c", "c", "c"]})
        np.testing.assert_allclose(table.transform({"few": ["new"]}), [[0.25, 0.25, 0.5]])

    def test_of_few_levels_is_the_rare_ones_if_there_are(self):
        table = Table().fit({"few": ["a"] * 5 + ["b"] * 5 + ["c"]})
        assert list(table.get_feature_names_out()) == ["few=a", "few=b", "few=other"]
        np.testing.assert_array_equal(table.transform({"few": ["new"]}), [[0, 0, 1]])

    def test_of_many_levels_is_the_mean_of_the_table(self, table, frame, target):
        row = frame[:1].assign(many="new")
        place = list(table.get_feature_names_out()).index("many (target mean)")
        np.testing.assert_allclose(table.transform(row)[0, place], target.mean(), rtol=1e-8)

    def test_rows_outside_are_counted_by_column(self, table, frame):
        rows = frame[:4].copy()
        rows.loc[rows.index[0], "many"] = "new"
        rows.loc[rows.index[1], "number"] = 1e6
        rows.loc[rows.index[2], "day"] = pd.Timestamp("1999-01-01")
        found = table.read(rows)
        assert found.outside.tolist() == [True, True, True, False]
        assert found.outside_by_column == {"number": 1, "many": 1, "day": 1}
        assert not table.outside(frame).any()

    def test_gaps_where_there_were_none_are_filled(self, table, frame):
        rows = frame[:2].assign(number=np.nan, few=None, many=None, day=pd.NaT, clock=None)
        found = table.read(rows)
        assert np.isfinite(found.inputs).all()
        assert not found.outside.any()


class TestLeaks:
    def test_levels_without_meaning_say_nothing_of_the_target(self, rng):
        """150 levels for 500 rows: plain means would correlate by about 0.5."""
        X = {"level": rng.choice([f"k{i}" for i in range(150)], 500), "x": rng.normal(size=500)}
        y = rng.normal(size=500)
        table = Table()
        own = table.fit_transform(X, y)[:, 0]
        assert abs(np.corrcoef(own, y)[0, 1]) < 0.15
        assert np.corrcoef(table.transform(X)[:, 0], y)[0, 1] > 0.3

    def test_a_row_does_not_see_its_own_target(self, rng):
        """Another target in one row changes no input of that row."""
        X = {"level": rng.choice([f"k{i}" for i in range(30)], 300), "x": rng.normal(size=300)}
        y = rng.normal(size=300)
        before = Table().fit_transform(X, y)
        y[17] += 100.0
        after = Table().fit_transform(X, y)
        # but for the rounding of the recipe
        np.testing.assert_allclose(after[17], before[17], rtol=1e-8)
        assert np.abs(after - before).max() > 1

    def test_levels_alone_can_still_be_learned(self, rng):
        """All rows of a level are alike here, and share a fold."""
        level = rng.integers(0, 20, 2000)
        y = level + 0.1 * rng.normal(size=2000)
        X = Table().fit_transform({"level": [f"k{v}" for v in level]}, y)[:, 0]
        assert np.corrcoef(X, y)[0, 1] > 0.99

    def test_the_fold_is_in_the_row_not_in_its_place(self, table, frame):
        order = np.random.default_rng(0).permutation(N)
        np.testing.assert_array_equal(
            table.read(frame.iloc[order], learning=True).inputs,
            table.read(frame, learning=True).inputs[order],
        )

    def test_without_a_target_the_frequency_is_taken(self, frame):
        table = Table().fit(frame)
        assert column(table, "many")["inputs"] == ["many (frequency)"]
        np.testing.assert_array_equal(table.transform(frame), Table().fit_transform(frame))

    def test_two_classes_have_means_several_frequencies(self, frame, rng):
        two = rng.choice(["no", "yes"], N)
        assert column(Table().fit(frame, two), "many")["inputs"] == ["many (target mean)"]
        three = rng.choice(["a", "b", "c"], N)
        assert column(Table().fit(frame, three), "many")["inputs"] == ["many (frequency)"]


def test_in_a_pipeline(frame, target):
    model = make_pipeline(Table(), VISHRegressor(degree=1, rank=None))
    columns = ["number", "few", "many", "gappy"]
    train, test = slice(0, 450), slice(450, N)
    model.fit(frame[columns][train], target[train])
    assert model.score(frame[columns][test], target[test]) > 0.5
    assert isinstance(clone(model[0]), Table)
    assert Table().set_output(transform="pandas").fit(frame).transform(frame).shape[0] == N


def test_arrays_have_numbered_columns(rng):
    X = rng.normal(size=(20, 3))
    table = Table().fit(X)
    assert list(table.get_feature_names_out()) == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(table.transform(X), X)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, None, False], "boolean"),
        ([1, 2.5, None], "number"),
        (["a", None, "b"], "text"),
        ([1, "b", None], "text"),
        ([datetime.date(2020, 1, 1), None], "date"),
        ([datetime.datetime(2020, 1, 1, 5), None], "date"),
        ([datetime.time(5, 30), None], "time"),
        ([datetime.timedelta(days=2), None], "number"),
        ([pd.Timestamp("2020-01-01", tz="Europe/Berlin")], "date"),
        ([[1, 2], [3]], "other"),
        ([None, None], "number"),
        (pd.Categorical(["a", "b", None]), "text"),
        (pd.array([1, None], dtype="Int64"), "number"),
        ([np.inf, 1.0], "number"),
    ],
    ids=str,
)
def test_kinds_of_columns(values, kind):
    frame = pd.DataFrame({"x": pd.Series(values)})
    found = columns_of(frame, ["x"])["x"]
    assert found.kind == kind
    if kind != "other" and str(values) != "[1, 'b', None]":  # which Arrow does not hold
        arrow = columns_of(pa.Table.from_pandas(frame), ["x"])["x"]
        assert arrow.kind == kind
        np.testing.assert_array_equal(arrow.gaps, found.gaps)
        np.testing.assert_array_equal(arrow.values, found.values)


def test_numbers_and_text_below_each_other_are_text():
    parts = [columns_of({"x": v}, ["x"])["x"] for v in ([1.0, 2.0], [None], ["1", "b"])]
    joined = join(parts)
    assert [None if i < 0 else joined.levels[i] for i in joined.values] == [
        "1", "2", None, "1", "b",
    ]  # fmt: skip


def test_names_of_tables():
    assert names_of({"a": [1]}) == ["a"]
    assert names_of(np.ones((2, 2))) == ["x0", "x1"]
    with pytest.raises(ValueError, match="expected a table or an array of two dimensions"):
        names_of(np.ones(3))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"number": "abc"}, "column 'number' holds 'abc', not a number: correct or remove it"),
        ({"day": 5.0}, "column 'day' holds numbers, but dates when the model was fitted"),
        ({"clock": "noon"}, "column 'clock' holds 'noon', not a time of day such as 14:35"),
        ({"number": pd.Timestamp("2020-01-01")}, "column 'number' holds dates, but numbers"),
    ],
)
def test_other_kinds_are_refused_by_name(table, frame, change, text):
    with pytest.raises(ValueError, match=text):
        table.transform(frame[:3].assign(**change))


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"a": [1.0, 1.0]}, "no column is left as an input: 'a': constant: left out"),
        ({"a": []}, "the table has no rows"),
    ],
)
def test_tables_without_inputs_are_refused(columns, text):
    with pytest.raises(ValueError, match=text):
        Table().fit(columns)


def test_missing_columns_are_refused_by_name(table, frame):
    with pytest.raises(ValueError, match="no column 'few', which the model was fitted with"):
        table.transform(frame.drop(columns="few"))
    with pytest.raises(ValueError, match="no column 'year', declared as cyclic"):
        Table(cyclic={"year": 12}).fit(frame)
    with pytest.raises(ValueError, match="'few' is declared as cyclic but holds no numbers"):
        Table(cyclic={"few": 12}).fit(frame)
