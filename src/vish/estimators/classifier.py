"""`VISHClassifier`: Gaussian-process classification on tables of any length."""

from functools import partial

import numpy as np
from sklearn.base import ClassifierMixin

from vish.estimators.base import VISHBase
from vish.estimators.checkpoint import refuse_checkpoint
from vish.estimators.labels import check_labels, classes_of_source, likelihood_of_classes
from vish.estimators.linear_check import warn_if_below_linear
from vish.estimators.rows import labelled, require_two_classes, rows_of_classes
from vish.estimators.settings import FitSettings, check_parameters
from vish.estimators.state import rolled_back
from vish.inference.classes import encoded_source
from vish.inference.progress import progress
from vish.sphere.blas import undisturbed

_SMALLEST = np.finfo(float).tiny


class VISHClassifier(ClassifierMixin, VISHBase):
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
    degree_, n_harmonics_, tail_, kernel_, likelihood_, relevance_, description_
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
        super().__init__(
            kernel,
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
        self.class_weight = class_weight

    # ---- learning

    def _fit_rows(self, X, y, sample_weight):
        X, y = labelled(self, X, y, reset=True)
        return self._fit_labelled(X, y, np.unique(y), sample_weight)

    def _fit_labelled(self, X, y, classes, sample_weight):
        check_parameters(self)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes[0]!r}: a classifier needs at least two classes"
            )
        source = rows_of_classes(X, y, classes, sample_weight, self.class_weight)
        require_two_classes(source)
        return self._learn(source, classes)

    def _fit_source(self, source, checkpoint, checkpoint_rows):
        refuse_checkpoint(checkpoint)
        with (
            progress(self.verbose) as shown,
            shown.rows("finding the classes", source.n_rows) as done,
        ):
            classes, weights = classes_of_source(source, self.class_weight, done)
        return self._learn(encoded_source(source, classes, weights), classes)

    def _learn(self, source, classes):
        """Learn from rows whose targets are places of classes."""
        likelihood = likelihood_of_classes(self.likelihood, len(classes))
        settings = FitSettings.of(self, likelihood)
        self.classes_ = classes
        result = self._fit_sites(source, settings)
        if settings.optimize:
            warn_if_below_linear(result.end.model, result.subset)
        return self

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
            X, y = labelled(self, X, y, reset=first)
            if first:
                check_labels(classes)
                known = np.unique(y) if classes is None else np.unique(classes)
                return self._fit_labelled(X, y, known, sample_weight)
            source = rows_of_classes(X, y, self.classes_, sample_weight, self.class_weight)
            return self._update_sites(source)

    def _shows_one(self):
        return self._model.likelihood.n_latents == 1

    # ---- predicting

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
        return self._probabilities(self._inputs(X))

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
        X = self._inputs(X)
        if self._model.likelihood.n_latents > 1:
            log_p = np.log(np.maximum(self._probabilities(X), _SMALLEST))
            return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

        def log_odds(mean, variance):
            of = partial(self._model.likelihood.log_predictive, mean=mean, variance=variance)
            return of(np.ones(len(mean))) - of(np.zeros(len(mean)))

        return self._observation.by_chunk(log_odds, X, self.n_jobs)
