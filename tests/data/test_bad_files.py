"""Files that cannot be used: each error names file, column and row group, and what to do."""

import errno
import os
import re

import numpy as np
import pytest
from agreement import estimator

from vish import VISHClassifier, VISHRegressor, data

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def good(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return {"a": rng.standard_normal(n), "b": rng.standard_normal(n), "y": rng.standard_normal(n)}


def write(folder, number, columns):
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=100)
    return path


def with_value(name, row, value, kind=None):
    columns = good()
    values = columns[name].tolist()
    values[row] = value
    return columns | {name: pa.array(values, kind)}


def without(name, new=None):
    columns = good()
    values = columns.pop(name)
    return columns | ({new: values} if new else {})


def truncated(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def damaged(path):
    """Bytes of the pages of column b in row group 1 are overwritten."""
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


AS_IT_IS = None
BAD_FILES = [
    ("a renamed column", without("b", "B"), AS_IT_IS, {},
     r"2.parquet: no column 'b' \(the first file has it\); its columns are a, y, B; rename it"),
    ("a missing target", without("y"), AS_IT_IS, {}, "2.parquet: no column 'y' .* leave the file"),
    ("text for numbers", good() | {"a": ["x"] * 300}, AS_IT_IS, {},
     r"2.parquet: column 'a' holds (large_)?string, not numbers, in all row groups; encode it, or"),
    ("numbers as text", good() | {"a": ["1.5"] * 300}, AS_IT_IS, {}, "2.parquet: column 'a' holds"),
    ("a target of another type", good() | {"y": ["1.5"] * 300}, AS_IT_IS, {},
     r"2.parquet: column 'y' holds (large_)?string in row group 0, but double in .*0.parquet; w"),
    ("dates", good() | {"b": np.full(300, "2020-01-01", "M8[us]")}, AS_IT_IS, {},
     r"2.parquet: column 'b' holds timestamp\[us\], not numbers"),
    ("a null", with_value("b", 217, None), AS_IT_IS, {},
     r"2.parquet: row group 2, column 'b': missing values \(null\), the first in row 17; remove"),
    ("a null among integers", with_value("a", 99, None) | {"a": pa.array([1] * 299 + [None])},
     AS_IT_IS, {}, "2.parquet: row group 2, column 'a': missing values .* the first in row 99"),
    ("NaN", with_value("a", 105, np.nan), AS_IT_IS, {},
     "2.parquet: row group 1, column 'a': NaN or infinity, the first in row 5; remove or impute"),
    ("infinity", with_value("a", 0, -np.inf), AS_IT_IS, {}, "row group 0, column 'a': NaN or inf"),
    ("a missing value of the target", with_value("y", 250, None), AS_IT_IS, {},
     "2.parquet: row group 2, column 'y': missing values .* the first in row 50; remove"),
    ("a weight below 0", good() | {"b": np.where(np.arange(300) == 150, -1.0, 1.0)}, AS_IT_IS,
     {"weight": "b"}, "2.parquet: row group 1, column 'b': a negative weight in row 50; corr"),
    ("half a file", good(), truncated, {}, r"2.parquet: not readable as Parquet \(.*\); write the"),
    ("a damaged page", good(), damaged, {},
     r"2.parquet: row group 1, column 'b': not readable as Parquet \(.*\); write the file again"),
    ("0 bytes", good(), lambda path: path.write_bytes(b""), {},
     r"2.parquet: an empty file \(0 bytes\); write it again, or leave it out"),
    ("another format", good(), lambda path: path.write_text("a,b,y\n1,2,3\n"), {},
     r"2.parquet: not readable as Parquet \(.*\); write the file again, or leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "spoil", "options", "message"),
    [case[1:] for case in BAD_FILES],
    ids=[case[0] for case in BAD_FILES],
)
def test_the_third_file_is_bad(tmp_path, columns, spoil, options, message):
    clean = good() | ({"b": np.ones(300)} if "weight" in options else {})
    for number in (0, 1):
        write(tmp_path, number, clean)
    path = write(tmp_path, 2, columns)
    if spoil is not AS_IT_IS:
        spoil(path)
    before = sorted(os.listdir(tmp_path))
    model = estimator(degree=1)
    with pytest.raises(ValueError, match=message):
        model.fit_source(data.parquet(tmp_path, "y", **options))
    assert not hasattr(model, "n_features_in_")  # a fit that fails changes nothing
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda f: data.parquet(f / "none", "y"), FileNotFoundError, "none: no such file, folder"),
        (lambda f: data.parquet(f / "*.none", "y"), FileNotFoundError, "check the path"),
        (lambda f: data.parquet([], "y"), FileNotFoundError, "give at least one file"),
        (lambda f: data.parquet(f / "empty", "y"), FileNotFoundError, "no files in this folder"),
        (lambda f: data.parquet(f / "0.parquet", "z"), ValueError, "no column 'z'; its columns ar"),
        (lambda f: data.parquet(f / "0.parquet", "y", ["a", "y"]), ValueError, "'y' is the target"),
        (lambda f: data.parquet(f / "0.parquet", "y", ["q"]), ValueError, "no column 'q'; its col"),
        (lambda f: data.parquet(f / "0.parquet", ["a", "b", "y"]), ValueError, "no columns beside"),
        (lambda f: data.parquet(f / "rowless.parquet", "y"), ValueError, r"no rows in 1 file\(s\)"),
        (lambda f: data.parquet(f / "first.parquet", "y"), ValueError, "first.parquet: an empty "),
    ],
)  # fmt: skip
def test_bad_paths_and_names(tmp_path, call, kind, message):
    write(tmp_path, 0, good())
    write(tmp_path, "rowless", good(0))
    (tmp_path / "empty").mkdir()
    (tmp_path / "first.parquet").write_bytes(b"")
    with pytest.raises(kind, match=message):
        call(tmp_path)


