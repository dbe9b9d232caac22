r"""Scores of predictions that come with an uncertainty.

`nlpd` and `crps` are proper: they are smallest, on average, for the true distribution.
`coverage` and `expected_calibration_error` ask whether stated probabilities come true, and
say nothing of how sharp they are. Scikit-learn has those of point predictions
(`sklearn.metrics.mean_squared_error`) and of class probabilities (`log_loss`,
`brier_score_loss`).
"""

import numpy as np
from scipy.special import ndtr, ndtri

__all__ = [
    "band_coverage",
    "coverage",
    "crps",
    "crps_from_quantiles",
    "crps_from_samples",
    "expected_calibration_error",
    "nlpd",
]


def nlpd(y, mean, std, *, sample_weight=None):
    r"""Negative log predictive density of Gaussian predictions, mean over rows.

    .. math:: \tfrac12 \log 2\pi\sigma_n^2 + \frac{(y_n - \mu_n)^2}{2\sigma_n^2}

    For other predictive distributions it is `-np.mean(model.log_density(X, y))`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Observed values.
    mean, std : array-like of shape (n,), or a number
        Mean and standard deviation of the prediction, noise included.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation.

    Examples
    --------
    >>> from vish.metrics import nlpd
    >>> round(nlpd([0.0, 1.0], mean=[0.0, 0.0], std=1.0), 4)
    1.1689
    """
    y, mean, std = _gaussian(y, mean, std)
    return _average(
        np.log(2 * np.pi) / 2 + np.log(std) + ((y - mean) / std) ** 2 / 2, sample_weight
    )


def coverage(y, mean, std, *, level=0.95, sample_weight=None):
    r"""Share of rows inside the central band of Gaussian predictions.

    The band is :math:`\mu_n \pm z \sigma_n` with the z of the level; a calibrated model
    covers the level itself.

    Parameters
    ----------
    y : array-like of shape (n,)
    mean, std : array-like of shape (n,), or a number
        Mean and standard deviation of the prediction, noise included.
    level : float, default=0.95
        What the band should cover.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    See Also
    --------
    band_coverage : For bands of any other distribution.

    Examples
    --------
    >>> from vish.metrics import coverage
    >>> coverage([0.0, 1.0, 3.0, -1.5], mean=0.0, std=1.0, level=0.95)
    0.75
    """
    y, mean, std = _gaussian(y, mean, std)
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}: give a number between 0 and 1, such as 0.95")
    half_width = ndtri((1 + level) / 2) * std
    return _average(np.abs(y - mean) <= half_width, sample_weight)


def band_coverage(y, lower, upper, *, sample_weight=None):
    """Share of rows inside their bands.

    Parameters
    ----------
    y : array-like of shape (n,)
    lower, upper : array-like of shape (n,), or a number
        Ends of the band, which belong to it; columns of `predict_quantiles`, for example.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> from vish.metrics import band_coverage
    >>> band_coverage([0.0, 1.0, 2.0, 5.0], lower=[0, 0, 0, 0], upper=[1, 1, 1, 9])
    0.75
    """
    y = _column("y", y)
    lower, upper = _like(y, "lower", lower), _like(y, "upper", upper)
    if np.any(lower > upper):
        row = int(np.argmax(lower > upper))
        raise ValueError(
            f"row {row} has lower {lower[row]:g} above upper {upper[row]:g}: swap the two"
        )
    return _average((lower <= y) & (y <= upper), sample_weight)


