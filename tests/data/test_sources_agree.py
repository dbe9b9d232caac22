"""The same rows through every kind of source give the same sums, bit for bit."""

from itertools import pairwise

import numpy as np
import pytest
from agreement import NAMES, ROWS, assert_same_bits, estimator

from vish import VISHClassifier, data

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(source, **changes):
    return estimator(**changes).fit_source(source)


def test_arrays_and_memory_maps(rows, rows_folder, in_memory, weighted_in_memory):
    X, y, _ = rows
    assert_same_bits(fit(data.arrays(X, y)), in_memory)
    assert_same_bits(fit(data.arrays(np.asfortranarray(X), y)), in_memory)
    mapped = np.load(rows_folder / "X.npy", mmap_mode="r")
    assert_same_bits(estimator().fit(mapped, y), in_memory)
    paths = [rows_folder / f"{name}.npy" for name in ("X", "y", "weights")]
    source = data.arrays(*paths)
    assert isinstance(source.X, np.memmap)
    assert_same_bits(fit(source), weighted_in_memory)


@pytest.mark.parametrize("size", [1, 8191, 8192, 50_000, 65_536, ROWS])
def test_batches_of_any_size(rows, in_memory, size):
    X, y, _ = rows
    size = max(size, 100)  # and a few of a single row

    def pieces():
        yield X[:1], y[:1]
        yield X[:0], y[:0]
        yield X[1:3].tolist(), y[1:3, None]
        for start in range(3, ROWS, size):
            yield X[start : start + size], y[start : start + size]

    assert_same_bits(fit(data.batches(pieces)), in_memory)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(rows, in_memory, threads):
    assert_same_bits(fit(data.arrays(*rows[:2]), n_jobs=threads), in_memory)


@pytest.mark.parametrize("row_group", [999, 8192, 65_536, 100_000, 10**6])
def test_parquet_in_any_row_group_size(tmp_path, table, in_memory, row_group):
    part = table if row_group > 1000 else table.select([*NAMES, "y"])
    pq.write_table(part, tmp_path / "rows.parquet", row_group_size=row_group)
    source = data.parquet(tmp_path / "rows.parquet", "y", features=NAMES)
    assert source.n_rows == ROWS
    assert_same_bits(fit(source), in_memory)


