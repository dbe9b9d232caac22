"""Rows, a small estimator, and a real Dask cluster on loopback for the tests of row sources."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from agreement import NAMES, ROWS, estimator


@pytest.fixture(scope="session")
def rows():
    """X, y and weights; one weight in ten is 0."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((ROWS, 3))
    y = 1e3 + np.sin(2 * X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.5 * rng.standard_normal(ROWS)
    return X, y, rng.integers(0, 10, ROWS).astype(float)


@pytest.fixture(scope="session")
def in_memory(rows):
    """The model of the rows in memory, all of weight 1, that every other source must give."""
    return estimator().fit(*rows[:2])


@pytest.fixture(scope="session")
def weighted_in_memory(rows):
    return estimator().fit(*rows)


@pytest.fixture(scope="session")
def table(rows):
    import pyarrow as pa

    X, y, weights = rows
    columns = dict(zip(NAMES, X.T, strict=True))
    return pa.table(columns | {"y": y, "w": weights, "word": ["some text"] * ROWS})


@pytest.fixture(scope="session")
def rows_folder(tmp_path_factory, rows):
    """X.npy, y.npy and weights.npy on the disk, for processes other than this one."""
    folder = tmp_path_factory.mktemp("rows")
    for name, array in zip(("X", "y", "weights"), rows, strict=True):
        np.save(folder / f"{name}.npy", array)
    return folder


class Cluster:
    """`dask scheduler` and `dask worker` as processes of their own, as the recipe starts them."""

    def __init__(self, folder):
        self._folder, self._workers = folder, []
        file = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
        self.scheduler = self._start("scheduler", *options, "--scheduler-file", str(file))
        self._file = file
        self._wait(file.exists, "the scheduler")
        from distributed import Client

        self.client = Client(scheduler_file=str(file), timeout=30, set_as_default=False)

    def _start(self, *command):
        ours = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        paths = os.pathsep.join([str(Path(__file__).parent), *ours])
        environment = os.environ | {"PYTHONPATH": paths}
        with open(self._folder / f"{command[0]}-{len(self._workers)}.log", "w") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                cwd=self._folder, env=environment, stdout=log, stderr=log,
            )  # fmt: skip

    def _wait(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{what} did not come in {seconds} s"
            time.sleep(0.05)

    def scale(self, n):
        """At least n workers, each of one thread with its nanny."""
        while len(self._workers) < n:
            options = ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
            options += ["--scheduler-file", str(self._file), "--memory-limit", "2GB"]
            self._workers.append(self._start("worker", *options))
        self.client.wait_for_workers(n, timeout=60)
        return self

    def worker_pids(self):
        """Of the working processes, not of their nannies, which would start them again."""
        return sorted(self.client.run(os.getpid).values())

    def close(self):
        self.client.close(timeout=5)
        for process in (*self._workers, self.scheduler):  # a nanny takes its worker along
            process.send_signal(signal.SIGTERM)
        for process in (*self._workers, self.scheduler):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A cluster that grows as tests ask; all its tests are in one group of xdist."""
    pytest.importorskip("distributed")
    running = Cluster(tmp_path_factory.mktemp("dask"))
    yield running
    running.close()
