"""A model as the command keeps it: the estimator, the table's recipe, and the target."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from vish.cli.errors import BadInput, one_line
from vish.cli.rows import TableFiles, take_rows
from vish.cli.talk import Talk
from vish.data.columns import NUMBERS, Column, columns_of
from vish.data.table import Table
from vish.estimators.modelchecks import (
    FLAG,
    NUMBER,
    POSITIVE,
    RECORD,
    TEXT,
    WHOLE,
    Rule,
    check,
    check_record,
    choice,
    list_of,
    optional,
)

TASKS = ("regression", "classification", "count")

# ---- what the command adds to a model file
_EXTRA = {"table": RECORD, "target": optional(RECORD)}
_TARGET = {"name": TEXT, "task": choice(*TASKS), "whole": FLAG, "weight": optional(TEXT)}
_RECIPE = {
    "version": WHOLE,
    "rows": WHOLE,
    "columns": list_of(RECORD),
    "encodings": list_of(RECORD),
    "kept": list_of(list_of(WHOLE)),
}
_COLUMN = {"name": TEXT, "kind": TEXT, "gaps": WHOLE, "inputs": list_of(TEXT), "note": TEXT}
_NUMBER = {
    "name": TEXT,
    "kind": choice("number", "boolean", "time"),
    "low": NUMBER,
    "high": NUMBER,
    "fill": NUMBER,
    "indicator": FLAG,
    "period": optional(POSITIVE),
}
_MOMENT = Rule(lambda v: NUMBER.holds(v) and abs(v) < 1e13, "seconds since 1970")
# Each part of a date once: the parser would stumble.
_FORMAT = re.compile(r"ISO8601|(?:%([YmdHMS])(?!.*%\1)[-/.: ]?)+")
_DATE = {
    "name": TEXT,
    "kind": choice("date"),
    "low": _MOMENT,
    "high": _MOMENT,
    "fill": _MOMENT,
    "indicator": FLAG,
    "format": Rule(lambda v: TEXT.holds(v) and bool(_FORMAT.fullmatch(v)), "a format of dates"),
}
_CATEGORY = {
    "name": TEXT,
    "kind": choice("category"),
    "levels": list_of(optional(TEXT)),
    "code": TEXT,
    "inputs": list_of(TEXT),
    "rows": list_of(list_of(NUMBER)),
    "folds": optional(list_of(list_of(NUMBER))),
}
_FOLDS = 5  # of target means, by `Table`


@dataclass(frozen=True)
class Target:
    """What is predicted.

    Parameters
    ----------
    name : str
        Its column.
    task : {"regression", "classification", "count"}
    whole : bool
        Whether classes are whole numbers, not text.
    weight : str, optional
        Column of sample weights.
    """

    name: str
    task: str
    whole: bool = False
    weight: str | None = None

    @property
    def columns(self) -> list[str]:
        return [self.name] + ([self.weight] if self.weight is not None else [])

    def read(self, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """Values, and which rows have one."""
        present = ~column.gaps
        if self.task == "classification":
            return self._classes(column, present), present
        if column.kind not in NUMBERS and present.any():
            raise BadInput(
                f"column {self.name!r} holds {column.plural}, not numbers: give a target of "
                "numbers, or --task classification"
            )
        values = column.values if column.levels is None else np.full(len(column), np.nan)
        if self.task == "count" and (values[present] < 0).any():
            worst = values[present].min()
            raise BadInput(
                f"column {self.name!r} holds {worst:g}, not a count: counts are 0 or more; use "
                "--task regression"
            )
        return values, present

    def _classes(self, column: Column, present: np.ndarray) -> np.ndarray:
        if column.kind == "other":
            raise BadInput(f"column {self.name!r} holds nested values: give a column of classes")
        if self.whole and column.kind in NUMBERS:
            return np.where(present, column.values, 0)
        text = column.as_text()
        assert text.levels is not None
        return np.array([*text.levels, ""], dtype=object)[text.values]

    def weights(self, columns: dict[str, Column]) -> np.ndarray | None:
        if self.weight is None:
            return None
        column = columns[self.weight]
        good = column.kind in NUMBERS and not column.gaps.any() and (column.values >= 0).all()
        if not good:
            raise BadInput(
                f"column {self.weight!r} is no column of weights: it must hold numbers of 0 or "
                "more, without gaps"
            )
        return column.values


class LabelledRows(NamedTuple):
    """Rows of a piece with a target."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    outside: np.ndarray


