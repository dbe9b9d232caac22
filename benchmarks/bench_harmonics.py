"""All harmonics up to degree 4 in 9 dimensions at 100,000 points."""

from collections.abc import Iterator

import numpy as np

from benchmarks import Row, best_times

DIMENSION, DEGREE, POINTS = 9, 4, 100_000


def peer_function(directions):
    """The same features by PyPI's spherical-harmonics-basis; None when not installed."""
    try:
        from spherical_harmonics import SphericalHarmonics
    except ImportError:
        return None
    harmonics = SphericalHarmonics(DIMENSION, DEGREE + 1)  # it counts the degrees from 0
    return lambda: harmonics(directions)


def run() -> Iterator[Row]:
    from vish.sphere import HarmonicBasis

    directions = np.random.default_rng(0).standard_normal((POINTS, DIMENSION))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    basis = HarmonicBasis(DIMENSION, DEGREE)
    shape = POINTS, len(basis.degrees)
    what = f"harmonics, d={DIMENSION}, degree {DEGREE}, {POINTS:,} points"

    ours, full = best_times(lambda: basis.evaluate(directions), lambda: np.full(shape, 1.0))
    peer = peer_function(directions)
    if peer:
        assert peer().shape == shape, "the peer does other work"
    peer_time = best_times(peer, repeat=2)[0] if peer else None
    yield Row(what, ours, "spherical-harmonics-basis", peer_time, times_faster=20)
    yield Row(what, ours, "np.full of the output", full, times_slower=3)
