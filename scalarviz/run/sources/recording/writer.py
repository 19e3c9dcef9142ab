"""`Writer`: the thread that writes a recording: its queue, its rows, its passes of the probe, its budget of bytes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatchmethod
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ....errors import StateError
from ...core.forward import Forward
from ...core.frame import Curve
from ...opened.network import Network
from .file import LONGEST_NAME, SUMMED, FileId, checksum, clean
from .step_written import MicroRows
from .taken import (
    Done,
    Item,
    Look,
    Named,
    Passed,
    Stands,
    TakenNetwork,
    Way,
    bits,
    blob,
    edit_row,
    number,
    rows_blob,
    stage_rows,
    tensor_rows,
    units_blob,
    weights_of,
)

Float = NDArray[np.float64]


class Deltas:
    """Forward and backward of one sample, on arrays of its own."""

    def __init__(self, forward: Forward) -> None:
        stages = list(zip(forward.stages, forward.taps, strict=True))
        self._forward = forward
        self._network = Network(forward.tape, stages, lambda: forward._loss_runner)

    def rows(self, probe: Float, target: Float, values: NDArray[np.floating]) -> dict[str, Float] | None:
        """The derivative of the sample's loss by each number of each stage, (outputs,); None where samples couple.

        NaN where no weight stands before it. The loss is that of a batch of the sample alone: a mean over
        weighted targets divides by its own weight.
        """
        network, body = self._network, self._network.body
        if body.program.couples:
            return None
        theta, _ = network.runner.extended(values.astype(np.float64))
        numbers = network.runner.encode(np.concatenate([probe, target])[:, None])
        rows = body.forward(theta, numbers)
        adjoints = np.zeros_like(rows)
        adjoints[body.program.loss] = self._forward.scale_of_one(target)
        body.backward(rows, adjoints, theta, np.zeros(len(theta)))
        found = {"input": np.full(len(probe), np.nan)}
        for name, places in network.rows_of.items():
            found[name] = np.where(network.before_weights[name], np.nan, adjoints[places, 0])
        return found


@dataclass
class Probing:
    """The probe and its target, and what of them is wanted."""

    probe: NDArray[np.float64] | None
    target: NDArray[np.float64] | None
    activations: bool
    deltas: bool
    _known: dict[int, Deltas] = field(default_factory=dict)

    def loss(self, look: Look) -> float | None:
        """Its own loss, where it has a target and its rows are wanted."""
        pair = self._pair(look)
        if pair is None:
            return None
        with np.errstate(all="ignore"):
            return number(look.forward.evaluate(pair[0][None], pair[1][None], look.value))

    def rows(self, look: Look) -> bytes | None:
        """What each stage makes of it; of a network that takes other samples nothing."""
        if self.probe is None or not self.activations or len(self.probe) != look.forward.tape.n_inputs:
            return None
        with np.errstate(all="ignore"):
            return rows_blob(look.forward.activations(self.probe, look.value), look.forward.stages)

    def delta_rows(self, look: Look) -> bytes | None:
        """How its loss depends on that."""
        pair = self._pair(look)
        if pair is None or not self.deltas:
            return None
        if look.network not in self._known:
            self._known[look.network] = Deltas(look.forward)
        with np.errstate(all="ignore"):
            rows = self._known[look.network].rows(*pair, look.value)
        return None if rows is None else rows_blob(rows, look.forward.stages)

    def _pair(self, look: Look) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Sample and target, where both are of the network of the moment and anything of them is wanted."""
        probe, target = self.probe, self.target
        if probe is None or target is None or not (self.activations or self.deltas):
            return None
        tape = look.forward.tape
        return (probe, target) if (len(probe), len(target)) == (tape.n_inputs, tape.n_targets) else None


# ---- `Thinning`: keeps a recording within its budget of bytes, by letting go of every second frame


LOOKS = 64
"""Looks at the size while the budget is filled once."""
SLICE = 256
"""Frames that are let go of between two transactions: nobody waits long for a large file."""


class Thinning:
    """Where the file is larger than `budget` bytes, `every` doubles and the frames between go, but for kept ones."""

    def __init__(self, database: sqlite3.Connection, every: int, budget: int) -> None:
        self._database, self.every, self.budget = database, every, budget
        self.due = False
        self._page = int(database.execute("PRAGMA page_size").fetchone()[0])
        self._unseen = 0  # bytes since the last look
        self._frames = 0  # as many as there were when nothing more could be let go of

    def measure(self, written: int) -> None:
        """Look how large the file is, where so many bytes more may have filled it."""
        self._unseen += written
        if self.due or self._unseen < self.budget // LOOKS:
            return
        self._unseen = 0
        pages, free = (int(self._database.execute(f"PRAGMA {what}").fetchone()[0])
                       for what in ("page_count", "freelist_count"))  # fmt: skip
        if (pages - free) * self._page <= self.budget:
            return
        (count,) = self._database.execute("SELECT count(*) FROM frame WHERE kept = 0").fetchone()
        if count >= 2 and count != self._frames:
            self.every *= 2
            self.due = True
        self._frames = count

    def some(self, written: int) -> None:
        """Let go of some within a transaction, of more than were `written` in it."""
        if not self.due:
            return
        most = SLICE + 2 * written
        chosen = self._database.execute(
            "SELECT id FROM frame WHERE kept = 0 AND step % ? != 0 LIMIT ?", (self.every, most)
        ).fetchall()
        for table, column in (("micro", "frame"), ("frame", "id")):
            self._database.executemany(f"DELETE FROM {table} WHERE {column} = ?", chosen)
        self.due = len(chosen) == most


