"""`read_graph`: an ONNX file as plain data. What comes out fits together, whatever the file says; else one line why.

A file comes from anywhere. So its size, the number of its entries, its names, shapes and references are looked at
before anything is made of them, and nothing outside its folder is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import FileFormatError, InputError, MissingDependencyError, listing, shown
from ..io.atomic import StrPath, path_text
from ..io.pickled import refuse_pickle
from ..io.readable import check_source, unreadable
from ..memory import check_memory
from .attributes import attributes_of, constant_of
from .entries import check_entries
from .functions import inlined
from .graph import MISSING, OURS, Array, Graph, Node, Port
from .limits import LARGEST_FILE, MOST_NODES
from .noted import kinds, merged, note
from .outside import Outside
from .sorting import in_order
from .tensors import array_of, dtype_of

STANDARD = ("", "ai.onnx")
"""The standard's own operators have either as their domain."""
SCOPES, LONGEST_NOTE = "pkg.torch.onnx.name_scopes", 2000
"""Where PyTorch's new exporter notes the modules of a node, and how much of that is read."""
_PATHS = re.compile(r"\[(?:.*, )?'([^']*)', '[^']*'\]")


def read_graph(path: StrPath) -> Graph:
    """Read an ONNX file.

    Parameters
    ----------
    path : path
        Numbers that lie beside it (``.onnx.data``) are read from its folder or deeper.

    Returns
    -------
    Graph
        Its nodes are sorted, its ``Constant`` nodes are constants.

    Raises
    ------
    InputError
        There is no such file, it cannot be read, or the memory does not suffice.
    FileFormatError
        It is no ONNX file, a damaged one, or one that does not fit together: a circle, a tensor that is missing or made
        twice, a shape that its numbers do not have, numbers in a file that is not in the folder.
    MissingDependencyError
        The package ``onnx`` is not there.
    """
    source = check_source(path, "ONNX file")
    where = path_text(path)
    try:
        refuse_pickle(source)
        graph = _graph(_decoded(_content(source, where), where), where, Outside(source.parent))
    except OSError as error:
        raise unreadable(path, error) from None
    except MemoryError:
        raise InputError(f"{where}: the memory does not suffice to read it; close other programs") from None
    return replace(graph, name=source.stem)


def graph_of(model: Any, title: str, folder: Path | None = None) -> Graph:
    """A model that was read or made already, as `read_graph` gives it.

    Parameters
    ----------
    model : onnx.ModelProto
    title : str
        For messages; the graph's name.
    folder : Path, optional
        Where numbers beside the model may lie; without it all must be in the model.

    Raises
    ------
    FileFormatError
        It does not fit together.
    """
    return _graph(model, title, Outside(folder))


def _content(source: Path, where: str) -> bytes:
    size = source.stat().st_size
    if size > LARGEST_FILE:
        raise FileFormatError(
            f"{where} has {size:,} bytes; an ONNX file has at most {LARGEST_FILE:,}, its weights may lie beside it: "
            "save it with external data"
        )
    check_memory(3 * size, where, "close other programs")  # the bytes, what protobuf makes of them, the arrays
    with source.open("rb") as file:
        return file.read(size)  # not the limit: that much would be set aside


def _decoded(encoded: bytes, where: str) -> Any:
    """The model in the bytes of a file."""
    try:
        from onnx import ModelProto
    except ImportError:
        raise MissingDependencyError(MISSING) from None

    check_entries(encoded, where)
    try:
        model = ModelProto.FromString(encoded)
    except MemoryError:
        raise
    except Exception:  # protobuf's own, which has no types, and what names and numbers of a damaged file raise
        model = None
    if model is None or not (model.HasField("graph") and model.ir_version > 0):
        said = "is empty" if not encoded else "is no ONNX file, or a damaged one"
        raise FileFormatError(f"{where} {said}; export the network anew")
    return model


def _graph(model: Any, where: str, outside: Outside) -> Graph:
    try:
        return _assembled(model, where, outside)
    except UnicodeDecodeError:
        raise FileFormatError(f"{where}: a name or a text in it is not UTF-8; export the file anew") from None


def _assembled(model: Any, where: str, outside: Outside) -> Graph:
    said = inlined(model, where)
    if len(said.node) > MOST_NODES:
        raise FileFormatError(f"{where} has {len(said.node):,} nodes; allowed: {MOST_NODES:,}")
    for text in _texts(said):
        if isinstance(text, bytes):  # protobuf's way to give a text that is none
            text.decode()
    opset = _opset(model, where)
    constants = _initializers(said, where, outside)
    stored, nodes = frozenset(constants), []
    for node in _nodes(said, where, outside):
        if node.operator == "Constant" and node.domain == "":
            _put_constant(constants, node, where)
        else:
            nodes.append(node)
    inputs = _inputs(said, constants, where)
    ordered = in_order(nodes, {*constants, *(port.name for port in inputs)}, where)
    made = {*constants, *(port.name for port in inputs), *(name for node in nodes for name in node.outputs)}
    outputs = tuple(_port(given) for given in said.output)
    lost = [shown(port.name) for port in outputs if port.name not in made]
    if lost or not outputs:
        what = f"nothing makes its outputs {listing(lost[:5])}" if lost else "it has no outputs"
        raise FileFormatError(f"{where}: {what}; export the whole network")
    ours = model.producer_name == OURS
    fixed, noted = frozenset(constants) - stored, kinds(said)
    folded = merged(noted, stored, nodes)
    return Graph(ordered, inputs, outputs, constants, opset, where, fixed, ours, noted, folded)


