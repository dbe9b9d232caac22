"""Rows held out: their density is that of the fitted model, and they show what overfits."""

import numpy as np
import pytest
from scipy.stats import norm

from vish import VISHRegressor
from vish.estimators.search import make_setting
from vish.estimators.settings import FitSettings
from vish.inference.holdout import Trial, Watch, choose, trusted, try_on
from vish.inference.objective import Hyperparameters
from vish.inference.sources import ArraySource
from vish.kernels import Matern
from vish.likelihoods import Gaussian

N, HELD = 120, 40


def problem(rng, noise="constant", weights=None):
    """A setting of some rows, the others, and hyperparameters."""
    X = rng.standard_normal((N + HELD, 3))
    y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((N + HELD, 1))
    setting = make_setting(ArraySource(X[:N], y[:N]), noise, FitSettings.of(VISHRegressor()))
    point = Hyperparameters(np.array([0.6, 0.2, 0.3]), Matern(1.5, 0.7, 2.0), np.array([0.2]))
    return setting, ArraySource(X[N:], y[N:], weights), point


def trial(point, log_densities, squared_errors=None):
    if squared_errors is None:
        squared_errors = np.zeros_like(log_densities)
    return Trial(point, 3, log_densities, squared_errors, extra_noise=0.0)


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_density_is_that_of_the_estimator(rng, noise):
    setting, held, point = problem(rng, noise)
    model = VISHRegressor(
        point.kernel, likelihood=Gaussian(noise=noise, variance=0.2), degree=3,
        relevance=point.relevance, scaling=(setting.centre, setting.scale), optimize=False,
    ).fit(setting.source.X, setting.source.y[:, 0])  # fmt: skip
    trial = try_on(held, setting, point, 3)
    assert trial.extra_noise == 0.0
    expected = model.log_density(held.X, held.y[:, 0]) + np.log(setting.target_scale)
    np.testing.assert_allclose(trial.log_densities, expected, rtol=0, atol=2e-3)  # mean relearned


def test_a_weight_is_a_repetition(rng):
    setting, held, point = problem(rng)
    weights = rng.integers(1, 4, HELD)
    weighted = try_on(ArraySource(held.X, held.y, weights.astype(float)), setting, point, 3)
    rows = np.repeat(np.arange(HELD), weights)
    repeated = try_on(ArraySource(held.X[rows], held.y[rows]), setting, point, 3)
    np.testing.assert_allclose(weighted.extra_noise, repeated.extra_noise)
    np.testing.assert_allclose(weighted.log_densities.sum(), repeated.log_densities.sum())


def test_noise_that_is_too_small_shows(rng):
    setting, held, point = problem(rng)
    small = Hyperparameters(point.relevance, point.kernel, np.array([0.02]))
    assert 0.02 < try_on(held, setting, small, 3).extra_noise < 0.2


def test_one_far_row_alone_does_not_enlarge_the_noise(rng):
    setting, held, point = problem(rng)
    assert try_on(held, setting, point, 3).extra_noise == 0.0
    y = held.y.copy()
    y[0] += 2.0
    assert try_on(ArraySource(held.X, y), setting, point, 3).extra_noise == 0.0
    y[1:4] += 2.0
    assert try_on(ArraySource(held.X, y), setting, point, 3).extra_noise > 0.1


def test_every_target_has_its_own_correction(rng):
    setting, held, point = problem(rng)
    rows, more = setting.source, rng.standard_normal((N + HELD, 1))
    two = ArraySource(rows.X, np.hstack([rows.y, more[:N]]))
    setting = make_setting(two, "constant", FitSettings.of(VISHRegressor()))
    held = ArraySource(held.X, np.hstack([held.y, more[N:]]))
    small = Hyperparameters(point.relevance, point.kernel, np.array([0.02, 1.0]))
    extra = try_on(held, setting, small, 3).extra_noise
    assert extra[0] > 0.02
    assert extra[1] < 0.5


@pytest.mark.parametrize("noise", ["constant", "radial"])
def test_many_more_rows_leave_only_noise(rng, noise):
    """What the density of a row tends to when f is known there, in standardised units."""
    setting, held, point = problem(rng, noise)
    _, radii = setting.geometry(point, 3).projection.project(held.X)
    std = np.sqrt(0.2) * (radii if noise == "radial" else np.ones(HELD))
    expected = np.mean(-norm.entropy(scale=std))
    assert try_on(held, setting, point, 3).settled == pytest.approx(expected, rel=1e-12)


def test_noise_of_almost_nothing_is_corrected_in_full(rng):
    """However small it was learned, what is missing is of the size of the errors."""
    setting, held, point = problem(rng)
    tiny = Hyperparameters(point.relevance, point.kernel, np.array([1e-7]))
    trial = try_on(held, setting, tiny, 3)
    assert 0.2 < trial.extra_noise / trial.squared_errors.mean() <= 1.0
    assert trial.log_densities.mean() > -2.0


def test_no_rows_held_out_say_nothing(rng):
    setting, held, point = problem(rng)
    trial = try_on(ArraySource(held.X[:0], held.y[:0]), setting, point, 3)
    assert trial.extra_noise == 0.0
    assert trusted([trial, trial._replace(degree=2)]) == [0, 1]


