"""`Changes`: knows what a recording has of a run, or of a watched network, and finds the rest, as items."""

from __future__ import annotations

import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError, TypeMismatchError, typed
from ...callbacks import record, stop_recording
from ...core.frame import Frame
from ...core.graph import Forward
from ...core.history import Curve
from ...core.setup import setup_of
from ...edits.base import Applied
from ...frames import coming_of
from ...past.line import Line, StepOfLine
from ...run import Run
from ...scene.scene import Scene
from ..watched import Watched
from .items import (
    OVERHEAD,
    About,
    FrameItem,
    Item,
    Outside,
    Passed,
    Put,
    about_of,
    about_watched,
    edit_rows,
    number,
    put,
    stage_rows,
    tensor_rows,
)  # fmt: skip
from .programs import StepParts
from .tables import LONGEST_NAME, Cell, clean

if TYPE_CHECKING:
    from ...callbacks import Recorder


BETWEEN = 64
"""Most losses that are written between two frames: a small network does a million steps a second."""
BEFORE = 4096
"""Most losses of a branch from before the recording."""
KEYFRAMES = 16
"""Every so many frames one has the optimiser's state; a frame that thinning leaves has it, too."""


class Changes(ABC):
    """Finds changes in the recorded subject; `wanted` selects the parts of a frame."""

    def __init__(self, about: About, count: int, wanted: Mapping[str, bool]) -> None:
        self.about, self.count, self.wanted = about, count, wanted
        self._reached: dict[int, int] = {}  # the last step whose loss was given, by branch
        self._networks: list[Forward | Outside] = []
        self._now: tuple[int, int | None] | None = None

    @abstractmethod
    def begin(self, recorder: Recorder) -> None:
        """Call a recorder at every place from now on."""

    @abstractmethod
    def end(self, recorder: Recorder) -> None:
        """Call a recorder for the last time."""

    @abstractmethod
    def items(self, x: Any, every: int, *, last: bool = False) -> list[Item]:
        """Return the changes as items; `last`: include the current place in any case."""

    def _network(self, forward: Forward | Outside, found: list[Item]) -> int:
        """Return the number of a network; a new one is added to the items."""
        for k, known in enumerate(self._networks):
            if known is forward:
                return k
        self._networks.append(forward)
        new = len(self._networks) - 1
        for table, columns, rows in (("tensor", 6, tensor_rows(new, forward.tensors)),
                                     ("stage", 11, stage_rows(new, forward))):  # fmt: skip
            found.append(put(table, columns, *rows))
        return new

    def _curve(self, branch: int, curve: Curve) -> list[Item]:
        """Return losses of new steps of a branch."""
        if not len(curve.step):
            return []
        most = BETWEEN if branch in self._reached else BEFORE
        self._reached[branch] = int(curve.step[-1])
        return [Passed(branch, thinned(curve, most))]

    def _stands(self, branch: int, step: int | None) -> list[Item]:
        """Return an item if the current place has changed; step None: the branch's last frame."""
        if (branch, step) == self._now:
            return []
        self._now = branch, step
        return [put("meta", 2, ("branch", str(branch)), ("step", "" if step is None else str(step)))]


