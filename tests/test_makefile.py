"""The Makefile: every target is sound, a second install is quick, remedies are named."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGETS = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.M)

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")


def make(*arguments, cwd=ROOT):
    # A make above this one (`make test`) must not pass on its flags.
    outside = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=cwd, env=outside, capture_output=True, text=True
    )


@pytest.fixture
def fresh(tmp_path):
    """A folder in which nothing has been installed."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_sound(target, fresh):
    result = make("-n", target, cwd=fresh)
    assert result.returncode == 0, result.stderr
    installs = "-e '.[all,dev]'" in result.stdout
    assert installs == (target not in ("help", "clean"))
    for command in re.findall(r"\S+ -m pip", result.stdout):
        assert command.startswith(".venv/bin/"), "no target uses the system's pip"


def test_help_names_every_target():
    assert {"install", "demo", "test", "lint", "bench", "peers"} <= set(TARGETS)
    listed = [line.split()[0] for line in make("help").stdout.splitlines()]
    assert listed == TARGETS


def test_torch_comes_first_and_alone(fresh):
    calls = [line for line in make("-n", "peers", cwd=fresh).stdout.splitlines() if "pip" in line]
    assert calls[-2].endswith(" torch==2.13.0")
    assert calls[-1].endswith(" -e '.[peers]'")


@pytest.mark.skipif(make("-q", "install").returncode != 0, reason="make install has not run")
def test_a_second_install_is_quick():
    start = time.perf_counter()
    result = make("install")
    assert result.returncode == 0, result.stderr
    assert time.perf_counter() - start < 2


def test_a_missing_python_is_named_with_its_remedy(fresh):
    result = make("test", "PYTHON=no-such-python", cwd=fresh)
    assert result.returncode != 0
    assert "no-such-python is missing: install Python 3.11 or newer" in result.stdout


@pytest.mark.parametrize(
    ("fails_on", "remedy"),
    [
        ("version_info", "is Python 3.9.2: VISH needs 3.11 or newer; try make PYTHON="),
        ("import venv", "has no venv module: on Debian, apt-get install python3-venv"),
    ],
)
def test_an_unfit_python_is_named_with_its_remedy(fresh, fails_on, remedy):
    fake = fresh / "old-python"
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in -V) echo Python 3.9.2;; *"{fails_on}"*) exit 1;; esac\n'
    )
    fake.chmod(0o755)
    result = make("install", "PYTHON=./old-python", cwd=fresh)
    assert result.returncode != 0
    assert remedy in result.stdout
    assert not (fresh / ".venv").exists()


def test_the_ci_script_parses():
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")]).returncode == 0
