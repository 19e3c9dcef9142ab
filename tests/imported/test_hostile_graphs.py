"""Graphs that were made to do harm: each is refused in one line, with little memory and in little time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import scalarviz as sv
from scalarviz.errors import ScalarvizError
from scalarviz.imported.operators.schema import misfit
from scalarviz.onnx.graph import Node

HARM = Path(__file__).with_name("hostile_graphs.py")
SAYS = {
    "side": "has the shape (1099511627776,); at most 10,000,000 numbers",
    "sides": "at most 10,000,000 numbers",
    "no side": "each side must be 1 or more",
    "batch": "made for 2,147,483,647 samples at once",
    "outer": "MatMul 'MatMul_0': its result would have the shape (131072, 131072)",
    "gemm": "Gemm 'Gemm_0': its result would have the shape (131072, 131072)",
    "einsum": "Einsum 'Einsum_0': 12,288,000,000,000,000 products",
    "split": "Split 'Split_0': 1152921504606846976 parts",
    "gather": "Gather 'Gather_0': its result would have the shape (1024, 1048576)",
    "gather nd": "GatherND 'GatherND_0': its result would have the shape (1024, 1048576)",
    "expand": "Expand 'Expand_0': its result would have the shape (1, 1099511627776, 3)",
    "mode": "the mode 'mirror'",
    "nearest": "the nearest_mode 'odd'",
    "inputs": "Mul 'Mul_0' (it has 3 inputs, the standard gives it 2)",
    "no input": "Mul 'Mul_0' (its input 1 is left out",
    "outputs": "Relu 'Relu_0' (it has 2 outputs",
    "attribute": "no attribute 'slope'",
    "kind": "perm must be of the kind INTS",
    "missing": "its attribute axis is missing",
    "name": "nnn...: the mode 'mirror'",
    "text": "is not UTF-8",
}
SAYS_LARGE = {"concat": "are kept at a time", "long": "have made 268,500,000 numbers", "tiles": "are kept at a time"}


def refusals(folder, megabytes, which):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(HARM), str(folder), str(megabytes * 2**20), which], env=environment,
                          capture_output=True, text=True, timeout=600, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits of memory are Linux's")
@pytest.mark.parametrize(
    ("which", "megabytes", "says"),
    [("small", 400, SAYS), pytest.param("large", 1500, SAYS_LARGE, marks=pytest.mark.slow)],
)
def test_little_memory_is_enough_to_refuse(tmp_path, which, megabytes, says):
    said = refusals(tmp_path, megabytes, which)
    assert {name: words for name, words in said.items() if says[name] not in words} == {}
    assert said.keys() == says.keys()
    assert all("net" in words[:60] or "/net.onnx" in words for words in said.values())


def network():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2]), helper.make_node("Reshape", ["c", "s"], ["d"]),
        helper.make_node("Gemm", ["d", "m", "n"], ["e"]), helper.make_node("Softmax", ["e"], ["y"]),
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    tensors = {"w": rng.normal(size=(2, 1, 3, 3)), "m": rng.normal(size=(2, 3)), "n": rng.normal(size=3)}
    stored = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in tensors.items()]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [*stored, numpy_helper.from_array(np.array([-1, 2]), "s")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@given(data=st.data())
def test_a_graph_with_other_bytes_is_loaded_or_refused(data, tmp_path_factory):
    encoded = bytearray(network().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed-graph.onnx"
    path.write_bytes(encoded)
    try:
        sv.load_onnx(path)
    except ScalarvizError as error:
        said = str(error)
    else:
        said = ""
    assert "\n" not in said
    assert len(said) < 1000


def test_every_case_of_the_standard_fits_its_own_form():
    """The package `onnx` writes them, and its checker takes them."""
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[0, 0], auto_pad="NOTSET", group=2)
    onnx.checker.check_node(node)
    ours = Node("Conv", ("x", "w", "b"), ("y",), {"pads": (0, 0), "auto_pad": "NOTSET", "group": 2})
    assert misfit(ours, 17) == ""
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_node(helper.make_node("Conv", ["x"], ["y"]))
    assert misfit(Node("Conv", ("x",), ("y",)), 17) == "it has 1 input, the standard gives it 2 to 3"


def test_a_batch_of_many_samples_is_tried_by_a_few(tmp_path):
    """Every sample of 5,000 alone would be 5,000 times the graph; samples that are mixed are found all the same."""
    made = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5000, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "a.onnx")
    assert [v.data for v in sv.load_onnx(tmp_path / "a.onnx")([-1.0, 0.0, 2.0])] == [0.0, 0.0, 2.0]
    made.node[0].CopyFrom(helper.make_node("Softmax", ["x"], ["y"], axis=0))
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "b.onnx")
    with pytest.raises(ScalarvizError, match="Softmax 'Softmax_0' mixes samples"):
        sv.load_onnx(tmp_path / "b.onnx")
