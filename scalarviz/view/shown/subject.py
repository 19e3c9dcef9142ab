"""`Subject`: what a workbench shows, whatever it was made from: a scene, a run, recordings, or plain arrays.

`Probed` chooses the sample whose way is drawn where other data are learnt from; `standing` looks at another step;
`Ahead` is what is known of the steps to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer
from ...errors import InputError, TypeMismatchError
from ...io import CsvTable
from ...run.core.frame import Frame, Stage, Tensor
from ...run.edits import Edit
from ...run.panels import CurveFit, LossCurve, Panel, PlaneMap, RecordedPictures
from ...run.run import Run
from ...run.scene.scene import Plan, Scene
from ...run.source import Moment, RunSource, Source
from ...run.sources.played import RecordedSource, Rehearsal
from ...run.sources.recorded_pair import RecordedPair
from ...run.sources.recording.contents import Picture
from ...run.sources.recording.recorded import Recorded
from ...run.sources.recording.taken import About
from ...run.sources.watched import Watched
from ...run.sources.watched_arrays import can_be_read
from ..space.blocks import Item
from .source import WeightsSource

ALLOWED = "a Scene, a Run, a Module, Weights (one or a list), a torch.nn.Module, or named arrays (nested dicts, lists)"
LOOP_CURVE = LossCurve(label="as the loop says")
"""The losses that a loop of the user's own, or of another library, has told."""
Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Sample:
    """The one sample whose way is drawn: its names, its target and whether its numbers are colours."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    target: NDArray[np.floating] | None = None  # (n_targets,): what the loss takes
    colours: bool = False  # whether three inputs and three outputs are to be shown as swatches
    sheet: bool = False  # whether the inputs are a picture, 0 paper and 1 ink

    @property
    def unknown(self) -> bool:
        """Whether nobody knows what the sample that is drawn now should become."""
        return self.target is None or bool(np.isnan(self.target).any())

    @property
    def wanted(self) -> NDArray[np.floating] | None:
        """The target as numbers that stand beside the outputs; None where it is none, or no number for each output.

        They are NaN while a sample is drawn whose target nobody knows.
        """
        return self.target if self.target is not None and len(self.target) == len(self.outputs) else None

    @property
    def label(self) -> int | None:
        """The target as the number of an output, as losses over classes have it; None for any other."""
        if self.target is None or self.wanted is not None or len(self.target) != 1:
            return None
        number = float(self.target[0])
        return int(number) if number.is_integer() and 0 <= number < len(self.outputs) else None

    def called(self, last: Stage) -> str:
        """What the row of the last stage is called: of a loss over classes that takes plain sums they are logits."""
        return "logits" if self.label is not None and last.kind == "linear" else "output"


NOTHING = Sample((), ())


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Everything that stays the same while a picture changes."""

    source: Source
    probe: Float | None = None  # the sample whose way is drawn; a hand may change it in place
    sample: Sample = NOTHING
    panels: tuple[Panel, ...] = ()
    given: Float | None = None  # the probe as the scene gave it: a hand may have changed `probe` since
    plan: Plan | None = None
    whole_loss: bool = False  # whether the loss that is told is that of all samples, at the numbers shown
    table: Callable[[CsvTable], Edit] | None = None  # how it learns a table that is pasted or dropped
    of_data: bool = False  # whether nobody gave the sample: it is one of the data
    items: tuple[Item, ...] = ()  # what a file says of its network, where that is all that is known

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What has cubes."""
        return self.source.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The chain from input to output, empty for none."""
        return self.source.stages

    @property
    def way(self) -> tuple[Stage, ...]:
        """That by which weights are named; see :attr:`Source.way`."""
        return self.source.way

    def after(self, frame: Frame) -> Subject:
        """The subject of a frame: itself, or one whose sample fits a network that has become another one."""
        self.source.follow(frame)
        count = self.way[-1].outputs if self.way else 0
        fits = count == len(self.sample.outputs)
        outputs = self._classes(frame, count) or (self.sample.outputs if fits else _names((), count, "y"))
        if outputs == self.sample.outputs:
            return self
        return replace(self, sample=replace(self.sample, outputs=outputs, colours=self.sample.colours and fits))

    def _classes(self, frame: Frame, count: int) -> tuple[str, ...]:
        """What outputs are called of which a panel knows the classes, as of the points of that frame; else nothing."""
        for panel in self.panels:
            if isinstance(panel, PlaneMap) and panel.at is not None:
                now = panel.at(Moment(frame, self.source))
                if isinstance(now, PlaneMap) and len(now.classes) == count:
                    return now.classes
        return ()

    def frame(self, *, state: bool = False) -> Frame:
        """The numbers as they are now, with the activations of the sample; with `state` the optimiser's too."""
        return self.source.frame(self.probe, state=state)

    def probe_loss(self, frame: Frame) -> float | None:
        """The loss of the probe sample alone at the values of a frame; None where it has no target."""
        if frame.probe_loss is not None:
            return frame.probe_loss
        if not self.source.can.predict or self.probe is None or self.target is None:
            return None
        return float(self.source.evaluate(self.probe[None], self.target[None], frame.values))

    @property
    def step_loss(self) -> str:
        """Which loss a step has, in words, where that of all samples at the numbers shown is told; else empty."""
        facts = self.source.facts
        if not self.whole_loss or facts is None or not (self.source.can.predict or self.source.recorded):
            return ""
        return "before it" if facts.whole else "of its batch"

    def loss_of_all(self, frame: Frame) -> float | None:
        """The loss of all samples at the values of a frame, where that is the one that is told; else None."""
        if self.source.recorded:
            return frame.whole_loss if self.whole_loss else None
        return Moment(frame, self.source).whole_loss() if self.whole_loss and self.source.can.predict else None

    def choose(self, sample: ArrayLike, target: ArrayLike | None = None) -> None:
        """Draw the way of another sample from now on; without a `target` nobody knows what it should become.

        Raises
        ------
        InputError
            Another count of numbers, or there is no network whose way could be drawn.
        """
        new = np.asarray(sample, np.float64).ravel()
        if self.probe is None or new.size != self.probe.size:
            allowed = "no sample is drawn here" if self.probe is None else f"allowed: {self.probe.size} numbers"
            raise InputError(f"choose a sample: got {new.size} numbers; {allowed}")
        wanted = self.sample.target
        if wanted is not None:
            given = np.full(wanted.size, np.nan) if target is None else np.asarray(target, np.float64).ravel()
            if given.size != wanted.size:
                raise InputError(f"choose a sample: got a target of {given.size} numbers; allowed: {wanted.size}")
            wanted[...] = given
        self.probe[...] = new.reshape(self.probe.shape)
        if self.given is not None:
            self.given[...] = self.probe

    @property
    def target(self) -> Float | None:
        """What the probe should become; None where nobody knows, as for one that was drawn by hand."""
        if self.given is not None and self.probe is not None and not np.array_equal(self.given, self.probe):
            return None
        return None if self.sample.unknown else self.sample.target


