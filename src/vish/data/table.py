"""`Table`: columns as they come, made into numbers.

Numbers stay as they are; text becomes categories, dates become cycles, gaps are filled. What
is to become of each column is learned from a first reading, and is a recipe in plain JSON.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from vish.data.columns import NUMBERS, Column, columns_of, names_of
from vish.data.encodings import (
    DAY,
    Boolean,
    Category,
    Date,
    Encoding,
    Number,
    Time,
    as_number,
    as_time,
    date_format,
    dates,
    frequency,
    from_dict,
    one_hot,
    parsed,
    target_mean,
)
from vish.data.survey import Facts, Survey
from vish.inference.subset import GOLDEN, mixed

_VERSION = 1
_FOLDS = 5
_CODE = re.compile(r"\s*[+-]?0\d")  # 01234 is a code, not a number


class EncodedRows(NamedTuple):
    """Rows of a table as inputs of a model."""

    inputs: np.ndarray  # [n, D]
    outside: np.ndarray  # [n], whether any value is outside what was seen
    outside_by_column: dict[str, int]


class Table(TransformerMixin, BaseEstimator):
    """Inputs of a model from a table with columns of any kind.

    Numbers stay as they are, true and false become 1 and 0. Text with few levels becomes one
    input per level; with many, the mean target of the level, which rows to learn from get from
    rows other than themselves (without a numeric target: its frequency). Dates become years and
    the cycles of year, week and day. Gaps are filled by the median, with an input that says so.
    Constant and duplicate columns are left out.

    Parameters
    ----------
    cyclic : dict of str to float, optional
        Columns that go in circles, and their periods, such as ``{"month": 12}``.
    max_one_hot : int, default=8
        Most levels that get an input each.
    max_levels : int, default=2000
        Most levels that are kept of a column; rarer ones count as never seen.
    sample_size : int, default=100_000
        Rows from which the recipe is learned. Counts and ranges are those of all rows.

    Attributes
    ----------
    columns_ : list of dict
        What became of each column: its name, kind, inputs and a note.
    feature_names_in_ : array of str
    n_features_in_, n_rows_ : int

    Examples
    --------
    >>> from vish.data import Table
    >>> table = Table().fit({"age": [30.0, None, 50.0, 41.0], "city": ["A", "B", "A", "C"]})
    >>> print(*table.get_feature_names_out(), sep=", ")
    age, city=other
    >>> table.transform({"age": [None], "city": ["never seen"]})
    array([[41.,  1.]])
    """

    def __init__(self, *, cyclic=None, max_one_hot=8, max_levels=2000, sample_size=100_000):
        self.cyclic = cyclic
        self.max_one_hot = max_one_hot
        self.max_levels = max_levels
        self.sample_size = sample_size

    # ---- learning

    def fit(self, X, y=None):
        """Learn the recipe.

        Parameters
        ----------
        X : pandas, Polars or Arrow table, dict of columns, or array
        y : array-like of shape (n,), optional
            Numbers, or two classes, for columns with many levels; several classes are not used.

        Returns
        -------
        self
        """
        return self.fit_pieces([(X, y)])

    def fit_pieces(self, pieces: Iterable[tuple[Any, Any]]):
        """Learn the recipe from pieces of a table, read once.

        Parameters
        ----------
        pieces : iterable of (X, y)
            Such as the partitions of a Dask frame; y may be None.

        Returns
        -------
        self
        """
        survey, names = Survey(self.sample_size), None
        for X, y in pieces:
            names = names or names_of(X)
            columns = columns_of(X, names)
            if y is not None:
                (columns["\0y"],) = columns_of({"y": np.asarray(y)}, ["y"]).values()
            survey.add(columns)
        if names is None:
            raise ValueError("no pieces: give at least one table")
        return self.fit_survey(survey, names, _target(survey.sample().get("\0y")))

    def fit_survey(self, survey: Survey, names: list[str], y: np.ndarray | None = None):
        """Learn the recipe from a survey; y [n] belongs to its sample, NaN for gaps."""
        sample = survey.sample()
        if not sample or not len(sample[names[0]]):
            raise ValueError("the table has no rows: give at least one")
        unknown = set(self.cyclic or {}) - set(names)
        if unknown:
            raise ValueError(
                f"no column {min(unknown)!r}, declared as cyclic; there are {', '.join(names)}"
            )
        self.n_rows_ = survey.n_rows
        notes: dict[str, list[str]] = {name: [] for name in names}
        kinds: dict[str, str] = {}
        encodings: list[Encoding] = []
        raws: list[np.ndarray] = []
        seen: dict[tuple[str, bytes], str] = {}
        for name in names:
            column, facts = sample[name], survey.facts[name]
            encoding = self._chosen(name, column, facts, notes[name])
            kinds[name] = column.kind if encoding is None else encoding.kind
            if encoding is None:
                continue
            raw = encoding.raw(column)
            # `low` and `high` are of all rows, the sample may be constant by chance.
            ends = getattr(encoding, "low", 0), getattr(encoding, "high", 0)
            if (raw == raw[0]).all() and ends[0] == ends[1]:
                notes[name].append("constant: left out")
                continue
            twin = seen.setdefault((encoding.kind, _pattern(encoding, raw)), name)
            if twin != name:
                notes[name].append(f"the same as {twin!r}: left out")
                continue
            encodings.append(encoding)
            raws.append(raw)
        if not encodings:
            raise ValueError(
                "no column is left as an input: "
                + "; ".join(f"{name!r}: {', '.join(notes[name])}" for name in names)
            )
        self._encodings = self._with_codes(encodings, raws, y)
        self._choose_outputs(raws)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        made = self._made()
        self.columns_: list[dict[str, Any]] = [
            {
                "name": name,
                "kind": kinds[name],
                "gaps": survey.facts[name].gaps,
                "inputs": made.get(name, []),
                "note": ", ".join(notes[name]),
            }
            for name in names
        ]
        return self

    def _chosen(self, name: str, column: Column, facts: Facts, notes: list[str]) -> Encoding | None:
        """The kind of a column, without the codes of levels; None if it is left out."""
        gaps = column.gaps
        if column.kind == "other":
            notes.append("nested values: left out")
            return None
        if gaps.all():
            notes.append("no values: left out")
            return None
        period = (self.cyclic or {}).get(name)
        kind, values, format = _meaning(column)
        if period is not None and kind not in NUMBERS:
            raise ValueError(f"column {name!r} is declared as cyclic but holds no numbers")
        if kind == "text":
            return self._category(name, column, notes)
        if column.kind == "text":
            notes.append(f"{kind}s written as text")
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        if column.kind != "text" and not facts.kinds - {kind, *NUMBERS}:
            low, high = facts.low, facts.high  # of all rows, not of the sample alone
        indicator = int(gaps.sum()) >= _enough(len(gaps)) and not gaps.all()
        fill = _median(values)
        if gaps.any():
            notes.append(f"gaps filled with {_shown(fill, kind)}" + ", and marked" * indicator)
        if kind == "date":
            return Date(name, low, high, fill, indicator, format)
        if kind == "time":
            return Time(name, low, high, fill, indicator, DAY)
        return (Boolean if kind == "boolean" else Number)(name, low, high, fill, indicator, period)

    def _category(self, name: str, column: Column, notes: list[str]) -> Category | None:
        levels = column.levels
        assert levels is not None
        known = column.values[column.values >= 0]
        counts = np.bincount(known, minlength=len(levels))
        n_levels = int((counts > 0).sum())
        if n_levels > max(50, len(known) // 2):
            notes.append(f"{n_levels:,} texts, nearly one for each row: left out")
            return None
        order = sorted(np.flatnonzero(counts), key=lambda i: (-counts[i], levels[i]))
        kept = [levels[i] for i in order[: self.max_levels]]
        if n_levels > len(kept):
            notes.append(f"{n_levels - len(kept):,} rare levels count as never seen")
        gaps = int(column.gaps.sum())
        return Category(name, sorted(kept) + [None] * (gaps > 0))

    def _with_codes(self, encodings, raws, y) -> list[Encoding]:
        """Encodings of categories with the inputs of their levels."""
        done, folds = [], None
        for encoding, raw in zip(encodings, raws, strict=True):
            if isinstance(encoding, Category):
                if len(encoding.levels) <= self.max_one_hot:
                    encoding = one_hot(encoding, raw, _enough(len(raw)))
                elif y is None:
                    encoding = frequency(encoding, raw)
                else:
                    folds = _folds(raws) if folds is None else folds
                    with_y = np.isfinite(y)
                    encoding = target_mean(encoding, raw[with_y], y[with_y], folds[with_y], _FOLDS)
            done.append(encoding)
        return done

    def _choose_outputs(self, raws: list[np.ndarray]) -> None:
        """Leave out inputs that are constant in the sample, such as the hour of plain dates."""
        self._kept: list[list[int]] = []
        for encoding, raw in zip(self._encodings, raws, strict=True):
            values = encoding.encode(raw)
            varies = np.ptp(values, axis=0) > 1e-12 * np.abs(values).max(axis=0)
            if encoding.outputs == [encoding.name]:  # a number varies, if not in the sample
                varies[:] = True
            self._kept.append(np.flatnonzero(varies).tolist())
        if not any(self._kept):
            raise ValueError("no column is left as an input: every one is constant or empty")

    def _made(self) -> dict[str, list[str]]:
        return {
            encoding.name: [encoding.outputs[i] for i in kept]
            for encoding, kept in zip(self._encodings, self._kept, strict=True)
        }

    # ---- using

    def transform(self, X):
        """Inputs of a model.

        Parameters
        ----------
        X : table with the columns that were fitted; others are ignored

        Returns
        -------
        array of shape (n, n_inputs)
        """
        return self.read(X).inputs

    def fit_transform(self, X, y=None, **fit_params):
        """Fit, and the inputs of rows to learn from: no row's own target is in them.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        array of shape (n, n_inputs)
        """
        return self.fit(X, y).read(X, learning=True).inputs

    def outside(self, X):
        """Which rows have a value outside the ranges and levels that were seen.

        Parameters
        ----------
        X : table

        Returns
        -------
        array of bool, shape (n,)
        """
        return self.read(X).outside

    def read(self, X, learning: bool = False) -> EncodedRows:
        """Inputs and what is outside; `learning` for rows that a model is fitted to, or forgets."""
        check_is_fitted(self)
        present = set(names_of(X))
        missing = [name for name in self.used_columns if name not in present]
        if missing:
            raise ValueError(
                f"no column {missing[0]!r}, which the model was fitted with; there are "
                f"{', '.join(names_of(X))}"
            )
        return self.encode(self.raw(columns_of(X, self.used_columns)), learning)

    def raw(self, columns: dict[str, Column]) -> dict[str, np.ndarray]:
        """Columns as numbers, NaN for gaps; of categories, the places of their levels."""
        return {e.name: e.raw(columns[e.name]) for e in self._encodings}

    def encode(self, raws: dict[str, np.ndarray], learning: bool = False) -> EncodedRows:
        """Inputs and what is outside, from the numbers of `raw`."""
        ordered = [raws[encoding.name] for encoding in self._encodings]
        n = len(ordered[0])
        folds = _folds(ordered) if learning and self._has_means else None
        inputs = np.empty((sum(map(len, self._kept)), n))
        outside, by_column, place = np.zeros(n, dtype=bool), {}, 0
        for encoding, raw, kept in zip(self._encodings, ordered, self._kept, strict=True):
            values = encoding.encode(raw, folds).T
            inputs[place : place + len(kept)] = values if len(kept) == len(values) else values[kept]
            place += len(kept)
            beyond = encoding.outside(raw)
            if beyond.any():
                by_column[encoding.name] = int(beyond.sum())
                outside |= beyond
        return EncodedRows(inputs.T, outside, by_column)

    @property
    def used_columns(self) -> list[str]:
        """Columns that a table must have."""
        return [encoding.name for encoding in self._encodings]

    @property
    def _has_means(self) -> bool:
        return any(getattr(encoding, "folds", None) is not None for encoding in self._encodings)

    def get_feature_names_out(self, input_features=None):
        """Names of the inputs.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        return np.array([name for names in self._made().values() for name in names], dtype=object)

    # ---- as JSON

    def to_recipe(self) -> dict[str, Any]:
        """All that was learned, of plain JSON values."""
        check_is_fitted(self)
        return {
            "version": _VERSION,
            "rows": self.n_rows_,
            "columns": self.columns_,
            "encodings": [encoding.to_dict() for encoding in self._encodings],
            "kept": self._kept,
        }

    @classmethod
    def from_recipe(cls, recipe: dict[str, Any]) -> "Table":
        """The table that `to_recipe` described.

        Parameters
        ----------
        recipe : dict

        Returns
        -------
        Table
        """
        if recipe["version"] > _VERSION:
            raise ValueError("the table's recipe is of a newer version: upgrade vish")
        table = cls()
        table.n_rows_ = recipe["rows"]
        table.columns_ = recipe["columns"]
        table.feature_names_in_ = np.array([c["name"] for c in recipe["columns"]], dtype=object)
        table.n_features_in_ = len(recipe["columns"])
        table._encodings = [from_dict(stored) for stored in recipe["encodings"]]
        table._kept = recipe["kept"]
        return table

    @classmethod
    def plain(cls, names: list[str]) -> "Table":
        """Columns of numbers as they are, of unknown ranges."""
        largest = float(np.finfo(float).max)
        recipe = {
            "version": _VERSION,
            "rows": 0,
            "columns": [
                {"name": n, "kind": "number", "gaps": 0, "inputs": [n], "note": ""} for n in names
            ],
            "encodings": [
                {"kind": "number"} | asdict(Number(n, -largest, largest, 0.0)) for n in names
            ],
            "kept": [[0]] * len(names),
        }
        return cls.from_recipe(recipe)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def _meaning(column: Column) -> tuple[str, np.ndarray, str]:
    """What a column holds once text is read: its kind, values, and the format of dates."""
    if column.kind != "text":
        return column.kind, column.values, "ISO8601"
    assert column.levels is not None
    levels = [column.levels[i] for i in np.unique(column.values[column.values >= 0])]
    if all(as_number(v) is not None and not _CODE.match(v) for v in levels):
        return "number", parsed(column, as_number, "", ""), ""
    if all(as_time(v) is not None for v in levels):
        return "time", parsed(column, as_time, "", ""), ""
    format = date_format(levels)
    if format is not None:
        return "date", np.append(dates(column.levels, format), np.nan)[column.values], format
    return "text", column.values, ""