def test_a_file_without_rows_is_no_problem(tmp_path):
    """Also where its columns have no type, as pandas writes them."""
    write(tmp_path, 0, good())
    write(tmp_path, 1, {name: pa.array([], pa.null()) for name in "aby"})
    assert data.parquet(tmp_path, "y").n_rows == 300


def test_no_permission(tmp_path, monkeypatch):
    path = write(tmp_path, 0, good())
    message = "0.parquet: no permission to read it; change its mode or its owner"
    if os.getuid() == 0:  # root may read everything
        import pyarrow.dataset as ds

        def refuse(*arguments, **options):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(ds, "dataset", refuse)
    path.chmod(0)
    with pytest.raises(ValueError, match=message):
        data.parquet(path, "y")


def test_a_file_that_changes_while_it_is_read(tmp_path):
    write(tmp_path, 0, good())
    path = write(tmp_path, 1, good())
    source = data.parquet(tmp_path, "y")
    path.unlink()
    with pytest.raises(
        ValueError, match=r"1.parquet: row group 0.*: the file is gone; put it back"
    ):
        list(source.chunks())


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (([[1.0], [np.nan]], [1, 2]), "batch 1: X holds NaN or infinity, first in row 1, column 0"),
        (([["x"]], [1]), "batch 1: X holds <U1, not numbers; convert its columns"),
        (
            ([[1.0]], [1, 2]),
            r"batch 1: X has shape \(1, 1\) and y \(2,\): give a row of X for each",
        ),
        (([[1.0]], [np.inf]), "batch 1: y is missing or infinite in row 0; remove such rows"),
        (([[1.0, 2.0]], [1]), "batch 1 has 2 inputs and 1 targets, the first batch 1 and 1"),
        (([[1.0]], [1], [-1]), "batch 1: weights must be one finite number of at least 0"),
        (([[1.0]], [1], [np.nan]), "batch 1: weights must be one finite number of at least 0"),
        (([[1.0]], [1], [1, 2]), "batch 1: weights must be one finite number"),
        (5, r"batch 1: a int is no batch; give \(X, y\) or \(X, y, weights\)"),
        (([[1.0]], np.array([None], dtype=object)), "batch 1: y is missing or infinite in row 0"),
    ],
)
def test_bad_batches(batch, message):
    source = data.batches(lambda: [([[0.0]], [0.0]), batch])
    with pytest.raises(ValueError, match=message):
        estimator(degree=1).fit_source(source)


def test_bad_factories():
    with pytest.raises(ValueError, match="the factory is a list: give a function"):
        data.batches([1])
    with pytest.raises(ValueError, match="gives no batches"):
        data.batches(list)
    once = iter([([[0.0]], [0.0])])
    with pytest.raises(ValueError, match="same iterator each time"):
        data.batches(lambda: once)
    lengths = iter([5, 5, 5, 4])
    source = data.batches(lambda: [(np.ones((n, 1)), np.ones(n)) for n in [next(lengths)]])
    list(source.chunks())
    with pytest.raises(ValueError, match="5 rows in one pass and 4 in another"):
        list(source.chunks())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, None], "y": [1.0, 2.0]}, "column 'a' is missing or infinite in row 1; remove"),
        ({"a": ["x", "y"], "y": [1.0, 2.0]}, "column 'a' holds .*, not numbers; encode it, or le"),
        ({"a": [1, 2], "y": [None, 2.0]}, "column 'y': y is missing or infinite in row 0; remove"),
        ({"a": [1, 2], "z": [1.0, 2.0]}, "the table: no column 'y'; its columns are a, z"),
    ],
)
def test_bad_frames(columns, message):
    with pytest.raises(ValueError, match=message):
        data.frame(pa.table(columns), "y")
    with pytest.raises(ValueError, match=message):
        data.frame(pa.table(columns).to_pandas(), "y")