@dataclass
class Bundle:
    """A fitted estimator, its table and its target."""

    estimator: Any
    table: Table
    target: Target | None
    header: dict[str, Any]

    def save(self, path: str) -> None:
        from vish.estimators.storage import save

        target = None if self.target is None else asdict(self.target)
        try:
            save(self.estimator, path, {"table": self.table.to_recipe(), "target": target})
        except OSError as error:
            raise BadInput(one_line(error.strerror or error)) from error

    def require_target(self, name: str | None) -> Target:
        """The target of the model, or the column that was named instead."""
        if self.target is not None:
            return self.target if name is None else Target(**asdict(self.target) | {"name": name})
        if name is None:
            raise BadInput("the model was saved from Python and names no target: give --target")
        classes = getattr(self.estimator, "classes_", None)
        task = "regression" if classes is None else "classification"
        return Target(name, task, classes is not None and classes.dtype.kind in "iuf")

    def labelled(
        self,
        data: TableFiles,
        target: Target,
        talk: Talk,
        learning: bool,
        done: Callable[[int], None],
    ) -> Iterator[LabelledRows]:
        """Rows with a target, piece by piece; those without one are counted and left out."""
        data.require(target.columns)
        self.require_columns(data)
        names = list(dict.fromkeys([*self.table.used_columns, *target.columns]))
        yield from labelled_rows(data.pieces(names), self.table, target, talk, learning, done)

    def require_columns(self, data: TableFiles) -> None:
        data.require(self.table.used_columns, "the model was fitted with it")


def labelled_rows(
    pieces: Iterable[Any],
    table: Table,
    target: Target,
    talk: Talk,
    learning: bool,
    done: Callable[[int], None],
) -> Iterator[LabelledRows]:
    """Inputs and targets of pieces."""
    lost = 0
    for piece in pieces:
        columns = columns_of(piece, target.columns)
        y, present = target.read(columns[target.name])
        weights = target.weights(columns)
        if not present.all():
            lost += int((~present).sum())
            piece, y = take_rows(piece, present), y[present]
            weights = None if weights is None else weights[present]
        if len(y):
            rows = table.read(piece, learning)
            yield LabelledRows(rows.inputs, y, weights, rows.outside)
        done(len(present))
    if lost:
        talk.note(f"{lost:,} rows have no {target.name!r} and are left out")


def _read_extra(extra: dict[str, Any], estimator: Any) -> tuple[Table, Target | None]:
    """The table and the target of a model file, if they belong to the estimator."""
    check_record(extra, _EXTRA, "extra", others=True)
    recipe, target = extra["table"], extra["target"]
    check_record(recipe, _RECIPE, "table")
    for column in recipe["columns"]:
        check_record(column, _COLUMN, "a column")
    for encoding in recipe["encodings"]:
        _check_encoding(encoding)
    table = Table.from_recipe(recipe)
    made = table._made()
    inputs = {column["name"]: column["inputs"] for column in recipe["columns"] if column["inputs"]}
    kinds = {column["name"]: column["kind"] for column in recipe["columns"]}
    if len(kinds) < len(recipe["columns"]) or len(made) < len(recipe["encodings"]):
        raise ValueError("two columns have the same name")
    if any(kinds.get(stored["name"]) != stored["kind"] for stored in recipe["encodings"]):
        raise ValueError("the encodings are not those of the columns")
    if inputs != {name: outputs for name, outputs in made.items() if outputs}:
        raise ValueError("the inputs are not those of the columns")
    if len(table.get_feature_names_out()) != estimator.n_features_in_:
        raise ValueError(f"the table does not make {estimator.n_features_in_} inputs")
    if target is None:
        return table, None
    check_record(target, _TARGET, "target")
    if (target["task"] == "classification") != hasattr(estimator, "classes_"):
        raise ValueError(f"the model is not one for the task {target['task']!r}")
    return table, Target(**target)


def _check_encoding(stored: dict[str, Any]) -> None:
    """Refuse an encoding that `Table` does not make."""
    kinds = {"date": _DATE, "category": _CATEGORY}
    check_record(stored, kinds.get(str(stored.get("kind")), _NUMBER), "an encoding")
    if stored["kind"] == "category":
        places, width = len(stored["levels"]) + 1, len(stored["inputs"])
        if len(set(stored["levels"])) < len(stored["levels"]):
            raise ValueError(f"two levels of {stored['name']!r} are the same")
        check(stored["rows"], list_of(list_of(NUMBER, width), places), "rows of levels")
        check(stored["folds"], optional(list_of(list_of(NUMBER, places), _FOLDS)), "folds")


def load_bundle(path: str) -> Bundle:
    """Read a model file."""
    from vish.estimators.storage import load_with_header
    from vish.modelfile import ModelFileError

    try:
        estimator, header = load_with_header(path)
    except PermissionError as error:
        raise BadInput(f"no permission to read {path}: change its mode or its owner") from error
    except (ModelFileError, OSError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BadInput(one_line(text)) from error
    extra = header.get("extra") or {}
    if "table" in extra:
        try:
            table, target = _read_extra(extra, estimator)
        except Exception as error:  # whatever it is, the file is to blame
            raise BadInput(
                one_line(f"{path}: its recipe is not understood ({error}): upgrade vish")
            ) from error
        return Bundle(estimator, table, target, header)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise BadInput(
            f"{path} was saved from Python without names of columns: use it in Python, or fit it "
            "to a data frame"
        )
    return Bundle(estimator, Table.plain([str(name) for name in names]), None, header)
