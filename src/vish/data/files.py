"""Parquet files: only the needed columns, row group by row group, read ahead while computing."""

import glob
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vish.data.frames import choose_features
from vish.data.prefetch import read_ahead
from vish.data.streams import Batch, rechunk
from vish.inference.sources import Chunk

BATCH_ROWS = 65_536


class RowGroup(NamedTuple):
    """A row group of a file, and what its columns are."""

    part: Any  # pyarrow's fragment of this row group alone
    path: str
    number: int
    rows: int
    schema: Any  # of the columns we read, as this file has them

    @property
    def place(self) -> str:
        return f"{self.path}: row group {self.number}"


class ParquetSource:
    """Rows of Parquet files, in the order of their paths."""

    def __init__(self, path, target, features=None, weight=None, kept=()) -> None:
        self._paths = find_files(path)
        self.targets = [target] if isinstance(target, str) else list(target)
        self.weight = weight
        where = self._paths[0]
        try:
            self._dataset, fragments = open_dataset(self._paths, "parquet")
            names = self._dataset.schema.names
        except Exception as error:
            raise ValueError(_unreadable(where, error)) from error
        # An input may be kept too; what else is kept is no input.
        others = [*self.targets, *(name for name in kept if name not in (features or []))]
        self.feature_names = choose_features(names, others, features, weight, where)
        self.n_inputs, self.n_targets = len(self.feature_names), len(self.targets)
        numbers = [*self.feature_names, *([weight] if weight is not None else [])]
        self._columns = list(dict.fromkeys([*numbers, *self.targets, *kept]))
        self._groups = [
            group for fragment in fragments for group in self._row_groups(fragment, numbers)
        ]
        self.n_rows = sum(group.rows for group in self._groups)
        if self.n_rows == 0:
            raise ValueError(
                f"{where}: no rows in {len(self._paths)} file(s); give at least one row"
            )
        self._check_targets()
        kinds = {g.schema.field(name).type for g in self._groups for name in self.feature_names}
        self._dtype = np.float32 if {str(kind) for kind in kinds} == {"float"} else np.float64

    @property
    def fingerprint(self) -> list:
        """What tells these rows from others: columns, and name and rows of every row group."""
        groups = [[os.path.basename(g.path), g.number, g.rows] for g in self._groups]
        return [self.feature_names, self.targets, self.weight, groups]

    def _row_groups(self, fragment, numbers) -> list[RowGroup]:
        """The row groups of one file, its columns checked."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        try:
            physical = fragment.physical_schema
            parts = fragment.split_by_row_group()
            # Not count_rows(), which counts the whole file.
            rows = [part.row_groups[0].num_rows for part in parts]
        except Exception as error:
            raise ValueError(_unreadable(fragment.path, error)) from error
        in_path = ds.get_partition_keys(fragment.partition_expression)
        fields = []
        for name in self._columns:
            if name not in physical.names and name not in in_path:
                raise ValueError(
                    f"{fragment.path}: no column {name!r} (the first file has it); its columns are "
                    f"{', '.join(physical.names)}; rename it there, or leave the file out"
                )
            field = (self._dataset.schema if name in in_path else physical).field(name)
            if sum(rows) and name in numbers and not _is_number(field.type):
                raise ValueError(
                    f"{fragment.path}: column {name!r} holds {field.type}, not numbers, in all row "
                    "groups; encode it, or leave it out with features=[...]"
                )
            fields.append(field)
        schema = pa.schema(fields)
        return [
            RowGroup(part, fragment.path, number, n, schema)
            for number, (part, n) in enumerate(zip(parts, rows, strict=True))
            if n
        ]

    def _check_targets(self) -> None:
        """Numbers in one file and text in another are a mistake, even where text can be read."""
        for name in self.targets:
            first = self._groups[0]
            kind = first.schema.field(name).type
            for group in self._groups:
                other = group.schema.field(name).type
                if _is_number(other) != _is_number(kind):
                    raise ValueError(
                        f"{group.path}: column {name!r} holds {other} in row group {group.number}, "
                        f"but {kind} in {first.path}; write all files with the same type"
                    )

    def _batches(self, first_row: int) -> Iterator[Batch]:
        for batch, group, offset in self.record_batches(first_row):
            yield self.arrays(batch, group, offset)

    def record_batches(self, first_row: int = 0) -> Iterator[tuple[Any, RowGroup, int]]:
        """Arrow batches from a row on, where they are from, and their first row there.

        Row groups before that row are not read.
        """
        start = 0
        for group in self._groups:
            if start + group.rows > first_row:
                yield from self._read(group, max(0, first_row - start))
            start += group.rows

    def _read(self, group: RowGroup, skip: int) -> Iterator[tuple[Any, RowGroup, int]]:
        batches, offset = self._scan(group, self._columns), 0
        while True:
            try:
                batch = next(batches, None)
            except Exception as error:  # of any of Arrow's classes
                raise ValueError(self._damaged(group, error)) from error
            if batch is None:
                break
            end = offset + batch.num_rows
            if end > skip:
                first = max(skip, offset)
                yield batch.slice(first - offset), group, first
            offset = end
        if offset != group.rows:
            raise ValueError(
                f"{group.place}: {offset:,} rows where its file promised {group.rows:,}; was it "
                "changed while it was read? Start again"
            )

    def _scan(self, group: RowGroup, columns: list[str]) -> Iterator[Any]:
        return iter(
            group.part.to_batches(
                schema=group.schema,
                columns=columns,
                batch_size=BATCH_ROWS,
                batch_readahead=1,
                fragment_readahead=0,
            )
        )

    def _damaged(self, group: RowGroup, error: Exception) -> str:
        """Which column it is that cannot be read."""
        for name in self._columns:
            try:
                for _ in self._scan(group, [name]):
                    pass
            except Exception as own:
                return _unreadable(f"{group.place}, column {name!r}", own)
        return _unreadable(group.place, error)

    def arrays(self, batch, group: RowGroup, offset: int) -> Batch:
        """A batch of Arrow as inputs [n, D], targets [n, T] and weights [n]."""

        def where(name: str) -> str:
            return f"{group.place}, column {name!r}"

        X = np.empty((self.n_inputs, batch.num_rows), self._dtype)
        for i, name in enumerate(self.feature_names):
            X[i] = _numbers(batch.column(name), where(name), offset)
        y = np.empty((batch.num_rows, 0))
        if self.targets:
            columns = [_target(batch.column(t), where(t), offset) for t in self.targets]
            y = columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)
        weights = None
        if self.weight is not None:
            weights = _numbers(batch.column(self.weight), where(self.weight), offset)
            if not (weights >= 0).all():
                row = offset + int(np.flatnonzero(weights < 0)[0])
                raise ValueError(
                    f"{where(self.weight)}: a negative weight in row {row}; correct it, or leave "
                    "the row out"
                )
        return X.T, y, weights

    def chunks(self, first_row: int = 0) -> Iterator[Chunk]:
        yield from rechunk(read_ahead(self._batches(first_row)), first_row)


def parquet(path, target, features=None, weight=None) -> ParquetSource:
    """Rows of Parquet files.

    Only the needed columns are read, row group by row group, while earlier rows are being
    computed with; memory does not grow with the number of rows.

    Parameters
    ----------
    path : str, path or list of them
        A file, a folder (with hive partitions ``name=value``, if any), a glob, or several. Each
        file is read once, in the order of the paths. In a folder, names that begin with a dot
        or an underscore do not count.
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
    >>> import tempfile
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from vish import VISHRegressor, data
    >>> hour = np.linspace(0, 24, 500)
    >>> table = pa.table({"hour": hour, "load": np.sin(hour / 4)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table[:300], f"{folder}/monday.parquet")
    ...     pq.write_table(table[300:], f"{folder}/tuesday.parquet")
    ...     model = VISHRegressor(degree=6).fit_source(data.parquet(folder, target="load"))
    >>> model.n_rows_seen_
    500
    """
    return ParquetSource(path, target, features, weight)


def open_dataset(files: list[str], format: str) -> tuple[Any, list[Any]]:
    """Files as one Arrow dataset, and its part in each file."""
    import pyarrow.dataset as ds

    dataset = ds.dataset(files, format=format, partitioning="hive")
    return dataset, list(dataset.get_fragments())


def find_files(path) -> list[str]:
    """All files meant by a path, a folder, a glob or a list of these, sorted."""
    paths: list[str] = []
    for item in path if isinstance(path, list | tuple) else [path]:
        name = os.fspath(item)
        if os.path.isdir(name):
            inside = glob.glob(os.path.join(glob.escape(name), "**", "*"), recursive=True)
            found = [f for f in inside if os.path.isfile(f) and not _hidden(f, name)]
            if not found:
                raise FileNotFoundError(f"{name}: no files in this folder; check the path")
        else:
            found = [name] if os.path.exists(name) else glob.glob(name, recursive=True)
        if not found:
            raise FileNotFoundError(f"{name}: no such file, folder or pattern; check the path")
        paths += found
    if not paths:
        raise FileNotFoundError("an empty list of paths: give at least one file")
    return sorted(set(paths))


def _hidden(file: str, folder: str) -> bool:
    parts = os.path.relpath(file, folder).split(os.sep)
    return any(part.startswith((".", "_")) for part in parts)


def _unreadable(where: str, error: Exception) -> str:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, PermissionError) or "Permission denied" in first:
        return f"{where}: no permission to read it; change its mode or its owner"
    if isinstance(error, FileNotFoundError):
        return f"{where}: the file is gone; put it back, or make the source again"
    if "size is 0 bytes" in first:
        return f"{where}: an empty file (0 bytes); write it again, or leave it out"
    return f"{where}: not readable as Parquet ({first}); write the file again, or leave it out"


def _is_number(kind) -> bool:
    import pyarrow.types as types

    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(check(kind) for check in checks)


def _refuse_missing(column, where: str, offset: int) -> None:
    if column.null_count:
        row = offset + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"{where}: missing values (null), the first in row {row}; remove or impute such rows"
        )


def _numbers(column, where: str, offset: int) -> np.ndarray:
    _refuse_missing(column, where, offset)
    values = column.to_numpy(zero_copy_only=False)
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        row = offset + int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"{where}: NaN or infinity, the first in row {row}; remove or impute such rows"
        )
    return values


def _target(column, where: str, offset: int) -> np.ndarray:
    """Numbers as float64, or classes as they are."""
    if _is_number(column.type):
        return _numbers(column, where, offset).astype(np.float64, copy=False)
    _refuse_missing(column, where, offset)
    return column.to_numpy(zero_copy_only=False).astype(object)
