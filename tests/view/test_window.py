"""A real window on a real X server: keys and mouse by real events, pictures by what moved and what stood still."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.looking import sample
from scalarviz.run.panels import ColourCube
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.show import show
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.actions import Here, bottom_line
from scalarviz.view.watch.live import LiveView

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]

X = np.random.default_rng(0).random((64, 3))


def scene(seed=1):
    net = nn.Sequential(nn.Linear(3, 3, seed=seed), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy", seed=3)
    colours = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return Scene(
        "test", run, probe=np.array([0.9, 0.5, 0.1]), probe_target=np.array([0.1, 0.5, 0.9]),
        input_names=("r", "g", "b"), output_names=("r", "g", "b"), panels=(ColourCube(colours, 1 - colours),),
    )  # fmt: skip


class Driver:
    """One window, real events, and patience."""

    def __init__(self, window):
        self.window = window
        self.view = window.view

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

    def origin(self):
        corner = self.window.canvas.native.mapToGlobal(self.window.canvas.native.rect().topLeft())
        return corner.x(), corner.y()

    def point(self, x, y):
        left, top = self.origin()
        self.xdo("mousemove", left + round(x), top + round(y))
        self.spin(0.06)

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


def test_the_keyboard_is_ours_without_a_window_manager(live):
    run = live.view.run
    live.key("Right")
    live.until(lambda: run.steps == 1)
    live.key("shift+Right")
    live.until(lambda: run.steps == 11)
    live.key("space")
    live.until(lambda: run.steps > 14)
    assert live.view.playback.running
    live.key("t")
    live.until(lambda: not live.view.playback.running)
    stopped = live.view.worker.settle().step
    live.spin(0.2)
    assert run.steps == stopped


def test_every_key_of_the_table_does_something(live):
    view, bench = live.view, live.view.bench
    live.key("g")
    assert bench.colouring.quantity == "gradient"
    live.key("u")
    assert bench.colouring.quantity == "update"
    live.key("w")
    assert bench.colouring.quantity == "weight"
    live.key("bracketright")
    assert view.playback.speed == 2
    live.key("bracketleft", "bracketleft")
    assert view.playback.speed == 0.5
    live.key("backslash")
    assert view.playback.speed == 1
    live.key("Up")
    live.until(lambda: view.run.lr == 1.0)
    live.key("Down", "Down")
    live.until(lambda: view.run.lr == 0.25)
    live.key("c")
    assert bench.cmap_name == "grey"
    live.key("Tab")
    assert not bench.panels_shown
    live.key("Tab")
    assert bench.panels_shown
    live.key("question")
    assert bench.help
    live.key("Escape")
    assert not bench.help
    assert not live.window.closed
    live.key("l", "0", "f")
    live.key("ctrl+q")
    live.until(lambda: live.window.closed)


def test_escape_closes_the_window_when_it_is_pressed_twice_and_only_then(live):
    live.key("Escape")
    assert live.view.notice() == "Escape again closes the window"
    live.spin(2.2)
    assert live.view.notice() == ""
    live.key("Escape", "g", "Escape")
    live.spin(0.1)
    assert not live.window.closed
    live.key("Escape")
    live.until(lambda: live.window.closed)


def test_training_moves_cubes_and_leaves_the_frame_of_the_picture(live):
    before = live.picture()
    live.view.step(200)
    live.view.worker.settle()
    after = live.picture()
    moved = np.abs(after - before).max(axis=2) > 12
    x, y = live.top_of(0).astype(int)
    assert moved[y - 12 : y + 12, x - 30 : x + 30].any()
    assert not moved[:10].any()
    assert not moved[-10:].any()
    bench = live.view.bench
    gap = bench.places.panels["colours"][0] * bench.scale
    assert not moved[:, int(gap) - 13 : int(gap) - 8].any()  # between the scene and the panels


def test_full_screen_is_left_by_escape(live):
    live.key("F11")
    live.until(lambda: live.window.full_screen)
    live.key("Escape")
    live.until(lambda: not live.window.full_screen)
    assert not live.window.closed


def test_a_second_window_does_not_lie_exactly_over_the_first(live):
    second = Window(lambda size: LiveView(scene(2), size, playing=False), "second", (400, 300)).show()
    third = Window(lambda size: LiveView(scene(3), size, playing=False), "third", (400, 300)).show()
    live.spin(0.1)
    assert len({live.window.place, second.place, third.place}) == 3
    second.close()
    third.close()


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


def test_weights_dropped_on_the_window_are_loaded(live, tmp_path):
    other = scene(7).run
    other.step(12)
    other.save(tmp_path / "w.safetensors")
    assert live.window.canvas.native.acceptDrops()
    assert drop(live.window.canvas.native, tmp_path / "w.safetensors")
    live.until(lambda: live.view._shown.step == 12)
    assert live.view.notice() == "w.safetensors: weights of step 12"
    assert np.array_equal(live.view.run.values, other.values)
    assert not drop(live.window.canvas.native)  # no files: not ours


def test_a_file_is_chosen_in_a_dialogue_while_training_goes_on(live, tmp_path):
    from PySide6.QtWidgets import QFileDialog, QLineEdit

    scene(7).run.save(tmp_path / "w.safetensors")
    live.view.playback.play()
    live.key("ctrl+o")
    (dialogue,) = live.window.canvas.native.findChildren(QFileDialog)
    steps = live.view.run.steps
    live.until(lambda: live.view.run.steps > steps + 3)
    dialogue.findChild(QLineEdit).setText(str(tmp_path / "w.safetensors"))
    dialogue.accept()
    live.until(lambda: live.view.notice() == "w.safetensors: weights of step 0")


def test_a_resting_window_draws_nothing(live):
    live.spin(1.0)
    drawn = []
    live.window.canvas.events.draw.connect(lambda event: drawn.append(1))
    live.spin(0.7)
    assert not drawn


def test_a_hidden_window_trains_and_draws_nothing(live, monkeypatch):
    live.view.playback.play()
    live.until(lambda: live.view.run.steps > 2)
    live.window.canvas.native.hide()
    live.spin(0.1)
    updates = []
    monkeypatch.setattr(live.view.bench, "update", lambda *args: updates.append(1))
    reached = live.view.run.steps
    live.until(lambda: live.view.run.steps > reached + 5)
    assert not updates


def test_hover_and_click_show_a_weight(live):
    live.view.step(3)
    live.view.worker.settle()
    plain = live.picture()
    live.point(*live.top_of(4))
    hovered = live.picture()
    assert (np.abs(hovered - plain).max(axis=2) > 30).any()
    live.xdo("click", 1)
    live.until(lambda: live.view.bench.selected == 4)
    live.key("Escape")
    live.until(lambda: live.view.bench.selected is None)
    assert not live.window.closed


def test_shift_and_the_wheel_over_a_cube_change_it_and_training_heals_it(live):
    view = live.view
    before = float(view.run.values[0])
    live.point(*live.top_of(0))
    live.xdo("keydown", "shift")
    for _ in range(6):
        live.xdo("click", 4)  # the wheel, one notch up
    live.spin(0.1)
    live.xdo("keyup", "shift")
    live.until(lambda: view.run.values[0] > before + 0.1)
    live.until(lambda: view._shown.values[0] == view.run.values[0])
    scrolled = float(view.run.values[0])
    loss = view.run.evaluate(X, 1 - X)
    view.step(300)
    view.worker.settle()
    assert float(view.run.values[0]) < scrolled
    assert view.run.evaluate(X, 1 - X) < loss


def test_the_wheel_on_its_side_changes_a_weight_too_with_shift_and_nothing_without(live):
    view = live.view
    before = view.run.values.copy()
    live.point(*live.top_of(0))
    camera = view.bench.camera
    live.xdo("click", 6)  # a wheel on its side
    live.spin(0.1)
    assert np.array_equal(view.run.values, before)
    assert view.bench.camera is camera
    live.xdo("keydown", "shift")
    live.xdo("click", 6)
    live.spin(0.1)
    live.xdo("keyup", "shift")
    live.until(lambda: view.run.values[0] != before[0])
    assert np.array_equal(view.run.values[1:], before[1:])


def test_dragging_the_number_of_a_clicked_cube_changes_it(live):
    view = live.view
    live.point(*live.top_of(4))
    live.xdo("click", 1)
    live.until(lambda: view.bench.selected == 4 and view.bench.touch.inspector.number is not None)
    x, y, width, height = np.array(view.bench.touch.inspector.number) * view.bench.scale
    before = view.run.values.copy()
    live.point(x + width / 2, y + height / 2)
    live.xdo("mousedown", 1)
    for way in (10, 30, 60):
        live.point(x + width / 2 + way, y + height / 2)
    live.until(lambda: view._shown.values[4] > before[4] + 0.05)
    shown = live.picture()
    live.xdo("mouseup", 1)
    live.until(lambda: view.pointer.grip is None)
    assert np.array_equal(np.delete(view.run.values, 4), np.delete(before, 4))
    assert len(view.run.log) == 1
    assert view.bench.selected == 4
    assert shown[int(y) : int(y + height), int(x) : int(x + width)].max() > 150


@pytest.mark.parametrize("over_a_cube", [True, False])
def test_the_wheel_zooms_to_the_pointer_and_touches_no_weight(live, over_a_cube):
    view, before = live.view, live.view.run.values.copy()
    at = live.top_of(4) if over_a_cube else np.array([200.0, 480.0])
    live.point(*at)
    scale = view.bench.camera.scale
    for _ in range(3):
        live.xdo("click", 4)
    live.until(lambda: view.bench.camera.scale == pytest.approx(scale * 1.15**3))
    if over_a_cube:
        assert live.top_of(4) == pytest.approx(at, abs=1.5)
    for _ in range(3):
        live.xdo("click", 5)
    live.until(lambda: view.bench.camera.scale == pytest.approx(scale))
    assert np.array_equal(view.run.values, before)
    assert view.worker.log == []


def test_a_drag_turns_the_camera_and_f_fits_it(live):
    azimuth = live.view.bench.camera.azimuth
    live.point(700, 300)
    live.xdo("mousedown", 1)
    live.spin(0.05)
    for x in range(720, 800, 20):
        live.point(x, 300)
    live.xdo("mouseup", 1)
    live.spin(0.1)
    assert live.view.bench.camera.azimuth != azimuth
    assert live.view.bench.selected is None
    live.key("f")
    live.until(lambda: live.view.bench.camera.azimuth == pytest.approx(azimuth))


def test_a_new_target_for_one_colour_is_learnt(live):
    view = live.view
    source, target = (1.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    cube = view.bench.side.drawer(ColourCube)
    cube.retarget(source, target)
    live.until(lambda: view.run.steps > 40)
    for _ in range(4):
        view.send("faster")
    live.until(lambda: not view.playback.running)
    assert view.run.steps == 500  # the stated number
    live.key("space")
    live.until(lambda: view.run.steps >= 3000, 20)
    view.playback.pause()
    untouched = scene().run
    untouched.step(view.worker.settle().step)
    assert view.run.predict([source])[0, 0] > untouched.predict([source])[0, 0] + 0.03  # red keeps more of its red
    assert cube.targets[np.argmin(np.abs(cube.inputs - source).sum(axis=1))] == pytest.approx(target)


def disc(live, which, place):
    """Logical pixel and input colour of one of the discs that no other covers there."""
    cube = live.view.bench.side.drawer(ColourCube)
    places = cube._cubes[which]
    seen = [k for k, (x, y) in enumerate(places.centres) if places.disc_at(float(x), float(y)) == k]
    return places.centres[seen[place]] * live.view.bench.scale, cube.inputs[places.visible[seen[place]]]


def test_a_click_chooses_a_colour_and_two_with_shift_teach_it(live):
    view = live.view
    near, colour = disc(live, "source", -1)
    far, other = disc(live, "target", 0)
    live.point(*near)
    live.xdo("click", 1)
    live.until(lambda: np.array_equal(view.bench.subject.probe, colour))
    assert view.run.log == []
    live.xdo("keydown", "shift", "click", 1, "keyup", "shift")
    live.until(lambda: view.bench.side.drawer(ColourCube).marked == tuple(colour))
    live.point(*far)
    live.xdo("keydown", "shift", "click", 1, "keyup", "shift")
    live.until(lambda: len(view.worker.log) == 1)
    live.until(lambda: np.allclose(view.bench.subject.target, 1 - other))
    assert view.playback.running


def test_the_swatch_answers(live):
    view = live.view
    x, y, width, height = view.bench.swatch.box
    live.point((x + width / 2) * view.bench.scale, (y + height / 2) * view.bench.scale)
    live.xdo("click", 1)
    live.until(lambda: np.allclose(view.bench.subject.probe, sample(view.run, 0)[0]))
    assert view.run.log == []


def test_the_window_and_offscreen_draw_the_same_picture(live):
    view = live.view
    window = live.picture()
    from scalarviz.view.workbench import Workbench

    with offscreen():
        bench = Workbench(view.scene, view.bench.size, keys=bottom_line(Here(view.bench.subject)))
        bench.side.ground.ahead = view.bench.side.ground.ahead
        bench.update(view._shown, view.pace_text())
    picture = offscreen().render(bench.draw, view.bench.size).astype(int)
    assert np.abs(window - picture).max(axis=2).mean() < 0.1
    assert (np.abs(window - picture).max(axis=2) > 12).mean() < 0.002
    again = live.picture()  # and the window's context is alive after somebody drew offscreen
    assert np.array_equal(window, again)


@pytest.mark.parametrize("size", [(300, 200), (40, 30), (900, 900), (1400, 500)])
def test_any_size_is_drawn_or_blank_but_never_an_error(live, size):
    live.window.canvas.size = size
    live.spin(0.3)
    picture = live.picture()
    width, height = live.window.canvas.physical_size
    assert picture.shape[:2] == (height, width)
    live.window.canvas.size = (1280, 720)
    live.until(lambda: tuple(live.window.canvas.physical_size) == (1280, 720))
    live.spin(0.2)
    assert len(np.unique(live.picture().reshape(-1, 3), axis=0)) > 100


def test_a_diverged_run_pauses_and_says_where(live):
    live.view.worker.edit(lambda run: run.set_weights(0, [np.inf]), "infinite")
    live.view.step(50)
    live.until(lambda: live.view.bench.message != "")
    assert "diverged at step" in live.view.bench.message
    assert not live.view.playback.running
    live.picture()  # and it can be drawn
    assert np.isnan(live.view.run.values).any() or np.isinf(live.view.run.values).any()


def test_drawn_and_undrawn_runs_end_in_the_same_bits(live):
    live.view.playback.play()
    live.until(lambda: live.view.run.steps > 30)
    live.view.playback.pause()
    steps = live.view.worker.settle().step
    undrawn = scene().run
    undrawn.step(steps)
    assert undrawn.values.tobytes() == live.view.run.values.tobytes()


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


# ---- show


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


def test_one_weights_step_alone_repaints(screen):
    w = sv.Weight(-1.0, name="w")
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


def test_two_windows_of_two_runs_at_once(screen):
    first, second = scene(1), scene(5)
    windows = [Window(lambda size, s=s: LiveView(s, size), s.name, (400, 300)).show() for s in (first, second)]
    driver = Driver(windows[0])
    driver.until(lambda: first.run.steps > 10 and second.run.steps > 10)
    windows[0].close()
    reached = second.run.steps
    driver.until(lambda: second.run.steps > reached)
    windows[1].close()


def test_a_run_stepped_by_hand_is_followed(screen):
    made = scene()
    with show(made, block=False, size=(640, 400)) as handle:
        made.run.step(7)
        handle.update()
        assert handle.viewer._shown.step == 7
        handle.viewer.put(0, 0.5)
        handle.update()
        assert handle.viewer._shown.values[0] == made.run.values[0]


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


@pytest.mark.parametrize("thing", [None, 3, "weights", [1, 2], object()])
def test_show_refuses_the_rest(screen, thing):
    with pytest.raises(TypeError, match="allowed: a Scene, a Run, a Module"):
        subject_of(thing)
