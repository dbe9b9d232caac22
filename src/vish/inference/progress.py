"""Progress of long work: a Rich bar on standard error on request, silence otherwise."""

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
            self._display.update(self._search, description=text + " per row", visible=True)

    @contextmanager
    def rows(self, text: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A pass over rows: yields a function to be told how many are done."""
        if self._display is None:
            yield lambda n: None
            return
        with self._bar(text, total) as (task, _):
            yield lambda n: self._display.update(task, advance=n)

    @contextmanager
    def passes(self, text: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Several passes over the same rows, the bar of each beginning anew."""
        if self._display is None:
            yield lambda n: None
            return
        with self._bar(f"{text} 1", total) as (task, shown):
            number = 1

            def done(n: int) -> None:
                nonlocal number
                if total is not None and shown.completed >= total:
                    number += 1
                    self._display.reset(task, description=f"{text} {number}")
                self._display.update(task, advance=n)

            yield done

    @contextmanager
    def _bar(self, text: str, total: int | None) -> Iterator[tuple[Any, Any]]:
        """A line of the display for rows; the line of the search rests meanwhile."""
        self._display.update(self._search, visible=False)
        task = self._display.add_task(text, total=total, counts_rows=True)
        yield task, self._display.tasks[self._display.task_ids.index(task)]


@contextmanager
def progress(verbose: int) -> Iterator[Progress]:
    """A display for `verbose` >= 1, nothing for 0."""
    if not verbose:
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress
    from rich.table import Column

    class RowSpeed(ProgressColumn):
        """Rows done of all rows, and how many a second."""

        def render(self, task):
            if "counts_rows" not in task.fields:
                return ""
            of_all = "" if task.total is None else f"/{int(task.total):,}"
            speed = task.finished_speed or task.speed
            rate = "" if speed is None else f" {speed:,.0f}/s"
            return f"{int(task.completed):,}{of_all} rows{rate}"

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        RowSpeed(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as display:
        yield Progress(display)
