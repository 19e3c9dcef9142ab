"""The index of a recording: its networks, its branches with their edits and curves, its frames by branch."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from math import prod
from types import MappingProxyType
from typing import Any, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError, ScalarvizError, StateError, listing
from ...core.frame import Branch, Past
from ...core.history import NO_CURVE, Curve, read_only
from ...core.tensors import Role, Stage, Tensor
from ...edits import Applied, Call, Edit, read_edit
from ...past.line import Twig
from .items import marked, weights_of
from .tables import (
    DAMAGED,
    LONGEST_EDIT,
    LONGEST_NAME,
    MOST_FRAMES,
    MOST_NUMBERS,
    MOST_TENSORS,
    SUMMED,
    checksum,
    clean,
)

MOST_SIDES = 16
MOST_OUTPUTS = 1 << 22
"""Most outputs of a network's stages together."""


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
        """Mask of the numbers that are weights."""
        return weights_of(self.tensors)

    @cached_property
    def rows(self) -> dict[str, slice]:
        """Slices of the rows of the stages, and of ``"input"``, in the joined rows of a probe."""
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
        """Bytes of the column ``units``."""
        return 8 + 4 * sum(stage.outputs for stage in marked(self.stages))


def read_networks(database: sqlite3.Connection, inputs: int) -> dict[int, Shapes]:
    """Return all networks by number; FileFormatError: invalid names, shapes or places, or too many."""
    tensors: dict[int, dict[str, Tensor]] = {}
    for network, *parts in _few(database, "SELECT network, name, shape, start, role FROM tensor"):
        _check(_is_whole(network), "it has an invalid number")
        _add_tensor(tensors.setdefault(network, {}), *parts)
    stages: dict[int, dict[str, Stage]] = {network: {} for network in tensors}
    columns = "name, kind, outputs, weight, bias, shape, input_shape, sources, whole"
    for network, *parts in _few(database, f"SELECT network, {columns} FROM stage"):
        _check(network in tensors, "it has stages of an unknown network")
        _add_stage(stages[network], tensors[network], *parts)
    made = {n: Shapes(tuple(tensors[n].values()), tuple(found.values()), inputs) for n, found in stages.items()}
    for shapes in made.values():  # they may have no frames, so nothing else limits them
        _check(shapes.row_size - inputs <= MOST_OUTPUTS, f"its stages have more than {MOST_OUTPUTS:,} outputs")
    return made


def _check(right: bool, said: str) -> None:
    if not right:
        raise FileFormatError(said)


def _few(database: sqlite3.Connection, asked: str) -> list[Any]:
    found = database.execute(f"{asked} ORDER BY network, number LIMIT {MOST_TENSORS + 1}").fetchall()
    _check(len(found) <= MOST_TENSORS, f"it has more than {MOST_TENSORS:,} tensors or stages")
    return found


def _add_tensor(known: dict[str, Tensor], name: Any, shape: Any, start: Any, role: Any) -> None:
    last = next(reversed(known.values()), None)
    expected = last.start + last.size if last else 0
    words, sides = _name(name, known), _sides(shape)
    _check(role in get_args(Role) and start == expected, f"its tensor {words} has an invalid place or role")
    known[words] = Tensor(words, sides, expected, role)
    _check(expected + prod(sides) <= MOST_NUMBERS, f"it has more than {MOST_NUMBERS:,} numbers per frame")


def _add_stage(known: dict[str, Stage], named: dict[str, Tensor], name: Any, kind: Any, outputs: Any, weight: Any,
               bias: Any, shape: Any, input_shape: Any, sources: Any, whole: Any) -> None:  # fmt: skip
    words = _name(name, known) if name != "" or known else ""  # the model itself
    said, read = f"its stage {words}", _list(sources)
    _check(isinstance(kind, str) and _is_whole(outputs) and outputs > 0, f"{said} has no kind or no outputs")
    _check({weight, bias} <= {None, *named}, f"{said} names an unknown weight")
    there = all(isinstance(one, str) and (one == "input" or one in known) for one in read)
    _check(there, f"{said} reads from an unknown stage")
    known[words] = Stage(words, clean(kind, LONGEST_NAME), outputs, named.get(weight), named.get(bias), _sides(shape),
                         _sides(input_shape), tuple(read), whole == 1)  # fmt: skip


