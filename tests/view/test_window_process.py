"""Windows in processes of their own: prompts, HiDPI factors, signals."""

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

pytestmark = [pytest.mark.gl, pytest.mark.ci]


def environment(screen, **more):
    root = str(Path(__file__).parents[2])
    return {**os.environ, "DISPLAY": screen, "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": root, "TERM": "xterm", **more}


SHELLS = {"python": ["-i", "-q"], "ipython": ["-m", "IPython", "--colors=NoColor", "--no-banner", "--no-confirm-exit"]}


@pytest.mark.parametrize("shell", SHELLS)
def test_at_a_prompt_the_window_serves_itself(screen, shell):
    """``w.step()`` alone repaints its cube while the prompt waits for the next line."""
    assert importlib.util.find_spec("IPython"), "the test extra brings IPython with ipykernel"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, *SHELLS[shell]], environment(screen))
    try:
        for line, pause, words in (
            ("import scalarviz as sv; w = sv.Weight(-1.0, name='w')", 0.0, ""),
            ("h = sv.show(w, block=False, size=(400, 300)); print('op' + 'en')", 0.0, "open"),
            ("w.forward(2.0); w.backward(3.0); w.step(0.5); print('step' + 'ped')", 0.7, "stepped"),
            ("print('sho' + 'wn', h.viewer._shown.values.tolist())", 0.0, "shown [-4.0]"),
            ("h.wait(); print('wai' + 'ted')", 0.0, "waited"),  # the window serves itself: nothing to wait for
            ("h.close(); print('clo' + 'sed', h.closed)", 0.0, "closed True"),
        ):
            os.write(terminal, line.encode() + b"\n")
            said, end = "", time.monotonic() + 60
            while words not in said:
                assert time.monotonic() < end, said
                if select.select([terminal], [], [], 0.1)[0]:
                    said += os.read(terminal, 65536).decode(errors="replace")
            time.sleep(pause)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


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
print("open", flush=True)
window.wait()
shown = window.viewer._shown
assert not window.update(loss=1.0)
window.wait()  # it is closed: nothing to wait for
print(shown.step, shown.loss, shown.update[0], w.data, flush=True)
"""
TRAINING = """
import numpy as np, threading, time
from scalarviz import Run, nn, optim
from scalarviz.view.show import show
X = np.random.default_rng(0).random((64, 3))
net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
def started():
    while run.steps < 3: time.sleep(0.01)
    print("open", flush=True)
threading.Thread(target=started, daemon=True).start()
show(run, size=(400, 300))
print("closed after", run.steps, threading.active_count(), flush=True)
"""


@pytest.mark.parametrize(
    ("code", "way"), [(LOOP, "ctrl+q"), (LOOP, "SIGINT"), (TRAINING, "SIGINT"), (TRAINING, "SIGTERM")]
)
def test_a_window_stays_until_a_key_or_a_signal_ends_it_cleanly(screen, code, way):
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(command, env=environment(screen), stdout=pipe, stderr=pipe, text=True) as program:
        assert program.stdout.readline() == "open\n"
        time.sleep(1.0)
        assert program.poll() is None
        start = time.monotonic()
        if way == "ctrl+q":
            subprocess.run(["xdotool", "key", way], env=environment(screen), check=True)
        else:
            program.send_signal(signal.Signals[way])
        out, err = program.communicate(timeout=20)
    assert (program.returncode, "Traceback" in err) == (0, False), err
    assert time.monotonic() - start < 4.0  # a second to close, and the end of a busy machine's interpreter
    if code == TRAINING:
        assert out.startswith("closed after"), err
        return
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
print(json.dumps({"physical": [int(n) for n in canvas.physical_size], "bench": list(bench.size),
                  "image": h.window._picture().shape[:2], "picked": bench.pick(tuple(at)),
                  "scale": canvas.pixel_scale}))
h.close()
"""


@pytest.mark.parametrize("factor", [1.5, 2])
def test_hidpi_factors_give_device_pixels(screen, factor):
    found = python(HIDPI, **environment(screen, QT_SCALE_FACTOR=str(factor))).json
    assert found["scale"] == factor
    assert found["bench"] == found["physical"] == found["image"][::-1]
    assert found["physical"] == pytest.approx([round(500 * factor), round(320 * factor)], abs=1)
    assert found["picked"] == 5
