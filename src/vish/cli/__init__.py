"""The command `vish`.

Exit codes: 0 done; 1 something else went wrong (out of memory, a defect); 2 bad input: one line
says what, and what to do; 130 interrupted. The library loads when a command runs, so that help
and completion are quick.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from vish.cli.errors import BadInput, one_line
from vish.cli.outputs import check_apart

_CODES = "Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted."
_INTERRUPTED = "interrupted: nothing was written"
_PAPER_INTERRUPTED = "interrupted: the runs that are done are kept, the same command goes on"

app = typer.Typer(
    name="vish",
    help="Gaussian processes for tables of a hundred to a billion rows.",
    epilog="First steps: vish fit houses.csv --target price --out houses.vish, then "
    "vish predict houses.vish new.csv --out prices.csv --std. " + _CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Model = Annotated[str, typer.Argument(help="A model file, as written by vish fit.")]
DataFiles = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="CSV, Parquet or Feather: files, folders or patterns."),
]
Json = Annotated[bool, typer.Option("--json", help="The result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the result.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)]
TargetName = Annotated[
    str | None, typer.Option(help="Column with the target, if it has another name here.")
]
OutModel = Annotated[
    str | None, typer.Option(help="Where to write the model; replaces MODEL by default.")
]
Relearn = Annotated[
    bool, typer.Option(help="Whether kernel and noise are learned again, from the statistics.")
]


def _talk(as_json: bool, quiet: bool) -> Any:
    from vish.cli.talk import Talk

    return Talk(as_json, quiet)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"vish {version('vish')}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Examples: vish fit houses.csv --target price --out houses.vish | "
    "vish fit 'flights/*.parquet' --target delay --degree 3 --cyclic month=12 --out f.vish | "
    "vish fit mail.csv --target spam --task classification --out spam.vish"
)
def fit(
    data: DataFiles,
    out: Annotated[str, typer.Option(help="Where to write the model.")],
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    task: Annotated[str, typer.Option(help="auto, regression, classification or count.")] = "auto",
    features: Annotated[
        list[str] | None, typer.Option(help="Input columns: a,b,...; all others by default.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sample weights.")] = None,
    cyclic: Annotated[
        list[str] | None, typer.Option(help="Columns that go in circles: month=12,angle=360.")
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="matern12, matern32 (the default), matern52, odd (matern32 of odd degrees), rbf, "
            "arccosine, ntk, polynomial or free."
        ),
    ] = None,
    likelihood: Annotated[
        str | None,
        typer.Option(
            help="gaussian, radial, auto-noise, warped, student-t, laplace, gamma, beta, "
            "heteroscedastic; poisson, negative-binomial; logit, probit."
        ),
    ] = None,
    degree: Annotated[
        str, typer.Option(help="Degree of the harmonics; auto raises it while that pays.")
    ] = "auto",
    max_features: Annotated[
        int, typer.Option(help="Most harmonics for an automatic degree.", min=2)
    ] = 1000,
    tail: Annotated[
        str,
        typer.Option(
            help="What is beyond the degree: truncated (nothing), variational, neighbors (the "
            "nearest rows tell; the model then holds rows), or auto (neighbors if they help)."
        ),
    ] = "truncated",
    rank: Annotated[
        str, typer.Option(help="Dimensions of the learned map of the inputs: a number, none, auto.")
    ] = "auto",
    subset_size: Annotated[
        int, typer.Option(help="Rows from which hyperparameters are learned.", min=1)
    ] = 20_000,
    like: Annotated[
        str | None,
        typer.Option(help="Only read the rows, with all else as in this model: for vish merge."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of random choices.", min=0)] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model from a table, and save it.

    Columns are taken as they come: numbers, text, dates, gaps. vish inspect shows what became
    of them.
    """
    from vish.cli.bundle import TASKS
    from vish.cli.fitting import FitOptions
    from vish.cli.fitting import fit as run

    if task not in ("auto", *TASKS):
        raise BadInput(f"--task is {task!r}: choose auto, {', '.join(TASKS)}")
    talk = _talk(as_json, quiet)
    result = run(
        FitOptions(
            data, target, out, task, _names(features), weight, _periods(cyclic), kernel,
            likelihood, _degree(degree), max_features, rank, subset_size, jobs, seed, like,
            tail,
        ),
        talk,
    )  # fmt: skip

    def show() -> None:
        kept = f", {result['rows_kept']:,} rows kept" if result["tail"] == "neighbors" else ""
        print(
            f"{out}: {result['task']} of {result['target']!r} from {result['rows']:,} rows, "
            f"{len(result['inputs'])} inputs, degree {result['degree']} "
            f"({result['harmonics']:,} harmonics){kept}, {result['seconds']:.1f} s"
        )

    talk.result(result, show)


