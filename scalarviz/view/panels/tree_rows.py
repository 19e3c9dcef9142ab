"""The lines of the two trees: what stands in each, and the gradients that are known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage, is_chain

Floats = NDArray[np.float64]
LINE, AIR = 17.0, 4.0
CELL = 4.0
"""Pixels of a number of a weight matrix, where there is room for all of them."""
MOST = 40
"""Rows and columns of numbers that are drawn of a matrix; of more the largest of each block."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One line.

    Attributes
    ----------
    stage : str
        Its stage; ``"input"`` for the sample, ``"loss"`` at the end.
    name : str
    deep : bool
        Whether it hangs below its stage: a leaf.
    last : bool
        Whether it is the last leaf there.
    values, gradient : ndarray or None
        Two-dimensional; None where there are none (yet).
    shape : (int, int)
        Of both.
    path : str
        Of the tensor (``"0.weight"``) or the stage.
    factors : tuple of ndarray, or None
        Of a leaf of weights: the derivative by each output, and each input, whose outer product the gradient is.
    """

    stage: str
    name: str
    deep: bool = False
    last: bool = False
    values: Floats | None = None
    gradient: Floats | None = None
    shape: tuple[int, int] = (0, 0)
    factors: tuple[Floats, Floats] | None = None
    path: str = ""

    @property
    def height(self) -> float:
        """Logical pixels that it takes."""
        if not (self.deep and self.shape[0] > 1):
            return LINE
        return max(LINE, CELL * (min(self.shape[0], 8) + 1) + AIR)


def fits(stages: Sequence[Stage]) -> bool:
    """Whether a network has such trees: a chain with weights."""
    return bool(stages) and is_chain(stages) and any(stage.weight is not None for stage in stages)


def rows_of(
    stages: Sequence[Stage],
    frame: Frame,
    deltas: Mapping[str, NDArray[np.floating]],
    *,
    seen: bool = True,
    inputs: Mapping[str, NDArray[np.floating]] | None = None,
) -> list[Row]:
    """The lines from input to loss.

    Parameters
    ----------
    deltas : mapping of str to ndarray
        By stage, the derivative of the loss by each of its numbers; NaN or absent where it is not known.
    seen : bool
        Whether the gradients of a frame that are computed belong to what is shown.
    inputs : mapping of str to ndarray, optional
        Of one sample, the row of each stage and of ``"input"``: then leaves of weights have factors.
    """
    first = stages[0].weight
    rows = [Row("input", f"input, {first.shape[1]}" if first is not None else "input")]
    before = "input"
    for stage in stages:
        delta = deltas.get(stage.name)
        known = delta is not None and np.isfinite(delta).any()
        kind = f"{stage.name} {stage.kind}".strip()
        own = None if delta is None or not known else np.asarray(delta, np.float64)[None]
        rows.append(Row(stage.name, f"{kind}, {stage.outputs}", gradient=own, shape=(1, stage.outputs), path=kind))
        tensors = [tensor for tensor in (stage.weight, stage.bias) if tensor is not None]
        for tensor in tensors:
            values = np.asarray(tensor.of(frame.values), np.float64)
            there = seen and bool(frame.computed[tensor.span].all())
            gradient = np.asarray(tensor.of(frame.gradient), np.float64) if there else None
            factors = None
            if tensor is stage.weight and there and inputs is not None and delta is not None and before in inputs:
                factors = np.asarray(delta, np.float64), np.asarray(inputs[before], np.float64)
            shape = (values.shape[0], values.shape[1]) if values.ndim == 2 else (1, values.size)
            name, last = tensor.name.rpartition(".")[2], tensor is tensors[-1]
            grads = None if gradient is None else gradient.reshape(shape)
            rows.append(Row(stage.name, name, True, last, values.reshape(shape), grads, shape, factors, tensor.name))
        before = stage.name
    rows.append(Row("loss", "loss"))
    return rows


def deltas_of(stages: Sequence[Stage], frame: Frame) -> dict[str, Floats]:
    """What a step's own gradient says of the derivatives by the outputs, added up over its batch.

    A bias's gradient is that of its layer's outputs. The outputs before a layer get what its weights, as they were
    before the step, make of that. Where there is no bias nothing is known.
    """
    found: dict[str, Floats] = {}
    if frame.step == 0 or frame.edited:
        return found
    with np.errstate(invalid="ignore"):
        values = np.asarray(frame.values, np.float64) - frame.update
    for number, stage in enumerate(stages):
        if stage.bias is not None and frame.computed[stage.bias.span].all():
            found[stage.name] = np.asarray(stage.bias.of(frame.gradient), np.float64)
            above = stages[number - 1] if number else None
            if above is not None and above.bias is None and stage.weight is not None:
                found[above.name] = stage.weight.of(values).T @ found[stage.name]
    return found


def reduced(numbers: Floats, most: int = MOST) -> Floats:
    """At most so many rows and columns: of each block the number that is largest by size."""
    found = numbers
    for along in (0, 1):
        if found.shape[along] > most:
            parts = np.array_split(found, most, axis=along)
            places = [np.abs(np.nan_to_num(part)).argmax(axis=along, keepdims=True) for part in parts]
            picked = [np.take_along_axis(p, at, along) for p, at in zip(parts, places, strict=True)]
            found = np.concatenate(picked, axis=along)
    return found
