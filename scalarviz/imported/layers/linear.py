"""`Linear`, `Embedding`, convolutions, and pools of rows and of pictures."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, Tensor, layer

Sides = tuple[int, ...]
CONVS = {1: nn.Conv1d, 2: nn.Conv2d}
MAX_POOLS = {1: nn.MaxPool1d, 2: nn.MaxPool2d}
MEAN_POOLS = {1: nn.AvgPool1d, 2: nn.AvgPool2d}
ADAPTIVE = {1: nn.AdaptiveAvgPool1d, 2: nn.AdaptiveAvgPool2d}


@layer("Conv")
def conv(node: Node, facts: Facts) -> Found | None:
    """With constant weights, and a border that stands on both sides alike or leaves the sides as they are."""
    x, weight = node.inputs[0], facts.weight(node.inputs[1])
    bias = facts.input(node, 2)
    if weight is None or not facts.made(x) or weight.array.ndim - 2 not in CONVS:
        return None
    n, groups = weight.array.ndim - 2, int(_number(node, "group", 1))
    row = facts.weight(bias, (len(weight.array),)) if bias else None
    size = weight.array.shape[2:]
    step, dilation = _sides(node, "strides", n, 1), _sides(node, "dilations", n, 1)
    field = tuple((k - 1) * d + 1 for k, d in zip(size, dilation, strict=True))
    padding = _padding(node, facts.shapes[x][2:], field, step)
    if padding is None or (bias and row is None) or len(weight.array) % groups:
        return None
    module = CONVS[n](
        weight.array.shape[1] * groups, len(weight.array), size, step, padding, dilation, groups, row is not None,
        seed=0,
    )  # fmt: skip
    weights = {"weight": weight} | ({"bias": row} if row else {})
    return Found(module, (node,), x, node.outputs[0], "samples", weights)


@layer("MaxPool", "AveragePool")
def pool(node: Node, facts: Facts) -> Found | None:
    """With windows that are filled, and a border on both sides alike."""
    x = node.inputs[0]
    n = len(facts.shapes.get(x, ())) - 2
    plain = not _number(node, "ceil_mode", 0) and not any(node.outputs[1:]) and n in MAX_POOLS and facts.made(x)
    if not plain or set(_sides(node, "dilations", n, 1)) != {1}:
        return None
    size, step = _sides(node, "kernel_shape", n, 1), _sides(node, "strides", n, 1)
    padding = _padding(node, facts.shapes[x][2:], size, step)
    if not isinstance(padding, tuple) or any(2 * p > k for p, k in zip(padding, size, strict=True)):
        return None
    if node.operator == "AveragePool" and any(padding) and not _number(node, "count_include_pad", 0):
        return None
    module = (MAX_POOLS if node.operator == "MaxPool" else MEAN_POOLS)[n](size, step, padding)
    return Found(module, (node,), x, node.outputs[0], "samples")


@layer("GlobalAveragePool")
def global_pool(node: Node, facts: Facts) -> Found | None:
    """The mean of each channel."""
    x = node.inputs[0]
    n = len(facts.shapes.get(x, ())) - 2
    if n not in ADAPTIVE or not facts.made(x):
        return None
    return Found(ADAPTIVE[n](1), (node,), x, node.outputs[0], "samples")


def _number(node: Node, name: str, default: int) -> int:
    given: Any = node.attributes.get(name, default)
    return int(given)


def _sides(node: Node, name: str, n: int, default: int) -> Sides:
    given: Any = node.attributes.get(name)
    return (default,) * n if given is None else tuple(int(side) for side in given)


def _padding(node: Node, sides: Sides, field: Sides, step: Sides) -> Sides | str | None:
    """The border as a layer of ours has it; None where it has none such."""
    given: Any = node.attributes.get("pads")
    auto: Any = node.attributes.get("auto_pad", "NOTSET")
    if auto == "VALID" or (auto == "NOTSET" and given is None):
        return (0,) * len(field)
    if auto == "NOTSET":
        pads = [int(side) for side in given]
        before, behind = tuple(pads[: len(field)]), tuple(pads[len(field) :])
    else:
        totals = [max((-(-a // s) - 1) * s + f - a, 0) for a, s, f in zip(sides, step, field, strict=True)]
        less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        before, behind = (less, more) if auto == "SAME_UPPER" else (more, less)
    if before == behind:
        return before if min(before, default=0) >= 0 else None
    same = [(f - 1) // 2 for f in field], [f - 1 - (f - 1) // 2 for f in field]
    return "same" if [*map(list, (before, behind))] == [*same] and set(step) == {1} else None


@layer("Gemm")
def gemm(node: Node, facts: Facts) -> Found | None:
    """A matrix product with a constant matrix, and a bias or none."""
    x, attributes = node.inputs[0], node.attributes
    bias = facts.input(node, 2)
    plain = not attributes.get("transA") and attributes.get("alpha", 1.0) == 1.0
    if not plain or (bias and attributes.get("beta", 1.0) != 1.0) or not facts.made(x):
        return None
    weight = facts.matrix(node.inputs[1], turned=not attributes.get("transB"))
    return None if weight is None else _linear((node,), x, weight, bias, facts)


@layer("MatMul")
def matmul(node: Node, facts: Facts) -> Found | None:
    """The rows of the last axis times a constant matrix; the sum with a constant row behind it is the bias."""
    x, weight = node.inputs[0], facts.matrix(node.inputs[1], turned=True)
    if weight is None or not facts.made(x):
        return None
    behind = facts.next(node)
    if behind is not None and behind.operator == "Add" and behind.domain == "":
        bias = next(name for name in (*behind.inputs, "") if name != node.outputs[0])
        with_bias = _linear((node, behind), x, weight, bias, facts) if bias else None
        if with_bias is not None:
            return with_bias
    return _linear((node,), x, weight, "", facts)


def _linear(nodes: tuple[Node, ...], x: str, weight: Tensor, bias: str, facts: Facts) -> Found | None:
    n_out, n_in = weight.array.shape
    row = facts.weight(bias, (n_out,), (1, n_out)) if bias else None
    if bias and row is None:
        return None
    module = nn.Linear(n_in, n_out, bias=row is not None, seed=0)
    return Found(module, nodes, x, nodes[-1].outputs[0], "rows", {"weight": weight} | ({"bias": row} if row else {}))


@layer("Gather")
def embedding(node: Node, facts: Facts) -> Found | None:
    """Rows of a constant matrix, which computed numbers choose."""
    table, ids = facts.matrix(node.inputs[0]), node.inputs[1]
    if table is None or node.attributes.get("axis", 0) not in (0, -2) or not facts.made(ids):
        return None
    rows, columns = table.array.shape
    module = nn.Embedding(rows, columns, seed=0)
    return Found(module, (node,), ids, node.outputs[0], "all", {"weight": table})
