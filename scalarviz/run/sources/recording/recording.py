"""`Recording`: record a run while it trains, in a file that anyone can play back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar

import numpy as np

from ....checks import flag, integer
from ....closing import Closing
from ....errors import InputError, StateError
from ....io.atomic import StrPath, check_target, path_text, replacing, scratch
from ...run import Run
from ...scene.scene import Scene
from ..watched import Watched
from .file import FileUse, address, check_apart, create, finish, keep_open, signed
from .items import changes_of, written
from .recorded import Recorded
from .writer import LOST, Probing, Rows, Thinning, Writer

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
    micro : bool
        Record the micro-steps after each frame, of the probe alone and of the step's own batch, and the activations.
    panels : bool
        Make pictures of the panels when it is closed.
    path : path, optional
        A new file. Default: a temporary one, which is deleted with this object (:meth:`save` keeps it).
    budget : int
        Bytes. Whenever the file is larger, every second frame is dropped, and `every` doubles.

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
        budget: int = BUDGET, micro: bool = False,
    ) -> None:  # fmt: skip
        every, budget = integer("Recording: 'every'", every, 1), integer("Recording: budget (bytes)", budget, 0)
        parts = {"gradients": gradients, "updates": updates, "activations": activations, "deltas": deltas,
                 "micro": micro}  # fmt: skip
        wanted = {name: flag(part, f"Recording: {name}") for name, part in parts.items()}
        self.panels = flag(panels, "Recording: panels")
        self._news = news = changes_of(x, wanted)
        self.subject: Run | Scene | Watched | None = x
        self.tell: Callable[[str], None] = _warn
        self._process, self._temporary = os.getpid(), path is None
        about = news.about
        probe, target = (None if row is None else np.array(row) for row in (about.probe, about.probe_target))
        rows = wanted["activations"] or wanted["micro"]
        probing = Probing(probe, target, rows, wanted["deltas"], about.whole_loss and not about.whole)
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
