"""Neural networks in PyTorch, with and without dropout.

Regression: two hidden layers of 100 ReLU units. Classes: five layers of 300, as those of Baldi
et al. (2014) in the paper's SUSY table (tanh there, ReLU here). Adam at rate 0.001, batches of
256 (1,000 from 100,000 rows on), stopped early on a tenth of the training rows, whose residuals
also give the noise. With dropout, 0.05 in regression (Gal and Ghahramani, 2016) and 0.2 in the
upper layers for classes; predictions are mixtures of 50 networks drawn by dropout.
"""

import copy
import time

import numpy as np
from scipy.special import logsumexp

from vish.paper.methods.base import Fitted, Held, Prediction, Training, classes, gaussian

RATE, EPOCHS, PATIENCE, SAMPLES = 1e-3, 500, 30, 50
MANY_ROWS = 100_000
_PREDICTED = 100_000


def network(training: Training) -> Fitted:
    return _fit(training, dropout=0.0)


def dropout_network(training: Training) -> Fitted:
    return _fit(training, dropout=0.05 if training.task == "regression" else 0.2)


def _fit(training: Training, dropout: float) -> Fitted:
    import torch

    torch.manual_seed(training.seed)
    centre, spread = training.X.mean(axis=0), training.X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    regression = training.task == "regression"

    def inputs(X):
        return torch.tensor((X - centre) / spread, dtype=torch.float32)

    X, y = inputs(training.X), torch.tensor(training.y, dtype=torch.float32)
    parts = Held(training.X, training.y, training.seed)
    kept, held = torch.tensor(parts.kept), torch.tensor(parts.held)
    layers = [100, 100] if regression else [300] * 5
    model = _layers(torch, X.shape[1], layers, dropout)
    measure = torch.nn.MSELoss() if regression else torch.nn.BCEWithLogitsLoss()
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    batch = 256 if len(y) < MANY_ROWS else 1_000
    patience = PATIENCE if len(y) < MANY_ROWS else 3
    best, best_loss, since, epochs = copy.deepcopy(model.state_dict()), np.inf, 0, 0
    started = time.perf_counter()
    for _ in range(EPOCHS):
        model.train()
        for rows in kept[torch.randperm(len(kept))].split(batch):
            optimiser.zero_grad()
            measure(model(X[rows])[:, 0], y[rows]).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            loss = float(measure(model(X[held])[:, 0], y[held]))
        since, epochs = since + 1, epochs + 1
        if loss < best_loss:
            best, best_loss, since = copy.deepcopy(model.state_dict()), loss, 0
        if since >= patience or time.perf_counter() - started > training.budget:
            break
    model.load_state_dict(best)
    facts: dict = {"epochs": epochs}
    if time.perf_counter() - started > training.budget:
        facts["cut short"] = f"after {epochs} epochs"

    def draws(Z):
        """Outputs, one row for each network drawn.  [S, n]"""
        model.train(dropout > 0)
        found = []
        with torch.no_grad():
            for part in inputs(Z).split(_PREDICTED):
                several = [model(part)[:, 0] for _ in range(SAMPLES if dropout else 1)]
                found.append(torch.stack(several).numpy().astype(float))
        return np.concatenate(found, axis=1)

    if not regression:
        return Fitted(lambda Z, t: classes(_logistic(draws(Z)).mean(axis=0), t), facts)
    outputs = draws(training.X[parts.held])
    residuals = training.y[parts.held] - outputs.mean(axis=0)
    noise = float(np.sqrt(max(np.mean(residuals**2) - outputs.var(axis=0).mean(), 1e-6)))

    def predict(Z, truth):
        outputs = draws(Z)
        if not dropout:
            return gaussian(outputs[0], noise, truth)
        each = np.array([gaussian(row, noise, truth).log_density for row in outputs])
        return Prediction(outputs.mean(axis=0), logsumexp(each, axis=0) - np.log(len(outputs)))

    return Fitted(predict, facts)


def _layers(torch, n_inputs: int, hidden: list[int], dropout: float):
    parts: list = []
    for place, width in enumerate(hidden):
        parts += [torch.nn.Linear(n_inputs, width), torch.nn.ReLU()]
        if dropout and place >= len(hidden) - 3:
            parts.append(torch.nn.Dropout(dropout))
        n_inputs = width
    return torch.nn.Sequential(*parts, torch.nn.Linear(n_inputs, 1))


def _logistic(x):
    return 1 / (1 + np.exp(-x))
