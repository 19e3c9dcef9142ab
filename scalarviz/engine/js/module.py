"""A whole run as JavaScript: the functions of its network and of its update, and the numbers that they work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ... import rng
from ...scalar import erf
from ...tape import Instruction, Program
from ..outside import Outside
from ..problem import Problem
from .printer import Printer, Tables

HEADS = {"derive": "E", "spread": "E, G", "features": "data, at", "gradient": "E, G, data, order, step, seed, scale, stats",
         "derived": "E", "update": "E, theta, grad, state, columns, trained"}  # fmt: skip
"""The functions of a module and their arguments; ``js/runtime.js`` calls them."""


def lacks(problem: Problem) -> str:
    """Return why a browser cannot train this problem, as one clause; empty if it can."""
    return "its data is read from files or made by a function" if isinstance(problem.data, Outside) else ""


def module(problem: Problem, *, unrolled: bool | None = None) -> str:
    """Return the body of a JavaScript function that returns the functions of a problem by name.

    Whether the network's program is `unrolled` follows from its size.
    """
    dtype, tables, plan, update = problem.store.value.dtype.name, Tables(), problem.plan, problem.update
    numbers, width = problem.data.shape[0], plan.n_inputs + plan.n_targets
    bodies = {name: [""] for name in HEADS}
    if plan.prologue is not None:
        derived = plan.prologue.outputs.tolist()
        printer = Printer(plan.prologue, dtype, tables)
        bodies["derive"] = _values(printer, "", [f"E[{plan.n_parameters + k}] = {{}};" for k in range(len(derived))])
        bodies["spread"] = _spread(Printer(plan.prologue, dtype, tables), plan.n_parameters)
    if plan.encode is not None:
        printer = Printer(plan.encode, dtype, tables)
        put = [f"data[at + {width + k}] = {{}};" for k in range(plan.n_features)]
        bodies["features"] = _values(printer, "data[at + {}]", put)
    bodies["gradient"] = _gradient(Printer(plan.body, dtype, tables, unrolled=unrolled), numbers)
    if update.prologue is not None:
        printer = Printer(update.prologue, "float64", tables, unrolled=True)
        puts = [f"E[{update.n_parameters + k}] = {{}};" for k in range(update.n_derived)]
        bodies["derived"] = _values(printer, "", puts)
    bodies["update"] = _update(Printer(update.body, dtype, tables, unrolled=True), len(problem.state))
    functions = [f"function {name}({HEADS[name]}) {{\n" + "\n".join(lines) + "\n}" for name, lines in bodies.items()]
    arrays = f"let V = new R({plan.body.n_rows}), B = new R({plan.body.n_rows});"
    real = f"const R = {dtype.capitalize()}Array;"
    return "\n".join([real, arrays, str(tables), *functions, f"return {{ {', '.join(HEADS)} }};"])


def _scope(printer: Printer, lines: Iterable[str]) -> list[str]:
    """Return a function's lines, with the variables of its weights before them and those of its gradients after."""
    before = [f"const w{i} = E[{i}];" for i in sorted(printer.weights)]
    sums = sorted(printer.gradients)
    own = [] if printer.unrolled or not printer.name else [f"const {printer.name}V = new R({printer.program.n_rows});"]
    return [*before, *(f"let g{i} = 0;" for i in sums), *own, *lines, *(f"G[{i}] += g{i};" for i in sums)]


def _values(printer: Printer, given: str, puts: Sequence[str]) -> list[str]:
    """Return the lines of a function that computes a program's outputs; `puts` say where each goes."""
    printer.inputs(lambda index: given.format(index))
    for i in printer.program.instructions:
        printer.forward(i)
    for put, row in zip(puts, printer.program.outputs.tolist(), strict=True):
        printer.add(put.format(printer.row(row)))
    return _scope(printer, printer.lines)


def _spread(printer: Printer, first: int) -> list[str]:
    """Return the lines that pass the gradients of derived parameters on to the weights that they are made of."""
    printer.inputs(lambda index: "")
    for i in printer.program.instructions:
        printer.forward(i)
    if not printer.unrolled:
        printer.add("B.fill(0);")
    for k, row in enumerate(printer.program.outputs.tolist()):
        printer.pull(row, f"G[{first + k}]")
    for i in reversed(printer.program.instructions):
        printer.backward(i)
    return _scope(printer, printer.lines)


