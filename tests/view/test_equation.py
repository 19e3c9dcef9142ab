"""Printed equations are true as printed: whoever computes with the printed digits finds the printed result."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from scalarviz.run.opened.digits import decimals, descent, neuron, product, significant
from scalarviz.scalar.kernel import kernel

MINUS = "\N{MINUS SIGN}"
EXACT = Context(prec=900)
ANY = st.floats()
SIZES = st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30) | st.just(0.0) | st.just(-0.0)
USUAL = st.floats(-9.99, 9.99)
SMALL = st.floats(-30, 30, width=32)
FUNCTIONS = {"tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: max(x, 0.0)}


def read(text: str) -> Decimal:
    """The number that is printed."""
    return Decimal(text.strip("()").replace(MINUS, "-").replace("∞", "Infinity"))


def half(text: str) -> Decimal:
    """Half of what its last digit is worth."""
    return Decimal(1).scaleb(int(read(text).as_tuple().exponent)) / 2


def gives(found: Decimal, shown: str) -> bool:
    """Whether `found` rounds to the printed number."""
    number = read(shown)
    if not (found.is_finite() and number.is_finite()):
        return (found.is_nan() and number.is_nan()) or found == number
    return found == 0 if shown == "0" else abs(EXACT.subtract(found, number)) <= half(shown)


def value_of(terms: str) -> Decimal:
    """A printed sum of products, exactly."""
    total = Decimal(0)
    for term in re.split(r" (?=[+-] )", terms.replace(MINUS, "-").replace("∞", "Infinity")):
        made = Decimal(1)
        for factor in re.split(r" × |·", re.sub(r"^([+-]) ", r"\1", term).lstrip("+")):
            number = read(factor)
            finite = made.is_finite() and number.is_finite()
            made = EXACT.multiply(made, number) if finite else Decimal(float(made) * float(number))
        finite = total.is_finite() and made.is_finite()
        total = EXACT.add(total, made) if finite else Decimal(float(total) + float(made))
    return total


def parts_of(line: str, *numbers: float) -> str:
    """Check a line whose printed numbers are those given, the last one the result; the sign before that."""
    found = re.fullmatch(rf"(?:(\S+) {MINUS} )?(\S+) × (\S+) (=|≈) (\S+)", line)
    assert found, line
    *factors, sign, made = (part for part in found.groups() if part is not None)
    for number, text in zip(numbers, (*factors, made), strict=True):
        assert gives(Decimal(number), text.strip("()")), line
    assert sign == "≈" or gives(value_of(line.rpartition(" = ")[0]), made), line
    return sign


# numbers


@given(value=ANY, digits=st.integers(2, 8))
def test_a_number_is_off_by_half_its_last_digit_at_most(value, digits):
    shown = significant(value, digits)
    assert read(shown.text) == shown.value or (math.isnan(value) and shown.text == "NaN")
    assert gives(Decimal(value), shown.text)
    assert gives(Decimal(value), decimals(value, digits - 1).text)
    if math.isfinite(value) and value:
        # digits before the point are never left out, so there may be more, and never fewer
        mantissa = shown.text.partition("e")[0].replace(".", "").strip(MINUS).lstrip("0")
        assert len(mantissa) >= digits
        assert half(shown.text) * 2 == shown.place


# products, and steps of gradient descent


@given(a=ANY, b=ANY, c=ANY)
@example(0.0142, 0.0035, 5e-5)
@example(1e-200, 1e-200, 0.0)
@example(math.inf, 0.0, math.nan)
@example(1e308, 10.0, math.inf)
def test_every_product_and_step_is_true_whatever_the_numbers(a, b, c):
    for result in (c, a * b):
        parts_of(product(a, b, result), a, b, result)
        for rate in (0.0, 0.05, 1e6):
            parts_of(descent(c, rate, b, result), c, rate, b, result)


@given(a=SIZES, b=SIZES)
@example(0.0142, 0.0035)
@example(-0.0455123, 0.92)
@example(0.1235, 1.0)
def test_a_product_that_was_right_is_a_short_equation_and_one_that_was_wrong_is_none(a, b):
    line = product(a, b, a * b)
    assert parts_of(line, a, b, a * b) == "="
    assert f"× {MINUS}" not in line
    assert len(line) <= 46
    assert all("≈" in product(2.0, 3.0, wrong) for wrong in (7.0, math.nan))


@given(w=SMALL, lr=st.floats(1e-4, 10.0), g=SMALL)
@example(0.2369, 0.5, 4.8e-7)
@example(1.0, 1e-3, 0.0)
def test_a_step_down_is_an_equation(w, lr, g):
    rate = float(f"{lr:g}")
    after = float(np.float32(np.float32(w) - np.float32(rate) * np.float32(g)))
    line = descent(w, rate, g, after)
    assert Decimal(f"{rate:g}") == read(line.split()[2])
    assert parts_of(line, w, rate, g, after) == "=" or abs(w) >= 1 or abs(after) >= 1


# neurons


def check(line: str, function: str = "") -> None:
    """Every sign of equality in a neuron's formula is true."""
    if function:
        found = re.fullmatch(rf"y = {function}\((.*)\) (=|≈) {function}\((.*)\) (=|≈) (\S+)", line)
        assert found, line
        body, sign, total, second, out = found.groups()
        with np.errstate(over="ignore"):
            assert second == "≈" or gives(Decimal(float(FUNCTIONS[function](float(read(total))))), out)
    else:
        body, sign, total = re.fullmatch(r"y = (.*) (=|≈) (\S+)", line).groups()
    assert sign == "≈" or gives(value_of(body), total), line


@given(
    weights=st.lists(USUAL, min_size=1, max_size=6),
    inputs=st.lists(USUAL, min_size=6, max_size=6),
    bias=USUAL,
    name=st.sampled_from(["", *FUNCTIONS]),
)
def test_formulas_of_neurons_are_true(weights, inputs, bias, name):
    products = list(zip(weights, inputs, strict=False))
    total = math.fsum([w * x for w, x in products]) + bias
    function = kernel(name).value if name else None
    output = function(total) if function else None
    ways = list(neuron("y", [*products, (bias, None)], total, symbol=name, output=output, function=function))
    for line in ways:
        check(line, name)
    assert "≈" not in ways[0], "there are digits enough"


@given(weights=st.lists(ANY, min_size=1, max_size=3), inputs=st.lists(ANY, min_size=3, max_size=3), total=ANY, out=ANY)
def test_so_are_those_of_any_numbers(weights, inputs, total, out):
    terms = list(zip(weights, inputs, strict=False))
    for line in neuron("y", terms, total):
        check(line)
    for line in neuron("y", terms, total, symbol="tanh", output=out, function=kernel("tanh").value):
        check(line, "tanh")


def test_an_activation_that_cannot_be_checked_is_said_to_be_about_right():
    (line,) = neuron("y", [(1.0, 0.5)], 0.5, symbol="leaky_relu", output=0.5)
    assert line == "y = leaky_relu(1.00·0.50) = leaky_relu(0.50) ≈ 0.50"
