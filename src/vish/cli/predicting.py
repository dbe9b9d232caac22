"""`vish predict`: a file of predictions, in pieces, complete or not at all."""

import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from vish.cli.bundle import Bundle, load_bundle
from vish.cli.errors import BadInput
from vish.cli.outputs import check_apart, check_output
from vish.cli.rows import TableFiles, arrow_column, find_files
from vish.cli.spreadsheets import as_text, unformulated
from vish.cli.talk import Talk
from vish.data.prefetch import read_ahead

_ENDINGS = (".csv", ".parquet", ".feather")


class PredictOptions(NamedTuple):
    """What `vish predict` was asked."""

    model: str
    data: list[str]
    out: str
    std: bool = False
    quantiles: list[float] | None = None
    flag_outside: bool = False
    keep: list[str] | None = None
    jobs: int | None = None


def predict(options: PredictOptions, talk: Talk) -> dict[str, Any]:
    """Predict and write; what there is to say."""
    start = time.perf_counter()
    if options.out == "-":
        if talk.as_json:
            raise BadInput("--json and --out - both want standard output: give --out a file")
    else:
        if not options.out.lower().endswith(_ENDINGS):
            raise BadInput(f"--out is {options.out}: end it with one of {', '.join(_ENDINGS)}")
        check_output(options.out, [options.model, *find_files(options.data)])
        check_apart(options.out, options.data)
    bundle, data = load_bundle(options.model), TableFiles(options.data)
    _check(options, bundle, data)
    bundle.estimator.n_jobs = options.jobs
    names = list(dict.fromkeys([*bundle.table.used_columns, *(options.keep or [])]))
    n_rows, n_outside, columns = 0, 0, Counter[str]()

    def inputs() -> Iterator[Any]:
        for piece in data.pieces(names):
            kept = {name: arrow_column(piece, name) for name in options.keep or []}
            yield kept, bundle.table.read(piece)

    with (
        talk.rows("predicting", data.n_rows) as done,
        talk.warnings_as_notes(),
        _writer(options.out) as write,
    ):
        for kept, rows in read_ahead(inputs()):
            results = kept | _predictions(options, bundle.estimator, rows.inputs)
            if options.flag_outside:
                results["outside"] = rows.outside
            write(results)
            n_rows += len(rows.outside)
            n_outside += int(rows.outside.sum())
            columns.update(rows.outside_by_column)
            done(len(rows.outside))
        if n_rows == 0:
            raise BadInput(f"{data.where} has no rows: give at least one")
    seconds = time.perf_counter() - start
    return {
        "rows": n_rows,
        "out": options.out,
        "outside": n_outside,
        "outside_by_column": dict(columns.most_common()),
        "seconds": round(seconds, 3),
    }


def _check(options: PredictOptions, bundle: Bundle, data: TableFiles) -> None:
    bundle.require_columns(data)
    data.require(options.keep or [], "--keep")
    if hasattr(bundle.estimator, "classes_") and (options.std or options.quantiles):
        raise BadInput(
            f"{options.model} predicts classes, with their probabilities: leave out --std and "
            "--quantiles"
        )
    for level in options.quantiles or []:
        if not 0 < level < 1:
            raise BadInput(f"--quantiles holds {level:g}: give numbers between 0 and 1")


def _predictions(options: PredictOptions, estimator: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        chances = estimator.predict_proba(X)
        results = {"prediction": classes[chances.argmax(axis=1)]}
        return results | {f"probability_{c}": chances[:, i] for i, c in enumerate(classes)}
    results = {}
    if options.std:
        results["prediction"], results["std"] = estimator.predict(X, return_std=True)
    else:
        results["prediction"] = estimator.predict(X)
    if results["prediction"].ndim != 1:
        raise BadInput(f"{options.model} has several targets: use it in Python")
    if options.quantiles:
        bands = estimator.predict_quantiles(X, options.quantiles)
        results |= {f"q{q:g}": bands[:, i] for i, q in enumerate(options.quantiles)}
    return results


@contextmanager
def _writer(out: str) -> Iterator[Any]:
    """A function that writes rows; the file appears when all are written."""
    import pyarrow as pa

    opened: list[Any] = []
    folder, name = os.path.split(os.path.realpath(out))
    temporary = os.path.join(folder, f".vish-{secrets.token_hex(8)}.tmp")
    sink = sys.stdout.buffer if out == "-" else temporary

    def write(results: dict[str, Any]) -> None:
        columns = {k: v if isinstance(v, pa.Array) else pa.array(v) for k, v in results.items()}
        if not out.lower().endswith((".parquet", ".feather")):
            columns = {as_text(name): unformulated(v) for name, v in columns.items()}
        batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        if not opened:
            opened.append(_open(out, sink, batch.schema))
            opened.append(batch.schema)
        try:
            opened[0].write_batch(batch.cast(opened[1]))
        except pa.ArrowInvalid as error:
            raise BadInput(
                f"a column of --keep changes its kind within the file ({error}): leave it out"
            ) from error

    try:
        yield write
        if opened:
            opened[0].close()
        if out != "-":
            os.replace(temporary, os.path.join(folder, name))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise BadInput(
            f"the predictions were not written to {out} ({error.strerror or error}): choose "
            "another place"
        ) from error
    finally:
        if opened and sys.exc_info()[0] is not None:
            with suppress(Exception):
                opened[0].close()
        with suppress(OSError):
            os.unlink(temporary)


def _open(out: str, sink: Any, schema: Any) -> Any:
    import pyarrow as pa

    if out.lower().endswith(".parquet"):
        import pyarrow.parquet as pq

        return pq.ParquetWriter(sink, schema)
    if out.lower().endswith(".feather"):
        return pa.ipc.new_file(sink, schema)
    import pyarrow.csv

    options = pa.csv.WriteOptions(quoting_style="needed")
    return pa.csv.CSVWriter(sink, schema, write_options=options)
