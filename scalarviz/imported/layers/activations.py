"""Activations, as one node or as several (`SiLU`, `LogSigmoid`, `GELU`), Softmax, Dropout, shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from ... import nn
from ...errors import ScalarvizError
from ...onnx.graph import Node
from ..nodes import Tensors, compute
from .table import Facts, Found, layer, plain

INNER = ("Add", "Div", "Mul", "Pow")
"""What a polynomial is written with."""
MOST_INNER = 8
"""Nodes of one."""
POINTS = np.linspace(-3.0, 3.0, 13)
"""Where formulas are compared: as they are multiplied out in many ways, their numbers say more than their nodes."""


@layer("Sigmoid")
def silu(node: Node, facts: Facts) -> Found | None:
    """``x * sigmoid(x)``."""
    x, behind = node.inputs[0], facts.next(node)
    if not facts.made(x) or behind is None or not _times(behind, node.outputs[0], x):
        return None
    return Found(nn.SiLU(), (node, behind), x, behind.outputs[0], "all")


@layer("Div", "Mul")
def gelu_of_nodes(node: Node, facts: Facts) -> Found | None:
    """``x * (1 + erf(x / sqrt(2))) * 0.5``, multiplied in any order."""
    x = _scaled(node, facts, math.sqrt(2.0) if node.operator == "Div" else math.sqrt(0.5))
    erf = facts.next(node) if x else None
    plus = facts.next(erf) if erf is not None and erf.operator == "Erf" else None
    if erf is None or plus is None or plus.operator != "Add" or _scaled(plus, facts, 1.0) != erf.outputs[0]:
        return None
    rest = _product(plus, x, facts)
    return None if rest is None else Found(nn.GELU(), (node, erf, plus, *rest), x, rest[-1].outputs[0], "all")


@layer("Sigmoid")
def log_sigmoid(node: Node, facts: Facts) -> Found | None:
    """``log(sigmoid(x))``."""
    x, behind = node.inputs[0], facts.next(node)
    if not facts.made(x) or behind is None or behind.operator != "Log":
        return None
    return Found(nn.LogSigmoid(), (node, behind), x, behind.outputs[0], "all")


@layer("Tanh")
def gelu_by_tanh(node: Node, facts: Facts) -> Found | None:
    """``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) * 0.5``, however it is multiplied out."""
    plus = facts.next(node)
    if plus is None or plus.operator != "Add" or _scaled(plus, facts, 1.0) != node.outputs[0]:
        return None
    for x, inner in _polynomials(node.inputs[0], facts):
        rest = _product(plus, x, facts)
        if rest is not None and _bends_like_gelu(inner, x, node.inputs[0], facts):
            return Found(nn.GELU("tanh"), (*inner, node, plus, *rest), x, rest[-1].outputs[0], "all")
    return None


def _bends_like_gelu(inner: list[Node], x: str, last: str, facts: Facts) -> bool:
    tensors: Tensors = {
        name: facts.constants[name] for node in inner for name in node.inputs if name in facts.constants
    }
    tensors[x] = POINTS
    try:
        for node in inner:
            compute(node, tensors, facts.graph.opset, {})
    except ScalarvizError:
        return False
    wanted = math.sqrt(2.0 / math.pi) * (POINTS + 0.044715 * POINTS**3)
    return tensors[last].shape == POINTS.shape and bool(np.allclose(tensors[last], wanted, rtol=1e-5, atol=0.0))


def _polynomials(last: str, facts: Facts) -> Iterator[tuple[str, list[Node]]]:
    """Each tensor of which `last` is a polynomial that nobody else reads parts of, and the nodes that make it so."""
    seen, todo = [last], [last]
    while todo and len(seen) <= 2 * MOST_INNER:
        maker = facts.makers.get(todo.pop())
        if maker is None or maker.operator not in INNER:
            continue
        todo += (new := [name for name in maker.inputs if facts.made(name) and name not in seen])
        seen += new
    for x in seen[1:]:
        inner = _between(x, last, facts)
        if inner:
            yield x, inner


def _between(x: str, last: str, facts: Facts) -> list[Node]:
    """The nodes that make `last` of x and single constants, in order; none where there is more to it."""
    found: dict[str, Node] = {}
    todo = [last]
    while todo:
        name = todo.pop()
        array, maker = facts.constants.get(name), facts.makers.get(name)
        if name == x or (array is not None and array.size == 1):
            continue
        if maker is None or maker.operator not in INNER or len(found) > MOST_INNER:
            return []
        found[maker.name] = maker
        todo += maker.inputs
    own = {*found}
    for node in found.values():
        name = node.outputs[0]
        if name != last and (name in facts.results or any(r.name not in own for r in facts.readers.get(name, []))):
            return []
    return [node for node in facts.graph.nodes if node.name in own]


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


@layer("Flatten", "Reshape", "Squeeze", "Unsqueeze")
def reshaped(node: Node, facts: Facts) -> Found | None:
    """A sample as a row, or a row as a sample of another shape."""
    x, y = node.inputs[0], node.outputs[0]
    before, behind = facts.shapes.get(x, ()), facts.shapes.get(y, ())
    if not facts.made(x) or min(len(before), len(behind)) < 2 or before[0] != 1 or behind[0] != 1:
        return None
    sample, row = before[1:], (prod(before[1:]),)
    if behind[1:] == row and len(sample) > 1:
        return Found(nn.Flatten(), (node,), x, y, "samples")
    if sample == row and len(behind) > 2 and 0 not in behind:
        return Found(nn.Unflatten(behind[1:]), (node,), x, y, "samples")
    return None