def read_stages(rows: Iterable[Sequence[Any]], tensors: Iterable[Tensor]) -> tuple[Stage, ...]:
    """Return the stages of rows of the table ``stage``, without network and number; FileFormatError: invalid ones."""
    known, named = dict[str, Stage](), {tensor.name: tensor for tensor in tensors}
    for row in rows:
        _check(len(row) == 9 and all(isinstance(part, str | int | None) for part in row), "it has an invalid stage")
        _add_stage(known, named, *row)
    return tuple(known.values())


def _name(name: Any, others: Collection[str]) -> str:
    right = isinstance(name, str) and name and name == clean(name, LONGEST_NAME) and name not in others
    _check(bool(right), "it has an invalid or repeated name")
    return str(name)


def _list(text: Any) -> list[Any]:
    said: Any = None
    with suppress(ValueError, RecursionError):
        said = json.loads(text) if isinstance(text, str) and len(text) < 1 << 20 else None
    if not isinstance(said, list):
        raise FileFormatError("it has an invalid shape")
    return said


def _sides(text: Any) -> tuple[int, ...]:
    sides = _list(text)
    right = len(sides) <= MOST_SIDES and all(type(side) is int and 0 <= side <= MOST_NUMBERS for side in sides)
    _check(right and prod(sides) <= MOST_NUMBERS, "it has an invalid or too large shape")
    return tuple(sides)


# ---- The branches of a recording with their edits, named moments and curves


MOST_BRANCHES = 100_000
MOST_EDITS = 1_000_000


END = 1 << 53
"""A number after every step."""


@dataclass(slots=True, eq=False)
class Written(Twig):
    """One branch in the file."""

    edits: dict[int, Applied] = field(default_factory=dict)  # by their index among those on the way here
    curve: Curve = NO_CURVE  # its own steps
    jumped: bool = False  # whether it began with other numbers than its parent has there


class Branches:
    """All branches; `broken`: why some could not be read."""

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
        asked = "SELECT number, parent, first, before, why, jumped FROM branch ORDER BY number LIMIT ?"
        for number, parent, first, before, why, jumped in database.execute(asked, (MOST_BRANCHES,)):
            known = parent is None or parent in self.twigs  # parents are older, so no cycle is possible
            if not known or not all(_is_whole(x) for x in (number, first, before)) or not isinstance(why, str):
                raise FileFormatError("it has a branch with an unknown parent")
            begins = self.twigs.get(parent), first, before, clean(why), first
            self.twigs[number] = Written(number, *begins, jumped=jumped == 1)

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

    def reach(self, steps: Mapping[int, int]) -> None:
        """Extend branches to their last frames; `steps` maps a branch's number to a step."""
        for number, step in steps.items():
            self.twigs[number].newest = max(self.twigs[number].newest, step)

    def path_to(self, number: int) -> Iterator[tuple[Written, int, int]]:
        """Yield a branch and those that it comes from, each with the last step and edits on the way."""
        return self.twigs[number].path_to(END, END)

    def curve(self, number: int) -> Curve:
        """Return all steps of the way."""
        return _rising([twig.curve.up_to(last) for twig, last, _ in self.path_to(number)][::-1])

    def edits(self, number: int) -> tuple[Applied, ...]:
        """Return all edits of the way, the oldest first."""
        found: dict[int, Applied] = {}
        for twig, _, most in self.path_to(number):
            found |= {place: applied for place, applied in twig.edits.items() if place < most}
        return tuple(found[place] for place in sorted(found))

    def leads(self, number: int, step: int, branch: int, edits: int) -> bool:
        """Return whether steps alone lead to `step` on the way of `number`, from a place there after some `edits`."""
        ways = takewhile(lambda twig: twig.number != branch, (twig for twig, _, _ in self.path_to(number)))
        jumps = any(twig.jumped and twig.first <= step for twig in ways)
        return not jumps and edits >= sum(applied.step <= step for applied in self.edits(number))

    def past(self, number: int) -> Past:
        """Return the past of a branch, for pictures."""
        twig = self.twigs[number]
        return Past(twig.begins, twig.newest, self.curve(number), self.edits(number), self.all(number),
                    twig.flags_to(END))  # fmt: skip

    def all(self, number: int) -> tuple[Branch, ...]:
        """Return every branch with steps, and the branch `number`, which is marked as current."""
        kept = (twig for twig in self.twigs.values() if twig.number == number or twig.newest > twig.first)
        return tuple(t.branch(t.curve, [t.edits[k] for k in sorted(t.edits)], t.number == number) for t in kept)


