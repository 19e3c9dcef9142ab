"""Normalisations: as one node, or as the nodes that files write where an opset has none.

PyTorch and we write `GroupNorm` as an instance's norm with groups as channels, then each channel scaled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, Shape, Tensor, Way, layer, of_module, plain


@layer("Reshape")
def exported_group_norm(node: Node, facts: Facts) -> Found | None:
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


BATCH = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}
STATISTICS = ("weight", "bias", "running_mean", "running_var")


@layer("BatchNormalization")
def batch_norm(node: Node, facts: Facts) -> Found | None:
    """By running statistics, or in training by those of the batch; its other outputs are not read."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    read = any(name and (facts.readers.get(name) or name in facts.results) for name in node.outputs[1:])
    if not facts.made(x) or len(shape) not in BATCH or read or node.attributes.get("spatial", 1) != 1:
        return None
    channels = (shape[1],)
    tensors = {name: facts.weight(given, channels) for name, given in zip(STATISTICS, node.inputs[1:5], strict=False)}
    weights = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    parts = _affine(weights, facts, node.inputs[1:3], channels)
    if parts is None or not weights.keys() >= {"running_mean", "running_var"}:
        return None
    momentum = round(1.0 - _number(node, "momentum", 0.9), 12)
    if not 0.0 <= momentum <= 1.0:
        return None
    module = BATCH[len(shape)](shape[1], _number(node, "epsilon", 1e-5), momentum, parts[0], bias=parts[1])
    module.train(bool(node.attributes.get("training_mode", 0)))
    # rows of channels as long as there are channels might be samples: a layer of ours refuses them without their axis
    way: Way = "whole" if len(shape) == 3 and shape[1] == shape[2] else "samples"
    return Found(module, (node,), x, node.outputs[0], way, weights)


@layer("LayerNormalization")
def layer_norm(node: Node, facts: Facts) -> Found | None:
    """Over the last axes."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    if not facts.made(x) or any(node.outputs[1:]):
        return None
    axis = int(_number(node, "axis", -1)) % len(shape)
    over, names = shape[axis:], (node.inputs[1], facts.input(node, 2))
    weights = {part: tensor for part, name in zip(("weight", "bias"), names, strict=True)
               if (tensor := facts.weight(name, over)) is not None}  # fmt: skip
    parts = _affine(weights, facts, names, over)
    if axis == 0 or parts is None:
        return None
    module = nn.LayerNorm(over, _number(node, "epsilon", 1e-5), *parts)
    return Found(module, (node,), x, node.outputs[0], "all", weights)


@layer("GroupNormalization", "InstanceNormalization")
def group_norm(node: Node, facts: Facts) -> Found | None:
    """Over groups of channels; with a group a channel it is the norm of an instance."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    if not facts.made(x) or len(shape) < 2:
        return None
    channels = (shape[1],)
    weight, bias = facts.weight(node.inputs[1], channels), facts.weight(node.inputs[2], channels)
    groups = int(_number(node, "num_groups", shape[1]))
    # until version 21 weights were those of groups
    old = node.operator == "GroupNormalization" and facts.graph.opset < 21 and groups != shape[1]
    if weight is None or bias is None or old or groups < 1 or shape[1] % groups:
        return None
    # factors of 1 and summands of 0 stand for a norm without weights, which the standard has not
    own = of_module(weight.name) or of_module(bias.name)
    plain_norm = not own and bool((weight.array == 1).all() and (bias.array == 0).all())
    module = nn.GroupNorm(groups, shape[1], _number(node, "epsilon", 1e-5), affine=not plain_norm)
    weights = {} if plain_norm else {"weight": weight, "bias": bias}
    return Found(module, (node,), x, node.outputs[0], "samples", weights)


def _affine(
    weights: Mapping[str, Tensor], facts: Facts, names: Sequence[str], shape: Shape
) -> tuple[bool, bool] | None:  # fmt: skip
    """Whether a norm has a weight, and whether it has a bias; None where it has a bias alone, or what is no weight."""
    for part, name, number in zip(("weight", "bias"), names, (1.0, 0.0), strict=True):
        if part not in weights and not facts.neutral(name, shape, number):
            return None
    found = "weight" in weights, "bias" in weights
    return None if found == (False, True) else found


