"""Neural networks in PyTorch, with and without dropout.

Regression: two hidden layers of 100 ReLU units. Classes: five layers of 300, as those of Baldi
et al. (2014) in the paper's SUSY table (tanh there, ReLU here). Adam at rate 0.001, batches of
256 (1,000 from 100,000 rows on); the number of epochs is chosen on a tenth of the training rows.
As for the trees, the noise is one Gaussian, of the width that suits rows not learned from: out of
five folds up to 50,000 rows, where the network is then trained on all of them. With dropout,
0.05 in regression (Gal and Ghahramani, 2016) and 0.2 in the upper layers for classes, predictions
are mixtures of 50 networks.
"""

import copy
import time
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp

from vish.paper.methods.base import Fitted, Held, Prediction, Training, classes, gaussian

RATE, EPOCHS, SAMPLES, LEAST_NOISE = 1e-3, 500, 50, 1e-3
PATIENCE, PATIENCE_OF_MANY = 100, 3  # epochs without a gain; small tables have plateaus
FEW_ROWS, MANY_ROWS, FOLDS = 50_000, 100_000, 5
_PREDICTED = 100_000


def network(training: Training) -> Fitted:
    return _fit(training, dropout=0.0)


def dropout_network(training: Training) -> Fitted:
    return _fit(training, dropout=0.05 if training.task == "regression" else 0.2)


def _fit(training: Training, dropout: float) -> Fitted:
    deadline = time.perf_counter() + training.budget
    parts = Held(training.X, training.y, training.seed)
    net = Network(training, dropout, deadline)
    epochs = net.train(parts.kept, EPOCHS, parts.held)
    facts: dict = {"epochs": epochs}
    if time.perf_counter() > deadline:
        facts["cut short"] = f"after {epochs} epochs"
    if training.task == "classes":
        return Fitted(lambda Z, t: classes(expit(net.draws(Z)).mean(axis=0), t), facts)
    checked = [(parts.held, net.draws(training.X[parts.held]))]
    if len(training.y) <= FEW_ROWS and "cut short" not in facts:
        everything, folds = np.arange(len(training.y)), []
        for fold in np.array_split(np.concatenate([parts.kept, parts.held]), FOLDS):
            other = Network(training, dropout, deadline)
            other.train(np.setdiff1d(everything, fold), epochs)
            folds.append((fold, other.draws(training.X[fold])))
        if time.perf_counter() > deadline:
            facts["cut short"] = f"after {epochs} epochs on nine tenths of the rows"
        else:
            net, checked = Network(training, dropout, np.inf), folds
            net.train(everything, epochs)
    outputs = np.concatenate([of_rows for _, of_rows in checked], axis=1)
    noise = _noise(outputs, training.y[np.concatenate([rows for rows, _ in checked])])
    return Fitted(lambda Z, truth: _mixture(net.draws(Z), noise, truth), facts)


def _mixture(outputs: np.ndarray, noise: float, truth: np.ndarray) -> Prediction:
    """Prediction by networks drawn, each with Gaussian noise.  [S, n]"""
    each = np.array([gaussian(row, noise, truth).log_density for row in outputs])
    return Prediction(outputs.mean(axis=0), logsumexp(each, axis=0) - np.log(len(outputs)))


def _noise(outputs: np.ndarray, truth: np.ndarray) -> float:
    """The standard deviation that gives rows not learned from the largest density."""
    widest = np.log(np.sqrt(np.mean((truth - outputs) ** 2)) + LEAST_NOISE)

    def loss(log_noise):
        return -_mixture(outputs, np.exp(log_noise), truth).log_density.mean()

    found = minimize_scalar(loss, bounds=(np.log(LEAST_NOISE), widest), method="bounded")
    return float(np.exp(found.x))


class Network:
    """A network, how it is trained, and what it answers."""

    def __init__(self, training: Training, dropout: float, deadline: float) -> None:
        import torch

        torch.manual_seed(training.seed)
        self.torch: Any = torch
        self.dropout, self.deadline = dropout, deadline
        self.centre, self.spread = training.X.mean(axis=0), training.X.std(axis=0)
        self.spread = np.where(self.spread > 0, self.spread, 1.0)
        self.X = self._inputs(training.X)
        self.y = torch.tensor(training.y, dtype=torch.float32)
        regression = training.task == "regression"
        self.loss: Any = torch.nn.MSELoss() if regression else torch.nn.BCEWithLogitsLoss()
        self.model = self._layers(training.X.shape[1], [100, 100] if regression else [300] * 5)

    def _inputs(self, X: np.ndarray):
        return self.torch.tensor((X - self.centre) / self.spread, dtype=self.torch.float32)

    def _layers(self, n_inputs: int, hidden: list[int]):
        nn = self.torch.nn
        parts: list = []
        for place, width in enumerate(hidden):
            parts += [nn.Linear(n_inputs, width), nn.ReLU()]
            if self.dropout and place >= len(hidden) - 3:
                parts.append(nn.Dropout(self.dropout))
            n_inputs = width
        return nn.Sequential(*parts, nn.Linear(n_inputs, 1))

    def train(self, rows: np.ndarray, epochs: int, held: np.ndarray | None = None) -> int:
        """Train; with rows held out, until they stop improving. The epochs that were best."""
        torch, model, many = self.torch, self.model, len(self.y) >= MANY_ROWS
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
        kept, patience = torch.tensor(rows), PATIENCE_OF_MANY if many else PATIENCE
        best, best_loss, best_epoch = model.state_dict(), np.inf, epochs
        for epoch in range(1, epochs + 1):
            model.train()
            for batch in kept[torch.randperm(len(kept))].split(1_000 if many else 256):
                optimiser.zero_grad()
                self.loss(model(self.X[batch])[:, 0], self.y[batch]).backward()
                optimiser.step()
            if held is not None:
                model.eval()
                with torch.no_grad():
                    loss = float(self.loss(model(self.X[held])[:, 0], self.y[held]))
                if loss < best_loss:
                    best, best_loss, best_epoch = copy.deepcopy(model.state_dict()), loss, epoch
                if epoch - best_epoch >= patience:
                    break
            if time.perf_counter() > self.deadline:
                break
        if held is not None:
            model.load_state_dict(best)
        return best_epoch

    def draws(self, Z: np.ndarray) -> np.ndarray:
        """Outputs, one row for each network drawn by dropout.  [S, n]"""
        self.model.train(self.dropout > 0)
        found = []
        with self.torch.no_grad():
            for part in self._inputs(Z).split(_PREDICTED):
                several = [self.model(part)[:, 0] for _ in range(SAMPLES if self.dropout else 1)]
                found.append(self.torch.stack(several).numpy().astype(float))
        return np.concatenate(found, axis=1)
