"""Parts `determinism`, `graph`, `frames` of `gpu.py`: the same bits in two processes, many nodes, a million weights."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _gpu_forms import OWN, forms_of, taken
from _gpu_networks import Case, case_of, checks, graph, large
from _gpu_setting import DTYPES, Setting
from _gpu_steps import CLOSE, floor, predicted
from _workloads import WORKLOADS

from scalarviz import Run
from scalarviz.run.worker import Worker

HERE = Path(__file__).parent
FRAMES = 60.0
"""Frames a second."""
SLOWER = 0.05
"""Share of the steps that these may cost."""
LATE = 0.25
"""Seconds after which a frame helps nobody."""


# ---- determinism


def determinism(setting: Setting) -> None:
    """Weights after some steps, as a hash of their bits: of two processes, and of two runs in one of them."""
    hashes = [_asked(setting), _asked(setting)]
    for name in hashes[0]:
        same = hashes[0][name] == hashes[1][name]
        words = hashes[0][name] if same else f"{hashes[0][name]} and {hashes[1][name]}"
        setting.row(name, words, ok=same and "differs" not in words)


def _asked(setting: Setting) -> dict[str, str]:
    command = [sys.executable, str(HERE / "_gpu_runs.py"), "tiny" if setting.tiny else "full"]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=around, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a process failed: {done.stderr.strip()[-1000:]}")
    return dict(line.split("\t") for line in done.stdout.splitlines())


def bits(tiny: bool) -> Iterator[tuple[str, str]]:
    """Names, and hashes of the bits of weights and losses."""
    small = list(checks())
    cases = small[6:7] if tiny else [*small, *(case_of(work) for work in WORKLOADS if work.batch <= 1024)]
    for case in cases:
        for dtype in DTYPES:
            found = {_hash(case, dtype, 2 if tiny else 50) for _ in range(2)}
            yield f"{case.name}, {dtype}", found.pop() if len(found) == 1 else "differs in one process"


def _hash(case: Case, dtype: str, steps: int) -> str:
    run = case.build("cuda", dtype)
    losses = run._training.trainer.train(0, steps, 1e-2)
    made = hashlib.sha256(run.problem.store.value.tobytes() + np.asarray(losses).tobytes())
    run.close()
    return made.hexdigest()[:16]


# ---- a graph


def many_nodes(setting: Setting) -> None:
    """A typed graph of 16,000 nodes: to the first step, and a step, beside numba."""
    case = graph(setting.tiny)
    for dtype in DTYPES[: 1 if setting.tiny else 2]:
        problem = case.build("numpy", dtype).problem
        found, runs, entered = forms_of(problem, setting.tiny), {}, {}
        for form, shape in {"numba": None, **found}.items():
            start = time.perf_counter()
            if shape is None:
                runs[form] = case.build("numba", dtype)
            else:
                with taken(shape):
                    runs[form] = case.build("cuda", dtype)
            runs[form].step(1)
            setting.row(f"{case.name}, {dtype}: {form}, to its first step", time.perf_counter() - start, "s")
            entered[form] = runs[form].step
        losses = {form: run.loss for form, run in runs.items()}
        worst = max(abs(loss - losses["numba"]) for loss in losses.values()) / abs(losses["numba"])
        setting.check(f"{case.name}, {dtype}: the losses' difference", worst, CLOSE[dtype])
        for form, timing in setting.in_turns(entered, rounds=5).items():
            more: dict[str, Any] = {"floor": floor(problem)} if form != "numba" else {}
            if form != "numba":
                more["predicted"] = predicted(problem, form, found[form])
            setting.timed(f"{case.name}, {dtype}: {form}", timing, **more)
        for run in runs.values():
            run.close()


# ---- frames


def frames(setting: Setting) -> None:
    """A million weights that train for some seconds, unwatched and with a frame asked for 60 times a second."""
    case, spell = large(setting.tiny), 0.3 if setting.tiny else 5.0
    for name in ("numba", OWN):
        speeds: dict[bool, list[float]] = {False: [], True: []}
        waits: list[float] = []
        for turn in range(1 if setting.tiny else 3):
            for watched in (False, True) if turn % 2 == 0 else (True, False):
                run = case.build("cuda" if name == OWN else name, "float32")
                run.step(1)
                speeds[watched].append(_speed(run, spell, waits if watched else None))
                run.close()
        alone, beside = (float(np.median(speeds[watched])) for watched in (False, True))
        setting.row(f"{case.name}: {name}, unwatched", 1 / max(alone, 1e-9), "s", remark="a step")
        cost = 1 - beside / max(alone, 1e-9)
        asked = {"target": SLOWER, "ok": cost <= SLOWER} if name == OWN and not setting.tiny else {}
        setting.row(f"{case.name}: {name}, share of the steps that frames cost", cost, **asked)
        if waits:
            late = sum(wait > LATE for wait in waits)
            words = f"{len(waits)} frames, {late} later than {LATE} s"
            setting.row(f"{case.name}: {name}, from asking to the frame", float(np.median(waits)), "s", remark=words)


def _speed(run: Run, seconds: float, waits: list[float] | None) -> float:
    """Steps a second of a training thread; with `waits`, this one asks for a frame 60 times a second."""
    pending: list[tuple[float, Any]] = []
    with Worker(run) as worker:
        first, start = run.steps, time.perf_counter()
        worker.train_to(first + 10**9)
        asking = start
        while (now := time.perf_counter()) < start + seconds:
            if waits is not None and now >= asking:
                pending.append((now, worker.request()))
                asking += 1 / FRAMES
            for entry in [entry for entry in pending if entry[1].done]:
                entry[1].result()
                pending.remove(entry)
                if waits is not None:
                    waits.append(time.perf_counter() - entry[0])
            time.sleep(0.001)
        worker.pause()
        worker.settle(60.0)
        return (run.steps - first) / (time.perf_counter() - start)


def main() -> None:
    """Print the hashes of one process."""
    for name, made in bits(sys.argv[1] == "tiny"):
        print(f"{name}\t{made}")


if __name__ == "__main__":
    main()
