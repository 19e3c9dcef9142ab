"""`Recorded`: a recording to read. Its numbers are read from the file on demand."""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ....checks import integer, position
from ....contexts import Closing
from ....engine.problem import HALF
from ....errors import FileFormatError, InputError, ScalarvizError, TypeMismatchError, UnknownNameError, listing, shown
from ....io.atomic import StrPath, as_path, path_text
from ....optim._groups import GroupNumbers
from ....optim._pace import PaceMoment
from ...core.frame import Branch, Frame, Past
from ...core.history import Curve, read_only
from ...core.optimizer import float16_weights
from ...core.setup import Setup
from ...core.tensors import Stage, Tensor
from ...panels.base import PanelPicture
from .contents import Contents, closed_error, read_pictures
from .file import is_written
from .index import PARTS, Shapes, checked
from .items import About, flags_of, marked
from .programs import Rules
from .tables import DAMAGED, LONGEST_NAME, clean

_COLUMNS = "value, gradient, moved, activation, units, computed, frozen, stopped, optimizer"


def frame_of(recorded: Recorded, k: int) -> Frame:
    """Return frame `k`; see :meth:`Recorded.frame`."""
    about, shapes = recorded.about, recorded.shapes(k)
    value, gradient, moved, activation, units, computed, frozen, stopped, optimizer = recorded.row(k, _COLUMNS)
    _, _, step, _, _, batch, edited, loss, lr, next_lr, whole, own, *_ = recorded.entry(k)  # as `index.KINDS` has them
    values, half, rows = _floats(value), about.dtype == HALF, _floats(activation or b"")
    dead, saturated, units_step = _units(units, shapes)
    known: NDArray[np.bool_] | None = None
    if moved is None:
        update = np.zeros_like(values) if edited else _difference(recorded, k, shapes, values)
    elif about.outside:  # NaN after a step that was not seen
        known = np.full(shapes.size, not np.isnan(_floats(moved)).all())
        update = np.where(known, _floats(moved), np.float32(0))
    else:
        update, known = _floats(moved), flags_of(computed, shapes.weights)
    named = clean(optimizer, LONGEST_NAME) if isinstance(optimizer, str) else about.optimizer
    groups, pace = GroupNumbers(({},), np.zeros(0, np.intp)), PaceMoment((next_lr,), None, None)
    return Frame(
        step=step,
        loss=loss,
        lr=lr,
        values=float16_weights(values, shapes.tensors) if half else values,
        master=values if half else None,
        gradient=np.zeros_like(values) if gradient is None else _floats(gradient),
        update=update,
        moved=known,
        computed=np.zeros(shapes.size, bool) if gradient is None else flags_of(computed, shapes.weights),
        frozen=flags_of(frozen, shapes.weights),
        activations={} if activation is None else {name: rows[at] for name, at in shapes.rows.items()},
        dead=dead,
        saturated=saturated,
        curve=recorded.curve.up_to(step),
        edited=bool(edited),
        next_lr=None if np.isnan(next_lr) else next_lr,
        stopped_by=clean(stopped, LONGEST_NAME) if isinstance(stopped, str) else "",
        past=recorded.past,
        units_step=None if units_step == step else units_step,
        settings=Setup(named, groups, pace, batch, about.samples, seed=about.seed),
        probe_loss=None if np.isnan(own) else own,
        shown_loss=None if np.isnan(whole) else whole,
    )


def _floats(blob: bytes) -> NDArray[np.float32]:
    return np.frombuffer(blob, "<f4").astype(np.float32)


def _units(blob: bytes | None, shapes: Shapes) -> tuple[dict[str, Any], dict[str, Any], int | None]:
    if blob is None:
        return {}, {}, None
    dead, saturated, rows = {}, {}, _floats(blob[8:])
    for stage in marked(shapes.stages):
        own, rows = rows[: stage.outputs], rows[stage.outputs :]
        if stage.kind == "relu":
            dead[stage.name] = own != 0
        else:
            saturated[stage.name] = own
    return dead, saturated, int(np.frombuffer(blob[:8], "<i8")[0])


