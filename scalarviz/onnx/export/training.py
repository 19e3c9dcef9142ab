"""`TrainingStep`: one step of a run as ONNX: forward and backward pass and the optimiser's rule.

The instructions of a run's programs are written one by one, forward and backward; derivatives are those of the table
of operations. Samples are on the last axis, as in the engines. A tensor that is the same for all samples has length
1 there: a weight, or a mean over the batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise
from math import prod
from typing import Any

import numpy as np

from ...errors import InputError
from ...scalar import ops
from ...scalar.emit import UPSTREAM, adjoint
from ...scalar.store import Block
from ...tape import Instruction, Program
from ..graph import Node
from .module import Ends, encoded
from .operations import formula, operands_of, operation
from .sheet import BOOL, DOUBLE, Known, Operand, Output, Shape, Sheet
from .sums import CONSTANT, Places, Rows

NEW = "new."  # prefix of a weight after the step: ``new.0.weight``
COLUMNS = 3  # up to so many gradients of a row are added one by one; more are gathered and summed


class GradientFlow(Places):
    """The places of rows, and the gradients that flow back to the `wanted` ones."""

    def __init__(self, sheet: Sheet, wanted: Any = (), blocks: Sequence[Block] = ()) -> None:
        super().__init__(sheet, blocks, len(wanted))
        n = self.starts[-1]
        self.tensor[:n], self.index[:n] = self.of_theta(np.arange(n))
        self.wanted = np.asarray(wanted, bool)
        # by tensor: gradients, which of their rows flow to it, and to which of its indices
        self.flowing: dict[int, list[tuple[Output, Rows, Rows]]] = defaultdict(list)

    def values_at(self, rows: Any) -> Output:
        """Return the numbers of these rows, in their shape."""
        rows = np.asarray(rows)
        return self.take(rows.ravel(), rows.shape)

    def matrix_at(self, rows: Rows) -> str:
        """Return the name of these parameters, in their shape without samples."""
        return self.matrix(self.tensor[rows.ravel()], self.index[rows.ravel()], rows.shape)

    def add(self, rows: Rows, x: Output) -> None:
        """Add a gradient with the shape of `rows` to them."""
        rows = rows.ravel()
        numbers = np.where(self.wanted[rows], self.tensor[rows], CONSTANT)
        for number in set(numbers.tolist()) - {CONSTANT}:
            flat, there = self.sheet.reshaped(x, rows.shape), np.flatnonzero(numbers == number)
            if x.lanes and not self._tensor(number).lanes:
                last = self.sheet.integers([-1])
                flat = self.sheet.node("ReduceSum", flat, last, shape=rows.shape, lanes=False, keepdims=1)
            self.flowing[number].append((flat, there, self.index[rows[there]]))

    def gradient(self, number: int) -> Output | None:
        """Return the sum of all gradients of a tensor, row by row; None without any."""
        sheet, target, parts = self.sheet, self._tensor(number), self.flowing[number]
        if not parts:
            return None
        shape, places = (prod(target.shape),), np.concatenate([places for _, _, places in parts])
        given, start = Places(sheet, (), len(places) + 1), 0
        given.tensor[-1] = CONSTANT
        for x, there, _ in parts:
            given.place_rows(np.arange(start, start + len(there)), x, there)
            start += len(there)
        order, terms = np.argsort(places, kind="stable"), np.bincount(places, minlength=shape[0])
        table = np.full((*shape, terms.max()), len(places))
        table[places[order], np.arange(len(places)) - np.repeat(np.cumsum(terms) - terms, terms)] = order
        if table.shape[1] > COLUMNS:
            wide = given.take(table.ravel(), table.shape)
            found = sheet.node("ReduceSum", wide, sheet.integers([1]), shape=shape, keepdims=0)
        else:
            columns = [given.take(column, shape) for column in table.T]
            found = columns[0] if len(columns) == 1 else sheet.node("Sum", *columns, shape=shape)
        return sheet.spread(found) if target.lanes else found


class Pass:
    """A program: the constructor writes its forward pass, `backward` the backward pass."""

    def __init__(self, sheet: Sheet, program: Program, theta: GradientFlow, inputs: GradientFlow) -> None:
        self.sheet, self.program, self.theta = sheet, program, theta
        self.rows = rows = GradientFlow(sheet, program.needs_gradient)
        rows.tensors = list(inputs.tensors)
        rows.tensor[program.input_rows] = inputs.tensor[program.input_index]
        rows.index[program.input_rows] = inputs.index[program.input_index]
        rows.tensor[program.constant_rows], rows.number[program.constant_rows] = CONSTANT, program.constants
        for i in program.instructions:
            rows.place_rows(np.arange(i.dst, i.dst + i.count), self._forward(i))

    def outputs(self) -> Output:
        """Return the results of the program."""
        return self.rows.values_at(self.program.outputs)

    def backward(self) -> None:
        """Write the backward pass, from the last instruction to the first."""
        for i in reversed(self.program.instructions):
            if self.program.needs_gradient[i.dst]:
                number = int(self.rows.tensor[i.dst])
                if (upstream := self.rows.gradient(number)) is not None:
                    self._backward(i, self.rows.tensors[number], upstream)  # type: ignore[arg-type]

    def _flat(self, x: Output, rows: int) -> Output:
        """Return `x` as `rows` rows; positions are merged with the samples."""
        if x.shape == (rows,):
            return x
        name = self.sheet.cached(("flat", x.name, rows), lambda: self._shaped(x.name, (rows, -1)))
        return Output(name, (rows,), x.lanes)

    def _shaped(self, name: str, shape: Shape) -> str:
        return self.sheet.fixed("Reshape", name, self.sheet.integers(shape))

    def _to_theta(self, places: Rows, gradient: str) -> None:
        """Add a matrix without samples to the gradients of parameters."""
        self.theta.add(places, Output(self._shaped(gradient, (places.size, 1)), (places.size,), lanes=False))

    # ---- operands of each kind of instruction

    def _layer(self, i: Instruction) -> tuple[Rows, str, Rows, Output, Rows]:
        """Return places of the matrix (outputs, n), its name, rows (n, positions), their numbers, the bias's places."""
        outputs, n = len(i.weights), i.args.shape[1]
        span = i.weights[0] + np.arange(outputs * n).reshape(outputs, n)
        rows = i.args[0] if len(i.args) == 1 else np.ascontiguousarray(i.args.T)
        matrix = self.theta.matrix_at(span)
        return span, matrix, rows, self._flat(self.rows.values_at(rows), n), i.bias + np.arange(outputs)

    def _factors(self, i: Instruction) -> tuple[Rows, Output, GradientFlow | None, Rows]:
        """Return the rows (sums, n) of a sum, their factors, and the parameters or rows of the factors."""
        shape = i.count, i.terms
        if i.kind == "weighted":
            taken = Output(self.sheet.numbers(i.numbers[None, :, None]), (1, i.terms), lanes=False)
            return i.args, taken, None, i.args
        source, others = (self.theta, i.weights) if i.kind == "dot" else (self.rows, i.args[1])
        others = others.reshape(shape)
        return (i.args if i.kind == "dot" else i.args[0].reshape(shape)), source.values_at(others), source, others

    def _table(self, i: Instruction) -> tuple[Rows, Output]:
        """Return the places (entries, numbers) of the parameters that a gather may read, and the selecting numbers."""
        assert i.table is not None
        ids = self.sheet.ids(self.rows.values_at(i.args[0]))
        return i.weights + np.arange(i.table.rows)[:, None] * i.table.step, ids

    # ---- forward

    def _forward(self, i: Instruction) -> Output:
        sheet, rows, shape = self.sheet, self.rows, (i.count,)
        match i.kind:
            case "op":
                return operation(sheet, i.op, operands_of(sheet, rows, i.args)[0], shape)
            case "param":
                return self.theta.values_at(i.weights)
            case "layer" | "conv":
                _, matrix, _, x, bias = self._layer(i)
                made = sheet.node("MatMul", matrix, x, shape=bias.shape)
                if i.bias >= 0:
                    made = sheet.node("Add", made, self.theta.values_at(bias), shape=bias.shape)
                return self._flat(made, i.count)
            case "max":
                return sheet.node("ReduceMax", rows.values_at(i.args), shape=shape, axes=(1,), keepdims=0)
            case "squares":
                difference = sheet.node("Sub", *map(rows.values_at, i.args), shape=i.args.shape[1:])
                square = sheet.node("ReduceSumSquare", difference, shape=shape, axes=(0,), keepdims=1)
                return sheet.node("Mul", square, float(i.numbers[0]), shape=shape)
            case "gather":
                places, ids = self._table(i)
                found = sheet.fixed("Gather", self.theta.matrix_at(places), ids, axis=0)
                turned = sheet.fixed("Transpose", found, perm=(0, 2, 1))
                return Output(self._shaped(turned, (i.count, -1)), shape, ids.lanes)
            case "batch_mean":
                x = rows.values_at(i.args[0])
                return sheet.node("ReduceMean", x, shape=shape, lanes=False, axes=(-1,), keepdims=1)
            case "mask":
                raise InputError(
                    "to_onnx: Dropout draws a new mask in every step, which ONNX cannot repeat; call net.eval(), then "
                    "run.change(model=net)"
                )
        args, factors, _, _ = self._factors(i)
        products = sheet.node("Mul", rows.values_at(args), factors, shape=args.shape)
        made = sheet.node("ReduceSum", products, sheet.integers([1]), shape=shape, keepdims=0)
        if i.bias >= 0:
            made = sheet.node("Add", made, self.theta.values_at([i.bias]), shape=shape)
        return sheet.node("Add", made, i.offset, shape=shape) if i.offset else made

    # ---- backward

    def _backward(self, i: Instruction, made: Output, up: Output) -> None:
        sheet, rows = self.sheet, self.rows
        match i.kind:
            case "op":
                entry, given = ops.get(i.op), operands_of(sheet, rows, i.args)[0]
                operands = {**dict(zip(entry.args, given, strict=True)), "y": made, UPSTREAM: up}
                for args, partial in zip(i.args, entry.partials, strict=True):
                    if partial is not None and rows.wanted[args].any():
                        rows.add(args, formula(sheet, adjoint(partial), operands, up.shape))
            case "param":
                self.theta.add(i.weights, up)
            case "layer" | "conv":
                span, matrix, args, x, bias = self._layer(i)
                part = self._flat(up, len(bias))
                self._to_theta(span, sheet.fixed("Gemm", part, x, transB=1))
                if i.bias >= 0:
                    self.theta.add(bias, Output(part.name, bias.shape))
                if rows.wanted[args].any():
                    back = sheet.fixed("Gemm", matrix, part, transA=1)
                    rows.add(args, Output(self._shaped(back, (args.size, -1)), (args.size,), up.lanes))
            case "max":
                x = rows.values_at(i.args)
                first = sheet.node("ArgMax", x, shape=(i.count, 1), axis=1, keepdims=1)
                chosen = sheet.node("Equal", first, sheet.integers(np.arange(x.shape[1])[None, :, None]), shape=x.shape)
                rows.add(i.args, sheet.node("Where", chosen, sheet.reshaped(up, (i.count, 1)), 0.0, shape=x.shape))
            case "squares":
                operands = {"a": rows.values_at(i.args[0]), "b": rows.values_at(i.args[1]), "up": up}
                for args, factor in zip(i.args, (2.0, -2.0), strict=True):
                    text = f"{factor * float(i.numbers[0])!r} * up * (a - b)"
                    rows.add(args, formula(sheet, text, operands, args.shape))
            case "gather":  # each entry gets the sum of its readers' gradients: a product with ones and zeros
                places, ids = self._table(i)
                entries, width = places.shape
                turned = sheet.fixed("Transpose", self._shaped(up.name, (len(i.args[0]), width, -1)), perm=(0, 2, 1))
                same = sheet.fixed("Equal", self._shaped(ids.name, (-1, 1)), sheet.integers([range(entries)]))
                ones = sheet.fixed("Cast", same, to=sheet.dtype_code)
                self._to_theta(places, sheet.fixed("Gemm", ones, self._shaped(turned, (-1, width)), transA=1))
            case "batch_mean":
                rows.add(i.args[0], sheet.spread(sheet.node("Div", up, sheet.samples(), shape=up.shape)))
            case _:
                args, factors, source, others = self._factors(i)
                if i.bias >= 0:
                    self.theta.add(np.full(i.count, i.bias), up)
                up = sheet.reshaped(up, (i.count, 1))
                if rows.wanted[args].any():
                    rows.add(args, sheet.node("Mul", factors, up, shape=args.shape))
                if source is not None and source.wanted[others].any():
                    source.add(others, sheet.node("Mul", rows.values_at(args), up, shape=args.shape))


