"""Find this package's layers in a graph: one function for each kind, with weights from the file.

PyTorch and this package write `GroupNorm` as an instance norm with groups as channels, followed by a channel scale.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from .. import nn
from ..errors import ScalarvizError
from ..onnx.graph import Node
from .facts import Facts, FileTensor, FoundLayer, Shape, Way, of_module, plain
from .operators.arrays import Tensors, each
from .operators.table import compute
from .operators.windows import border

Recogniser = Callable[[Node, Facts], FoundLayer | None]
TABLE: dict[str, list[tuple[Recogniser, int | None]]] = defaultdict(list)
"""By the operator of the first node: recogniser functions, each with the index of its computed input."""


def layer(*names: str, reads: int | None = 0) -> Callable[[Recogniser], Recogniser]:
    """Register a function for these operators; it is called if the input `reads` is computed."""

    def register(function: Recogniser) -> Recogniser:
        for name in names:
            TABLE[name].append((function, reads))
        return function

    return register


def layer_at(node: Node, facts: Facts) -> FoundLayer | None:
    """Return the layer that begins with a node, or None; of several, the one with the most nodes."""
    if node.domain != "":
        return None
    asked = (look for look, k in TABLE.get(node.operator, ()) if k is None or facts.is_computed(facts.input(node, k)))
    return max(filter(None, (look(node, facts) for look in asked)), key=lambda found: len(found.nodes), default=None)


def _behind(node: Node, facts: Facts, operator: str) -> tuple[Node, str] | None:
    """Return the only reader of a node, if it has this operator, and its other input."""
    found = facts.only_reader(node)
    if found is None or found.operator != operator or found.domain != "" or len({*found.inputs}) != 2:
        return None
    return found, found.inputs[1] if found.inputs[0] == node.outputs[0] else found.inputs[0]


def _named(**weights: FileTensor | None) -> dict[str, FileTensor]:
    """Return the weights that are not None."""
    return {name: tensor for name, tensor in weights.items() if tensor is not None}


# ---- sums of products, pools

CONVS = {1: nn.Conv1d, 2: nn.Conv2d}
MAX_POOLS = {1: nn.MaxPool1d, 2: nn.MaxPool2d}
MEAN_POOLS = {1: nn.AvgPool1d, 2: nn.AvgPool2d}
ADAPTIVE = {1: nn.AdaptiveAvgPool1d, 2: nn.AdaptiveAvgPool2d}


@layer("Conv")
def conv(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a convolution with constant weights, and a border that is symmetric or keeps the sides."""
    x, weight, given = node.inputs[0], facts.weight(node.inputs[1]), facts.input(node, 2)
    if weight is None or weight.array.ndim - 2 not in CONVS:
        return None
    (count, channels, *size), groups = weight.array.shape, int(node.attribute("group", 1))
    bias = facts.weight(given, (count,)) if given else None
    padding = _padding(node, facts.shapes[x][2:], tuple(size))
    if padding is None or (given and bias is None) or count % groups:
        return None
    step, dilation = (tuple(node.listed(name, [1] * len(size))) for name in ("strides", "dilations"))
    rest = tuple(size), step, padding, dilation, groups, bias is not None
    module = CONVS[len(size)](channels * groups, count, *rest, seed=0)
    return FoundLayer(module, (node,), x, "samples", _named(weight=weight, bias=bias))


