"""The documentation: its code runs, its pictures are drawn, every public name is described."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module, util
from pathlib import Path

import pytest

import vish

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

_spec = util.spec_from_file_location("run_pages", DOCS / "run_pages.py")
run_pages = util.module_from_spec(_spec)
_spec.loader.exec_module(run_pages)


def name_of(page):
    return page.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", run_pages.pages(), ids=name_of)
def test_the_code_of_a_page_runs_and_draws_what_it_shows(page, monkeypatch, tmp_path):
    monkeypatch.setattr(run_pages, "PICTURES", tmp_path)
    run_pages.run(page, keep_pictures=True)
    shown = set(re.findall(r"_pictures/([\w-]+\.png)", page.read_text()))
    assert shown == {path.name for path in tmp_path.iterdir()}


def test_a_page_that_fails_says_where(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\na = 1\n```\n\ntext\n\n```python\nb = 2\nraise OSError\n```"
    )
    with pytest.raises(OSError) as caught:  # noqa: PT011
        run_pages.run(page, keep_pictures=False)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno) == (page, 10)


def test_the_commands_of_the_quick_start_run(tmp_path):
    (script,) = re.findall(r"^```sh\n(.*?)^```", (DOCS / "quickstart.md").read_text(), re.S | re.M)
    # The command and python of this environment, whatever the PATH says.
    ours = f'python() {{ "{sys.executable}" "$@"; }}\nvish() {{ python -m vish "$@"; }}\n'
    command = ["bash", "-e", "-c", ours + script]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 101


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(script, tmp_path):
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


PARTS = ("vish", "vish.sphere", "vish.kernels", "vish.likelihoods", "vish.data", "vish.metrics",
         "vish.plots")  # fmt: skip


def public(part):
    module = import_module(part)
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: v for name, v in values.items() if inspect.isclass(v) or inspect.isfunction(v)}


@pytest.mark.parametrize("part", PARTS)
def test_every_public_name_has_an_example_and_a_place_in_the_api(part):
    listed = re.split(
        r"^\.\. currentmodule:: (.*)$", (DOCS / "api/index.rst").read_text(), flags=re.M
    )
    sections = dict(zip(listed[1::2], listed[2::2], strict=True))
    for name, value in public(part).items():
        assert ">>> " in (value.__doc__ or ""), f"{part}.{name} has no example"
        assert f"\n   {name}\n" in sections[part], f"list {name} in docs/api/index.rst"


def test_every_page_is_reachable():
    trees = "\n".join(path.read_text() for path in DOCS.rglob("index.md"))
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix("")
        if "_build" not in name.parts and page != DOCS / "index.md":
            entry = name.as_posix() if name.name == "index" else name.name
            assert re.search(rf"^{entry}$", trees, re.M), name


def test_the_documentation_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx")
    made = shutil.ignore_patterns("_build", "_pictures", "generated", "__pycache__")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=made)
    # Pictures have their own test above; here a missing one is no warning.
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    build += [
        "-D",
        "suppress_warnings=image.not_readable",
        str(tmp_path / "docs"),
        str(tmp_path / "html"),
    ]
    without = {**os.environ, "VISH_DOCS_PICTURES": "0"}
    result = subprocess.run(build, env=without, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert vish.__version__ in (tmp_path / "html" / "quickstart.html").read_text()
