r"""Gradient of the evidence in the linear map onto the sphere. This one needs rows.

With the posterior fixed, a row enters the evidence through its mean M = r m(xi) and variance
V = r^2 v(xi) alone, and its gradient in :math:`\tilde x = r \xi` is

.. math:: \frac{\omega}{\tau^2} \big[ (y - M) \nabla M - \tfrac12 \nabla V \big]

for constant noise, from which the variational tail takes :math:`\omega \delta r \xi / \tau^2`.
Radial noise has m, v and y / r in place of M, V and y, and the terms of the radius,
:math:`[\omega (y/r - m) y / (r^2 \tau^2) - \omega / r]\, \xi`.
"""

import numpy as np

from vish.inference.evidence import Evidence
from vish.inference.passes import total
from vish.inference.sources import Chunk, RowSource
from vish.inference.statistics import Geometry


def relevance_gradient(
    geometry: Geometry,
    source: RowSource,
    result: Evidence,
    noise: np.ndarray,
    tail: float,
    mean: np.ndarray,
    n_jobs: int | None = None,
) -> np.ndarray:
    """dE / d relevance, summed over the rows of a source.  -> shape of the relevance

    Parameters
    ----------
    result : Evidence
        Evidence of the statistics of these very rows in this geometry.
    mean : array of shape (T,)
        What was subtracted from the standardised targets.
    """
    engine, projection = geometry.engine, geometry.projection
    linear = engine.linear_form(result.means)
    shared = sum(f.covariance / tau2 for f, tau2 in zip(result.factors, noise, strict=True))
    quadratic = engine.quadratic_form(shared)
    inverse_noise = 1 / noise[:, None]

    def of_chunk(chunk: Chunk) -> np.ndarray:
        points, r = projection.project_chunk(chunk.X)
        y = geometry.standardise(chunk.y) - mean[:, None]
        omega = np.ones(len(r)) if chunk.weights is None else chunk.weights
        m = engine.linear(points, linear)  # [T, n]
        if geometry.noise == "radial":
            slope = omega * (y / r - m) * inverse_noise  # dE/dm
            _, tangent = engine.pull_back(points, quadratic, -omega / 2, linear, slope)
            tangent = tangent / r
            radial = np.sum(slope * y, axis=0) / r**2 - omega * len(y) / r
        else:
            slope = omega * (y - r * m) * inverse_noise  # dE/dM
            v, tangent = engine.pull_back(points, quadratic, -omega * r / 2, linear, slope)
            radial = np.sum(slope * m, axis=0) - omega * r * v  # v sums over targets
            radial -= omega * r * tail * inverse_noise.sum()
        radial = radial - np.einsum("in,in->n", points, tangent)  # project the tangent part
        return projection.pull_back(chunk.X, tangent + radial * points)

    gradient = total(source, of_chunk, n_jobs)
    return np.zeros(projection.relevance.shape) if gradient is None else gradient
