"""Parts `targets`, `workloads`, `graph` of `gpu.py`: seconds a step, beside numba, PyTorch and prediction."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import _contestants as by
import numpy as np
from _gpu_launches import launches_a_step
from _gpu_networks import BLOCKS, OWN, PLAIN, forms_of, graph, taken, workloads
from _gpu_setting import DTYPES, Setting
from _timing import Timing
from _workloads import Workload, named

from scalarviz import Run
from scalarviz.engine.cuda import trainer
from scalarviz.engine.problem import Problem

MEMORY_RATE, FLOPS = 4.8e12, {"float32": 67e12, "float64": 34e12}
"""Bytes and operations a second of an H200, by its data sheet."""
CHECKED = 10
"""Steps after which losses are compared."""
CLOSE = {"float32": 2e-3, "float64": 1e-6}  # some start from weights in float32
NODE = 1.5e-6
"""Seconds that a kernel of a few threads takes in a graph that is replayed."""
BLOCK = BLOCKS.split("{")[0]
RATES = {PLAIN: 1.3e12, BLOCK: 5e12, "": 20e12}
"""Operations a second in float32 by the beginning of a form's name, in float64 half of it: plain kernels wait for
loads, blocks for each other, tiles reach a third of the units."""
BARRIER = 5e-7
"""Seconds that a block takes for an instruction at least."""
TARGETS = {1024: {OWN: 60e-6}, 65_536: {OWN: 300e-6, PLAIN: 4e-3}}
"""Seconds a step of 12-64x4-3 with Adam in float32, by form."""
AIMS = {1024: "aim 25 us", 65_536: "aim 200 us"}
GRAPH = "PyTorch graph"
TIMES = {1024: 2.0, 65_536: 1.0}
"""How many times as fast as PyTorch with CUDA graphs."""


def floating(problem: Problem) -> float:
    """Floating-point operations of a step: products and sums of sums, forward, to weights, and to what needs it."""
    body, total = problem.plan.body, 0
    for i in body.instructions:
        if i.kind in ("layer", "conv"):
            products = i.count * i.args.shape[1]
            carried = float(np.mean(body.needs_gradient[i.args]))
            total += products * (2 + 2 + 2 * carried)
        else:
            total += 3 * max(i.count, i.args.size)
    return float(total) * problem.batch


def floor(problem: Problem) -> float:
    """Seconds that no step on an H200 is under: arithmetic, and data and states read (and states written) once."""
    dtype = problem.store.value.dtype
    numbers = problem.data.shape[0] * problem.batch + problem.store.value.size * (2 * len(problem.state) + 3)
    return max(floating(problem) / FLOPS[dtype.name], numbers * dtype.itemsize / MEMORY_RATE)


def predicted(problem: Problem, form: str, shape: Any) -> float:
    """Seconds: each launch of a step its least, and the arithmetic at the rate of the form."""
    rate = next(rate for beginning, rate in RATES.items() if form.startswith(beginning))
    with taken(shape):
        launched = launches_a_step(problem)
    walked = 2 * len(problem.plan.body.instructions) if rate == RATES[BLOCK] else 0
    arithmetic = floating(problem) / rate * (1 if problem.store.value.dtype == np.float32 else 2)
    return launched * NODE + walked * BARRIER + arithmetic


# ---- parts


def measure(setting: Setting) -> None:
    """Every workload of the benchmarks, in both dtypes."""
    for dtype, work in product(DTYPES, workloads(setting.tiny)):
        if setting.left() >= 15 or setting.tiny:
            compare(setting, work, dtype)
        else:
            setting.row(f"{work.name}, {dtype}", remark="not measured: no time was left")


def targets(setting: Setting) -> None:
    """12-64x4-3 with Adam: the figures that were asked for, and 100,000 steps."""
    if setting.tiny:
        compare(setting, next(workloads(True)), "float32", {OWN: 1.0})
        return
    for batch, asked in TARGETS.items():
        found = compare(setting, named(f"UV 12-64x4-3 Adam, {batch}"), "float32", asked, AIMS[batch])
        if GRAPH in found and OWN in found:
            ratio = found[GRAPH].median / found[OWN].median
            what = f"batch {batch}: times as fast as {GRAPH}"
            setting.row(what, ratio, target=TIMES[batch], ok=ratio >= TIMES[batch])
    run = by.build(named("UV 12-64x4-3 Adam, 1024"), "cuda")
    run.step(10)
    start = time.perf_counter()
    run.step(100_000)
    took = time.perf_counter() - start
    setting.row("100,000 steps at batch 1024", took, "s", target=6.0, ok=took <= 6.0, remark=_why(run))
    run.close()


def many_nodes(setting: Setting) -> None:
    """A typed graph of 16,000 nodes: to the first step, and a step, beside numba."""
    case = graph(setting.tiny)
    for dtype in DTYPES[: 1 if setting.tiny else 2]:
        problem = case.build("numpy", dtype)._problem
        found, runs = forms_of(problem, setting.tiny), {}
        for form, shape in {"numba": trainer.SHAPE, **found}.items():
            start = time.perf_counter()
            with taken(shape):
                runs[form] = case.build("numba" if form == "numba" else "cuda", dtype)
            runs[form].step(1)
            setting.row(f"{case.name}, {dtype}: {form}, to its first step", time.perf_counter() - start, "s")
        losses = {form: run.loss for form, run in runs.items()}
        worst = max(abs(loss - losses["numba"]) for loss in losses.values()) / abs(losses["numba"])
        setting.check(f"{case.name}, {dtype}: the losses' difference", worst, CLOSE[dtype])
        for form, timing in setting.in_turns({form: run.step for form, run in runs.items()}, rounds=5).items():
            more: dict[str, Any] = {}
            if form != "numba":
                more = {"floor": floor(problem), "predicted": predicted(problem, form, found[form])}
            setting.timed(f"{case.name}, {dtype}: {form}", timing, **more)
        for run in runs.values():
            run.close()


# ---- contestants


def compare(
    setting: Setting, work: Workload, dtype: str, asked: dict[str, float] | None = None, aim: str = ""
) -> dict[str, Timing]:
    """All who can do it, side by side; first they do the same steps and have to arrive at the same loss."""
    problem = by.build(work, "numpy", dtype=dtype)._problem
    runs: dict[str, Run] = {"numba": by.build(work, "numba", dtype=dtype)}
    foreseen = {}
    for form, shape in forms_of(problem, setting.tiny).items():
        with taken(shape):
            runs[form] = by.build(work, "cuda", dtype=dtype)
        foreseen[form] = predicted(problem, form, shape)
    entered: dict[str, Callable[[int], Any]] = {name: by.steps_of(run) for name, run in runs.items()}
    entered |= _torch(setting, work, dtype)
    agreed = _agree(setting, work, dtype, entered)
    found = setting.in_turns({name: steps for name, steps in entered.items() if name in agreed})
    for name, timing in found.items():
        more: dict[str, Any] = {"floor": floor(problem)} if name != "numba" else {}
        if name in foreseen:
            more |= {"predicted": foreseen[name], "target": (asked or {}).get(name)}
            more["remark"] = ", ".join(filter(None, [_why(runs[name]), aim if name == OWN else ""]))
        setting.timed(f"{work.name}, {dtype}: {name}", timing, **more)
    for run in runs.values():
        run.close()
    return found


def _torch(setting: Setting, work: Workload, dtype: str) -> dict[str, Callable[[int], float]]:
    """PyTorch's ways, on its GPU; in the trial without one on its processor."""
    if importlib.util.find_spec("torch") is None:
        setting.row(f"{work.name}, {dtype}: PyTorch", remark="not measured: it is not installed")
        return {}
    import torch

    if not torch.cuda.is_available() and not setting.tiny:
        setting.row(f"{work.name}, {dtype}: PyTorch", remark="not measured: it has no GPU")
        return {}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found = {}
    for tf32 in (False, True) if dtype == "float32" and device == "cuda" else (False,):
        for captured in (False, True) if device == "cuda" else (False,):
            name = f"PyTorch {'graph' if captured else 'eager'}{', TF32' if tf32 else ''}"
            found[name] = by.torch_steps(work, dtype=dtype, device=device, graph=captured, tf32=tf32)
    return found


def _agree(setting: Setting, work: Workload, dtype: str, entered: dict[str, Callable[[int], Any]]) -> set[str]:
    """Those whose loss after the same steps is that of numba."""
    steps = 2 if setting.tiny else CHECKED
    losses, agreed = {}, set()
    for name, some in entered.items():
        try:
            losses[name] = float(some(steps))
        except Exception as error:  # one who fails is not measured, and the others are
            setting.row(f"{work.name}, {dtype}: {name}", ok=False, remark=f"{type(error).__name__}: {error}"[:300])
            continue
        close = CLOSE[dtype] * (10 if "TF32" in name else 1)
        if abs(losses[name] - losses["numba"]) <= close * abs(losses["numba"]):
            agreed.add(name)
        else:
            words = f"its loss after {steps} steps is {losses[name]:.9g}, numba's {losses['numba']:.9g}"
            setting.row(f"{work.name}, {dtype}: {name}", ok=False, remark=words)
    return agreed


def _why(run: Run) -> str:
    """What the engine says of how it works."""
    return str(run.engine.why).removeprefix("asked for").removeprefix("; ")
