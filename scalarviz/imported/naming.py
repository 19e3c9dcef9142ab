"""Paths in a network: from the names of a file's tensors and nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..nn import Embedding, Module
from ..onnx.graph import Node
from .layers.table import Found

ROOT = ""
_SPLIT = re.compile(r"[./]+")
_UNUSUAL = re.compile(r"[^\w-]+")
_AROUND = re.compile(r"^[^\w-]+|[^\w-]+$")


class Names:
    """Gives out paths, each once; a path is a layer, a parameter, or the beginning of others.

    Parameters
    ----------
    reserved : iterable of str
        Attributes that a path must not begin with.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.taken: set[str] = set()
        self.folders: set[str] = set()
        self.reserved = {*dir(Module), *reserved, "training"}

    def give(self, wanted: str) -> str:
        """The path `wanted`, or one like it that is free and that attributes can have."""
        parts = [self._part(part) for part in _SPLIT.split(wanted) if part] or ["layer"]
        for k in range(len(parts)):  # nothing stands below a layer
            while ".".join(parts[: k + 1]) in (self.taken if k + 1 < len(parts) else self.taken | self.folders):
                parts[k] += "_"
        path = ".".join(parts)
        self.taken.add(path)
        self.folders.update(".".join(parts[:k]) for k in range(1, len(parts)))
        return path

    def _part(self, part: str) -> str:
        part = _UNUSUAL.sub("_", _AROUND.sub("", part)).lstrip("_") or "layer"  # those behind are the file's own
        return f"{part}_" if part in self.reserved else part


def home(found: Found) -> str:
    """The path of the module that a layer with weights was, where the file says so; else empty."""
    return next((node.module for node in found.nodes if node.module), "") if found.weights else ""


def stem(found: Found) -> str | None:
    """The path that a layer has by its weights: ``fc1`` of ``fc1.weight``; empty for ``weight``; None without such.

    Where the file notes its module that is the path, if no numbers of its own say another: programs write equal weights
    once, under one of their names, and a convolution with the norm behind it as a part of that norm.
    """
    module = home(found)
    for attribute, tensor in found.weights.items():
        before, dot, last = tensor.name.rpartition(".")
        if last == attribute and not (module and isinstance(found.module, Embedding)):
            return before if dot else ROOT
    return module or None


def called_so(found: Found, path: str | None) -> bool:
    """Whether a weight of a layer has the name that the layer's path gives it."""
    return any(tensor.name == f"{path}.{attribute}" for attribute, tensor in found.weights.items())


def by_node(node: Node) -> str:
    """The path that a node's name tells: ``layers.0.act`` of PyTorch's ``/layers/layers.0/act/Relu``."""
    parts = [part for part in node.name.split("/") if part]
    if len(parts) > 1 and re.fullmatch(rf"{re.escape(node.operator)}(_\d+)?", parts[-1]):
        parts = parts[:-1]
    path: list[str] = []
    for part in parts:
        if path and part.startswith(f"{path[-1]}."):
            path.pop()
        path.append(part)
    return ".".join(path) or node.operator


def named(node: Node) -> bool:
    """Whether a node's name says more than its operator and its number; ``node_relu_1`` of PyTorch does not."""
    return re.fullmatch(rf"/?{re.escape(node.operator)}(_\d+)?|node_\w+", node.name) is None


def beside(names: Sequence[str | None], others: Sequence[str]) -> list[str]:
    """The paths of layers in a row, those without a name (None) beside their neighbours.

    Behind ``features.2`` comes ``features.3``, if no other has that name; else it is called as in `others`, in the
    group of its neighbour.

    Examples
    --------
    >>> beside([None, "1", None, "2", "a.0", None], ["Reshape", "1", "Relu", "2", "a.0", "Tanh"])
    ['0', '1', 'Relu', '2', 'a.0', 'a.1']
    """
    taken, found = {name for name in names if name}, list(names)
    for k, name in enumerate(found):
        before = found[k - 1] if k else None
        if name is None and before is not None:
            found[k] = _beside(before, 1, others[k], taken)
            taken.add(str(found[k]))
    for k in range(len(found) - 2, -1, -1):  # the first ones have a neighbour behind them only
        behind = found[k + 1]
        if found[k] is None and behind is not None:
            found[k] = _beside(behind, -1, others[k], taken)
            taken.add(str(found[k]))
    return [name or other for name, other in zip(found, others, strict=True)]


def _beside(neighbour: str, step: int, other: str, taken: set[str]) -> str:
    group, dot, last = neighbour.rpartition(".")
    number = int(last) + step if last.isdecimal() else -1
    name = f"{group}{dot}{number}"
    return name if number >= 0 and name not in taken else f"{group}{dot}{other}"
