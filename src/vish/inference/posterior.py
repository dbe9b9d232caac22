r"""The posterior of the weights, factored once, evaluated anywhere.

.. math:: f(x) = \sum_m v_m \psi_m(x), \qquad v \mid y \sim N(\mu, \Sigma)

The mean is a polynomial of degree L on the sphere, the variance one of degree 2L; both are
evaluated as such, without features, in blocks of rows. Where the prior is much wider than
the posterior the variance polynomial cancels, so it is checked against a sum of squares
when the posterior is built. Where they disagree the sum of squares is used: everywhere, or
at the rows whose variance is too small for the error seen.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vish.inference.evidence import Evidence
from vish.inference.statistics import Geometry
from vish.sphere.harmonics import HarmonicBasis
from vish.sphere.threads import map_in_order, row_chunks

_AGREEMENT = 1e-6  # largest relative error of a variance by its polynomial
_OWN_ROUNDING = 16.0  # units in the last place of a variance that its own sum may lose
_SAFETY = 4.0  # how much larger an error may be than those seen


class Moments(NamedTuple):
    """Mean and variance of f at some rows, in the units of the geometry.  [n, T] each"""

    mean: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class Posterior:
    """Gaussian posterior of the weights of every target.

    Parameters
    ----------
    geometry : Geometry
        Of the rows; its degree is that of the means.
    means : array of shape (M, T)
    roots : one array of shape (M, M) per target
        root^T root is the covariance of the weights.
    tail : float
        Variance beyond the degree, delta; adds delta r^2 to the variance of f.
    """

    geometry: Geometry
    means: np.ndarray
    roots: tuple[np.ndarray, ...]
    tail: float = 0.0

    @classmethod
    def of(cls, geometry: Geometry, result: Evidence, tail: float = 0.0) -> "Posterior":
        return cls(geometry, result.means, tuple(f.root for f in result.factors), tail)

    @cached_property
    def covariances(self) -> tuple[np.ndarray, ...]:
        """Sigma of every target.  [M, M] each"""
        return _once(lambda root: root.T @ root, self.roots)

    @cached_property
    def _basis(self) -> HarmonicBasis:
        return self.geometry.engine.basis

    @cached_property
    def _linear(self):
        return self.geometry.engine.linear_form(self.means)

    @cached_property
    def _quadratic(self):
        """One quadratic form per target."""
        return _once(self.geometry.engine.quadratic_form, self.covariances)

    @cached_property
    def _polynomial_check(self) -> tuple[np.ndarray, np.ndarray]:
        """Errors of the variance polynomials, and their values, at rows typical and far.

        [T, 64] each.
        """
        rng = np.random.default_rng(0)
        d = self.geometry.projection.dimension
        spread = np.logspace(-2, 1.5, 64) / np.sqrt(d)
        points = np.vstack([rng.standard_normal((d - 1, 64)) * spread, np.ones((1, 64))])
        points /= np.sqrt((points**2).sum(axis=0))
        squares = self._sums_of_squares(points)
        return np.abs(self._polynomials(points)[1] - squares), squares

    @cached_property
    def polynomial_variance(self) -> bool:
        """Whether the variance polynomial keeps its digits."""
        errors, squares = self._polynomial_check
        return not np.any(errors > _AGREEMENT * squares)

    @cached_property
    def _least_variances(self) -> np.ndarray:
        """Below these, next to rows of small noise, the polynomials lose digits.  [T]

        The harmonics have the same length everywhere on the sphere, so the error is about
        as large everywhere, whatever the variance; but a large variance has its own rounding,
        which small ones do not share.
        """
        errors, squares = self._polynomial_check
        eps = np.finfo(float).eps
        shared = np.maximum(errors - _OWN_ROUNDING * eps * squares, 0.0)
        return np.maximum(_SAFETY * shared.max(axis=1), eps * squares.max(axis=1)) / _AGREEMENT

    def _polynomials(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """mu^T phi and phi^T Sigma phi as polynomials.  [d, n] -> [T, n] twice"""
        engine, (first, *others) = self.geometry.engine, self._quadratic
        values, means = engine.forms(points, first, self._linear)
        rest = _once(
            lambda form: values if form is first else engine.quadratic(points, form), others
        )
        return means, np.array([values, *rest])

    def _sums_of_squares(self, points: np.ndarray) -> np.ndarray:
        """phi^T Sigma phi = |root phi|^2.  [d, n] -> [T, n]"""
        features = self._basis.evaluate(points.T, n_jobs=1)
        return np.array(_once(lambda root: np.sum((features @ root.T) ** 2, axis=1), self.roots))

    def _means(self, points: np.ndarray) -> np.ndarray:
        """mu^T phi.  [d, n] -> [T, n]"""
        return self.geometry.engine.linear(points, self._linear)

    def _on_sphere(
        self, points: np.ndarray, beside: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        """mu^T phi, and phi^T Sigma phi by the form that keeps its digits.  [d, n] -> [T, n] twice

        Those that matter: `beside` [T, n] is what will be added to it.
        """
        errors, _ = self._polynomial_check
        hidden = _SAFETY * errors.max() <= _AGREEMENT * np.min(beside)
        if not (hidden or self.polynomial_variance):
            return self._means(points), self._sums_of_squares(points)
        means, variances = self._polynomials(points)
        if hidden:
            return means, np.maximum(variances, 0.0)
        doubtful = np.any(variances + beside < self._least_variances[:, None], axis=0)
        if doubtful.any():
            variances[:, doubtful] = self._sums_of_squares(points[:, doubtful])
        return means, variances

    def prepare(self) -> None:
        """Do now what all threads would otherwise do at their first chunk."""
        self._linear  # noqa: B018
        self._least_variances  # noqa: B018

    def moments_of_chunk(
        self, X: np.ndarray, with_variance: bool = True, noise: np.ndarray | None = None
    ) -> Moments:
        """Mean and variance of f at a few rows.  [n, D] -> [n, T] twice"""
        points, r = self.geometry.projection.project_chunk(X)
        if not with_variance:
            mean = (r * self._means(points)).T
            return Moments(mean, np.empty_like(mean))
        beside: np.ndarray | float = self.tail
        if noise is not None:
            radial = self.geometry.noise == "radial"
            beside = self.tail + noise[:, None] / (1.0 if radial else r**2)
        means, variances = self._on_sphere(points, beside)
        return Moments((r * means).T, (r**2 * (variances + self.tail)).T)

    def moments(
        self,
        X: np.ndarray,
        with_variance: bool = True,
        n_jobs: int | None = None,
        noise: np.ndarray | None = None,
    ) -> Moments:
        """Mean and variance of f at all rows, in blocks.  [N, D] -> [N, T] twice

        Where the noise of the targets [T] will be added, give it: the variance of f then needs
        only the digits that the sum of both can show, which is much cheaper.
        """
        shape = (len(X), self.geometry.n_targets)
        mean, variance = np.empty(shape), np.empty(shape if with_variance else (0, 0))
        if with_variance:
            self._least_variances  # noqa: B018  decided once, not by every thread

        def fill(rows: slice) -> None:
            part = self.moments_of_chunk(X[rows], with_variance, noise)
            mean[rows] = part.mean
            if with_variance:
                variance[rows] = part.variance

        for _ in map_in_order(fill, row_chunks(len(X)), n_jobs):
            pass
        return Moments(mean, variance)

    def features(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """psi = r phi(xi).  [n, D] -> [n, M]"""
        directions, radii = self.geometry.projection.project(X, n_jobs)
        return self._basis.evaluate(directions, n_jobs) * radii[:, None]

    def covariance(self, X: np.ndarray) -> np.ndarray:
        """Joint covariance of f at the rows.  [n, D] -> [T, n, n]

        The part beyond the degree is taken as independent between rows.
        """
        psi = self.features(X)
        covariance = np.array(_once(lambda root: (psi @ root.T) @ (psi @ root.T).T, self.roots))
        if self.tail:
            _, radii = self.geometry.projection.project(X)
            covariance[:, np.arange(len(X)), np.arange(len(X))] += self.tail * radii**2
        return covariance

    def draw_weights(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of the weights.  -> [n, M, T]"""
        draws = [
            self.means[:, t] + rng.standard_normal((n, len(root))) @ root
            for t, root in enumerate(self.roots)
        ]
        return np.stack(draws, axis=-1)

    def combine(self, X: np.ndarray, weights: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """The function with the given weights, such as a draw.  [n, D], [M, T] -> [n, T]"""
        return Posterior(self.geometry, weights, self.roots).moments(X, False, n_jobs).mean

    def gradients(self, X: np.ndarray) -> Moments:
        """Gradients of mean and variance of f in the inputs.  [n, D] -> [n, T, D] twice"""
        geometry, engine = self.geometry, self.geometry.engine
        points, r = geometry.projection.project_chunk(X)
        m = self._means(points)
        mean, variance = [], []
        for t, form in enumerate(self._quadratic):
            pick = np.eye(len(m))[:, [t]] * np.ones(m.shape)
            tangent = engine.linear_pull_back(points, self._linear, pick)
            mean.append(_ambient(geometry, points, tangent, m[t]))
            v, v_gradient = engine.pull_back(
                points, form, np.ones_like(r), self._linear, np.zeros_like(m)
            )
            radial = 2 * r * (v + self.tail)
            variance.append(_ambient(geometry, points, r * v_gradient, radial))
        return Moments(np.stack(mean, axis=1), np.stack(variance, axis=1))


def _ambient(geometry, points, tangent, radial):
    """Gradient in the inputs from a gradient on the sphere and a radial derivative."""
    radial = radial - np.einsum("in,in->n", points, tangent)
    return geometry.projection.input_gradient(tangent + radial * points)


def _once(function, items):
    """function of every item, computed once for items that are the same object."""
    results = {id(item): function(item) for item in {id(i): i for i in items}.values()}
    return tuple(results[id(item)] for item in items)
