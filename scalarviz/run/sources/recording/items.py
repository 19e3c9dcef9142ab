"""Find changes in a run, as items for the thread that writes, and convert items to rows."""

from __future__ import annotations

import json
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ....engine.data import Data
from ....errors import FileFormatError, InputError, ScalarvizError, TypeMismatchError, typed
from ...callbacks import record, stop_recording
from ...core.frame import Coming, Curve, Frame, Stage, Tensor
from ...core.graph import Forward
from ...edits.base import Applied, write_edit
from ...frames import coming_of, current_step_data, sample
from ...opened.passes import StepData
from ...past.line import Line, Place
from ...run import Run
from ...scene.scene import Plan, Scene
from ...source import RunSource
from ..watched import Watched
from .file import LONGEST_EDIT, LONGEST_NAME, Cell, clean, distinct

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ...callbacks import Recorder


MOST_WORDS = 1 << 20
"""Most characters of the description as JSON."""
MOST_NAMES = 10_000


@dataclass(frozen=True, slots=True)
class About:
    """Facts of a run at the start of its recording."""

    name: str = "run"  # of the scene; ``"run"`` without one
    optimizer: str = ""
    engine: str = ""
    reduction: str = "mean"
    loss: str = ""
    dtype: str = "float32"
    # batch_size, samples, seed and inputs: samples per step and in the data; seed of their order; numbers of one sample
    batch_size: int = 0
    samples: int = 0
    seed: int = 0
    inputs: int = 0
    whole: bool = False  # whether every step has all samples
    whole_loss: bool = False  # whether the shown loss is that of all samples
    couples: bool = False  # whether the training normalises by the batch
    input_names: tuple[str, ...] = ()  # input_names, output_names, notes and hide: as in :class:`~scalarviz.Scene`
    output_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    headline: str = ""  # headline and sentence of its story
    sentence: str = ""
    # probe and probe_target: the sample whose way through the network is recorded
    probe: tuple[float, ...] | None = None
    probe_target: tuple[float, ...] | None = None
    steps_a_frame: int | None = None
    plan: Plan | None = None  # places of the tensors
    speaks_of: tuple[str, ...] = ()  # how its panels see the probe: "colours", or a "sheet" of paper and ink
    version: str = ""  # of the program that recorded it

    @property
    def outside(self) -> bool:
        """True if another library trained the network."""
        return not self.engine


def about_of(subject: Run | Scene) -> About:
    """Return the facts of a run, or of a scene and its run; for the thread that trains."""
    run = subject.run if isinstance(subject, Scene) else subject
    source, loss = RunSource(run), run.loss_function
    known: dict[str, Any] = asdict(source.facts) | {
        "couples": source.couples, "loss": str(getattr(loss, "__qualname__", type(loss).__qualname__)),
        "dtype": run.dtype, "seed": run.seed, "inputs": run._tape.n_inputs, "version": program_version(),
    }  # fmt: skip
    probe, target = sample(run, 0)
    if isinstance(subject, Scene):
        known |= {name: getattr(subject, name) for name in ("whole_loss", "steps_a_frame", "plan")}
        known |= {name: _names(getattr(subject, name)) for name in ("input_names", "output_names", "notes", "hide")}
        known |= {name: getattr(subject.told, name) for name in ("headline", "sentence")}
        known["name"] = clean(subject.name, LONGEST_NAME)
        known["speaks_of"] = tuple(sorted({panel.speaks_of for panel in subject.panels} - {""}))
        if subject.probe is not None:
            probe, target = (np.ravel([] if row is None else row) for row in (subject.probe, subject.probe_target))
    return About(**known, probe=_row(probe), probe_target=_row(target) if len(target) else None)


def about_watched(watched: Watched) -> About:
    """Return the facts of a watched network."""
    return About(clean(watched.name, LONGEST_NAME), dtype=str(watched.last.values.dtype), version=program_version())


def program_version() -> str:
    """Return the version of this program; empty if it is not installed."""
    try:
        return version("scalarviz")
    except PackageNotFoundError:
        return ""


def _row(numbers: Any) -> tuple[float, ...]:
    return tuple(np.asarray(numbers, np.float64).tolist())


def _names(names: Any) -> tuple[str, ...]:
    return tuple(clean(name, LONGEST_NAME) for name in names)


def written(about: About) -> str:
    """Return the description as JSON."""
    return json.dumps(asdict(about))


# ---- reading


@cache
def _readers() -> dict[str, TypeAdapter[Any]]:
    """Return a strict reader for each part, by name."""
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(strict=True, allow_inf_nan=False)
    return {name: TypeAdapter(kind, config=config) for name, kind in get_type_hints(About).items()}


