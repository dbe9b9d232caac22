"""`SphericalHarmonics`: from a table to the features r phi(xi) of the model."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from vish.estimators.scaling import centre_and_scale
from vish.sphere import HarmonicBasis, Projection
from vish.sphere.blas import undisturbed


class SphericalHarmonics(TransformerMixin, BaseEstimator):
    r"""Spherical-harmonic features of a table, for any linear model.

    Rows are standardised, extended by a bias and projected onto the unit sphere,
    :math:`\tilde x = (w x_s, 1) = r \xi`; the features are :math:`r \phi_m(\xi)` with
    harmonics :math:`\phi_m` orthonormal under the uniform measure. The features of degree 1
    are the linear functions of the inputs.

    Parameters
    ----------
    degree : int, default=3
        Largest degree of the harmonics.
    scaling : pair of arrays (centre, scale), optional
        What is subtracted from and divided into the inputs; mean and standard deviation of
        the columns by default.
    relevance : float, array of shape (D,) or (p, D), optional
        Linear map of the standardised inputs: one factor per input, or a matrix to p
        dimensions. By default :math:`1/\sqrt D` for each, which spreads the rows over the
        half sphere.
    n_jobs : int, optional
        Number of threads; None is all cores.

    Attributes
    ----------
    projection_ : Projection
        The map from rows to directions and radii.
    n_harmonics_ : int
        Number of features M.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from vish import SphericalHarmonics
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SphericalHarmonics(degree=2).fit_transform(X).shape
    (442, 77)
    >>> model = make_pipeline(SphericalHarmonics(degree=2), RidgeCV([0.1, 1, 10])).fit(X, y)
    """

    def __init__(self, degree=3, *, scaling=None, relevance=None, n_jobs=None):
        self.degree = degree
        self.scaling = scaling
        self.relevance = relevance
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Learn centre and scale of the columns.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : ignored

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=(np.float64, np.float32))
        D = X.shape[1]
        centre, scale = centre_and_scale(X)[:2] if self.scaling is None else self.scaling
        relevance = 1 / np.sqrt(D) if self.relevance is None else np.asarray(self.relevance)
        if np.ndim(relevance) == 0:
            relevance = np.full(D, relevance)
        self.projection_ = Projection(centre, scale, relevance)
        self._basis = HarmonicBasis(self.projection_.dimension, self.degree)
        self.n_harmonics_ = self._n_features_out = len(self._basis)
        return self

    @undisturbed
    def transform(self, X):
        """Features of the rows.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        features : array of shape (n, M)
            Ordered by degree; float32 for float32 rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        directions, radii = self.projection_.project(X, self.n_jobs)
        features = self._basis.evaluate(directions.astype(X.dtype, copy=False), self.n_jobs)
        features *= radii[:, None].astype(X.dtype, copy=False)
        return features

    def get_feature_names_out(self, input_features=None):
        """Names "harmonic<degree>_<position>" of the features.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : array of str, shape (M,)
        """
        check_is_fitted(self)
        names = [
            f"harmonic{degree}_{position}"
            for degree, size in enumerate(self._basis.level_sizes)
            for position in range(size)
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
