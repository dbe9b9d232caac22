"""Parquet files: only the needed columns, row group by row group, read ahead while computing."""

import glob
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from vish.data.frames import choose_features
from vish.data.prefetch import read_ahead
from vish.data.streams import Batch, rechunk
from vish.inference.sources import Chunk

_BATCH_ROWS = 65_536


class ParquetSource:
    """Rows of Parquet files, in the order of their paths."""

    def __init__(self, path, target, features=None, weight=None) -> None:
        import pyarrow.dataset as ds

        self._paths = _find(path)
        self.targets = [target] if isinstance(target, str) else list(target)
        self.weight = weight
        try:
            self._dataset = ds.dataset(self._paths, format="parquet", partitioning="hive")
            self._fragments = list(self._dataset.get_fragments())
        except Exception as error:
            raise ValueError(_unreadable(self._paths[0], error)) from error
        schema = self._dataset.schema
        where = str(self._paths[0])
        self.feature_names = choose_features(schema.names, self.targets, features, weight, where)
        self.n_inputs, self.n_targets = len(self.feature_names), len(self.targets)
        self._columns = [
            *self.feature_names,
            *self.targets,
            *([weight] if weight is not None else []),
        ]
        self._groups = [group for fragment in self._fragments for group in self._split(fragment)]
        self.n_rows = sum(rows for _, _, rows in self._groups)
        if self.n_rows == 0:
            raise ValueError(
                f"{where}: no rows in {len(self._paths)} file(s); give at least one row"
            )

    def _split(self, fragment) -> list[tuple[Any, str, int]]:
        """(row group, where it is, its rows) of one file, its columns checked."""
        import pyarrow.types as types

        try:
            physical = fragment.physical_schema
            parts = fragment.split_by_row_group()
        except Exception as error:
            raise ValueError(_unreadable(fragment.path, error)) from error
        own = set(physical.names)
        for name in self._columns:
            partition = name in self._dataset.schema.names and f"{name}=" in fragment.path
            if name not in own and not partition:
                raise ValueError(
                    f"{fragment.path}: no column {name!r} (the first file has it); its columns are "
                    f"{', '.join(physical.names)}"
                )
            kind = self._dataset.schema.field(name).type if partition else physical.field(name).type
            number = (
                types.is_integer(kind)
                or types.is_floating(kind)
                or types.is_boolean(kind)
                or types.is_decimal(kind)
            )
            if not number and name not in self.targets:
                raise ValueError(
                    f"{fragment.path}: column {name!r} holds {kind}, not numbers; encode it, or "
                    "leave it out with features=[...]"
                )
        return [
            (part, f"{fragment.path}, row group {number}", part.count_rows())
            for number, part in enumerate(parts)
        ]

    def _batches(self, first_row: int) -> Iterator[Batch]:
        """Batches from a row on; row groups before it are not read."""
        start = 0
        for part, where, rows in self._groups:
            if start + rows > first_row:
                skip = max(0, first_row - start)
                yield from self._read(part, where, skip)
            start += rows

    def _read(self, part, where: str, skip: int) -> Iterator[Batch]:
        try:
            for batch in part.to_batches(
                schema=self._dataset.schema,
                columns=self._columns,
                batch_size=_BATCH_ROWS,
                batch_readahead=1,
                fragment_readahead=0,
            ):
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                yield self._arrays(batch.slice(skip), where)
                skip = 0
        except ValueError as error:
            if str(error).startswith(where):
                raise
            raise ValueError(_unreadable(where, error)) from error
        except OSError as error:
            raise ValueError(_unreadable(where, error)) from error

    def _arrays(self, batch, where: str) -> Batch:
        X = np.empty((self.n_inputs, batch.num_rows))
        for i, name in enumerate(self.feature_names):
            X[i] = _numbers(batch.column(i), name, where)
        columns = [batch.column(self.n_inputs + t) for t in range(self.n_targets)]
        y = np.column_stack(
            [
                _target(column, name, where)
                for column, name in zip(columns, self.targets, strict=True)
            ]
        )
        weights = None
        if self.weight is not None:
            weights = _numbers(batch.column(self.n_inputs + self.n_targets), self.weight, where)
            if not (weights >= 0).all():
                raise ValueError(f"{where}: column {self.weight!r} holds negative weights")
        return X.T, y, weights

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        yield from rechunk(read_ahead(self._batches(first_row)), first_row)


def parquet(path, target, features=None, weight=None) -> ParquetSource:
    """Rows of Parquet files.

    Parameters
    ----------
    path : str, path or list of them
        A file, a folder (with hive partitions, if any), a glob, or several.
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
    """
    return ParquetSource(path, target, features, weight)


def _find(path) -> list[str]:
    """All files meant by a path, sorted."""
    paths: list[str] = []
    for item in path if isinstance(path, list | tuple) else [path]:
        name = os.fspath(item)
        if os.path.isdir(name):
            inside = glob.glob(os.path.join(glob.escape(name), "**", "*"), recursive=True)
            found = [f for f in inside if os.path.isfile(f) and not _hidden(f, name)]
        else:
            found = [name] if os.path.exists(name) else glob.glob(name, recursive=True)
        if not found:
            raise FileNotFoundError(f"{name}: no such file, folder or pattern; check the path")
        paths += found
    return sorted(paths)


def _hidden(file: str, folder: str) -> bool:
    parts = os.path.relpath(file, folder).split(os.sep)
    return any(part.startswith((".", "_")) for part in parts)


def _unreadable(where: str, error: Exception) -> str:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, PermissionError) or "Permission denied" in first:
        return f"{where}: no permission to read it; change its mode or its owner"
    return f"{where}: not a readable Parquet file ({first}); write it again, or leave it out"


def _numbers(column, name: str, where: str) -> np.ndarray:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"{where}: column {name!r} has {column.null_count} missing values, the first in row "
            f"{row} of a batch; remove or impute such rows"
        )
    values = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        raise ValueError(
            f"{where}: column {name!r} holds NaN or infinity; remove or impute such rows"
        )
    return values


def _target(column, name: str, where: str) -> np.ndarray:
    """Numbers, or classes as they are."""
    import pyarrow.types as types

    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        if column.null_count:
            raise ValueError(
                f"{where}: target {name!r} has {column.null_count} missing values; remove such rows"
            )
        return column.to_numpy(zero_copy_only=False).astype(object)
    return _numbers(column, name, where)
