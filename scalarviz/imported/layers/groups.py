"""`GroupNorm` as PyTorch and we write it: groups as channels of an instance's norm, then each channel scaled."""

from __future__ import annotations

from math import prod
from typing import Any

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, Shape, Tensor, layer, plain


@layer("Reshape")
def group_norm(node: Node, facts: Facts) -> Found | None:
    """``Reshape``, ``InstanceNormalization`` without weights, ``Reshape`` back; perhaps ``Mul`` and ``Add``."""
    x, apart = node.inputs[0], facts.shapes.get(node.outputs[0], ())
    shape, norm = facts.shapes.get(x, ()), facts.next(node)
    if not facts.made(x) or len(shape) < 2 or norm is None or norm.operator != "InstanceNormalization":
        return None
    back = facts.next(norm)
    if back is None or back.operator != "Reshape" or not _neutral(norm, facts):
        return None
    groups = apart[1] if len(apart) > 2 else 0
    together = apart[:1] == shape[:1] == (1,) and groups > 0 and shape[1] % groups == 0
    if not together or prod(apart) != prod(shape) or facts.shapes.get(back.outputs[0]) != shape:
        return None
    epsilon: Any = norm.attributes.get("epsilon", 1e-5)
    nodes, weights = _scaled((node, norm, back), facts, shape)
    module = nn.GroupNorm(groups, shape[1], plain(float(epsilon)), affine=bool(weights))
    return Found(module, nodes, x, nodes[-1].outputs[0], "samples", weights)


def _scaled(nodes: tuple[Node, ...], facts: Facts, shape: Shape) -> tuple[tuple[Node, ...], dict[str, Tensor]]:
    """The nodes with the two behind them that scale each channel, and their weights; factors of 1 are none."""
    scale = _behind(nodes[-1], facts, "Mul")
    shift = _behind(scale[0], facts, "Add") if scale is not None else None
    if scale is None or shift is None:
        return nodes, {}
    weight, bias = (_of_channels(name, facts, shape) for name in (scale[1], shift[1]))
    if weight is not None and bias is not None:
        return (*nodes, scale[0], shift[0]), {"weight": weight, "bias": bias}
    plain_norm = _all(scale[1], facts, 1.0, shape) and _all(shift[1], facts, 0.0, shape)
    return ((*nodes, scale[0], shift[0]) if plain_norm else nodes), {}


def _neutral(norm: Node, facts: Facts) -> bool:
    """Whether a norm has factors of 1 and summands of 0."""
    return all(
        name in facts.constants and bool((facts.constants[name] == number).all())
        for name, number in zip(norm.inputs[1:3], (1.0, 0.0), strict=True)
    )


def _all(name: str, facts: Facts, number: float, shape: Shape) -> bool:
    """Whether a constant of the file's formula, and no weight, is that number everywhere."""
    array = facts.constants.get(name) if name in facts.fixed else None
    return array is not None and array.ndim <= len(shape) and array.size <= shape[1] and bool((array == number).all())


def _behind(node: Node, facts: Facts, operator: str) -> tuple[Node, str] | None:
    """The only node behind another, if it is of this operator, and what it takes besides."""
    found = facts.next(node)
    if found is None or found.operator != operator or len(found.inputs) != 2:
        return None
    return found, found.inputs[1] if found.inputs[0] == node.outputs[0] else found.inputs[0]


def _of_channels(name: str, facts: Facts, shape: Shape) -> Tensor | None:
    """A weight for each channel; one of a single dimension belongs to the last axis."""
    rest = (1,) * (len(shape) - 2)
    weight = facts.weight(name, (shape[1],), (shape[1], *rest), (1, shape[1], *rest))
    return None if weight is None or (rest and facts.constants[name].shape == (shape[1],)) else weight
