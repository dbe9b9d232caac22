"""CSV files as pandas frames: every field has its column, and every column its own name."""

import bz2
import csv
import gzip
import io
import lzma
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from vish.cli.errors import BadInput

PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_GAPS = ["?", "-", "."]
_BEYOND = "fields beyond the header\x1f"  # a name that no column has
_LONGEST_HEADER = 1_000_000


def csv_names(file: str) -> list[str]:
    """The names in the header; one that is empty is called after its place, as by pandas."""
    with _open(file) as opened:
        first = _read(opened, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = [str(name) or f"Unnamed: {i}" for i, name in enumerate(first.iloc[0])]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadInput(
            f"{file} has {names.count(twice[0])} columns named {twice[0]!r}: give each its own name"
        )
    return names


def csv_pieces(file: str, columns: list[str], piece_rows: int) -> Iterator[Any]:
    """Frames with some of the columns.

    pandas would cut a row with more fields than the header has. Here the header has one name
    more, and nothing may stand below it.
    """
    names = csv_names(file)
    with _open(file) as opened:
        opened.prepend([*names, _BEYOND])
        options = {"skiprows": range(1, 2 + opened.blank_lines), "na_values": _GAPS}
        for piece in _read(opened, usecols=[*columns, _BEYOND], chunksize=piece_rows, **options):
            beyond = piece.pop(_BEYOND)
            if beyond.notna().any():
                row = int(piece.index[beyond.notna()][0]) + 1
                raise BadInput(
                    f"{file}: row {row:,} below the header has more fields than the header's "
                    f"{len(names)}, such as {beyond.dropna().iloc[0]!r}: quote fields that hold "
                    "the separator, or correct the row"
                )
            yield piece


def _read(opened: "_Text", **options: Any) -> Any:
    import pandas as pd

    return pd.read_csv(
        opened,
        sep=opened.separator,
        low_memory=False,
        skipinitialspace=True,
        index_col=False,
        **options,
    )


class _Text(io.TextIOBase):
    """The text of a CSV file, with another header before it if wanted."""

    def __init__(self, opened: Any) -> None:
        self._opened, self._before, self.blank_lines = opened, "", 0
        line = opened.readline(_LONGEST_HEADER)
        while line and not line.strip("\r\n"):
            self.blank_lines += 1
            line = opened.readline(_LONGEST_HEADER)
        if "\0" in line:
            raise ValueError("it holds bytes that are no text")
        fields = {sep: next(csv.reader(io.StringIO(line), delimiter=sep), []) for sep in ",;\t|"}
        # Whichever of comma, semicolon, tab and bar is most frequent in the header.
        self.separator = max(fields, key=lambda sep: len(fields[sep]))
        opened.seek(0)

    def prepend(self, names: list[str]) -> None:
        line = io.StringIO()
        csv.writer(line, delimiter=self.separator).writerow(names)
        self._before = line.getvalue()

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        before, self._before = self._before, ""
        return before or self._opened.read(size)

    def close(self) -> None:
        self._opened.close()
        super().close()


def _open(file: str) -> _Text:
    opener = PACKED.get(os.path.splitext(file.lower())[1], open)
    opened = opener(file, "rt", encoding="utf-8-sig", newline="")
    try:
        return _Text(opened)
    except BaseException:
        opened.close()
        raise
