"""What a recording has: its networks, its branches with their edits and curves, its frames by branch."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError, ScalarvizError, StateError, listing
from ...core.frame import NO_CURVE, Branch, Curve, Past, Role, Stage, Tensor
from ...edits import Applied, Call, Edit, read_edit
from ...past.line import Twig
from .file import (
    DAMAGED,
    LONGEST_EDIT,
    LONGEST_NAME,
    MOST_FRAMES,
    MOST_NUMBERS,
    MOST_OUTPUTS,
    MOST_SIDES,
    MOST_TENSORS,
    SUMMED,
    checksum,
    clean,
)
from .taken import marked, weights_of


@dataclass(frozen=True)
class Shapes:
    """Tensors and stages of one network."""

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    inputs: int  # numbers of one sample

    @cached_property
    def size(self) -> int:
        """Scalars of a frame."""
        return sum(tensor.size for tensor in self.tensors)

    @cached_property
    def weights(self) -> NDArray[np.bool_]:
        """Which of them are weights."""
        return weights_of(self.tensors)

    @cached_property
    def rows(self) -> dict[str, slice]:
        """Where the row of a stage, and of ``"input"``, lies in the rows of a probe."""
        found, at = {}, 0
        for name, count in (("input", self.inputs), *((stage.name, stage.outputs) for stage in self.stages)):
            found[name] = slice(at, at + count)
            at += count
        return found

    @cached_property
    def row_size(self) -> int:
        """Numbers of all rows."""
        return self.inputs + sum(stage.outputs for stage in self.stages)

    @cached_property
    def unit_bytes(self) -> int:
        """Bytes of what is told of units."""
        return 8 + 4 * sum(stage.outputs for stage in marked(self.stages))


def read_networks(database: sqlite3.Connection, inputs: int) -> dict[int, Shapes]:
    """All networks by number; FileFormatError: names, shapes or places that cannot be, or too many."""
    tensors: dict[int, dict[str, Tensor]] = {}
    rows = database.execute(
        "SELECT network, name, shape, start, role FROM tensor ORDER BY network, number LIMIT ?", (MOST_TENSORS + 1,)
    )
    for network, *parts in _few(rows):
        known = tensors.setdefault(_whole(network), {})
        tensor = _tensor(known, *parts)
        known[tensor.name] = tensor
    stages: dict[int, dict[str, Stage]] = {network: {} for network in tensors}
    outputs = dict.fromkeys(tensors, 0)
    rows = database.execute(
        "SELECT network, name, kind, outputs, weight, bias, shape, input_shape, sources, whole FROM stage "
        "ORDER BY network, number LIMIT ?", (MOST_TENSORS + 1,),
    )  # fmt: skip
    for network, *parts in _few(rows):
        if _whole(network) not in tensors:
            raise FileFormatError("it has stages of a network that it has not")
        stage = _stage(stages[network], tensors[network], *parts)
        stages[network][stage.name] = stage
        outputs[network] += stage.outputs
        if outputs[network] > MOST_OUTPUTS:  # there need be no numbers of theirs: nothing else bounds them
            raise FileFormatError(f"its stages have more than {MOST_OUTPUTS:,} outputs")
    return {number: Shapes(tuple(found.values()), tuple(stages[number].values()), inputs)
            for number, found in tensors.items()}  # fmt: skip


def _few(rows: sqlite3.Cursor) -> list[Any]:
    found = rows.fetchall()
    if len(found) > MOST_TENSORS:
        raise FileFormatError(f"it has more than {MOST_TENSORS:,} tensors or stages")
    return found


def _tensor(before: dict[str, Tensor], name: Any, shape: Any, start: Any, role: Any) -> Tensor:
    words = _name(name, before)
    sides = _sides(shape)
    last = next(reversed(before.values()), None)
    expected = last.start + last.size if last else 0
    if role not in get_args(Role) or _whole(start) != expected:
        raise FileFormatError(f"its tensor {words} lies nowhere, or is nothing that there is")
    made = Tensor(words, sides, start, role)
    if expected + made.size > MOST_NUMBERS:
        raise FileFormatError(f"it has more than {MOST_NUMBERS:,} numbers a frame")
    return made


def _stage(before: dict[str, Stage], named: dict[str, Tensor], name: Any, kind: Any, outputs: Any, weight: Any,
           bias: Any, shape: Any, input_shape: Any, sources: Any, whole: Any) -> Stage:  # fmt: skip
    words = _name(name, before) if name != "" or before else ""  # the model itself
    if not isinstance(kind, str) or not 0 < _whole(outputs) <= MOST_OUTPUTS:
        raise FileFormatError(f"its stage {words} has no kind or no outputs")
    for tensor in (weight, bias):
        if tensor is not None and tensor not in named:
            raise FileFormatError(f"its stage {words} has a weight that there is not")
    read = _list(sources)
    if not all(isinstance(one, str) and (one == "input" or one in before) for one in read):
        raise FileFormatError(f"its stage {words} reads what there is not")
    return Stage(words, clean(kind, LONGEST_NAME), outputs, named.get(weight), named.get(bias), _sides(shape),
                 _sides(input_shape), tuple(read), whole == 1)  # fmt: skip


def _name(name: Any, others: Collection[str]) -> str:
    if not isinstance(name, str) or not name or name != clean(name, LONGEST_NAME) or name in others:
        raise FileFormatError("a name in it is none, or comes twice")
    return name


def _whole(given: Any) -> int:
    if not _is_whole(given):
        raise FileFormatError("a number in it is none, or negative")
    return given


def _list(text: Any) -> list[Any]:
    try:
        said = json.loads(text) if isinstance(text, str) and len(text) < 1 << 20 else None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, list):
        raise FileFormatError("a shape in it is none")
    return said


def _sides(text: Any) -> tuple[int, ...]:
    sides = _list(text)
    if len(sides) > MOST_SIDES or not all(type(side) is int and 0 <= side <= MOST_NUMBERS for side in sides):
        raise FileFormatError("a shape in it is none, or too large")
    if prod(sides) > MOST_NUMBERS:
        raise FileFormatError("a shape in it is too large")
    return tuple(sides)


# ---- The branches of a recording with their edits, named moments and curves, as a picture of the past shows them


MOST_BRANCHES = 100_000
MOST_EDITS = 1_000_000


END = 1 << 53
"""Behind every step."""


@dataclass(slots=True, eq=False)
class Written(Twig):
    """One branch as the file has it."""

    edits: dict[int, Applied] = field(default_factory=dict)  # by their places among those of the way here
    curve: Curve = NO_CURVE  # its own steps


class Branches:
    """All of them; `broken`: why not all could be read."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.twigs: dict[int, Written] = {}
        self.broken = ""
        self._read_twigs(database)
        for read in (self._read_edits, self._read_flags, self._read_curves):
            try:
                read(database)
            except DAMAGED as error:
                self.broken = str(error)

    def _read_twigs(self, database: sqlite3.Connection) -> None:
        rows = database.execute(
            "SELECT number, parent, first, before, why FROM branch ORDER BY number LIMIT ?", (MOST_BRANCHES,)
        )
        for number, parent, first, before, why in rows:
            known = parent is None or parent in self.twigs  # which are older: no circle is possible
            if not known or not all(_is_whole(x) for x in (number, first, before)) or not isinstance(why, str):
                raise FileFormatError("a branch in it leaves one that there is not")
            self.twigs[number] = Written(number, self.twigs.get(parent), first, before, clean(why), first)

    def _read_edits(self, database: sqlite3.Connection) -> None:
        rows = database.execute(
            "SELECT branch, number, step, what, gesture, CASE WHEN length(written) <= ? THEN written END FROM edit "
            "WHERE length(what) <= ? ORDER BY branch, number LIMIT ?", (LONGEST_EDIT, LONGEST_EDIT, MOST_EDITS),
        )  # fmt: skip
        for branch, number, step, what, gesture, written in rows:
            if branch in self.twigs and _is_whole(number) and _is_whole(step) and isinstance(what, str):
                self.twigs[branch].edits[number] = _applied(step, clean(what), gesture, written)

    def _read_flags(self, database: sqlite3.Connection) -> None:
        for branch, step, name in database.execute("SELECT branch, step, name FROM flag LIMIT ?", (MOST_EDITS,)):
            if branch in self.twigs and _is_whole(step) and isinstance(name, str):
                self.twigs[branch].flags[step] = clean(name, LONGEST_NAME)

    def _read_curves(self, database: sqlite3.Connection) -> None:
        found: dict[int, list[Curve]] = {}
        try:
            rows = database.execute("SELECT branch, count, step, loss, lr FROM curve ORDER BY id")
            for branch, count, *blobs in rows:
                if branch in self.twigs and all(isinstance(b, bytes) and len(b) == 8 * count for b in blobs):
                    curve = Curve(*map(np.frombuffer, blobs, ("<i8", "<f8", "<f8")))
                    found.setdefault(branch, []).append(curve)
        finally:
            for branch, pieces in found.items():
                twig = self.twigs[branch]
                twig.curve = _rising(pieces)
                twig.newest = max([twig.newest, *twig.curve.step[-1:].tolist()])

    # ---- the way to a branch's end

    def way(self, number: int) -> Iterator[tuple[Written, int, int]]:
        """A branch and those that it comes from, each with the last step and edits that belong to the way."""
        return self.twigs[number].way(END, END)

    def curve(self, number: int) -> Curve:
        """All steps of the way."""
        return _rising([up_to(twig.curve, last) for twig, last, _ in self.way(number)][::-1])

    def edits(self, number: int) -> tuple[Applied, ...]:
        """All edits of the way, the oldest first."""
        found: dict[int, Applied] = {}
        for twig, _, most in self.way(number):
            found |= {place: applied for place, applied in twig.edits.items() if place < most}
        return tuple(found[place] for place in sorted(found))

    def past(self, number: int, current: int, newest: Mapping[int, int]) -> Past:
        """What a picture shows of the past on a branch; `newest` says the last steps of frames."""
        twig = self.twigs[number]
        end, edits = max(twig.newest, newest.get(number, 0)), self.edits(number)
        return Past(twig.begins, end, self.curve(number), edits, self.all(number, newest), twig.flags_to(END))

    def all(self, number: int, newest: Mapping[int, int]) -> tuple[Branch, ...]:
        """Every branch that steps were done on, and the one of a number, which is said to be that of now."""
        found = []
        for twig in self.twigs.values():
            end = max(twig.newest, newest.get(twig.number, 0))
            if twig.number == number or end > twig.first:
                own = tuple(twig.edits[place] for place in sorted(twig.edits))
                parent = None if twig.parent is None else twig.parent.number
                found.append(Branch(twig.number, parent, twig.first, end, twig.curve, own,
                                    twig.number == number, twig.why))  # fmt: skip
        return tuple(found)


