"""`Watching`: looks at a run wherever it stands, and tells a writer what is new there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..edits.applied import Applied
from ..forward import Forward
from ..frame import Curve
from ..timeline.line import Line, Place
from .coming import Steps
from .taken import Done, Item, Look, Named, Network, Passed, Stands, Way

if TYPE_CHECKING:
    from ..run import Run


BETWEEN = 64
"""Steps between two frames whose losses are written, at most: a small network does a million steps a second."""
BEFORE = 4096
"""Those of a branch before the recording began, at most."""


class Watching:
    """What was told of a run so far, so that only what is new is told.

    Parameters
    ----------
    gradients, updates : bool
        What of a moment is wanted beside its values.
    steps : Steps or None
        Of which sample coming steps are opened; None: none are.
    """

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
        store, training, problem = run._store, run._training, run.problem
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
        found.append(Network(len(self._networks) - 1, forward))
        return len(self._networks) - 1


def thinned(curve: Curve, most: int) -> Curve:
    """Every so-manieth step of a curve, at most so many, its last one among them."""
    apart = -(-len(curve.step) // most)
    places = slice((len(curve.step) - 1) % apart, None, apart)
    return Curve(curve.step[places], curve.loss[places], curve.lr[places])
