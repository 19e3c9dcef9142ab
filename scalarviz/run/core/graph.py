"""`Graph`: what a run computes and which weights it has, as one thing that a state holds and a run puts on."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...collecting import collection_paused
from ...errors import InputError
from ...nn import Activation, Module, Sequential
from ...nn._losses import batch_part, batch_reduction, batch_shares
from ...optim import Optimizer
from ...scalar.store import Block
from ...tape import Plan, Tape, halved, lower, trace
from ..checks import Shape, check_tables, check_targets, on_rows, on_target_rows
from .forward import Forward
from .frame import Role, Tensor
from .gather import blocks_of, buffers_in, stages_of, starts, tensors_of, weight_name
from .optimizer import SCALE_NAME, trained_indices

_PLACE = re.compile(r"(.+?)((?:\.\d+)+)\Z", re.DOTALL)

PlaceInList = tuple[int, ...]


def grouped(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same weights, with those of one list (``"w.0"``, ``"w.1"``) as one tensor ``"w"`` of the list's shape.

    Lists of lists become matrices, or, where their rows are of unequal lengths, a tensor each row. What does not
    stand together in the order of the list stays as it is.
    """
    found: list[Tensor] = []
    name, members = "", list[tuple[PlaceInList, Tensor]]()  # of the list that is read just now
    for tensor in tensors:
        parts = _PLACE.match(tensor.name) if tensor.shape == () else None
        place = () if parts is None else tuple(map(int, parts[2][1:].split(".")))
        if parts is not None and parts[1] == name and _follows(members[-1][0], place):
            members.append((place, tensor))
            continue
        found += _as_arrays(name, members)
        name, members = "" if parts is None or any(place) else parts[1], [(place, tensor)]  # a list begins with 0
    return (*found, *_as_arrays(name, members))


def _follows(place: PlaceInList, following: PlaceInList) -> bool:
    """Whether a place is the next one in a list of lists: one number counts up, those behind it begin with 0."""
    if len(place) != len(following):
        return False
    at = next((k for k, (a, b) in enumerate(zip(place, following, strict=True)) if a != b), len(place))
    return at < len(place) and following[at] == place[at] + 1 and not any(following[at + 1 :])


def _as_arrays(name: str, members: Sequence[tuple[PlaceInList, Tensor]]) -> list[Tensor]:
    if len(members) < 2:
        return [tensor for _, tensor in members]
    shape = tuple(1 + number for number in members[-1][0])
    role: Role = "bias" if name.rpartition(".")[2] == "bias" else "weight"
    if len(members) == prod(shape):  # places count up, so that as many as the last one allows are all of them
        return [Tensor(name, shape, members[0][1].start, role)]
    rows: dict[PlaceInList, list[Tensor]] = {}
    for place, tensor in members:
        rows.setdefault(place[:-1], []).append(tensor)
    return [Tensor(".".join((name, *map(str, place))), (len(row),), row[0].start, role) for place, row in rows.items()]


# ---- `Graph`: what a run computes and which weights it has, as one thing that a state can hold and a run can put on


Place = tuple[Sequential, str, Module]
"""An activation, and where it stands: in a Sequential under a name."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A recorded model with its loss and the optimiser that holds its weights. Nothing of it is ever changed."""

    of: weakref.ref[Any]  # the run that it was recorded for
    model: Callable[..., Any]
    loss: Callable[..., Any]
    optimizer: Optimizer
    # those of the model's Sequentials, which may have others in another graph of the same model
    activations: tuple[Place, ...]
    on_rows: Callable[..., Any]  # the model as a function of a flat row
    part: Callable[..., Any]  # what a sample adds to the loss, of what the model returned and a flat row of targets
    tape: Tape
    plan: Plan
    held: NDArray[np.bool_]  # which weights the optimiser holds and the loss depends on; shape (P,)
    tensors: tuple[Tensor, ...]  # what the weights are looked at as
    kept: tuple[Tensor, ...]  # one a block, as the model's state_dict names them; files have these
    forward: Forward  # of the evaluation graph, for predictions and pictures
    # of `tape`, in which modules are in training; `forward` itself where no module makes a difference
    trained: Forward

    @property
    def name_of(self) -> Callable[[int], str]:
        """Flat index to the name of a weight."""
        return partial(weight_name, self.tensors)

    @property
    def n_weights(self) -> int:
        """How many of the flat numbers are weights, the first ones; buffers stand behind them."""
        return sum(block.size for block in self.tape.blocks if not block.buffer)

    @property
    def blocks(self) -> list[Block]:
        """Its weights and buffers, in the order of the flat arrays."""
        return list(self.tape.blocks)

    def check(self, what: str, inputs: Any, targets: Any) -> None:
        """Whether model and loss can use samples (N, n_inputs) and (N, n_targets); what is no array is looked at later.

        Raises InputError.
        """
        x, y = (part if isinstance(part, np.ndarray) else None for part in (inputs, targets))
        if y is not None:
            check_targets(self.loss, y, self.tape)
        self.forward.ids.check(what, x, y)

    def put_activations(self) -> None:
        """Let the model's Sequentials have the activations of this graph."""
        for sequential, name, activation in self.activations:
            if vars(sequential).get(name) is not activation:
                setattr(sequential, name, activation)


