"""Files that ask for more than there is, loaded with little memory: `python little_memory.py FOLDER BYTES NAMES`.

NAMES: ``small``, those that are refused before much is computed, or ``large``.
"""

import resource
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import scalarviz as sv
from scalarviz.errors import ScalarvizError

here = Path(sys.argv[1])


def whole(*numbers):
    return np.array(numbers, np.int64)


def model(*nodes, x=("N", 3), opset=18, **tensors):
    made = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(x))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()],
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


def node(operator, inputs, outputs="y", **attributes):
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def chain(operator, length, **attributes):
    """One node behind the other, each with the one before as all its inputs."""
    names = ["x", *(f"t{k}" for k in range(length - 1)), "y"]
    count = 2 if operator == "Concat" else 1
    return [node(operator, " ".join([a] * count), b, **attributes) for a, b in pairwise(names)]


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def encoded(graph):
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


def deep():
    inner = b""
    for _ in range(1000):  # a graph in an attribute of a node of a graph
        inner = field(1, field(5, field(6, inner)))
    return inner


def beside(**change):
    """A tensor in a file of a terabyte of holes."""
    made = TensorProto(data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL, **change)
    made.external_data.add(key="location", value="holes")
    return made.SerializeToString()


with open(here / "holes", "wb") as file:
    file.truncate(2**40)
ONE, ROW, RELU = np.ones((20,) * 4, np.float32), np.ones((1, 2**20), np.float32), node("Relu", "x")
tiles = [node("Tile", "row times", f"t{k}") for k in range(40)]
files = {
    "side": lambda: model(RELU, x=("N", 2**40)),
    "sides": lambda: model(RELU, x=("N", 2**40, 2**40)),
    "no side": lambda: model(RELU, x=("N", 0)),
    "batch": lambda: model(RELU, x=(2**31 - 1, 3)),
    "concat": lambda: model(*chain("Concat", 50, axis=1)),
    "long": lambda: model(*chain("Relu", 4_000), x=("N", 300_000)),
    "tiles": lambda: model(*tiles, node("Sum", " ".join(f"t{k}" for k in range(40)), "s"), node("Add", "x s"),
                           row=ROW, times=whole(1, 64)),
    "outer": lambda: model(node("MatMul", "column x"), x=(1, 2**17), column=ROW.T[: 2**17]),
    "gemm": lambda: model(node("Gemm", "column x"), x=(1, 2**17), column=ROW.T[: 2**17]),
    "einsum": lambda: model(node("Einsum", "e e e x", equation="abcd,efgh,ijkl,mn->mn"), e=ONE),
    "split": lambda: model(node("Split", "x", "y z", num_outputs=2**60)),
    "gather": lambda: model(node("Gather", "row g", "a"), node("Add", "a x"), row=ROW, g=np.zeros(2**10,
        np.int64)),
    "gather nd": lambda: model(node("GatherND", "row g", "a"), node("Add", "a x"), row=ROW,
                               g=np.zeros((2**10, 1), np.int64)),
    "expand": lambda: model(node("Expand", "x s"), s=whole(1, 2**40, 3)),
    "name": lambda: model(node("Pad", "x p", mode="mirror", name="n" * 10**6), p=whole(0, 1, 0, 1)),
    "million nodes": lambda: encoded(field(1, field(1, b"x") + field(2, b"y") + field(4, b"Relu")) * 10**6),
    "empty nodes": lambda: encoded(field(1, b"") * 5_000_000),
    "empty attributes": lambda: encoded(field(1, field(5, b"") * 5_000_000)),
    "entries": lambda: encoded(field(5, field(1, b"\x01" * 9_000_000))),
    "numbers of an attribute": lambda: encoded(field(1, field(5, field(8, b"\x01" * 9_000_000)))),
    "deep": lambda: encoded(deep()),
    "end": lambda: b"\x08\x08" + b"\x3a" + varint(2**60),
    "groups": lambda: b"\x0b" * 1_000_000,
    "holes": lambda: encoded(field(5, beside(name="w", dims=[2**38]))),
    "one place": lambda: encoded(b"".join(field(5, beside(name=str(k), dims=[2**24])) for k in range(100))),
}  # fmt: skip
status = Path("/proc/self/status").read_text().splitlines()
used = int(next(line.split()[1] for line in status if line.startswith("VmSize"))) * 1024
warnings.simplefilter("error")
contents = {
    name: make() for name, make in files.items() if (name in {"concat", "long", "tiles"}) == (sys.argv[3] == "large")
}
resource.setrlimit(resource.RLIMIT_AS, (used + sum(map(len, contents.values())) + int(sys.argv[2]),) * 2)
for name, content in contents.items():
    (here / "net.onnx").write_bytes(content)
    try:
        sv.load_onnx(here / "net.onnx")
    except ScalarvizError as error:
        said = str(error)
        assert "\n" not in said, said
        assert len(said) < 500, said
        assert "net" in said[:60] or "/net.onnx" in said, said
        print(f"{name}: {said}")
    else:
        print(f"{name}: READ")
