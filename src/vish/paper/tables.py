"""Tables of results: ours, the paper's, and the difference; as Markdown and as HTML."""

from html import escape
from typing import Any, NamedTuple

import numpy as np

from vish.paper import airline, published
from vish.paper.airline import PAPER_ROWS, WORDS
from vish.paper.results import Record

# A score's name, heading and digits; lower is better but for the area under the curve.
SCORES = {"mse": ("MSE", 4), "auc": ("AUC", 4), "nlpd": ("NLPD", 3), "bound": ("bound", 1)}
_SHOWN = {
    "uci": ("mse", "nlpd"), "airline": ("mse", "nlpd"), "timing": ("mse", "nlpd"),
    "susy": ("auc", "nlpd"), "banana": ("bound", "nlpd"),
}  # fmt: skip
_ALLOWED = 0.003  # beside the paper's standard deviation: its numbers are rounded


class Table(NamedTuple):
    """A title, headings, rows of text, and a note."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    note: str = ""


# ---- what is in them


def tables(records: list[Record]) -> list[Table]:
    """One for each data set, and one that says where we stand."""
    data = list(dict.fromkeys(record["data"] for record in records))
    found = [of_data(name, [r for r in records if r["data"] == name]) for name in data]
    return [*found, *standing([r for r in records if r["experiment"] == "uci"])]


def of_data(name: str, records: list[Record]) -> Table:
    """Methods as rows; mean and standard deviation over splits."""
    experiment = records[0]["experiment"]
    shown = _SHOWN[experiment]
    printed = paper_numbers(name)
    with_paper = [score for score in shown if any(score in row for row in printed.values())]
    with_seconds = any("seconds" in row for row in printed.values())
    headings = ["method", "M"]
    for score in shown:
        headings.append(SCORES[score][0])
        headings += ["paper", "difference"] if score in with_paper else []
    headings += ["seconds", *(["paper, on a GPU"] if with_seconds else []), "peak MB", "splits"]
    headings.append("remarks")
    rows = []
    for method in dict.fromkeys(record["method"] for record in records):
        runs = [r for r in records if r["method"] == method]
        done = [r for r in runs if r["status"] == "done"]
        theirs = printed.get(method, {})
        row = [method, _one_of(done, "M")]
        for score in shown:
            values = [r["scores"][score] for r in done if score in r["scores"]]
            row.append(_spread(values, SCORES[score][1]))
            if score in with_paper:
                row += _beside(values, theirs.get(score), SCORES[score][1])
        row.append(_spread([sum(r["seconds"].values()) for r in done], 1))
        if with_seconds:
            row.append(_printed(theirs.get("seconds"), 1))
        row.append(f"{max(r['peak_memory_mb'] for r in done):,.0f}" if done else "")
        row += [str(len(done)), "; ".join(_remarks(runs))]
        rows.append(row)
    return Table(title(name), headings, rows, _note(name, records))


def paper_numbers(name: str) -> dict[str, dict[str, published.Printed]]:
    """By method; of another table of flights only as an orientation."""
    kind, _, rest = name.partition("/")
    if kind == "uci":
        return _for_all_of_ours(published.UCI.get(rest, {}))
    if kind.startswith("susy"):
        return _for_all_of_ours(published.SUSY)
    if kind in WORDS:
        n = int(rest)
        most = max(airline.SIZES)
        numbers = published.AIRLINE.get(PAPER_ROWS if n > most else n, {})  # all, whatever there is
        fixed = {m.replace("paper", "fixed"): row for m, row in numbers.items() if "vish" in m}
        if kind == "synthetic":  # only times can be compared
            timed = (numbers | fixed).items()
            return {m: {"seconds": row["seconds"]} for m, row in timed if "seconds" in row}
        return numbers
    return {}


def _for_all_of_ours(numbers):
    """The paper's VISH stands beside our best too, and beside ours at its degree."""
    theirs = numbers.get("vish-paper")
    return numbers | {name: theirs for name in ("vish", "vish-fixed") if theirs}


def title(name: str) -> str:
    kind, _, rest = name.partition("/")
    if kind in WORDS:
        return f"{int(rest):,} flights ({kind})"
    return {"uci": rest, "susy": "SUSY", "susy-10k": "SUSY, a subset"}.get(kind, name)


def _note(name: str, records: list[Record]) -> str:
    done = [r for r in records if r["status"] == "done"]
    if not done:
        return ""
    rows = done[0]["rows"]
    note = f"{done[0]['source']}; {rows[0]:,} rows to learn from, {rows[1]:,} to test."
    if name.startswith("flights/"):
        note += " The paper's columns are for the flights of 2008."
    if name.startswith("susy-10k"):
        note += " The paper's columns are for all five million rows."
    return note


