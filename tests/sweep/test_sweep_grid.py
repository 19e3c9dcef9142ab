"""The grammar of values and seeds, against what is computed by hand and by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.errors import InputError
from scalarviz.sweep.grid import seeds_of, values_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1 0.5 1", ["0.1", "0.5", "1"]),
        ("  8   16,16 ", ["8", "16,16"]),
        ("1..4", ["1", "2", "3", "4"]),
        ("-1..1", ["-1", "0", "1"]),
        ("3..3", ["3"]),
        ("0..1:5", ["0", "0.25", "0.5", "0.75", "1"]),
        ("1..0:3", ["1", "0.5", "0"]),
        ("0.1..0.5:5", ["0.1", "0.2", "0.3", "0.4", "0.5"]),
        ("1e-3..1:log4", ["0.001", "0.01", "0.1", "1"]),
        ("1..1024:log11", [str(2**k) for k in range(11)]),
        ("1..3 8 16", ["1", "2", "3", "8", "16"]),
        ("'' 8", ["", "8"]),
        ("'loss < 0.1' nan", ["loss < 0.1", "nan"]),
        ("tanh sigmoid", ["tanh", "sigmoid"]),
        ("../a.png ..", ["../a.png", ".."]),
        (r"C:\a\b.png 1:2", [r"C:\a\b.png", "1:2"]),
        ("#ff8800:#0044cc", ["#ff8800:#0044cc"]),
        ("cosine:5 .5 5.", ["cosine:5", ".5", "5."]),
    ],
)
def test_values(text, values):
    assert values_of(text, "x") == values


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 50), st.booleans())
def test_ranges_are_numpys(first, last, count, logs):
    if abs(first - last) < 1e-3 * max(first, last):  # they would be told alike
        last = 2 * first
    found = [float(value) for value in values_of(f"{first!r}..{last!r}:{'log' if logs else ''}{count}", "x")]
    wanted = (np.geomspace if logs else np.linspace)(first, last, count)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.1..1", r"how many\? 0.1..1:5 is five evenly"),
        ("5..1", "from the smaller number"),
        ("0..1:1", "from 2 to 10,000 values"),
        ("0..1:log3", "needs numbers above 0"),
        ("1 1", "'1' stands there twice"),
        ("1..3 2", "'2' stands there twice"),
        ("'a", "quotation mark is left open"),
        ("1..100000", "at most 10,000"),
        ("0..1:6000 2..3:6000", "more than 10,000 values"),
    ],
)
def test_no_values(text, words):
    with pytest.raises(InputError, match=words) as caught:
        values_of(text, "--grid lr")
    assert str(caught.value).startswith("--grid lr")


def test_seeds():
    assert seeds_of("3") == [0, 1, 2]
    assert seeds_of("5..8") == [5, 6, 7, 8]
    assert seeds_of("7..7") == [7]
    assert seeds_of("0 7 42") == [0, 7, 42]
    assert seeds_of(f"1 {2**64 - 1}") == [1, 2**64 - 1]
    for text in ("", "0", "x", "-1", "1.5", f"1 {2**64}", "1 1", "99999", "1..2:5"):
        with pytest.raises(InputError, match="seeds"):
            seeds_of(text)