# ---- `Rows`: what becomes of an item that was taken of a run: statements, and forward passes of the probe


_COLUMNS = (*SUMMED, "kept", "stopped", "checksum")
_FRAME = (
    f"INSERT INTO frame ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    "ON CONFLICT (branch, step, edits) DO UPDATE SET "
)
_KEEP = "kept = max(kept, excluded.kept), stopped = max(stopped, excluded.stopped)"
_INSTEAD = "kept = 1, " + ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS if name not in ("branch", "step", "edits", "kept")
)


class Rows:
    """Writes items into the tables, within a transaction, but for frames that `thinning` lets go of."""

    def __init__(
        self, database: sqlite3.Connection, thinning: Thinning, probing: Probing,
        whole: Callable[[Look], float] | None = None,
    ) -> None:  # fmt: skip
        self._database, self._thinning = database, thinning
        self._probing, self._whole = probing, whole
        self._weights: dict[int, NDArray[np.bool_]] = {}
        self._passed: dict[int, list[Curve]] = {}
        self._micro = MicroRows(database)

    @singledispatchmethod
    def write(self, item: Item) -> None:
        """Write one item."""
        raise TypeError(f"no item: {item!r}")

    @write.register
    def _(self, item: Way) -> None:
        given = item.number, item.parent, item.first, item.before, clean(item.why), int(item.jumped)
        self._database.execute("INSERT OR REPLACE INTO branch VALUES (?, ?, ?, ?, ?, ?)", given)

    @write.register
    def _(self, item: Done) -> None:
        given = edit_row(item.branch, item.number, item.applied)
        self._database.execute("INSERT OR REPLACE INTO edit VALUES (?, ?, ?, ?, ?, ?)", given)

    @write.register
    def _(self, item: Named) -> None:
        self._database.execute("DELETE FROM flag WHERE branch = ?", (item.branch,))
        rows = [(item.branch, step, clean(name, LONGEST_NAME)) for step, name in item.flags.items()]
        self._database.executemany("INSERT INTO flag VALUES (?, ?, ?)", rows)

    @write.register
    def _(self, item: Passed) -> None:
        self._passed.setdefault(item.branch, []).append(item.curve)

    def end(self) -> None:
        """The end of a transaction: steps of one branch are one row."""
        for branch, pieces in self._passed.items():
            step, loss, lr = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
            given = branch, len(step), blob(step, "<i8"), blob(loss, "<f8"), blob(lr, "<f8")
            self._database.execute("INSERT INTO curve (branch, count, step, loss, lr) VALUES (?, ?, ?, ?, ?)", given)
        self._passed.clear()

    @write.register
    def _(self, item: TakenNetwork) -> None:
        forward = item.forward
        self._weights[item.number] = weights_of(forward.tensors)
        tensors, stages = tensor_rows(item.number, forward.tensors), stage_rows(item.number, forward.stages)
        self._database.executemany("INSERT INTO tensor VALUES (?, ?, ?, ?, ?, ?)", tensors)
        self._database.executemany("INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", stages)

    @write.register
    def _(self, item: Stands) -> None:
        given = (("branch", str(item.branch)), ("step", "" if item.step is None else str(item.step)))
        self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", given)

    @write.register
    def _(self, item: Look) -> None:
        if not item.kept and item.step % self._thinning.every:
            return
        weights, moved = self._weights[item.network], item.moved
        if item.previous is not None:
            with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
                moved = item.value - item.previous
        whole = None if self._whole is None else number(self._whole(item))
        cells = (
            item.branch, item.step, item.edits, item.network, number(item.loss), number(item.lr), number(item.next_lr),
            whole, self._probing.loss(item), item.batch, clean(item.optimizer, LONGEST_NAME), int(item.edited),
            bits(item.computed, weights), bits(item.frozen, weights), blob(item.value),
            None if item.gradient is None else blob(item.gradient), None if moved is None else blob(moved),
            self._probing.rows(item), self._probing.delta_rows(item), units_blob(item.forward, item),
        )  # fmt: skip
        given = (*cells, int(item.kept), clean(item.stopped), checksum(cells))
        self._database.execute(_FRAME + (_INSTEAD if item.instead else _KEEP), given)
        if item.coming is not None:
            self._micro.write(item.coming, item.network, (item.branch, item.step, item.edits))


