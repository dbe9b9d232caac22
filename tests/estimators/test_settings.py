"""Parameters become one typed record, with defaults filled in."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from vish import VISHClassifier, VISHRegressor
from vish.estimators.settings import FitSettings
from vish.kernels import ArcCosine, Matern
from vish.likelihoods import Bernoulli, Gaussian, StudentT


def test_defaults_are_filled_in():
    settings = FitSettings.of(VISHRegressor())
    assert (settings.kernel, settings.likelihood) == (Matern(1.5), Gaussian())
    assert (settings.degree, settings.rank, settings.relevance) == (None, "auto", None)
    assert settings.truncated
    assert settings.learns_relevance
    assert settings.seed == 0
    with pytest.raises(FrozenInstanceError):
        settings.degree = 3


def test_what_was_given_has_one_type():
    given = VISHRegressor(
        ArcCosine(), likelihood=StudentT(), degree=np.int64(3), rank=np.int32(2), relevance=0.5,
        tail="variational", scaling=([1, 2], [3, 4]), optimize=1, max_iter=np.uint8(7),
    )  # fmt: skip
    settings = FitSettings.of(given)
    assert (settings.kernel, settings.likelihood) == (ArcCosine(), StudentT())
    for value in (settings.degree, settings.rank, settings.max_iter):
        assert type(value) is int
    assert settings.optimize is True
    assert not settings.truncated
    assert not settings.learns_relevance
    assert settings.relevance.shape == ()
    np.testing.assert_array_equal(settings.scaling, [[1.0, 2.0], [3.0, 4.0]])


def test_a_classifier_says_its_likelihood_once_the_classes_are_known():
    assert FitSettings.of(VISHClassifier(), Bernoulli()).likelihood == Bernoulli()


def test_a_random_state_is_drawn_from_once():
    state = np.random.RandomState(3)
    first, second = (FitSettings.of(VISHRegressor(random_state=state)).seed for _ in range(2))
    assert first != second
    assert first == FitSettings.of(VISHRegressor(random_state=3)).seed
