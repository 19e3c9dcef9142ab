"""What comes out of an ONNX file, against the package onnx and its own reader of tensors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from scalarviz.errors import FileFormatError, InputError
from scalarviz.onnx.graph import Port
from scalarviz.onnx.reading import graph_of, read_graph

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])


def model(nodes, inputs=(X,), outputs=(Y,), tensors=(), opset=17, ir=8):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), initializer=list(tensors))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = ir
    return made


def two_layers(**change):
    rng = np.random.default_rng(0)
    tensors = [
        numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
        for name, shape in (("w1", (3, 4)), ("b1", (4,)), ("w2", (4, 2)))
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("MatMul", ["a", "w2"], ["y"]),
    ]
    return model(nodes, tensors=tensors, **change)


def test_nodes_ports_and_constants(tmp_path):
    made = two_layers()
    onnx.save(made, tmp_path / "net.onnx")
    graph = read_graph(tmp_path / "net.onnx")
    assert (graph.name, graph.opset) == ("net", 17)
    assert [(n.name, n.operator) for n in graph.nodes] == [
        ("first", "Gemm"),
        ("Relu_1", "Relu"),
        ("MatMul_2", "MatMul"),
    ]
    assert graph.inputs == (Port("x", np.dtype("float32"), ("N", 3)),)
    assert graph.outputs == (Port("y", np.dtype("float32"), ("N", 2)),)
    for tensor in made.graph.initializer:
        stored = graph.constants[tensor.name]
        assert np.array_equal(stored, numpy_helper.to_array(tensor))
        assert not stored.flags.writeable


def test_nodes_are_sorted_and_those_in_order_stay():
    made = two_layers()
    nodes = list(made.graph.node)
    del made.graph.node[:]
    made.graph.node.extend(reversed(nodes))
    assert [n.operator for n in graph_of(made, "net").nodes] == ["Gemm", "Relu", "MatMul"]
    # of two that wait for nothing the first of the file comes first
    pair = [helper.make_node("Relu", ["x"], ["b"]), helper.make_node("Exp", ["x"], ["a"])]
    made = model([*pair, helper.make_node("Add", ["a", "b"], ["y"])])
    assert [n.operator for n in graph_of(made, "net").nodes] == ["Relu", "Exp", "Add"]


def test_constants_and_stored_inputs_are_no_inputs():
    w = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    listed = helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 2])
    nodes = [
        helper.make_node("Constant", [], ["two"], value_float=2.0),
        helper.make_node("Constant", [], ["axes"], value_ints=[0, 1]),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Mul", ["h", "two"], ["y"]),
    ]
    graph = graph_of(model(nodes, inputs=(X, listed), tensors=[w]), "net")
    assert [port.name for port in graph.inputs] == ["x"]
    assert set(graph.constants) == {"two", "axes", "w"}
    assert graph.constants["two"].dtype == np.float32
    assert graph.constants["axes"].tolist() == [0, 1]
    assert [n.operator for n in graph.nodes] == ["MatMul", "Mul"]


TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("kind", [*TYPES, "bool"])
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_tensors_of_every_type(kind, raw, shape):
    array = np.asarray(np.random.default_rng(1).integers(0, 100, shape)).astype(kind)
    code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    values = array.tobytes() if raw else array.ravel().tolist()
    tensor = helper.make_tensor("t", code, shape, values, raw=raw)
    made = model([helper.make_node("Identity", ["t"], ["y"])], tensors=[tensor])
    stored = graph_of(made, "net").constants["t"]
    assert stored.dtype == kind
    assert np.array_equal(stored, array)
    assert stored.shape == shape


def test_bfloat16_becomes_float32():
    values = [1.5, -0.0, 3.0e38, float("inf"), 2.0**-130]
    for raw in (False, True):
        tensor = helper.make_tensor("t", TensorProto.BFLOAT16, (5,), values)
        if raw:
            bits = np.asarray(tensor.int32_data, np.uint16)
            tensor = helper.make_tensor("t", TensorProto.BFLOAT16, (5,), bits.tobytes(), raw=True)
        stored = graph_of(model([helper.make_node("Identity", ["t"], ["y"])], tensors=[tensor]), "net").constants["t"]
        assert np.array_equal(stored, numpy_helper.to_array(tensor).astype(np.float32))
        assert stored.dtype == np.float32


def test_attributes_are_plain():
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[0, 1], auto_pad="VALID", alpha=0.5, group=2, axes=[0.5])
    node.attribute.append(helper.make_attribute("table", numpy_helper.from_array(np.arange(3))))
    node.attribute.append(helper.make_attribute("words", ["a", "b"]))
    w = numpy_helper.from_array(np.ones(1, np.float32), "w")
    given = dict(graph_of(model([node], tensors=[w]), "net").nodes[0].attributes)
    assert given.pop("table").tolist() == [0, 1, 2]
    assert given == {"pads": (0, 1), "auto_pad": "VALID", "alpha": 0.5, "group": 2, "axes": (0.5,), "words": ("a", "b")}


def test_names_of_nodes_are_unique():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="Exp_2"),
        helper.make_node("Relu", ["a"], ["b"], name="Exp_2"),
        helper.make_node("Exp", ["b"], ["y"]),
    ]
    names = [n.name for n in graph_of(model(nodes), "net").nodes]
    assert names == ["Exp_2", "Exp_2_1", "Exp_2_"]


def test_numbers_beside_the_file(tmp_path):
    made = two_layers()
    wanted = {t.name: numpy_helper.to_array(t) for t in made.graph.initializer}
    onnx.save(made, tmp_path / "net.onnx", save_as_external_data=True, location="net.onnx.data", size_threshold=0)
    assert (tmp_path / "net.onnx.data").stat().st_size > 0
    graph = read_graph(tmp_path / "net.onnx")
    assert graph.constants.keys() == wanted.keys()
    assert all(np.array_equal(graph.constants[name], array) for name, array in wanted.items())


@pytest.mark.parametrize("content", [b"", b"\x00", b"PK\x03\x04" * 20, b"\x80\x04}q\x00.", b"hello world\n" * 9])
def test_no_onnx_file(tmp_path, content):
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"ONNX file|is empty|holds a pickle"):
        read_graph(tmp_path / "net.onnx")


def test_every_beginning_of_a_file_is_refused(tmp_path):
    encoded = two_layers().SerializeToString()
    refused = 0
    for size in range(len(encoded)):
        (tmp_path / "cut.onnx").write_bytes(encoded[:size])
        try:
            read_graph(tmp_path / "cut.onnx")
        except FileFormatError:
            refused += 1
    assert refused >= len(encoded) - 12  # what says the opset comes last; without it protobuf's text still ends well


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="there is no ONNX file"):
        read_graph(tmp_path / "none.onnx")
    with pytest.raises(InputError, match="folder"):
        read_graph(tmp_path)
