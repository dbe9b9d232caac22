"""Labels and weights of classes: what cannot be meant is refused, in memory and in sources."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from vish import VISHClassifier, data

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def classifier(**options):
    return VISHClassifier(degree=1, rank=None, **options)


def source(y=Y, X=X):
    return data.batches(lambda: iter([(X[:30], y[:30]), (X[30:], y[30:])]))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a"] * 59 + [None], r"y\[59\] is None, no class"),
        (["a"] * 59 + [float("nan")], r"y\[59\] is nan, no class"),
        (["a"] * 59 + [1], "labels of different kinds, such as 1 .row 59. and 'a' .row 0."),
        (np.array([1] * 59 + ["b"], dtype=object), "labels of different kinds"),
        (pd.Series(["a"] * 59 + [None], dtype=object), "no class"),
        (pd.Series(["a"] * 59 + [pd.NA], dtype="string"), "no class"),
    ],
)
def test_labels_that_cannot_be_ordered_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        classifier().fit(X, labels)
    with pytest.raises(ValueError, match=words):
        classifier().partial_fit(X, labels)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({0: -1.0}, "class_weight of 0 is -1.0: give a finite number of at least 0"),
        ({0: float("nan"), 1: 1}, "class_weight of 0 is nan"),
        ({1: float("inf")}, "class_weight of 1 is inf"),
        ({0: "much"}, "class_weight of 0 is 'much'"),
        ({"no": 2.0}, "class_weight names"),
        ("even", "class_weight is 'even': give a dict"),
        ([1, 2], "give a dict"),
        ({0: 0.0}, "less than two classes"),
    ],
)
def test_weights_that_cannot_be_meant_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        classifier(class_weight=weight).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        classifier(class_weight=weight).fit_source(source())


@pytest.mark.parametrize("weight", [{0: 3.0, 1: 0.5}, {1: 4.0}, "balanced"])
def test_sources_take_class_weights_as_memory_does(weight):
    rare = (X[:, 0] > 0.8).astype(int)
    memory = classifier(class_weight=weight).fit(X, rare)
    streamed = classifier(class_weight=weight).fit_source(source(rare))
    plain = classifier().fit_source(source(rare))
    np.testing.assert_array_equal(memory.predict_proba(X), streamed.predict_proba(X))
    assert np.abs(plain.predict_proba(X) - streamed.predict_proba(X)).max() > 0.02


def test_sources_with_a_continuous_target_or_no_rows_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classifier().fit_source(source(X[:, 1]))
    with pytest.raises(ValueError, match="no rows"):
        classifier().fit_source(data.batches(lambda: iter([(X[:0], Y[:0])])))
    with pytest.raises(ValueError, match="one class only"):
        classifier().fit_source(source(np.zeros(60, int)))


def test_sources_take_a_scaling():
    scaled = {"scaling": (np.zeros(2), np.ones(2))}
    streamed, memory = classifier(**scaled).fit_source(source()), classifier(**scaled).fit(X, Y)
    np.testing.assert_array_equal(streamed.predict_proba(X), memory.predict_proba(X))


def test_names_of_an_earlier_fit_do_not_stay():
    model = classifier().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    model.fit_source(source())
    assert not hasattr(model, "feature_names_in_")


def test_a_refit_that_fails_leaves_the_classifier_as_it_was():
    model = classifier().fit(X, Y)
    before, state = model.predict_proba(X), dict(vars(model))
    weights = Y.astype(float)
    for attempt in (
        lambda: model.fit(X[:, :1], np.zeros(60)),
        lambda: model.fit(X, Y, sample_weight=weights),  # one class only: as at a first fit
        lambda: model.fit_source(source(X[:, 1], X[:, :1])),
        lambda: model.partial_fit(X, Y + 5),
        lambda: model.partial_fit(X[:, :1], Y),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            attempt()
        assert vars(model) == state
        np.testing.assert_array_equal(model.predict_proba(X), before)
    unfitted = classifier()
    with pytest.raises(ValueError, match="less than two classes"):
        unfitted.fit(X, Y, sample_weight=weights)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
