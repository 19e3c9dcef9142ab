"""`read_graph`: read an ONNX file as consistent plain data, or raise an error in one line.

A file may come from anyone. So its size, the number of its entries, its names, shapes and references are
checked before they are used, and no file outside its folder is opened.

The bytes are checked by `scan` before protobuf makes objects of them; `functions` replaces each
call of a function by the nodes of the function. Nodes are sorted, each after all that it needs; nodes that are already
sorted keep their order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import first_of
from ..checks import check_memory
from ..errors import FileFormatError, InputError, MissingDependencyError, shown
from ..io.atomic import StrPath, check_source, path_text, refuse_pickle, unreadable
from .functions import STANDARD, inlined
from .graph import MISSING, OURS, Array, Attribute, Graph, Node, Outside, Port, array_of, dtype_of, kinds, merged, note
from .scan import MOST_NODES, check_entries

LARGEST_FILE = 2**31 - 1
"""Bytes: protobuf reads no more. Weights may lie in other files of any size."""

FIELDS = {"f": "FLOAT", "i": "INT", "s": "STRING", "t": "TENSOR", "floats": "FLOATS", "ints": "INTS",
          "strings": "STRINGS", "tensors": "TENSORS"}  # fmt: skip
CONSTANTS = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64,
             "value_string": np.str_, "value_strings": np.str_}  # fmt: skip
NOT_READ = ("GRAPH", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS")
"""Kinds of attributes that only unsupported operators have (If, Loop, Optional); those are refused by name.

Of a branch, the tensors in it are read as attributes, and the names of those outside as inputs of its node.
"""


def attributes_of(node: Any, where: str, outside: Outside) -> dict[str, Attribute]:
    """Return the attributes of a node by name, without kinds in `NOT_READ`; two of one name are refused."""
    found: dict[str, Attribute] = {}
    for given in node.attribute:
        kind = _kind(given, where)
        if given.name in found:
            raise FileFormatError(f"{where} has two attributes {shown(given.name)}; export the file again")
        if kind not in NOT_READ:
            found[given.name] = _value(given, kind, f"{where}: attribute {shown(given.name)}", outside)
    return found


def _kind(given: Any, where: str) -> str:
    """Return the kind of an attribute; if a very old file leaves it out, the field that is set tells."""
    names: dict[int, str] = {number: name for name, number in given.AttributeType.items() if number}
    held = [FIELDS[field.name] for field, _ in given.ListFields() if field.name in FIELDS]
    if given.type not in names and (given.type or len(held) != 1):
        raise FileFormatError(f"{where}: attribute {shown(given.name)} has an unknown kind ({given.type})")
    return names.get(given.type) or held[0]


def _value(given: Any, kind: str, where: str, outside: Outside) -> Attribute:
    match kind:
        case "FLOAT":
            return float(given.f)
        case "INT":
            return int(given.i)
        case "STRING":
            return str(given.s.decode())
        case "TENSOR":
            return array_of(given.t, where, outside)
        case "FLOATS" | "INTS":
            return tuple(given.floats if kind == "FLOATS" else given.ints)
        case "STRINGS":
            return tuple(text.decode() for text in given.strings)
    return tuple(array_of(tensor, where, outside) for tensor in given.tensors)


def constant_of(attributes: dict[str, Attribute], where: str) -> Array:
    """Return the tensor of a ``Constant`` node; refuse none, several, or a sparse one."""
    if len(attributes) == 1:
        ((name, value),) = attributes.items()
        if name == "value" and isinstance(value, np.ndarray):
            return value
        if name in CONSTANTS:
            made: Array = np.array(value, CONSTANTS[name])
            made.flags.writeable = False
            return made
    raise FileFormatError(f"{where} needs one value, not sparse; got attributes {shown(list(attributes))}")


SHOWN = 5
"""Most names in a message."""


def in_order(nodes: Sequence[Node], given: Collection[str], where: str) -> tuple[Node, ...]:
    """Return the nodes sorted so that every operand is computed before it is used; unchanged if they already are.

    Tensors that are made twice or never, and cycles of nodes, are refused.
    """
    maker = _makers(nodes, given, where)
    _check_made(nodes, maker, given, where)
    needs = {number: {maker[name] for name in node.inputs if name in maker} for number, node in enumerate(nodes)}
    if all(other < number for number, needed in needs.items() for other in needed):
        return tuple(nodes)
    try:
        return tuple(nodes[number] for number in TopologicalSorter(needs).static_order())
    except CycleError as error:
        names = [shown(nodes[number].name) for number in error.args[1][:-1]]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    circle = f"nodes depend on each other in a cycle: {' -> '.join(names[:SHOWN])}{more}"
    said = f"node {names[0]} depends on its own output" if len(names) == 1 else circle
    raise FileFormatError(f"{where}: {said}; a network has no cycles; export the file again")


def _makers(nodes: Sequence[Node], given: Collection[str], where: str) -> dict[str, int]:
    """Return the number of the node that makes each tensor, by the tensor's name."""
    found: dict[str, int] = {}
    for number, node in enumerate(nodes):
        for name in filter(None, node.outputs):
            if name in found or name in given:
                other = f"node {shown(nodes[found[name]].name)}" if name in found else "an input or a stored tensor"
                raise FileFormatError(
                    f"{where}: tensor {shown(name)} is made twice: by {other} and by node {shown(node.name)}; "
                    "each name may belong to one tensor; export the file again"
                )
            found[name] = number
    return found


