"""Files that were damaged, or made to do harm: each is refused in one line, and what it costs is bounded."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from scalarviz.errors import FileFormatError, InputError, ScalarvizError
from scalarviz.onnx.reading import graph_of, read_graph

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])
W = numpy_helper.from_array(np.ones((3, 3), np.float32), "w")


def node(operator, inputs, outputs, name=""):
    return helper.make_node(operator, inputs, outputs, name=name)


def model(*nodes, inputs=(X,), outputs=(Y,), tensors=(), opset=17, ir=8):
    graph = helper.make_graph(nodes or [node("Relu", ["x"], ["y"])], "g", inputs, outputs, initializer=tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = ir
    return made


def refused(made, kind=FileFormatError):
    with pytest.raises(kind) as caught:
        graph_of(made, "net")
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith("net")
    assert len(said) < 400
    return said


def stored(**change):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 3], raw_data=bytes(36))
    for field, value in change.items():
        tensor.ClearField(field)
        if isinstance(value, list):
            getattr(tensor, field).extend(value)
        elif value is not None:
            setattr(tensor, field, value)
    return tensor


# ---- graphs that do not fit together


def test_a_circle_is_named():
    said = refused(
        model(node("Add", ["x", "c"], ["a"], "one"), node("Exp", ["a"], ["c"], "two"), node("Relu", ["c"], ["y"]))
    )
    assert "in a circle: 'one' -> 'two'" in said or "in a circle: 'two' -> 'one'" in said


def test_a_node_that_needs_itself():
    assert "node 'self' needs its own output" in refused(model(node("Add", ["x", "y"], ["y"], "self")))


def test_missing_tensors_are_named():
    said = refused(model(node("Gemm", ["x", "w", "b"], ["y"], "first")))
    assert "'w' of node 'first', 'b' of node 'first'" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"outputs": ()}, "no outputs"),
        ({"outputs": (helper.make_tensor_value_info("z", 1, [1]),)}, "nothing makes its outputs 'z'"),
        ({"inputs": (X, X)}, "input 'x' is there twice"),
        ({"tensors": (W, W)}, "'w' is stored twice"),
        ({"inputs": (X, helper.make_tensor_value_info("w", 1, [3, 4])), "tensors": (W,)}, "stored tensor has (3, 3)"),
        ({"opset": 1000}, "(opset) 1000"),
        ({"opset": 0}, "(opset) 0"),
        ({"ir": 1000}, "(IR) 1000"),
    ],
)
def test_ports_and_versions(change, says):
    assert says in refused(model(**change))


def test_tensors_that_are_made_twice():
    assert "'y' is made twice: by node 'a' and by node 'b'" in refused(
        model(node("Relu", ["x"], ["y"], "a"), node("Exp", ["x"], ["y"], "b"))
    )
    assert "'x' is made twice: by an input or a stored tensor" in refused(model(node("Relu", ["x"], ["x"], "a")))
    constant = helper.make_node("Constant", [], ["w"], value_float=1.0)
    assert "'w', which is stored" in refused(model(constant, node("Relu", ["x"], ["y"]), tensors=[W]))


def test_old_and_new_versions():
    for opset in (7, 9, onnx.defs.onnx_opset_version()):
        assert graph_of(model(opset=opset), "net").opset == opset
    two = model()
    two.opset_import.extend([helper.make_opsetid("ai.onnx", 12)])
    assert "one version" in refused(two)
    none = model()
    del none.opset_import[:]
    assert "one version" in refused(none)
    none.ir_version = 2
    assert graph_of(none, "net").opset == 1


# ---- tensors that lie


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dims": [2**20, 2**20]}, "4,398,046,511,104 bytes, but 36 are there"),
        ({"dims": [2**62, 2**62, 2**62]}, "but 36 are there"),
        ({"dims": [3, 4]}, "48 bytes, but 36"),
        ({"dims": [-3, -3]}, "none negative"),
        ({"dims": [1] * 40}, "at most 32 sides"),
        ({"dims": []}, "4 bytes, but 36"),
        ({"data_type": 0}, "type UNDEFINED"),
        ({"data_type": 99}, "type number 99"),
        ({"data_type": TensorProto.COMPLEX64}, "type COMPLEX64"),
        ({"data_type": TensorProto.DOUBLE}, "72 bytes, but 36"),
        ({"raw_data": None, "float_data": [1.0] * 8}, "9 numbers, but 8"),
        ({"raw_data": None}, "9 numbers, but 0"),
        ({"raw_data": None, "data_type": TensorProto.INT8, "int32_data": [1000] * 9}, "beyond its type INT8"),
        ({"name": ""}, "without a name"),
        ({"data_type": TensorProto.STRING, "raw_data": None, "string_data": [b"a"]}, "9 texts, but 1 is"),
    ],
)
def test_tensors(change, says):
    assert says in refused(model(tensors=[stored(**change)]))


def test_texts_take_no_more_room_than_they_have():
    many = stored(
        dims=[10_000], data_type=TensorProto.STRING, raw_data=None, string_data=[b"a" * 10**6, *[b""] * 9_999]
    )
    assert "texts of up to 1,000,000 letters" in refused(model(tensors=[many]))


def test_attributes_that_do_not_fit():
    twice = node("Relu", ["x"], ["y"])
    twice.attribute.extend([helper.make_attribute("a", 1), helper.make_attribute("a", 2)])
    assert "two attributes 'a'" in refused(model(twice))
    odd = node("Relu", ["x"], ["y"])
    odd.attribute.extend([onnx.AttributeProto(name="a")])
    assert "no kind that is known (0)" in refused(model(odd))
    empty = helper.make_node("Constant", [], ["w"])
    assert "must hold one value" in refused(model(empty, node("Relu", ["x"], ["y"])))


def test_names_that_are_no_text(tmp_path):
    encoded = model(node("Relu", ["x"], ["hidden"]), node("Exp", ["hidden"], ["y"])).SerializeToString()
    (tmp_path / "net.onnx").write_bytes(encoded.replace(b"hidden", b"hid\xff\xfeen"))
    with pytest.raises(FileFormatError, match=r"UTF-8|damaged"):
        read_graph(tmp_path / "net.onnx")


# ---- numbers beside the file


def beside(folder: Path, location: str, **change: object) -> Path:
    tensor = stored(raw_data=None, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **change}.items():
        tensor.external_data.add(key=key, value=str(value))
    made = model(node("MatMul", ["x", "w"], ["y"]), tensors=[tensor])
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
    (home / "inside").symlink_to(home / "data")
    (home / "outside").symlink_to(tmp_path / "secret")
    (home / "up").symlink_to(tmp_path)
    (home / "circle").symlink_to(home / "circle")
    os.mkfifo(home / "pipe")
    return home


@pytest.mark.parametrize("location", ["data", "./data", "inside", "deeper/../data"])
def test_files_in_the_folder_are_read(home, location):
    assert np.array_equal(read_graph(beside(home, location)).constants["w"].ravel(), np.arange(9))


def test_a_part_of_a_file_deeper_in_the_folder(home):
    path = beside(home, "deeper/data", offset=4, length=36)
    assert np.array_equal(read_graph(path).constants["w"].ravel(), np.arange(9))


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("../secret", "outside the folder"),
        ("/etc/passwd", "outside the folder"),
        ("outside", "outside the folder"),
        ("up/secret", "outside the folder"),
        ("", "outside the folder"),
        (".", "outside the folder"),
        ("deeper", "no regular file"),
        ("pipe", "no regular file"),
        ("circle", "cannot be read"),
        ("none", "cannot be read"),
        ("a" * 5000, "cannot be read"),
        ("a\0b", "no file's name"),
    ],
)
def test_other_files_are_not_opened(home, location, says):
    with pytest.raises(FileFormatError, match=says) as caught:
        read_graph(beside(home, location))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"offset": 4}, "needs bytes 4 to 40 of data, which has 36"),
        ({"offset": 10**17}, "which has 36"),
        ({"offset": -4}, "offset must be a number of bytes, got '-4'"),
        ({"offset": "9" * 5000}, "offset must be a number"),
        ({"offset": "1_0"}, "offset must be a number"),
        ({"length": 35}, "36 bytes by its shape, but 35"),
        ({"length": "x"}, "length must be a number"),
    ],
)
def test_places_that_there_are_not(home, change, says):
    with pytest.raises(FileFormatError, match=re.escape(says)):
        read_graph(beside(home, "data", **change))


def test_a_model_in_memory_has_no_folder(home):
    made = onnx.load(beside(home, "data"), load_external_data=False)
    assert "has no folder" in refused(made)


# ---- what it costs

HARM = Path(__file__).with_name("hostile_reading.py")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits of memory are Linux's")
def test_little_memory_is_enough_to_refuse(tmp_path):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(HARM), str(tmp_path), str(300 * 2**20)], env=environment,
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert len(said) == 10
    assert not [name for name, words in said.items() if words == "READ"]
    assert "more than 200,000 nodes" in said["million nodes"]
    assert "more than 2,000,000 entries" in said["sides"]
    assert "GB of memory" in said["holes"]


@given(data=st.data())
def test_a_file_with_other_bytes_is_read_or_refused(data, tmp_path_factory):
    encoded = bytearray(model(node("MatMul", ["x", "w"], ["y"], "m"), tensors=[W]).SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.onnx"
    path.write_bytes(encoded)
    try:
        read_graph(path)
    except ScalarvizError as error:
        said = str(error)
    else:
        said = ""
    assert "\n" not in said


def test_a_long_chain_is_sorted_without_recursion():
    names = ["x", *(f"t{k}" for k in range(20_000)), "y"]
    nodes = [node("Relu", [a], [b]) for a, b in itertools.pairwise(names)]
    ordered = graph_of(model(*reversed(nodes)), "net").nodes
    assert [n.outputs[0] for n in ordered] == names[1:]


def test_no_memory_is_said_in_a_line(tmp_path, monkeypatch):
    (tmp_path / "net.onnx").write_bytes(model().SerializeToString())
    monkeypatch.setattr("scalarviz.memory.free_memory", lambda: 10)
    with pytest.raises(InputError, match="GB of memory"):
        read_graph(tmp_path / "net.onnx")
