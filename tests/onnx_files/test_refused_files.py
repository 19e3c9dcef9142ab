"""Files that were damaged, or made to do harm: each is refused in one line, and what it costs is bounded."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import scalarviz as sv
from kit.files import DAMAGED, flipped
from kit.onnx_files import FLOAT, Made
from kit.refusals import Refusal
from scalarviz.errors import FileFormatError, ScalarvizError

X = helper.make_tensor_value_info("x", FLOAT, ["N", 3])
Y = helper.make_tensor_value_info("y", FLOAT, ["N", 3])
W = numpy_helper.from_array(np.ones((3, 3), np.float32), "w")


def node(operator, inputs, outputs="y", name="", domain="", attribute=(), **attributes):
    made = helper.make_node(operator, inputs.split(), outputs.split(), name=name, domain=domain, **attributes)
    made.attribute.extend(attribute)
    return made


RELU = node("Relu", "x")


def model(*nodes, inputs=(X,), outputs=(Y,), tensors=(), opsets=(("", 17), ("own", 1)), ir=9, functions=()):
    graph = helper.make_graph(nodes or [RELU], "g", inputs, outputs, initializer=tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*one) for one in opsets], functions=functions)
    made.ir_version = ir
    return made


def tensor(**change):
    """A stored matrix that is wrong in one field."""
    made = TensorProto(name="w", data_type=FLOAT, dims=[3, 3], raw_data=bytes(36))
    for field, value in change.items():
        made.ClearField(field)
        if isinstance(value, list):
            getattr(made, field).extend(value)
        elif value is not None:
            setattr(made, field, value)
    return model(tensors=[made])


def function(name, *nodes, inputs=("x",), outputs=("y",), opset=17):
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, opsets)


def call(name, inputs="x", outputs="y"):
    return node(name, inputs, outputs, domain="own")


def called(name, *functions, inputs="x", outputs="y"):
    return model(call(name, inputs, outputs), functions=functions)


def doubling(count, first=(RELU,)):
    """Each calls the one before twice: 2**count nodes."""
    twice = (function(f"F{k + 1}", call(f"F{k}", "x", "h"), call(f"F{k}", "h")) for k in range(count))
    return [function("F0", *first), *twice]


def tower(count):
    return [function("F0", RELU), *(function(f"F{k + 1}", call(f"F{k}")) for k in range(count))]


def text(name, **change):
    return model(RELU, **change).SerializeToString().replace(name, b"\xff" * len(name))


LARGE = node("Constant", "", "c", value=numpy_helper.from_array(np.zeros(300_000, np.float32)))
Z, W4 = helper.make_tensor_value_info("z", 1, [1]), helper.make_tensor_value_info("w", 1, [3, 4])
COLUMN = numpy_helper.from_array(np.ones((2**17, 1), np.float32), "column")


def sided(*sides, nodes=(RELU,), tensors=()):
    """A network whose samples have other sides."""
    return model(*nodes, inputs=(helper.make_tensor_value_info("x", FLOAT, sides),), tensors=tensors, opsets=[("", 18)])


FILES = {
    "a long side": (sided("N", 2**40), "10,000,000"), "no side": (sided("N", 0), "1 or more"),
    "an outer product": (sided(1, 2**17, nodes=[node("MatMul", "column x")], tensors=[COLUMN]), "(131072, 131072)"),
    "many outputs": (sided("N", 3, nodes=[node("Split", "x", "y z", num_outputs=2**60)]), 2**60),
    "a circle": (model(node("Add", "x c", "a", "one"), node("Exp", "a", "c", "two"), node("Relu", "c")),
        "cycle", "'one'", "'two'"),
    "itself": (model(node("Add", "x y", "y", "self")), "'self' depends on its own output"),
    "missing": (model(node("Gemm", "x w b", "y", "first")), "'w' (an input of node 'first')", "'b'"),
    "no outputs": (model(outputs=()), "no outputs"),
    "an output of nothing": (model(outputs=(Z,)), "'z'"),
    "a tensor twice": (model(tensors=(W, W)), "'w' is stored twice"),
    "two shapes": (model(inputs=(X, W4), tensors=(W,)), "(3, 3)"),
    "a later opset": (model(opsets=[("", 1000)]), "opset", 1000),
    "no opset": (model(opsets=[]), "one version"),
    "made twice": (model(node("Relu", "x", "y", "a"), node("Exp", "x", "y", "b")), "'y' is made twice", "'a'",
        "'b'"),
    "a constant made twice": (model(node("Constant", "", "w", value_float=1.0), RELU, tensors=[W]), "'w'"),
    "an attribute twice": (model(node("Relu", "x", attribute=[helper.make_attribute("a", k) for k in (1,
        2)])), "two attributes 'a'"),
    "a constant of nothing": (model(node("Constant", "", "w"), RELU), "one value"),
    "no text": (text(b"secret", tensors=[numpy_helper.from_array(np.ones(1), "secret")]), "net"),
    "4 TB": (tensor(dims=[2**20, 2**20]), "4,398,046,511,104 bytes", 36),
    "2**188 bytes": (tensor(dims=[2**62, 2**62, 2**62]), 36),
    "too short": (tensor(dims=[3, 4]), "48 bytes", 36),
    "eight of nine": (tensor(raw_data=None, float_data=[1.0] * 8), "9 numbers", "8"),
    "beyond its type": (tensor(raw_data=None, data_type=TensorProto.INT8, int32_data=[1000] * 9), "INT8"),
    "no name": (tensor(name=""), "without a name"),
    "calls itself": (called("F", function("F", call("F"))), "'F' calls itself"),
    "a bomb": (called("F60", *doubling(60)), "1,152,921,504,606,846,976 nodes", "200,000"),
    "a bomb of bytes": (called("F9", *doubling(9, (LARGE, RELU))), "1,024 nodes", "bytes"),
    "a tower": (called("F100", *tower(100)), "more than 64"),
    "given too much": (called("F0", *doubling(0), inputs="x x"), "2 inputs, not 1"),
    "another opset": (called("F", function("F", RELU, opset=9)), "[9]", "[17]"),
    "inputs": (model(node("Mul", "x x x")), "Mul 'Mul_0'", "3 inputs", "2"),
    "outputs": (model(node("Relu", "x", "y z")), "Relu_0", "2 outputs"),
    "no such attribute": (model(node("Relu", "x", slope=1.0)), "no attribute 'slope'"),
    "an attribute of another kind": (model(node("Transpose", "x", perm="ab")), "perm", "INTS"),
    "an integer product": (model(node("MatMulInteger", "x x")), "MatMulInteger", "quantisation"),
    "one runtime's": (model(node("FusedGemm", "x x", domain="com.microsoft")), "FusedGemm", "ORT_ENABLE_BASIC"),
}  # fmt: skip


def refused_in_a_line(path, error, *facts):
    def load():
        try:
            sv.load_onnx(path)
        except ScalarvizError as caught:
            assert "\n" not in str(caught)  # noqa: PT017
            assert len(str(caught).replace(str(Path(path).parent), "")) < 500  # noqa: PT017
            raise

    Refusal(load, error, facts).check()


@pytest.mark.parametrize("name", FILES)
def test_files_that_do_not_fit_are_refused_in_one_line(tmp_path, name):
    made, *facts = FILES[name]
    path = tmp_path / "net.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    refused_in_a_line(path, ScalarvizError, "net", *facts)


# ---- numbers beside the file


def beside(folder: Path, location: str, **change: object) -> Path:
    made = tensor(raw_data=None, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **change}.items():
        made.graph.initializer[0].external_data.add(key=key, value=str(value))
    made.graph.node[0].CopyFrom(node("MatMul", "x w"))
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.fixture
def home(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(36))
    home = tmp_path / "home"
    (home / "deeper").mkdir(parents=True)
    (home / "data").write_bytes(np.arange(9, dtype=np.float32).tobytes())
    (home / "deeper" / "data").write_bytes(np.arange(-1, 9, dtype=np.float32).tobytes())
    for name, target in (("inside", home / "data"), ("outside", tmp_path / "secret"), ("up", tmp_path)):
        (home / name).symlink_to(target)
    (home / "circle").symlink_to(home / "circle")
    os.mkfifo(home / "pipe")
    return home


@pytest.mark.parametrize("where", [
    {"location": "data"}, {"location": "./data"}, {"location": "inside"}, {"location": "deeper/../data"},
    {"location": "deeper/data", "offset": 4, "length": 36},
])  # fmt: skip
def test_files_in_the_folder_are_read(home, where):
    net = sv.load_onnx(beside(home, **where))
    assert [v.data for row in np.eye(3) for v in net(row)] == list(range(9))


OUTSIDE, UNREAD = "outside the folder", "cannot be read"
PLACES = {
    "../secret": OUTSIDE, "/etc/passwd": OUTSIDE, "outside": OUTSIDE, "up/secret": OUTSIDE, "": OUTSIDE,
        ".": OUTSIDE,
    "deeper": "not a regular file", "pipe": "not a regular file", "circle": UNREAD, "none": UNREAD, "a" * 5000: UNREAD,
    "a\0b": "not a valid file name",
}  # fmt: skip


@pytest.mark.parametrize("location", PLACES, ids=lambda name: name[:20])
def test_other_files_are_not_opened(home, location):
    refused_in_a_line(beside(home, location), FileFormatError, PLACES[location])


@pytest.mark.parametrize(("change", "facts"), [
    ({"offset": 4}, ("4 to 40", "data", 36)), ({"offset": 10**17}, (36,)), ({"offset": -4}, ("offset", "-4")),
    ({"offset": 10**18}, ("000,000", "only 36")), ({"offset": "9" * 5000}, ("offset", "19 digits")),
    ({"offset": "1_0"}, ("offset", "1_0")), ({"length": 35}, (36, 35)),
    ({"length": "x"}, ("length", "'x'")),
], ids=str)  # fmt: skip
def test_places_that_there_are_not(home, change, facts):
    refused_in_a_line(beside(home, "data", **change), FileFormatError, *facts)


# ---- damage


def whole_network():
    made = Made("N", 1, 2, 2)
    h = made.node("Relu", made.node("Conv", "x", made.weight("w", 2, 1, 3, 3), pads=[1, 1, 1, 1]))
    h = made.node("Reshape", made.node("MaxPool", h, kernel_shape=[2, 2]), made.constant("s", np.array([-1, 2])))
    made.node("Softmax", made.node("Gemm", h, made.weight("m", 2, 3), made.weight("n", 3)), to="y")
    return made.model().SerializeToString()


WHOLE = whole_network()


def loaded_or_refused(path):
    try:
        sv.load_onnx(path)
    except ScalarvizError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert len(str(error)) < 1000  # noqa: PT017
        return False
    return True


@given(seed=st.integers(0, 2**32))
def test_a_file_with_other_bytes_is_loaded_or_refused(tmp_path_factory, seed):
    path = tmp_path_factory.getbasetemp() / "changed.onnx"
    path.write_bytes(flipped(WHOLE, seed))
    loaded_or_refused(path)


PICKLE, ZIP = b"\x80\x04}q\x00.", b"PK\x03\x04" * 20


@pytest.mark.parametrize("content", [*(change(WHOLE) for change in DAMAGED.values()), PICKLE, ZIP])
def test_what_is_no_onnx_file_is_refused(tmp_path, content):
    (tmp_path / "net.onnx").write_bytes(content)
    refused_in_a_line(tmp_path / "net.onnx", FileFormatError, "net.onnx")