def crps(y, mean, std, *, sample_weight=None):
    r"""Continuous ranked probability score of Gaussian predictions, mean over rows.

    The squared distance between the predicted distribution function and that of the
    observed value, in the units of y; for a prediction without spread, the absolute error.

    .. math::

        \int (F_n(x) - 1[x \ge y_n])^2 dx
        = \sigma \left( z (2 \Phi(z) - 1) + 2 \phi(z) - \pi^{-1/2} \right),
        \quad z = (y - \mu) / \sigma

    Parameters
    ----------
    y : array-like of shape (n,)
    mean, std : array-like of shape (n,), or a number
        Mean and standard deviation of the prediction, noise included.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    See Also
    --------
    crps_from_quantiles, crps_from_samples : For other predictive distributions.

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation.

    Examples
    --------
    >>> from vish.metrics import crps
    >>> round(crps([0.0], mean=0.0, std=1.0), 4)
    0.2337
    """
    y, mean, std = _gaussian(y, mean, std)
    z = (y - mean) / std
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    score = std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
    return _average(score, sample_weight)


def crps_from_quantiles(y, quantiles, levels, *, sample_weight=None):
    r"""Continuous ranked probability score from predicted quantiles, mean over rows.

    It is the integral over all levels q of twice the pinball loss, here the mean over the
    levels given: take them evenly spaced, as in the example.

    .. math:: 2 \int_0^1 (1[y < F^{-1}(q)] - q) (F^{-1}(q) - y) \, dq

    Parameters
    ----------
    y : array-like of shape (n,)
    quantiles : array-like of shape (n, n_levels)
        From `predict_quantiles`, for example.
    levels : array-like of shape (n_levels,)
        Between 0 and 1.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from vish.metrics import crps_from_quantiles
    >>> levels = (np.arange(200) + 0.5) / 200
    >>> round(crps_from_quantiles([0.0], norm.ppf(levels)[None], levels), 2)
    0.23
    """
    y, levels = _column("y", y), _column("levels", levels)
    quantiles = _table("quantiles", quantiles, len(y), len(levels), "level")
    if not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"levels are {levels}: give numbers between 0 and 1")
    distance = quantiles - y[:, None]
    return _average(2 * (((distance > 0) - levels) * distance).mean(axis=1), sample_weight)


def crps_from_samples(y, samples, *, sample_weight=None):
    r"""Continuous ranked probability score from draws, mean over rows.

    .. math:: E|Y - y| - \tfrac12 E|Y - Y'|

    with the unbiased estimate of the second term.

    Parameters
    ----------
    y : array-like of shape (n,)
    samples : array-like of shape (n, n_samples)
        At least two draws of each row's predicted distribution, from `sample_y` for example.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> from vish.metrics import crps_from_samples
    >>> crps_from_samples([0.0], [[-1.0, 1.0]])
    0.0
    """
    y = _column("y", y)
    samples = _table("samples", samples, len(y), None, "draw")
    S = samples.shape[1]
    if S < 2:
        raise ValueError("samples has one draw per row: give at least two")
    # sum_{i<j} |Y_i - Y_j| of sorted draws is sum_i (2i - S + 1) Y_i
    ordered = np.sort(samples, axis=1)
    pairs = ordered @ (2.0 * np.arange(S) - S + 1) / (S * (S - 1) / 2)
    return _average(np.abs(samples - y[:, None]).mean(axis=1) - pairs / 2, sample_weight)


def expected_calibration_error(y, probabilities, *, n_bins=10, labels=None, sample_weight=None):
    r"""Distance between stated probabilities and the frequencies with which they come true.

    Rows are sorted into bins of equal width by their probability p; a is 1 where the event
    came true:

    .. math:: \sum_b \frac{n_b}{n} \left| \bar a_b - \bar p_b \right|

    Parameters
    ----------
    y : array-like of shape (n,)
        Observed classes.
    probabilities : array-like of shape (n,) or (n, n_classes)
        One column: of the second of two classes, in sorted order; the event is that class.
        Several: of every class, as `predict_proba` gives them; the event is that the most
        probable class is right.
    n_bins : int, default=10
    labels : array-like of shape (n_classes,), optional
        Classes in the order of the columns; those of y, sorted, by default.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> from vish.metrics import expected_calibration_error
    >>> round(expected_calibration_error([0, 0, 1, 1], [0.1, 0.1, 0.8, 0.8]), 3)
    0.15
    """
    events, stated = events_and_probabilities(y, probabilities, labels)
    weights = _weights(sample_weight, len(events))
    totals, frequencies, means = reliability_bins(events, stated, n_bins, weights)
    filled = totals > 0
    gaps = np.abs(frequencies - means)[filled]
    return float(gaps @ totals[filled] / totals.sum())


