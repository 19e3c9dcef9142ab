"""`Source`: the questions that a view may ask; `Moment`: one frame with its source; `RunSource`: a run as a source.

Recordings and plain arrays are sources too. `Source.can` says what a source can do; the rest raises StateError.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StateError, UnknownNameError, listing
from ..scalar.store import Store
from .core.frame import Frame
from .core.graph import Forward
from .core.history import NO_CURVE, Curve
from .core.tensors import Stage, Tensor
from .edits import Edit
from .frames import FrameRequest, PendingCall, evaluated, sample
from .opened.network import SampleGradient
from .run import Run
from .travel import WeightRecord, span
from .validation import flat

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Abilities:
    """Abilities of a source."""

    predict: bool = False  # send samples through the network at the values of any frame
    train: bool = False
    edit: bool = False  # be changed by hand
    go: bool = False  # stand at another step than the last
    open: bool = False  # open its coming step (``ask``)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the training, in the words that a picture prints."""

    optimizer: str
    batch_size: int
    samples: int  # in the data
    reduction: str  # ``"mean"`` or ``"sum"``
    engine: str  # ``"numba, 1 thread"``
    whole: bool  # whether every step has all samples

    def loss_of(self, every: bool, noun: str = "sample", batch: int = 0) -> str:
        """Return words for the samples of a loss: all of them (`every`), or those of the coming step."""
        count = self.samples if every else batch or self.batch_size
        which = f"{f'{count:,} ' if count > 1 else ''}{noun}{'s' * (count > 1)}"
        which = f"{'the next' if count < self.samples else 'all' if count > 1 else 'the'} {which}"
        return f"sum of {which}" if self.reduction == "sum" and count > 1 else f"of {which}"