def _remarks(runs: list[Record]) -> list[str]:
    """What a reader must know: what failed, and what was cut short."""
    remarks = []
    for status in ("failed", "timeout", "missing", "unsuited"):
        failed = [r for r in runs if r["status"] == status]
        if failed:
            several = f" ({len(failed)} splits)" if len(failed) > 1 else ""
            error = failed[-1]["error"]
            told = status in ("missing", "unsuited")  # the same for all splits
            remarks.append(error if told else f"{status}: {error}{several}")
    facts: dict[str, Any] = next((r["facts"] for r in reversed(runs) if "facts" in r), {})
    if "hyperparameters from rows" in facts:
        remarks.append(f"hyperparameters from {facts['hyperparameters from rows']:,} rows")
    if "cut short" in facts:
        remarks.append(f"cut short: {facts['cut short']}")
    if "seconds, extrapolated" in facts:
        remarks.append(f"all would take {facts['seconds, extrapolated']:,.0f} s, extrapolated")
    return remarks


def _one_of(done: list[Record], fact: str) -> str:
    values = {r["facts"].get(fact) for r in done} - {None}
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _spread(values: list[float], digits: int) -> str:
    if not values:
        return "–"
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values):.{digits}f}"


def _printed(theirs: published.Printed | None, digits: int) -> str:
    return "" if theirs is None else f"{theirs[0]:.{digits}f} ± {theirs[1]:.{digits}f}"


def _beside(values, theirs, digits) -> list[str]:
    if theirs is None:
        return ["", ""]
    difference = f"{np.mean(values) - theirs[0]:+.{digits}f}" if values else ""
    return [_printed(theirs, min(digits, 3)), difference]


def standing(records: list[Record]) -> list[Table]:
    """On the UCI data: is our best at or below the others? Are the paper's columns met again?"""
    means = _means(records)
    ours = {data: own for (data, method), own in means.items() if method == "vish"}
    numbers = [(data, score) for data in ours for score in ("mse", "nlpd")]
    rows = []
    for method in dict.fromkeys(method for _, method in means if method != "vish"):
        pairs = [(ours[d][s], means[d, method][s]) for d, s in numbers if (d, method) in means]
        below = sum(mine <= theirs for mine, theirs in pairs)
        rows.append([f"{method}, run here", f"{below} of {len(pairs)}"])
    goals = [(ours[d][s], *published.UCI[d.removeprefix("uci/")]["vish-paper"][s])
             for d, s in numbers]  # fmt: skip
    below = sum(mine <= mean + max(std, _ALLOWED) for mine, mean, std in goals)
    rows.append(
        [f"the paper's VISH + the larger of its deviation and {_ALLOWED}",
         f"{below} of {len(goals)}"]
    )  # fmt: skip
    best = Table("Where `vish` is at or below, of MSE and NLPD", ["beside", "numbers"], rows)
    again = []
    for method in ("vish-paper", "vish-fixed", "a-vff", "svgp", "a-gpr", "gpr"):
        column = "vish-paper" if method == "vish-fixed" else method
        near = [
            abs(own["nlpd"] - published.UCI[data.removeprefix("uci/")][column]["nlpd"][0])
            <= 2 * published.UCI[data.removeprefix("uci/")][column]["nlpd"][1]
            for (data, name), own in means.items()
            if name == method
        ]
        if near:
            again.append([method, f"{sum(near)} of {len(near)}"])
    title = "NLPD within two of the paper's standard deviations of its mean"
    reproduced = Table(title, ["method", "data sets"], again)
    return [table for table, wanted in ((best, ours), (reproduced, again)) if wanted]


def _means(records: list[Record]) -> dict[tuple[str, str], dict[str, float]]:
    """Mean scores over the splits that are done, by data and method."""
    runs: dict[tuple[str, str], list[dict]] = {}
    for record in records:
        if record["status"] == "done":
            runs.setdefault((record["data"], record["method"]), []).append(record["scores"])
    return {
        key: {name: float(np.mean([s[name] for s in scores])) for name in ("mse", "nlpd")}
        for key, scores in runs.items()
    }


# ---- how they are written


def markdown(found: list[Table], heading: str) -> str:
    lines = [f"# {heading}", ""]
    for table in found:
        lines += [f"## {table.title}", ""]
        lines += [_bars(table.headings), _bars(["---"] * len(table.headings))]
        lines += [_bars(row) for row in table.rows]
        lines += ["", table.note, ""] if table.note else [""]
    return "\n".join(lines)


def _bars(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left }
td:not(:last-child) { white-space: nowrap } th { border-bottom: 2px solid #888 }
.wide { overflow-x: auto } .note { color: #555 }
img { max-width: 100%; height: auto }
"""


def html(found: list[Table], heading: str, figures: dict[str, str] | None = None) -> str:
    """A page of its own; `figures` are file names and captions."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(heading)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(heading)}</h1>",
    ]
    for table in found:
        parts.append(f"<h2>{escape(table.title)}</h2><div class='wide'><table><thead><tr>")
        parts += [f"<th scope='col'>{escape(text)}</th>" for text in table.headings]
        parts.append("</tr></thead><tbody>")
        for row in table.rows:
            parts.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
        parts.append("</tbody></table></div>")
        if table.note:
            parts.append(f"<p class='note'>{escape(table.note)}</p>")
    for name, caption in (figures or {}).items():
        text = escape(caption)
        parts.append(f"<h2>{text}</h2><img src='{escape(name)}' alt='{text}'>")
    return "\n".join([*parts, "</body></html>\n"])
