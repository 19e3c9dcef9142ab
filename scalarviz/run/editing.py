"""Changes from outside: all go through ``run.do(edit)``, and this is its shorthand."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import real_array, text
from ..engine.outside import as_source
from ..engine.problem import Sampling
from ..errors import TypeMismatchError, UnknownAttributeError, shown
from .atomic import Atomic
from .core.training import in_turn
from .edits import (
    Call,
    Change,
    Edit,
    SetBatchSize,
    SetEngine,
    SetFrozen,
    SetLimits,
    SetOptimizer,
    SetSampling,
    SetWeights,
    Together,
)
from .edits.base import Applied

if TYPE_CHECKING:
    from .run import Run


_CALLS = {
    "loss_function": "run.change(loss=...)",
    "seed": "run.restart(seed=...) for other weights, or a new Run(..., seed=...) for another order of the samples",
    "dtype": "a new Run(..., dtype=...)",
    "threads": "a new Run(..., threads=...)",
    "device": "run.change(engine=...)",
    "learning_rate": "run.lr = ...",
    "values": "run.set_weights(start, numbers)",
    "weights": "run.set_weights(start, numbers)",
    "steps": "run.step(n) or run.to(step)",
    "stages": "run.change(model=...)",
    "tensors": "run.change(model=...)",
    "breakpoints": "run.break_on(condition)",
    "data": "run.refill(inputs, targets)",
    "inputs": "run.refill(inputs, targets)",
    "targets": "run.set_targets(targets)",
}
"""By attribute, what changes it where ``run.change`` has no argument of that name."""


class AsNow:
    """Stands for what is left as it is."""

    def __repr__(self) -> str:
        return "as now"


AS_NOW = AsNow()


@in_turn
def do(run: Run, edit: Edit, gesture: str) -> None:
    """Change the run between two steps; what was done stands in its log."""
    if not isinstance(edit, Edit):
        raise TypeMismatchError(f"do: an Edit is wanted, such as SetWeights(0, [0.5]); got {type(edit).__name__}")
    text(gesture, "do: the gesture")
    run._enter()
    edit = edit.resolved(run._hands)
    edit.check(run._hands)
    if isinstance(edit, Call):
        _call(run, edit, gesture)
        return
    with Atomic(
        run, setup=not isinstance(edit, SetWeights | SetFrozen | Together)
    ) as atomic:  # what is done stands in the log
        atomic.waits = not isinstance(edit, SetEngine)  # it may take long
        edit.apply(run._hands)
        atomic.waits = True
        _note(run, edit, gesture)


def _call(run: Run, edit: Call, gesture: str) -> None:
    """A function cannot be done again: what it did by edits stands in the log, and what it wrote as edits."""
    revision, said = run.timeline.revision, run._said
    run._said = said or edit.words()
    run._traveller.lend()
    try:
        edit.apply(run._hands)
        written = tuple(change.edit for change in run._traveller.found())
        if written or run.timeline.revision == revision:  # what a function did by edits says more
            _note(run, edit, gesture, does=written)
    finally:
        run._said = said


def _note(run: Run, edit: Edit, gesture: str, does: tuple[Edit, ...] | None = None) -> None:
    what = run._said or edit.words(run._graph.name_of)
    run.timeline.note(Applied(run._training.steps, edit, what, gesture, does))


def write(run: Run, start: int, numbers: NDArray[Any]) -> None:
    """``w.data = ...``: beside a training thread it waits for its turn, and is seen at once."""
    (run._store.gate_here() or run).do(SetWeights(start, numbers), gesture="data")


def freeze(run: Run, start: int, flags: NDArray[np.bool_]) -> None:
    """``w.frozen = ...``, likewise."""
    (run._store.gate_here() or run).do(SetFrozen(start, flags), gesture="frozen")


def change(
    run: Run, parts: tuple[Any, Any, Any, Any], batch: tuple[int | None, Sampling | None], engine: str | None,
    limits: Mapping[str, Any], numbers: dict[str, Any],
) -> None:  # fmt: skip
    """Change how the run trains: `parts` as for :class:`Change`; None and `AS_NOW` stand for what stays."""
    edits: list[Edit] = []
    if any(part is not None for part in parts):
        edits.append(Change(*parts, tuple(numbers.items()), *batch))
    else:
        edits += [SetOptimizer(tuple(numbers.items()))] if numbers else []
        if batch[1] is not None:
            edits.append(SetSampling(batch[1], batch[0]))
        elif batch[0] is not None:
            edits.append(SetBatchSize(batch[0]))
    changed = {name: limit for name, limit in limits.items() if not isinstance(limit, AsNow)}
    edits += [SetLimits(**{**asdict(run._problem.limits), **changed})] if changed else []
    edits += [] if engine is None else [SetEngine(engine)]
    for edit in edits[1:]:  # the first one is checked when it is done
        edit.check(run._hands)
    for edit in edits:
        run.do(edit)


def both(inputs: Any, targets: Any, what: str) -> Any:
    """Inputs and targets: numbers as arrays, what gives samples when asked as a source."""
    named = ((inputs, f"{what}: the inputs"), (targets, f"{what}: the targets"))
    sources = [as_source(given, name) for given, name in named]
    return tuple(s if s is not None else real_array(*given) for s, given in zip(sources, named, strict=True))


# ---- assigning to an attribute


def can_be_set(run: Run, name: str) -> bool:
    """Whether assigning to a public attribute does something: it is an edit, or what a subclass has in its body."""
    known: Any = inspect.getattr_static(type(run), name, None)
    if isinstance(known, property):
        return known.fset is not None
    return known is not None and not hasattr(type(known), "__get__")


def not_set(run: Run, name: str) -> UnknownAttributeError:
    """The error for an assignment to an attribute of a run that changes nothing."""
    changed = dict.fromkeys(inspect.signature(run.change).parameters)
    changed |= dict.fromkeys(run.optimizer.hyperparameters())
    if name in _CALLS or name in changed:
        how = _CALLS.get(name) or f"run.change({name}=...)"
        return UnknownAttributeError(f"run.{name} cannot be set; use {how}")
    if name in dir(run):
        return UnknownAttributeError(f"run.{name} cannot be set; it is the Run's own")
    near = get_close_matches(name, [*(n for n in dir(run) if n[0] != "_"), *changed, *_CALLS], 1, 0.7)
    meant = f"did you mean {near[0]!r}?" if near else "a class of your own has its attributes in its body"
    return UnknownAttributeError(f"a Run has no attribute {shown(name)}, nothing would read it; {meant}")
