"""Run the benchmarks: ``python -m benchmarks [names] [--out results.json]``."""

import argparse
import json
import os
import pkgutil
import platform
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks import Row

PACKAGES = ("vish", "numpy", "scipy", "numba", "scikit-learn")


def available() -> list[str]:
    modules = pkgutil.iter_modules(benchmarks.__path__)
    return [m.name.removeprefix("bench_") for m in modules if m.name.startswith("bench_")]


def machine() -> dict[str, str]:
    """The facts without which a time means nothing."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0].partition(":")[2].strip() if models else cpu
    facts = {"cpu": cpu, "cores": str(os.cpu_count()), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "missing"
    return facts


def amount(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:,.0f} {unit}"
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def cells(row: Row) -> list[str]:
    slower = row.times_slower is not None
    goal = f"≤ {row.times_slower:g}" if slower else ""
    goal = f"≥ {row.times_faster:g}" if row.times_faster else goal
    if row.peer_time is None:
        missing = f"{row.peer}: missing: make peers" if row.peer else ""
        return [row.what, amount(row.time, row.unit), missing, "", goal]
    colour = {True: "[green]", False: "[red]", None: ""}[row.met]
    more = "its time" if row.unit == "s" else "as much"
    ratio = f"{colour}{row.ratio:.3g} times {more if slower else 'faster'}"
    goal += {True: " met", False: " missed", None: ""}[row.met]
    return [
        row.what,
        amount(row.time, row.unit),
        f"{row.peer}: {amount(row.peer_time, row.unit)}",
        ratio,
        goal,
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(available())}; default all")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(available())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; have {', '.join(available())}")

    console, facts = Console(), machine()
    console.print(", ".join(f"{name} {value}" for name, value in facts.items()), style="dim")
    table = Table()
    for title in ("what", "measured", "peer", "ratio", "goal"):
        table.add_column(title, overflow="fold")
    rows: list[Row] = []
    for name in options.names or available():
        with console.status(f"measuring {name}"):
            for row in import_module(f"benchmarks.bench_{name}").run():
                rows.append(row)
                table.add_row(*cells(row))
    console.print(table)
    if options.out:
        results = [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in rows]
        options.out.write_text(json.dumps({"machine": facts, "rows": results}, indent=2))


if __name__ == "__main__":
    main()
