"""A viewer asks its host, whichever it is; files that come in go where they belong, or say why not."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.io import save_picture
from scalarviz.run.panels import DigitPad, Pictures
from scalarviz.run.scene.scene import Scene
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((16, 3))


def run(inputs=3, outputs=3, seed=1):
    net = nn.Sequential(nn.Linear(inputs, outputs, seed=seed), nn.Sigmoid())
    data = np.random.default_rng(0).random((16, inputs))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (data, np.zeros((16, outputs))), engine="numpy")


def reader():
    """A network over 8 x 8 pixels that reads ten classes."""
    net = nn.Sequential(nn.Linear(64, 10, seed=1))
    data = np.random.default_rng(0).random((16, 64)), np.arange(16)[:, None] % 10
    return Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.5), data, engine="numpy")


def hosted(scene, **options):
    host = Unseen(lambda size: LiveView(scene, size, playing=False, **options))
    host.pass_time()
    return host


@pytest.fixture
def host():
    photo = np.full((20, 30, 3), 0.25)
    made = hosted(Scene("t", run(), panels=(Pictures(photo, 1 - photo, target_of=lambda picture: 1 - picture),)))
    yield made
    made.close_soon()


# ---- what a viewer asks


def test_a_viewer_without_a_host_says_what_it_cannot_do():
    with offscreen():
        view = LiveView(Scene("t", run()), (1280, 720), playing=False)
        view.tick(0.0)
        for key, name in (("S", "s"), ("F11", "F11")):
            view.key(name)
            assert view.notice() == f"{key}: there is no window"
        view.say("")
        view.key("Escape")
        view.key("Escape")
        assert view.notice() == ""
        view.close()


def test_screenshot_full_screen_and_close_are_the_hosts(host):
    host.view.key("s")
    assert [shot.shape for shot in host.shots] == [(720, 1280, 3)]
    host.view.key("F11")
    assert host.full_screen
    host.view.key("Escape")  # closes what is open
    assert not host.full_screen
    assert not host.closed
    host.view.key("q", ctrl=True)
    assert host.closed
    host.view.run.step(1)  # the run is free again


def test_a_host_is_asked_to_paint_when_something_changed_and_only_then(host):
    for _ in range(5):
        host.pass_time(1.0)
    resting = host.drawings
    for _ in range(5):
        host.pass_time(1.0)
    assert host.drawings == resting
    host.view.key("l")
    host.pass_time()
    assert host.drawings > resting


def test_what_nobody_sees_goes_on_undrawn(host):
    host.visible = False
    host.view.key("Space")
    drawn = host.drawings
    for _ in range(400):
        host.pass_time()
        if host.view.run.steps > 3:
            break
    host.view.worker.settle()
    assert host.view.run.steps > 0
    assert host.drawings == drawn


@pytest.mark.parametrize(("ratio", "turns"), [(1.0, True), (2.0, False)])
def test_how_far_a_drag_has_to_go_is_counted_in_the_pointers_pixels(host, ratio, turns):
    host.pixel_ratio = ratio
    before = host.view.bench.camera.azimuth
    with offscreen():
        host.view.press((500.0, 300.0))
        host.view.move((506.0, 300.0))
        host.view.release((506.0, 300.0))
    assert (host.view.bench.camera.azimuth != before) == turns


# ---- files


def picture_file(folder, shade=0.75, size=(8, 12)):
    path = folder / "mine.png"
    save_picture(path, np.full((*size, 3), shade))
    return path


def open_by(way, host, path):
    if way == "dropped":
        host.view.open([path])
    else:
        host.view.key("o", ctrl=True)
        ((title, then),) = host.asked
        assert title == "Open a picture or weights"
        then(path)
    host.pass_time()


@pytest.mark.parametrize("way", ["dropped", "chosen"])
def test_a_picture_is_shown_before_and_after(host, tmp_path, way):
    before = host.picture().astype(int)
    open_by(way, host, picture_file(tmp_path))
    assert host.view.notice() == "mine.png: shown before and after"
    after = host.picture()
    x, y, width, _ = (int(n) for n in host.view.bench.places.panels["pictures"])
    cell = after[y + 40, x + width // 6], after[y + 40, x + 5 * width // 6]
    assert np.abs(cell[0].astype(int) - 191).max() <= 1
    assert np.abs(cell[1].astype(int) - 64).max() <= 1
    assert np.abs(after.astype(int) - before).max() > 50


@pytest.mark.parametrize("way", ["dropped", "chosen"])
def test_weights_are_loaded_with_their_step(host, tmp_path, way):
    other = run(seed=9)
    other.step(25)
    other.save(tmp_path / "w.safetensors")
    open_by(way, host, tmp_path / "w.safetensors")
    assert host.view.notice() == "w.safetensors: weights of step 25"
    assert host.view.worker.settle().step == 25
    assert np.array_equal(host.view.run.values, other.values)
    host.view.key("Space")
    for _ in range(400):
        host.pass_time()
        if host.view.run.steps > 27:
            break
    assert host.view.run.steps > 25


def test_weights_of_another_network_change_nothing_and_say_so(host, tmp_path):
    run(outputs=4).save(tmp_path / "w.safetensors")
    before = host.view.run.values.copy()
    host.view.open([tmp_path / "w.safetensors"])
    assert "w.safetensors" in host.view.notice()
    assert "0.weight" in host.view.notice()
    assert np.array_equal(host.view.run.values, before)


def test_what_is_neither_is_refused_in_a_line(host, tmp_path):
    (tmp_path / "notes.doc").write_text("words")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n....")
    host.view.open([tmp_path / "notes.doc"])
    said = "notes.doc is neither a picture nor a table (.csv, .tsv, .txt) nor weights (.safetensors)"
    assert host.view.notice() == said
    host.view.open([tmp_path / "broken.png"])
    assert "broken.png" in host.view.notice()
    host.view.open([tmp_path / "gone.png"])
    assert "gone.png" in host.view.notice()


def test_a_scene_that_shows_no_pictures_says_so(tmp_path):
    host = hosted(Scene("t", run()))
    host.view.open([picture_file(tmp_path)])
    assert host.view.notice() == "mine.png: nothing here shows a picture of yours"
    host.close_soon()
    photo = np.zeros((4, 4, 3))
    host = hosted(Scene("t", run(), panels=(Pictures(photo, photo),)))
    host.view.open([picture_file(tmp_path)])
    assert host.view.notice() == "mine.png: what it is to become is not known here"
    host.close_soon()


@pytest.mark.parametrize("inverted", [False, True])
def test_a_picture_of_a_digit_is_read_as_ink_on_paper(tmp_path, inverted):
    host = hosted(Scene("t", reader(), probe=np.zeros(64), probe_target=np.array([3.0]), panels=(DigitPad((8, 8)),)))
    ink = np.zeros((80, 80))
    ink[10:70, 30:50] = 1.0
    save_picture(tmp_path / "one.png", np.repeat((ink if inverted else 1 - ink)[:, :, None], 3, axis=2))
    host.view.open([tmp_path / "one.png"])
    host.pass_time()
    blocks = ink.reshape(8, 10, 8, 10).mean(axis=(1, 3))
    assert np.allclose(host.view.bench.subject.probe.reshape(8, 8), blocks / blocks.max(), atol=1e-6)
    assert host.view.frame().activations["input"] == pytest.approx(host.view.bench.subject.probe)
    host.close_soon()


@pytest.mark.parametrize("size", [(37, 91), (5, 3), (8, 8)])
def test_a_picture_of_any_size_keeps_its_shape_and_its_ink(tmp_path, size):
    host = hosted(Scene("t", reader(), probe=np.zeros(64), probe_target=np.array([3.0]), panels=(DigitPad((8, 8)),)))
    picture = np.ones((*size, 3))
    picture[size[0] // 4 : -(size[0] // 4) or None, size[1] // 4 : -(size[1] // 4) or None] = 0.25
    save_picture(tmp_path / "p.png", picture)
    host.view.open([tmp_path / "p.png"])
    sheet = host.view.bench.subject.probe.reshape(8, 8)
    assert sheet.max() == pytest.approx(1.0)
    assert sheet.min() >= 0.0
    assert np.allclose(sheet, sheet[::-1, ::-1], atol=0.35)  # it lies in the middle
    host.close_soon()


def test_nothing_can_be_opened_where_there_is_no_network():
    host = Unseen(lambda size: Mirror(subject_of(sv.Weight(1.0)), size))
    host.pass_time()
    host.view.key("o", ctrl=True)
    assert host.asked == []
    assert host.view.notice() == "Ctrl+O: no picture and no weights can be opened here"
    host.close_soon()
