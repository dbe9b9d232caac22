"""The evidence: a dense GP with the same kernel, the bound, gradients, hard problems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from vish.inference.evidence import Factor, evidence
from vish.inference.posterior import Posterior
from vish.inference.sources import ArraySource
from vish.inference.statistics import Geometry, Statistics
from vish.kernels import ArcCosine, FreeSpectrum, Matern, Odd, SquaredExponential
from vish.sphere import Projection
from vish.sphere.levels import level_sizes

both_noises = pytest.mark.parametrize("noise", ["constant", "radial"])


def make_geometry(relevance, degree, noise, targets=1, route="auto"):
    D = np.shape(relevance)[-1]
    projection = Projection(np.full(D, 0.1), np.full(D, 1.3), np.asarray(relevance))
    return Geometry(projection, degree, noise, np.zeros(targets), np.ones(targets), route)


def make_rows(rng, n, inputs, targets=1):
    X = rng.standard_normal((n, inputs))
    slopes = rng.standard_normal((inputs, targets))
    return X, np.sin(X @ slopes) + 0.2 * rng.standard_normal((n, targets))


def equations_of(geometry, X, y, weights=None):
    return Statistics.of_source(geometry, ArraySource(X, y, weights), n_jobs=1).normal_equations


def zonal_sum(spectrum, cosines, dimension):
    """sum_l a_l N(d, l) P_l, by the three-term recurrence of polynomials that are 1 at 1."""
    levels = spectrum * level_sizes(dimension, len(spectrum) - 1)
    before, current = np.ones_like(cosines), cosines
    total = levels[0] * before
    for l, level in enumerate(levels[1:], start=1):
        total = total + level * current
        following = (2 * l + dimension - 2) * cosines * current - l * before
        before, current = current, following / (l + dimension - 2)
    return total


def dense_gp(kernel_of_cosines, geometry, X, y, tau2, new):
    """Log marginal likelihood of y, mean and variance of f at new rows: the textbook."""
    (xi, r), (xi_new, r_new) = (geometry.projection.project(rows) for rows in (X, new))
    K, K_new = kernel_of_cosines(xi @ xi.T), kernel_of_cosines(xi @ xi_new.T)
    prior = kernel_of_cosines(np.ones(len(new)))
    if geometry.noise == "constant":
        K, K_new = K * np.outer(r, r), K_new * r[:, None]
        target, log_jacobian = y, 0.0
    else:  # y / r = g + noise; the density of y has another 1 / r
        target, log_jacobian = y / r, -np.log(r).sum()
    factor = cho_factor(K + tau2 * np.eye(len(X)), lower=True)
    alpha = cho_solve(factor, target)
    log_determinant = 2 * np.log(factor[0].diagonal()).sum()
    value = -(target @ alpha + log_determinant + len(X) * np.log(2 * np.pi)) / 2 + log_jacobian
    variance = prior - np.einsum("ij,ij->j", K_new, cho_solve(factor, K_new))
    return value, r_new * (K_new.T @ alpha), r_new**2 * variance


@both_noises
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("relevance", "degree", "kernel"),
    [
        ([1.5], 7, Matern(1.5, 0.4, 2.0)),
        ([0.9, 0.4], 5, ArcCosine(order=1, variance=3.0)),
        ([0.7, 1.1, 0.5, 0.3], 3, Matern(2.5, 0.7, 1.5)),
        ([[0.5, 0.2, -0.4], [0.1, 0.9, 0.3]], 4, SquaredExponential(0.6, 1.2)),
    ],
)
def test_a_dense_gp_with_the_same_kernel(rng, relevance, degree, kernel, noise, weighted):
    geometry = make_geometry(relevance, degree, noise)
    D, d, tau2 = geometry.projection.n_inputs, geometry.projection.dimension, 0.05
    X, y = make_rows(rng, 300, D)
    new = 2 * rng.standard_normal((40, D))
    weights = rng.integers(0, 3, 300) if weighted else None
    log_spectrum, _ = kernel.log_spectrum_and_gradient(d, degree, truncated=True)
    result = evidence(equations_of(geometry, X, y, weights), log_spectrum, np.array([tau2]))
    mean, variance = Posterior.of(geometry, result).moments(new)

    if weights is not None:
        X, y = X.repeat(weights, axis=0), y.repeat(weights, axis=0)
    spectrum = np.exp(log_spectrum[:-1])
    expected = dense_gp(lambda t: zonal_sum(spectrum, t, d), geometry, X, y[:, 0], tau2, new)
    np.testing.assert_allclose(result.value, expected[0], rtol=1e-8)
    np.testing.assert_allclose(mean[:, 0], expected[1], atol=1e-8 * np.abs(expected[1]).max())
    np.testing.assert_allclose(variance[:, 0], expected[2], rtol=1e-8)


@both_noises
@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("inputs", [1, 3])
def test_an_odd_kernel_with_odd_harmonics_or_with_all(rng, inputs, truncated, noise):
    """The even ones have no variance: they may be there or not. Both centred after the fact."""
    whole = make_geometry([0.8, 0.5, 1.1][:inputs], 5, noise)
    X, y = make_rows(rng, 200, inputs)
    log_spectrum, _ = Odd(Matern(1.5, 0.5, 2.0)).log_spectrum_and_gradient(
        inputs + 1, 5, truncated=truncated
    )
    answers = []
    for geometry in (whole, replace(whole, odd=True)):
        result = evidence(
            equations_of(geometry, X, y + 3.0).centred(), log_spectrum, np.array([0.05])
        )
        posterior = Posterior.of(geometry, result, float(np.exp(log_spectrum[-1])))
        gradients = (result.d_log_spectrum, result.d_log_noise)
        answers.append((result.value, *gradients, *posterior.moments(X), posterior.covariance(X)))
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_harmonics_without_variance_are_left_out_of_a_factor(rng):
    root = rng.standard_normal((6, 9))
    gram, scales = root.T @ root, rng.exponential(size=9)
    scales[[0, 3, 4]] = 0.0
    factor = Factor.of(gram, scales, 0.3)
    B = np.eye(9) + gram * np.outer(scales, scales) / 0.3
    assert factor.triangle.shape == (6, 6)
    inverse = np.linalg.inv(B)
    right = scales * rng.standard_normal(9)
    np.testing.assert_allclose(factor.log_determinant, np.linalg.slogdet(B)[1], rtol=1e-12)
    np.testing.assert_allclose(factor.inverse_diagonal, inverse.diagonal(), rtol=1e-11)
    np.testing.assert_allclose(factor.solve(right), inverse @ right, atol=1e-12)
    sigma = inverse * np.outer(scales, scales)
    np.testing.assert_allclose(factor.covariance, sigma, atol=1e-12)
    np.testing.assert_allclose(factor.root.T @ factor.root, sigma, atol=1e-12)


@both_noises
@pytest.mark.parametrize(
    ("relevance", "kernel", "degrees"),
    [
        ([1.5], ArcCosine(order=1, variance=2.0), range(1, 13)),
        ([0.8, 0.6, 1.0], ArcCosine(order=1, variance=2.0), range(1, 8)),
        ([0.8, 0.6], SquaredExponential(0.7, 1.5), range(1, 14)),
    ],
)
def test_the_bound_is_below_and_rises_with_the_degree(rng, relevance, kernel, degrees, noise):
    geometry = make_geometry(relevance, degrees[-1], noise)
    d, tau2 = geometry.projection.dimension, 0.1
    X, y = make_rows(rng, 150, d - 1)
    whole = equations_of(geometry, X, y)
    bounds = []
    for degree in degrees:
        log_spectrum, _ = kernel.log_spectrum_and_gradient(d, degree)
        bounds.append(evidence(whole.at_degree(degree), log_spectrum, np.array([tau2])).value)

    def kernel_of_cosines(t):
        return kernel.evaluate(np.clip(t, -1, 1), d)

    exact = dense_gp(kernel_of_cosines, geometry, X, y[:, 0], tau2, X[:1])[0]
    rounding = 1e-9 * abs(exact)
    assert np.all(np.diff(bounds) > -rounding)
    assert np.all(np.array(bounds) < exact + rounding)
    assert bounds[-1] > bounds[0] + 1
    if isinstance(kernel, SquaredExponential):  # its tail is gone: the bound is tight
        np.testing.assert_allclose(bounds[-1], exact, rtol=1e-8)


def difference(function, x, step=1e-3):
    """Fourth-order central difference in every coordinate of x."""
    x = np.asarray(x, dtype=float)
    gradient = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        values = []
        for c in (-2, -1, 1, 2):
            moved = x.copy()
            moved[i] += c * step
            values.append(function(moved))
        gradient[i] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return gradient


def assert_gradient(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@both_noises
@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("targets", [1, 3])
def test_gradients_in_spectrum_tail_and_noise(rng, noise, truncated, targets):
    geometry = make_geometry([0.9, 0.5, 0.7], 3, noise, targets)
    X, y = make_rows(rng, 120, 3, targets)
    equations = equations_of(geometry, X, y, rng.exponential(size=120)).centred()
    log_noise = np.log(np.linspace(0.05, 0.2, targets))
    log_noise[-1] = log_noise[0]  # two targets share a factor
    kernel = Matern(1.5, 0.6, 2.0)
    theta = kernel.log_parameters

    def value(theta, log_noise):
        other = kernel.with_log_parameters(theta)
        log_spectrum, _ = other.log_spectrum_and_gradient(4, 3, truncated=truncated)
        return evidence(equations, log_spectrum, np.exp(log_noise)).value

    log_spectrum, jacobian = kernel.log_spectrum_and_gradient(4, 3, truncated=truncated)
    result = evidence(equations, log_spectrum, np.exp(log_noise))
    by_parameter = difference(lambda t: value(t, log_noise), theta)
    assert_gradient(result.d_log_spectrum @ jacobian, by_parameter)
    assert_gradient(result.d_log_noise, difference(lambda n: value(theta, n), log_noise))
    if not truncated:  # every level and the tail by itself
        noise_variance = np.exp(log_noise)
        expected = difference(lambda s: evidence(equations, s, noise_variance).value, log_spectrum)
        assert_gradient(result.d_log_spectrum, expected)


def test_gradients_stay_finite_where_levels_vanish(rng):
    equations = equations_of(make_geometry([0.9, 0.5], 4, "constant"), *make_rows(rng, 80, 2))
    kernel = ArcCosine(order=1)
    log_spectrum, jacobian = kernel.log_spectrum_and_gradient(3, 4)
    assert log_spectrum[3] == -np.inf
    result = evidence(equations, log_spectrum, np.array([0.1]))
    assert result.d_log_spectrum[3] == 0
    assert np.all(np.isfinite(result.d_log_spectrum @ jacobian))
    np.testing.assert_array_equal(result.means[equations.degrees == 3], 0)


@both_noises
def test_several_targets_are_each_alone(rng, noise):
    geometry = make_geometry([0.9, 0.5], 3, noise, targets=3)
    X, y = make_rows(rng, 90, 2, targets=3)
    log_spectrum, _ = Matern(1.5, 0.6).log_spectrum_and_gradient(3, 3)
    tau2 = np.array([0.1, 0.1, 0.3])
    together = evidence(equations_of(geometry, X, y), log_spectrum, tau2)
    alone = []
    for t in range(3):
        equations = equations_of(make_geometry([0.9, 0.5], 3, noise), X, y[:, [t]])
        alone.append(evidence(equations, log_spectrum, tau2[[t]]))
        np.testing.assert_allclose(together.means[:, [t]], alone[t].means, atol=1e-12)
        np.testing.assert_allclose(together.d_log_noise[t], alone[t].d_log_noise[0], rtol=1e-10)
    np.testing.assert_allclose(together.value, sum(a.value for a in alone), rtol=1e-12)
    total = sum(a.d_log_spectrum for a in alone)
    np.testing.assert_allclose(together.d_log_spectrum, total, rtol=1e-9)


def test_no_rows_is_the_prior():
    geometry = make_geometry([0.9, 0.5], 3, "constant")
    log_spectrum, _ = Matern(1.5, 0.6, 2.0).log_spectrum_and_gradient(3, 3, truncated=True)
    empty = Statistics.zero(geometry).normal_equations.centred()
    result = evidence(empty, log_spectrum, np.array([0.1]))
    assert result.value == 0
    posterior = Posterior.of(geometry, result)
    mean, variance = posterior.moments(np.array([[0.1, 0.1]]))  # the centre: r = 1
    np.testing.assert_array_equal(mean, 0)
    np.testing.assert_allclose(variance, 2.0, rtol=1e-12)


def hard_problem(rng):
    """Noise 1e-12 to 1e4, relevances 1e-3 to 1e2, duplicates, fewer rows than harmonics."""
    D, degree, n = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 25)
    X = rng.standard_normal((n, D)) * 10 ** rng.uniform(-1, 1)
    if rng.random() < 0.5:
        X = X[rng.integers(0, max(1, n // 3), n)]  # duplicate rows
    if rng.random() < 0.2:
        X[:, 0] = X[:, -1]  # duplicate columns
    y = rng.standard_normal((n, 1)) * 10 ** rng.uniform(-2, 2)
    weights = rng.integers(0, 3, n).astype(float) if rng.random() < 0.3 else None
    noise = "radial" if rng.random() < 0.5 else "constant"
    relevance = 10 ** rng.uniform(-3, 2, D)
    variance, lengthscale = 10 ** rng.uniform(-4, 6), 10 ** rng.uniform(-1, 0.7)
    kernels = [
        Matern(1.5, lengthscale, variance),
        SquaredExponential(lengthscale, variance),
        ArcCosine(order=int(rng.integers(0, 3)), variance=variance),
        FreeSpectrum(tuple(10 ** rng.uniform(-6, 4, degree + 1))),
    ]
    kernel = kernels[rng.integers(4)]
    return make_geometry(relevance, int(degree), noise), kernel, X, y, weights


@pytest.mark.parametrize("noise", [0.3, 1e-12])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_factor_is_that_of_the_dense_matrix(rng, noise, order):
    """Rows enough for every harmonic, so by Cholesky; the Gram matrix stays as it is."""
    rows = rng.standard_normal((30, 12))
    gram, scales = np.asarray(rows.T @ rows, order=order), np.exp(rng.standard_normal(12))
    before = gram.copy()
    factor = Factor.of(gram, scales, noise)
    assert factor.eigen is None
    B = np.eye(12) + gram * np.outer(scales, scales) / noise
    inverse = np.linalg.inv(B)
    size = np.abs(inverse).max()
    sigma = inverse * np.outer(scales, scales)
    right = rng.standard_normal(12)
    np.testing.assert_allclose(factor.solve(right), inverse @ right, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(factor.inverse_diagonal, inverse.diagonal(), rtol=1e-9)
    root = factor.root
    np.testing.assert_allclose(factor.covariance, sigma, rtol=0, atol=1e-9 * np.abs(sigma).max())
    np.testing.assert_allclose(root.T @ root, sigma, rtol=0, atol=1e-9 * np.abs(sigma).max())
    half = factor.halfway(np.eye(12))
    np.testing.assert_allclose(half.T @ half, inverse, rtol=0, atol=1e-9 * size)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-12)
    np.testing.assert_array_equal(gram, before)


@pytest.mark.parametrize("noise", [0.3, 1e-12])
def test_a_factor_where_rows_are_fewer_than_harmonics(rng, noise):
    """By eigenvalues where the noise is tiny: directions without rows keep their prior."""
    rows, scales = rng.standard_normal((8, 12)), np.exp(rng.standard_normal(12))
    factor = Factor.of(rows.T @ rows, scales, noise)
    assert (factor.eigen is None) == (noise > 1e-6)
    whitened = rows * scales
    of_rows = noise * np.eye(8) + whitened @ whitened.T
    inverse = np.eye(12) - whitened.T @ np.linalg.solve(of_rows, whitened)
    sigma = inverse * np.outer(scales, scales)
    right = whitened.T @ rng.standard_normal(8)
    expected = noise * whitened.T @ np.linalg.solve(of_rows, np.linalg.pinv(whitened.T) @ right)
    np.testing.assert_allclose(factor.solve(right), expected, rtol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal, inverse.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(factor.covariance, sigma, rtol=0, atol=1e-9 * np.abs(sigma).max())
    half = factor.halfway(np.eye(12))
    np.testing.assert_allclose(half.T @ half, inverse, rtol=0, atol=1e-9)
    determinant = np.linalg.slogdet(of_rows / noise)[1]
    assert factor.log_determinant == pytest.approx(determinant, rel=1e-12)


def test_hard_problems_are_hard():
    """Among them, some need eigenvalues, and some the factor form of the variance."""
    seen = {"eigenvalues": 0, "factor form": 0}
    for problem in range(100):
        rng = np.random.default_rng((0, problem))
        geometry, kernel, X, y, weights = hard_problem(rng)
        d, degree = geometry.projection.dimension, geometry.degree
        log_spectrum, _ = kernel.log_spectrum_and_gradient(d, degree)
        result = evidence(equations_of(geometry, X, y, weights), log_spectrum, np.array([1e-12]))
        seen["eigenvalues"] += result.factors[0].eigen is not None
        seen["factor form"] += not Posterior.of(geometry, result).polynomial_variance
    assert min(seen.values()) >= 3, seen


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_hard_problems(seed):
    """No LinAlgError, no NaN, no negative variance: it has digits, and is below the prior's."""
    for problem in range(100):
        rng = np.random.default_rng((seed, problem))
        geometry, kernel, X, y, weights = hard_problem(rng)
        d = geometry.projection.dimension
        truncated = bool(rng.random() < 0.5)
        log_spectrum, jacobian = kernel.log_spectrum_and_gradient(
            d, geometry.degree, truncated=truncated
        )
        tau2 = np.array([10 ** rng.uniform(-12, 4)])
        equations = equations_of(geometry, X, y, weights)
        equations = equations.centred() if rng.random() < 0.5 else equations
        result = evidence(equations, log_spectrum, tau2)
        tail = float(np.exp(log_spectrum[-1]))
        posterior = Posterior.of(geometry, result, tail)
        new = np.vstack([X[:5], 3 * rng.standard_normal((5, d - 1)), np.full((1, d - 1), 0.1)])
        mean, variance = posterior.moments(new, n_jobs=1)
        numbers = [result.value, result.d_log_spectrum @ jacobian, result.d_log_noise, mean]
        numbers.extend(posterior.gradients(new))
        assert all(np.all(np.isfinite(part)) for part in numbers), (seed, problem)
        r = geometry.projection.project(new)[1]
        levels = np.exp(log_spectrum[:-1]) * level_sizes(d, geometry.degree)
        prior = r**2 * (levels.sum() + tail)
        squares = np.sum((posterior.features(new) @ posterior.roots[0].T) ** 2, axis=1)
        np.testing.assert_allclose(variance[:, 0], squares + tail * r**2, rtol=1e-6)
        assert np.all(variance[:, 0] >= 0), (seed, problem)
        assert np.all(variance[:, 0] <= prior * (1 + 1e-6)), (seed, problem)
