"""From results back to everything they were computed from, and to the modules that own it.

A graph of a million numbers is walked in a second or two; a record for each would take ten times as long. So
shortening, folding and counting work on keys of objects, and only what is drawn becomes an `Item`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...nn import Module
from ...scalar.nested import every, flatten
from ...scalar.sums import Dot, Row, Total
from ...scalar.value import Value
from ...scalar.weight import Weight

Key = Hashable
"""Equal for objects of one node, see `key_of`."""
Below = tuple["Value | Row", ...]
LONG, MANY = 16, 4
"""Most weights of a row that are drawn one by one without unfolding: in any graph, and in a large one."""

LASTING = frozenset((Value, Dot, Total))
"""Types that the graph itself holds, so an id is a key; tested first, because nearly all objects are of these."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The objects of a graph."""

    objects: dict[Key, Value | Row]  # operands before results
    below: dict[Key, tuple[Key, ...]]


def key_of(value: Value | Row) -> Key:
    """Return a key that is equal for objects of one node; a Weight object is made again at each access."""
    if isinstance(value, Weight):
        return id(value._block), value._index
    return (id(value.block), value.start, value.length) if isinstance(value, Row) else id(value)


def row_name(row: Row) -> str:
    """Return the name of a row: ``0.weight[3]``, or the name of the block if the row is all of it."""
    if row.length == row.block.size:
        return row.block.name
    first = row.block.weight_name(row.start)
    return first.rpartition("[")[0] if first.endswith("]") else first


def walked(roots: Sequence[Value], unfold: frozenset[str], long: int, most: int | None = None) -> Walk | None:
    """Return everything that leads to `roots`."""
    objects: dict[Key, Value | Row] = {}
    below: dict[Key, tuple[Key, ...]] = {}
    stack: list[Value | Row] = list(reversed(roots))
    while stack:
        value = stack[-1]
        key = id(value) if type(value) in LASTING else key_of(value)
        if key in below:  # all its operands are done
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
    """Return the operands; many neighbouring weights count as one row."""
    if isinstance(value, Row):
        return ()
    if isinstance(value, Dot):
        weights, bias = value.weights, value.bias
        return (
            *(_each(weights, unfold, long) if isinstance(weights, Row) else weights),
            *value.xs,
            *(_each(bias, unfold, long) if isinstance(bias, Row) else () if bias is None else (bias,)),
        )
    return _each(value.row, unfold, long) if isinstance(value, Total) else value.parents


def _each(row: Row, unfold: frozenset[str], long: int) -> Below:
    whole = row.length > long and not (unfold and row_name(row) in unfold)
    return (row,) if whole else tuple(row.weights())


# ---- Owners of nodes: a module stores its last call, and its weights know their module.

Kinds = dict[str, str]
"""Classes of modules by path."""
Paths = dict[Key, str]
"""Paths of modules by the keys of their nodes."""
Calls = Mapping[int, tuple[Any, Any]]
"""Inputs and outputs of modules by their ids: Values in nested lists."""


def last_calls(model: Module) -> Calls:
    """Return the inputs and outputs of the last call of each part of a model, by its id."""
    parts = (part for _, part in model.named_modules())
    return {id(part): (part._books.inputs, part._books.outputs) for part in parts}


def owners_of(walk: Walk, model: Module | None = None, calls: Calls | None = None) -> tuple[Kinds, Paths]:
    """Return the class of each module with nodes, by path, and the path of each node that a module owns.

    Default model: the one that owns the weights; default calls: the last ones of its parts.
    """
    roots = [model] if model is not None else _roots(walk)
    kinds: Kinds = {}
    paths: Paths = {}
    for k, root in enumerate(roots, 1):
        name = type(root).__name__.lower()
        prefix = "" if len(roots) == 1 and root.children() else name if k == 1 else f"{name}{k}"
        called = last_calls(root) if calls is None else calls
        modules = [(path, part) for path, part in root.named_modules(prefix) if path and id(part) in called]
        for path, part in modules:
            _claim(called[id(part)], path, walk, paths)
        _claim_by_weights(walk, {id(part): path for path, part in root.named_modules(prefix)}, paths)
        _claim_between(walk, [path for path, part in reversed(modules) if part.children()], paths)
        kinds |= {path: type(part).__name__ for path, part in modules}
    used = {prefix for path in set(paths.values()) for prefix in prefixes(path)}
    return {path: kind for path, kind in kinds.items() if path in used}, _with_leaves(walk, paths)