class Source(Protocol):
    """Base of the sources; it refuses what a subclass does not define. `what` is the source's name in messages."""

    what: str = "this"
    can: Abilities = Abilities()

    @property
    @abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that have cubes."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from input to output; empty without a network."""
        return ()

    @property
    def way(self) -> tuple[Stage, ...]:
        """The stages that name the weights; a source may know them without drawing their rows."""
        return self.stages

    def follow(self, frame: Frame) -> None:
        """Take tensors and stages from `frame` from now on."""
        return

    @property
    def n_inputs(self) -> int:
        """Numbers per sample; 0 without a network."""
        return 0

    @property
    def facts(self) -> Facts | None:
        """Facts about the training, or None without training."""
        return None

    @property
    def curve(self) -> Curve:
        """Step, loss and learning rate of every step so far."""
        return NO_CURVE

    @property
    def counted(self) -> bool:
        """True if steps are counted."""
        return self.facts is not None

    @property
    def learns(self) -> bool:
        """True if gradients are possible; plain arrays have none."""
        return self.can.edit or self.recorded or self.facts is not None

    recorded: bool = False
    """True if the source is a recording, which does not change."""
    of: str = ""
    """Name of a difference ("b - a"); empty for the numbers of one moment."""

    def lacks(self, quantity: str) -> str:
        """Return why the frames lack a quantity that cubes can show; empty if they have it."""
        return ""

    def weight_record(self, index: int) -> WeightRecord | None:
        """Return the past of the weight at a flat index, or None if that needs computing."""
        return None

    @property
    def couples(self) -> bool:
        """True if the gradient of a sample depends on other samples of its batch."""
        return False

    @property
    def edits(self) -> int:
        """Number of edits before the current step."""
        return 0

    @property
    def span(self) -> tuple[int, int]:
        """First and last step that the source can go to."""
        return 0, 0

    @property
    def moments(self) -> Mapping[str, bool]:
        """Optimiser state by name: True if its numbers have a sign, False for magnitudes."""
        return {}

    def place_of(self, store: Store, index: int) -> int | None:
        """Return the flat index in frames of a number of `store`, or None if frames do not have it."""
        return None

    @abstractmethod
    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """Return one consistent snapshot; `probe` (n_inputs,) adds its activations, `state` the arrays of `moments`."""

    def request_frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> FrameRequest:
        """Ask for a frame and do not wait for a thread that trains."""
        return FrameRequest.of(self.frame(probe, state=state))

    def activations(self, probe: ArrayLike, values: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        """Return ``"input"`` and every stage's row for one sample (n_inputs,), at flat `values` (default: current)."""
        raise self._cannot("run a sample through a network")

    def rows(
        self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return rows (N, outputs) of some stages for `inputs` (N, n_inputs), at flat `values` (default: current)."""
        raise self._cannot("run samples through a network")

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the outputs (N, n_outputs) for `inputs` (N, n_inputs), at flat `values` (default: current)."""
        raise self._cannot("predict")

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        """Return the loss on other data, all samples as one batch, at flat `values` (default: current)."""
        raise self._cannot("evaluate a loss")

    def whole_loss(self, values: NDArray[Any] | None = None) -> float:
        """Return the loss of all training samples as one batch, at flat `values` (default: current)."""
        return self.evaluate(*self.samples(), values)

    def sample_gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """Return the gradient (P,) of the loss of one sample at flat `values`."""
        raise self._cannot("take a gradient")

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return copies of the training inputs (N, n_inputs) and targets (N, n_targets)."""
        raise self._cannot("give its data")

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return inputs (n_inputs,) and targets (n_targets,) of one sample; `index` counts from 0."""
        raise self._cannot("give its data")

    @property
    def first_sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Inputs (n_inputs,) and targets (n_targets,) of the first sample, or None without data."""
        return None

    def ask(self, function: Callable[[Run], Any]) -> PendingCall:
        """Call `function` with the run between two steps; do not wait for a thread that trains."""
        raise self._cannot("open a step")

    def train(self, count: int = 1) -> None:
        """Do `count` more steps."""
        raise self._cannot("be trained")

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Apply an edit between two steps; edits of one `gesture` that replace each other count as one."""
        raise self._cannot("be edited")

    def load(self, path: Path) -> int:
        """Continue from the weights in a file and return their step."""
        raise self._cannot("load weights")

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Take step, loss and learning rate of the user's own loop; None is unknown."""
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
    """One frame, and forward passes at its values, even after its run has moved on; `source` is its origin."""

    frame: Frame
    source: Source

    @property
    def step(self) -> int:
        """Training steps done."""
        return self.frame.step

    def tensor(self, name: str) -> NDArray[np.floating]:
        """Return a copy of a tensor (``"0.weight"``) in its own shape; UnknownNameError if there is none."""
        for tensor in self.source.tensors:
            if tensor.name == name:
                return tensor.of(self.frame.values).copy()
        raise UnknownNameError(f"no tensor {name!r}; allowed: {listing(t.name for t in self.source.tensors)}")

    def predict(self, inputs: ArrayLike) -> NDArray[Any]:
        """Return the outputs (N, n_outputs) for `inputs` (N, n_inputs)."""
        return self.source.predict(inputs, self.frame.values)

    def rows(self, inputs: ArrayLike, *stages: str) -> dict[str, NDArray[Any]]:
        """Return the rows of the named stages for `inputs` (N, n_inputs), each (N, outputs)."""
        return self.source.rows(inputs, stages, self.frame.values)

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return training inputs (N, n_inputs) and targets (N, n_targets) of that moment; wait for no thread."""
        return self.frame.samples() or self.source.samples()

    def whole_loss(self) -> float:
        """Return the loss of all training samples of that moment as one batch; wait for no thread."""
        samples = self.frame.samples()
        return self.source.whole_loss(self.frame.values) if samples is None else self.evaluate(*samples)

    def shown_loss(self, every: bool) -> float:
        """Return the loss that texts show for these weights: on all samples (`every`) or on the coming batch."""
        facts = self.source.facts
        if every and self.source.can.predict and self.frame.shown_loss is None and not (facts and facts.whole):
            return self.whole_loss()
        return self.frame.display_loss

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike) -> float:
        """Return the loss on other data, all samples as one batch."""
        return self.source.evaluate(inputs, targets, self.frame.values)


class RunSource(Source):
    """The current state of a run; edits happen between two of its steps."""

    what, can = "the run", Abilities(predict=True, train=True, edit=True, open=True)

    def __init__(self, run: Run) -> None:
        self.run, self._way = run, run._forward
        if run.timeline.past() is not None:  # a closed run keeps no past
            self.can = replace(self.can, go=True)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self._way.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self._way.stages

    def follow(self, frame: Frame) -> None:
        """Take tensors, stages and forward passes from the network of `frame`; the run may have another network."""
        if frame.forward is not None and frame.forward is not self._way:
            self._way = frame.forward
            self.__dict__.pop("_gradient", None)

    def _network_of(self, values: NDArray[Any] | None) -> tuple[Forward, NDArray[Any]]:
        """Return the network and the checked flat values; None means the current ones."""
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
        """State of the optimiser; arrays that the rule lists in `squares` have no sign."""
        optimizer = self.run.optimizer
        return {name: name not in optimizer.squares for name in optimizer.state}

    def place_of(self, store: Store, index: int) -> int | None:
        """Return `index` if `store` is the run's and its network is the one followed; otherwise None."""
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
        """Return rows in float64. Pictures may come as N x C x H x W; stage ``"input"`` is the samples."""
        way, numbers = self._network_of(values)
        return way.rows(inputs, stages, numbers)

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        way, numbers = self._network_of(values)
        return way.predict(inputs, numbers)

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        way, numbers = self._network_of(values)
        return evaluated(self.run, way, inputs, targets, numbers)

    def sample_gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """Return the gradient in float64."""
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
        """Call `function` at once, in the calling thread."""
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
