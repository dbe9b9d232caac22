"""Delays of flights, in the protocol of the paper (and of Hensman, Durrande and Solin, 2017).

Cancelled and diverted flights are out; the others are joined with the year in which the plane
was built. Split i of n rows: the generator gets the seed n + i and permutes all rows; the first
n are taken, the first int(2n/3) of them to learn from. n counts training and test rows. The
target is standardised with training moments, inputs are scaled to [0, 1] with training ranges,
no outlier is removed.

The table of 2008 (5,929,413 rows) is used when `airline/` holds it: prepared, as
`airline2008.parquet`, or raw, as `2008.csv` (.gz, .bz2) and `plane-data.csv`. Otherwise the
stand-in `flights.parquet` (1,946,844 flights of other years) is, and results are not the
paper's.
"""

import hashlib
from pathlib import Path

import numpy as np

from vish.paper.splits import Split, find

INPUTS = (
    "Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance", "ArrTime", "DepTime",
)  # fmt: skip
TARGET = "ArrDelay"
PAPER_ROWS = 5_929_413
SIZES, LEAST_ROWS = (10_000, 100_000, 1_000_000), 10  # and all

_PREPARED, _STAND_IN = "airline2008.parquet", "flights.parquet"
_RAW = ("2008.csv", "2008.csv.gz", "2008.csv.bz2")
_PLANES = ("plane-data.csv", "plane-data.csv.gz", "plane-data.csv.bz2")
WORDS = {
    "airline2008": "the flights of 2008",
    "flights": "a stand-in for the flights of 2008: ten public tables, 2008-2022",
    "synthetic": "synthetic flights, delays from a known function",
}


def locate(folder: Path) -> tuple[str, Path]:
    """Which table there is, and its file."""
    path = find(folder / "airline", _PREPARED, *_RAW, _STAND_IN)
    return "flights" if path.name == _STAND_IN else "airline2008", path


def prepared(folder: Path, cache: Path) -> tuple[str, Path]:
    """The same as a Parquet file: a raw table is prepared once, in `cache`, until it changes."""
    name, path = locate(folder)
    if path.suffix == ".parquet":
        return name, path
    planes = find(path.parent, *_PLANES)
    facts = [(str(file.resolve()), *_size_and_time(file)) for file in (path, planes)]
    version = hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
    ready = cache / f"airline2008-{version}.parquet"
    if not ready.exists():
        frame = clean(path, planes)
        cache.mkdir(parents=True, exist_ok=True)
        half = ready.with_suffix(".part")
        frame.to_parquet(half, index=False)
        half.replace(ready)
    return name, ready


def _size_and_time(file: Path) -> tuple[int, int]:
    return file.stat().st_size, file.stat().st_mtime_ns


def clean(flights: Path, planes: Path):
    """The raw table of 2008 and that of the planes, as a frame of inputs and target."""
    import pandas as pd

    used = ["Year", "Month", "DayofMonth", "DayOfWeek", "DepTime", "ArrTime", "TailNum"]
    used += ["AirTime", "ArrDelay", "Distance", "Cancelled", "Diverted"]
    rows = pd.read_csv(flights, usecols=used, dtype={"TailNum": str})
    built = pd.read_csv(planes, usecols=["tailnum", "year"], dtype=str)
    built["year"] = pd.to_numeric(built["year"], errors="coerce")  # "None" and gaps
    built = built[built["year"] > 0]  # 0000 is not known either
    rows = rows[(rows["Cancelled"] == 0) & (rows["Diverted"] == 0)]
    rows = rows.merge(built, left_on="TailNum", right_on="tailnum")
    columns = {name: rows[name] for name in ("Month", "DayofMonth", "DayOfWeek")}
    columns["plane_age"] = rows["Year"] - rows["year"]
    columns |= {"AirTime": rows["AirTime"], "Distance": rows["Distance"]}
    columns |= {"ArrTime": minutes(rows["ArrTime"]), "DepTime": minutes(rows["DepTime"])}
    frame = pd.DataFrame(columns | {TARGET: rows[TARGET]}, dtype=np.float32)
    return frame.dropna().reset_index(drop=True)


def minutes(hhmm):
    """1435 as 14 * 60 + 35."""
    return hhmm // 100 * 60 + hhmm % 100


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and delays of a prepared table."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=[*INPUTS, TARGET])
    X = np.empty((len(table), len(INPUTS)))
    for i, name in enumerate(INPUTS):
        X[:, i] = table[name].to_numpy()
    y = table[TARGET].to_numpy().astype(float)
    for name, column in zip((*INPUTS, TARGET), (*X.T, y), strict=True):
        if not np.isfinite(column).all():
            raise ValueError(f"{path}, {name} has gaps: leave those rows out")
    return X, y


def check_size(n: int, most: int) -> None:
    """Refuse more rows than there are, or too few to split."""
    if n > most:
        raise ValueError(f"{n:,} rows are wanted, the table has {most:,}")
    if n < LEAST_ROWS:
        raise ValueError(f"{n:,} rows are too few: give {LEAST_ROWS} or more")


def split(X: np.ndarray, y: np.ndarray, n: int, i: int, source: str) -> Split:
    """Split i of n rows."""
    check_size(n, len(y))
    # The protocol's own generator: NumPy's of 2016, seeded with n + i.
    order = np.random.RandomState(n + i).permutation(len(y))[:n]
    train, test = np.split(order, [int(2 * n / 3)])
    mean, scale = y[train].mean(), y[train].std()
    lowest = X[train].min(axis=0)
    spread = X[train].max(axis=0) - lowest
    spread = np.where(spread > 0, spread, 1.0)
    return Split(
        (X[train] - lowest) / spread,
        (y[train] - mean) / scale,
        (X[test] - lowest) / spread,
        (y[test] - mean) / scale,
        f"{WORDS[source]}, {n:,} rows",
    )
