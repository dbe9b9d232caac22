"""`VISHRegressor`: Gaussian-process regression on tables of any length."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from vish.estimators.checkpoint import Checkpoint
from vish.estimators.fitting import fit_gaussian
from vish.estimators.local import added, emptied, relearned, rows_of, with_neighbors, with_rows
from vish.estimators.observation import Observation
from vish.estimators.rollback import rolled_back, take_inputs_of
from vish.estimators.settings import check_parameters
from vish.estimators.site_fitting import fit_sites, update_sites
from vish.estimators.site_observation import SiteObservation
from vish.inference.progress import progress
from vish.inference.remainder import remainder
from vish.inference.sites import SiteModel
from vish.inference.sources import ArraySource
from vish.inference.statistics import Statistics
from vish.likelihoods import Gaussian, Likelihood
from vish.sphere.blas import blas_threads_for, undisturbed

_FLOATS = (np.float64, np.float32)


class VISHRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Gaussian-process regression with spherical-harmonic features.

    Rows are scaled, extended by a bias and mapped onto the unit sphere, where a Gaussian
    process with a zonal kernel lives; its first harmonics are the features. Hyperparameters
    are learned from a subset of the rows; then all rows are read once, into a vector of
    moments from which everything else follows.

    Parameters
    ----------
    kernel : Kernel, optional
        One of `vish.kernels`; Matern(1.5) by default.
    likelihood : Gaussian, Warped or another of `vish.likelihoods`, optional
        `Gaussian(noise="constant")` by default.
    degree : int or "auto", default="auto"
        Largest degree of the harmonics; "auto" raises it while the evidence pays.
    max_features : int, default=1000
        Bound on the number of harmonics when the degree is chosen.
    tail : {"truncated", "variational", "neighbors", "auto"}, default="truncated"
        Whether the kernel is its first degrees (inference is exact), the infinite kernel is
        approximated from below, or the rows nearest to a query tell what the first degrees
        leave. Then rows are kept, in the model and in its file. "auto" takes neighbours where
        they raise the log density of rows that are left out, else "truncated".
    n_neighbors : int, default=40
        Places near a query that are asked, for `tail="neighbors"`.
    neighbor_rows : int, default=2_000_000
        Most rows that are kept; of more, those of smallest hash.
    rank : int, None or "auto", default="auto"
        The learned map of the inputs: a matrix to `rank` dimensions, one factor per input
        (None), or whichever does better, at rows held out and by evidence.
    relevance : float or array of shape (D,) or (p, D), optional
        Fixes the map instead of learning it.
    scaling : pair of arrays (centre, scale), optional
        Fixes the scaling of the inputs; from the rows by default.
    optimize : bool, default=True
        Whether anything is learned. If not, kernel and likelihood are used as given.
    n_starts : int, default=3
        Starts of the search; twice as many where rows are few.
    subset_size : int, default=20_000
        Rows on which the hyperparameters are learned.
    refine : bool, default=False
        Whether the map is refined on all rows afterwards.
    max_iter : int, default=200
        Most iterations of one stage of the search.
    n_jobs : int, optional
        Threads; None is all cores.
    random_state : int, RandomState or None
        Of the subset and the starts. None always takes the same ones.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    degree_, n_harmonics_ : int
        Degree, and number of harmonics that have prior variance.
    kernel_, likelihood_
        With learned parameters.
    relevance_ : array of shape (D,) or (p, D)
        The map of the scaled inputs.
    tail_ : str
        What `tail` was taken: of "auto", whether neighbours were for it.
    noise_variance_ : float or array of shape (n_targets,)
        In units of the target squared (of the warped target, with a warp; at the centre of
        the data, for radial noise).
    log_evidence_ : float
    n_rows_seen_, n_features_in_, n_iter_ : int
    fit_trace_ : list of Stage
        The stages of the search.

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = VISHRegressor(max_features=50).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1)) < 0.05)
    True
    """

    def __init__(
        self,
        kernel=None,
        *,
        likelihood=None,
        degree="auto",
        max_features=1000,
        tail="truncated",
        n_neighbors=40,
        neighbor_rows=2_000_000,
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
        self.n_neighbors = n_neighbors
        self.neighbor_rows = neighbor_rows
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

    # ---- learning

    @undisturbed
    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the row twice, a weight of 0 no row.

        Returns
        -------
        self
        """
        with rolled_back(self):
            source, one_target = self._rows(X, y, sample_weight, reset=True)
            return self._fit(source, one_target)

    @undisturbed
    def fit_source(self, source, checkpoint=None, checkpoint_rows=None):
        """Learn from a row source: files, streams or a cluster.

        The rows are read twice: for the scaling and the subset, then for the sums. They are
        read once where `scaling`, `relevance` and `degree` are given, there is no checkpoint,
        and the likelihood is `Gaussian` of one kind of noise.

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
            return self._fit(source, source.n_targets == 1, checkpoint, checkpoint_rows)

    def _fit(self, source, one_target, checkpoint=None, checkpoint_rows=None):
        check_parameters(self)
        likelihood = Gaussian() if self.likelihood is None else self.likelihood
        if isinstance(likelihood, Likelihood):
            if checkpoint is not None:
                raise ValueError("checkpoints exist for the Gaussian family only: leave it out")
            return self._fit_sites(source, likelihood)
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, self, source, checkpoint_rows)
        with progress(self.verbose) as shown:
            result = fit_gaussian(source, self, likelihood, shown, saved)
            model = with_neighbors(result.model, source, self, shown)
        self._one_target = one_target
        self.fit_trace_ = result.trace
        self.n_iter_ = max(1, sum(stage.n_iter for stage in result.trace))
        return self._adopt(model)

    def _fit_sites(self, source, likelihood):
        if source.n_targets > 1:
            raise ValueError(
                f"y has {source.n_targets} targets: {type(likelihood).__name__} takes one; fit "
                "one model per target"
            )
        if isinstance(source, ArraySource):
            likelihood.check(source.y[:, 0])
        with progress(self.verbose) as shown:
            result = fit_sites(source, self, likelihood, shown)
        self._one_target = True
        self.fit_trace_ = result.trace
        self.n_rows_seen_, self.log_evidence_ = 0, 0.0
        return self._adopt_sites(result.end)

    def _adopt_sites(self, end):
        self.log_evidence_ += end.bound - end.weight * float(np.log(end.model.y_scale))
        self.n_rows_seen_ += end.n_rows
        self.n_iter_ = end.n_passes
        return self._show_sites(end.model)

    def _show_sites(self, model):
        self._model: Any = model
        self._observation: Any = SiteObservation(model)
        self.degree_ = model.geometry.degree
        self.n_harmonics_ = model.n_harmonics
        self.kernel_ = model.kernel
        self.likelihood_ = model.likelihood
        self.relevance_ = model.geometry.projection.relevance
        return self

    @undisturbed
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from more rows; the first call is a fit.

        Geometry (scaling, relevance, degree) stays as it was first learned; kernel and noise
        are relearned from the statistics unless `optimize=False`. For a likelihood that is not
        Gaussian, new rows get sites on top of the old ones, which stay as they were: the
        result is close to, not the same as, a fit of all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight)
        if isinstance(self._model, SiteModel):
            source, _ = self._rows(X, y, sample_weight, reset=False)
            self._model.likelihood.check(self._model.standardised(source.y[:, 0]))
            with progress(self.verbose) as shown:
                return self._adopt_sites(update_sites(self._model, source, self, shown))
        source = self._more_rows(X, y, sample_weight)
        more = with_rows(
            self._model, self._statistics(source), rows_of(self._model, source, self.n_jobs)
        )
        return self._update(self._model.statistics + more.statistics, added(self._model, more))

    @undisturbed
    def forget(self, X, y, sample_weight=None):
        """Take rows away, as if they had never been seen.

        Exact, to the rounding of the totals, for the geometry as it is. Scaling and relevance
        were learned when the rows were there, and keep that trace of them.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were once given to `fit` or `partial_fit`.

        Returns
        -------
        self
        """
        self._require_gaussian("forget")
        source = self._more_rows(X, y, sample_weight)
        local = self._model.local
        if local is not None:
            local = local.without(local.of_source(source, self.n_jobs))
        rows = self._statistics(source)
        with blas_threads_for(self._model.n_harmonics):
            rest = remainder(self._model.statistics, rows)
        return self._update(rest, local)

    @undisturbed
    def merge(self, other):
        """A new estimator that has seen the rows of both.

        Parameters
        ----------
        other : VISHRegressor
            With the same geometry: made with `empty_like`, or with the same `scaling`,
            `relevance` and `degree`.

        Returns
        -------
        VISHRegressor
        """
        self._require_gaussian("merge")
        if not isinstance(other, VISHRegressor):
            raise ValueError(f"cannot merge with a {type(other).__name__}: give a VISHRegressor")
        other._require_gaussian("merge")
        return self._copy()._update(
            self._model.statistics + other._model.statistics, added(self._model, other._model)
        )

    @undisturbed
    def empty_like(self):
        """The same geometry and hyperparameters, no rows seen: a place for other rows."""
        self._require_gaussian("empty_like")
        empty = Statistics.zero(self._model.geometry)
        return self._copy()._adopt(with_rows(self._model, empty, emptied(self._model)))

    def _require_gaussian(self, what):
        check_is_fitted(self)
        if isinstance(self._model, SiteModel):
            raise ValueError(
                f"{what} is exact, and exists, for the Gaussian family only: this model has the "
                f"likelihood {type(self.likelihood_).__name__}; fit again instead"
            )

    def _copy(self):
        copy = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_") or name.startswith("_"):
                setattr(copy, name, value)
        return copy

    def _rows(self, X, y, sample_weight, reset):
        """Checked rows as a source, and whether the target is a single column."""
        X, y = validate_data(
            self, X, y, reset=reset, dtype=_FLOATS, multi_output=True, y_numeric=True
        )
        y = np.asarray(y, dtype=np.float64)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not sample_weight.any():
                raise ValueError("all sample weights are 0: give at least one row a weight")
        return ArraySource(X, y if y.ndim == 2 else y[:, None], sample_weight), y.ndim == 1

    def _more_rows(self, X, y, sample_weight=None):
        """Checked rows of the kind that was fitted."""
        source, _ = self._rows(X, y, sample_weight, reset=False)
        sites = isinstance(self._model, SiteModel)  # one target, however many latent functions
        n_targets = 1 if sites else self._model.geometry.n_targets
        if source.y.shape[1] != n_targets:
            raise ValueError(f"y has {source.y.shape[1]} targets, the model {n_targets}")
        return source

    def _statistics(self, source):
        with (
            progress(self.verbose) as shown,
            shown.rows("reading rows", source.n_rows) as done,
        ):
            return Statistics.of_source(self._model.geometry, source, self.n_jobs, done)

    def _update(self, statistics, local):
        return self._adopt(relearned(with_rows(self._model, statistics, local), self))

    def _adopt(self, model):
        """Take over a model: solve it, and show what there is to see."""
        with blas_threads_for(model.n_harmonics):
            log_evidence = model.log_evidence
        self._model = model
        self._observation = Observation(model)
        self.degree_ = model.geometry.degree
        self.tail_ = (
            "neighbors" if model.local else "truncated" if model.truncated else "variational"
        )
        self.n_harmonics_ = model.n_harmonics
        self.kernel_ = model.kernel
        self.likelihood_ = self._observation.likelihood(self.likelihood)
        self.relevance_ = model.geometry.projection.relevance
        self.log_evidence_ = log_evidence
        noise = model.noise * model.geometry.target_scale**2
        self.noise_variance_ = float(noise[0]) if self._one_target else noise
        self.n_rows_seen_ = model.statistics.n_rows
        return self

    def _restore(self, model):
        """Take over a model read from a file; what was fitted is already set."""
        if isinstance(model, SiteModel):
            return self._show_sites(model)
        return self._adopt(model)

    # ---- predicting

    def _inputs(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=_FLOATS)

    def _shape(self, values):
        """[n, T] as [n] where the target was a single column."""
        return values[:, 0] if self._one_target else values

    @undisturbed
    def predict(self, X, return_std=False):
        """Mean, and standard deviation, of a new observation.

        Parameters
        ----------
        X : array-like of shape (n, D)
        return_std : bool, default=False

        Returns
        -------
        mean : array of shape (n,) or (n, n_targets)
        std : array of the same shape
            With `return_std`: of the observation, noise included.
        """
        X = self._inputs(X)
        mean, std = self._observation.mean_and_std(X, return_std, self.n_jobs)
        return (self._shape(mean), self._shape(std)) if return_std else self._shape(mean)

    @undisturbed
    def predict_quantiles(self, X, quantiles):
        """Quantiles of a new observation.

        Parameters
        ----------
        X : array-like of shape (n, D)
        quantiles : sequence of float
            Between 0 and 1.

        Returns
        -------
        array of shape (n, n_quantiles) or (n, n_targets, n_quantiles)
        """
        X, quantiles = self._inputs(X), np.atleast_1d(np.asarray(quantiles, dtype=float))
        if quantiles.ndim != 1 or not np.all((quantiles > 0) & (quantiles < 1)):
            raise ValueError(f"quantiles are {quantiles}: give numbers between 0 and 1")
        return self._shape(self._observation.quantiles(X, quantiles, self.n_jobs))

    @undisturbed
    def predict_latent(self, X, return_std=False, return_cov=False):
        """The noise-free function f.

        Parameters
        ----------
        X : array-like of shape (n, D)
        return_std, return_cov : bool, default=False
            Also return the standard deviation, or the joint covariance, of f.

        Returns
        -------
        mean : array of shape (n,) or (n, n_targets)
            In the units of y; for a warped likelihood, of the warped target.
        std : array of the same shape, with `return_std`
        cov : array of shape (n, n) or (n_targets, n, n), with `return_cov`
        """
        X = self._inputs(X)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov are both True: ask for one of them")
        mean, std = self._observation.latent(X, return_std, self.n_jobs)
        if return_cov:
            cov = self._observation.latent_covariance(X)
            return self._shape(mean), cov[0] if self._one_target else cov
        return (self._shape(mean), self._shape(std)) if return_std else self._shape(mean)

    @undisturbed
    def predict_gradients(self, X):
        """Gradients of mean and variance of the noise-free function in the inputs.

        Of its harmonics: neighbours change from place to place, by jumps.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        mean_gradient, variance_gradient : arrays of shape (n, D) or (n, n_targets, D)
        """
        mean, variance = self._observation.latent_gradients(self._inputs(X))
        return self._shape(mean), self._shape(variance)

    @undisturbed
    def log_density(self, X, y):
        """Log predictive density of observed rows, in the units of y.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,) or (n, n_targets)

        Returns
        -------
        array of shape (n,)
            Summed over targets.
        """
        check_is_fitted(self)
        source = self._more_rows(X, y)
        return self._observation.log_density(source.X, source.y, self.n_jobs)

    @undisturbed
    def sample_y(self, X, n_samples=1, random_state=None):
        """Joint draws of new observations.

        What neighbours add is drawn for every row by itself.

        Parameters
        ----------
        X : array-like of shape (n, D)
        n_samples : int, default=1
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n, n_samples) or (n, n_targets, n_samples)
        """
        X = self._inputs(X)
        draws = self._observation.draw(X, n_samples, _generator(random_state))
        return draws[:, 0] if self._one_target else draws

    @undisturbed
    def sample_functions(self, n, random_state=None):
        """Draws of the noise-free function, as callables.

        Of its harmonics, that is: what there is beyond the degree, with `tail="variational"` or
        `tail="neighbors"`, is in `predict_latent`, not in the draws.

        Parameters
        ----------
        n : int
        random_state : int, RandomState or None

        Returns
        -------
        list of callables
            Each maps rows (m, D) to values (m,) or (m, n_targets) in the units of
            `predict_latent`, the same function wherever and however often it is asked.
        """
        check_is_fitted(self)
        functions = self._observation.functions(n, _generator(random_state))

        def checked(function):
            return undisturbed(lambda X: self._shape(function(self._inputs(X))))

        return [checked(function) for function in functions]

    def save(self, path):
        """Write the fitted model to one file, to be read by `vish.load`."""
        from vish.estimators.storage import save

        check_is_fitted(self)
        save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = False
        return tags


def _generator(random_state):
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
