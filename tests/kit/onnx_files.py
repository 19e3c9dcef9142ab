"""ONNX files for tests: models written node by node, and what onnxruntime and our objects compute of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import scalarviz as sv

from .nested import numbers

FLOAT, WHOLE = TensorProto.FLOAT, TensorProto.INT64
KINDS = {np.float32: FLOAT, np.int64: WHOLE, np.float64: TensorProto.DOUBLE}
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def drawn(*shape: int, seed: int = 5) -> np.ndarray:
    """Normal numbers in float32."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


class Made:
    """A model of one input ``x`` that is written node by node; texts in `shape` are open sides."""

    def __init__(self, *shape: Any, seed: int = 0, dtype: type = np.float32, opset: int = 17) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.functions: list[Any] = []
        self.rng = np.random.default_rng(seed)
        self.inputs = [helper.make_tensor_value_info("x", KINDS[dtype], shape)]
        self.opset = opset

    def weight(self, name: str, *shape: int, scale: float = 0.5, shift: float = 0.0) -> str:
        """A stored tensor of drawn numbers in float32; its name."""
        return self.constant(name, (self.rng.normal(size=shape) * scale + shift).astype(np.float32))

    def constant(self, name: str, numbers: Any) -> str:
        """A stored tensor of these numbers; its name."""
        self.tensors.append(numpy_helper.from_array(np.asarray(numbers), name))
        return name

    def fixed(self, numbers: Any, dtype: type = np.float32) -> str:
        """A ``Constant`` node, which is part of a formula; the name of its tensor."""
        return self.node("Constant", value=numpy_helper.from_array(np.asarray(numbers, dtype)))

    def node(self, operator: str, *inputs: str, name: str = "", to: str | None = None, **attributes: Any) -> str:
        """A node; the name of its output. `kind` is what a Cast calls ``to``."""
        output = to or f"t{len(self.nodes)}"
        if "kind" in attributes:
            attributes["to"] = attributes.pop("kind")
        made = helper.make_node(operator, list(inputs), output.split(), name=name)
        made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(made)
        return output

    def read(self, text: str) -> Made:
        """Nodes as text, one a line: ``y = Gemm(x, w:4x3, b:=[0.0, 1.0], {2.0}, transB=1) @its name``.

        ``w:4x3`` is a stored tensor of drawn numbers (``w:4+1``: around 1), ``b:=`` one of these numbers; ``{}`` is a
        ``Constant`` node, and ``_`` an input that is left out.
        """
        for line in filter(None, text.splitlines()):
            self._read(line)
        return self

    def _read(self, line: str) -> None:
        said = re.fullmatch(r"(.+?) = (\w+)\((.*)\)(?: @(.*))?", line)
        assert said, line
        parts, inputs, attributes = list[str](), list[str](), {}
        for piece in said[3].split(", "):
            inside = parts and sum(map(parts[-1].count, "[{")) > sum(map(parts[-1].count, "]}"))
            parts[-1:] = [f"{parts[-1]}, {piece}"] if inside else [*parts[-1:], piece]
        for part in parts:
            if found := re.fullmatch(r"(\w+)=(.+)", part):
                attributes[found[1]] = eval(found[2])
            elif found := re.fullmatch(r"(.+):=(.+)", part):
                array = np.array(eval(found[2], {"inf": np.inf}))
                inputs.append(self.constant(found[1], array.astype(np.float32) if array.dtype.kind == "f" else array))
            elif found := re.fullmatch(r"(.+):([\dx]+)(?:\+(\d))?", part):
                inputs.append(self.weight(found[1], *map(int, found[2].split("x")), shift=float(found[3] or 0)))
            else:
                inputs.append(self.fixed(eval(part[1:-1])) if part[0] == "{" else part.removeprefix("_"))
        self.node(said[2], *inputs, name=said[4] or "", to=said[1], **attributes)

    def note(self, key: str, text: str) -> None:
        """Metadata of the last node."""
        said = self.nodes[-1].metadata_props.add()
        said.key, said.value = key, text

    def model(self, *outputs: str) -> Any:
        ports = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs or ("y",)]
        graph = helper.make_graph(self.nodes, "made", self.inputs, ports, initializer=self.tensors)
        opsets = [helper.make_opsetid("", self.opset), *([helper.make_opsetid("own", 1)] if self.functions else [])]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=self.functions)

    def save(self, folder: Path, *outputs: str) -> Path:
        onnx.save(self.model(*outputs), folder / "made.onnx")
        return folder / "made.onnx"


def session(path: Path) -> Any:
    """onnxruntime with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def computed(path: Path, *inputs: np.ndarray) -> list[np.ndarray]:
    """All outputs by onnxruntime."""
    made = session(path)
    ports = made.get_inputs()
    return made.run(None, {port.name: x.astype(TYPES[port.type]) for port, x in zip(ports, inputs, strict=True)})


def by_objects(net: Any, *inputs: np.ndarray) -> np.ndarray:
    """All numbers of a network for each sample, in evaluation, in float64; its modes stay."""
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with sv.no_grad():
            return np.array([numbers(net(*(x.tolist() for x in row))) for row in zip(*inputs, strict=True)])
    finally:
        for module, mode in modes:
            module.training = mode


def assert_near(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    """Norm-wise, whatever the shapes are."""
    found, wanted = np.ravel(found), np.ravel(wanted)
    assert found.shape == wanted.shape
    assert np.linalg.norm(wanted) > 0
    assert np.linalg.norm(found - wanted) <= tolerance * np.linalg.norm(wanted)


def agrees(net: Any, path: Path, x: np.ndarray, tolerance: float = 1e-5) -> np.ndarray:
    """Assert that a loaded network gives onnxruntime's first output for each sample; these numbers."""
    wanted = computed(path, x)[0]
    assert len(wanted) == len(x)
    found = np.array([numbers(net(sample)) for sample in x])  # as it stands: in training or not
    assert_near(found, wanted, tolerance)
    return wanted


def operators(path: Path) -> list[str]:
    """What a file is made of, without constants."""
    return [node.op_type for node in onnx.load(path).graph.node if node.op_type != "Constant"]


def stored(path: Path) -> dict[str, np.ndarray]:
    """A file's tensors, as the package onnx reads them."""
    return {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
