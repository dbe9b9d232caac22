"""`VISHRegressor`: Gaussian-process regression on tables of any length."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from vish.estimators.base import VISHBase, generator
from vish.estimators.checkpoint import Checkpoint, asked_of, refuse_checkpoint
from vish.estimators.fitting import fit_gaussian
from vish.estimators.local import (
    no_rows,
    rows_of_both,
    with_neighbors,
    with_rows,
    without_rows,
)
from vish.estimators.rows import more_rows_of_numbers, rows_of_numbers
from vish.estimators.settings import FitSettings, check_parameters
from vish.estimators.state import fitted_copy
from vish.inference.gaussian import GaussianModel
from vish.inference.progress import progress
from vish.inference.relearning import relearned
from vish.inference.remainder import remainder
from vish.inference.statistics import Statistics
from vish.likelihoods import Likelihood
from vish.sphere.blas import blas_threads_for, undisturbed


class VISHRegressor(MultiOutputMixin, RegressorMixin, VISHBase):
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
    description_ : Description
        The fitted model in numbers: map, harmonics, weights and units.

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
        super().__init__(
            kernel=kernel,
            likelihood=likelihood,
            degree=degree,
            max_features=max_features,
            tail=tail,
            rank=rank,
            relevance=relevance,
            scaling=scaling,
            optimize=optimize,
            n_starts=n_starts,
            subset_size=subset_size,
            refine=refine,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_neighbors = n_neighbors
        self.neighbor_rows = neighbor_rows

    # ---- learning

    def _fit_rows(self, X, y, sample_weight):
        source, one_target = rows_of_numbers(self, X, y, sample_weight, reset=True)
        check_parameters(self)
        return self._learn(source, one_target)

    def _fit_source(self, source, checkpoint, checkpoint_rows):
        return self._learn(source, source.n_targets == 1, checkpoint, checkpoint_rows)

    def _learn(self, source, one_target, checkpoint=None, checkpoint_rows=None):
        settings = FitSettings.of(self)
        if isinstance(settings.likelihood, Likelihood):
            refuse_checkpoint(checkpoint)
            self._one_target = True
            self._fit_sites(source, settings)
            return self
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, asked_of(self), source, checkpoint_rows)
        with progress(self.verbose) as shown:
            result = fit_gaussian(source, settings, shown, saved)
            model = with_neighbors(result.model, source, self, shown)
        self._one_target = one_target
        self.fit_trace_ = result.trace
        self.n_iter_ = max(1, sum(stage.n_iter for stage in result.trace))
        return self._adopt(model)

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
        if isinstance(self._model, GaussianModel):
            source = more_rows_of_numbers(self, self._model, X, y, sample_weight)
            statistics = self._model.statistics + self._statistics(source)
            return self._update(statistics, with_rows(self._model, source, self.n_jobs))
        source, _ = rows_of_numbers(self, X, y, sample_weight, reset=False)
        self._model.likelihood.check(self._model.standardised(source.y[:, 0]))
        return self._update_sites(source)

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
        source = more_rows_of_numbers(self, self._model, X, y, sample_weight)
        local = without_rows(self._model, source, self.n_jobs)
        rows = self._statistics(source)
        with blas_threads_for(self._model.prior.n_harmonics):
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
        local = rows_of_both(self._model, other._model)
        statistics = self._model.statistics + other._model.statistics
        return fitted_copy(self)._update(statistics, local)

    @undisturbed
    def empty_like(self):
        """The same geometry and hyperparameters, no rows seen: a place for other rows."""
        self._require_gaussian("empty_like")
        empty = Statistics.zero(self._model.geometry)
        model = self._model.with_statistics(empty).with_local(no_rows(self._model))
        return fitted_copy(self)._adopt(model)

    def _require_gaussian(self, what):
        check_is_fitted(self)
        if not isinstance(self._model, GaussianModel):
            raise ValueError(
                f"{what} is exact, and exists, for the Gaussian family only: this model has the "
                f"likelihood {type(self.likelihood_).__name__}; fit again instead"
            )

    def _statistics(self, source):
        with progress(self.verbose) as shown, shown.rows("reading rows", source.n_rows) as done:
            return Statistics.of_source(self._model.geometry, source, self.n_jobs, done)

    def _update(self, statistics, local):
        model = self._model.with_statistics(statistics).with_local(local)
        if self.optimize:
            model = relearned(model, self.max_iter).learned_detail(self.n_jobs)
        return self._adopt(model)

    def _adopt(self, model):
        if isinstance(model, GaussianModel):
            with blas_threads_for(model.prior.n_harmonics):
                self.log_evidence_ = model.log_evidence
            noise = model.noise * model.geometry.target_scale**2
            self.noise_variance_ = float(noise[0]) if self._one_target else noise
            self.n_rows_seen_ = model.statistics.n_rows
        else:
            self.__dict__.pop("noise_variance_", None)  # of an earlier fit
        return super()._adopt(model)

    def _shows_one(self):
        return self._one_target

    # ---- predicting

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
        source = more_rows_of_numbers(self, self._model, X, y)
        return self._observation.log_density(source.X, source.y, self.n_jobs)

    @undisturbed
    def sample_y(self, X, n_samples=1, random_state=None):
        """Joint draws of new observations.

        What neighbours leave open is drawn for every row by itself.

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
        draws = self._observation.draw(X, n_samples, generator(random_state))
        return draws[:, 0] if self._one_target else draws

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = False
        return tags
