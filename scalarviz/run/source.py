"""`Source`: what a view may ask of anything that has weights; `Moment`: one frame with its source; `RunSource`: a run.

Recordings and plain arrays are sources too. `Source.can` says what a source can do; the rest raises StateError.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StateError, UnknownNameError, listing
from .checks import flat
from .core.frame import NO_CURVE, Curve, Frame, Stage, Tensor
from .frames import FrameRequest, PendingCall, evaluated, sample
from .opened.network import SampleGradient
from .travel import span

if TYPE_CHECKING:
    from ..scalar.store import Store
    from .core.graph import Forward
    from .edits import Edit
    from .run import Run
    from .travel import WeightRecord


Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a source can do."""

    predict: bool = False  # send samples through the network at the values of any frame
    train: bool = False
    edit: bool = False  # be changed by hand
    go: bool = False  # stand at another step than the last
    open: bool = False  # open its coming step (``ask``)


@dataclass(frozen=True, slots=True)
class Facts:
    """What trains it, in the words that a picture prints."""

    optimizer: str
    batch_size: int
    samples: int  # in the data
    reduction: str  # ``"mean"`` or ``"sum"``
    engine: str  # ``"numba, 1 thread"``
    whole: bool  # whether every step has all samples

    def loss_of(self, every: bool, noun: str = "sample", batch: int = 0) -> str:
        """Of which samples a loss is: `every` one of them, or those of the coming step."""
        count = self.samples if every else batch or self.batch_size
        which = f"{f'{count:,} ' if count > 1 else ''}{noun}{'s' * (count > 1)}"
        which = f"{'the next' if count < self.samples else 'all' if count > 1 else 'the'} {which}"
        return f"sum of {which}" if self.reduction == "sum" and count > 1 else f"of {which}"


