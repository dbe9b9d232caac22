"""What the tests of pictures share: a table, a model, and figures closed afterwards."""

import numpy as np
import pytest

from vish import VISHRegressor


@pytest.fixture(autouse=True)
def _close_figures():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 3))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=400)


@pytest.fixture(scope="module")
def model(table):
    return VISHRegressor(degree=3, rank=None, n_starts=1).fit(*table)
