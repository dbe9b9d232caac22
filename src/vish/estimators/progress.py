"""Progress of long work: a Rich bar on request, silence otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """What a fit tells while it runs."""

    def __init__(self, display: Any = None) -> None:
        self._display = display
        self._search = None if display is None else display.add_task("learning", total=None)

    def stage(self, stage: Any) -> None:
        """One stage of the search is done."""
        if self._display is not None:
            kind = "diagonal" if stage.rank is None else f"rank {stage.rank}"
            text = f"learning: degree {stage.degree}, {kind}, log evidence {stage.log_evidence:.4f}"
            self._display.update(self._search, description=text + " per row")

    @contextmanager
    def rows(self, text: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A pass over rows: yields a function to be told how many are done."""
        if self._display is None:
            yield lambda n: None
            return
        self._display.update(self._search, visible=False)
        task = self._display.add_task(text, total=total)
        yield lambda n: self._display.update(task, advance=n)


@contextmanager
def progress(verbose: int) -> Iterator[Progress]:
    """A display for `verbose` >= 1, nothing for 0."""
    if not verbose:
        yield Progress()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns) as display:
        yield Progress(display)
