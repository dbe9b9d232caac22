"""CSV: every field has its column, and every column its own name."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vish.cli import run
from vish.cli.csv_rows import csv_names, csv_pieces
from vish.cli.errors import BadInput
from vish.cli.rows import TableFiles


def write(path, text):
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ("1,2,3\n4,5,6\n7,8,9\n", 1),  # all of them
        ("1,2\n3,4,5\n6,7\n", 2),
        ("1,2\n3,4\n5,6,,\n7,8,9,10\n", 4),
        ("1,2\n3,,4\n", 2),
        ("1,2\n" * 200 + "1,2,x\n", 201),  # beyond a piece
    ],
)
def test_a_row_with_too_many_fields_is_refused(tmp_path, rows, row):
    file = write(tmp_path / "a.csv", "a,y\n" + rows)
    for columns in (["a", "y"], ["y"]):
        with pytest.raises(BadInput, match=f"row {row} below the header has more fields"):
            list(csv_pieces(file, columns, 100))


def test_separators_at_the_ends_of_rows_are_no_fields(tmp_path):
    file = write(tmp_path / "a.csv", "a,y\n1,2,\n3,4,\n")
    (piece,) = csv_pieces(file, ["y"], 100)
    assert piece.to_dict("list") == {"y": [2, 4]}


def test_rows_quotes_and_unnamed_columns_are_read_as_before(tmp_path):
    file = write(tmp_path / "a.csv", ',a,y,\n0,"1,5",2,x\n1,"b""c",?,y\n\n2,,3,\n')
    assert csv_names(file) == ["Unnamed: 0", "a", "y", "Unnamed: 3"]
    (piece,) = csv_pieces(file, ["a", "y"], 100)
    assert piece["a"].fillna("gap").tolist() == ["1,5", 'b"c', "gap"]
    assert piece["y"].fillna(-1).tolist() == [2, -1, 3]


@pytest.mark.parametrize("header", ["a,y,a", "y,a,y", "y;a;a", '"a",y, a'])
def test_two_columns_of_one_name_are_refused(tmp_path, header, capsys):
    separator = ";" if ";" in header else ","
    file = write(tmp_path / "a.csv", header + "\n" + f"1{separator}2{separator}3\n" * 30)
    with pytest.raises(BadInput, match="2 columns named"):
        TableFiles([file])
    assert run(["fit", file, "--target", "y", "--out", str(tmp_path / "m.vish")]) == 2
    assert "give each its own name" in capsys.readouterr().err
    assert not (tmp_path / "m.vish").exists()


def test_two_columns_of_one_name_are_refused_in_parquet_and_feather(tmp_path):
    table = pa.table([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["a", "y", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    with (
        pa.OSFile(str(tmp_path / "a.feather"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    for name in ("a.parquet", "a.feather"):
        with pytest.raises(BadInput, match="duplicate field names"):
            TableFiles([str(tmp_path / name)])
