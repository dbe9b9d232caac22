"""Columns of any table as plain arrays: numbers, dates, times of day, or codes of levels.

pandas, Arrow, Polars, dicts of columns and arrays all become the same four kinds, without
pandas where Arrow has the rows.
"""

import datetime
import decimal
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

NUMBERS = ("number", "boolean")
_TYPES = {
    "boolean": (bool, np.bool_),
    "number": (numbers.Real, decimal.Decimal),
    "time": (datetime.time,),
    "date": (datetime.date, np.datetime64),
    "text": (str,),
}
_KINDS = {
    "number": "numbers",
    "boolean": "true or false",
    "date": "dates",
    "time": "times of day",
    "text": "text",
    "other": "nested values",
}


@dataclass(frozen=True, eq=False)
class Column:
    """One column of some rows.

    Parameters
    ----------
    kind : {"number", "boolean", "date", "time", "text", "other"}
    values : array
        float64 with NaN for gaps (dates: seconds since 1970, UTC; times: since midnight); for
        text the place in `levels`, -1 for gaps.
    levels : list of str, optional
        Of text.
    """

    kind: str
    values: np.ndarray
    levels: list[str] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def gaps(self) -> np.ndarray:
        return self.values < 0 if self.levels is not None else ~np.isfinite(self.values)

    def take(self, rows) -> "Column":
        return Column(self.kind, self.values[rows], self.levels)

    @property
    def plural(self) -> str:
        return _KINDS[self.kind]

    def as_text(self) -> "Column":
        """The same column by levels, numbers written out."""
        if self.levels is not None:
            return self
        found, codes = np.unique(self.values, return_inverse=True)
        levels = [_written(value, self.kind) for value in found.tolist() if not math.isnan(value)]
        return Column("text", np.where(np.isnan(self.values), -1, codes), levels)


def join(parts: list[Column]) -> Column:
    """Parts of one column below each other; numbers and text together become text."""
    kinds = {part.kind for part in parts if not part.gaps.all()} or {parts[0].kind}
    if kinds <= set(NUMBERS) and len(kinds) > 1:
        kinds = {"number"}
    if len(kinds) == 1 and kinds != {"text"}:
        (kind,) = kinds
        values = [
            part.values if part.levels is None else np.full(len(part), np.nan) for part in parts
        ]
        return Column(kind, np.concatenate(values))
    places: dict[str, int] = {}
    codes = []
    for part in map(Column.as_text, parts):
        assert part.levels is not None
        here = np.array([places.setdefault(v, len(places)) for v in part.levels] + [-1], int)
        codes.append(here[part.values])
    return Column("text", np.concatenate(codes), list(places))


def _written(value: Any, kind: str = "number") -> str:
    """A level as text: 1 and 1.0 are the same, as gaps turn whole numbers into floats."""
    if kind == "boolean" or isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


# ---- tables


def names_of(table: Any) -> list[str]:
    """Column names, as strings."""
    if hasattr(table, "schema") and hasattr(table.schema, "names"):
        return list(table.schema.names)
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    shape = np.shape(table)
    if len(shape) != 2:
        raise ValueError(f"expected a table or an array of two dimensions, got shape {shape}")
    return [f"x{i}" for i in range(shape[1])]


def columns_of(table: Any, names: list[str]) -> dict[str, Column]:
    """Some columns of a table: pandas, Polars, Arrow, a dict of columns, or an array."""
    if hasattr(table, "to_arrow"):
        table = table.to_arrow()
    if hasattr(table, "schema") and hasattr(table.schema, "names"):
        return {name: of_arrow(table.column(name)) for name in names}
    import pandas as pd

    frame = table
    if not isinstance(frame, pd.DataFrame):
        frame = pd.DataFrame(
            dict(table) if isinstance(table, Mapping) else table, columns=names_of(table)
        )
    places = {str(name): i for i, name in enumerate(frame.columns)}
    return {name: of_pandas(frame.iloc[:, places[name]]) for name in names}


def of_arrow(array: Any) -> Column:
    """An Arrow array, chunked or not."""
    import pyarrow as pa
    import pyarrow.types as types

    kind = array.type
    if hasattr(array, "combine_chunks"):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], kind)
    if types.is_null(kind):
        return Column("number", np.full(len(array), np.nan))
    if types.is_boolean(kind):
        return Column("boolean", _floats(array.cast(pa.uint8())))
    if types.is_integer(kind) or types.is_floating(kind):
        return Column("number", _floats(array))
    if types.is_decimal(kind):
        return Column("number", _floats(array.cast(pa.float64())))
    if types.is_temporal(kind):
        return _arrow_moments(array, kind)
    text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if types.is_dictionary(kind) or any(test(kind) for test in text) or "view" in str(kind):
        return _arrow_levels(array)
    return Column("other", np.zeros(len(array)))


