"""Parts `targets`, `workloads`, `graph` of `gpu.py`: seconds a step, beside numba, PyTorch and prediction."""

from __future__ import annotations

import csv
import importlib.util
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import _contestants as by
import numpy as np
from _gpu_model import named_works, works
from _gpu_networks import OWN, forms_of, graph, taken, workloads
from _gpu_setting import DTYPES, Setting
from _timing import HERE, Timing
from _workloads import GPU_NETWORKS, Workload

from scalarviz import Run
from scalarviz.engine.cuda import trainer
from scalarviz.engine.problem import Problem

MEMORY_RATE, FLOPS = 4.8e12, {"float32": 67e12, "float64": 34e12}
"""Bytes and operations a second of an H200, by its data sheet."""
CHECKED = 10
"""Steps after which losses are compared."""
CLOSE = {"float32": 2e-3, "float64": 1e-6}  # some start from weights in float32
TARGETS = {
    "UV 12-64x4-3 Adam, 65536": 440e-6, "256 wide Adam, 65536": 3400e-6, "1024 wide Adam, 64": 500e-6,
    "1024 wide Adam, 1024": 1500e-6, "CNN 1-8-16 28x28, 64": 250e-6, "CNN 1-8-16 28x28, 512": 700e-6,
    "CNN 3-32-64 32x32, 64": 800e-6,
}  # fmt: skip
"""Seconds a step on an H200 that were asked for."""
HALF_TARGETS = {"UV 12-64x4-3 Adam, 1024": 25e-6, "UV 12-64x4-3 Adam, 65536": 60e-6}
"""The same in float16."""
EASY = 2e10
"""Operations of a step that NumPy does in a second or less: those losses are compared."""
SLOW = 5e-3
"""Where only some forms are measured, a numba step that takes longer is not: numba says what the loss has to be."""
GRAPH = "PyTorch graph"


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


def predicted(problem: Problem, shape: Any) -> float:
    """Seconds, of what the step launches."""
    with taken(shape):
        return sum(work.seconds() for work in works(problem))


# ---- parts


def measure(setting: Setting) -> None:
    """Every workload of the benchmarks, in both dtypes."""
    for dtype, work in product(DTYPES, workloads(setting.tiny)):
        if setting.left() >= 15 or setting.tiny:
            compare(setting, work, dtype)
        else:
            setting.row(f"{work.name}, {dtype}", remark="not measured: no time was left")


def targets(setting: Setting) -> None:
    """The networks whose kernels were measured one by one, and which of the times that were asked for are reached."""
    reached = {}
    for work in GPU_NETWORKS if not setting.tiny else workloads(True):
        if setting.left() < 12 and not setting.tiny:
            setting.row(f"{work.name}, float32", remark="not measured: no time was left")
            continue
        asked = TARGETS.get(work.name)
        found = compare(setting, work, "float32", {OWN: asked} if asked else None, [OWN])
        if asked and OWN in found:
            reached[work.name] = found[OWN].median <= asked
    verdict = ", ".join(name for name, good in reached.items() if not good) or "none"
    setting.row("targets reached", f"{sum(reached.values())} of {len(TARGETS)}", remark=f"missed: {verdict}")


def halves(setting: Setting) -> None:
    """float16 beside float32: no network's should be slower."""
    for work in GPU_NETWORKS if not setting.tiny else workloads(True):
        if setting.left() < 8 and not setting.tiny:
            setting.row(f"{work.name}, float16", remark="not measured: no time was left")
            continue
        runs = {dtype: by.build(work, "cuda", dtype=dtype) for dtype in ("float32", "float16")}
        if floating(runs["float16"]._problem) <= EASY:
            _compare_halves(setting, work)
        found = setting.in_turns({dtype: by.steps_of(run) for dtype, run in runs.items()}, rounds=5)
        for dtype, timing in found.items():
            foreseen = sum(one.seconds() for one in works(by.build(work, "numpy", dtype=dtype)._problem))
            asked = HALF_TARGETS.get(work.name) if dtype == "float16" else None
            setting.timed(f"{work.name}, {dtype}: cuda", timing, predicted=foreseen, target=asked)
        ratio = found["float16"].median / found["float32"].median
        setting.row(f"{work.name}: float16 / float32", ratio, target=1.0, ok=None if setting.tiny else ratio <= 1)
        for run in runs.values():
            run.close()


