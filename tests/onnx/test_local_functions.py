"""Functions of a file's own are written out where they are called, as onnxruntime computes them."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import FileFormatError
from scalarviz.onnx.reading import read_graph

STANDARD, OWN = helper.make_opsetid("", 17), helper.make_opsetid("own", 1)


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), opset=STANDARD):
    return helper.make_function("own", name, inputs, outputs, nodes, [opset, OWN], attributes, list(defaults))


def call(name, inputs, outputs, node="", **attributes):
    return helper.make_node(name, inputs, outputs, name=node, domain="own", **attributes)


def referring(operator, inputs, outputs, **attributes):
    """A node whose attributes are those of the call."""
    node = helper.make_node(operator, inputs, outputs)
    for name, (given, kind) in attributes.items():
        node.attribute.add(name=name, ref_attr_name=given, type=kind)
    return node


def saved(folder, nodes, functions, tensors=(), ir=9):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("N", 4)) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], initializer=[
        numpy_helper.from_array(array, name) for name, array in dict(tensors).items()])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[STANDARD, OWN], ir_version=ir, functions=list(functions))
    onnx.save(model, folder / "made.onnx")
    return folder / "made.onnx"


def drawn(*shape, seed=3):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


SLOPE = ("slope", onnx.AttributeProto.FLOAT)
LEAK = function("Leak", ["x"], ["y"], [referring("LeakyRelu", ["x"], ["y"], alpha=SLOPE)], [],
                [helper.make_attribute("slope", 0.5)])  # fmt: skip
LAYER = function("Layer", ["x", "w", "b"], ["made", "raw"], [
    helper.make_node("Gemm", ["x", "w", "b"], ["raw"], name="gemm", transB=1),
    call("Leak", ["raw"], ["inner"]), call("Leak", ["inner"], ["made"], slope=0.25)])  # fmt: skip


def test_bodies_stand_where_they_are_called(tmp_path):
    weights = {"a.weight": drawn(4, 4), "a.bias": drawn(4), "b.weight": drawn(4, 4, seed=4)}
    nodes = [
        call("Layer", ["x", "a.weight", "a.bias"], ["h", "raw"], "one"),
        call("Layer", ["h", "b.weight"], ["skipped", "y"], "two"),
    ]
    path = saved(tmp_path, nodes, [LAYER, LEAK], weights)
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == ["a.weight", "a.bias", "b.weight"]
    assert [type(part) for part in net.modules()].count(nn.LeakyReLU) >= 2
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = drawn(3, 4, seed=5)
    found = [[v.data for v in net(sample)] for sample in x]
    np.testing.assert_allclose(found, session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_nodes_of_two_calls_have_names_of_their_own(tmp_path):
    nodes = [call("Leak", ["x"], ["h"]), call("Leak", ["h"], ["i"], "again"), call("Leak", ["i"], ["y"], "again")]
    graph = read_graph(saved(tmp_path, nodes, [LEAK]))
    assert [node.name for node in graph.nodes] == ["Leak/LeakyRelu_0", "again/LeakyRelu_0", "again_/LeakyRelu_0"]
    assert [node.attributes["alpha"] for node in graph.nodes] == [0.5] * 3


def test_a_function_that_is_not_called_costs_nothing_and_changes_nothing(tmp_path):
    graph = read_graph(saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [LAYER]))
    assert [node.operator for node in graph.nodes] == ["Relu"]


def doubling(count):
    """Each calls the one before twice: 2**count nodes."""
    found = [function("F0", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])])]
    for k in range(count):
        found.append(function(f"F{k + 1}", ["x"], ["y"], [call(f"F{k}", ["x"], ["h"]), call(f"F{k}", ["h"], ["y"])]))
    return found


LARGE = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.zeros(300_000, np.float32)))
HOSTILE = {
    "calls itself": ([call("F", ["x"], ["y"])], [function("F", ["x"], ["y"], [call("F", ["x"], ["y"])])],
                     "'F' calls itself"),
    "a circle of two": ([call("F", ["x"], ["y"])], [
        function("F", ["x"], ["y"], [call("G", ["x"], ["y"])]), function("G", ["x"], ["y"], [call("F", ["x"], ["y"])])],
        "'F' calls itself"),
    "a bomb": ([call("F60", ["x"], ["y"])], doubling(60), r"become 1,152,921,504,606,846,976 nodes.*allowed: 200,000"),
    "a bomb of bytes": ([call("F9", ["x"], ["y"])], [
        function("F0", ["x"], ["y"], [LARGE, helper.make_node("Relu", ["x"], ["y"])]), *doubling(9)[1:]],
        "1,024 nodes of [0-9,]+ bytes; allowed"),
    "a tower": ([call("F100", ["x"], ["y"])], [doubling(0)[0], *(
        function(f"F{k + 1}", ["x"], ["y"], [call(f"F{k}", ["x"], ["y"])]) for k in range(100))],
        "more than 64 others"),
    "too much given": ([call("Leak", ["x", "x"], ["y"])], [LEAK], "with 2 inputs, it has 1"),
    "too much taken": ([call("Leak", ["x"], ["y", "z"])], [LEAK], "with 2 outputs, it has 1"),
    "another opset": ([call("F", ["x"], ["y"])], [function(
        "F", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opset=helper.make_opsetid("", 9))],
        r"of opset \[9\], the file of \[17\]"),
    "two of one name": ([call("Leak", ["x"], ["y"])], [LEAK, LEAK], "two functions of one name"),
    "what it takes is what it gives": ([call("F", ["x"], ["y"])], [function("F", ["x"], ["x"], [])], "is its input"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_functions_that_do_not_fit_are_refused_in_one_line(tmp_path, name):
    nodes, functions, said = HOSTILE[name]
    with pytest.raises(FileFormatError, match=said) as caught:
        read_graph(saved(tmp_path, nodes, functions))
    assert "\n" not in str(caught.value)