def subject_of(x: object) -> Subject:
    """The subject of anything that can be shown.

    Parameters
    ----------
    x : Subject, Scene, Run, recording, two of them, Module, Weight, Parameter, torch.nn.Module, arrays, or Watched
        Weights and Parameters one or several; arrays by name, in dicts and lists.

    Raises
    ------
    TypeMismatchError
        Anything else.
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
    """The subject of a scene whose numbers come from `source`: its run, or what trains it in a thread.

    Without a probe, the first sample of the data is the one whose way is drawn.
    """
    stages, speaks_of = source.stages, [panel.speaks_of for panel in scene.panels]
    probe, target = scene.probe, scene.probe_target
    first = source.first_sample if probe is None and stages else None
    if first is not None:
        probe, target = first[0], first[1] if target is None else target
    own = None if probe is None else np.array(probe, np.float64)  # a hand may draw on it
    wanted = None if target is None else np.array(target, np.float64).ravel()  # changes when a hand chooses another
    sample, given = (
        _sample(scene, source.n_inputs, stages, wanted, speaks_of, drawn=True),
        None if own is None else own.copy(),
    )
    return Subject(
        source, own, sample, scene.panels, given, scene.plan, scene.whole_loss, scene.table, of_data=first is not None
    )


def recorded_subject(source: RecordedSource) -> Subject:
    """The subject of a recording; the sample is the one whose way was recorded."""
    about, probe = source.record.about, source.probe
    sample = recorded_sample(source)
    given = None if probe is None else probe.copy()
    panels = (*_recorded_panels(source), LossCurve() if about.optimizer else LOOP_CURVE)
    return Subject(source, probe, sample, panels, given, about.plan, about.whole_loss)


def recorded_sample(source: RecordedSource) -> Sample:
    """Names and target of the sample whose way was recorded; names alone where none was."""
    about, probe = source.record.about, source.probe
    target = None if about.probe_target is None or probe is None else np.array(about.probe_target)
    return _sample(about, about.inputs, source.stages, target, about.speaks_of, drawn=probe is not None)


def _sample(
    of: Scene | About, ins: int, stages: Sequence[Stage], target: Float | None, speaks_of: Sequence[str], *, drawn: bool
) -> Sample:
    """The sample of a scene or a recording; whether it is `drawn`, and what the panels speak of."""
    ins, outs = (ins, stages[-1].outputs) if stages else (0, 0)
    inputs, outputs = _names(of.input_names, ins, "x"), _names(of.output_names, outs, "y")
    return Sample(inputs, outputs, target, drawn and ins == outs == 3 and "colours" in speaks_of, "sheet" in speaks_of)


def pair_subject(pair: RecordedPair) -> Subject:
    """The subject of a comparison, whose inputs and outputs have names where both recordings give them the same."""
    if not pair.way:
        return Subject(pair)
    a, b = (recorded_sample(one) if isinstance(one, RecordedSource) else NOTHING for one in pair.pair)
    inputs = a.inputs if a.inputs == b.inputs else _names((), len(a.inputs), "x")
    outputs = a.outputs if a.outputs == b.outputs else _names((), pair.way[-1].outputs, "y")
    return Subject(pair, sample=Sample(inputs, outputs, sheet=a.sheet and b.sheet))


def _recorded_panels(source: RecordedSource) -> Iterator[RecordedPictures]:
    """What the panels of the scene left in the file, in its order."""
    found: dict[str, list[Picture]] = {}
    for picture in source.record.pictures:
        found.setdefault(picture.panel, []).append(picture)
    for name, pictures in found.items():
        yield RecordedPictures(name, tuple(sorted(pictures, key=lambda picture: picture.step)))


def _names(given: tuple[str, ...], count: int, letter: str) -> tuple[str, ...]:
    return given if len(given) == count else tuple(f"{letter}{k}" for k in range(count))


def _ours(x: object) -> bool:
    """Whether there are weights of this library in a list: they are held as they are."""
    from ...nn import Parameter
    from ...scalar import Weight

    return isinstance(x, Sequence) and any(isinstance(part, Weight | Parameter) for part in x)


def _named(x: object) -> dict[str, Any]:
    """Weights, one or a list (Parameters too), by name; a name that comes twice is counted."""
    from ...nn import Parameter
    from ...scalar import Weight

    several = list(x) if isinstance(x, Sequence) and not isinstance(x, str | bytes) else [x]
    parts: dict[str, Any] = {}
    for k, part in enumerate(several):
        if not isinstance(part, Weight | Parameter):
            hint = '; try {"x": x}' if hasattr(part, "__array__") else ""
            if callable(getattr(part, "parameters", None)):  # a class of somebody's own
                hint = "; try its parameters(), or derive its class from nn.Module"
            raise TypeMismatchError(f"nothing to show: got {type(part).__name__}; allowed: {ALLOWED}{hint}")
        name = getattr(part, "name", None) or f"w{k}"
        parts[name if name not in parts else f"{name} ({k})"] = part
    return parts


# ---- The sample whose way is drawn stays one of the points that are shown, whatever is learnt from by now.

NEAR = 1e-6
"""Of its size: how far a sample may be from itself, which was rounded to float32 on its way."""


def number_of(samples: Float, probe: Float) -> int | None:
    """Which of `samples` (N, n) the `probe` (n,) is; None where it is none of them."""
    if samples.shape[1:] != probe.shape or not len(samples):
        return None
    away = np.abs(samples - probe).max(axis=1)
    index = int(np.argmin(away))
    return index if away[index] <= NEAR * (1 + np.abs(probe).max()) else None


class Probed:
    """Chooses the sample whose way is drawn where other data are learnt from: after an edit, an undo, on a branch.

    It is the one that was chosen last, by a hand or at the beginning, wherever that is among the points; else the
    first sample that is learnt from. Samples that a scene gave stay, and so do those of pictures without points.
    """

    def __init__(self, subject: Subject) -> None:
        self._follows = subject.of_data and any(isinstance(p, PlaneMap | CurveFit) for p in subject.panels)
        self._chosen = self._seen = _copied(subject)
        self._data: object = None

    def follow(self, subject: Subject, frame: Frame) -> bool:
        """Choose for a frame; returns whether it is another sample, or has another target, than before."""
        data, self._data = self._data, frame.data
        if frame.data is None or frame.data is data or not self._follows or subject.target is None:
            return False
        if not _same(self._seen, now := _copied(subject)):  # a hand has chosen another one since
            self._chosen = now
        found = self._found(subject, frame)
        if found is None or _same(found, now):
            self._seen = now
            return False
        subject.choose(*found)
        self._seen = _copied(subject)
        return True

    def _found(self, subject: Subject, frame: Frame) -> tuple[Float, Float] | None:
        """The sample with its target; None where there is none that fits."""
        probe, target = self._chosen
        for inputs, targets in _points(subject, frame):
            if inputs.shape[1:] != probe.shape or targets.shape[1:] != target.shape:
                continue
            index = number_of(np.hstack([inputs, targets]), np.hstack([probe, target]))
            if index is None:
                index = number_of(inputs, probe)  # the same place, wanted is something else there
            if index is not None:
                return np.asarray(inputs[index], np.float64), np.asarray(targets[index], np.float64)
        learnt = frame.samples()
        if learnt is None or not len(learnt[0]):
            return None
        first, wanted = (np.asarray(part[0], np.float64) for part in learnt)
        return (first, wanted) if (first.shape, wanted.shape) == (probe.shape, target.shape) else None


def _points(subject: Subject, frame: Frame) -> Iterator[tuple[Float, Float]]:
    """Samples and targets that are learnt from, and those that a panel draws: points that are held back too."""
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
        except Exception:  # the scene's own function: its panel says so in its place
            continue
        yield np.asarray(samples, np.float64), np.asarray(points.target, np.float64)[:, None]


def _copied(subject: Subject) -> tuple[Float, Float]:
    probe, target = subject.probe, subject.sample.target
    return tuple(np.zeros(0) if part is None else part.copy() for part in (probe, target))  # type: ignore[return-value]


def _same(one: tuple[Float, Float], other: tuple[Float, Float]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


# ---- A look at another step.


@contextmanager
def standing(source: Source, step: int | None) -> Iterator[None]:
    """Let `source` stand at a step while the block runs; None leaves it where it is.

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
        raise InputError(f"step: {source.what} is shown as it is now; a Run or a Scene keeps its past")
    if not first <= step <= newest:
        raise InputError(f"step: got {step:,}; allowed: {first:,} to {newest:,}, the steps that were done")
    here = source.frame().step
    source.to(step)
    try:
        yield
    finally:
        source.to(here)