def _gradient(printer: Printer, numbers: int) -> list[str]:
    """Return the lines that add the gradients of a batch to G and return the sum of its losses."""
    program = printer.program
    stretches, rows = printer.stretches(), program.n_rows
    sample = f"for (let s = 0; s < order.length; s++) {{ const at = order[s] * {numbers}, o = s * {rows};"
    lines = [f"const K{call} = _key(seed, {call});" for call in sorted({i.call for i in program.instructions if i.kind == "mask"})]
    lines += ["const up = R.of(scale)[0];", "let loss = 0;"]
    if program.couples:
        lines += [f"if (V.length < order.length * {rows}) {{ V = new R(order.length * {rows}); B = new R(V.length); }}", "B.fill(0);"]

    def printed(print_one: Callable[[Instruction], None], some: Sequence[Instruction]) -> list[str]:
        start = len(printer.lines)
        for i in some:
            print_one(i)
        found = printer.lines[start:]
        del printer.lines[start:]
        return found

    printer.inputs(lambda index: f"data[at + {index}]")
    given, printer.lines = printer.lines, []
    forward = [printed(printer.forward, some) for some in stretches if some[0].kind != "batch_mean"]
    printer.pull(program.loss, "up")
    seeded, printer.lines = printer.lines, []
    backward = [printed(printer.backward, some[::-1]) for some in stretches[::-1] if some[0].kind != "batch_mean"]
    if not program.couples:
        clear = [] if printer.unrolled else ["B.fill(0);"]
        every = [*given, *forward[0], f"loss += {printer.row(program.loss)};", *clear, *seeded, *backward[0]]
        return [*_scope(printer, [*lines, sample, *every, "}"]), "return loss;"]
    for k, (some, own) in enumerate(zip(stretches, _spaced(forward, stretches), strict=True)):
        lines += [sample, *(given if k == 0 else []), *own, "}"] if own else _means(some[0], rows)
    lines += [sample, f"loss += {printer.row(program.loss)};", *seeded, "}"]
    for some, own in zip(stretches[::-1], _spaced(backward, stretches[::-1]), strict=True):
        lines += [sample, *own, "}"] if some[0].kind != "batch_mean" else _means_back(some[0], rows)
    lines += [f"stats[{k}] = V[{track.row}];" for k, track in enumerate(program.tracks) if track.row >= 0]
    return [*_scope(printer, lines), "return loss;"]


def _spaced(printed: list[list[str]], stretches: Sequence[Sequence[Instruction]]) -> list[list[str]]:
    """Return the lines of each stretch; none for a mean over the batch."""
    rest = iter(printed)
    return [[] if some[0].kind == "batch_mean" else next(rest) for some in stretches]


_MEANS = """for (let j = 0; j < {count}; j++) {{
let t = 0;
for (let o = 0; o < order.length * {rows}; o += {rows}) t += {read};
t /= order.length;
for (let o = 0; o < order.length * {rows}; o += {rows}) {write} t;
}}"""


def _means(i: Instruction, rows: int) -> list[str]:
    table = f"[{','.join(map(str, i.args[0].tolist()))}][j]"
    return [_MEANS.format(count=i.count, rows=rows, read=f"V[o + {table}]", write=f"V[o + {i.dst} + j] =")]


def _means_back(i: Instruction, rows: int) -> list[str]:
    table = f"[{','.join(map(str, i.args[0].tolist()))}][j]"
    return [_MEANS.format(count=i.count, rows=rows, read=f"B[o + {i.dst} + j]", write=f"B[o + {table}] +=")]


def _update(printer: Printer, states: int) -> list[str]:
    """Return the lines that change every trained weight, and its state, by the recorded rule."""
    given = ["theta[i]", "grad[i]", *(f"S{k}[i]" for k in range(states)), "columns[0][i]"]
    printer.inputs(lambda index: given[index])
    for i in printer.program.instructions:
        printer.forward(i)
    places = ["theta[i]", *given[2 : 2 + states]]
    puts = [f"{to} = {printer.row(row)};" for to, row in zip(places, printer.program.outputs.tolist(), strict=True)]
    loop = "for (let i = 0; i < theta.length; i++) { if (!trained[i]) continue;"
    return _scope(printer, [*(f"const S{k} = state[{k}];" for k in range(states)), loop, *printer.lines, *puts, "}"])


def settings(problem: Problem) -> dict[str, Any]:
    """Return what the runtime reads of a problem, as JSON data."""
    left, right, rounds = map(int, problem.order_shape)
    plan, update = problem.plan, problem.update
    limits = {**asdict(problem.limits), "n": problem.n_weights}
    tracks = [[t.index, t.row, t.rate if t.rate == t.rate else None, t.positions, t.count] for t in plan.body.tracks]
    return {
        "seed": [int(word) for word in rng.split(problem.seed)], "samples": problem.data.shape[1],
        "batch": problem.batch, "sampling": problem.sampling, "shape": [left, right, rounds],
        "before": problem.t_start, "mean": problem.reduction == "mean", "limits": limits, "tracks": tracks,
        "numbers": problem.data.shape[0], "features": plan.n_features, "parameters": plan.n_parameters + plan.n_derived,
        "rates": [update.n_parameters, update.n_parameters + update.n_derived],
    }  # fmt: skip


@cache
def runtime() -> str:
    """Return the part of the engine that every run has, written by hand; coefficients of erf are Python's."""
    numbers = {name: getattr(erf, name) for name in ("T", "U", "P", "Q", "R", "S")}
    coefficients = ", ".join(f"{name}: [{', '.join(map(repr, some))}]" for name, some in numbers.items())
    head = f"const ERF = {{ {coefficients}, one: {erf.ONE}, far: {erf.FAR}, none: {erf.NONE} }};\n"
    return head + (files(__package__) / "runtime.js").read_text("utf-8")
