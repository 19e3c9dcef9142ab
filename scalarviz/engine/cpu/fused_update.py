"""Known optimisers in one pass over the parameters.

The recorded update runs operation by operation over blocks of rows, which are copied in and out. Where it is, term for
term, what a kernel here computes, the kernel takes its place: the same operations in the same order, so the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...tape import Instruction, Program
from .intrinsics import row_at, select, zero_of
from .layout import FIELDS, KERNEL
from .noalias import NoAlias
from .tiles import Row, Words

NUMBERS = ("beta1", "rest1", "beta2", "rest2", "eps", "decay")
HYPER = ("lr", "root", "shrink")

LONGEST = 1000
"""Letters of an expression that is looked at: one that uses its parts again and again doubles at every use."""


def fused_line(
    program: Program, kernel: Callable[[str], int], dtype: Any
) -> tuple[NDArray[np.int64], NDArray[Any]]:  # fmt: skip
    """The call that replaces an update's program, and the numbers that it reads.

    Parameters
    ----------
    program : Program
        The body of an update: inputs ``w, g, *state``, outputs ``w, *state``.
    kernel : callable
        The name of a kernel to its address.
    dtype : dtype-like

    Returns
    -------
    line : ndarray of int64, shape (1, FIELDS)
        Or (0, FIELDS) if the update is none that is known.
    numbers : ndarray, shape (6,)
    """
    written = _expressions(program)
    for pattern in _PATTERNS:
        if found := pattern.fullmatch(written):
            named = found.groupdict()
            numbers = np.array([float(named.get(name, "0")) for name in NUMBERS]).astype(dtype)
            line = np.zeros((1, FIELDS), np.int64)
            hyper = [int(named.get(name, "-1")) for name in HYPER]
            line[0, :7] = [KERNEL, kernel("adam"), numbers.ctypes.data, *hyper, "decay" in named]
            return line, numbers
    return np.zeros((0, FIELDS), np.int64), np.zeros(0, dtype)


def _expressions(program: Program) -> str:
    """The outputs of a program as text: inputs ``x0``, constants ``#0.9``, theta ``@2``; "" if that is too long."""
    rows = {int(r): f"x{i}" for r, i in zip(program.input_rows, program.input_index, strict=True)}
    rows |= {int(r): f"#{c!r}" for r, c in zip(program.constant_rows, program.constants.tolist(), strict=True)}
    for i in program.instructions:
        for j in range(i.count):
            text = _expression(i, j, rows)
            if not text or len(text) > LONGEST:
                return ""
            rows[i.dst + j] = text
    return ";".join(rows[int(r)] for r in program.outputs)


def _expression(i: Instruction, j: int, rows: dict[int, str]) -> str:
    if i.kind == "op":
        return f"{i.op}({','.join(rows[int(r)] for r in i.args[:, j])})"
    if i.kind == "param":
        return f"@{i.weights[j]}"
    if i.kind == "layer" and i.args.shape[1] == 1 and i.bias < 0:
        return f"(@{i.weights[j]}*{rows[int(i.args[0, 0])]})"
    return ""


def _pattern(text: str) -> re.Pattern[str]:
    """What matches a text with ``{names}``: anything at the first place of a name, the same at the others."""
    parts = re.split(r"\{(\w+)\}", text)
    seen: set[str] = set()
    for k in range(1, len(parts), 2):
        name = parts[k]
        parts[k] = f"(?P={name})" if name in seen else f"(?P<{name}>[^,()#@;*]+)"
        seen.add(name)
    return re.compile("".join(part if k % 2 else re.escape(part) for k, part in enumerate(parts)))


def _adam(w: str, g: str) -> re.Pattern[str]:
    """Adam with the weight and the gradient as they enter it."""
    m = f"add(mul(#{{beta1}},x2),mul(#{{rest1}},{g}))"
    v = f"add(mul(#{{beta2}},x3),mul(#{{rest2}},mul({g},{g})))"
    return _pattern(f"sub({w},(@{{lr}}*div({m},add(div(sqrt({v}),@{{root}}),#{{eps}}))));{m};{v}")


_PATTERNS = (_adam("x0", "x1"), _adam("x0", "add(x1,mul(#{decay},x0))"), _adam("(@{shrink}*x0)", "x1"))


# not even "contract", which a caller hands on: the row kernels round after each operation, and so does this
@njit(error_model="numpy", pipeline_class=NoAlias, fastmath=False)
def _adam_rows(
    w: Row, g: Row, m: Row, v: Row, numbers: Row, lr: Any, root: Any, shrink: Any, shrinks: bool, decays: bool,
    zero: Any, n: int,
) -> None:  # fmt: skip
    beta1, rest1, beta2, rest2, eps, decay = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    for i in range(n):
        grad = select(decays, g[i] + decay * w[i], g[i])
        first = beta1 * m[i] + rest1 * grad
        second = beta2 * v[i] + rest2 * (grad * grad)
        m[i], v[i] = first, second
        # a layer of one weight begins at 0: that makes a -0 positive
        step = lr * (first / (sqrt(second) / root + eps)) + zero
        w[i] = select(shrinks, shrink * w[i] + zero, w[i]) - step


def adam(
    code: Words, columns: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adam or AdamW on `n` parameters.

    `columns` are the addresses of values, gradients and states, `numbers` those of ``NUMBERS``. Fields: their address,
    indices into theta of lr, of the root of ``1 - beta2**t`` and of the factor of the weight (or -1), 1 if the weights
    enter the gradient.
    """
    w, g, m, v = (
        row_at(columns[0], theta),
        row_at(columns[1], theta),
        row_at(columns[2], theta),
        row_at(columns[3], theta),
    )
    zero = zero_of(theta)
    shrinks = code[5] >= 0
    shrink = theta[code[5]] if shrinks else zero
    _adam_rows(w, g, m, v, numbers, theta[code[3]], theta[code[4]], shrink, shrinks, code[6] != 0, zero, n)
