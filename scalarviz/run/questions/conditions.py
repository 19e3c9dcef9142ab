"""`Condition`: a text about a run that is true or false after every step, and what its names stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.forward import Forward
from ..core.frame import Stage, Tensor
from ..core.gather import weight_name
from ..core.training import Training
from .expression import Array, Expression, Kept, Load, fault
from .parser import Vocabulary, is_plain, parse

SPEED_ONLY = frozenset({"loss", "lr", "step"})
"""Names that the losses of a call suffice for."""

_WORDS = ("loss", "lr", "step", "grad", "nan")


@dataclass(frozen=True, eq=False)
class Named:
    """The names of one run."""

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]

    @cached_property
    def rectifiers(self) -> tuple[Stage, ...]:
        """The stages whose units may be dead."""
        return tuple(stage for stage in self.stages if stage.kind == "relu")

    @cached_property
    def layers(self) -> Mapping[str, str]:
        """What ``dead(...)`` may be asked of, to the rectifier that is meant: its own name, or the layer before it."""
        before = ["input", *(stage.name for stage in self.stages)]
        sources = {stage.name: stage.sources or (name,) for stage, name in zip(self.stages, before, strict=False)}
        layers = {source: s.name for s in self.rectifiers for source in sources[s.name] if source != "input"}
        return layers | {stage.name: stage.name for stage in self.rectifiers}

    def unit(self, place: int) -> str:
        """``dead(1)[2]``: the unit at a place of ``dead``."""
        for stage in self.rectifiers:
            if place < stage.outputs:
                return f"dead({stage.name})[{place}]"
            place -= stage.outputs
        raise IndexError(place)

    def key(self, tensor: Tensor) -> str:
        """What a tensor is called in a condition: its name, in quotes where a word of the language has it."""
        return f'"{tensor.name}"' if tensor.name in (*_WORDS, "dead", "pi", "e", "inf") else tensor.name

    def weight(self, index: int) -> str:
        """How the weight at a flat index is written in a condition: as it is called, in quotes where that is needed."""
        tensor = next(t for t in self.tensors if t.start <= index < t.start + t.size)
        places = weight_name(self.tensors, index).removeprefix(tensor.name)
        quote = "" if is_plain(self.key(tensor)) else '"' if '"' not in tensor.name else "'"
        return f"{quote}{tensor.name}{quote}{places}"

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What a condition may use."""
        known = {"dead": tuple(self.layers)} if self.rectifiers else {}
        missing = {} if known else {"dead": "this model has no rectifier (nn.ReLU), whose units could be dead"}
        return Vocabulary(
            names=(*_WORDS, *known, *map(self.key, self.tensors)),
            of={"grad": tuple(tensor.name for tensor in self.tensors), **known},
            truths=("nan", "dead"),
            absent=missing,
        )

    @cached_property
    def tensor(self) -> Mapping[str, tuple[Tensor, bool]]:
        """By its name in a condition: a tensor, and whether its gradient is meant."""
        values = {self.key(tensor): (tensor, False) for tensor in self.tensors}
        return values | {f"grad({tensor.name})": (tensor, True) for tensor in self.tensors}

    @cached_property
    def shapes(self) -> Mapping[str, Array]:
        """Something of the shape of each name, without the memory."""
        number, truth = np.zeros(()), np.zeros((), bool)
        found = {"loss": number, "lr": number, "step": number, "grad": number, "nan": truth}
        found |= {name: np.broadcast_to(number, tensor.shape) for name, (tensor, _) in self.tensor.items()}
        units = {stage.name: stage.outputs for stage in self.rectifiers}
        found |= {f"dead({name})": np.broadcast_to(truth, units[stage]) for name, stage in self.layers.items()}
        return found | {"dead": np.broadcast_to(truth, sum(units.values()))}


