"""Which layers of another model are those of the old one: by name and shape, of Sequentials in their order."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ..errors import listing
from ..nn import Module, Parameter, Sequential
from ..scalar.store import Block
from .gather import as_blocks, buffers_in
from .graph import Graph

Layer = list[tuple[str, tuple[int, ...], Block]]
"""What one module has itself: name, shape and numbers of each."""

MOST_NAMED = 6
"""Layers that are named in words."""


def fitting_blocks(old: Graph, model: Any) -> dict[Block, Block]:
    """Each block of `model` that goes on, and the one of the old graph whose numbers it has.

    A block that both have is its own. Of two Sequentials the longest rows of layers of equal shapes, in order, are
    each other's; of other modules those of equal names and shapes.
    """
    own = set(old.blocks)
    if not isinstance(model, Module):
        return {block: block for block in own}
    new, before = layers_of(model), layers_of(old.model)
    by_order = isinstance(model, Sequential) and isinstance(old.model, Sequential)
    pairs = _in_order(new, before) if by_order else [(name, name) for name in new if name in before]
    found = {block: block for layer in new.values() for _, _, block in layer if block in own}
    taken = set(found.values())
    for name, other in pairs:
        mine, theirs = new[name], before[other]
        if _shapes(mine) == _shapes(theirs):
            for (_, _, block), (_, _, source) in zip(mine, theirs, strict=True):
                if block not in found and source in own and source not in taken:
                    found[block] = source
                    taken.add(source)
    return found


def names_in(model: Any) -> dict[Block, str]:
    """What the weights of a model are called in it, whoever else holds them."""
    return {
        block: f"{path}.{name}" if path else name
        for path, layer in layers_of(model).items()
        for name, shape, block in layer
        if block.size == prod(shape)  # not a single weight of many
    }


def layers_of(model: Any) -> dict[str, Layer]:
    """The modules of a model that have weights or buffers themselves, by path."""
    found: dict[str, Layer] = {}
    for name, part in model.named_parameters() if isinstance(model, Module) else ():
        (block,) = as_blocks([part])
        path, _, own = name.rpartition(".")
        found.setdefault(path, []).append((own, part.shape if isinstance(part, Parameter) else (), block))
    for name, buffer in buffers_in(model).items():
        path, _, own = name.rpartition(".")
        found.setdefault(path, []).append((own, buffer.shape, buffer))
    return found


def _shapes(layer: Layer) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, shape) for name, shape, _ in layer]


def _in_order(new: Mapping[str, Layer], old: Mapping[str, Layer]) -> list[tuple[str, str]]:
    """A longest common row of layers; one that both have is only its own."""
    both = {block for layer in old.values() for block in _blocks(layer)}

    def alike(mine: Layer, theirs: Layer) -> bool:
        shared = not both.isdisjoint(_blocks(mine))
        return _blocks(mine) == _blocks(theirs) if shared else _shapes(mine) == _shapes(theirs)

    same = [[alike(mine, theirs) for theirs in old.values()] for mine in new.values()]
    return [(list(new)[i], list(old)[j]) for i, j in _longest(same)]


def _blocks(layer: Layer) -> list[Block]:
    return [block for _, _, block in layer]


def _longest(same: list[list[bool]]) -> list[tuple[int, int]]:
    """A longest row of pairs that are the same, both sides rising."""
    n, m = len(same), len(same[0]) if same else 0
    length = [[0] * (m + 1) for _ in range(n + 1)]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            longer = max(length[i + 1][j], length[i][j + 1])
            length[i][j] = max(longer, 1 + length[i + 1][j + 1]) if same[i][j] else longer
    found, i, j = [], 0, 0
    while i < n and j < m:
        if same[i][j] and length[i][j] == 1 + length[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def said_of(graph: Graph, old: Graph, fitting: Mapping[Block, Block]) -> str:
    """Which layers go on and which begin, in words; nothing where all are the same ones."""
    new, before = layers_of(graph.model), layers_of(old.model)
    home = {block: path for path, layer in before.items() for _, _, block in layer}
    kept, begun, moved = [], [], False
    for path, layer in new.items():
        sources = {home.get(fitting[b], "") for _, _, b in layer if b in fitting}
        name = path or "the model"
        if not sources:
            begun.append(name)
            continue
        moved = moved or any(fitting.get(b) is not b for _, _, b in layer)
        (source,) = sources if len(sources) == 1 else ("",)
        kept.append(name if source in (path, "") else f"{name} (was {source})")
    if not begun and not moved:
        return ""
    parts = [f"taken over: {_some(kept)}"] if kept else ["nothing is taken over"]
    return "; ".join([*parts, *([f"new: {_some(begun)}"] if begun else [])])


def _some(names: list[str]) -> str:
    rest = len(names) - MOST_NAMED
    return listing(names) if rest <= 0 else f"{listing(names[:MOST_NAMED])} and {rest} more"
