"""`VISHClassifier`: labels, weights, imbalance, hardly any rows, probabilities, real data."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import logit
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from vish import VISHClassifier
from vish.kernels import Matern
from vish.likelihoods import Bernoulli, Poisson, Softmax

QUICK = {"max_features": 30, "n_starts": 1}


def two_classes(rng, n=200):
    X = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0]) - X[:, 1]))
    return X, (rng.uniform(size=n) < p).astype(int), p


# ---- probabilities


def test_two_classes_are_learned_and_calibrated(rng):
    X, y, _ = two_classes(rng, 1500)
    Z, t, p = two_classes(rng, 1500)
    model = VISHClassifier(degree=6, n_starts=1).fit(X, y)
    found = model.predict_proba(Z)[:, 1]
    assert np.mean((found - p) ** 2) < 0.003
    assert log_loss(t, found) < log_loss(t, p) + 0.02
    assert model.likelihood_ == Bernoulli()
    assert model.n_iter_ <= 100
    assert model.n_rows_seen_ == 1500


@pytest.mark.parametrize("likelihood", [Bernoulli("logit"), Bernoulli("probit"), Softmax(2)])
def test_probabilities_and_decision_function_of_two(likelihood, rng):
    X, y, _ = two_classes(rng)
    model = VISHClassifier(likelihood=likelihood, **QUICK).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), logit(p[:, 1]), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), (p[:, 1] > 0.5).astype(int))
    assert np.mean(model.predict(X) == y) > 0.75


def test_probabilities_and_decision_function_of_several():
    X, y = load_iris(return_X_y=True)
    model = VISHClassifier(**QUICK).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), np.log(p), rtol=1e-9)
    assert model.score(X, y) > 0.95
    mean, std = model.predict_latent(X, return_std=True)
    assert mean.shape == std.shape == (150, 3)
    assert std.min() > 0


def test_probabilities_grow_uncertain_far_away(rng):
    """Latent uncertainty is integrated: beyond the data nothing is sure."""
    X, y, _ = two_classes(rng)
    model = VISHClassifier(degree=5, **QUICK).fit(X, y)
    mean, std = model.predict_latent(X, return_std=True)
    p = model.predict_proba(X)[:, 1]
    sharp = 1 / (1 + np.exp(-mean))
    assert np.all(np.abs(p - 0.5) <= np.abs(sharp - 0.5) + 1e-7)
    assert mean.shape == std.shape == (200,)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_latent_functions_in_full(rng, n_classes):
    """Covariance, gradients and draws, one set for two classes, one each for more."""
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [0.0, 0.8][: n_classes - 1])
    model = VISHClassifier(degree=2, rank=None, **QUICK).fit(X, y)
    rows, step = X[:4], 1e-5
    mean, cov = model.predict_latent(rows, return_cov=True)
    _, std = model.predict_latent(rows, return_std=True)
    assert mean.shape == ((4,) if n_classes == 2 else (4, n_classes))
    variances = np.diagonal(cov, axis1=-2, axis2=-1)
    np.testing.assert_allclose(variances.T, std**2, rtol=1e-6)
    slopes, of_variance = model.predict_gradients(rows)
    for i in range(2):
        moved = rows + step * np.eye(2)[i]
        high, spread = model.predict_latent(moved, return_std=True)
        np.testing.assert_allclose(slopes[..., i], (high - mean) / step, rtol=1e-3, atol=1e-3)
        change = (spread**2 - std**2) / step
        np.testing.assert_allclose(of_variance[..., i], change, rtol=1e-3, atol=1e-3)
    draws = np.array([f(rows) for f in model.sample_functions(4000, random_state=0)])
    assert draws.shape == (4000, *mean.shape)
    error = std / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * error)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.06)


def test_decision_function_is_finite_however_sure_the_model(rng):
    X = np.linspace(-1, 1, 400)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = VISHClassifier(Matern(1.5, variance=100.0), optimize=False, degree=1).fit(X, y)
    assert np.isfinite(model.decision_function(1e8 * X)).all()
    assert np.all(np.sign(model.decision_function(X)) == np.sign(X[:, 0]))


# ---- labels


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array(["a", "b", "c"]),
        np.array([-1, 1]),
        np.array([10, 20, 30]),
        np.array(["x", "y", "z"], dtype=object),
        np.array([False, True]),
    ],
)
def test_labels_of_any_kind(names, rng):
    X = rng.normal(size=(60, 2))
    place = np.clip(np.floor(1.5 * X[:, 0] + len(names) / 2), 0, len(names) - 1).astype(int)
    model = VISHClassifier(**QUICK).fit(X, names[place])
    np.testing.assert_array_equal(model.classes_, names)
    assert set(model.predict(X)) <= set(names)
    numbers = VISHClassifier(**QUICK).fit(X, place)
    np.testing.assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))


# ---- weights


def test_sample_weights_are_repeats(rng):
    X, y, _ = two_classes(rng, 80)
    weights = rng.integers(0, 4, 80)
    weighted = VISHClassifier(**QUICK).fit(X, y, sample_weight=weights)
    repeated = VISHClassifier(**QUICK).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-8
    )


def test_class_weights_are_sample_weights(rng):
    X, y, _ = two_classes(rng, 150)
    names = np.array(["no", "yes"])[y]
    model = VISHClassifier(class_weight={"yes": 3.0}, **QUICK).fit(X, names)
    other = VISHClassifier(**QUICK).fit(X, names, sample_weight=np.where(y, 3.0, 1.0))
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    plain = VISHClassifier(**QUICK).fit(X, names)
    assert model.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.05


def test_balanced_weights(rng):
    X = rng.normal(size=(500, 1))
    y = (rng.uniform(size=500) < 0.05).astype(int)
    model = VISHClassifier(class_weight="balanced", degree=1, n_starts=1).fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1].mean() - 0.5) < 0.1


# ---- hard cases


def test_one_in_ten_thousand(rng):
    X = rng.normal(size=(10_001, 2))
    y = np.zeros(10_001, dtype=int)
    y[0], X[0] = 1, 2.0
    model = VISHClassifier(degree=2, n_starts=1, max_iter=30).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1, abs=0.6)
    assert p.max() < 0.5


def test_separable_classes(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = VISHClassifier(**QUICK).fit(X, y)
    assert model.score(X, y) > 0.98
    assert np.isfinite(model.log_evidence_)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_one_row_of_each_class(n_classes):
    X, y = np.arange(float(n_classes))[:, None], np.arange(n_classes)
    model = VISHClassifier(n_starts=1).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert np.all(p.diagonal() >= 1 / n_classes - 1e-3)


def test_tiny_problems_at_the_door(rng):
    """Estimator and all: finite, and within 100 passes or a warning."""
    for n in (2, 3, 5):
        for scale in (1e-6, 1.0, 1e6):
            X = scale * rng.normal(size=(n, 2))
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                model = VISHClassifier(n_starts=1).fit(X, np.arange(n) % 2)
            assert np.isfinite(model.predict_proba(X)).all()
            told = any(issubclass(w.category, ConvergenceWarning) for w in seen)
            assert model.n_iter_ < 100 or told


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "y", "text"),
    [
        ({}, ["a"] * 6, "y holds one class only, .*'a'.*: a classifier needs at least two"),
        ({}, np.linspace(0, 1, 6), "Unknown label type"),
        (
            {"likelihood": Bernoulli()},
            [0, 1, 2] * 2,
            r"y holds 3 classes: give Bernoulli\(\) for two classes or Softmax\(3\)",
        ),
        ({"likelihood": Softmax(4)}, [0, 1, 2] * 2, r"y holds 3 classes"),
        ({"likelihood": Poisson()}, [0, 1] * 3, r"likelihood is Poisson\(\), but y holds 2"),
        ({"class_weight": {0: 0.0}}, [0, 1] * 3, "less than two classes"),
        ({"tail": "long"}, [0, 1] * 3, "tail is 'long'"),
    ],
)
def test_refused(parameters, y, text):
    with pytest.raises(ValueError, match=text):
        VISHClassifier(**parameters).fit(np.arange(12.0).reshape(6, 2), y)


def test_weights_that_leave_one_class():
    X, y = np.arange(12.0).reshape(6, 2), [0, 1] * 3
    with pytest.raises(ValueError, match="hold less than two classes"):
        VISHClassifier().fit(X, y, sample_weight=[1, 0] * 3)


# ---- updates, copies


def test_partial_fit_approaches_the_fit_of_all(rng):
    X, y, _ = two_classes(rng, 600)
    first = VISHClassifier(degree=3, n_starts=1).partial_fit(X[:300], y[:300])
    geometry = {"relevance": first.relevance_, "degree": 3, "optimize": False}
    scaling = (first._model.geometry.projection.centre, first._model.geometry.projection.scale)
    whole = VISHClassifier(first.kernel_, scaling=scaling, **geometry).fit(X, y)
    before = np.abs(first.predict_proba(X) - whole.predict_proba(X)).mean()
    evidence = first.log_evidence_
    first.partial_fit(X[300:], y[300:])
    assert first.log_evidence_ < evidence  # probabilities of more rows
    after = np.abs(first.predict_proba(X) - whole.predict_proba(X)).mean()
    assert first.n_rows_seen_ == 600
    assert after < before / 3


def test_partial_fit_with_classes_to_come(rng):
    X, y, _ = two_classes(rng, 90)
    model = VISHClassifier(**QUICK).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.predict_proba(X)[:, 2].max() < 0.2
    model.partial_fit(X + 5, np.full(90, 2))
    assert np.mean(model.predict(X + 5) == 2) > 0.9
    with pytest.raises(ValueError, match=r"y\[0\] is .*7.*, not one of the classes"):
        model.partial_fit(X, np.full(90, 7))


def test_pickle_and_clone(rng):
    X, y, _ = two_classes(rng, 100)
    model = VISHClassifier(class_weight="balanced", **QUICK).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    other = clone(model)
    assert other.get_params()["class_weight"] == "balanced"
    np.testing.assert_array_equal(other.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_the_same_bits_for_any_number_of_threads(rng):
    X, y, _ = two_classes(rng, 20_000)
    fits = [
        VISHClassifier(Matern(1.5, 0.5), degree=3, optimize=False, n_jobs=n).fit(X, y)
        for n in (1, 2, 4)
    ]
    for other in fits[1:]:
        assert other.log_evidence_ == fits[0].log_evidence_
        assert np.array_equal(other.predict_proba(X), fits[0].predict_proba(X))


# ---- real data


def no_worse(ours, theirs, rng):
    """Scores per row, larger is better: the mean difference is above -2 standard errors.

    The standard errors are those of a paired bootstrap.
    """
    difference = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    means = [rng.choice(difference, len(difference)).mean() for _ in range(1000)]
    return difference.mean() >= -2 * np.std(means)


def log_scores(y, p):
    return np.log(np.maximum(p[np.arange(len(y)), y], 1e-15))


def test_wine_beside_an_exact_gaussian_process(rng):
    X, y = load_wine(return_X_y=True)
    X, Z, y, t = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    peer = GaussianProcessClassifier(1.0 * RBF(4.0)).fit(scaler.transform(X), y)
    theirs = peer.predict_proba(scaler.transform(Z))
    ours = VISHClassifier().fit(X, y).predict_proba(Z)
    assert no_worse(ours.argmax(axis=1) == t, theirs.argmax(axis=1) == t, rng)
    assert no_worse(log_scores(t, ours), log_scores(t, theirs), rng)
    assert log_loss(t, ours) < 0.2


def test_digits():
    """The exact peer, 0.969 and 0.64, takes minutes: see benchmarks."""
    X, y = load_digits(return_X_y=True)
    X, Z, y, t = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    pca = PCA(10, random_state=0).fit(X)
    model = VISHClassifier(n_starts=1).fit(pca.transform(X), y)
    p = model.predict_proba(pca.transform(Z))
    assert np.mean(p.argmax(axis=1) == t) > 0.955
    assert log_loss(t, p) < 0.2


def test_banana_bound_rises_with_the_degree(data_dir):
    table = np.loadtxt(data_dir / "banana" / "banana.csv", delimiter=",", skiprows=1)
    X, y = table[:, :2], table[:, 2]
    bounds = []
    for degree, n_harmonics in ((2, 9), (14, 225), (27, 784)):
        model = VISHClassifier(
            Matern(1.5, 0.3, variance=10.0), degree=degree, tail="variational",
            relevance=np.ones(2), optimize=False,
        ).fit(X, y)  # fmt: skip
        assert model.n_harmonics_ == n_harmonics
        bounds.append(model.log_evidence_)
    assert bounds[0] < bounds[1] < bounds[2]
    assert model.score(X, y) > 0.88


def test_susy_beside_gradient_boosting(data_dir, rng):
    def rows(name):
        table = np.loadtxt(data_dir / "susy" / name, delimiter=",", skiprows=1)
        return table[:, :8], table[:, 8].astype(int)

    (X, y), (Z, t) = rows("susy_train_10k.csv.gz"), rows("susy_test_1k.csv.gz")
    ours = VISHClassifier(degree=3).fit(X, y).predict_proba(Z)
    theirs = GradientBoostingClassifier(random_state=0).fit(X, y).predict_proba(Z)
    assert no_worse(log_scores(t, ours), log_scores(t, theirs), rng)
    gaps = []
    for _ in range(300):
        pick = rng.integers(len(t), size=len(t))
        gaps.append(roc_auc_score(t[pick], ours[pick, 1]) - roc_auc_score(t[pick], theirs[pick, 1]))
    gap = roc_auc_score(t, ours[:, 1]) - roc_auc_score(t, theirs[:, 1])
    assert gap >= -2 * np.std(gaps)
