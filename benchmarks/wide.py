"""Accuracy on tables of many inputs: ``python -m benchmarks.wide [names]``.

Tables that come with scikit-learn, or that anybody can draw again: twonorm and ringnorm
(Breiman, 1996) and Friedman's function among inputs that do not matter. Four fifths of the rows
to learn from, inputs and target standardised on them; MSE / NLPD of VISH with its degree chosen,
of linear regression, and of GPyTorch's SVGP (500 inducing points, 1,000 steps) where installed.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1
from sklearn.linear_model import LinearRegression

from vish import VISHRegressor, metrics
from vish.paper.methods import METHODS
from vish.paper.methods.base import Training

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


def vish(train: Table, test: Table) -> tuple[float, float]:
    model = VISHRegressor(max_features=2000).fit(*train)
    mse = np.mean((model.predict(test[0]) - test[1]) ** 2)
    return float(mse), -float(model.log_density(*test).mean())


def linear(train: Table, test: Table) -> tuple[float, float]:
    X, y = train
    model = LinearRegression().fit(X, y)
    variance = np.sum((y - model.predict(X)) ** 2) / (len(y) - X.shape[1] - 1)
    mean = model.predict(test[0])
    nlpd = metrics.nlpd(test[1], mean, np.full(len(mean), np.sqrt(variance)))
    return float(np.mean((mean - test[1]) ** 2)), float(nlpd)


def svgp(train: Table, test: Table) -> tuple[float, float] | None:
    if METHODS["svgp"].missing:
        return None
    found = METHODS["svgp"].load()(Training(*train, budget=float("inf"), steps=STEPS))
    found = found.predict(*test)
    return float(np.mean((found.mean - test[1]) ** 2)), -float(found.log_density.mean())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    options = parser.parse_args()
    print("| data | rows | inputs | VISH | linear regression | SVGP | seconds: VISH, SVGP |")
    print("|---|---|---|---|---|---|---|")
    for name in options.names or TABLES:
        train, test = split(*TABLES[name]())
        cells, seconds = [], []
        for method in (vish, linear, svgp):
            started = time.perf_counter()
            scores = method(train, test)
            seconds.append(time.perf_counter() - started)
            cells.append("missing" if scores is None else "{:.4f} / {:.3f}".format(*scores))
        n, D = train[0].shape
        times = f"{seconds[0]:.0f}, {seconds[2]:.0f}"
        print(f"| {name} | {n:,} | {D} | {' | '.join(cells)} | {times} |", flush=True)


if __name__ == "__main__":
    main()
