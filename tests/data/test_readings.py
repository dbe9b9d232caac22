"""How often rows are read, what is read of a file, and what is shown meanwhile."""

import re
import threading

import numpy as np
import pytest
from agreement import NAMES, ROWS, assert_close, assert_same_bits, estimator

from vish import VISHClassifier, data
from vish.data.prefetch import read_ahead
from vish.inference.sources import ArraySource
from vish.likelihoods import Gaussian, SinhArcsinh, Warped

GIVEN = {"scaling": (np.zeros(3), np.ones(3)), "relevance": [0.5, 0.4, 0.3]}


class Counted(ArraySource):
    """Rows in memory that count how many of them are read."""

    read = 0

    def chunks(self, first_row=0):
        for chunk in super().chunks(first_row):
            Counted.read += len(chunk.X)
            yield chunk


@pytest.mark.parametrize(
    ("settings", "readings"),
    [
        ({}, 2),
        ({"optimize": False}, 2),
        ({"relevance": 0.5}, 2),
        ({"scaling": GIVEN["scaling"]}, 2),
        (GIVEN, 1),
        (GIVEN | {"optimize": False}, 1),
        (GIVEN | {"likelihood": Gaussian("radial")}, 1),
        (GIVEN | {"degree": "auto", "max_features": 20}, 2),
        (GIVEN | {"likelihood": Gaussian("auto")}, 2),
        (GIVEN | {"likelihood": Warped(SinhArcsinh())}, 2),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_number_of_readings(rows, settings, readings):
    X, y, _ = rows
    Counted.read = 0
    source = Counted(X, y[:, None])
    source_settings = {"degree": 2} | settings
    model = estimator(**source_settings).fit_source(source)
    assert Counted.read == readings * ROWS
    assert model.n_rows_seen_ == ROWS


def test_a_checkpoint_needs_two_readings(rows, tmp_path):
    Counted.read = 0
    source = Counted(rows[0], rows[1][:, None])
    first = estimator(**GIVEN).fit_source(source, tmp_path / "fit.vish")
    assert Counted.read == 2 * ROWS
    again = estimator(**GIVEN).fit_source(source, tmp_path / "fit.vish")
    assert Counted.read == 2 * ROWS  # the file holds the sums of all rows
    assert_same_bits(again, first)


@pytest.mark.parametrize("noise", ["constant", "radial"])
@pytest.mark.parametrize("optimize", [True, False])
def test_one_reading_is_as_good_as_two(rows, tmp_path, noise, optimize):
    """The same model, though the target is shifted by the mean of the first rows only."""
    X, y, _ = rows
    order = np.argsort(y)  # the first rows are not like the others
    X, y = X[order], y[order]
    settings = GIVEN | {"likelihood": Gaussian(noise), "optimize": optimize, "max_iter": 200}
    once = estimator(**settings).fit(X, y)
    twice = estimator(**settings).fit_source(ArraySource(X, y[:, None]), tmp_path / "fit.vish")
    assert once._model.geometry.target_shift != twice._model.geometry.target_shift
    np.testing.assert_array_equal(
        once._model.geometry.target_scale, twice._model.geometry.target_scale
    )
    np.testing.assert_array_equal(once._model.statistics.moments, twice._model.statistics.moments)
    (mean, std), (mean2, std2) = (m.predict(X[::50], return_std=True) for m in (once, twice))
    assert np.abs(mean - mean2).max() < 1e-3 * std.min()
    np.testing.assert_allclose(std, std2, rtol=1e-4)
    if not optimize:  # nothing is learned: the same to rounding
        assert np.abs(mean - mean2).max() < 1e-8 * std.min()
    assert once.log_evidence_ == pytest.approx(twice.log_evidence_, rel=1e-7)


def test_few_rows_are_read_once_and_are_the_same(rows):
    X, y, _ = rows
    n = 900  # all in the subset
    model = estimator(**GIVEN).fit_source(data.batches(lambda: [(X[:n], y[:n])]))
    shuffled = np.random.default_rng(0).permutation(n)
    again = estimator(**GIVEN).fit(X[:n][shuffled], y[:n][shuffled])
    assert_close(again, model, X[:100])
    assert model.kernel_ == again.kernel_


def test_rows_of_weight_0_may_be_many(rows):
    """Fewer than the subset wants have a weight: they are looked for again."""
    X, y, _ = rows
    weights = np.zeros(ROWS)
    some = np.arange(0, ROWS, 300)
    weights[some] = 2.0
    settings = {"subset_size": 600}
    model = estimator(**settings).fit(X, y, weights)
    few = estimator(**settings | GIVEN).fit(X, y, weights)
    assert model._model.statistics.weight == few._model.statistics.weight == 2 * len(some)


def test_only_the_needed_columns_and_row_groups_are_read(tmp_path, table):
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=50_000)
    source = data.parquet(tmp_path / "rows.parquet", "y", features=NAMES[:2])
    (batch, group, offset), *_ = source.record_batches(131_072)
    assert batch.schema.names == ["a", "b", "y"]
    assert (group.number, offset) == (2, 31_072)
    assert next(source.chunks(131_072)).start == 131_072


def test_reading_ahead_ends_with_its_reader():
    def endless():
        while True:
            yield 1

    ahead = read_ahead(endless())
    assert [next(ahead), next(ahead)] == [1, 1]
    ahead.close()
    assert not [t for t in threading.enumerate() if t.name == "vish-read-ahead"]


def test_an_error_while_reading_ahead_is_raised():
    def broken():
        yield 1
        raise OSError("the tape is torn")

    with pytest.raises(OSError, match="torn"):
        list(read_ahead(broken()))


def test_progress_tells_rows_speed_and_time_left(rows, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    X, y, _ = rows
    estimator(verbose=1, max_iter=200).fit_source(data.arrays(X, y))
    shown = capsys.readouterr().err
    assert "choosing a subset" in shown
    assert f"{ROWS:,}/{ROWS:,} rows" in shown
    assert re.search(r"rows [0-9,]+/s", shown)
    assert "0:00:00" in shown  # elapsed, and left

    y = np.where(X[:3000, 0] + np.random.default_rng(0).standard_normal(3000) > 0, "a", "b")
    VISHClassifier(degree=1, rank=None, verbose=1).fit_source(data.arrays(X[:3000], y))
    shown = capsys.readouterr().err
    assert "finding the classes" in shown
    assert re.search(r"reading rows, pass \d+ ", shown)
    assert "3,000/3,000 rows" in shown

    estimator(verbose=1).fit_source(data.batches(lambda: [(X[:5000], X[:5000, 0])]))
    assert "5,000 rows" in capsys.readouterr().err  # how many there are is not known before
