"""Sums over spans of parameters (`scalarviz.scalar.total`) as rows: one node of a tape, a span of rows in a program.

They depend on parameters alone, so they are computed once a step. A long one is added up in pieces, because a sum of a
million float32 numbers one after the other has five digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .program import Instruction, Rows
from .tape import Node

CODES = {"total identity": "", "total square": "square", "total abs": "abs"}
"""Codes of the nodes, whose `index` is the first parameter and whose `number` says how many."""

PIECE = 1024
"""Terms that are added up before their sum is added to others."""

_NONE = np.zeros((0, 0), np.int64)


def in_front(nodes: Iterable[Node], gets: Iterable[bool]) -> tuple[list[Instruction], list[bool]]:
    """The instructions of all totals, and which of their rows get a gradient.

    The rows stand before those of the nodes, so these are shifted (see `shifted`) by how many they are.
    """
    wanted = [(row, node, flag) for row, (node, flag) in enumerate(zip(nodes, gets, strict=True)) if node.code in CODES]
    before = sum(_rows_of(node) for _, node, _ in wanted)
    made: list[Instruction] = []
    flags: list[bool] = []
    for row, node, flag in wanted:
        made += _total(node, before + row, len(flags))
        flags += [flag] * _rows_of(node)
    return made, flags


def _rows_of(node: Node) -> int:
    n = int(node.number)
    return n + (n if CODES[node.code] == "abs" else 0) + (_pieces(n) if n > PIECE else 0)


def _pieces(n: int) -> int:
    return -(-n // PIECE)


def _total(node: Node, result: int, first: int) -> list[Instruction]:
    """The instructions of one: its parameters as rows, what is summed of them, and the sum."""
    n, op = int(node.number), CODES[node.code]
    rows = np.arange(first, first + n)
    made = [Instruction("param", first, n, _NONE, weights=np.arange(node.index, node.index + n))]
    if op == "abs":
        made.append(Instruction("op", first + n, n, rows[None], op="abs"))
        rows = rows + n
    if n <= PIECE:
        return [*made, _sum(op, node.index, rows, result)]
    sums = int(rows[-1]) + 1 + np.arange(_pieces(n))
    for k, piece in enumerate(sums.tolist()):
        part = slice(k * PIECE, min((k + 1) * PIECE, n))
        made.append(_sum(op, node.index + part.start, rows[part], piece))
    return [*made, _sum("", 0, sums, result)]


def _sum(op: str, weight: int, rows: Rows, dst: int) -> Instruction:
    """``sum(theta * rows)`` for squares, whose rows are those of the parameters, else ``sum(rows)``."""
    if op == "square":
        return Instruction("layer", dst, 1, rows[None], weights=np.array([weight]))
    return Instruction("weighted", dst, 1, rows[None], numbers=np.ones(len(rows)))


def shifted(instruction: Instruction, by: int) -> Instruction:
    """The instruction with all its rows moved."""
    return replace(instruction, dst=instruction.dst + by, args=instruction.args + by)
