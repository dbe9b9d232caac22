"""What becomes of a column: each kind as a small value that JSON can hold.

An encoding turns a column into raw numbers (a number, seconds, the place of a level), and
those into inputs [n, k]. Scikit-learn's transformers choose the fills and the codes of levels;
what they chose is kept as numbers, so that a recipe needs no pickle.
"""

import re
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from vish.data.columns import NUMBERS, Column

DAY = 86_400.0
_YEAR = 365.2425 * DAY
_DATE_FORMATS = (
    "ISO8601",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y",
    "%d/%m/%Y %H:%M",
)
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)", re.I)


class Encoding:
    """Base of the kinds of columns."""

    name: str
    kind: ClassVar[str]

    @property
    def outputs(self) -> list[str]:
        """Names of the inputs made of it."""
        raise NotImplementedError

    def raw(self, column: Column) -> np.ndarray:
        """float64 [n], NaN for gaps."""
        raise NotImplementedError

    def encode(self, raw: np.ndarray, folds: np.ndarray | None = None) -> np.ndarray:
        """[n] -> [n, k]; `folds` for rows to learn from."""
        raise NotImplementedError

    def outside(self, raw: np.ndarray) -> np.ndarray:
        """Which values were never seen, or lie outside the range that was."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind} | asdict(self)  # type: ignore[call-overload]

    def _expected(self, column: Column, what: str) -> ValueError:
        return ValueError(
            f"column {self.name!r} holds {column.plural}, but {what} when the model was fitted: "
            "convert it"
        )


@dataclass(frozen=True)
class Number(Encoding):
    """A number as it is, its gaps filled.

    Parameters
    ----------
    low, high : float
        Range of the rows that were seen.
    fill : float
        In place of gaps: the median.
    indicator : bool
        Whether gaps get an input of their own.
    period : float, optional
        Of a cycle: the number becomes a sine and a cosine.
    """

    name: str
    low: float
    high: float
    fill: float
    indicator: bool = False
    period: float | None = None
    kind: ClassVar[str] = "number"

    @property
    def outputs(self):
        parts = [self.name]
        if self.period is not None:
            parts = [f"{self.name} (sine)", f"{self.name} (cosine)"]
        return parts + [f"{self.name} is missing"] * self.indicator

    def raw(self, column):
        if column.kind in NUMBERS or column.gaps.all():
            return _numbers(column)
        if column.kind == "text":
            return parsed(column, as_number, self.name, "a number")
        raise self._expected(column, "numbers")

    def encode(self, raw, folds=None):
        gaps = np.isnan(raw)
        values = np.where(gaps, self.fill, raw) if gaps.any() else raw
        parts = [values] if self.period is None else list(_cycle(values, self.period))
        parts += [gaps] * self.indicator
        return parts[0][:, None] if len(parts) == 1 else np.column_stack(parts)

    def outside(self, raw):
        return (raw < self.low) | (raw > self.high)


@dataclass(frozen=True)
class Boolean(Number):
    """True or false, as 1 or 0."""

    kind: ClassVar[str] = "boolean"


@dataclass(frozen=True)
class Time(Number):
    """A time of day, as a sine and a cosine."""

    kind: ClassVar[str] = "time"

    def raw(self, column):
        if column.kind == "time" or column.gaps.all():
            return _numbers(column)
        if column.kind == "text":
            return parsed(column, as_time, self.name, "a time of day such as 14:35")
        raise self._expected(column, "times of day")


@dataclass(frozen=True)
class Date(Encoding):
    """A date or a moment: years since 2000, and the cycles that its range can show."""

    name: str
    low: float
    high: float
    fill: float
    indicator: bool = False
    format: str = "ISO8601"
    kind: ClassVar[str] = "date"

    _CYCLES: ClassVar = {"time of year": _YEAR, "day of week": 7 * DAY, "time of day": DAY}

    @property
    def _cycles(self) -> dict[str, float]:
        span = self.high - self.low
        return {name: period for name, period in self._CYCLES.items() if span >= period / 2}

    @property
    def outputs(self):
        cycles = [f"{self.name}: {c} ({f})" for c in self._cycles for f in ("sine", "cosine")]
        return [f"{self.name}: years", *cycles] + [f"{self.name} is missing"] * self.indicator

    def raw(self, column):
        if column.kind == "date" or column.gaps.all():
            return _numbers(column)
        if column.kind == "text":
            assert column.levels is not None
            values = dates(column.levels, self.format)
            bad = np.flatnonzero(np.isnan(values))
            rows = np.flatnonzero(np.isin(column.values, bad)) if len(bad) else bad
            if len(rows):
                raise _unreadable(column, rows[0], self.name, "a date as in the fitted rows")
            return np.append(values, np.nan)[column.values]
        raise self._expected(column, "dates")

    def encode(self, raw, folds=None):
        gaps = np.isnan(raw)
        moments = np.where(gaps, self.fill, raw)
        parts = [moments / _YEAR - 30]
        for period in self._cycles.values():
            whole_days = period == 7 * DAY
            parts += _cycle(np.floor(moments / DAY) * DAY if whole_days else moments, period)
        return np.column_stack(parts + [gaps] * self.indicator)

    def outside(self, raw):
        return (raw < self.low) | (raw > self.high)


@dataclass(frozen=True)
class Category(Encoding):
    """Levels, each with its place in the inputs.

    Parameters
    ----------
    levels : list of str or None
        None is a gap.
    code : {"one-hot", "target mean", "frequency"}
    inputs : list of str
        Names of the inputs.
    rows : list of list of float
        The inputs of each level, then those of a level that was never seen.
    folds : list of list of float, optional
        Of target means, for rows to learn from: by fold, the mean of the rows outside it.
    """

    name: str
    levels: list
    code: str = ""
    inputs: list | None = None
    rows: list | None = None
    folds: list | None = None
    kind: ClassVar[str] = "category"

    @property
    def outputs(self):
        return list(self.inputs or [])

    def raw(self, column):
        text = column.as_text() if column.kind != "other" else column
        if text.levels is None:
            raise self._expected(column, "categories")
        unseen, places = len(self.levels), {v: i for i, v in enumerate(self.levels)}
        found = [places.get(level, unseen) for level in text.levels]
        return np.array([*found, places.get(None, unseen + 1)], dtype=float)[text.values]

    def encode(self, raw, folds=None):
        place = np.minimum(raw, len(self.levels)).astype(np.int64)
        if folds is not None and self.folds is not None:
            return np.array(self.folds)[folds, place][:, None]
        return np.array(self.rows)[place]

    def outside(self, raw):
        return raw == len(self.levels)


_KINDS = {kind.kind: kind for kind in (Number, Boolean, Time, Date, Category)}


def from_dict(stored: dict[str, Any]) -> Encoding:
    """The encoding that `to_dict` described."""
    parameters = dict(stored)
    return _KINDS[parameters.pop("kind")](**parameters)


def _numbers(column: Column) -> np.ndarray:
    """Values of a column that is not text, or has none."""
    return column.values if column.levels is None else np.full(len(column), np.nan)


def _cycle(values: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    phase = 2 * np.pi * np.mod(values, period) / period
    return np.sin(phase), np.cos(phase)


# ---- text that means something else


def as_number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def as_time(text: str) -> float | None:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3] or 0)


def dates(levels: list[str], format: str) -> np.ndarray:
    """Seconds since 1970, NaN for what is no date."""
    import pandas as pd

    moments = pd.to_datetime(pd.Series(levels), format=format, errors="coerce", utc=True)
    seconds = moments.dt.tz_localize(None).to_numpy("datetime64[us]").astype(np.int64) / 1e6
    return np.where(moments.isna(), np.nan, seconds)


def date_format(levels: list[str]) -> str | None:
    """The format in which all of these are dates, if there is one."""
    for format in _DATE_FORMATS:
        # the first alone is quick to rule out most of them
        if all(not np.isnan(dates(part, format)).any() for part in (levels[:1], levels)):
            return format
    return None


def parsed(column: Column, read: Any, name: str, what: str) -> np.ndarray:
    """Text as numbers, by a function that gives None for what it cannot read."""
    assert column.levels is not None
    values = [read(level) for level in column.levels]
    bad = [i for i, value in enumerate(values) if value is None]
    rows = np.flatnonzero(np.isin(column.values, bad))
    if len(rows):
        raise _unreadable(column, int(rows[0]), name, what)
    numbers = np.array(
        [np.nan if v is None or not np.isfinite(v) else v for v in values] + [np.nan]
    )
    return numbers[column.values]


def _unreadable(column: Column, row: int, name: str, what: str) -> ValueError:
    assert column.levels is not None
    text = column.levels[column.values[row]]
    return ValueError(f"column {name!r} holds {text[:40]!r}, not {what}: correct or remove it")


# ---- levels


def one_hot(category: Category, raw: np.ndarray, least: int) -> Category:
    """An input for each level that is frequent enough, one for all the others together."""
    from sklearn.preprocessing import OneHotEncoder

    n = len(category.levels)
    encoder = OneHotEncoder(
        categories=[np.arange(n)],
        min_frequency=least,
        drop="if_binary",
        handle_unknown="ignore",
        sparse_output=False,
    )
    seen = encoder.fit_transform(raw[raw < n, None].astype(int))
    rows = encoder.transform(np.arange(n)[:, None])
    rare = [] if encoder.infrequent_categories_ is None else encoder.infrequent_categories_[0]
    # What was never seen is like what was seen rarely, or else like the average row.
    unseen = rows[rare[0]] if rare is not None and len(rare) else seen.mean(axis=0)
    labels = []
    for name in encoder.get_feature_names_out(["x"]):
        place = name.removeprefix("x_")
        labels.append("other" if "infrequent" in place else _level(category.levels[int(place)]))
    return replace(
        category,
        code="one-hot",
        inputs=[f"{category.name}={label}" for label in labels],
        rows=np.vstack([rows, unseen]).tolist(),
    )


def frequency(category: Category, raw: np.ndarray) -> Category:
    """The logarithm of the number of rows of the level: it knows nothing of the target."""
    n = len(category.levels)
    counts = np.bincount(raw[raw < n].astype(int), minlength=n)
    rows = [[digits(v)] for v in np.log1p(np.append(counts, 0))]
    return replace(category, code="frequency", inputs=[f"{category.name} (frequency)"], rows=rows)


_ENOUGH = 50  # rows of a level whose mean one row hardly moves


def target_mean(
    category: Category, raw: np.ndarray, y: np.ndarray, folds: np.ndarray, n_folds: int
) -> Category:
    """The mean target of each level, shrunk; rows to learn from get that of the other folds.

    A level whose rows are nearly all alike, and so in one fold, has no other fold to learn
    from: it takes the mean of all if it has many rows, of the whole table if it has few.
    """
    n = len(category.levels)
    known = raw < n
    codes, y, folds = raw[known].astype(int)[:, None], y[known], folds[known]
    whole = float(y.mean())
    overall = _means(n, codes, y)
    counts = np.bincount(codes[:, 0], minlength=n)
    by_fold = []
    for fold in range(n_folds):
        rest = folds != fold
        means = _means(n, codes[rest], y[rest]) if rest.any() else np.full(n, whole)
        left = np.bincount(codes[rest, 0], minlength=n)
        alone = np.where(counts >= _ENOUGH, overall, whole)
        by_fold.append(np.where(2 * left < counts, alone, means))
    return replace(
        category,
        code="target mean",
        inputs=[f"{category.name} (target mean)"],
        rows=[[digits(v)] for v in [*overall, whole]],
        folds=[[digits(v) for v in [*means, whole]] for means in by_fold],
    )


def _means(n: int, codes: np.ndarray, y: np.ndarray) -> np.ndarray:
    from sklearn.preprocessing import TargetEncoder

    encoder = TargetEncoder(categories=[np.arange(n)], target_type="continuous")
    if np.ptp(y) == 0:
        return np.full(n, y[0])
    return np.nan_to_num(encoder.fit(codes, y).encodings_[0], nan=float(y.mean()))


def digits(value: float) -> float:
    """Nine digits are enough of an encoding, and short in a file."""
    return float(f"{value:.9g}")


def _level(level: str | None) -> str:
    return "missing" if level is None else level
