"""Models as other programs write them, made with onnx.helper; and what onnxruntime computes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from scalarviz.scalar.nested import flatten

KINDS = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}


class Made:
    """A model that is written node by node.

    Parameters
    ----------
    shape : tuple
        Of the input ``x``; texts are sides that are open.
    seed : int
        Of its weights.
    dtype : type
        Of the input.
    """

    def __init__(self, shape, seed=0, dtype=np.float32, opset=17):
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.rng = np.random.default_rng(seed)
        self.inputs = [helper.make_tensor_value_info("x", KINDS[dtype], shape)]
        self.opset = opset

    def weight(self, name, *shape, scale=0.5, shift=0.0):
        """A drawn tensor of float32."""
        return self.constant(name, (self.rng.normal(size=shape) * scale + shift).astype(np.float32))

    def constant(self, name, numbers):
        """A tensor of these numbers."""
        self.tensors.append(numpy_helper.from_array(np.asarray(numbers), name))
        return name

    def node(self, operator, *inputs, name="", to=None, **attributes):
        """A node with one output; its name."""
        output = to or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=name, **attributes))
        return output

    def model(self, *outputs):
        """The model with these outputs."""
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "made", self.inputs, ports, initializer=self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def save(self, folder, *outputs):
        """Written to a file; its path."""
        path = folder / "made.onnx"
        onnx.save(self.model(*outputs), path)
        return path


def computed(path, *inputs):
    """The first output that onnxruntime computes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]


def agrees(net, path, x, tolerance=1e-5):
    """Whether each sample's output is onnxruntime's, norm-wise."""
    wanted = computed(path, x)
    assert len(wanted) == len(x)
    found = np.array([[v.data for v in flatten(net(sample))] for sample in x]).reshape(wanted.shape)
    assert np.linalg.norm(wanted) > 0
    assert np.linalg.norm(found - wanted) <= tolerance * np.linalg.norm(wanted)
    return wanted
