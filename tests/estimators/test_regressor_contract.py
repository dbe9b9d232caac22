"""`VISHRegressor` as scikit-learn's own checks see it: none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from vish import VISHRegressor

# The checks lower max_iter to 5 and give tables of up to 30 inputs: these two are then due.
pytestmark = [
    pytest.mark.filterwarnings("ignore:learning stopped at max_iter"),
    pytest.mark.filterwarnings("ignore:max_features=50 leaves degree 1"),
]


@parametrize_with_checks([VISHRegressor(max_features=50, n_starts=1, max_iter=20)])
def test_quick_settings(estimator, check):
    check(estimator)


@parametrize_with_checks([VISHRegressor()])
def test_default_settings(estimator, check):
    check(estimator)
