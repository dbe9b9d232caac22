"""`vish fit`: from files to a model file."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vish.cli.bundle import Bundle, Target, labelled_rows, load_bundle
from vish.cli.errors import BadInput
from vish.cli.outputs import check_output
from vish.cli.rows import TableFiles, find_files
from vish.cli.talk import Talk
from vish.data.columns import NUMBERS, Column, columns_of
from vish.data.survey import Survey
from vish.data.table import Table

_MOST_CLASSES = 100
_HINT = "is it a number to predict (--task regression), or a name that should not be predicted?"

# name: what to make of `vish.kernels`, once that is loaded
KERNELS: dict[str, Callable[[Any], Any]] = {
    "matern12": lambda kernels: kernels.Matern(0.5),
    "matern32": lambda kernels: kernels.Matern(1.5),
    "matern52": lambda kernels: kernels.Matern(2.5),
    "odd": lambda kernels: kernels.Odd(kernels.Matern(1.5)),
    "rbf": lambda kernels: kernels.SquaredExponential(),
    "arccosine": lambda kernels: kernels.ArcCosine(),
    "ntk": lambda kernels: kernels.NeuralTangent(),
    "polynomial": lambda kernels: kernels.Polynomial(),
    "free": lambda kernels: kernels.FreeSpectrum(),
}
# name: class, its arguments, the task it is for
LIKELIHOODS: dict[str, tuple[str, dict[str, Any], str]] = {
    "gaussian": ("Gaussian", {}, "regression"),
    "radial": ("Gaussian", {"noise": "radial"}, "regression"),
    "auto-noise": ("Gaussian", {"noise": "auto"}, "regression"),
    "warped": ("Warped", {}, "regression"),
    "student-t": ("StudentT", {}, "regression"),
    "laplace": ("Laplace", {}, "regression"),
    "gamma": ("Gamma", {}, "regression"),
    "beta": ("Beta", {}, "regression"),
    "heteroscedastic": ("Heteroscedastic", {}, "regression"),
    "poisson": ("Poisson", {}, "count"),
    "negative-binomial": ("NegativeBinomial", {}, "count"),
    "logit": ("Bernoulli", {"link": "logit"}, "classification"),
    "probit": ("Bernoulli", {"link": "probit"}, "classification"),
}


class FitOptions(NamedTuple):
    """What `vish fit` was asked."""

    data: list[str]
    target: str | None
    out: str
    task: str = "auto"
    features: list[str] | None = None
    weight: str | None = None
    cyclic: dict[str, float] | None = None
    kernel: str | None = None
    likelihood: str | None = None
    degree: int | None = None
    max_features: int = 1000
    rank: str = "auto"
    subset_size: int = 20_000
    jobs: int | None = None
    seed: int | None = None
    like: str | None = None
    tail: str = "truncated"


def fit(options: FitOptions, talk: Talk) -> dict[str, Any]:
    """Fit and save; what there is to say."""
    start = time.perf_counter()
    inputs = [*find_files(options.data), *([options.like] if options.like else [])]
    check_output(options.out, inputs)
    data = TableFiles(options.data)
    bundle = _fit_like(options, data, talk) if options.like else _fit_new(options, data, talk)
    bundle.save(options.out)
    model, target = bundle.estimator, bundle.target
    assert target is not None
    return {
        "model": options.out,
        "task": target.task,
        "target": target.name,
        "rows": int(model.n_rows_seen_),
        "inputs": bundle.table.get_feature_names_out().tolist(),
        "columns": bundle.table.columns_,
        "degree": int(model.degree_),
        "harmonics": int(model.n_harmonics_),
        "tail": model.tail_,
        "rows_kept": model.description_.rows_kept,
        "kernel": repr(model.kernel_),
        "likelihood": repr(model.likelihood_),
        "log_evidence": float(model.log_evidence_),
        "seconds": round(time.perf_counter() - start, 3),
    }


def _fit_new(options: FitOptions, data: TableFiles, talk: Talk) -> Bundle:
    if options.target is None:
        raise BadInput("no target: name the column to predict with --target")
    features = _features(options, data, talk)
    survey, sample = _survey(options, data, features, talk)
    target = _target(options, sample[options.target], talk)
    y, present = target.read(sample[options.target])
    numbers = _means_of(target, y, present)
    try:
        table = Table(cyclic=options.cyclic).fit_survey(survey, features, numbers)
    except ValueError as error:
        raise BadInput(f"{data.where}: {error}") from error
    for column in table.columns_:
        if column["note"]:
            talk.note(f"column {column['name']!r}: {column['note']}")
    estimator = _estimator(options, target, talk)
    source = _source(data, table, target, survey.n_rows, talk)
    if not talk.bars:
        talk.line(f"learning from {source.n_inputs} inputs")
    with talk.warnings_as_notes():
        estimator.fit_source(source)
    if target.whole:
        estimator.classes_ = estimator.classes_.astype(int)
    estimator.verbose = 0
    return Bundle(estimator, table, target, {})


def _fit_like(options: FitOptions, data: TableFiles, talk: Talk) -> Bundle:
    """Other rows at the geometry and hyperparameters of a model: to be merged with it."""
    assert options.like is not None
    bundle = load_bundle(options.like)
    target = bundle.require_target(options.target)
    try:
        bundle.estimator = bundle.estimator.empty_like()
    except (ValueError, AttributeError):
        raise BadInput(
            f"{options.like} has the likelihood {type(bundle.estimator.likelihood_).__name__}: "
            "only models of the Gaussian family can be taken as --like and merged"
        ) from None
    asked, bundle.estimator.optimize = bundle.estimator.optimize, False
    with talk.rows("reading rows", data.n_rows) as done, talk.warnings_as_notes():
        for rows in bundle.labelled(data, target, talk, True, done):
            bundle.estimator.partial_fit(rows.X, rows.y, rows.weights)
    if not bundle.estimator.n_rows_seen_:
        raise BadInput(f"{data.where} has no rows with a target: give at least one")
    bundle.estimator.optimize = asked
    bundle.target = target
    return bundle


# ---- what the data are


def _features(options: FitOptions, data: TableFiles, talk: Talk) -> list[str]:
    assert options.target is not None
    data.require([options.target], "--target")
    data.require([options.weight] if options.weight else [], "--weight")
    used = (options.target, options.weight)
    if options.features is not None:
        data.require(options.features, "--features")
        for name in options.features:
            if name in used:
                raise BadInput(f"column {name!r} is the target or the weight: not an input too")
        features = list(dict.fromkeys(options.features))
    else:
        features = [name for name in data.names if name not in used]
        for name in [name for name in features if name.startswith("Unnamed: ")]:
            talk.note(f"column {name!r} has no name in the file: left out")
            features.remove(name)
    if not features:
        raise BadInput(f"{data.where} has no columns besides the target: give at least one input")
    return features


def _survey(
    options: FitOptions, data: TableFiles, features: list[str], talk: Talk
) -> tuple[Survey, dict[str, Column]]:
    assert options.target is not None
    names = [*features, options.target, *([options.weight] if options.weight else [])]
    survey = Survey(Table().sample_size)
    with talk.rows(f"reading {data.where}", data.n_rows) as done:
        for piece in data.pieces(names):
            columns = columns_of(piece, names)
            survey.add(columns)
            done(len(columns[options.target]))
    if survey.n_rows == 0:
        raise BadInput(f"{data.where} has a header but no rows: give at least one row")
    facts = survey.facts[options.target]
    if facts.gaps == survey.n_rows:
        raise BadInput(f"column {options.target!r} is empty: give a target with values")
    return survey, survey.sample()


def _target(options: FitOptions, column: Column, talk: Talk) -> Target:
    """The task, if it was not given: text, or two whole numbers, are classes."""
    assert options.target is not None
    name, values = options.target, column.values[~column.gaps]
    found = np.unique(values)
    whole = column.kind == "number" and bool((values == np.floor(values)).all())
    task = options.task
    if task == "auto":
        two = len(found) == 2 and whole
        task = "regression" if column.kind == "number" and not two else "classification"
        if options.likelihood in LIKELIHOODS:
            task = LIKELIHOODS[options.likelihood][2]
        talk.line(f"task: {task}")
        if task == "regression" and whole and found[0] >= 0 and len(found) <= 100:
            talk.line("hint: the target holds counts or classes? --task count, classification")
    if task == "classification":
        if len(found) < 2:
            raise BadInput(f"column {name!r} holds one class only: a classifier needs at least two")
        if len(found) > _MOST_CLASSES:
            raise BadInput(
                f"column {name!r} holds {len(found):,} classes of at most {_MOST_CLASSES}: {_HINT}"
            )
    elif len(values) and column.kind in NUMBERS and len(found) == 1:
        talk.note(f"column {name!r} is {found[0]:g} in every row: there is nothing to learn")
    return Target(name, task, whole and task == "classification", options.weight)


def _means_of(target: Target, y: np.ndarray, present: np.ndarray) -> np.ndarray | None:
    """The target as numbers, for columns with many levels; None for several classes."""
    if target.task != "classification":
        return np.where(present, y, np.nan)
    classes = np.unique(y[present])
    return np.where(present, y == classes[1], np.nan) if len(classes) == 2 else None


# ---- what is to be learned


def _estimator(options: FitOptions, target: Target, talk: Talk) -> Any:
    from vish import VISHClassifier, VISHRegressor, kernels, likelihoods
    from vish.estimators.local import TAILS, WITHOUT_NEIGHBORS

    tails = WITHOUT_NEIGHBORS if target.task == "classification" else TAILS
    if options.tail not in tails:
        raise BadInput(
            f"--tail is {options.tail!r}: for {target.task} choose one of {', '.join(tails)}"
        )
    settings: dict[str, Any] = {
        "degree": "auto" if options.degree is None else options.degree,
        "max_features": options.max_features,
        "tail": options.tail,
        "rank": _rank(options.rank),
        "subset_size": options.subset_size,
        "n_jobs": options.jobs,
        "random_state": options.seed,
        "verbose": int(talk.bars),
    }
    if options.kernel is not None:
        if options.kernel not in KERNELS:
            raise BadInput(f"no kernel {options.kernel!r}: choose one of {', '.join(KERNELS)}")
        settings["kernel"] = KERNELS[options.kernel](kernels)
    name = options.likelihood or ("poisson" if target.task == "count" else None)
    if name is not None:
        if name not in LIKELIHOODS:
            raise BadInput(f"no likelihood {name!r}: choose one of {', '.join(LIKELIHOODS)}")
        kind, parameters, task = LIKELIHOODS[name]
        if task != target.task:
            fitting = [key for key, value in LIKELIHOODS.items() if value[2] == target.task]
            raise BadInput(
                f"the likelihood {name!r} is for {task}, the task is {target.task}: choose one "
                f"of {', '.join(fitting)}"
            )
        settings["likelihood"] = getattr(likelihoods, kind)(**parameters)
    kind_of = VISHClassifier if target.task == "classification" else VISHRegressor
    return kind_of(**settings)


def _rank(text: str) -> int | str | None:
    if text in ("auto", "none"):
        return "auto" if text == "auto" else None
    if not text.isdigit() or int(text) < 1:
        raise BadInput(f"--rank is {text!r}: give a number of at least 1, none or auto")
    return int(text)


def _source(data: TableFiles, table: Table, target: Target, n_rows: int, talk: Talk) -> Any:
    """All rows in memory if they take a quarter of it at most; else a stream."""
    from vish.data import batches
    from vish.inference.sources import ArraySource
    from vish.sphere.memory import physical_memory

    names = list(dict.fromkeys([*table.used_columns, *target.columns]))

    def read():
        return labelled_rows(data.pieces(names), table, target, talk, True, lambda n: None)

    inputs = table.get_feature_names_out().tolist()
    D = len(inputs)
    if n_rows * (D + 2) * 8 <= physical_memory() // 4:
        X, place, ys, weights = np.empty((n_rows, D)), 0, [], []
        for rows in read():
            X[place : place + len(rows.y)] = rows.X
            place += len(rows.y)
            ys.append(rows.y)
            weights.append(rows.weights)
        y = np.concatenate(ys)[:, None]
        joined = None if target.weight is None else np.concatenate(weights)
        if joined is not None and not joined.any():
            raise BadInput(f"column {target.weight!r} is 0 in every row: give a row some weight")
        return ArraySource(X[:place], y, joined, inputs)
    source = batches(lambda: ((rows.X, rows.y, rows.weights) for rows in read()))
    source.n_rows, source.feature_names = n_rows, inputs
    return source
