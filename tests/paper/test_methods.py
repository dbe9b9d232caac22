"""Every method on a few rows: better than nothing, and honest about what it did."""

import numpy as np
import pytest

from vish.paper.methods import METHODS
from vish.paper.methods.base import Training, classes, gaussian

# of PyTorch's own, about its own parts
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

REGRESSION = [name for name, m in METHODS.items() if "regression" in m.tasks and name != "vff"]
CLASSES = [name for name, m in METHODS.items() if "classes" in m.tasks]


@pytest.fixture
def quick(monkeypatch):
    """Few steps of what learns by steps."""
    from vish.paper.methods import inducing, networks, spherical

    monkeypatch.setattr(inducing, "LEAST_STEPS", 300)
    monkeypatch.setattr(networks, "EPOCHS", 60)
    monkeypatch.setattr(spherical, "MAX_FEATURES", 60)


def fit(name, training):
    method = METHODS[name]
    if method.missing:
        pytest.skip(f"{', '.join(method.missing)} not installed: make peers")
    return method.load()(training)


@pytest.mark.parametrize("name", REGRESSION)
def test_regression(quick, rng, name):
    X = rng.normal(size=(400, 3))
    y = X @ [0.7, -0.5, 0.2] + 0.3 * X[:, 0] ** 2 + 0.1 * rng.standard_normal(400)
    y = (y - y.mean()) / y.std()
    training = Training(X[:300], y[:300], degree=4, n_inducing=30, budget=60)
    fitted = fit(name, training)
    prediction = fitted.predict(X[300:], y[300:])
    assert prediction.mean.shape == prediction.log_density.shape == (100,)
    assert np.mean((prediction.mean - y[300:]) ** 2) < 0.35
    assert -prediction.log_density.mean() < 1.0  # a constant has 1.42
    again = fit(name, training).predict(X[300:], y[300:])
    assert again.mean == pytest.approx(prediction.mean, abs=1e-4)  # the seed is all there is


@pytest.mark.parametrize("name", CLASSES)
def test_classes(quick, rng, name):
    X = rng.normal(size=(400, 3))
    y = (X @ [2.0, -1.0, 0.5] + 0.5 * rng.standard_normal(400) > 0).astype(float)
    fitted = fit(name, Training(X[:300], y[:300], 0, "classes", 2, 30, 60))
    prediction = fitted.predict(X[300:], y[300:])
    assert np.all((prediction.mean >= 0) & (prediction.mean <= 1))
    assert np.mean((prediction.mean > 0.5) == (y[300:] > 0.5)) > 0.8
    assert -prediction.log_density.mean() < np.log(2)


def test_the_time_budget_ends_svgp_and_says_so(rng):
    X = rng.normal(size=(200, 2))
    fitted = fit("svgp", Training(X, X[:, 0], n_inducing=20, budget=0.0))
    assert fitted.facts["steps"] == 1
    assert fitted.facts["cut short"] == "1 of 4,000 steps"
    assert fitted.facts["seconds, extrapolated"] > 0


def test_the_noise_of_networks_that_differ_more_than_they_err(rng):
    """Their spread is noise already; what is added must not be a spike."""
    from scipy import stats

    from vish.paper.methods.networks import _mixture, _noise

    outputs, truth = rng.normal(0, 0.3, (50, 200)), rng.normal(0, 0.05, 200)
    noise = _noise(outputs, truth)
    densities = [_mixture(outputs, s, truth).log_density.mean() for s in (noise / 2, noise * 2)]
    assert _mixture(outputs, noise, truth).log_density.mean() > max(densities)
    one = rng.normal(0, 0.3, (1, 200))  # without dropout: the root mean square
    assert _noise(one, truth) == pytest.approx(np.sqrt(np.mean((truth - one) ** 2)), rel=1e-4)
    expected = np.log(stats.norm.pdf(truth, outputs, noise).mean(axis=0))
    assert _mixture(outputs, noise, truth).log_density == pytest.approx(expected)


def test_a_network_out_of_time_says_so(rng):
    X = rng.normal(size=(200, 2))
    fitted = fit("nn", Training(X, X[:, 0], budget=0.0))
    assert fitted.facts["cut short"] == "after 1 epochs"


def test_the_banana_bound_rises_with_the_features(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] ** 2 > X[:, 1]).astype(float)
    for name, degrees in (("vish-banana", (2, 5, 8)), ("vff-banana", (2, 3, 5))):
        bounds = [
            fit(name, Training(X, y, degree=degree)).facts["log evidence"] for degree in degrees
        ]
        assert bounds == sorted(bounds)


def test_log_densities():
    y = np.array([0.0, 1.0])
    assert gaussian(np.zeros(2), 2.0, y).log_density == pytest.approx(
        -0.5 * np.log(2 * np.pi) - np.log(2) - np.array([0, 1 / 8])
    )
    assert classes(np.array([0.2, 0.9]), y).log_density == pytest.approx(np.log([0.8, 0.9]))
    assert np.isfinite(classes(np.array([0.0, 0.0]), y).log_density).all()
