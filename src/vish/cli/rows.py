"""Rows of CSV, Parquet and Feather files, in pieces.

Parquet and Feather come as Arrow batches, CSV as pandas frames. What fits in memory is read
once, however many passes are made.
"""

import glob
import os
from collections.abc import Iterator
from typing import Any

from vish.cli.csv_rows import PACKED, csv_names, csv_pieces
from vish.cli.errors import BadInput, one_line

PIECE_ROWS = 131_072
_KEEP_BYTES = 2**29
_FORMATS = {
    "csv": ("csv", "tsv", "txt"),
    "parquet": ("parquet", "pq"),
    "feather": ("feather", "arrow", "ipc"),
}
_ENDINGS = {ending: format for format, endings in _FORMATS.items() for ending in endings}
_KINDS = "CSV (.csv, .tsv, .txt, also packed), Parquet (.parquet) or Feather (.feather, .arrow)"


class TableFiles:
    """The rows of some files, their columns of any kind.

    For a table that is to be encoded. Files of numbers alone, too long for memory, are
    `vish.data.parquet`: rows cut for sums, read from any row on.

    Parameters
    ----------
    paths : list of str
        Files, folders and patterns, all of one format.
    """

    def __init__(self, paths: list[str]) -> None:
        self.files = find_files(paths)
        self.format = _one_format(self.files)
        self.where = self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"
        self._kept: tuple[tuple[str, ...], list[Any]] | None = None
        if self.format == "csv":
            self.names, self.n_rows = self._csv_names(), None
        else:
            self.names, self.n_rows = self._open()

    def require(self, names: list[str], option: str = "") -> None:
        """Refuse columns that are not there."""
        for name in names:
            if name not in self.names:
                shown = ", ".join(self.names[:30]) + (", ..." if len(self.names) > 30 else "")
                because = f" ({option})" if option else ""
                raise BadInput(f"{self.where} has no column {name!r}{because}: it has {shown}")

    def pieces(self, columns: list[str]) -> Iterator[Any]:
        """Arrow batches or pandas frames with these columns, at least."""
        wanted = tuple(columns)
        if self._kept is not None and set(wanted) <= set(self._kept[0]):
            yield from self._kept[1]
            return
        read = self._read_csv(columns) if self.format == "csv" else self._read_arrow(columns)
        keep: list[Any] | None = []
        size = 0
        for piece in read:
            size += _size_of(piece)
            if keep is not None and size <= _KEEP_BYTES:
                keep.append(piece)
            else:
                keep = None
            yield piece
        if keep is not None:
            self._kept = (wanted, keep)

    # ---- CSV

    def _csv_names(self) -> list[str]:
        names = None
        for file in self.files:
            try:
                found = csv_names(file)
            except Exception as error:
                raise _unreadable(file, "CSV", error) from error
            if names is not None and set(found) != set(names):
                odd = sorted(set(found) ^ set(names))[0]
                raise BadInput(
                    f"{file} and {self.files[0]} differ in column {odd!r}: give files with the "
                    "same columns"
                )
            names = names or found
        assert names is not None
        return names

    def _read_csv(self, columns: list[str]) -> Iterator[Any]:
        for file in self.files:
            try:
                yield from (p for p in csv_pieces(file, columns, PIECE_ROWS) if len(p))
            except Exception as error:
                raise _unreadable(file, "CSV", error) from error

    # ---- Parquet and Feather

    def _open(self) -> tuple[list[str], int]:
        from vish.data.files import open_dataset

        try:
            self._dataset, fragments = open_dataset(self.files, self.format)
            rows = [fragment.count_rows() for fragment in fragments]
            schemas = [fragment.physical_schema for fragment in fragments]
        except Exception as error:
            raise _unreadable(self.files[0], self.format.capitalize(), error) from error
        for fragment, schema in zip(fragments, schemas, strict=True):
            lost = set(schemas[0].names) - set(schema.names)
            if lost:
                raise BadInput(
                    f"{fragment.path} has no column {min(lost)!r}, unlike {self.files[0]}: give "
                    "files with the same columns"
                )
        return list(self._dataset.schema.names), sum(rows)

    def _read_arrow(self, columns: list[str]) -> Iterator[Any]:
        try:
            yield from (
                batch
                for batch in self._dataset.to_batches(
                    columns=columns,
                    batch_size=PIECE_ROWS,
                    batch_readahead=4,
                    fragment_readahead=1,
                )
                if batch.num_rows
            )
        except (OSError, ValueError) as error:
            raise _unreadable(self.files[0], self.format.capitalize(), error) from error


