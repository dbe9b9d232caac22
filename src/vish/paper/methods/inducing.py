"""SVGP: GPyTorch's stochastic variational inducing points (Hensman, Fusi and Lawrence, 2013).

As a careful user of GPyTorch would set it up: whitened, inducing points from k-means,
Matérn-3/2 with a lengthscale for each input (squared exponential for classes, as the paper's
SUSY), Adam at rate 0.01 with a cosine decay, batches of 1,000, ten epochs or 4,000 steps,
whichever is more. It stops at the time budget; the seconds of all steps are then extrapolated
and said to be.
"""

import time

import numpy as np

from vish.paper.methods.base import Fitted, Training, classes, gaussian

BATCH, RATE, EPOCHS, LEAST_STEPS = 1_000, 0.01, 10, 4_000
_KMEANS_ROWS, _PREDICTED = 20_000, 10_000


def svgp(training: Training) -> Fitted:
    """Fit by the clock: `facts` tell the steps taken and, if cut short, the time for all."""
    import gpytorch
    import torch

    torch.manual_seed(training.seed)
    wanted = torch.float32
    X, y = (torch.tensor(a, dtype=wanted) for a in (_scaled(training)(training.X), training.y))
    likelihood = (
        gpytorch.likelihoods.GaussianLikelihood()
        if training.task == "regression"
        else gpytorch.likelihoods.BernoulliLikelihood()
    )
    model = _model(gpytorch, torch.tensor(_centres(training), dtype=wanted), training.task)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    parameters = [*model.parameters(), *likelihood.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=RATE)
    per_epoch = -(-len(X) // BATCH)
    steps = training.steps or max(EPOCHS * per_epoch, LEAST_STEPS)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=RATE / 50)
    generator = torch.Generator().manual_seed(training.seed)
    order = torch.randperm(len(X), generator=generator)
    started, done = time.perf_counter(), 0
    for done in range(1, steps + 1):
        place = (done - 1) % per_epoch
        if place == 0 and done > 1:
            order = torch.randperm(len(X), generator=generator)
        rows = order[place * BATCH : (place + 1) * BATCH]
        optimiser.zero_grad()
        loss = -objective(model(X[rows]), y[rows])
        loss.backward()
        optimiser.step()
        decay.step()
        if time.perf_counter() - started > training.budget:
            break
    facts: dict = {"M": len(model.variational_strategy.inducing_points), "steps": done}
    if done < steps:
        facts["cut short"] = f"{done:,} of {steps:,} steps"
        facts["seconds, extrapolated"] = (time.perf_counter() - started) * steps / done
    model.eval()
    likelihood.eval()

    def predict(Z, truth):
        means, spreads = [], []
        with torch.no_grad():
            for part in torch.tensor(_scaled(training)(Z), dtype=wanted).split(_PREDICTED):
                observed = likelihood(model(part))
                means.append(observed.mean.numpy().astype(float))
                spreads.append(observed.variance.numpy().astype(float))
        mean, variance = np.concatenate(means), np.concatenate(spreads)
        if training.task == "classes":
            return classes(mean, truth)
        return gaussian(mean, np.sqrt(variance), truth)

    return Fitted(predict, facts)


def _scaled(training: Training):
    """Standardised inputs, whatever the experiment's own scaling."""
    centre, spread = training.X.mean(axis=0), training.X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return lambda X: (X - centre) / spread


def _centres(training: Training) -> np.ndarray:
    """Inducing points: k-means of some rows."""
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(training.seed)
    rows = rng.choice(len(training.X), min(len(training.X), _KMEANS_ROWS), replace=False)
    X = _scaled(training)(training.X[rows])
    if training.n_inducing >= len(X):
        return X
    means = MiniBatchKMeans(training.n_inducing, random_state=training.seed, n_init=1).fit(X)
    return means.cluster_centers_


def _model(gpytorch, points, task):
    class Model(gpytorch.models.ApproximateGP):  # type: ignore[name-defined]
        def __init__(self):
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(
                gpytorch.variational.VariationalStrategy(self, points.clone(), distribution)
            )
            self.mean = gpytorch.means.ConstantMean()
            D = points.shape[1]
            shape = (
                gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=D)
                if task == "regression"
                else gpytorch.kernels.RBFKernel(ard_num_dims=D)
            )
            shape.lengthscale = float(np.sqrt(D))
            self.kernel = gpytorch.kernels.ScaleKernel(shape)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    return Model()
