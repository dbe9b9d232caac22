"""Classification and heavy tails: banana, SUSY, flights, digits, beside peers.

Scores stand in the first column with the times; a goal for a score is an assertion of its own,
printed as a line of the table whose "time" is the score. The exact Gaussian process of
scikit-learn takes minutes on digits. Data come from ``VISH_DATA``; what is missing is left out.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row, best_times

LATE = 15  # minutes
NLPD_GOAL = 0.80  # of StudentT() alone and Warped(SinhArcsinh()) alone


def data_folder() -> Path:
    return Path(os.environ.get("VISH_DATA", "."))


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def scores(y, p) -> str:
    """AUC, log loss and expected calibration error of probabilities of class 1."""
    from sklearn.metrics import log_loss, roc_auc_score

    from vish.metrics import expected_calibration_error

    calibration = expected_calibration_error(y, p)
    return f"AUC {roc_auc_score(y, p):.4f}, log loss {log_loss(y, p):.4f}, ECE {calibration:.4f}"


def banana() -> Iterator[Row]:
    from vish.paper.methods.banana import spherical_model
    from vish.paper.splits import banana as rows

    split = rows(data_folder())
    for degree in (2, 14, 27):
        model = spherical_model(degree)
        _, seconds = timed(lambda m=model: m.fit(split.X, split.y))
        what = f"banana, M = {model.n_harmonics_}, bound {model.log_evidence_:.2f}"
        yield Row(what, seconds, "goal", 5.0, times_slower=1.0)


def susy() -> Iterator[Row]:
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

    from vish import VISHClassifier

    def rows(name):
        table = np.loadtxt(data_folder() / "susy" / name, delimiter=",", skiprows=1)
        return table[:, :8], table[:, 8].astype(int)

    (X, y), (Z, t) = rows("susy_train_10k.csv.gz"), rows("susy_test_1k.csv.gz")
    ours, seconds = timed(lambda: VISHClassifier(degree=3).fit(X, y))
    what = f"SUSY, {ours.n_iter_} passes, {scores(t, ours.predict_proba(Z)[:, 1])}"
    yield Row(what, seconds, "goal", 10.0, times_slower=1.0)
    for peer in (
        GradientBoostingClassifier(random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ):
        _, peer_seconds = timed(lambda p=peer: p.fit(X, y))
        name = f"{type(peer).__name__}, {scores(t, peer.predict_proba(Z)[:, 1])}"
        yield Row("SUSY", seconds, name, peer_seconds)


def flights():
    """Inputs and delays: two thirds to learn from, one third to test."""
    from vish.paper import airline

    X, delay = airline.read(airline.locate(data_folder())[1])
    order = np.random.default_rng(0).permutation(len(X))
    learn, test = np.split(order, [2 * len(X) // 3])
    return X[learn], delay[learn], X[test], delay[test]


def late_flights(X, delay, Z, test_delay) -> Iterator[Row]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from vish import VISHClassifier
    from vish.inference.sources import ArraySource
    from vish.inference.statistics import Statistics

    y, t = (delay > LATE).astype(int), (test_delay > LATE).astype(int)
    model, seconds = timed(lambda: VISHClassifier(degree=3).fit(X, y))
    found = scores(t, model.predict_proba(Z)[:, 1])
    what = f"late flights, {len(X):,} rows, {model.n_iter_} passes (goal 25), {found}"
    for peer in (
        HistGradientBoostingClassifier(random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ):
        _, peer_seconds = timed(lambda p=peer: p.fit(X, y))
        name = f"{type(peer).__name__}, {scores(t, peer.predict_proba(Z)[:, 1])}"
        yield Row(what, seconds, name.replace("Pipeline", "LogisticRegression"), peer_seconds)
        what = "late flights"
    source, sites = ArraySource(X, y[:, None].astype(float)), model._model
    one_pass, statistics = best_times(
        lambda: sites.read(source, None, lambda n: None),
        lambda: Statistics.of_source(sites.geometry, source),
        repeat=3,
    )
    yield Row("late flights, one pass", one_pass, "regression pass", statistics, times_slower=4.0)


def heavy_tails(X, delay, Z, test_delay) -> Iterator[Row]:
    from vish import VISHRegressor
    from vish.likelihoods import SinhArcsinh, StudentT, Warped

    mean, spread = delay.mean(), delay.std()
    y, t = (delay - mean) / spread, (test_delay - mean) / spread
    plain, plain_seconds = timed(lambda: VISHRegressor(degree=3).fit(X, y))
    peer = f"Gaussian(), NLPD {-plain.log_density(Z, t).mean():.4f}"
    for likelihood in (StudentT(), Warped(SinhArcsinh())):
        model, seconds = timed(lambda k=likelihood: VISHRegressor(likelihood=k, degree=3).fit(X, y))
        nlpd = -model.log_density(Z, t).mean()
        verdict = "met" if nlpd <= NLPD_GOAL else "missed"
        what = f"{type(likelihood).__name__} delays, NLPD {nlpd:.4f} (goal {NLPD_GOAL}, {verdict})"
        yield Row(what, seconds, peer, plain_seconds)


def digits() -> Iterator[Row]:
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.metrics import accuracy_score, log_loss
    from sklearn.model_selection import train_test_split

    from vish import VISHClassifier

    X, y = load_digits(return_X_y=True)
    X, Z, y, t = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    pca = PCA(10, random_state=0).fit(X)
    X, Z = pca.transform(X), pca.transform(Z)

    def judged(p):
        return f"accuracy {accuracy_score(t, p.argmax(axis=1)):.4f}, log loss {log_loss(t, p):.4f}"

    ours, seconds = timed(lambda: VISHClassifier().fit(X, y))
    what = f"digits, {len(X)} rows, {judged(ours.predict_proba(Z))}"
    peer, peer_seconds = timed(lambda: GaussianProcessClassifier(1.0 * RBF(20.0)).fit(X, y))
    name = f"GaussianProcessClassifier, {judged(peer.predict_proba(Z))}"
    yield Row(what, seconds, name, peer_seconds, times_faster=20.0)


def run() -> Iterator[Row]:
    yield from digits()
    if (data_folder() / "banana").is_dir():
        yield from banana()
    if (data_folder() / "susy").is_dir():
        yield from susy()
    if (data_folder() / "airline").is_dir():
        rows = flights()
        yield from late_flights(*rows)
        yield from heavy_tails(*rows)
