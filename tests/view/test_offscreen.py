"""Drawing without a window: pictures of the size asked for, in tiles if they are large, from any thread."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from vispy import gloo

import scalarviz as sv
from kit.commands import python
from scalarviz import nn, optim
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.run import Scene
from scalarviz.run.panels import LossCurve, Table
from scalarviz.view.out import offscreen as module
from scalarviz.view.out.offscreen import MAX_SIDE, available, offscreen, render, shrink

pytestmark = pytest.mark.gl


def nothing(_):
    pass


def quarter(_):
    """Paint the upper left quarter red."""
    program = gloo.Program(
        "attribute vec2 p; void main() { gl_Position = vec4(p, 0.0, 1.0); }",
        "void main() { gl_FragColor = vec4(1.0, 0.0, 0.0, 1.0); }",
    )
    program["p"] = np.array([[-1, 0], [0, 0], [-1, 1], [0, 1]], np.float32)
    gloo.set_state(depth_test=False, cull_face=False, blend=False)
    program.draw("triangle_strip")


def test_a_picture_has_its_size_its_background_and_its_top_on_top_and_a_finer_one_is_averaged():
    image = render(quarter, (40, 30), background=(0.2, 0.4, 0.6))
    assert (image.shape, image.dtype, image.flags.c_contiguous) == ((30, 40, 3), np.uint8, True)
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert (image[15:] == [51, 102, 153]).all()
    assert (image[:, 20:] == [51, 102, 153]).all()
    asked = []
    image = render(lambda size: (asked.append(size), quarter(size)), (41, 31), supersample=2)
    assert asked == [(82, 62)]
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert (image[15, :20] == [128, 0, 0]).all(), "half of the row in the middle is painted"
    noise = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)
    blocks = noise.reshape(2, 3, 3, 3, 3).astype(float).mean(axis=(1, 3))
    assert np.abs(shrink(noise, 3) - blocks).max() <= 0.5


def test_one_context_serves_all_and_pictures_do_not_mix(monkeypatch):
    assert offscreen() is offscreen()
    for number, size in enumerate([(8, 8), (16, 4), (8, 8), (5, 7)]):
        image = render(nothing, size, background=(number / 4,) * 3)
        assert image.shape == (size[1], size[0], 3)
        assert (image == round(number / 4 * 255)).all()
    assert available() == ""
    for size in ((0, 5), (5, -1), (MAX_SIDE + 1, 5)):
        with pytest.raises(InputError, match="picture size"):
            render(nothing, size)
    monkeypatch.setattr(module.Offscreen, "longest", 1000)
    with pytest.raises(InputError, match="must be 1 to 1000 pixels a side"):
        render(nothing, (600, 20), supersample=2)


def test_without_egl_qt_is_asked_and_without_any_backend_one_line_says_what_to_install(monkeypatch):
    tried = []

    def refuse(backend):
        tried.append(backend)
        if len(tried) == 2 and tried == ["egl", "pyside6"]:
            return "canvas"
        raise OSError(f"cannot load {backend}\nmore")

    monkeypatch.setattr(module, "_open", refuse)
    assert module._canvas() == "canvas"
    monkeypatch.setattr(module, "_shared", None)
    with pytest.raises(MissingDependencyError) as caught:
        offscreen()
    message = str(caught.value)
    assert all(words in message for words in ("libegl1", "PySide6", "cannot load egl"))
    assert "\n" not in message
    assert available() == message


def test_a_fresh_process_needs_no_display_and_no_settings(tmp_path):
    code = "from scalarviz.view.out.offscreen import render; print(render(lambda size: None, (3, 2)).shape)"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "(2, 3, 3)", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_process_that_has_drawn_says_that_it_cannot():
    """It would wait for the parent's threads for ever."""
    code = (
        "import os, sys\n"
        "from scalarviz.view.out.offscreen import available, render\n"
        "render(lambda viewport: None, (8, 8))\n"
        "child = os.fork()\n"
        "if not child: os._exit(0 if 'spawn' in available() else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or bool(available()))\n"
    )
    assert python(code).code == 0


# ---- threads


def test_threads_that_draw_at_once_draw_what_one_draws_also_after_an_error():
    def broken(_):
        raise ZeroDivisionError

    def draw(count, into):
        into += [sv.render({"w": np.linspace(-1, 1, 12).reshape(3, 4)}, (240, 200)) for _ in range(count)]

    with pytest.raises(ZeroDivisionError):
        render(broken, (160, 160))  # the turn is given back
    alone, found = [], [[] for _ in range(3)]
    draw(1, alone)
    threads = [threading.Thread(target=draw, args=(3, into)) for into in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [len(into) for into in found] == [3, 3, 3]
    draw(1, found[0])
    assert all(np.array_equal(image, alone[0]) for into in found for image in into)


# ---- tiles


@pytest.fixture
def small_tiles(monkeypatch):
    """As if a framebuffer held 300 pixels."""

    def use():
        monkeypatch.setattr(module, "FRAMEBUFFER", 300)
        monkeypatch.setattr(module, "TILE", 260)

    return use


def scene_of():
    net = nn.Sequential(nn.Linear(3, 40, seed=1), nn.Tanh(), nn.Linear(40, 3, seed=2))
    x = np.random.default_rng(0).random((32, 3))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, 1 - x), engine="numpy")
    scene = Scene("tiled", run, panels=(Table("a table", [("one", "two")]), LossCurve()))
    scene.run.step(3)
    return scene


@pytest.mark.parametrize("supersample", [1, 2])
@pytest.mark.parametrize("size", [(1280, 720), (641, 363), (360, 641)])
def test_tiles_make_the_picture_of_one_piece(small_tiles, size, supersample):
    scene = scene_of()
    scene.run.set_weights(4, [np.nan])  # a mark that is painted by the pixel
    whole = sv.render(scene, size, supersample=supersample).astype(int)
    small_tiles()
    away = np.abs(whole - sv.render(scene, size, supersample=supersample)).max(axis=2)
    if size[1] % 20 == 0:  # else the patterns of marks begin at another pixel, for the whole picture
        assert away.max() <= 2  # the noise that smooths the background
    assert (away > 2).mean() < 0.02
    for seam in range(260 // supersample, min(size), 260 // supersample):
        for lines in (away[seam - 1 : seam + 1], away[:, seam - 1 : seam + 1]):
            assert (lines > 2).mean() < 0.03


def test_every_tile_is_asked_for_once_and_together_they_cover_the_picture(small_tiles):
    small_tiles()
    seen = []

    def draw(viewport):
        seen.append(viewport)
        gloo.set_scissor(0, 0, 260, 260)
        gloo.clear(color=(len(seen) / 255, 0, 0, 1))

    picture = render(draw, (600, 301))
    assert len(seen) == 3 * 2
    assert all(view[2:] == (600, 301) for view in seen)
    assert picture.shape == (301, 600, 3)
    assert [picture[y, x, 0] for y in (0, 299) for x in (0, 300, 599)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.ci
def test_a_very_large_picture_is_the_small_one_enlarged():
    scene = scene_of()
    large, small = sv.render(scene, (7680, 4320), supersample=2), sv.render(scene, (1280, 720), supersample=4)
    shrunk = large.reshape(720, 6, 1280, 6, 3).mean(axis=(1, 3))
    assert np.abs(shrunk - small).mean() < 1
    assert (np.abs(shrunk - small).max(axis=2) > 40).mean() < 0.01
