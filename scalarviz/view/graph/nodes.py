"""From results back to all that they were computed from, and whose it is: the objects as they are.

A graph of a million numbers is walked in a second or two; a record of each costs ten times that. So what is written
shorter, folded and counted is keys of objects, and only what is drawn becomes an `Item`.
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
"""Equal for what is one node, see `key_of`."""
Below = tuple["Value | Row", ...]
LONG, MANY = 16, 4
"""Weights of a row that are drawn one by one, unless its name is unfolded: in any graph, and in a large one."""

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
    return (id(value.block), value.start, value.length) if isinstance(value, Row) else id(value)


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
    return _each(value.row, unfold, long) if isinstance(value, Total) else value.parents


def _each(row: Row, unfold: frozenset[str], long: int) -> Below:
    whole = row.length > long and not (unfold and row_name(row) in unfold)
    return (row,) if whole else tuple(row.weights())


# ---- Whose nodes they are: a module remembers its last call, and its weights know it.

Kinds = dict[str, str]
"""Paths of modules, and what each is."""
Paths = dict[Key, str]
"""What belongs to a module, and its path."""
Calls = Mapping[int, tuple[Any, Any]]
"""What modules got and gave, by their ids: Values, in lists nested as they came."""


def last_calls(model: Module) -> Calls:
    """What the parts of a model remember."""
    parts = (part for _, part in model.named_modules())
    return {id(part): (part._books.inputs, part._books.outputs) for part in parts}


def owners_of(walk: Walk, model: Module | None = None, calls: Calls | None = None) -> tuple[Kinds, Paths]:
    """The class of every module that has nodes, by its path, and the path of all that is a module's.

    Without a model it is that of the weights; without calls, their parts' last ones.
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
    """``a``, ``a.b``, ``a.b.c``."""
    parts = path.split(".") if path else []
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _claim(call: tuple[Any, Any], path: str, walk: Walk, paths: Paths) -> None:
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


def _claim_by_weights(walk: Walk, modules: Mapping[int, str], paths: Paths) -> None:
    """Weights, and weighted sums of earlier calls: by whoever holds the weights."""
    for key, value in walk.objects.items():
        of = value.weights if isinstance(value, Dot) else value
        block = None if key in paths else _block(of)
        if block is not None:
            owners = [ref() for ref in block.owners]
            path = next((modules[id(owner)] for owner in owners if id(owner) in modules), "")
            if path:
                paths[key] = path


def _claim_between(walk: Walk, whole: Sequence[str], paths: Paths) -> None:
    """What lies between the parts of modules: they remember one call, and none where ``forward`` was called by hand."""
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
    """The same, and leaves that no module holds: with all their users, unless they have a name."""
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
    """The longest path that both begin with, whole parts only."""
    return max(set(prefixes(one)).intersection(prefixes(other)), key=len, default="")


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


def _block(value: object) -> Any:
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