def _floats(array: Any) -> np.ndarray:
    """Nulls become NaN; infinities are gaps too."""
    values = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        values = np.where(np.isfinite(values), values, np.nan)
    return values


def _arrow_moments(array: Any, kind: Any) -> Column:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_timestamp(kind) or types.is_date(kind):
        moments = array.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        return Column("date", _floats(moments.cast(pa.int64())) / 1e6)
    if types.is_time(kind):
        units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        size = pa.int32() if kind.bit_width == 32 else pa.int64()
        return Column("time", _floats(array.cast(size)) / units)
    if types.is_duration(kind):
        seconds = array.cast(pa.duration("us"), safe=False).cast(pa.int64())
        return Column("number", _floats(seconds) / 1e6)
    return Column("other", np.zeros(len(array)))


def _arrow_levels(array: Any) -> Column:
    import pyarrow as pa

    if not isinstance(array, pa.DictionaryArray):
        array = array.dictionary_encode()
    codes = array.indices.to_numpy(zero_copy_only=False)
    codes = np.where(np.isnan(codes), -1, codes) if codes.dtype.kind == "f" else codes
    return _levels_of(codes.astype(np.int64), array.dictionary.to_pylist())


def of_pandas(series: Any) -> Column:
    """A pandas series."""
    import pandas as pd
    from pandas.api import types

    kind = series.dtype
    if types.is_bool_dtype(kind) and not isinstance(kind, pd.CategoricalDtype):
        return Column("boolean", series.to_numpy(np.float64, na_value=np.nan))
    if types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind):
        values = series.to_numpy(np.float64, na_value=np.nan)
        return Column("number", np.where(np.isfinite(values), values, np.nan))
    if types.is_datetime64_any_dtype(kind):
        return Column("date", _seconds(series))
    if types.is_timedelta64_dtype(kind):
        return Column("number", series.dt.total_seconds().to_numpy(np.float64))
    try:
        codes, found = pd.factorize(series)
    except TypeError:  # lists and the like
        return Column("other", np.zeros(len(series)))
    return _levels_of(np.asarray(codes, dtype=np.int64), list(found))


def _seconds(series: Any) -> np.ndarray:
    """Seconds since 1970 of datetimes; those with a time zone in UTC."""
    import pandas as pd

    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    moments = series.to_numpy("datetime64[us]")
    return np.where(pd.isna(series), np.nan, moments.astype(np.int64) / 1e6)


def _levels_of(codes: np.ndarray, found: list) -> Column:
    """Codes of values: text, unless all values are of one other kind."""
    import pandas as pd

    if not found:
        return Column("number", np.full(len(codes), np.nan))
    missing = np.array([value is None or value is pd.NA for value in found] + [True])
    missing[:-1] |= [isinstance(value, float) and not math.isfinite(value) for value in found]
    if missing[:-1].any():  # a level of the dictionary that is itself a gap
        new = np.append(np.cumsum(~missing[:-1]) - 1, -1)
        codes = np.where(missing[codes], -1, new[codes])
        found = [value for value, gap in zip(found, missing[:-1], strict=True) if not gap]
        return _levels_of(codes, found)
    kind = _kind_of(found)
    if kind == "text":
        written = [_written(value) for value in found]
        if len(set(written)) < len(written):  # 1 and "1"
            places: dict[str, int] = {}
            new = np.array([places.setdefault(v, len(places)) for v in written] + [-1])
            return Column("text", new[codes], list(places))
        return Column("text", codes, written)
    if kind == "other":
        return Column("other", np.zeros(len(codes)))
    if kind == "date":
        parsed = pd.to_datetime(pd.Series(found), utc=True, errors="coerce")
        numbers_ = _seconds(parsed)
    elif kind == "time":
        numbers_ = np.array([v.hour * 3600 + v.minute * 60 + v.second for v in found], float)
    else:
        numbers_ = np.array([float(value) for value in found])
    return Column(kind, np.append(numbers_, np.nan)[codes])


def _kind_of(found: list) -> str:
    """The kind that holds all of these values."""
    for kind, types in _TYPES.items():
        if all(isinstance(value, types) for value in found):
            return kind
    plain = tuple(kind for types in _TYPES.values() for kind in types)
    return "text" if all(isinstance(value, (*plain, bytes)) for value in found) else "other"
