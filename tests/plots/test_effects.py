"""Effects and maps: averages are averages, and their uncertainty that of the posterior."""

import numpy as np
import pytest
from scipy.special import ndtri

from vish import VISHClassifier, VISHRegressor, metrics, plots
from vish.likelihoods import Heteroscedastic, Poisson, SinhArcsinh, StudentT, Warped
from vish.plots.averages import AverageEffect
from vish.sphere import HarmonicBasis

FAST = {"degree": 2, "rank": None, "n_starts": 1}


def test_an_effect_is_the_average_prediction_and_its_band_that_of_the_functions(model, table):
    X, _ = table
    display = plots.EffectDisplay.from_estimator(model, X, feature=1, n_grid=3, n_rows=400)
    rows = X.copy()
    rows[:, 1] = display.grid[2]
    assert display.effect[2] == pytest.approx(model.predict(rows).mean(), rel=1e-10)
    drawn = [f(rows).mean() for f in model.sample_functions(2000, random_state=0)]
    std = (display.upper[2] - display.lower[2]) / (2 * ndtri(0.975))
    assert np.std(drawn) == pytest.approx(std, rel=4 / np.sqrt(2 * 2000))


def test_drawn_and_exact_effects_agree(model, table):
    average = AverageEffect(model, table[0], None, 100)
    grid = np.linspace(-1, 1, 4)[:, None]
    exact, std = average._exact([0], grid)
    average._response = lambda f: f[:, 0]
    drawn = average._drawn([0], grid)
    assert np.all(np.abs(drawn.mean(axis=0) - exact) < 5 * std / np.sqrt(len(drawn)))


def test_a_pair_has_the_effect_of_both(model, table):
    X, _ = table
    display = plots.PairEffectDisplay.from_estimator(model, X, features=(2, 0), n_grid=3)
    rows = X[np.sort(np.random.default_rng(0).choice(400, 50, replace=False))].copy()
    rows[:, 2], rows[:, 0] = display.x[2], display.y[0]
    assert display.effect[0, 2] == pytest.approx(model.predict(rows).mean(), rel=1e-10)
    assert display.names == ("x2", "x0")


@pytest.mark.parametrize(
    "likelihood", [Poisson(), StudentT(), Heteroscedastic(), Warped(SinhArcsinh())], ids=repr
)
def test_effects_are_in_the_units_of_the_target(table, likelihood):
    X, y = table
    y = np.random.default_rng(1).poisson(np.exp(y)).astype(float)
    y = y + (0.5 if isinstance(likelihood, Warped) else 0)
    model = VISHRegressor(likelihood=likelihood, **FAST).fit(X, y)
    display = plots.EffectDisplay.from_estimator(model, X, n_grid=9, n_rows=400)
    expected = []
    for value in display.grid:
        rows = X.copy()
        rows[:, 0] = value
        middle = model.predict_quantiles(rows, [0.5])[:, 0]
        expected.append((middle if isinstance(likelihood, Warped) else model.predict(rows)).mean())
    width = display.upper - display.lower
    assert np.all(np.abs(display.effect - expected) < width)
    assert np.all(width > 0)


def test_effects_of_a_class_are_probabilities(table):
    X, y = table
    labels = np.digitize(y, [-0.5, 0.5])
    model = VISHClassifier(**FAST).fit(X, labels)
    last, first = (
        plots.EffectDisplay.from_estimator(model, X, n_grid=5, target=k) for k in (None, 0)
    )
    assert (last.target_name, first.target_name) == ("probability of 2", "probability of 0")
    assert last.effect[-1] > last.effect[0]  # the first input raises y
    assert first.effect[-1] < first.effect[0]
    with pytest.raises(ValueError, match="0 to 2"):
        plots.EffectDisplay.from_estimator(model, X, target=3)


def test_a_surface_is_the_prediction(table):
    X, y = table[0][:, :2], table[1]
    model = VISHRegressor(**FAST).fit(X, y)
    for kind, ask in (("observation", model.predict), ("function", model.predict_latent)):
        display = plots.SurfaceDisplay.from_estimator(model, X, y, std=kind, n_grid=4)
        mean, std = ask([[display.x[3], display.y[1]]], return_std=True)
        assert display.mean[1, 3] == pytest.approx(mean[0], rel=1e-12)
        assert display.std[1, 3] == pytest.approx(std[0], rel=1e-12)
    assert len(display.ax_) == 2
    assert len(display.points[0]) == 300


def test_two_panels_are_drawn_where_they_are_told(model, table):
    import matplotlib.pyplot as plt

    display = plots.PairEffectDisplay.from_estimator(model, table[0], n_grid=3)
    _, axes = plt.subplots(1, 2)
    assert display.plot(list(axes)) is display
    assert list(display.ax_) == list(axes)
    assert display.figure_ is axes[0].figure


def test_a_slice_of_many_inputs_says_what_is_fixed(model, table):
    display = plots.SurfaceDisplay.from_estimator(model, *table, features=(0, 2), n_grid=4)
    assert display.points is None  # the data do not lie on the slice
    assert "medians" in display.ax_[0].get_title(loc="left")


def test_coverage_agrees_with_the_metric(model, table):
    X, y = table
    display = plots.CoverageDisplay.from_estimator(model, X, y)
    mean, std = model.predict(X, return_std=True)
    for level, actual in zip(display.levels, display.actual, strict=True):
        assert actual == pytest.approx(metrics.coverage(y, mean, std, level=level), abs=1e-12)


def test_globes_show_the_harmonics():
    display = plots.HarmonicsDisplay.from_degree(2, elevation=90, azimuth=-90, n_pixels=5)
    # From above the middle pixel is the pole, the last coordinate.
    pole = HarmonicBasis(3, 2).evaluate([[0.0, 0.0, 1.0]])[0]
    assert np.allclose(display.values[:, 2, 2], pole, atol=1e-12)
    assert np.isnan(display.values[:, 0, 0]).all()
    side = HarmonicBasis(3, 2).evaluate([[0.8, 0.0, 0.6]])[0]
    assert np.allclose(display.values[:, 2, 4], side, atol=1e-12)
    assert len(display.globes_) == 9