def _is_whole(given: Any) -> TypeGuard[int]:
    return isinstance(given, int) and 0 <= given < 1 << 53


def _rising(pieces: list[Curve]) -> Curve:
    """Return joined pieces; entries that do not rise are left out."""
    if not pieces:
        return NO_CURVE
    joined = Curve(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))
    steps = joined.step
    rising = np.append(True, steps[1:] > np.maximum.accumulate(steps)[:-1])[: len(steps)]
    rising &= steps >= 0
    return Curve(*map(read_only, joined.part(rising)))


def _gone(run: object) -> None:
    raise StateError("this edit cannot be repeated: a recording stores only its description")


def _applied(step: int, what: str, gesture: Any, written: Any) -> Applied:
    """Return an edit, which is never applied; if it cannot be read, its words stay."""
    edit: Edit = Call(_gone, what or "an edit")
    if isinstance(written, str):
        with suppress(ScalarvizError, ValueError, TypeError, RecursionError, OverflowError, MemoryError):
            edit = read_edit(written)
    return Applied(step, edit, what, clean(gesture, LONGEST_NAME) if isinstance(gesture, str) else "")


# ---- `Index`: the frames of a recording, and those on the way to the end of a branch


PARTS = ("gradient", "moved", "activation", "delta", "units")
"""Optional parts of a frame, in the order of ``has``."""
MOST_HOLES = 500
MOST_NAMED = 8
"""Most steps of damaged frames that are named."""
WHOLE, REAL = ("id", "branch", "step", "edits", "network", "batch", "edited"), ("loss", "lr", "next_lr", "whole", "own")
BLOBS = ("value", *PARTS, "computed", "frozen")
KINDS = np.dtype([
    *((name, np.int64) for name in WHOLE), *((name, np.float64) for name in REAL),
    ("has", bool, len(PARTS)),
    ("checksum", np.int64),
])  # fmt: skip
"""A frame in an index: numbers as in the file, its `PARTS`, and the checksum."""
_COLUMNS = ", ".join(
    [*WHOLE, *REAL]
    + [f"CASE typeof({name}) WHEN 'blob' THEN length({name}) WHEN 'null' THEN -1 ELSE -2 END" for name in BLOBS]
)
"""Lengths are read without the blobs; -1 is NULL, -2 is something else."""


@dataclass(frozen=True)
class Index:
    """The readable frames, as in `KINDS`, and remarks on the others."""

    frames: NDArray[np.void]
    wrong: int  # number of frames that are left out because their numbers are invalid
    damaged: tuple[int, ...]  # steps of frames that are left out because their checksum is wrong
    broken: str  # why not all frames were found; empty if they were

    @property
    def known(self) -> dict[int, int]:
        """The checksum of each frame by its id."""
        return dict(zip(self.frames["id"].tolist(), self.frames["checksum"].tolist(), strict=True))

    @property
    def newest(self) -> dict[int, int]:
        """The last frame's step of each branch."""
        branch, step = self.frames["branch"], self.frames["step"]
        return {int(number): int(step[branch == number].max()) for number in np.unique(branch)}

    @property
    def remarks(self) -> list[str]:
        """Return what is left out, one clause each."""
        said = [f"{self.wrong:,} frames are invalid"] if self.wrong else []
        if self.damaged:
            named = [f"{step:,}" for step in sorted(set(self.damaged))]
            more = [f"{len(named) - MOST_NAMED:,} more"] if len(named) > MOST_NAMED else []
            steps = listing([*named[:MOST_NAMED], *more])
            said.append(f"damaged and left out: step{'s' * (len(named) > 1)} {steps}")
        return said

    def way(self, steps: Iterable[tuple[int, int, int]]) -> NDArray[np.int64]:
        """Return entries on the way to a branch's end, by step; at each step the last one, after all edits there."""
        found, frames = [], self.frames
        for nearness, (branch, last, edits) in enumerate(steps):
            own = np.flatnonzero((frames["branch"] == branch) & (frames["step"] <= last) & (frames["edits"] <= edits))
            found.append(np.stack([frames["step"][own], frames["edits"][own], np.full(len(own), -nearness), own]))
        table = np.concatenate(found, axis=1) if found else np.zeros((4, 0), np.int64)
        table = table[:, np.lexsort(table[2::-1])]
        newest = np.append(table[0, 1:] != table[0, :-1], np.ones(min(1, table.shape[1]), bool))
        return np.asarray(table[3, newest], np.int64)


