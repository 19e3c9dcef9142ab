"""Generated source of the CPU kernels: the row kernels of an operation, and the fused updates of common optimisers.

A row kernel processes `n` neighbouring numbers. The forward kernel computes ``y = value(a, b, c)``. There is one
backward kernel per operand, so that LLVM compares few pointers before it vectorises: ``d += g *
partial(a, b, c, y)``, or ``d = ...`` if the gradient is *fresh* (not written before). The factor g
is inside the branches of the partial's selections (:func:`scalarviz.scalar.emit.adjoint`).

An update that equals one of the fused ones runs as that kernel instead of row by row: the same operations in
the same order, so the same bits (except the sign of a zero, because a scaled row is added to 0).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache
from textwrap import indent

from ...scalar import ops
from ...scalar.emit import FUNCTIONS, UPSTREAM, Dialect, adjoint, translate, typed_literal
from ...tape import Instruction, Program

POINTERS = ("_a", "_b", "_c", "_y", "_g", "_d")


_FUNCTIONS = {name: f"_{name}" for name in FUNCTIONS}
NUMBA = Dialect(calls=_FUNCTIONS, where="_select({c}, {a}, {b})", literal=typed_literal)
NEAR = replace(NUMBA, calls=_FUNCTIONS | {"sin": "_sin_near", "cos": "_cos_near"})
"""Sine and cosine for small arguments: the library's, good for any argument, is not straight-line code."""

_HEADER = '''\
"""Row kernels of {name!r} in {dtype}. Written by scalarviz from its ops table; changes here are lost."""

from math import cos as _cos, sin as _sin, sqrt as _sqrt

from numpy import {dtype} as _real

from {package}.intrinsics import select as _select, widest as _widest
from {package}.math_{dtype} import all_near as _all_near, cos_near as _cos_near, erf as _erf, erfc as _erfc
from {package}.math_{dtype} import exp as _exp, float16 as _float16, log as _log, log1p as _log1p
from {package}.math_{dtype} import sin_near as _sin_near, tanh as _tanh

_infinity = _real("inf")
_abs, _range = abs, range  # an operand may have these names
'''


def kernel_names(op: ops.Op) -> tuple[str, ...]:
    """Return ``forward`` and one ``backward_k`` for each operand that a gradient flows to."""
    return ("forward", *(f"backward_{k}" for k, partial in enumerate(op.partials) if partial is not None))


@lru_cache(maxsize=1024)
def module_source(op: ops.Op, dtype: str) -> str:
    """Return the source of a module with the row kernels of `op`."""
    backward = (_backward(op, k, partial) for k, partial in enumerate(op.partials) if partial is not None)
    return "\n\n".join([header(op.name, dtype), _forward(op), *backward])


def header(name: str, dtype: str) -> str:
    """Return the head of a module of kernels."""
    return _HEADER.format(name=name, dtype=dtype, package=f"{__package__}.compiled")


def _forward(op: ops.Op) -> str:
    bodies = []
    for dialect in _dialects(op, op.value):
        lines, results = translate((op.value,), op.args, dialect)
        bodies.append(_loop(op, [*lines, f"_y[_i] = {results[0]}"]))
    return _definition("forward", op, bodies)


def _backward(op: ops.Op, k: int, partial: str) -> str:
    bodies = []
    for dialect in _dialects(op, partial):
        lines, results = translate((adjoint(partial),), (*op.args, "y", UPSTREAM), dialect)
        read = ["y = _y[_i]", f"{UPSTREAM} = _g[_i]", *lines]
        first, more = (_loop(op, [*read, f"_d[_i] {sign} {results[0]}"]) for sign in ("=", "+="))
        bodies.append(f"if _fresh:\n{indent(first, '    ')}\nelse:\n{indent(more, '    ')}")
    return _definition(f"backward_{k}", op, bodies)


def _dialects(op: ops.Op, expression: str) -> tuple[Dialect, ...]:
    """Return the source of an expression; two versions if it needs the sine or cosine of an operand alone."""
    angles = re.findall(r"\b(?:sin|cos)\(([^()]*)", expression)
    return (NEAR, NUMBA) if angles and set(angles) <= set(op.args) else (NUMBA,)


def _loop(op: ops.Op, lines: list[str]) -> str:
    loads = [f"{arg} = _{'abc'[k]}[_i]" for k, arg in enumerate(op.args)]
    return "\n".join(["for _i in _range(_n):", *(f"    {line}" for line in [*loads, *lines])])


def _definition(name: str, op: ops.Op, bodies: list[str]) -> str:
    """Return a function with one body, or with two: for operands that are all near 0, and for any operands."""
    text = bodies[0]
    if len(bodies) == 2:
        near = " and ".join(f"_all_near(_{'abc'[k]}, _n)" for k in range(len(op.args)))
        text = f"if {near}:\n{indent(bodies[0], '    ')}\nelse:\n{indent(bodies[1], '    ')}"
    return definition(name, text.splitlines())


def definition(name: str, lines: list[str]) -> str:
    """Return a function with the arguments of a row kernel."""
    body = "\n".join(["_widest(_n)", *lines])
    return f"def {name}({', '.join(POINTERS)}, _n, _fresh):\n{indent(body, '    ')}\n"


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
    """Return a program in the form of :data:`UPDATES`; empty if it cannot be expressed so."""
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
    """Return the fused kernel that equals the body of an update, or an empty text."""
    words = words_of(program)
    return next((name for name, known in UPDATES.items() if known == words), "")


@cache
def update_source(name: str, dtype: str) -> str:
    """Return the source of a kernel of :data:`UPDATES`: weights, gradients, two states, constants, step numbers."""
    counts, *lines, out = UPDATES[name].split("; ")
    inputs, constants = (int(count) for count in counts.split("+"))
    columns = _COLUMNS[:inputs]
    body = [f"r{inputs + k} = {_CONSTANTS}[{k}]" for k in range(constants)]
    body += [f"{t} = {_STEP}[{t[1:]}]" for t in sorted(set(re.findall(r"\bt\d+", UPDATES[name])))]
    body += ["for _i in range(_n):", *(f"    r{k} = {column}[_i]" for k, column in enumerate(columns))]
    body += [f"    {part}" for line in lines for part in _statements(line)]
    targets = (columns[0], *columns[2:])
    body += [f"    {column}[_i] = {row}" for column, row in zip(targets, out.split()[1:], strict=True)]
    return f"{header(name, dtype)}\n\n{definition(name, body)}"


def _statements(line: str) -> list[str]:
    """Return Python for ``r3 = sub r0 r2``."""
    result, word, *operands = line.replace(" = ", " ").split()
    if word == "take":
        return [f"{result} = {operands[0]}"]
    op = ops.get("mul" if word == "scale" else word)
    parts, (value,) = translate((op.value,), op.args, NUMBA)
    return [*(f"{arg} = {row}" for arg, row in zip(op.args, operands, strict=True)), *parts, f"{result} = {value}"]
