"""Data sets of the paper, cut into rows to learn from and rows to test on.

UCI: five fixed test sets of 10 % of the rows. Inputs and targets are standardised on the
training rows, as in the paper. SUSY: eight inputs, the last 10 % of the rows are the test;
banana: 400 rows in two dimensions, without a test.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

UCI = ("yacht", "energy", "concrete", "kin8nm", "power")  # Table 1
SUSY_ROWS = 5_000_000
_SUSY = ("SUSY.csv", "SUSY.csv.gz")
_SUSY_SUBSET = ("susy_train_10k.csv.gz", "susy_train_10k.csv")
_SUSY_SUBSET_TEST = ("susy_test_1k.csv.gz", "susy_test_1k.csv")


class Split(NamedTuple):
    """Rows to learn from, and rows held out."""

    X: np.ndarray  # [n, D]
    y: np.ndarray  # [n]; 0 and 1 for two classes
    X_test: np.ndarray
    y_test: np.ndarray
    source: str  # which data these are, in words


def data_folder(given: str | Path | None = None) -> Path:
    """The folder of data sets: as given, or as in VISH_DATA."""
    named = given or os.environ.get("VISH_DATA")
    if not named:
        raise FileNotFoundError(
            "no data: give --data, or set VISH_DATA to the folder of data sets "
            "(uci/, airline/, susy/, banana/)"
        )
    folder = Path(named)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder: it should hold uci/, airline/, ...")
    return folder


def find(folder: Path, *names: str) -> Path:
    """The first of these files that exists."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"{folder} has no {' or '.join(names)}")


def standardised(X, y, X_test, y_test, source: str) -> Split:
    """Inputs and target to mean 0 and variance 1 of the training rows."""
    spread = X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    centre, mean, scale = X.mean(axis=0), y.mean(), y.std()
    return Split(
        (X - centre) / spread,
        (y - mean) / scale,
        (X_test - centre) / spread,
        (y_test - mean) / scale,
        source,
    )


# ---- UCI


def uci_file(folder: Path, name: str) -> Path:
    return find(folder / "uci", f"{name}.csv", f"{name}.csv.gz")


def read_uci(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and target as they are in the file; the target is the last column."""
    rows = np.loadtxt(uci_file(folder, name), delimiter=",", skiprows=1)
    return rows[:, :-1], rows[:, -1]


def uci_test_file(folder: Path) -> Path:
    return find(folder / "uci", "test_rows.json")


def uci_test_rows(folder: Path, name: str) -> list[np.ndarray]:
    """The fixed test sets, as row numbers."""
    named = json.loads(uci_test_file(folder).read_text())
    if name not in named:
        raise ValueError(f"test_rows.json has no {name}; it has {', '.join(named)}")
    return [np.array(rows) for rows in named[name]]


def uci(folder: Path, name: str, split: int) -> Split:
    """One of the fixed splits, standardised."""
    X, y = read_uci(folder, name)
    tests = uci_test_rows(folder, name)
    if not 0 <= split < len(tests):
        raise ValueError(f"{name} has splits 0 to {len(tests) - 1}, not {split}")
    test = tests[split]
    train = np.setdiff1d(np.arange(len(y)), test)
    return standardised(X[train], y[train], X[test], y[test], f"UCI {name}, fixed split")


# ---- classes


def susy_source(folder: Path) -> str:
    """ "susy" when the file of five million rows is there, "susy-10k" for the subset."""
    return "susy-10k" if len(susy_files(folder)) > 1 else "susy"


def susy_files(folder: Path) -> list[Path]:
    """The file of all rows, or else those of the subset, to learn from and to test."""
    inside = folder / "susy"
    first = find(inside, *_SUSY, *_SUSY_SUBSET)
    return [first] if first.name in _SUSY else [first, find(inside, *_SUSY_SUBSET_TEST)]


def susy(folder: Path) -> Split:
    """Eight low-level inputs, standardised; the last 10 % test in the real file."""
    files = susy_files(folder)
    if len(files) > 1:
        train, test = (np.loadtxt(file, delimiter=",", skiprows=1) for file in files)
        X, y, X_test, y_test = train[:, :8], train[:, 8], test[:, :8], test[:, 8]
        source = "a subset of SUSY, 10,000 rows and 1,000 to test"
    else:
        import pandas as pd

        # UCI's file: the class, eight low-level inputs, ten derived ones; no header
        rows = pd.read_csv(files[0], header=None, usecols=range(9), dtype=np.float64).to_numpy()
        n = len(rows) - len(rows) // 10
        X, y, X_test, y_test = rows[:n, 1:], rows[:n, 0], rows[n:, 1:], rows[n:, 0]
        source = f"SUSY, {len(rows):,} rows, the last 10 % to test"
    centre, spread = X.mean(axis=0), X.std(axis=0)
    return Split((X - centre) / spread, y, (X_test - centre) / spread, y_test, source)


def banana_file(folder: Path) -> Path:
    return find(folder / "banana", "banana.csv")


def banana(folder: Path) -> Split:
    """400 rows; there is no test set, so the training rows stand in for it."""
    table = np.loadtxt(banana_file(folder), delimiter=",", skiprows=1)
    X, y = table[:, :2], table[:, 2]
    return Split(X, y, X, y, "banana, 400 rows, scored on the rows learned")
