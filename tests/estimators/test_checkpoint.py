"""A fit that is stopped and started again ends with the same bits."""

import os
import subprocess
import sys

import numpy as np
import pytest

import vish.estimators.checkpoint as checkpoints
from vish import VISHClassifier, VISHRegressor, data, load
from vish.inference.passes import GROUP_ROWS
from vish.likelihoods import StudentT
from vish.modelfile import ModelFileError, read_model, write_model

ROWS = 5 * GROUP_ROWS + 1234
QUICK = {"degree": 2, "rank": None, "n_starts": 1, "max_iter": 50, "subset_size": 500}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((ROWS, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(ROWS)


@pytest.fixture(scope="module")
def expected(rows):
    return VISHRegressor(**QUICK).fit(*rows)


def sums(model):
    s = model._model.statistics
    return np.concatenate([s.moments, s.cross.ravel(), s.squares, [s.log_radii, s.weight]])


class Stop(Exception):
    pass


def broken_after(rows, n):
    """Batches that fail after n rows of the second reading."""
    readings = []

    def factory():
        number = len(readings)
        readings.append(number)
        for start in range(0, ROWS, 10_000):
            if number == 2 and start >= n:  # number 0 was a look at the first batch
                raise Stop
            yield rows[0][start : start + 10_000], rows[1][start : start + 10_000]

    return data.batches(factory)


@pytest.mark.parametrize("groups", [0, 1, 3, 4])
def test_a_stopped_fit_goes_on(tmp_path, rows, expected, groups):
    path = tmp_path / "fit.vish"
    with pytest.raises(Stop):
        VISHRegressor(**QUICK).fit_source(
            broken_after(rows, groups * GROUP_ROWS + 10_000), path, checkpoint_rows=1
        )
    assert path.exists()
    source = data.batches(lambda: [(rows[0], rows[1])])
    model = VISHRegressor(**QUICK).fit_source(source, path)
    np.testing.assert_array_equal(sums(model), sums(expected))
    assert model.log_evidence_ == expected.log_evidence_
    assert model.n_iter_ == expected.n_iter_
    assert [stage[:5] for stage in model.fit_trace_] == [s[:5] for s in expected.fit_trace_]


def test_writings_come_every_so_many_rows(tmp_path, rows, monkeypatch):
    written = []
    monkeypatch.setattr(
        checkpoints, "write_model", lambda p, header, a: written.append(header["groups"])
    )
    source = data.arrays(*rows)
    VISHRegressor(**QUICK).fit_source(source, tmp_path / "a", checkpoint_rows=2 * GROUP_ROWS)
    assert written == [0, 2, 4, 6]  # at the start, on the way, at the end
    written.clear()
    VISHRegressor(**QUICK).fit_source(source, tmp_path / "b")
    assert written == [0, 6]


def test_threads_and_verbosity_may_change(tmp_path, rows, expected):
    path = tmp_path / "fit.vish"
    VISHRegressor(**QUICK).fit_source(data.arrays(*rows), path)
    model = VISHRegressor(**QUICK, n_jobs=2, verbose=1).fit_source(data.arrays(*rows), path)
    np.testing.assert_array_equal(sums(model), sums(expected))


def other_values(X, y):
    return data.arrays(X + 1, y)


@pytest.mark.parametrize(
    ("settings", "source", "message"),
    [
        ({"degree": 1}, data.arrays, "belongs to another fit .* delete it, or give another path"),
        ({"likelihood": StudentT()}, data.arrays, "Gaussian family only"),
        ({}, lambda X, y: data.arrays(X[:-1], y[:-1]), "belongs to another fit"),
        ({}, other_values, "belongs to another fit"),
        ({}, lambda X, y: data.batches(lambda: [(X, y)]), "belongs to another fit"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, rows, settings, source, message):
    path = tmp_path / "fit.vish"
    VISHRegressor(**QUICK).fit_source(data.arrays(*rows), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        VISHRegressor(**QUICK | settings).fit_source(source(*rows), path)
    assert path.read_bytes() == before


def test_files_that_are_no_checkpoints(tmp_path, rows, expected):
    source = data.arrays(*rows)
    expected.save(tmp_path / "model.vish")
    with pytest.raises(ValueError, match="belongs to another fit"):
        VISHRegressor(**QUICK).fit_source(source, tmp_path / "model.vish")
    load(tmp_path / "model.vish")  # still there
    (tmp_path / "half").write_bytes((tmp_path / "model.vish").read_bytes()[:500])
    with pytest.raises(ModelFileError, match="given as a checkpoint: delete it to start anew"):
        VISHRegressor(**QUICK).fit_source(source, tmp_path / "half")
    with pytest.raises(ValueError, match="checkpoint_rows is 0: give at least 1"):
        VISHRegressor(**QUICK).fit_source(source, tmp_path / "new", checkpoint_rows=0)
    with pytest.raises(ValueError, match="checkpoints exist for the Gaussian family only"):
        VISHClassifier().fit_source(source, tmp_path / "new")
    assert sorted(os.listdir(tmp_path)) == ["half", "model.vish"]


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, rows, expected, monkeypatch):
    import errno

    path, writings = tmp_path / "fit.vish", []
    real = os.fsync

    def full(file):
        writings.append(file)
        if len(writings) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file)

    source = data.arrays(*rows)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left .* that was there before is unchanged"):
            VISHRegressor(**QUICK).fit_source(source, path, checkpoint_rows=1)
    assert os.listdir(tmp_path) == ["fit.vish"]
    model = VISHRegressor(**QUICK).fit_source(source, path)
    np.testing.assert_array_equal(sums(model), sums(expected))


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header.update(groups=header["groups"] + 1),
        lambda header, arrays: header.update(groups=max(1, header["groups"] - 1)),
        lambda header, arrays: arrays["moments"].__imul__(-1.0),
        lambda header, arrays: arrays["moments"].__imul__(0.0),
        lambda header, arrays: arrays["moments"].__setitem__(3, 1e9),
        lambda header, arrays: arrays["cross"].__imul__(10.0),
        lambda header, arrays: arrays["squares"].__imul__(1e-3),
    ],
)
def test_sums_that_no_rows_have_are_refused(tmp_path, rows, change):
    """With a checksum that fits: nothing but the numbers tells."""
    path = tmp_path / "fit.vish"
    with pytest.raises(Stop):
        VISHRegressor(**QUICK).fit_source(
            broken_after(rows, 3 * GROUP_ROWS + 10_000), path, checkpoint_rows=1
        )
    header, arrays = read_model(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match=r"fit\.vish: .*(no|not) .*rows"):
        VISHRegressor(**QUICK).fit_source(data.batches(lambda: [rows]), path)


# One process that has loaded everything, without threads; its children fit, and are killed.
KILLED = """
import os, signal, sys, time
import numpy as np
import vish.estimators.storage
from vish import VISHRegressor, data
from vish.inference.sources import ArraySource

settings, folder, seed = eval(sys.argv[1]), sys.argv[2], int(sys.argv[3])

class Slow(ArraySource):
    def chunks(self, first_row=0):
        for chunk in super().chunks(first_row):
            time.sleep(0.004)
            yield chunk

def fit():
    X, y = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in ("X", "y"))
    path = f"{folder}/fit.vish"
    model = VISHRegressor(**settings).fit_source(Slow(X, y[:, None]), path, checkpoint_rows=1)
    model.save(f"{folder}/model.vish")

def start():
    child = os.fork()
    if not child:
        try:
            fit()
            os._exit(0)
        finally:
            os._exit(1)
    return child

few = np.random.default_rng(0).standard_normal((600, 2))
VISHRegressor(**settings).fit(few, few[:, 0])  # loads the kernels
random, killed, ended = np.random.default_rng(seed), 0, 0
while killed < 10 or not ended or os.path.exists(f"{folder}/fit.vish"):
    child = start()
    if killed < 10:
        time.sleep(random.uniform(0.05, 0.7))
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    killed += code == -signal.SIGKILL
    assert code in (0, -signal.SIGKILL)
    if os.path.exists(f"{folder}/model.vish"):  # one fit is complete: begin another
        os.rename(f"{folder}/model.vish", f"{folder}/ended-{ended}.vish")
        os.unlink(f"{folder}/fit.vish")
        ended += 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_at_ten_random_moments(tmp_path, rows, expected):
    np.save(tmp_path / "X.npy", rows[0])
    np.save(tmp_path / "y.npy", rows[1])
    command = [sys.executable, "-W", "ignore", "-c", KILLED, repr(QUICK), str(tmp_path), "11"]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "VISH_NUM_THREADS": "1"}
    subprocess.run(command, check=True, timeout=300, env=os.environ | one_thread)
    ended = [load(path) for path in tmp_path.glob("ended-*.vish")]
    assert ended
    for model in ended:
        np.testing.assert_array_equal(sums(model), sums(expected))
        assert model.log_evidence_ == expected.log_evidence_
