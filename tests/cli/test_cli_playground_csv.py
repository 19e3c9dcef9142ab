"""The scene `playground` with a table of the user's own."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scalarviz.scenes._own_points import own_points, read_table

from scalarviz.errors import FileFormatError
from scalarviz.io import parse_csv

CLOUDS = {"ash": (10.0, 200.0), "elm": (14.0, 260.0), "oak": (18.0, 190.0)}


@pytest.fixture
def play(cli):
    """`scalarviz playground`, headless, with the engine that needs no compiling."""
    return lambda *arguments: cli("playground", "--headless", "--engine", "numpy", *arguments)


def trees(kinds, count=60):
    """Clouds of points in units of their own, a word each."""
    rng = np.random.default_rng(0)
    rows = [(*(rng.normal(CLOUDS[kind], (0.5, 6.0))), kind) for kind in kinds for _ in range(count)]
    return "leaf,height,tree\n" + "".join(f"{a:.4f},{b:.3f},{kind}\n" for a, b, kind in rows)


def test_three_classes_by_their_words(play, tmp_path):
    (tmp_path / "trees.csv").write_text(trees(CLOUDS))
    result = play("--csv", "trees.csv", "--lr", 0.1, "--json")
    assert result.json["accuracy"] > 0.97
    assert result.json["weights"] == 12 + 10 + 9
    assert "90 points to learn from, 90 held back" in result.err


def test_two_classes_have_one_output(play, tmp_path):
    (tmp_path / "trees.csv").write_text(trees(["ash", "oak"]))
    line = play("--csv", "trees.csv", "--json").json
    assert line["accuracy"] > 0.97
    assert line["weights"] == 25


def test_two_columns_are_a_curve(play, tmp_path):
    x = np.linspace(20, 60, 200)
    (tmp_path / "c.csv").write_text("t;p\n" + "".join(f"{a:.3f};{1000 + 3 * a:.2f}\n".replace(".", ",") for a in x))
    line = play("--csv", "c.csv", "--json").json
    assert line["weights"] == 8 + 10 + 3
    assert line["test_loss"] < 0.01
    assert "accuracy" not in line


def test_columns_are_standardised_and_remember_their_units():
    own = own_points(parse_csv(trees(CLOUDS)))
    np.testing.assert_allclose(own.inputs.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(own.inputs.std(axis=0), 1, atol=1e-12)
    table = parse_csv(trees(CLOUDS))
    for k, name in enumerate(("leaf", "height")):
        column = own.units.inputs[k]
        assert column.name == name
        np.testing.assert_allclose(column.before(own.inputs[:, k]), table.numbers(name))
        low, high = column.shown
        assert low < table.numbers(name).min() < table.numbers(name).max() < high


def test_columns_may_be_chosen(play, tmp_path):
    rows = "".join(f"{k},{k % 2},{k * k},{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "wide.csv").write_text("n,odd,square,kind\n" + rows)
    said = play("--csv", "wide.csv", "--steps", 1)
    assert said.code == 2
    assert "4 columns (n, odd, square, kind); wanted one or two inputs and the target behind them" in said.err
    assert "--columns odd,square,kind" in said.err
    assert play("--csv", "wide.csv", "--columns", "n,odd,kind", "--steps", 2, "--json").json["steps"] == 2
    assert "has no column 'even'; it has n, odd" in play("--csv", "wide.csv", "--columns", "even,kind").err


@pytest.mark.parametrize(
    ("target", "outputs"),
    [((0, 1), 1), ((1, 2, 3), 3), (range(8), 8), (range(9), 0), ((0.5, 1.5, 2), 0), (("b", "a"), 1)],
)
def test_what_the_last_column_is(target, outputs):
    rows = "".join(f"{k % 5},{k % 7},{target[k % len(target)]}\n" for k in range(100))
    own = own_points(parse_csv(f"x,y,t\n{rows}"))
    assert (own.sort.outputs if own.sort.classes else 0) == outputs
    if outputs == 1:
        assert set(own.targets) == {-1.0, 1.0}
        assert own.sort.classes == tuple(sorted(map(str, target)))
    elif outputs:
        assert set(own.targets) == set(range(outputs))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x,y,kind\n1,2,a\n3,4,a\n", "every row is 'a': one class cannot be told from another"),
        ("x,y,n\n1,2,3\n3,4,3\n", "is 3 in every row: nothing to learn"),
        ("x,y,kind\n1,2,a\n", "has one row"),
        ("x\n1\n2\n", "1 column (x); wanted one or two inputs"),
        ("x,y,kind\na,2,u\n3,4,v\n", "line 2: column 'x' says 'a', which is no number"),
        ("x,kind\n1,u\n3,v\n", "line 2: column 'kind' says 'u'"),
        ("x,y,n\n1,2,1.5\n3,4,oops\n5,6,2.5\n7,8,4\n", "line 3: column 'n' says 'oops'"),
        ("x,y,kind\n1,2,\n3,4,v\n", "line 2: column 'kind' is empty"),
        ("x,y,kind\n1,2,\n3,4,v\n5,6,\n", "line 2: column 'kind' is empty, as in 1 other row"),
        ("x,y,kind\n" + "".join(f"1,2,w{k}\n" for k in range(9)), "9 different words (w0, w1, w2, w3, ...)"),
        ("x,y,kind\n-1e308,2,u\n1e308,4,v\n", "column 'x' goes to 1e+308; allowed: 1e+150 either side of 0"),
        ("x,n\n1,1e200\n2,2e200\n3,0\n", "column 'n' goes to 2e+200"),
        ("x,y,kind\n1e15,2,u\n1000000000000000.125,4,v\n", "column 'x': its numbers, 1e+15 to 1e+15, are too near"),
        (",,,\n,,\n", "t.csv is empty"),
    ],
)
def test_tables_with_nothing_to_learn_or_broken_cells(play, tmp_path, text, says):
    (tmp_path / "t.csv").write_text(text)
    result = play("--csv", "t.csv", "--json")
    assert result.code == 2
    assert says in result.err
    assert len(result.err.splitlines()) <= 2
    assert result.out == ""


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--csv", "gone.csv"], "there is no table gone.csv"),
        (["--csv", "."], "is a folder, not a table"),
        (["--columns", "x,y"], "give --csv FILE too"),
        (["--csv", "t.csv", "--data", "xor"], "--data and --csv contradict each other"),
        (["--csv", "t.csv", "--noise", "0.1"], "--noise and --csv contradict each other"),
        (
            ["--csv", "curve.csv", "--features", "x,xy"],
            "--features xy: the table has one input, x; allowed: x, x2, sinx",
        ),
    ],
)
def test_flags_that_do_not_go_with_a_table(play, tmp_path, flags, says):
    (tmp_path / "t.csv").write_text(trees(["ash", "oak"], 4))
    (tmp_path / "curve.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
    result = play("--steps", 1, *flags)
    assert result.code == 2
    assert says in result.err


def test_the_standard_input_is_a_table_too(play, monkeypatch):
    pasted = trees(CLOUDS, 20).replace(",", "\t").encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(pasted)))
    assert play("--csv", "-", "--steps", 3, "--json").json["steps"] == 3
    monkeypatch.setattr(sys, "stdin", None)
    assert "there is no standard input here" in play("--csv", "-").err


def test_a_column_of_one_value_is_said(play, tmp_path):
    (tmp_path / "t.csv").write_text("x,y,kind\n" + "".join(f"7,{k},{'ab'[k > 9]}\n" for k in range(20)))
    result = play("--csv", "t.csv", "--steps", 3, "--json")
    assert "x is the same in every row" in result.err
    assert result.json["loss"] == result.json["loss"]


def test_a_word_among_classes_of_words_needs_no_number(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,kind\n1,2,3a\n3,4,b\n")
    assert own_points(read_table(tmp_path / "t.csv")).sort.classes == ("3a", "b")
    with pytest.raises(FileFormatError, match="column 'kind' says 'b'"):
        own_points(parse_csv("x,y,kind\n1,2,3\n3,4,b\n5,6,4\n"))
