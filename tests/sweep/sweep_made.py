"""What tests of sweeps let other processes build, which import it by its name; and what they compare."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.io.atomic import is_running

INPUTS = np.random.default_rng(0).random((8, 3))


def small(seed: int, lr: float = 0.5, engine: str = "numpy") -> sv.Run:
    """A run of 8 weights."""
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    net.initialize(seed=seed)
    data = INPUTS, INPUTS[:, :2]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), data, batch_size=3, seed=seed, engine=engine)


def slow(seed: int, folder: str = "", seconds: float = 30.0) -> sv.Run:
    """One that says that it has begun, and takes its time."""
    (Path(folder) / f"{seed}-{os.getpid()}").touch()
    time.sleep(seconds)
    return small(seed)


def killed_once(seed: int, folder: str = "") -> sv.Run:
    """Kills its process the first time that seed 1 is built, and always with seed 2."""
    mark = Path(folder) / "was here"
    if seed == 2:  # it leaves no mark: nobody knows which of the two is begun first
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return small(seed)


def paced(seed: int, lr: float = 0.5) -> sv.Run:
    """A small run that takes as long as somebody needs to kill it; it is told as the small one."""
    time.sleep(0.05)
    return small(seed, lr)


def held(seed: int, lr: float = 0.5, door: str = "") -> sv.Run:
    """A small run that waits until its seed is below the number in a file; it is told as the small one."""
    while seed >= int(Path(door).read_text(encoding="ascii")):
        time.sleep(0.02)
    return small(seed, lr)


def going(path, seeds=3):
    """A sweep of two rates, computed here into a file."""
    return sv.sweep(small, {"lr": [0.1, 0.2]}, seeds, steps=3, workers=0, keyframes=2, results=path)


def told(results):
    """What is compared of results: all but the time that they took."""
    return {
        r.number: [
            r.options, r.seed, r.state, r.steps, r.loss, np.array(r.curve), r.tries, r.error, r.metrics, r.reached,
            r.processor, dict(r.weights), {step: dict(kept) for step, kept in r.keyframes.items()}, dict(r.optimizer),
            r.rule,
        ]
        for r in results
    }  # fmt: skip


def read(path):
    """The same of a file."""
    with sv.sweep.Results(path) as there:
        found = told(there.results())
        for number, parts in found.items():
            optimizer, rule = there.rule(number)
            keyframes = {step: dict(kept) for step, kept in there.keyframes(number).items()}
            parts[11:] = [dict(there.weights(number)), keyframes, dict(optimizer), rule]
        return found


def until(condition, seconds=60.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.01)


def gone(pids):
    """Wait until processes are no more, with all their threads: until then their pipes take what is sent."""
    threads = [Path(f"/proc/{pid}/task") for pid in pids]
    until(lambda: not any(map(is_running, pids)) and all(len([*tasks.glob("*")]) < 2 for tasks in threads))
