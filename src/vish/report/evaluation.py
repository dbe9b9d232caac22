"""What the model says of a sample of rows, beside what came true and what simple models say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr

from vish.report.scores import BANDS, class_codes, class_scores, regression_scores

LEVELS = np.arange(1, 40) / 40
_FOLDS = 5
_MOST_TRAINING = 20_000  # rows from which a simple model learns, in each fold


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions of rows with a target, and their scores.

    Parameters
    ----------
    columns : dict of arrays
        By row: y, mean, density, below, under, in0.95, ...; of classes code and chances.
    scores : dict
        As `vish evaluate` has them.
    baselines : dict of str to dict
        Columns of simple models, by name, the simplest first.
    baseline_scores : dict of str to dict
    """

    columns: dict[str, np.ndarray]
    scores: dict[str, Any]
    baselines: dict[str, dict[str, np.ndarray]]
    baseline_scores: dict[str, dict[str, Any]]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def losses(self) -> np.ndarray:
        """Minus the log probability of what came true, by row."""
        return losses(self.columns)

    @property
    def shares_below(self) -> np.ndarray:
        """Share of rows below the predicted quantiles of LEVELS.

        A count stands for a step of the distribution function, and for a random place in it:
        then shares of a calibrated model are the levels, as for numbers.
        """
        below, under = self.columns["below"], self.columns["under"]
        place = under + np.random.default_rng(0).random(len(below)) * (below - under)
        return (place[:, None] <= LEVELS).mean(axis=0)

    def gain(self, baseline: str) -> tuple[float, float]:
        """How much smaller the mean loss is than a simple model's, and its standard error."""
        difference = losses(self.baselines[baseline]) - self.losses
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
        return float(difference.mean()), float(error)


def losses(columns: dict[str, np.ndarray]) -> np.ndarray:
    if "density" in columns:
        return -columns["density"]
    own = columns["chances"][np.arange(len(columns["code"])), columns["code"]]
    return -np.log(np.maximum(own, 1e-300))


def evaluated(estimator: Any, X: np.ndarray, y: np.ndarray, target: str, task: str) -> Evaluation:
    """Predict rows X [n, D], and score."""
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        columns = {"code": class_codes(y, classes, target), "chances": estimator.predict_proba(X)}
        baselines = _class_baselines(X, columns["code"], len(classes))
        return Evaluation(
            columns,
            class_scores(columns, classes),
            baselines,
            {name: class_scores(part, classes) for name, part in baselines.items()},
        )
    y = y.astype(float)
    observation = estimator.description_.observation
    below, under = (
        p[:, 0] for p in observation.probabilities_below(X, y[:, None], estimator.n_jobs)
    )
    columns = {
        "y": y,
        "mean": estimator.predict(X),
        "density": estimator.log_density(X, y),
        "below": below,
        "under": under,
    }
    for band in BANDS:
        inside = (below >= (1 - band) / 2) & (under < (1 + band) / 2)
        columns[f"in{band}"] = inside.astype(float)
    baselines = (_count_baselines if task == "count" else _number_baselines)(X, y)
    with np.errstate(all="ignore"):  # a row far outside may be off by more than squares hold
        scores = {name: regression_scores(part) for name, part in baselines.items()}
        return Evaluation(columns, regression_scores(columns), baselines, scores)


# ---- simple models, each row predicted by one that has not seen it


def _folds(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows to predict; the rows are in no order that matters."""
    rng = np.random.default_rng(0)
    fold = rng.permutation(np.arange(n) % min(_FOLDS, n))
    pairs = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]
    return [(rng.permutation(train)[:_MOST_TRAINING], test) for train, test in pairs]


def _crossed(X: np.ndarray, y: np.ndarray, fit: Any) -> dict[str, np.ndarray]:
    """Columns of a model fitted as `fit(X, y)`, which gives a function of (X, y) to columns."""
    if len(y) < 10:
        return fit(X, y)(X, y)
    parts, rows = [], []
    for train, test in _folds(len(y)):
        parts.append(fit(X[train], y[train])(X[test], y[test]))
        rows.append(test)
    order = np.argsort(np.concatenate(rows))
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def _pipeline(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _number_baselines(X: np.ndarray, y: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import Ridge

    def with_noise(make: Any) -> Any:
        def fit(X: np.ndarray, y: np.ndarray) -> Any:
            model = make().fit(X, y)
            spread = max(float(np.std(y - model.predict(X))), 1e-12 * (1 + abs(y[0])))

            def columns(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
                mean = model.predict(X)
                u = (y - mean) / spread
                density = -(u**2) / 2 - np.log(spread * np.sqrt(2 * np.pi))
                inside = {f"in{b}": (np.abs(2 * ndtr(u) - 1) <= b).astype(float) for b in BANDS}
                return {"y": y, "mean": mean, "density": density} | inside

            return columns

        return fit

    return {
        "the mean alone": _crossed(X, y, with_noise(DummyRegressor)),
        "linear regression": _crossed(X, y, with_noise(lambda: _pipeline(Ridge(1e-3)))),
    }


def _count_baselines(X: np.ndarray, y: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import PoissonRegressor

    def poisson(make: Any) -> Any:
        def fit(X: np.ndarray, y: np.ndarray) -> Any:
            model = make().fit(X, y)

            def columns(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
                mean = np.maximum(model.predict(X), 1e-9)
                return {"y": y, "mean": mean, "density": y * np.log(mean) - mean - gammaln(y + 1)}

            return columns

        return fit

    found = {"the mean alone": _crossed(X, y, poisson(DummyRegressor))}
    if y.any():
        make = poisson(lambda: _pipeline(PoissonRegressor(alpha=1e-3, max_iter=300)))
        found["Poisson regression"] = _crossed(X, y, make)
    return found


def _class_baselines(
    X: np.ndarray, codes: np.ndarray, n_classes: int
) -> dict[str, dict[str, np.ndarray]]:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    def of(make: Any) -> Any:
        def fit(X: np.ndarray, y: np.ndarray) -> Any:
            kind = make if len(np.unique(y)) > 1 else lambda: DummyClassifier(strategy="prior")
            model = kind().fit(X, y)

            def columns(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
                # a class that was not in the rows to learn from has no probability: a little
                chances = np.full((len(y), n_classes), 1e-6)
                chances[:, model.classes_] += model.predict_proba(X)
                return {"code": y, "chances": chances / chances.sum(axis=1, keepdims=True)}

            return columns

        return fit

    frequencies = of(lambda: DummyClassifier(strategy="prior"))
    logistic = of(lambda: _pipeline(LogisticRegression(max_iter=500)))
    return {
        "class frequencies": _crossed(X, codes, frequencies),
        "logistic regression": _crossed(X, codes, logistic),
    }