def _target(column: Column | None) -> np.ndarray | None:
    """The target as numbers to take means of: itself, or the second of two classes."""
    if column is None or column.kind in NUMBERS:
        return None if column is None else column.values
    levels = sorted(set(column.levels or []))
    if column.levels is None or len(levels) != 2:
        return None
    return np.array([float(v == levels[1]) for v in column.levels] + [np.nan])[column.values]


def _enough(n: int) -> int:
    """Rows that are worth an input of their own."""
    return int(np.clip(0.01 * n, 2, 10))


def _median(values: np.ndarray) -> float:
    from sklearn.impute import SimpleImputer

    return float(SimpleImputer(strategy="median").fit(values[:, None]).statistics_[0])


def _shown(value: float, kind: str) -> str:
    if kind == "date":
        return str(np.datetime64(int(value), "s"))
    if kind == "time":
        return f"{int(value // 3600):02d}:{int(value % 3600 // 60):02d}"
    return f"{value:.6g}"


def _pattern(encoding: Encoding, raw: np.ndarray) -> bytes:
    """The same for columns that say the same; levels may have other names."""
    if isinstance(encoding, Category):
        _, first, codes = np.unique(raw, return_index=True, return_inverse=True)
        raw = np.argsort(np.argsort(first))[codes].astype(float)
    return (raw + 0.0).tobytes()


def _folds(raws: list[np.ndarray]) -> np.ndarray:
    """A fold for each row, by a hash of what is in it: rows that are alike share it.

    Not by the row's number: a row that is to be forgotten may come from another file.
    """
    hashes = np.zeros(len(raws[0]), dtype=np.uint64)
    for raw in raws:
        values = np.where(np.isnan(raw), np.nan, raw + 0.0)  # one NaN, one zero
        with np.errstate(over="ignore"):
            hashes = mixed((hashes ^ values.view(np.uint64)) + np.uint64(GOLDEN))
    return (hashes % np.uint64(_FOLDS)).astype(np.int64)
