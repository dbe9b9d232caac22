"""The methods of the paper by name, and what each is given and gives."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from vish.paper.methods.base import Fitted, Training


class Method(NamedTuple):
    """Where a method lives and what it needs."""

    home: str  # module:function
    what: str
    needs: tuple[str, ...] = ()  # packages of `make peers`
    tasks: tuple[str, ...] = ("regression",)  # of regression, classes, banana

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    def load(self) -> Callable[[Training], Fitted]:
        """The function, with the packages it uses: loading them is not fitting."""
        for name in self.needs:
            import_module(name)
        module, _, function = self.home.partition(":")
        return getattr(import_module(f"vish.paper.methods.{module}"), function)


_BOTH = ("regression", "classes")
METHODS = {
    "vish": Method("spherical:best", "VISH: our best, degree and map by evidence", tasks=_BOTH),
    "vish-warped": Method("spherical:warped", "VISH with a learned warp of the target"),
    "vish-paper": Method(
        "spherical:as_in_the_paper",
        "VISH with the paper's degree, kernel, tail and noise",
        tasks=_BOTH,
    ),
    "vish-fixed": Method(
        "spherical:fixed_degree", "VISH at the paper's degree, one relevance for each input"
    ),
    "gpr": Method("dense:gpr", "exact GP, Matérn-3/2, one lengthscale"),
    "gpr-ard": Method("dense:gpr_ard", "exact GP, Matérn-3/2, a lengthscale for each input"),
    "a-gpr": Method("dense:additive_gpr", "exact GP, a sum of Matérn-3/2 in each input"),
    "svgp": Method(
        "inducing:svgp", "GPyTorch, inducing points", ("torch", "gpytorch"), tasks=_BOTH
    ),
    "vff": Method("fourier:vff", "variational Fourier features, 1 or 2 inputs"),
    "a-vff": Method("fourier:additive_vff", "additive variational Fourier features"),
    "vish-banana": Method("banana:spherical", "VISH, kernel given", tasks=("banana",)),
    "vff-banana": Method("banana:fourier", "Kronecker VFF, kernel given", tasks=("banana",)),
    "lightgbm": Method("trees:boosted", "boosted trees", ("lightgbm",), tasks=_BOTH),
    "nn": Method("networks:network", "neural network", ("torch",), tasks=_BOTH),
    "nn-dropout": Method("networks:dropout_network", "... with dropout", ("torch",), tasks=_BOTH),
    "linear": Method("linear:linear", "linear or logistic regression", tasks=_BOTH),
}
