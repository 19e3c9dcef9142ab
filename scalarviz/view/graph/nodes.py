"""From results back to all that they were computed from: the objects as they are, before a record is made of any.

A graph of a million numbers is walked in a second or two; to make a `Node` of each costs ten times that, and a picture
shows a hundred of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ...nn import Module
from ...scalar.nested import every, flatten
from ...scalar.sums import Dot, Row, Total
from ...scalar.value import Value
from ...scalar.weight import Weight
from ..ink.text import MINUS, chip_digits, number

Key = Hashable
"""Equal for what is one node, see `key_of`."""
Below = tuple["Value | Row", ...]
LASTING = frozenset((Value, Dot, Total))
"""What the graph itself holds, so that its id is its key; asked first, since nearly all are of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The objects of a graph."""

    objects: dict[Key, Value | Row]  # operands before results
    below: dict[Key, tuple[Key, ...]]


def key_of(value: Value | Row) -> Key:
    """Equal for what is one node: a Weight is made anew whenever somebody asks for it."""
    if isinstance(value, Weight):
        return id(value._block), value._index
    if isinstance(value, Row):
        return id(value.block), value.start, value.length
    return id(value)


def row_name(row: Row) -> str:
    """``0.weight[3]``, or the name of the block where the row is all of it."""
    if row.length == row.block.size:
        return row.block.name
    first = row.block.weight_name(row.start)
    return first.rpartition("[")[0] if first.endswith("]") else first


def walked(roots: Sequence[Value], unfold: frozenset[str], long: int, most: int | None = None) -> Walk | None:
    """Everything that leads to `roots`."""
    objects: dict[Key, Value | Row] = {}
    below: dict[Key, tuple[Key, ...]] = {}
    stack: list[Value | Row] = list(reversed(roots))
    while stack:
        value = stack[-1]
        key = id(value) if type(value) in LASTING else key_of(value)
        if key in below:  # its operands were all met
            stack.pop()
            if key not in objects:
                objects[key] = value
            continue
        if most is not None and len(below) >= most:
            return None
        parents = value._parents if type(value) is Value else _below(value, unfold, long)
        keys = below[key] = tuple([id(p) if type(p) in LASTING else key_of(p) for p in parents])
        for k in range(len(keys) - 1, -1, -1):
            if keys[k] not in below:
                stack.append(parents[k])
    return Walk(objects, below)


def _below(value: Value | Row, unfold: frozenset[str], long: int) -> Below:
    """The operands; many neighbouring weights are one."""
    if isinstance(value, Row):
        return ()
    if isinstance(value, Dot):
        weights, bias = value.weights, value.bias
        return (
            *(_each(weights, unfold, long) if isinstance(weights, Row) else weights),
            *value.xs,
            *(_each(bias, unfold, long) if isinstance(bias, Row) else () if bias is None else (bias,)),
        )
    if isinstance(value, Total):
        return _each(value.row, unfold, long)
    return value.parents


def _each(row: Row, unfold: frozenset[str], long: int) -> Below:
    whole = row.length > long and not (unfold and row_name(row) in unfold)
    return (row,) if whole else tuple(row.weights())


# ---- `Node`: one number of a graph as a plain record, made of what a walk found.

Kind = Literal["op", "leaf", "weight", "row", "far"]

LONG, MANY = 16, 4
"""Weights of a row that are drawn one by one, unless its name is unfolded: in any graph, and in a large one."""
SUMS = {"identity": "sum", "square": "sum **2", "abs": "sum abs"}
"""How sums over a row of weights are written, by what is summed of each."""


@dataclass(slots=True, eq=False)
class Node:
    """A number of the graph."""

    kind: Kind
    op: str  # name of the operation; empty where there is none
    of: Value | Row  # the object itself
    value: float  # NaN for a row, and for what is far
    operands: tuple[Node, ...] = ()  # in their order; one that is taken twice stands there twice
    grad: float | None = None  # None: not computed
    name: str = ""  # what it is called; empty for nothing
    path: str = ""  # whose it is: the path of a module, or empty
    flows: tuple[bool, ...] = ()  # which operands a derivative goes to
    count: int = 1  # numbers that it stands for
    sign: str = ""  # how the operation is written, where that is not as always
    users: dict[Node, None] = field(default_factory=dict)

    @property
    def leaf(self) -> bool:
        """Whether nothing leads to it."""
        return not self.operands


def nodes_of(walk: Walk, far: Collection[Key] = frozenset()) -> list[Node]:
    """A record of every object, operands before results, with the numbers of now; all that is `far` is one."""
    made = _far_nodes(walk, far) if far else {}
    for key in [key for key in walk.objects if key not in made] if far else walk.objects:
        made[key] = _node(walk.objects[key], tuple([made[k] for k in walk.below[key]]))
    nodes = list(dict.fromkeys(made.values()))
    for node in nodes:
        for operand in dict.fromkeys(node.operands):
            operand.users[node] = None
    return nodes


def _far_nodes(walk: Walk, far: Collection[Key]) -> dict[Key, Node]:
    """Two nodes, for the results and for the numbers among them, after those of all else that they take."""
    results = [key for key in walk.objects if key in far and walk.below[key]]
    numbers = [key for key in walk.objects if key in far and not walk.below[key]]
    taken = dict.fromkeys(k for key in results for k in walk.below[key])
    made = {key: _node(walk.objects[key], ()) for key in taken if key not in far}
    if numbers:
        made |= dict.fromkeys(numbers, Node("leaf", "", walk.objects[numbers[-1]], math.nan, count=len(numbers)))
    operands = tuple(dict.fromkeys(made.values()))
    reached = any(walk.objects[key].grad for key in results)  # type: ignore[union-attr]
    one = Node("far", "", walk.objects[results[-1]], math.nan, operands, math.nan if reached else None,
               flows=(True,) * len(operands), count=len(results))  # fmt: skip
    return made | dict.fromkeys(results, one)


def _node(value: Value | Row, operands: tuple[Node, ...]) -> Node:
    if isinstance(value, Row):
        return Node("row", "", value, float("nan"), name=row_name(value), count=value.length)
    if isinstance(value, Weight):
        return Node("weight", "", value, value.data, name=value.name)
    kind: Kind = "op" if operands else "leaf"
    sign, op = SUMS[value.how] if isinstance(value, Total) else "", value._op
    count = range(len(operands))  # a derivative goes to all but conditions and their like
    flows = tuple([op is None or not op.partly or k in op.flowing for k in count])
    return Node(kind, value.op, value, value.data, operands, name=value.label, flows=flows, sign=sign)


# ---- How operations and numbers are written on nodes.

SIGNS = {
    "add": "+", "sub": MINUS, "mul": "×", "div": "/", "neg": MINUS, "square": "**2", "lt": "<", "le": "≤", "gt": ">",
    "ge": "≥",
}  # fmt: skip
"""Operations that are not written by their names."""

TINY = 0.005
"""Up to this a number is written with an exponent: two decimals would say 0."""
HUGE = 9999.5
"""From here on as well."""


def figure_of(value: float, digits: int | None = None) -> str:
    """A number on a node: two decimals or fewer, ``−2e−3`` where they would say nothing, ``0``, ``NaN``, ``+∞``.

    With `digits` there are that many decimals.
    """
    if not math.isfinite(value):
        return number(value)
    size = abs(value)
    if size == 0.0:
        return "0"
    if size >= HUGE or (size <= TINY if digits is None else not float(f"{size:.{digits}f}")):
        mantissa, power = f"{size:.{max(0, (digits or 2) - 2)}e}".split("e")
        exponent = int(power)
        return f"{MINUS if value < 0 else '+'}{mantissa}e{MINUS if exponent < 0 else ''}{abs(exponent)}"
    return number(value, chip_digits(value) if digits is None else digits, signed=True)


def constant_text(value: float) -> str:
    """A constant as a person writes it: ``2``, ``0.5``, ``−1e−8``."""
    if not math.isfinite(value) or value == 0.0:
        return figure_of(value)
    text = f"{value:.4g}"
    mantissa, _, power = text.partition("e")
    return f"{mantissa}e{int(power)}".replace("-", MINUS) if power else text.replace("-", MINUS)


# ---- Whose nodes they are: a module remembers its last call, and its weights know it.

Kinds = dict[str, str]
"""Paths of modules, and what each is."""


Calls = Mapping[int, tuple[Any, Any]]
"""What modules got and gave, by their ids: Values, in lists nested as they came."""


def last_calls(model: Module) -> Calls:
    """What the parts of a model remember."""
    parts = (part for _, part in model.named_modules())
    return {id(part): (part._books.inputs, part._books.outputs) for part in parts}


def owners_of(walk: Walk, model: Module | None = None, calls: Calls | None = None) -> tuple[Kinds, dict[Key, str]]:
    """The class of every module that has nodes, by its path, and the paths of results that it made in its last call.

    Without a model it is that of the weights; without calls, their parts' last ones.
    """
    roots = [model] if model is not None else _roots(walk)
    kinds: Kinds = {}
    paths: dict[Key, str] = {}
    for k, root in enumerate(roots, 1):
        name = type(root).__name__.lower()
        prefix = "" if len(roots) == 1 and root.children() else name if k == 1 else f"{name}{k}"
        called = last_calls(root) if calls is None else calls
        for path, module in root.named_modules(prefix):
            if path and id(module) in called:
                kinds[path] = type(module).__name__
                _claim(called[id(module)], path, walk, paths)
        _claim_by_weights(walk, {id(m): path for path, m in root.named_modules(prefix)}, paths)
    used = {prefix for path in set(paths.values()) for prefix in prefixes(path)}
    return {path: kind for path, kind in kinds.items() if path in used}, paths


def place_nodes(nodes: Sequence[Node], paths: Mapping[Key, str]) -> None:
    """Give each node the path of the module that it belongs to: a leaf without a name to that of all its users."""
    for node in nodes:
        if node.operands and node.kind == "op":
            node.path = paths.get(key_of(node.of), "")
    for node in nodes:
        if node.leaf and (node.kind != "leaf" or not node.name):
            node.path = _shared([user.path for user in node.users])


def prefixes(path: str) -> list[str]:
    """``a``, ``a.b``, ``a.b.c``."""
    parts = path.split(".") if path else []
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _claim(call: tuple[Any, Any], path: str, walk: Walk, paths: dict[Key, str]) -> None:
    """The results between the inputs and the outputs of a call; parts of a module claim theirs after it."""
    ends = {key_of(value) for value in flatten(call[0])}
    stack = [key for key in map(key_of, flatten(call[1])) if key in walk.below]
    seen = set(stack)
    while stack:
        key = stack.pop()
        if not walk.below[key] or key in ends:
            continue
        paths[key] = path
        for operand in walk.below[key]:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)


def _claim_by_weights(walk: Walk, modules: Mapping[int, str], paths: dict[Key, str]) -> None:
    """Weighted sums of earlier calls: by whoever holds their weights."""
    for key, value in walk.objects.items():
        if isinstance(value, Dot) and key not in paths and isinstance(value.weights, Row):
            owners = [ref() for ref in value.weights.block.owners]
            path = next((modules[id(owner)] for owner in owners if id(owner) in modules), "")
            if path:
                paths[key] = path


def _roots(walk: Walk) -> list[Module]:
    """The modules that hold the weights of a graph, each up to the one that nobody holds."""
    blocks = {id(b): b for b in map(_block, walk.objects.values()) if b is not None}
    found: dict[int, Module] = {}
    for block in blocks.values():
        for owner in (ref() for ref in block.owners):
            if isinstance(owner, Module):
                root = _top(owner)
                found[id(root)] = root
                break
    return list(found.values())


def _block(value: Value | Row) -> Any:
    if type(value) is Value:  # nearly all are, in a large graph
        return None
    if isinstance(value, Weight):
        return value._block
    return value.block if isinstance(value, Row) else None


def _top(module: Module) -> Module:
    seen = {id(module)}
    while True:
        above = next((m for m in (ref() for ref in module._books.owners) if m is not None), None)
        if above is None or id(above) in seen:
            return module
        seen.add(id(above))
        module = above


def _shared(paths: Sequence[str]) -> str:
    """The longest path that all of them begin with, whole parts only."""
    if not paths:
        return ""
    parts = [path.split(".") if path else [] for path in dict.fromkeys(paths)]
    common = parts[0]
    for other in parts[1:]:
        length = next((k for k, (a, b) in enumerate(zip(common, other, strict=False)) if a != b),
                      min(len(common), len(other)))  # fmt: skip
        common = common[:length]
    return ".".join(common)


# ---- A call that leaves no trace: a network is asked for one sample as for a prediction, and is as before afterwards.

NAME = "x"
"""What a sample without names is called; its numbers are x1, x2, ..."""


def called(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[list[Value], Calls | None]:
    """What a module or a function makes of one sample, with names at the sample's numbers, and how its parts did."""
    names = [NAME] if len(inputs) == 1 else [f"{NAME}{k + 1}" for k in range(len(inputs))]
    given = [named(x, name) for x, name in zip(inputs, names, strict=True)]
    if not isinstance(function, Module):
        return every(function(*given), "draw: what is called"), None
    with unchanged(function):
        return every(function(*given), "draw: what is called"), last_calls(function)