def read_index(
    database: sqlite3.Connection, networks: Mapping[int, Shapes], branches: Collection[int], doubted: bool,
    known: Mapping[int, int],
) -> Index:  # fmt: skip
    """Read all frames. Checksums in `known` (by id) are not computed again; `doubted`: search behind holes, too."""
    rows, damaged, faults, wrong = list[tuple[Any, ...]](), list[int](), list[str](), 0
    for row in _rows(database, faults, MOST_HOLES if doubted else 1):
        whole, real, lengths = row[: len(WHOLE)], row[len(WHOLE) : -len(BLOBS)], row[-len(BLOBS) :]
        if not _good(whole, real, lengths, networks) or row[1] not in branches:
            wrong += 1
        elif (total := checked(database, row[0], known)) is None:
            damaged.append(row[2])
        else:
            has = [length >= 0 for length in lengths[1 : 1 + len(PARTS)]]
            rows.append((*whole, *(np.nan if x is None else x for x in real), has, total))
    return Index(np.array(rows, KINDS), wrong, tuple(damaged), faults[-1] if faults else "")


_CELLS = f"SELECT checksum, {', '.join(SUMMED)} FROM frame WHERE id = ?"


def checked(database: sqlite3.Connection, number: int, known: Mapping[int, int] = MappingProxyType({})) -> int | None:
    """Return the checksum of a frame; None if it does not match, or the frame cannot be read."""
    try:
        if number in known:
            (written,) = database.execute("SELECT checksum FROM frame WHERE id = ?", (number,)).fetchone()
            if written == known[number]:
                return known[number]
        written, *cells = database.execute(_CELLS, (number,)).fetchone()
    except (*DAMAGED, TypeError):  # no row, or an unreadable one
        return None
    return written if isinstance(written, int) and checksum(cells) == written else None


def _rows(database: sqlite3.Connection, faults: list[str], tries: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows by id; if the file is broken, also those behind up to `tries` holes."""
    first, gap = 0, 1
    asked = f"SELECT {_COLUMNS} FROM frame NOT INDEXED WHERE id >= ? ORDER BY id LIMIT {MOST_FRAMES}"
    while len(faults) < tries and first < 1 << 53:
        try:
            for row in database.execute(asked, (first,)):
                first, gap = row[0] + 1, 1
                yield row
            return
        except DAMAGED as error:
            faults.append(str(error))
            first, gap = first + gap, 2 * gap


def _good(whole: Sequence[Any], real: Iterable[Any], lengths: tuple[int, ...], networks: Mapping[int, Shapes]) -> bool:
    """Return whether the numbers of a frame are valid, and its arrays have the lengths of its network."""
    if not all(map(_is_whole, whole)) or not all(x is None or isinstance(x, float | int) for x in real):
        return False
    shapes = networks.get(whole[4])
    if shapes is None:
        return False
    flat, rows, flags = 4 * shapes.size, 4 * shapes.row_size, (-1, 0, -(-shapes.size // 8))
    allowed = ((flat,), (-1, flat), (-1, flat), (-1, rows), (-1, rows), (-1, shapes.unit_bytes), flags, flags)
    return all(length in fits for length, fits in zip(lengths, allowed, strict=True))
