"""Pieces of the page: JSON that cannot end its element, SVG without clashing names."""

import json

import matplotlib.pyplot as plt
import pytest

from vish.report.page import json_in_html, table
from vish.report.panel import panel
from vish.report.svg import inline


@pytest.mark.parametrize("text", ["</script>", "<!--", "&lt;", "\u2028", "]]>", '"\\'])
def test_json_cannot_end_its_element(text):
    written = json_in_html({"a": text})
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == {"a": text}


def test_tables_are_escaped():
    assert "<b>" not in table(["<b>"], [["<b>"]], set(), "<b>")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, "from the model's own polynomial"),
        ({"variance": None}, "bands are left out"),
        ({"exact": False}, "off by up to 1.2 %"),
        ({"harmonics_only": True}, "what the nearest rows add is in vish predict"),
        ({"link": {"name": "latent", "likelihood": "Ordinal", "units": False}}, "is left out"),
    ],
)
def test_what_is_not_exact_is_said(change, text):
    formula = {"link": {"name": "gaussian"}, "variance": {}, "exact": True, "variance_error": 0.012}
    formula["harmonics_only"] = False
    control = {"name": "a", "kind": "boolean", "levels": None}
    assert text in panel([control], [], [], formula | change)


def test_pictures_are_small_and_take_the_colours_of_the_page():
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], color="#0072B2")
    ax.set_xlabel('<script>alert(1)</script> id="x" #000000')
    first, second = (inline(figure, 'a "picture" <b>', name) for name in ("one", "two"))
    plt.close(figure)
    assert "<script" not in first
    assert '&lt;script&gt;alert(1)&lt;/script&gt; id="x" #000000' in first
    assert "var(--blue)" in first
    assert 'aria-label="a &quot;picture&quot; &lt;b&gt;"' in first
    assert 'id="one-' in first
    assert "one-" not in second
    assert "DejaVu" not in first
    assert len(first) < 20_000


def test_names_in_any_script_are_quiet():
    figure, ax = plt.subplots()
    ax.set_xlabel("価格")
    text = inline(figure, "価格", "p")
    plt.close(figure)
    assert "価格" in text
