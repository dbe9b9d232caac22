"""How the documentation is built: ``make docs``."""

import os
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

sys.path.insert(0, str(Path(__file__).parent))

import run_pages

from vish import __version__

project = "VISH"
author = "The VISH developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"

myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"VISH {version}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_math_renderer = "mathml"
ALONE = ["index", "quickstart", "command", "when-not", "comparison", "theory", "paper"]
html_sidebars = {page: [] for page in ALONE}  # pages without a section beside them
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "comparison": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}


def leave_out(app, what, name, member, skip, options):
    """Members that scikit-learn adds are described in its own documentation."""
    return True if str(getattr(member, "__module__", "")).startswith("sklearn") else None


def write_inline(writer, node):
    writer.body.append(tex2mathml(node.astext()))
    raise SkipNode


def write_block(writer, node):
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div style="text-align: center; margin: 1em 0">{formula}</div>')
    raise SkipNode


def setup(app):
    # Browsers know MathML: formulas need no script, and no network.
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    # Pictures come from the code of the pages themselves.
    if os.environ.get("VISH_DOCS_PICTURES") != "0":
        app.connect("builder-inited", lambda app: run_pages.draw_all())
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True}
