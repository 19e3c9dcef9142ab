"""`Recording`: record a run while it trains, in a file that anyone can play back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....checks import flag, integer
from ....contexts import Closing
from ....errors import InputError, StateError
from ....io.atomic import StrPath, check_target, path_text, replacing, scratch
from ...core.graph import Forward
from ...core.history import Curve
from ...core.tensors import Stage
from ...opened.network import Float, Network
from ...run import Run
from ...scene.scene import Scene
from ..watched import Watched
from .changes import changes_of
from .file import FileUse, address, check_apart, create, finish, keep_open, signed
from .items import FrameItem, Item, Outside, Passed, Put, bits, blob, marked, number, weights_of, written
from .programs import DATA_LIMIT
from .recorded import Recorded
from .tables import SUMMED, Cell, checksum


class Deltas:
    """Forward and backward pass of one sample, on its own arrays."""

    def __init__(self, forward: Forward) -> None:
        self._forward, self._network = forward, Network(forward)

    def rows(self, probe: Float, target: Float, values: NDArray[np.floating]) -> dict[str, Float] | None:
        """Return the slope of the sample's loss, as a batch of one, by stage; None if samples couple.

        Each has shape (outputs,), and is NaN if no weight comes before the stage.
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
    """The probe, its target, and the parts to record; `whole`: the shown loss is that of all samples."""

    probe: Float | None
    target: Float | None
    activations: bool
    deltas: bool
    whole: bool
    _known: dict[int, Deltas] = field(default_factory=dict)

    def cells(self, look: FrameItem) -> dict[str, Cell]:
        """Return the columns of a frame that need forward passes; without the probe's if it does not fit."""
        found, forward, probe, target = dict[str, Cell](), look.forward, self.probe, self.target
        if isinstance(forward, Outside):
            return found
        n, m, stages = forward.tape.n_inputs, forward.tape.n_targets, forward.stages
        with np.errstate(all="ignore"):  # a diverged run holds infinities
            if self.whole and look.data is not None:
                inputs, targets = look.data[:n].T.copy(), look.data[n : n + m].T.copy()
                found["whole"] = number(forward.evaluate(inputs, targets, look.value))
            elif look.batch is not None:
                found["whole"] = number(look.batch.loss)
            if marked(stages) and look.data is not None:
                dead, flat = forward.units(look.value, look.data)
                units = ((dead if stage.kind == "relu" else flat)[stage.name] for stage in marked(stages))
                found["units"] = b"".join([blob(np.array([look.place[1]]), "<i8"), *map(blob, units)])
            if probe is None or not (self.activations or self.deltas) or len(probe) != n:
                return found
            if self.activations:
                found["activation"] = _joined(forward.activations(probe, look.value), stages)
            if target is not None and len(target) == m:
                found["own"] = number(forward.evaluate(probe[None], target[None], look.value))
                if self.deltas:
                    if look.network not in self._known:
                        self._known[look.network] = Deltas(forward)
                    rows = self._known[look.network].rows(probe, target, look.value)
                    found["delta"] = None if rows is None else _joined(rows, stages)
        return found


def _joined(rows: Mapping[str, NDArray[Any]], stages: Sequence[Stage]) -> bytes:
    """Return ``"input"`` and the row of every stage, joined."""
    return b"".join(blob(rows[name]) for name in ("input", *(stage.name for stage in stages)))


# ---- `Thinning`: keeps a recording within its budget of bytes by dropping every second frame


LOOKS = 64
"""Checks of the size per filled budget."""
SLICE = 256
"""Frames that are dropped between two transactions, so that waits are short."""


