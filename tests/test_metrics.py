"""Scores: closed forms against integration, weights as repeated rows, bad input."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from vish import metrics


@pytest.fixture
def predictions(rng):
    """y, mean, std of 40 rows."""
    mean, std = rng.normal(size=40), rng.uniform(0.1, 3.0, 40)
    return mean + std * rng.standard_t(3, 40), mean, std


def test_nlpd_is_the_mean_log_density(predictions):
    y, mean, std = predictions
    assert np.isclose(metrics.nlpd(y, mean, std), -norm.logpdf(y, mean, std).mean(), rtol=1e-13)


def test_nlpd_of_a_constant_prediction_has_its_known_floor():
    # MSE 0.834 with a constant variance cannot go below 1.328.
    y = np.sqrt(0.834) * np.array([-1.0, 1.0])
    assert metrics.nlpd(y, 0.0, np.sqrt(0.834)) == pytest.approx(1.328, abs=5e-4)


@pytest.mark.parametrize(("y", "mean", "std"), [(0.0, 0.0, 1.0), (-3.0, 1.0, 0.5), (2.0, 1.0, 4.0)])
def test_crps_is_its_integral(y, mean, std):
    below = quad(lambda x: norm.cdf(x, mean, std) ** 2, mean - 12 * std, y, epsabs=1e-12)[0]
    above = quad(lambda x: norm.sf(x, mean, std) ** 2, y, mean + 12 * std, epsabs=1e-12)[0]
    assert metrics.crps([y], mean, std) == pytest.approx(below + above, rel=1e-8)


def test_three_routes_to_the_crps(predictions, rng):
    y, mean, std = predictions
    exact = metrics.crps(y, mean, std)
    levels = (np.arange(20_000) + 0.5) / 20_000
    quantiles = mean[:, None] + std[:, None] * norm.ppf(levels)
    assert metrics.crps_from_quantiles(y, quantiles, levels) == pytest.approx(exact, rel=1e-4)
    samples = mean[:, None] + std[:, None] * rng.standard_normal((40, 4000))
    assert metrics.crps_from_samples(y, samples) == pytest.approx(exact, rel=0.02)


def test_crps_from_samples_is_its_definition(rng):
    y, samples = rng.normal(size=5), rng.normal(size=(5, 7))
    pairs = np.abs(samples[:, :, None] - samples[:, None]).sum(axis=(1, 2)) / (7 * 6)
    expected = (np.abs(samples - y[:, None]).mean(axis=1) - pairs / 2).mean()
    assert metrics.crps_from_samples(y, samples) == pytest.approx(expected, rel=1e-13)


def test_crps_without_spread_is_the_absolute_error(predictions):
    y, mean, _ = predictions
    assert metrics.crps(y, mean, 1e-9) == pytest.approx(np.abs(y - mean).mean(), rel=1e-8)


def test_coverage_of_the_truth_is_the_level(rng):
    y = rng.standard_normal(100_000)
    for level in (0.1, 0.5, 0.95):
        three_errors = 3 * np.sqrt(level * (1 - level) / len(y))
        assert metrics.coverage(y, 0.0, 1.0, level=level) == pytest.approx(level, abs=three_errors)


def test_coverage_is_that_of_its_band(predictions):
    y, mean, std = predictions
    band = norm.interval(0.8, mean, std)
    assert metrics.coverage(y, mean, std, level=0.8) == metrics.band_coverage(y, *band)


def test_the_ends_belong_to_a_band():
    assert metrics.band_coverage([1.0, 2.0], 1.0, 2.0) == 1.0


def test_calibration_error_by_hand():
    # Two bins: stated .2 and .7, came true 1/4 and 1/2.
    y = ["no", "no", "no", "yes", "yes", "no"]
    stated = [0.2, 0.2, 0.2, 0.2, 0.7, 0.7]
    expected = 4 / 6 * 0.05 + 2 / 6 * 0.2
    assert metrics.expected_calibration_error(y, stated, n_bins=2) == pytest.approx(expected)


def test_calibration_error_of_the_truth_is_small(rng):
    stated = rng.uniform(size=200_000)
    y = rng.uniform(size=len(stated)) < stated
    assert metrics.expected_calibration_error(y, stated) < 0.005
    assert metrics.expected_calibration_error(y, stated**2) > 0.1


def test_calibration_error_of_many_classes_is_of_the_most_probable():
    probabilities = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.6, 0.1], [0.3, 0.6, 0.1]]
    error = metrics.expected_calibration_error([0, 2, 0, 1], probabilities)
    assert error == pytest.approx(3 / 4 - 0.6)
    two = metrics.expected_calibration_error(["b", "a"], [[0.2, 0.8], [0.2, 0.8]])
    assert two == pytest.approx(0.3)


def test_labels_name_classes_that_were_not_seen():
    probabilities = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]
    error = metrics.expected_calibration_error([0, 2], probabilities, labels=[0, 1, 2])
    assert error == pytest.approx(0.0)
    assert metrics.expected_calibration_error([0, 0], [0.1, 0.1]) == pytest.approx(0.1)


@pytest.mark.parametrize("score", [metrics.nlpd, metrics.coverage, metrics.crps])
def test_a_weight_is_a_repeated_row(predictions, rng, score):
    weights = rng.integers(0, 4, 40)
    repeated = score(*(np.repeat(part, weights) for part in predictions))
    assert score(*predictions, sample_weight=weights) == pytest.approx(repeated, rel=1e-13)


def test_a_weight_is_a_repeated_row_of_classes(rng):
    weights, y, stated = rng.integers(0, 4, 40), rng.integers(0, 2, 40), rng.uniform(size=40)
    error = metrics.expected_calibration_error(y, stated, sample_weight=weights)
    repeated = metrics.expected_calibration_error(np.repeat(y, weights), np.repeat(stated, weights))
    assert error == pytest.approx(repeated, rel=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.nlpd([], [], []), "y has shape"),
        (lambda: metrics.nlpd([[1.0]], 0.0, 1.0), "one number per row"),
        (lambda: metrics.nlpd([1.0, np.nan], 0.0, 1.0), "y has a missing .* row 1"),
        (lambda: metrics.nlpd([1.0, 2.0], [0.0], 1.0), "y has 2 rows, mean 1"),
        (lambda: metrics.crps([1.0, 2.0], 0.0, [1.0, 0.0]), "std is 0 in row 1"),
        (lambda: metrics.coverage([1.0], 0.0, 1.0, level=95), "level is 95"),
        (lambda: metrics.band_coverage([1.0], 2.0, 0.0), "lower 2 above upper 0"),
        (lambda: metrics.nlpd([1.0], 0.0, 1.0, sample_weight=[-1.0]), "must not be negative"),
        (lambda: metrics.nlpd([1.0], 0.0, 1.0, sample_weight=[1, 1]), "sample_weight 2"),
        (lambda: metrics.crps_from_samples([1.0], [[1.0]]), "at least two"),
        (lambda: metrics.crps_from_quantiles([1.0], [[1.0, 2.0]], [0.5]), r"give \(1, 1\)"),
        (lambda: metrics.crps_from_quantiles([1.0], [[1.0]], [1.5]), "between 0 and 1"),
        (lambda: metrics.expected_calibration_error([0, 1], [0.1, 1.4]), "decision function"),
        (lambda: metrics.expected_calibration_error([0, 1, 2], [0.1] * 3), "found 3"),
        (lambda: metrics.expected_calibration_error([0, 1], [[0.1, 0.9]]), r"give \(2, 2\)"),
        (lambda: metrics.expected_calibration_error([0, 1], [0.1, 0.2], n_bins=0), "n_bins is 0"),
        (lambda: metrics.expected_calibration_error(["a"], [[1.0]], labels=["b"]), "not in labels"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
