"""`Linear` and `Embedding`."""

from __future__ import annotations

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, Tensor, layer


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
