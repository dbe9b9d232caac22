"""Pictures as SVG inside a page: small, without clashing names, in the colours of the page."""

import io
import re
import warnings
import xml.etree.ElementTree as ET
from typing import Any

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# Colours of vish.plots.style become variables, which style.css sets for light and for dark.
_COLOURS = {
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    "#6e6e6e": "var(--muted)",
    "#e4e4e4": "var(--rule)",
    "#0072b2": "var(--blue)",
    "#e69f00": "var(--orange)",
    "#009e73": "var(--green)",
    "#d55e00": "var(--vermillion)",
    "#56b4e9": "var(--sky)",
    "#cc79a7": "var(--purple)",
}
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inline(figure: Any, label: str, prefix: str) -> str:
    """A figure as an SVG element that scales with its place; `label` is read aloud."""
    import matplotlib

    buffer = io.StringIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": prefix}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the page's fonts have them
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return cleaned(buffer.getvalue(), label, prefix)


def cleaned(text: str, label: str, prefix: str) -> str:
    """SVG of Matplotlib without what a page does not need."""
    root = ET.fromstring(text)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}title"):
                parent.remove(child)
    for element in root.iter():
        _tidy(element, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": label, "class": "picture"}
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _LINK)
    return ET.tostring(root, encoding="unicode")


def _tidy(element: ET.Element, prefix: str) -> None:
    attributes = element.attrib
    for name, value in list(attributes.items()):
        if name == "id":
            attributes[name] = f"{prefix}-{value}"
        elif name == f"{{{_LINK}}}href" and value.startswith("#"):
            attributes[name] = f"#{prefix}-{value[1:]}"
        elif name == "clip-path":
            attributes[name] = value.replace("url(#", f"url(#{prefix}-")
        elif name == "style":
            attributes[name] = _styled(value)
        elif name in ("d", "x", "y", "transform", "points"):
            attributes[name] = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value)


def _styled(style: str) -> str:
    for colour, variable in _COLOURS.items():
        style = re.sub(colour, variable, style, flags=re.I)
    # The page's font, at the size that was asked for.
    style = re.sub(r"font: (?:\w+ )*?([\d.]+)px [^;]*", r"font-size: \1px", style)
    return re.sub(r"font-family: [^;]*;?", "", style)
