"""A whole run as JavaScript: the functions of its network and of its update, and the numbers that they work on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import rng
from ...scalar import erf
from ...tape import Instruction, Plan, Program
from ..outside import Outside
from ..problem import Problem
from .printer import Printer, Tables

HEADS = {
    "derive": "E", "spread": "E, G", "features": "data, at", "derived": "E",
    "gradient": "E, G, data, order, step, seed, scale, stats",
    "update": "E, theta, grad, state, columns, trained", "look": "E, data, at, out",
    "trial": "E, G, data, at, out, up",
}  # fmt: skip
"""The functions of a module and their arguments; ``js/runtime.js`` calls them."""


def lacks(problem: Problem) -> str:
    """Return why a browser cannot train this problem, as one clause; empty if it can."""
    return "its data is read from files or made by a function" if isinstance(problem.data, Outside) else ""


def module(problem: Problem, *, unrolled: bool | None = None) -> str:
    """Return the body of a JavaScript function that returns the functions of a problem by name.

    Whether the network's program is `unrolled` follows from its size.
    """
    plan, update, dtype = problem.plan, problem.update, problem.store.value.dtype.name
    made = _Module(dtype)
    made.add_around(plan)
    made.add("gradient", _gradient(made.printer(plan.body, unrolled=unrolled), problem.data.shape[0], made.parts))
    made.add_update(update, len(problem.state))
    return made.text(sorted({i.call for i in plan.body.instructions if i.kind == "mask"}))


def viewer(plan: Plan, rows: NDArray[np.int64]) -> str:
    """Return the body of a JavaScript function that returns those that compute some rows of a sample, in float64."""
    made = _Module("float64")
    made.add_around(plan)
    made.add(
        "look", _values(made.printer(plan.body), "data[at + {}]", rows, [f"out[{k}] = {{}};" for k in range(len(rows))])
    )
    return made.text([])


def trial(problem: Problem, plan: Plan, rows: Sequence[int], adjoints: Sequence[int]) -> str:
    """Return the body of a JavaScript function that returns those of an opened step, in float64.

    ``trial`` puts these rows of the plan for one sample, and then the gradients of others, into an array; -1 stands
    for 1, -2 for no number. ``up`` is the factor of the sample's loss in that of the batch.
    """
    made = _Module("float64")
    made.add_around(plan)
    made.add("trial", _trial(made.printer(plan.body), rows, adjoints))
    made.add_update(problem.update, len(problem.state))
    return made.text([])


def update_alone(update: Plan, states: int, dtype: str) -> str:
    """Return the body of a JavaScript function that returns those of an optimiser's update by name."""
    made = _Module(dtype)
    made.add_update(update, states)
    return made.text([])


