"""The layers of ours that nodes of a graph are, with weights that the file holds: a function for each kind.

PyTorch and we write `GroupNorm` as an instance's norm with groups as channels, then each channel scaled.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import nn
from ..errors import ScalarvizError
from ..onnx.graph import Node
from .facts import Facts, Found, Shape, Tensor, Way, of_module, plain
from .operators.table import Tensors, compute

Recogniser = Callable[[Node, Facts], Found | None]
TABLE: dict[str, list[Recogniser]] = defaultdict(list)
"""By the operator of the first node."""


def layer(*names: str) -> Callable[[Recogniser], Recogniser]:
    """Put a function into the table under these operators."""

    def put(function: Recogniser) -> Recogniser:
        for name in names:
            TABLE[name].append(function)
        return function

    return put


def found_at(node: Node, facts: Facts) -> Found | None:
    """The layer that begins with a node, if one does; of several that which stands for most nodes."""
    if node.domain != "":
        return None
    layers = [found for look in TABLE.get(node.operator, ()) if (found := look(node, facts)) is not None]
    return max(layers, key=lambda found: len(found.nodes), default=None)


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
    n, groups = weight.array.ndim - 2, int(_whole(node, "group", 1))
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
    plain = not _whole(node, "ceil_mode", 0) and not any(node.outputs[1:]) and n in MAX_POOLS and facts.made(x)
    if not plain or set(_sides(node, "dilations", n, 1)) != {1}:
        return None
    size, step = _sides(node, "kernel_shape", n, 1), _sides(node, "strides", n, 1)
    padding = _padding(node, facts.shapes[x][2:], size, step)
    if not isinstance(padding, tuple) or any(2 * p > k for p, k in zip(padding, size, strict=True)):
        return None
    if node.operator == "AveragePool" and any(padding) and not _whole(node, "count_include_pad", 0):
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


def _whole(node: Node, name: str, default: int) -> int:
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
    nodes, weights = _with_scale((node, norm, back), facts, shape)
    module = nn.GroupNorm(groups, shape[1], plain(float(epsilon)), affine=bool(weights))
    return Found(module, nodes, x, nodes[-1].outputs[0], "samples", weights)


def _with_scale(nodes: tuple[Node, ...], facts: Facts, shape: Shape) -> tuple[tuple[Node, ...], dict[str, Tensor]]:
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
