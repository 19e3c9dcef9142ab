"""`inlined`: replace the calls of a file's own functions by the nodes of the functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from ..errors import FileFormatError, shown
from .scan import MOST_DEEP, MOST_NODES

LARGEST_BODIES = 1 << 28
"""Bytes after functions are expanded: each call repeats the function's body."""

Key = tuple[str, str, str]
"""Domain, name and variant of a function."""
STANDARD = ("", "ai.onnx")


def inlined(model: Any, where: str) -> Any:
    """Return the graph of a model, or an object with its fields, with function calls replaced by the functions' nodes.

    Refused are recursive functions, too many nodes, calls that do not fit, and functions of another opset.
    """
    said = model.graph
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    if not any(_key(node) in functions for node in said.node):
        return said
    if len(functions) < len(model.functions):
        raise FileFormatError(f"{where} has two functions with the same name; export the file again")
    bodies = _Bodies(functions, model, where)
    nodes, size = bodies.sums(said.node, ())
    if nodes > MOST_NODES or size > LARGEST_BODIES:
        raise FileFormatError(
            f"{where}: the functions expand to {nodes:,} nodes and {size:,} bytes; allowed: {MOST_NODES:,} nodes "
            f"and {LARGEST_BODIES:,} bytes"
        )
    found = [inner for node in said.node for inner in bodies.of(node)]
    return SimpleNamespace(node=found, input=said.input, output=said.output, initializer=said.initializer,
                           sparse_initializer=said.sparse_initializer)  # fmt: skip


def _key(node: Any) -> Key:
    return node.domain, node.op_type, node.overload


class _Bodies:
    """Expands calls of functions."""

    def __init__(self, functions: dict[Key, Any], model: Any, where: str) -> None:
        self.functions, self.where = functions, where
        self.opsets = {one.version for one in model.opset_import if one.domain in STANDARD}
        self.known: dict[Key, tuple[int, int]] = {}
        self.taken: set[str] = set()

    def sums(self, nodes: Sequence[Any], within: tuple[Key, ...]) -> tuple[int, int]:
        """Return the number of nodes after expansion, and their bytes."""
        count = size = 0
        for node in nodes:
            key = _key(node)
            if key not in self.functions:
                count, size = count + 1, size + node.ByteSize()
                continue
            if key in within or len(within) > MOST_DEEP:
                said = "calls itself" if key in within else f"nests calls more than {MOST_DEEP} levels deep"
                raise FileFormatError(f"{self.where}: function {shown(key[1])} {said}; export the file again")
            if key not in self.known:
                self._check(self.functions[key])
                self.known[key] = self.sums(self.functions[key].node, (*within, key))
            count, size = count + self.known[key][0], size + self.known[key][1]
        return count, size

    def _check(self, function: Any) -> None:
        versions = {one.version for one in function.opset_import if one.domain in STANDARD}
        if versions - self.opsets:
            raise FileFormatError(
                f"{self.where}: function {shown(function.name)} has opset {sorted(versions)}, but the file has "
                f"{sorted(self.opsets)}; export with one opset"
            )

    def of(self, node: Any) -> Iterator[Any]:
        """Yield the node itself, or the nodes of the function that it calls."""
        function = self.functions.get(_key(node))
        if function is None:
            yield node
            return
        own = f"{node.name or node.op_type}/"
        while own in self.taken:
            own = f"{own[:-1]}_/"
        self.taken.add(own)
        for inner in self._body(function, node, own):
            yield from self.of(inner)

    def _body(self, function: Any, call: Any, own: str) -> Iterator[Any]:
        """Yield the nodes of a function, with the tensors and attributes of a call."""
        what = f"{self.where}: node {shown(call.name)} calls function {shown(function.name)}"
        for kind, formal, given in (("inputs", function.input, call.input), ("outputs", function.output, call.output)):
            if len(given) > len(formal):
                raise FileFormatError(f"{what} with {len(given)} {kind}, not {len(formal)}; export the file again")
        names = dict.fromkeys(function.input, "")
        names |= dict(zip(function.input, call.input, strict=False))
        for formal, given in zip(function.output, call.output, strict=False):
            if given:
                if names.get(formal):
                    raise FileFormatError(f"{what}, whose output {shown(formal)} is an input, too; export again")
                names[formal] = given
        attributes = {given.name: given for given in (*function.attribute_proto, *call.attribute)}
        for number, inner in enumerate(function.node):
            made = type(inner)()
            made.CopyFrom(inner)
            made.name = f"{own}{inner.name or f'{inner.op_type}_{number}'}"
            for side, old in ((made.input, inner.input), (made.output, inner.output)):
                del side[:]
                side.extend(names.get(name, f"{own}{name}") if name else "" for name in old)
            _set_attributes(made, inner, attributes)
            yield made


def _set_attributes(made: Any, inner: Any, attributes: dict[str, Any]) -> None:
    """Copy the attributes of a function's node; references take the call's attribute, or are left out."""
    del made.attribute[:]
    for given in inner.attribute:
        if not given.ref_attr_name:
            made.attribute.add().CopyFrom(given)
        elif given.ref_attr_name in attributes:
            one = made.attribute.add()
            one.CopyFrom(attributes[given.ref_attr_name])
            one.name = given.name
