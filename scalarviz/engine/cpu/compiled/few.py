"""Layers of a batch that fits one vector: an instruction is a tile of up to 4 x 4 weights over neighbouring rows.

Which tiles a layer is cut into, and when, stands in :mod:`scalarviz.engine.cpu.encode.few`.
"""

from __future__ import annotations

from ..vector.few import few_outer, few_sums
from ..wire import BASE, STRIDE
from .tiles import Row, Words


def combine_few(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``.

    Fields: first row `to`, how many (1 to 4), first row `from`, how many (1 to 4), weight, to_step, from_step, bias
    (or -1), 1 to add.
    """
    few_sums(
        theta, space[BASE], space[STRIDE], code[2], code[3], code[4], code[5], code[6], code[7], code[8], code[9],
        code[10],
    )  # fmt: skip


def outer_few(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``grad[weight + i*step + j] += sum over lanes of upstream[i] * from[j]``, and the biases' gradients.

    Fields: first row `upstream`, how many (1 to 4), first row `from`, how many (1 to 4), weight, step, bias (or -1).
    """
    few_outer(
        grad, space[BASE], space[STRIDE], code[2], code[3], code[4], code[5], code[6], code[7], code[8], n
    )  # fmt: skip
