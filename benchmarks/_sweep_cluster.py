"""What a dask cluster costs a sweep: a scheduler and workers of this machine, and a client that writes a file.

    python benchmarks/_sweep_cluster.py WORKERS RUNS STEPS

Prints JSON: seconds of the processor for a parcel, and for a run, of the scheduler and of the client. They are counted
by the system, so that it does not matter how many workers share a core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from scalarviz.sweep.cluster import Cluster
from scalarviz.sweep.sweep import sweep
from scalarviz.sweep.visiting import versions, work

PARCELS = 1000


@contextmanager
def site(workers: int) -> Iterator[tuple[str, Any, list[Any]]]:
    """The address of a scheduler with so many workers of a thread each, and their processes."""
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
            processes = [psutil.Process(process.pid) for process in started]
            yield json.loads(said.read_text())["address"], processes[0], processes[1:]
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def worked(process: Any) -> float:
    """Seconds that the processor worked for a process."""
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    workers, runs, steps = map(int, sys.argv[1:])
    with site(workers) as (address, scheduler, _), tempfile.TemporaryDirectory() as folder, Cluster(address) as cluster:
        while cluster.threads < workers:
            time.sleep(0.05)
        asked: dict[str, Any] = {"options": {"steps": steps}, "executor": cluster}
        for _ in sweep("xor", seeds=4 * workers, **asked):  # each worker loads its kernels
            pass
        before, began, here = worked(scheduler), time.perf_counter(), worked(me := psutil.Process(os.getpid()))
        sent = [cluster._sender.submit(work, [], versions(), key=f"empty-{k}") for k in range(PARCELS)]
        for one in sent:
            one.result()
        parcel = {
            "scheduler": (worked(scheduler) - before) / PARCELS, "client": (worked(me) - here) / PARCELS,
            "wall": (time.perf_counter() - began) / PARCELS,
        }  # fmt: skip
        before, began, here = worked(scheduler), time.perf_counter(), worked(me)
        done = sum(r.state == "done" for r in sweep("xor", seeds=runs, results=Path(folder) / "x.svs", **asked))
        assert done == runs
        run = {
            "scheduler": (worked(scheduler) - before) / runs, "client": (worked(me) - here) / runs,
            "wall": (time.perf_counter() - began) / runs,
        }  # fmt: skip
    print(json.dumps({"parcel": parcel, "run": run}))


if __name__ == "__main__":
    main()