def up_to(curve: Curve, step: int) -> Curve:
    """The steps of a curve up to one of them."""
    end = int(np.searchsorted(curve.step, step, "right"))
    return Curve(curve.step[:end], curve.loss[:end], curve.lr[:end])


def _is_whole(given: Any) -> TypeGuard[int]:
    return isinstance(given, int) and 0 <= given < 1 << 53


def _rising(pieces: list[Curve]) -> Curve:
    """Pieces one after the other; entries that do not rise are left out."""
    if not pieces:
        return NO_CURVE
    joined = Curve(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))
    steps = joined.step
    rising = np.append(True, steps[1:] > np.maximum.accumulate(steps)[:-1])[: len(steps)]
    rising &= steps >= 0
    return Curve(*(fixed(part[rising]) for part in joined))


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, which nobody can write to any more."""
    array.flags.writeable = False
    return array


def _gone(run: object) -> None:
    raise StateError("a recording knows only the words of this edit")


def _applied(step: int, what: str, gesture: Any, written: Any) -> Applied:
    """An edit, which is never done; where it cannot be read its words stay."""
    edit: Edit | None = None
    if isinstance(written, str):
        try:
            edit = read_edit(written)
        except (ScalarvizError, ValueError, TypeError, RecursionError, OverflowError, MemoryError):
            edit = None
    said = clean(gesture, LONGEST_NAME) if isinstance(gesture, str) else ""
    return Applied(step, Call(_gone, what or "an edit") if edit is None else edit, what, said)


# ---- `Index`: which frames a recording has, and which of them lie on the way to the end of a branch


PARTS = ("gradient", "moved", "activation", "delta", "units")
"""What a frame may have beside its values, in the order of `Index.has`."""
MOST_HOLES = 500
MOST_NAMED = 8
"""Steps of damaged frames that are named."""
_KINDS = {
    **dict.fromkeys(("id", "branch", "step", "edits", "network"), np.int64),
    **dict.fromkeys(("loss", "lr", "next_lr", "whole", "own"), np.float64),
    "edited": np.bool_, "batch": np.int64,
}  # fmt: skip
"""Columns of `Index` that stand in the file as they are."""
_COLUMNS = ", ".join(
    [*_KINDS]
    + [f"CASE typeof({name}) WHEN 'blob' THEN length({name}) WHEN 'null' THEN -1 ELSE -2 END"
       for name in ("value", *PARTS, "computed", "frozen")]
)  # fmt: skip
"""Lengths are read without the blobs; -1 is none, -2 is something else."""


@dataclass(frozen=True)
class Index:
    """Arrays of one length, an entry a frame that can be read."""

    id: NDArray[np.int64]
    branch: NDArray[np.int64]
    step: NDArray[np.int64]
    edits: NDArray[np.int64]
    network: NDArray[np.int64]
    loss: NDArray[np.float64]
    lr: NDArray[np.float64]
    next_lr: NDArray[np.float64]
    whole: NDArray[np.float64]
    own: NDArray[np.float64]
    edited: NDArray[np.bool_]
    batch: NDArray[np.int64]
    has: NDArray[np.bool_]  # shape (N, len(PARTS))
    checksum: NDArray[np.int64]  # as the file has it; -1 where it has none
    wrong: int  # frames that are left out: their numbers are not what they should be
    damaged: tuple[int, ...]  # steps of frames that are left out: their numbers are not those that were written
    broken: str  # why not all frames were found; empty where they were

    @property
    def known(self) -> dict[int, int]:
        """The checksum of each frame by its id."""
        return dict(zip(self.id.tolist(), self.checksum.tolist(), strict=True))

    @property
    def remarks(self) -> list[str]:
        """What is left out, a clause each."""
        said = [f"{self.wrong:,} frames are not what they should be"] if self.wrong else []
        if self.damaged:
            named = [f"{step:,}" for step in sorted(set(self.damaged))]
            more = [f"{len(named) - MOST_NAMED:,} more"] if len(named) > MOST_NAMED else []
            steps = listing([*named[:MOST_NAMED], *more])
            said.append(f"damaged since it was written, and left out: step{'s' * (len(named) > 1)} {steps}")
        return said

    def way(self, steps: Iterable[tuple[int, int, int]]) -> NDArray[np.int64]:
        """Entries on the way to a branch's end, by step; of a step the last, after all that was done there."""
        found = []
        for nearness, (branch, last, edits) in enumerate(steps):
            own = np.flatnonzero((self.branch == branch) & (self.step <= last) & (self.edits <= edits))
            found.append(np.stack([self.step[own], self.edits[own], np.full(len(own), -nearness), own]))
        table = np.concatenate(found, axis=1) if found else np.zeros((4, 0), np.int64)
        table = table[:, np.lexsort(table[2::-1])]
        newest = np.append(table[0, 1:] != table[0, :-1], np.ones(min(1, table.shape[1]), bool))
        return np.asarray(table[3, newest], np.int64)