def read_about(text: str) -> About:
    """Read a description part by part; an invalid part gets its default. FileFormatError: not a JSON object."""
    from pydantic import ValidationError

    said, found = None, dict[str, Any]()
    with suppress(ValueError, RecursionError):
        said = json.loads(text) if len(text) <= MOST_WORDS else None
    if not isinstance(said, dict):
        raise FileFormatError("the description of the run is not a JSON object")
    for part in fields(About):
        with suppress(KeyError, ValidationError, ScalarvizError, RecursionError):  # missing, or an empty plan
            given = _readers()[part.name].validate_json(json.dumps(said[part.name]))
            found[part.name] = _useful(given, part.default)
    return About(**found)


def _useful(part: Any, default: Any) -> Any:
    """Return a part that can be shown; its default if it is out of bounds."""
    if isinstance(part, str):
        return clean(part, LONGEST_NAME)
    if isinstance(part, tuple) and 0 < len(part) <= MOST_NAMES:
        return _names(part) if isinstance(part[0], str) else part
    bounded = isinstance(part, Plan | None) or (isinstance(part, int) and 0 <= part < 1 << 53)
    return part if bounded else default


OVERHEAD = 1024
"""Bytes of an item beside its arrays."""


# ---- Items: from the thread that trains to the one that writes. They are copies, or never change


@dataclass(frozen=True, slots=True)
class Put:
    """Rows of a table; `rows` makes them in the thread that writes."""

    statement: str
    rows: Callable[[], Sequence[tuple[Cell, ...]]]
    nbytes: int = OVERHEAD


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
class Outside:
    """A network that another library trains; only its arrays are known."""

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameItem:
    """One moment, a row of the table ``frame``; arrays have shape (P,)."""

    place: tuple[int, int, int]  # branch, step and edits
    network: int
    kept: bool  # whether thinning leaves it
    cells: dict[str, Cell]  # other columns by name, without those of the arrays and the probe
    value: NDArray[Any]
    # gradient, moved and previous: if asked for; `moved` if it is not ``value - previous``
    gradient: NDArray[Any] | None
    moved: NDArray[Any] | None
    computed: NDArray[np.uint8]
    frozen: NDArray[np.uint8]
    forward: Forward | Outside
    data: Data | None = None
    previous: NDArray[Any] | None = None
    replaces_last: bool = False  # an edit replaced the one before it: this frame replaces the one at its place
    # the next step: with the probe alone (True), its own
    coming_steps: Mapping[bool, StepData] = field(default_factory=dict)
    batch: Coming | None = None  # batch of the next step

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        arrays = [self.value, self.gradient, self.previous, self.moved, self.computed, self.frozen]
        for taken in self.coming_steps.values():
            arrays += [taken.values, *(taken.state or {}).values()]
        return (1 + bool(self.coming_steps)) * OVERHEAD + sum(array.nbytes for array in arrays if array is not None)


Item = Put | Passed | FrameItem


# ---- Rows of the file: made in the thread that writes, and read back here


MARKED = ("relu", "sigmoid", "tanh")
"""Kinds of stages with dead or flat units."""


def blob(numbers: NDArray[Any], kind: str = "<f4") -> bytes:
    """Return numbers as bytes of the file."""
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities, float64 more than float32
        return np.ascontiguousarray(numbers, kind).tobytes()


def number(given: float) -> float | None:
    """Return a number for a REAL column: SQLite has no NaN."""
    return None if math.isnan(given) else float(given)


def bits(flags: NDArray[np.uint8], weights: NDArray[np.bool_]) -> bytes | None:
    """Return one bit per flag; None if none is set, empty if exactly all `weights` are."""
    given = flags != 0
    if not given.any():
        return None
    return b"" if np.array_equal(given, weights) else np.packbits(given).tobytes()