class TrainingStep:
    """The next step of a run, on a sheet.

    `problem` is an ``engine.problem.Problem``; `known` holds names and numbers of its parameters in order; `tiny`
    is added to the length of a gradient before a division by it.
    """

    def __init__(self, problem: Any, known: Known, tiny: float) -> None:
        self.problem, self.tiny = problem, tiny
        self.sheet = Sheet(known, problem.store.value.dtype.name, last=True)
        self.inputs: list[Ends] = []

    def encoded(self, samples: Sequence[Ends], states: Sequence[str], lr: Any, done: int) -> bytes:
        """Return the file.

        `samples` are input and target, `states` the names of the optimiser's arrays, `lr` the current rates, `done` the
        steps that the optimiser has done.
        """
        sheet, problem, plan, real = self.sheet, self.problem, self.problem.plan, self.sheet.dtype.name
        theta = GradientFlow(sheet, np.append(problem.trained, [True] * plan.n_derived), [*sheet.known])
        names, spans = [sheet.weight(block) for block in sheet.known], list(pairwise(theta.starts.tolist()))
        self.inputs = [(name, real, sheet.constants[name].shape) for name in names]
        own = [k for k, (start, _) in enumerate(spans) if start < problem.n_weights]  # others are a norm's statistics
        kept = [
            [self.given(f"{state}.{names[k]}", real, self.inputs[k][2], array[slice(*spans[k])]) for k in own]
            for state, array in zip(states, problem.state, strict=True)
        ]
        step, carried = self.given("step", "int64", (), done), list(self.inputs)
        data, rate = self.data(samples), self.given("lr", real, np.shape(lr), lr)
        first = None if plan.prologue is None else Pass(sheet, plan.prologue, theta, GradientFlow(sheet))
        if first is not None:
            theta.place_rows(plan.n_parameters + np.arange(plan.n_derived), first.outputs())
        body, end, scale = Pass(sheet, plan.body, theta, data), np.array([plan.body.loss]), self.scale(data)
        body.rows.add(end, sheet.spread(Output(scale, (1,), lanes=False)))
        losses = sheet.fixed("ReduceSum", sheet.spread(body.rows.values_at(end)), keepdims=0)
        body.backward()
        if first is not None and (flowing := theta.gradient(len(theta.tensors) - 1)) is not None:
            first.rows.add(first.program.outputs, flowing)
            first.backward()
        found = [theta.gradient(k) or Output(sheet.numbers(np.zeros(theta.blocks[k].size)), ()) for k in own]
        now, gradients = [self.row([names[k] for k in own]), *map(self.row, kept)], self.row([x.name for x in found])
        t = sheet.fixed("Add", step, sheet.integers(1))
        after = self.updated(now, gradients, self.hyper(rate, np.size(lr), t, now[0], gradients))
        self.follow(after[0], body)
        changed = [(after[0], k) for k in range(len(names))] + [(flow, k) for flow in after[1:] for k in own]
        ends = [
            sheet.fixed("Reshape", f.values_at(range(*spans[k])), sheet.integers(self.inputs[k][2])) for f, k in changed
        ]
        loss = sheet.fixed("Reshape", sheet.fixed("Mul", losses, scale), sheet.integers(np.zeros(0)))
        if problem.limits.penalised:
            text = f"{problem.limits.l1!r} * abs(w) + {problem.limits.l2!r} * w * w"
            penalty = sheet.fixed("ReduceSum", formula(sheet, text, {"w": now[0]}, (1,)), keepdims=0)
            loss = sheet.fixed("Add", loss, penalty)
        wishes = [*((NEW + name, kind, shape) for name, kind, shape in carried), ("loss", real, ())]
        results = [(sheet.named(name), kind, shape) for name, kind, shape in wishes]
        for (name, *_), source in zip(results, (*ends, t, loss), strict=True):
            sheet.nodes.append(Node("Identity", (source,), (name,), {}, name))
        return encoded(sheet, self.inputs, results, "training step")

    def given(self, name: str, kind: str, shape: tuple[Any, ...], start: Any = None) -> str:
        """Add an input; one with `start` numbers is optional."""
        name = self.sheet.named(name)
        self.inputs.append((name, kind, shape))
        if start is not None:
            self.sheet.constants[name] = np.array(start, kind).reshape(shape)
        return name

    def row(self, tensors: Sequence[str]) -> Output:
        """Return tensors joined to a row; its samples are their numbers."""
        flat = [self.sheet.fixed("Reshape", name, self.sheet.integers((1, -1))) for name in tensors]
        return Output(flat[0] if len(flat) == 1 else self.sheet.fixed("Concat", *flat, axis=1), (1,))

    def data(self, samples: Sequence[Ends]) -> GradientFlow:
        """Return the samples, with the features that depend on them alone."""
        sheet, plan, first = self.sheet, self.problem.plan, 0
        found = GradientFlow(sheet, np.zeros(plan.n_inputs + plan.n_targets + plan.n_features, bool))
        for sample, size in zip(samples, (plan.n_inputs, plan.n_targets), strict=True):
            flat = sheet.fixed("Flatten", self.given(*sample), axis=1)
            turned = sheet.fixed("Transpose", sheet.fixed("Cast", flat, to=sheet.dtype_code), perm=(1, 0))
            found.place_rows(np.arange(first, first + size), Output(turned, (size,)))
            first += size
        sheet.first = self.inputs[-2][0]
        if plan.encode is not None:
            features = Pass(sheet, plan.encode, GradientFlow(sheet), found).outputs()
            found.place_rows(np.arange(first, len(found.tensor)), features)
        return found

    def scale(self, data: GradientFlow) -> str:
        """Return the factor of the sum of all samples' losses, one number."""
        sheet, problem, plan = self.sheet, self.problem, self.problem.plan
        shares_of: Any = problem.share
        loss = None if shares_of is None else shares_of.loss
        if problem.reduction == "sum":
            return sheet.numbers([1.0])
        if loss is None or (hasattr(loss, "divides") and (not loss.divides or plan.n_targets > 1)):
            return sheet.fixed("Div", 1.0, sheet.samples())
        if not hasattr(loss, "divides"):
            raise InputError(f"to_onnx: training=True does not support batch_shares, which {loss!r} has")
        classes: Operand = data.values_at([plan.n_inputs])
        ignored = -1.0 if loss.ignore_index is None else float(loss.ignore_index)
        share: Operand = 1.0
        if loss.weight is not None:  # for each sample, the weight of its class
            known = formula(sheet, "where(t == i, 0, t)", {"t": classes, "i": ignored}, (1,))
            share = Output(sheet.fixed("Gather", sheet.numbers(loss.weight), sheet.ids(known)), (1,))
        shares = formula(sheet, "where(t == i, 0, s)", {"t": classes, "i": ignored, "s": share}, (1,))
        return sheet.fixed("Div", 1.0, sheet.fixed("ReduceSum", shares))

    def hyper(self, lr: str, rates: int, t: str, weights: Output, gradients: Output) -> GradientFlow:
        """Return the parameters of the optimiser's rule: rates, step number, limit of the gradient, derived ones.

        As in a run they are computed in float64: ``1 - beta2**t`` loses four digits in float32.
        """
        sheet, update, real = self.sheet, self.problem.update, self.sheet.dtype
        n, places = update.n_parameters, np.arange(update.n_parameters + update.n_derived)
        wide, narrow = (GradientFlow(sheet, np.zeros(len(places), bool)) for _ in range(2))
        sheet.dtype = np.dtype(np.float64)
        wide.tensor[:] = CONSTANT  # the limit of the gradient is not known yet
        for own, name in (([0, *range(n - rates + 1, n)], lr), ([1], t)):
            column = sheet.fixed("Reshape", sheet.fixed("Cast", name, to=DOUBLE), sheet.integers((-1, 1)))
            wide.place_rows(np.array(own), Output(column, (len(own),), lanes=False))
        if update.prologue is not None:
            wide.place_rows(places[n:], Pass(sheet, update.prologue, wide, GradientFlow(sheet)).outputs())
        found, sheet.dtype = wide.values_at(places), real
        narrow.place_rows(places, sheet.node("Cast", found, shape=places.shape, to=sheet.dtype_code))
        if self.problem.limits.clip_norm is not None:
            narrow.place_rows(places[2:3], self.factor(weights, gradients))
        return narrow

    def factor(self, weights: Output, gradients: Output) -> Output:
        """Return the factor that limits the length of the gradient."""
        sheet, limits, trained = self.sheet, self.problem.limits, self.problem.trained[: self.problem.n_weights]
        text = f"where(t > 0, g + {limits.l1!r} * (where(w > 0, 1, 0) - where(w < 0, 1, 0)) + {2 * limits.l2!r} * w, 0)"
        given = {"t": Output(sheet.numbers(trained[None]), (1,)), "g": gradients, "w": weights}
        length = sheet.fixed("ReduceL2", formula(sheet, text, given, (1,)), keepdims=1)
        share = sheet.fixed("Div", float(limits.clip_norm or 0.0), sheet.fixed("Add", length, self.tiny))
        return Output(sheet.fixed("Min", 1.0, share), (1,), lanes=False)

    def updated(self, now: Sequence[Output], gradients: Output, hyper: GradientFlow) -> list[GradientFlow]:
        """Return all numbers after the step, then the optimiser's arrays."""
        sheet, n, trained = self.sheet, self.problem.n_weights, self.problem.trained[: self.problem.n_weights]
        columns = (Output(sheet.numbers(column[None, :n]), (1,)) for column in self.problem.columns)
        inputs = [now[0], gradients, *now[1:], *columns]
        given = GradientFlow(sheet, np.zeros(len(inputs), bool))
        for k, x in enumerate(inputs):
            given.place_rows(np.array([k]), x)
        first, sheet.first = sheet.first, sheet.fixed("Reshape", now[0], sheet.integers((-1, 1)))  # samples are weights
        program, found = Pass(sheet, self.problem.update.body, hyper, given), list[GradientFlow]()
        for old, row in zip(now, program.program.outputs, strict=True):
            new = sheet.spread(program.rows.values_at([row])).name
            if not trained.all():
                new = sheet.fixed("Where", sheet.fixed("Cast", sheet.numbers(trained[None]), to=BOOL), new, old)
            found.append(GradientFlow(sheet, np.zeros(len(self.problem.trained), bool), [*sheet.known]))
            column = sheet.fixed("Reshape", new, sheet.integers((n, 1)))
            found[-1].place_rows(np.arange(n), Output(column, (n,), lanes=False))
        sheet.first = first
        return found

    def follow(self, after: GradientFlow, body: Pass) -> None:
        """Update the statistics of norms with the batch."""
        sheet, frozen = self.sheet, self.problem.store.frozen
        tracks = [track for track in self.problem.plan.body.tracks if not frozen[track.index]]
        for (counts, rate, positions, count), some in groupby(
            tracks, lambda track: (track.row < 0, repr(track.rate), track.positions, track.count)
        ):
            group = list(some)
            places = np.array([track.index for track in group])
            operands: dict[str, Operand] = {"a": after.values_at(places), "r": float(rate)}
            if not counts:
                operands["s"] = body.rows.values_at([track.row for track in group])
                operands["n"] = sheet.node("Mul", sheet.samples(), float(positions), shape=(1,))
                if rate == "nan":
                    operands["r"] = sheet.node("Div", 1.0, after.values_at([count]), shape=(1,))
            stat = "n / (n - 1) * s" if positions else "s"  # a variance is divided by n - 1
            text = "a + 1" if counts else f"(1 - r) * a + r * ({stat})"
            after.place_rows(places, formula(sheet, text, operands, places.shape))
