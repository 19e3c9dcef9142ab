"""`stored_subject`: one or two files of numbers as the subject of a workbench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import check_memory
from ...errors import InputError
from ...imported.facts import MOVED
from ...imported.weights_file import Array, Read, as_floats, module_of, read_stored
from ...io.matching import Match, matched
from ...onnx.graph import Graph, Node
from ...run.core.frame import Frame, Past
from ...run.core.tensors import Tensor
from ...run.panels import Histogram
from ...run.source import Abilities
from ...run.sources.played import Played
from ...run.sources.recorded_pair import Compared, RecordedPair
from ...run.sources.recording.tables import distinct
from ..page.recording import names_of
from ..shown.subject import Float, Subject, pair_subject
from ..shown.subject import tensors_of as tensors_of_arrays
from ..space.blocks import Item


def stored_subject(paths: Sequence[Path], only: Sequence[str] = ()) -> Subject:
    """Return the numbers of one file with their histogram, or of two files with their difference."""
    if not 1 <= len(paths) <= 2:
        raise InputError(f"got {len(paths)} files; allowed: one or two")
    names = names_of(paths)
    if len(set(names)) < len(paths):  # net.onnx and net.safetensors of one folder
        names = [path.name for path in paths]
    stored = [read_stored(path, only) for path in paths]
    count = sum(array.size for one in stored for array in one.arrays.values())
    check_memory(count * BYTES, f"the picture of {count:,} numbers", "name some tensors, such as --only 'layers.0.*'")
    arrays = [as_floats(by_printed_names(one.arrays)) for one in stored]
    items = _items(paths[0], stored[0], [*arrays[0]])
    if len(paths) == 1:
        return Subject(Stored(arrays[0], names[0]), panels=(Histogram(),), items=items)
    arrays[1] = _by_their_names(arrays[1], matched(*arrays))
    a, b = (Stored(own, name) for own, name in zip(arrays, names, strict=True))
    return replace(pair_subject(StoredPair(a, b, (names[0], names[1]))), items=items)


def _items(path: Path, file: Read, printed: Sequence[str]) -> tuple[Item, ...]:
    """Return the layers of a file whose tensors have the `printed` names."""
    if file.graph is None:
        return items_of_names(printed)
    from ...onnx.reading import shapes_of

    called = dict(zip(file.arrays, printed, strict=True))
    names = {name: called[known] for name, known in file.called.items() if known in called}
    return _Items(file.graph, names, shapes_of(path)).build()


def _by_their_names(arrays: Mapping[str, Float], found: Mapping[str, Match]) -> dict[str, Float]:
    """Return the second file's arrays, with the names and axis order of their counterparts in the first."""
    taken = {match.name for match in found.values()}
    there = {name: match.aligned(arrays[match.name]) for name, match in found.items()}
    left = ((name if name not in there else f"{name} (another)", array)
            for name, array in arrays.items() if name not in taken)  # fmt: skip
    return there | dict(left)


LONGEST_NAME = 80
BYTES = 80
"""Bytes that a picture needs for each number, alone or with its counterpart."""


# ---- `Stored`: the numbers of a file as a source, and of two files; they have one fixed moment.


