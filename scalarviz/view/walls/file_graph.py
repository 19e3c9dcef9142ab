"""`items_of`: what the graph of an ONNX file is as layers, joins and the wires between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...imported.building import by_node, named
from ...imported.facts import MOVED
from ...onnx.graph import Graph, Node
from ..space.blocks import Item

Shape = tuple[int | str, ...]
SIDES = frozenset({"Shape", "Size"})
"""Operators whose numbers are not the data's."""
SILENT = MOVED | {"Add", "Cast", "Concat", "Constant", "Div", "Dropout", "Gather", "Mul", "Neg", "Pow", "Split", "Sqrt",
                  "Sub", "Where"}  # fmt: skip
"""Operators that are not named where they read numbers of one layer alone: they move numbers, or scale them."""


class _Value(NamedTuple):
    """An array made of the data: by which item, and the operators since."""

    item: int
    words: tuple[str, ...] = ()


def items_of(graph: Graph, names: Mapping[str, str], shapes: Mapping[str, Shape]) -> tuple[Item, ...]:
    """Layers, joins, inputs and outputs in the order in which they are computed.

    `names` are those of the stored tensors that are drawn, by what the graph calls them; `shapes` are of arrays that it
    makes, as far as they are known. What no node reads of the data stands at the end.
    """
    found = _Items(graph, names, shapes)
    for node in graph.nodes:
        found.take(node)
    return found.done()


@dataclass
class _Items:
    graph: Graph
    names: Mapping[str, str]
    shapes: Mapping[str, Shape]
    items: list[Item] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)  # the module of each item
    values: dict[str, _Value] = field(default_factory=dict)
    stored: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what arrays that no data went into are made of
    placed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.stored = {name: (name,) for name in self.names}
        for port in self.graph.inputs:
            shape = tuple("?" if side is None else side for side in port.shape or ())
            self.values[port.name] = self._put(Item("", port.name, "input", shape=shape), "")

    def _put(self, item: Item, path: str) -> _Value:
        self.items.append(item)
        self.paths.append(path)
        return _Value(len(self.items) - 1)

    def take(self, node: Node) -> None:
        """Go on behind a node."""
        read = [self.values[name] for name in node.inputs if name in self.values]
        parts = tuple(dict.fromkeys(part for name in node.inputs for part in self.stored.get(name, ())))
        if node.operator in SIDES:
            return
        if not read:
            self.stored |= {name: parts for name in node.outputs if name not in self.names}
            return
        made = self._made(node, read, parts)
        self.values |= {name: made for name in node.outputs if name}

    def _made(self, node: Node, read: Sequence[_Value], parts: Sequence[str]) -> _Value:
        shape = self.shapes.get(next(filter(None, node.outputs), ""), ())
        sources = {value.item: value for value in sorted(read, key=lambda value: len(value.words))}
        before = max(sources)
        if parts:
            path = _path(self.names[parts[0]], _module(node))
            new = tuple(self.names[part] for part in parts if part not in self.placed)
            self.placed.update(parts)
            own = self.items[before]
            if len(sources) == 1 and own.tensors and self.paths[before] == path:  # a sum with its bias
                self.items[before] = replace(own, tensors=(*own.tensors, *new), shape=shape)
                return sources[before]
            name = path.rpartition(".")[2] if "." in path else path
        elif len(sources) == 1:
            words = sources[before].words
            if node.operator not in SILENT and words[-1:] != (node.operator,):
                words += (node.operator,)
            return _Value(before, words)
        else:
            new, name, path = (), "", f"{_module(node)}." if _module(node) else f"{self.items[before].block}."
        block = block_of(path)
        if parts and block and path.startswith(f"{block}."):
            name = path[len(block) + 1 :]
        reads = tuple((value.item, value.words) for value in sources.values())
        return self._put(Item(block, name, node.operator, new, reads, shape), path)

    def done(self) -> tuple[Item, ...]:
        """All items, each input in the block that reads it, outputs and what nothing reads at the end."""
        for port in self.graph.outputs:
            value = self.values.get(port.name)
            if value is not None:
                shape = tuple("?" if side is None else side for side in port.shape or ())
                block = self.items[value.item].block
                self._put(Item(block, port.name, "output", (), ((value.item, value.words),), shape), "")
        for k, item in enumerate(self.items):
            if item.operator == "input":
                reader = next((other.block for other in self.items if any(k == s for s, _ in other.sources)), "")
                self.items[k] = replace(item, block=reader)
        for part, name in self.names.items():
            if part not in self.placed:
                self._put(Item("", name, "not read", (name,)), "")
        return tuple(self.items)


def _path(name: str, module: str = "") -> str:
    """The module that a tensor belongs to, by its name; a name without dots stands in the `module` that reads it."""
    above, _, last = name.replace("/", ".").rpartition(".")
    return above or f"{module}.{last}".strip(".")


def items_of_names(names: Sequence[str]) -> tuple[Item, ...]:
    """Layers in the order of the names of their tensors, where nothing is known of what they read."""
    layers: dict[str, list[str]] = {}
    for name in names:
        layers.setdefault(_path(name), []).append(name)
    return tuple(Item(block_of(path), path[len(block_of(path)) :].strip("."), "", tuple(own))
                 for path, own in layers.items())  # fmt: skip


def _module(node: Node) -> str:
    return node.module or (by_node(node) if named(node) else "")


def block_of(path: str) -> str:
    """The block of a layer: down to the first number that is not the layer itself, else what the layer stands in."""
    parts = path.split(".")
    at = next((k for k, part in enumerate(parts[:-1]) if part.isdecimal()), len(parts) - 2)
    return ".".join(parts[: at + 1])
