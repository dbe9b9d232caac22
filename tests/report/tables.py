"""Models of every task with columns of every kind, and the reports on them, made once."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from vish.cli import run

SCRIPT = "<script>alert(1)</script>"
# Names that would break out of HTML, attributes, JSON in a script, SVG, or Matplotlib's text.
NASTY = [SCRIPT, '"><img src=x onerror=alert(2)>', "</script><b>&amp;", "$x^{$ 'q' \\"]

TASKS = {
    "regression": ("price", []),
    "odd": ("price", ["--kernel", "odd"]),
    "warped": ("price", ["--likelihood", "warped"]),
    "radial": ("price", ["--likelihood", "radial"]),
    "robust": ("price", ["--likelihood", "student-t"]),
    "laplace": ("price", ["--likelihood", "laplace"]),
    "gamma": ("price", ["--likelihood", "gamma"]),
    "beta": ("share", ["--likelihood", "beta"]),
    "uneven": ("price", ["--likelihood", "heteroscedastic"]),
    "two": ("dear", []),
    "probit": ("dear", ["--likelihood", "probit"]),
    "three": ("band", []),
    "count": ("visits", ["--task", "count"]),
    "spread": ("visits", ["--task", "count", "--likelihood", "negative-binomial"]),
}


def flats(n, seed=0):
    """Numbers, truths, categories with nasty names and levels, dates and times, with gaps."""
    rng = np.random.default_rng(seed)
    number, angle, code, truth = NASTY
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D")
    table = pd.DataFrame(
        {
            number: rng.normal(100, 20, n).round(1),
            angle: rng.integers(1, 8, n).astype(float),
            code: rng.choice(["<b>old</b>", "new", "</script>"], n),
            truth: rng.random(n) < 0.5,
            "street": rng.choice([f"s{i}" for i in range(30)], n),
            "sold": day.strftime("%Y-%m-%d"),
            "hour": [f"{h:02d}:{m:02d}" for h, m in rng.integers(0, [24, 60], (n, 2))],
        }
    )
    f = table[number] * 2 + 30 * table[truth] + 10 * np.sin(table[angle])
    table["price"] = f + rng.normal(0, 10, n)
    table["share"] = 1 / (1 + np.exp(3 - table["price"] / 80))
    table["dear"] = np.where(f + rng.normal(0, 30, n) > 215, "yes", "no")
    table["band"] = np.array(["low", "middle", "high"])[
        np.digitize(f + rng.normal(0, 20, n), [190, 230])
    ]
    table["visits"] = rng.poisson(np.exp(f / 160))
    table.loc[rng.random(n) < 0.1, angle] = np.nan
    table.loc[rng.random(n) < 0.1, code] = None
    return table


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """task -> path of its report, made when first asked; and the table it is about."""
    folder = tmp_path_factory.mktemp("report")
    flats(300).to_csv(folder / "train.csv", index=False)
    flats(150, seed=1).to_csv(folder / "held.csv", index=False)
    made = {}
    inputs = ",".join([*NASTY, "street", "sold", "hour"])

    def report(task):
        if task not in made:
            target, options = TASKS[task]
            model, page = folder / f"{task}.vish", folder / f"{task}.html"
            fit = ["fit", folder / "train.csv", "--target", target, "--out", model, "--quiet"]
            degree = {"regression": "2", "two": "2", "three": "2", "odd": "3"}.get(task, "1")
            shape = ["--features", inputs, "--degree", degree, "--rank", "none"]
            assert run([str(a) for a in [*fit, *shape, *options]]) == 0
            assert (
                run(["report", str(model), str(folder / "held.csv"), "--out", str(page), "-q"]) == 0
            )
            made[task] = model, page
        return made[task]

    return report, folder


def data_of(page):
    """What the page knows of the model."""
    text = page.read_text()
    found = re.search(r'<script type="application/json" id="model">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])