def thinned(curve: Curve, most: int) -> Curve:
    """Return at most `most` evenly spaced steps of a curve, the last one included."""
    apart = -(-len(curve.step) // most)
    places = slice((len(curve.step) - 1) % apart, None, apart)
    return curve.part(places)


def changes_of(x: Any, wanted: Mapping[str, bool], data_limit: int | None) -> Changes:
    """Return the changes of `x`; InputError, TypeMismatchError or StateError if it cannot be recorded."""
    if isinstance(x, Watched):
        return WatchedChanges(x, wanted)
    if not isinstance(x, Run | Scene):
        raise TypeMismatchError(
            f"Recording: expected a Run, a Scene or sv.watch(net), got {typed(x)}; make a Run of "
            "your own loop with sv.Run(model, loss, optimizer, data=(X, Y))"
        )
    return RunChanges(x, wanted, data_limit)


class RunChanges(Changes):
    """Changes of a run: branches with their edits, named moments and losses, and frames.

    `data_limit`: most bytes of its data in the file; None leaves it out.
    """

    def __init__(self, x: Run | Scene, wanted: Mapping[str, bool], data_limit: int | None) -> None:
        run = x.run if isinstance(x, Scene) else x
        run._check_live()
        super().__init__(run._in_turn(lambda: about_of(x)), len(run._store.value), wanted)
        self._run = weakref.ref(run)
        self._revision = -1
        self._edits: dict[int, list[Applied]] = {}  # given, by branch
        self._flags: dict[int, dict[int, str]] = {}
        self._begun: set[int] = set()
        self._line: Line | None = None
        self._parts = StepParts(self.about.probe_target, data_limit)

    def begin(self, recorder: Recorder) -> None:
        run = self._run()
        assert run is not None  # its recording has just begun
        record(run, recorder)

    def end(self, recorder: Recorder) -> None:
        if (run := self._run()) is not None:
            stop_recording(run, recorder)

    def items(self, x: Run, every: int, *, last: bool = False) -> list[Item]:
        timeline, found, instead = x.timeline, list[Item](), False
        place = timeline.place()
        if timeline.revision != self._revision:
            instead = self._past(place, found)
            self._revision = timeline.revision
        owner = place.line.owner(place.step, place.edits)
        if self._line is not None and self._line is not place.line:
            found += self._passed(self._line)  # the run left it
        self._line = place.line
        kept = last or self._is_kept(place, owner)
        if kept or place.step % every == 0:
            found += self._passed(place.line)
            found.append(self._look(x, place, owner, every, kept, instead, found))
        return found + self._stands(place.line.number, place.step if last or timeline.is_behind else None)

    def _is_kept(self, place: StepOfLine, owner: Line) -> bool:
        """Return whether thinning must leave the place, because no other frame covers it."""
        if owner.number not in self._begun:
            self._begun.add(owner.number)
            return True
        line, step, edits = place
        return (edits > 0 and line.edits[edits - 1].step == step) or (step, edits) == (owner.first, owner.before)

    def _past(self, place: StepOfLine, found: list[Item]) -> bool:
        """Add new branches, edits and names; return whether the last edit here replaced another."""
        instead = False
        for line in sorted({way for way, _, _ in place.line.path()}, key=lambda way: way.number):
            number = line.number
            if number not in self._edits:
                parent = None if line.parent is None else line.parent.number
                row = number, parent, line.first, line.before, clean(line.why), int(line.jumped)
                found.append(put("branch", 6, row))
                self._edits[number] = []
            given = self._edits[number]
            for index, applied in enumerate(line.own_edits):
                if index < len(given) and given[index] is applied:
                    continue
                instead = index < len(given)
                given[index:] = [applied]
                rows = partial(edit_rows, number, line.before + index, applied)
                found.append(Put(put("edit", 6).statement, rows, OVERHEAD + applied.nbytes))
            if line.flags != self._flags.get(number, {}):
                self._flags[number] = dict(line.flags)
                flags = [(number, step, clean(name, LONGEST_NAME)) for step, name in line.flags.items()]
                found += [Put(f"DELETE FROM flag WHERE branch = {number}", lambda: [()]), put("flag", 3, *flags)]
        return instead

    def _passed(self, line: Line) -> list[Item]:
        """Return losses of new steps; for a new line, those of its parents, too."""
        found: list[Item] = []
        for way, last, _ in line.path():
            if way.number in self._reached and way is not line:
                break
            first = self._reached.get(way.number, way.first)
            found += self._curve(way.number, way.history.curve(step=last, first=first))
            self._reached.setdefault(way.number, first)
        return found

    def _look(
        self, run: Run, place: StepOfLine, owner: Line, every: int, kept: bool, instead: bool, found: list[Item]
    ) -> FrameItem:
        store, training, problem, wanted = run._store, run._training, run._problem, self.wanted
        lr: Any = training.lr
        coming = float(run.optimizer.lr)
        update = training._update if wanted["updates"] else None
        cells: dict[str, Cell] = {
            "loss": number(training.loss), "lr": number(coming if lr is None else lr),
            "next_lr": coming if math.isfinite(coming) else None, "batch": problem.batch,
            "optimizer": clean(type(run.optimizer).__name__, LONGEST_NAME),
            "edited": int(training.edited), "stopped": clean(str(getattr(training.onlooker, "stop", None) or "")),
        }  # fmt: skip
        values, gradient = store.value.copy(), store.grad.copy() if wanted["gradients"] else None
        previous = problem.previous.copy() if wanted["updates"] and update is None else None
        setup = setup_of(problem, run.optimizer)
        keyframe = kept or place.step // every % KEYFRAMES == 0
        return FrameItem(
            (owner.number, place.step, place.edits), self._network(run._forward, found), kept, cells, values, gradient,
            update, store.computed.copy(), store.frozen.copy(), run._forward, problem.data, previous, instead,
            self._parts.moment(run, setup, values, keyframe=keyframe, found=found),
            coming_of(run, values, place.step, setup),
        )  # fmt: skip


class WatchedChanges(Changes):
    """Changes of a watched network. A loop that restarts is another branch."""

    def __init__(self, x: Watched, wanted: Mapping[str, bool]) -> None:
        for part in ("activations", "deltas"):
            if wanted[part]:
                raise InputError(
                    f"Recording: got {part} for a network that another library trains; allowed: gradients, updates. "
                    "Only a Run records what happens inside the network"
                )
        super().__init__(about_watched(x), len(x.last.values), wanted)
        self._watched, self._outside = x, Outside(x.tensors)
        self._branch, self._round, self._first = -1, -1, 0
        self._step: int | None = None  # of the last frame of the branch

    def begin(self, recorder: Recorder) -> None:
        self._watched.begin(recorder)

    def end(self, recorder: Recorder) -> None:
        self._watched.end(recorder)

    def items(self, x: Watched, every: int, *, last: bool = False) -> list[Item]:
        found: list[Item] = []
        frame, begins = x.last, x.rounds != self._round
        if begins:
            why = ""
            if self._branch >= 0:
                self._first, why = max(frame.step - 1, 0), f"the loop restarted at step {frame.step:,}"
            self._branch, self._round = self._branch + 1, x.rounds
            found.append(put("branch", 6, (self._branch, None, self._first, 0, why, 0)))
        kept = begins or last
        if kept or (frame.step != self._step and frame.step % every == 0):
            found += self._curve(self._branch, x.curve.after(self._reached.get(self._branch, self._first)))
            found.append(self._look(frame, kept, found))
            self._step = frame.step
        return found + self._stands(self._branch, frame.step if last else None)

    def _look(self, frame: Frame, kept: bool, found: list[Item]) -> FrameItem:
        cells: dict[str, Cell] = {"loss": number(frame.loss), "lr": number(frame.lr), "batch": 0, "optimizer": "",
                                  "edited": 0, "stopped": clean(self._watched.over)}  # fmt: skip
        place, network = (self._branch, frame.step, 0), self._network(self._outside, found)
        gradient = frame.gradient if self.wanted["gradients"] else None
        moved = frame.update if self.wanted["updates"] else None
        if moved is not None and (frame.together != 1 or not frame.known("update").any()):
            moved = np.full(len(moved), np.nan, np.float32)  # the numbers before the step were not seen
        flags = frame.computed.view("uint8"), frame.frozen.view("uint8")
        return FrameItem(place, network, kept, cells, frame.values, gradient, moved, *flags, self._outside)
