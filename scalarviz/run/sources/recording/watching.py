"""`Watching`: what is new where a run stands, or in what another library trains, handed to a writer."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError, TypeMismatchError, shown
from ...callbacks import record, record_no_more
from ...core.forward import Forward
from ...core.frame import Curve, Frame, Stage, Tensor
from ...edits.base import Applied
from ...past.line import Line, Place
from ...run import Run
from ...scene.scene import Scene
from ..watched.watched import Watched
from .about import About, about_of, about_watched
from .taken import Done, Item, Look, Named, Passed, Stands, Steps, TakenNetwork, Way

BETWEEN = 64
"""Steps between two frames whose losses are written, at most: a small network does a million steps a second."""
BEFORE = 4096
"""Those of a branch before the recording began, at most."""


class Watching:
    """What was told of a run so far, so that only what is new is told; `steps` opens coming ones."""

    def __init__(self, *, gradients: bool, updates: bool, steps: Steps | None = None) -> None:
        self._gradients, self._updates, self._steps = gradients, updates, steps
        self._revision = -1
        self._edits: dict[int, list[Applied]] = {}  # told, by branch
        self._flags: dict[int, dict[int, str]] = {}
        self._reached: dict[int, int] = {}  # the last step whose loss was told, by branch
        self._networks: list[Forward] = []
        self._begun: set[int] = set()
        self._stands: Stands | None = None
        self._line: Line | None = None

    def items(self, run: Run, every: int, *, last: bool = False) -> list[Item]:
        """What is new where a run stands; `last`: the place is told in any case."""
        timeline = run.timeline
        found: list[Item] = []
        instead = False
        place = timeline.place()
        if timeline.revision != self._revision:
            instead = self._past(run, place, found)
            self._revision = timeline.revision
        owner = place.line.owner(place.step, place.edits)
        if self._line is not None and self._line is not place.line:
            found += self._passed(self._line)  # it was left
        self._line = place.line
        kept = last or self._kept(place, owner)
        if kept or place.step % every == 0:
            found += self._passed(place.line)
            found.append(self._look(run, place, owner, kept, instead, found))
        stands = Stands(place.line.number, place.step if last or timeline.behind else None)
        if stands != self._stands:
            self._stands = stands
            found.append(stands)
        return found

    def _kept(self, place: Place, owner: Line) -> bool:
        """Whether the place is one that no other frame says anything of."""
        if owner.number not in self._begun:
            self._begun.add(owner.number)
            return True
        line, step, edits = place
        return (edits > 0 and line.edits[edits - 1].step == step) or (step, edits) == (owner.first, owner.before)

    def _past(self, run: Run, place: Place, found: list[Item]) -> bool:
        """Branches, edits and names that are new; returns whether the last edit here took the place of another."""
        instead = False
        for line in sorted({way for way, _, _ in place.line.path()}, key=lambda way: way.number):
            if line.number not in self._edits:
                parent = None if line.parent is None else line.parent.number
                found.append(Way(line.number, parent, line.first, line.before, line.why, line.jumped))
                self._edits[line.number] = []
            told = self._edits[line.number]
            for index, applied in enumerate(line.own):
                if index < len(told) and told[index] is applied:
                    continue
                instead = index < len(told)
                told[index:] = [applied]
                found.append(Done(line.number, line.before + index, applied))
            if line.flags != self._flags.get(line.number, {}):
                self._flags[line.number] = dict(line.flags)
                found.append(Named(line.number, dict(line.flags)))
        return instead

    def _passed(self, line: Line) -> list[Item]:
        """Losses of steps that are new; of a line's parents too, where it is new."""
        found: list[Item] = []
        for way, last, _ in line.path():
            if way.number in self._reached and way is not line:
                break
            reached = self._reached.get(way.number, way.first)
            curve = line.history.curve(step=last, first=reached)
            if len(curve.step):
                most = BETWEEN if way.number in self._reached else BEFORE
                self._reached[way.number] = int(curve.step[-1])
                found.append(Passed(way.number, thinned(curve, most)))
            else:
                self._reached.setdefault(way.number, reached)
        return found

    def _look(self, run: Run, place: Place, owner: Line, kept: bool, instead: bool, found: list[Item]) -> Look:
        store, training, problem = run._store, run._training, run._problem
        lr: Any = training.lr
        coming = float(run.optimizer.lr)
        wanted = self._updates and training._update is None
        return Look(
            branch=owner.number,
            step=place.step,
            edits=place.edits,
            network=self._network(run._forward, found),
            kept=kept,
            instead=instead,
            loss=training.loss,
            lr=coming if lr is None else lr,
            next_lr=coming if math.isfinite(coming) else math.nan,
            batch=problem.batch,
            optimizer=type(run.optimizer).__name__,
            edited=training.edited,
            stopped=str(getattr(training.onlooker, "stop", None) or ""),
            value=store.value.copy(),
            gradient=store.grad.copy() if self._gradients else None,
            previous=problem.previous.copy() if wanted else None,
            moved=training._update if self._updates else None,
            computed=store.computed.copy(),
            frozen=store.frozen.copy(),
            forward=run._forward,
            data=problem.data,
            coming=None if self._steps is None else self._steps.coming(run),
        )

    def _network(self, forward: Forward, found: list[Item]) -> int:
        for number, known in enumerate(self._networks):
            if known is forward:
                return number
        self._networks.append(forward)
        found.append(TakenNetwork(len(self._networks) - 1, forward))
        return len(self._networks) - 1


