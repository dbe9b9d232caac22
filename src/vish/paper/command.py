"""What `vish paper` does: run what is due, then write tables and figures."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vish.paper import figures, tables
from vish.paper.jobs import EXPERIMENTS, Place, jobs
from vish.paper.methods import METHODS
from vish.paper.results import Results, latest, read
from vish.paper.runner import run_all
from vish.paper.splits import data_folder

WHAT = (*EXPERIMENTS, "figures", "all", "tables")
HEADING = "Sparse Gaussian processes with spherical harmonic features: the paper, run again"


class PaperOptions(NamedTuple):
    """The options of the command."""

    what: str
    data: str | None = None
    out: str = "paper-output"
    splits: int | None = None
    methods: Sequence[str] | None = None
    sizes: Sequence[int] | None = None
    limit: float = 3600.0  # seconds for a run
    budget: float = 600.0  # seconds for a method that learns by gradient steps
    retry: bool = False


def check(options: PaperOptions) -> None:
    """Refuse what is not there."""
    if options.what not in WHAT:
        raise ValueError(f"vish paper {options.what}: choose {', '.join(WHAT)}")
    unknown = [name for name in options.methods or [] if name not in METHODS]
    if unknown:
        raise ValueError(f"no method {', '.join(unknown)}; there are {', '.join(METHODS)}")
    if options.splits is not None and options.splits < 1:
        raise ValueError(f"--splits is {options.splits}: give 1 or more")
    if options.sizes and options.what not in ("airline", "timing", "all"):
        raise ValueError(f"--sizes is for airline and timing: leave it out for {options.what}")
    if options.what == "uci" and (options.splits or 1) > 5:
        raise ValueError(f"--splits is {options.splits}: the UCI data have 5 fixed splits")


def run(options: PaperOptions, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Run what is due; paths of what was written, and how many runs are there."""
    check(options)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "results.jsonl"
    drawn: dict[str, str] = {}
    wanted = EXPERIMENTS if options.what == "all" else (options.what,)
    experiments = [name for name in wanted if name in EXPERIMENTS]
    if experiments:
        makes_its_rows = experiments == ["timing"]
        data = out if makes_its_rows else data_folder(options.data)
        place = Place(data.resolve(), out.resolve())
        os.environ.setdefault("PYTHONUNBUFFERED", "1")
        with _ended_politely(), Results(path) as results:
            for name in experiments:
                try:
                    due = list(jobs(
                        name, place, options.methods, _splits(name, options), options.sizes,
                        options.budget,
                    ))  # fmt: skip
                except FileNotFoundError as missing:
                    if options.what != "all":
                        raise
                    say(f"{name} is left out: {missing}")
                    continue
                run_all(due, place, results, options.limit, options.retry, say)
                write_tables(out)
    if options.what in ("figures", "all", "banana"):
        only = None if options.what != "banana" else ("figure5",)
        drawn = figures.draw_all(out, options.data, read(path)[0], say, only)
    written = write_tables(out)
    records = latest(read(path)[0])
    return {
        "results": str(path),
        "tables": [str(file) for file in written],
        "figures": [str(out / name) for name in drawn],
        "runs": len(records),
        "not_done": sum(record["status"] != "done" for record in records),
    }


@contextmanager
def _ended_politely() -> Iterator[None]:
    """The end that schedulers ask for is Ctrl-C: the run that goes on is ended too."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _splits(name: str, options: PaperOptions) -> int | None:
    """Of `all --splits 10` the UCI data take their five."""
    if name == "uci" and options.splits is not None:
        return min(options.splits, 5)
    return options.splits


def write_tables(out: Path) -> list[Path]:
    """All that the results hold, as Markdown and HTML."""
    records = latest(read(out / "results.jsonl")[0])
    found = tables.tables(records)
    drawn = {name: text for name, text in figures.CAPTIONS.items() if (out / name).exists()}
    if not found and not drawn:
        return []
    files = [out / "tables.md", out / "index.html"]
    files[0].write_text(tables.markdown(found, HEADING))
    files[1].write_text(tables.html(found, HEADING, drawn))
    return files
