"""Whose nodes they are: a module remembers its last call, and its weights know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...nn import Module
from ...scalar.nested import flatten
from ...scalar.sums import Dot, Row
from ...scalar.value import Value
from ...scalar.weight import Weight
from .nodes import Node
from .walk import Key, Walk, key_of

Kinds = dict[str, str]
"""Paths of modules, and what each is."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """What a module got and gave; Values, in lists nested as they came."""

    inputs: Any
    outputs: Any


Calls = Mapping[int, Call]
"""By the id of the module."""


def last_calls(model: Module) -> Calls:
    """What the parts of a model remember."""
    parts = (part for _, part in model.named_modules())
    return {id(part): Call(part._books.inputs, part._books.outputs) for part in parts}


class Owners(NamedTuple):
    """Whose the nodes of a graph are.

    Attributes
    ----------
    kinds : dict of str to str
        The class of every module that has nodes, by its path.
    paths : dict of Key to str
        The paths of results that a module made in its last call.
    """

    kinds: Kinds
    paths: dict[Key, str]


def owners_of(walk: Walk, model: Module | None = None, calls: Calls | None = None) -> Owners:
    """Which modules made what of a graph.

    Parameters
    ----------
    walk : Walk
    model : Module, optional
        The whole; default: what the weights of the graph belong to.
    calls : mapping of int to Call, optional
        Of its parts; default: their last ones.
    """
    roots = [model] if model is not None else _roots(walk)
    kinds: Kinds = {}
    paths: dict[Key, str] = {}
    for number, root in enumerate(roots, 1):
        prefix = _prefix(root, number, len(roots))
        called = last_calls(root) if calls is None else calls
        for path, module in root.named_modules(prefix):
            if path and id(module) in called:
                kinds[path] = type(module).__name__
                _claim(called[id(module)], path, walk, paths)
        _claim_by_weights(walk, {id(m): path for path, m in root.named_modules(prefix)}, paths)
    used = {prefix for path in set(paths.values()) for prefix in prefixes(path)}
    return Owners({path: kind for path, kind in kinds.items() if path in used}, paths)


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


def _prefix(root: Module, number: int, count: int) -> str:
    """What stands before the paths: nothing, where there is one model that has parts."""
    if count == 1 and root.children():
        return ""
    name = type(root).__name__.lower()
    return name if number == 1 else f"{name}{number}"


def _claim(call: Call, path: str, walk: Walk, paths: dict[Key, str]) -> None:
    """The results between the inputs and the outputs of a call; parts of a module claim theirs after it."""
    ends = {key_of(value) for value in flatten(call.inputs)}
    stack = [key for key in map(key_of, flatten(call.outputs)) if key in walk.below]
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
