"""Texts of numbers in the browser are those of the window, whatever the number is."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz.view.cubes.scale import share_text
from scalarviz.view.ink.text import chip_text, exponent, figure, loss_text, number, rate_text, short

CASES = 4000


def numbers():
    """Of every size, of both signs; with halves at every decimal, which go to the even digit, and what is near one."""
    rng = np.random.default_rng(1)
    sizes = rng.normal(size=CASES) * 10.0 ** rng.integers(-30, 30, CASES)
    usual = rng.normal(size=CASES) * 10.0 ** rng.integers(-5, 5, CASES)
    ties = rng.integers(-4000, 4000, CASES) / 2.0 ** rng.integers(0, 12, CASES)
    written = np.round(usual, 3) + 0.0005  # near a half, seldom one
    edges = [0.0, -0.0, 9.995, 9.99499999, 99.95, 999.5, 9999.5, 9999.499, 0.01, 0.0999, 0.1, 0.001, 1e4, 1e100, 5e-324,
             1.7e308, 0.5, 1.5, 2.5, 0.125, 0.375, 1e-4, 1e-3, 1000.0, 1e6, 999999.5, 4096.0, 123456.7]  # fmt: skip
    found = np.concatenate([sizes, usual, ties, written, edges, np.negative(edges)])
    return [float(x) for x in np.concatenate([found, np.float32(usual)])]


FUNCTIONS = {
    "x => numberText(x)": number,
    "x => numberText(x, 4, true)": lambda x: number(x, 4, signed=True),
    "x => numberText(x, 0, true)": lambda x: number(x, 0, signed=True),
    "x => shortText(x)": short,
    "x => shortText(x, true)": lambda x: short(x, signed=True),
    "x => exponentText(x)": exponent,
    "x => exponentText(x, 0, true)": lambda x: exponent(x, 0, signed=True),
    "x => figureText(x)": figure,
    "x => chipText(x)": chip_text,
    "x => chipText(x, true)": lambda x: chip_text(x, signed=True),
    "x => lossText(x)": loss_text,
}


def test_they_are_the_windows(ask):
    """Fixed decimals are asked of numbers below 1e21 only: no text of the window has more digits before the point."""
    values = numbers()
    few = [x for x in values if abs(x) < 1e21]
    for function, python in FUNCTIONS.items():
        asked = few if "numberText" in function else values
        found = ask("numbers.js", f"values => values.map({function})", asked)
        wrong = [(x, got, python(x)) for x, got in zip(asked, found, strict=True) if got != python(x)]
        assert not wrong, (function, len(wrong), wrong[:5])


@pytest.mark.parametrize(("function", "python"), [("rateText", rate_text), ("shareText", share_text)])
def test_rates_and_shares_are_the_windows(ask, function, python):
    rng = np.random.default_rng(2)
    values = [abs(x) for x in numbers() if abs(x) < 1e15]
    if function == "shareText":
        values = [x for x in values if x <= 1] + (rng.integers(0, 2001, 2001) / 2000).tolist()
    found = ask("numbers.js", f"values => values.map(x => {function}(x))", values)
    wrong = [(x, got, python(x)) for x, got in zip(values, found, strict=True) if got != python(x)]
    assert not wrong, (len(wrong), wrong[:5])


def test_what_is_no_number_is_said_as_in_the_window(scripts):
    for function, python in FUNCTIONS.items():
        if "exponent" not in function:  # nobody asks it for these
            found = scripts("numbers.js").evaluate(f"[NaN, Infinity, -Infinity].map({function})")
            assert found == [python(x) for x in (np.nan, np.inf, -np.inf)], function


def test_counts_have_their_thousands_apart(ask):
    counts = [0, 7, 999, 1000, 12345, 999999, 1000000, 2**40]
    assert ask("numbers.js", "counts => counts.map(countText)", counts) == [f"{count:,}" for count in counts]