class Thinning:
    """Doubles `every` when the file exceeds `budget` bytes, and drops the frames between, except kept ones."""

    def __init__(self, database: sqlite3.Connection, every: int, budget: int) -> None:
        self._database, self.every, self.budget = database, every, budget
        self.due = False
        self._page = int(database.execute("PRAGMA page_size").fetchone()[0])
        self._unseen = 0  # bytes since the last check
        self._frames = 0  # the count when no more could be dropped

    def measure(self, written: int) -> None:
        """Check the size of the file after `written` more bytes."""
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
        """Drop some frames within a transaction, more than were `written` in it."""
        if not self.due:
            return
        most = SLICE + 2 * written
        asked = "SELECT id FROM frame WHERE kept = 0 AND step % ? != 0 LIMIT ?"
        chosen = self._database.execute(asked, (self.every, most)).fetchall()
        for table, column in (("moment", "frame"), ("frame", "id")):
            self._database.executemany(f"DELETE FROM {table} WHERE {column} = ?", chosen)
        self.due = len(chosen) == most


# ---- `Rows`: turns items into statements and forward passes of the probe


_PLACE, _COLUMNS = ("branch", "step", "edits"), (*SUMMED, "kept", "stopped", "checksum")
_FRAME = (
    f"INSERT INTO frame ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    "ON CONFLICT (branch, step, edits) DO UPDATE SET "
)
_KEEP = "kept = max(kept, excluded.kept), stopped = max(stopped, excluded.stopped)"
_INSTEAD = "kept = 1, " + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name not in (*_PLACE, "kept"))

_MOMENT = (
    "INSERT INTO moment SELECT id, ?, ?, ?, ? FROM frame WHERE branch = ? AND step = ? AND edits = ? "
    "ON CONFLICT (frame) DO UPDATE SET "
    "rule = excluded.rule, rates = excluded.rates, state = excluded.state, checksum = excluded.checksum WHERE "
)


class Rows:
    """Writes items into the tables, within a transaction, except frames that `thinning` drops."""

    def __init__(self, database: sqlite3.Connection, thinning: Thinning, probing: Probing) -> None:
        self._database, self._thinning, self._probing = database, thinning, probing
        self._weights: dict[int, NDArray[np.bool_]] = {}  # by network
        self._passed: dict[int, list[Curve]] = {}

    def write(self, item: Item) -> None:
        """Write one item."""
        if isinstance(item, Put):
            self._database.executemany(item.statement, item.rows())
        elif isinstance(item, Passed):
            self._passed.setdefault(item.branch, []).append(item.curve)
        elif item.kept or item.place[1] % self._thinning.every == 0:
            self._frame(item)

    def end(self) -> None:
        """End a transaction: steps of one branch become one row."""
        for branch, pieces in self._passed.items():
            step, loss, lr = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
            given = branch, len(step), blob(step, "<i8"), blob(loss, "<f8"), blob(lr, "<f8")
            self._database.execute("INSERT INTO curve (branch, count, step, loss, lr) VALUES (?, ?, ?, ?, ?)", given)
        self._passed.clear()

    def _frame(self, look: FrameItem) -> None:
        if look.network not in self._weights:
            self._weights[look.network] = weights_of(look.forward.tensors)
        weights, moved = self._weights[look.network], look.moved
        if look.previous is not None:
            with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
                moved = look.value - look.previous
        cells = look.cells | self._probing.cells(look) | dict(zip(_PLACE, look.place, strict=True))
        cells |= {"network": look.network, "kept": int(look.kept),
                  "computed": bits(look.computed, weights), "frozen": bits(look.frozen, weights)}  # fmt: skip
        for name, numbers in (("value", look.value), ("gradient", look.gradient), ("moved", moved)):
            cells[name] = None if numbers is None else blob(numbers)
        cells["checksum"] = checksum(cells.get(name) for name in SUMMED)
        given = [cells.get(name) for name in _COLUMNS]
        self._database.execute(_FRAME + (_INSTEAD if look.replaces_last else _KEEP), given)
        if look.moment is not None:
            # the same moment once more may bring the state; an edit that was done again has objects of its own
            better = "excluded.state NOT NULL AND (moment.state IS NULL OR ?)"
            self._database.execute(_MOMENT + better, (*look.moment.row(), *look.place, look.replaces_last))


# ---- `Writer`: the thread that writes a recording, and its queue


