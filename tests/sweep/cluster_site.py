"""A scheduler and workers of dask as tests start them, and what these compute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

SCENE = """
import os
import time
from pathlib import Path

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.scenes import SceneOptions


class Options(SceneOptions):
    folder: str
    pause: float = 0.0
    door: str = ""
    kills: bool = False
    lr: float = 0.1


def build(options):
    (Path(options.folder) / f"{options.seed}.{os.getpid()}").touch()
    time.sleep(options.pause)
    while options.door and options.seed == 11 and not Path(options.door).exists():
        time.sleep(0.02)
    if options.kills:
        os._exit(1)
    net = nn.Sequential(nn.Linear(2, 1))
    net.initialize(seed=options.seed)
    data, sgd = (np.eye(2), np.eye(2)[:, :1]), optim.SGD(net.parameters(), lr=options.lr)
    return sv.Scene("small", sv.Run(net, nn.MSELoss(), sgd, data, **options.of_run))
"""
SETTINGS = {"CA_FILE": "cert", "SCHEDULER__CERT": "cert", "SCHEDULER__KEY": "key", "WORKER__CERT": "cert",
            "WORKER__KEY": "key", "CLIENT__CERT": "cert", "CLIENT__KEY": "key"}  # fmt: skip


class Site:
    """A scheduler and its workers, as somebody else would have started them."""

    def __init__(self, folder: Path, tls: bool = False) -> None:
        self.folder, self.said = folder, folder / "scheduler.json"
        self.environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        for name, file in SETTINGS.items() if tls else ():
            self.environment[f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = str(folder / f"{file}.pem")
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self.said),
            "--no-dashboard", *(("--protocol", "tls") if tls else ()),
        )  # fmt: skip
        self.workers: list[subprocess.Popen[bytes]] = []

    def add_worker(self, *more: str) -> subprocess.Popen[bytes]:
        worker = self._start(
            "dask_worker", "--scheduler-file", str(self.said), "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--local-directory", str(self.folder), *more,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def _start(self, command: str, *more: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", f"distributed.cli.{command}", *more]
        with (self.folder / f"{command}.log").open("ab") as log:
            return subprocess.Popen(line, env=self.environment, stdout=log, stderr=log, cwd=self.folder)

    @property
    def address(self) -> str:
        return str(waited(lambda: self.said.is_file() and json.loads(self.said.read_text() or "{}").get("address")))

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def waited(asked, seconds: float = 120):
    """What `asked` says as soon as it says something."""
    until = time.monotonic() + seconds
    while not (found := asked()):
        assert time.monotonic() < until, "nothing came of it"
        time.sleep(0.02)
    return found