@dataclass(frozen=True, slots=True, eq=False)
class Numbers(Mapping[str, Array]):
    """The numbers of a run as they are now; made anew for every moment."""

    named: Named
    training: Training
    forward: Forward
    next_lr: Callable[[], float]  # the learning rate of the coming step, for as long as there was none
    _found: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.named.shapes)

    def __len__(self) -> int:
        return len(self.named.shapes)

    def __contains__(self, name: object) -> bool:
        return name in self.named.shapes

    def _read(self, name: str) -> Array:
        training = self.training
        match name:
            case "loss":
                return np.asarray(training.loss)
            case "lr":
                return np.asarray(self.next_lr() if training.lr is None else training.lr)
            case "step":
                return np.asarray(training.steps)
            case "grad":
                return self._largest_gradient()
            case "nan":
                return np.asarray(self._not_finite())
            case "dead":
                dead = self._dead()
                return np.concatenate([dead[stage.name] for stage in self.named.rectifiers])
        if name.startswith("dead("):
            return self._dead()[self.named.layers[name[5:-1]]]
        return self._tensor(name)

    def _tensor(self, name: str) -> Array:
        (tensor, gradient), store = self.named.tensor[name], self.training.problem.store
        span: slice = tensor.span
        found: Array = store.grad[span] if gradient else store.value[span]
        if gradient and not store.computed[span].all():
            found = np.where(store.computed[span] != 0, found, np.nan)
        return found.reshape(tensor.shape)

    def _largest_gradient(self) -> Array:
        """NaN before there is one."""
        gradient = self._gradient()
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(gradient).max() if gradient.size else np.nan)

    def _gradient(self) -> Array:
        store = self.training.problem.store
        gradient: Array = store.grad
        return gradient if store.computed.all() else gradient[store.computed != 0]

    def weight_of(self, name: str) -> int | None:
        """The weight that ``grad`` or ``nan`` is of: with the largest gradient, or the first one that is lost."""
        store = self.training.problem.store
        if name == "grad":
            sizes = np.where(store.computed != 0, np.abs(store.grad), -1)
            return int(np.argmax(sizes)) if sizes.size else None
        for part in (store.value, np.where(store.computed != 0, store.grad, 0)):
            lost = np.flatnonzero(~np.isfinite(part))
            if len(lost):
                return int(lost[0])
        return None

    def weight_name(self, index: int) -> str:
        """As ``0.weight[2][1]``."""
        return weight_name(self.named.tensors, index)

    def _not_finite(self) -> bool:
        training = self.training
        lost = training.lr is not None and not np.isfinite(training.loss)
        return lost or not all(np.isfinite(part).all() for part in (training.problem.store.value, self._gradient()))

    def _dead(self) -> dict[str, Array]:
        problem = self.training.problem
        return {**self.forward.units(problem.store.value, problem.data)[0]}


# ---- `Condition`: a text about a run that is true or false after every step, and when it becomes true


Before = NDArray[np.bool_] | Kept


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """An expression of the names of a run.

    A condition without ``before``, ``changes`` and ``crosses`` is a state: it *becomes* true at a step before which it
    was false. One with them compares a step with the one before, and becomes true at every step at which it holds. One
    of whole tensors (``0.weight > 1``) becomes true whenever it does for one more element.
    """

    expression: Expression

    @classmethod
    def read(cls, text: str, named: Named, what: str) -> Condition:
        """Read a text.

        Raises ExpressionError: it is no condition of the run that has these names. InputError,
        TypeMismatchError: it is too long, or no text.
        """
        expression = parse(text, named.vocabulary, what, "truth")
        if not expression.names:
            raise fault(
                text, 0, f"there is no name in it, so it never changes; there are {named.vocabulary.listed()}", what
            )
        read = named.shapes.__getitem__
        expression.run(read, expression.keep(read))  # places and shapes: said now, not at some step
        return cls(expression)

    @property
    def text(self) -> str:
        """As it was written."""
        return self.expression.text

    @property
    def of_losses(self) -> bool:
        """Whether the losses of a call suffice for it, so that the engine runs at full speed."""
        return self.expression.names <= SPEED_ONLY and not self.expression.reduces

    def holds(self, numbers: Mapping[str, Array]) -> bool:
        """Whether it is true now, for one element at least; only where it does not look back."""
        return bool(self._now(numbers).any())

    def stands(self, numbers: Mapping[str, Array]) -> Before:
        """What has to be known before a step to say whether it becomes true by it."""
        expression = self.expression
        return expression.keep(numbers.__getitem__) if expression.looks_back else self._now(numbers)

    def becomes(self, numbers: Mapping[str, Array], before: Before) -> NDArray[np.bool_]:
        """Whether it has become true, element by element, where `before` is what :meth:`stands` gave."""
        return self._now(numbers, before) if isinstance(before, tuple) else self._now(numbers) & ~before

    def passes(self, numbers: Mapping[str, Array], before: Before) -> tuple[NDArray[np.bool_], Before]:
        """What :meth:`becomes` and then :meth:`stands` give, for who goes on from these numbers."""
        if isinstance(before, tuple):
            return self._now(numbers, before), self.expression.keep(numbers.__getitem__)
        now = self._now(numbers)
        return now & ~before, now

    def rises(self, numbers: Mapping[str, Array], before: Mapping[str, Array]) -> NDArray[np.bool_]:
        """The same for the steps of a call at once: arrays with a number a step, and those of the steps before them."""
        if self.expression.looks_back:
            return self._now(numbers, self.expression.keep(before.__getitem__))
        return self._now(numbers) & ~self._now(before)

    def _now(self, numbers: Mapping[str, Array], kept: Kept = ()) -> NDArray[np.bool_]:
        return self.expression.run(numbers.__getitem__, kept).astype(bool, copy=False)


