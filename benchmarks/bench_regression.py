"""`VISHRegressor` as a whole: learning 20,000 rows, real flights beside peers, and memory.

Flights: split 0 of all rows of ``VISH_DATA/airline``, in the protocol of the paper (two thirds
to train, targets standardised with the training moments), degree 3. MSE and NLPD stand in each
row's text, since accuracy and time belong together. The tails of delays are heavy: figures of
different splits cannot be compared.

Of GPyTorch's SVGP (500 inducing points) one epoch is run, for its accuracy; ten epochs take many
minutes, so the time of the one is multiplied.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import Row
from vish.paper import airline
from vish.paper.methods import METHODS
from vish.paper.methods.base import Training
from vish.paper.methods.inducing import BATCH
from vish.paper.splits import Split, data_folder

DEGREE = 3
SVGP_EPOCHS = 10  # one is run, and its time multiplied

PEAK_MEMORY = """
import sys
import numpy as np
from benchmarks.memory import peak, resident
from vish import VISHRegressor

n = int(sys.argv[1])
X = np.random.default_rng(0).standard_normal((n, 8))
y = np.empty(n)
for i in range(0, n, 10_000):  # no large temporaries, whose memory the fit could use again
    part = X[i : i + 10_000]
    y[i : i + 10_000] = np.sin(part[:, 0]) + part[:, 1] * part[:, 2]
before = resident()
VISHRegressor(degree=3, n_starts=1).fit(X, y)
print(peak() - before)
"""


class Score(NamedTuple):
    seconds: float
    mse: float
    nlpd: float | None = None

    def __str__(self) -> str:
        nlpd = "" if self.nlpd is None else f", NLPD {self.nlpd:.3f}"
        return f"MSE {self.mse:.3f}{nlpd}"


def flights() -> Split | str:
    """The split, or why there is none."""
    try:
        source, path = airline.locate(data_folder())
    except FileNotFoundError as error:
        return str(error)
    X, y = airline.read(path)
    return airline.split(X, y, len(y), 0, source)


def timed(fit, data: Split, with_density: bool = False) -> Score:
    """Fit and predict; the log density is not timed."""
    start = time.perf_counter()
    model = fit()
    mean = model.predict(data.X_test)
    seconds = time.perf_counter() - start
    nlpd = -float(model.log_density(data.X_test, data.y_test).mean()) if with_density else None
    return Score(seconds, float(np.mean((mean - data.y_test) ** 2)), nlpd)


def linear_regression(data: Split) -> Score:
    from sklearn.linear_model import LinearRegression

    start = time.perf_counter()
    model = LinearRegression().fit(data.X, data.y)
    residuals = data.y_test - model.predict(data.X_test)
    seconds = time.perf_counter() - start
    variance = np.mean((data.y - model.predict(data.X)) ** 2)
    mse = float(np.mean(residuals**2))
    return Score(seconds, mse, float((np.log(2 * np.pi * variance) + mse / variance) / 2))


def lightgbm(data: Split) -> Score | None:
    """Its default settings; None when not installed."""
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        return None
    return timed(lambda: LGBMRegressor(verbose=-1).fit(data.X, data.y), data)


def svgp(data: Split) -> Score | None:
    """One epoch of GPyTorch's SVGP as in `vish paper`; None when not installed."""
    method = METHODS["svgp"]
    if method.missing:
        return None
    steps = -(-len(data.y) // BATCH)
    start = time.perf_counter()
    fitted = method.load()(Training(data.X, data.y, budget=float("inf"), steps=steps))
    seconds = time.perf_counter() - start
    found = fitted.predict(data.X_test, data.y_test)
    mse = float(np.mean((data.y_test - found.mean) ** 2))
    return Score(seconds, mse, -float(found.log_density.mean()))


def memory(n: int) -> float | None:
    """MB that a fit of n rows takes at its peak beyond its input; None where Linux is missing."""
    if not Path("/proc/self/status").exists():
        return None
    command = [sys.executable, "-c", PEAK_MEMORY, str(n)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def learning() -> Row:
    """Relevances and all else from 20,000 rows; five seconds are the peer."""
    from vish import VISHRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(20_000)
    VISHRegressor(degree=DEGREE, n_starts=1, max_iter=200).fit(X[:500], y[:500])  # compiles
    start = time.perf_counter()
    VISHRegressor(degree=DEGREE, rank=None).fit(X, y)
    seconds = time.perf_counter() - start
    what = "fit of 20,000 x 8, degree 3, relevances learned"
    return Row(what, seconds, "goal", 5.0, times_faster=1)


def run() -> Iterator[Row]:
    from vish import VISHRegressor

    yield learning()

    data = flights()
    if isinstance(data, str):
        yield Row(f"flights: {data}, not measured", 0.0, "SVGP, 10 epochs", None)
    else:
        VISHRegressor(degree=DEGREE, n_starts=1).fit(data.X[:500], data.y[:500])  # compiles
        ours = timed(lambda: VISHRegressor(degree=DEGREE).fit(data.X, data.y), data, True)
        what = f"flights, {len(data.y):,} rows, fit and predict, {ours}"
        peer = svgp(data)
        name, seconds = "SVGP, 10 epochs", None
        if peer is not None:
            name = f"SVGP, 10 epochs, scaled from one, which has {peer}"
            seconds = SVGP_EPOCHS * peer.seconds
        yield Row(what, ours.seconds, name, seconds, times_faster=100)
        linear = linear_regression(data)
        yield Row(what, ours.seconds, f"linear regression, {linear}", linear.seconds)
        trees = lightgbm(data)
        name = "LightGBM" if trees is None else f"LightGBM, {trees}"
        yield Row(what, ours.seconds, name, None if trees is None else trees.seconds)

    for n in (100_000, 1_000_000):
        start = time.perf_counter()
        peak = memory(n)
        seconds = time.perf_counter() - start
        what = f"fit of {n:,} x 8: memory not measured, no /proc"
        if peak is not None:
            met = "met" if peak < 500 else "missed"
            what = f"fit of {n:,} x 8 takes {peak:.0f} MB beyond its input (goal 500: {met})"
        yield Row(f"{what}, time of the process", seconds, "", None)
