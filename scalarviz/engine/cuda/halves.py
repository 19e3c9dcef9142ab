"""Float16 weights of a run in half precision: derived numbers that are the parameters' halves and nothing else.

Each has a gradient that is rounded and divided by the loss scale (see ``tape/half``). An update knows that by itself:
it writes a weight's half beside it, so a step needs no launches for derived numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...tape import Plan


class Halves(NamedTuple):
    """Which number is the half of which."""

    parameter: NDArray[np.int64]  # of each number of theta, the parameter whose half it is; -1 for parameters
    half: NDArray[np.int32]  # of each parameter, its half's place in theta; -1 for those without
    scale: int  # the parameter that is the loss scale


def halves_of(plan: Plan) -> Halves | None:
    """Return the halves of a plan; None if its derived numbers are anything else."""
    if plan.prologue is None:
        return None
    program, n = plan.prologue, plan.n_parameters
    kinds = [(i.kind, i.op) for i in program.instructions]
    if kinds != [("param", ""), ("param", ""), ("op", "div"), ("op", "scale_gradient"), ("op", "float16")]:
        return None
    weights, scale, inverse, divided, halves = program.instructions
    constants = dict(zip(program.constant_rows.tolist(), program.constants.tolist(), strict=True))
    given, made = np.asarray(weights.weights), np.arange(halves.dst, halves.dst + halves.count)
    fits = (
        scale.count == inverse.count == 1
        and constants.get(int(inverse.args[0, 0])) == 1
        and int(inverse.args[1, 0]) == scale.dst
        and bool((divided.args[1] == inverse.dst).all())
        and np.array_equal(divided.args[0], np.arange(weights.dst, weights.dst + weights.count))
        and np.array_equal(halves.args[0], np.arange(divided.dst, divided.dst + divided.count))
        and np.array_equal(np.sort(program.outputs), made)
        and len(np.unique(given)) == len(given)
    )
    if not fits:
        return None
    parameter, half = np.full(n + plan.n_derived, -1), np.full(n, -1, np.int32)
    parameter[n:] = given[program.outputs - halves.dst]
    half[parameter[n:]] = np.arange(n, n + plan.n_derived)
    return Halves(parameter, half, int(scale.weights[0]))