def _check_made(nodes: Sequence[Node], maker: Collection[str], given: Collection[str], where: str) -> None:
    missing: dict[str, str] = {}
    for node in nodes:
        for name in node.inputs:
            if name and name not in maker and name not in given:
                missing.setdefault(name, node.name)
    if missing:
        named = first_of((f"{shown(name)} (an input of node {shown(node)})" for name, node in missing.items()), SHOWN)
        raise FileFormatError(
            f"{where}: no node, input or stored tensor has the name {named}; export the whole network"
        )


SCOPES, LONGEST_NOTE = "pkg.torch.onnx.name_scopes", 2000
"""Where PyTorch's new exporter notes the modules of a node, and how many characters of it are read."""
_PATHS = re.compile(r"\[(?:.*, )?'([^']*)', '[^']*'\]")


def read_graph(path: StrPath) -> Graph:
    """Read an ONNX file with its external data. Nodes are sorted; `Constant` nodes become constants."""
    source = check_source(path, "ONNX file")
    where = path_text(path)
    try:
        refuse_pickle(source, network=True)
        graph = graph_of(_decoded(_content(source, where), where), where, Outside(source.parent))
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{where}: a name or a text is not UTF-8; export the file again") from None
    except MemoryError:
        raise InputError(f"{where}: not enough memory to read the file; close other programs") from None
    return replace(graph, name=source.stem)


MOST_SIDES = 100
"""Most numbers of a tensor that may be the sides of a shape."""


def shapes_of(path: StrPath) -> dict[str, tuple[int | str, ...]]:
    """Return the shapes of intermediate arrays of a readable ONNX file; empty if they are unknown."""
    from onnx import load, shape_inference

    try:
        model = load(path, load_external_data=False)
        for stored in model.graph.initializer:  # weights say nothing about shapes and take time
            if prod(stored.dims) > MOST_SIDES:
                stored.ClearField("raw_data")
        said = shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # its errors have no type; a picture without shapes is fine
        return {}
    ports = [_port(given) for given in (*said.value_info, *said.output)]
    return {port.name: tuple("?" if side is None else side for side in port.shape) for port in ports if port.shape}


def _content(source: Path, where: str) -> bytes:
    size = source.stat().st_size
    if size > LARGEST_FILE:
        raise FileFormatError(
            f"{where} has {size:,} bytes; an ONNX file has at most {LARGEST_FILE:,}; save the weights as external data"
        )
    check_memory(3 * size, where, "close other programs")  # the bytes, protobuf's objects, the arrays
    with source.open("rb") as file:
        return file.read(size)  # not the limit, which would be allocated


def _decoded(encoded: bytes, where: str) -> Any:
    """Return the model in the bytes of a file."""
    try:
        from onnx import ModelProto
    except ImportError:
        raise MissingDependencyError(MISSING) from None

    check_entries(encoded, where)
    try:
        model = ModelProto.FromString(encoded)
    except MemoryError:
        raise
    except Exception:  # protobuf's own errors have no types; names and numbers of a damaged file raise others
        model = None
    if model is None or not (model.HasField("graph") and model.ir_version > 0):
        said = "is empty" if not encoded else "is not an ONNX file, or is damaged"
        raise FileFormatError(f"{where} {said}; export the network again")
    return model


def graph_of(model: Any, where: str, outside: Outside) -> Graph:
    """Return the graph of a model; `where` names its file in messages."""
    said = inlined(model, where)
    if len(said.node) > MOST_NODES:
        raise FileFormatError(f"{where} has {len(said.node):,} nodes; allowed: {MOST_NODES:,}")
    for text in _texts(said):
        if isinstance(text, bytes):  # protobuf's value for an invalid text
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
        what = f"no node computes the output {' or '.join(lost[:5])}" if lost else "the file has no outputs"
        raise FileFormatError(f"{where}: {what}; export the whole network")
    ours = model.producer_name == OURS
    fixed, noted = frozenset(constants) - stored, kinds(said)
    folded = merged(noted, stored, nodes)
    return Graph(ordered, inputs, outputs, constants, opset, where, fixed, ours, noted, folded)


