"""The what-if panel as HTML: a labelled control for each column, and a place for the answer."""

from html import escape
from typing import Any

_SHOWN = 10  # controls in sight; the others fold away


def panel(
    controls: list[dict[str, Any]], order: list[str], classes: list[str], formula: dict[str, Any]
) -> str:
    """The panel, controls in the order of their columns' effects."""
    places = {control["name"]: i for i, control in enumerate(controls)}
    ranked = [places[name] for name in order if name in places]
    ranked += [i for i in range(len(controls)) if i not in ranked]
    parts = [_control(i, controls[i]) for i in ranked]
    more = ""
    if len(parts) > _SHOWN:
        more = (
            f'<details class="more"><summary>{len(parts) - _SHOWN} more columns</summary>'
            f'<div class="controls">{"".join(parts[_SHOWN:])}</div></details>'
        )
    options = "".join(f'<option value="{i}">{escape(controls[i]["name"])}</option>' for i in ranked)
    return f"""<div class="panel">
<div class="controls" role="group" aria-label="Values of the columns">
{"".join(parts[:_SHOWN])}{more}
<div><button type="button" id="reset">Back to the middle of the data</button></div>
</div>
<div class="answer">
<div id="answer" aria-live="polite"><div class="value">–</div><div class="band"></div>
{_bars(classes)}<div class="unlike"></div></div>
<svg id="curve" viewBox="0 0 560 270" role="img"></svg>
<div class="along"><label for="along">Curve along</label><select id="along">{options}</select></div>
</div>
</div>
<p class="quiet">{_said(formula)}</p>"""


def _said(formula: dict[str, Any]) -> str:
    """How the numbers of the panel are made, and where they are not exact."""
    texts = ["The page computes this itself, from the model's own polynomial."]
    link = formula["link"]
    if formula["harmonics_only"]:
        texts.append(
            "That has the harmonics only: what the nearest rows add is in vish predict, and in "
            "the scores of this page."
        )
    if link["name"] == "latent":
        units = "" if link["units"] else ", on the scale on which the model adds"
        texts.append(
            f"Shown is the function itself{units}, with its own band: how observations spread "
            f"around it ({escape(link['likelihood'])}) is left out; "
            "vish predict --quantiles has it."
        )
    if formula["variance"] is None:
        texts.append("The covariance is too large for a page: bands are left out.")
    elif not formula["exact"]:
        texts.append(
            "The covariance is too large for a page, so its largest directions stand for it: "
            f"variances here are off by up to {100 * formula['variance_error']:.2g} %."
        )
    return " ".join(texts)


def _bars(classes: list[str]) -> str:
    if len(classes) <= 2:
        return ""
    tones = ("blue", "orange", "green", "purple", "vermillion", "sky", "ink")
    rows = "".join(
        f'<div style="--tone: var(--{tones[k % 7]})"><span title="{escape(name)}">{escape(name)}'
        "</span><i></i><output></output></div>"
        for k, name in enumerate(classes)
    )
    return f'<div class="classes">{rows}</div>'


def _control(i: int, control: dict[str, Any]) -> str:
    name = escape(control["name"])
    label = f'<label for="c{i}">{name}</label>'
    if control["kind"] in ("category", "boolean"):
        return f'<div class="control">{label}<select id="c{i}">{_options(control)}</select></div>'
    kinds = {"time": "time", "number": "number"}
    days = control["kind"] == "date" and control["step"] % 86_400 == 0
    kind = kinds.get(control["kind"], "date" if days else "datetime-local")
    ends = f'min="{control["low"]!r}" max="{control["high"]!r}" step="{control["step"]!r}"'
    gap = ""
    if control["indicator"]:
        gap = f'<label class="gap"><input type="checkbox" id="c{i}-gap"> missing</label>'
    wide = {"datetime-local": " wide", "date": " dated"}.get(kind, "")
    return (
        f'<div class="control{wide}">{label}'
        f'<input type="range" id="c{i}-slider" aria-label="{name}, slider" {ends}>'
        f'<input type="{kind}" id="c{i}" step="any">{gap}'
        f'<span class="outside" id="c{i}-outside" role="status"></span></div>'
    )


def _options(control: dict[str, Any]) -> str:
    if control["kind"] == "boolean":
        names, values = ["false", "true", "(missing)"], ["0", "1", ""]
    else:
        known = ["(missing)" if level is None else str(level) for level in control["levels"]]
        names = [*known, "(never seen)"]
        values = [str(k) for k in range(len(names))]
    return "".join(
        f'<option value="{v}">{escape(n)}</option>' for n, v in zip(names, values, strict=True)
    )
