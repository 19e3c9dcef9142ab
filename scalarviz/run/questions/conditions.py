"""`Condition`: a text about a run that is true or false after every step, and the meaning of its names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.gather import weight_name
from ..core.graph import Forward
from ..core.tensors import Stage, Tensor
from ..core.training import Training
from .diagnosis import sources_of
from .expression import Array, Expression, Kept, Load, Read, fault
from .parser import CONSTANTS, Vocabulary, is_plain, parse

OF_LOSSES = frozenset({"loss", "lr", "step"})
"""Names that need only the losses of a call."""

_NUMBERS, _TRUTH = ("loss", "lr", "step", "grad"), "nan"


@dataclass(frozen=True, eq=False)
class Named:
    """The names of one run."""

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    losses: Mapping[str, Callable[[], float]] = field(
        default_factory=dict
    )  # of the weights now, as a picture shows them

    @cached_property
    def rectifiers(self) -> tuple[Stage, ...]:
        """Stages whose units may be dead."""
        return tuple(stage for stage in self.stages if stage.kind == "relu")

    @cached_property
    def layers(self) -> Mapping[str, Stage]:
        """The stages that ``dead(...)`` takes, by the rectifier's own name or that of the layer before it."""
        sources = sources_of(self.stages)
        layers = {source: stage for stage in self.rectifiers for source in sources[stage.name] if source != "input"}
        return layers | {stage.name: stage for stage in self.rectifiers}

    def unit(self, place: int) -> str:
        """Return the name of a unit at an index of ``dead``, such as ``dead(1)[2]``."""
        return [f"dead({stage.name})[{k}]" for stage in self.rectifiers for k in range(stage.outputs)][place]

    def key(self, tensor: Tensor) -> str:
        """Return the name of a tensor in a condition; in quotes if it is a word of the language."""
        return f'"{tensor.name}"' if tensor.name in (*_NUMBERS, _TRUTH, "dead", *CONSTANTS) else tensor.name

    def weight(self, index: int) -> str:
        """Return the name of the weight at a flat index in a condition, in quotes if needed."""
        tensor = next(t for t in self.tensors if t.start <= index < t.start + t.size)
        places = weight_name(self.tensors, index).removeprefix(tensor.name)
        quote = "" if is_plain(self.key(tensor)) else '"' if '"' not in tensor.name else "'"
        return f"{quote}{tensor.name}{quote}{places}"

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names that a condition may use."""
        known = {"dead": tuple(self.layers)} if self.rectifiers else {}
        missing = {} if known else {"dead": "the model has no ReLU, so no unit can be dead"}
        return Vocabulary(
            names=(*_NUMBERS, *(self.losses.keys() - {*_NUMBERS}), _TRUTH, *known, *map(self.key, self.tensors)),
            of={"grad": tuple(tensor.name for tensor in self.tensors), **known},
            truths=(_TRUTH, "dead"),
            absent=missing,
        )

    @cached_property
    def tensor(self) -> Mapping[str, tuple[Tensor, bool]]:
        """Tensors by their name in a condition, and whether the name means the gradient."""
        values = {self.key(tensor): (tensor, False) for tensor in self.tensors}
        return values | {f"grad({tensor.name})": (tensor, True) for tensor in self.tensors}

    def shaped(self, name: str) -> Array:
        """Return an array with the shape of a name's value, without its memory."""
        if name in self.tensor:
            return np.broadcast_to(0.0, self.tensor[name][0].shape)
        if name in (*_NUMBERS, *self.losses, _TRUTH):
            return np.zeros(())
        stages = self.rectifiers if name == "dead" else [self.layers[name[5:-1]]]
        return np.broadcast_to(False, sum(stage.outputs for stage in stages))


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The numbers of a run at one moment; a new object for every moment."""

    named: Named
    training: Training
    forward: Forward
    next_lr: Callable[[], float]  # the learning rate of the coming step, before the first step
    _found: dict[str, Array] = field(default_factory=dict)

    def read(self, name: str) -> Array:
        """Return the value of a name."""
        if name not in self._found:
            self._found[name] = np.asarray(self._read(name))
        return self._found[name]

    def _read(self, name: str) -> Array | float:
        training, store = self.training, self.training.problem.store
        if name in self.named.losses:
            return self.named.losses[name]()
        match name:
            case "loss":
                return training.loss
            case "lr":
                return self.next_lr() if training.lr is None else training.lr
            case "step":
                return training.steps
            case "grad":  # NaN before there is one
                gradient = self._gradient()
                with np.errstate(invalid="ignore"):
                    return float(np.abs(gradient).max()) if gradient.size else np.nan
            case "nan":
                lost = training.lr is not None and not np.isfinite(training.loss)
                return lost or not all(np.isfinite(part).all() for part in (store.value, self._gradient()))
        if name in self.named.tensor:
            tensor, of_gradient = self.named.tensor[name]
            found: Array = (store.grad if of_gradient else store.value)[tensor.span]
            if of_gradient and not store.computed[tensor.span].all():
                found = np.where(store.computed[tensor.span] != 0, found, np.nan)
            return found.reshape(tensor.shape)
        dead = self.forward.units(store.value, training.problem.data)[0]
        if name == "dead":
            return np.concatenate([dead[stage.name] for stage in self.named.rectifiers])
        return dead[self.named.layers[name[5:-1]].name]

    def _gradient(self) -> Array:
        store = self.training.problem.store
        gradient: Array = store.grad
        return gradient if store.computed.all() else gradient[store.computed != 0]

    def weight_of(self, name: str) -> int | None:
        """Return the weight of ``grad`` or ``nan``: that of the largest gradient, or the first that is not finite."""
        store = self.training.problem.store
        if name == "grad":
            sizes = np.where(store.computed != 0, np.abs(store.grad), -1)
            return int(np.argmax(sizes)) if sizes.size else None
        for part in (store.value, np.where(store.computed != 0, store.grad, 0)):
            lost = np.flatnonzero(~np.isfinite(part))
            if len(lost):
                return int(lost[0])
        return None


# ---- `Condition`: a text about a run that is true or false after every step


Before = NDArray[np.bool_] | Kept


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """An expression with names of a run.

    A condition without ``before``, ``changes`` and ``crosses`` is a state: it *becomes* true at a step before which it
    was false. A condition with them compares a step with the one before, and becomes true at every step at which it
    holds. A condition on whole tensors (``0.weight > 1``) becomes true whenever it does for one more element.
    """

    expression: Expression
    of_losses: bool  # whether it needs only the losses of steps, so that the engine runs at full speed

    @classmethod
    def read(cls, text: str, named: Named, what: str) -> Condition:
        """Parse a text."""
        expression = parse(text, named.vocabulary, what, "truth")
        if not expression.names:
            said = f"a condition without a name never changes; allowed: {named.vocabulary.listed()}"
            raise fault(text, 0, said, what)
        expression.run(named.shaped, expression.keep(named.shaped))  # reports wrong [places] and shapes now
        apart = expression.reduces or not expression.names.isdisjoint(named.losses)
        return cls(expression, expression.names <= OF_LOSSES and not apart)

    @property
    def text(self) -> str:
        """The condition as written."""
        return self.expression.text

    def evaluate(self, read: Read, kept: Kept = ()) -> NDArray[np.bool_]:
        """Return whether it is true, per element, with the values of `read`."""
        return self.expression.run(read, kept).astype(bool, copy=False)

    def keep(self, read: Read) -> Before:
        """Return what has to be known before a step to tell whether the step makes it true."""
        return self.expression.keep(read) if self.expression.needs_before else self.evaluate(read)

    def became_true(self, read: Read, before: Before) -> tuple[NDArray[np.bool_], Before]:
        """Return whether it became true since :meth:`keep` returned `before`, per element; and the new `before`."""
        if isinstance(before, tuple):
            return self.evaluate(read, before), self.expression.keep(read)
        now = self.evaluate(read)
        return now & ~before, now

    def became_true_at(self, steps: Mapping[str, Array], former: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Return whether each of many steps makes it true; `steps` has a number per step, `former` those before."""
        before = {name: np.append(former[name], array[:-1]) for name, array in steps.items()}
        risen, _ = self.became_true(steps.__getitem__, self.keep(before.__getitem__))
        return np.broadcast_to(risen, len(steps["step"]))


