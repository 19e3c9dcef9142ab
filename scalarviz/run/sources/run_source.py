"""`RunSource`: a live Run as a :class:`Source`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...scalar.store import Store
from ..checks import flat
from ..core.forward import Forward
from ..core.frame import Curve, Frame, Stage, Tensor
from ..core.requests import AskedCall, FrameRequest
from ..edits import Edit
from ..looking import evaluated, sample
from ..run import Run
from ..source import Can, Facts, Source
from ..travel import span
from ..weight_record import SampleGradient


class RunSource(Source):
    """A run as it stands, changed between two of its steps."""

    what, can = "the run", Can(predict=True, train=True, edit=True, open=True)

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

    def _of(self, values: NDArray[Any] | None) -> tuple[Forward, NDArray[Any]]:
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
        return Facts(name, problem.batch, problem.data.shape[1], problem.reduction, str(run.engine), problem.whole)

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
        way, numbers = self._of(values)
        return way.activations(probe, numbers)

    def rows(
        self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """In float64; pictures may come as N x C x H x W, and stage ``"input"`` is the samples themselves."""
        way, numbers = self._of(values)
        return way.rows(inputs, stages, numbers)

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        way, numbers = self._of(values)
        return way.predict(inputs, numbers)

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        way, numbers = self._of(values)
        return evaluated(self.run, way, inputs, targets, numbers)

    def sample_gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """In float64."""
        return self._gradient.gradient(sample, target, values)

    @cached_property
    def _gradient(self) -> SampleGradient:
        return SampleGradient(self.run, self._way)

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return sample(self.run, index)

    @property
    def first_sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return sample(self.run, 0)

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.run.samples()

    def ask(self, function: Callable[[Run], Any]) -> AskedCall:
        """At once, in the thread that asks."""
        asked = AskedCall(partial(function, self.run))
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
