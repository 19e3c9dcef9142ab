"""Windows in processes of their own: prompts, HiDPI factors, signals, a display that goes away."""

from __future__ import annotations

import importlib.util
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.commands import python

pytestmark = pytest.mark.gl

ROOT = Path(__file__).parents[2]


def environment(screen, **more):
    return {**os.environ, "DISPLAY": screen, "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": str(ROOT), "TERM": "xterm", **more}


def started(code, screen):
    """A program of Python with a window."""
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    return subprocess.Popen(command, env=environment(screen), stdout=pipe, stderr=pipe, text=True)


class Prompt:
    """An interactive interpreter on a terminal of its own."""

    def __init__(self, command, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, env)
        self.said = ""

    def until(self, words, seconds=30.0):
        end = time.monotonic() + seconds
        while words not in self.said:
            assert time.monotonic() < end, self.said
            ready, _, _ = select.select([self.fd], [], [], 0.1)
            if ready:
                self.said += os.read(self.fd, 65536).decode(errors="replace")

    def line(self, text):
        os.write(self.fd, text.encode() + b"\n")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


SHELLS = {"python": ["-i", "-q"], "ipython": ["-m", "IPython", "--colors=NoColor", "--no-banner", "--no-confirm-exit"]}


@pytest.mark.ci
@pytest.mark.parametrize("shell", SHELLS)
def test_at_a_prompt_the_window_serves_itself(screen, shell):
    """``w.step()`` alone repaints its cube while the prompt waits for the next line."""
    assert importlib.util.find_spec("IPython"), "the test extra brings IPython with ipykernel"
    command = [sys.executable, *SHELLS[shell]]
    prompt = Prompt(command, environment(screen))
    try:
        for line, pause, said in (
            ("import scalarviz as sv; w = sv.Weight(-1.0, name='w')", 0.0, ""),
            ("h = sv.show(w, block=False, size=(400, 300)); print('op' + 'en')", 0.0, "open"),
            ("w.forward(2.0); w.backward(3.0); w.step(0.5); print('step' + 'ped')", 0.7, "stepped"),
            ("print('sho' + 'wn', h.viewer._shown.values.tolist())", 0.0, "shown [-4.0]"),
            ("h.wait(); print('wai' + 'ted')", 0.0, "waited"),  # the window serves itself: nothing to wait for
            ("h.close(); print('clo' + 'sed', h.closed)", 0.0, "closed True"),
        ):
            prompt.line(line)
            prompt.until(said)
            time.sleep(pause)
    finally:
        prompt.close()


LOOP = """
import scalarviz as sv, sys
w = sv.Weight(-3.0, name="w")
window = sv.show(w, block=False, size=(640, 400))
for step in range(30):
    w.zero_grad()
    y = w.forward(2.0)
    w.backward(2 * (y - 4.0))
    w.step(lr=0.01)
    window.update(loss=(y - 4.0) ** 2)
print("done", flush=True)
window.wait()
shown = window.viewer._shown
print(shown.step, shown.loss, shown.update[0], w.data, flush=True)
assert not window.update(loss=1.0)
window.wait()  # it is closed: nothing to wait for
"""


@pytest.mark.ci
@pytest.mark.parametrize("way", ["Escape twice", "Ctrl+Q", "Ctrl-C"])
def test_after_a_hand_written_loop_the_window_stays_until_it_is_closed(screen, way):
    program = started(LOOP, screen)
    try:
        assert program.stdout.readline() == "done\n"
        time.sleep(1.5)
        assert program.poll() is None
        if way == "Ctrl-C":
            program.send_signal(signal.SIGINT)
        else:
            for key in ["Escape", "Escape"] if way == "Escape twice" else ["ctrl+q"]:
                subprocess.run(["xdotool", "key", key], env=environment(screen), check=True)
                time.sleep(0.3)
        out, err = program.communicate(timeout=20)
    finally:
        program.kill()
    assert program.returncode == 0, err
    assert "Traceback" not in err
    step, loss, update, value = (float(word) for word in out.split())
    w = -3.0
    for _ in range(30):
        before, expected = w, (2 * w - 4) ** 2
        w -= 0.01 * 2 * (2 * w - 4) * 2
    assert (step, loss, value) == (30, pytest.approx(expected), pytest.approx(w))
    assert update == pytest.approx(w - before)


HIDPI = """
import json, time
from scalarviz.view.show import show
import numpy as np
h = show({"w": np.arange(6.0).reshape(2, 3) - 2}, block=False, size=(500, 320))
for _ in range(30):
    h.update(); time.sleep(0.01)
bench, canvas = h.viewer.bench, h.window.canvas
plate = bench.layout.plates[0]
at = bench.project([plate.cell_centre_top(1, 2)])[0] * bench.scale
from vispy import gloo
canvas.set_current(); h.window._on_draw()
print(json.dumps({"physical": [int(n) for n in canvas.physical_size], "bench": list(bench.size),
                  "image": gloo.read_pixels().shape[:2], "picked": bench.pick(tuple(at)), "scale": canvas.pixel_scale}))
h.close()
"""


@pytest.mark.parametrize("factor", [1, 1.5, 2, 3])
def test_hidpi_factors_give_device_pixels(screen, factor):
    found = python(HIDPI, **environment(screen, QT_SCALE_FACTOR=str(factor))).json
    width, height = round(500 * factor), round(320 * factor)
    assert found["scale"] == factor
    assert found["physical"] == pytest.approx([width, height], abs=1)
    assert found["bench"] == found["physical"]
    assert found["image"] == found["physical"][::-1]
    assert found["picked"] == 5


WATCH = """
import numpy as np, signal, sys, threading, time
from scalarviz import Run, nn, optim
from scalarviz.view.show import show
X = np.random.default_rng(0).random((64, 3))
net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
def started():
    while run.steps < 3: time.sleep(0.01)
    print("training", flush=True)
threading.Thread(target=started, daemon=True).start()
show(run, size=(400, 300))
print("closed after", run.steps, threading.active_count(), flush=True)
"""


@pytest.mark.ci
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_cleanly_within_a_second(screen, number):
    process = started(WATCH, screen)
    assert process.stdout.readline() == "training\n"
    time.sleep(0.2)
    process.send_signal(number)
    start = time.monotonic()
    out, err = process.communicate(timeout=20)
    assert out.startswith("closed after"), err
    assert process.returncode == 0
    assert time.monotonic() - start < 2.0  # a second to close, and the interpreter's own end


@pytest.mark.ci
def test_a_display_that_goes_away_is_said_and_ends_the_window(x_server):
    with x_server() as (server, display):
        process = started(WATCH, display)
        assert process.stdout.readline() == "training\n"
        time.sleep(1.0)  # in the first frames Xlib may end the process before anybody is asked
        server.kill()
        server.wait()
        out, err = process.communicate(timeout=60)
    assert "the display went away" in err
    # either the window's loop came back, or the drawing library did not and the process was got out
    assert out.startswith("closed after") or (out == "" and process.returncode == 2)