def _texts(said: Any) -> Iterator[Any]:
    """Yield every name in a graph."""
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
    """Return the version of the standard's operators, if the package ``onnx`` knows it."""
    from onnx import IR_VERSION
    from onnx.defs import onnx_opset_version

    if model.ir_version > IR_VERSION:
        raise FileFormatError(
            f"{where} has the format version (IR) {model.ir_version}, but the installed package onnx supports up to "
            f"{IR_VERSION}; update onnx: pip install -U onnx"
        )
    versions = [one.version for one in model.opset_import if one.domain in STANDARD]
    used = any(node.domain in STANDARD for node in model.graph.node)
    if len(set(versions)) > 1 or (not versions and used and model.ir_version >= 3):
        raise FileFormatError(f"{where} must name one version of the operators (opset), got {shown(versions)}")
    opset = int(versions[0]) if versions else 1  # older files did not name a version
    if not 1 <= opset <= onnx_opset_version():
        raise FileFormatError(
            f"{where} has operators of version (opset) {opset}, but the installed package onnx supports 1 to "
            f"{onnx_opset_version()}; update onnx (pip install -U onnx) or export with an older opset"
        )
    return opset


def _initializers(said: Any, where: str, outside: Outside) -> dict[str, Array]:
    """Return the stored tensors by name."""
    if len(said.sparse_initializer):
        raise FileFormatError(f"{where} has sparse tensors, which are not supported; export dense tensors")
    found: dict[str, Array] = {}
    for tensor in said.initializer:
        what = f"{where}: tensor {shown(tensor.name)}"
        if not tensor.name or tensor.name in found:
            raise FileFormatError(f"{what} is stored {'twice' if tensor.name else 'without a name'}; export again")
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
    """Return the nodes of the file in its order, each with a unique name."""
    taken = {node.name for node in said.node}
    seen: set[str] = set()
    found = []
    for number, node in enumerate(said.node):
        name = node.name
        if not name or name in seen:
            name = f"{node.name or node.op_type}_{number}"
            while name in taken:
                name += "_"
            taken.add(name)
        seen.add(name)
        what = f"{where}: node {shown(name)} ({shown(node.op_type)})"
        domain = "" if node.domain in STANDARD else node.domain
        attributes, inputs = attributes_of(node, what, outside), list[str](node.input)
        for given in node.attribute:
            if given.HasField("g"):
                held, read = _branch(given.g, what, outside)
                attributes |= {f"{given.name}.{tensor}": array for tensor, array in held.items()}
                inputs += sorted(read - {*inputs})
        found.append(Node(node.op_type, tuple(inputs), tuple(node.output), attributes, name, domain, _module(node)))
    return found


def _branch(said: Any, where: str, outside: Outside) -> tuple[dict[str, Array], set[str]]:
    """Return the tensors in a branch and in those inside it, and the names that they read from outside."""
    held = {tensor.name: array_of(tensor, where, outside) for tensor in said.initializer}
    read, made = set[str](), {*held, *(port.name for port in said.input), ""}
    for node in said.node:
        read, made = read | {*node.input}, made | {*node.output}
        for given in node.attribute:
            if given.HasField("g"):
                inner, names = _branch(given.g, where, outside)
                held, read = inner | held, read | names
            elif node.op_type == "Constant" and given.HasField("t") and node.output:
                held[node.output[0]] = array_of(given.t, where, outside)
    return held, read - made


def _module(node: Any) -> str:
    """Return the path of the module that a node belongs to, from PyTorch's notes; empty without one.

    The note lists paths from the outermost module inwards, then the node's own name.
    """
    paths = _PATHS.fullmatch(note(node, SCOPES)[:LONGEST_NOTE])
    return paths[1] if paths else ""


def _inputs(said: Any, constants: Mapping[str, Array], where: str) -> tuple[Port, ...]:
    """Return the inputs that must be given. A stored input is none, but must have its declared shape."""
    found = []
    names: set[str] = set()
    for port in map(_port, said.input):
        if not port.name or port.name in names:
            raise FileFormatError(f"{where}: input {shown(port.name)} occurs twice or has no name")
        names.add(port.name)
        if port.name in constants:
            _check_said(port, constants[port.name], where)
        else:
            found.append(port)
    return tuple(found)


def _check_said(port: Port, stored: Array, where: str) -> None:
    said, sides = port.shape, stored.shape
    fits = said is None or (
        len(said) == len(sides)
        and all(not isinstance(side, int) or side == there for side, there in zip(said, sides, strict=True))
    )
    if not fits:
        raise FileFormatError(
            f"{where}: input {shown(port.name)} has the shape {shown(said)}, but its stored tensor has {sides}"
        )


def _port(given: Any) -> Port:
    """Return an input or output; sequences and the like have no dtype."""
    if not given.type.HasField("tensor_type"):
        return Port(given.name)
    kind = given.type.tensor_type
    if not kind.HasField("shape"):
        return Port(given.name, dtype_of(kind.elem_type))
    return Port(given.name, dtype_of(kind.elem_type), tuple(map(_side, kind.shape.dim)))


def _side(given: Any) -> int | str | None:
    if given.HasField("dim_value") and given.dim_value >= 0:  # some writers use -1 for "any"
        return int(given.dim_value)
    return str(given.dim_param) or None