def take_rows(piece: Any, rows: Any) -> Any:
    """Some rows of a piece, by a mask."""
    import pyarrow as pa

    return piece.filter(pa.array(rows)) if hasattr(piece, "schema") else piece[rows]


def arrow_column(piece: Any, name: str) -> Any:
    """A column of a piece as an Arrow array."""
    import pyarrow as pa

    return piece.column(name) if hasattr(piece, "schema") else pa.Array.from_pandas(piece[name])


def _size_of(piece: Any) -> int:
    return piece.nbytes if hasattr(piece, "nbytes") else int(piece.memory_usage().sum())


def find_files(paths: list[str]) -> list[str]:
    """All files that are meant, sorted."""
    files: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = glob.glob(os.path.join(glob.escape(path), "**", "*"), recursive=True)
            found = [f for f in inside if os.path.isfile(f) and _ending(f) in _ENDINGS]
            if not found:
                raise BadInput(f"{path} is a folder without data files: give {_KINDS}")
        elif os.path.exists(path):
            if not os.path.isfile(path):
                raise BadInput(f"{path} is not a regular file: give {_KINDS}")
            found = [path]
        else:
            found = [f for f in glob.glob(path, recursive=True) if os.path.isfile(f)]
            if not found:
                raise BadInput(f"there is no file, folder or pattern {path}: check the path")
        files += sorted(found)
    for file in files:
        if not os.access(file, os.R_OK):
            raise BadInput(f"no permission to read {file}: change its mode or its owner")
        if os.path.getsize(file) == 0:
            raise BadInput(f"{file} is empty: give a table with a header and rows")
    return files


def _ending(file: str) -> str:
    name = file.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.rpartition(".")[2] if "." in os.path.basename(name) else ""


def _one_format(files: list[str]) -> str:
    formats = {}
    for file in files:
        with open(file, "rb") as opened:
            start = opened.read(512)
        if start[8:].startswith(b'{"__metadata__":{"format":"vish"'):
            raise BadInput(f"{file} is a vish model, not a table: give {_KINDS}")
        if start.startswith(b"PAR1"):
            format = "parquet"
        elif start.startswith(b"ARROW1"):
            format = "feather"
        else:
            format = _ENDINGS.get(_ending(file), "")
        if not format:
            raise BadInput(f"{file} is of an unknown kind: give {_KINDS}")
        formats[format] = file
    if len(formats) > 1:
        two = " and ".join(sorted(formats.values())[:2])
        raise BadInput(f"{two} are of different formats: give files of one format")
    return next(iter(formats))


def _unreadable(file: str, kind: str, error: Exception) -> BadInput:
    if isinstance(error, BadInput):
        return error
    text = one_line(error)
    if isinstance(error, PermissionError):
        return BadInput(f"no permission to read {file}: change its mode or its owner")
    if isinstance(error, UnicodeDecodeError):
        return BadInput(f"{file} is not text in UTF-8: save it as UTF-8, or give {_KINDS}")
    if "No columns to parse" in text:
        return BadInput(f"{file} is empty: give a table with a header and rows")
    text = text.removeprefix("Error tokenizing data. C error: ")
    return BadInput(f"{file} is not a readable {kind} file ({text[:200]}): write it again")