def _texts(said: Any) -> Iterator[Any]:
    """Every name in a graph."""
    for node in said.node:
        yield from (node.op_type, node.name, node.domain)
        yield from node.input
        yield from node.output
        yield from (given.name for given in node.attribute)
    yield from (tensor.name for tensor in said.initializer)
    for port in (*said.input, *said.output):
        yield port.name
        yield from (side.dim_param for side in port.type.tensor_type.shape.dim)


def _opset(model: Any, where: str) -> int:
    """The version of the standard's operators, if the package ``onnx`` knows it."""
    from onnx import IR_VERSION
    from onnx.defs import onnx_opset_version

    if model.ir_version > IR_VERSION:
        raise FileFormatError(
            f"{where} has the format version (IR) {model.ir_version}, the installed package onnx knows up to "
            f"{IR_VERSION}; update it: pip install -U onnx"
        )
    versions = [one.version for one in model.opset_import if one.domain in STANDARD]
    used = any(node.domain in STANDARD for node in model.graph.node)
    if len(set(versions)) > 1 or (not versions and used and model.ir_version >= 3):
        raise FileFormatError(f"{where} must name one version of the operators (opset), got {shown(versions)}")
    opset = int(versions[0]) if versions else 1  # so it was before versions were written down
    if not 1 <= opset <= onnx_opset_version():
        raise FileFormatError(
            f"{where} has operators of version (opset) {opset}, the installed package onnx knows 1 to "
            f"{onnx_opset_version()}; update it (pip install -U onnx) or export with an older opset"
        )
    return opset


def _initializers(said: Any, where: str, outside: Outside) -> dict[str, Array]:
    """The stored tensors by name."""
    if len(said.sparse_initializer):
        raise FileFormatError(f"{where} has sparse tensors, which are not read; export it with dense ones")
    found: dict[str, Array] = {}
    for tensor in said.initializer:
        what = f"{where}: tensor {shown(tensor.name)}"
        if not tensor.name or tensor.name in found:
            raise FileFormatError(f"{what} is stored {'twice' if tensor.name else 'without a name'}; export it anew")
        found[tensor.name] = array_of(tensor, what, outside)
    return found


def _put_constant(constants: dict[str, Array], node: Node, where: str) -> None:
    what = f"{where}: node {shown(node.name)}"
    if len(node.outputs) != 1 or node.inputs or not node.outputs[0]:
        raise FileFormatError(f"{what}, a Constant, must have no inputs and one output")
    if node.outputs[0] in constants:
        raise FileFormatError(f"{what} makes {shown(node.outputs[0])}, which is stored in the file as well")
    constants[node.outputs[0]] = constant_of(dict(node.attributes), what)


def _nodes(said: Any, where: str, outside: Outside) -> list[Node]:
    """The nodes of the file in its order, each with a name of its own."""
    taken = {node.name for node in said.node}
    seen: set[str] = set()
    found = []
    for number, node in enumerate(said.node):
        name = node.name
        if not name or name in seen:
            name = _free(f"{node.name or node.op_type}_{number}", taken)
            taken.add(name)
        seen.add(name)
        what = f"{where}: node {shown(name)} ({shown(node.op_type)})"
        domain = "" if node.domain in STANDARD else node.domain
        attributes = attributes_of(node, what, outside)
        found.append(Node(node.op_type, tuple(node.input), tuple(node.output), attributes, name, domain, _module(node)))
    return found


def _module(node: Any) -> str:
    """The path of the module that a node belongs to, by what PyTorch notes with it; empty where nothing is noted.

    It is a list of paths from the outermost module inwards, and then the node's own name.
    """
    paths = _PATHS.fullmatch(note(node, SCOPES)[:LONGEST_NOTE])
    return paths[1] if paths else ""


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _inputs(said: Any, constants: Mapping[str, Array], where: str) -> tuple[Port, ...]:
    """What must be given; an input that is stored is none, but has to be what it says."""
    found = []
    names: set[str] = set()
    for port in map(_port, said.input):
        if not port.name or port.name in names:
            raise FileFormatError(f"{where}: input {shown(port.name)} is there twice or has no name")
        names.add(port.name)
        if port.name in constants:
            _check_said(port, constants[port.name], where)
        else:
            found.append(port)
    return tuple(found)


def _check_said(port: Port, stored: Array, where: str) -> None:
    sides = port.shape
    if sides is None:
        return
    fits = len(sides) == stored.ndim and all(
        not isinstance(side, int) or side == there for side, there in zip(sides, stored.shape, strict=True)
    )
    if not fits:
        raise FileFormatError(
            f"{where}: input {shown(port.name)} says the shape {shown(sides)}, its stored tensor has {stored.shape}"
        )


def _port(given: Any) -> Port:
    """An input or output; sequences and the like have no dtype."""
    if not given.type.HasField("tensor_type"):
        return Port(given.name)
    kind = given.type.tensor_type
    if not kind.HasField("shape"):
        return Port(given.name, dtype_of(kind.elem_type))
    return Port(given.name, dtype_of(kind.elem_type), tuple(map(_side, kind.shape.dim)))


def _side(given: Any) -> int | str | None:
    if given.HasField("dim_value") and given.dim_value >= 0:  # some writers mean "any" by -1
        return int(given.dim_value)
    return str(given.dim_param) or None
