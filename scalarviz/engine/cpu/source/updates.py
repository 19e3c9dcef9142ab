"""The update of the optimisers that most people use as one kernel each, with a weight's numbers in registers.

Every update can run as a program, row by row. A program that says the same as one of these runs as its kernel instead:
the same operations in the same order, so the same bits (but for the sign of a zero: a row that is scaled is added to 0
there), but no row goes through memory. Which those are is written down here in the words of the program; the code is
made of them and of the ops table.
"""

from __future__ import annotations

import re

from ....scalar import ops
from ....scalar.emit import translate
from ....tape import Instruction, Program
from .rows import NUMBA, definition, header

UPDATES = {
    "update_sgd": "2+0; r2 = scale t0 r1; r3 = sub r0 r2; out r3",
    "update_momentum": (
        "3+1; r4 = mul r3 r2; r5 = add r4 r1; r6 = scale t0 r5; r7 = sub r0 r6; out r7 r5"
    ),
    "update_adam": (
        "4+5; r9 = take t3; r10 = mul r4 r2; r11 = mul r5 r1; r12 = mul r6 r3; r13 = mul r1 r1; r14 = mul r7 r13; "
        "r15 = add r10 r11; r16 = add r12 r14; r17 = sqrt r16; r18 = div r17 r9; r19 = add r18 r8; r20 = div r15 r19; "
        "r21 = scale t2 r20; r22 = sub r0 r21; out r22 r15 r16"
    ),
    "update_adamw": (
        "4+5; r9 = take t4; r10 = scale t2 r0; r11 = mul r4 r2; r12 = mul r5 r1; r13 = mul r6 r3; r14 = mul r1 r1; "
        "r15 = mul r7 r14; r16 = add r11 r12; r17 = add r13 r15; r18 = sqrt r17; r19 = div r18 r9; r20 = add r19 r8; "
        "r21 = div r16 r20; r22 = scale t3 r21; r23 = sub r10 r22; out r23 r16 r17"
    ),
}  # fmt: skip
"""Inputs (weight, gradient, states) + constants; what each row is; the new weight and states. Rows count on from the
inputs over the constants; t0, t1 ... are the numbers of the step: learning rate, step, what depends on them alone."""

_COLUMNS = ("_a", "_b", "_c", "_y")
_CONSTANTS, _STEP = "_g", "_d"


def words_of(program: Program) -> str:
    """A program in the words of :data:`UPDATES`; nothing if it says what they have no word for."""
    n = len(program.input_rows)
    constants = n + len(program.constant_rows)
    given = [*program.input_rows.tolist(), *program.constant_rows.tolist()]
    if given != list(range(constants)) or program.input_index.tolist() != list(range(n)):
        return ""
    lines = [line for i in program.instructions for line in _lines(i)]
    outputs = " ".join(f"r{row}" for row in program.outputs)
    return "; ".join([f"{n}+{constants - n}", *lines, f"out {outputs}"]) if all(lines) else ""


def _lines(i: Instruction) -> list[str]:
    if i.kind == "op":
        return [f"r{i.dst + j} = {i.op} {' '.join(f'r{a}' for a in i.args[:, j])}" for j in range(i.count)]
    if i.kind == "param":
        return [f"r{i.dst + j} = take t{i.weights[j]}" for j in range(i.count)]
    if i.kind == "layer" and i.count == i.args.size == 1 and i.bias < 0:
        return [f"r{i.dst} = scale t{i.weights[0]} r{i.args[0, 0]}"]
    return [""]


def name_of(program: Program) -> str:
    """The kernel that says the same as the body of an update, or nothing."""
    words = words_of(program)
    return next((name for name, known in UPDATES.items() if known == words), "")


def update_source(name: str, dtype: str, package: str) -> str:
    """The module file with a kernel of :data:`UPDATES`: a row kernel over all weights.

    Its arguments: weights, gradients, two states, the program's constants, the numbers of the step, how many weights;
    one that is not used.
    """
    counts, *lines, out = UPDATES[name].split("; ")
    inputs, constants = (int(count) for count in counts.split("+"))
    columns = _COLUMNS[:inputs]
    body = [f"r{inputs + k} = {_CONSTANTS}[{k}]" for k in range(constants)]
    body += [f"{t} = {_STEP}[{t[1:]}]" for t in sorted(set(re.findall(r"\bt\d+", UPDATES[name])))]
    body += ["for _i in range(_n):", *(f"    r{k} = {column}[_i]" for k, column in enumerate(columns))]
    body += [f"    {part}" for line in lines for part in _statements(line)]
    targets = (columns[0], *columns[2:])
    body += [f"    {column}[_i] = {row}" for column, row in zip(targets, out.split()[1:], strict=True)]
    return f"{header(name, dtype, package)}\n\n{definition(name, body)}"


def _statements(line: str) -> list[str]:
    """Python for ``r3 = sub r0 r2``."""
    result, word, *operands = line.replace(" = ", " ").split()
    if word == "take":
        return [f"{result} = {operands[0]}"]
    op = ops.get("mul" if word == "scale" else word)
    parts, (value,) = translate((op.value,), op.args, NUMBA)
    return [*(f"{arg} = {row}" for arg, row in zip(op.args, operands, strict=True)), *parts, f"{result} = {value}"]
