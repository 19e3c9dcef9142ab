"""Make the engine of a run, and switch to another one between two steps. The numbers stay in the problem's arrays."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..contexts import collection_paused
from ..engine.outside import Outside
from ..engine.problem import Problem, Trainer
from ..engine.table import ENGINES, EngineChoice, find
from ..errors import DeviceLostError, DeviceMemoryError, ScalarvizError, listing
from ..tape import Tape
from .core.training import full_speed as speed_of
from .edits import SetEngine

if TYPE_CHECKING:
    from .run import Run


def chosen(run: Run) -> EngineChoice:
    """Return the engine and the reason for it, followed by its current remarks."""
    choice, training = run._choice, run.__dict__.get("_training")
    if training is None:
        return choice
    data = run._problem.data
    changed = data.remark if isinstance(data, Outside) else ""
    remarks = (choice.why, training.trainer.remark, changed, run.breakpoints.remark)
    said = "; ".join(filter(None, remarks))
    return choice if said == choice.why else replace(choice, why=said)


def go_on_with(run: Run, engine: str, why: str) -> None:
    """Continue with another engine on the same numbers; if it cannot be made, nothing changes."""
    run._training.trainer.release()  # room for the other one
    trainer = trainer_of(run, engine, run._problem)
    trainer.prepare()
    run._choice = EngineChoice(engine, why, threads=_threads(trainer), since=run._training.steps)
    run._training.change(trainer)
    run._full_speed = None


def prepare_anew(run: Run) -> None:
    """Prepare the run's engine again after parts of the problem were replaced."""
    run._training.trainer.release()  # room for the other one
    run._training.change(make_trainer(run, run._problem))


def advance(run: Run, most: int) -> int:
    """Call the engine once, for at most `most` steps; return how many were done.

    If a device fails in the call, another engine repeats it, from the numbers before the call.
    """
    if run._tape.modes:
        _tell_modes(run, run._tape)
    try:
        return run._training.advance(most)
    except DeviceLostError as error:
        _go_on_without(run, error)
    return run._training.advance(most)


def ready(run: Run) -> bool:
    """Return whether the first step begins at once, without compiling or loading kernels."""
    return run._training.trainer.ready


def missing_kernels(run: Run) -> list[tuple[str, str, str]]:
    """Return the units that the first step of a run with ``engine="numba"`` would compile; see `engine.cpu.loader`."""
    trainer: Any = run._training.trainer
    found: list[tuple[str, str, str]] = trainer.missing()
    return found


def full_speed(run: Run) -> float:
    """Return steps per second without interruption, measured once on a copy; for objects, the speed so far."""
    if run.engine.name == "objects":
        return run._training.steps_per_second
    if run._full_speed is None:
        run._full_speed = _measured(run)
    return run._full_speed


def _measured(run: Run) -> float:
    measured = partial(speed_of, run._problem, partial(make_trainer, run), alone=run._loss_scale is not None)
    try:
        return measured()
    except DeviceLostError as error:
        _go_on_without(run, error)
    except DeviceMemoryError:
        run._training.trainer.release()  # two of them do not fit; the next call takes it again
    return measured()


def _tell_modes(run: Run, tape: Tape) -> None:
    """Warn once that a module is no longer in the mode in which it was traced."""
    other = [] if run._told_modes is tape else [module for module in tape.modes if not module.training]
    if not other:
        return
    run._told_modes, kinds = tape, listing(sorted({type(module).__name__ for module in other}))
    said = (
        f"eval() was called after the run was made ({kinds}). The run keeps training in its recorded mode; predictions "
        "always use eval(). Call run.change(model=net) to use the current modes, or net.train() to end this warning"
    )
    warnings.warn_explicit(said, RuntimeWarning, "scalarviz", 0)


def _go_on_without(run: Run, lost: DeviceLostError) -> None:
    """Continue on an engine of the processor: this process cannot use the device any more."""
    name = "numpy" if ENGINES["numba"].missing(0) else "numba"
    why = f"{run._choice.name} computed {run._training.steps:,} steps, then {lost}"
    run.do(SetEngine(name, why))
    warnings.warn_explicit(f"training continues on {name}: {why}", RuntimeWarning, "scalarviz", 0)


def first_trainer(run: Run, problem: Problem) -> Trainer:
    """Return the run's engine, or the substitute of ``"auto"`` if a GPU exists and cannot be used."""
    try:
        return make_trainer(run, problem)
    except ScalarvizError as error:
        instead = run._choice.instead
        if instead is None:
            raise
        run._choice = replace(instead, why=f"{instead.why}; the GPU cannot be used: {error}")
        return make_trainer(run, problem)


def make_trainer(run: Run, problem: Problem) -> Trainer:
    """Return the run's engine on `problem`."""
    try:
        trainer = trainer_of(run, run._choice.name, problem)
    except DeviceLostError as error:
        if "_training" not in run.__dict__:  # nothing to continue with
            raise
        _go_on_without(run, error)
        trainer = trainer_of(run, run._choice.name, problem)
    run._choice = replace(run._choice, threads=_threads(trainer))
    return trainer


@collection_paused()
def trainer_of(run: Run, engine: str, problem: Problem) -> Trainer:
    """Return the named engine on `problem`."""
    entry, device = find(engine)
    return entry.make(problem, run._graph.on_rows, run._graph.part, device)


def _threads(trainer: Trainer) -> int:
    return getattr(trainer, "threads", 1)