def by_printed_names(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays under names that fit on a line; a name that is already used gets a number."""
    return {line: arrays[name] for name, line in distinct(arrays, LONGEST_NAME).items()}


def amount(tensors: Sequence[Tensor]) -> str:
    """Return ``12 numbers in 2 tensors``."""
    size, count = sum(tensor.size for tensor in tensors), len(tensors)
    return f"{size:,} number{'' if size == 1 else 's'} in {count:,} tensor{'' if count == 1 else 's'}"


class Stored(Played):
    """Named arrays that never change."""

    can, recorded, counted = Abilities(), False, False

    def __init__(self, arrays: Mapping[str, Float], name: str) -> None:
        super().__init__("a file of numbers", name)
        self._tensors = tensors_of_arrays(arrays)
        flat = np.concatenate([array.ravel() for array in arrays.values()])
        flat.setflags(write=False)
        nothing = np.broadcast_to(flat.dtype.type(0), flat.shape)
        unset = np.broadcast_to(np.False_, flat.shape)
        self._frame = Frame(0, np.nan, np.nan, flat, nothing, nothing, unset, unset)
        self.past = Past(0, 0, steps=np.zeros(1, np.int64))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors, one for each array."""
        return self._tensors

    @property
    def says(self) -> str:
        """The number of numbers and tensors, in words."""
        return amount(self._tensors)

    def frame_at(self, place: int) -> Frame:
        """Return the only frame."""
        return self._frame

    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return NaN for each place: a file has no loss."""
        return np.full(len(places), np.nan)

    def lacks(self, quantity: str) -> str:
        """Return why a quantity is missing: a file holds only weights."""
        return "" if quantity == "weight" else "a file holds only weights"


class StoredPair(RecordedPair):
    """Two files, with the difference of the tensors that they share."""

    can, recorded = Abilities(), False

    def __init__(self, a: Stored, b: Stored, names: tuple[str, str]) -> None:
        super().__init__(a, b, names)
        self.heads = a.says, b.says
        self._frame = super().frame_at(0)
        for one in (self._frame, *self._frame.frames):
            one.values.setflags(write=False)

    def frame_at(self, place: int) -> Compared:
        """Return the difference, which is computed once."""
        return self._frame

    def lacks(self, quantity: str) -> str:
        """Return why a quantity is missing: files hold only weights."""
        return "" if quantity == "weight" else "files hold only weights"


# ---- The layers and wires of an ONNX graph.

Shape = tuple[int | str, ...]
SIDES = frozenset({"Shape", "Size"})
"""Operators whose outputs do not carry the data."""
SILENT = MOVED | {"Add", "Cast", "Concat", "Constant", "Div", "Dropout", "Gather", "Mul", "Neg", "Pow", "Split", "Sqrt",
                  "Sub", "Where"}  # fmt: skip
"""Operators that are not named if they read one layer only: they move or scale numbers."""


class _Value(NamedTuple):
    """An array computed from the data: the item that produced it, and the operators since."""

    item: int
    words: tuple[str, ...] = ()


@dataclass
class _Items:
    """Layers, joins, inputs and outputs in the order of computation.

    `names` maps the graph's names to those of the drawn tensors; `shapes` are the known shapes of intermediate arrays.
    Tensors that no node reads come last.
    """

    graph: Graph
    names: Mapping[str, str]
    shapes: Mapping[str, Shape]
    items: list[Item] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)  # module of each item
    values: dict[str, _Value] = field(default_factory=dict)
    stored: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tensors behind data-free arrays
    placed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.stored = {name: (name,) for name in self.names}
        for port in self.graph.inputs:
            shape = tuple("?" if side is None else side for side in port.shape or ())
            self.values[port.name] = self._add(Item("", port.name, "input", shape=shape), "")

    def _add(self, item: Item, path: str) -> _Value:
        self.items.append(item)
        self.paths.append(path)
        return _Value(len(self.items) - 1)

    def read_node(self, node: Node) -> None:
        """Add the outputs of a node."""
        read = [self.values[name] for name in node.inputs if name in self.values]
        parts = tuple(dict.fromkeys(part for name in node.inputs for part in self.stored.get(name, ())))
        if node.operator in SIDES:
            return
        if not read:
            self.stored |= {name: parts for name in node.outputs if name not in self.names}
            return
        made = self._value_of(node, read, parts)
        self.values |= {name: made for name in node.outputs if name}

    def _value_of(self, node: Node, read: Sequence[_Value], parts: Sequence[str]) -> _Value:
        shape = self.shapes.get(next(filter(None, node.outputs), ""), ())
        sources = {value.item: value for value in sorted(read, key=lambda value: len(value.words))}
        before = max(sources)
        if parts:
            path = _path(self.names[parts[0]], module_of(node))
            new = tuple(self.names[part] for part in parts if part not in self.placed)
            self.placed.update(parts)
            own = self.items[before]
            if len(sources) == 1 and own.tensors and self.paths[before] == path:  # the sum with its bias
                self.items[before] = replace(own, tensors=(*own.tensors, *new), shape=shape)
                return sources[before]
            name = path.rpartition(".")[2] if "." in path else path
        elif len(sources) == 1:
            words = sources[before].words
            if node.operator not in SILENT and words[-1:] != (node.operator,):
                words += (node.operator,)
            return _Value(before, words)
        else:
            new, name, path = (), "", f"{module_of(node)}." if module_of(node) else f"{self.items[before].block}."
        block = block_of(path)
        if parts and block and path.startswith(f"{block}."):
            name = path[len(block) + 1 :]
        reads = tuple((value.item, value.words) for value in sources.values())
        return self._add(Item(block, name, node.operator, new, reads, shape), path)

    def build(self) -> tuple[Item, ...]:
        """Return all items, each input in the block that reads it; outputs and unread tensors come last."""
        for node in self.graph.nodes:
            self.read_node(node)
        for port in self.graph.outputs:
            value = self.values.get(port.name)
            if value is not None:
                shape = tuple("?" if side is None else side for side in port.shape or ())
                block = self.items[value.item].block
                self._add(Item(block, port.name, "output", (), ((value.item, value.words),), shape), "")
        for k, item in enumerate(self.items):
            if item.operator == "input":
                reader = next((other.block for other in self.items if any(k == s for s, _ in other.sources)), "")
                self.items[k] = replace(item, block=reader)
        for part, name in self.names.items():
            if part not in self.placed:
                self._add(Item("", name, "not read", (name,)), "")
        return tuple(self.items)


def _path(name: str, module: str = "") -> str:
    """Return the module of a tensor by its name; a name without dots belongs to the `module` that reads it."""
    above, _, last = name.replace("/", ".").rpartition(".")
    return above or f"{module}.{last}".strip(".")


def items_of_names(names: Sequence[str]) -> tuple[Item, ...]:
    """Return layers in the order of their tensors' names, if nothing is known about their inputs."""
    layers: dict[str, list[str]] = {}
    for name in names:
        layers.setdefault(_path(name), []).append(name)
    return tuple(Item(block_of(path), path[len(block_of(path)) :].strip("."), "",
                      tuple(sorted(own, key=lambda name: not name.endswith("weight"))))
                 for path, own in layers.items())  # fmt: skip


def block_of(path: str) -> str:
    """Return the block of a layer: its path up to the first number that is not the layer itself, or its parent."""
    parts = path.split(".")
    at = next((k for k, part in enumerate(parts[:-1]) if part.isdecimal()), len(parts) - 2)
    return ".".join(parts[: at + 1])
