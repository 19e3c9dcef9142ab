"""A program as lists of calls of kernels, and the tables of indices that they read.

Calls name their buffers; ``machine`` puts the memory in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...tape import Instruction, Program
from .calls import Call, Encoded, Pairs, Squares, Written
from .kinds import write
from .tiled import Cut, Tiled

__all__ = ["Call", "Cut", "Encoded", "encode"]


def encode(
    program: Program, seeds: tuple[int, ...] = (), joined: bool = True, cut: Cut | None = None
) -> Encoded:  # fmt: skip
    """Tables and calls of a program.

    Parameters
    ----------
    program : Program
    seeds : tuple of int
        Rows whose adjoints are given; empty for forward only.
    joined : bool
        Whether an instruction may be computed by its neighbour: the squared error where the losses are summed,
        operations in the tiles of layers.
    cut : Cut or None
        For layers and convolutions in tiles; None for the plain form of everything.
    """
    found = Encoded()
    found.numbers.extend(program.constants.tolist())
    found.constants_at = found.table(program.constant_rows)
    found.inputs_at = found.table(program.input_rows)
    found.outputs_at = found.table(program.outputs)
    last = program.instructions[-1:]
    instructions = program.instructions
    if joined and last and _is_loss_alone(program, last[0]):
        instructions = instructions[:-1]
    writers = [write(found, i) for i in instructions]
    tiled = Tiled(found, program, seeds, cut, joined) if cut is not None else None
    if tiled is not None:
        writers = [tiled.replaced(index, plain) for index, plain in enumerate(writers)]
    calls = (call for writer in writers for call in (writer.before, writer.forward))
    found.forward.extend(call for call in calls if call is not None)
    if seeds:
        rows, written = np.array(seeds, np.int64), set[int]()
        found.seeds_at = targets(found, rows, np.flatnonzero(program.needs_gradient[rows]), written)
        if len(instructions) < len(program.instructions):
            found.squares = _loss(found, last[0], written)
        pairs = _backward(found, program, instructions, writers, written)
        which = np.arange(program.n_theta) if tiled is None else tiled.sum_up(pairs)
        _pairs(found, which, pairs)
    return found


def _is_loss_alone(program: Program, i: Instruction) -> bool:
    """Whether an instruction is the squared error of rows, each once, from rows that get no gradient."""
    if i.kind != "squares" or i.dst != program.loss:
        return False
    said, wanted = i.args
    needs = program.needs_gradient
    return len(set(said.tolist())) == len(said) and bool(needs[said].all()) and not needs[wanted].any()


def _loss(found: Encoded, i: Instruction, written: set[int]) -> Squares:
    found.numbers.append(float(i.numbers[0]))
    written.update(i.args[0].tolist())
    return Squares(found.table(i.args), i.args.shape[1], len(found.numbers) - 1)


def _backward(
    found: Encoded, program: Program, instructions: Sequence[Instruction], writers: list[Written], written: set[int]
) -> Pairs:  # fmt: skip
    """Put the backward calls in, from the last instruction to the first; the pairs of the parameters."""
    needs = program.needs_gradient
    pairs: Pairs = []
    for i, writer in zip(reversed(instructions), reversed(writers), strict=True):
        if not needs[i.dst]:
            continue
        pairs.extend(writer.pairs())
        if writer.scatter is not None:
            found.scatters.append(writer.scatter)
        if writer.tiles is not None:
            found.backward.extend(writer.tiles(written))
        elif writer.back is not None:
            operands = writer.operands
            items = np.flatnonzero((operands >= 0) & needs[operands])
            if len(items):
                if writer.before_back is not None:
                    found.backward.append(writer.before_back)
                found.backward.append(writer.back(*targets(found, operands, items, written)))
    return pairs


def targets(found: Encoded, operands: NDArray[np.int64], items: Any, written: set[int]) -> tuple[int, int]:
    """A list of targets in the pool (see ``kernels/backward``): its place, and how many there are."""
    order = np.argsort(operands[items], kind="stable")
    items = items[order]
    rows, starts = np.unique(operands[items], return_index=True)
    at = found.table([-1 - row if row in written else row for row in rows.tolist()])
    found.table([*starts, len(items)])
    found.table(items)
    written.update(rows.tolist())
    return at, len(rows)


def _pairs(found: Encoded, which: NDArray[np.int64], pairs: Pairs) -> None:
    if pairs:
        columns = [np.concatenate([np.asarray(part[k], np.int64).ravel() for part in pairs]) for k in range(3)]
    else:
        columns = [np.zeros(0, np.int64)] * 3
    order = np.argsort(columns[0], kind="stable")
    found.which = which.astype(np.int32)
    found.first = np.append(0, np.searchsorted(columns[0][order], which, "right")).astype(np.int64)
    found.adjoint_rows = columns[1][order].astype(np.int32)
    found.value_rows = columns[2][order].astype(np.int32)
