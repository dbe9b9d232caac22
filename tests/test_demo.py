"""The demonstration: the flights are those of the protocol, and a short run is whole."""

import numpy as np
import pytest

from vish import demo

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def flights():
    return demo.read_flights()


def test_the_flights_are_those_of_the_protocol(flights):
    assert len(flights) == 273_853
    assert list(flights.columns) == [
        "Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance",
        "ArrTime", "DepTime", "ArrDelay",
    ]  # fmt: skip
    assert not flights.isna().any(axis=None)
    # 2013-01-01 was a Tuesday; its first flight left at 5:17, two minutes late, arrived 8:30.
    first = flights.iloc[0]
    assert first.tolist() == [1, 1, 2, 14, 227, 1400, 8 * 60 + 30, 5 * 60 + 17, 11]


def test_two_thirds_are_learned_and_none_twice(flights):
    split = demo.split_flights(flights, 3001)
    assert (len(split.X), len(split.X_test)) == (2000, 1001)
    assert not set(split.X.index) & set(split.X_test.index)
    assert np.array_equal(split.y_test.index, split.X_test.index)


def test_a_short_run_prints_scores_and_draws(tmp_path, capsys):
    folder = tmp_path / "pictures"
    demo.main(["--rows", "3000", "--out", str(folder)])
    printed = capsys.readouterr().out
    for word in ("linear regression", "gradient boosting", "VISH, heavy tails", "What to try next"):
        assert word in printed
    names = {path.stem for path in folder.iterdir()}
    assert names == {
        "predicted", "departure", "relevance", "spectrum", "evidence", "calibration"
    }  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in folder.iterdir())


@pytest.mark.parametrize("rows", ["10", "1000000"])
def test_too_few_or_too_many_rows_are_refused(rows, capsys):
    with pytest.raises(SystemExit):
        demo.main(["--rows", rows])
    assert "give 1,000 to 273,853" in capsys.readouterr().err


def test_missing_flights_name_the_remedy(monkeypatch):
    def missing(name):
        raise demo.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(demo.metadata, "distribution", missing)
    with pytest.raises(SystemExit, match=r"pip install 'vish\[demo\]'"):
        demo.read_flights()
