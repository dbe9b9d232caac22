"""A built wheel installs into an empty environment and works there."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Parts that belong to an extra; the rest must load with the dependencies alone.
IN_EXTRAS = ("cli", "demo", "paper", "plots", "report")

USE = f"""
import importlib, pkgutil, sys
import vish
assert vish.__file__.startswith(sys.prefix), vish.__file__
for module in pkgutil.walk_packages(vish.__path__, "vish."):
    if module.name.split(".")[1] not in {IN_EXTRAS}:
        importlib.import_module(module.name)

import numpy as np
from vish.sphere import HarmonicBasis
directions = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
values = HarmonicBasis(3, 2).evaluate(directions)
assert values.shape == (2, 9)
np.testing.assert_allclose((values**2).sum(axis=1), 9, rtol=1e-13)
print(vish.__version__)
"""


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", str(folder), str(ROOT))
    (path,) = folder.glob("vish-*.whl")
    return path


@pytest.mark.xdist_group("install")
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"vish"}
    assert "vish/py.typed" in names
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert source == {name for name in names if name.endswith(".py")}
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.xdist_group("install")
def test_the_wheel_works_in_an_empty_environment(wheel, tmp_path):
    environment = tmp_path / "empty"
    run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    python = str(environment / "bin" / "python")
    # The pip of this environment installs into the other: a quicker start than its own.
    # Unused bytecode is not compiled, and an install that nobody keeps needs no warnings.
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-compile", str(wheel))
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    printed = run(python, "-c", USE, cwd=tmp_path, env=clean)
    assert printed.strip() == wheel.name.split("-")[1]
