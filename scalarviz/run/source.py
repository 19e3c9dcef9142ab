"""`Source`: what a picture may ask of whatever has weights, and `Moment`: one frame with its source.

A view knows a Source and nothing behind it, so that it shows a run, weights, arrays or a recording alike. What a source
cannot do it says beforehand (:attr:`Source.can`); asked all the same it raises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StateError, UnknownNameError, listing
from .core.frame import NO_CURVE, Curve, Frame, Stage, Tensor
from .core.requests import AskedCall, FrameRequest

if TYPE_CHECKING:
    from ..scalar.store import Store
    from .edits import Edit
    from .run import Run
    from .weight_record import WeightRecord


Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Can:
    """What a source can do.

    `predict`: send samples through the network at the values of any frame (``predict``, ``rows``,
    ``evaluate``). `train`: do more steps. `edit`: be changed by hand. `go`: stand at another step than the
    last. `open`: open its coming step (``ask``).
    """

    predict: bool = False
    train: bool = False
    edit: bool = False
    go: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What trains it, in the words that a picture prints (engine ``"numba, 1 thread"``).

    `samples` are those that there are; `reduction` is ``"mean"`` or ``"sum"``; `whole`: every step has all
    samples.
    """

    optimizer: str
    batch_size: int
    samples: int
    reduction: str
    engine: str
    whole: bool


class Source(Protocol):
    """What is asked and done.

    A class that inherits from it has refusals for all that it does not define itself.

    `what` is its name in messages.
    """

    what: str = "this"
    can: Can = Can()

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
        """The same by which weights are named: it may be known where no rows of it are to be drawn."""
        return self.stages

    def follow(self, frame: Frame) -> None:
        """From now on tensors and stages are those of a frame, where they may change at all."""
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
        """Whether steps are counted: there is something to say of them."""
        return self.facts is not None

    @property
    def learns(self) -> bool:
        """Whether there can be gradients: plain arrays have none."""
        return self.can.edit or self.recorded or self.facts is not None

    @property
    def recorded(self) -> bool:
        """Whether it is a record of what was: nothing of it will change any more."""
        return False

    @property
    def of(self) -> str:
        """Whose numbers they are, where they are no moment's own ("b - a"); empty where they are."""
        return ""

    def lacks(self, quantity: str) -> str:
        """Why none of its frames has a quantity that cubes can show, in a few words; empty where they have it."""
        return ""

    def weight_record(self, index: int) -> WeightRecord | None:
        """How the weight at a flat index moved on the way, where that need not be worked out; else None."""
        return None

    @property
    def couples(self) -> bool:
        """Whether what a sample asks for depends on the others of its batch: then none does so alone."""
        return False

    @property
    def edits(self) -> int:
        """Edits that were done on the way to where it stands."""
        return 0

    @property
    def span(self) -> tuple[int, int]:
        """First and last step at which it can stand."""
        return 0, 0

    @property
    def moments(self) -> Mapping[str, bool]:
        """What is kept for each weight by whoever trains: by its name, whether it has a sign or is a magnitude."""
        return {}

    def place_of(self, store: Store, index: int) -> int | None:
        """Where a number of a store lies in the flat arrays of frames; None: it is none of these."""
        return None

    @abstractmethod
    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """One consistent snapshot; `probe` is one sample (n_inputs,) whose activations are wanted.

        With `state` it holds the numbers of `moments` too.
        """

    def request_frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> FrameRequest:
        """The same without waiting, where a thread changes the numbers; elsewhere it is there at once."""
        return FrameRequest.of(self.frame(probe, state=state))

    def activations(self, probe: ArrayLike, values: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        """``"input"`` and the row of every stage for one sample (n_inputs,), at flat `values` (default now)."""
        raise self._cannot("send a sample through a network")

    def rows(
        self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """The rows of some stages for many samples (N, n_inputs), each (N, outputs), at flat `values` (default now)."""
        raise self._cannot("send samples through a network")

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs), shape (N, n_outputs), at flat `values` (default now)."""
        raise self._cannot("predict")

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        """The loss on other data, all samples as one batch, at flat `values` (default now)."""
        raise self._cannot("evaluate a loss")

    def whole_loss(self, values: NDArray[Any] | None = None) -> float:
        """The loss of all samples that are learnt from, as one batch, at flat `values` (default now)."""
        return self.evaluate(*self.samples(), values)

    def sample_gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """What one sample alone asks for: the gradient (P,) of its loss at flat `values`."""
        raise self._cannot("take a gradient")

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of the inputs (N, n_inputs) and targets (N, n_targets) that are learnt from."""
        raise self._cannot("name its data")

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Inputs (n_inputs,) and targets (n_targets,) of one of the :attr:`Facts.samples`, counted from 0."""
        raise self._cannot("name its data")

    @property
    def first_sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Inputs (n_inputs,) and targets (n_targets,) of the first sample of the data; None where there is none."""
        return None

    def ask(self, function: Callable[[Run], Any]) -> AskedCall:
        """Let a function look at the run between two of its steps, without waiting for it where a thread trains."""
        raise self._cannot("open a step")

    def train(self, count: int = 1) -> None:
        """Do `count` more steps."""
        raise self._cannot("be trained")

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change it by hand between two steps; edits of one `gesture` that leave nothing of each other are one."""
        raise self._cannot("be changed by hand")

    def load(self, path: Path) -> int:
        """Go on from the weights in a file; returns the step that they are of."""
        raise self._cannot("open weights")

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Take over what a loop of the user's own says of its last step; None says nothing."""
        raise StateError(f"{self.what} counts its steps and knows its loss itself; try update() without them")

    def to(self, step: int) -> None:
        """Stand at `step`, which lies in :attr:`span`."""
        first, last = self.span
        if not first <= step <= last:
            raise StateError(f"{self.what} cannot go to step {step:,}; allowed: {first:,} to {last:,}")

    def _cannot(self, do: str) -> StateError:
        return StateError(f"{self.what} cannot {do}; try a Run or a Scene")


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One frame, and forward passes at its values: never at those of a run that has gone on meanwhile.

    `source` says where the numbers come from, and what else it knows.
    """

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
        """Inputs (N, n_inputs) and targets (N, n_targets) that were learnt from at that moment; waits for no thread."""
        return self.frame.samples() or self.source.samples()

    def whole_loss(self) -> float:
        """The loss of all samples that were learnt from at that moment, as one batch; waits for no thread."""
        samples = self.frame.samples()
        if samples is None:
            return self.source.whole_loss(self.frame.values)
        return self.evaluate(*samples)

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike) -> float:
        """The loss on other data, all samples as one batch."""
        return self.source.evaluate(inputs, targets, self.frame.values)
