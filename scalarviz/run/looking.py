"""`Looking`: the part of a run that gives frames and sends samples through the network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.problem import Midway, Problem
from ..optim import Optimizer
from ..scalar.store import Gate, Store
from ..tape import Tape
from .checks import Shape, as_pair, check_targets, fitting, flat
from .core.forward import Forward
from .core.frame import Frame
from .core.graph import Graph
from .core.loss_scale import LossScale
from .core.reading import Reading, settings_of
from .core.requests import FrameRequest
from .core.training import Training
from .past.timeline import Timeline
from .questions.breakpoints import Stop


class Looking:
    """Frames and forward passes."""

    gate: Gate | None
    loss_function: Callable[..., Any]
    optimizer: Optimizer
    problem: Problem
    _forward: Forward
    _graph: Graph
    _loss_scale: LossScale | None
    _shapes: tuple[Shape, Shape]
    _store: Store
    _tape: Tape
    timeline: Timeline
    _training: Training
    _stop: Stop | None

    @property
    def sample_shape(self) -> Shape:
        """The shape of one sample's inputs, as the model gets them."""
        return self._shapes[0]

    @property
    @abstractmethod
    def values(self) -> NDArray[Any]:
        """The flat values as they are now."""

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """One consistent snapshot; `probe` is one sample (n_inputs,) whose activations are wanted.

        With `state` it holds the optimiser's arrays too (``Frame.state``). Beside a training
        thread it waits for one; :meth:`request_frame` does not.
        """
        return self.request_frame(probe, state=state).result()

    def request_frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> FrameRequest:
        """Ask for a frame without waiting for it.

        Parameters
        ----------
        probe : array_like, shape (n_inputs,), optional
            One sample whose activations are wanted.
        state : bool
            Whether the optimiser's arrays are wanted too, which takes a copy of each. In the middle of a call of an
            engine that has them elsewhere such a frame comes after the call.

        Returns
        -------
        FrameRequest
            ``done`` says whether the frame is there, ``result(timeout)`` waits for it, and ``await`` does under
            asyncio. Without a training thread it is the frame of this moment. Nobody knows of a thread of your own
            that calls ``step``: its numbers may change while they are read, so let a `Worker` train where another
            thread looks. Beside a training thread (a `Worker`, a window) it is that of the next pause between two
            calls of the engine, after the edits that were asked for before; an engine with a memory of its own may
            give one from the middle of a call. A request is never lost: if the thread ends, it gets the frame of its
            end.

        Raises
        ------
        InputError
            `probe` has the wrong length, holds no numbers or is not finite.

        Examples
        --------
        ``asked = run.request_frame(); ...; frame = asked.result(timeout=2.0)``
        """
        sample = None if probe is None else self._forward.sample(probe)
        gate = self.gate
        if gate is None or gate.mine():
            request = FrameRequest(sample)
            request.give(self._reading(state))
            return request
        return cast(FrameRequest, gate.request(sample, state=state))

    def _reading(self, state: bool = False) -> Reading:
        """The numbers of now, the optimiser's `state` among them if it is wanted; for the thread that trains."""
        self.timeline.enter()
        store, training, lr = self._store, self._training, float(self.optimizer.lr)
        return Reading(
            step=training.steps,
            loss=training.loss,
            lr=lr if training.lr is None else training.lr,
            values=store.value.copy(),
            half=self._loss_scale is not None,
            gradient=store.grad.copy(),
            previous=self.problem.previous.copy(),
            update=training._update,
            computed=store.computed.astype(bool),
            frozen=store.frozen.astype(bool),
            curve=training.history.curve_to(training.steps, training.loss, training.lr),
            past=self.timeline.past(),
            stopped_by="" if self._stop is None or self._stop.step != training.steps else str(self._stop),
            edited=training.edited,
            next_lr=lr,
            data=self.problem.data,
            forward=self._forward,
            settings=settings_of(self.problem, self.optimizer),
            state=self._state_now() if state else None,
        )

    def _state_now(self) -> dict[str, NDArray[Any]]:
        """Copies of the optimiser's arrays (P,) by name."""
        named = zip(self.optimizer.state, self.problem.state, strict=True)
        return {name: array.copy() for name, array in named}

    def _reading_midway(self, now: Midway) -> Reading:
        """Numbers of the call that is under way; for the thread that trains."""
        store, training, done = self._store, self._training, len(now.losses)
        coming = training.pace.table(done + 1, self.problem.epoch)
        rates = coming[:, 0] if isinstance(coming, np.ndarray) else np.full(done + 1, coming)
        return Reading(
            step=training.steps + done,
            loss=float(now.losses[-1]),
            lr=float(rates[-2]),
            values=now.values,
            half=self._loss_scale is not None,
            gradient=now.gradient,
            previous=now.previous,
            update=None,
            computed=self.problem.of_weights,
            frozen=store.frozen.astype(bool),
            curve=training.history.curve(),
            past=self.timeline.past(),
            edited=False,
            next_lr=float(rates[-1]),
            data=self.problem.data,
            forward=self._forward,
            settings=settings_of(self.problem, self.optimizer),
            more=now.losses,
            rates=rates[:-1],
        )

    def activations(self, probe: ArrayLike, values: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        """``"input"`` and the row of every stage for one sample (n_inputs,), at flat `values` (default now)."""
        return self._forward.activations(probe, self._values(values))

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs) at flat `values` (default now), shape (N, n_outputs).

        Nested outputs are numbers in a row here, in the order of their lists, tuples and dicts.
        """
        return self._forward.predict(inputs, self._values(values))

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        """The loss on other data, all samples as one batch, at flat `values` (default now)."""
        return self._evaluated(self._forward, inputs, targets, self._values(values))

    def _evaluated(
        self, forward: Forward, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any]
    ) -> float:  # of a network that it has or had
        as_pair((inputs, targets))
        x = fitting(inputs, self._shapes[0], "evaluate: the inputs")
        y = fitting(targets, self._shapes[1], "evaluate: the targets")
        graph = self._graph
        if forward in (graph.forward, graph.trained):  # of a network that it had the loss may be another one, too
            check_targets(graph.loss, y, forward.tape)
        return forward.evaluate(x, y, values)

    def _values(self, values: NDArray[Any] | None) -> NDArray[Any]:
        return self.values if values is None else flat(values, len(self._store.value))
