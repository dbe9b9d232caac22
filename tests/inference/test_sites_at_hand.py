"""Sites of rows in memory, beside the routes that hold no features."""

from dataclasses import replace

import numpy as np
import pytest

from vish.inference import sites_at_hand
from vish.inference.convergence import converge
from vish.inference.passes import MappedSource
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.sites_at_hand import SiteModelAtHand, rows_at_hand
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry
from vish.kernels import Matern
from vish.likelihoods import Bernoulli, Softmax
from vish.sphere import Projection


def make_model(likelihood, y, truncated=True):
    offset = likelihood.offset(y, np.ones(len(y)))
    projection = Projection(np.zeros(2), np.ones(2), np.full(2, 0.8))
    geometry = Geometry(projection, 4, "constant", offset, np.ones(len(offset)))
    sites = Sites.zero(geometry, len(offset))
    return SiteModel(geometry, likelihood, Matern(1.5, 0.7, 3.0), truncated, sites)


@pytest.fixture(params=[True, False])
def held(rng, request):
    X = rng.normal(size=(120, 2))
    y = np.clip(np.rint(1.5 + X[:, 0] + 0.3 * rng.normal(size=120)), 0, 3)
    rows = ArraySource(X, y[:, None], rng.exponential(size=120))
    model = make_model(Softmax(4), y, truncated=request.param)
    assert rows_at_hand(model, rows) is rows
    return SiteModelAtHand.of(model, rows, 1, fresh=True), rows


@pytest.mark.parametrize("many_rows", [0, 1000])
def test_variances_divergence_and_readings_are_those_of_the_sums(held, many_rows, monkeypatch):
    monkeypatch.setattr(sites_at_hand, "_MANY_ROWS", many_rows)
    ours, rows = held
    theirs = ours.by_sums()
    assert ours.divergence == pytest.approx(theirs.divergence, rel=1e-9)
    a, b = (m.read(rows, 1, lambda n: None) for m in (ours, theirs))
    assert a.expected == pytest.approx(b.expected, rel=1e-9)
    next_sums = replace(ours, sites=a.sites).by_sums().sites
    np.testing.assert_allclose(next_sums.cross, b.sites.cross, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(next_sums.moments, b.sites.moments, rtol=1e-7, atol=1e-8)


def test_settled_means_stay_where_a_pass_puts_them(held):
    """At the best means the next sites have the same means, whatever their precisions."""
    start, rows = held
    model = start.settled(1e-15)
    moved = replace(model, sites=model.read(rows, 1, lambda n: None).sites)
    np.testing.assert_allclose(
        moved.by_sums().posterior.means, model.by_sums().posterior.means, atol=1e-5
    )
    before, after = (
        m.read(rows, 1, lambda n: None).expected - m.divergence for m in (start, model)
    )
    assert after > before


def test_the_end_is_that_of_passes_over_a_stream(held, monkeypatch):
    start, rows = held
    end = converge(start.model, rows, tolerance=1e-10)
    monkeypatch.setattr(sites_at_hand, "_MOST_FEATURES", 0)
    plain = converge(start.model, rows, tolerance=1e-10)
    assert end.n_passes < plain.n_passes
    assert end.bound == pytest.approx(plain.bound, abs=1e-5)
    X = rows.X
    np.testing.assert_allclose(end.model.latent(X).mean, plain.model.latent(X).mean, atol=1e-2)


def test_one_latent_function_reads_its_rows_as_a_stream_does(rng):
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(float)
    assert rows_at_hand(make_model(Bernoulli(), y), ArraySource(X, y[:, None])) is None


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n_rows", [None, 20_000])
def test_a_short_stream_is_read_into_memory(rng, monkeypatch, weighted, n_rows):
    X, y = rng.normal(size=(20_000, 2)), rng.integers(3, size=(20_000, 1)).astype(float)
    rows = ArraySource(X, y, rng.exponential(size=20_000) if weighted else None)
    stream = MappedSource(rows, lambda chunk: chunk, 1)
    stream.n_rows = n_rows
    model = make_model(Softmax(3), y[:, 0])
    held = rows_at_hand(model, stream)
    for name in ("X", "y", "weights"):
        np.testing.assert_array_equal(getattr(held, name), getattr(rows, name))
    monkeypatch.setattr(sites_at_hand, "_MOST_FEATURES", 20_000 * len(model.degrees) - 1)
    assert rows_at_hand(model, stream) is None
    assert rows_at_hand(model, rows) is None


def test_rows_of_a_cluster_stay_there(rng):
    y = rng.integers(3, size=30).astype(float)
    rows = ArraySource(rng.normal(size=(30, 2)), y[:, None])
    far = MappedSource(rows, lambda chunk: chunk, 1)
    far.group_sums = rows.chunks  # a method that tells a distributed source
    assert rows_at_hand(make_model(Softmax(3), y), far) is None