def _difference(recorded: Recorded, k: int, shapes: Shapes, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what the step did if the frame of the step before exists; otherwise zeros."""
    if k == 0 or recorded.steps[k - 1] != recorded.steps[k] - 1 or recorded.shapes(k - 1) is not shapes:
        return np.zeros_like(values)
    (before,) = recorded.row(k - 1, "value")
    with np.errstate(invalid="ignore", over="ignore"):
        return values - _floats(before)


class Numbers(Mapping[str, NDArray[np.float32]]):
    """One quantity by the names of tensors or stages; each access reads a new copy."""

    def __init__(self, recorded: Recorded, column: str) -> None:
        self._recorded, self._column = recorded, column

    def _spans(self, shapes: Shapes) -> dict[str, tuple[slice, tuple[int, ...]]]:
        if not self._column:
            return {}
        if self._column in ("activation", "delta"):
            return {name: (span, (span.stop - span.start,)) for name, span in shapes.rows.items()}
        return {tensor.name: (tensor.span, tensor.shape) for tensor in shapes.tensors}

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        recorded = self._recorded
        own = self._spans(recorded.shapes(-1))
        given: Any = name
        if not isinstance(given, str) or name not in own:
            raise UnknownNameError(f"there is no {shown(name)} in this recording; allowed: {listing(own) or 'none'}")
        span, shape = own[name]
        found = np.full((len(recorded), span.stop - span.start), np.nan, np.float32)
        for k in range(len(recorded)):
            there = self._spans(recorded.shapes(k)).get(name)
            if there is not None and there[1] == shape:
                start, count = 4 * there[0].start, 4 * (span.stop - span.start)
                (part,) = recorded.row(k, f"substr({self._column}, {start + 1}, {count})")
                found[k] = np.frombuffer(part, "<f4")
        return found.reshape(len(recorded), *shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans(self._recorded.shapes(-1)))

    def __len__(self) -> int:
        return len(self._spans(self._recorded.shapes(-1)))

    def __repr__(self) -> str:
        return f"<{len(self)} arrays: {listing(self)}>"


# ---- `Recorded`: a recording to read; numbers are read on demand


_LOST = "the file changed after it was opened; open it again"


class Recorded(Closing):
    """The frames of one branch of a recording; default: the branch of the last step.

    Parameters
    ----------
    path : path
    branch : int, optional
        One of :attr:`branches`.

    Attributes
    ----------
    path : Path
    about : About
        Facts of the run.
    steps : ndarray of int64, shape (N,)
    loss, lr : ndarray of float64, shape (N,)
        Loss and rate of these steps; `lr` before the first step is that of the coming one.
    curve : Curve
        Losses and rates of all steps, also between frames.
    edits : tuple of Applied
        All edits up to the branch's end.
    has : frozenset of str
        Parts of every frame beside its values: "gradients", "updates", "activations", "deltas".
    remark : str
        What could not be read, one clause; empty if everything could.

    Notes
    -----
    It shows the file as it was when it was opened; :meth:`newer` returns later data. While it is open,
    the log beside the file grows: close it, or :meth:`release` it.

    Raises
    ------
    InputError
        There is no such file.
    FileFormatError
        It is not a recording, has another version, or is too damaged to read.

    Examples
    --------
    ``with sv.load_recording("run.svz") as run: plt.plot(run.steps, run.values["0.weight"][:, 0, 0])``
    """

    def __init__(self, path: StrPath, branch: int | None = None) -> None:
        self.path = as_path(path)
        self._take(Contents(path), branch)

    def _take(self, contents: Contents, branch: int | None) -> None:
        self._contents, self._closed = contents, False
        self.about: About = contents.about
        self.remark = contents.remark
        try:
            self._stand_on(contents.current if branch is None else integer("branch", branch, 0))
        except BaseException:
            self.close()
            raise

    def _stand_on(self, number: int) -> None:
        contents, branches = self._contents, self._contents.branches
        if number not in branches.twigs:
            known = listing(other.number for other in branches.all(contents.current))
            raise InputError(f"{path_text(self.path)} has no branch {shown(number)}; allowed: {known}")
        self.branch = number
        entries = contents.index.way((twig.number, last, edits) for twig, last, edits in branches.path_to(number))
        if not len(entries):
            raise FileFormatError(f"{path_text(self.path)}: branch {number} has no readable frame")
        self._frames = read_only(contents.index.frames[entries])
        columns = (read_only(self._frames[name].copy()) for name in ("step", "loss", "lr", "id", "network", "checksum"))
        self.steps, self.loss, self.lr, self._ids, self.networks, self._sums = columns
        every: list[bool] = np.all(self._frames["has"], axis=0).tolist()
        names = {"gradient": "gradients", "moved": "updates", "activation": "activations", "delta": "deltas"}
        self.has = frozenset(names[part] for part, on in zip(PARTS, every, strict=True) if on and part in names)
        self.curve: Curve = branches.curve(number)
        self.edits = branches.edits(number)

    def on(self, branch: Branch | int) -> Self:
        """Return another branch of the same recording, which the caller closes; InputError if there is none."""
        return self._other(self._open.shared(), branch.number if isinstance(branch, Branch) else branch)

    def _other(self, contents: Contents, branch: int) -> Self:
        other = type(self).__new__(type(self))
        other.path = self.path
        other._take(contents, branch)
        return other

    # ---- a file that is still being written

    @property
    def growing(self) -> bool:
        """True if a running program on this machine was still recording when the file was opened."""
        return is_written(self._open.meta.get("writer", ""))

    @property
    def complete(self) -> bool:
        """True if the recording program closed the file."""
        return self._open.complete

    @property
    def current(self) -> int:
        """The number of the branch of the last step."""
        return self._contents.current

    def release(self) -> None:
        """Let the writer clear its log. Reading a frame that the writer has dropped then raises FileFormatError."""
        self._open.release()

    def newer(self) -> Self | None:
        """Return the same branch of the current file, which the caller closes; None if nothing was written since."""
        contents = self._open.newer()
        return None if contents is None else self._other(contents, self.branch)

    # ---- queries

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches, oldest first; ``current`` is the branch of these frames."""
        return self._contents.branches.all(self.branch)

    @cached_property
    def past(self) -> Past:
        """The branches and curve for a time bar."""
        return self._contents.branches.past(self.branch)

    @property
    def step(self) -> int:
        """The last step of the run if it ended on this branch; otherwise the branch's last step."""
        said = self._open.number("step")
        return said if self.branch == self.current and said >= 0 else int(self.steps[-1])

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that have cubes, in the last frame."""
        return self.shapes(-1).tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from input to output, in the last frame."""
        return self.shapes(-1).stages

    @property
    def probe(self) -> NDArray[np.float64] | None:
        """The probe sample, whose activations are recorded, shape (n_inputs,)."""
        return None if self.about.probe is None else np.array(self.about.probe)

    def shapes(self, k: int) -> Shapes:
        """Return tensors and stages of frame `k`; a run may change its network."""
        return self._contents.networks[int(self.networks[position(k, len(self), "frames")])]

    def entry(self, k: int, column: str = "") -> Any:
        """Return a number of frame `k` by its name in the index; without a name, all of them."""
        return self._frames[column][k] if column else self._frames[k].item()

    def __len__(self) -> int:
        return len(self._frames)

    def at(self, step: int) -> int:
        """Return the index of the last frame that is not after `step`; 0 if all are after it."""
        try:
            wanted = operator.index(step)
        except TypeError:
            raise TypeMismatchError(f"at: a step is a whole number, got {shown(step)}") from None
        return max(0, int(np.searchsorted(self.steps, wanted, "right")) - 1)

    def leads(self, k: int, step: int) -> bool:
        """Return whether steps alone lead from frame `k` to `step`: no edit, and no jump to other numbers."""
        branch, edits = int(self.entry(k, "branch")), int(self.entry(k, "edits"))
        return self._contents.branches.leads(self.branch, step, branch, edits)

    # ---- numbers

    def frame(self, k: int) -> Frame:
        """Return frame `k`. Updates that were not recorded are the difference to the frame of the step before, or 0.

        OutOfRangeError: there is no such frame. FileFormatError: it can no longer be read.
        """
        return frame_of(self, position(k, len(self), "frames"))

    @property
    def rules(self) -> Rules:
        """What its steps are made of; to read while `lock` is held."""
        return self._open.rules

    @property
    def lock(self) -> threading.RLock:
        """Held while the file is read; FileFormatError if the file changed after it was opened."""
        if self._open.altered:
            raise FileFormatError(f"{path_text(self.path)}: {_LOST}")
        return self._open.lock

    @property
    def why_closed(self) -> str:
        """Why its steps cannot be opened; empty if they can."""
        return self.rules.lacks

    @property
    def stored_data(self) -> tuple[int, int]:
        """Count and bytes of the samples that the file holds; zeros without data."""
        with self.lock:
            return self.rules.stored

    @property
    def values(self) -> Mapping[str, NDArray[np.float32]]:
        """The values of each tensor in all frames, (N, *shape), by name; NaN if the network did not have it."""
        return Numbers(self, "value")

    @property
    def gradients(self) -> Mapping[str, NDArray[np.float32]]:
        """The gradients of each tensor in all frames, by name; empty if they were not recorded."""
        return Numbers(self, "gradient" if "gradients" in self.has else "")

    @property
    def updates(self) -> Mapping[str, NDArray[np.float32]]:
        """The updates of each tensor in all frames, by name; NaN if no earlier frame is known."""
        return Numbers(self, "moved" if "updates" in self.has else "")

    @property
    def activations(self) -> Mapping[str, NDArray[np.float32]]:
        """The activations of the probe in all frames, (N, outputs), by stage; ``"input"`` is the probe itself."""
        return Numbers(self, "activation" if "activations" in self.has else "")

    @property
    def deltas(self) -> Mapping[str, NDArray[np.float32]]:
        """The deltas of the probe in all frames, (N, outputs), by stage."""
        return Numbers(self, "delta" if "deltas" in self.has else "")

    @property
    def pictures(self) -> tuple[PanelPicture, ...]:
        """Pictures of panels, by panel and step."""
        frames, contents = self._contents.index.frames, self._open
        with contents.lock:
            steps = dict(zip(frames["id"].tolist(), frames["step"].tolist(), strict=True))
            return read_pictures(contents.database, steps)

    def row(self, k: int, columns: str) -> tuple[Any, ...]:
        """Return columns of the file's row of frame `k`; FileFormatError if it can no longer be read."""
        contents, number, why = self._open, int(self._ids[k]), "is gone"
        # another frame may have its id by now: in this file, or in one that replaced it
        asked = f"SELECT {columns} FROM frame WHERE id = ? AND checksum = ?"
        with contents.lock:
            try:
                found = contents.database.execute(asked, (number, int(self._sums[k]))).fetchone()
                if found is not None and not (contents.altered and checked(contents.database, number) is None):
                    return tuple(found)
            except DAMAGED as error:
                why = f"cannot be read ({error})"
        raise FileFormatError(f"{path_text(self.path)}: frame {k} {why}; {_LOST}")

    # ---- the file

    @property
    def _open(self) -> Contents:
        if self._closed:
            raise closed_error(self.path)
        return self._contents

    def close(self) -> None:
        """Close the file."""
        if not self._closed:
            self._closed = True
            self._contents.close()

    def __repr__(self) -> str:
        last = f"steps {self.steps[0]:,} to {self.steps[-1]:,}"
        return f"Recorded({str(self.path)!r}, {len(self):,} frames, {last}, {len(self.branches)} branches)"


# ---- `Following`: a thread that checks whether a recording in progress has grown


PAUSE = 0.5
"""Seconds between two checks."""
SHARE = 10
"""The pause after a check is at least this many times as long as the check."""


class Following:
    """Checks for newer data; `ended` says why no more will come. It lets the writer clear its log."""

    def __init__(self, record: Recorded) -> None:
        record.release()
        self._own = record.on(record.branch)
        self._found: Recorded | None = None
        self.ended = ""
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._loop, name="scalarviz-following", daemon=True)
        self._thread.start()

    def take_newest(self) -> Recorded | None:
        """Return the newest data that was not taken yet; the caller closes it."""
        with self._lock:
            found, self._found = self._found, None
        return found

    def close(self) -> None:
        """Stop checking."""
        self._stop.set()
        self._thread.join()
        left = self.take_newest()
        if left is not None:
            left.close()

    # ---- the thread

    def _loop(self) -> None:
        pause = PAUSE
        while not self._stop.wait(pause) and not self.ended:
            begun = time.perf_counter()
            try:
                self.ended = self._look()
            except ScalarvizError as error:  # it was removed, say
                self.ended = str(error)
            pause = max(PAUSE, SHARE * (time.perf_counter() - begun))
        self._own.close()

    def _look(self) -> str:
        """Check once; return why no more data can come, or an empty text."""
        lives = self._own.growing  # before reading, so that the last data is read, too
        newer = self._own.newer()
        if newer is not None:
            newer.release()
            self._own.close()
            self._own = newer.on(newer.branch)
            with self._lock:
                former, self._found = self._found, newer
            if former is not None:
                former.close()
        if self._own.complete:
            return "the recording is complete"
        return "" if lives else "the recording program ended without closing the file"
