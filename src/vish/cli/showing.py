"""Results for people."""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from vish.cli.errors import BadInput
from vish.cli.talk import table


def show_scores(result: dict[str, Any]) -> None:
    """Scores of `vish evaluate`."""
    print(f"{result['rows']:,} rows, {result['outside']:,} of them outside what the model has seen")
    rows = [
        [name, f"{score['value']:.4g}", f"± {score['error']:.2g}"]
        for name, score in result["scores"].items()
    ]
    print(table(["score", "value", "standard error"], rows))
    print()
    if "coverage" in result:
        bands = [
            [
                f"{100 * b['stated']:.0f} %",
                f"{100 * b['covered']:.1f} %",
                f"± {100 * b['error']:.1f} %",
            ]
            for b in result["coverage"]
        ]
        print(table(["band", "covers", "standard error"], bands))
        return
    print(f"calibration error {result['calibration_error']:.4f}")
    bins = [
        [f"{b['stated']:.3f}", f"{b['came_true']:.3f}", f"± {b['error']:.3f}", f"{b['rows']:,}"]
        for b in result["reliability"]
    ]
    print(table(["probability", "came true", "standard error", "rows"], bins))


def show_model(facts: dict[str, Any]) -> None:
    """What `vish inspect` found."""
    from vish.cli.inspecting import seen

    versions = ", ".join(f"{name} {value}" for name, value in facts["versions"].items())
    print(f"{facts['file']} ({facts['bytes']:,} bytes, {versions})")
    target = f" of {facts['target']!r}" if facts["target"] else ""
    print(f"{facts['task'] or facts['estimator']}{target}, {facts['rows']:,} rows seen")
    if "classes" in facts:
        print(f"classes {', '.join(map(str, facts['classes']))}")
    print(f"degree {facts['degree']}, {facts['harmonics']:,} harmonics, {facts['kernel']}")
    kept = f", {facts['rows_kept']:,} rows kept" if facts["tail"] == "neighbors" else ""
    print(f"tail {facts['tail']}{kept}")
    noise = f", noise ± {facts['noise_std']:.4g}" if "noise_std" in facts else ""
    print(f"{facts['likelihood']}{noise}, log evidence {facts['log_evidence']:.6g}")
    can = "update, forget and merge" if facts["can_forget_and_merge"] else "update"
    print(f"it can {can}\n")
    rows = [
        [
            column["name"],
            column["kind"],
            seen(column),
            f"{column['gaps']:,}",
            _joined(column["inputs"]),
            _joined([f"{value:.3f}" for value in column["relevances"]]),
            column["note"],
        ]
        for column in facts["columns"]
    ]
    print(table(["column", "kind", "seen", "gaps", "inputs", "relevance", "note"], rows))


def _joined(items: list[str], most: int = 2) -> str:
    return ", ".join(items[:most]) + (f", ... ({len(items)})" if len(items) > most else "")


def run_demo(rows: int | None, out: str, silent: bool) -> dict[str, Any]:
    """The demonstration; without its text if `silent`."""
    from vish.demo import N_FLIGHTS
    from vish.demo import main as demo

    if rows is not None and not 1000 <= rows <= N_FLIGHTS:
        raise BadInput(f"--rows is {rows}: give 1,000 to {N_FLIGHTS:,}")
    with _stdout(silent):
        _run(demo, [*([] if rows is None else ["--rows", str(rows)]), "--out", out])
    pictures = sorted(str(path) for path in Path(out).glob("*.png"))
    return {"rows": rows or N_FLIGHTS, "pictures": pictures}


def run_bench(names: list[str], silent: bool) -> dict[str, Any]:
    """The benchmarks of the repository, if this is one."""
    sys.path.insert(0, "")
    try:
        from benchmarks.__main__ import available
        from benchmarks.__main__ import main as measure
    except ImportError:
        raise BadInput(
            "the benchmarks are not part of the installed package: run make bench in a copy of "
            "the repository"
        ) from None
    unknown = sorted(set(names) - set(available()))
    if unknown:
        raise BadInput(f"no benchmark {unknown[0]!r}: there are {', '.join(available())}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        with _stdout(silent):
            _run(measure, [*names, "--out", str(path)])
        return json.loads(path.read_text())


def _stdout(silent: bool) -> Any:
    return contextlib.redirect_stdout(io.StringIO()) if silent else contextlib.nullcontext()


def _run(function: Any, arguments: list[str]) -> None:
    """A program of ours that may leave by SystemExit with a text."""
    try:
        function(arguments)
    except SystemExit as error:
        if error.code:
            raise BadInput(str(error.code)) from None
