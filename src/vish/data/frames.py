"""Tables in memory: pandas, Polars and Arrow, by way of NumPy without copies where possible."""

import numpy as np

from vish.inference.sources import ArraySource


def frame(table, target, features=None, weight=None) -> ArraySource:
    """Rows of a table with named columns.

    Parameters
    ----------
    table : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    target : str or list of str
    features : list of str, optional
        All other columns by default.
    weight : str, optional
        Column of sample weights.

    Returns
    -------
    source
        For `fit_source`.
    """
    names = list(table.column_names) if hasattr(table, "column_names") else list(table.columns)
    targets = [target] if isinstance(target, str) else list(target)
    features = choose_features(names, targets, features, weight, "the table")
    y = np.column_stack([_column(table, name) for name in targets])
    X = np.empty((len(features), len(y)))
    for i, name in enumerate(features):
        X[i] = numeric(_column(table, name), name)
    weights = None if weight is None else numeric(_column(table, weight), weight)
    source = ArraySource(X.T, y, weights)
    object.__setattr__(source, "feature_names", features)
    return source


def choose_features(names, targets, features, weight, where) -> list[str]:
    """The input columns, after checking that all columns asked for exist."""
    wanted = [*targets, *(features or []), *([weight] if weight else [])]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(
            f"{where} has no column {missing[0]!r}; its columns are {', '.join(map(str, names))}"
        )
    if features is not None:
        clash = [name for name in features if name in targets or name == weight]
        if clash:
            raise ValueError(f"column {clash[0]!r} is the target or the weight, not an input too")
        return list(features)
    rest = [name for name in names if name not in targets and name != weight]
    if not rest:
        raise ValueError(f"{where} has no columns besides the target: give at least one input")
    return rest


def _column(table, name):
    column = table[name]
    return column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)


def numeric(values, name, where="the table") -> np.ndarray:
    """A column of numbers as float64, or an error that names it."""
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"{where}: column {name!r} holds {values.dtype}, not numbers; encode it, or leave it "
            "out with features=[...]"
        )
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"{where}: column {name!r} is missing or infinite in row {row}; remove or impute such "
            "rows"
        )
    return values
