"""Predictions streamed to Parquet are those of memory, in any size, in constant memory."""

import numpy as np
import pytest
from agreement import NAMES, ROWS, estimator

from vish import VISHClassifier, data

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def files(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("files")
    keyed = table.append_column("key", pa.array(np.arange(ROWS)))
    pq.write_table(keyed[:100_000], folder / "0.parquet", row_group_size=33_333)
    pq.write_table(keyed[100_000:], folder / "1.parquet")
    return folder


@pytest.fixture(scope="module")
def named(files):
    return estimator(max_iter=200).fit_source(data.parquet(files, "y", features=NAMES))


def test_mean_and_std(files, named, rows, in_memory, tmp_path):
    n = data.predict_to_parquet(named, files, tmp_path / "out.parquet", keep=["key", "word"])
    assert n == ROWS
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.column_names == ["key", "word", "mean", "std"]
    np.testing.assert_array_equal(out["key"], np.arange(ROWS))
    mean, std = named._observation.mean_and_std(rows[0], True, None)
    np.testing.assert_array_equal(out["mean"], mean[:, 0])
    np.testing.assert_array_equal(out["std"], std[:, 0])
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups == 2


def test_an_input_can_be_kept(files, named, rows, tmp_path):
    data.predict_to_parquet(named, files, tmp_path / "out.parquet", keep=[NAMES[1]])
    out = pq.read_table(tmp_path / "out.parquet")
    np.testing.assert_array_equal(out[NAMES[1]], rows[0][:, 1])
    np.testing.assert_array_equal(
        out["mean"], named._observation.mean_and_std(rows[0], False, None)[0][:, 0]
    )


def test_any_source_and_a_file_that_is_replaced(files, named, rows, tmp_path):
    out = tmp_path / "out.parquet"
    out.write_text("before")
    X, y, _ = rows
    sources = [data.batches(lambda: [(X[:7], y[:7]), (X[7:9000], y[7:9000])]), data.arrays(X, y)]
    lengths = [data.predict_to_parquet(named, source, out) for source in sources]
    assert lengths == [9000, ROWS]
    mean = named._observation.mean_and_std(X, True, None)[0][:, 0]
    np.testing.assert_array_equal(pq.read_table(out)["mean"], mean)


def test_several_targets(rows, files, tmp_path):
    X, y, _ = rows
    model = estimator(max_iter=200).fit(X[:5000], np.column_stack([y, -y])[:5000])
    data.predict_to_parquet(model, data.arrays(X[:100], y[:100]), tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.column_names == ["mean_0", "std_0", "mean_1", "std_1"]
    np.testing.assert_array_equal(out["std_1"], model.predict(X[:100], return_std=True)[1][:, 1])


def test_classes_and_probabilities(rows, tmp_path):
    X = rows[0][:3000]
    noise = np.random.default_rng(0).standard_normal(3000)
    kind = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + noise, [-0.5, 0.5])]
    model = VISHClassifier(degree=1, rank=None).fit(X, kind)
    data.predict_to_parquet(model, data.arrays(X, np.zeros(3000)), tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    names = [f"probability_{name}" for name in ("high", "low", "middle")]
    assert out.column_names == ["class", *names]
    np.testing.assert_array_equal(out["class"].to_numpy(), model.predict(X))
    p = np.column_stack([out[name] for name in names])
    np.testing.assert_array_equal(p, model.predict_proba(X))
