"""What a command says: plain lines in a log, bars on a terminal, JSON for machines, or nothing.

Results go to standard output, everything else to standard error.
"""

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vish.cli.errors import one_line

# Inputs come from the table, which knows the names of its columns.
_UNINTERESTING = ("X does not have valid feature names", "X has feature names")


class Talk:
    """Says things, or not.

    Parameters
    ----------
    as_json : bool
        The result is one JSON object on standard output.
    quiet : bool
        Nothing but the result, and errors.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.notes: list[str] = []

    @property
    def bars(self) -> bool:
        """Whether somebody watches."""
        return not self.quiet and sys.stderr.isatty()

    def line(self, text: str) -> None:
        """Progress, on a line of its own."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Something worth knowing, also for machines."""
        text = one_line(text)
        if text not in self.notes:
            self.notes.append(text)
            self.line(f"note: {text}")

    def result(self, values: dict[str, Any], show: Callable[[], None] | None = None) -> None:
        """The end: JSON, or what `show` prints."""
        if self.as_json:
            if self.notes:
                values = values | {"notes": self.notes}
            print(json.dumps(_finite(values), default=_plain, allow_nan=False))
        elif show is not None and not self.quiet:
            show()

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Warnings of the library become notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            text = str(warning.message)
            ours = issubclass(warning.category, UserWarning)
            if ours and not text.startswith(_UNINTERESTING):
                self.note(text)

    @contextmanager
    def rows(self, text: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A pass over rows: yields a function to be told how many are done."""
        if not self.bars:
            self.line(text + ("" if total is None else f" ({total:,} rows)"))
            yield lambda n: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, Remaining(), console=Console(stderr=True)) as display:
            task = display.add_task(text, total=total)
            yield lambda n: display.update(task, advance=n)


def _finite(value: Any) -> Any:
    """JSON has no infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Plain text in columns; numbers to the right."""
    cells = [headings, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    right = [
        bool(rows) and all(not row[i] or row[i][0].isdigit() or row[i][0] in "-+." for row in rows)
        for i in range(len(headings))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if end else cell.ljust(width)
            for cell, width, end in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)
