"""Sums over lanes: gradients of parameters and the loss, in a fixed number of slices, added in order."""

from __future__ import annotations

import numpy as np

from ..jit import cuda
from ..typed import Double, Doubles, Int, Longs, Reals, Words, real


def pairs(
    parts: Reals, adjoints: Reals, values: Reals, first: Longs, adjoint_rows: Words, value_rows: Words, n: Int,
    slices: Int, fresh: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """``parts[slice*n + p]``: the slice's part of parameter p's gradient, over its pairs of an adjoint and a value row.

    A value row of -1 stands for 1 (a bias). Where it is not `fresh`, it is added to what earlier chunks gave.
    """
    p = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    q = cuda.blockIdx.y
    if p < n:
        begin = q * lanes // slices
        end = (q + 1) * lanes // slices
        total = real(0)
        if fresh == 0:
            total = parts[q * n + p]
        for m in range(first[p], first[p + 1]):
            adjoint = adjoint_rows[m] * stride
            if value_rows[m] >= 0:
                value = value_rows[m] * stride
                for lane in range(begin, end):
                    total += adjoints[adjoint + lane] * values[value + lane]
            else:
                for lane in range(begin, end):
                    total += adjoints[adjoint + lane]
        parts[q * n + p] = total


def join(grad: Reals, parts: Reals, n: Int, slices: Int, fresh: Int) -> None:
    """The gradient of a parameter from its slices, in order; added to what is there where it is not `fresh`."""
    p = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if p < n:
        total = real(0)
        if fresh == 0:
            total = grad[p]
        for q in range(slices):
            total += parts[q * n + p]
        grad[p] = total


def loss_parts(parts: Doubles, values: Reals, row: Int, slices: Int, fresh: Int, stride: Int, lanes: Int) -> None:
    """``parts[slice]``: a slice's part of the sum of a row, in float64 (1,024 losses in float32 lose three digits)."""
    q = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if q < slices:
        total = np.float64(0)
        if fresh == 0:
            total = parts[q]
        for lane in range(q * lanes // slices, (q + 1) * lanes // slices):
            total += np.float64(values[row * stride + lane])
        parts[q] = total


def loss_join(losses: Doubles, parts: Doubles, slices: Int, scale: Double, clock: Longs) -> None:
    """The loss of the step at its place."""
    if cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x == 0:
        total = np.float64(0)
        for q in range(slices):
            total += parts[q]
        losses[clock[0]] = total * scale
