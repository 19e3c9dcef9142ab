"""`check_entries`: refuse the bytes of an ONNX file that would take too much memory, or are no such file.

Two bytes of a file can be an empty node, which takes a hundred times as much memory. So the bytes are
scanned before protobuf makes objects of them. The format is a row of fields, each with a number, a kind and a
length; a message is a field that holds such a row.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..errors import FileFormatError

MOST_NODES = 200_000
"""Of one file. The largest language models have about 50,000."""

MOST_FIELDS = 2_000_000
"""Of one file: each side of a shape and each name of an operand counts. Two bytes may become 200 in memory."""

MOST_DEEP = 64
"""Depth of nested messages; a valid file has eight levels."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
COUNTED = {"AttributeProto": ("ints", "floats"), "TensorProto": ("dims",)}
"""Rows of numbers that become large Python objects; other rows become arrays."""


class Kind(NamedTuple):
    """The layout of a message: inner messages by field number, counted rows, and the field number of nodes."""

    messages: dict[int, Kind]
    rows: frozenset[int]
    nodes: int


def check_entries(encoded: bytes, where: str) -> None:
    """Refuse encoded models with too many nodes or entries, too deep nesting, or a broken structure."""
    nodes = fields = 0
    kind, end = _model(), len(encoded)
    outer: list[tuple[Kind, int]] = []
    at = 0
    try:
        while True:
            while at == end:
                if not outer:
                    return
                kind, end = outer.pop()
            key, at = _varint(encoded, at)
            number, form = key >> 3, key & 7
            fields += 1
            if form == BYTES:
                size, at = _varint(encoded, at)
                inner = kind.messages.get(number)
                if number in kind.rows:
                    fields += size
                nodes += number == kind.nodes
                if inner is None:
                    at += size
                else:
                    outer.append((kind, end))
                    kind, end = inner, at + size
            elif form == VARINT:
                _, at = _varint(encoded, at)
            else:
                at += {FIXED64: 8, FIXED32: 4}[form]
            inside = outer[-1][1] if outer else len(encoded)
            if at > end or end > inside or len(outer) > MOST_DEEP:
                raise IndexError
            if nodes > MOST_NODES or fields > MOST_FIELDS:
                what = f"{MOST_NODES:,} nodes" if nodes > MOST_NODES else f"{MOST_FIELDS:,} entries"
                raise FileFormatError(f"{where} is too large: it has more than {what}")
    except (IndexError, KeyError):  # a length beyond the end, or an unknown kind
        raise FileFormatError(f"{where} is not an ONNX file, or is damaged; export the network again") from None


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    """Return a number with seven bits per byte, and the position after it."""
    byte = encoded[at]
    if byte < 0x80:
        return byte, at + 1
    found, shift = byte & 0x7F, 7
    while byte >= 0x80:
        at += 1
        byte = encoded[at]
        found |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise IndexError
    return found, at + 1


@cache
def _model() -> Kind:
    from onnx import ModelProto

    return _described(ModelProto.DESCRIPTOR, {})


def _described(described: Any, known: dict[str, Kind]) -> Kind:
    """Return the layout of a message; messages may contain their own kind."""
    if described.full_name not in known:
        rows = COUNTED.get(described.name, ())
        names = {field.name: field.number for field in described.fields}
        nodes = names["node"] if described.name == "GraphProto" else 0
        known[described.full_name] = kind = Kind({}, frozenset(names[row] for row in rows), nodes)
        kind.messages.update({f.number: _described(f.message_type, known) for f in described.fields if f.message_type})
    return known[described.full_name]
