"""The page in a browser: quiet, offline, and with the numbers that Python has."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import tables
from scipy.special import ndtri

from vish.cli.bundle import load_bundle

reports = tables.reports  # a fixture
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def open_page(browser, path, width=1280, scheme="light"):
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get("about:blank")
    browser.get_log("performance")  # what was before does not count
    browser.get_log("browser")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(path.as_uri())
    # On a busy machine the driver may be back before the page has run its script.
    ready = "return Object.keys(document.getElementById('answer')?.dataset ?? {}).length > 0"
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(ready))


def answer(browser):
    """What the panel says, to the last digit."""
    said = browser.execute_script("return {...document.getElementById('answer').dataset}")
    return {key: json.loads(value.replace("NaN", "null")) for key, value in said.items()}


_SET = """
const [id, value] = arguments, box = document.getElementById(id);
box.value = value;
box.dispatchEvent(new Event("input", { bubbles: true }));
"""


def set_row(browser, columns, row):
    """Move every control to the values of a row."""
    for i, column in enumerate(columns):
        value = row[column["name"]]
        if column["kind"] == "category":
            level = None if pd.isna(value) else str(value)
            value = column["levels"].index(level)
        elif column["kind"] == "boolean":
            value = int(value)
        if isinstance(value, float) and np.isnan(value):
            script = "const b = document.getElementById(arguments[0]); if (!b.checked) b.click();"
            browser.execute_script(script, f"c{i}-gap")
        else:
            browser.execute_script(_SET, f"c{i}", str(value))


def expected(model, rows):
    """mean, low and high, or the probabilities, by Python."""
    bundle = load_bundle(str(model))
    estimator, X = (
        bundle.estimator,
        pd.DataFrame(bundle.table.read(rows).inputs, columns=bundle.estimator.feature_names_in_),
    )
    if not hasattr(estimator, "classes_"):
        mean, std = estimator.predict(X, return_std=True)
        ends = estimator.predict_quantiles(X, [0.025, 0.975])
        return np.column_stack([mean, ends]), std[:, None]
    chances = estimator.predict_proba(X)
    if len(estimator.classes_) == 2:
        mean, std = estimator.predict_latent(X, return_std=True)
        ends = mean[:, None] + ndtri([0.025, 0.975]) * std[:, None]
        link = estimator.likelihood_.conditional_mean
        return np.column_stack([chances[:, 1], link(ends)]), 1.0
    return chances, 1.0


@pytest.mark.parametrize("task", tables.TASKS)
def test_the_numbers_are_those_of_python(browser, reports, task):
    report, folder = reports
    model, path = report(task)
    open_page(browser, path)
    columns = tables.data_of(path)["columns"]
    rows = pd.read_csv(folder / "held.csv").iloc[:12]
    assert rows[tables.NASTY].isna().any(axis=None)  # gaps are tried too
    found = []
    for _, row in rows.iterrows():
        set_row(browser, columns, row)
        said = answer(browser)
        several = said["chances"] and len(said["chances"]) > 2
        found.append(said["chances"] if several else [said["mean"], said["low"], said["high"]])
    wanted, scale = expected(model, rows)
    np.testing.assert_allclose(np.array(found) / scale, wanted / scale, rtol=0, atol=1e-6)
    assert not browser.get_log("browser")


@pytest.mark.parametrize("task", ["regression", "two", "three", "count"])
def test_the_page_is_quiet_and_stays_at_home(browser, reports, task):
    _, path = reports[0](task)
    open_page(browser, path)
    assert not browser.get_log("browser")
    asked = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        for message in [json.loads(entry["message"])["message"]]
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert {url for url in asked if not url.startswith("data:")} == {path.as_uri()}
    count = "return document.querySelectorAll(arguments[0]).length"
    assert browser.execute_script(count, "script") == 2
    assert browser.execute_script(count, "img, iframe, b") == 0
    assert tables.SCRIPT in browser.find_element("id", "what-if").text


def test_keys_move_the_band(browser, reports):
    from selenium.webdriver.common.keys import Keys

    _, path = reports[0]("regression")
    open_page(browser, path)
    before, curve = answer(browser), _curve(browser)
    active = browser.switch_to.active_element
    for _ in range(40):
        active.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        if active.get_attribute("type") == "range":
            break
    assert active.accessible_name
    for _ in range(20):
        active.send_keys(Keys.ARROW_RIGHT)
    after = answer(browser)
    assert all(after[key] != before[key] for key in ("mean", "low", "high"))
    assert after["low"] < after["mean"] < after["high"]
    shown = browser.find_element("css selector", "#answer .band").text
    assert shown.startswith("95 % band of new observations: ")
    browser.find_element("id", "reset").send_keys(Keys.ENTER)
    assert answer(browser) == before
    along = browser.find_element("id", "along")
    along.send_keys(Keys.ARROW_DOWN)
    assert _curve(browser) != curve


def _curve(browser):
    wait = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    browser.execute_async_script(wait)
    return browser.execute_script("return document.getElementById('curve').innerHTML")


def test_a_value_outside_is_marked(browser, reports):
    _, path = reports[0]("regression")
    open_page(browser, path)
    columns = tables.data_of(path)["columns"]
    place = [column["name"] for column in columns].index(tables.SCRIPT)
    browser.execute_script(_SET, f"c{place}", "10000")
    text = browser.find_element("id", f"c{place}-outside").text
    assert text.startswith("outside what the model has seen")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_screen(browser, reports, width, scheme):
    for task in ("regression", "three"):
        _, path = reports[0](task)
        open_page(browser, path, width, scheme)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
        ink, paper = browser.execute_script(
            "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
        )
        lightness = [np.mean([int(v) for v in c[4:-1].split(",")]) for c in (ink, paper)]
        assert (lightness[0] > lightness[1]) == (scheme == "dark")
