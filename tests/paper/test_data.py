"""Splits, the airline protocol, and the synthetic table."""

import json

import numpy as np
import pytest

from vish.paper import airline, splits, synthetic


@pytest.fixture
def folder(tmp_path, rng):
    """A folder of small data sets in the form of the real ones."""
    (tmp_path / "uci").mkdir()
    rows = np.column_stack([rng.normal(3, 2, (40, 2)), np.ones(40), rng.normal(10, 5, 40)])
    np.savetxt(tmp_path / "uci" / "yacht.csv", rows, delimiter=",", header="a,b,c,y")
    tests = {"yacht": [[0, 5, 7, 9], [1, 2, 3, 4]]}
    (tmp_path / "uci" / "test_rows.json").write_text(json.dumps(tests))
    return tmp_path


def test_uci_is_standardised_on_the_training_rows(folder):
    split = splits.uci(folder, "yacht", 0)
    assert len(split.y) == 36
    assert len(split.y_test) == 4
    assert split.X[:, :2].mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert split.X[:, :2].std(axis=0) == pytest.approx(1)
    assert np.all(split.X[:, 2] == 0)  # a constant column
    assert [split.y.mean(), split.y.std()] == pytest.approx([0, 1], abs=1e-12)
    _, y = splits.read_uci(folder, "yacht")
    assert split.y_test == pytest.approx(
        (y[[0, 5, 7, 9]] - np.delete(y, [0, 5, 7, 9]).mean()) / np.delete(y, [0, 5, 7, 9]).std()
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: splits.uci(f, "yacht", 2), "yacht has splits 0 to 1, not 2"),
        (lambda f: splits.uci(f, "energy", 0), "has no energy.csv or energy.csv.gz"),
        (lambda f: splits.data_folder(f / "nowhere"), "is not a folder"),
        (lambda f: splits.banana(f), "has no banana.csv"),
        (lambda f: airline.locate(f), "has no airline2008.parquet or 2008.csv.*flights.parquet"),
    ],
)
def test_what_is_missing_is_said(folder, call, text):
    with pytest.raises((ValueError, FileNotFoundError), match=text):
        call(folder)