def prefixes(path: str) -> list[str]:
    """Return all prefixes of a path: ``a``, ``a.b``, ``a.b.c``."""
    parts = path.split(".") if path else []
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _claim(call: tuple[Any, Any], path: str, walk: Walk, paths: Paths) -> None:
    """Claim the results between inputs and outputs of a call for a module; its parts claim theirs later."""
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


def _claim_by_weights(walk: Walk, modules: Mapping[int, str], paths: Paths) -> None:
    """Claim weights, and weighted sums of earlier calls, for the modules that hold the weights."""
    for key, value in walk.objects.items():
        of = value.weights if isinstance(value, Dot) else value
        block = None if key in paths else _block(of)
        if block is not None:
            owners = [ref() for ref in block.owners]
            path = next((modules[id(owner)] for owner in owners if id(owner) in modules), "")
            if path:
                paths[key] = path


def _claim_between(walk: Walk, whole: Sequence[str], paths: Paths) -> None:
    """Claim the nodes between the parts of modules; a part stores one call, or none if ``forward`` was called."""
    if not whole:
        return
    order, spans = list(walk.objects), dict[str, tuple[int, int]]()
    for place, key in enumerate(order):
        for path in prefixes(paths.get(key, "")) if walk.below[key] else ():
            spans[path] = spans.get(path, (place, place))[0], place
    for path in whole:
        first, last = spans.get(path, (0, -1))
        part = [key for key in order[first : last + 1] if walk.below[key]]
        own = {key for key in part if f"{paths.get(key, '')}.".startswith(f"{path}.")}
        after, before = set(own), set(own)
        for key in part:
            if not after.isdisjoint(walk.below[key]):
                after.add(key)
        for key in reversed(part):
            if key in before:
                before.update(walk.below[key])
        paths |= dict.fromkeys((key for key in part if key in after and key in before and key not in paths), path)


def _with_leaves(walk: Walk, paths: Paths) -> Paths:
    """Add the leaves that no module holds to the module of all their users, unless they have a name."""
    shared: Paths = {}
    for key, operands in walk.below.items() if paths else ():
        path = paths.get(key, "")
        for leaf in operands:
            if not walk.below[leaf] and leaf not in paths:
                known = shared.setdefault(leaf, path)
                shared[leaf] = path if known == path else _common(known, path)
    bare = {key for key in shared if type(of := walk.objects[key]) is not Value or not of.label}
    return paths | {key: path for key, path in shared.items() if path and key in bare}


def _common(one: str, other: str) -> str:
    """Return the longest common path prefix, whole parts only."""
    return max(set(prefixes(one)).intersection(prefixes(other)), key=len, default="")


def _roots(walk: Walk) -> list[Module]:
    """Return the outermost modules that hold the weights of a graph."""
    blocks = {id(b): b for b in map(_block, walk.objects.values()) if b is not None}
    found: dict[int, Module] = {}
    for block in blocks.values():
        for owner in (ref() for ref in block.owners):
            if isinstance(owner, Module):
                root = _top(owner)
                found[id(root)] = root
                break
    return list(found.values())


def _block(value: object) -> Any:
    if type(value) is Value:  # in a large graph nearly all are Values
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


# ---- A call without side effects: a prediction for one sample, after which the network is as before.

NAME = "x"
"""Name of a sample without names; its numbers are x1, x2, ..."""


def called(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[list[Value], Calls | None]:
    """Return the results of a module or a function for one sample with named numbers, and the calls of its parts."""
    names = [NAME] if len(inputs) == 1 else [f"{NAME}{k + 1}" for k in range(len(inputs))]
    given = [named(x, name) for x, name in zip(inputs, names, strict=True)]
    if not isinstance(function, Module):
        return every(function(*given), "draw: what is called"), None
    with unchanged(function):
        return every(function(*given), "draw: what is called"), last_calls(function)


def named(x: Any, name: str, levels: int = 40) -> Any:
    """Return the sample as named Values: ``x``, a row ``x1, x2``, or nested lists ``x[0][1]``, up to `levels` deep."""
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
    """Switch a module to evaluation while the block runs; then restore modes and the stored last calls."""
    parts = [part for _, part in module.named_modules()]
    kept = [(vars(part).get("training"), part._books.inputs, part._books.outputs) for part in parts]
    module.eval()
    try:
        yield
    finally:
        for part, (training, given, made) in zip(parts, kept, strict=True):
            vars(part)["training"] = training
            if training is None:  # the class has the default
                del vars(part)["training"]
            part._books.inputs, part._books.outputs = given, made
