"""Rows beyond memory: Parquet files of 8 inputs, degree 3, and workers of Dask.

The files are written by the benchmark, in pieces, to a temporary folder (`TMPDIR` says where).
`VISH_BENCH_ROWS` sets the number of rows: 5 million by default, 50 million for the figures of
the documentation (4 GB of disk). Peaks of memory are those of processes of their own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row
from benchmarks.bench_engine import make_geometry

INPUTS, DEGREE = 8, 3
ROWS = int(os.environ.get("VISH_BENCH_ROWS", 5_000_000))
FEW = max(ROWS // 10, 1_000_000)  # of the shorter fit, whose memory must be as large
PIECE, GROUP = 2**20, 2**18  # rows of a file, and of a row group
IN_MEMORY = 2_000_000
BYTES_A_ROW = 8 * (INPUTS + 1)
MEMORY_GOAL = 1536  # MB

FIT = """
import json, sys, time
from benchmarks.memory import peak
from vish import VISHRegressor, data

source = data.parquet(json.loads(sys.argv[1]), "y")
start = time.perf_counter()
model = VISHRegressor(degree=3, rank=None, n_starts=1).fit_source(source)
seconds = time.perf_counter() - start
print(json.dumps([model.n_rows_seen_, seconds, peak()]))
"""

PASS = """
import json, sys, time
import numpy as np
from benchmarks.bench_engine import make_geometry
from vish import data
from vish.inference.sources import ArraySource
from vish.inference.statistics import Statistics

paths, n = json.loads(sys.argv[1]), int(sys.argv[2])
source, geometry = data.parquet(paths, "y"), make_geometry(3)
chunks = [chunk for chunk in source.chunks() if chunk.start < n]
X, y = np.vstack([c.X for c in chunks]), np.vstack([c.y for c in chunks])
del chunks
memory = ArraySource(np.ascontiguousarray(X), y)
Statistics.of_source(geometry, ArraySource(X[:20_000], y[:20_000]))

def seconds(source):
    start = time.perf_counter()
    assert Statistics.of_source(geometry, source).n_rows == source.n_rows
    return time.perf_counter() - start

times = [(seconds(source) / source.n_rows, seconds(memory) / memory.n_rows) for _ in range(3)]
print(json.dumps([min(t) * 1e6 for t in zip(*times)]))
"""


def write_rows(folder: Path, rows: int) -> list[str]:
    """Files of at most `PIECE` rows; a smooth function of the inputs with noise."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    need, free = rows * BYTES_A_ROW * 1.3, shutil.disk_usage(folder).free
    if need > free:
        raise OSError(
            f"{rows:,} rows need {need / 1e9:.1f} GB in {folder}; {free / 1e9:.1f} GB are free: "
            "set TMPDIR to another disk, or VISH_BENCH_ROWS to fewer rows"
        )
    rng, paths = np.random.default_rng(0), []
    slopes = rng.standard_normal((INPUTS, 3)) / np.sqrt(INPUTS)
    for start in range(0, rows, PIECE):
        n = min(PIECE, rows - start)
        X = rng.standard_normal((n, INPUTS))
        y = np.sin(X @ slopes).sum(axis=1) + 0.5 * rng.standard_normal(n)
        columns = {f"x{i}": X[:, i] for i in range(INPUTS)} | {"y": y}
        path = folder / f"{start // PIECE:05}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=GROUP)
        paths.append(str(path))
    return paths


def own_process(code: str, *arguments: str) -> list:
    """What a process of its own prints, as JSON."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


class Workers:
    """A Dask scheduler and workers of one thread, as processes on loopback."""

    def __init__(self, folder: Path) -> None:
        from distributed import Client

        self._file = folder / "scheduler.json"
        self._processes: list[subprocess.Popen] = []
        self.start("scheduler", "--host", "127.0.0.1", "--port", "0")
        while not self._file.exists():
            time.sleep(0.05)
        self.client = Client(scheduler_file=str(self._file), set_as_default=False)

    def start(self, *command: str) -> None:
        options = ["--no-dashboard", "--scheduler-file", str(self._file)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "VISH_NUM_THREADS": "1"}
        with open(self._file.parent / f"{len(self._processes)}.log", "w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command, *options],
                stdout=log, stderr=log, env=environment,
            )  # fmt: skip
        self._processes.append(process)

    def add(self) -> None:
        self.start("worker", "--host", "127.0.0.1", "--nthreads", "1")
        self._wait()

    def drop(self) -> None:
        """End the last process."""
        process = self._processes.pop()
        process.terminate()
        process.wait()
        self._wait()

    def _wait(self) -> None:
        """Until the scheduler knows of all workers, and of no others."""
        deadline = time.monotonic() + 60
        while len(self.client.nthreads()) != len(self._processes) - 1:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"workers neither came nor went in a minute: {self._file.parent}"
                )
            time.sleep(0.05)

    def close(self) -> None:
        self.client.close()
        for process in reversed(self._processes):
            process.terminate()
            process.wait()


def seconds_by_workers(paths: list[str], folder: Path) -> tuple[float, float]:
    """Of the statistics pass with one worker and with two: medians of passes in turns."""
    import dask.dataframe as dd

    from vish import data
    from vish.inference.statistics import Statistics

    geometry, workers = make_geometry(DEGREE), Workers(folder)

    def passes() -> list[float]:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            assert Statistics.of_source(geometry, source).n_rows == source.n_rows
            times.append(time.perf_counter() - start)
        return times[1:]  # the first loads the library on a new worker

    one, two = [], []
    try:
        workers.add()
        frame = dd.read_parquet(paths, split_row_groups=2)  # half a million rows each
        source = data.dask(frame, "y", client=workers.client)
        for _ in range(3):
            one += passes()
            workers.add()
            two += passes()
            workers.drop()
    finally:
        workers.close()
    return float(np.median(one)), float(np.median(two))


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="vish-bench-") as name:
        folder = Path(name)
        paths = write_rows(folder, ROWS)
        few_paths = paths[: -(-FEW // PIECE)]

        few, few_seconds, few_peak = own_process(FIT, json.dumps(few_paths))
        rows, fit_seconds, peak = own_process(FIT, json.dumps(paths))
        what = f"peak memory, fit of {rows:,} rows of Parquet"
        yield Row(what, peak, "the limit", MEMORY_GOAL, times_slower=1, unit="MB")
        yield Row(what, peak, f"{few:,} rows", few_peak, times_slower=1.05, unit="MB")
        yield Row(f"fit of {rows:,} rows, two readings", fit_seconds, f"{few:,} rows", few_seconds)

        n = str(min(ROWS, IN_MEMORY))
        files, memory = own_process(PASS, json.dumps(paths[:10]), n)
        what = "statistics from Parquet, per million rows"
        yield Row(what, files, "from memory", memory, times_slower=2)

        one, two = seconds_by_workers(paths[:10], folder)
        yield Row("statistics, 2 workers of Dask", two, "1 worker", one, times_faster=1.7)
