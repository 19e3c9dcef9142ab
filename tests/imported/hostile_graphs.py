"""Graphs that ask for more than there is, loaded with little memory: `python hostile_graphs.py FOLDER BYTES NAMES`.

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

path = Path(sys.argv[1]) / "net.onnx"


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


def chain(operator, length, *more, x="x", **attributes):
    """One node behind the other, each with the one before as all its inputs."""
    names = [x, *(f"t{k}" for k in range(length - 1)), "y"]
    return [node(operator, " ".join([a] * (2 if operator == "Concat" else 1) + [*more]), b, **attributes)
            for a, b in pairwise(names)]  # fmt: skip


ONE, ROW = np.ones((2, 3, 4, 5), np.float32), np.ones((1, 2**20), np.float32)
tiles = [node("Tile", "row times", f"t{k}") for k in range(40)]
files = {
    "side": model(node("Relu", "x"), x=("N", 2**40)),
    "sides": model(node("Relu", "x"), x=("N", 2**40, 2**40)),
    "no side": model(node("Relu", "x"), x=("N", 0)),
    "batch": model(node("Relu", "x"), x=(2**31 - 1, 3)),
    "concat": model(*chain("Concat", 50, axis=1)),
    "long": model(*chain("Relu", 4_000), x=("N", 300_000)),
    "tiles": model(*tiles, node("Sum", " ".join(f"t{k}" for k in range(40)), "s"), node("Add", "x s"),
                   row=ROW, times=whole(1, 64)),
    "outer": model(node("MatMul", "column x"), x=(1, 2**17), column=ROW.T[: 2**17]),
    "gemm": model(node("Gemm", "column x"), x=(1, 2**17), column=ROW.T[: 2**17]),
    "einsum": model(node("Einsum", "e e e x", equation="abcd,efgh,ijkl,mn->mn"), e=np.ones((20,) * 4, np.float32)),
    "split": model(node("Split", "x", "y z", num_outputs=2**60)),
    "gather": model(node("Gather", "row g", "a"), node("Add", "a x"), row=ROW, g=np.zeros(2**10, np.int64)),
    "gather nd": model(node("GatherND", "row g", "a"), node("Add", "a x"), row=ROW, g=np.zeros((2**10, 1), np.int64)),
    "expand": model(node("Expand", "x s"), s=whole(1, 2**40, 3)),
    "mode": model(node("Pad", "x p", mode="mirror"), p=whole(0, 1, 0, 1)),
    "nearest": model(node("Resize", "x  s".replace("  ", " r "), nearest_mode="odd"), x=("N", 1, 4, 4),
                     r=np.ones(0, np.float32), s=np.array([1, 1, 2, 2], np.float32)),
    "inputs": model(node("Mul", "x x x")),
    "no input": model(helper.make_node("Mul", ["x", ""], ["y"])),
    "outputs": model(node("Relu", "x", "y z")),
    "attribute": model(node("Relu", "x", slope=1.0)),
    "kind": model(node("Transpose", "x", perm="ab")),
    "missing": model(node("Concat", "x x")),
    "name": model(node("Pad", "x p", mode="mirror", name="n" * 10**6), p=whole(0, 1, 0, 1)),
    "text": model(node("Relu", "x", name="secret")).replace(b"secret", b"\xff\xfe\xfd\xfc\xfb\xfa"),
}  # fmt: skip
status = Path("/proc/self/status").read_text().splitlines()
used = int(next(line.split()[1] for line in status if line.startswith("VmSize"))) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]),) * 2)
warnings.simplefilter("error")
large = {"concat", "long", "tiles"}
for name in [name for name in files if (name in large) == (sys.argv[3] == "large")]:
    content = files[name]
    path.write_bytes(content)
    try:
        sv.load_onnx(path)
    except ScalarvizError as error:
        said = str(error)
        assert "\n" not in said, said
        assert len(said) < 500, said
        print(f"{name}: {said}")
    else:
        print(f"{name}: READ")
