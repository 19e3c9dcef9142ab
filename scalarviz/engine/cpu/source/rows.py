"""The ops table in numba's Python: the source of the row kernels of one operation.

A row kernel works on `n` neighbouring numbers. The forward one computes ``y = value(a, b, c)``; there is one backward
kernel an operand, so that LLVM has few pointers to compare before it vectorises:
``d += g * partial(a, b, c, y)``, or ``d = ...`` where the adjoint is *fresh* (nobody has written it before). The factor
g stands in the branches of the partial's selections (:func:`scalarviz.scalar.emit.adjoint`).
"""

from __future__ import annotations

import math
import re
from textwrap import indent

from ....scalar import ops
from ....scalar.emit import FUNCTIONS, UPSTREAM, Dialect, adjoint, translate

POINTERS = ("_a", "_b", "_c", "_y", "_g", "_d")


def _literal(number: float) -> str:
    """Typed, or numba would promote ``float32 * 2.0`` to float64."""
    return f"_real({number!r})" if math.isfinite(number) else f"({'-' if number < 0 else ''}_infinity)"


_FUNCTIONS = {name: f"_{name}" for name in FUNCTIONS}
NUMBA = Dialect(calls=_FUNCTIONS, where="_select({c}, {a}, {b})", literal=_literal)
NEAR = Dialect(
    calls=_FUNCTIONS | {"sin": "_sin_near", "cos": "_cos_near"}, where="_select({c}, {a}, {b})", literal=_literal
)
"""For small arguments: the library's sine and cosine, good for any, are no straight-line code."""

_HEADER = '''\
"""Row kernels of {name!r} in {dtype}. Written by scalarviz from its ops table; changes here are lost."""

from math import cos as _cos, sin as _sin, sqrt as _sqrt

from numpy import {dtype} as _real

from {package}.intrinsics import select as _select
from {package}.math_{dtype} import all_near as _all_near, cos_near as _cos_near, erf as _erf, erfc as _erfc
from {package}.math_{dtype} import exp as _exp, log as _log, log1p as _log1p, sin_near as _sin_near, tanh as _tanh

_infinity = _real("inf")
_abs, _range = abs, range  # an operand may have these names
'''


def kernel_names(op: ops.Op) -> tuple[str, ...]:
    """``forward`` and one ``backward_k`` for each operand that a gradient flows to."""
    return ("forward", *(f"backward_{k}" for k, partial in enumerate(op.partials) if partial is not None))


def module_source(op: ops.Op, dtype: str, package: str) -> str:
    """The module file with the row kernels of `op`."""
    parts = [header(op.name, dtype, package), _forward(op)]
    for k, partial in enumerate(op.partials):
        if partial is not None:
            parts.append(_backward(op, k, partial))
    return "\n\n".join(parts)


def header(name: str, dtype: str, package: str) -> str:
    """What stands at the top of a module file of kernels."""
    return _HEADER.format(name=name, dtype=dtype, package=package)


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
    """How an expression is written: twice if it takes the sine or cosine of an operand, and of nothing else."""
    angles = re.findall(r"\b(?:sin|cos)\(([^()]*)", expression)
    return (NEAR, NUMBA) if angles and set(angles) <= set(op.args) else (NUMBA,)


def _loop(op: ops.Op, lines: list[str]) -> str:
    loads = [f"{arg} = _{'abc'[k]}[_i]" for k, arg in enumerate(op.args)]
    return "\n".join(["for _i in _range(_n):", *(f"    {line}" for line in [*loads, *lines])])


def _definition(name: str, op: ops.Op, bodies: list[str]) -> str:
    """A function around one body, or around two: for operands that are all near 0, and for any."""
    text = bodies[0]
    if len(bodies) == 2:
        near = " and ".join(f"_all_near(_{'abc'[k]}, _n)" for k in range(len(op.args)))
        text = f"if {near}:\n{indent(bodies[0], '    ')}\nelse:\n{indent(bodies[1], '    ')}"
    return definition(name, text.splitlines())


def definition(name: str, lines: list[str]) -> str:
    """A function with the arguments of a row kernel."""
    body = "\n".join(lines)
    return f"def {name}({', '.join(POINTERS)}, _n, _fresh):\n{indent(body, '    ')}\n"