@layer("MaxPool", "AveragePool")
def pool(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a pool with complete windows and a symmetric border."""
    x, size = node.inputs[0], tuple(node.listed("kernel_shape", ()))
    n = len(facts.shapes.get(x, ())) - 2
    usual = not node.attribute("ceil_mode", 0) and not any(node.outputs[1:]) and n in MAX_POOLS
    if not usual or {*node.listed("dilations", (1,))} != {1}:
        return None
    padding = _padding(node, facts.shapes[x][2:], size)
    if not isinstance(padding, tuple) or any(2 * p > k for p, k in zip(padding, size, strict=True)):
        return None
    if node.operator == "AveragePool" and any(padding) and not node.attribute("count_include_pad", 0):
        return None
    kinds = MAX_POOLS if node.operator == "MaxPool" else MEAN_POOLS
    return FoundLayer(kinds[n](size, tuple(node.listed("strides", [1] * n)), padding), (node,), x, "samples")


@layer("GlobalAveragePool")
def global_pool(node: Node, facts: Facts) -> FoundLayer | None:
    """Find the mean of each channel."""
    n = len(facts.shapes.get(node.inputs[0], ())) - 2
    return FoundLayer(ADAPTIVE[n](1), (node,), node.inputs[0], "samples") if n in ADAPTIVE else None


def _padding(node: Node, sides: Shape, size: Shape) -> Shape | str | None:
    """Return the border in a layer's form, or None if it has none."""
    step, apart = (node.listed(name, [1] * len(size)) for name in ("strides", "dilations"))
    field = [(k - 1) * d + 1 for k, d in zip(size, apart, strict=True)]
    try:
        before, behind = border(node, sides, tuple(field), tuple(step))
    except ScalarvizError:
        return None
    if before == behind:
        return before
    same = tuple((f - 1) // 2 for f in field), tuple(f - 1 - (f - 1) // 2 for f in field)
    return "same" if (before, behind) == same and {*step} == {1} else None


@layer("Gemm")
def gemm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a product with a constant matrix, with or without a bias."""
    x, bias = node.inputs[0], facts.input(node, 2)
    if node.attribute("transA") or node.attribute("alpha", 1.0) != 1.0 or (bias and node.attribute("beta", 1.0) != 1.0):
        return None
    return _linear((node,), x, facts.matrix(node.inputs[1], turned=not node.attribute("transB")), bias, facts)


@layer("MatMul")
def matmul(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a product of the last axis with a constant matrix; a constant row added afterwards is the bias."""
    x, weight = node.inputs[0], facts.matrix(node.inputs[1], turned=True)
    plus = _behind(node, facts, "Add")
    found = None if plus is None else _linear((node, plus[0]), x, weight, plus[1], facts)
    return found or _linear((node,), x, weight, "", facts)


def _linear(nodes: tuple[Node, ...], x: str, weight: FileTensor | None, bias: str, facts: Facts) -> FoundLayer | None:
    if weight is None:
        return None
    n_out, n_in = weight.array.shape
    row = facts.weight(bias, (n_out,), (1, n_out)) if bias else None
    if bias and row is None:
        return None
    module = nn.Linear(n_in, n_out, bias=row is not None, seed=0)
    return FoundLayer(module, nodes, x, "rows", _named(weight=weight, bias=row))


@layer("Gather", reads=1)
def embedding(node: Node, facts: Facts) -> FoundLayer | None:
    """Find rows of a constant matrix that computed numbers select."""
    table = facts.matrix(node.inputs[0])
    if table is None or node.attribute("axis", 0) not in (0, -2):
        return None
    rows, columns = table.array.shape
    return FoundLayer(nn.Embedding(rows, columns, seed=0), (node,), node.inputs[1], "all", {"weight": table})


# ---- activations

FORMULAS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU("tanh"), "log_sigmoid": nn.LogSigmoid, "silu": nn.SiLU,
}  # fmt: skip
"""Layers that files write as several nodes, by their operation of the table."""
BENT = frozenset({"Erf", "Sigmoid", "Softplus", "Tanh"})
"""Each formula contains one of these operators, ..."""
INNER = ("Add", "Div", "Log", "Mul", "Neg", "Pow", "Sub", *sorted(BENT))
"""... and consists of these."""
MOST_INNER = 12
"""The most nodes of a formula."""
POINTS = np.linspace(-3.0, 3.0, 13)
"""Formulas are compared at these points, since one formula can be written in many ways."""


@layer(*INNER, reads=None)
def formula(node: Node, facts: Facts) -> FoundLayer | None:
    """Find one of `FORMULAS` in any form: computed from one tensor and single constants."""
    for x in dict.fromkeys(filter(facts.is_computed, node.inputs)):
        nodes = _pointwise_nodes(node, x, facts)
        for last in reversed(nodes):
            found = _between(x, last.outputs[0], nodes, facts)
            whole = found and found[0] is node and any(inner.operator in BENT for inner in found)
            name = _equal(found, x, facts) if whole and len(found) > 1 else None
            if name is not None:
                return FoundLayer(FORMULAS[name](), found, x, "all")
    return None


def _pointwise_nodes(node: Node, x: str, facts: Facts) -> list[Node]:
    """Return a node and later ones that compute elementwise from x and single constants."""

    def place(one: Node) -> int:
        return facts.places[one.name]

    def readers(name: str) -> list[Node]:
        some = facts.readers.get(name, [])
        first = bisect_left(some, place(node), key=place)
        return some[first : first + MOST_INNER]  # a tensor may have as many readers as there are nodes

    found: dict[str, Node] = {}
    known, todo = {x}, readers(x)
    while todo and len(found) < MOST_INNER:
        one = min(todo, key=place)
        todo.remove(one)
        usual = one.operator in INNER and one.domain == "" and one.name not in found
        if usual and all(name in known or _single(name, facts) for name in one.inputs):
            found[one.name] = one
            known.add(one.outputs[0])
            todo += readers(one.outputs[0])
    return [*found.values()]


def _single(name: str, facts: Facts) -> bool:
    array = facts.constants.get(name)
    return array is not None and array.size == 1 and not facts.trained(name)


def _equal(nodes: Sequence[Node], x: str, facts: Facts) -> str | None:
    """Return the name in `FORMULAS` of the function of x that the nodes compute, or None."""
    last, names = nodes[-1].outputs[0], {name for node in nodes for name in node.inputs} & facts.constants.keys()
    tensors: Tensors = {x: POINTS} | {name: facts.constants[name].reshape(()) for name in names}
    try:
        for node in nodes:
            compute(node, tensors, facts.graph.opset, {})
    except ScalarvizError:
        return None
    same = facts.shapes.get(last) == facts.shapes.get(x)
    near = (name for name in FORMULAS if np.allclose(tensors[last], each(name, POINTS), rtol=1e-5, atol=0.0))
    return next(near, None) if same else None


def _between(x: str, last: str, nodes: list[Node], facts: Facts) -> tuple[Node, ...]:
    """Return the nodes that compute `last` from x; empty if other nodes read intermediate results."""
    found: list[Node] = []
    needed = {last}
    for node in reversed(nodes):
        if node.outputs[0] in needed:
            found.insert(0, node)
            needed |= {*node.inputs}
    for node in found:
        (name,) = node.outputs
        if name != last and (name in facts.results or any(one not in found for one in facts.readers[name])):
            return ()
    return tuple(found)


def _relu6(node: Node, facts: Facts) -> nn.Module | None:
    old = facts.graph.opset < 11
    bounds = [node.attribute("min"), node.attribute("max")] if old else [facts.number(node, k) for k in (1, 2)]
    return nn.ReLU6() if bounds == [0.0, 6.0] else None


def _dropout(node: Node, facts: Facts) -> nn.Module | None:
    """Find a dropout with a known share and without its mask as an output."""
    masked = any(name and facts.readers.get(name) for name in node.outputs[1:]) or facts.results & {*node.outputs[1:]}
    old = plain(node.attribute("ratio", 0.5))
    share = facts.number(node, 1, 0.5) if facts.graph.opset >= 12 else old
    return None if masked or share is None or not 0.0 <= share < 1.0 else nn.Dropout(share)


SIMPLE: dict[str, Callable[[Node, Facts], nn.Module | None]] = {
    "Clip": _relu6,
    "Dropout": _dropout,
    "Elu": lambda node, facts: nn.ELU(plain(node.attribute("alpha", 1.0))),
    "Gelu": lambda node, facts: nn.GELU(node.attribute("approximate", "none")),
    "Identity": lambda node, facts: nn.Identity(),
    "LeakyRelu": lambda node, facts: nn.LeakyReLU(plain(node.attribute("alpha", 0.01))),
    "Relu": lambda node, facts: nn.ReLU(),
    "Sigmoid": lambda node, facts: nn.Sigmoid(),
    "Softplus": lambda node, facts: nn.Softplus(threshold=math.inf),
    "Tanh": lambda node, facts: nn.Tanh(),
}
"""Operators that are an elementwise layer by themselves."""


@layer(*SIMPLE)
def one_by_one(node: Node, facts: Facts) -> FoundLayer | None:
    """Find one of `SIMPLE`."""
    known = node.attribute("approximate", "none") in ("none", "tanh")
    module = SIMPLE[node.operator](node, facts) if known else None
    return None if module is None else FoundLayer(module, (node,), node.inputs[0], "all")


@layer("PRelu")
def prelu(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a PReLU with one slope, or one for each channel."""
    x, shape = node.inputs[0], facts.shapes[node.inputs[0]]
    channels, rest = shape[1] if len(shape) > 1 else 1, (1,) * (len(shape) - 2)
    slope = facts.weight(node.inputs[1], (1,), (), (1, *rest))
    if slope is not None:
        return FoundLayer(nn.PReLU(), (node,), x, "all", {"weight": slope})
    slope = _of_channels(node.inputs[1], facts, shape) if len(shape) > 1 else None
    return None if slope is None else FoundLayer(nn.PReLU(channels), (node,), x, "samples", {"weight": slope})


@layer("Softmax", "LogSoftmax")
def softmax(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a softmax over the last axis."""
    ndim = len(facts.shapes.get(node.inputs[0], ()))
    axis = node.attribute("axis", -1 if facts.graph.opset >= 13 else 1)
    if ndim == 0 or axis % ndim != ndim - 1:
        return None
    made = (nn.Softmax if node.operator == "Softmax" else nn.LogSoftmax)(-1)
    return FoundLayer(made, (node,), node.inputs[0], "rows")


@layer("Flatten", "Reshape", "Squeeze", "Unsqueeze")
def reshaped(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a sample reshaped to a row, or a row reshaped to a sample."""
    x = node.inputs[0]
    before, behind = facts.shapes.get(x, ()), facts.shapes.get(node.outputs[0], ())
    if min(len(before), len(behind)) < 2 or before[0] != 1 or behind[0] != 1:
        return None
    sample, row = before[1:], (prod(before[1:]),)
    if behind[1:] == row and len(sample) > 1:
        return FoundLayer(nn.Flatten(), (node,), x, "samples")
    if sample == row and len(behind) > 2 and 0 not in behind:
        return FoundLayer(nn.Unflatten(behind[1:]), (node,), x, "samples")
    return None


# ---- normalisations


@layer("Reshape")
def exported_group_norm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find ``Reshape``, ``InstanceNormalization`` without weights, ``Reshape`` back; optionally ``Mul`` and ``Add``."""
    x, apart = node.inputs[0], facts.shapes.get(node.outputs[0], ())
    shape, norm = facts.shapes.get(x, ()), facts.only_reader(node)
    if len(shape) < 2 or norm is None or norm.operator != "InstanceNormalization":
        return None
    back, neutral = facts.only_reader(norm), [facts.constants.get(name) for name in norm.inputs[1:3]]
    affine = any(array is None or (array != number).any() for array, number in zip(neutral, (1.0, 0.0), strict=True))
    if back is None or back.operator != "Reshape" or affine:
        return None
    groups = apart[1] if len(apart) > 2 else 0
    together = apart[:1] == shape[:1] == (1,) and groups > 0 and shape[1] % groups == 0
    if not together or prod(apart) != prod(shape) or facts.shapes.get(back.outputs[0]) != shape:
        return None
    nodes, weights = _with_scale((node, norm, back), facts, shape)
    module = nn.GroupNorm(groups, shape[1], plain(norm.attribute("epsilon", 1e-5)), affine=bool(weights))
    return FoundLayer(module, nodes, x, "samples", weights)


def _with_scale(nodes: tuple[Node, ...], facts: Facts, shape: Shape) -> tuple[tuple[Node, ...], dict[str, FileTensor]]:
    """Return the nodes and a following channel scale with its weights; factors of 1 count as none."""
    scale = _behind(nodes[-1], facts, "Mul")
    shift = _behind(scale[0], facts, "Add") if scale is not None else None
    if scale is None or shift is None:
        return nodes, {}
    weight, bias = (_of_channels(name, facts, shape) for name in (scale[1], shift[1]))
    if weight is not None and bias is not None:
        return (*nodes, scale[0], shift[0]), {"weight": weight, "bias": bias}
    without = _is_constant(scale[1], facts, 1.0, shape) and _is_constant(shift[1], facts, 0.0, shape)
    return ((*nodes, scale[0], shift[0]) if without else nodes), {}


def _is_constant(name: str, facts: Facts, number: float, shape: Shape) -> bool:
    """Return whether a constant that is no weight has that number everywhere."""
    array = facts.constants.get(name) if name in facts.fixed else None
    return array is not None and array.ndim <= len(shape) and array.size <= shape[1] and bool((array == number).all())


def _of_channels(name: str, facts: Facts, shape: Shape) -> FileTensor | None:
    """Return a weight for each channel; a one-dimensional one would belong to the last axis."""
    rest = (1,) * (len(shape) - 2)
    weight = facts.weight(name, (shape[1],), (shape[1], *rest), (1, shape[1], *rest))
    return None if weight is None or (rest and facts.constants[name].shape == (shape[1],)) else weight


BATCH = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}
STATISTICS = ("weight", "bias", "running_mean", "running_var")


@layer("BatchNormalization")
def batch_norm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a batch norm whose further outputs are not read."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    read = any(name and (facts.readers.get(name) or name in facts.results) for name in node.outputs[1:])
    if len(shape) not in BATCH or read or node.attribute("spatial", 1) != 1:
        return None
    channels = (shape[1],)
    given = zip(STATISTICS, node.inputs[1:5], strict=False)
    weights = _named(**{name: facts.weight(tensor, channels) for name, tensor in given})
    parts = _affine(weights, facts, node.inputs[1:3], channels)
    momentum = round(1.0 - plain(node.attribute("momentum", 0.9)), 12)
    if parts is None or not weights.keys() >= {"running_mean", "running_var"} or not 0.0 <= momentum <= 1.0:
        return None
    epsilon = plain(node.attribute("epsilon", 1e-5))
    module = BATCH[len(shape)](shape[1], epsilon, momentum, parts[0], bias=parts[1])
    module.train(bool(node.attribute("training_mode", 0)))
    # a C x L sample with C = L could be C samples: without the sample axis the layer refuses it as ambiguous
    way: Way = "whole" if len(shape) == 3 and shape[1] == shape[2] else "samples"
    return FoundLayer(module, (node,), x, way, weights)


@layer("LayerNormalization")
def layer_norm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a norm over the last axes."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    if any(node.outputs[1:]):
        return None
    axis = node.attribute("axis", -1) % len(shape)
    over, names = shape[axis:], (node.inputs[1], facts.input(node, 2))
    weights = _named(weight=facts.weight(names[0], over), bias=facts.weight(names[1], over))
    parts = _affine(weights, facts, names, over)
    if axis == 0 or parts is None:
        return None
    return FoundLayer(nn.LayerNorm(over, plain(node.attribute("epsilon", 1e-5)), *parts), (node,), x, "all", weights)


@layer("GroupNormalization", "InstanceNormalization")
def group_norm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find a norm over groups of channels; with one channel per group it is an instance norm."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    if len(shape) < 2:
        return None
    weight, bias = (facts.weight(name, (shape[1],)) for name in node.inputs[1:3])
    groups = int(node.attribute("num_groups", shape[1]))
    # before version 21 there was one weight for each group
    old = node.operator == "GroupNormalization" and facts.graph.opset < 21 and groups != shape[1]
    if weight is None or bias is None or old or groups < 1 or shape[1] % groups:
        return None
    # factors of 1 and summands of 0 stand for a norm without weights, which the standard lacks
    own = of_module(weight.name) or of_module(bias.name)
    affine = own or bool((weight.array != 1).any() or (bias.array != 0).any())
    module = nn.GroupNorm(groups, shape[1], plain(node.attribute("epsilon", 1e-5)), affine=affine)
    return FoundLayer(module, (node,), x, "samples", {"weight": weight, "bias": bias} if affine else {})


def _affine(
    weights: Mapping[str, FileTensor], facts: Facts, names: Sequence[str], shape: Shape
) -> tuple[bool, bool] | None:  # fmt: skip
    """Return whether a norm has a weight and a bias; None if it has only a bias, or an input that is no weight."""
    for part, name, number in zip(("weight", "bias"), names, (1.0, 0.0), strict=True):
        if part not in weights and not facts.neutral(name, shape, number):
            return None
    found = "weight" in weights, "bias" in weights
    return None if found == (False, True) else found


@layer("RMSNormalization")
def rms_norm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find an RMS norm over the last axes."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    axis = node.attribute("axis", -1) % max(len(shape), 1)
    weight = facts.weight(node.inputs[1], shape[axis:]) if axis > 0 else None
    return None if weight is None else _rms((node,), x, shape[axis:], node.attribute("epsilon", 1e-5), weight)


def _rms(nodes: tuple[Node, ...], x: str, over: Shape, epsilon: float, weight: FileTensor | None) -> FoundLayer:
    module = nn.RMSNorm(over, plain(epsilon), elementwise_affine=weight is not None)
    return FoundLayer(module, nodes, x, "all", _named(weight=weight))


@layer("Pow", "Mul")
def exported_rms_norm(node: Node, facts: Facts) -> FoundLayer | None:
    """Find ``x / sqrt(mean(x**2) + eps)`` over the last axes, with the following weights."""
    x = node.inputs[0]
    squared = (node.inputs[1:] == (x,)) if node.operator == "Mul" else facts.number(node, 1) == 2.0
    mean = facts.only_reader(node) if squared else None
    over = _over(mean, facts) if mean is not None else ()
    plus = _behind(mean, facts, "Add") if mean is not None and over else None
    root = facts.only_reader(plus[0]) if plus is not None else None
    epsilon = None if plus is None else facts.single(plus[1])
    if mean is None or plus is None or epsilon is None or epsilon < 0 or root is None or root.operator != "Sqrt":
        return None
    behind = _divided(root, x, facts)
    scale = _behind(behind[-1], facts, "Mul") if behind else None
    weight = facts.weight(scale[1], over) if scale is not None else None
    nodes = (node, mean, plus[0], root, *behind, *((scale[0],) if scale is not None and weight is not None else ()))
    return _rms(nodes, x, over, epsilon, weight) if behind else None


def _over(mean: Node, facts: Facts) -> Shape:
    """Return the last sides over which a ``ReduceMean`` goes; empty if it goes over others."""
    if mean.operator != "ReduceMean" or not mean.attribute("keepdims", 1):
        return ()
    shape, given = facts.shapes[mean.inputs[0]], mean.listed("axes", [])
    if not given and facts.input(mean, 1) in facts.constants:
        given = facts.constants[mean.inputs[1]].ravel().tolist()
    axes = sorted(int(axis) % len(shape) for axis in given)
    return shape[axes[0] :] if axes and axes[0] > 0 and axes == list(range(axes[0], len(shape))) else ()


def _divided(root: Node, x: str, facts: Facts) -> tuple[Node, ...]:
    """Return the nodes that divide x by the root: a ``Div``, or a reciprocal and a ``Mul``."""
    first = facts.only_reader(root)
    if first is None:
        return ()
    if first.operator == "Div" and first.inputs == (x, root.outputs[0]):
        return (first,)
    one = first.operator == "Div" and first.inputs[1] == root.outputs[0] and facts.number(first, 0) == 1.0
    product = _behind(first, facts, "Mul") if one or first.operator == "Reciprocal" else None
    return (first, product[0]) if product is not None and product[1] == x else ()
