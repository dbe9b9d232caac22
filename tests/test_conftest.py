"""A test that needs data or a browser is skipped, or fails when VISH_REQUIRE says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = """
import pytest

def test_data(data_dir):
    assert (data_dir / "hello").exists()

@pytest.mark.browser
def test_browser():
    pass

@pytest.mark.data
def test_skips_itself():
    pytest.skip("not today")

def test_free():
    pass
"""


@pytest.fixture
def run(tmp_path):
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(Path(__file__).with_name("conftest.py"), tests)
    (tests / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  data: -\n  browser: -\n")

    def run(**variables):
        # An empty PATH hides any browser of this machine.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("VISH_", "PYTEST_"))}
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-rs",
                "-p",
                "no:cacheprovider",
                "tests",
            ],
            env={**kept, "PATH": "", **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def test_missing_things_are_skipped_with_a_remedy(run):
    result = run()
    assert result.returncode == 0, result.stdout
    assert "1 passed, 3 skipped" in result.stdout
    assert "VISH_DATA is not set" in result.stdout
    assert "apt-get install chromium chromium-driver" in result.stdout


def test_a_required_thing_may_not_be_skipped(run):
    result = run(VISH_REQUIRE="data, browser", VISH_DATA="nowhere")
    assert result.returncode == 1
    assert "1 passed, 3 errors" in result.stdout  # errors of the set-up
    assert "VISH_DATA=nowhere is not a folder" in result.stdout


def test_a_test_with_a_required_thing_may_not_skip_itself(run, tmp_path):
    (tmp_path / "hello").touch()
    result = run(VISH_REQUIRE="data", VISH_DATA=str(tmp_path))
    assert result.returncode == 1
    assert "1 failed, 2 passed, 1 skipped" in result.stdout
    assert "VISH_REQUIRE names data, but: not today" in result.stdout


def test_a_relative_folder_starts_at_the_root(run, tmp_path):
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "hello").touch()
    result = run(VISH_DATA="sets")
    assert "2 passed, 2 skipped" in result.stdout, result.stdout


def test_an_unknown_requirement_is_refused(run):
    result = run(VISH_REQUIRE="date")
    assert result.returncode == 4
    assert "VISH_REQUIRE names date; it takes data, browser" in result.stderr
