"""Nodes that ask for numbers which are computed are refused when a file is loaded: all of them, by name."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import scalarviz as sv
from kit.onnx_files import Made, agrees
from scalarviz.errors import InputError


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


@pytest.mark.parametrize("operator", ["Div", "Pow", "ReduceL2", "ReduceMean"])
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
