import os
import subprocess
import sys

import numpy as np
import pytest
from vispy import gloo

from scalarviz.errors import InputError, MissingDependencyError
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


def test_a_picture_has_its_size_its_background_and_its_top_on_top():
    image = render(quarter, (40, 30), background=(0.2, 0.4, 0.6))
    assert image.shape == (30, 40, 3)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert (image[15:] == [51, 102, 153]).all()
    assert (image[:, 20:] == [51, 102, 153]).all()


def test_supersampling_asks_for_a_finer_picture_and_averages_it():
    asked = []

    def draw(size):
        asked.append(size)
        quarter(size)

    image = render(draw, (41, 31), supersample=2)
    assert asked == [(82, 62)]
    assert image.shape == (31, 41, 3)
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert (image[15, :20] == [128, 0, 0]).all(), "half of the row in the middle is painted"


def test_shrinking_is_the_mean_of_blocks():
    image = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)
    blocks = image.reshape(2, 3, 3, 3, 3).astype(float).mean(axis=(1, 3))
    assert np.abs(shrink(image, 3) - blocks).max() <= 0.5


def test_one_context_serves_all_and_pictures_do_not_mix():
    assert offscreen() is offscreen()
    sizes = [(8, 8), (16, 4), (8, 8), (5, 7)]
    for number, size in enumerate(sizes):
        grey = number / 4
        image = render(nothing, size, background=(grey,) * 3)
        assert image.shape == (size[1], size[0], 3)
        assert (image == round(grey * 255)).all()
    assert available() == ""


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (MAX_SIDE + 1, 5)])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(InputError, match="picture size"):
        render(nothing, size)


def test_without_any_backend_one_line_says_what_to_install(monkeypatch):
    def refuse(backend):
        raise OSError(f"cannot load {backend}\nmore")

    monkeypatch.setattr(module, "_open", refuse)
    monkeypatch.setattr(module, "_shared", None)
    with pytest.raises(MissingDependencyError) as caught:
        offscreen()
    message = str(caught.value)
    assert "libegl1" in message
    assert "PySide6" in message
    assert "cannot load egl" in message
    assert "\n" not in message
    assert available() == message


def test_qt_is_asked_when_egl_is_missing(monkeypatch):
    tried = []

    def only_qt(backend):
        tried.append(backend)
        if backend == "egl":
            raise OSError("no EGL")
        return "canvas"

    monkeypatch.setattr(module, "_open", only_qt)
    assert module._canvas() == "canvas"
    assert tried == ["egl", "pyside6"]


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
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
