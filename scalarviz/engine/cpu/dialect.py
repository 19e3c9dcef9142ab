"""The ops table in numba's Python: the source of the row kernels of one operation.

A row kernel works on `n` neighbouring numbers. The forward one computes ``y = value(a, b, c)``; there is one backward
kernel an operand, so that LLVM has few pointers to compare before it vectorises:
``d += g * partial(a, b, c, y)``, or ``d = ...`` where the adjoint is *fresh* (nobody has written it before).
"""

from __future__ import annotations

import hashlib
import math
from textwrap import indent

from ...scalar import ops
from ...scalar.emit import FUNCTIONS, Dialect, translate

DTYPES = ("float32", "float64")
POINTERS = ("_a", "_b", "_c", "_y", "_g", "_d")


def _literal(number: float) -> str:
    """Typed, or numba would promote ``float32 * 2.0`` to float64."""
    return f"_real({number!r})" if math.isfinite(number) else f"({'-' if number < 0 else ''}_infinity)"


NUMBA = Dialect(
    calls={name: f"_{name}" for name in FUNCTIONS if name != "abs"},
    where="_select({c}, {a}, {b})",
    literal=_literal,
)

_HEADER = '''\
"""Row kernels of {name!r} in {dtype}. Written by scalarviz from its ops table; changes here are lost."""

from math import cos as _cos, sin as _sin, sqrt as _sqrt

from numpy import {dtype} as _real

from {package}.intrinsics import select as _select
from {package}.math_{dtype} import exp as _exp, log as _log, log1p as _log1p, tanh as _tanh

_infinity = _real("inf")
'''


def kernel_names(op: ops.Op) -> tuple[str, ...]:
    """``forward`` and one ``backward_k`` for each operand that a gradient flows to."""
    return ("forward", *(f"backward_{k}" for k, partial in enumerate(op.partials) if partial is not None))


def module_source(op: ops.Op, dtype: str, package: str) -> str:
    """The module file with the row kernels of `op`."""
    parts = [_HEADER.format(name=op.name, dtype=dtype, package=package), _forward(op)]
    for k, partial in enumerate(op.partials):
        if partial is not None:
            parts.append(_backward(op, k, partial))
    return "\n\n".join(parts)


def digest(op: ops.Op) -> str:
    """Short hash of the formulas: another formula under the same name is another module."""
    return hashlib.sha256(repr((op.args, op.expressions())).encode()).hexdigest()[:12]


def _forward(op: ops.Op) -> str:
    lines, results = translate((op.value,), op.args, NUMBA)
    body = [*lines, f"_y[_i] = {results[0]}"]
    return _definition("forward", op, body)


def _backward(op: ops.Op, k: int, partial: str) -> str:
    lines, results = translate((partial,), (*op.args, "y"), NUMBA)
    change = f"_g[_i] * {results[0]}"
    read = ["y = _y[_i]", *lines]
    return _definition(f"backward_{k}", op, [*read, f"_d[_i] = {change}"], [*read, f"_d[_i] += {change}"])


def _definition(name: str, op: ops.Op, *loops: list[str]) -> str:
    """A function around one loop, or around two: for a fresh adjoint and for one that is added to."""
    loads = [f"{arg} = _{'abc'[k]}[_i]" for k, arg in enumerate(op.args)]
    texts = ["\n".join(["for _i in range(_n):", *(f"    {line}" for line in [*loads, *loop])]) for loop in loops]
    if len(texts) == 2:
        texts = [f"if _fresh:\n{indent(texts[0], '    ')}\nelse:\n{indent(texts[1], '    ')}"]
    body = indent("\n".join(texts), "    ")
    return f"def {name}({', '.join(POINTERS)}, _n, _fresh):\n{body}\n"