# ---- What is said of a condition that became true: the numbers in it, and which weights they are of


SHOWN = 4
"""The most numbers that are said."""


class Told(NamedTuple):
    """Why a condition is true."""

    text: str  # as ``grad 12.3 in 0.weight[2][1]`` and ``0.weight[2][1] 0.01, before -0.02``; the first few numbers
    weights: tuple[int, ...]  # flat indices of the weights in question


def told(expression: Expression, numbers: Numbers, where: NDArray[np.bool_], before: Before) -> Told:
    """The numbers in a condition, where `where` is what :meth:`Condition.becomes` found: the first element is told."""
    former: dict[Load, Array] = {}
    if isinstance(before, tuple):
        former = dict(zip((load for load in expression.loads if load.before), before, strict=True))
    place = tuple(int(i) for i in np.argwhere(where)[0]) if where.ndim and where.any() else ()
    parts: dict[tuple[str, bool], str] = {}
    weights: dict[int, None] = {}
    for load in expression.loads:
        array = former[load] if load.before else expression.value(load, numbers.__getitem__)
        if array.ndim and array.shape != where.shape:
            continue  # max(...) of it: no one element says why
        here = place if array.ndim else ()
        name = _name(load, numbers, here)
        index = _weight(load, numbers, here)
        if index is not None:
            weights[index] = None
        value = _brief(array[here])
        if not load.before:
            of = f" in {numbers.weight_name(index)}" if index is not None and load.key in ("grad", "nan") else ""
            parts[name, False] = f"{name} {value}{of}"
        else:
            parts[name, True] = f"before {value}" if (name, False) in parts else f"{name} before {value}"
    return Told(", ".join(list(parts.values())[:SHOWN]), tuple(weights))


def _name(load: Load, numbers: Numbers, place: tuple[int, ...]) -> str:
    if load.key == "dead" and not load.indices and place:
        return numbers.named.unit(place[0])
    return load.written + "".join(f"[{index}]" for index in place)


def _weight(load: Load, numbers: Numbers, place: tuple[int, ...]) -> int | None:
    """The flat index of the weight that a number is of, if it is of one."""
    if load.before:
        return None
    if load.key in ("grad", "nan"):
        return numbers.weight_of(load.key)
    if load.key not in numbers.named.tensor:
        return None
    tensor, _ = numbers.named.tensor[load.key]
    indices = (*load.indices, *place)
    if len(indices) != len(tensor.shape):
        return None
    positive = tuple(index % side for index, side in zip(indices, tensor.shape, strict=True))
    return tensor.start + (int(np.ravel_multi_index(positive, tensor.shape)) if positive else 0)


def _brief(number: Array) -> str:
    return ("false", "true")[bool(number)] if number.dtype == bool else f"{float(number):.6g}"
