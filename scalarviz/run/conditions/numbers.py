"""`Numbers`: what the names of a condition stand for in a run, read where it stands when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...errors import ExpressionError
from ..forward import Forward
from ..frame import Stage, Tensor
from ..gather import weight_name
from ..training import Training
from .functions import Array
from .letters import END, words
from .parser import Vocabulary

SPEED_ONLY = frozenset({"loss", "lr", "step"})
"""Names that the losses of a call suffice for."""

_WORDS = ("loss", "lr", "step", "grad", "nan")


@dataclass(frozen=True, eq=False)
class Named:
    """The names of one run.

    Attributes
    ----------
    tensors : tuple of Tensor
    stages : tuple of Stage
    """

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
        try:
            plain = [(word.kind, word.text) for word in words(self.key(tensor))] == [("name", tensor.name), END]
        except ExpressionError:
            plain = False
        quote = '"' if '"' not in tensor.name else "'"
        return (tensor.name if plain else f"{quote}{tensor.name}{quote}") + places

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
    """The numbers of a run as they are now; made anew for every moment.

    Parameters
    ----------
    named : Named
    training : Training
    forward : Forward
    next_lr : callable
        The learning rate of the coming step, for as long as there was none.
    """

    named: Named
    training: Training
    forward: Forward
    next_lr: Callable[[], float]
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
