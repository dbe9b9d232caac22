"""Bad input: one line that says what and what to do, exit code 2, nothing half-written."""

import os

import houses
import numpy as np
import pandas as pd
import pytest

import vish
from vish.cli import run

folder = houses.folder  # a fixture


@pytest.fixture(scope="module")
def place(folder, tmp_path_factory):
    """A folder with everything that can be wrong."""
    place = tmp_path_factory.mktemp("bad")
    train = pd.read_csv(folder / "train.csv")
    (place / "empty.csv").write_bytes(b"")
    (place / "blank.csv").write_text("\n\n")
    (place / "header.csv").write_text(",".join(train) + "\n")
    (place / "ragged.csv").write_text("a,y\n1,2\n3,4,5,6\n")
    (place / "binary.csv").write_bytes(b"a,y\n" + bytes(range(256)) * 4)
    (place / "latin.csv").write_bytes("größe,y\n1,2\n".encode("latin-1"))
    (place / "odd.xyz").write_text("a,y\n1,2\n")
    (place / "broken.parquet").write_bytes(b"PAR1 and no more")
    (place / "text.parquet").write_text("a,y\n1,2\n")
    (place / "cut.gz").write_bytes(b"\x1f\x8b")
    (place / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (place / "nothing").mkdir()
    (place / "mixed").mkdir()
    train.to_csv(place / "mixed" / "a.csv", index=False)
    train.to_parquet(place / "mixed" / "b.parquet")
    (place / "unlike").mkdir()
    train.to_csv(place / "unlike" / "a.csv", index=False)
    train.drop(columns="area").to_csv(place / "unlike" / "b.csv", index=False)
    train.drop(columns="area").to_csv(place / "lacks.csv", index=False)
    train.assign(area="big").to_csv(place / "text.csv", index=False)
    train.assign(price=np.nan).to_csv(place / "untold.csv", index=False)
    train.assign(price="much").to_csv(place / "much.csv", index=False)
    train.assign(dear="perhaps").to_csv(place / "perhaps.csv", index=False)
    train.assign(visits=-1).to_csv(place / "negative.csv", index=False)
    train.assign(w=-1.0, zero=0.0).to_csv(place / "weights.csv", index=False)
    train[["price", "constant"]].to_csv(place / "constant.csv", index=False)
    train[["price"]].to_csv(place / "lonely.csv", index=False)
    good = (folder / "price.vish").read_bytes()
    (place / "cut.vish").write_bytes(good[:-100])
    (place / "changed.vish").write_bytes(good[:-5] + b"12345")
    (place / "text.vish").write_text("not a model")
    (place / "empty.vish").write_bytes(b"")
    rng = np.random.default_rng(0)
    unnamed = vish.VISHRegressor(degree=1).fit(rng.normal(size=(30, 2)), rng.normal(size=30))
    unnamed.save(place / "unnamed.vish")
    (place / "secret.csv").write_text("a,y\n1,2\n")
    (place / "secret.vish").write_bytes(good)
    (place / "locked").mkdir()
    for name, mode in (("secret.csv", 0), ("secret.vish", 0), ("locked", 0o500)):
        os.chmod(place / name, mode)
    yield place
    os.chmod(place / "locked", 0o700)


AS_ROOT = os.geteuid() == 0
FIT = "fit {good}/train.csv --target price --out {out}/new.vish"
PREDICT = "predict {good}/price.vish {good}/more.csv --out {out}/new.csv"

# The command, and words of its one line.
CASES = [
    # data that cannot be read, for every command that reads
    *[
        (f"{start} {data} {end}", words)
        for start, end in [
            ("fit", "--target price --out {out}/new.vish"),
            ("predict {good}/price.vish", "--out {out}/new.csv"),
            ("evaluate {good}/price.vish", ""),
            ("update {good}/price.vish", "--out {out}/new.vish"),
            ("forget {good}/price.vish", "--out {out}/new.vish"),
        ]
        for data, words in [
            ("{bad}/missing.csv", "there is no file, folder or pattern"),
            ("{bad}/missing*.csv", "there is no file, folder or pattern"),
            ("{bad}/empty.csv", "is empty: give a table with a header and rows"),
            ("{bad}/blank.csv", "blank.csv"),
            ("{bad}/header.csv", "give at least one"),
            ("{bad}/ragged.csv", "ragged.csv"),
            ("{bad}/binary.csv", "binary.csv"),
            ("{bad}/latin.csv", "is not text in UTF-8"),
            ("{bad}/odd.xyz", "is of an unknown kind: give CSV"),
            ("{bad}/broken.parquet", "is not a readable Parquet file"),
            ("{bad}/text.parquet", "is not a readable Parquet file"),
            ("{bad}/cut.csv.gz", "is not a readable CSV file"),
            ("{bad}/nothing", "is a folder without data files"),
            ("{bad}/mixed", "are of different formats"),
            ("{bad}/unlike", "differ in column 'area'"),
            ("{good}/price.vish", "is a vish model, not a table"),
            ("/dev/null", "is not a regular file"),
            ("{bad}/secret.csv", "no permission to read"),
        ]
    ],
    # models that cannot be read, for every command that reads one
    *[
        (f"{start} {model} {end}", words)
        for start, end in [
            ("predict", "{good}/more.csv --out {out}/new.csv"),
            ("evaluate", "{good}/more.csv"),
            ("update", "{good}/more.csv --out {out}/new.vish"),
            ("forget", "{good}/more.csv --out {out}/new.vish"),
            ("merge {good}/price.vish", "--out {out}/new.vish"),
            ("inspect", ""),
        ]
        for model, words in [
            ("{bad}/missing.vish", "there is no model file"),
            ("{bad}/text.vish", "not a vish model"),
            ("{bad}/empty.vish", "is empty"),
            ("{bad}/cut.vish", "is incomplete"),
            ("{bad}/changed.vish", "its checksum does not match"),
            ("{bad}", "is a directory or device"),
            ("{good}/train.csv", "not a vish model"),
            ("{bad}/unnamed.vish", "saved from Python without names"),
            ("{bad}/secret.vish", "no permission to read"),
        ]
    ],
    # places that cannot be written
    *[
        (f"{command} --out {out}", words)
        for command in [
            FIT.rpartition(" --out")[0],
            "update {good}/price.vish {good}/more.csv",
            "forget {good}/price.vish {good}/more.csv",
            "merge {good}/price.vish {good}/price.vish",
            PREDICT.rpartition(" --out")[0],
        ]
        for out, words in [
            ("{out}/missing/new.csv", "there is no folder"),
            ("{bad}/locked/new.csv", "no permission to write"),
        ]
    ],
    (FIT.replace("{out}/new.vish", "{out}"), "is a folder: give the name of a file"),
    (PREDICT.replace("new.csv", "new.xls"), "end it with one of .csv, .parquet, .feather"),
    # fit
    ("fit {good}/train.csv --out {out}/new.vish", "name the column to predict with --target"),
    ("fit {good}/train.csv --target price", "Missing option '--out'"),
    ("fit --target price --out {out}/new.vish", "Missing argument"),
    (FIT.replace("price", "prize"), "has no column 'prize' (--target): it has id, area"),
    (f"{FIT} --features area,bath", "has no column 'bath' (--features)"),
    (f"{FIT} --features area,price", "column 'price' is the target"),
    (f"{FIT} --features area,,rooms", "holds an empty name"),
    (f"{FIT} --weight bath", "has no column 'bath' (--weight)"),
    (f"{FIT} --task clustering", "--task is 'clustering': choose auto, regression"),
    (f"{FIT} --task classification", "holds 300 classes of at most 100"),
    (f"{FIT} --degree high", "--degree is 'high'"),
    (f"{FIT} --degree -1", "--degree is '-1'"),
    (f"{FIT} --degree 90", "do not fit in memory: the largest degree that fits"),
    (f"{FIT} --rank 0", "--rank is '0'"),
    (f"{FIT} --rank 50 --features area,rooms", "inputs vary: give at most"),
    (f"{FIT} --kernel cubic", "no kernel 'cubic': choose one of matern12"),
    (f"{FIT} --likelihood cauchy", "no likelihood 'cauchy': choose one of gaussian"),
    (f"{FIT} --likelihood poisson --task regression", "is for count, the task is regression"),
    (f"{FIT} --max-features 1", "--max-features"),
    (f"{FIT} --tail long", "--tail is 'long': for regression choose one of truncated, variational"),
    (f"{FIT} --tail neighbors --likelihood radial", "noise of the likelihood 'radial'"),
    (f"{FIT} --tail neighbors --likelihood poisson", "which needs a target that is observed"),
    ("fit {good}/train.csv --target dear --tail auto --out {out}/new.vish",
     "--tail is 'auto': for classification choose one of truncated, variational"),
    (f"{FIT} --jobs 0", "--jobs"),
    (f"{FIT} --cyclic area", "give column=period, such as month=12"),
    (f"{FIT} --cyclic bath=12", "no column 'bath', declared as cyclic"),
    (f"{FIT} --cyclic style=12", "'style' is declared as cyclic but holds no numbers"),
    (f"{FIT} --colour red", "No such option"),
    (f"{FIT} --like {{bad}}/missing.vish", "there is no model file"),
    (f"{FIT} --like {{good}}/dear.vish", "only models of the Gaussian family"),
    ("fit {good}/train.csv --target dear --task regression --out {out}/new.vish",
     "column 'dear' holds text, not numbers"),
    ("fit {good}/train.csv --target dear --task count --out {out}/new.vish",
     "column 'dear' holds text, not numbers"),
    ("fit {good}/train.csv --target constant --task classification --out {out}/new.vish",
     "holds one class only"),
    ("fit {bad}/negative.csv --target visits --task count --out {out}/new.vish",
     "column 'visits' holds -1, not a count"),
    ("fit {bad}/untold.csv --target price --out {out}/new.vish", "column 'price' is empty"),
    ("fit {bad}/constant.csv --target price --out {out}/new.vish",
     "no column is left as an input"),
    ("fit {bad}/lonely.csv --target price --out {out}/new.vish",
     "has no columns besides the target"),
    ("fit {bad}/weights.csv --target price --weight w --out {out}/new.vish",
     "column 'w' is no column of weights"),
    ("fit {bad}/weights.csv --target price --weight zero --out {out}/new.vish",
     "column 'zero' is 0 in every row"),
    ("fit {good}/train.csv --target price --likelihood beta --features area --out {out}/new.vish",
     "numbers above 0 and below 1"),
    # predict
    ("predict {good}/price.vish {bad}/lacks.csv --out {out}/new.csv",
     "has no column 'area' (the model was fitted with it)"),
    ("predict {good}/price.vish {bad}/text.csv --out {out}/new.csv",
     "column 'area' holds 'big', not a number"),
    (f"{PREDICT} --quantiles 0.5,2", "--quantiles holds 2"),
    (f"{PREDICT} --quantiles half", "--quantiles is 'half'"),
    (f"{PREDICT} --keep bath", "has no column 'bath' (--keep)"),
    ("predict {good}/dear.vish {good}/more.csv --std --out {out}/new.csv",
     "predicts classes, with their probabilities"),
    ("predict {good}/price.vish {good}/more.csv", "Missing option '--out'"),
    ("predict {good}/price.vish {good}/more.csv --out - --json", "both want standard output"),
    # evaluate
    ("evaluate {good}/price.vish {good}/more.csv --target prize", "has no column 'prize'"),
    ("evaluate {good}/price.vish {good}/more.csv --target town", "holds text, not numbers"),
    ("evaluate {good}/price.vish {bad}/much.csv", "column 'price' holds text, not numbers"),
    ("evaluate {good}/price.vish {bad}/untold.csv", "has no rows with a target"),
    ("evaluate {good}/dear.vish {bad}/perhaps.csv", "holds the class 'perhaps'"),
    ("evaluate {good}/visits.vish {bad}/negative.csv", "holds -1, not a count"),
    # update, forget, merge
    ("update {good}/dear.vish {bad}/perhaps.csv --out {out}/new.vish", "not one of the classes"),
    ("update {good}/visits.vish {bad}/negative.csv --out {out}/new.vish", "not a count"),
    ("update {good}/price.vish {bad}/untold.csv --out {out}/new.vish", "no rows with a target"),
    ("forget {good}/dear.vish {good}/train.csv --out {out}/new.vish", "is a classifier"),
    ("forget {good}/visits.vish {good}/train.csv --out {out}/new.vish", "Gaussian family only"),
    ("forget {good}/price.vish {good}/train.csv {good}/more.csv --out {out}/new.vish",
     "cannot forget 360 rows"),
    ("merge {good}/price.vish --out {out}/new.vish", "give two or more"),
    ("merge {good}/price.vish {good}/dear.vish --out {out}/new.vish", "is a classifier"),
    ("merge {good}/visits.vish {good}/visits.vish --out {out}/new.vish", "the likelihood Poisson"),
    ("merge {good}/price.vish {good}/local.vish --out {out}/new.vish", "vish fit --like"),
    ("forget {good}/local.vish {good}/more.csv --out {out}/new.vish", "were not seen"),
    ("merge {good}/price.vish {good}/other.vish --out {out}/new.vish", "vish fit --like"),
    # the rest
    ("demo --rows 3", "--rows is 3: give 1,000"),
    ("bench nothing", "no benchmark 'nothing'"),
    ("inspect", "Missing argument"),
    ("fitt", "No such command 'fitt'"),
    ("--wrong", "No such option"),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def another_model(folder):
    arguments = ["--target", "price", "--features", "area,rooms", "--degree", "1", "--quiet"]
    for name, options in (("other", []), ("local", ["--tail", "neighbors"])):
        out = ["--out", str(folder / f"{name}.vish")]
        assert run(["fit", str(folder / "train.csv"), *arguments, *options, *out]) == 0


@pytest.mark.parametrize(("line", "words"), CASES, ids=[case[0] for case in CASES])
def test_bad_input_is_one_line(folder, place, tmp_path, capfd, line, words):
    if AS_ROOT and "permission" in words:
        pytest.skip("root may read and write everything")
    (tmp_path / "new.csv").write_text("old")
    (tmp_path / "new.vish").write_text("old")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments = [part.format(good=folder, bad=place, out=tmp_path) for part in line.split()]
    capfd.readouterr()
    code = run(arguments if "--json" in arguments or "fitt" in line else [*arguments, "--quiet"])
    captured = capfd.readouterr()
    assert code == 2, captured.err
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("vish: ")
    assert words in lines[0]
    assert "Traceback" not in captured.out
    # Nothing was written, and nothing that was there has changed.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "new.vish"]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"old"}
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_errors_for_machines(capsys):
    assert run(["inspect", "missing.vish", "--json"]) == 2
    captured = capsys.readouterr()
    assert '"exit_code": 2' in captured.out
    assert "there is no model file missing.vish" in captured.out


def test_a_defect_is_one_line_too(monkeypatch, capsys):
    from vish.cli import inspecting

    def broken(path):
        raise RuntimeError("bang")

    monkeypatch.setattr(inspecting, "inspect", broken)
    assert run(["inspect", "x"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("vish: defect: RuntimeError: bang")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_other_ends(monkeypatch, capsys, error):
    from vish.cli import inspecting

    def ends(path):
        raise error

    monkeypatch.setattr(inspecting, "inspect", ends)
    assert run(["inspect", "x"]) == (130 if error is KeyboardInterrupt else 1)
    assert len(capsys.readouterr().err.splitlines()) == 1