def test_missing_integers_of_pandas():
    import pandas as pd

    frame = pd.DataFrame({"a": pd.array([1, None], "Int64"), "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match="column 'a' is missing or infinite in row 1"):
        data.frame(frame, "y")


def test_bad_arrays():
    with pytest.raises(ValueError, match="the arrays have 3, 2 rows: give as many to each"):
        data.arrays(np.ones((3, 1)), np.ones(2))
    X = np.ones((10_000, 2))
    X[9000, 1] = np.nan
    source = data.arrays(X, np.ones(10_000))
    with pytest.raises(ValueError, match=r"rows 8,192 to 9,999: X holds NaN .* row 808, column 1"):
        estimator(degree=1).fit_source(source)


# ---- predictions to files


@pytest.fixture(scope="module")
def fitted():
    return VISHRegressor(degree=1, rank=None).fit_source(data.frame(pa.table(good()), "y"))


def test_a_bad_file_leaves_no_predictions(tmp_path, fitted):
    write(tmp_path, 0, good())
    write(tmp_path, 1, with_value("b", 217, None))
    (tmp_path / "results").mkdir()
    out = tmp_path / "results" / "out.parquet"
    out.write_text("before")
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    with pytest.raises(ValueError, match=r"1.parquet: row group 2, column 'b': missing values"):
        data.predict_to_parquet(fitted, paths, out)
    assert os.listdir(tmp_path / "results") == ["out.parquet"]
    assert out.read_text() == "before"


def full_disk(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("moment", ["write_table", "close"])
def test_a_full_disk_leaves_no_predictions(tmp_path, fitted, monkeypatch, moment):
    path = write(tmp_path, 0, good())
    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, moment, full_disk)
        with pytest.raises(
            OSError, match=r"not written to .*out.parquet \(No space left on dev"
        ) as e:
            data.predict_to_parquet(fitted, path, tmp_path / "out.parquet")
    assert e.value.errno == errno.ENOSPC
    assert "that the disk is not full" in str(e.value)
    assert os.listdir(tmp_path) == ["0.parquet"]


def test_a_disk_that_is_really_full(tmp_path, fitted):
    """The limit on the size of a file stands for the end of the disk."""
    import resource
    import signal

    path = write(tmp_path, 0, good(20_000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        with pytest.raises(OSError, match=r"not written to .*out.parquet"):
            data.predict_to_parquet(fitted, path, tmp_path / "out.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert os.listdir(tmp_path) == ["0.parquet"]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda f, m: data.predict_to_parquet(m, f / "0.parquet", f / "none" / "out"), OSError,
         "check that the folder exists"),
        (lambda f, m: data.predict_to_parquet(m, f / "0.parquet", f), ValueError, "is a directory"),
        (lambda f, m: data.predict_to_parquet(m, f / "1.parquet", f / "out"), ValueError,
         "1.parquet: no column 'b'; its columns are a, y"),
        (lambda f, m: data.predict_to_parquet(m, f / "0.parquet", f / "out", keep=["q"]),
         ValueError, "no column 'q'"),
        (lambda f, m: data.predict_to_parquet(m, f / "2.parquet", f / "out", keep=["mean"]),
         ValueError, "keep has 'mean', a name of the predictions: rename it"),
        (lambda f, m: data.predict_to_parquet(m, data.parquet(f / "0.parquet", "y"), f / "out",
         keep=["a"]), ValueError, "keep needs Parquet files"),
        (lambda f, m: data.predict_to_parquet(VISHClassifier(), f / "0.parquet", f / "out"),
         ValueError, "not fitted"),
        (lambda f, m: data.predict_to_parquet(VISHRegressor(degree=1).fit(np.eye(3), [1, 2, 3]),
         f / "2.parquet", f / "out"), ValueError, "4 columns besides those kept, but the model"),
    ],
)  # fmt: skip
def test_bad_predictions(tmp_path, fitted, call, kind, message):
    write(tmp_path, 0, good())
    write(tmp_path, 1, without("b"))
    write(tmp_path, 2, good() | {"mean": np.ones(300)})
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(kind, match=message):
        call(tmp_path, fitted)
    assert sorted(os.listdir(tmp_path)) == before


def test_errors_are_one_line(tmp_path):
    path = write(tmp_path, 0, good())
    truncated(path)
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        data.parquet(path, "y")
    assert "\n" not in str(error.value)