def read_index(
    database: sqlite3.Connection,
    networks: Mapping[int, Shapes],
    branches: Iterable[int],
    *,
    doubted: bool = False,
    known: Mapping[int, int] | None = None,
) -> Index:
    """Go through all frames, but for the numbers of those whose checksums are `known` by their ids.

    `doubted`: a part of the file is missing: what lies behind a hole is looked for, and every number is read once.
    """
    rows: list[tuple[Any, ...]] = []
    lengths: list[list[int]] = []
    sums: list[int] = []
    damaged: list[int] = []
    wrong, broken, there = 0, [""], set(branches)
    for row in _doubted(database, broken) if doubted else _rows(database, 0, broken):
        if not _good(row, networks, there):
            wrong += 1
            continue
        total = checked(database, row[0], known or {})
        if total is None:
            damaged.append(row[2])
            continue
        rows.append(row[: len(_KINDS)])
        lengths.append([length >= 0 for length in row[13:18]])
        sums.append(total)
    columns = zip(*rows, strict=True) if rows else [()] * len(_KINDS)
    arrays: dict[str, NDArray[Any]] = {
        name: np.array([np.nan if cell is None else cell for cell in column], kind)
        for (name, kind), column in zip(_KINDS.items(), columns, strict=True)
    }
    has = np.array(lengths, bool).reshape(-1, len(PARTS))
    return Index(**arrays, has=has, checksum=np.array(sums, np.int64), wrong=wrong, damaged=tuple(damaged),
                 broken=broken[0])  # fmt: skip