def _compare_halves(setting: Setting, work: Workload) -> None:
    """The losses of a few steps in float16, beside NumPy's."""
    losses = []
    for engine in ("numpy", "cuda"):
        with by.build(work, engine, dtype="float16") as run:
            run.step(CHECKED // 2)
            losses.append(run.loss)
    error = abs(losses[1] - losses[0]) / abs(losses[0])
    setting.check(f"{work.name}, float16: loss beside NumPy's", error, 1e-2)


ALONE = """
import sys
sys.path[:0] = sys.argv[2:]
import _contestants, _workloads
work = next(work for work in _workloads.GPU_NETWORKS if work.name == sys.argv[1])
with _contestants.build(work, "cuda", dtype="float32") as run:
    run.step(3)
"""


def profile(setting: Setting) -> None:
    """Microseconds of each kernel of the networks, by Nsight Compute, beside the prediction."""
    ncu = shutil.which("ncu")
    if ncu is None:
        setting.row("kernels one by one", remark="not measured: there is no ncu on the PATH")
        return
    for work in GPU_NETWORKS:
        if setting.left() < 20:
            setting.row(work.name, remark="not measured: no time was left")
            continue
        flags = ["--csv", "--print-units", "base", "--metrics", "gpu__time_duration.sum", "--target-processes", "all"]
        command = [ncu, *flags, sys.executable, "-c", ALONE, work.name, str(HERE), str(HERE.parent)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=setting.left(), check=False)
        foreseen = dict(named_works(by.build(work, "numpy")._problem))
        for name, nanoseconds in kernel_times(done.stdout).items():
            told = foreseen[name].seconds() if name in foreseen else None
            setting.row(f"{work.name}: {name}", 1e-9 * nanoseconds, "s", predicted=told)
        if done.returncode:
            setting.row(work.name, ok=False, remark=f"ncu: {(done.stderr or done.stdout).strip()[-300:]}")


def kernel_times(table: str) -> dict[str, float]:
    """Return the median nanoseconds of a launch of each kernel, from what ``ncu --csv`` prints."""
    lines = [line for line in table.splitlines() if line.startswith('"')]
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(lines):
        found.setdefault(row["Kernel Name"], []).append(float(row["Metric Value"].replace(",", "")))
    return {name: statistics.median(times) for name, times in found.items()}


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
                more = {"floor": floor(problem), "predicted": predicted(problem, found[form])}
            setting.timed(f"{case.name}, {dtype}: {form}", timing, **more)
        for run in runs.values():
            run.close()


# ---- contestants


def compare(
    setting: Setting, work: Workload, dtype: str, asked: dict[str, float] | None = None, forms: Sequence[str] = ()
) -> dict[str, Timing]:
    """All who can do it, side by side, of our forms some if `forms` names them.

    First they do the same steps and have to arrive at the same loss.
    """
    problem = by.build(work, "numpy", dtype=dtype)._problem
    runs: dict[str, Run] = {"numba": by.build(work, "numba", dtype=dtype)}
    foreseen = {}
    for form, shape in forms_of(problem, setting.tiny).items():
        if form in (forms or [form]):
            with taken(shape):
                runs[form] = by.build(work, "cuda", dtype=dtype)
            foreseen[form] = predicted(problem, shape)
    entered: dict[str, Callable[[int], Any]] = {name: by.steps_of(run) for name, run in runs.items()}
    entered |= _torch(setting, work, dtype)
    agreed = _agree(setting, work, dtype, entered)
    began = time.perf_counter()
    runs["numba"].step(1)
    if forms and time.perf_counter() - began > SLOW:
        agreed.discard("numba")
    found = setting.in_turns({name: steps for name, steps in entered.items() if name in agreed})
    for name, timing in found.items():
        more: dict[str, Any] = {"floor": floor(problem)} if name != "numba" else {}
        if name in foreseen:
            more |= {"predicted": foreseen[name], "target": (asked or {}).get(name)}
            more["remark"] = _why(runs[name])
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
