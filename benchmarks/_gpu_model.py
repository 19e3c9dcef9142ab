"""How long a kernel of ours takes on an H200, predicted from what its launch does.

A launch is described by its blocks, the steps of a block one after another, the multiplications of a step, the bytes
that all of them move, and the longest chain of operations of a thread. The constants were fitted to the times of single
kernels that Nsight Compute gave on 27 November 2026 (`results/gpu_kernels.jsonl` has those launches with their times),
for tensor cores to a kernel of the same design, and are frozen since: `tests/house/test_benchmarks.py` holds each
prediction within a factor of 1.5 of its measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.engine.cuda.calls import KERNELS, Tile
from scalarviz.engine.cuda.cores.stack import Stack, stack_of
from scalarviz.engine.cuda.device import Launch, ListingDevice
from scalarviz.engine.cuda.images import entry
from scalarviz.engine.cuda.kernels.steps import TOGETHER
from scalarviz.engine.cuda.machine import Machine
from scalarviz.engine.cuda.trainer import CudaTrainer
from scalarviz.engine.problem import Problem

HALVES = 4
"""How many times as fast tensor cores multiply what lies in shared memory; not measured yet."""
PROCESSORS, THREADS, MEMORY = 132, 2048, 4.1e12
"""Multiprocessors, the threads that one holds, bytes a second."""
START = 2e-6
"""Seconds of a launch without work."""
FMAS = 128e9
"""Multiplications a second of a multiprocessor, for the part of a tile's instructions that are multiplications."""
STEP, LOADED, TERM = 1.2e-6, 16e-9, 0.7e-9
"""Seconds of a step of a tile: barriers and the first load, each number that a thread loads, each of its products."""
LOAD = 0.25e-6
"""Seconds of one number of a chain whose place is known; twice where it is read from a table first."""
LEVELS = 0.7e-6
"""Seconds of a tree of 128 threads."""
SECTOR = 32
"""Bytes that a number alone moves."""
ROWS = {"backward": 2.2e-6, "largest_back": 2.2e-6, "largest_back_joined": 2.2e-6}
FORWARD = 1.4e-6
"""Seconds of one filling of the GPU with threads of a number each, backward and forward."""
LINE = 3.4e-6
"""Seconds of an instruction of a program that a block walks through, there and back."""

MEETINGS, PART, WAVE, PHASE = 15.2e-6, 3.7e-12, 0.9e-9, 0.4e-6
"""Seconds of a step of tensor cores: its two barriers of the grid with the update and the weights, each number of each
part of a gradient, each access of a warp to shared memory in a tile, each of a tile's phases at least. Fitted to
`TENSOR_CORES`."""
TENSOR_CORES = {1024: 22.7e-6, 4096: 24e-6, 65536: 52e-6, 262144: 137e-6}
"""Seconds a step of a kernel of this design in CUDA C++, measured on 27 November 2026 by batch: UV, whose 14,608
numbers 132 blocks train in tiles of 128 samples, each with 7,904 accesses of a warp."""


def tensor_cores(tiles: int, blocks: int, numbers: int, waves: float, phases: int) -> float:
    """Return the seconds of a step of tensor cores: the tiles of a block, the blocks that have some."""
    return MEETINGS + tiles * max(waves * WAVE, phases * PHASE) + blocks * numbers * PART


@dataclass(frozen=True)
class Work:
    """What a launch does."""

    kernel: str
    blocks: int
    threads: int  # of a block
    steps: float = 0.0  # of a block, one after another: the most of a block
    mean_steps: float = 0.0
    fmas: float = 0.0  # multiplications of a block in a step, as the tile computes them
    each: float = 0.0  # of a thread
    loads: float = 0.0  # numbers that a thread loads in a step
    efficiency: float = 1.0  # the part of instructions that multiply
    resident: int = 16  # blocks that a multiprocessor holds at a time
    nbytes: float = 0.0
    chain: float = 0.0  # seconds

    def seconds(self) -> float:
        """Return the predicted seconds."""
        held = self.blocks / PROCESSORS
        step = STEP + LOADED * self.loads + TERM * self.each
        waits = max(1.0, held / self.resident) * self.steps * step
        computes = max(1.0, held) * self.mean_steps * self.fmas / (FMAS * self.efficiency)
        return START + max(waits, computes, self.chain) + self.nbytes / MEMORY


def works(problem: Problem) -> Iterator[Work]:
    """Yield what each launch of a training step does."""
    return (work for _, work in named_works(problem))


def named_works(problem: Problem) -> Iterator[tuple[str, Work]]:
    """Yield the same, with the name that a kernel has in its machine code."""
    device = ListingDevice()
    trainer = CudaTrainer(problem, device=device)
    steps = trainer._open_work().steps
    device.launches.clear()
    device.record(steps.step())
    for launch in device.launches:
        yield entry(launch.kernel), work_of(launch, steps.body, problem)


def written() -> None:
    """Predict a step of each network that was measured: `results/gpu_predicted.jsonl`."""
    import _contestants as by
    from _timing import HERE
    from _workloads import GPU_NETWORKS

    rows = []
    for network in GPU_NETWORKS:
        kernels: dict[str, float] = {}
        for work in works(by.build(network, "numpy")._problem):
            kernels[work.kernel] = kernels.get(work.kernel, 0.0) + 1e6 * work.seconds()
        shown = {name: round(seconds, 1) for name, seconds in sorted(kernels.items(), key=lambda item: -item[1])}
        half = 1e6 * sum(work.seconds() for work in works(by.build(network, "numpy", dtype="float16")._problem))
        total = round(sum(kernels.values()), 1)
        rows.append({"network": network.name, "step_us": total, "float16_us": round(half, 1), "kernels_us": shown})
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (HERE / "results" / "gpu_predicted.jsonl").write_text(text, encoding="utf-8")