# ---- Why a condition became true: its numbers, and their weights


SHOWN = 4
"""Most numbers in a text."""


class Reason(NamedTuple):
    """The reason why a condition is true."""

    text: str  # the first few numbers: ``grad 12.3 in 0.weight[2][1]``, ``0.weight[2][1] 0.01, before -0.02``
    weights: tuple[int, ...]  # flat indices of the weights


def reason(expression: Expression, numbers: Numbers, where: NDArray[np.bool_], before: Before) -> Reason:
    """Return the numbers in a condition at the first element `where` it became true."""
    former = iter(before if isinstance(before, tuple) else ())
    place = tuple(int(i) for i in np.argwhere(where)[0]) if where.ndim else ()
    parts: dict[tuple[str, bool], str] = {}
    weights: dict[int, None] = {}
    for load in expression.loads:
        array = next(former) if load.before else expression.value(load, numbers.read)
        if array.ndim and array.shape != where.shape:
            continue  # max(...) of an array: no single element is the reason
        here = place if array.ndim else ()
        name = load.written + "".join(f"[{index}]" for index in here)
        if load.written == "dead" and here:
            name = numbers.named.unit(here[0])
        number = array[here]
        value = ("false", "true")[bool(number)] if number.dtype == bool else f"{float(number):.6g}"
        if load.before:
            parts[name, True] = f"before {value}" if (name, False) in parts else f"{name} before {value}"
            continue
        index = _weight(load, numbers, here)
        if index is not None:
            weights[index] = None
            if load.key in ("grad", "nan"):
                value += f" in {weight_name(numbers.named.tensors, index)}"
        if load.key == "loss" and not numbers.named.losses:
            value += " of its batch, before the step"  # of former weights
        parts[name, False] = f"{name} {value}"
    return Reason(", ".join(list(parts.values())[:SHOWN]), tuple(weights))


def _weight(load: Load, numbers: Numbers, place: tuple[int, ...]) -> int | None:
    """Return the flat index of the weight that a number belongs to, or None."""
    if load.key in ("grad", "nan"):
        return numbers.weight_of(load.key)
    if load.key not in numbers.named.tensor:
        return None
    tensor, _ = numbers.named.tensor[load.key]
    indices = (*load.indices, *place)
    if len(indices) != len(tensor.shape):
        return None
    return tensor.start + int(np.arange(tensor.size).reshape(tensor.shape)[indices])