# ---- `Ahead`: what a rehearsal says of the steps to come. A curve whose axes hold them needs no other ones later.


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """The coming steps of a run, as they will be while nobody changes anything."""

    step: int  # where the run stands
    last: int  # where the steps end
    low: float  # the least and the largest loss on the way
    high: float
    loss: float  # of the first of them: the loss of the numbers as they are before it
    values: NDArray[np.floating]  # those numbers (P,)

    @classmethod
    def of(cls, rehearsal: Rehearsal, frame: Frame) -> Ahead | None:
        """What was rehearsed from a frame; None where a loss is not finite."""
        losses = rehearsal.loss
        if not len(losses) or not np.isfinite(losses).all():
            return None
        last = frame.step + len(losses)
        return cls(frame.step, last, float(losses.min()), float(losses.max()), float(losses[0]), frame.values)

    def coming(self, frame: Frame) -> float | None:
        """The loss of the coming step, at the frame where the steps begin; None at any other, and after a change."""
        here = frame.step == self.step and not frame.edited and np.array_equal(frame.values, self.values)
        return self.loss if here else None


def holding(ahead: Ahead | None, frame: Frame) -> Ahead | None:
    """The same, with room for all that was done: while one goes back and forth nothing rescales."""
    past = frame.past
    if past is None or frame.step >= past.newest:
        return ahead
    losses = past.curve.loss[np.isfinite(past.curve.loss)]
    if not len(losses):
        return ahead
    low, high = float(losses.min()), float(losses.max())
    if ahead is None:
        first = int(past.curve.step[0])
        return Ahead(first, past.newest, low, high, float("nan"), np.zeros(0))
    return replace(ahead, last=max(ahead.last, past.newest), low=min(ahead.low, low), high=max(ahead.high, high))
