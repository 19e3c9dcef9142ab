"""What a node is given beside tensors, as plain numbers, texts and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import FileFormatError, shown
from .graph import Array, Attribute
from .outside import Outside
from .tensors import array_of

FIELDS = {"f": "FLOAT", "i": "INT", "s": "STRING", "t": "TENSOR", "floats": "FLOATS", "ints": "INTS",
          "strings": "STRINGS", "tensors": "TENSORS"}  # fmt: skip
NOT_READ = ("GRAPH", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS")
"""Kinds that only operators have that no layer or formula stands for (If, Loop, Optional), refused by their names."""


def attributes_of(node: Any, where: str, outside: Outside) -> dict[str, Attribute]:
    """The attributes of a node by name; those of a kind in `NOT_READ` are left out.

    Parameters
    ----------
    node : onnx.NodeProto
    where : str
        The file and the node, for messages.
    outside : Outside
        Reads what lies beside it.

    Raises
    ------
    FileFormatError
        Two have one name, or one is of no known kind.
    """
    found: dict[str, Attribute] = {}
    for given in node.attribute:
        kind = _kind(given, where)
        if given.name in found:
            raise FileFormatError(f"{where} has two attributes {shown(given.name)}; export the file anew")
        if kind not in NOT_READ:
            found[given.name] = _value(given, kind, f"{where}: attribute {shown(given.name)}", outside)
    return found


def _kind(given: Any, where: str) -> str:
    """Its kind; very old files leave it out, and the field that is there tells."""
    if given.type:
        names: dict[int, str] = {number: name for name, number in given.AttributeType.items()}
        if given.type in names:
            return names[given.type]
    held = [FIELDS[field.name] for field, _ in given.ListFields() if field.name in FIELDS]
    if given.type or len(held) != 1:
        raise FileFormatError(f"{where}: attribute {shown(given.name)} has no kind that is known ({given.type})")
    return held[0]


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
    """The tensor that a ``Constant`` node holds.

    Raises
    ------
    FileFormatError
        It holds none, more than one, or one in a form that is not read (sparse).
    """
    held = list(attributes.items())
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64,
             "value_string": np.str_, "value_strings": np.str_}  # fmt: skip
    if len(held) == 1:
        name, value = held[0]
        if name == "value" and isinstance(value, np.ndarray):
            return value
        if name in kinds:
            made: Array = np.array(value, kinds[name])
            made.flags.writeable = False
            return made
    raise FileFormatError(f"{where} must hold one value, got {shown(list(attributes))}; a sparse one is not read")