_CELLS = f"SELECT checksum, {', '.join(SUMMED)} FROM frame WHERE id = ?"


def checked(database: sqlite3.Connection, number: int, known: Mapping[int, int] = MappingProxyType({})) -> int | None:
    """The checksum of a frame; None where it is not that of its numbers, or they cannot be read."""
    try:
        if number in known:
            (written,) = database.execute("SELECT checksum FROM frame WHERE id = ?", (number,)).fetchone()
            if written == known[number]:
                return known[number]
        written, *cells = database.execute(_CELLS, (number,)).fetchone()
    except (*DAMAGED, TypeError):  # no row, or none that can be read
        return None
    return written if isinstance(written, int) and checksum(cells) == written else None


def _rows(database: sqlite3.Connection, first: int, broken: list[str]) -> Iterator[tuple[Any, ...]]:
    """Rows from an id on, up to the first place where the file is broken."""
    try:
        yield from database.execute(
            f"SELECT {_COLUMNS} FROM frame NOT INDEXED WHERE id >= ? ORDER BY id LIMIT {MOST_FRAMES}", (first,)
        )
    except DAMAGED as error:
        broken[0] = str(error)


def _doubted(database: sqlite3.Connection, broken: list[str]) -> Iterator[tuple[Any, ...]]:
    """Rows that can be read to their ends, those behind holes too."""
    first, gap, holes = 0, 1, 0
    while holes < MOST_HOLES and first < 1 << 53:
        fault = [""]
        for row in _rows(database, first, fault):
            first, gap = row[0] + 1, 1
            if _whole_row(database, row[0]):
                yield row
            else:
                broken[0] = broken[0] or "numbers are missing"
        if not fault[0]:
            return
        broken[0] = fault[0]
        first, gap, holes = first + gap, 2 * gap, holes + 1


def _whole_row(database: sqlite3.Connection, number: int) -> bool:
    try:
        return database.execute("SELECT * FROM frame WHERE id = ?", (number,)).fetchone() is not None
    except DAMAGED:
        return False


def _good(row: tuple[Any, ...], networks: Mapping[int, Shapes], branches: set[int]) -> bool:
    whole, real, edited, lengths = (*row[:5], row[11]), row[5:10], row[10], row[12:]
    if not all(map(_is_whole, whole)) or not isinstance(edited, int):
        return False
    if not all(x is None or isinstance(x, float | int) for x in real) or row[1] not in branches:
        return False
    shapes = networks.get(row[4])
    if shapes is None:
        return False
    with suppress(OverflowError):
        flat, rows = 4 * shapes.size, 4 * shapes.row_size
        allowed = ((flat,), (-1, flat), (-1, flat), (-1, rows), (-1, rows), (-1, shapes.unit_bytes))
        flags = (-1, 0, -(-shapes.size // 8))
        return all(length in fits for length, fits in zip(lengths, (*allowed, flags, flags), strict=True))
    return False
