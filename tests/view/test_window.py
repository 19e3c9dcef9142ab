"""A real window on a real X server: keys and mouse by real events; loops of a user's own, and their pictures."""

from __future__ import annotations

import subprocess
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from kit.windows import COLOURS, make_colour_run, make_colour_scene
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.looking import sample
from scalarviz.run.panels import ColourCube
from scalarviz.run.sources.watched import QUIET, RATE, SLOWEST
from scalarviz.view.out.desktop import Window
from scalarviz.view.show import show
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

    def until(self, condition, seconds=10.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            self.spin(0.01)

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.window.application.process_events()
            time.sleep(0.002)

    def xdo(self, *words):
        subprocess.run(["xdotool", *map(str, words)], check=True)

    def key(self, *names):
        for name in names:
            self.xdo("key", name)
            self.spin(0.05)

    def wheel(self, button, count=1, *, shift=False):
        """The wheel turns: buttons 4 and 5 up and down, 6 on its side."""
        if shift:
            self.xdo("keydown", "shift")
        for _ in range(count):
            self.xdo("click", button)
        self.spin(0.1)
        if shift:
            self.xdo("keyup", "shift")

    def point(self, x, y):
        native = self.window.canvas.native
        corner = native.mapToGlobal(native.rect().topLeft())
        self.xdo("mousemove", corner.x() + round(x), corner.y() + round(y))
        self.spin(0.06)

    def drag(self, at, *ways):
        """The left button goes down and stays so while the pointer moves."""
        self.point(*at)
        self.xdo("mousedown", 1)
        self.spin(0.05)
        for way in ways:
            self.point(at[0] + way, at[1])

    def picture(self):
        from vispy import gloo

        self.view.refresh()
        self.spin(0.1)
        self.window.canvas.set_current()
        self.window._on_draw()
        return gloo.read_pixels(alpha=False).astype(int)

    def top_of(self, index):
        """Pixel of the middle of the top face of a weight's cube."""
        plate = next(p for p in self.view.bench.layout.plates if p.start <= index < p.start + p.size)
        i, j = divmod(index - plate.start, plate.shape[1])
        return self.view.bench.project([plate.cell_centre_top(i, j)])[0] * self.view.bench.scale


@pytest.fixture
def live(screen):
    made = scene()
    window = Window(lambda size: LiveView(made, size, playing=False), "test", (1280, 720), shots="out").show()
    driver = Driver(window)
    driver.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    driver.spin(0.2)
    yield driver
    window.close()


# ---- real events


def test_the_keyboard_is_ours_without_a_window_manager(live):
    view, bench, run = live.view, live.view.bench, live.view.run
    for key, step in (("Right", 1), ("shift+Right", 11)):
        live.key(key)
        live.until(lambda step=step: run.steps == step)
    live.key("space")
    live.until(lambda: run.steps > 14)
    assert view.playback.running
    live.key("t")
    live.until(lambda: not view.playback.running)
    stopped = view.worker.settle().step
    live.spin(0.2)
    assert run.steps == stopped
    shown = {"g": "gradient", "u": "update", "w": "weight"}
    for key, quantity in shown.items():
        live.key(key)
        assert bench.colouring.quantity == quantity
    for keys, speed in ((["bracketright"], 2), (["bracketleft"] * 2, 0.5), (["backslash"], 1)):
        live.key(*keys)
        assert view.playback.speed == speed
    for keys, lr in ((["Up"], 1.0), (["Down"] * 2, 0.25)):
        live.key(*keys)
        live.until(lambda lr=lr: run.lr == lr)
    live.key("c", "l", "0", "f", "Tab")
    assert (bench.cmap_name, bench.panels_shown) == ("grey", False)
    live.key("Tab", "question")
    assert (bench.panels_shown, bool(bench.help)) == (True, True)
    live.key("Escape", "F11")
    assert not bench.help
    live.until(lambda: live.window.full_screen)
    live.key("Escape")
    live.until(lambda: not live.window.full_screen)
    live.key("Escape")
    assert view.notice() == "Escape again closes the window"
    live.spin(2.2)
    assert view.notice() == ""
    live.key("Escape", "g", "Escape")
    live.spin(0.1)
    assert not live.window.closed
    live.key("Escape")
    live.until(lambda: live.window.closed)


def test_hover_click_and_a_drag_of_the_number(live):
    view = live.view
    view.step(3)
    view.worker.settle()
    plain = live.picture()
    live.point(*live.top_of(4))
    assert (np.abs(live.picture() - plain).max(axis=2) > 30).any()
    live.xdo("click", 1)
    live.until(lambda: view.bench.selected == 4 and view.bench.touch.inspector.number is not None)
    x, y, width, height = np.array(view.bench.touch.inspector.number) * view.bench.scale
    before = view.run.values.copy()
    live.drag((x + width / 2, y + height / 2), 10, 30, 60)
    live.until(lambda: view._shown.values[4] > before[4] + 0.05)
    assert live.picture()[int(y) : int(y + height), int(x) : int(x + width)].max() > 150
    live.xdo("mouseup", 1)
    live.until(lambda: view.pointer.grip is None)
    assert np.array_equal(np.delete(view.run.values, 4), np.delete(before, 4))
    assert (len(view.run.log), view.bench.selected) == (1, 4)
    live.key("Escape")
    live.until(lambda: view.bench.selected is None)


def test_the_wheel_zooms_to_the_pointer_and_with_shift_changes_a_weight(live):
    view, before = live.view, live.view.run.values.copy()
    scale = view.bench.camera.scale
    for at in (live.top_of(4), np.array([200.0, 480.0])):
        live.point(*at)
        live.wheel(4, 3)
        live.until(lambda: view.bench.camera.scale == pytest.approx(scale * 1.15**3))
        if at[0] != 200:
            assert live.top_of(4) == pytest.approx(at, abs=1.5)
        live.wheel(5, 3)
        live.until(lambda: view.bench.camera.scale == pytest.approx(scale))
    live.point(*live.top_of(0))
    camera = view.bench.camera
    live.wheel(6)  # on its side
    assert view.bench.camera is camera
    assert (np.array_equal(view.run.values, before), view.worker.log) == (True, [])
    value = before[0]
    for button, count in ((6, 1), (4, 6)):
        live.wheel(button, count, shift=True)
        live.until(lambda value=value: view.run.values[0] != value)
        value = view.run.values[0]
    assert np.array_equal(view.run.values[1:], before[1:])


def test_a_drag_turns_the_camera_and_f_fits_it(live):
    azimuth = live.view.bench.camera.azimuth
    live.drag((700, 300), *range(20, 100, 20))
    live.xdo("mouseup", 1)
    live.spin(0.1)
    assert live.view.bench.camera.azimuth != azimuth
    assert live.view.bench.selected is None
    live.key("f")
    live.until(lambda: live.view.bench.camera.azimuth == pytest.approx(azimuth))


def disc(live, which, place):
    """Pixel and input colour of one of the discs that no other covers there."""
    cube = live.view.bench.side.drawer(ColourCube)
    places = cube._cubes[which]
    seen = [k for k, (x, y) in enumerate(places.centres) if places.disc_at(float(x), float(y)) == k]
    return places.centres[seen[place]] * live.view.bench.scale, cube.inputs[places.visible[seen[place]]]


def test_a_click_chooses_a_colour_and_two_with_shift_teach_it(live):
    view = live.view
    x, y, width, height = view.bench.swatch.box
    live.point((x + width / 2) * view.bench.scale, (y + height / 2) * view.bench.scale)
    live.xdo("click", 1)
    live.until(lambda: np.allclose(view.bench.subject.probe, sample(view.run, 0)[0]))
    near, colour = disc(live, "source", -1)
    far, other = disc(live, "target", 0)
    live.point(*near)
    live.xdo("click", 1)
    live.until(lambda: np.array_equal(view.bench.subject.probe, colour))
    assert view.run.log == []
    for at, so in (
        (near, lambda: view.bench.side.drawer(ColourCube).marked == tuple(colour)),
        (far, lambda: len(view.worker.log) == 1),
    ):
        live.point(*at)
        live.xdo("keydown", "shift", "click", 1, "keyup", "shift")
        live.until(so)
    live.until(lambda: np.allclose(view.bench.subject.target, 1 - other))
    assert view.playback.running


# ---- the window itself


def test_several_windows_train_and_none_lies_exactly_over_another(live):
    scenes = scene(2), scene(3)
    others = [Window(lambda size, s=s: LiveView(s, size), s.name, (400, 300)).show() for s in scenes]
    live.until(lambda: all(one.run.steps > 10 for one in scenes))
    assert len({window.place for window in (live.window, *others)}) == 3
    others[0].close()
    reached = scenes[1].run.steps
    live.until(lambda: scenes[1].run.steps > reached)
    others[1].close()


def drop(widget, *paths):
    """What Qt sends when files are dropped from a file manager; returns whether they were accepted."""
    from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
    from PySide6.QtGui import QDragEnterEvent, QDropEvent
    from PySide6.QtWidgets import QApplication

    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    at = QPointF(50, 50)
    rest = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter, dropped = QDragEnterEvent(at.toPoint(), *rest), QDropEvent(at, *rest)
    enter.ignore()
    QApplication.sendEvent(widget, enter)
    QApplication.sendEvent(widget, dropped)
    return enter.isAccepted()


def test_weights_are_dropped_on_the_window_or_chosen_in_a_dialogue_while_training_goes_on(live, tmp_path):
    from PySide6.QtWidgets import QFileDialog, QLineEdit

    native, view, path = live.window.canvas.native, live.view, tmp_path / "w.safetensors"
    other = scene(7).run
    other.step(12)
    other.save(path)
    assert native.acceptDrops()
    assert drop(native, path)
    live.until(lambda: view._shown.step == 12)
    assert view.notice() == "w.safetensors: weights of step 12"
    assert np.array_equal(view.run.values, other.values)
    assert not drop(native)  # no files: not ours
    scene(7).run.save(path)
    view.playback.play()
    live.key("ctrl+o")
    (dialogue,) = native.findChildren(QFileDialog)
    steps = view.run.steps
    live.until(lambda: view.run.steps > steps + 3)
    dialogue.findChild(QLineEdit).setText(str(path))
    dialogue.accept()
    live.until(lambda: view.notice() == "w.safetensors: weights of step 0")


def test_a_resting_window_draws_nothing_and_a_hidden_one_trains(live, monkeypatch):
    live.spin(1.0)
    drawn = []
    live.window.canvas.events.draw.connect(lambda event: drawn.append(1))
    live.spin(0.7)
    assert not drawn
    live.view.playback.play()
    live.until(lambda: live.view.run.steps > 2)
    live.window.canvas.native.hide()
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


def test_any_size_is_drawn_or_blank_but_never_an_error(live):
    for size in ((300, 200), (40, 30), (900, 900), (1400, 500), (1280, 720)):
        live.window.canvas.size = size
        live.spin(0.3)
        width, height = live.window.canvas.physical_size
        assert live.picture().shape[:2] == (height, width)
    live.until(lambda: tuple(live.window.canvas.physical_size) == (1280, 720))
    live.spin(0.2)
    assert len(np.unique(live.picture().reshape(-1, 3), axis=0)) > 100


def test_screenshots_are_numbered_files(live, tmp_path):
    live.window._taking.folder = tmp_path / "shots"
    live.key("s", "s")
    live.until(lambda: len(list((tmp_path / "shots").glob("test-*.png"))) == 2)
    live.window._taking.folder = tmp_path / "shots" / "test-1.png"  # a file, no folder
    notes = []
    live.window._taking._note = notes.append
    assert live.window.screenshot() is None
    assert notes[0].startswith("no screenshot")


def test_closing_is_quick_and_frees_the_run(live):
    live.view.playback.play()
    live.until(lambda: live.view.run.steps > 3)
    start = time.perf_counter()
    live.window.close()
    live.window.close()
    assert time.perf_counter() - start < 1
    live.view.run.step(1)


# ---- what a loop of the user's own trains


def test_a_hand_written_loop_repaints_its_cubes(screen):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    opt = optim.SGD(net.parameters(), lr=0.5)
    with show(net, block=False, size=(640, 400)) as handle:
        driver = Driver(handle.window)
        driver.spin(0.2)
        before = driver.picture()
        for _ in range(20):
            opt.zero_grad()
            loss = nn.MSELoss()(net([0.9, 0.5, 0.1]), [0.1, 0.5, 0.9])
            loss.backward()
            values = np.concatenate([np.ravel(p.data) for p in net.parameters()])
            opt.step()
            assert handle.update(loss=loss)
            seen = handle.viewer._shown
            assert np.array_equal(seen.update, seen.values - values)
        assert (seen.step, seen.loss) == (20, loss.data)
        after = driver.picture()
        said = [item.text for sketch in handle.viewer.bench.sketches for item in sketch.texts]
        assert {"step", "20", "loss"} <= set(said)
        assert (np.abs(after - before).max(axis=2) > 12).mean() > 0.005
        assert handle.viewer._shown.computed.all()
    assert handle.closed
    assert not handle.update()


def test_a_run_or_a_weight_stepped_by_hand_is_followed(screen):
    made, w = scene(), sv.Weight(-1.0, name="w")
    with show(made, block=False, size=(640, 400)) as handle:
        made.run.step(7)
        handle.update()
        assert handle.viewer._shown.step == 7
        handle.viewer.put(0, 0.5)
        handle.update()
        assert handle.viewer._shown.values[0] == made.run.values[0]
    with show(w, block=False, size=(400, 300)) as handle:
        driver = Driver(handle.window)
        driver.spin(0.2)
        before = driver.picture()
        w.forward(2.0)
        w.backward(3.0)
        w.step(lr=0.5)
        handle.update()
        assert handle.viewer._shown.values.tolist() == [-4.0]
        assert (np.abs(driver.picture() - before).max(axis=2) > 12).any()
        with pytest.raises(InputError, match="read in place"):
            handle.update({"w": np.ones(2)})


@pytest.mark.parametrize("kind", ["arrays", "list", "parameter", "run"])
def test_show_takes_anything_with_weights(screen, kind):
    made = scene()
    things = {
        "arrays": {"a": np.eye(3), "b": np.arange(4.0)},
        "list": [sv.Weight(1.0), sv.Weight(-1.0)],
        "parameter": nn.Linear(2, 2).weight,
        "run": made.run,
    }
    with show(things[kind], block=False, size=(400, 300)) as handle:
        assert handle.update()


def served(handle, until, seconds=20.0):
    """Let the window serve itself, as after a loop, until something is so."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        handle.window.serve()
        time.sleep(0.01)


def trained(handle, w, steps):
    for step in range(1, steps + 1):
        w += 0.01
        assert handle.update(loss=1 / step, lr=0.1)


def test_a_loop_is_watched_and_its_last_step_is_shown(screen):
    w = {"layers": [np.zeros((4, 6)), np.zeros(4)]}
    with sv.show(w, block=False) as handle:
        assert handle.watched.name == "dict"
        before = handle.window._painted()
        trained(handle, w["layers"][0], 300)
        served(handle, lambda: handle.viewer.shown.step == 300)
        frame = handle.viewer.shown
        assert np.allclose(frame.values[:24], 3.0)
        assert (frame.loss, len(frame.curve.step)) == (1 / 300, 300)
        after = handle.window._painted()
        assert (before != after).any()


def test_the_time_bar_goes_back_to_what_was_seen(screen):
    w = np.zeros((3, 3))
    with sv.show({"w": w}, block=False) as handle:
        assert handle.viewer.bench.places.time is None
        handle._turns._pace.share = 1.0
        for _ in range(12):
            w += 1
            handle.update()
            time.sleep(0.04)
        served(handle, lambda: handle.viewer.shown.values[0] == 12)
        assert handle.viewer.bench.places.time is not None
        handle.viewer.key("Left")
        served(handle, lambda: handle.viewer.shown.step < handle.watched.last.step)
        back = handle.viewer.shown
        assert back.values[0] == back.step
        handle.viewer.bench.select(4)
        handle.window.serve()
        _, record = handle.viewer.bench.touch.inspector.record
        assert record.values.tolist() == record.steps.tolist()
        handle.viewer.key("End")
        served(handle, lambda: handle.viewer.shown.step == handle.watched.last.step)


def test_painting_gets_its_share_and_no_more(screen, monkeypatch):
    w = np.zeros((30, 30))
    with sv.show({"w": w}, block=False) as handle:
        watched, pace = handle.watched, handle._turns._pace
        monkeypatch.setattr(pace, "touched", lambda now: None)  # no hand is there; a resized window counts as one
        pace._eager, took, looks = float("-inf"), pace.took, {}
        monkeypatch.setattr(pace, "took", lambda *when: looks.update({len(watched.curve.step): when}) or took(*when))
        steps, begun = 0, time.monotonic()
        while len(looks) < 3 or steps < 2000:  # of a step it is told twice: of the copy, and of copy and picture
            assert time.monotonic() < begun + 60
            time.sleep(1e-5)  # a curve of more than 2**20 steps is thinned
            w += 1
            handle.update(loss=0.5)
            steps += 1
        for (start, end), (after, _) in pairwise(looks.values()):
            assert after - start >= max(1 / RATE, min((end - start) / pace.share, SLOWEST))
        assert len(watched.curve.step) == steps


def test_gradients_and_updates_are_shown_where_there_are_some(screen):
    params = {"w": np.ones((3, 3), np.float32)}
    with sv.show(params, block=False) as handle:
        handle._turns._pace.share = 1.0
        for _ in range(3):
            params = {"w": params["w"] * np.float32(0.5)}
            handle.update(params, {"w": params["w"] * 3}, loss=1.0)
            time.sleep(0.05)
        time.sleep(QUIET)
        served(handle, lambda: handle.viewer.shown.step == 3)
        assert handle.viewer.send("show_gradients")
        assert np.allclose(handle.viewer.shown.gradient, 0.375)
        assert handle.viewer.send("show_updates")


def test_a_window_that_was_closed_lets_the_loop_go_on(screen):
    w = np.zeros(4)
    handle = sv.show({"w": w}, block=False)
    assert handle.update(loss=1.0)
    handle.close()
    assert not handle.update(loss=0.5)
    assert handle.watched.curve.loss.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("x", ["arrays", "weights"])
def test_the_desktops_own_button_ends_the_loop(screen, x):
    w = np.zeros(4)
    with sv.show({"w": w} if x == "arrays" else sv.Weight(1.0), block=False) as handle:
        assert handle.update(loss=1.0)
        handle.window.canvas.native.close()  # as Qt does when the window manager asks for it
        end = time.monotonic() + 20
        while handle.update(loss=0.5):  # it went on for ever, without a window
            assert time.monotonic() < end
            time.sleep(0.01)
        assert handle.closed


def test_a_loop_in_a_thread_of_its_own_tells_and_the_windows_thread_paints(screen):
    w, lone = np.zeros((2, 2)), sv.Weight(1.0)
    with sv.show({"w": w}, block=False) as handle, sv.show(lone, block=False) as other:
        open_still = []

        def loop():
            for step in range(1, 21):
                np.add(w, 1, out=w)
                open_still.append(handle.update(loss=1 / step) and other.update())

        thread = threading.Thread(target=loop)
        thread.start()  # it aborted the process: OpenGL's context is another thread's
        thread.join()
        assert open_still == [True] * 20
        served(handle, lambda: handle.viewer.shown.step == 20)
        assert (handle.viewer.shown.values == 20).all()


def test_a_picture_of_it_needs_no_window():
    picture = sv.render({"a": {"w": np.eye(3)}}, (320, 240))
    again = sv.render(sv.watch({"a": {"w": np.eye(3)}}), (320, 240))
    assert np.array_equal(picture, again)
