r"""Several classes.

The expectation of log sum exp f under independent Gaussians has no closed form. We use the
tilted bound (Knowles and Minka, 2011),

.. math::

    E \log \sum_k e^{f_k} \le \tfrac12 \sum_k a_k^2 v_k
        + \log \sum_k e^{m_k + (1 - 2 a_k) v_k / 2},

tightest where :math:`a = \mathrm{softmax}(m + (1 - 2a) v / 2)`. There its derivatives are as
simple as can be: :math:`g_k = [y = k] - a_k` and :math:`h_k = a_k (1 - a_k)`, never negative.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri, softmax

from vish.likelihoods.base import Expectation, Likelihood

_ITERATIONS, _TOLERANCE = 60, 1e-13
_N_DRAWS = 128


@dataclass(frozen=True)
class Softmax(Likelihood):
    """Classes 0..K-1 with probabilities softmax(f), one latent function per class.

    `VISHClassifier` takes it where there are more than two classes.

    Parameters
    ----------
    n_classes : int
        K.

    Examples
    --------
    >>> import numpy as np
    >>> from vish.likelihoods import Softmax
    >>> likelihood = Softmax(3)
    >>> latent = np.array([[2.0, 0.0, 0.0]])
    >>> likelihood.probabilities(latent, np.zeros((1, 3))).round(3)
    array([[0.787, 0.107, 0.107]])
    >>> likelihood.probabilities(latent, np.full((1, 3), 9.0)).round(1)  # unsure: nearer to even
    array([[0.5, 0.2, 0.2]])
    """

    n_classes: int = 3
    location_scale: ClassVar[bool] = False
    only_differences: ClassVar[bool] = True
    support: ClassVar[str] = "classes 0, 1, ... below n_classes"

    @property
    def n_latents(self) -> int:  # type: ignore[override]
        return self.n_classes

    @property
    def guides(self) -> int:
        return self.n_classes

    def supports(self, y):
        return (y == np.floor(y)) & (y >= 0) & (y < self.n_classes)

    def log_density(self, y, f):
        """f is [..., K]."""
        index = np.broadcast_to(np.asarray(y, dtype=int), np.shape(f)[:-1])[..., None]
        return np.take_along_axis(log_softmax(f, axis=-1), index, axis=-1)[..., 0]

    def _one_hot(self, y):
        return np.eye(self.n_classes)[y.astype(int)]

    def offset(self, y, weights):
        counts = np.bincount(y.astype(int), weights, self.n_classes) + 0.5
        logs = np.log(counts / counts.sum())
        return logs - logs.mean()

    def start(self, y, offset):
        """The sites at a constant latent value: precision p (1 - p), for each class.

        Boehning's bound has the precision 1/2 at any p. With many classes it says that a row
        tells next to nothing, and the kernel's best variance is then 0.
        """
        p = softmax(offset)
        h = np.broadcast_to(p * (1 - p), (len(y), self.n_classes))
        return h, offset + (self._one_hot(y) - p) / h

    def expectations(self, y, mean, variance):
        a, log_sum = _tightest(mean, variance)
        chosen = np.take_along_axis(mean, y.astype(int)[:, None], axis=1)[:, 0]
        return Expectation(chosen - log_sum, self._one_hot(y) - a, a * (1 - a))

    def probabilities(self, mean, variance):
        """Class probabilities, latent values integrated over a fixed set of draws.  -> [n, K]"""
        total = np.zeros_like(mean)
        spread = np.sqrt(variance)
        for draw in _draws(self.n_classes):
            total += softmax(mean + spread * draw, axis=1)
        return total / _N_DRAWS

    def log_predictive(self, y, mean, variance):
        p = self.probabilities(mean, variance)
        return np.log(np.take_along_axis(p, y.astype(int)[:, None], axis=1)[:, 0])

    def moments(self, mean, variance):
        raise NotImplementedError("classes have probabilities, not moments")


def _tightest(mean, variance):
    """The a of the tightest bound, and the bound, by Newton's method.  -> [n, K], [n]

    In a the bound is convex, with gradient v (a - p), p = softmax(m + (1 - 2a) v / 2), and
    Newton's step solves (I + diag(pv) - p (pv)^T) x = p - a: a diagonal and one outer
    product. Halved where the bound would rise.
    """

    def bound(a):
        exponents = mean + (1 - 2 * a) * variance / 2
        return np.sum(a**2 * variance, axis=1) / 2 + logsumexp(exponents, axis=1)

    a = softmax(mean, axis=1)
    value, step = bound(a), np.ones(len(mean))
    for _ in range(_ITERATIONS):
        p = softmax(mean + (1 - 2 * a) * variance / 2, axis=1)
        if np.abs(p - a).max(initial=0.0) < _TOLERANCE:
            break
        diagonal = 1 + p * variance
        direct, outer = (p - a) / diagonal, p / diagonal
        share = np.sum(p * variance * direct, axis=1) / outer.sum(axis=1)
        trial = a + step[:, None] * (direct + outer * share[:, None])
        new = bound(trial)
        better = new <= value + 1e-15 * (1 + np.abs(value))
        a, value = np.where(better[:, None], trial, a), np.where(better, new, value)
        step = np.where(better, np.minimum(1.0, 2 * step), step / 2)
    return a, value


@lru_cache(maxsize=16)
def _draws(K):
    """Standard normal points of a Sobol sequence, with their mirror images.  [draws, K]"""
    from scipy.stats import qmc  # slow to import

    points = qmc.Sobol(K, scramble=True, seed=0).random(_N_DRAWS // 2)
    half = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    return np.vstack([half, -half])
