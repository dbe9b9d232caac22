"""The verdict: what is said of a calibrated model, and of each way to be wrong."""

import numpy as np
import pytest
from scipy.special import ndtr

from vish.report.evaluation import Evaluation
from vish.report.scores import BANDS, class_scores, regression_scores
from vish.report.verdict import Spectrum, findings, headline

FINE = Spectrum(np.array([0.0, 0.9, 0.1, 0.001]), np.array([1.0, 0.9, 0.5, 0.1]))
INSIDE = {"rows": 0, "of": 2000, "by_column": {}, "same_count": False}


def regression(rng, scale=1.0, tail=None, baseline=2.0, n=2000):
    """A model that states a standard normal, and errors that are otherwise."""
    y = rng.normal(size=n) * scale if tail is None else rng.standard_t(tail, n) * scale
    below = ndtr(y)
    columns = {"y": y, "mean": np.zeros(n), "density": -(y**2) / 2, "below": below, "under": below}
    for band in BANDS:
        columns[f"in{band}"] = (np.abs(2 * below - 1) <= band).astype(float)
    simple = {"linear regression": columns | {"density": -(y**2) / 2 - np.log(baseline)}}
    return Evaluation(columns, regression_scores(columns), simple, {})


@pytest.mark.parametrize(
    ("change", "level", "text"),
    [
        ({}, "good", "The 95 % band covers 9"),
        ({"scale": 1.5}, "warning", "it is too narrow"),
        ({"scale": 0.5}, "note", "it is wider than it needs to be"),
        ({"scale": 0.45, "tail": 2}, "warning", "The 50 % band covers"),
        ({"baseline": 1.0}, "warning", "No better than linear regression"),
        ({"baseline": 0.5}, "warning", "Worse than linear regression"),
        ({"n": 50}, "note", "Scores are from 50 rows only"),
        ({"n": 10}, "warning", "Scores are from 10 rows only"),
    ],
)
def test_what_is_found(rng, change, level, text):
    found = findings(regression(rng, **change), FINE, "regression", INSIDE)
    assert [f for f in found if text in f.title and f.level == level], found
    warned = any(f.level == "warning" for f in found)
    assert headline(found)[0] == ("warning" if warned else "good")
    order = ["warning", "note", "good"]
    assert [order.index(f.level) for f in found] == sorted(order.index(f.level) for f in found)


def test_a_degree_that_is_too_small(rng):
    more = Spectrum(np.array([0.0, 0.6, 0.4]), np.array([1.0, 1.0, 0.9]))
    titles = [f.title for f in findings(regression(rng), more, "regression", INSIDE)]
    assert "The degree 2 may be too small" in titles
    titles = [f.title for f in findings(regression(rng), FINE, "regression", INSIDE)]
    assert not any("degree" in title for title in titles)
    nan = np.nan  # of odd degrees, given an even one: the next is two beyond the last
    odd = Spectrum(np.array([0.0, 0.6, 0.0, 0.4, 0.0]), np.array([nan, 1.0, nan, 0.9, nan]))
    found = findings(regression(rng), odd, "regression", INSIDE)
    (advice,) = [f.advice for f in found if f.title == "The degree 3 may be too small"]
    assert "Try --degree 5" in advice


@pytest.mark.parametrize(("rows", "level"), [(10, "note"), (500, "warning")])
def test_rows_outside(rng, rows, level):
    outside = INSIDE | {"rows": rows, "by_column": {"area": rows}}
    found = findings(regression(rng), FINE, "regression", outside)
    assert [f for f in found if "outside" in f.title and f.level == level and "area" in f.advice]


@pytest.mark.parametrize(("sharper", "level"), [(1.0, "good"), (3.0, "warning")])
def test_probabilities_that_are_too_sure(rng, sharper, level):
    p = rng.uniform(0.05, 0.95, 3000)
    code = (rng.random(3000) < p).astype(int)
    odds = (p / (1 - p)) ** sharper
    stated = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    columns = {"code": code, "chances": stated}
    simple = {"logistic regression": {"code": code, "chances": np.full((3000, 2), 0.5)}}
    scores = class_scores(columns, np.array([0, 1]))
    evaluation = Evaluation(columns, scores, simple, {})
    found = findings(evaluation, FINE, "classification", INSIDE)
    assert [f for f in found if "Stated probabilities" in f.title and f.level == level]


def test_counts_are_spread_within_their_steps(rng):
    from scipy.stats import poisson

    y = rng.poisson(2.0, 20_000)
    columns = {"below": poisson.cdf(y, 2.0), "under": poisson.cdf(y - 1, 2.0), "density": y}
    shares = Evaluation(columns, {}, {}, {}).shares_below
    np.testing.assert_allclose(shares, np.arange(1, 40) / 40, atol=0.015)
