"""How the documentation is built: ``make docs``."""

import sys
from pathlib import Path

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
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"VISH {version}"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def leave_out(app, what, name, member, skip, options):
    """Members that scikit-learn adds are described in its own documentation."""
    return True if str(getattr(member, "__module__", "")).startswith("sklearn") else None


def setup(app):
    # Pictures come from the code of the pages themselves.
    app.connect("builder-inited", lambda app: run_pages.draw_all())
    app.connect("autodoc-skip-member", leave_out)