@app.command(
    epilog="Examples: vish predict houses.vish new.csv --out prices.csv --std | "
    "vish predict houses.vish new.parquet --out prices.parquet --quantiles 0.05,0.95 --keep id | "
    "vish predict houses.vish new.csv --out - | head"
)
def predict(
    model: Model,
    data: DataFiles,
    out: Annotated[
        str, typer.Option(help=".csv, .parquet or .feather; - is CSV on standard output.")
    ],
    std: Annotated[bool, typer.Option("--std", help="With standard deviations.")] = False,
    quantiles: Annotated[
        list[str] | None, typer.Option(help="With quantiles, such as 0.05,0.95.")
    ] = None,
    flag_outside: Annotated[
        bool,
        typer.Option("--flag-outside", help="With a column that marks rows unlike those seen."),
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns to copy from DATA, such as a key.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table.

    Numbers get a column prediction, classes also probability_... for each class.
    """
    from vish.cli.predicting import PredictOptions
    from vish.cli.predicting import predict as run

    talk = _talk(as_json, quiet)
    options = PredictOptions(
        model, data, out, std, _levels(quantiles), flag_outside, _names(keep), jobs
    )
    result = run(options, talk)
    if result["outside"]:
        worst = ", ".join(f"{k} ({n:,})" for k, n in result["outside_by_column"].items())
        talk.line(f"note: {result['outside']:,} rows lie outside what the model has seen: {worst}")
    talk.line(f"{out}: {result['rows']:,} rows in {result['seconds']:.1f} s")
    talk.result(result)


@app.command(
    epilog="Examples: vish evaluate houses.vish test.csv | vish evaluate spam.vish mail.csv --json"
)
def evaluate(
    model: Model,
    data: DataFiles,
    target: TargetName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score a model on rows whose target is known: errors, and whether bands come true."""
    from vish.cli.evaluating import evaluate as run
    from vish.cli.showing import show_scores

    talk = _talk(as_json, quiet)
    result = run(model, data, target, talk)
    talk.quiet = False
    talk.result(result, lambda: show_scores(result))


@app.command(epilog="Example: vish update houses.vish sold-in-may.csv")
def update(
    model: Model,
    data: DataFiles,
    out: OutModel = None,
    target: TargetName = None,
    relearn: Relearn = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn more rows, without the old ones."""
    _change("update", model, data, out, target, relearn, as_json, quiet)


@app.command(epilog="Example: vish forget houses.vish withdrawn.csv")
def forget(
    model: Model,
    data: DataFiles,
    out: OutModel = None,
    target: TargetName = None,
    relearn: Relearn = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take rows away, as if they had never been seen.

    Scaling and relevances were learned when the rows were there, and keep that trace of them.
    """
    _change("forget", model, data, out, target, relearn, as_json, quiet)


def _change(what, model, data, out, target, relearn, as_json, quiet) -> None:
    from vish.cli.changing import change

    talk = _talk(as_json, quiet)
    result = change(what, model, data, out, target, relearn, talk)
    verb = "learned" if what == "update" else "forgotten"
    text = f"{result['model']}: {result['rows']:,} rows {verb}, {result['rows_after']:,} now"
    talk.result(result, lambda: print(text))


@app.command(
    epilog="Example: vish fit north.csv --target y --out north.vish; "
    "vish fit south.csv --like north.vish --out south.vish; "
    "vish merge north.vish south.vish --out both.vish"
)
def merge(
    models: Annotated[list[str], typer.Argument(metavar="MODELS...", help="Two or more models.")],
    out: Annotated[str, typer.Option(help="Where to write the model.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """One model that has seen the rows of several: made with vish fit --like."""
    from vish.cli.changing import merge as run

    talk = _talk(as_json, quiet)
    result = run(models, out, talk)
    talk.result(result, lambda: print(f"{out}: {result['rows']:,} rows"))


@app.command(epilog="Example: vish inspect houses.vish")
def inspect(model: Model, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what is in a model file, and what became of each column."""
    from vish.cli.inspecting import inspect as run
    from vish.cli.showing import show_model

    talk = _talk(as_json, quiet)
    result = run(model)
    talk.quiet = False
    talk.result(result, lambda: show_model(result))


@app.command(epilog="Example: vish report houses.vish held-back.csv --out report.html")
def report(
    model: Model,
    data: DataFiles,
    out: Annotated[str, typer.Option(help="Where to write the page: .html.")],
    target: TargetName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a page that says whether to trust a model, with pictures and a what-if panel.

    DATA are rows with a known target, best ones that the model has not learned from.
    """
    from vish.cli.reporting import report as run

    talk = _talk(as_json, quiet)
    result = run(model, data, out, target, talk)
    text = f"{out}: {result['verdict']} ({result['bytes']:,} bytes, {result['seconds']:.1f} s)"
    talk.result(result, lambda: print(text))


@app.command(epilog="Example: vish demo --rows 20000")
def demo(
    rows: Annotated[int | None, typer.Option(help="Use so many flights.")] = None,
    out: Annotated[str, typer.Option(help="Folder for the pictures.")] = "demo-output",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn the delays of a year's flights, and draw pictures."""
    from vish.cli.showing import run_demo

    talk = _talk(as_json, quiet)
    talk.result(run_demo(rows, out, as_json or quiet))


@app.command(
    epilog="Examples: vish paper uci --data ../shared/data --splits 1 --methods vish,a-vff,svgp | "
    "vish paper airline --sizes 10000 | vish paper figures"
)
def paper(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="uci, airline, timing (at the paper's size, synthetic), susy, banana, figures, "
            "all; tables writes those again.",
        ),
    ],
    data: Annotated[
        str | None, typer.Option(help="Folder of data sets; VISH_DATA by default.")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="How many; the paper's number by default.", min=1)
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="Of vish,vish-paper,gpr,svgp,...; all by default.")
    ] = None,
    sizes: Annotated[
        list[str] | None, typer.Option(help="Rows of airline and timing: 10000,100000,all.")
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for results, tables, figures.")] = "paper-output",
    limit: Annotated[float, typer.Option(help="Seconds for one run.", min=1)] = 3600,
    budget: Annotated[
        float, typer.Option(help="Seconds of learning for SVGP and networks.", min=1)
    ] = 600,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run again what failed or was cut short.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's experiments, with every method in it; tables and figures.

    Each run has its own process; results are kept, so that it can be interrupted at any time.
    """
    from vish.paper.command import PaperOptions
    from vish.paper.command import run as run_paper

    folder = data or os.environ.get("VISH_DATA")
    check_apart(out, [folder] if folder else [])
    talk = _talk(as_json, quiet)
    options = PaperOptions(
        what, data, out, splits, _names(methods), _sizes(sizes), limit, budget, retry
    )
    result = run_paper(options, talk.line)
    text = f"{result['runs']:,} runs, {result['not_done']:,} of them not done"
    files = ", ".join(result["tables"] + result["figures"]) or "no tables yet"
    talk.result(result, lambda: print(f"{text}: {files}"))


@app.command(epilog="Example: vish bench harmonics")
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Of benchmarks; default all.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure speed, in a copy of the repository (as make bench does)."""
    from vish.cli.showing import run_bench

    talk = _talk(as_json, quiet)
    talk.result(run_bench(names or [], as_json or quiet))


# ---- options that Typer does not read


def _names(given: list[str] | None) -> list[str] | None:
    if not given:
        return None
    names = [name.strip() for text in given for name in text.split(",")]
    if not all(names):
        raise BadInput(f"{','.join(given)!r} holds an empty name: give a,b,c")
    return names


def _levels(given: list[str] | None) -> list[float] | None:
    names = _names(given)
    try:
        return None if names is None else [float(name) for name in names]
    except ValueError:
        raise BadInput(
            f"--quantiles is {','.join(given or [])!r}: give numbers such as 0.05,0.95"
        ) from None


def _periods(given: list[str] | None) -> dict[str, float] | None:
    periods = {}
    for text in _names(given) or []:
        name, _, period = text.rpartition("=")
        try:
            periods[name] = float(period)
        except ValueError:
            periods[name] = 0.0
        if not name or not 0 < periods[name] < float("inf"):
            raise BadInput(f"--cyclic has {text!r}: give column=period, such as month=12")
    return periods or None


def _sizes(given: list[str] | None) -> list[int] | None:
    """Numbers of rows; 0 for all."""
    names = _names(given)
    if names is None:
        return None
    wrong = [name for name in names if name != "all" and not (name.isdigit() and int(name))]
    if wrong:
        raise BadInput(f"--sizes has {wrong[0]!r}: give numbers of rows, or all")
    return [0 if name == "all" else int(name) for name in names]


def _degree(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit():
        raise BadInput(f"--degree is {text!r}: give a whole number of at least 0, or auto")
    return int(text)


# ---- running


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code. Errors are one line on standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given, standalone_mode=False, prog_name="vish")
        if code == 130:  # Typer hears Ctrl-C first
            return _failed(_interrupted(given), 130, given)
        return code if isinstance(code, int) else 0
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _failed(_interrupted(given), 130, given)
    except BadInput as error:
        return _failed(one_line(error), 2, given)
    except ImportError as error:
        name = (error.name or "a package").partition(".")[0]
        return _failed(f"{name} is missing: pip install 'vish[cli]'", 2, given)
    except (ValueError, OSError) as error:  # the library's own refusals say what to do
        if os.environ.get("VISH_DEBUG"):
            raise
        return _failed(one_line(error), 2, given)
    except MemoryError:
        return _failed("not enough memory: lower --max-features or --degree", 1, given)
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer's own: wrong options
            if type(error).__name__ == "NoArgsIsHelpError":
                return 2
            known = [getattr(c.callback, "__name__", "") for c in app.registered_commands]
            command = given[0] if given and given[0] in known else ""
            help = " ".join(filter(None, ["vish", command, "--help"]))
            text = one_line(error.format_message())
            return _failed(f"{text} See {help}", 2, given)
        if os.environ.get("VISH_DEBUG"):
            raise
        text = f"defect: {type(error).__name__}: {one_line(error)}"
        return _failed(f"{text}; VISH_DEBUG=1 shows where, please report it", 1, given)


def _interrupted(given: list[str]) -> str:
    return _PAPER_INTERRUPTED if given[:1] == ["paper"] else _INTERRUPTED


def _failed(text: str, code: int, given: list[str]) -> int:
    if "--json" in given:
        print(json.dumps({"error": text, "exit_code": code}))
    print(f"vish: {text}", file=sys.stderr)
    return code


def main() -> None:
    """The entry point of the command."""
    sys.exit(run())
