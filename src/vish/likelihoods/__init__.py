"""What is observed, given the latent function."""

from vish.likelihoods.gaussian import Gaussian, SinhArcsinh, Warped

__all__ = ["Gaussian", "SinhArcsinh", "Warped"]
