"""What a step costs: the work of a program, the time that takes numba, and whether a GPU repays its launches.

All of it is an estimate before the first step, good to a factor of two: enough to choose by.
"""

from __future__ import annotations

from ..tape import Instruction, Plan, Program

ROW = 50
"""Operations that take as long as a row outside of layers."""

NUMBA_SECONDS = 4.4e-12
"""A unit of work by numba on one thread, float32: ten networks of ``benchmarks/results/peers.json`` take 3.3e-12 to
6.2e-12 (a batch of 4 samples, whose step is all beginning and end, takes 20 times that)."""

WEIGHT_SECONDS = 6e-10
"""A weight's gradient and update, likewise: what the CNN of 9,098 weights takes beyond its work at batch 1."""

WORTH = 100e-6
"""Seconds of a step by numba below which no GPU is asked for. A step of 30 launches is to take a GPU 60e-6 (the target
for 12-64x4-3 at batch 1024; arithmetic, no measurement), and calls of few steps, as a window makes them, pay copies."""

LAUNCH = 2e-6
"""Seconds of a launch in a recorded graph, by the same target: a program of many small instructions is all launches."""

LAUNCHES = 3
"""Of an instruction: forward, to its inputs, to its weights."""


def work_of(program: Program) -> int:
    """What a sample costs forward and backward, in additions and multiplications of a layer."""
    return sum(_work_of(instruction) for instruction in program.instructions)


def _work_of(instruction: Instruction) -> int:
    """On a register tile a weighted input costs six; any other row takes the time of some fifty (38 to 91)."""
    if instruction.kind in ("layer", "conv"):
        return 6 * instruction.count * int(instruction.args.shape[-1])
    return ROW * instruction.count + 6 * int(instruction.args.size)


def numba_seconds(plan: Plan, batch: int, dtype: str) -> float:
    """About what a step takes numba on one thread.

    Parameters
    ----------
    plan : Plan
        Model and loss of one sample.
    batch : int
        Samples a step.
    dtype : {"float32", "float64"}
        Twice the bytes take twice the time.
    """
    seconds = work_of(plan.body) * batch * NUMBA_SECONDS + plan.n_parameters * WEIGHT_SECONDS
    return 2 * seconds if dtype == "float64" else seconds


def repays_a_gpu(plan: Plan, seconds: float) -> bool:
    """Whether a step that takes numba so long is longer than what a GPU needs for launches alone."""
    return seconds >= max(WORTH, LAUNCH * LAUNCHES * len(plan.body.instructions))
