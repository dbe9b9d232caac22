"""Tables in memory: pandas, Polars and Arrow, column by column, without a copy of the whole."""

from collections.abc import Iterator

import numpy as np

from vish.data.streams import checked_target, checked_weights
from vish.inference.sources import Chunk
from vish.sphere.threads import CHUNK_ROWS, row_chunks


class FrameSource:
    """Columns in memory, joined into rows chunk by chunk."""

    def __init__(self, table, target, features=None, weight=None, where="the table") -> None:
        names = list(table.column_names) if hasattr(table, "column_names") else list(table.columns)
        self.targets = [target] if isinstance(target, str) else list(target)
        self.feature_names = choose_features(names, self.targets, features, weight, where)
        self.n_inputs, self.n_targets = len(self.feature_names), len(self.targets)
        self._inputs = [numeric(column_of(table, name), name, where) for name in self.feature_names]
        self.n_rows = len(self._inputs[0])
        single = all(column.dtype == np.float32 for column in self._inputs)
        self._dtype = np.float32 if single else np.float64
        self._y = [_target(column_of(table, name), name, where) for name in self.targets]
        self._weights = None
        if weight is not None:
            values = numeric(column_of(table, weight), weight, where)
            self._weights = checked_weights(values, self.n_rows, f"{where}: column {weight!r}")

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        for rows in row_chunks(self.n_rows)[first_row // CHUNK_ROWS :]:
            X = np.empty((self.n_inputs, rows.stop - rows.start), self._dtype)
            for i, column in enumerate(self._inputs):
                X[i] = column[rows]
            y = np.column_stack([column[rows] for column in self._y])
            weights = None if self._weights is None else self._weights[rows]
            yield Chunk(rows.start, X.T, y, weights)


def frame(table, target, features=None, weight=None) -> FrameSource:
    """Rows of a table with named columns.

    Columns of NumPy's own types are read in place; others are converted once, one by one.

    Parameters
    ----------
    table : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    target : str or list of str
        Column(s) to predict.
    features : list of str, optional
        Input columns; all others by default.
    weight : str, optional
        Column of sample weights.

    Returns
    -------
    source
        For `fit_source`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from vish import VISHRegressor, data
    >>> table = pd.DataFrame({"hour": np.linspace(0, 24, 500)})
    >>> table["load"] = np.sin(table["hour"] / 4)
    >>> model = VISHRegressor(degree=6).fit_source(data.frame(table, "load"))
    >>> model.feature_names_in_
    array(['hour'], dtype=object)
    """
    return FrameSource(table, target, features, weight)


def choose_features(names, targets, features, weight, where) -> list[str]:
    """The input columns, after checking that all columns asked for exist."""
    wanted = [*targets, *(features or []), *([weight] if weight else [])]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(
            f"{where}: no column {missing[0]!r}; its columns are {', '.join(map(str, names))}"
        )
    if features is not None:
        clash = [name for name in features if name in targets or name == weight]
        if clash:
            raise ValueError(
                f"column {clash[0]!r} is the target or the weight, and cannot be an input too: "
                "leave it out of features"
            )
        return list(features)
    rest = [name for name in names if name not in targets and name != weight]
    if not rest:
        raise ValueError(f"{where}: no columns besides the target; give at least one input")
    return rest


def column_of(table, name) -> np.ndarray:
    """A column as an array: in place where its type allows; missing numbers as NaN."""
    column = table[name]
    if getattr(column, "num_chunks", 0) == 1:  # of Arrow
        return column.chunk(0).to_numpy(zero_copy_only=False)
    masked = hasattr(getattr(column, "array", None), "_mask")  # of pandas: Int64, boolean, ...
    if masked and column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)


def numeric(values, name, where="the table") -> np.ndarray:
    """A column of finite numbers, or an error that names it."""
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"{where}: column {name!r} holds {values.dtype}, not numbers; encode it, or leave it "
            "out with features=[...]"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"{where}: column {name!r} is missing or infinite in row {row}; remove or impute such "
            "rows"
        )
    return values


def _target(values, name, where) -> np.ndarray:
    return checked_target(values[:, None], f"{where}: column {name!r}")[:, 0]
