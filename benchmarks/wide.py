"""Accuracy on tables of many inputs: ``python -m benchmarks.wide [names]``.

Tables that come with scikit-learn, or that anybody can draw again: twonorm and ringnorm
(Breiman, 1996) and Friedman's function among inputs that do not matter. Four fifths of the rows
to learn from, inputs and target standardised on them; MSE / NLPD of VISH with its degree chosen,
of linear regression, and of GPyTorch's SVGP (500 inducing points, 1,000 steps) where installed.
The last column is VISH less SVGP, with the standard error over the test rows.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1
from sklearn.linear_model import LinearRegression

from vish import VISHRegressor
from vish.paper.methods import METHODS
from vish.paper.methods.base import Training, gaussian

STEPS = 1000  # of SVGP, each on 1,000 rows
Table = tuple[np.ndarray, np.ndarray]


def cancer() -> Table:
    data = load_breast_cancer()
    return data.data, data.target


def concavity() -> Table:
    """The worst concavity of a cell nucleus, from its other measures."""
    X, column = load_breast_cancer().data, 26
    return np.delete(X, column, axis=1), X[:, column]


def digits() -> Table:
    data = load_digits()
    return data.data, data.target


def twonorm() -> Table:
    """Two Gaussians in 20 dimensions whose means differ."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 7400)
    return rng.standard_normal((7400, 20)) + np.where(y, 2, -2)[:, None] / np.sqrt(20), y


def ringnorm() -> Table:
    """Two Gaussians in 20 dimensions, the one of four times the other's variance."""
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 7400), rng.standard_normal((7400, 20))
    return np.where(y[:, None], X + 1 / np.sqrt(20), 2 * X), y


def friedman() -> Table:
    """Five inputs that matter, of thirty."""
    return make_friedman1(3000, 30, noise=1.0, random_state=0)


TABLES: dict[str, Callable[[], Table]] = {
    table.__name__: table for table in (cancer, concavity, digits, twonorm, ringnorm, friedman)
}


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    options = parser.parse_args()
    print("| data | rows | inputs | VISH | linear regression | SVGP | VISH less SVGP | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.names or TABLES:
        train, test = split(*TABLES[name]())
        found, seconds = [], []
        for method in (vish, linear, svgp):
            started = time.perf_counter()
            found.append(method(train, test))
            seconds.append(time.perf_counter() - started)
        ours, _, peer = found
        cells = [name, f"{len(train[1]):,}", str(train[0].shape[1])]
        cells += ["missing" if losses is None else str(losses) for losses in found]
        cells += ["" if peer is None else ours.less(peer), f"{seconds[0]:.0f}, {seconds[2]:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
