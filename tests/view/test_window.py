"""A real window on a real X server: keys and mouse by real events, what the desktop does to it, a user's own loop."""

from __future__ import annotations

import importlib.util
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6 import QtGui

import scalarviz as sv
from kit.benches import face_of
from kit.commands import python
from kit.windows import COLOURS, make_colour_run, make_colour_scene, serve, wait_until
from scalarviz import display, nn, optim
from scalarviz.errors import InputError
from scalarviz.run.panels import ColourCube
from scalarviz.view.out.desktop import Window, _qt_widgets
from scalarviz.view.watch.live import LiveView

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]


def scene(seed=1):
    return make_colour_scene(make_colour_run(seed=seed), (ColourCube(COLOURS, 1 - COLOURS),))


class Driver:
    """One window, real events, and patience."""

    def __init__(self, window):
        self.window, self.view = window, window.view

    def until(self, condition):
        serve(self.window, until=condition)

    def spin(self, seconds):
        serve(self.window, seconds)

    def xdo(self, *words):
        subprocess.run(["xdotool", *map(str, words)], check=True)

    def key(self, *names):
        for name in names:
            self.xdo("key", name)
            self.spin(0.05)

    def point(self, x, y):
        left, top = self.window.place
        self.xdo("mousemove", left + round(x), top + round(y))
        self.spin(0.06)

    def drag(self, at, *ways):
        """The left button goes down and stays so while the pointer moves."""
        for way in (0, *ways):
            self.point(at[0] + way, at[1])
            if not way:
                self.xdo("mousedown", 1)

    def picture(self):
        self.view.refresh()
        self.spin(0.1)
        self.window.canvas.set_current()
        return self.window._painted().astype(int)


@pytest.fixture
def live(screen, tmp_path):
    made, told = scene(), []
    made.command = lambda reader: "scalarviz test --lr 0.5"
    window = Window(partial(LiveView, made, playing=False), "test", shots=tmp_path, on_note=told.append).show()
    driver = Driver(window)
    driver.told = told
    driver.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    driver.spin(0.2)
    yield driver
    window.close()


def test_the_keyboard_is_ours_without_a_window_manager(live):
    view, bench, run = live.view, live.view.bench, live.view.run
    for key, step in (("Right", 1), ("shift+Right", 11)):
        live.key(key)
        live.until(lambda step=step: run.steps == step)
    live.key("space")
    live.until(lambda: run.steps > 14)
    live.key("space", "g", "bracketright", "Tab", "Tab", "question", "Up", "alt+w")  # Alt belongs to the desktop
    live.until(lambda: run.lr == 1.0)
    assert (view.playback.running, view.playback.speed, bool(bench.interaction.help)) == (False, 2, True)
    assert (bench.colouring.quantity, bench.panels_shown) == ("gradient", False)
    live.key("Escape", "F11")
    live.until(lambda: live.window.full_screen)
    live.key("Escape")
    live.until(lambda: not live.window.full_screen)
    live.key("Escape", "g", "Escape")
    assert (live.window.closed, view.notice()) == (False, "Escape again closes the window")
    live.key("Escape")
    live.until(lambda: live.window.closed)


def test_hover_click_drag_and_wheel(live):
    view, before = live.view, live.view.run.values.copy()
    plain, camera = live.picture(), view.bench.camera
    live.point(*face_of(view.bench, 4))
    assert (np.abs(live.picture() - plain).max(axis=2) > 30).any()
    live.xdo("click", 1)
    live.until(lambda: view.bench.selected == 4 and view.bench.interaction.inspector.box)
    number = next(spot.box for spot in view.bench.spots if spot.name == "type")
    x, y, width, height = np.array(number) * view.bench.scale
    live.drag((x + width / 2, y + height / 2), 10, 30, 60)
    live.until(lambda: view._shown.values[4] > before[4] + 0.05)
    live.xdo("mouseup", 1)
    live.until(lambda: view.pointer.grip is None)
    assert np.array_equal(np.delete(view.run.values, 4), np.delete(before, 4))
    assert (len(view.run.log), view.bench.camera) == (1, camera)
    for button, scale in ((4, 1.15), (5, 1.0), (6, 1.0)):  # up, down, and on its side
        at = face_of(view.bench, 4)
        live.point(*at)
        live.xdo("click", button)
        live.until(lambda scale=scale: view.bench.camera.scale == pytest.approx(camera.scale * scale))
        assert face_of(view.bench, 4) == pytest.approx(at, abs=1.5)
    value = view.run.values[4]
    live.xdo("keydown", "shift", "click", 4, "keyup", "shift")
    live.until(lambda: view.run.values[4] != value)
    live.drag((700, 300), *range(20, 100, 20))
    live.xdo("mouseup", 1)
    live.until(lambda: view.bench.camera.azimuth != camera.azimuth)
    live.key("f")
    live.until(lambda: view.bench.camera.azimuth == pytest.approx(camera.azimuth))


