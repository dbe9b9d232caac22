"""Golden model files: every version of the format stays readable and predicts the same.

``python tests/test_golden.py`` writes those of the present version; those that exist are never
written again.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from vish.cli.bundle import load_bundle
from vish.modelfile import ModelFileError, read_model

FOLDER = Path(__file__).parent / "golden"
# Rows to predict: of all kinds, with a gap and a level that was never seen.
ROWS = {
    "size": [1.0, 2.5, None, 4.0],
    "colour": ["red", "blue", "red", "green"],
    "day": ["2021-01-04", "2021-06-01", "2021-12-24", "2023-01-01"],
}


def predictions(path):
    bundle = load_bundle(str(path))
    X = bundle.table.transform(ROWS)
    bundle.estimator.__dict__.pop("feature_names_in_")
    if hasattr(bundle.estimator, "classes_"):
        return {"probabilities": bundle.estimator.predict_proba(X).tolist()}
    mean, std = bundle.estimator.predict(X, return_std=True)
    return {"mean": mean.tolist(), "std": std.tolist()}


GOLDEN = sorted(FOLDER.glob("*.vish"))


def test_there_are_golden_files():
    assert len(GOLDEN) >= 3


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_file_predicts_what_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    found = predictions(path)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-9)


def mutations(data, n, seed):
    """Copies with some bytes changed, put in, taken out, or moved."""
    rng, made = np.random.default_rng(seed), 0
    while made < n:
        changed = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            i = int(rng.integers(len(changed)))
            kind = rng.integers(4)
            if kind == 0:
                changed[i] ^= int(rng.integers(1, 256))
            elif kind == 1:
                changed[i:i] = rng.bytes(int(rng.integers(1, 9)))
            elif kind == 2:
                del changed[i : i + int(rng.integers(1, 9))]
            else:
                j = int(rng.integers(len(changed)))
                changed[i], changed[j] = changed[j], changed[i]
        if changed != data:
            made += 1
            yield bytes(changed)


def refused(path, data):
    """The text with which a file is refused; anything else is an error here."""
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    return str(caught.value)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_changed_file_is_refused(path, tmp_path):
    """A sample; `python -m benchmarks.fuzz_modelfile` tries 100,000 and every truncation."""
    data = path.read_bytes()
    for changed in mutations(data, 300, seed=len(data)):
        assert refused(tmp_path / "changed.vish", changed)
    for end in range(0, len(data), max(1, len(data) // 200)):
        assert refused(tmp_path / "cut.vish", data[:end])


def write_golden(folder):
    import csv

    from vish.cli import run

    rng = np.random.default_rng(0)
    size = rng.uniform(0, 5, 120).round(2)
    colour = rng.choice(["red", "blue", "grey"], 120)
    days = np.datetime64("2021-01-01") + rng.integers(0, 365, 120)
    y = np.sin(size) + (colour == "red") + 0.1 * rng.normal(size=120)
    table = Path(folder) / "rows.csv"
    with open(table, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "colour", "day", "y", "sign", "count"])
        counts = rng.poisson(np.exp(y))
        signs = np.where(y > 1, "up", "down")
        writer.writerows(zip(size, colour, days, y.round(3), signs, counts, strict=True))
    for name, target, task in [
        ("regression", "y", "regression"),
        ("classification", "sign", "classification"),
        ("count", "count", "count"),
    ]:
        path = FOLDER / f"v1-{name}.vish"
        if path.exists():
            continue
        options = ["--features", "size,colour,day", "--degree", "2", "--rank", "2", "--quiet"]
        arguments = ["--target", target, "--task", task, "--out", str(path)]
        assert run(["fit", str(table), *arguments, *options]) == 0
        path.with_suffix(".json").write_text(json.dumps(predictions(path), indent=1) + "\n")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        sys.exit(write_golden(folder))
