"""What tests of row sources share: a small estimator, and when two models are the same."""

import time

import numpy as np

from vish import VISHRegressor
from vish.inference.passes import GROUP_ROWS

NAMES = ["a", "b", "c"]
ROWS = 3 * GROUP_ROWS + 12_345


def estimator(**changes):
    quick = {"degree": 3, "rank": None, "n_starts": 1, "max_iter": 40, "subset_size": 1000}
    return VISHRegressor(**quick | changes)


def sums(model):
    """All that the model keeps of its rows, as one vector."""
    s = model._model.statistics
    totals = [s.log_radii, s.weight, s.n_rows, s.log_slopes]
    return np.concatenate([s.moments, s.cross.ravel(), s.squares, totals])


def assert_same_bits(model, expected):
    difference = model._model.geometry.mismatch(expected._model.geometry)
    assert difference is None
    np.testing.assert_array_equal(sums(model), sums(expected))
    assert model.log_evidence_ == expected.log_evidence_


def assert_close(model, expected, X):
    """Sums to 1e-12 of their scale, predictions to 1e-6 of a standard deviation."""
    for name in ("moments", "cross", "squares", "log_radii", "weight", "n_rows"):
        found, wanted = (getattr(m._model.statistics, name) for m in (model, expected))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    (mean, std), (mean0, std0) = (m.predict(X, return_std=True) for m in (model, expected))
    assert np.abs(mean - mean0).max() < 1e-6 * std0.min()
    assert np.abs(std / std0 - 1).max() < 1e-6


def block(folder, name, start, end, pause=0.0):
    """Rows of a file, read where the task runs; a pause makes time for a kill."""
    time.sleep(pause)
    return np.load(folder / f"{name}.npy", mmap_mode="r")[start:end]
