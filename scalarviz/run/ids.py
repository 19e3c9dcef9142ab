"""Ids in data: the numbers of a sample that choose rows of tables are whole and in range, or refused with their place.

The kernels check every id once more, so one that an expression makes cannot reach memory either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..tape import Tape

EXACT = 1 << 24
"""Whole numbers that float32 tells apart."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Which numbers of a sample choose from tables, and how many rows the smallest of these has.

    Attributes
    ----------
    inputs, targets : dict of int to int
        By column.
    """

    inputs: dict[int, int]
    targets: dict[int, int]

    def check(
        self, what: str, inputs: NDArray[np.number] | None = None, targets: NDArray[np.number] | None = None
    ) -> None:
        """Whether samples (N, n_inputs) and targets (N, n_targets) hold ids where ids are read.

        Raises
        ------
        InputError
            One is no whole number of its table; says which, of how many samples, in which column.
        """
        for name, samples, limits in (("the inputs", inputs, self.inputs), ("the targets", targets, self.targets)):
            if samples is not None:
                _check(samples, limits, f"{what}: {name}")


def ids_of(tape: Tape) -> Ids:
    """The ids of a recorded model: inputs and targets that a table is read by as they are."""
    found: tuple[dict[int, int], dict[int, int]] = {}, {}
    for node in tape.nodes:
        if node.table is not None:
            (read,) = node.args
            number = tape.nodes[read]
            if number.code == "input":
                target = number.index >= tape.n_inputs
                limits, column = found[target], number.index - tape.n_inputs * target
                limits[column] = min(limits.get(column, node.table.rows), node.table.rows)
    return Ids(*found)


def check_tables(tape: Tape, dtype: str) -> None:
    """Whether numbers of that dtype can name every row of every table.

    Raises
    ------
    InputError
        A table has more rows than float32 has whole numbers.
    """
    largest = max((node.table.rows for node in tape.nodes if node.table is not None), default=0)
    if dtype == "float32" and largest > EXACT:
        raise InputError(
            f"a table of {largest:,} rows: float32 tells whole numbers apart up to 2**24 = {EXACT:,}, so some ids "
            'would name another row; take dtype="float64"'
        )


def _check(samples: NDArray[np.number], limits: dict[int, int], what: str) -> None:
    for column, rows in limits.items():
        numbers = samples[:, column]
        bad = ~((numbers >= 0) & (numbers < rows) & (numbers == np.floor(numbers)))
        if bad.any():
            first = int(np.argmax(bad))
            raise InputError(
                f"{what}: sample {first}, column {column} is {numbers[first]}; it chooses one of {rows} rows of a "
                f"table, a whole number from 0 to {rows - 1} ({int(bad.sum())} of {len(bad)} samples are wrong there)"
            )
