"""What is seen of a run: frames, its numbers, and forward passes beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import position
from ..engine.problem import Midway
from .checks import as_pair, check_targets, fitting, flat
from .core.forward import Forward
from .core.reading import FrameRequest, Reading
from .core.setup import setup_of
from .core.training import in_turn

if TYPE_CHECKING:
    from .run import Run


def request_frame(run: Run, probe: ArrayLike | None, state: bool) -> FrameRequest:
    """A frame that is there at once, or at the next pause of the thread that trains."""
    sample = None if probe is None else run._forward.sample(probe)
    gate = run._store.gate
    if gate is None or gate.mine():
        request = FrameRequest(sample)
        request.give(reading(run, state))
        return request
    return cast(FrameRequest, gate.request(sample, state=state))


def reading(run: Run, state: bool = False) -> Reading:
    """The numbers of now, the optimiser's `state` among them if it is wanted; for the thread that trains."""
    run.timeline.enter()
    store, training, lr = run._store, run._training, float(run.optimizer.lr)
    return Reading(
        step=training.steps,
        loss=training.loss,
        lr=lr if training.lr is None else training.lr,
        values=store.value.copy(),
        half=run._loss_scale is not None,
        gradient=store.grad.copy(),
        previous=run._problem.previous.copy(),
        update=training._update,
        computed=store.computed.astype(bool),
        frozen=store.frozen.astype(bool),
        curve=training.history.curve_to(training.steps, training.loss, training.lr),
        past=run.timeline.past(),
        stopped_by="" if run._stop is None or run._stop.step != training.steps else str(run._stop),
        edited=training.edited,
        next_lr=lr,
        data=run._problem.data,
        forward=run._forward,
        settings=setup_of(run._problem, run.optimizer),
        state=_state_now(run) if state else None,
    )


def _state_now(run: Run) -> dict[str, NDArray[Any]]:
    """Copies of the optimiser's arrays (P,) by name."""
    named = zip(run.optimizer.state, run._problem.state, strict=True)
    return {name: array.copy() for name, array in named}


def reading_midway(run: Run, now: Midway) -> Reading:
    """Numbers of the call that is under way; for the thread that trains."""
    store, training, done = run._store, run._training, len(now.losses)
    coming = training.pace.table(done + 1, run._problem.epoch)
    rates = coming[:, 0] if isinstance(coming, np.ndarray) else np.full(done + 1, coming)
    return Reading(
        step=training.steps + done,
        loss=float(now.losses[-1]),
        lr=float(rates[-2]),
        values=now.values,
        half=run._loss_scale is not None,
        gradient=now.gradient,
        previous=now.previous,
        update=None,
        computed=run._problem.of_weights,
        frozen=store.frozen.astype(bool),
        curve=training.history.curve(),
        past=run.timeline.past(),
        edited=False,
        next_lr=float(rates[-1]),
        data=run._problem.data,
        forward=run._forward,
        settings=setup_of(run._problem, run.optimizer),
        more=now.losses,
        rates=rates[:-1],
    )


def evaluated(run: Run, forward: Forward, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any]) -> float:
    """The loss on other data, of a network that the run has or had."""
    as_pair((inputs, targets))
    x = fitting(inputs, run._shapes[0], "evaluate: the inputs")
    y = fitting(targets, run._shapes[1], "evaluate: the targets")
    graph = run._graph
    if forward in (graph.forward, graph.trained):  # of a network that it had the loss may be another one, too
        check_targets(graph.loss, y, forward.tape)
    return forward.evaluate(x, y, values)


def values_or_now(run: Run, values: NDArray[Any] | None) -> NDArray[Any]:
    """Flat numbers that were given, checked, or those of now."""
    return run.values if values is None else flat(values, len(run._store.value))


def live_values(run: Run) -> NDArray[Any]:
    """The live flat values; beside a training thread a copy."""
    gate = run._store.gate
    if gate is not None and not gate.mine():
        return gate.values(slice(0, len(run._store.value)))
    run._lend()
    return run._store.value


@in_turn
def samples(run: Run) -> tuple[NDArray[Any], NDArray[Any]]:
    """Copies of the inputs and targets."""
    n, m = run._tape.n_inputs, run._tape.n_targets
    return run._problem.data[:n].T.copy(), run._problem.data[n : n + m].T.copy()


def sample(run: Run, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inputs (n_inputs,) and targets (n_targets,) of one sample, as they are trained on; OutOfRangeError: none."""
    n, data = run._tape.n_inputs, run._problem.data
    numbers = data[: n + run._tape.n_targets, position(index, data.shape[1], "the samples")].astype(np.float64)
    return numbers[:n], numbers[n:]
