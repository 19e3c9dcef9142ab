"""`read_stored`: the arrays of a file of weights, ONNX or safetensors, in display order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, InputError, listing, shown
from ..io.atomic import StrPath, check_source, path_text, refuse_pickle, unreadable
from ..io.weights import DTYPES, entries_of, tensors_of
from ..onnx.graph import Graph, Node
from .building import named, node_path, valid_path
from .facts import of_module

Array = NDArray[Any]
MOST_NUMBERS = 32_000_000
MOST_TENSORS = 1_000
ENDINGS = (".onnx", ".safetensors")
WEIGHED = ("float16", "float32", "float64", "int8", "uint8", *(kind for kind in DTYPES if "F" in kind), "I8", "U8")
"""Types of weights by their names in NumPy and in safetensors; whole numbers of 8 bits are weights of small models."""
ROLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "GroupNormalization", "InstanceNormalization",
                     "LayerNormalization", "RMSNormalization"), ("", "weight", "bias")),
    "BatchNormalization": ("", "weight", "bias", "running_mean", "running_var"),
    "Add": ("bias", "bias"), "Gather": ("weight",), "MatMul": ("weight", "weight"), "Mul": ("weight", "weight"),
    "PRelu": ("", "weight"),
}  # fmt: skip
"""A module's names for its operators' inputs, in order; '' for an input without a name."""


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
            from ..onnx.reading import read_graph

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


def _names_of_modules(graph: Graph, arrays: Mapping[str, Array]) -> dict[str, str]:
    """Return names for tensors that the exporter numbered: ``conv1.weight`` for an input of the node /conv1/Conv.

    What is added to a product is the bias of its module, as in a loaded network.
    """
    found, taken = dict[str, str](), set(arrays)
    paths = {node.name: module_of(node) for node in graph.nodes}
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


def as_floats(arrays: Mapping[str, Array]) -> dict[str, NDArray[np.floating]]:
    """Return the arrays as float32 if that is exact, otherwise as float64."""
    narrow = ("float32", "float16", "int8", "int16", "uint8", "uint16", "bool")
    return {name: array.astype(np.float32 if array.dtype.name in narrow else np.float64, copy=False)
            for name, array in arrays.items()}  # fmt: skip


def module_of(node: Node) -> str:
    """Return the path of the module that a node belongs to, as its file notes it or as its name says."""
    return node.module or (node_path(node) if named(node) else "")
