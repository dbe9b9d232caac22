"""The package as a whole: imports point one way, and load late; one version."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import vish

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "vish"
FILES = sorted(SOURCE.rglob("*.py"))

# A module may import from layers above it in this list and from its own part, which is
# the first name after `vish.`; parts that share a line do not know each other.
LAYERS = [
    {"sphere"},
    {"kernels"},
    {"neighbors"},
    {"likelihoods"},
    {"inference", "metrics"},
    {"data"},
    {"modelfile"},
    {"estimators"},
    {"plots"},
    {"report", "paper", "demo"},
    {"cli"},
    {"__main__"},
]
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# Loaded by the function that uses them, never at the top of a module.
HEAVY = {"dask", "distributed", "matplotlib", "pandas", "pyarrow"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


def imports(path: Path) -> Iterator[str]:
    """Absolute names of all that a file imports, at the top or inside a function."""
    package = module_name(path).split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*origin, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from vish import X` counts as an import from the place X lives in.
                home = vish._HOMES.get(alias.name) if base == "vish" else None
                yield home or f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant))


def top_level_imports(path: Path) -> Iterator[str]:
    """Names of the packages that are loaded when the file is."""

    def visit(body: list[ast.stmt]) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield node.module.split(".")[0]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from visit(node.orelse)
            else:
                for block in ("body", "orelse", "finalbody", "handlers"):
                    for child in getattr(node, block, []):
                        nested = isinstance(child, ast.ExceptHandler)
                        yield from visit(child.body if nested else [child])

    return visit(ast.parse(path.read_text()).body)


def wrong_imports(path: Path) -> list[str]:
    part = module_name(path).split(".")[1]
    wrong = []
    for name in imports(path):
        package, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if package != "vish" or target in {part, "__version__"}:
            continue
        if target not in RANK:
            wrong.append(f"{name} (import the module itself, by a name of LAYERS)")
        elif RANK[target] >= RANK[part]:
            wrong.append(f"{name} ({part} comes before {target})")
    return wrong


def test_every_part_has_a_layer():
    parts = {module_name(path).split(".")[1] for path in FILES} - {"__init__"}
    assert parts <= RANK.keys(), f"give {sorted(parts - RANK.keys())} a line in LAYERS"


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.parent != SOURCE or f.stem in RANK], ids=module_name
)
def test_imports_point_one_way(path):
    assert not wrong_imports(path)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_heavy_packages_are_imported_where_they_are_used(path):
    assert not HEAVY & set(top_level_imports(path))


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("from vish.sphere import HarmonicBasis", False),
        ("from ..sphere.harmonics import HarmonicBasis", False),
        ("from .matern import Matern", False),
        ("import numpy as np", False),
        ("from vish.estimators import transformer", True),
        ("from vish import SphericalHarmonics", True),
        ("from ..inference import statistics", True),
        ("def f():\n    from vish.estimators.transformer import SphericalHarmonics", True),
        ("import_module('vish.cli')", True),
        ("import vish", True),
    ],
)
def test_the_rule_sees_every_form_of_import(tmp_path, monkeypatch, line, is_wrong):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path / "vish")
    path = tmp_path / "vish" / "kernels" / "sums.py"
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert bool(wrong_imports(path)) == is_wrong


def run_python(code: str) -> str:
    """Standard output of a fresh interpreter that runs the code."""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_is_quick():
    code = """
import time
import numpy
start = time.perf_counter()
import vish
print(time.perf_counter() - start)
"""
    # The best of a few runs is what the import costs; the rest is the machine's noise.
    assert min(float(run_python(code)) for _ in range(3)) < 0.3


def test_a_bare_import_loads_nothing_heavy():
    loaded = set(run_python("import sys, vish; print(*sys.modules)").split())
    assert not loaded & (HEAVY | {"numba", "numpy", "scipy", "sklearn", "rich"})


def test_no_module_loads_a_heavy_package():
    code = """
import importlib, pkgutil, sys, vish
for module in pkgutil.walk_packages(vish.__path__, "vish."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sys.modules)
"""
    loaded = set(run_python(code).split())
    assert "vish.sphere" in loaded
    # scikit-learn itself loads pandas where it is installed: that is not our doing.
    dependencies = "import sys, numba, rich, safetensors, scipy, sklearn.base"
    theirs = set(run_python(f"{dependencies}; print(*sys.modules)").split())
    assert (loaded - theirs).isdisjoint(HEAVY)


def test_public_names_resolve():
    for name in vish.__all__:
        assert getattr(vish, name) is not None
    assert set(vish.__all__) <= set(dir(vish))


def test_every_lazy_name_is_public():
    assert {*vish._HOMES, *vish._MODULES, "__version__"} == set(vish.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vish' has no attribute 'sphre'"):
        _ = vish.sphre


def test_the_code_in_the_readme_runs(capsys, monkeypatch, tmp_path):
    import matplotlib.pyplot as plt

    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len([line for line in blocks[0].splitlines() if line]) == 5
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)  # they write files
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert capsys.readouterr().out.startswith("[")
    assert names["both"].n_rows_seen_ == 2500
    plt.close("all")


def test_the_version_has_one_home():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert vish.__version__ == written
    assert f"\nversion: {written}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest
    assert newest[1] == written


def test_test_files_have_names_of_their_own():
    """Two of one name, in folders that are no packages, pytest takes for the same module."""
    names = [path.name for path in ROOT.glob("tests/**/test_*.py")]
    assert len(names) == len(set(names))


def test_type_checkers_are_told_that_there_are_types():
    assert (SOURCE / "py.typed").exists()
