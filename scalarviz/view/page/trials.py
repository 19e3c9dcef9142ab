"""Trial steps that a page computes: the step of one sample alone, with the numbers of its opened step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.js.module import trial
from ...engine.problem import Problem
from ...run.opened.network import Network, uses_in
from ..micro.walk import Walk
from ..shown.subject import Subject

MOST_WEIGHTS = 500
"""Most weights of a network whose computed steps open."""
ONE, NONE = -1, -2
"""In the place of a row: the number 1, and no number."""


class Trial(NamedTuple):
    """What a page needs for trial steps: what it is told, and the functions for its worker."""

    told: dict[str, Any]
    program: str


def trial_of(problem: Problem, network: Network, subject: Subject) -> Trial | None:
    """Return the trial steps of the sample that is drawn; None if its target is unknown, or the network is large."""
    plan, target = network.runner.plan, subject.sample.target
    count = sum(tensor.size for tensor in subject.tensors if not tensor.buffer)
    weighted = problem.shares() is not None
    known = target is not None and not np.isnan(target).any()
    if not known or weighted or count > MOST_WEIGHTS or count != problem.n_weights or plan.body.couples:
        return None
    forward, backward = factor_rows(network, count)
    rows = [row for own in network.rows_of.values() for row in own.tolist()]
    deltas = [NONE if before else row
              for name, own in network.rows_of.items()
              for row, before in zip(own.tolist(), network.before_weights[name].tolist(), strict=True)]  # fmt: skip
    told = {
        "rows": [[name, len(own)] for name, own in network.rows_of.items()],
        "outputs": len(rows) + len(deltas) + 2 * count + 1,
        "view": {"parameters": plan.n_parameters + plan.n_derived, "features": plan.n_features},
    }
    given = [*rows, plan.body.loss, *forward.tolist()], [*deltas, *backward.tolist()]
    return Trial(told, trial(problem, plan, *given))


def reproduces(walk: Walk, count: int) -> bool:
    """Return whether a trial step in the page has the factors of a walk's cubes."""
    passes = walk.opened._passes
    if count > MOST_WEIGHTS:
        return False
    found = zip(factor_rows(passes.network, count), (passes.means, passes.adjoint_sums), strict=True)
    ours = [np.where(rows >= 0, numbers[rows], np.where(rows == ONE, 1.0, np.nan)) for rows, numbers in found]
    theirs = walk.lighting.forward_factors, walk.lighting.backward_factors
    return all(np.array_equal(a, b[:count], equal_nan=True) for a, b in zip(ours, theirs, strict=True))


def factor_rows(network: Network, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each weight, the row of the program that it multiplies, and the row whose delta it passes on."""
    found = [*_factor_rows(network, count)]
    forward, backward = np.array(found, np.int64).reshape(-1, 2).T
    return forward, backward


def _factor_rows(network: Network, count: int) -> Iterator[tuple[int, int]]:
    for index in range(count):
        uses = [*uses_in(network.body, index)]
        if len(uses) != 1 or len(uses[0].rows) != 1 or uses[0].kind not in ("weight", "bias"):
            yield NONE, NONE
        else:
            (use,) = uses
            yield (ONE, NONE) if use.read is None else (int(use.read[0]), int(use.rows[0]))