def weights_of(model: Any, optimizer: Optimizer) -> list[Block]:
    """The weights of the model and the others that the optimiser holds, each block once."""
    return list(dict.fromkeys([*blocks_of(model), *(block for block, _ in optimizer.blocks())]))


def _buffers_last(blocks: Iterable[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: block.buffer)


@collection_paused()
def recorded(
    run: Any, model: Callable[..., Any], loss: Callable[..., Any], optimizer: Optimizer, shapes: tuple[Shape, Shape],
    names: Mapping[Block, str] = MappingProxyType({}),
) -> Graph:  # fmt: skip
    """The graph of a model and a loss for samples of these shapes; the run is left as it is.

    A block that several models hold has a name in each: `names` has those that it shall have here.

    Raises InputError, TracingError: they cannot be recorded, there are no weights, or the optimiser holds
    none of them.
    """
    rows, part = on_rows(model, shapes[0]), on_target_rows(batch_part(loss), shapes[1])
    sizes = (int(np.prod(shapes[0])), int(np.prod(shapes[1])))
    scale = None if run._loss_scale is None else run._loss_scale.buffer
    blocks = [*weights_of(model, optimizer), *buffers_in(model).values(), *([] if scale is None else [scale])]
    tape = trace(rows, *sizes, loss=part, blocks=blocks)
    if list(tape.blocks) != (found := _buffers_last(tape.blocks)):  # weights that nobody knew of
        tape = trace(rows, *sizes, loss=part, blocks=found)
    check_tables(tape, run._stored)
    if all(block.buffer for block in tape.blocks):
        raise InputError("the model has no weights and the optimiser holds none; there is nothing to train")
    kept = tensors_of(tape.blocks, names if scale is None else {**names, scale: SCALE_NAME})
    tensors = grouped(kept)
    joined = batch_reduction(loss), batch_shares(loss)

    def rounded(tape: Tape) -> Tape:
        return tape if scale is None else halved(tape, starts(tape)[scale])

    stages = stages_of(model, tape, kept, shapes[0])
    tape = rounded(tape)
    held, plan = trained_indices(optimizer, tape), lower(tape.only(loss=True))
    trained = shown = Forward(tape, plan, tensors, run._stored, joined, stages, shapes[0])
    if tape.modes:
        with in_mode(tape.modes, False):
            other = trace(rows, *sizes, loss=part, blocks=tape.blocks)
        if [module for module, _ in other.taps] != [module for module, _ in tape.taps]:  # a branch on the mode
            stages = stages_of(model, other, kept, shapes[0])
        other = rounded(other)
        shown = Forward(other, lower(other.only(loss=True)), tensors, run._stored, joined, stages, shapes[0])
    return Graph(
        weakref.ref(run), model, loss, optimizer, tuple(activations_of(model)), in_training(rows, tape.modes), part,
        tape, plan, held, tensors, kept, shown, trained,
    )  # fmt: skip


@contextmanager
def in_mode(modules: Iterable[Module], training: bool) -> Iterator[None]:
    """Within it the modules are in training, or not; afterwards each is as it was."""
    before = [(module, module.training) for module in modules]
    try:
        for module, _ in before:
            module.training = training
        yield
    finally:
        for module, was in before:
            module.training = was


def in_training(model: Callable[..., Any], modules: tuple[Module, ...]) -> Callable[..., Any]:
    """A model whose modules are in training as they were when it was recorded, whatever became of them since."""

    def as_recorded(row: Any) -> Any:
        with in_mode(modules, True):
            return model(row)

    return as_recorded if modules else model


def activations_of(model: Any) -> Iterator[Place]:
    """The activations of all Sequentials of a model, in its order."""
    for _, module in model.named_modules() if isinstance(model, Module) else ():
        if isinstance(module, Sequential):
            for name, part in vars(module).items():
                if name.isdecimal() and isinstance(part, Activation):
                    yield module, name, part