ROOM = 32 << 20
"""Most bytes that wait to be written; a caller with more waits for room."""
LOOK = 0.1
LOST_AFTER = 1.0
"""Seconds between two checks that the file still exists."""
LOST = "the file was removed, moved or replaced"


class Writer:
    """Writes items in order, in the thread that owns `database`; items that came together stay in one transaction.

    Where no thread can start, as in a browser, whoever adds items writes them.
    """

    def __init__(self, database: sqlite3.Connection, rows: Rows, thinning: Thinning, file: FileUse) -> None:
        self._database, self._rows, self._thinning, self._file = database, rows, thinning, file
        self.trouble, self._seen = "", time.monotonic()
        self._queue: deque[tuple[int, list[Item]]] = deque()  # items that belong together, and their bytes
        self._bytes = self._told = self._written = 0
        self._closing = self._gone = False
        self._then: Callable[[], None] = lambda: None
        self._condition = threading.Condition()
        self._process = os.getpid()
        self._thread: threading.Thread | None = None
        with suppress(RuntimeError):  # "can't start new thread"
            thread = threading.Thread(target=self._loop, name="scalarviz-recording", daemon=True)
            thread.start()
            self._thread = thread

    @property
    def is_own_process(self) -> bool:
        """True in the process that writes; a forked child has neither the thread nor the right to the file."""
        return os.getpid() == self._process

    # ---- for callers

    def add_items(self, items: list[Item]) -> None:
        """Queue items for writing; waits only if more than `ROOM` bytes are waiting."""
        if not self.is_own_process:
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
            while self._thread is None and self._awake() and self._pass():
                pass

    def _deaf(self) -> bool:
        return bool(self.trouble) or self._gone or not (self._thread is None or self._thread.is_alive())

    def flush(self, timeout: float) -> None:
        """Wait until all queued items are in the file; StateError after `timeout` seconds."""
        if not self.is_own_process:
            return
        with self._condition:
            told = self._told
            if not self._condition.wait_for(lambda: self._written >= told or self._deaf(), timeout):
                raise StateError(f"the recording was not written within {timeout:g} s: the disk is slow; try again")

    def close(self, then: Callable[[], None] | None = None) -> None:
        """Write the queue, end the thread and call `then`: here, or in the thread if that is the caller."""
        if not self.is_own_process:
            return
        itself = threading.current_thread() is self._thread
        with self._condition:
            self._closing = True
            if itself and then is not None:
                self._then = then
            self._condition.notify_all()
        if not itself:
            if self._thread is not None:
                self._thread.join()
            self._gone = True
            if then is not None:
                then()

    # ---- the thread

    def _loop(self) -> None:
        try:
            while self._pass():
                pass
        finally:
            with self._condition:
                self._gone = True
                self._condition.notify_all()
            self._then()

    def _pass(self) -> bool:
        """Wait for groups and write some of them; return False if there are none and none will come."""
        with self._condition:
            self._condition.wait_for(self._awake)
            count = self._first()
            items = [item for _, group in islice(self._queue, count) for item in group]
            if not items and self._closing:
                return False
        self._write(items)
        with self._condition:
            for _ in range(count):
                self._bytes -= self._queue.popleft()[0]
            self._written += count
            self._condition.notify_all()
        return True

    def _first(self) -> int:
        """Return how many groups go into one transaction, limited by a share of the budget."""
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
        except Exception as error:  # a full disk, no memory, a bug in a network: training continues
            self._refused(f"{type(error).__name__}: {error}; the frames written so far are kept")

    def _look_for_it(self) -> None:
        """Stop if the file was removed: it could still be written, but never read."""
        now = time.monotonic()
        if now - self._seen >= LOST_AFTER:
            self._seen = now
            if not self._file.is_same_file:
                self._refused(LOST)

    def _refused(self, why: str) -> None:
        self.trouble = f"recording of {self._file.path.name} stopped: {why}"


BUDGET = 200_000_000
WAIT = 60.0
"""Most seconds that a reader waits for the disk."""