# ---- `Writer`: the thread that writes a recording, and the queue before it


ROOM = 32 << 20
"""Bytes that may wait to be written; whoever brings more waits until there is room."""
LOOK = 0.1
LOST_AFTER = 1.0
"""Seconds between two looks whether the file is still there."""


class Writer:
    """Writes what it is told, in order, in a thread that `database` belongs to from now on.

    What waits goes into one transaction, and what was told at once stays together. Where the disk refuses,
    `trouble` says so, and all that it is told later is let go of: what was written stays. `file` is watched:
    nothing is recorded into a file that somebody removed.
    """

    def __init__(self, database: sqlite3.Connection, rows: Rows, thinning: Thinning, file: FileId) -> None:
        self._database, self._rows, self._thinning, self._file = database, rows, thinning, file
        self.trouble, self._seen = "", time.monotonic()
        self._queue: deque[tuple[int, list[Item]]] = deque()  # what belongs together, and its bytes
        self._bytes = self._told = self._written = 0
        self._closing = self._gone = False
        self._then: Callable[[], None] = _nothing
        self._condition = threading.Condition()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop, name="scalarviz-recording", daemon=True)
        self._thread.start()

    @property
    def mine(self) -> bool:
        """Whether this is the process that writes: a child of it has neither the thread nor a right to the file."""
        return os.getpid() == self._process

    # ---- for whoever brings something

    def put(self, items: list[Item]) -> None:
        """Let items be written; waits only where more than `ROOM` bytes wait already."""
        if not self.mine:
            return
        size = sum(item.nbytes for item in items)
        with self._condition:
            while self._bytes > ROOM and not self._deaf():
                self._condition.wait(LOOK)
            if self._deaf():
                return
            self._queue.append((size, items))
            self._bytes += size
            self._told += 1
            self._condition.notify_all()

    def _deaf(self) -> bool:
        return bool(self.trouble) or self._gone or not self._thread.is_alive()

    def flush(self, timeout: float) -> None:
        """Wait until what was told so far is in the file; StateError after `timeout` seconds."""
        if not self.mine:
            return
        with self._condition:
            told = self._told
            if not self._condition.wait_for(lambda: self._written >= told or self._deaf(), timeout):
                raise StateError(f"the recording is not written within {timeout:g} s: the disk is slow; try again")

    def close(self, then: Callable[[], None] | None = None) -> None:
        """Write what waits, and end the thread; the database is the caller's again, who does `then` with it.

        The thread does `then` itself if it noticed that nobody holds the recording any more.
        """
        if not self.mine:
            return
        itself = threading.current_thread() is self._thread
        with self._condition:
            self._closing = True
            if itself and then is not None:
                self._then = then
            self._condition.notify_all()
        if not itself:
            self._thread.join()
            if then is not None:
                then()

    # ---- the thread

    def _loop(self) -> None:
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(self._awake)
                    count = self._first()
                    items = [item for _, group in islice(self._queue, count) for item in group]
                    if not items and self._closing:
                        return
                self._write(items)
                with self._condition:
                    for _ in range(count):
                        self._bytes -= self._queue.popleft()[0]
                    self._written += count
                    self._condition.notify_all()
        finally:
            with self._condition:
                self._gone = True
                self._condition.notify_all()
            self._then()

    def _first(self) -> int:
        """How many go into one transaction: what waits, as far as the budget may be passed before anybody looks."""
        room, count = max(self._thinning.budget // 16, 1 << 14), 0
        for size, _ in self._queue:
            room, count = room - size, count + 1
            if room < 0:
                break
        return count

    def _awake(self) -> bool:
        return bool(self._queue) or self._closing or (self._thinning.due and not self.trouble)

    def _write(self, items: list[Item]) -> None:
        if self.trouble:
            return
        try:
            with self._database:
                self._database.execute("BEGIN")
                for item in items:
                    self._rows.write(item)
                self._rows.end()
                self._thinning.some(len(items))
            self._thinning.measure(sum(item.nbytes for item in items))
            self._look_for_it()
        except Exception as error:  # a full disk, no memory, a network's own bug: training goes on
            self._refused(f"{type(error).__name__}: {error}; what was written stays")

    def _look_for_it(self) -> None:
        """A file that was removed can be written to, but by nobody read."""
        now = time.monotonic()
        if now - self._seen >= LOST_AFTER:
            self._seen = now
            if not self._file.there:
                self._refused("somebody removed it, moved it, or put another file in its place")

    def _refused(self, why: str) -> None:
        self.trouble = f"{self._file.path.name} is recorded no further: {why}"


def _nothing() -> None:
    """Of whoever waits for the thread."""
