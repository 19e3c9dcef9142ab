"""`Graph`: the computation and the weights of a run as one object, which a state holds and a run can switch to."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...contexts import collection_paused
from ...engine.arrays.program import PlanRunner
from ...engine.data import Data
from ...engine.problem import Reduction, Share, inverse
from ...errors import InputError, UnknownNameError, listing
from ...nn import Activation, Module, Sequential
from ...nn._losses import batch_part, batch_reduction, batch_shares
from ...optim import Optimizer
from ...scalar.kernel import float16
from ...scalar.mask import Draws
from ...scalar.store import Block
from ...tape import Plan, Tape, halved, lower, trace
from ...tape.half import loss_scale_of
from ..validation import Ids, Shape, as_samples, check_tables, check_targets, fitting, ids_of, on_rows, on_target_rows
from .gather import OUTPUTS, blocks_of, buffers_in, stages_of, starts, tensors_of, weight_name
from .optimizer import SCALE_NAME, trained_indices
from .tensors import Role, Stage, Tensor

PROBE_SET = 256
"""Most samples that decide whether a unit is dead."""
FEWEST_PROBES = 32
PROBE_NUMBERS = 1 << 18
"""Most numbers of their forward pass: every frame does it, so a large network uses fewer samples."""
FLAT = 1e-3
"""An activation is saturated if its slope is below this share of its largest."""
_BENDS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "tanh": lambda y: 1 - y * y,
    "sigmoid": lambda y: 4 * y * (1 - y),
}
"""Slopes at an output by kind, as a share of the largest slope."""


class Forward:
    """Forward passes on flat values; never touches the live store."""

    def __init__(
        self, tape: Tape, plan: Plan, tensors: tuple[Tensor, ...], dtype: str,
        joined: tuple[Reduction, Share | None], stages: Sequence[tuple[Stage, int]], shape: Shape,
    ) -> None:  # fmt: skip
        self.tape, self.plan, self.tensors, self.dtype = tape, plan, tensors, dtype
        (self.reduction, self.share), self.shape = joined, shape
        self.stages = tuple(stage for stage, _ in stages)
        self.taps = tuple(number for _, number in stages)
        self._tap_of = {stage.name: number for stage, number in stages}

    @cached_property
    def ids(self) -> Ids:
        """Numbers of a sample that select rows of tables."""
        return ids_of(self.tape)

    def sample(self, probe: ArrayLike) -> NDArray[np.float64]:
        """Return one sample as a row (n_inputs,), a copy."""
        one: Any = [probe]
        rows: NDArray[np.float64] = fitting(as_samples(one, "probe").astype(np.float64), self.shape, "probe")
        self.ids.check("probe", rows)
        row: NDArray[np.float64] = rows[0]
        return row

    def activations(self, probe: ArrayLike, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return ``"input"`` and the row of every stage for one sample, in float64."""
        return {name: row[0] for name, row in self._rows(self.sample(probe)[None], self._tap_of, values).items()}

    def _read(self, samples: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return samples as the network reads them: rounded in a float16 run."""
        if loss_scale_of(self.tape) is None:
            return samples
        read = float16(samples)
        chosen = list(self.ids.inputs)  # whole numbers stay
        read[..., chosen] = samples[..., chosen]
        return read

    def rows(self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return rows of stages (``"input"``: the samples) for samples (N, n_inputs), each (N, outputs), in float64."""
        unknown = next((name for name in stages if name != "input" and name not in self._tap_of), None)
        if unknown is not None:
            raise UnknownNameError(f"there is no stage {unknown!r}; allowed: {listing(('input', *self._tap_of))}")
        samples = fitting(inputs, self.shape, "rows: the inputs").astype(np.float64)
        self.ids.check("rows", samples)
        rows = self._rows(samples, {name: self._tap_of[name] for name in stages if name != "input"}, values)
        return {name: rows[name] for name in stages}

    def _rows(
        self, samples: NDArray[np.float64], taps: Mapping[str, int], values: NDArray[Any]
    ) -> dict[str, NDArray[Any]]:
        """Return ``"input"`` and the rows of some taps for checked samples (N, n_inputs), each (N, outputs)."""
        found = self._tap_rows(self._probe_runner, [*taps.values()], samples.T, values)
        return {"input": self._read(samples), **{name: row.T for name, row in zip(taps, found, strict=True)}}

    def units(
        self, values: NDArray[Any], data: Data
    ) -> tuple[dict[str, NDArray[np.bool_]], dict[str, NDArray[np.floating]]]:
        """Return, by stage, which units are dead, and the saturated share of each unit, at the first samples.

        `data` is (numbers of a sample, N). It uses `PROBE_SET` samples, fewer for a large network, in the
        run's dtype, as the engine does. A rectifier's unit is dead if it is 0 for all of them. The
        saturated share counts the samples at which the slope of a sigmoid or tanh is below `FLAT` of its largest.
        """
        watched = [(s, tap) for s, tap in zip(self.stages, self.taps, strict=True) if s.kind in ("relu", *_BENDS)]
        if not watched:
            return {}, {}
        runner = self._dead_runner
        first = data[: self.tape.n_inputs, : self.watched(data)]
        rows = self._tap_rows(runner, [tap for _, tap in watched], first, values)
        found = {stage: row for (stage, _), row in zip(watched, rows, strict=True)}
        dead = {stage.name: np.asarray(~row.any(axis=1)) for stage, row in found.items() if stage.kind == "relu"}
        flat = {
            stage.name: np.asarray(np.mean(_BENDS[stage.kind](row) < FLAT, axis=1))
            for stage, row in found.items()
            if stage.kind in _BENDS
        }
        return dead, flat

    def watched(self, data: Data) -> int:
        """Return how many of the first samples of `data` :meth:`units` uses."""
        most = max(FEWEST_PROBES, min(PROBE_SET, PROBE_NUMBERS // self._dead_runner.plan.body.n_rows))
        return min(most, data.shape[1])

    def _tap_rows(
        self, runner: PlanRunner, taps: Sequence[int], data: NDArray[Any], values: NDArray[Any]
    ) -> list[NDArray[Any]]:
        body = runner.plan.body
        wanted = [body.outputs if k == OUTPUTS else body.taps[k][1] for k in taps]
        if not wanted:
            return []
        found = runner.rows(values, data, np.concatenate(wanted))
        return np.split(found, np.cumsum([len(w) for w in wanted])[:-1])

    def predict(self, inputs: ArrayLike, values: NDArray[Any]) -> NDArray[Any]:
        """Return the outputs (N, n_outputs) for `inputs` (N, n_inputs), in the run's dtype."""
        samples = fitting(inputs, self.shape, "predict: the inputs")
        self.ids.check("predict", samples)
        runner = self._predict_runner
        return runner.rows(values, samples.T, runner.plan.body.outputs).T

    def evaluate(self, x: NDArray[Any], y: NDArray[Any], values: NDArray[Any], draws: Draws | None = None) -> float:
        """Return the loss of all samples (N, n_inputs), (N, n_targets) as one batch; `draws` gives dropout masks."""
        self.ids.check("evaluate", x, y)
        runner = self._loss_runner
        rows = runner.rows(values, np.concatenate([x, y], axis=1).T, np.array([runner.plan.body.loss]), draws)
        total = rows[0].sum(dtype=np.float64)
        if self.reduction == "sum":
            return float(total)
        with np.errstate(invalid="ignore"):  # if all samples are left out
            return float(total * inverse(len(x) if self.share is None else self.share(y).sum()))

    def scale_of_one(self, target: NDArray[Any]) -> float:
        """Return the factor that turns the loss of a sample into that of a batch of one: for class weights."""
        if self.reduction == "sum" or self.share is None:
            return 1.0
        return inverse(float(self.share(np.ravel(target)[None]).sum()))

    @cached_property
    def _predict_runner(self) -> PlanRunner:
        return PlanRunner(lower(self.tape.only(outputs=True)), self.dtype)

    @cached_property
    def _loss_runner(self) -> PlanRunner:
        return PlanRunner(self.plan, self.dtype)

    @cached_property
    def _probe_runner(self) -> PlanRunner:
        return PlanRunner(lower(self.tape.only(outputs=True, taps=True)), np.float64)

    @cached_property
    def _dead_runner(self) -> PlanRunner:
        return PlanRunner(self._probe_runner.plan, self.dtype)


_PLACE = re.compile(r"(.+?)((?:\.\d+)+)\Z", re.DOTALL)

PlaceInList = tuple[int, ...]


def grouped(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the weights with those of one list (``"w.0"``, ``"w.1"``) as one tensor ``"w"`` of the list's shape.

    Lists of lists become matrices, or, if their rows differ in length, one tensor per row. Weights that are not
    adjacent in list order stay as they are.
    """
    found: list[Tensor] = []
    name, members = "", list[tuple[PlaceInList, Tensor]]()  # of the list that is being read
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
    """Return whether a place is the next one in nested lists: one index counts up, those after it start with 0."""
    if len(place) != len(following):
        return False
    at = next((k for k, (a, b) in enumerate(zip(place, following, strict=True)) if a != b), len(place))
    return at < len(place) and following[at] == place[at] + 1 and not any(following[at + 1 :])


def _as_arrays(name: str, members: Sequence[tuple[PlaceInList, Tensor]]) -> list[Tensor]:
    if len(members) < 2:
        return [tensor for _, tensor in members]
    shape = tuple(1 + number for number in members[-1][0])
    role: Role = "bias" if name.rpartition(".")[2] == "bias" else "weight"
    if len(members) == prod(shape):  # places count up, so the list is complete if the last place fits their number
        return [Tensor(name, shape, members[0][1].start, role)]
    rows: dict[PlaceInList, list[Tensor]] = {}
    for place, tensor in members:
        rows.setdefault(place[:-1], []).append(tensor)
    return [Tensor(".".join((name, *map(str, place))), (len(row),), row[0].start, role) for place, row in rows.items()]


# ---- `Graph`: the computation and the weights of a run as one object


ActivationPlace = tuple[Sequential, str, Module]
"""An activation and its place: a Sequential and the name in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A traced model with its loss and the optimiser that holds its weights. It never changes."""

    of: weakref.ref[Any]  # the run that it was traced for
    model: Callable[..., Any]
    loss: Callable[..., Any]
    optimizer: Optimizer
    # of the model's Sequentials; another graph of the same model may have others there
    activations: tuple[ActivationPlace, ...]
    on_rows: Callable[..., Any]  # the model as a function of a flat row
    part: Callable[..., Any]  # a sample's part of the loss, from the model's output and a flat row of targets
    tape: Tape
    plan: Plan
    held: NDArray[np.bool_]  # which weights the optimiser holds and the loss depends on; shape (P,)
    tensors: tuple[Tensor, ...]  # tensors for pictures
    kept: tuple[Tensor, ...]  # one per block, with the names of the model's state_dict; for files
    forward: Forward  # of the evaluation graph, for predictions and pictures
    # of `tape`, whose modules are in training mode; the same as `forward` if no module depends on the mode
    trained: Forward

    @property
    def name_of(self) -> Callable[[int], str]:
        """Maps a flat index to the name of a weight."""
        return partial(weight_name, self.tensors)

    @property
    def n_weights(self) -> int:
        """Number of weights. They come first in the flat numbers; buffers follow."""
        return sum(block.size for block in self.tape.blocks if not block.buffer)

    @property
    def blocks(self) -> list[Block]:
        """The graph's weights and buffers, in the order of the flat arrays."""
        return list(self.tape.blocks)

    def check(self, what: str, inputs: Any, targets: Any) -> None:
        """Refuse samples (N, n_inputs) and (N, n_targets) that model or loss cannot use; checks only arrays."""
        x, y = (part if isinstance(part, np.ndarray) else None for part in (inputs, targets))
        if y is not None:
            check_targets(self.loss, y, self.tape)
        self.forward.ids.check(what, x, y)

    def put_activations(self) -> None:
        """Set the activations of this graph in the model's Sequentials."""
        for sequential, name, activation in self.activations:
            if vars(sequential).get(name) is not activation:
                setattr(sequential, name, activation)


def weights_of(model: Any, optimizer: Optimizer) -> list[Block]:
    """Return the weights of the model and others that the optimiser holds, each block once."""
    return list(dict.fromkeys([*blocks_of(model), *(block for block, _ in optimizer.blocks())]))


@collection_paused()
def recorded(
    run: Any, model: Callable[..., Any], loss: Callable[..., Any], optimizer: Optimizer, shapes: tuple[Shape, Shape],
    names: Mapping[Block, str] = MappingProxyType({}),
) -> Graph:  # fmt: skip
    """Trace a model and a loss for samples of these shapes, and return the graph; the run does not change."""
    rows, part = on_rows(model, shapes[0]), on_target_rows(batch_part(loss), shapes[1])
    sizes = (int(np.prod(shapes[0])), int(np.prod(shapes[1])))
    scale = None if run._loss_scale is None else run._loss_scale.buffer
    blocks = [*weights_of(model, optimizer), *buffers_in(model).values(), *([] if scale is None else [scale])]
    tape = trace(rows, *sizes, loss=part, blocks=blocks)
    found = sorted(tape.blocks, key=lambda block: block.buffer)
    if list(tape.blocks) != found:  # weights that were not known before
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
    """Set the training mode of modules in the block; restore it afterwards."""
    before = [(module, module.training) for module in modules]
    try:
        for module, _ in before:
            module.training = training
        yield
    finally:
        for module, was in before:
            module.training = was


def in_training(model: Callable[..., Any], modules: tuple[Module, ...]) -> Callable[..., Any]:
    """Return the model with its modules in training mode, as when it was traced."""

    def as_recorded(row: Any) -> Any:
        with in_mode(modules, True):
            return model(row)

    return as_recorded if modules else model


def activations_of(model: Any) -> Iterator[ActivationPlace]:
    """Yield the activations of all Sequentials of a model, in order."""
    for _, module in model.named_modules() if isinstance(model, Module) else ():
        if isinstance(module, Sequential):
            for name, part in module._chain().items():
                if isinstance(part, Activation):
                    yield module, name, part
