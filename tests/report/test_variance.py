"""Each way to write the variance down is the model's own variance; packing loses nothing."""

import numpy as np
import pytest

from vish import VISHRegressor
from vish.kernels import ArcCosine, Matern, Odd
from vish.report import variance
from vish.report.formula import formula
from vish.report.packing import packed, unpacked
from vish.sphere import HarmonicBasis


def fitted(n_inputs, degree, rng, kernel=None):
    X = rng.normal(size=(200, n_inputs))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    return VISHRegressor(kernel, degree=degree, rank=None, optimize=False).fit(X, y), X


@pytest.mark.parametrize(
    ("n_inputs", "degree", "budget", "form"),
    [
        (2, 3, 1_000_000, "squares"),
        (7, 3, 1_000_000, "squares"),
        (8, 4, 1_000_000, "monomials"),
        (1, 300, 1_000_000, "harmonics"),
        (2, 20, 200_000, "harmonics"),
        (3, 12, 300_000, "monomials"),
    ],
)
def test_the_form_that_is_chosen_is_exact(n_inputs, degree, budget, form, rng):
    model, X = fitted(n_inputs, degree, rng)
    found = formula(model, X[:50], budget)
    assert found["variance"]["form"] == form
    assert found["exact"]
    assert found["variance_error"] < variance.EXACT


@pytest.mark.parametrize(
    ("kernel", "n_inputs", "degree", "form"),
    [
        (Odd(Matern(1.5)), 2, 3, "squares"),
        (Odd(Matern(1.5)), 10, 3, "monomials"),
        (ArcCosine(1), 3, 4, "squares"),  # its degree 3 is there, without variance
    ],
)
def test_kernels_that_leave_degrees_out(kernel, n_inputs, degree, form, rng):
    model, X = fitted(n_inputs, degree, rng, kernel)
    found = formula(model, X[:50])
    assert found["variance"]["form"] == form
    assert found["exact"]


def test_what_does_not_fit_is_cut_and_its_error_known(rng):
    model, X = fitted(6, 4, rng)  # M = 294
    small = formula(model, X[:50], 30_000)
    assert small["variance"]["form"] == "rank"
    assert not small["exact"]
    assert variance.EXACT < small["variance_error"] < 1
    assert formula(model, X[:50], 100)["variance"] is None


@pytest.mark.parametrize(("d", "degree"), [(2, 9), (3, 8), (4, 6)])
def test_quadrature_is_exact(d, degree):
    nodes, weights = variance.sphere_quadrature(d, 2 * degree)
    values = HarmonicBasis(d, degree).evaluate(nodes.T)
    np.testing.assert_allclose(values.T * weights @ values, np.eye(values.shape[1]), atol=1e-12)


@pytest.mark.parametrize("kind", ["f8", "f4", "i4"])
def test_packing(kind, rng):
    array = rng.integers(-9, 9, (3, 4))
    np.testing.assert_array_equal(unpacked(packed(array, kind)), array.ravel())
