"""`Subject`: the content of a workbench, made from a scene, a run, recordings, or plain arrays.

`ProbeFollower` chooses the probe sample when the training data change; `at_step` looks at another step; `Forecast`
holds what is known of the coming steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer
from ...errors import InputError, TypeMismatchError, typed
from ...io import CsvTable
from ...run.core.frame import Frame
from ...run.core.graph import grouped
from ...run.core.history import Curve
from ...run.core.tensors import Role, Stage, Tensor
from ...run.edits import AddToWeights, Edit, ScaleWeights, SetFrozen, SetWeights, Together
from ...run.panels import CurveFit, LossCurve, Panel, PlaneMap, RecordedPictures
from ...run.panels.base import PanelPicture
from ...run.run import Run
from ...run.scene.scene import Plan, Scene, purpose_of
from ...run.source import Abilities, Moment, RunSource, Source
from ...run.sources.played import RecordedSource, Rehearsal
from ...run.sources.recorded_pair import RecordedPair
from ...run.sources.recording.items import About
from ...run.sources.recording.recorded import Recorded
from ...run.sources.watched import StepCount, Watched
from ...run.sources.watched_arrays import can_be_read
from ...scalar import Block
from ...scalar.store import Store
from ..space.blocks import Item

Float = NDArray[np.floating]


class WeightsSource(Source):
    """Weights and Parameters by name, read again and again while other code changes them.

    A step is a change of the numbers since the last read, or what the loop reports. A change by hand is not a step.
    """

    what, can = "a weight", Abilities(edit=True)

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._parts = parts
        self._tensors = tensors_of({name: data for name, part in parts.items() if (data := np.asarray(part.data)).size})
        if not self._tensors:
            raise InputError("got no numbers to draw; allowed: at least one Weight or Parameter")
        self._loop, self._edited = StepCount(), False
        self._values: Float | None = None
        self._update: Float | None = None

    @property
    def counted(self) -> bool:
        """True if a step was done, or the loop reported something."""
        return self._loop.calls > 0 or self._loop.step > 0

    @property
    def curve(self) -> Curve:
        """Step, loss and learning rate of every step with a reported loss."""
        return self._loop.curve()

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Take over what the loop reports of its last step; if a value is refused, nothing is taken over."""
        self._look(self.values())
        self._loop.tell(said=True, step=step, loss=loss, lr=lr, seen=True)

    def _look(self, values: Float) -> None:
        """Store the current numbers; a change since the last look is a step."""
        if self._values is None or self._values.shape != values.shape:
            self._values, self._update = values, np.zeros_like(values)
        elif not np.array_equal(self._values, values, equal_nan=True):
            self._update = values - self._values
            self._values, self._edited = values, False
            self._loop.looked(changed=True, announced=False)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """One tensor for each Parameter, list of Weights, and other Weight."""
        return self._tensors

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """Return the current values, gradients and flags."""
        flags = [_flags(part) for part in self._parts.values()]
        computed, frozen = (np.concatenate([pair[k] for pair in flags]).astype(bool) for k in (0, 1))
        values = self.values()
        self._look(values)
        assert self._update is not None  # set by the first look
        loop = self._loop
        return Frame(loop.step, loop.loss, loop.lr, values, self._gathered("grad"), self._update, computed, frozen,
                     curve=loop.curve(), edited=self._edited)  # fmt: skip

    @property
    def n_weights(self) -> int:
        """The number of weights."""
        return len(self.values())

    def values(self, start: int = 0, count: int | None = None) -> Float:
        """Return a copy of the weights, or of `count` of them from `start`."""
        return np.asarray(self._gathered("data"), float)[start : None if count is None else start + count]

    def put_weights(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the weights from `start` on."""
        for index, number in enumerate(numbers, start):
            self._weight(index).data = float(number)

    def put_frozen(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Freeze or unfreeze the weights from `start` on."""
        for index, flag in enumerate(flags, start):
            self._weight(index).frozen = bool(flag)

    def place_of(self, store: Store, index: int) -> int | None:
        """Return the flat index of a number of a store, or None if it belongs to no part."""
        first = 0
        for part in self._parts.values():
            block, own = (part, 0) if isinstance(part, Block) else (part._block, part._index)
            size = np.size(part.data)
            at = index - block.start - own
            if block.store is store and 0 <= at < size:
                return first + at
            first += size
        return None

    def _gathered(self, attribute: str) -> NDArray[Any]:
        return np.concatenate([np.ravel(getattr(part, attribute)) for part in self._parts.values()])

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change values and flags of the objects themselves. Raises StateError for any other edit."""
        if not isinstance(edit, SetWeights | AddToWeights | ScaleWeights | SetFrozen | Together):
            raise self._cannot(f"do {type(edit).__name__}")
        access: Any = self  # has the methods of `scalarviz.run.editing.RunAccess` that edits of weights need
        edit.check(access)
        self._look(self.values())
        edit.resolved(access).apply(access)
        self._values, self._edited = self.values(), True

    def _weight(self, index: int) -> Any:
        for part in self._parts.values():
            size = np.size(part.data)
            if index < size:
                return part.weight(index) if isinstance(part, Block) else part
            index -= size
        raise InputError(f"there is no such weight; allowed: 0 to {self.values().size - 1}")


def _flags(part: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the computed and frozen flags of a Parameter or of a Weight."""
    if isinstance(part, Block):
        return part.computed.copy(), part.frozen_flags.copy()
    return np.array([part.has_grad]), np.array([part.frozen])


def tensors_of(blocks: Mapping[str, Float]) -> tuple[Tensor, ...]:
    """Return the tensors of non-empty arrays, one after the other; the single numbers of a list form one tensor."""
    tensors, start = [], 0
    for name, block in blocks.items():
        role: Role = "bias" if name.rpartition(".")[2] == "bias" else "weight"
        tensors.append(Tensor(name, block.shape, start, role))
        start += block.size
    return grouped(tensors)


# ---- The subject of a picture.

ALLOWED = "a Scene, a Run, a Module, one or more Weights, a torch.nn.Module, or arrays in a dict or a list"
LOOP_CURVE = LossCurve(label="as the loop says")
"""The losses reported by a user's own loop, or by that of another library."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The probe sample: its names, its target and whether its numbers are colours."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    target: NDArray[np.floating] | None = None  # (n_targets,): the target for the loss
    colours: bool = False  # whether three inputs and three outputs are shown as swatches
    sheet: bool = False  # whether the inputs are an image, 0 paper and 1 ink

    @property
    def target_values(self) -> NDArray[np.floating] | None:
        """The target as one number per output, or None if it has another form.

        The numbers are NaN while the target is unknown.
        """
        return self.target if self.target is not None and len(self.target) == len(self.outputs) else None

    @property
    def label(self) -> int | None:
        """The target as the number of an output, as losses over classes use it; None for any other."""
        if self.target is None or self.target_values is not None or len(self.target) != 1:
            return None
        number = float(self.target[0])
        return int(number) if number.is_integer() and 0 <= number < len(self.outputs) else None

    def called(self, last: Stage) -> str:
        """Return the name of the last stage's row: "logits" for sums that go into a loss over classes, or "output"."""
        return "logits" if self.label is not None and last.kind == "linear" else "output"


NOTHING = Sample((), ())


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Everything that stays the same while a picture changes."""

    source: Source
    probe: Float | None = None  # the probe sample; a user's edit changes it in place
    sample: Sample = NOTHING
    panels: tuple[Panel, ...] = ()
    given: Float | None = None  # the probe with a known target: a user may have drawn on `probe` since
    plan: Plan | None = None
    whole_loss: bool = False  # whether the loss shown is that of all samples, at the numbers shown
    table: Callable[[CsvTable], Edit] | None = None  # makes an edit of a table that is pasted or dropped
    of_data: bool = False  # whether the probe is taken from the data
    items: tuple[Item, ...] = ()  # the network as a file describes it, if nothing else is known
    story: tuple[str, str] = ("", "")  # headline and sentence of the scene's story
    both: tuple[Subject, ...] = ()  # of a comparison: the subjects of a, which names the weights, and of b

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that have cubes."""
        return self.source.tensors

    @property
    def purpose(self) -> str:
        """What the network is for, in one line; empty for numbers without a story."""
        return purpose_of(*self.story, sum(tensor.size for tensor in self.tensors if not tensor.buffer))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from input to output; empty without a network."""
        return self.source.stages

    @property
    def way(self) -> tuple[Stage, ...]:
        """The stages that give the weights their names; see :attr:`Source.way`."""
        return self.source.way

    def after(self, frame: Frame) -> Subject:
        """Return the subject of a frame: itself, or one whose outputs fit the frame's other network."""
        self.source.follow(frame)
        count = self.way[-1].outputs if self.way else 0
        fits = count == len(self.sample.outputs)
        outputs = self._classes(frame, count) or (self.sample.outputs if fits else _names((), count, "y"))
        if outputs == self.sample.outputs:
            return self
        return replace(self, sample=replace(self.sample, outputs=outputs, colours=self.sample.colours and fits))

    def _classes(self, frame: Frame, count: int) -> tuple[str, ...]:
        """Return the names of the outputs if a panel knows the classes of that frame, else an empty tuple."""
        for panel in self.panels:
            if isinstance(panel, PlaneMap) and panel.at is not None:
                now = panel.at(Moment(frame, self.source))
                if isinstance(now, PlaneMap) and len(now.classes) == count:
                    return now.classes
        return ()

    def frame(self, *, state: bool = False) -> Frame:
        """Return the current numbers with the activations of the probe sample; `state` adds the optimiser's numbers."""
        return self.source.frame(self.probe, state=state)

    def probe_loss(self, frame: Frame) -> float | None:
        """Return the loss of the probe sample alone at the values of a frame; None without a target."""
        if frame.probe_loss is not None:
            return frame.probe_loss
        if not self.source.can.predict or self.probe is None or self.target is None:
            return None
        return float(self.source.evaluate(self.probe[None], self.target[None], frame.values))

    def loss(self, frame: Frame) -> float:
        """Return the loss that every part of the picture shows for a frame: that of the weights shown."""
        return Moment(frame, self.source).shown_loss(self.whole_loss)

    def choose(self, sample: ArrayLike, target: ArrayLike | None = None) -> None:
        """Make another sample the probe sample; without a `target` its target is unknown.

        Raises
        ------
        InputError
            Another count of numbers, or there is no network with a probe sample.
        """
        new = np.asarray(sample, np.float64).ravel()
        if self.probe is None or new.size != self.probe.size:
            allowed = "no sample is drawn here" if self.probe is None else f"allowed: {self.probe.size}"
            raise InputError(f"choose a sample: got the length {new.size}; {allowed}")
        wanted = self.sample.target
        if wanted is not None:
            given = np.full(wanted.size, np.nan) if target is None else np.asarray(target, np.float64).ravel()
            if given.size != wanted.size:
                raise InputError(f"choose a sample: got a target of length {given.size}; allowed: {wanted.size}")
            wanted[...] = given
        self.probe[...] = new.reshape(self.probe.shape)
        if self.given is not None:
            self.given[...] = self.probe

    @property
    def target(self) -> Float | None:
        """The target of the probe sample; None if it is unknown, as for a sample drawn by hand."""
        if self.given is not None and self.probe is not None and not np.array_equal(self.given, self.probe):
            return None
        wanted = self.sample.target
        return None if wanted is None or np.isnan(wanted).any() else wanted


def subject_of(x: object) -> Subject:
    """Return the subject of anything that can be shown.

    Parameters
    ----------
    x : Subject, Scene, Run, recording, two of them, Module, Weight, Parameter, torch.nn.Module, arrays, or Watched
        One or several Weights and Parameters; arrays by name, in dicts and lists.

    Raises
    ------
    TypeMismatchError
        `x` is of another type.
    InputError
        Arrays without numbers.
    """
    from ...nn import Module

    if isinstance(x, Subject):
        return x
    if isinstance(x, RecordedPair):
        return pair_subject(x)
    if isinstance(x, Run):
        x = Scene("run", x)
    if isinstance(x, Scene):
        return scene_subject(x, RunSource(x.run))
    if isinstance(x, Recorded):
        x = RecordedSource(x)
    if isinstance(x, RecordedSource):
        return recorded_subject(x)
    if isinstance(x, Module):
        return Subject(WeightsSource(dict(x.named_parameters())))
    if isinstance(x, Watched) or (can_be_read(x) and not _ours(x)):
        watched = x if isinstance(x, Watched) else Watched(x)
        return Subject(watched, panels=(LOOP_CURVE,) if len(watched.curve.step) else ())
    return Subject(WeightsSource(_named(x)))


def scene_subject(scene: Scene, source: Source) -> Subject:
    """Return the subject of a scene whose numbers come from `source`: its run, or a worker that trains it in a thread.

    Without a probe in the scene, the first sample of the data is the probe sample.
    """
    stages, speaks_of = source.stages, [panel.speaks_of for panel in scene.panels]
    probe, target = scene.probe, scene.probe_target
    first = source.first_sample if probe is None and stages else None
    if first is not None:
        probe, target = first[0], first[1] if target is None else target
    own = None if probe is None else np.array(probe, np.float64)  # a user may draw on it
    wanted = None if target is None else np.array(target, np.float64).ravel()  # changes with the chosen sample
    sample = _sample(scene, source.n_inputs, stages, wanted, speaks_of, drawn=True)
    given = None if own is None else own.copy()
    rest = scene.plan, scene.whole_loss, scene.table
    story = scene.shown_story.headline, scene.shown_story.sentence
    return Subject(source, own, sample, scene.panels, given, *rest, of_data=first is not None, story=story)


def recorded_subject(
    source: RecordedSource, pictures: Sequence[PanelPicture] | None = None, more: Sequence[Panel] | None = None
) -> Subject:
    """Return the subject of a recording, with the recorded probe sample, and `pictures` in place of the file's.

    `more` are panels after them; default: the curve of the losses.
    """
    about, probe = source.record.about, source.probe
    given = None if probe is None else probe.copy()
    recorded = _recorded_panels(source.record.pictures if pictures is None else pictures)
    curve = (LossCurve() if about.optimizer else LOOP_CURVE,)
    panels = (*recorded, *(curve if more is None else more))
    rest, story = (about.plan, about.whole_loss), (about.headline, about.sentence)
    return Subject(source, probe, recorded_sample(source), panels, given, *rest, story=story)


def recorded_sample(source: RecordedSource) -> Sample:
    """Return names and target of the recorded probe sample; only names if there was none."""
    about, probe = source.record.about, source.probe
    target = None if about.probe_target is None or probe is None else np.array(about.probe_target)
    return _sample(about, about.inputs, source.stages, target, about.speaks_of, drawn=probe is not None)


def _sample(
    of: Scene | About, ins: int, stages: Sequence[Stage], target: Float | None, speaks_of: Sequence[str], *, drawn: bool
) -> Sample:
    """Return the sample of a scene or a recording. `drawn`: it has a probe; `speaks_of`: the topics of the panels."""
    ins, outs = (ins, stages[-1].outputs) if stages else (0, 0)
    inputs, outputs = _names(of.input_names, ins, "x"), _names(of.output_names, outs, "y")
    return Sample(inputs, outputs, target, drawn and ins == outs == 3 and "colours" in speaks_of, "sheet" in speaks_of)


def pair_subject(pair: RecordedPair) -> Subject:
    """Return the subject of a comparison. Inputs and outputs have names if both recordings use the same ones."""
    both = tuple(recorded_subject(one) for one in pair.pair if isinstance(one, RecordedSource))
    if not pair.way:
        return Subject(pair, both=both)
    a, b = (recorded_sample(one) if isinstance(one, RecordedSource) else NOTHING for one in pair.pair)
    inputs = a.inputs if a.inputs == b.inputs else _names((), len(a.inputs), "x")
    outputs = a.outputs if a.outputs == b.outputs else _names((), pair.way[-1].outputs, "y")
    return Subject(pair, sample=Sample(inputs, outputs, sheet=a.sheet and b.sheet), both=both)


WIDEST = 320
"""Most pixels of a picture in the column; a wider one stands above the cubes, as its panel did."""


def _recorded_panels(pictures: Sequence[PanelPicture]) -> Iterator[RecordedPictures]:
    """Yield the recorded pictures of the scene's panels, in its order."""
    found: dict[str, list[PanelPicture]] = {}
    for picture in pictures:
        found.setdefault(picture.panel, []).append(picture)
    for name, some in found.items():
        wide = max(picture.width for picture in some) > WIDEST
        pictures = tuple(sorted(some, key=lambda picture: picture.step))
        yield RecordedPictures(name, pictures, place="above" if wide else "column")


def _names(given: tuple[str, ...], count: int, letter: str) -> tuple[str, ...]:
    return given if len(given) == count else tuple(f"{letter}{k}" for k in range(count))


def _ours(x: object) -> bool:
    """Return whether a list holds weights of this library, which are shown as they are."""
    from ...nn import Parameter
    from ...scalar import Weight

    return isinstance(x, Sequence) and any(isinstance(part, Weight | Parameter) for part in x)


def _named(x: object) -> dict[str, Any]:
    """Return Weights and Parameters by name; a repeated name gets a number."""
    from ...nn import Parameter
    from ...scalar import Weight

    several = list(x) if isinstance(x, Sequence) and not isinstance(x, str | bytes) else [x]
    parts: dict[str, Any] = {}
    for k, part in enumerate(several):
        if not isinstance(part, Weight | Parameter):
            hint = '; try {"x": x}' if hasattr(part, "__array__") else ""
            if callable(getattr(part, "parameters", None)):  # a user's own class
                hint = "; try its parameters(), or subclass nn.Module"
            raise TypeMismatchError(f"cannot show {typed(part)}; allowed: {ALLOWED}{hint}")
        name = getattr(part, "name", None) or f"w{k}"
        parts[name if name not in parts else f"{name} ({k})"] = part
    return parts


# ---- The probe sample stays one of the points shown when the training data change.

NEAR = 1e-6
"""Relative tolerance of a sample that was rounded to float32."""


def number_of(samples: Float, probe: Float) -> int | None:
    """Return the index of `probe` (n,) in `samples` (N, n), or None."""
    if samples.shape[1:] != probe.shape or not len(samples):
        return None
    away = np.abs(samples - probe).max(axis=1)
    index = int(np.argmin(away))
    return index if away[index] <= NEAR * (1 + np.abs(probe).max()) else None


class ProbeFollower:
    """Chooses the probe sample when the training data change: after an edit, an undo, or on a branch.

    It keeps the sample that was chosen last if that is among the points; else it takes the first training sample. A
    probe given by a scene stays, and so does that of a picture without points.
    """

    def __init__(self, subject: Subject) -> None:
        self._follows = subject.of_data and any(isinstance(p, PlaneMap | CurveFit) for p in subject.panels)
        self._chosen = self._seen = _copied(subject)
        self._data: object = None

    def follow(self, subject: Subject, frame: Frame) -> bool:
        """Choose the sample for a frame; return whether sample or target changed."""
        data, self._data = self._data, frame.data
        if frame.data is None or frame.data is data or not self._follows or subject.target is None:
            return False
        if not _same(self._seen, now := _copied(subject)):  # a user has chosen another sample since
            self._chosen = now
        found = self._fitting_sample(subject, frame)
        if found is None or _same(found, now):
            self._seen = now
            return False
        subject.choose(*found)
        self._seen = _copied(subject)
        return True

    def _fitting_sample(self, subject: Subject, frame: Frame) -> tuple[Float, Float] | None:
        """Return the sample with its target, or None if none fits."""
        probe, target = self._chosen
        for inputs, targets in _points(subject, frame):
            if inputs.shape[1:] != probe.shape or targets.shape[1:] != target.shape:
                continue
            index = number_of(np.hstack([inputs, targets]), np.hstack([probe, target]))
            if index is None:
                index = number_of(inputs, probe)  # the same point with another target
            if index is not None:
                return np.asarray(inputs[index], np.float64), np.asarray(targets[index], np.float64)
        learnt = frame.samples()
        if learnt is None or not len(learnt[0]):
            return None
        first, wanted = (np.asarray(part[0], np.float64) for part in learnt)
        return (first, wanted) if (first.shape, wanted.shape) == (probe.shape, target.shape) else None


def _points(subject: Subject, frame: Frame) -> Iterator[tuple[Float, Float]]:
    """Yield samples and targets: those of the training data, and those that panels draw, held-out points included."""
    learnt = frame.samples()
    if learnt is not None:
        yield learnt
    moment = Moment(frame, subject.source)
    for panel in subject.panels:
        now = panel if panel.at is None else panel.at(moment)
        if not isinstance(now, PlaneMap | CurveFit) or now.points is None:
            continue
        try:
            points = now.points(moment)
            places = np.asarray(points.x, np.float64)
            samples = now.inputs(places if isinstance(now, PlaneMap) else places[:, 0])
        except Exception:  # the scene's own function: its panel shows the error
            continue
        yield np.asarray(samples, np.float64), np.asarray(points.target, np.float64)[:, None]


def _copied(subject: Subject) -> tuple[Float, Float]:
    probe, target = subject.probe, subject.sample.target
    return tuple(np.zeros(0) if part is None else part.copy() for part in (probe, target))  # type: ignore[return-value]


def _same(one: tuple[Float, Float], other: tuple[Float, Float]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


# ---- Another step.


@contextmanager
def at_step(source: Source, step: int | None) -> Iterator[None]:
    """Put `source` at a step while the block runs; None leaves it where it is.

    Raises
    ------
    InputError
        There is no such step, or the source keeps no past.
    """
    if step is None:
        yield
        return
    step, (first, newest) = integer("step", step, 0), source.span
    if not source.can.go:
        raise InputError(f"step: {source.what} has no past steps; try a Run or a Scene")
    if not first <= step <= newest:
        raise InputError(f"step: got {step:,}; allowed: {first:,} to {newest:,}, the steps so far")
    here = source.frame().step
    source.to(step)
    try:
        yield
    finally:
        source.to(here)


# ---- `Forecast`: the coming steps of a rehearsal. Axes that hold them need no rescaling later.


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """The coming steps of a run, as rehearsed with the present settings."""

    step: int  # the present step
    last: int  # the last coming step
    low: float  # the least and the largest loss until then
    high: float

    @classmethod
    def from_rehearsal(cls, rehearsal: Rehearsal, frame: Frame) -> Forecast | None:
        """Return the forecast of a rehearsal from a frame, or None if a loss is not finite."""
        losses = rehearsal.loss
        if not len(losses) or not np.isfinite(losses).all():
            return None
        return cls(frame.step, frame.step + len(losses), float(losses.min()), float(losses.max()))


def holding(ahead: Forecast | None, frame: Frame) -> Forecast | None:
    """Return the forecast extended to all past steps, so that axes do not rescale when you move back and forth."""
    past = frame.past
    if past is None or frame.step >= past.newest:
        return ahead
    losses = past.curve.loss[np.isfinite(past.curve.loss)]
    if not len(losses):
        return ahead
    low, high = float(losses.min()), float(losses.max())
    if ahead is None:
        return Forecast(int(past.curve.step[0]), past.newest, low, high)
    return replace(ahead, last=max(ahead.last, past.newest), low=min(ahead.low, low), high=max(ahead.high, high))
