r"""The banana: two classes in two dimensions, with a kernel that is given.

With the kernel fixed, more features can only raise the bound. VISH as in the paper; VFF in its
Kronecker form, but with the full covariance of the inducing variables that its authors found
too slow in 2017, by the natural gradients of `vish.inference.sites`: sites of precision h and
:math:`K_{uu}`-regularised least squares in turn. With :math:`P = K_{uu} + \sum h \phi\phi^T`,

.. math::

    E = \sum_n E_q \log p(y_n | f_n) - \tfrac12 \{ \mathrm{tr} P^{-1}K_{uu} + m^T K_{uu} m - M
        - \log|K_{uu}| + \log|P| \}.
"""

import numpy as np

from vish import VISHClassifier
from vish.kernels import Matern
from vish.likelihoods import Bernoulli
from vish.paper.methods.base import Fitted, Training, classes
from vish.paper.methods.fourier import KroneckerPrior, sums
from vish.paper.methods.fourier_features import Basis, MaternPrior

# On the sphere an angle; in the plane, where a radian at the centre is one unit, the same.
LENGTHSCALE, VARIANCE = 0.3, 10.0
FREE = 0.25  # of the range, on each side, between the data and the ends of the interval
MOST_PASSES, TOLERANCE = 200, 1e-6


def spherical(training: Training) -> Fitted:
    """VISH with the variational tail and relevances 1."""
    model = spherical_model(training.degree or 2).fit(training.X, training.y.astype(int))
    facts = {"M": int(model.n_harmonics_), "log evidence": float(model.log_evidence_)}
    return Fitted(lambda X, y: classes(model.predict_proba(X)[:, 1], y), facts)


def spherical_model(degree: int) -> VISHClassifier:
    """Unfitted; also for the maps of Figure 5."""
    return VISHClassifier(
        Matern(1.5, LENGTHSCALE, variance=VARIANCE), degree=degree, tail="variational",
        relevance=np.ones(2), optimize=False,
    )  # fmt: skip


def fourier(training: Training) -> Fitted:
    """Kronecker VFF with as many frequencies per input as the degree says."""
    X, y, likelihood = training.X, training.y, Bernoulli()
    lowest, highest = X.min(axis=0), X.max(axis=0)
    margin = FREE * (highest - lowest)
    prior = KroneckerPrior(
        *(
            MaternPrior(Basis(low, high, training.degree or 3), 1.5)
            for low, high in zip(lowest - margin, highest + margin, strict=True)
        )
    )
    p = np.log([VARIANCE, LENGTHSCALE, LENGTHSCALE])
    K, K_inverse, K_log = prior.covariance(p)
    features, M = prior.features(X), prior.n_features

    def state(weight, shift):
        """Posterior of sites, its marginals, the bound, and the sites that follow."""
        s = sums(prior, X, shift, weight)
        inverse = np.linalg.inv(K + s.G)
        m = inverse @ s.b
        mean = m @ features
        C = inverse - K_inverse
        variance = np.maximum(VARIANCE + np.einsum("mn,mn->n", features, C @ features), 1e-12)
        found = likelihood.expectations(y, mean[:, None], variance[:, None])
        P_log = np.linalg.slogdet(K + s.G)[1]
        KL = np.sum(inverse * K) + m @ K @ m - M - K_log + P_log
        h, g = found.curvature[:, 0], found.slope[:, 0]
        return found.value.sum() - KL / 2, (h, h * mean + g), (m, C)

    sites = (np.full(len(X), 0.25), 0.5 * (2 * training.y - 1))
    value, following, posterior = state(*sites)
    for _ in range(MOST_PASSES):
        step, before = 1.0, value
        while step > 1e-3:
            moved = tuple(
                old + step * (new - old) for old, new in zip(sites, following, strict=True)
            )
            trial = state(*moved)
            if trial[0] >= before - 1e-9 * abs(before):
                sites, (value, following, posterior) = moved, trial
                break
            step /= 2
        if value - before < TOLERANCE * abs(value):
            break
    m, C = posterior

    def predict(Z, truth):
        F = prior.features(Z)
        variance = np.maximum(VARIANCE + np.einsum("mn,mn->n", F, C @ F), 1e-12)
        probability, _ = likelihood.moments((m @ F)[:, None], variance[:, None])
        return classes(probability, truth)

    return Fitted(predict, {"M": M, "log evidence": float(value)})
