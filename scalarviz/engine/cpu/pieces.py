"""The update of several parameter groups, stretch by stretch: each by the program of its group alone.

What a column says of each weight, its group, then needs not be read; nor is every rule computed for every weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays.updates import Updater
from ..limits import CLIP
from ..problem import Array, Problem, Rates
from .machine import Loaded
from .wire import PIECE, PIECES

SHORT = 64
"""Weights of a stretch, on average, below which all rules are computed for every weight: calls cost as much."""
FEW = 16
"""Stretches that are never too many."""


class Pieces:
    """The programs of the groups, and where each is to run.

    Parameters
    ----------
    problem : Problem
        Of several parameter groups.
    whole : Loaded
        The update of all weights, which is told of the stretches.
    width : int
        How many numbers of a step that has.
    block : int
    """

    def __init__(self, problem: Problem, whole: Loaded, width: int, block: int) -> None:
        self._updaters: list[Updater] = []
        groups = problem.columns[0].astype(np.int64)
        ends = [*(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        if len(ends) > max(FEW, len(groups) // SHORT):
            return
        dtype = problem.store.value.dtype
        self._updaters = [Updater(replace(problem, update=plan, columns=[])) for plan in problem.rules]
        self._machines = [Loaded(plan.body, dtype, block) for plan in problem.rules]
        starts = np.cumsum([width, *(plan.n_parameters + plan.n_derived for plan in problem.rules)]).tolist()
        clip = -1 if problem.limits.clip_norm is None else CLIP
        lines: list[Any] = []
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            j = int(groups[start])
            lines += [start, end - start, self._machines[j].machine.ctypes.data, starts[j], clip]
        self._lines = np.array(lines, np.int64)
        assert len(lines) % PIECE == 0
        whole.machine[PIECES : PIECES + 2] = self._lines.ctypes.data, len(self._lines)

    def hyper(self, problem: Problem, first: int, count: int, lr: Rates) -> list[Array]:
        """The numbers of each group's steps, to stand behind those of the whole update."""
        found = []
        for j, updater in enumerate(self._updaters):
            updater.problem.t_start = problem.t_start
            own = lr[:, j :: len(self._updaters)] if isinstance(lr, np.ndarray) else lr  # its rate, and its momentum
            found.append(updater.hyper(first, count, own))
        return found
