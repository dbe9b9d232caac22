"""`vish report`: one offline page about a model, complete or not at all."""

import os
import secrets
import shlex
import time
from contextlib import suppress
from typing import Any

from vish.cli.bundle import Bundle, Target, load_bundle
from vish.cli.errors import BadInput, one_line
from vish.cli.outputs import check_output
from vish.cli.rows import TableFiles, find_files
from vish.cli.talk import Talk


def report(
    model: str, paths: list[str], out: str, target: str | None, talk: Talk
) -> dict[str, Any]:
    """Write the report; what there is to say."""
    import matplotlib

    from vish.report.building import build

    matplotlib.use("Agg")  # no window, on any machine
    start = time.perf_counter()
    if not out.lower().endswith((".html", ".htm")):
        raise BadInput(f"--out is {out}: end it with .html")
    check_output(out, [model, *find_files(paths)])
    bundle, data = load_bundle(model), TableFiles(paths)
    if getattr(bundle.estimator, "_one_target", True) is False:
        raise BadInput(f"{model} has several targets: use it in Python")
    wanted = bundle.require_target(target)
    words = ["vish", "report", model, *paths, "--out", out]
    words += [] if target is None else ["--target", target]
    with talk.warnings_as_notes():
        subject = _subject(bundle, data, wanted, model, shlex.join(words), talk)
        talk.line("evaluating and drawing")
        try:
            result = build(subject)
        except ValueError as error:
            raise BadInput(one_line(error)) from error
    _write(out, result.html)
    coverage = result.evaluation.scores.get("coverage")
    return {
        "out": out,
        "bytes": len(result.html.encode()),
        "rows": subject.survey.n_rows,
        "rows_scored": result.evaluation.n_rows,
        "verdict": result.headline,
        "findings": [finding._asdict() for finding in result.findings],
        "scores": result.evaluation.scores["scores"],
        "baselines": {k: v["scores"] for k, v in result.evaluation.baseline_scores.items()},
        **({} if coverage is None else {"coverage": coverage}),
        "exact_bands": result.exact,
        "seconds": round(time.perf_counter() - start, 3),
    }


def _subject(
    bundle: Bundle, data: TableFiles, target: Target, model: str, command: str, talk: Talk
) -> Any:
    """One reading: counts and ranges of all rows, and a sample of them."""
    from vish.data.columns import columns_of
    from vish.data.survey import Survey
    from vish.report.building import SAMPLE_ROWS
    from vish.report.subject import Subject

    data.require([target.name])
    bundle.require_columns(data)
    names = list(dict.fromkeys([*bundle.table.used_columns, target.name]))
    survey = Survey(SAMPLE_ROWS)
    with talk.rows("reading", data.n_rows) as done:
        for piece in data.pieces(names):
            columns = columns_of(piece, names)
            survey.add(columns)
            done(len(columns[target.name]))
    if not survey.n_rows:
        raise BadInput(f"{data.where} has no rows: give at least one")
    sample = survey.sample()
    y, present = target.read(sample[target.name])
    if not present.any():
        raise BadInput(f"{data.where} has no rows with a target: give at least one")
    return Subject(
        bundle.estimator,
        bundle.table,
        target.name,
        target.task,
        {name: column.take(present) for name, column in sample.items()},
        y[present],
        survey,
        bundle.header,
        os.path.basename(model),
        os.path.basename(data.files[0]) if len(data.files) == 1 else data.where,
        command,
    )


def _write(out: str, html: str) -> None:
    """The file appears when it is complete."""
    path = os.path.realpath(out)
    temporary = os.path.join(os.path.dirname(path), f".vish-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(html)
        os.replace(temporary, path)
    except OSError as error:
        raise BadInput(
            f"the report was not written to {out} ({error.strerror or error}): choose another place"
        ) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
