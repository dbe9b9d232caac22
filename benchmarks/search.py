"""What each number of the search brings: ``python -m benchmarks.search [tables] [--seeds 3]``.

Every number of `vish.search.policy` is left out, or set to an extreme, one at a time; over the
tables and seeds the change of density (NLPD, lower is better), squared error and seconds is
printed.
The tables are drawn, or come with R's packages (`make peers`); no score in the documentation is
from them.
"""

import argparse
import time
import warnings
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.wide import split
from benchmarks.wide_tables import R, Table
from vish import VISHRegressor
from vish.estimators import search as searching
from vish.search.policy import SearchPolicy
from vish.search.task import Search

CHANGES = {
    "as it is": {},
    "one start": {"n_starts": 1},
    "one fold": {"held_rows": 1},
    "more folds": {"held_rows": 1000},
    "one finalist": {"finalists": 1},
    "no lower ranks": {"ranks": ()},
    "rank 2 too": {"ranks": (1, 2, 4, 8)},
    "no principal directions": {"principal_directions": ()},
    "never one factor for all": {"rows_per_input": 0},
    "maps of twice the numbers": {"rows_per_number": 2.0},
    "no watch": {"rows_at_risk": 0},
    "one row may decide": {"most_lost": np.inf},
    "any gain": {"least_gain": 0.0},
    "half the low basis": {"low_features": 150},
    "half the early rows": {"early_rows": 2048},
    "short starts": {"start_iterations": 10},
    "long maps": {"early_iterations": 120},
    "half the time at the end": {"work": 4e9},
    "twice the time at the end": {"work": 16e9},
    "noise as learned": {"most_noise": 1.0 + 1e-9},
}


def ripples() -> Table:
    """One input, swinging fast."""
    X = np.random.default_rng(9).uniform(size=(1000, 1))
    y = np.sin(30 * X[:, 0]) * np.exp(-X[:, 0])
    return X, y + 0.1 * np.random.default_rng(1).normal(size=1000)


def borehole() -> Table:
    """Flow of water through a borehole, of eight quantities."""
    U = np.random.default_rng(1).uniform(size=(5000, 8))
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    rw, r, Tu, Hu, Tl, Hl, L, Kw = (low + (high - low) * U).T
    log = np.log(r / rw)
    y = 2 * np.pi * Tu * (Hu - Hl) / (log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl))
    return U, y + 0.02 * y.std() * np.random.default_rng(2).normal(size=len(y))


def arm() -> Table:
    """Distance of the hand of a robot of four joints."""
    rng = np.random.default_rng(3)
    U = rng.uniform(size=(6000, 8))
    angles = np.cumsum(2 * np.pi * U[:, :4], axis=1)
    y = np.hypot(*((U[:, 4:] * f(angles)).sum(axis=1) for f in (np.cos, np.sin)))
    return U, y + 0.05 * rng.normal(size=len(y))


OF_R = (
    "AER/Fatalities", "AER/PSID1976", "causaldata/nhefs", "Ecdat/Crime", "Ecdat/Schooling",
    "ggplot2/midwest", "mlmRev/bdf", "modeldata/attrition", "modeldata/Chicago",
    "mosaicData/Weather", "openintro/bdims", "wooldridge/card", "wooldridge/wagepan",
)  # fmt: skip
TABLES = {table.__name__: table for table in (ripples, borehole, arm)} | {n: R[n] for n in OF_R}


def score(name: str, seed: int, change: dict) -> tuple[float, float, float]:
    """NLPD, MSE and seconds of one fit."""
    (X, y), (X_test, y_test) = split(*TABLES[name]())
    policy = {key: value for key, value in change.items() if key != "n_starts"}
    model = VISHRegressor(random_state=seed, n_starts=change.get("n_starts", 3))
    started = time.perf_counter()
    changed = replace(SearchPolicy(), **policy)
    changed_search = partial(Search, policy=changed)
    with patch.object(searching, "Search", changed_search), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.perf_counter() - started
    nlpd = -float(model.log_density(X_test, y_test).mean())
    return nlpd, float(np.mean((model.predict(X_test) - y_test) ** 2)), seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if unknown := set(options.names) - set(TABLES):
        parser.error(f"no table {', '.join(sorted(unknown))}; have {', '.join(TABLES)}")
    names = options.names or list(TABLES)
    base = None
    print("| change | NLPD, mean difference | MSE, mean ratio | seconds, ratio of sums |")
    print("|---|---|---|---|")
    for what, change in CHANGES.items():
        scores = [[score(name, s, change) for s in range(options.seeds)] for name in names]
        nlpd, mse, seconds = np.moveaxis(np.array(scores), -1, 0)  # [tables, seeds] each
        if base is None:
            base = nlpd, mse, seconds
        print(
            f"| {what} | {np.mean(nlpd - base[0]):+.4f} | {np.mean(mse / base[1]):.4f} "
            f"| {seconds.sum() / base[2].sum():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