def test_weights_are_dropped_on_the_window_or_chosen_in_a_dialogue_while_training_goes_on(live, tmp_path):
    from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
    from PySide6.QtGui import QDragEnterEvent, QDropEvent
    from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

    native, view, path, other = live.window.canvas.native, live.view, tmp_path / "w.safetensors", scene(7).run
    other.step(12)
    other.save(path)
    at, data = QPointF(50, 50), QMimeData()
    rest = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for files in ([], [QUrl.fromLocalFile(str(path))]):  # what Qt sends when a file manager drops them
        data.setUrls(files)
        enter = QDragEnterEvent(at.toPoint(), *rest)
        enter.ignore()
        for event in (enter, QDropEvent(at, *rest)):
            QApplication.sendEvent(live.window.frame, event)
        assert enter.isAccepted() == bool(files)
    live.until(lambda: view.notice() == "w.safetensors: loaded the weights of step 12")
    assert np.array_equal(view.run.values, other.values)
    scene(7).run.save(path)
    view.playback.play()
    live.key("ctrl+o")
    (dialogue,) = native.findChildren(QFileDialog)
    steps = view.run.steps
    live.until(lambda: view.run.steps > steps + 3)
    dialogue.findChild(QLineEdit).setText(str(path))
    dialogue.accept()
    live.until(lambda: view.notice() == "w.safetensors: loaded the weights of step 0")


def test_a_number_is_typed_while_training_goes_on_and_a_command_is_copied(live):
    view, panel = live.view, live.view.bench.controls
    live.key("p")
    live.until(lambda: panel.has_place)

    def click(name, value="", times=1):
        found = lambda: [spot.box for spot in panel.spots if spot.click == (name, value)]  # noqa: E731
        live.until(found)
        x, y, wide, high = found()[0]
        live.point(x + wide / 2, y + high / 2)
        live.until(lambda: value or panel.hovered_click == (name, value))
        live.xdo("click", "--repeat", times, "--delay", 60, 1)

    click("copy as command")
    live.until(lambda: live.window.application.native.clipboard().text() == "scalarviz test --lr 0.5")
    view.playback.play()
    click("learning rate", "typed", 2)
    live.xdo("type", "--delay", 0, "0.125")  # at once: no key gets lost
    live.until(lambda: view.prompt is not None and view.prompt.text == "0.125")
    steps = view.run.steps
    live.until(lambda: view.run.steps > steps + 3)
    live.key("Return")
    live.until(lambda: view.run.lr == 0.125)


def test_a_resting_window_draws_nothing_a_hidden_one_trains_and_any_size_is_drawn(live, monkeypatch):
    live.spin(1.0)
    drawn = []
    live.window.canvas.events.draw.connect(lambda event: drawn.append(1))
    live.spin(0.7)
    assert not drawn
    cover = _qt_widgets().QWidget()  # what it uncovers is painted anew: Qt lays its own picture there, an older one
    cover.setGeometry(*live.window.place, 500, 300)
    cover.show()
    live.spin(0.3)
    drawn.clear()
    cover.hide()
    live.until(lambda: drawn)
    for size in ((300, 200), (40, 30), (900, 700)):  # or blank, but never an error
        live.window.frame.resize(*size)
        live.until(lambda size=size: tuple(live.window.canvas.physical_size) == size)
        assert live.picture().shape == (size[1], size[0], 3)
    assert len(np.unique(live.picture().reshape(-1, 3), axis=0)) > 100
    live.view.playback.play()
    live.until(lambda: live.view.run.steps > 2)
    live.window.frame.hide()
    live.spin(0.1)
    monkeypatch.setattr(live.view.bench, "update", lambda *args: drawn.append(2))
    drawn.clear()
    reached = live.view.run.steps
    live.until(lambda: live.view.run.steps > reached + 5)
    assert not drawn
    live.view.playback.pause()
    undrawn = scene().run
    undrawn.step(live.view.worker.settle().step)
    assert undrawn.values.tobytes() == live.view.run.values.tobytes()


