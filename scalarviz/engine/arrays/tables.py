"""Tables that are read by number, on NumPy arrays."""

from __future__ import annotations

import numpy as np

from ..problem import Array
from .step import Step


class Gather(Step):
    """Parameters of a table, chosen on each lane by the number in a row."""

    def _chosen(self, rows: Array) -> tuple[Array, Array]:
        """What the numbers (positions, lanes) choose, 0 where there is no such one; and whether there is."""
        i = self.instruction
        assert i.table is not None
        numbers = rows[i.args[0]]
        there = (numbers >= 0) & (numbers < i.table.rows) & (numbers == np.floor(numbers))
        return np.where(there, numbers, 0).astype(np.int64), there

    def forward(self, rows: Array, theta: Array) -> None:
        """The parameters; NaN where the table has no such number."""
        i = self.instruction
        assert i.table is not None
        numbers, there = self._chosen(rows)
        found = theta[i.weights[:, None] + numbers[:, None, :] * i.table.step]
        rows[self.dst] = np.where(there[:, None, :], found, self.dtype.type(np.nan)).reshape(i.count, -1)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Each lane's adjoint to the parameter that it read, id by id, lane by lane."""
        if not self.alive:
            return
        i = self.instruction
        assert i.table is not None
        numbers, there = self._chosen(rows)
        upstream = adjoints[self.dst].reshape(len(numbers), len(i.weights), -1)
        position, lane = np.nonzero(there)
        places = i.weights[None, :] + numbers[position, lane][:, None] * i.table.step
        np.add.at(grad, places, upstream[position, :, lane])