def events_and_probabilities(y, probabilities, labels=None):
    """What was predicted of each row: whether it came true, and its probability.  [n] each"""
    y = np.asarray(y)
    if y.ndim != 1 or not len(y):
        raise ValueError(f"y has shape {y.shape}: give one class per row")
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if not np.all((probabilities >= 0) & (probabilities <= 1 + 1e-9)):
        raise ValueError("probabilities must lie between 0 and 1: is this a decision function?")
    labels = np.unique(y) if labels is None else np.asarray(labels)
    unknown = np.setdiff1d(y, labels)
    if len(unknown):
        raise ValueError(f"y has the class {unknown[0]!r}, which is not in labels")
    if probabilities.ndim == 1:
        if len(probabilities) != len(y):
            raise ValueError(f"y has {len(y)} rows, probabilities {len(probabilities)}")
        if len(labels) == 1 and labels[0] in (0, 1):  # only one of the classes 0 and 1 was seen
            labels = np.array([0, 1])
        if len(labels) != 2:
            raise ValueError(
                f"one column of probabilities is for two classes, found {len(labels)}: "
                "give a column for every class, or labels"
            )
        return (y == labels[1]).astype(float), probabilities
    probabilities = _table(
        "probabilities", probabilities, len(y), len(labels), "class of y, or of labels"
    )
    return (y == labels[probabilities.argmax(axis=1)]).astype(float), probabilities.max(axis=1)


def reliability_bins(events, stated, n_bins, weights):
    """Weight, frequency of the event and mean probability of every bin.  [n_bins] each"""
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}: give at least 1")
    bins = np.minimum((stated * n_bins).astype(int), n_bins - 1)
    totals = np.bincount(bins, weights, n_bins)
    divisor = np.where(totals > 0, totals, np.nan)
    frequencies = np.bincount(bins, weights * events, n_bins) / divisor
    return totals, frequencies, np.bincount(bins, weights * stated, n_bins) / divisor


# ---- checks


def _column(name, values):
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{name} has shape {values.shape}: give one number per row")
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{name} has a missing or infinite value in row {_first_bad(values)}")
    return values


def _like(y, name, values):
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(len(y), values)
    values = _column(name, values)
    if len(values) != len(y):
        raise ValueError(f"y has {len(y)} rows, {name} {len(values)}")
    return values


def _gaussian(y, mean, std):
    y = _column("y", y)
    mean, std = _like(y, "mean", mean), _like(y, "std", std)
    if np.any(std <= 0):
        row = int(np.argmax(std <= 0))
        raise ValueError(f"std is {std[row]:g} in row {row}: give positive numbers")
    return y, mean, std


def _table(name, values, n_rows, n_columns, what):
    values = np.asarray(values, dtype=np.float64)
    columns = f"n_{what}s" if n_columns is None else n_columns
    if values.ndim != 2 or len(values) != n_rows or n_columns not in (None, values.shape[1]):
        raise ValueError(
            f"{name} has shape {values.shape}: give ({n_rows}, {columns}), a column per {what}"
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{name} has a missing or infinite value")
    return values


def _first_bad(values):
    return int(np.argmin(np.isfinite(values)))


def _weights(sample_weight, n):
    if sample_weight is None:
        return np.ones(n)
    weights = _column("sample_weight", sample_weight)
    if len(weights) != n:
        raise ValueError(f"y has {n} rows, sample_weight {len(weights)}")
    if np.any(weights < 0) or not weights.any():
        raise ValueError("sample_weight must not be negative, nor 0 everywhere")
    return weights


def _average(values, sample_weight):
    return float(np.average(values, weights=_weights(sample_weight, len(values))))
