r"""The variance of the function, :math:`\phi^\top \Sigma \phi`, small enough for a page.

On the sphere it is a polynomial of degree 2L, whose coefficients are far fewer than the entries
of the covariance (19,305 for 8 inputs at degree 4, not 218,130). Which form keeps both the
digits and the size depends on the dimension and the degree, so each is compared with the model
itself at some rows, and the first that is exact is taken:

* squares: :math:`|R \phi|^2` with a triangular root R;
* monomials: coefficients of the monomials of degree 2L and 2L-1 (of odd degrees alone, 2L);
* harmonics: coefficients of the harmonics up to degree 2L, for few inputs at high degree, where
  monomials are badly conditioned; found by exact quadrature;
* rank: the largest eigenvectors alone. Not exact: the page says how far it is off.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import roots_gegenbauer

from vish.inference.posterior import Posterior
from vish.report.packing import packed
from vish.sphere.engines import PolynomialEngine
from vish.sphere.harmonics import HarmonicBasis
from vish.sphere.memory import basis_size
from vish.sphere.monomials import first_order, first_rank, last_order

BUDGET = 1_000_000  # bytes for all variances of a page, before base64
EXACT = 2e-7  # largest relative error of a variance that counts as none
_MOST_NODES = 60_000  # of a quadrature


class Form(NamedTuple):
    """A way to write the variances of all targets down, and its error."""

    name: str
    stored: dict[str, Any]
    error: float  # largest, relative to the variance of an observation


def choose(
    posterior: Posterior, X: np.ndarray, extra: np.ndarray, budget: int = BUDGET
) -> Form | None:
    """The first form that is exact and fits, or the best that fits; None if none does.

    `extra` [n, T] is the variance that observations have besides that of the function.
    """
    points, radii = posterior.geometry.projection.project_chunk(X)
    wanted = posterior.moments(X, n_jobs=1).variance.T / radii**2 - posterior.tail  # [T, n]
    scale = wanted + extra.T / radii**2
    best = None
    for name, size, make in _candidates(posterior):
        if size > budget:
            continue
        stored, values = make(points, budget)
        form = Form(name, stored, float(np.max(np.abs(values - wanted) / scale)))
        if best is None or form.error < best.error:
            best = form
        if form.error <= EXACT:
            break
    return best


Maker = Callable[[np.ndarray, int], tuple[dict[str, Any], np.ndarray]]


def _candidates(posterior: Posterior) -> Iterator[tuple[str, int, Maker]]:
    """Forms with their sizes in bytes, in the order in which they are preferred."""
    geometry = posterior.geometry
    d, L = geometry.projection.dimension, geometry.degree
    M = len(posterior.means)
    n_roots = len({id(root) for root in posterior.roots})
    triangle = n_roots * M * (M + 1) // 2
    if 8 * triangle <= 200_000:
        yield "squares", 8 * triangle, lambda points, _: _squares(posterior, points, "f8")
    if isinstance(geometry.engine, PolynomialEngine) and posterior.polynomial_variance:
        size = 8 * n_roots * geometry.engine.size
        yield "monomials", size, lambda points, _: _monomials(posterior, points)
    yield "squares", 8 * triangle, lambda points, _: _squares(posterior, points, "f8")
    if d <= 4 and _n_nodes(d, L) <= _MOST_NODES:
        size = 8 * n_roots * basis_size(d, 2 * L)
        yield "harmonics", size, lambda points, _: _harmonics(posterior, points)
    yield "squares", 4 * triangle, lambda points, _: _squares(posterior, points, "f4")
    yield "rank", 4 * n_roots * M, lambda points, budget: _rank(posterior, points, budget)


def _features(posterior: Posterior, points: np.ndarray) -> np.ndarray:
    return posterior.geometry.engine.basis.evaluate(points.T, n_jobs=1)


def _by_root(posterior: Posterior, function: Callable) -> tuple[list[Any], list[int]]:
    """function(root) for every different root, and which of them belongs to each target."""
    different = list({id(root): root for root in posterior.roots}.values())
    places = {id(root): i for i, root in enumerate(different)}
    return [function(root) for root in different], [places[id(r)] for r in posterior.roots]


def _squares(posterior: Posterior, points: np.ndarray, kind: str) -> tuple[dict, np.ndarray]:
    features = _features(posterior, points)
    dtype = np.float64 if kind == "f8" else np.float32

    def triangular(root: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.qr(root, mode="r"), dtype=dtype)

    roots, of_target = _by_root(posterior, triangular)
    upper = np.triu_indices(len(posterior.means))
    values = [np.sum((features @ root.astype(float).T) ** 2, axis=1) for root in roots]
    stored = {"roots": [packed(root[upper], kind) for root in roots], "of_target": of_target}
    return stored, np.array(values)[of_target]


def _rank(posterior: Posterior, points: np.ndarray, budget: int) -> tuple[dict, np.ndarray]:
    features, M = _features(posterior, points), len(posterior.means)
    n_roots = len({id(root) for root in posterior.roots})
    k = min(M, budget // (4 * n_roots * M))

    def largest(root: np.ndarray) -> np.ndarray:
        _, lengths, directions = np.linalg.svd(root)
        return (lengths[:k, None] * directions[:k]).astype(np.float32)

    rows, of_target = _by_root(posterior, largest)
    values = [np.sum((features @ part.astype(float).T) ** 2, axis=1) for part in rows]
    stored = {"rows": [packed(part, "f4") for part in rows], "rank": k, "of_target": of_target}
    return stored, np.array(values)[of_target]


def _monomials(posterior: Posterior, points: np.ndarray) -> tuple[dict, np.ndarray]:
    """Coefficients in the first order of `vish.sphere.monomials`, degree 2L then any of 2L-1."""
    geometry = posterior.geometry
    engine, d, L = geometry.engine, geometry.projection.dimension, geometry.degree
    assert isinstance(engine, PolynomialEngine)
    layout = engine.layout
    row = np.repeat(np.arange(len(layout.extents)), layout.extents)
    first = first_order(d, L)[np.arange(layout.size) - layout.offsets[row]]
    last, n_upper = layout.order[row], len(last_order(d, L))
    upper = last < n_upper
    # The variables of a moment are those of its first half, then those of its last: sorted.
    even = first_rank(np.hstack([first[upper], last_order(d, L)[last[upper]]]))
    odd = first_rank(np.hstack([first[~upper], last_order(d, L - 1)[last[~upper] - n_upper]]))

    def ordered(root: np.ndarray) -> np.ndarray:
        coefficients = engine.moment_coefficients(root.T @ root)
        out = np.empty(layout.size)
        out[even], out[len(even) + odd] = coefficients[upper], coefficients[~upper]
        return out

    coefficients, of_target = _by_root(posterior, ordered)
    values = [
        engine.quadratic(points, engine.quadratic_form(root.T @ root))
        for root in {id(root): root for root in posterior.roots}.values()
    ]
    stored = {
        "degree": 2 * L,
        "coefficients": [packed(c) for c in coefficients],
        "of_target": of_target,
    }
    return stored, np.array(values)[of_target]


def _n_nodes(d: int, L: int) -> int:
    return (2 * L + 1) ** (d - 2) * (4 * L + 2)


def _harmonics(posterior: Posterior, points: np.ndarray) -> tuple[dict, np.ndarray]:
    geometry = posterior.geometry
    d, L = geometry.projection.dimension, geometry.degree
    wide = HarmonicBasis(d, 2 * L)
    nodes, weights = sphere_quadrature(d, 4 * L)
    features, harmonics = _features(posterior, nodes), wide.evaluate(nodes.T, n_jobs=1)

    def project(root: np.ndarray) -> np.ndarray:
        return harmonics.T @ (weights * np.sum((features @ root.T) ** 2, axis=1))

    coefficients, of_target = _by_root(posterior, project)
    at_points = wide.evaluate(points.T, n_jobs=1)
    stored = {
        "basis": program(wide),
        "coefficients": [packed(c) for c in coefficients],
        "of_target": of_target,
    }
    return stored, np.array([at_points @ c for c in coefficients])[of_target]


def sphere_quadrature(d: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights exact for polynomials of a degree, uniform measure.  [d, n], [n]"""
    angles = 2 * np.pi * np.arange(degree + 2) / (degree + 2)
    nodes, weights = np.array([np.cos(angles), np.sin(angles)]), np.full(degree + 2, 1.0)
    for j in range(3, d + 1):  # the last of j coordinates has density (1 - t^2)^((j-3)/2)
        t, w = roots_gegenbauer(degree // 2 + 1, (j - 2) / 2)
        rest = np.sqrt(1 - t**2)
        nodes = np.vstack(
            [
                np.repeat(rest, nodes.shape[1]) * np.tile(nodes, len(t)),
                np.repeat(t, nodes.shape[1])[None],
            ]
        )
        weights = np.kron(w, weights)
    return nodes, weights / weights.sum()


def program(basis: HarmonicBasis) -> dict[str, Any]:
    """The recursion of a basis as the page carries it out."""
    recursion = basis._recursion
    return {
        "dimension": basis.dimension,
        "degree": basis.degree,
        "parents": packed(recursion.parents, "i4"),
        "factors": packed(recursion.factors, "i4"),
        "steps": recursion.steps.tolist(),
        "betas": packed(recursion.betas),
        "columns": packed(basis._columns, "i4"),
        "scales": packed(recursion.scales[basis._columns]),
    }
