"""What is observed, given the latent function."""

from vish.likelihoods.base import Expectation, Likelihood
from vish.likelihoods.binary import Bernoulli, Ordinal
from vish.likelihoods.continuous import Beta, Gamma, Heteroscedastic, Laplace, StudentT
from vish.likelihoods.counts import NegativeBinomial, Poisson
from vish.likelihoods.gaussian import Gaussian, SinhArcsinh, Warped
from vish.likelihoods.softmax import Softmax

__all__ = [
    "Bernoulli",
    "Beta",
    "Expectation",
    "Gamma",
    "Gaussian",
    "Heteroscedastic",
    "Laplace",
    "Likelihood",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "SinhArcsinh",
    "Softmax",
    "StudentT",
    "Warped",
]
