"""`RMSNorm`, as one node or as the formula that files write where an opset has none."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, Shape, Tensor, layer, plain


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
