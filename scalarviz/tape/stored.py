"""A tape as text for a file, and back: a program from a file is data, and each node is checked before it is used."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ..errors import FileFormatError, listing
from ..scalar.ops import TABLE
from .program import CODES
from .tape import Kind, Node, Table, Tape, Terms, Track

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_NODES = 4_000_000
MOST_READS = 1 << 27
"""Most operands of all nodes, and most parameters of all totals: layers share theirs, but each is lowered."""
MOST_INDEX = 1 << 53
SHARED = 3
"""Operands of at least this many rows stand in the text once, because the rows of a layer share them."""
LEAVES = ("input", "const", "param", "buffer", "mask", *CODES)
"""Codes of nodes that read no rows."""

Rows = list[int]


@dataclass(slots=True)
class Said:
    """A tape in JSON; lists have an entry per node, lists of tuples begin with the node's row."""

    codes: list[str]
    code: Rows  # the number of its code among `codes`
    args: list[int | Rows]  # its operands, or their number in `shared`
    shared: list[Rows]
    index: Rows
    number: list[float]
    # row, kind, weights (of a range only start, stop and step), whether they are a range, bias, offset
    terms: list[tuple[int, Kind, Rows | list[float], bool, int | None, float]]
    tables: list[tuple[int, int, int]]
    n_inputs: int
    n_targets: int
    n_parameters: int
    outputs: Rows
    loss: int | None
    taps: list[Rows]
    tracks: list[tuple[int, int, float, int, int]]
    fewest: int


def tape_text(tape: Tape) -> str:
    """Return a tape as JSON, without the objects that it was recorded from: blocks, modules and losses."""
    codes: dict[str, int] = {}
    places: dict[int, int] = {}
    shared: list[tuple[int, ...]] = []

    def operands(args: tuple[int, ...]) -> int | tuple[int, ...]:
        if len(args) < SHARED:
            return args
        if id(args) not in places:
            places[id(args)] = len(shared)
            shared.append(args)
        return places[id(args)]

    said = {
        "code": [codes.setdefault(node.code, len(codes)) for node in tape.nodes],
        "codes": [*codes], "args": [operands(node.args) for node in tape.nodes], "shared": shared,
        "index": [node.index for node in tape.nodes], "number": [float(node.number) for node in tape.nodes],
        "terms": [_terms(row, node.terms) for row, node in enumerate(tape.nodes) if node.terms is not None],
        "tables": [(row, node.table.rows, node.table.step) for row, node in enumerate(tape.nodes)
                   if node.table is not None],
        "n_inputs": tape.n_inputs, "n_targets": tape.n_targets, "n_parameters": tape.n_parameters,
        "outputs": tape.outputs, "loss": tape.loss, "taps": [rows for _, rows in tape.taps],
        "tracks": [(t.index, t.row, t.rate, t.positions, t.count) for t in tape.tracks], "fewest": tape.fewest,
    }  # fmt: skip
    return json.dumps(said, separators=(",", ":"))


def _terms(row: int, terms: Terms) -> tuple[object, ...]:
    weights, spans = terms.weights, isinstance(terms.weights, range)
    plain = float if terms.kind == "const" else int
    told = (weights.start, weights.stop, weights.step) if isinstance(weights, range) else [plain(w) for w in weights]
    return row, terms.kind, told, spans, terms.bias, float(terms.offset)


# ---- reading


@cache
def _reader() -> TypeAdapter[Said]:
    from pydantic import TypeAdapter

    return TypeAdapter(Said)


def read_tape(text: str) -> Tape:
    """Return the tape in a text of :func:`tape_text`; FileFormatError: it is none, or a node reads what is not there.

    Operations are looked up by name in the table of this program.
    """
    from pydantic import ValidationError

    try:
        said = _reader().validate_json(text, strict=True)
    except ValidationError:
        raise FileFormatError("its program is not in the format of one") from None
    count = len(said.code)
    _check(0 < count <= MOST_NODES, f"its program has {count:,} nodes; allowed: 1 to {MOST_NODES:,}")
    _check(count == len(said.args) == len(said.index) == len(said.number), "its program lacks a part of its nodes")
    unknown = sorted({*said.codes} - {*LEAVES, *TABLE, "dot", "max", "gather", "batch_mean"})
    _check(not unknown, f"its program has operations that are unknown here: {listing(unknown[:4])}")
    _check(all(0 <= code < len(said.codes) for code in said.code), "a node of its program has no operation")
    _check(_fits(said.n_inputs) and _fits(said.n_targets) and _fits(said.n_parameters), "its program has no size")
    nodes = tuple(_nodes(said))
    for rows in (said.outputs, *said.taps, [] if said.loss is None else [said.loss]):
        _check(all(0 <= row < count for row in rows), "its program names results that are not there")
    tape = Tape(
        nodes, said.n_inputs, said.n_targets, said.n_parameters, outputs=tuple(said.outputs), loss=said.loss,
        taps=tuple(enumerate(map(tuple, said.taps))), tracks=tuple(Track(*track) for track in said.tracks),
        fewest=said.fewest,
    )  # fmt: skip
    for track in tape.tracks:
        inside = 0 <= track.index < tape.n_parameters and -1 <= track.row < count and track.count >= -1
        _check(inside and track.count < tape.n_parameters, "its program follows numbers that are not there")
        _check(_fits(track.positions) and (0 <= track.rate <= 1 or track.rate != track.rate), "a rate is impossible")
        _check(track.rate == track.rate or track.row < 0 or track.count >= 0, "a statistic has no count")
    _check(1 <= tape.fewest <= 2, "its program needs an impossible batch")
    return tape


