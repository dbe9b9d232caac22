"""What the estimators share: parameters, fitting, the latent functions, saving."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from vish.estimators.description import Description
from vish.estimators.local import tail_of
from vish.estimators.observation import Observation
from vish.estimators.rows import FLOATS
from vish.estimators.settings import FitSettings, check_parameters
from vish.estimators.site_fitting import SiteFit, fit_sites, update_sites
from vish.estimators.site_observation import SiteObservation
from vish.estimators.state import rolled_back, take_inputs_of
from vish.inference.convergence import Convergence
from vish.inference.progress import progress
from vish.inference.sites import SiteModel
from vish.sphere.blas import undisturbed


class VISHBase(BaseEstimator):
    """A Gaussian process on the sphere, whatever is observed of it."""

    _model: Any  # `vish.inference.model.Model`
    _observation: Any

    def __init__(
        self,
        kernel=None,
        *,
        likelihood=None,
        degree="auto",
        max_features=1000,
        tail="truncated",
        rank="auto",
        relevance=None,
        scaling=None,
        optimize=True,
        n_starts=3,
        subset_size=20_000,
        refine=False,
        max_iter=200,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
        self.degree = degree
        self.max_features = max_features
        self.tail = tail
        self.rank = rank
        self.relevance = relevance
        self.scaling = scaling
        self.optimize = optimize
        self.n_starts = n_starts
        self.subset_size = subset_size
        self.refine = refine
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning; an estimator says how with _fit_rows and _fit_source

    @undisturbed
    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
            Numbers, also of shape (n, n_targets); for a classifier classes, of any type.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the row twice, a weight of 0 no row.

        Returns
        -------
        self
        """
        with rolled_back(self):
            return self._fit_rows(X, y, sample_weight)

    @undisturbed
    def fit_source(self, source, checkpoint=None, checkpoint_rows=None):
        """Learn from a row source: files, streams or a cluster.

        A regressor of the Gaussian family reads the rows twice: for the scaling and the subset,
        then for the sums. It reads them once where `scaling`, `relevance` and `degree` are given,
        there is no checkpoint, and the likelihood is `Gaussian` of one kind of noise. Others read
        them about ten times; a classifier finds the classes first.

        Parameters
        ----------
        source : RowSource
            From `vish.data`, such as `vish.data.parquet(path, target)`.
        checkpoint : str or path, optional
            A file to which the state is written every few million rows. Starting again with
            the same file continues to the identical result. (Gaussian family only.)
        checkpoint_rows : int, optional
            Rows between two writings of the checkpoint; 4,194,304 by default.

        Returns
        -------
        self
        """
        with rolled_back(self):
            take_inputs_of(self, source)
            check_parameters(self)
            return self._fit_source(source, checkpoint, checkpoint_rows)

    def _fit_sites(self, source, settings: FitSettings) -> SiteFit:
        """Learn with a likelihood that is not Gaussian."""
        with progress(self.verbose) as shown:
            result = fit_sites(source, settings, shown)
        self.fit_trace_ = result.trace
        self.n_rows_seen_, self.log_evidence_ = 0, 0.0
        self._adopt_sites(result.end)
        return result

    def _update_sites(self, source):
        """Learn from more rows with a likelihood that is not Gaussian."""
        with progress(self.verbose) as shown:
            return self._adopt_sites(update_sites(self._model, source, self.n_jobs, shown))

    def _adopt_sites(self, end: Convergence):
        """Take over the model that passes have ended with, and count them."""
        self.log_evidence_ += end.bound - end.weight * float(np.log(end.model.y_scale))
        self.n_rows_seen_ += end.n_rows
        self.n_iter_ = end.n_passes
        return self._adopt(end.model)

    def _adopt(self, model):
        """Take over a model: show what there is to see of it."""
        kind = SiteObservation if isinstance(model, SiteModel) else Observation
        self._model, self._observation = model, kind(model)
        self.degree_ = model.geometry.degree
        self.n_harmonics_ = model.prior.n_harmonics
        self.tail_ = tail_of(model)
        self.kernel_ = model.kernel
        self.likelihood_ = self._observation.likelihood(self.likelihood)
        self.relevance_ = model.geometry.projection.relevance
        return self

    @property
    def description_(self) -> Description:
        """The fitted model in numbers: map, harmonics, weights and units."""
        check_is_fitted(self)
        return Description(self._model, self._observation)

    # ---- the latent functions

    def _inputs(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=FLOATS)

    def _shape(self, values):
        """[n, K] as [n] where one latent function is shown."""
        return values[:, 0] if self._shows_one() else values

    @undisturbed
    def predict_latent(self, X, return_std=False, return_cov=False):
        """The latent function f: without noise, before the link.

        Parameters
        ----------
        X : array-like of shape (n, D)
        return_std, return_cov : bool, default=False
            Also return the standard deviation, or the joint covariance, of f.

        Returns
        -------
        mean : array of shape (n,), or (n, K) for several targets or more than two classes
            In the units of y for the Gaussian family; for a warped likelihood, of the warped
            target.
        std : array of the same shape, with `return_std`
        cov : array of shape (n, n) or (K, n, n), with `return_cov`
        """
        X = self._inputs(X)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov are both True: ask for one of them")
        mean, std = self._observation.latent(X, return_std, self.n_jobs)
        if return_cov:
            cov = self._observation.latent_covariance(X)
            return self._shape(mean), cov[0] if self._shows_one() else cov
        return (self._shape(mean), self._shape(std)) if return_std else self._shape(mean)

    @undisturbed
    def predict_gradients(self, X):
        """Gradients of mean and variance of the latent function in the inputs.

        Of its harmonics only: what the nearest rows add, with `tail="neighbors"`, is left out.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        mean_gradient, variance_gradient : arrays of shape (n, D) or (n, K, D)
        """
        mean, variance = self._observation.latent_gradients(self._inputs(X))
        return self._shape(mean), self._shape(variance)

    @undisturbed
    def sample_functions(self, n, random_state=None):
        """Draws of the latent function, as callables.

        Of its harmonics only: what there is beyond the degree, with `tail="variational"` or
        `tail="neighbors"`, is in `predict_latent`, not in the draws.

        Parameters
        ----------
        n : int
        random_state : int, RandomState or None

        Returns
        -------
        list of callables
            Each maps rows (m, D) to values (m,) or (m, K) in the units of `predict_latent`, the
            same function wherever and however often it is asked.
        """
        check_is_fitted(self)
        functions = self._observation.functions(n, generator(random_state))

        def checked(function):
            return undisturbed(lambda X: self._shape(function(self._inputs(X))))

        return [checked(function) for function in functions]

    def save(self, path):
        """Write the fitted model to one file, to be read by `vish.load`."""
        from vish.estimators.storage import save

        check_is_fitted(self)
        save(self, path)


def generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator for scikit-learn's `random_state`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
