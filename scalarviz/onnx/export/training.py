"""`training_step`: one step of a run as ONNX, the forward and backward pass and the optimiser's rule.

New weights, new state and the loss are functions of weights, state, samples and learning rate. The file holds the
run's weights and state as the numbers that these inputs start with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InputError
from ..graph import Node
from .backward import Numbers, Pass
from .glue import formula
from .module import TYPES, Ends, encoded
from .sheet import BOOL, DOUBLE, Operand, Shape, Sheet, Tensor
from .sums import Rows

if TYPE_CHECKING:
    from ...engine.problem import Problem

NEW = "new."
"""What the names of changed numbers begin with: ``new.0.weight`` is what ``0.weight`` becomes."""


class Variable(NamedTuple):
    """A tensor of a run: its name, its shape, and where it stands among the flat numbers."""

    name: str
    shape: Shape
    start: int

    @property
    def places(self) -> Rows:
        """The flat numbers that it has."""
        return np.arange(self.start, self.start + prod(self.shape))


def training_step(
    problem: Problem, variables: Sequence[Variable], states: Sequence[str], samples: Sequence[Ends], lr: Any, done: int,
    tiny: float,
) -> bytes:  # fmt: skip
    """The file of the step that a run does next.

    `samples` are name, type and shape of input and target, `states` the names of the optimiser's arrays, `lr` the
    rates of now, `done` the steps that the optimiser has done, `tiny` what is added to the length of a gradient.
    """
    step = _Step(problem, variables, tiny)
    step.write(samples, states, lr, done)
    needed, nodes = {name for name, _, _ in step.outputs}, []
    for node in reversed(step.sheet.nodes):
        if needed.intersection(node.outputs):
            needed.update(node.inputs)
            nodes.append(node)
    step.sheet.nodes = nodes[::-1]
    return encoded(step.sheet, step.inputs, step.outputs, "training step")


class _Step:
    """A sheet, and what is written on it."""

    def __init__(self, problem: Problem, variables: Sequence[Variable], tiny: float) -> None:
        self.problem, self.variables, self.tiny = problem, variables, tiny
        self.weights = [v for v in variables if v.start < problem.n_weights]  # the others are a norm's statistics
        self.sheet = Sheet({}, problem.store.value.dtype.name)
        self.inputs: list[Ends] = []
        self.outputs: list[Ends] = []
        self.one, self.single = self.sheet.integers([1]), self.sheet.integers([1, 1])

    def write(self, samples: Sequence[Ends], states: Sequence[str], lr: Any, done: int) -> None:
        """Write all of it."""
        sheet, problem, real, own = self.sheet, self.problem, self.sheet.dtype.name, self.weights
        plan, values = problem.plan, problem.store.value
        names = [self.given(v.name, real, v.shape, values[v.places]) for v in self.variables]
        kept = [
            [self.given(f"{state}.{v.name}", real, v.shape, array[v.places]) for v in own]
            for state, array in zip(states, problem.state, strict=True)
        ]
        step = self.given("step", "int64", (), done)
        carried = list(self.inputs)
        data, theta = self.data(samples), self.theta(names)
        rate = self.given("lr", real, np.shape(lr), lr)
        first = None if plan.prologue is None else Pass(sheet, plan.prologue, theta, self.nothing())
        behind = 0 if first is None else theta.put(plan.n_parameters + np.arange(plan.n_derived), first.outputs())
        body, end = Pass(sheet, plan.body, theta, data), np.array([plan.body.loss])
        scale = self.scale(body, data)
        body.rows.add(end, Tensor(sheet.fixed("Expand", scale, data.sides), (1,)))
        body.backward()
        if first is not None and (flowing := theta.gradient(behind)) is not None:
            first.rows.add(first.program.outputs, flowing)
            first.backward()
        weights, gradients = self.row(names[: len(own)]), self.row([self.gradient(theta, k) for k in range(len(own))])
        after = Numbers(sheet, self.single, np.zeros(len(values), bool))
        for v, tensor in zip(self.variables, theta.tensors, strict=False):
            after.put(v.places, tensor)
        t = sheet.fixed("Add", step, sheet.integers(1))
        new = self.updated(
            [weights, *map(self.row, kept)], gradients, self.hyper(rate, np.size(lr), t, weights, gradients)
        )
        after.put(np.arange(problem.n_weights), new[0])
        self.follow(after, body)
        found = [(after, v) for v in self.variables]
        for tensor in new[1:]:
            state = Numbers(sheet, self.single, np.zeros(problem.n_weights, bool))
            state.put(np.arange(problem.n_weights), tensor)
            found += [(state, v) for v in own]
        changed = [sheet.fixed("Reshape", of.take(v.places), sheet.integers(v.shape)) for of, v in found]
        for (name, kind, shape), source in zip(carried, [*changed, t], strict=True):
            self.result(NEW + name, source, kind, shape)
        losses = sheet.fixed("ReduceSum", body.rows.spread(body.rows.take(end)), keepdims=0)
        loss = sheet.fixed("Reshape", sheet.fixed("Mul", losses, scale), sheet.integers(np.zeros(0)))
        self.result("loss", self.penalised(loss, weights), real, ())

    def nothing(self) -> Numbers:
        """The inputs of a program that has none."""
        return Numbers(self.sheet, self.single, np.zeros(0, bool))

    def given(self, name: str, kind: str, shape: tuple[Any, ...], start: Any = None) -> str:
        """An input; one with a number to start with need not be given."""
        name = self.sheet.named(name)
        self.inputs.append((name, kind, shape))
        if start is not None:
            self.sheet.constants[name] = np.array(start, kind).reshape(shape)
        return name

    def result(self, name: str, source: str, kind: str, shape: Shape) -> None:
        """An output."""
        name = self.sheet.named(name)
        self.sheet.nodes.append(Node("Identity", (source,), (name,), {}, name))
        self.outputs.append((name, kind, shape))

    def row(self, tensors: Sequence[str]) -> Tensor:
        """Tensors one behind the other, as a row whose samples are their numbers."""
        flat = [self.sheet.fixed("Reshape", name, self.sheet.integers((1, -1))) for name in tensors]
        return Tensor(flat[0] if len(flat) == 1 else self.sheet.fixed("Concat", *flat, axis=1), (1,))

    def theta(self, names: Sequence[str]) -> Numbers:
        """The parameters, each in a tensor of its own."""
        problem, sheet = self.problem, self.sheet
        theta = Numbers(sheet, self.single, np.concatenate([problem.trained, np.ones(problem.plan.n_derived, bool)]))
        for v, name in zip(self.variables, names, strict=True):
            size = len(v.places)
            flat = name if v.shape == (size, 1) else sheet.fixed("Reshape", name, sheet.integers((size, 1)))
            theta.origin[flat] = name, v.shape
            theta.put(v.places, Tensor(flat, (size,), lanes=False))
        return theta

    def gradient(self, theta: Numbers, number: int) -> str:
        """What flows back to a weight."""
        found = theta.gradient(number)
        return self.sheet.numbers(np.zeros(theta.tensors[number].shape)) if found is None else found.name

    def data(self, samples: Sequence[Ends]) -> Numbers:
        """The samples, with the features that are computed of them alone."""
        sheet, plan = self.sheet, self.problem.plan
        sizes, real = (plan.n_inputs, plan.n_targets), sheet.dtype.name
        names = [self.given(*each) for each in samples]
        count = sheet.fixed("Shape", names[0], start=0, end=1)
        sides = sheet.fixed("Concat", self.one, count, axis=0)
        found, first = Numbers(sheet, sides, np.zeros(sum(sizes) + plan.n_features, bool)), 0
        for (name, kind, _), size in zip(self.inputs[-2:], sizes, strict=True):
            if size:
                flat = sheet.fixed("Flatten", name, axis=1)
                flat = flat if kind == real else sheet.fixed("Cast", flat, to=TYPES[real])
                found.put(np.arange(first, first + size), Tensor(sheet.fixed("Transpose", flat, perm=(1, 0)), (size,)))
            first += size
        if plan.encode is not None:
            made = Pass(sheet, plan.encode, self.nothing(), found).outputs()
            found.put(np.arange(first, first + plan.n_features), found.spread(made))
        return found

    def scale(self, body: Pass, data: Numbers) -> str:
        """What the sum of all samples' losses is multiplied by, shape (1, 1)."""
        sheet, problem, plan = self.sheet, self.problem, self.problem.plan
        loss = getattr(problem.share, "__self__", problem.share)
        if problem.reduction == "sum":
            return sheet.numbers([[1.0]])
        if loss is None or (hasattr(loss, "divides") and (not loss.divides or plan.n_targets > 1)):
            return sheet.fixed("Div", 1.0, body.lanes())
        if not hasattr(loss, "divides"):
            raise InputError(f"to_onnx: batch_shares of {loss!r} is Python code, which ONNX has not")
        classes: Operand = data.take(np.array([plan.n_inputs]))
        ignored = -1.0 if loss.ignore_index is None else float(loss.ignore_index)
        share: Operand = 1.0
        if loss.weight is not None:  # of each sample the weight of its class
            known = formula(sheet, "where(t == i, 0, t)", {"t": classes, "i": ignored}, (1,))
            ids = sheet.fixed("Cast", known, to=TYPES["int64"])
            share = Tensor(sheet.fixed("Gather", sheet.numbers(loss.weight), ids), (1,))
        shares = formula(sheet, "where(t == i, 0, s)", {"t": classes, "i": ignored, "s": share}, (1,))
        return sheet.fixed("Div", 1.0, sheet.fixed("ReduceSum", shares))

    def hyper(self, lr: str, rates: int, t: str, weights: Tensor, gradients: Tensor) -> Numbers:
        """The parameters of the optimiser's rule: rates, the step's number, what limits the gradient, derived ones.

        As in a run they are computed in float64: ``1 - beta2**t`` loses four digits in float32.
        """
        sheet, update, real = self.sheet, self.problem.update, self.sheet.dtype
        n, clipped = update.n_parameters, self.problem.limits.clip_norm is not None
        theta = Numbers(sheet, self.single, np.zeros(n + update.n_derived, bool))
        narrow = Numbers(sheet, self.single, np.zeros(n + update.n_derived, bool))
        sheet.dtype = np.dtype(np.float64)
        parts = [(np.array([0, *range(n - rates + 1, n)]), self.wide(lr, rates)), (np.array([1]), self.wide(t, 1))]
        for places, x in parts:
            theta.put(places, x)
        if update.prologue is not None:
            parts.append(
                (n + np.arange(update.n_derived), Pass(sheet, update.prologue, theta, self.nothing()).outputs())
            )
        sheet.dtype = real
        for places, x in parts:
            narrow.put(places, replace(x, name=sheet.fixed("Cast", x, to=TYPES[real.name])))
        if clipped:
            narrow.put(np.array([2]), self.factor(weights, gradients))
        return narrow

    def wide(self, name: str, count: int) -> Tensor:
        """Numbers in float64, one a row."""
        cast = self.sheet.fixed("Cast", name, to=DOUBLE)
        return Tensor(self.sheet.fixed("Reshape", cast, self.sheet.integers((count, 1))), (count,), lanes=False)

    def factor(self, weights: Tensor, gradients: Tensor) -> Tensor:
        """What the gradient is multiplied by, so that it is not too long."""
        sheet, limits, trained = self.sheet, self.problem.limits, self.problem.trained[: self.problem.n_weights]
        text = f"where(t > 0, g + {limits.l1!r} * (where(w > 0, 1, 0) - where(w < 0, 1, 0)) + {2 * limits.l2!r} * w, 0)"
        given = {"t": Tensor(sheet.numbers(trained[None]), (1,)), "g": gradients, "w": weights}
        length = sheet.fixed("ReduceL2", formula(sheet, text, given, (1,)), keepdims=1)
        share = sheet.fixed("Div", float(limits.clip_norm or 0.0), sheet.fixed("Add", length, self.tiny))
        return Tensor(sheet.fixed("Min", 1.0, share), (1,), lanes=False)

    def updated(self, now: Sequence[Tensor], gradients: Tensor, hyper: Numbers) -> list[Tensor]:
        """Weights and state after the step, each of shape (weights, 1)."""
        sheet, problem = self.sheet, self.problem
        n, trained, program = problem.n_weights, problem.trained[: problem.n_weights], problem.update.body
        columns = (Tensor(sheet.numbers(column[None, :n]), (1,)) for column in problem.columns)
        inputs = [now[0], gradients, *now[1:], *columns]
        given = Numbers(sheet, sheet.integers([1, n]), np.zeros(len(inputs), bool))
        for k, x in enumerate(inputs):
            given.put(np.array([k]), x)
        rows, found = Pass(sheet, program, hyper, given).rows, []
        for old, row in zip(now, program.outputs, strict=True):
            new: Operand = rows.spread(rows.take(np.array([row])))
            if not trained.all():
                new = sheet.fixed("Where", sheet.fixed("Cast", sheet.numbers(trained[None]), to=BOOL), new, old)
            column = sheet.fixed("Reshape", new, sheet.integers((n, 1)))
            found.append(Tensor(column, (n,), lanes=False))
        return found

    def follow(self, after: Numbers, body: Pass) -> None:
        """Let a norm's statistics follow the batch."""
        sheet, frozen = self.sheet, self.problem.store.frozen
        tracks = [track for track in self.problem.plan.body.tracks if not frozen[track.index]]
        for (counts, rate, positions, count), some in groupby(
            tracks, lambda track: (track.row < 0, repr(track.rate), track.positions, track.count)
        ):
            group = list(some)
            places = np.array([track.index for track in group])
            operands: dict[str, Operand] = {"a": after.take(places), "r": float(rate), "f": 1.0}
            if not counts:
                operands["s"] = body.rows.take(np.array([track.row for track in group]))
                if rate == "nan":
                    operands["r"] = sheet.node("Div", 1.0, after.take(np.array([count])), shape=(1,))
                if positions:  # a variance is divided by n - 1
                    n = sheet.node("Mul", body.lanes(), float(positions), shape=(1,))
                    operands["f"] = formula(sheet, "n / (n - 1)", {"n": n}, (1,))
            text = "a + 1" if counts else "(1 - r) * a + r * (f * s)"
            after.put(places, formula(sheet, text, operands, places.shape))

    def penalised(self, loss: str, weights: Tensor) -> str:
        """The loss with the penalties on top."""
        for factor, length in ((self.problem.limits.l1, "ReduceL1"), (self.problem.limits.l2, "ReduceSumSquare")):
            if factor:
                loss = self.sheet.fixed(
                    "Add", loss, self.sheet.fixed("Mul", factor, self.sheet.fixed(length, weights, keepdims=0))
                )
        return loss