def test_without_a_folder_the_remedy_is_said(monkeypatch):
    monkeypatch.delenv("VISH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="give --data, or set VISH_DATA"):
        splits.data_folder()


def test_the_real_susy_file_is_preferred(folder, rng):
    (folder / "susy").mkdir()
    with pytest.raises(FileNotFoundError, match=r"has no SUSY\.csv or .*susy_train_10k\.csv"):
        splits.susy_source(folder)
    for name in ("susy_train_10k.csv", "susy_test_1k.csv"):
        (folder / "susy" / name).touch()
    assert splits.susy_source(folder) == "susy-10k"
    rows = np.column_stack([rng.integers(0, 2, 50), rng.normal(2, 3, (50, 18))])
    np.savetxt(folder / "susy" / "SUSY.csv", rows, delimiter=",")
    assert splits.susy_source(folder) == "susy"
    split = splits.susy(folder)
    assert split.X.shape == (45, 8)
    assert split.X_test.shape == (5, 8)
    assert np.array_equal(split.y_test, rows[45:, 0])
    assert split.X.std(axis=0) == pytest.approx(1)


# ---- airline


def test_the_protocol(rng):
    X, y = rng.uniform(0, 100, (50, 8)), rng.normal(5, 40, 50)
    split = airline.split(X, y, 30, 2, "flights")
    order = np.random.RandomState(32).permutation(50)  # seed n + i
    assert len(split.y) == 20  # int(2 n / 3): n counts both
    assert len(split.y_test) == 10
    train, test = order[:20], order[20:30]
    assert split.y == pytest.approx((y[train] - y[train].mean()) / y[train].std())
    assert split.y_test == pytest.approx((y[test] - y[train].mean()) / y[train].std())
    assert split.X.min(axis=0) == pytest.approx(0)
    assert split.X.max(axis=0) == pytest.approx(1)
    assert split.X_test.min() < 0 or split.X_test.max() > 1  # training ranges
    with pytest.raises(ValueError, match="51 rows are wanted, the table has 50"):
        airline.split(X, y, 51, 0, "flights")


def test_the_raw_table_is_cleaned(tmp_path):
    inside = tmp_path / "airline"
    inside.mkdir()
    header = "Year,Month,DayofMonth,DayOfWeek,DepTime,ArrTime,TailNum,AirTime,ArrDelay,Distance,"
    lines = [
        header + "Cancelled,Diverted",
        "2008,1,3,4,2003,2211,N712SW,116,-14,810,0,0",
        "2008,1,3,4,,,N712SW,,,810,1,0",  # cancelled
        "2008,1,3,4,754,1002,N712SW,113,,810,0,1",  # diverted
        "2008,1,3,4,628,804,N000XX,76,14,515,0,0",  # a plane that is not known
        "2008,1,4,5,5,159,N999AA,77,34,688,0,0",  # a plane of unknown year
        "2008,1,4,5,5,159,N777BB,77,34,688,0,0",  # another
        "2008,2,5,6,5,2400,N428WN,77,34,688,0,0",
    ]
    (inside / "2008.csv").write_text("\n".join(lines))
    planes = "tailnum,type,year\nN712SW,Corporation,1998\nN999AA,x,None\nN777BB,x,0000\n"
    planes += "N428WN,x,2004\nN1,,\n"
    (inside / "plane-data.csv").write_text(planes)
    name, path = airline.prepared(tmp_path, tmp_path / "cache")
    assert name == "airline2008"
    X, y = airline.read(path)
    assert X.tolist() == [
        [1, 3, 4, 10, 116, 810, 22 * 60 + 11, 20 * 60 + 3],
        [2, 5, 6, 4, 77, 688, 1440, 5],
    ]
    assert y.tolist() == [-14, 34]
    before = path.stat().st_mtime_ns
    assert airline.prepared(tmp_path, tmp_path / "cache")[1].stat().st_mtime_ns == before
    with open(inside / "2008.csv", "a") as file:  # the rest of a download
        file.write("\n2008,3,5,6,5,2400,N428WN,77,34,688,0,0")
    assert len(airline.read(airline.prepared(tmp_path, tmp_path / "cache")[1])[1]) == 3


def test_gaps_in_a_prepared_table_are_named(tmp_path):
    pd = pytest.importorskip("pandas")
    synthetic.write(tmp_path / "flights.parquet", 100)
    frame = pd.read_parquet(tmp_path / "flights.parquet")
    frame.loc[3, "AirTime"] = np.nan
    frame.to_parquet(tmp_path / "flights.parquet")
    with pytest.raises(ValueError, match="AirTime has gaps: leave those rows out"):
        airline.read(tmp_path / "flights.parquet")


def test_the_prepared_table_is_preferred_to_the_stand_in(tmp_path):
    (tmp_path / "airline").mkdir()
    synthetic.write(tmp_path / "airline" / "flights.parquet", 100)
    assert airline.locate(tmp_path)[0] == "flights"
    synthetic.write(tmp_path / "airline" / "airline2008.parquet", 100)
    assert airline.locate(tmp_path)[0] == "airline2008"


def test_the_splits_of_the_paper(data_dir):
    for name, rows in {"yacht": 308, "energy": 768, "concrete": 1030}.items():
        tests = splits.uci_test_rows(data_dir, name)
        assert len(tests) == 5
        split = splits.uci(data_dir, name, 4)
        assert len(split.y) + len(split.y_test) == rows
    assert splits.banana(data_dir).X.shape == (400, 2)


# ---- synthetic


def test_marginals_of_the_synthetic_table():
    X, y = synthetic.flights(200_000)
    month, day, weekday, age, air_time, distance, arrival, departure = X.T
    assert np.all((month >= 1) & (month <= 12) & (month == np.round(month)))
    shares = np.bincount(month.astype(int), minlength=13)[1:] / len(X)
    lengths = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) / 366
    assert shares == pytest.approx(lengths, abs=4 * np.sqrt(1 / 12 / len(X)))
    assert np.all((day >= 1) & (day <= 31))
    assert day[month == 2].max() == 29
    assert set(np.unique(weekday)) == set(range(1, 8))
    first = (month == 1) & (day == 1)
    assert np.all(weekday[first] == 2)  # a Tuesday
    assert 9 < age.mean() < 13
    assert 650 < np.mean(distance) < 850
    assert np.corrcoef(air_time, distance)[0, 1] > 0.95
    assert np.all((departure >= 1) & (departure <= 1440))
    assert np.all((arrival >= 1) & (arrival <= 1440))
    assert 5 < y.mean() < 12
    assert 22 < y.std() < 45
    z = (y - y.mean()) / y.std()
    assert np.mean(z**3) > 1  # skewed to late
    assert np.mean(z**4) > 8  # heavy tails


def test_the_delay_follows_the_known_function():
    X, y = synthetic.flights(200_000)
    f = synthetic.expected_delay(X)
    error = (y - f).std() / np.sqrt(len(y))
    assert (y - f).mean() == pytest.approx(0, abs=4 * error)
    assert abs(np.corrcoef(y - f, f)[0, 1]) < 0.02
    assert 0.05 < f.var() / y.var() < 0.4


def test_the_first_rows_do_not_depend_on_the_total(monkeypatch):
    monkeypatch.setattr(synthetic, "_BLOCK", 1000)
    few, many = synthetic.flights(1500), synthetic.flights(2500)
    assert np.array_equal(few[0], many[0][:1500])
    assert np.array_equal(few[1], many[1][:1500])
