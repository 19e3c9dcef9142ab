"""Which gathers run together: the columns of one id, and the ids that read the same columns of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from .program import Instruction
from .shared import Place
from .tape import Node


def gather_places(nodes: Sequence[Node], level: Sequence[int], gets: Sequence[bool]) -> dict[int, Place]:
    """The place of every row that is a gather: ``output`` counts the ids of a group, ``position`` the columns.

    Groups are numbered -1, -2, ... Their rows stand at one level and get a gradient (`gets`), or none of them does. No
    group holds a weight twice for one id.
    """
    columns: dict[tuple[object, ...], list[int]] = defaultdict(list)
    times: dict[tuple[object, ...], int] = defaultdict(int)
    for row, node in enumerate(nodes):
        if node.code == "gather":
            key = (level[row], gets[row], node.table, node.args[0])
            again = times[(*key, node.index)]
            times[(*key, node.index)] += 1
            columns[(*key, again)].append(row)
    groups: dict[tuple[object, ...], list[list[int]]] = defaultdict(list)
    for (depth, gets_one, table, *_), rows in columns.items():
        rows.sort(key=lambda row: nodes[row].index)
        groups[(depth, gets_one, table, tuple([nodes[row].index for row in rows]))].append(rows)
    return {
        row: Place(-1 - group, output, position)
        for group, ids in enumerate(groups.values())
        for output, rows in enumerate(ids)
        for position, row in enumerate(rows)
    }


def gather_instruction(nodes: Sequence[Node], row: int, count: int, positions: int) -> Instruction:
    """The instruction of a group whose first of `count` rows is `row`; it has so many ids."""
    width = count // positions
    ids = np.array([node.args[0] for node in nodes[row : row + count : width]], np.int64)
    weights = np.array([node.index for node in nodes[row : row + width]], np.int64)
    return Instruction("gather", row, count, ids[None], weights=weights, table=nodes[row].table)
