"""A kernel and a likelihood of your own: one method each."""

from dataclasses import dataclass

import numpy as np

from vish import VISHRegressor
from vish.kernels import LevelKernel, Matern
from vish.likelihoods import Likelihood


@dataclass(frozen=True)
class RationalLevels(LevelKernel):
    """Levels that fall like a power of the degree: rough functions."""

    power: float = 4.0
    variance: float = 1.0
    learned = ("power", "variance")

    def log_levels(self, dimension, degrees):
        return -(self.power + dimension) / 2 * np.log1p(degrees * (degrees + dimension - 2))


@dataclass(frozen=True)
class Logistic(Likelihood):
    """Noise with tails between those of Gauss and Laplace."""

    scale: float = 0.5
    learned = ("scale",)

    def log_density(self, y, f):
        u = (y - f) / self.scale
        return -u - 2 * np.logaddexp(0, -u) - np.log(self.scale)


rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (1500, 2))
y = np.abs(X[:, 0]) + np.sin(2 * X[:, 1]) + rng.logistic(scale=0.15, size=1500)
train, test = slice(0, 1000), slice(1000, 1500)

for kernel in (Matern(1.5), RationalLevels()):
    for likelihood in (None, Logistic()):
        model = VISHRegressor(kernel, degree=8, rank=None, likelihood=likelihood)
        model.fit(X[train], y[train])
        density = model.log_density(X[test], y[test]).mean()
        names = type(kernel).__name__, type(model.likelihood_).__name__
        print(f"{names[0]:15} {names[1]:9} mean log density {density:.3f}")
print(model.kernel_)
print(f"scale of the noise {model.likelihood_.scale * y[train].std():.3f}, true 0.15")
