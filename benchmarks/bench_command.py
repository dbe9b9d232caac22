"""The command on 1.9 million flights, each in a process of its own: fit, predict, first use.

Reads VISH_DATA/airline/flights.parquet. Times are of the whole process, less that of a process
that only imports what the command does ("after start-up"); a goal in seconds is a peer that
takes so long.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row

INPUTS = "Month,DayofMonth,DayOfWeek,plane_age,AirTime,Distance,ArrTime,DepTime"
ROWS = 1_946_844
START_UP = "import vish.cli.fitting, vish.cli.predicting, vish.estimators.storage, pandas, pyarrow"
FIRST_USE = """
import sys, time
import numpy as np
import vish.estimators.storage
from vish import load
start = time.perf_counter()
load(sys.argv[1]).predict(np.zeros((1, 8)), return_std=True)
print(time.perf_counter() - start)
"""


def timed(*command: str) -> tuple[float, str]:
    start = time.perf_counter()
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, result.stdout


def boosted_trees(path: Path) -> float:
    """Seconds of scikit-learn's histogram gradient boosting with defaults, reading included."""
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingRegressor

    start = time.perf_counter()
    rows = pd.read_parquet(path, columns=[*INPUTS.split(","), "ArrDelay"])
    HistGradientBoostingRegressor().fit(rows.drop(columns="ArrDelay"), rows["ArrDelay"])
    return time.perf_counter() - start


def run() -> Iterator[Row]:
    flights = Path(os.environ.get("VISH_DATA", ".")) / "airline" / "flights.parquet"
    if not flights.exists():
        raise SystemExit(f"{flights} is missing: set VISH_DATA to the folder of data sets")
    start_up = min(timed("-c", START_UP)[0] for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/flights.vish"
        settings = {
            "no flags": (),
            "eight inputs, degree 3": ("--features", INPUTS, "--degree", "3"),
        }
        for setting, flags in settings.items():  # the last one's model is used below
            fit = ("fit", str(flights), "--target", "ArrDelay", *flags)
            fit = ("-m", "vish", *fit, "--out", model, "--quiet")
            timed(*fit)  # compiles
            seconds = timed(*fit)[0] - start_up
            what = f"vish fit, {ROWS:,} flights from Parquet, {setting}"
            yield Row(what, seconds, "30 s after start-up", 30.0, times_faster=1)
            for ending in ("parquet", "csv"):
                predict = ("-m", "vish", "predict", model, str(flights), "--std", "--quiet")
                written = ("--out", f"{folder}/p.{ending}")
                best = min(timed(*predict, *written)[0] for _ in range(3)) - start_up
                what = f"vish predict --std to {ending}, {setting}, {ROWS / best:,.0f} rows/s"
                yield Row(what, best, "300,000 rows/s", ROWS / 300_000, times_faster=1)
        yield Row(f"vish fit, {setting}", seconds, "HistGradientBoosting", boosted_trees(flights))
        first = min(float(timed("-c", FIRST_USE, model)[1]) for _ in range(3))
        yield Row("load and first prediction, after import", first, "0.3 s", 0.3, times_faster=1)
