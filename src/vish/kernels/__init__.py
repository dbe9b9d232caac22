"""Zonal kernels on the sphere, known by their spectra.

A kernel knows no data: for a dimension and a degree it answers with the prior variance
of every degree, the variance beyond, and their gradients. Kernels are immutable values;
`k1 + k2` adds them, and a subclass of `LevelKernel` with one method is your own.
"""

from vish.kernels.arccosine import ArcCosine, NeuralTangent
from vish.kernels.base import Kernel
from vish.kernels.fixed import FixedSpectrum
from vish.kernels.formula import LevelKernel
from vish.kernels.free import FreeSpectrum
from vish.kernels.gegenbauer import zonal_harmonics
from vish.kernels.laplacian import Matern, SquaredExponential
from vish.kernels.parity import Odd
from vish.kernels.storage import from_dict
from vish.kernels.sums import Sum
from vish.kernels.zonal import Polynomial, Zonal

__all__ = [
    "ArcCosine",
    "FixedSpectrum",
    "FreeSpectrum",
    "Kernel",
    "LevelKernel",
    "Matern",
    "NeuralTangent",
    "Odd",
    "Polynomial",
    "SquaredExponential",
    "Sum",
    "Zonal",
    "from_dict",
    "zonal_harmonics",
]
