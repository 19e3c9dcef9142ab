"""Recordings of somebody else, in a folder where nobody else may write: read as they are, and nothing is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="users and rights of POSIX")

READER = """
import os, sys
import scalarviz as sv
folder = sys.argv[1]
def steps(name):
    with sv.load_recording(f"{folder}/{name}") as recorded:
        assert not recorded.remark
        assert recorded.values["0.weight"].shape == (len(recorded), 4, 2)
        assert [recorded.frame(k).step for k in range(len(recorded))] == recorded.steps.tolist()
        return len(recorded), recorded.complete, recorded.growing
steps("closed.svz")  # what is imported is imported by whoever may read it
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    open(f"{folder}/mine", "w")
except PermissionError:
    print("nothing may be written", flush=True)
print(*steps("closed.svz"), flush=True)
print(*steps("killed.svz"), flush=True)
print(*steps("open/killed.svz"), flush=True)
recorded = sv.load_recording(f"{folder}/grows.svz")
print(len(recorded), recorded.complete, recorded.growing, flush=True)
for line in sys.stdin:
    newer = recorded.newer()
    print("nothing" if newer is None else len(newer), flush=True)
    if newer is not None:
        recorded.close()
        recorded = newer
recorded.close()
"""


def made() -> Run:
    x = np.random.default_rng(5).normal(size=(16, 2))
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.01), (x, x[:, :1]), engine="numpy")


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that everybody may read; that of pytest may be closed to others."""
    made = Path(tempfile.mkdtemp(prefix="scalarviz-test-"))
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def content(folder: Path) -> dict[str, bytes]:
    """What is in all files but the one that is written."""
    return {str(part): part.read_bytes() for part in folder.rglob("*") if part.is_file() and "grows" not in part.name}


@pytest.mark.slow  # a program anew, as another user where this is root
def test_another_user_reads_what_is_closed_killed_and_still_written(folder: Path) -> None:
    run = made()
    with sv.Recording(run, path=folder / "closed.svz") as first:
        run.step(50)
        first.flush()
        for suffix in ("", "-wal"):
            shutil.copy(f"{first.path}{suffix}", folder / f"killed.svz{suffix}")
    opened = folder / "open"  # where everybody may write, but not to these files
    shutil.copytree(folder, opened)
    for part in opened.iterdir():
        part.chmod(0o444)
    opened.chmod(0o777)
    with sv.Recording(run, path=folder / "grows.svz") as recording:
        recording.flush()
        folder.chmod(0o555)
        before = content(folder)
        with subprocess.Popen(
            [sys.executable, "-c", READER, str(folder)],
            stdin=-1,
            stdout=-1,
            text=True,
            env={**os.environ, "TMPDIR": "/tmp"},
        ) as reader:
            assert reader.stdin is not None
            assert reader.stdout is not None
            assert reader.stdout.readline() == "nothing may be written\n"
            assert reader.stdout.readline().split() == ["51", "True", "False"]
            for _ in range(2):
                assert reader.stdout.readline().split()[:2] == ["51", "False"]
            assert reader.stdout.readline().split() == ["1", "False", "True"]
            for steps, said in ((0, "nothing"), (7, "8"), (0, "nothing"), (5, "13")):
                run.step(steps)
                recording.flush()
                reader.stdin.write("look\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == f"{said}\n"
            reader.stdin.close()
            assert reader.wait(60) == 0
        assert content(folder) == before
        folder.chmod(0o755)
    assert sorted(part.name for part in folder.glob("grows*")) == ["grows.svz"]