def split(table, folder, cuts=(0, 70_000, 70_000, 70_001, 150_000, ROWS)):
    """Several files, one of them without rows, in row groups and codecs of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (start, end) in enumerate(pairwise(cuts)):
        pq.write_table(
            table[start:end],
            folder / f"part-{number}.parquet",
            row_group_size=20_000 + 7000 * number,
            compression=["none", "snappy", "gzip"][number % 3],
        )


def test_several_files_however_they_are_named(tmp_path, table, in_memory, weighted_in_memory):
    split(table, tmp_path / "rows")
    (tmp_path / "rows" / "_SUCCESS").write_text("")
    (tmp_path / "rows" / ".hidden").mkdir()
    (tmp_path / "rows" / ".hidden" / "x").write_text("not Parquet")
    files = sorted((tmp_path / "rows").glob("*.parquet"))
    for path in (
        tmp_path / "rows",
        str(tmp_path / "rows" / "*.parquet"),
        list(reversed(files)),
        [*files[:2], str(tmp_path / "rows" / "part-[1234].parquet")],
    ):
        assert_same_bits(fit(data.parquet(path, "y", features=NAMES)), in_memory)
    source = data.parquet(tmp_path / "rows", "y", features=NAMES, weight="w")
    assert_same_bits(fit(source), weighted_in_memory)


def test_partitions_of_a_folder_are_columns(tmp_path, rows):
    X, y, _ = rows
    year = np.repeat([2019, 2020, 2021], [80_000, 40_000, ROWS - 120_000])
    for value in np.unique(year):
        some = year == value
        folder = tmp_path / f"year={value}"
        folder.mkdir()
        pq.write_table(pa.table({"a": X[some, 0], "y": y[some]}), folder / "0.parquet")
    source = data.parquet(tmp_path, "y")
    assert source.feature_names == ["a", "year"]
    expected = estimator().fit(np.column_stack([X[:, 0], year]), y)
    assert_same_bits(fit(source), expected)


def test_types_of_numbers(tmp_path, rows):
    """Integers, float32, booleans and decimals, not the same in all files."""
    from decimal import Decimal

    n = 20_000
    X = np.round(rows[0][:n] * 4)
    y = rows[1][:n]
    expected = estimator().fit(X, y)
    half = n // 2
    types = [(pa.int64(), pa.float32(), pa.float64()), (pa.float64(), pa.int16(), pa.int8())]
    for k, part in enumerate((slice(None, half), slice(half, n))):
        columns = {
            name: pa.array(X[part, i]).cast(types[k][i], safe=True) for i, name in enumerate(NAMES)
        }
        pq.write_table(pa.table(columns | {"y": y[part]}), tmp_path / f"{k}.parquet")
    assert_same_bits(fit(data.parquet(tmp_path, "y")), expected)
    decimal = [Decimal(int(v)) for v in X[:, 0]]
    other = pa.table({"a": decimal, "b": X[:, 1] > 0, "y": y})
    pq.write_table(other, tmp_path / "other.parquet")
    expected = estimator().fit(np.column_stack([X[:, 0], X[:, 1] > 0]), y)
    assert_same_bits(fit(data.parquet(tmp_path / "other.parquet", "y")), expected)


def test_single_precision_stays_single(tmp_path, rows):
    X, y = rows[0][:20_000].astype(np.float32), rows[1][:20_000]
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3000)
    source = data.parquet(tmp_path / "rows.parquet", "y")
    assert next(source.chunks()).X.dtype == np.float32
    expected = estimator().fit(X, y)
    assert_same_bits(fit(source), expected)
    assert_same_bits(fit(data.frame(table, "y")), expected)


def frames(table):
    yield "arrow", table
    yield "arrow in pieces", pa.concat_tables([table[:70_001], table[70_001:]])
    yield "pandas", table.to_pandas()
    yield (
        "pandas with Arrow",
        table.to_pandas(types_mapper=pd.ArrowDtype),
    )
    try:
        import polars
    except ImportError:
        return
    yield "polars", polars.from_arrow(table)


def test_frames(table, in_memory, weighted_in_memory):
    for name, frame in frames(table):
        source = data.frame(frame, "y", features=NAMES)
        assert list(source.feature_names) == NAMES, name
        assert_same_bits(fit(source), in_memory)
        source = data.frame(frame, "y", features=NAMES, weight="w")
        assert_same_bits(fit(source), weighted_in_memory)


def test_frames_are_read_in_place(rows):
    """A column of Arrow or pandas is not copied; rows are joined a chunk at a time."""
    columns = {"a": rows[0][:, 0].copy(), "y": rows[1]}
    for frame in (pa.table(columns), pd.DataFrame(columns, copy=False)):
        source = data.frame(frame, "y")
        assert np.shares_memory(source._inputs[0], columns["a"])


def test_several_targets(tmp_path, rows):
    X, y, _ = rows
    X, Y = X[:30_000], np.column_stack([y, 2 * y - X[:, 0]])[:30_000]
    expected = estimator().fit(X, Y)
    table = pa.table(dict(zip([*NAMES, "p", "q"], [*X.T, *Y.T], strict=True)))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=9000)
    model = fit(data.parquet(tmp_path / "rows.parquet", ["p", "q"]))
    assert_same_bits(model, expected)
    assert model.predict(pd.DataFrame(X[:5], columns=NAMES)).shape == (5, 2)


def test_classes_of_text_and_numbers(tmp_path, rows):
    X = rows[0][:12_000]
    noise = np.random.default_rng(0).standard_normal(len(X))
    kind = np.where(X[:, 0] + X[:, 1] + noise > 0, "yes", np.where(X[:, 2] > 0, "no", "perhaps"))
    for name, y in (("text", kind), ("number", (kind == "yes").astype(int))):
        settings = {"degree": 1, "rank": None, "n_starts": 1, "max_iter": 20, "subset_size": 500}
        expected = VISHClassifier(**settings).fit(X, y)
        columns = dict(zip(NAMES, X.T, strict=True)) | {"y": y}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=5000)
        sources = [
            data.parquet(tmp_path / f"{name}.parquet", "y"),
            data.frame(pa.table(columns), "y"),
            data.batches(
                lambda y=y: ((X[i : i + 999], y[i : i + 999]) for i in range(0, 12_000, 999))
            ),
        ]
        for source in sources:
            model = VISHClassifier(**settings).fit_source(source)
            assert list(model.classes_) == list(expected.classes_)
            np.testing.assert_array_equal(model._model.sites.moments, expected._model.sites.moments)
            np.testing.assert_array_equal(model._model.sites.cross, expected._model.sites.cross)
            assert model.log_evidence_ == expected.log_evidence_
