"""Tables of text: what is read, and that everything else is refused in words that name its line."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.errors import FileFormatError, InputError, TypeMismatchError
from scalarviz.io import decoded, parse_csv, read_csv

PLAIN = "width,height,kind\n1.5,2,caf\u00e9\n-3e-1,4,tea\n"


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("latin-1"),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-32"),
        b",,,\n" + PLAIN.encode(),
        b";;;\n" + PLAIN.replace(",", ";").replace(".", ",").encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace(",", ";").replace(".", ",").encode(),
        PLAIN.replace(",", "\t").encode(),
        PLAIN.replace(",", "\t").replace(".", ",").encode("latin-1"),
        ("\n" + PLAIN.replace("\n", "\n\n") + ",,\n").encode(),
        PLAIN.replace("caf\u00e9", '"caf\u00e9"').encode(),
    ],
    ids=[
        "utf-8",
        "mark",
        "latin-1",
        "utf-16",
        "utf-32",
        "empty row",
        "empty row, semicolons",
        "crlf",
        "semicolons",
        "tabs",
        "tabs, decimal comma",
        "blank",
        "quoted",
    ],
)
def test_the_same_table_in_many_ways_of_writing(tmp_path, data):
    (tmp_path / "t.csv").write_bytes(data)
    table = read_csv(tmp_path / "t.csv")
    assert table.names == ("width", "height", "kind")
    np.testing.assert_array_equal(table.numbers("width"), [1.5, -0.3])
    np.testing.assert_array_equal(table.numbers("height"), [2, 4])
    assert list(table.words("kind")) == ["caf\u00e9", "tea"]
    assert len(table) == 2


@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 2, 3), (17, 4, 250)])
@pytest.mark.parametrize("form", ["{}", '"{}"'])
def test_the_numbers_of_the_rows_are_left_out(numbers, form):
    """pandas' `to_csv` writes them before the columns, without a name; after a shuffle in any order; R in quotes."""
    rows = "".join(f"{form.format(number)},{k},{k * k}\n" for k, number in enumerate(numbers))
    table = parse_csv(form.format("") + ",x,y\n" + rows)
    assert table.names == ("x", "y")
    assert table.numbers("x").tolist() == [0, 1, 2]
    assert table.numbers("y").tolist() == [0, 1, 4]
    assert table.notes == ("the first column, which numbers the rows, is left out",)
    assert parse_csv("n,x,y\n" + rows).notes == ()


def test_a_cell_may_hold_the_mark_a_quotation_or_a_line_end():
    table = parse_csv('name,n\n"a, b",1\n"say ""no""",2\n"two\nlines",3\nlast,x\n')
    assert list(table.words("name")) == ["a, b", 'say "no"', "two\nlines", "last"]
    with pytest.raises(FileFormatError, match="line 6: column 'n' says 'x', which is no number"):
        table.numbers("n")


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6)), min_size=1))
def test_what_the_standard_library_writes_is_read_to_the_bit(rows):
    out = io.StringIO()
    csv.writer(out).writerows([("a", "b"), *rows])
    table = parse_csv(out.getvalue())
    np.testing.assert_array_equal(np.column_stack([table.numbers("a"), table.numbers("b")]), np.array(rows))


@given(st.binary(max_size=400))
def test_any_bytes_are_a_table_or_refused_in_words(data):
    said = ""
    try:
        table = parse_csv(decoded(data, "it"), "it")
        for name in table.names:
            table.are_numbers(name)
            table.numbers(name)
    except FileFormatError as error:
        said = str(error)
    assert said == "" or said.startswith("it")
    assert len(said) < 400


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the table is empty; wanted a line with names of columns"),
        (" \n\n", "is empty"),
        (",,,\n,,,\n", "is empty"),
        ('""\n', "is empty"),
        ("x,y\n1_000,2\n", "line 2: column 'x' says '1_000', which is no number"),
        ("x\n1,2\n", "line 2: 2 cells, and the first line names 1 column: there is one too many"),
        ("x,y\n", "has names of columns and no rows"),
        ("1,2,a\n3,4,b\n", "has no column 'x'"),
        ("1,2\n3,4\n", "the first line is '1, 2'; names of the columns are wanted there"),
        ("x,y,x\n1,2,3\n", "two columns are called 'x'"),
        ("x,,z\n1,2,3\n", "column 2 has no name"),
        ("x,y,kind\n1,2,a\n3,b\n", "line 3: 2 cells, and the first line names 3 columns: column 'kind' is missing"),
        ("x,y\n1,2\n\n3,4,5\n", "line 4: 3 cells, and the first line names 2 columns: there is one too many"),
        ("x,y\n1,2\n,4\n", "line 3: column 'x' is empty; every row needs a number there, or leave the row out"),
        ("x,y\n1,2\n,4\n ,\n5,6\n,3\n", "line 3: column 'x' is empty, as in 1 other row; every row needs a number"),
        ("x,y\n,1\n,2\nn/a,3\n,4\n5,6\n", "line 2: column 'x' is empty, as in 2 other rows; every row"),
        (",x,y\na,1,2\nb,3,4\n", "column 1 has no name"),
        (",x,y\n0,1,2\n0,3,4\n", "column 1 has no name"),
        (",x,y\n0.5,1,2\n1.5,3,4\n", "column 1 has no name"),
        ("x,y\n1,2\nNaN,4\n", "line 3: column 'x' says 'NaN'; a finite number is wanted"),
        ("x,y\n1,2\n-inf,4\n", "line 3: column 'x' says '-inf'"),
        ("x,y\n1,2\n3.4.5,4\n", "line 3: column 'x' says '3.4.5', which is no number"),
        ('x,y\n"1,2\n3,4\n', "is a quotation mark left open?"),
        ("x,y\n" + "9" * 20_000 + ",1\n", "line 2: a cell is longer than 10,000 characters"),
        (",".join(f"c{k}" for k in range(2000)) + "\n1\n", "has 2,000 columns; allowed: 1,000"),
    ],
)
def test_broken_tables_name_the_line(text, says):
    with pytest.raises((FileFormatError, InputError)) as error:
        parse_csv(text).numbers("x")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"PK\x03\x04rest", "a workbook (.xlsx, .ods) or another zip archive; save its sheet as CSV"),
        (b"\xd0\xcf\x11\xe0", "old workbook"),
        (b"%PDF-1.7", "a PDF"),
        (b"\x1f\x8b\x08", "compressed with gzip"),
        (b"\x89PNG\r\n", "a picture"),
        (b"x,y\n1,\0\n", "holds zero bytes"),
        (b"\xff\xfex", "utf-16 and is not"),
    ],
)
def test_files_that_are_no_text(tmp_path, data, says):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(FileFormatError) as error:
        read_csv(tmp_path / "t.csv")
    assert says in str(error.value)
    assert str(error.value).startswith("t.csv")


def test_no_file_a_folder_and_no_name(tmp_path):
    with pytest.raises(InputError, match="there is no table"):
        read_csv(tmp_path / "gone.csv")
    with pytest.raises(InputError, match="is a folder, not a table"):
        read_csv(tmp_path)
    with pytest.raises(InputError, match="has no column 'z'; it has x, y"):
        parse_csv("x,y\n1,2\n").column("z")
    with pytest.raises(TypeMismatchError):
        parse_csv(7)  # type: ignore[arg-type]


def test_the_field_limit_of_the_standard_library_stays_what_it_was():
    before = csv.field_size_limit()
    with pytest.raises(FileFormatError):
        parse_csv("x\n" + "a" * 20_000)
    assert csv.field_size_limit() == before