def flags_of(kept: bytes | None, weights: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the flags in the bytes of :func:`bits`."""
    if kept is None:
        return np.zeros(len(weights), bool)
    if not kept:
        return weights.copy()
    return np.unpackbits(np.frombuffer(kept, np.uint8), count=len(weights)).astype(bool)


def weights_of(tensors: Sequence[Tensor]) -> NDArray[np.bool_]:
    """Return which numbers are weights and not buffers, shape (P,)."""
    return np.concatenate([np.zeros(0, bool), *(np.full(t.size, not t.buffer) for t in tensors)])


def marked(stages: Iterable[Stage]) -> list[Stage]:
    """Return the stages with dead or flat units, in order."""
    return [stage for stage in stages if stage.kind in MARKED]


def _tensor_rows(number: int, tensors: Iterable[Tensor]) -> list[tuple[Cell, ...]]:
    names = distinct([t.name for t in tensors])
    return [(number, k, names[t.name], json.dumps(t.shape), t.start, t.role) for k, t in enumerate(tensors)]


def _stage_rows(number: int, forward: Forward | Outside) -> list[tuple[Cell, ...]]:
    weights = distinct([t.name for t in forward.tensors])
    names = distinct([s.name for s in forward.stages]) | {"": "", "input": "input"}  # the model, and what it gets
    return [
        (
            number, k, names[s.name], clean(s.kind, LONGEST_NAME), s.outputs,
            *(None if part is None else weights[part.name] for part in (s.weight, s.bias)),
            json.dumps(s.shape), json.dumps(s.input_shape), json.dumps([names[name] for name in s.sources]),
            int(s.whole),
        )
        for k, s in enumerate(forward.stages)
    ]  # fmt: skip


def _edit_rows(branch: int, place: int, applied: Applied) -> list[tuple[Cell, ...]]:
    written: str | None = None
    if applied.nbytes < LONGEST_EDIT and applied.does is None:
        with suppress(ScalarvizError):  # it cannot be written: the words stay
            written = write_edit(applied.edit)
    if written is not None and (len(written) > LONGEST_EDIT or '"function"' in written):
        written = None
    return [(branch, place, applied.step, clean(applied.what), clean(applied.gesture, LONGEST_NAME), written)]


# ---- `Changes`: knows what the writer has of a run, or of a watched network, and finds the rest


BETWEEN = 64
"""Most losses that are written between two frames: a small network does a million steps a second."""
BEFORE = 4096
"""Most losses of a branch from before the recording."""


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
        for number, known in enumerate(self._networks):
            if known is forward:
                return number
        self._networks.append(forward)
        number = len(self._networks) - 1
        for table, columns, rows in (("tensor", 6, _tensor_rows(number, forward.tensors)),
                                     ("stage", 11, _stage_rows(number, forward))):  # fmt: skip
            found.append(put(table, columns, *rows))
        return number

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


def put(table: str, columns: int, *rows: tuple[Cell, ...]) -> Put:
    """Return finished rows that replace those with the same keys."""
    return Put(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * columns)})", lambda: rows)


def thinned(curve: Curve, most: int) -> Curve:
    """Return at most `most` evenly spaced steps of a curve, the last one included."""
    apart = -(-len(curve.step) // most)
    places = slice((len(curve.step) - 1) % apart, None, apart)
    return curve.part(places)


def changes_of(x: Any, wanted: Mapping[str, bool]) -> Changes:
    """Return the changes of `x`; InputError, TypeMismatchError or StateError if it cannot be recorded."""
    if isinstance(x, Watched):
        return WatchedChanges(x, wanted)
    if not isinstance(x, Run | Scene):
        raise TypeMismatchError(
            f"Recording: expected a Run, a Scene or sv.watch(net), got {typed(x)}; make a Run of "
            "your own loop with sv.Run(model, loss, optimizer, data=(X, Y))"
        )
    return RunChanges(x, wanted)


class RunChanges(Changes):
    """Changes of a run: branches with their edits, named moments and losses, and frames."""

    def __init__(self, x: Run | Scene, wanted: Mapping[str, bool]) -> None:
        run = x.run if isinstance(x, Scene) else x
        run._check_live()
        super().__init__(run._in_turn(lambda: about_of(x)), len(run._store.value), wanted)
        self._run = weakref.ref(run)
        self._revision = -1
        self._edits: dict[int, list[Applied]] = {}  # given, by branch
        self._flags: dict[int, dict[int, str]] = {}
        self._begun: set[int] = set()
        self._line: Line | None = None

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
            found.append(self._look(x, place, owner, kept, instead, found))
        return found + self._stands(place.line.number, place.step if last or timeline.is_behind else None)

    def _is_kept(self, place: Place, owner: Line) -> bool:
        """Return whether thinning must leave the place, because no other frame covers it."""
        if owner.number not in self._begun:
            self._begun.add(owner.number)
            return True
        line, step, edits = place
        return (edits > 0 and line.edits[edits - 1].step == step) or (step, edits) == (owner.first, owner.before)

    def _past(self, place: Place, found: list[Item]) -> bool:
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
                rows = partial(_edit_rows, number, line.before + index, applied)
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

    def _look(self, run: Run, place: Place, owner: Line, kept: bool, instead: bool, found: list[Item]) -> FrameItem:
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
        return FrameItem(
            (owner.number, place.step, place.edits), self._network(run._forward, found), kept, cells, values, gradient,
            update, store.computed.copy(), store.frozen.copy(), run._forward, problem.data, previous, instead,
            self._coming(run) if wanted["micro"] else {}, coming_of(run, values, place.step),
        )  # fmt: skip

    def _coming(self, run: Run) -> dict[bool, StepData]:
        """Return copies for the coming step: with the probe alone, and with its own batch."""
        about, found = self.about, dict[bool, StepData]()
        with suppress(ScalarvizError):  # it cannot be opened, or its network takes other samples now
            if about.probe is not None and about.probe_target is not None and not np.isnan(about.probe_target).any():
                found[True] = current_step_data(run, None, (np.array(about.probe), np.array(about.probe_target)))
        with suppress(ScalarvizError):
            found[False] = current_step_data(run, None, None)
        return found


class WatchedChanges(Changes):
    """Changes of a watched network. A loop that restarts is another branch."""

    def __init__(self, x: Watched, wanted: Mapping[str, bool]) -> None:
        for part in ("activations", "deltas", "micro"):
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
