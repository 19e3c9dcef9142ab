"""Nodes that ask for numbers which are computed are refused when a file is loaded: all of them, by name.

It imports the tables of operators to try each of them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import scalarviz as sv
from kit.onnx_files import Made, agrees
from scalarviz.errors import InputError
from scalarviz.imported.needed import CUT, KNOWN, NO_DERIVATIVE
from scalarviz.imported.operators.table import TABLE, Call
from scalarviz.nn._array import values
from scalarviz.onnx.graph import Node
from scalarviz.scalar.value import as_value


def test_all_are_named_at_once(tmp_path):
    made = Made("N", 4).read("""
h = Gemm(x, fc.weight:4x4, transB=1)
a = Round(h) @rounds
b = Floor(h) @falls
c = Floor(x) @falls too
d = ArgMax(x, axis=1, keepdims=1) @finds
e = Cast(d, kind=1)
f = Cast(h, kind=7) @cuts
g = Cast(f, kind=1)
i = Cast(a, kind=7) @cuts again
j = GatherElements(h, i, axis=1) @picks
y = Sum(a, b, c, e, g, j)""")
    with pytest.raises(InputError) as caught:
        sv.load_onnx(made.save(tmp_path))
    said = str(caught.value)
    for name in ("rounds", "falls", "falls too", "finds", "cuts", "cuts again", "picks"):
        assert f"'{name}'" in said
    assert "Gemm" not in said
    assert "\n" not in said


@pytest.mark.parametrize("operator", sorted(CUT))
def test_whole_numbers_are_not_cut_off_in_silence(tmp_path, operator):
    """5 // 2 is 2 in ONNX, and has no derivative; of floats all of them are taken."""
    more = {"Div": [2], "Pow": [0.5]}.get(operator, [])
    for dtype in (np.int64, np.float32):
        made = Made("N", 4, dtype=dtype)
        operands = [made.constant("c", np.array(v, np.float32 if operator == "Pow" else dtype)) for v in more]
        made.node(operator, "x", *operands, name="cuts", to="t", **({} if operands else {"axes": [1]}))
        made.node("Cast", "t", kind=1, to="y")
        path = made.save(tmp_path)
        if dtype is np.int64:
            with pytest.raises(InputError, match=f"{operator} 'cuts'.*cuts off at the point.*cast them to floats"):
                sv.load_onnx(path)
        else:
            agrees(sv.load_onnx(path), path, np.array([[5, 2, 7, 1]], dtype))


def test_scales_that_are_an_input_are_named_as_such(tmp_path):
    """Tried out with drawn numbers they gave sides below 0."""
    made = Made(1, 1, 3, 4)
    made.inputs.append(helper.make_tensor_value_info("scales", 1, (4,)))
    made.node("Resize", "x", "", "scales", name="stretches", to="y")
    with pytest.raises(InputError, match=r"Resize 'stretches' \(its input 2 says what is made"):
        sv.load_onnx(made.save(tmp_path), batch=False)


def computed(*shape):
    return values([as_value(1.0) for _ in range(int(np.prod(shape)))], shape)


def refused(operator, inputs, opset=22, **attributes):
    node = Node(operator, tuple(f"x{k}" for k in range(len(inputs))), ("y",), attributes, "n")
    with pytest.raises(InputError, match="computed from data"):
        TABLE[operator](Call(node, inputs, opset))


@pytest.mark.parametrize("operator", sorted(NO_DERIVATIVE))
def test_operators_of_known_numbers_take_no_others(operator):
    refused(operator, (computed(2, 2),) * (2 if operator == "Mod" else 1))


@pytest.mark.parametrize(("operator", "place"), [(name, place) for name, places in KNOWN.items() for place in places])
def test_settings_that_are_computed_are_refused_by_the_operator_too(operator, place):
    one = np.ones(1, np.int64)
    inputs = [computed(1, 1), one, one, one, one] if place else [None]
    given = {"Dropout": 3, "Pad": 4, "Range": 3, "OneHot": 3, "Resize": 4, "ScatterElements": 3, "ScatterND": 3,
             "Slice": 5}.get(operator, 2 if place else 1)  # fmt: skip
    inputs = [computed(1, 1), *[one] * (given - 1)] if operator != "Range" else [np.ones(()), np.ones(()), np.ones(())]
    if operator == "Dropout":
        inputs[1] = np.array(0.5)
    if operator == "Pad":
        inputs[1], inputs[2] = np.zeros(2, np.int64), np.zeros(())
    if operator == "Resize":
        inputs[1] = inputs[2] = None
        inputs[3] = np.ones(2, np.int64)
        if place == 2:
            inputs[3] = None
    inputs[place] = computed(1)
    refused(operator, tuple(inputs), opset=9 if operator == "Upsample" else 22, mode="nearest", axis=0)
