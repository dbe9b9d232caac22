"""The sphere: projection of rows, harmonics in any dimension, polynomials and moments."""

from vish.sphere.harmonics import HarmonicBasis
from vish.sphere.projection import Projection

__all__ = ["HarmonicBasis", "Projection"]
