"""`stored_subject`: one or two files of numbers as the subject of a workbench."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import check_memory
from ...errors import FileFormatError, InputError, listing, shown
from ...imported.building import named, node_path, valid_path
from ...imported.facts import MOVED, of_module
from ...io.atomic import StrPath, check_source, path_text, refuse_pickle, unreadable
from ...io.matching import Match, matched
from ...io.weights import DTYPES, entries_of, tensors_of
from ...onnx.graph import Graph, Node
from ...run.core.frame import Frame, Past, Tensor
from ...run.panels import Histogram
from ...run.source import Abilities
from ...run.sources.played import Played
from ...run.sources.recorded_pair import Compared, RecordedPair
from ...run.sources.recording.file import distinct
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


# ---- `read_stored`: the arrays of a file, in display order.

Array = NDArray[Any]

MOST_NUMBERS = 32_000_000
MOST_TENSORS = 1_000
BYTES = 80
"""Bytes that a picture needs for each number, alone or with its counterpart."""
LONGEST_NAME = 80
ENDINGS = (".onnx", ".safetensors")
WEIGHED = ("float16", "float32", "float64", "int8", "uint8", *(kind for kind in DTYPES if "F" in kind), "I8", "U8")
"""Types of weights by their names in NumPy and in safetensors; whole numbers of 8 bits are weights of small models."""


class Read(NamedTuple):
    """The arrays of a file; for an ONNX file also its graph, and the arrays' names by the graph's names."""

    arrays: dict[str, Array]
    graph: Graph | None = None
    called: Mapping[str, str] = {}


def read_stored(path: StrPath, only: Sequence[str] = ()) -> Read:
    """Return the arrays of a file by name: of an ONNX file in the order of its graph, otherwise ordered by name.

    An array that an ONNX file stores once under two names appears under both.
    """
    source = check_source(path, "file")
    try:
        refuse_pickle(source)
    except OSError as error:
        raise unreadable(path, error) from None
    match source.suffix.lower():
        case ".onnx":
            from ...onnx.reading import read_graph

            graph = _with_attributes(read_graph(source))
            own = _of_graph(graph)
            modules = _names_of_modules(graph, own)
            called = {name: modules.get(name, name) for name in own}
            known = {called[name]: array for name, array in own.items()}
            names = _chosen(
                path, {name: (array.shape, array.dtype.name in WEIGHED) for name, array in known.items()}, only
            )
            return Read({name: known[name] for name in names}, graph, called)
        case ".safetensors":
            entries = dict(sorted(entries_of(source).items(), key=lambda item: _natural(item[0])))
            names = _chosen(path, {name: (entry.shape, entry.kind in WEIGHED) for name, entry in entries.items()}, only)
            return Read(tensors_of(source, entries, names))
    raise FileFormatError(f"{path_text(path)}: cannot show this file; allowed: {listing(ENDINGS)}{_elsewhere(source)}")


def _elsewhere(path: Path) -> str:
    """Return a hint which command shows a file with another ending, or ''."""
    said = {
        ".svz": f"; to play a recording: scalarviz replay {path_text(path)}",
        ".csv": ", and .svs, which a sweep writes with --results",
        ".html": "; open a page in a browser",
    }
    return said.get(path.suffix.lower(), "")


def _with_attributes(graph: Graph) -> Graph:
    """Return a graph whose nodes read the tensors and rows of floats in their attributes, as of a tree, as inputs."""
    constants, nodes = dict(graph.constants), list[Node]()
    for node in graph.nodes:
        rows = {name: np.asarray(x) for name, x in node.attributes.items() if isinstance(x, np.ndarray)
                or (node.domain and isinstance(x, tuple) and all(isinstance(one, float) for one in x))}  # fmt: skip
        found = {f"{node.name}.{name}": array for name, array in rows.items()}
        constants |= found
        nodes.append(replace(node, inputs=(*node.inputs, *found)))
    fixed = graph.fixed | (constants.keys() - graph.constants.keys())
    return replace(graph, nodes=tuple(nodes), constants=constants, fixed=fixed)


def _of_graph(graph: Graph) -> dict[str, Array]:
    """Return the stored tensors of an ONNX file, in the order in which its sorted nodes read them."""
    needed = dict.fromkeys(name for node in graph.nodes for name in node.inputs if name in graph.constants)
    order = [*needed, *(name for name in graph.constants if name not in needed)]
    arrays = {name: graph.constants[name] for name in order}
    arrays = {name: array for name, array in arrays.items()  # whole numbers in a row are shapes and axes
              if array.dtype.kind == "f" or (array.dtype.kind in "iub" and array.ndim >= 2)}  # fmt: skip
    own = graph.constants.keys() - graph.fixed if not graph.noted else graph.noted.keys()
    parts = {name for name in arrays if name not in own and arrays[name].size == 1}  # of a formula, as 0.5 is
    kept = {name: array for name, array in arrays.items() if name not in parts or len(parts) == len(arrays)}
    same = [pair for node in graph.nodes if node.operator == "Identity"
            for pair in zip(node.inputs, node.outputs, strict=False)]  # fmt: skip
    return kept | {copy: kept[name] for name, copy in same if name in kept}


ROLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "GroupNormalization", "InstanceNormalization",
                     "LayerNormalization", "RMSNormalization"), ("", "weight", "bias")),
    "BatchNormalization": ("", "weight", "bias", "running_mean", "running_var"),
    "Add": ("bias", "bias"), "Gather": ("weight",), "MatMul": ("weight", "weight"), "Mul": ("weight", "weight"),
    "PRelu": ("", "weight"),
}  # fmt: skip
"""A module's names for its operators' inputs, in order; '' for an input without a name."""


def _names_of_modules(graph: Graph, arrays: Mapping[str, Array]) -> dict[str, str]:
    """Return names for tensors that the exporter numbered: ``conv1.weight`` for an input of the node /conv1/Conv.

    What is added to a product is the bias of its module, as in a loaded network.
    """
    found, taken = dict[str, str](), set(arrays)
    paths = {node.name: _module(node) for node in graph.nodes}
    products = {name: node.name for node in graph.nodes for name in node.outputs
                if node.operator == "MatMul" and not arrays.keys().isdisjoint(node.inputs)}  # fmt: skip
    for node in graph.nodes:
        for product in (products[name] for name in node.inputs if name in products and node.operator == "Add"):
            paths[node.name] = paths[product] = paths[product] or paths[node.name]
    for node in graph.nodes:
        path = paths[node.name]
        for name, role in zip(node.inputs, ROLES.get(node.operator, ()) if path else (), strict=False):
            if role and name in arrays and name not in found and not of_module(name):
                new = f"{valid_path(path)}.{role}"
                if new not in taken:
                    found[name] = new
                    taken.add(new)
    return found


def _chosen(path: StrPath, stored: Mapping[str, tuple[tuple[int, ...], bool]], only: Sequence[str]) -> list[str]:
    """Return the names to show, given the shape of each and whether it may be a weight; InputError: none or too many.

    Others are shown only where no weight is: they count, or are indices.
    """
    sizes = {name: prod(shape) for name, (shape, _) in stored.items()}
    names = [name for name, size in sizes.items()
             if size and (not only or any(fnmatchcase(name, pattern) for pattern in only))]  # fmt: skip
    names = [name for name in names if stored[name][1]] or names
    if not names:
        what = f"none of its names matches {listing(map(shown, only))}" if only else "it holds no numbers"
        some = f"; it has {listing(map(shown, list(stored)[:5]))}" + ", ..." * (len(stored) > 5) if stored else ""
        raise InputError(f"{path_text(path)}: {what}{some}")
    count = sum(sizes[name] for name in names)
    if count > MOST_NUMBERS or len(names) > MOST_TENSORS:
        head, dot, _ = names[0].rpartition(".")  # a pattern that fits the first name and its neighbours
        raise InputError(
            f"{path_text(path)} holds {count:,} numbers in {len(names):,} tensors; at most {MOST_NUMBERS:,} in "
            f"{MOST_TENSORS:,} are shown: choose some, as --only '{f'{head}.*' if dot else names[0]}'"
        )
    return names


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key with which ``layers.2`` comes before ``layers.10``."""
    return [(not part.isdecimal(), int(part[:18]) if part.isdecimal() else 0, part)
            for part in re.split(r"([0-9]+)", name)]  # fmt: skip


def by_printed_names(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays under names that fit on a line; a name that is already used gets a number."""
    return {line: arrays[name] for name, line in distinct(arrays, LONGEST_NAME).items()}


def as_floats(arrays: Mapping[str, Array]) -> dict[str, NDArray[np.floating]]:
    """Return the arrays as float32 if that is exact, otherwise as float64."""
    narrow = ("float32", "float16", "int8", "int16", "uint8", "uint16", "bool")
    return {name: array.astype(np.float32 if array.dtype.name in narrow else np.float64, copy=False)
            for name, array in arrays.items()}  # fmt: skip


# ---- `Stored`: the numbers of a file as a source, and of two files; they have one fixed moment.


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
            path = _path(self.names[parts[0]], _module(node))
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
            new, name, path = (), "", f"{_module(node)}." if _module(node) else f"{self.items[before].block}."
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


def _module(node: Node) -> str:
    return node.module or (node_path(node) if named(node) else "")


def block_of(path: str) -> str:
    """Return the block of a layer: its path up to the first number that is not the layer itself, or its parent."""
    parts = path.split(".")
    at = next((k for k, part in enumerate(parts[:-1]) if part.isdecimal()), len(parts) - 2)
    return ".".join(parts[: at + 1])
