"""What is taken of a run: what is new where it stands, copies for the thread that writes, and rows of the file."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....engine.data import Data
from ....errors import InputError, ScalarvizError, TypeMismatchError, shown
from ...callbacks import record, record_no_more
from ...core.forward import Forward
from ...core.frame import Curve, Frame, Stage, Tensor
from ...edits.base import Applied, write_edit
from ...looking import taken_here
from ...opened.network import Network
from ...opened.opened import Opened
from ...opened.passes import Taken
from ...past.line import Line, Place
from ...run import Run
from ...scene.scene import Scene
from ..watched.watched import Watched
from .about import About, about_of, about_watched
from .file import LONGEST_EDIT, LONGEST_NAME, clean

if TYPE_CHECKING:
    from ...run import Run


Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coming:
    """The coming step of a moment."""

    alone: Taken | None  # with the probe alone, where it has a target
    whole: Taken  # of the step's own batch

    @property
    def nbytes(self) -> int:
        """Bytes that are copied for it."""
        found = [taken for taken in (self.alone, self.whole) if taken is not None]
        return OVERHEAD + sum(t.values.nbytes + sum(s.nbytes for s in (t.state or {}).values()) for t in found)


@dataclass(frozen=True, slots=True)
class Steps:
    """Takes the coming steps of a run."""

    probe: Float | None  # probe and target: the sample with which a trial step is opened, where both are known
    target: Float | None

    def coming(self, run: Run) -> Coming | None:
        """What is copied of a run that stands still; None where its step cannot be opened."""
        try:
            whole = taken_here(run, None, None)
        except ScalarvizError:
            return None
        if self.probe is None or self.target is None or np.isnan(self.target).any():
            return Coming(None, whole)
        try:
            return Coming(taken_here(run, None, (self.probe, self.target)), whole)
        except ScalarvizError:  # its network takes other samples now
            return Coming(None, whole)


class Opener:
    """Opens what was copied, with programs of its own: those of the run belong to whoever opens its steps."""

    def __init__(self) -> None:
        self._of: Network | None = None
        self._network: Network | None = None

    def opened(self, taken: Taken, *, alone: bool) -> Opened:
        """The step."""
        if self._network is None or self._of is not taken.network:
            self._of, self._network = taken.network, taken.network.another()
        return Opened(replace(taken, network=self._network), trial=alone)


# ---- What the thread that trains hands to the one that writes: copies, or what nobody changes any more


OVERHEAD = 1024
"""Bytes of an item beside its arrays."""


@dataclass(frozen=True, slots=True)
class Way:
    """A branch begins."""

    number: int  # number, parent, first, before, why and jumped: as those of :class:`~scalarviz.run.past.line.Line`
    parent: int | None
    first: int
    before: int
    why: str
    jumped: bool

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Done:
    """An edit of a branch, and its number there; one of the same gesture takes the place of the last."""

    branch: int
    number: int
    applied: Applied

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return OVERHEAD + self.applied.nbytes


@dataclass(frozen=True, slots=True)
class Named:
    """The named moments of a branch, all of them, by step."""

    branch: int
    flags: dict[int, str]

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Passed:
    """Steps of a branch: their numbers, losses and learning rates."""

    branch: int
    curve: Curve

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return OVERHEAD + sum(part.nbytes for part in self.curve)


@dataclass(frozen=True, slots=True)
class TakenNetwork:
    """The network that frames of this number are of."""

    number: int
    forward: Forward

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Look:
    """One moment; what has a default here nobody knows of what another library trains."""

    branch: int  # branch, step and edits: its place
    step: int
    kept: bool  # whether thinning leaves it: the run came here by an edit, a jump, its beginning or its end
    loss: float
    lr: float
    value: NDArray[Any]  # shape (P,)
    # gradient, moved and previous: what of it was asked for; `moved` where it is not ``value - previous``
    gradient: NDArray[Any] | None
    moved: NDArray[Any] | None
    computed: NDArray[np.uint8]  # computed and frozen: shape (P,)
    frozen: NDArray[np.uint8]
    forward: Forward
    data: Data
    edits: int = 0
    network: int = 0
    # whether it takes the place of what was written of this place: an edit took that of the one before it
    instead: bool = False
    next_lr: float = math.nan
    batch: int = 0  # batch and optimizer: samples of a step, and the class that trains
    optimizer: str = ""
    edited: bool = False
    stopped: str = ""  # as in :class:`~scalarviz.run.core.frame.Frame`
    previous: NDArray[Any] | None = None
    coming: Coming | None = None  # the step that comes after it, where micro-steps are wanted

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        arrays = (self.value, self.gradient, self.previous, self.moved, self.computed, self.frozen)
        opened = 0 if self.coming is None else self.coming.nbytes
        return OVERHEAD + opened + sum(array.nbytes for array in arrays if array is not None)


@dataclass(frozen=True, slots=True)
class Stands:
    """Where the run stands: the place that a recording shows as that of now. None: at the branch's last frame."""

    branch: int
    step: int | None

    nbytes = OVERHEAD


