"""Activations that files write as several nodes: `SiLU` and `GELU`."""

from __future__ import annotations

import math

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, layer


@layer("Sigmoid")
def silu(node: Node, facts: Facts) -> Found | None:
    """``x * sigmoid(x)``."""
    x, behind = node.inputs[0], facts.next(node)
    if not facts.made(x) or behind is None or not _times(behind, node.outputs[0], x):
        return None
    return Found(nn.SiLU(), (node, behind), x, behind.outputs[0], "all")


@layer("Div", "Mul")
def gelu(node: Node, facts: Facts) -> Found | None:
    """``x * (1 + erf(x / sqrt(2))) * 0.5``, multiplied in any order."""
    x = _scaled(node, facts, math.sqrt(2.0) if node.operator == "Div" else math.sqrt(0.5))
    erf = facts.next(node) if x else None
    plus = facts.next(erf) if erf is not None and erf.operator == "Erf" else None
    if erf is None or plus is None or plus.operator != "Add" or _scaled(plus, facts, 1.0) != erf.outputs[0]:
        return None
    rest = _product(plus, x, facts)
    return None if rest is None else Found(nn.GELU(), (node, erf, plus, *rest), x, rest[-1].outputs[0], "all")


def _product(plus: Node, x: str, facts: Facts) -> tuple[Node, ...] | None:
    """The nodes that multiply what `plus` makes with x and 0.5, the last one last."""
    first = facts.next(plus)
    if first is None or first.operator != "Mul":
        return None
    other = _other(first, plus.outputs[0])
    half = facts.makers.get(other)
    if half is not None and half.operator == "Mul" and _scaled(half, facts, 0.5) == x and facts.next(half) is first:
        return half, first
    second = facts.next(first)
    if second is None or second.operator != "Mul":
        return None
    if other == x and _scaled(second, facts, 0.5) == first.outputs[0]:
        return first, second
    return (first, second) if _is(other, facts, 0.5) and _times(second, first.outputs[0], x) else None


def _times(node: Node, a: str, b: str) -> bool:
    return node.operator == "Mul" and sorted(node.inputs) == sorted((a, b))


def _other(node: Node, name: str) -> str:
    return node.inputs[1] if node.inputs[0] == name else node.inputs[0]


def _is(name: str, facts: Facts, number: float) -> bool:
    """Whether a constant is that number, as far as float32 holds it."""
    array = facts.constants.get(name)
    return array is not None and array.size == 1 and math.isclose(float(array.item()), number, rel_tol=1e-6)


def _scaled(node: Node, facts: Facts, number: float) -> str:
    """What a node adds to, multiplies with or divides by that number; empty where it does something else."""
    a, b = node.inputs
    if facts.made(a) and _is(b, facts, number):
        return a
    return b if node.operator != "Div" and facts.made(b) and _is(a, facts, number) else ""