def _check(right: bool, said: str) -> None:
    if not right:
        raise FileFormatError(said)


def _fits(number: int) -> bool:
    return 0 <= number < MOST_INDEX


def _nodes(said: Said) -> list[Node]:
    """Return the nodes; each reads only rows before it, parameters of theta and inputs that exist."""
    shared = [tuple(rows) for rows in said.shared]
    spans = [(min(rows, default=0), max(rows, default=-1)) for rows in shared]
    terms = {row: (kind, weights, is_range, bias, offset) for row, kind, weights, is_range, bias, offset in said.terms}
    tables = {row: Table(rows, step) for row, rows, step in said.tables}
    found: list[Node] = []
    reads = 0
    for row, (code, args, index, number) in enumerate(zip(said.code, said.args, said.index, said.number, strict=True)):
        name = said.codes[code]
        if isinstance(args, int):
            _check(0 <= args < len(shared), "a node of its program reads operands that are not there")
            first, last = spans[args]
            operands = shared[args]
        else:
            first, last, operands = min(args, default=0), max(args, default=-1), tuple(args)
        reads += len(operands) + (int(number) if name in CODES and _fits_real(number) else 0)
        _check(reads <= MOST_READS, f"its program reads more than {MOST_READS:,} numbers")
        _check(first >= 0 and last < row, "a node of its program reads a later one")
        _check(_fits(index), "a node of its program has an impossible number")
        weighed = None if row not in terms else _read_terms(*terms[row], count=len(operands), row=row, said=said)
        node = Node(name, operands, index, number, weighed, tables.get(row))
        _check(_is_whole(node, said), f"a node {name!r} of its program lacks its operands or numbers")
        found.append(node)
    return found


def _fits_real(number: float) -> bool:
    return math.isfinite(number) and 0 < number < MOST_INDEX and number == int(number)


def _read_terms(
    kind: Kind, weights: Sequence[float], is_range: bool, bias: int | None, offset: float, *, count: int, row: int,
    said: Said,
) -> Terms:  # fmt: skip
    if is_range:
        start, stop, step = map(int, weights) if len(weights) == 3 and all(map(_whole, weights)) else (0, 0, 0)
        _check(step != 0, "a sum of its program has an impossible range")
        weights = range(start, stop, step)
    _check(len(weights) == count, "a sum of its program has not one weight for each number")
    _check(bias is None or 0 <= bias < said.n_parameters, "a sum of its program has an unknown bias")
    if kind != "const":
        ends = (weights[0], weights[-1]) if isinstance(weights, range) and count else weights
        end = said.n_parameters if kind == "param" else row
        _check(all(map(_whole, ends)) and all(0 <= weight < end for weight in ends), "a sum has an unknown weight")
    return Terms(kind, weights if isinstance(weights, range) else tuple(weights), bias, offset)


def _whole(number: float) -> bool:
    return isinstance(number, int)


def _is_whole(node: Node, said: Said) -> bool:
    """Return whether a node has what its operation needs, and nothing else."""
    count, code, theta = len(node.args), node.code, said.n_parameters
    if (node.terms is not None) != (code == "dot") or (node.table is not None) != (code == "gather"):
        return False
    if code in CODES:
        return not count and _fits_real(node.number) and node.index + node.number <= theta
    if code == "gather":
        assert node.table is not None
        rows, step = node.table.rows, node.table.step
        return count == 1 and rows > 0 and step > 0 and node.index + (rows - 1) * step < theta
    if code == "mask":
        return not count and 0 <= node.number < 1
    if code in ("param", "buffer", "input"):
        return not count and node.index < (said.n_inputs + said.n_targets if code == "input" else theta)
    wanted = {"const": 0, "batch_mean": 1}.get(code, len(TABLE[code].args) if code in TABLE else count)
    return count == wanted and (code != "max" or count >= SHARED) and (code != "dot" or count > 0)
