"""Without a display or a library of the system: errors say what to do, training and loops go on."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz import display
from scalarviz.display import connection_lost, hung_up

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


def alone(folder: Path, code: str, *arguments: str, **names: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with no other display than `names` say."""
    ours = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    env = {name: value for name, value in os.environ.items() if name not in ours} | names
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
    "unknown to Qt": ({"QT_QPA_PLATFORM": "nonsense", "DISPLAY": STALE}, "QT_QPA_PLATFORM=nonsense is no window"),
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
    assert (done.returncode, len(lines)) == (0, 16), done.stderr + done.stdout
    assert all(words in line for line in lines for words in (said, *further))


def test_a_server_that_takes_the_call_and_never_answers_is_left_after_a_while(monkeypatch):
    """Its number is that of its port, less 6000."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        name = f"127.0.0.1:{server.getsockname()[1] - 6000}"
        monkeypatch.setattr(display, "SECONDS", 0.5)
        monkeypatch.setenv("DISPLAY", name)
        monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
        assert display.WindowProbe().reason() == f"DISPLAY={name} does not answer within 0.5 s"


@pytest.mark.parametrize(("library", "names"), [("torch", {}), ("jax", {"DISPLAY": STALE})], ids=["none", "stale X"])
def test_the_loops_of_the_guide_run_without_a_display(tmp_path, library, names):
    pytest.importorskip(library, reason=f"no {library}")
    loops = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    code = next(loop for loop in loops if f"import {library}\n" in loop)
    done = alone(tmp_path, f"{code}\nprint(window.watched.curve.step[-1], window.closed)", **names)
    assert done.stdout.split() == ["300" if library == "torch" else "100", "False"], done.stderr
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
    assert alone(tmp_path, code).stdout.split() == ["True", "False", "False", "False", "True"] * 3


# ---- a system without fontconfig or OpenGL

BARE = """
import ctypes, ctypes.util, sys
missing = sys.argv.pop(1)
find, load = ctypes.util.find_library, ctypes.CDLL.__init__
def find_library(name):
    return None if missing in name else find(name)
def init(self, name, *rest, **named):
    if missing in str(name):
        raise OSError(f"{name}: cannot open shared object file")
    load(self, name, *rest, **named)
ctypes.util.find_library, ctypes.CDLL.__init__ = find_library, init
"""
COMMAND = "from scalarviz.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize("library", ["fontconfig", "libGL.so"])
def test_without_the_library_a_run_keeps_its_weights_and_one_line_says_what_to_install(tmp_path, library):
    given = ["rgb", "--engine", "numpy", "--steps", "2", "--json"]
    picture = ["--headless", "--out", "x.png", "--save", "w.safetensors"]
    for more, code, left in (([], 0, []), (picture, 2, ["w.safetensors"])):
        done = alone(tmp_path, BARE + COMMAND, library, *given, *more)
        assert done.returncode == code, done.stderr
        assert done.stderr.count("apt-get install libegl1 libgl1 libfontconfig1") == 1
        assert f"lib{library.removeprefix('lib').lower().removesuffix('.so')}" in done.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == left
        assert '"steps": 2' in done.stdout


# ---- a display that goes away


@pytest.mark.skipif(not hasattr(select, "poll"), reason="no X server is known on this system")
def test_a_connection_whose_other_end_is_gone_or_that_is_closed_here_is_known_without_reading():
    for unread in (b"", b"an event"):
        here, there = socket.socketpair()
        with here, there:
            number = here.fileno()
            there.sendall(unread)
            assert not hung_up(number)
            there.close()
            assert hung_up(number)
            assert here.recv(64) == unread  # nothing was taken away by looking
        assert hung_up(number)

    class Ended:
        def nativeInterface(self):
            raise RuntimeError("Internal C++ object (QApplication) already deleted.")

    assert connection_lost(Ended()) is False
