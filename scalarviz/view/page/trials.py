"""Steps that a page computes with the numbers of opened ones: of the batch, and trials with one sample alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.js.module import trial
from ...engine.problem import Problem
from ...run.core.graph import Forward
from ...run.opened.network import Network, uses_in
from ...tape import Tape
from ..ink.sketch import NODES
from ..micro.walk import Walk
from ..shown.subject import Subject

MOST_WEIGHTS = 500
"""Most weights of a network whose computed steps open."""
ONE, NONE = -1, -2
"""In the place of a row: the number 1, and no number."""


class Trial(NamedTuple):
    """What a page needs for them: what it is told, and the functions for its worker."""

    told: dict[str, Any]
    program: str


def trial_of(problem: Problem, network: Network, subject: Subject) -> Trial | None:
    """Return what opens steps in a page; None if the target of the drawn sample is unknown, or the network is large."""
    plan, target = network.runner.plan, subject.sample.target
    count = sum(tensor.size for tensor in subject.tensors if not tensor.buffer)
    weighted = problem.shares() is not None
    known = target is not None and not np.isnan(target).any()
    if not known or weighted or count > MOST_WEIGHTS or count != problem.n_weights or plan.body.couples:
        return None
    forward, backward, back = factor_rows(network, count)
    nodes = range(nodes_of(network))
    rows = [*(row for own in network.rows_of.values() for row in own.tolist()), *nodes]
    deltas = [*(NONE if before else row
                for name, own in network.rows_of.items()
                for row, before in zip(own.tolist(), network.before_weights[name].tolist(), strict=True)),
              *nodes]  # fmt: skip
    means, sums = [*rows, plan.body.loss, *forward.tolist()], [*deltas, *backward.tolist(), *back.tolist()]
    told = {
        "rows": [*([name, len(own)] for name, own in network.rows_of.items()), [NODES, len(nodes)]],
        "means": len(means), "outputs": len(means) + len(sums),
        "view": {"parameters": plan.n_parameters + plan.n_derived, "features": plan.n_features},
    }  # fmt: skip
    return Trial(told, trial(problem, plan, means, sums))


def nodes_of(network: Network) -> int:
    """Return how many nodes a formula has; any other network has none."""
    return 0 if network.formula is None else len(network.formula.nodes)


def bent(network: Network, tape: Tape) -> Network:
    """Return a network with a tape of the same form."""
    own = network.forward
    taps = [*zip(own.stages, own.taps, strict=True)]
    return Network(Forward(tape, own.plan, own.tensors, own.dtype, (own.reduction, own.share), taps, own.shape))


def reproduces(walk: Walk, count: int) -> bool:
    """Return whether a step that the page opens has the factors of a walk's cubes."""
    passes = walk.opened._passes
    if count > MOST_WEIGHTS:
        return False
    found = zip(factor_rows(passes.network, count), (passes.means, passes.adjoint_sums), strict=False)
    ours = [np.where(rows >= 0, numbers[rows], np.where(rows == ONE, 1.0, np.nan)) for rows, numbers in found]
    theirs = walk.lighting.forward_factors, walk.lighting.backward_factors
    return all(np.array_equal(a, b[:count], equal_nan=True) for a, b in zip(ours, theirs, strict=True))


def factor_rows(network: Network, count: int) -> NDArray[np.int64]:
    """Return, for each weight, rows of the program (3, count).

    These are the row that it multiplies, the row whose delta it passes on, and the one whose delta makes its gradient.
    """
    return np.array([*_factor_rows(network, count)], np.int64).reshape(-1, 3).T


def _factor_rows(network: Network, count: int) -> Iterator[tuple[int, int, int]]:
    for index in range(count):
        uses = [*uses_in(network.body, index)]
        if len(uses) != 1 or len(uses[0].rows) != 1 or uses[0].kind not in ("weight", "bias"):
            yield NONE, NONE, NONE
            continue
        read, delta = uses[0].read, int(uses[0].rows[0])
        yield (ONE, NONE, delta) if read is None else (int(read[0]), delta, delta)


def deltas_of(walk: Walk, count: int) -> NDArray[np.float64]:
    """Return the delta that makes the gradient of each weight; NaN where there are several."""
    rows, sums = factor_rows(walk.opened._passes.network, count)[2], walk.opened._passes.adjoint_sums
    return np.where(rows >= 0, sums[rows], np.nan)
