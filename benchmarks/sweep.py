"""A thousand runs of XOR from the command line, beside the same sweep in PyTorch processes and on a dask cluster.

``scalarviz sweep xor --seeds 1000`` is timed as a whole, from the command's start to its end: two processes, 20,000
steps of single samples a run, every result in a file; bytecode and kernels are there from an earlier start.

PyTorch trains the same network in a pool of two processes. It does so for few runs, and what a thousand take is what
one more costs, a thousand times. That both train the same thing is tried first, on a hundred steps with the same
weights and the same order.

A cluster is a scheduler and 2 or 8 workers on this machine; what is counted is what the processor worked for the
scheduler and for the client, a parcel of nothing and a run. `docs/clusters.md` says what follows from that.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _timing import (
    SCALARVIZ,
    Found,
    as_users_have_it,
    at_most,
    benchmark,
    child,
    command_of,
    fresh,
    main,
    pin_threads,
    say,
    timings_of,
)  # fmt: skip

RUNS, STEPS, WORKERS = 1000, 20_000, 2
FEW, MORE = 2, 10
"""Runs of PyTorch: what one costs is an eighth of the difference."""
SECONDS = 15.0
"""For all, as was asked for."""
PARCELS = 1000


@benchmark("numpy numba torch distributed", "one sweep")
def sweep(quick: bool) -> Found:
    pin_threads()
    fresh(command_of(check))
    fresh((*SCALARVIZ, "warmup"))
    runs, steps = (20, 2000) if quick else (RUNS, STEPS)
    ours, few, more = f"scalarviz: {runs:,} runs", f"PyTorch: {FEW} runs", f"PyTorch: {MORE} runs"
    times: dict[str, list[float]] = {ours: [], few: [], more: []}
    with tempfile.TemporaryDirectory() as name:
        command_line(2, 20, Path(name))  # the system's file cache
        torch(2, 4000)
        for _ in range(1 if quick else 3):
            times[ours].append(command_line(runs, steps, Path(name)))
            times[few].append(torch(FEW, max(steps, 8000)))
            times[more].append(torch(MORE, max(steps, 8000)))
    timings = timings_of(times)
    whole, two, ten = (timing.median for timing in timings.values())
    theirs = two + (runs - FEW) * (ten - two) / (MORE - FEW)
    size = (40, 200) if quick else (RUNS, STEPS)
    figures = {
        "pytorch_all_runs": round(theirs, 1), "times_as_fast": round(theirs / whole, 1),
        "clusters": {str(workers): fresh(command_of(cluster, workers, *size)).json() for workers in (2, 8)},
    }  # fmt: skip
    print(json.dumps(figures, indent=1))
    return timings, {**figures, "goals": {f"sweep of XOR, {runs:,} runs": at_most(whole, SECONDS, "s")}}


def command_line(runs: int, steps: int, folder: Path) -> float:
    """Seconds of the command, from its start to its end."""
    path = folder / "xor.svs"
    path.unlink(missing_ok=True)
    line = [*SCALARVIZ, "sweep", "xor", "--seeds", str(runs), "--steps", str(steps), "--results", str(path)]
    start = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": as_users_have_it()}
    subprocess.run([*line, "--workers", str(WORKERS)], check=True, **quiet)
    seconds = time.perf_counter() - start
    with sqlite3.connect(path) as database:
        (found,) = database.execute("SELECT count(*) FROM result WHERE state = 'done'").fetchone()
    if found != runs:
        raise SystemExit(f"{found} of {runs} runs are done")
    return seconds


# ---- PyTorch, as its users write a sweep: processes that each train one run after the other


def torch(runs: int, steps: int) -> float:
    """Seconds of the same in PyTorch, from the start of Python to its end."""
    ended = fresh(command_of(torch_pool, runs, steps))
    if not ended.json()["loss"] < 0.2:
        raise SystemExit(f"PyTorch did not learn: {ended.said}")
    return ended.seconds


@child
def torch_pool(runs: str, steps: str) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import numpy as np

    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        losses = list(pool.map(torch_run, range(int(runs)), [int(steps)] * int(runs)))
    say(loss=float(np.mean(losses)))


def torch_run(seed: int, steps: int) -> float:
    """Mean loss of the last hundred steps of a run."""
    import numpy as np

    random = np.random.default_rng(seed)
    order = np.concatenate([random.permutation(4) for _ in range(-(-steps // 4))])[:steps]
    losses = train([random.uniform(-1, 1, (3, 3)), random.uniform(-1, 1, (1, 3))], order.tolist())
    return float(np.mean(losses[-100:]))


def train(weights: list[Any], order: list[int], lr: float = 0.1) -> list[float]:
    """The loss of every step, of single samples in this order; see ``scenes/xor.py``."""
    import torch

    torch.set_num_threads(1)
    x = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 3, bias=False), torch.nn.Tanh(), torch.nn.Linear(3, 1, bias=False), torch.nn.Tanh()
    )
    for parameter, array in zip(net.parameters(), weights, strict=True):
        parameter.data = torch.tensor(array, dtype=torch.float32)
    optimiser = torch.optim.SGD(net.parameters(), lr=lr, fused=True)
    rows = [(x[k : k + 1], y[k : k + 1]) for k in range(4)]
    losses = []
    for k in order:
        x, y = rows[k]
        optimiser.zero_grad()
        loss = 0.5 * (net(x) - y).square().sum()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return [float(loss) for loss in losses]


@child
def check() -> None:
    """That both train the same thing."""
    import numpy as np

    from scalarviz.run.scene.scene_file import load_scene

    loaded = load_scene("xor")
    run = loaded.build(loaded.options(seed=3, headless=True)).run
    weights, order = list(run.state_dict().values()), [int(run._problem.indices(step)[0]) for step in range(100)]
    run.step(100)
    if not np.allclose(run.history.loss, train(weights, order), rtol=1e-4, atol=1e-6):
        raise SystemExit("PyTorch trains something else")


# ---- a dask cluster


@child
def cluster(workers: str, runs: str, steps: str) -> None:
    """Seconds of the processor for a parcel, and for a run, of the scheduler and of a client that writes a file.

    They are counted by the system, so that it does not matter how many workers share a core.
    """
    import psutil

    from scalarviz.sweep.cluster import Cluster, versions, work
    from scalarviz.sweep.sweep import sweep

    with site(int(workers)) as (address, number), tempfile.TemporaryDirectory() as folder, Cluster(address) as to:
        processes = {"scheduler": psutil.Process(number), "client": psutil.Process()}
        while to.threads < int(workers):
            time.sleep(0.05)

        def costs(task: Callable[[], None], count: int) -> dict[str, float]:
            before, start = {name: sum(p.cpu_times()[:2]) for name, p in processes.items()}, time.perf_counter()
            task()
            found = {name: sum(p.cpu_times()[:2]) - before[name] for name, p in processes.items()}
            found["wall"] = time.perf_counter() - start
            return {name: seconds / count for name, seconds in found.items()}

        def parcels() -> None:
            sent = [to._client.submit(work, [], versions(), key=f"empty-{k}") for k in range(PARCELS)]
            for one in sent:
                one.result()

        def swept(count: int, path: Path | None) -> None:
            found = sweep("xor", seeds=count, options={"steps": int(steps)}, executor=to, results=path)
            assert sum(result.state == "done" for result in found) == count

        swept(4 * int(workers), None)  # each worker loads its kernels
        parcel = costs(parcels, PARCELS)
        say(parcel=parcel, run=costs(lambda: swept(int(runs), Path(folder, "x.svs")), int(runs)))


@contextmanager
def site(workers: int) -> Iterator[tuple[str, int]]:
    """The address and the process of a scheduler with so many workers of a thread each."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "scheduler.json"
        line = [sys.executable, "-m"]
        more = ["--scheduler-file", str(said), "--no-dashboard"]
        scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        worker = ["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--local-directory", folder]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = [subprocess.Popen([*line, *part, *more], **quiet) for part in (scheduler, *[worker] * workers)]
        try:
            while not (said.is_file() and said.read_text()):
                time.sleep(0.05)
            yield json.loads(said.read_text())["address"], started[0].pid
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
