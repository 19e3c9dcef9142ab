"""What is said of an attribute of a Run that cannot be set: which call changes it, or which name was meant."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..errors import UnknownAttributeError, shown

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
"""By attribute, what changes it where :meth:`Run.change` has no argument of that name."""


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