def thinned(curve: Curve, most: int) -> Curve:
    """Evenly spaced steps of a curve, at most so many, its last one among them."""
    apart = -(-len(curve.step) // most)
    places = slice((len(curve.step) - 1) % apart, None, apart)
    return Curve(curve.step[places], curve.loss[places], curve.lr[places])


# ---- `Looks`: looks at what another library trains, and tells a writer what is new there


def _moved(frame: Frame) -> NDArray[Any]:
    """What the step did; NaN where nobody looked at the numbers before it."""
    one = frame.together == 1 and bool(frame.known("update").any())
    return frame.update if one else np.full(len(frame.update), np.nan, np.float32)


@dataclass(frozen=True, slots=True)
class Outside:
    """A network of which nothing is known but its arrays."""

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...] = ()  # None: what flows through it is not seen


class Looks:
    """What was told so far, so that only what is new is told. A loop that begins again is another branch."""

    def __init__(self, *, gradients: bool, updates: bool) -> None:
        self._gradients, self._updates = gradients, updates
        self._network: Any = None  # a writer asks a Forward for tensors and stages alone, where nobody gave a sample
        self._branch, self._round = -1, -1
        self._step: int | None = None  # of the last frame of the branch
        self._reached = 0
        self._stands: Stands | None = None

    def items(self, watched: Watched, every: int, *, last: bool = False) -> list[Item]:
        """What is new; `last`: the place is told in any case."""
        found: list[Item] = []
        frame, begins = watched.last, watched.rounds != self._round
        if begins:
            self._begin(watched, found)
        kept = begins or last
        if kept or (frame.step != self._step and frame.step % every == 0):
            found += self._passed(watched)
            found.append(self._look(frame, kept=kept))
            self._step = frame.step
        stands = Stands(self._branch, frame.step if last else None)
        if stands != self._stands:
            self._stands = stands
            found.append(stands)
        return found

    def _begin(self, watched: Watched, found: list[Item]) -> None:
        """A branch begins."""
        step = watched.last.step
        if self._network is None:
            self._network = Outside(watched.tensors)
            found.append(TakenNetwork(0, self._network))
            self._reached, why = 0, ""
        else:
            self._reached, why = max(step - 1, 0), f"the loop began again, at step {step:,}"
        self._branch, self._round = self._branch + 1, watched.rounds
        found.append(Way(self._branch, None, self._reached, 0, why, jumped=False))

    def _passed(self, watched: Watched) -> list[Item]:
        """Losses of steps that are new."""
        curve = watched.curve_after(self._reached)
        if not len(curve.step):
            return []
        most = BETWEEN if self._reached else BEFORE
        self._reached = int(curve.step[-1])
        return [Passed(self._branch, thinned(curve, most))]

    def _look(self, frame: Frame, *, kept: bool) -> Look:
        return Look(
            branch=self._branch,
            step=frame.step,
            kept=kept,
            loss=frame.loss,
            lr=frame.lr,
            value=frame.values,
            gradient=frame.gradient if self._gradients else None,
            moved=_moved(frame) if self._updates else None,
            computed=frame.computed.view("uint8"),
            frozen=frame.frozen.view("uint8"),
            forward=self._network,
            data=(),  # type: ignore[arg-type]
        )


# ---- `Recordable`: what can be recorded, a Run or what another library trains, as a recording asks for it


Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recordable:
    """One of them."""

    about: About
    count: int  # its numbers
    probe: Float | None  # probe and target: the sample whose way is recorded
    target: Float | None
    news: Watching | Looks  # knows what is new
    # begin and end: a recorder is told of every place from now on; of this one, and of no more
    begin: Callable[[Any], None]
    end: Callable[[Any], None]


def recordable(x: Any, wanted: Mapping[str, bool]) -> Recordable:
    """What is recorded of `x`; `wanted` says which parts of a frame are."""
    if isinstance(x, Watched):
        return _of_watched(x, wanted)
    if not isinstance(x, Run | Scene):
        raise TypeMismatchError(
            f"Recording: a Run, a Scene or sv.watch(net) is recorded, got {type(x).__name__} {shown(x)}; a loop of "
            "your own becomes a Run by sv.Run(model, loss, optimizer, data=(X, Y))"
        )
    return _of_run(x, wanted)


def _of_run(x: Run | Scene, wanted: Mapping[str, bool]) -> Recordable:
    run = x.run if isinstance(x, Scene) else x
    run._check_live()
    about = run._in_turn(lambda: about_of(x))
    probe, target = (None if row is None else np.array(row) for row in (about.probe, about.probe_target))
    steps = Steps(probe, target) if wanted["micro"] else None
    news = Watching(gradients=wanted["gradients"], updates=wanted["updates"], steps=steps)
    known = weakref.ref(run)

    def end(recorder: Any) -> None:
        if (here := known()) is not None:
            record_no_more(here, recorder)

    return Recordable(about, len(run._store.value), probe, target, news, partial(record, run), end)


def _of_watched(x: Watched, wanted: Mapping[str, bool]) -> Recordable:
    for part in ("activations", "deltas", "micro"):
        if wanted[part]:
            raise InputError(
                f"Recording: got {part} of what another library trains; allowed: gradients, updates; what goes "
                "through the network is seen of a Run alone"
            )
    news = Looks(gradients=wanted["gradients"], updates=wanted["updates"])
    return Recordable(about_watched(x), len(x.last.values), None, None, news, x.begin, x.end)
