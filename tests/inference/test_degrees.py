"""The choice of the degree: as high as pays, for the rows at hand and for those to come."""

import numpy as np
import pytest

from vish import VISHRegressor
from vish.inference.degrees import Candidate, DegreeSearch
from vish.inference.holdout import Trial
from vish.kernels import ArcCosine, Matern, Odd


def test_the_degree_is_raised_while_it_pays(rng):
    X = rng.uniform(-2, 2, (400, 1))
    noise = 0.05 * rng.standard_normal(400)
    straight = VISHRegressor(max_features=100).fit(X, X[:, 0] + noise)
    wavy = VISHRegressor(max_features=100).fit(X, np.sin(6 * X[:, 0]) + noise)
    assert straight.score(X, X[:, 0]) > 0.999
    assert wavy.degree_ > 10  # to degrees up to 5 it is all noise
    assert wavy.n_harmonics_ <= 100
    assert wavy.score(X, np.sin(6 * X[:, 0])) > 0.999
    assert wavy.noise_variance_ == pytest.approx(0.05**2, rel=0.3)


def test_degrees_that_a_kernel_leaves_out_are_passed_over(rng):
    """Odd degrees from 3 on have no variance here: none of them is the end of the climb."""
    X = rng.standard_normal((300, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(300)
    model = VISHRegressor(ArcCosine(1), relevance=[1.0, 1.0], optimize=False, max_features=150)
    assert model.fit(X, y).degree_ > 5


def test_rows_to_come_pay_for_a_higher_degree(rng):
    """Few rows are learned from, but many are read: they can tell more harmonics."""
    X = rng.uniform(-2, 2, (42_000, 2))
    y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.5 * rng.standard_normal(42_000)
    settings = {"rank": None, "max_features": 400, "subset_size": 400}
    many = VISHRegressor(**settings).fit(X[:40_000], y[:40_000])
    few = VISHRegressor(**settings).fit(X[:400], y[:400])
    fixed = VISHRegressor(**settings | {"degree": few.degree_}).fit(X[:40_000], y[:40_000])
    assert many.degree_ > few.degree_
    signal = np.sin(3 * X[40_000:, 0]) * np.cos(2 * X[40_000:, 1])
    errors = [np.mean((m.predict(X[40_000:]) - signal) ** 2) for m in (many, fixed)]
    assert errors[0] < errors[1]


def test_a_higher_degree_leaves_no_more_noise():
    """A search cut short may say so, and many rows to come would believe it."""
    search = object.__new__(DegreeSearch)
    search.rows_to_come = 1e6
    search._try = lambda point, degree: Trial(None, degree, np.full(2, -1.0), np.ones(2), 0.0, -1.3)
    higher = Candidate(None, -100.0, 5)
    assert search._evidence(higher)[1] == -1.3
    evidence, settled = search._evidence(higher, least=-1.2)
    assert settled == -1.2
    assert evidence == pytest.approx([-102.0, -102.0 - 1.2e6])


def test_an_odd_kernel_climbs_by_odd_degrees(rng):
    X = rng.uniform(-2, 2, (400, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.05 * rng.standard_normal(400)
    model = VISHRegressor(Odd(Matern(1.5)), max_features=100, rank=None).fit(X, y)
    assert {stage.degree % 2 for stage in model.fit_trace_} == {1}
    starts = [stage.degree for stage in model.fit_trace_ if stage.name == "start"]
    assert starts[:3] == [1, 3, 3]  # others than the first begin beyond the linear functions
    assert model.degree_ >= 5
    assert model.n_harmonics_ <= 100
    assert model.score(X, y) > 0.98


@pytest.mark.parametrize("degree", [1, 2, "auto"])
def test_a_stored_spectrum_is_not_asked_beyond_its_end(rng, degree):
    X = rng.standard_normal((60, 2))
    kernel = Matern(1.5, 0.5).freeze(dimension=3, degree=2)
    model = VISHRegressor(kernel, degree=degree, rank=None, n_starts=1).fit(X, X[:, 0] ** 2)
    assert model.degree_ in (1, 2)
