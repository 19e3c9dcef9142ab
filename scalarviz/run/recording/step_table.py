"""`MicroTable`: the micro-steps of a file, found by frame; each is read and checked when it is asked for."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError
from .networks import Shapes
from .recorded_step import RecordedStep, longest
from .schema import DAMAGED, MOST_FRAMES
from .step_plan import Plan, read_plan

Float = NDArray[np.float64]
MOST_PLANS = 1000
"""That are kept in memory."""
_COLUMNS = "plan, step, batch, divisor, loss, lr"


class MicroTable:
    """What a file has of micro-steps.

    Parameters
    ----------
    database : sqlite3.Connection

    Attributes
    ----------
    sides : dict of int to set of bool
        By the frame's number in the file, whether there is a trial with the probe (True), and the run's own (False).
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._plans: dict[tuple[int, int], Plan] = {}
        self.sides: dict[int, set[bool]] = {}
        try:
            for frame, alone in database.execute(f"SELECT frame, alone FROM micro LIMIT {2 * MOST_FRAMES}"):
                if isinstance(frame, int) and alone in (0, 1):
                    self.sides.setdefault(frame, set()).add(alone == 1)
        except DAMAGED:  # those that were found so far
            return

    def step(
        self, frame: int, after: int, network: int, shapes: Shapes, values: NDArray[np.floating],
        sample: tuple[Float, Float] | None,
    ) -> RecordedStep:  # fmt: skip
        """The step that follows a frame.

        Parameters
        ----------
        frame, after : int
            The frame's number in the file, and the step at which it stands.
        network : int
        shapes : Shapes
            Of the frame.
        values : ndarray, shape (P,)
        sample : (ndarray, ndarray) or None
            The sample of a trial step; None: the run's own.

        Raises
        ------
        FileFormatError
            It is not there, or not what a step of this network is.
        """
        plan_number, step, batch, divisor, loss, lr = self._found(_COLUMNS, frame, alone=sample is not None)
        if step != after + 1:
            raise FileFormatError(f"they are of step {step!r:.20}, and {after + 1:,} is the one that follows")
        good = type(batch) is int and 0 < batch < 1 << 53 and isinstance(divisor, float) and math.isfinite(divisor)
        if not good or (sample is not None and batch != 1):
            raise FileFormatError("they are of no batch that there can be")
        plan = self._plan(plan_number, network, shapes)
        most = longest(plan, shapes)
        (numbers,) = self._found(
            f"CASE WHEN typeof(numbers) = 'blob' AND length(numbers) <= {most + most // 100 + 64} THEN numbers END",
            frame, alone=sample is not None,
        )  # fmt: skip
        if numbers is None:
            raise FileFormatError("they are more than a step of this network has")
        told = [float(x) if isinstance(x, int | float) else math.nan for x in (loss, lr)]
        with np.errstate(all="ignore"):
            return RecordedStep(plan, shapes, numbers, values, sample, step, batch, divisor, *told)

    def _found(self, columns: str, frame: int, *, alone: bool) -> tuple[Any, ...]:
        try:
            found = self._database.execute(
                f"SELECT {columns} FROM micro WHERE frame = ? AND alone = ?", (frame, int(alone))
            ).fetchone()
        except DAMAGED as error:
            raise FileFormatError(str(error)) from None
        if found is None:
            raise FileFormatError("they were not recorded")
        row: tuple[Any, ...] = found
        return row

    def _plan(self, number: Any, network: int, shapes: Shapes) -> Plan:
        key = (number if type(number) is int and abs(number) < 1 << 53 else -1), network
        if key not in self._plans:
            try:
                found = self._database.execute(
                    "SELECT CASE WHEN length(said) <= 1048576 THEN said END FROM plan WHERE id = ? AND network = ?", key
                ).fetchone()
            except DAMAGED as error:
                raise FileFormatError(str(error)) from None
            plan = read_plan(None if found is None else found[0], shapes)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return self._plans[key]
