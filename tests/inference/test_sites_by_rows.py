"""Sites by the kernel matrix of few rows: the same q, bound and optimum as by sums."""

from dataclasses import replace

import numpy as np
import pytest

from vish.inference import solution
from vish.inference.convergence import converge
from vish.inference.site_reading import Sites
from vish.inference.sites import SiteModel
from vish.inference.sites_by_rows import SiteModelByRows
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry
from vish.kernels import Matern
from vish.likelihoods import Bernoulli, Heteroscedastic, Poisson, Softmax, StudentT
from vish.sphere import Projection

LIKELIHOODS = [Bernoulli(), Poisson(), StudentT(3.0, 0.2), Heteroscedastic(), Softmax(3)]


def make(rng, likelihood, n=40, truncated=True):
    """Few rows for the 55 harmonics, some of them without weight."""
    X, weights = rng.standard_normal((n, 2)), rng.exponential(size=n) * (rng.random(n) < 0.9)
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    y = {
        "Bernoulli": (f > 0) * 1.0,
        "Poisson": rng.poisson(np.exp(f)).astype(float),
        "Softmax": np.digitize(f, [-0.5, 0.5]).astype(float),
    }.get(type(likelihood).__name__, f + 0.1 * rng.standard_t(3, n))
    offset = likelihood.offset(y, weights)
    projection = Projection(np.zeros(2), np.ones(2), np.array([0.8, 0.6]))
    geometry = Geometry(projection, 6, "constant", offset, np.ones(len(offset)))
    kernel = Matern(1.5, 0.7, 2.0)
    sites = Sites.zero(geometry, len(offset))
    model = SiteModel(geometry, likelihood, kernel, truncated, sites)
    return model, ArraySource(X, y[:, None], weights)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("truncated", [True, False])
def test_one_pass_is_the_same(rng, likelihood, truncated):
    model, rows = make(rng, likelihood, truncated=truncated)
    few = SiteModelByRows.of(model, rows, 1, fresh=True)
    whole = few.by_sums()
    assert few.divergence == pytest.approx(whole.divergence, rel=1e-9)
    ours, theirs = (m.read(rows, 1, lambda n: None) for m in (few, whole))
    assert ours.expected == pytest.approx(theirs.expected, rel=1e-9)
    assert (ours.weight, ours.n_rows) == (pytest.approx(theirs.weight), theirs.n_rows)
    after = replace(few, sites=few.sites.towards(ours.sites, 0.3)).by_sums().sites
    expected = whole.sites.towards(theirs.sites, 0.3)
    np.testing.assert_allclose(after.moments, expected.moments, atol=1e-8)
    np.testing.assert_allclose(after.cross, expected.cross, atol=1e-8)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_optimum_is_the_same(rng, likelihood, monkeypatch):
    model, rows = make(rng, likelihood)
    few = converge(model, rows, tolerance=1e-9)
    monkeypatch.setattr(solution, "_MOST_ROWS", 0)
    many = converge(model, rows, tolerance=1e-9)
    assert few.bound == pytest.approx(many.bound, abs=1e-5)
    assert isinstance(few.model, SiteModel)
    np.testing.assert_allclose(
        few.model.latent(rows.X).mean, many.model.latent(rows.X).mean, atol=0.02
    )


def test_means_are_centred_where_only_differences_matter(rng):
    model, rows = make(rng, Softmax(3))
    few = SiteModelByRows.of(model, rows, 1, fresh=True)
    few = replace(few, sites=replace(few.sites, natural=few.sites.natural + 0.3))
    ours, theirs = few.centred(), few.by_sums().centred()
    assert ours.divergence == pytest.approx(theirs.divergence, rel=1e-9)
    assert ours.divergence < few.divergence
    weighted = rows.weights > 0  # others have no say
    mean = ours.by_sums().latent(rows.X[weighted]).mean
    np.testing.assert_allclose(mean, theirs.latent(rows.X[weighted]).mean, atol=1e-8)


def test_strong_sites_keep_their_digits(rng):
    """Precisions of 1e14 beside a prior of 1: variances of 1e-14, means on the targets."""
    model, rows = make(rng, StudentT(3.0, 1e-7), n=8)
    rows = replace(rows, weights=None)
    few = SiteModelByRows.of(model, rows, 1, fresh=True)
    strong = replace(few.sites, precision=np.full((8, 1), 1e14), natural=1e14 * rows.y)
    mean, variance = replace(few, sites=strong)._moments
    np.testing.assert_allclose(mean, rows.y, rtol=1e-9)
    np.testing.assert_allclose(variance, 1e-14, rtol=1e-6)
