"""How many entries a file has, counted in its bytes before protobuf makes objects of them.

Two bytes of a file can be an empty node, which takes a hundred times as much in memory. So the bytes are walked first:
the format is a row of fields, each with a number, a kind and a length, and a message is a field that holds such a row.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..errors import FileFormatError
from .limits import MOST_DEEP, MOST_FIELDS, MOST_NODES

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
COUNTED = {"AttributeProto": ("ints", "floats"), "TensorProto": ("dims",)}
"""Rows of numbers that become objects of Python, which are large; other rows become arrays."""


class Kind(NamedTuple):
    """What the fields of a message hold: messages by number, rows that are counted, and the number of its nodes."""

    messages: dict[int, Kind]
    rows: frozenset[int]
    nodes: int


def check_entries(encoded: bytes, where: str) -> None:
    """Refuse the bytes of a model that has too many entries or none that fit.

    Raises
    ------
    FileFormatError
        More than `MOST_NODES` nodes or `MOST_FIELDS` entries, nested too deeply, or no rows of fields at all.
    """
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
                raise FileFormatError(f"{where} has more than {what}, which no network needs; it is not read")
    except (IndexError, KeyError):  # a length beyond the end, a kind that there is not
        raise FileFormatError(f"{where} is no ONNX file, or a damaged one; export the network anew") from None


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and the place behind it."""
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

    return _kind(ModelProto.DESCRIPTOR, {})


def _kind(described: Any, known: dict[str, Kind]) -> Kind:
    """What the format says of one message; messages may hold their own kind."""
    if described.full_name not in known:
        rows = COUNTED.get(described.name, ())
        names = {field.name: field.number for field in described.fields}
        nodes = names["node"] if described.name == "GraphProto" else 0
        known[described.full_name] = kind = Kind({}, frozenset(names[row] for row in rows), nodes)
        kind.messages.update({f.number: _kind(f.message_type, known) for f in described.fields if f.message_type})
    return known[described.full_name]
