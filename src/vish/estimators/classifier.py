"""`VISHClassifier`: Gaussian-process classification on tables of any length."""

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from vish.estimators.labels import check_labels, weights_of_classes
from vish.estimators.linear_check import warn_if_below_linear
from vish.estimators.rollback import rolled_back, take_inputs_of
from vish.estimators.settings import check_parameters
from vish.estimators.site_fitting import fit_sites, update_sites
from vish.estimators.site_observation import SiteObservation
from vish.inference.classes import Classes, encoded_source
from vish.inference.passes import total
from vish.inference.progress import progress
from vish.inference.sources import ArraySource
from vish.likelihoods import Bernoulli, Softmax
from vish.sphere.blas import undisturbed

_FLOATS = (np.float64, np.float32)
_SMALLEST = np.finfo(float).tiny


class VISHClassifier(ClassifierMixin, BaseEstimator):
    r"""Gaussian-process classification with spherical-harmonic features.

    Two classes have one latent function, several one each. Inference is variational, by
    natural gradients: about ten passes over the rows, deterministic, without a learning rate.

    Parameters
    ----------
    kernel : Kernel, optional
        One of `vish.kernels`; Matern(1.5) by default.
    likelihood : Bernoulli or Softmax, optional
        By default `Bernoulli("logit")` for two classes and `Softmax` for more.
    degree, max_features, tail, rank, relevance, scaling, optimize, n_starts, subset_size
        As for `VISHRegressor`.
    refine, max_iter, n_jobs, random_state, verbose
        As for `VISHRegressor`.
    class_weight : dict, "balanced" or None
        Weights of the classes, times the sample weights.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    log_evidence_ : float
        The variational bound.
    degree_, n_harmonics_, kernel_, likelihood_, relevance_
        As for `VISHRegressor`.
    n_rows_seen_, n_features_in_, n_iter_, fit_trace_
        As for `VISHRegressor`; `n_iter_` is the number of passes over the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vish import VISHClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = VISHClassifier(degree=1).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
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
        class_weight=None,
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
        self.class_weight = class_weight

    @undisturbed
    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
            Classes: numbers or strings.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        with rolled_back(self):
            X, y = self._labelled(X, y, reset=True)
            return self._fit(X, y, np.unique(y), sample_weight)

    def _labelled(self, X, y, reset):
        check_labels(y)
        X, y = validate_data(self, X, y, dtype=_FLOATS, reset=reset)
        check_classification_targets(y)
        return X, y

    def _fit(self, X, y, classes, sample_weight):
        check_parameters(self)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes[0]!r}: a classifier needs at least two classes"
            )
        source = self._rows(X, y, classes, sample_weight)
        weights = np.ones(len(y)) if source.weights is None else source.weights
        if len(np.unique(source.y[weights > 0])) < 2:
            raise ValueError(
                "rows with a positive weight hold less than two classes: a classifier needs at "
                "least two classes"
            )
        likelihood = self._likelihood(len(classes))
        with progress(self.verbose) as shown:
            result = fit_sites(source, self, likelihood, shown)
        return self._begin(classes, result)

    @undisturbed
    def fit_source(self, source, checkpoint=None):
        """Learn from a row source: files, streams or a cluster.

        The classes are found in a first reading of the target.

        Parameters
        ----------
        source : RowSource
            From `vish.data`, such as `vish.data.parquet(path, target)`.
        checkpoint : None
            Checkpoints exist for regression only.

        Returns
        -------
        self
        """
        if checkpoint is not None:
            raise ValueError("checkpoints exist for the Gaussian family only: leave it out")
        with rolled_back(self):
            take_inputs_of(self, source)
            check_parameters(self)
            return self._fit_source(source)

    def _fit_source(self, source):
        with (
            progress(self.verbose) as shown,
            shown.rows("finding the classes", source.n_rows) as done,
        ):
            found = total(source, Classes.of_chunk, 1, done)
        if found is None:
            raise ValueError("the source has no rows: give at least two, of different classes")
        labels = sorted(found.counts)
        counts, classes = np.array([found.counts[label] for label in labels]), np.array(labels)
        if classes.dtype == float and (classes == np.rint(classes)).all():
            classes = classes.astype(int)  # sources give numbers as floats
        if len(classes) < 2:
            raise ValueError(
                f"the target holds one class only, {classes[0]!r}: a classifier needs at least two"
            )
        weights = weights_of_classes(self.class_weight, classes, counts)
        if weights is not None and (weights > 0).sum() < 2:
            raise ValueError("class_weight leaves less than two classes: a classifier needs two")
        with progress(self.verbose) as shown:
            encoded = encoded_source(source, classes, weights)
            result = fit_sites(encoded, self, self._likelihood(len(classes)), shown)
        return self._begin(classes, result)

    def _begin(self, classes, result):
        self.classes_, self.fit_trace_ = classes, result.trace
        self.n_rows_seen_, self.log_evidence_ = 0, 0.0
        if self.optimize:
            warn_if_below_linear(result.end.model, result.subset)
        return self._adopt(result.end)

    def _likelihood(self, n_classes):
        if self.likelihood is None:
            return Bernoulli() if n_classes == 2 else Softmax(n_classes)
        two = isinstance(self.likelihood, Bernoulli) and n_classes == 2
        several = isinstance(self.likelihood, Softmax) and self.likelihood.n_classes == n_classes
        if not (two or several):
            raise ValueError(
                f"likelihood is {self.likelihood!r}, but y holds {n_classes} classes: give "
                f"Bernoulli() for two classes or Softmax({n_classes})"
            )
        return self.likelihood

    @undisturbed
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows; the first call is a fit.

        New rows get sites on top of the old ones, which stay as they were: the result depends
        on the order of the calls, and is close to, not the same as, a fit of all rows.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
        classes : array-like, optional
            All classes that may ever come; needed in the first call if some are not in y.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        with rolled_back(self):
            first = not hasattr(self, "_model")
            X, y = self._labelled(X, y, reset=first)
            if first:
                check_labels(classes)
                known = np.unique(y) if classes is None else np.unique(classes)
                return self._fit(X, y, known, sample_weight)
            source = self._rows(X, y, self.classes_, sample_weight)
            with progress(self.verbose) as shown:
                return self._adopt(update_sites(self._model, source, self, shown))

    def _rows(self, X, y, classes, sample_weight):
        place = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
        unknown = classes[place] != y
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise ValueError(
                f"y[{row}] is {y[row]!r}, not one of the classes {list(classes)}: give all classes "
                "to the first call of partial_fit"
            )
        weights = None
        if sample_weight is not None or self.class_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            counts = np.bincount(place, minlength=len(classes))
            of_classes = weights_of_classes(self.class_weight, classes, counts)
            if of_classes is not None:
                weights = weights * of_classes[place]
            if not weights.any():
                raise ValueError("all weights are 0: give at least one row a weight")
        return ArraySource(X, place[:, None].astype(float), weights)

    def _adopt(self, end):
        self.log_evidence_ += end.bound
        self.n_rows_seen_ += end.n_rows
        self.n_iter_ = end.n_passes
        return self._restore(end.model)

    def _restore(self, model):
        """Take over a model; what was counted is already set."""
        self._model = model
        self._observation = SiteObservation(model)
        self.degree_ = model.geometry.degree
        self.n_harmonics_ = model.n_harmonics
        self.kernel_ = model.kernel
        self.likelihood_ = model.likelihood
        self.relevance_ = model.geometry.projection.relevance
        return self

    @undisturbed
    def predict_proba(self, X):
        """Probabilities of the classes, the uncertainty of the latent functions integrated.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        array of shape (n, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        return self._probabilities(X)

    def _probabilities(self, X):
        return self._observation.by_chunk(self._model.likelihood.probabilities, X, self.n_jobs)

    def predict(self, X):
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        array of shape (n,)
        """
        p = self.predict_proba(X)
        return self.classes_[np.argmax(p, axis=1)]

    @undisturbed
    def decision_function(self, X):
        """Logit of the probability of the second of two classes; log probabilities of more.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        array of shape (n,) or (n, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        if self._model.likelihood.n_latents > 1:
            log_p = np.log(np.maximum(self._probabilities(X), _SMALLEST))
            return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

        def log_odds(mean, variance):
            of = partial(self._model.likelihood.log_predictive, mean=mean, variance=variance)
            return of(np.ones(len(mean))) - of(np.zeros(len(mean)))

        return self._observation.by_chunk(log_odds, X, self.n_jobs)

    @undisturbed
    def predict_latent(self, X, return_std=False):
        """The latent functions, before the link.

        Parameters
        ----------
        X : array-like of shape (n, D)
        return_std : bool, default=False

        Returns
        -------
        mean : array of shape (n,) for two classes, (n, n_classes) for more
        std : array of the same shape, with `return_std`
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        mean, std = self._observation.latent(X, return_std, self.n_jobs)
        one = mean.shape[1] == 1
        mean = mean[:, 0] if one else mean
        return (mean, std[:, 0] if one else std) if return_std else mean

    def save(self, path):
        """Write the fitted model to one file, to be read by `vish.load`."""
        from vish.estimators.storage import save

        check_is_fitted(self)
        save(self, path)
