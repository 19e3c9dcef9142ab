"""Kills programs in the middle of a recording and reads what they leave: ``python tests/run/kills.py 1000``.

Each is forked, so that a thousand take minutes; it records every step, edits now and then, lets the budget thin the
file or closes it, and says through a pipe up to which step it was told that all is in the file.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sqlite3
import struct
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, optim

STEPS = 4000
EDITED = 97
"""The run is edited after the steps that this divides."""
WORD = struct.Struct("<q")


def made() -> sv.Run:
    """The run that all of them record."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(16, 3))
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    net.initialize(seed=2)
    return sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters()), (x, x[:, :2]), batch_size=4, engine="numpy")


def trained(run: sv.Run) -> Any:
    """One step after the other, with the edits; what was done after each."""
    while run.steps < STEPS:
        run.step()
        if run.steps % EDITED == 0:
            run.lr = 0.001 + 1e-6 * run.steps
            run.set_weights(run.steps % 32, [0.5])
        yield run


def expected() -> NDArray[np.float32]:
    """The values after every step, (STEPS + 1, P), by a run that nobody records."""
    run = made()
    return np.stack([run.values.copy(), *(each.values.copy() for each in trained(run))])


def child(path: Path, pipe: int, choice: random.Random) -> None:
    """Record until somebody ends this process."""
    budget, run = choice.choice([200_000, 200_000_000]), made()
    early = choice.random() < 0.1
    if early:
        os.write(pipe, WORD.pack(0))
    recording = sv.Recording(run, gradients=True, updates=True, activations=True, path=path, budget=budget)
    if not early:
        os.write(pipe, WORD.pack(0))
    ends = choice.choice([0, 40, STEPS])
    for each in trained(run):
        if each.steps == ends:
            recording.close()
            os.write(pipe, WORD.pack(-each.steps))
            break
        if each.steps % 10 == 0:
            recording.flush()
            os.write(pipe, WORD.pack(each.steps))
    time.sleep(60)


def killed(path: Path, choice: random.Random) -> tuple[int, bool]:
    """Kill one at any moment of its first second; returns up to where it was sure, and whether it had closed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            child(path, writer, random.Random(choice.random()))
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        told = pipe.read(8)
        end = time.monotonic() + choice.uniform(0.0, 1.0) ** 3
        while (left := end - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                told += pipe.read(4096)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        while more := pipe.read(4096):
            told += more
    steps = [WORD.unpack_from(told, at)[0] for at in range(0, len(told) - 7, 8)]
    return max(map(abs, steps), default=0), any(step < 0 for step in steps)


def check(path: Path, sure: int, values: NDArray[np.float32]) -> str:
    """What is in the file is what the run said, and nothing is lost that was in it; returns what was found."""
    if not path.exists():
        assert not sure
        return "no file yet"
    try:
        recorded = sv.load_recording(path)
    except sv.ScalarvizError:
        assert not sure, f"step {sure} was in the file, and it cannot be read"
        return "killed before the first frame"
    with recorded:
        steps = recorded.steps
        assert not recorded.remark, recorded.remark
        every = 1 if len(steps) < 3 else int(np.diff(steps).max())
        kept = {0, *range(EDITED, STEPS, EDITED)}
        assert set(range(0, sure + 1, every)) <= set(steps.tolist()), (sure, steps)
        assert {step for step in kept if step <= sure} <= set(steps.tolist())
        assert max(recorded.curve.step, default=0) >= steps[-1], "losses come with their frames"
        for k, step in enumerate(steps):
            if step > sure and step % EDITED == 0:  # between its step and its second edit, say
                continue
            assert recorded.frame(k).values.tobytes() == values[step].tobytes(), step
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",), "it is one file again"
    assert [part.name for part in path.parent.iterdir()] == [path.name]
    return "thinned" if every > 1 else "every step"


def kill(count: int, seed: int, folder: Path) -> Counter[str]:
    """So many of them; what was found, and how often."""
    found: Counter[str] = Counter()
    values = expected()
    for number in range(count):
        choice = random.Random(f"{seed}:{number}")
        own = folder / str(number)
        own.mkdir()
        sure, closed = killed(own / "run.svz", choice)
        found[check(own / "run.svz", sure, values) + (", closed" if closed else "")] += 1
        with suppress(FileNotFoundError):
            (own / "run.svz").unlink()
    return found


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as temporary:
        began = time.monotonic()
        print(dict(kill(times, 0, Path(temporary))), f"{time.monotonic() - began:.0f} s")