class Recording(Closing):
    """Records a run from its current step on: steps, edits, jumps and branches.

    Parameters
    ----------
    every : int
        Steps between two frames; edits, jumps, the first and the last step have frames as well.
    gradients, updates, activations, deltas : bool
        Record these beside the values. The last two are rows of the probe: the scene's, or the first sample.
    panels : bool
        Make pictures of the panels when it is closed.
    path : path, optional
        A new file. Default: a temporary one, which is deleted with this object (:meth:`save` keeps it).
    budget : int
        Bytes. Whenever the file is larger, every second frame is dropped, and `every` doubles.
    data : bool
        Store the training data, which a step needs to be opened; without it, the recording plays.
    data_limit : int
        Most bytes of the data in the file; above it, the data is left out.

    Attributes
    ----------
    path : Path
    trouble : str
        Why recording stopped; empty while it works.
    tell : callable
        Called once, by any thread, with a message: recording stopped, or frames are dropped. Default: a RuntimeWarning.

    Raises
    ------
    InputError
        The file exists or cannot be made; steps or bytes are not a whole number.
    TypeMismatchError
        `x` cannot be recorded.
    StateError
        The run is closed, or another Run took its weights.

    Notes
    -----
    Recording changes no bit of the training, because another thread writes copies. The data in the file survives a
    kill.

    Examples
    --------
    ``with sv.Recording(run, every=10, path="run.svz") as recording: run.step(1000)``
    """

    reader: ClassVar[type[Recorded]] = Recorded

    def __init__(
        self, x: Run | Scene | Watched, every: int = 1, gradients: bool = False, updates: bool = False,
        activations: bool = False, deltas: bool = False, panels: bool = False, path: StrPath | None = None,
        budget: int = BUDGET, data: bool = True, data_limit: int = DATA_LIMIT,
    ) -> None:  # fmt: skip
        every, budget = integer("Recording: 'every'", every, 1), integer("Recording: budget (bytes)", budget, 0)
        parts = {"gradients": gradients, "updates": updates, "activations": activations, "deltas": deltas}
        wanted = {name: flag(part, f"Recording: {name}") for name, part in parts.items()}
        self.panels = flag(panels, "Recording: panels")
        limit = integer("Recording: data_limit (bytes)", data_limit, 0) if flag(data, "Recording: data") else None
        self._news = news = changes_of(x, wanted, limit)
        self.subject: Run | Scene | Watched | None = x
        self.tell: Callable[[str], None] = _warn
        self._process, self._temporary = os.getpid(), path is None
        about = news.about
        probe, target = (None if row is None else np.array(row) for row in (about.probe, about.probe_target))
        probing = Probing(probe, target, wanted["activations"], wanted["deltas"], about.whole_loss and not about.whole)
        self._database, self.path = create(_temporary() if path is None else path, 4 * news.count)
        self._file = FileUse(self.path)
        database = self._database
        self._thinning, self._asked = Thinning(database, every, budget), every
        notes = {"about": written(about), "every": str(every), "writer": signed()}
        notes |= {name: str(int(on)) for name, on in wanted.items()}
        try:
            database.executemany("INSERT INTO meta VALUES (?, ?)", list(notes.items()))
        except sqlite3.Error as error:
            database.close()
            raise InputError(f"cannot write {self.path}: {error}; free space, or name a file elsewhere") from None
        self._writer = Writer(database, Rows(database, self._thinning, probing), self._thinning, self._file)
        self._end = weakref.finalize(self, _ended, self._writer, database, self._file, self._temporary)
        self._said, self._closed, self._saying = "", False, threading.Lock()
        _LIVE.add(self)
        news.begin(self)

    # ---- interface of a recorder, for the run

    @property
    def every(self) -> int:
        """Steps between two frames, as thinned so far."""
        return self._thinning.every

    def look(self, run: Run | Watched, *, last: bool = False) -> None:
        """Copy the current moment of the run; `last`: it is closed, or gives its weights away."""
        if self._closed or os.getpid() != self._process:
            return
        if not self._writer.trouble:
            try:
                items = self._news.items(run, self.every, last=last)
                if items:  # between two frames there may be none
                    self._writer.add_items(items)
            except Exception as error:  # such as no memory: training continues
                self._writer.trouble = f"recording of {self.path.name} stopped: {type(error).__name__}: {error}"
        self.say()

    @property
    def news(self) -> str:
        """A message if recording stopped or frames are being dropped; otherwise empty."""
        if self._writer.trouble or self._thinning.every == self._asked:  # read after every call of the engine
            return self._writer.trouble
        size = f"{self._thinning.budget / 1e6:,.4g} MB"
        return f"{self.path.name} has reached {size}: whenever the file is full, every second frame is dropped"

    def say(self) -> None:
        """Report the news, once, from the first thread that sees them."""
        if self.news == self._said:
            return
        with self._saying:
            news = self.news
            if news == self._said:
                return
            self._said = news
        with suppress(RuntimeWarning):  # if warnings are errors, a recorder must not stop the training
            self.tell(news)

    @property
    def thinned(self) -> bool:
        """True if frames were dropped to keep the budget."""
        return self._thinning.every != self._asked

    @property
    def trouble(self) -> str:
        """The reason why recording stopped; empty while it works."""
        return self._writer.trouble

    # ---- for users

    def flush(self) -> None:
        """Wait until everything so far is in the file; StateError if the disk takes longer than a minute."""
        if not self._closed:
            self._writer.flush(WAIT)
            self.say()

    def read(self) -> Recorded:
        """Return the recording so far, which the caller closes; later steps are not added."""
        self.flush()
        return self.reader(self.path)

    def save(self, path: StrPath) -> Path:
        """Write the recording so far to another file, atomically; InputError if that fails."""
        check_target(path)
        check_apart(path, self.path)
        self.flush()
        with replacing(path) as fresh:
            if self._closed and self._file.is_same_file:
                shutil.copyfile(self.path, fresh)
            else:
                self._copy(fresh, path)
        return Path(path)

    def _copy(self, fresh: Path, path: StrPath) -> None:
        """Copy the current file; if it was removed, copy from the open connection."""
        try:
            with closing(sqlite3.connect(fresh)) as target:
                if self._file.is_same_file:
                    with closing(sqlite3.connect(address(self.path, "ro"), uri=True)) as source:
                        source.backup(target)
                else:
                    self._database.backup(target)  # nothing writes to it any more
                target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.ProgrammingError:  # it was complete and closed
            raise InputError(f"cannot copy {path_text(self.path)}: {LOST}") from None
        except sqlite3.Error as error:
            raise InputError(f"cannot copy {path_text(self.path)} to {path_text(path)}: {error}") from None

    def close(self) -> Path:
        """Record the last frame and complete the file; returns its path. StateError in a forked process."""
        if os.getpid() != self._process:
            raise StateError("this recording belongs to the process that started it; close it there")
        if not self._closed:
            self._news.end(self)
            self._closed = True
            self._writer.close()
            self.say()
            finish(self._database, self._file)
            if not self._temporary:
                self._end.detach()
        return self.path

    def __repr__(self) -> str:
        said = "closed" if self._closed else f"every {self.every:,} steps"
        return f"Recording({str(self.path)!r}, {said})"


_LIVE: weakref.WeakSet[Recording] = weakref.WeakSet()


def _in_child() -> None:
    """Keep the parent's database open in a forked process."""
    for recording in list(_LIVE):
        if not recording._closed:
            keep_open(recording._database)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _temporary() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=scratch())) / "run.svz"
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"cannot record to a temporary file: {why}; give a file with path=, or set TMPDIR") from None


def _warn(said: str) -> None:
    warnings.warn_explicit(said, RuntimeWarning, "scalarviz", 0)


def _ended(writer: Writer, database: sqlite3.Connection, file: FileUse, temporary: bool) -> None:
    """Complete the file when the recording is deleted, or the program ends."""
    if not writer.is_own_process:
        return

    def whole() -> None:
        finish(database, file)
        if temporary:
            shutil.rmtree(file.path.parent, ignore_errors=True)

    writer.close(whole)
