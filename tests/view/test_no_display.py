"""Without a display or a library of the system: errors say what to do, training and loops go on."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.view.out.display import connection_lost, hung_up

GUIDE = Path(__file__).parents[2] / "docs" / "watching.md"
STALE = ":4077"
WAYS = """
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
list(sv.sweep(build, seeds=1, steps=1, results="runs.svs", workers=0))
recorded = sv.load_recording("run.svz")
shown = w, {"w": np.ones(2)}, run, recorded, recorded.compare(recorded), sv.sweep.Results("runs.svs")
ways = [lambda x=x, block=block: sv.show(x, block=block) for x in shown for block in (False, True)]
ways += [lambda: sv.show(recorded, block=False, required=False), lambda: sv.draw(w * 2.0, window=True)]
for way in ways:
    try:
        way()
    except sv.ScalarvizError as error:
        print(error)
main(["tour"])
"""


def alone(folder: Path, code: str, *arguments: str, **names: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with no other display than `names` say."""
    ours = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    env = {name: value for name, value in os.environ.items() if name not in ours} | names | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


REFUSALS = {
    "none": ({}, "DISPLAY is not set and WAYLAND_DISPLAY is not set"),
    "stale X": ({"DISPLAY": STALE}, f"DISPLAY={STALE} does not answer"),
    "stale Wayland": ({"WAYLAND_DISPLAY": "wayland-4077", "XDG_RUNTIME_DIR": "/nowhere"},
                      "WAYLAND_DISPLAY=wayland-4077 does not"),
    "Qt offscreen": ({"QT_QPA_PLATFORM": "offscreen"}, "QT_QPA_PLATFORM=offscreen"),
    "damaged library": ({}, "libxcb-cursor.so.0"),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSALS)
def test_every_way_to_a_window_is_refused_by_an_error(tmp_path, request, why):
    names, said = REFUSALS[why]
    further = ["sv.render(", "required=False"]
    if why == "damaged library":  # it stands for one that is missing: Qt would end the process
        (tmp_path / "libxcb-cursor.so.0").touch()
        names = {"DISPLAY": request.getfixturevalue("display"), "LD_LIBRARY_PATH": str(tmp_path)}
        further = ["apt-get install"]
    done = alone(tmp_path, WAYS, **names)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 14), done.stderr + done.stdout
    assert all(words in line for line in lines for words in (said, *further))


@pytest.mark.parametrize(("library", "names"), [("torch", {}), ("jax", {"DISPLAY": STALE})], ids=["none", "stale X"])
def test_the_loops_of_the_guide_run_without_a_display_and_end_when_they_are_told(tmp_path, library, names):
    pytest.importorskip(library, reason=f"no {library}")
    loops = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    code = next(loop for loop in loops if f"import {library}\n" in loop)
    code += """
print(window.watched.curve.step[-1], window.closed, window.display_lost)
window.wait()
window.close()
print(window.update(), window.closed)
"""
    done = alone(tmp_path, code, **names)
    steps = "300" if library == "torch" else "100"
    assert done.stdout.split() == [steps, "False", "False", "False", "True"], done.stderr
    assert done.stderr.count("no window is shown") == 1


# ---- a system without fontconfig or OpenGL

BARE = """
import ctypes, ctypes.util, sys
import scalarviz as sv
from scalarviz.cli.main import main
missing = sys.argv[1]
find, load = ctypes.util.find_library, ctypes.CDLL.__init__
def init(self, name, *rest, **named):
    if missing in str(name):
        raise OSError(f"{name}: cannot open shared object file")
    load(self, name, *rest, **named)
ctypes.util.find_library = lambda name: None if missing in name else find(name)
ctypes.CDLL.__init__ = init
if sys.argv[2:]:
    sys.exit(main(sys.argv[2:]))
try:
    sv.render(sv.Weight(1.0))
except sv.ScalarvizError as error:
    print(error)
"""


@pytest.mark.parametrize("library", ["fontconfig", "libGL.so"])
def test_without_the_library_a_run_keeps_its_weights_and_one_line_says_what_to_install(tmp_path, library):
    """Of the command, which writes them before the picture that cannot be; and of a program."""
    given = "rgb --engine numpy --steps 2 --json --headless --out x.png --save w.safetensors"
    done = alone(tmp_path, BARE, library, *given.split())
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("apt-get install libegl1 libgl1 libfontconfig1") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]
    assert '"steps": 2' in done.stdout
    said = alone(tmp_path, BARE, library).stdout
    assert f"lib{library.removeprefix('lib').lower().removesuffix('.so')}" in said


# ---- a display that goes away


def test_a_connection_whose_other_end_is_gone_or_that_is_closed_here_is_known_without_reading():
    for unread in (b"", b"an event"):
        here, there = socket.socketpair()
        with here, there:
            there.sendall(unread)
            assert not hung_up(here.fileno())
            there.close()
            assert hung_up(here.fileno())
            assert here.recv(64) == unread  # nothing was taken away by looking
    here, there = socket.socketpair()
    number = here.fileno()
    with there:
        here.close()
        assert hung_up(number)

    class Gone:  # an application that ends while its connection is looked at has lost none
        def nativeInterface(self):
            raise RuntimeError("Internal C++ object (QApplication) already deleted.")

    assert connection_lost(Gone()) is False
