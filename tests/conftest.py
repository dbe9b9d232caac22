"""What every test shares: what may be skipped, the data sets, Hypothesis' settings.

A test marked ``data`` or ``browser`` needs something from outside the repository and is
skipped where that is missing, unless ``VISH_REQUIRE=data,browser`` says that it must be
there: then a skip of such a test, for whatever reason, is a failure.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("vish", derandomize=True, deadline=None)
settings.load_profile("vish")

ROOT = Path(__file__).resolve().parents[1]


def data_folder() -> Path | None:
    """The folder of data sets; a relative VISH_DATA starts at the repository's root."""
    named = os.environ.get("VISH_DATA")
    folder = ROOT / named if named else None
    return folder if folder and folder.is_dir() else None


def what_is_missing(need: str) -> str | None:
    """Why a test with this need cannot run, and the remedy; None when it can."""
    if need == "data" and data_folder() is None:
        found = os.environ.get("VISH_DATA")
        state = f"VISH_DATA={found} is not a folder" if found else "VISH_DATA is not set"
        return f"{state}: set it to the folder of data sets (uci/, susy/, airline/, ...)"
    if need == "browser":
        missing = [tool for tool in ("chromium", "chromedriver") if not shutil.which(tool)]
        if missing:
            return (
                f"{' and '.join(missing)} not on PATH: "
                "on Debian, apt-get install chromium chromium-driver"
            )
    return None


NEEDS = ("data", "browser")
REQUIRED = {need.strip() for need in os.environ.get("VISH_REQUIRE", "").split(",")} - {""}


def pytest_configure(config):
    unknown = REQUIRED - set(NEEDS)
    if unknown:
        raise pytest.UsageError(
            f"VISH_REQUIRE names {', '.join(sorted(unknown))}; it takes {', '.join(NEEDS)}"
        )


def pytest_collection_modifyitems(items):
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for need in NEEDS:
        if item.get_closest_marker(need) and (reason := what_is_missing(need)):
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    required = [need for need in sorted(REQUIRED) if item.get_closest_marker(need)]
    if report.skipped and required and not hasattr(report, "wasxfail"):
        reason = call.excinfo.value if call.excinfo else "skipped"
        report.outcome = "failed"
        report.longrepr = f"VISH_REQUIRE names {', '.join(required)}, but: {reason}"
    return report


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of data sets; a test that asks for it is marked ``data``."""
    folder = data_folder()
    if folder is None:
        pytest.skip(what_is_missing("data") or "")
    return folder


@pytest.fixture
def rng():
    """A generator with a fixed seed: tests are deterministic."""
    return np.random.default_rng(20200713)