class _Module:
    """Functions that share constants, and the rows of loops."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.tables, self.parts = dtype, Tables(), list[str]()
        self._functions: dict[str, str] = {}
        self._rows = 0

    def printer(self, program: Program, *, unrolled: bool | None = None) -> Printer:
        """Return a printer of one program."""
        self._rows = max(self._rows, program.n_rows)
        return Printer(program, self.dtype, self.tables, unrolled=unrolled)

    def add(self, name: str, lines: Iterable[str]) -> None:
        """Add a function of `HEADS`."""
        self._functions[name] = _function(name, HEADS[name], lines)

    def add_around(self, plan: Plan) -> None:
        """Add what a plan does once in each step, and once for each sample."""
        derive: list[str] = []
        spread: list[str] = []
        features: list[str] = []
        if plan.prologue is not None:
            places = [f"E[{plan.n_parameters + k}] = {{}};" for k in range(plan.n_derived)]
            derive = _values(self.printer(plan.prologue), "", plan.prologue.outputs, places)
            spread = _spread(self.printer(plan.prologue), plan.n_parameters)
        if plan.encode is not None:
            first = plan.n_inputs + plan.n_targets
            places = [f"data[at + {first + k}] = {{}};" for k in range(plan.n_features)]
            features = _values(self.printer(plan.encode), "data[at + {}]", plan.encode.outputs, places)
        for name, lines in (("derive", derive), ("spread", spread), ("features", features)):
            self.add(name, lines)

    def add_update(self, update: Plan, states: int) -> None:
        """Add what the optimiser does once in each step, and once for each weight."""
        derived = Printer(update.prologue, "float64", self.tables, unrolled=True) if update.prologue else None
        puts = [f"E[{update.n_parameters + k}] = {{}};" for k in range(update.n_derived)]
        self.add("derived", [] if derived is None else _values(derived, "", derived.program.outputs, puts))
        self.add("update", _update(self.printer(update.body, unrolled=True), states))

    def text(self, calls: Iterable[int]) -> str:
        """Return all of it; `calls` are the numbers of modules with dropout masks."""
        rows = f"let V = new R({self._rows}), B = new R({self._rows});"
        head = [
            f"const R = {self.dtype.capitalize()}Array;",
            rows,
            *(f"let K{call};" for call in calls),
            str(self.tables),
        ]
        return "\n".join([*head, *self.parts, *self._functions.values(), f"return {{ {', '.join(self._functions)} }};"])


def _function(name: str, arguments: str, lines: Iterable[str]) -> str:
    return "\n".join([f"function {name}({arguments}) {{", *lines, "}"])


def _scope(printer: Printer, lines: Iterable[str]) -> list[str]:
    """Return a function's lines, with the variables of its weights before them and those of its gradients after."""
    before = [f"const w{i} = E[{i}];" for i in sorted(printer.weights)]
    sums = sorted(printer.gradients)
    return [*before, *(f"let g{i} = 0;" for i in sums), *lines, *(f"G[{i}] += g{i};" for i in sums)]


def _values(printer: Printer, given: str, rows: NDArray[np.int64], puts: Sequence[str]) -> list[str]:
    """Return the lines of a function that computes some rows of a program; `puts` say where each goes."""
    printer.inputs(given.format)
    for i in printer.program.instructions:
        printer.forward(i)
    for put, row in zip(puts, rows.tolist(), strict=True):
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


_ABSENT = {-1: "1", -2: "NaN"}


def _trial(printer: Printer, rows: Sequence[int], adjoints: Sequence[int]) -> list[str]:
    """Return the lines of an opened step for one sample, forward and back."""
    program = printer.program
    printer.inputs("data[at + {}]".format)
    for i in program.instructions:
        printer.forward(i)
    if not printer.unrolled:
        printer.add("B.fill(0);")
    printer.pull(program.loss, "up")
    for i in reversed(program.instructions):
        printer.backward(i)
    if not printer.unrolled:
        parts = (0, "V", rows), (len(rows), "B", adjoints)
        puts = [f"_put(out, {at}, {of}, {_runs(wanted)});" for at, of, wanted in parts]
        return _scope(printer, [*printer.lines, *puts])
    found = [_ABSENT.get(row) or printer.row(row) for row in rows]
    found += [_ABSENT.get(row) or printer.adjoint(row) for row in adjoints]
    return _scope(printer, [*printer.lines, *(f"out[{k}] = {number};" for k, number in enumerate(found))])


def _runs(rows: Sequence[int]) -> str:
    """Return rows as text for ``_put``: where runs of equal steps begin, how many rows they have, and their steps."""
    runs: list[list[int]] = []
    for row in rows:
        first, count, step = runs[-1] if runs else (0, 0, 0)
        if count == 1 or (count and row == first + count * step):
            runs[-1] = [first, count + 1, row - first if count == 1 else step]
        else:
            runs.append([row, 1, 0])
    return json.dumps([number for run in runs for number in run], separators=(",", ":"))


PART = 4000
"""Letters of a part of a long function, about: browsers do not compile longer ones well."""
GIVEN = "E, G, data, at, o, s, step"
"""What a part of the gradient's function gets."""