class Source(Protocol):
    """Base of the sources: it refuses what a subclass does not define. `what` is its name in messages."""

    what: str = "this"
    can: Abilities = Abilities()

    @property
    @abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """What has cubes."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The way from input to output; empty where there is no network."""
        return ()

    @property
    def way(self) -> tuple[Stage, ...]:
        """The stages by which weights are named; they may be known where their rows are not drawn."""
        return self.stages

    def follow(self, frame: Frame) -> None:
        """Take tensors and stages from a frame from now on."""
        return

    @property
    def n_inputs(self) -> int:
        """Numbers of one sample; 0 where there is no network."""
        return 0

    @property
    def facts(self) -> Facts | None:
        """What trains it; None where nothing does."""
        return None

    @property
    def curve(self) -> Curve:
        """Step, loss and learning rate of every step so far."""
        return NO_CURVE

    @property
    def counted(self) -> bool:
        """Whether steps are counted."""
        return self.facts is not None

    @property
    def learns(self) -> bool:
        """Whether there can be gradients: plain arrays have none."""
        return self.can.edit or self.recorded or self.facts is not None

    @property
    def recorded(self) -> bool:
        """Whether it is a record, which does not change any more."""
        return False

    @property
    def of(self) -> str:
        """Whose numbers they are ("b - a"); empty where they are a moment's own."""
        return ""

    def lacks(self, quantity: str) -> str:
        """Why its frames lack a quantity that cubes can show; empty where they have it."""
        return ""

    def weight_record(self, index: int) -> WeightRecord | None:
        """How the weight at a flat index moved, where that is known without computing; else None."""
        return None

    @property
    def couples(self) -> bool:
        """Whether the gradient of a sample depends on the others of its batch."""
        return False

    @property
    def edits(self) -> int:
        """Number of edits before the current step."""
        return 0

    @property
    def span(self) -> tuple[int, int]:
        """First and last step that it can go to."""
        return 0, 0

    @property
    def moments(self) -> Mapping[str, bool]:
        """Optimiser state by name: whether it has a sign, or is a magnitude."""
        return {}

    def place_of(self, store: Store, index: int) -> int | None:
        """The flat index in frames of a number of a store; None if frames do not have it."""
        return None

    @abstractmethod
    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """One consistent snapshot, with the activations of a sample `probe` (n_inputs,) and the state of `moments`."""

    def request_frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> FrameRequest:
        """The same without waiting where a thread trains."""
        return FrameRequest.of(self.frame(probe, state=state))

    def activations(self, probe: ArrayLike, values: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        """``"input"`` and the row of every stage for one sample (n_inputs,), at flat `values` (default now)."""
        raise self._cannot("run a sample through a network")

    def rows(
        self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """The rows of some stages for many samples (N, n_inputs), each (N, outputs), at flat `values` (default now)."""
        raise self._cannot("run samples through a network")

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs), shape (N, n_outputs), at flat `values` (default now)."""
        raise self._cannot("predict")

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        """The loss on other data, all samples as one batch, at flat `values` (default now)."""
        raise self._cannot("evaluate a loss")

    def whole_loss(self, values: NDArray[Any] | None = None) -> float:
        """The loss of all training samples as one batch, at flat `values` (default now)."""
        return self.evaluate(*self.samples(), values)

    def sample_gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """The gradient (P,) of the loss of one sample at flat `values`."""
        raise self._cannot("take a gradient")

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of the training inputs (N, n_inputs) and targets (N, n_targets)."""
        raise self._cannot("give its data")

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Inputs (n_inputs,) and targets (n_targets,) of one of the :attr:`Facts.samples`, counted from 0."""
        raise self._cannot("give its data")

    @property
    def first_sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Inputs (n_inputs,) and targets (n_targets,) of the first sample of the data; None where there is none."""
        return None

    def ask(self, function: Callable[[Run], Any]) -> PendingCall:
        """Call a function with the run between two steps, without waiting where a thread trains."""
        raise self._cannot("open a step")

    def train(self, count: int = 1) -> None:
        """Do `count` more steps."""
        raise self._cannot("be trained")

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Apply an edit between two steps; edits of one `gesture` that replace each other count as one."""
        raise self._cannot("be edited")

    def load(self, path: Path) -> int:
        """Go on from the weights in a file; returns their step."""
        raise self._cannot("load weights")

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Take what the user's own loop says of its last step; None is unknown."""
        raise StateError(f"{self.what} counts its own steps and loss; call update() without step, loss and lr")

    def to(self, step: int) -> None:
        """Go to `step`, which lies in :attr:`span`."""
        first, last = self.span
        if not first <= step <= last:
            raise StateError(f"{self.what} cannot go to step {step:,}; allowed: {first:,} to {last:,}")

    def _cannot(self, do: str) -> StateError:
        return StateError(f"{self.what} cannot {do}; try a Run or a Scene")


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One frame, and forward passes at its values, also when its run has gone on; `source` is where it comes from."""

    frame: Frame
    source: Source

    @property
    def step(self) -> int:
        """Training steps done."""
        return self.frame.step

    def tensor(self, name: str) -> NDArray[np.floating]:
        """The values of a tensor (``"0.weight"``) in its own shape, a copy; UnknownNameError if there is none."""
        for tensor in self.source.tensors:
            if tensor.name == name:
                return tensor.of(self.frame.values).copy()
        raise UnknownNameError(f"no tensor {name!r}; allowed: {listing(t.name for t in self.source.tensors)}")

    def predict(self, inputs: ArrayLike) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs), shape (N, n_outputs)."""
        return self.source.predict(inputs, self.frame.values)

    def rows(self, inputs: ArrayLike, *stages: str) -> dict[str, NDArray[Any]]:
        """The rows of the named stages for `inputs` (N, n_inputs), each (N, outputs)."""
        return self.source.rows(inputs, stages, self.frame.values)

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Training inputs (N, n_inputs) and targets (N, n_targets) of that moment; waits for no thread."""
        return self.frame.samples() or self.source.samples()

    def whole_loss(self) -> float:
        """The loss of all training samples of that moment as one batch; waits for no thread."""
        samples = self.frame.samples()
        if samples is None:
            return self.source.whole_loss(self.frame.values)
        return self.evaluate(*samples)

    def shown_loss(self, every: bool) -> float:
        """The loss that is told wherever one is: of these weights, on all samples (`every`) or on the coming batch."""
        facts = self.source.facts
        if every and self.source.can.predict and self.frame.shown_loss is None and not (facts and facts.whole):
            return self.whole_loss()
        return self.frame.told_loss

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike) -> float:
        """The loss on other data, all samples as one batch."""
        return self.source.evaluate(inputs, targets, self.frame.values)


class RunSource(Source):
    """A run as it stands, changed between two of its steps."""

    what, can = "the run", Abilities(predict=True, train=True, edit=True, open=True)

    def __init__(self, run: Run) -> None:
        self.run, self._way = run, run._forward
        if run.timeline.past() is not None:  # one that was closed keeps none
            self.can = replace(self.can, go=True)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self._way.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self._way.stages

    def follow(self, frame: Frame) -> None:
        """Tensors, stages and forward passes are those of the network of a frame; the run may have another one."""
        if frame.forward is not None and frame.forward is not self._way:
            self._way = frame.forward
            self.__dict__.pop("_gradient", None)

    def _network_of(self, values: NDArray[Any] | None) -> tuple[Forward, NDArray[Any]]:
        """The network that flat values are of, None: those of now."""
        if values is None:
            return self.run._forward, self.run.values
        return self._way, flat(values, self._way.tape.n_parameters)

    @property
    def n_inputs(self) -> int:
        return self.run._tape.n_inputs

    @property
    def facts(self) -> Facts:
        run = self.run
        problem, name = run._problem, type(run.optimizer).__name__
        return Facts(name, problem.batch, problem.data.shape[1], problem.reduction, str(run.engine), problem.full_batch)

    @property
    def couples(self) -> bool:
        return self.run._trained.plan.body.couples

    @property
    def curve(self) -> Curve:
        return self.run.history.curve()

    @property
    def edits(self) -> int:
        return len(self.run.log)

    @property
    def span(self) -> tuple[int, int]:
        return span(self.run)

    @property
    def moments(self) -> dict[str, bool]:
        """The state of the optimiser; what a rule calls its squares has no sign."""
        optimizer = self.run.optimizer
        return {name: name not in optimizer.squares for name in optimizer.state}

    def place_of(self, store: Store, index: int) -> int | None:
        """The arrays of the run's store are those of its frames, one network's as long as it is followed."""
        return index if store is self.run._store and self._way is self.run._forward else None

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        return self.run.frame(probe, state=state)

    def request_frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> FrameRequest:
        return self.run.request_frame(probe, state=state)

    def activations(self, probe: ArrayLike, values: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        way, numbers = self._network_of(values)
        return way.activations(probe, numbers)

    def rows(
        self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """In float64; pictures may come as N x C x H x W, and stage ``"input"`` is the samples themselves."""
        way, numbers = self._network_of(values)
        return way.rows(inputs, stages, numbers)

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        way, numbers = self._network_of(values)
        return way.predict(inputs, numbers)

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        way, numbers = self._network_of(values)
        return evaluated(self.run, way, inputs, targets, numbers)

    def sample_gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """In float64."""
        return self._gradient.gradient(sample, target, values)

    @cached_property
    def _gradient(self) -> SampleGradient:
        return SampleGradient(self._way)

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return sample(self.run, index)

    @property
    def first_sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return sample(self.run, 0)

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.run.samples()

    def ask(self, function: Callable[[Run], Any]) -> PendingCall:
        """At once, in the thread that asks."""
        asked = PendingCall(partial(function, self.run))
        asked.run()
        return asked

    def train(self, count: int = 1) -> None:
        self.run.step(count)

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        self.run.do(edit, gesture=gesture)

    def to(self, step: int) -> None:
        self.run.to(step)

    def load(self, path: Path) -> int:
        return self.run.load(path).steps