Item = Way | Done | Named | Passed | TakenNetwork | Look | Stands


# ---- What was taken of a run, as the rows of the file: made in the thread that writes, and read back here too


MARKED = ("relu", "sigmoid", "tanh")
"""Kinds of stages of which dead or flat units are told."""


def blob(numbers: NDArray[Any], kind: str = "<f4") -> bytes:
    """Numbers as they lie in the file."""
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities, float64 more than float32
        return np.ascontiguousarray(numbers, kind).tobytes()


def number(given: float) -> float | None:
    """As a column of real numbers takes it: SQLite has no NaN."""
    return None if math.isnan(given) else float(given)


def bits(flags: NDArray[np.uint8], weights: NDArray[np.bool_]) -> bytes | None:
    """One bit each; None where none is set, empty where all `weights` are and nothing else."""
    given = flags != 0
    if not given.any():
        return None
    return b"" if np.array_equal(given, weights) else np.packbits(given).tobytes()


def flags_of(kept: bytes | None, weights: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The other way round."""
    if kept is None:
        return np.zeros(len(weights), bool)
    if not kept:
        return weights.copy()
    return np.unpackbits(np.frombuffer(kept, np.uint8), count=len(weights)).astype(bool)


def weights_of(tensors: Sequence[Tensor]) -> NDArray[np.bool_]:
    """Which numbers are weights, shape (P,): buffers are none."""
    return np.concatenate([np.zeros(0, bool), *(np.full(t.size, not t.buffer) for t in tensors)])


def marked(stages: Iterable[Stage]) -> list[Stage]:
    """The stages of which units are told, in order."""
    return [stage for stage in stages if stage.kind in MARKED]


def units_blob(forward: Forward, look: Look) -> bytes | None:
    """Dead and saturated units at the moment; None where no stage has such."""
    stages = marked(forward.stages)
    if not stages:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        dead, flat = forward.units(look.value, look.data)
    rows = [dead[stage.name] if stage.kind == "relu" else flat[stage.name] for stage in stages]
    return blob(np.array([look.step]), "<i8") + b"".join(blob(row) for row in rows)


def rows_blob(rows: Mapping[str, NDArray[Any]], stages: Sequence[Stage]) -> bytes:
    """``"input"`` and the row of every stage, one after the other."""
    return b"".join(blob(rows[name]) for name in ("input", *(stage.name for stage in stages)))


def tensor_rows(network: int, tensors: Iterable[Tensor]) -> list[tuple[Any, ...]]:
    """Rows of the table of that name."""
    return [
        (network, k, clean(t.name, LONGEST_NAME), json.dumps(t.shape), t.start, t.role) for k, t in enumerate(tensors)
    ]


def stage_rows(network: int, stages: Iterable[Stage]) -> list[tuple[Any, ...]]:
    """Rows of the table of that name."""
    return [
        (
            network, k, clean(s.name, LONGEST_NAME), clean(s.kind, LONGEST_NAME), s.outputs,
            None if s.weight is None else clean(s.weight.name, LONGEST_NAME),
            None if s.bias is None else clean(s.bias.name, LONGEST_NAME),
            json.dumps(s.shape), json.dumps(s.input_shape),
            json.dumps([clean(name, LONGEST_NAME) for name in s.sources]), int(s.whole),
        )
        for k, s in enumerate(stages)
    ]  # fmt: skip


def edit_row(branch: int, place: int, applied: Applied) -> tuple[Any, ...]:
    """A row of the table of that name."""
    written: str | None = None
    if applied.nbytes < LONGEST_EDIT and applied.does is None:
        try:
            written = write_edit(applied.edit)
        except ScalarvizError:  # it holds what cannot be written: the words stay
            written = None
    if written is not None and (len(written) > LONGEST_EDIT or '"function"' in written):
        written = None
    return branch, place, applied.step, clean(applied.what), clean(applied.gesture, LONGEST_NAME), written


# ---- `Watching`: what is new where a run stands, or in what another library trains, handed to a writer.

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
