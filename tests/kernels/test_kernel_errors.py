"""Bad input: each case, and the text of its error."""

from dataclasses import dataclass

import numpy as np
import pytest

from vish.kernels import (
    ArcCosine,
    FixedSpectrum,
    FreeSpectrum,
    LevelKernel,
    Matern,
    NeuralTangent,
    Odd,
    Polynomial,
    SquaredExponential,
    Sum,
    Zonal,
    from_dict,
    zonal_harmonics,
)


@dataclass(frozen=True)
class Constant(LevelKernel):
    value: float = 0.0
    variance: float = 1.0

    def log_levels(self, dimension, degrees):
        return np.full(degrees.shape, self.value)


@dataclass(frozen=True)
class Scalar(LevelKernel):
    variance: float = 1.0

    def log_levels(self, dimension, degrees):
        return 0.0


CASES = {
    "odd of a stored spectrum": (
        lambda: Odd(Matern(1.5, 0.5).freeze(3, 4)),
        r"take the odd ones first, Odd\(kernel\).freeze",
    ),
    "odd of no kernel": (lambda: Odd(1.5), r"give a kernel, such as Odd\(Matern\(1.5\)\), not 1.5"),
    "odd at degree 0": (
        lambda: Odd(Matern()).spectrum(3, 0, truncated=True),
        "no variance up to degree 0 in dimension 3; raise the degree",
    ),
    "odd part of a constant": (
        lambda: Odd(Polynomial(0)).spectrum(3, 4),
        "take a kernel that has odd degrees",
    ),
    "nu": (lambda: Matern(nu=0), "nu must be a positive finite number, got 0"),
    "nu nan": (lambda: Matern(nu=np.nan), "nu must be a positive finite number, got nan"),
    "nu text": (lambda: Matern(nu="rough"), "nu must be .* got 'rough'"),
    "nu tiny": (
        lambda: Matern(0.001).tail(3, 2),
        "decay too slowly .* nu of at least 0.03",
    ),
    "lengthscale": (lambda: Matern(1.5, -1.0), "lengthscale must be .* leave it None"),
    "lengthscale inf": (
        lambda: SquaredExponential(np.inf),
        "lengthscale must be .* got inf",
    ),
    "convention": (lambda: Matern(convention="flat"), "'sphere' or 'paper', got 'flat'"),
    "variance": (
        lambda: SquaredExponential(1.0, 0.0),
        "variance must be .* value at cosine 1",
    ),
    "order": (lambda: ArcCosine(order=3), "order must be 0, 1 or 2, got 3; .* Zonal"),
    "order bool": (lambda: ArcCosine(order=True), "order must be 0, 1 or 2, got True"),
    "depth": (lambda: ArcCosine(depth=0), "depth must be an integer of at least 1, got 0"),
    "depth half": (lambda: NeuralTangent(depth=1.5), "depth must be an integer .* got 1.5"),
    "power": (
        lambda: Polynomial(degree=-1),
        "degree must be an integer of at least 0, got -1",
    ),
    "offset": (lambda: Polynomial(offset=-0.1), "offset .* not positive definite"),
    "no function": (lambda: Zonal(3.0), "shape must be a function of an array of cosines"),
    "free empty": (lambda: FreeSpectrum(()), "variances must be a sequence"),
    "free number": (lambda: FreeSpectrum(1.0), "variances must be a sequence, got 1.0"),
    "free zero": (
        lambda: FreeSpectrum((1.0, 0.0)),
        "variance must be a positive .* got 0.0",
    ),
    "shares": (lambda: FixedSpectrum(3, (0.5, 0.2)), "add up to 1, got the sum 0.7"),
    "fixed use": (
        lambda: FixedSpectrum(3, (1.0,)).spectrum(4, 0),
        "holds dimension 3 up to degree 0, and was asked for dimension 4",
    ),
    "dimension": (lambda: Matern().spectrum(1, 3), "dimension is 1: give an integer"),
    "dimension half": (lambda: Matern().start(2.5, 3), "dimension is 2.5: give an integer"),
    "degree": (
        lambda: ArcCosine().tail(3, -1),
        "degree is -1: give an integer of at least 0",
    ),
    "harmonics": (lambda: zonal_harmonics([0.0], 0, 2), "dimension is 0"),
    "cosine": (
        lambda: Matern().evaluate([0.0, 1.5], 3),
        r"\[-1, 1\], got 1.5; .* unit vec",
    ),
    "cosine nan": (lambda: ArcCosine().evaluate(np.nan, 3), "got nan"),
    "no start": (
        lambda: Matern().log_parameters,
        "lengthscale is not set; .* kernel.start",
    ),
    "no variances": (lambda: FreeSpectrum().log_parameters, "not set; .* kernel.start"),
    "sum": (lambda: Sum((Matern(), 2.0)), "every part must be a kernel, got 2.0"),
    "sum empty": (lambda: Sum(()), "no kernels to add"),
    "sum theta": (
        lambda: (Matern() + ArcCosine()).with_log_parameters([0.0]),
        r"3 log parameters, got an array of shape \(1,\)",
    ),
    "not definite": (
        lambda: Zonal(lambda t: t + 0.5 - t**2).spectrum(3, 3),
        "definite in dimension 3: its level of degree 2 has coefficient -0.267",
    ),
    "definite on the circle only": (
        lambda: Zonal(lambda t: np.cos(2 * np.arccos(t))).spectrum(3, 2),
        "not positive definite in dimension 3: its level of degree 0",
    ),
    "negative at one": (lambda: Zonal(lambda t: -t).spectrum(3, 1), "is -1 at cosine 1"),
    "infinite shape": (
        lambda: Zonal(lambda t: np.where(t < 0, np.inf, 1.0)).spectrum(3, 1),
        "not finite at cosine -",
    ),
    "scalar shape": (
        lambda: Zonal(lambda t: 1.0).spectrum(3, 1),
        "returned float64 of shape",
    ),
    "complex shape": (lambda: Zonal(lambda t: t + 0j).spectrum(3, 1), "one real value"),
    "nan levels": (
        lambda: Constant(np.nan).spectrum(3, 1),
        "not a number below infinity at",
    ),
    "flat levels": (
        lambda: Constant(0.0).spectrum(3, 1),
        "Constant: the levels decay too slow",
    ),
    "scalar levels": (lambda: Scalar().spectrum(3, 1), "must return one value for each of"),
    "no kept level": (
        lambda: Polynomial(3, offset=0.0).spectrum(3, 0, truncated=True),
        "no variance up to degree 0 in dimension 3; raise the degree",
    ),
    "store code": (
        lambda: Zonal(np.exp).to_dict(),
        r"holds code.*freeze\(dimension, degree\)",
    ),
    "store own": (lambda: Scalar().to_dict(), "Scalar holds code"),
    "unknown": (lambda: from_dict({"kernel": "Brownian"}), "no kernel is named 'Brownian'"),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES.keys())
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_only_kernels_add():
    with pytest.raises(TypeError, match="unsupported operand"):
        Matern() + 1.0
