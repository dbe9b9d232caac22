"""The one-pass engine with 8 inputs: statistics, prediction, threads, rows, the FMA bound.

Times are per million rows. The dense route is what the engine replaces: harmonic features in
blocks of 8,192 rows and a symmetric product by BLAS (NumPy's ``A.T @ A``), all threads.
"""

import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dgemv, dtrmm

from benchmarks import Row, best_times

INPUTS, ROWS, BLOCK = 8, 500_000, 8192
DENSE_ROWS = {3: 16 * BLOCK, 4: 8 * BLOCK}
GOALS = {3: 0.15, 4: 0.12}

PEAK_MEMORY = """
import numpy as np
from benchmarks.bench_engine import make_geometry
from benchmarks.memory import peak
from vish.inference.sources import ArraySource
from vish.inference.statistics import Statistics

geometry, row = make_geometry(3), np.linspace(-1.0, 1.0, 8)[None]
for n in (100_000, 100_000, 2_000_000):
    X, y = np.broadcast_to(row, (n, 8)), np.broadcast_to(row[:, :1], (n, 1))
    Statistics.of_source(geometry, ArraySource(X, y))
    print(peak())
"""


def make_geometry(degree):
    from vish.inference.statistics import Geometry
    from vish.sphere import Projection

    projection = Projection(np.zeros(INPUTS), np.ones(INPUTS), np.full(INPUTS, 0.5))
    return Geometry(projection, degree, "constant", np.zeros(1), np.ones(1))


def seconds_per_multiply_add(size=3000):
    """Of a large matrix product with all threads: the machine's bound."""
    A = np.random.default_rng(0).standard_normal((size, size))
    return best_times(lambda: A @ A, repeat=3)[0] / size**3


def feature_blocks(geometry, basis, X):
    for start in range(0, len(X), BLOCK):
        directions, radii = geometry.projection.project(X[start : start + BLOCK])
        features = basis.evaluate(directions)
        features *= radii[:, None]
        yield start, features


def dense_statistics(geometry, basis, X, y):
    gram, cross = np.zeros((len(basis), len(basis))), np.zeros((len(basis), 1))
    for start, features in feature_blocks(geometry, basis, X):
        gram += features.T @ features
        cross += features.T @ y[start : start + BLOCK]
    return gram, cross


def dense_prediction(posterior, basis, X):
    """SciPy's BLAS throughout: beside NumPy's own, each would wait for the other's threads."""
    mean, variance = np.empty(len(X)), np.empty(len(X))
    root, weights = np.asfortranarray(posterior.roots[0]), posterior.means[:, 0]
    for start, features in feature_blocks(posterior.geometry, basis, X):
        mean[start : start + BLOCK] = dgemv(1.0, features.T, weights, trans=1)
        product = dtrmm(1.0, root, features.T, lower=1, overwrite_b=1)  # [M, block]
        variance[start : start + BLOCK] = np.einsum("mn,mn->n", product, product)
    return mean, variance


def alone(*functions):
    """Best times, not in turns: threads of BLAS spin on for a while after a product."""
    times = []
    for function in functions:
        time.sleep(0.2)
        times += best_times(function, repeat=3)
    return times


def memory_growth() -> float:
    """Peak memory that 1,900,000 more rows cost beyond the input, in MB; the input is free."""
    command = [sys.executable, "-c", PEAK_MEMORY]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, before, after = map(float, printed.split())
    return after - before


def run() -> Iterator[Row]:
    from vish.inference.evidence import evidence
    from vish.inference.posterior import Posterior
    from vish.inference.sources import ArraySource
    from vish.inference.statistics import Statistics
    from vish.kernels import Matern
    from vish.sphere import HarmonicBasis

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2 * ROWS, INPUTS)), rng.standard_normal((2 * ROWS, 1))
    multiply_add = seconds_per_multiply_add()
    speed = f"matrix product, {1e-9 / multiply_add:.0f} G multiply-adds/s"

    def statistics(geometry, n=ROWS, n_jobs=None):
        return Statistics.of_source(geometry, ArraySource(X[:n], y[:n]), n_jobs)

    for degree, goal in GOALS.items():
        geometry, basis = make_geometry(degree), HarmonicBasis(INPUTS + 1, degree)
        n = DENSE_ROWS[degree]
        equations = statistics(geometry, n).normal_equations
        gram, _ = dense_statistics(geometry, basis, X[:n], y[:n])
        assert np.abs(equations.gram - gram).max() < 1e-11 * gram.max(), "not the same work"

        _, block = next(feature_blocks(geometry, basis, X))
        ours, dense, features, product = alone(
            lambda g=geometry: statistics(g),
            lambda g=geometry, b=basis, n=n: dense_statistics(g, b, X[:n], y[:n]),
            lambda g=geometry, b=basis, n=n: [len(f) for _, f in feature_blocks(g, b, X[:n])],
            lambda f=block: (f.T @ f, f.T @ y[:BLOCK]),
        )
        # Run together, the peer's parts hinder each other: threads of BLAS spin on while the
        # next features are evaluated. Apart they are the harder peer.
        apart = (features / n + product / BLOCK) * 1e6
        ours, dense = ours / ROWS * 1e6, dense / n * 1e6
        what = f"d={INPUTS + 1}, degree {degree}, per million rows"
        yield Row(f"statistics, {what}", ours, "features and SYRK", dense, times_slower=goal)
        yield Row(f"statistics, {what}", ours, "the two timed apart", apart, times_slower=goal)
        bound = geometry.engine.size * multiply_add * 1e6
        yield Row(f"bound of statistics by {speed}, {what}", bound, "statistics", ours)

        log_spectrum, _ = Matern(1.5, 0.5).log_spectrum_and_gradient(
            INPUTS + 1, degree, truncated=True
        )
        posterior = Posterior.of(geometry, evidence(equations, log_spectrum, np.array([0.5])))
        assert posterior.polynomial_variance
        expected = dense_prediction(posterior, basis, X[:BLOCK])
        found = posterior.moments(X[:BLOCK])
        assert np.allclose(found.mean[:, 0], expected[0], atol=1e-8), "not the same mean"
        assert np.allclose(found.variance[:, 0], expected[1], rtol=1e-6), "not the same variance"
        ours, dense = alone(
            lambda p=posterior: p.moments(X[:ROWS]),
            lambda p=posterior, b=basis, n=n: dense_prediction(p, b, X[:n]),
        )
        ours, dense = ours / ROWS * 1e6, dense / n * 1e6
        what = f"mean and variance, {what}"
        yield Row(what, ours, "features and triangular product", dense, times_slower=0.2)
        bound = geometry.engine.size * multiply_add * 1e6
        yield Row(f"bound of {what}", bound, "mean and variance", ours)

    for degree in GOALS:
        geometry = make_geometry(degree)
        two, one = best_times(
            lambda g=geometry: statistics(g, n_jobs=2), lambda g=geometry: statistics(g, n_jobs=1)
        )
        what = f"statistics, degree {degree}, {ROWS:,} rows, 2 threads"
        yield Row(what, two, "1 thread", one, times_faster=1.8)

    geometry = make_geometry(3)
    twice, once = best_times(
        lambda: statistics(geometry, 2 * ROWS), lambda: statistics(geometry), repeat=3
    )
    what = f"statistics, {2 * ROWS:,} rows; 1,900,000 more rows cost {memory_growth():.1f} MB"
    yield Row(what, twice, f"{ROWS:,} rows", once, times_slower=2.1)