def test_only_what_is_clearly_worse_is_given_up(rng):
    point = problem(rng)[2]
    good = rng.normal(-1.0, 0.5, 200)
    best, near, far = (
        trial(point, good + shift)
        for shift in (0.0, rng.normal(-0.01, 0.5, 200), rng.normal(-0.5, 0.5, 200))
    )
    assert trusted([far, near, best]) == [1, 2]


def test_large_errors_are_not_forgiven_for_being_announced(rng):
    point = problem(rng)[2]
    densities, errors = np.zeros(200), rng.random(200)
    bold = trial(point, densities + 1.0, 3 * errors)
    assert trusted([bold, trial(point, densities, errors)]) == [1]


@pytest.mark.parametrize(
    ("scores", "held", "chosen"),
    [
        ((5.0, 60.0), (0.0, 0.05), 0),  # better by both, but not well paid for
        ((5.0, 600.0), (0.0, -0.05), 1),  # well paid for, and worse by no more than chance
        ((5.0, 600.0), (0.0, -0.5), 0),  # clearly worse at rows held out
        ((5.0, 4.0), (0.0, 0.5), 1),  # clearly better there
    ],
)
def test_numbers_must_pay_unless_rows_held_out_are_sure(rng, scores, held, chosen):
    point = problem(rng)[2]
    rows = rng.normal(-1.0, 0.5, 200)
    noise = rng.normal(0.0, 0.5, 200)
    trials = [
        trial(point, rows + held[0]),
        trial(point, rows + held[1] + noise - noise.mean()),
    ]
    assert choose(trials, numbers=[4, 16], scores=list(scores)) == chosen
    assert choose(trials[::-1], numbers=[16, 4], scores=list(scores[::-1])) == 1 - chosen


def test_rows_to_come_decide_between_equals(rng):
    point = problem(rng)[2]
    simple, rich = (trial(point, np.zeros(50))._replace(settled=s) for s in (-1.0, -0.99))
    assert choose([simple, rich], [4, 16], [5.0, 5.0]) == 0
    assert choose([simple, rich], [4, 16], [5.0, 5.0], rows_to_come=1e6) == 1


def test_without_rows_held_out_the_evidence_decides(rng):
    none = trial(problem(rng)[2], np.zeros(0))
    assert choose([none, none], numbers=[4, 16], scores=[5.0, 5.1]) == 1


def test_one_row_does_not_decide_alone(rng):
    """A loss without bound at many rows is clear, whatever its spread."""
    point = problem(rng)[2]
    good = np.full(200, -1.0)
    bad = good.copy()
    bad[:20] = -(10.0 ** np.arange(1, 21))  # a mean far below its standard error
    assert trusted([trial(point, good), trial(point, bad)]) == [0]


@pytest.mark.parametrize(
    ("learned", "expected"),
    [
        (0.1, 0.25),  # three quarters of what was missing hold for all rows
        (0.3, 0.4),  # no more than suited the rows held out
        (0.5, 0.5),  # larger already
        (1e-6, 0.150001),  # however small
    ],
)
def test_noise_of_all_rows(rng, learned, expected):
    point = problem(rng)[2]
    tried = trial(point, np.zeros(10))._replace(extra_noise=0.2)
    np.testing.assert_allclose(tried.corrected(np.array([learned]), 0.75), [expected])


class TestWatch:
    """A search along a line; the rows held out are content with one place on it."""

    @staticmethod
    def watch(rng, best_at, loss):
        point, noise = problem(rng)[2], rng.standard_normal(200)

        def trial_at(vector):
            return trial(point, noise - loss * abs(vector[0] - best_at))

        return Watch(trial_at, np.zeros(1))

    @staticmethod
    def iterate(watch, n):
        for i in range(1, n + 1):
            watch(np.array([float(i)]))

    def test_stops_what_learns_by_heart(self, rng):
        watch = self.watch(rng, best_at=4.0, loss=0.5)
        with pytest.raises(StopIteration):
            self.iterate(watch, 100)
        assert watch.best_or(np.array([10.0])) == 4.0

    def test_leaves_what_gains(self, rng):
        watch = self.watch(rng, best_at=50.0, loss=0.5)
        self.iterate(watch, 50)
        last = np.array([51.0])
        assert watch.best_or(np.array([50.0])) == 50.0
        assert watch.best_or(last) == 50.0

    def test_what_is_not_clear_does_not_count(self, rng):
        point, rows = problem(rng)[2], rng.standard_normal((101, 200))
        watch = Watch(lambda v: trial(point, rows[int(v[0])]), np.zeros(1))
        self.iterate(watch, 99)
        last = np.array([100.0])
        assert watch.best_or(last) is last


def test_a_map_that_memorises_is_not_taken(rng):
    """Labels 0 and 1 of a sum of thirty inputs: a few directions can be bent through all rows."""
    X = rng.standard_normal((400, 30))
    y = (X.sum(axis=1) + 2 * rng.standard_normal(400) > 0).astype(float)
    model = VISHRegressor().fit(X[:300], y[:300])
    errors = model.predict(X[300:]) - y[300:]
    slopes = np.linalg.lstsq(np.c_[X[:300], np.ones(300)], y[:300])[0]
    linear = np.c_[X[300:], np.ones(100)] @ slopes - y[300:]
    assert np.mean(errors**2) < 1.1 * np.mean(linear**2)
    assert model.log_density(X[300:], y[300:]).mean() > -1.0