def _number(node: Node, name: str, default: float) -> float:
    given: Any = node.attributes.get(name, default)
    return plain(float(given))


@layer("RMSNormalization")
def rms_norm(node: Node, facts: Facts) -> Found | None:
    """Over the last axes."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    given: Any = node.attributes.get("axis", -1)
    if not facts.made(x) or not int(given) % max(len(shape), 1) > 0:
        return None
    over = shape[int(given) % len(shape) :]
    weight, epsilon = facts.weight(node.inputs[1], over), node.attributes.get("epsilon", 1e-5)
    return None if weight is None else _found((node,), x, over, epsilon, weight)


@layer("Pow", "Mul")
def formula(node: Node, facts: Facts) -> Found | None:
    """``x / sqrt(mean(x**2) + eps)`` over the last axes, and the weights behind it."""
    x = node.inputs[0]
    squared = (node.inputs[1:] == (x,)) if node.operator == "Mul" else facts.number(node, 1) == 2.0
    mean = facts.next(node) if squared and facts.made(x) else None
    over = _over(mean, facts) if mean is not None else ()
    plus = facts.next(mean) if mean is not None and over else None
    if mean is None or plus is None or plus.operator != "Add":
        return None
    place = 1 if plus.inputs[0] == mean.outputs[0] else 0
    epsilon, root = facts.number(plus, place), facts.next(plus)
    if epsilon is None or epsilon < 0 or root is None or root.operator != "Sqrt":
        return None
    behind = _divided(root, x, facts)
    if not behind:
        return None
    nodes = (node, mean, plus, root, *behind)
    scaled = _weighed(behind[-1], facts, over)
    return (
        _found(nodes, x, over, epsilon) if scaled is None else _found((*nodes, scaled[0]), x, over, epsilon, scaled[1])
    )


def _found(nodes: tuple[Node, ...], x: str, over: Shape, epsilon: Any, weight: Tensor | None = None) -> Found:
    module = nn.RMSNorm(over, plain(float(epsilon)), elementwise_affine=weight is not None)
    return Found(module, nodes, x, nodes[-1].outputs[0], "all", {} if weight is None else {"weight": weight})


def _over(mean: Node, facts: Facts) -> Shape:
    """The last sides that a ``ReduceMean`` takes the mean over; none where it is another one."""
    if mean.operator != "ReduceMean" or not mean.attributes.get("keepdims", 1):
        return ()
    shape, given = facts.shapes[mean.inputs[0]], mean.attributes.get("axes")
    if given is None and facts.input(mean, 1) in facts.constants:
        given = tuple(facts.constants[mean.inputs[1]].ravel().tolist())
    if not isinstance(given, tuple) or not given:
        return ()
    axes = sorted(int(axis) % len(shape) for axis in given)
    return shape[axes[0] :] if axes[0] > 0 and axes == list(range(axes[0], len(shape))) else ()


def _divided(root: Node, x: str, facts: Facts) -> tuple[Node, ...]:
    """The nodes that divide x by the root: a ``Div``, or one by it and a ``Mul``."""
    first = facts.next(root)
    if first is None:
        return ()
    if first.operator == "Div" and first.inputs == (x, root.outputs[0]):
        return (first,)
    one = first.operator == "Reciprocal" or (
        first.operator == "Div" and first.inputs[1] == root.outputs[0] and facts.number(first, 0) == 1.0
    )
    product = facts.next(first) if one else None
    if product is None or product.operator != "Mul" or sorted(product.inputs) != sorted((x, first.outputs[0])):
        return ()
    return first, product


def _weighed(normal: Node, facts: Facts, over: Shape) -> tuple[Node, Tensor] | None:
    """The product with a weight for each number, if it stands behind."""
    product = facts.next(normal)
    if product is None or product.operator != "Mul" or len(set(product.inputs)) != 2:
        return None
    other = product.inputs[1] if product.inputs[0] == normal.outputs[0] else product.inputs[0]
    weight = facts.weight(other, over)
    return None if weight is None else (product, weight)
