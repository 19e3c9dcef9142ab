"""Activations, Softmax and Dropout."""

from __future__ import annotations

import math
from collections.abc import Callable

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, layer, plain

PLAIN: dict[str, Callable[[], nn.Module]] = {
    "Relu": nn.ReLU, "Sigmoid": nn.Sigmoid, "Tanh": nn.Tanh, "Identity": nn.Identity,
    "Softplus": lambda: nn.Softplus(threshold=math.inf),
}  # fmt: skip


def one_by_one(node: Node, module: nn.Module) -> Found:
    """A layer that computes each number by itself."""
    return Found(module, (node,), node.inputs[0], node.outputs[0], "all")


@layer(*PLAIN)
def without_options(node: Node, facts: Facts) -> Found | None:
    """Those that are told nothing."""
    return one_by_one(node, PLAIN[node.operator]()) if facts.made(node.inputs[0]) else None


@layer("LeakyRelu", "Elu")
def with_alpha(node: Node, facts: Facts) -> Found | None:
    """Those with a slope or a level."""
    if not facts.made(node.inputs[0]):
        return None
    if node.operator == "Elu":
        return one_by_one(node, nn.ELU(plain(_alpha(node, 1.0))))
    return one_by_one(node, nn.LeakyReLU(plain(_alpha(node, 0.01))))


def _alpha(node: Node, default: float) -> float:
    given = node.attributes.get("alpha", default)
    return float(given) if isinstance(given, float | int) else default


@layer("Gelu")
def gelu(node: Node, facts: Facts) -> Found | None:
    """Exact, or by tanh."""
    how = str(node.attributes.get("approximate", "none"))
    return one_by_one(node, nn.GELU(how)) if facts.made(node.inputs[0]) and how in ("none", "tanh") else None


@layer("Clip")
def relu6(node: Node, facts: Facts) -> Found | None:
    """A ``Clip`` from 0 to 6."""
    low, high = (
        (node.attributes.get("min"), node.attributes.get("max"))
        if facts.graph.opset < 11
        else (facts.number(node, 1), facts.number(node, 2))
    )
    return one_by_one(node, nn.ReLU6()) if facts.made(node.inputs[0]) and (low, high) == (0.0, 6.0) else None


@layer("PRelu")
def prelu(node: Node, facts: Facts) -> Found | None:
    """With one learnt slope, or one for each channel."""
    x = node.inputs[0]
    if not facts.made(x):
        return None
    shape = facts.shapes[x]
    channels = shape[1] if len(shape) > 1 else 1
    rest = (1,) * (len(shape) - 2)
    slope = facts.weight(node.inputs[1], (1,), (), (1, *rest))
    if slope is not None:
        return Found(nn.PReLU(), (node,), x, node.outputs[0], "all", {"weight": slope})
    slope = facts.weight(node.inputs[1], (channels,), (channels, *rest), (1, channels, *rest))
    fits = slope is not None and (len(shape) == 2 or facts.constants[node.inputs[1]].shape != (channels,))
    if slope is None or not fits:
        return None
    return Found(nn.PReLU(channels), (node,), x, node.outputs[0], "samples", {"weight": slope})


@layer("Softmax", "LogSoftmax")
def softmax(node: Node, facts: Facts) -> Found | None:
    """Of the rows of the last axis."""
    x = node.inputs[0]
    if not facts.made(x):
        return None
    ndim, opset = len(facts.shapes[x]), facts.graph.opset
    axis = int(node.attributes.get("axis", -1 if opset >= 13 else 1))  # type: ignore[arg-type]
    if ndim == 0 or axis % ndim != ndim - 1:
        return None
    module = nn.Softmax() if node.operator == "Softmax" else nn.LogSoftmax()
    return Found(module, (node,), x, node.outputs[0], "rows")


@layer("Dropout")
def dropout(node: Node, facts: Facts) -> Found | None:
    """With a share that is known, and without its mask as an output."""
    masked = any(name and facts.readers.get(name) for name in node.outputs[1:]) or facts.results & {*node.outputs[1:]}
    if not facts.made(node.inputs[0]) or masked:
        return None
    old = node.attributes.get("ratio", 0.5)
    share = facts.number(node, 1, 0.5) if facts.graph.opset >= 12 else plain(float(old))  # type: ignore[arg-type]
    if share is None or not 0.0 <= share < 1.0:
        return None
    return one_by_one(node, nn.Dropout(share))
