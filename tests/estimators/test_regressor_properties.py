"""What must not change a fit, and two routes to one answer, for 1 to 30 inputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from vish import VISHRegressor
from vish.kernels import Matern
from vish.likelihoods import Gaussian, SinhArcsinh, Warped

FEW = settings(max_examples=5)
QUICK = {"max_features": 40, "n_starts": 1, "max_iter": 30}
inputs, seeds = st.integers(1, 30), st.integers(0, 2**32 - 1)
pytestmark = [
    pytest.mark.filterwarnings("ignore:learning stopped at max_iter"),
    pytest.mark.filterwarnings("ignore:max_features=40 leaves degree 1"),
]


def table(rng, n, D, targets=None):
    X = rng.standard_normal((n, D)) * np.exp(rng.standard_normal(D)) + rng.standard_normal(D)
    shape = (D,) if targets is None else (D, targets)
    signal = np.sin(((X - X.mean(axis=0)) / X.std(axis=0)) @ rng.standard_normal(shape))
    return X, 3 + 2 * signal + 0.3 * rng.standard_normal(signal.shape)


def held(D, degree=None, **parameters):
    """Nothing is learned: the same geometry and hyperparameters for any rows."""
    given = {
        "kernel": Matern(1.5, 0.7, 2.0),
        "likelihood": Gaussian(variance=0.05),
        "degree": degree or (4 if D < 4 else 2),
        "relevance": 1 / np.sqrt(D),
        "scaling": (np.zeros(D), np.ones(D)),
        "optimize": False,
    }
    return VISHRegressor(**(given | parameters))


def assert_same(found, expected, tolerance):
    scale = np.ptp(expected) + np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# ---- learned


@FEW
@given(D=inputs, seed=seeds)
def test_row_order(D, seed):
    rng = np.random.default_rng(seed)
    X, y = table(rng, 60, D)
    order = rng.permutation(60)
    one = VISHRegressor(**QUICK).fit(X, y)
    two = VISHRegressor(**QUICK).fit(X[order], y[order])
    np.testing.assert_array_equal(one.relevance_, two.relevance_)
    assert_same(two.predict(X), one.predict(X), 1e-8)


@FEW
@given(D=inputs, seed=seeds)
def test_a_weight_is_a_repeated_row(D, seed):
    """The same bits, learned and predicted."""
    rng = np.random.default_rng(seed)
    X, y = table(rng, 40, D)
    weights = rng.integers(0, 4, 40)
    weights[0] = 2
    one = VISHRegressor(**QUICK).fit(X, y, weights)
    two = VISHRegressor(**QUICK).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(one.relevance_, two.relevance_)
    assert (one.kernel_, one.noise_variance_) == (two.kernel_, two.noise_variance_)
    np.testing.assert_array_equal(np.stack(one.predict(X, True)), np.stack(two.predict(X, True)))
    assert one.log_evidence_ == two.log_evidence_


@FEW
@given(D=inputs, seed=seeds)
def test_a_weight_of_zero_is_no_row(D, seed):
    rng = np.random.default_rng(seed)
    X, y = table(rng, 50, D)
    weights = np.repeat([1.0, 0.0], [40, 10])
    y[40:] = 1e6
    one = VISHRegressor(**QUICK).fit(X, y, weights)
    two = VISHRegressor(**QUICK).fit(X[:40], y[:40])
    assert_same(one.predict(X), two.predict(X), 1e-8)


@FEW
@given(D=inputs, seed=seeds, power=st.integers(-20, 20), shift=st.floats(-1e3, 1e3))
def test_affine_target(D, seed, power, shift):
    """The target is standardised; a power of two changes no bit of it, a shift the last few."""
    rng = np.random.default_rng(seed)
    X, y = table(rng, 50, D)
    factor = 2.0**power
    one = VISHRegressor(**QUICK).fit(X, y)
    two = VISHRegressor(**QUICK).fit(X, factor * y)
    np.testing.assert_allclose(two.predict(X), factor * one.predict(X), rtol=1e-12)
    fixed = {"relevance": one.relevance_, "degree": one.degree_}
    means, stds = zip(
        *(VISHRegressor(**QUICK | fixed).fit(X, t).predict(X, True) for t in (y, y + shift)),
        strict=True,
    )
    assert_same(means[1] - shift, means[0], 1e-4)
    assert_same(stds[1], stds[0], 1e-3)


def test_rotated_inputs_with_a_full_map(rng):
    """Isotropic inputs and a map of full rank: a rotation is only another start."""
    X = rng.standard_normal((600, 3))
    y = np.sin(2 * X @ [0.8, -0.5, 0.2]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(600)
    rotation = ortho_group(3, seed=1).rvs()
    scaling = (np.zeros(3), np.ones(3))
    model = VISHRegressor(rank=3, degree=5, scaling=scaling)
    one, two = model.fit(X, y).predict(X), model.fit(X @ rotation.T, y).predict(X @ rotation.T)
    assert np.std(one - two) < 0.03 * y.std()


# ---- at fixed hyperparameters


@FEW
@given(D=inputs, seed=seeds)
def test_rotated_inputs_and_map(D, seed):
    rng = np.random.default_rng(seed)
    X, y = table(rng, 50, D)
    rotation = ortho_group(D, seed=rng).rvs() if D > 1 else -np.eye(1)
    W = rng.standard_normal((min(D, 4), D)) / D
    one = held(D, 3, relevance=W).fit(X, y)
    two = held(D, 3, relevance=W @ rotation.T).fit(X @ rotation.T, y)
    found, expected = two.predict(X @ rotation.T, True), one.predict(X, True)
    assert_same(np.stack(found), np.stack(expected), 1e-9)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, rel=1e-9)


@FEW
@given(D=inputs, seed=seeds, factor=st.sampled_from([-1e9, -1.0, 1e-9, 7.0]))
def test_affine_target_at_fixed_hyperparameters(D, seed, factor):
    rng = np.random.default_rng(seed)
    X, y = table(rng, 50, D)
    one, two = held(D).fit(X, y), held(D).fit(X, factor * y + 5 * factor)
    mean, std = one.predict(X, True)
    assert_same(two.predict(X), factor * mean + 5 * factor, 1e-11)
    assert_same(two.predict(X, True)[1], abs(factor) * std, 1e-11)
    jacobian = 50 * np.log(abs(factor))
    assert two.log_evidence_ == pytest.approx(one.log_evidence_ - jacobian, rel=1e-9, abs=1e-6)


@FEW
@given(D=inputs, seed=seeds)
def test_several_targets_are_each_alone(D, seed):
    rng = np.random.default_rng(seed)
    X, y = table(rng, 50, D, targets=3)
    together = held(D).fit(X, y)
    mean, std = together.predict(X, True)
    alone = [held(D).fit(X, y[:, t]) for t in range(3)]
    assert_same(mean, np.column_stack([m.predict(X) for m in alone]), 1e-12)
    assert_same(std, np.column_stack([m.predict(X, True)[1] for m in alone]), 1e-12)
    assert together.log_evidence_ == pytest.approx(sum(m.log_evidence_ for m in alone))
    densities = sum(m.log_density(X, y[:, t]) for t, m in enumerate(alone))
    np.testing.assert_allclose(together.log_density(X, y), densities, rtol=1e-10)
    quantiles = together.predict_quantiles(X, [0.1, 0.9])
    assert quantiles.shape == (50, 3, 2)
    np.testing.assert_allclose(quantiles[:, 1], alone[1].predict_quantiles(X, [0.1, 0.9]))


# ---- rows come and go


def everything(model, X):
    return np.stack(model.predict(X, return_std=True))


LIKELIHOODS = [
    Gaussian(variance=0.05),
    Gaussian("radial", 0.05),
    Warped(SinhArcsinh(skew=0.2, tail=0.8), variance=0.05),
]


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=["constant", "radial", "warped"])
@pytest.mark.parametrize("tail", ["truncated", "variational"])
@pytest.mark.parametrize("D", [1, 2, 8, 30])
def test_rows_come_and_go(rng, D, tail, likelihood):
    """Merge = fit of all, partial_fit = fit, forget = never seen."""
    X, y = table(rng, 300, D)
    weights = rng.exponential(size=300)
    parts = [(X[s], y[s], weights[s]) for s in (slice(0, 100), slice(100, 180), slice(180, 300))]
    first = held(D, tail=tail, likelihood=likelihood).fit(*parts[0])
    whole = first.empty_like().partial_fit(X, y, weights)
    expected = everything(whole, X)
    assert whole.n_rows_seen_ == 300

    grown = first.empty_like()
    for part in parts:
        grown.partial_fit(*part)
    assert_same(everything(grown, X), expected, 1e-8)

    second, third = (first.empty_like().partial_fit(*part) for part in parts[1:])
    merged = first.merge(second).merge(third)
    assert_same(everything(merged, X), expected, 1e-8)
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-9)
    assert (first.n_rows_seen_, second.n_rows_seen_, merged.n_rows_seen_) == (100, 80, 300)

    whole.forget(*parts[1]).forget(*parts[2])
    assert_same(
        everything(whole, X), everything(first.empty_like().partial_fit(*parts[0]), X), 1e-8
    )
    assert whole.n_rows_seen_ == 100


def test_the_empty_model_is_the_prior(rng):
    X, y = table(rng, 80, 3)
    fitted = VISHRegressor(**QUICK).fit(X, y)
    empty = fitted.empty_like()
    assert empty.n_rows_seen_ == 0
    assert np.allclose(empty.predict(X), y.mean())
    assert empty.log_evidence_ == 0
    assert (empty.predict(X, True)[1] > fitted.predict(X, True)[1]).all()
    assert_same(everything(fitted.forget(X, y), X), everything(empty, X), 1e-12)
    assert fitted.n_rows_seen_ == 0


def test_updates_relearn_kernel_and_noise(rng):
    """With optimize=True the geometry stays and the evidence is maximised again."""
    X, y = table(rng, 400, 2)
    y[200:] += rng.standard_normal(200)
    model = VISHRegressor(**QUICK).fit(X[:200], y[:200])
    before, relevance = model.noise_variance_, model.relevance_
    model.partial_fit(X[200:], y[200:])
    assert model.noise_variance_ > 2 * before
    np.testing.assert_array_equal(model.relevance_, relevance)


def test_weights_that_leave_no_row_in_doubt(rng):
    """Rows of weight 0 remain: nothing is left to learn from."""
    X, y = table(rng, 40, 2)
    weights = np.repeat([2.0, 0.0], 20)
    model = held(2).fit(X, y, weights).forget(X[:20], y[:20], weights[:20])
    np.testing.assert_array_equal(model.predict(X), model.empty_like().predict(X))