def named(x: Any, name: str, levels: int = 40) -> Any:
    """The same sample as Values: ``x``, a row ``x1, x2``, or nested lists ``x[0][1]``; deeper ones as they are."""
    if levels == 0 or isinstance(x, Value) or not isinstance(x, list | tuple | np.ndarray | float | int | np.number):
        return x
    if isinstance(x, np.ndarray):
        x = x.tolist()
    if not isinstance(x, list | tuple):
        return Value(x, name)
    flat = not any(isinstance(part, list | tuple | np.ndarray) for part in x)
    names = (f"{name}{k + 1}" if flat and "[" not in name else f"{name}[{k}]" for k in range(len(x)))
    return [named(part, each, levels - 1) for part, each in zip(x, names, strict=True)]


@contextmanager
def unchanged(module: Module) -> Iterator[None]:
    """Evaluate instead of train, and put back modes and what each part remembers of its last call."""
    parts = [part for _, part in module.named_modules()]
    kept = [(vars(part).get("training"), part._books.inputs, part._books.outputs) for part in parts]
    module.eval()
    try:
        yield
    finally:
        for part, (training, given, made) in zip(parts, kept, strict=True):
            vars(part)["training"] = training
            if training is None:  # that of its class
                del vars(part)["training"]
            part._books.inputs, part._books.outputs = given, made
