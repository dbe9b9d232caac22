"""Fits beside each other: the same bits as alone, and nothing global is changed."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vish import VISHClassifier, VISHRegressor
from vish.likelihoods import StudentT


def problems():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=300)
    return [
        (VISHRegressor(degree=4, max_iter=30), X, y),
        (VISHRegressor(degree=3, rank=None, likelihood=StudentT(), max_iter=20), X, y),
        (VISHClassifier(degree=2, rank=None, max_iter=20), X, (y > 0.5).astype(int)),
        (VISHRegressor(degree=14, rank=None, max_iter=3), X, y),  # 1,240 harmonics
    ]


def outcome(problem):
    model, X, y = problem
    model.fit(X, y)
    predictions = model.predict_latent(X[:50], return_std=True)
    return np.concatenate([*predictions, [model.log_evidence_]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_in_four_threads_give_the_bits_of_fits_alone():
    limiter = threadpool_limits(2, user_api="blas")  # entered, it would belong to this thread
    try:
        alone = [outcome(problem) for problem in problems()]
        for _ in range(3):
            results = [None] * 4

            def run(i, problem, results=results):
                results[i] = outcome(problem)

            work = [threading.Thread(target=run, args=(i, p)) for i, p in enumerate(problems())]
            for thread in work:
                thread.start()
            for thread in work:
                thread.join()
            for together, apart in zip(results, alone, strict=True):
                assert np.array_equal(together, apart)
            blas = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
            assert set(blas) == {2}
    finally:
        limiter.restore_original_limits()
