"""One HTML file from its parts: nothing in it is loaded from elsewhere, or runs but our script."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib import resources
from string import Template
from typing import Any

_SCRIPTS = ("harmonics.js", "links.js", "columns.js", "panel.js")


@cache
def _file(name: str) -> str:
    return resources.files("vish.report").joinpath(name).read_text(encoding="utf-8")


def page(title: str, body: str, data: dict[str, Any]) -> str:
    """The whole file. `title` is plain text, `body` HTML."""
    script = "\n".join(_file(name) for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
    return Template(_file("template.html")).substitute(
        title=escape(title),
        policy=policy + "img-src data:; base-uri 'none'; form-action 'none'",
        style=_file("style.css"),
        body=body,
        data=json_in_html(data),
        script=script,
    )


def json_in_html(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def table(headings: list[str], rows: list[list[str]], numbers: set[int], caption: str = "") -> str:
    """A table of plain texts; columns in `numbers` go to the right."""

    def cell(kind: str, i: int, text: str) -> str:
        css = "number" if i in numbers else "text"
        scope = ' scope="col"' if kind == "th" else ""
        return f'<{kind} class="{css}"{scope}>{escape(text)}</{kind}>'

    head = "".join(cell("th", i, text) for i, text in enumerate(headings))
    lines = ["".join(cell("td", i, text) for i, text in enumerate(row)) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2>{content}</section>'


def figure(picture: str, caption: str = "") -> str:
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{picture}{text}</figure>"
