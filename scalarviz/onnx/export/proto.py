"""A sheet as the bytes of an ONNX file: opset 17, IR 8, a batch of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ..graph import OURS, Node
from .sheet import DOUBLE, FLOAT, INT64, Sheet, Tensor

OPSET, IR = 17, 8
"""What onnxruntime and everybody else reads."""
LARGEST = 2**31 - 2**20
"""Bytes of a file: protobuf has no larger message."""
TYPES = {"float32": FLOAT, "float64": DOUBLE, "int64": INT64}


def encoded(sheet: Sheet, inputs: Sequence[tuple[Tensor, str]], outputs: Sequence[Tensor], title: str) -> bytes:
    """The file.

    Parameters
    ----------
    sheet : Sheet
    inputs : sequence of (Tensor, dtype)
    outputs : sequence of Tensor
        Made by nodes of the sheet.
    title : str
        Name of the graph.

    Raises
    ------
    InputError
        It would be larger than ONNX files can be.
    """
    size = sum(array.nbytes for array in sheet.constants.values())
    if size > LARGEST:
        raise InputError(
            f"to_onnx: the weights take {size / 2**30:.1f} GiB, an ONNX file holds at most 2 GiB; "
            "net.state_dict() and sv.io.save_tensors write any size as safetensors"
        )
    import onnx
    from onnx import helper, numpy_helper

    ports = [helper.make_tensor_value_info(t.name, TYPES[kind], ["N", *t.shape]) for t, kind in inputs]
    ends = [helper.make_tensor_value_info(t.name, TYPES[sheet.dtype.name], ["N", *t.shape]) for t in outputs]
    constants = [numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)
                 for name, a in sheet.constants.items()]  # fmt: skip
    graph = helper.make_graph([_node(node) for node in sheet.nodes], title, ports, ends, constants)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR, producer_name=OURS
    )  # fmt: skip
    onnx.checker.check_model(model)
    found: bytes = model.SerializeToString(deterministic=True)
    return found


def _node(node: Node) -> Any:
    from onnx import helper

    return helper.make_node(node.operator, list(node.inputs), list(node.outputs), node.name, **_plain(node.attributes))


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    from onnx import numpy_helper

    plain: dict[str, Any] = {}
    for name, x in attributes.items():
        plain[name] = (
            numpy_helper.from_array(x) if isinstance(x, np.ndarray) else list(x) if isinstance(x, tuple) else x
        )
    return plain
