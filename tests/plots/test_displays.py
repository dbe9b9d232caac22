"""Pictures: the numbers they keep are right, and the drawing holds what it should."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from vish import VISHRegressor, metrics, plots
from vish.kernels import Matern
from vish.likelihoods import SinhArcsinh, Warped
from vish.sphere import HarmonicBasis


def texts_overlap(figure, texts):
    """Whether two of the texts share pixels, or one leaves the figure."""
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    page = figure.bbox.padded(1)
    corners = [(box.x0, box.y0) for box in boxes] + [(box.x1, box.y1) for box in boxes]
    cut = not all(page.contains(*corner) for corner in corners)
    return cut or any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def labels_in_view(axis):
    """Tick labels that are drawn; others lie beyond the ends."""
    low, high = sorted(axis.get_view_interval())
    return [
        label
        for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        if low <= tick <= high
    ]


def all_displays(model, table):
    X, y = table
    names = ["an input with a very long name indeed", "x$1$", "<b>x2</b>"]
    classifier = LogisticRegression().fit(X, y > 0)
    three = LogisticRegression().fit(X, np.digitize(y, [-0.5, 0.5]))
    yield plots.FitDisplay.from_estimator(model, X, y)
    yield plots.FitDisplay.from_estimator(model, X, y, feature=1, at="rows")
    yield plots.FitDisplay.from_estimator(model, X, feature=2, at=[0.0, 1.0, 0.0], level=0.5)
    yield plots.PredictedActualDisplay.from_estimator(model, X, y)
    yield plots.PredictedActualDisplay.from_predictions(np.tile(y, 10), np.tile(y, 10) + 0.1)
    yield plots.CalibrationDisplay.from_estimator(model, X, y)
    yield plots.CalibrationDisplay.from_estimator(model, X, y, kind="pit")
    yield plots.RelevanceDisplay.from_estimator(model, names=names)
    yield plots.SpectrumDisplay.from_estimator(model)
    yield plots.EvidenceTraceDisplay.from_estimator(model)
    yield plots.DecisionMapDisplay.from_estimator(classifier, X, y > 0, n_grid=20)
    yield plots.DecisionMapDisplay.from_estimator(three, X, features=(1, 2), n_grid=20)
    yield plots.ReliabilityDisplay.from_estimator(classifier, X, y > 0)
    yield plots.ReliabilityDisplay.from_estimator(three, X, np.digitize(y, [-0.5, 0.5]))
    yield plots.CoverageDisplay.from_estimator(model, X, y)
    yield plots.EffectDisplay.from_estimator(model, X, feature=1)
    yield plots.PairEffectDisplay.from_estimator(model, X, n_grid=5, target_name="x$1$" * 9)
    yield plots.SurfaceDisplay.from_estimator(model, X, y, n_grid=9)
    yield plots.HarmonicsDisplay.from_degree(3)


def test_every_picture_is_whole(model, table):
    seen = set()
    for display in all_displays(model, table):
        seen.add(type(display).__name__)
        display.figure_.canvas.draw()  # only then texts have their places
        for ax in display.figure_.axes:  # panels, and keys of colours
            below = [ax.xaxis.label, ax.title, *labels_in_view(ax.xaxis)]
            assert not texts_overlap(display.figure_, below), type(display)
            assert not texts_overlap(display.figure_, [ax.yaxis.label, *labels_in_view(ax.yaxis)])
            if ax.get_legend() is not None:
                assert not texts_overlap(display.figure_, ax.get_legend().get_texts())
    assert seen == set(plots.__all__)


def test_a_picture_is_drawn_again_where_it_is_told(model, table):
    import matplotlib.pyplot as plt

    before = dict(plt.rcParams)
    _, ax = plt.subplots()
    display = plots.RelevanceDisplay.from_estimator(model)
    first = display.ax_
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert first is not ax
    assert dict(plt.rcParams) == before


def test_bands_are_the_predictions(model, table):
    X, y = table
    display = plots.FitDisplay.from_estimator(model, X, y, feature="x1", n_grid=7)
    rows = np.tile(np.median(X, axis=0), (7, 1))
    rows[:, 1] = display.grid
    mean, std = model.predict(rows, return_std=True)
    wide, narrow = display.bands
    assert np.allclose(display.centre, mean, rtol=1e-12)
    assert np.allclose(wide.upper - wide.lower, 2 * norm.ppf(0.975) * std, rtol=1e-9)
    latent_std = model.predict_latent(rows, return_std=True)[1]
    assert np.allclose(narrow.upper - mean, norm.ppf(0.975) * latent_std, rtol=1e-9)
    assert display.points is None  # the data do not lie on a slice


def test_the_data_are_drawn_above_the_bands_of_one_input(table):
    X, y = table[0][:, :1], table[1]
    display = plots.FitDisplay.from_estimator(
        VISHRegressor(degree=2, n_starts=1).fit(X, y), X, y, max_points=50
    )
    assert len(display.points[0]) == 50
    assert display.points_.get_zorder() > max(band.get_zorder() for band in display.bands_)
    assert set(display.points[1]) <= set(y)


def test_a_warped_target_has_its_median_and_half_of_the_observations(table):
    X, y = table
    model = VISHRegressor(degree=1, rank=None, n_starts=1, likelihood=Warped(SinhArcsinh()))
    display = plots.FitDisplay.from_estimator(model.fit(X, np.exp(y)), X)
    assert [band.label for band in display.bands] == [
        "95 % of observations",
        "50 % of observations",
    ]
    wide, half = display.bands
    assert np.all((wide.lower < half.lower) & (half.lower < display.centre))


def test_pooled_rows_are_the_mixture(table):
    X, y = table
    process = GaussianProcessRegressor(alpha=0.1).fit(X[:50], y[:50])
    display = plots.FitDisplay.from_estimator(process, X, y, at="rows")
    rows = np.argsort(X[:, 0], kind="stable")[:50]
    mean, std = process.predict(X[rows], return_std=True)
    assert np.isclose(norm.cdf(display.bands[0].lower[0], mean, std).mean(), 0.025, atol=0.005)
    assert np.isclose(norm.cdf(display.centre[0], mean, std).mean(), 0.5, atol=0.01)
    assert display.points[1][0] == np.median(y[rows])


def test_frames_keep_their_names(table):
    import pandas as pd

    X = pd.DataFrame(table[0], columns=["a", "b", "c"])
    y = pd.Series(table[1], name="delay")
    model = VISHRegressor(degree=1, rank=None, n_starts=1).fit(X, y)
    display = plots.FitDisplay.from_estimator(model, X, y, feature="b")
    assert (display.name, display.target_name) == ("b", "delay")
    assert plots.FitDisplay.from_estimator(model, X, y, feature=1, at="rows").name == "b"
    assert plots.RelevanceDisplay.from_estimator(model).names == ["a", "b", "c"]
    assert plots.PredictedActualDisplay.from_estimator(model, X, y).target_name == "delay"


def test_several_targets_are_drawn_one_at_a_time(table):
    X, y = table
    both = VISHRegressor(degree=1, rank=None, n_starts=1).fit(X, np.column_stack([y, -y]))
    first, second = (plots.FitDisplay.from_estimator(both, X, target=target) for target in (0, 1))
    assert np.allclose(first.centre, -second.centre)
    Y = np.column_stack([y, -y])
    display = plots.PredictedActualDisplay.from_estimator(both, X, Y, target=1)
    assert np.array_equal(display.actual, -y)
    assert plots.CalibrationDisplay.from_estimator(both, X, Y, target=1).n_rows == 400
    assert plots.SpectrumDisplay.from_estimator(both, target=1).energy.shape == (2,)


def test_calibration_counts_rows_below_quantiles(rng):
    y, levels = rng.normal(size=5000), np.array([0.025, 0.5, 0.975])
    quantiles = np.tile(norm.ppf(levels), (5000, 1))
    display = plots.CalibrationDisplay.from_quantiles(y, quantiles, levels)
    assert np.allclose(display.observed, [(y <= q).mean() for q in norm.ppf(levels)])
    assert display.coverage_ == pytest.approx(metrics.coverage(y, 0.0, 1.0), abs=1e-12)
    assert np.all(np.abs(display.observed - levels) < 0.02)


def test_relevance_of_a_map_is_the_length_of_its_columns(model):
    class Fitted:
        relevance_ = np.array([[3.0, 0.0], [4.0, 1.0]])

    assert plots.RelevanceDisplay.from_estimator(Fitted()).relevances.tolist() == [5.0, 1.0]
    display = plots.RelevanceDisplay.from_estimator(model, max_inputs=2)
    assert len(display.bars_) == 2
    assert "1 smaller" in display.ax_.get_xlabel()


def test_spectrum_is_that_of_the_kernel_and_the_fit(model):
    display = plots.SpectrumDisplay.from_estimator(model)
    counts = np.bincount(HarmonicBasis(4, 3).degrees)
    expected = model.kernel_.spectrum(4, 3, truncated=True) * counts
    assert np.allclose(display.prior, expected, rtol=1e-12)
    assert display.prior_share.sum() == pytest.approx(1)
    assert display.energy_share.sum() == pytest.approx(1)
    assert np.all((display.determined >= 0) & (display.determined <= 1))


def test_without_rows_nothing_is_determined(model):
    display = plots.SpectrumDisplay.from_estimator(model.empty_like())
    assert np.allclose(display.determined, 0, atol=1e-9)
    assert not display.energy.any()


def test_a_variational_tail_has_its_bar(table):
    model = VISHRegressor(Matern(1.5), degree=2, rank=None, tail="variational", n_starts=1)
    display = plots.SpectrumDisplay.from_estimator(model.fit(*table))
    assert display.prior_share.sum() + display.tail_share == pytest.approx(1)
    assert len(display.prior_bars_) == 4
    assert display.ax_.get_xticklabels()[-1].get_text() == "> 2"


def test_reliability_agrees_with_the_metric(table):
    X, y = table
    classes = np.digitize(y, [-0.5, 0.5])
    three = LogisticRegression().fit(X, classes)
    display = plots.ReliabilityDisplay.from_estimator(three, X, classes)
    expected = metrics.expected_calibration_error(classes, three.predict_proba(X))
    assert display.error_ == pytest.approx(expected, rel=1e-12)
    assert display.counts.sum() == 400


def test_decision_map_asks_the_classifier(table):
    X, y = table
    labels = np.where(y > 0, "late", "early")
    classifier = LogisticRegression().fit(X, labels)
    display = plots.DecisionMapDisplay.from_estimator(classifier, X, labels, n_grid=5)
    row = [[display.x[3], display.y[1], np.median(X[:, 2])]]
    assert np.allclose(display.probabilities[1, 3], classifier.predict_proba(row)[0])
    assert display.classes.tolist() == ["early", "late"]
    assert [len(drawn.get_xdata()) for drawn in display.points_] == [
        (labels == "early").sum(), (labels == "late").sum(),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m, X, y: plots.FitDisplay.from_estimator(m, X, feature="z"),
            ValueError,
            "no input",
        ),
        (lambda m, X, y: plots.FitDisplay.from_estimator(m, X, feature=3), ValueError, "0 to 2"),
        (
            lambda m, X, y: plots.FitDisplay.from_estimator(m, X, at=[0.0]),
            ValueError,
            "at has shape",
        ),
        (lambda m, X, y: plots.FitDisplay.from_estimator(m, X, at="mean"), ValueError, '"median"'),
        (
            lambda m, X, y: plots.FitDisplay.from_estimator(m, X, level=95),
            ValueError,
            "level is 95",
        ),
        (
            lambda m, X, y: plots.FitDisplay.from_estimator(LinearRegression().fit(X, y), X),
            TypeError,
            "tells no uncertainty",
        ),
        (
            lambda m, X, y: plots.PredictedActualDisplay.from_predictions(y, y[1:]),
            ValueError,
            "one of each per row",
        ),
        (
            lambda m, X, y: plots.CalibrationDisplay.from_quantiles(y, X, [0.1, 0.9]),
            ValueError,
            "a column per level",
        ),
        (
            lambda m, X, y: plots.CalibrationDisplay.from_quantiles(y, X, [0.1, 0.9, 0.5]),
            ValueError,
            "must increase",
        ),
        (
            lambda m, X, y: plots.CalibrationDisplay.from_estimator(m, X, y, kind="qq"),
            ValueError,
            "curve or pit",
        ),
        (
            lambda m, X, y: plots.RelevanceDisplay.from_estimator(m, names=["a"]),
            ValueError,
            "1 names for 3 inputs",
        ),
        (
            lambda m, X, y: plots.DecisionMapDisplay.from_estimator(m, X, features=(1, 1)),
            ValueError,
            "two different inputs",
        ),
        (
            lambda m, X, y: plots.DecisionMapDisplay.from_estimator(m, X[:, :1]),
            ValueError,
            "at least two inputs",
        ),
        (
            lambda m, X, y: plots.CoverageDisplay.from_estimator(m, X, y, levels=[50, 95]),
            ValueError,
            "level is 50.0",
        ),
        (
            lambda m, X, y: plots.CoverageDisplay.from_bands(y, X, X, [0.5]),
            ValueError,
            "lower has shape",
        ),
        (
            lambda m, X, y: plots.SurfaceDisplay.from_estimator(m, X, std="noise"),
            ValueError,
            "observation or function",
        ),
        (
            lambda m, X, y: plots.SurfaceDisplay.from_estimator(m, X, ax=[]),
            ValueError,
            "2 panels",
        ),
        (
            lambda m, X, y: plots.EffectDisplay.from_estimator(LinearRegression().fit(X, y), X),
            TypeError,
            "PartialDependenceDisplay",
        ),
        (
            lambda m, X, y: plots.EvidenceTraceDisplay.from_estimator(object()),
            ValueError,
            "no trace",
        ),
    ],
)
def test_bad_requests_are_named(model, table, call, error, message):
    with pytest.raises(error, match=message):
        call(model, *table)
