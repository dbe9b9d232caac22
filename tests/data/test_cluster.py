"""Dask with real schedulers and workers: the same sums, also when processes are killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from agreement import NAMES, ROWS, assert_close, assert_same_bits, block, estimator
from conftest import Cluster

from vish import VISHClassifier, data
from vish.inference.passes import GROUP_ROWS

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def mapped(folder, name, size, n=ROWS, pause=0.0):
    """A Dask array over a file, in pieces of `size` rows."""
    from dask import delayed

    width = 3 if name == "X" else None
    pieces = []
    for start in range(0, n, size):
        end = min(start + size, n)
        shape = (end - start, width) if width else (end - start,)
        task = delayed(block, pure=False)(folder, name, start, end, pause)
        pieces.append(da.from_delayed(task, shape, dtype=float))
    return da.concatenate(pieces)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_arrays_in_aligned_pieces_have_the_same_bits(cluster, rows_folder, in_memory, workers):
    client = cluster.scale(workers).client
    for size in (GROUP_ROWS, 2 * GROUP_ROWS):
        X, y = mapped(rows_folder, "X", size), mapped(rows_folder, "y", size)
        model = estimator().fit_source(data.dask(X, y, client=client))
        assert_same_bits(model, in_memory)


@pytest.mark.parametrize("size", [10_000, 50_001, 65_537])
def test_other_pieces_agree_to_rounding(cluster, rows, rows_folder, in_memory, size):
    client = cluster.scale(2).client
    X, y = mapped(rows_folder, "X", size), mapped(rows_folder, "y", 30_000)
    model = estimator().fit_source(data.dask(X, y, client=client))
    assert_close(model, in_memory, rows[0][:1000])
    again = estimator().fit_source(data.dask(X, y, client=client))
    assert_same_bits(again, model)  # and do not change from run to run


def test_frames_from_parquet(cluster, table, tmp_path, in_memory, weighted_in_memory):
    import pyarrow.parquet as pq

    client = cluster.scale(2).client
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=GROUP_ROWS)
    frame = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=1)
    assert frame.npartitions == 4
    source = data.dask(frame, "y", features=NAMES, client=client)
    assert_same_bits(estimator().fit_source(source), in_memory)
    source = data.dask(frame, "y", features=NAMES, weight="w", client=client)
    assert_same_bits(estimator().fit_source(source), weighted_in_memory)


def test_without_a_client_the_threads_of_dask_do_it(rows, rows_folder, weighted_in_memory):
    X, y, w = (mapped(rows_folder, name, GROUP_ROWS) for name in ("X", "y", "weights"))
    assert_same_bits(estimator().fit_source(data.dask(X, y, weight=w)), weighted_in_memory)
    source = data.dask(X, y)
    np.testing.assert_array_equal(np.vstack([chunk.X for chunk in source.chunks()]), rows[0])
    assert next(source.chunks(GROUP_ROWS)).start == GROUP_ROWS


def test_one_reading(cluster, rows, rows_folder):
    settings = {"scaling": (np.zeros(3), np.ones(3)), "relevance": [0.5, 0.5, 0.5]}
    client = cluster.scale(2).client
    X, y = mapped(rows_folder, "X", GROUP_ROWS), mapped(rows_folder, "y", GROUP_ROWS)
    expected = estimator(**settings).fit(*rows[:2])
    model = estimator(**settings).fit_source(data.dask(X, y, client=client))
    assert_same_bits(model, expected)


def test_classes(cluster, rows, rows_folder):
    """Passes of a likelihood send the posterior to the workers, and no rows come back."""
    client = cluster.scale(2).client
    n = GROUP_ROWS + 5000
    noise = np.random.default_rng(0).standard_normal(n)
    y = np.where(rows[0][:n, 0] + noise > 0, "yes", "no")
    X = mapped(rows_folder, "X", GROUP_ROWS, n)
    settings = {"degree": 1, "rank": None, "n_starts": 1, "max_iter": 20, "subset_size": 500}
    expected = VISHClassifier(**settings).fit(rows[0][:n], y)
    source = data.dask(X, da.from_array(y.astype(object), chunks=GROUP_ROWS), client=client)
    model = VISHClassifier(**settings).fit_source(source)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model._model.sites.moments, expected._model.sites.moments)
    assert model.log_evidence_ == expected.log_evidence_


def test_killed_workers_change_nothing(cluster, rows_folder, in_memory):
    """SIGKILL at ten random moments of a fit; the nanny starts another worker."""
    client = cluster.scale(2).client
    random = np.random.default_rng(3)
    pause, pieces, readings = 0.2, 2 * 4, 2  # of X and y; one for the subset, one for the sums
    for _ in range(10):
        X = mapped(rows_folder, "X", GROUP_ROWS, pause=pause)
        y = mapped(rows_folder, "y", GROUP_ROWS, pause=pause)
        source = data.dask(X, y, client=client)
        pids = cluster.worker_pids()
        shortest = readings * pieces * pause / len(pids)  # the pauses of the busiest worker
        delay, victim = random.uniform(0, shortest), int(random.choice(pids))
        moment = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
        moment.start()
        model = estimator().fit_source(source)
        assert not moment.is_alive()  # it came before the end
        assert_same_bits(model, in_memory)
        client.wait_for_workers(len(pids), timeout=60)


def test_killed_scheduler(tmp_path, rows_folder, in_memory):
    """A clear error within 60 s; the checkpoint goes on with another cluster."""
    X = mapped(rows_folder, "X", GROUP_ROWS, pause=0.5)
    y = mapped(rows_folder, "y", GROUP_ROWS)
    folder = tmp_path / "first"
    folder.mkdir()
    first = Cluster(folder)
    checkpoint = tmp_path / "fit.vish"
    try:
        source = data.dask(X, y, client=first.scale(1).client)
        ended: list = []

        def kill():
            while not checkpoint.exists():  # the statistics pass begins
                time.sleep(0.01)
            time.sleep(0.7)
            first.scheduler.kill()
            ended.append(time.monotonic())

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(RuntimeError, match=r"cannot be reached .* same checkpoint"):
            estimator().fit_source(source, checkpoint, checkpoint_rows=1)
        killer.join()
        assert time.monotonic() - ended[0] < 60
    finally:
        first.close()
    source = data.dask(X, y)  # the same rows, on the threads of this process
    model = estimator().fit_source(source, checkpoint, checkpoint_rows=1)
    assert_same_bits(model, in_memory)


def bad_frame(change, value):
    frame = pd.DataFrame(np.ones((40, 3)), columns=["a", "b", "y"])
    frame[change] = frame[change].astype(object if isinstance(value, str | None) else float)
    frame.loc[25, change] = value
    return dd.from_pandas(frame, npartitions=4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.dask(bad_frame("a", 1.0), "z"), "no column 'z'; its columns are a, b, y"),
        (
            lambda: data.dask(bad_frame("a", np.nan), "y"),
            "partition 2: column 'a' .* in row 5; rem",
        ),
        (lambda: data.dask(bad_frame("a", "x"), "y"), "partition .*: column 'a' holds .*, not num"),
        (
            lambda: data.dask(bad_frame("y", np.inf), "y"),
            "partition 2: column 'y': y is missing .* in row 5",
        ),
        (
            lambda: data.dask(bad_frame("b", -1.0), "y", weight="b"),
            "partition 2: column 'b': weights must be",
        ),
        (lambda: data.dask(da.ones((5, 2)), "y"), "give the target as a Dask array"),
        (lambda: data.dask(da.ones((5, 2)), da.ones(6)), "X has 5 rows and target or weight 6"),
        (lambda: data.dask(da.ones((0, 2)), da.ones(0)), "no rows; give at least one"),
    ],
)
def test_bad_collections(call, message):
    with pytest.raises(ValueError, match=message):
        estimator(degree=1).fit_source(call())


def test_rows_that_change_between_passes_are_refused():
    from dask import delayed

    sizes = iter([9])
    task = delayed(lambda: np.ones((next(sizes), 2)), pure=False)()
    X = da.from_delayed(task, (10, 2), dtype=float)
    source = data.dask(X, da.ones(10))
    with pytest.raises(ValueError, match="partition 0 has 9 rows, but had 10"):
        list(source.chunks())


def test_work_that_fails_is_not_taken_for_a_lost_scheduler(cluster, tmp_path):
    client = cluster.scale(1).client
    source = data.dask(
        mapped(tmp_path, "X", 100, 300), mapped(tmp_path, "y", 100, 300), client=client
    )
    with pytest.raises(FileNotFoundError, match="npy"):
        estimator().fit_source(source)
