"""Without a display a window is refused by an error, and the loop of docs/watching.md runs all the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "watching.md"
STALE = ":4077"
WAYS = """
import sys
import numpy as np
import scalarviz as sv
from scalarviz.cli.main import main

def build(seed):
    net = sv.nn.Linear(2, 1)
    data = np.ones((1, 2)), np.ones((1, 1))
    return sv.Run(net, sv.nn.MSELoss(), sv.optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")

w, run = sv.Weight(1.0, name="w"), build(0)
with sv.Recording(run, path="run.svz"):
    run.step(1)
run.save("weights.safetensors")
list(sv.sweep(build, seeds=1, steps=1, results="runs.svs", workers=0))
recorded = sv.load_recording("run.svz")
both, swept = recorded.compare(recorded), sv.sweep.Results("runs.svs")
shown = [sv.nn.Linear(2, 2), w, {"w": np.ones(2)}, run, recorded, both, swept]
ways = [lambda x=x, block=block: sv.show(x, block=block) for x in shown for block in (False, True)]
ways += [lambda: sv.show(recorded, block=False, required=False), lambda: sv.draw(w * 2.0, window=True)]
for way in ways:
    try:
        way()
    except sv.ScalarvizError as error:
        print(error)
for command in ("tour", "view weights.safetensors"):
    main(command.split())
"""


def alone(folder: Path, code: str, **names: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with no other display than `names` say."""
    ours = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    around = {name: value for name, value in os.environ.items() if name not in ours}
    command = [sys.executable, "-c", code]
    around |= names
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({}, "DISPLAY is not set and WAYLAND_DISPLAY is not set"),
        ({"DISPLAY": STALE}, f"DISPLAY={STALE} does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-4077", "XDG_RUNTIME_DIR": "/nowhere"}, "WAYLAND_DISPLAY=wayland-4077 does not"),
        ({"QT_QPA_PLATFORM": "offscreen"}, "QT_QPA_PLATFORM=offscreen"),
    ],
    ids=["none", "stale X", "stale Wayland", "Qt offscreen"],
)
def test_every_way_to_a_window_is_refused_by_an_error(tmp_path, names, said):
    done = alone(tmp_path, WAYS, **names)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 16, done.stdout
    assert all(said in line and "sv.render(" in line and "required=False" in line for line in lines)


def test_a_library_that_qt_lacks_is_said(tmp_path, display):
    """A damaged one stands for it: Qt would end the process."""
    (tmp_path / "libxcb-cursor.so.0").touch()
    done = alone(tmp_path, WAYS, DISPLAY=display, LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 16, done.stdout
    assert all("libxcb-cursor.so.0" in line and "apt-get install" in line for line in lines)


@pytest.mark.parametrize(("library", "names"), [("torch", {}), ("jax", {"DISPLAY": STALE})], ids=["none", "stale X"])
def test_the_loops_of_the_guide_run_without_a_display(tmp_path, library, names):
    pytest.importorskip(library, reason=f"no {library}")
    loops = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    code = next(loop for loop in loops if f"import {library}\n" in loop)
    done = alone(tmp_path, f"{code}\nprint(window.watched.curve.step[-1], window.closed)", **names)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["300" if library == "torch" else "100", "False"]
    assert done.stderr.count("no window is shown") == 1


def test_a_loop_without_a_window_reads_in_place_and_ends_when_it_is_closed(tmp_path):
    code = """
import numpy as np, scalarviz as sv
for x in (sv.Weight(1.0, name="w"), sv.nn.Linear(2, 2), {"w": np.zeros(3)}):
    window = sv.show(x, block=False, required=False, on_note=lambda line: None)
    print(window.update(loss=1.0), window.closed, window.display_lost)
    window.wait()
    window.close()
    print(window.update(), window.closed)
"""
    done = alone(tmp_path, code)
    assert done.stdout.split() == ["True", "False", "False", "False", "True"] * 3, done.stderr