def work_of(launch: Launch, body: Machine, problem: Problem) -> Work:
    """Return what a launch does."""
    which, _, rest = launch.kernel.name.partition(":")
    blocks, threads = launch.grid[0] * launch.grid[1], launch.block[0] * launch.block[1]
    if which == "cores":
        stack = stack_of(problem)
        assert stack is not None
        tiles, phases = -(-stack.tiles // stack.working), 2 * len(stack.layers) + 1
        seconds = tensor_cores(tiles, stack.working, stack.parameters, _waves(stack), phases)
        return Work(which, blocks, threads, chain=seconds - START)
    if which in KERNELS:
        return _of_tile(which, Tile.parse(rest.partition(":")[0]), rest, launch, body)
    given: dict[str, Any] = {}
    item, arguments = body.dtype.itemsize, launch.arguments
    if which == "loss_of_squares":
        n, (high, wide), lanes = arguments[6], launch.grid, arguments[-1]
        rows, columns = -(-n // (high * launch.block[1])), -(-lanes // (wide * launch.block[0]))
        given["chain"] = rows * columns * 2 * LOAD + LEVELS
        given["nbytes"] = 3 * n * lanes * item
    elif which == "loss":
        given["chain"] = -(-arguments[-1] // (blocks * threads)) * LOAD + LEVELS
    elif which == "pairs":
        counts, lanes = body.encoded.first[1:] - body.encoded.first[:-1], arguments[-1] / arguments[9]
        counts = counts if len(counts) == arguments[7] else np.ones(arguments[7])  # of derived weights
        given["chain"] = float(counts.max()) * (2 * LOAD + lanes * 0.06e-6)
        given["nbytes"] = float(counts.sum()) * arguments[9] * (2 + lanes * item / SECTOR) * SECTOR
    elif which == "half_gradients":
        n, counts = arguments[2], body.encoded.counts(body.slices)
        given["nbytes"] = float(counts.sum() + 4 * n) * item
        given["chain"] = -(-n // (blocks * threads)) * (2 + float(counts.max()) / TOGETHER) * LOAD
    elif which == "overflow":
        given["chain"] = -(-arguments[1] // threads) * LOAD + LEVELS
    elif which in ("update", "join"):
        n, counts = arguments[2], body.encoded.counts(body.slices)
        counts = counts[:n] if n <= len(counts) else np.ones(n)
        if which == "update" and arguments[5]:  # the gradient is added up already
            counts = np.ones(n)
        moved = 4 + 2 * len(problem.state) if which == "update" else 1
        given["nbytes"] = (float(counts.sum()) + n * moved) * item
        given["chain"] = float(counts.max()) * LOAD * (0.6 if which == "join" else 1 / 16)
    elif which in ("block", "alone"):
        given["chain"] = LINE * sum(1 if i.kind == "op" else 2 for i in problem.plan.body.instructions)
    else:
        filled = max(1.0, blocks * threads / (PROCESSORS * THREADS))
        terms = arguments[4] if which in ("layer", "conv") else 0
        given["chain"] = filled * (ROWS.get(which, FORWARD) + terms * 2 * LOAD)
    return Work(which, blocks, threads, **given)


def _waves(stack: Stack) -> float:
    """Return how often a warp reads or writes shared memory in a tile: four times for a fragment."""
    rows, found = stack.samples // 16, stack.samples * (stack.layers[0].wide // 2) / 32 * 3
    for layer in stack.layers:
        across = layer.across(layer.high)
        items, stored = rows * layer.high // (8 * across), 2 if layer.by_result else 4
        found += items * (layer.wide // 16 * (4 + 2 * across) + across * (stored + 1))
        found += layer.items * rows * (4 + 2 * layer.across_weights)
    for layer in stack.layers[1:]:
        across = layer.across(layer.wide)
        found += rows * layer.wide // (8 * across) * (layer.high // 16 * (4 + 2 * across) + across * 4)
    return found


def _of_tile(which: str, tile: Tile, name: str, launch: Launch, body: Machine) -> Work:
    arguments, pool, item = launch.arguments, body.encoded.pool, body.dtype.itemsize
    if which == "tile_layer":
        n, positions, outputs, lanes = arguments[5], arguments[6], arguments[10], arguments[-1]
        counts = [-(-n // tile.depth)]
        stored = ("kept" in name) + 1
        moved = (outputs * positions * stored + n) * lanes * item
    elif which == "tile_back":
        at, outputs, lanes = arguments[4], arguments[9], arguments[-1]
        blocks = [pool[at + 6 * k : at + 6 * k + 6] for k in range(launch.grid[0])]
        counts = [block[2] * -(-outputs // tile.depth) for block in blocks]
        moved = (sum(block[1] for block in blocks) * (3 if name.count(":") else 1) + outputs) * lanes * item
    else:
        at, lanes = arguments[4], arguments[-1]
        blocks = [pool[at + 13 * k : at + 13 * k + 13] for k in range(launch.grid[0])]
        counts = [-(-block[3] * -(-lanes // tile.depth) // block[12]) for block in blocks]
        moved = len(blocks) * tile.high * tile.wide * item
    r, c, threads = tile.rows, tile.columns, tile.down * tile.across
    return Work(
        which, launch.grid[0] * launch.grid[1], threads, max(counts), sum(counts) / len(counts),
        tile.high * tile.wide * tile.depth, r * c * tile.depth, (tile.high + tile.wide) * tile.depth / threads,
        (HALVES if tile.halves else 1) * r * c / (r * c + r + c + 2),
        3 if tile.bounds else max(1, min(16, 1024 // threads)), float(moved),
    )  # fmt: skip


if __name__ == "__main__":
    written()
