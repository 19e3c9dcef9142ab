"""Functions of a file's own: a node that calls one becomes the nodes of its body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from ..errors import FileFormatError, shown
from .limits import LARGEST_BODIES, MOST_DEEP, MOST_NODES

Key = tuple[str, str, str]
"""Domain, name and variant of a function."""
STANDARD = ("", "ai.onnx")


def inlined(model: Any, where: str) -> Any:
    """The graph of a model with the bodies of its functions in the place of calls.

    Parameters
    ----------
    model : onnx.ModelProto
        Stays as it is.
    where : str
        The file, for messages.

    Returns
    -------
    onnx.GraphProto, or what has its fields

    Raises
    ------
    FileFormatError
        Functions call themselves, or become too many nodes; a call does not fit; a body is of another opset.
    """
    said = model.graph
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    if not any(_key(node) in functions for node in said.node):
        return said
    if len(functions) < len(model.functions):
        raise FileFormatError(f"{where} has two functions of one name; export it anew")
    bodies = _Bodies(functions, model, where)
    nodes, size = bodies.sums(said.node, ())
    if nodes > MOST_NODES or size > LARGEST_BODIES:
        raise FileFormatError(
            f"{where}: its functions become {nodes:,} nodes of {size:,} bytes; allowed: {MOST_NODES:,} nodes, "
            f"{LARGEST_BODIES:,} bytes"
        )
    found = [inner for node in said.node for inner in bodies.of(node)]
    return SimpleNamespace(node=found, input=said.input, output=said.output, initializer=said.initializer,
                           sparse_initializer=said.sparse_initializer)  # fmt: skip


def _key(node: Any) -> Key:
    return node.domain, node.op_type, node.overload


class _Bodies:
    """What calls become."""

    def __init__(self, functions: dict[Key, Any], model: Any, where: str) -> None:
        self.functions, self.where = functions, where
        self.opsets = {one.version for one in model.opset_import if one.domain in STANDARD}
        self.known: dict[Key, tuple[int, int]] = {}
        self.taken: set[str] = set()

    def sums(self, nodes: Sequence[Any], within: tuple[Key, ...]) -> tuple[int, int]:
        """How many nodes these become, and of how many bytes."""
        count = size = 0
        for node in nodes:
            key = _key(node)
            if key not in self.functions:
                count, size = count + 1, size + node.ByteSize()
                continue
            if key in within or len(within) > MOST_DEEP:
                said = "calls itself" if key in within else f"calls more than {MOST_DEEP} others, one in the other"
                raise FileFormatError(f"{self.where}: function {shown(key[1])} {said}; export the file anew")
            if key not in self.known:
                self._check(self.functions[key])
                self.known[key] = self.sums(self.functions[key].node, (*within, key))
            count, size = count + self.known[key][0], size + self.known[key][1]
        return count, size

    def _check(self, function: Any) -> None:
        versions = {one.version for one in function.opset_import if one.domain in STANDARD}
        if versions - self.opsets:
            raise FileFormatError(
                f"{self.where}: function {shown(function.name)} is of opset {sorted(versions)}, the file of "
                f"{sorted(self.opsets)}; export it with one"
            )

    def of(self, node: Any) -> Iterator[Any]:
        """The nodes that one becomes: itself, or the body of the function that it calls."""
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
        """The nodes of a body, with the tensors and attributes of a call."""
        what = f"{self.where}: node {shown(call.name)} calls function {shown(function.name)}"
        for kind, formal, given in (("inputs", function.input, call.input), ("outputs", function.output, call.output)):
            if len(given) > len(formal):
                raise FileFormatError(f"{what} with {len(given)} {kind}, it has {len(formal)}; export the file anew")
        names = dict.fromkeys(function.input, "")
        names |= dict(zip(function.input, call.input, strict=False))
        for formal, given in zip(function.output, call.output, strict=False):
            if given:
                if names.get(formal):
                    raise FileFormatError(f"{what}, whose output {shown(formal)} is its input; export the file anew")
                names[formal] = given
        attributes = {given.name: given for given in (*function.attribute_proto, *call.attribute)}
        for number, inner in enumerate(function.node):
            made = type(inner)()
            made.CopyFrom(inner)
            made.name = f"{own}{inner.name or f'{inner.op_type}_{number}'}"
            for side, old in ((made.input, inner.input), (made.output, inner.output)):
                del side[:]
                side.extend(names.get(name, f"{own}{name}") if name else "" for name in old)
            _give(made, inner, attributes)
            yield made


def _give(made: Any, inner: Any, attributes: dict[str, Any]) -> None:
    """Give a node of a body the attributes that the call names; those that it leaves out have their defaults."""
    del made.attribute[:]
    for given in inner.attribute:
        if not given.ref_attr_name:
            made.attribute.add().CopyFrom(given)
        elif given.ref_attr_name in attributes:
            one = made.attribute.add()
            one.CopyFrom(attributes[given.ref_attr_name])
            one.name = given.name