def test_a_hand_written_loop_and_a_run_stepped_by_hand_repaint_their_cubes(screen):
    net, made = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid()), scene()
    opt = optim.SGD(net.parameters(), lr=0.5)
    with sv.show(net, block=False, size=(640, 400)) as handle:
        driver = Driver(handle.window)
        driver.spin(0.2)
        before = driver.picture()
        for _ in range(20):
            opt.zero_grad()
            loss = nn.MSELoss()(net([0.9, 0.5, 0.1]), [0.1, 0.5, 0.9])
            loss.backward()
            opt.step()
            assert handle.update(loss=loss)
        assert (handle.viewer.shown.step, handle.viewer.shown.loss) == (20, loss.data)
        assert (np.abs(driver.picture() - before).max(axis=2) > 12).mean() > 0.005
        with pytest.raises(InputError, match="read in place"):
            handle.update({"w": np.ones(2)})
    assert handle.closed
    assert not handle.update()
    with sv.show(made, block=False, size=(640, 400)) as handle:
        made.run.step(7)
        handle.update()
        assert handle.viewer.shown.step == 7
        handle.viewer.set_weight(0, 0.5)
        handle.update()
        assert handle.viewer.shown.values[0] == made.run.values[0]


def test_a_loop_in_a_thread_tells_the_windows_thread_paints_and_the_desktops_own_button_ends_it(screen):
    w, lone = np.zeros((2, 2)), sv.Weight(1.0)
    with sv.show({"w": w}, block=False) as handle, sv.show(lone, block=False) as other:
        still = []

        def loop():
            for step in range(1, 21):
                np.add(w, 1, out=w)
                still.append(handle.update(loss=1 / step) and other.update())

        thread = threading.Thread(target=loop)
        thread.start()  # it aborted the process: OpenGL's context is another thread's
        thread.join()
        assert still == [True] * 20
        assert handle.window.place != other.window.place  # they lie beside each other
        serve(handle.window, until=lambda: handle.viewer.shown.step == 20)
        assert (handle.viewer.shown.values == 20).all()
        for shown in (handle, other):
            shown.window.frame.close()  # as Qt does when the window manager asks for it
            wait_until(lambda one=shown: not one.update(loss=0.5))  # it went on for ever, without a window
            assert shown.closed
        assert handle.watched.curve.loss[-1] == 0.5  # what the loop tells is heard all the same


@pytest.mark.parametrize("closed", ["by Escape", "while Python is busy", "before the window is served"])
def test_a_frame_that_is_closed_while_its_window_is_made_closes_it(screen, closed):
    display.open_early("rgb", (400, 300))
    ((application, frame),) = display._early
    assert (frame.isVisible(), frame.windowTitle()) == (True, "scalarviz: rgb")
    frame.resize(500, 350)  # a hand did
    if closed == "while Python is busy":
        application.postEvent(frame.windowHandle(), QtGui.QCloseEvent())
        begun = time.process_time()
        while frame.isVisible():
            assert time.process_time() - begun < 0.3
    elif closed == "by Escape":
        frame.escape.activated.emit()
    else:
        application.postEvent(frame.windowHandle(), QtGui.QCloseEvent())  # as a button does while nothing listens
    handle = sv.show(scene(), size=(400, 300))
    assert (handle.closed, handle.window.frame, display._early) == (True, frame, [])
    assert handle.viewer.bench.size == (500, 350)


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
print(shown.step, shown.values[0] == w.data, flush=True)
"""


@pytest.mark.parametrize("way", ["ctrl+q", "SIGINT", "SIGTERM"])
def test_a_window_stays_after_a_loop_until_a_key_or_a_signal_ends_it_cleanly(screen, way):
    command, pipe = [sys.executable, "-c", LOOP], subprocess.PIPE
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
    assert out.split() == ["30", "True"]


HIDPI = """
import json, time
from scalarviz.view.show import show
import numpy as np
h = show({"w": np.arange(6.0).reshape(2, 3) - 2}, block=False, size=(500, 320))
for _ in range(30):
    h.update(); time.sleep(0.01)
bench, canvas = h.viewer.bench, h.window.canvas
plate = bench.layout.plates[0]
at = bench.project([plate.tops[plate.grid.element(1, 2)]])[0] * bench.scale
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