def _gradient(printer: Printer, numbers: int, parts: list[str]) -> list[str]:
    """Return the lines that add the gradients of a batch to G and return the sum of its losses.

    What a loop over samples does is split into `parts`, functions, unless it is unrolled.
    """
    program = printer.program
    stretches, rows = printer.stretches(), program.n_rows
    sample = f"for (let s = 0; s < order.length; s++) {{ const at = order[s] * {numbers}, o = s * {rows};"
    calls = sorted({i.call for i in program.instructions if i.kind == "mask"})
    lines = [
        *(f"K{call} = _key(seed, {call});" for call in calls),
        f"const up = {printer.rounded('scale')};",
        "let loss = 0;",
    ]
    if program.couples:
        room = f"if (V.length < order.length * {rows}) {{ V = new R(order.length * {rows}); B = new R(V.length); }}"
        lines += [room, "B.fill(0);"]

    def printed(print_one: Callable[[Instruction], None], some: Sequence[Instruction]) -> list[str]:
        found: list[str] = []
        for i in some:
            print_one(i)
            found.append("\n".join(printer.lines))
            printer.lines = []
        return found if printer.unrolled else _parted(found, parts)

    printer.inputs(lambda index: f"data[at + {index}]")
    given, printer.lines = printer.lines, []
    forward = [printed(printer.forward, some) if some[0].kind != "batch_mean" else [] for some in stretches]
    printer.pull(program.loss, "up")
    seeded, printer.lines = printer.lines, []
    backward = [
        printed(printer.backward, some[::-1]) if some[0].kind != "batch_mean" else [] for some in stretches[::-1]
    ]
    known = f"loss += {printer.row(program.loss)};"
    if not program.couples:
        clear = [] if printer.unrolled else ["B.fill(0);"]
        every = [*given, *forward[0], known, *clear, *seeded, *backward[0]]
        return [*_scope(printer, [*lines, sample, *every, "}"]), "return loss;"]
    for k, (some, own) in enumerate(zip(stretches, forward, strict=True)):
        lines += _means(some[0], rows) if not own else [sample, *(given if k == 0 else []), *own, "}"]
    lines += [sample, known, *seeded, "}"]
    for some, own in zip(stretches[::-1], backward, strict=True):
        lines += _means_back(some[0], rows) if not own else [sample, *own, "}"]
    lines += [f"stats[{k}] = V[{track.row}];" for k, track in enumerate(program.tracks) if track.row >= 0]
    return [*_scope(printer, lines), "return loss;"]


def _parted(texts: Iterable[str], parts: list[str]) -> list[str]:
    """Return calls of functions that do what the texts say, in order; the functions are added to `parts`."""
    found: list[str] = []
    size = PART
    for text in filter(None, texts):
        if size + len(text) > PART:
            parts.append(_function(f"part{len(parts)}", GIVEN, []))
            found.append(f"part{len(parts) - 1}({GIVEN});")
            size = 0
        parts[-1] = parts[-1].removesuffix("}") + text + "\n}"
        size += len(text)
    return found


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
    left, right, rounds = (int(part) for part in problem.order_shape)
    plan, update = problem.plan, problem.update
    limits = {**asdict(problem.limits), "n": problem.n_weights}
    tracks = [[t.index, t.row, t.rate if t.rate == t.rate else None, t.positions, t.count] for t in plan.body.tracks]
    return {
        "seed": [int(word) for word in rng.split(problem.seed)], "samples": problem.data.shape[1],
        "batch": problem.batch, "sampling": problem.sampling, "shape": [left, right, rounds],
        "before": problem.t_start, "mean": problem.reduction == "mean", "limits": limits, "tracks": tracks,
        "penalised": problem.limits.penalised,
        "numbers": problem.data.shape[0], "features": plan.n_features, "parameters": plan.n_parameters + plan.n_derived,
        "rates": update.n_parameters + update.n_derived,
    }  # fmt: skip


@cache
def runtime() -> str:
    """Return the part of the engine that every run has, written by hand; coefficients of erf are Python's."""
    numbers = {name: [*getattr(erf, name)] for name in "TUPQRS"} | {"one": erf.ONE, "far": erf.FAR, "none": erf.NONE}
    return f"const ERF = {json.dumps(numbers)};\n" + (files(__package__) / "runtime.js").read_text("utf-8")
