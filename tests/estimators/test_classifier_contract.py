"""`VISHClassifier` as scikit-learn's own checks see it: none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from vish import VISHClassifier

# The checks lower max_iter to 5 and give tables of up to 30 inputs: these two are then due.
pytestmark = [
    pytest.mark.filterwarnings("ignore:learning stopped at max_iter"),
    pytest.mark.filterwarnings("ignore:max_features=30 leaves degree 1"),
]


@parametrize_with_checks([VISHClassifier(max_features=30, n_starts=1, max_iter=20)])
def test_quick_settings(estimator, check):
    check(estimator)


@parametrize_with_checks([VISHClassifier()])
def test_default_settings(estimator, check):
    check(estimator)
