"""What a method is given, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Training:
    """Rows to learn from, and the settings of the experiment."""

    X: np.ndarray
    y: np.ndarray
    seed: int = 0
    task: str = "regression"  # or "classes": y is 0 or 1
    degree: int | None = None  # the paper's
    n_inducing: int = 500  # of SVGP: as many as VISH has harmonics, in the paper's Table 1
    budget: float = 600.0  # seconds after which gradient methods stop and say so
    steps: int | None = None  # of SVGP, if not by its own rule


class Prediction(NamedTuple):
    """Of test rows: the mean of y, or the probability of class 1; log densities of the truth."""

    mean: np.ndarray
    log_density: np.ndarray


class Fitted(NamedTuple):
    """A model: predicts and scores rows; and what is worth knowing about it."""

    predict: Callable[[np.ndarray, np.ndarray], Prediction]  # X, y -> Prediction
    facts: dict[str, Any] = {}  # noqa: RUF012 - never changed


def gaussian(mean: np.ndarray, std: np.ndarray | float, y: np.ndarray) -> Prediction:
    """Prediction by normal distributions."""
    residual = (y - mean) / std
    return Prediction(mean, -0.5 * np.log(2 * np.pi) - np.log(std) - 0.5 * residual**2)


def classes(probability: np.ndarray, y: np.ndarray) -> Prediction:
    """Prediction of class 1; the density is that of the class observed."""
    p = np.clip(probability.astype(float), 1e-12, 1 - 1e-12)
    return Prediction(probability, np.where(y > 0.5, np.log(p), np.log1p(-p)))


@dataclass
class Held:
    """Rows to learn from and 10 % held out, for early stopping and the width of the noise."""

    X: np.ndarray
    y: np.ndarray
    seed: int
    kept: np.ndarray = field(init=False)
    held: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        n = min(max(len(order) // 10, 1), 100_000)
        self.held, self.kept = order[:n], order[n:]
