"""Drawing without a window: pictures of the size asked for, in tiles if they are large, from any thread."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from vispy import gloo

import scalarviz as sv
from kit.benches import rgb
from scalarviz.errors import InputError
from scalarviz.view.out import offscreen as module
from scalarviz.view.out.offscreen import MAX_SIDE, render, shrink

pytestmark = pytest.mark.gl


def quarter(_):
    """Paint the upper left quarter red."""
    program = gloo.Program(
        "attribute vec2 p; void main() { gl_Position = vec4(p, 0.0, 1.0); }",
        "void main() { gl_FragColor = vec4(1.0, 0.0, 0.0, 1.0); }",
    )
    program["p"] = np.array([[-1, 0], [0, 0], [-1, 1], [0, 1]], np.float32)
    gloo.set_state(depth_test=False, cull_face=False, blend=False)
    program.draw("triangle_strip")


def test_a_picture_has_its_size_a_black_ground_and_its_top_on_top_and_a_finer_one_is_averaged(monkeypatch):
    image = render(quarter, (40, 30))
    assert (image.shape, image.dtype, image.flags.c_contiguous) == ((30, 40, 3), np.uint8, True)
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert not image[15:].any()
    assert not image[:, 20:].any()
    asked = []
    image = render(lambda size: (asked.append(size), quarter(size)), (41, 31), supersample=2)
    assert asked == [(82, 62)]
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert (image[15, :20] == [128, 0, 0]).all(), "half of the row in the middle is painted"
    noise = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)
    blocks = noise.reshape(2, 3, 3, 3, 3).astype(float).mean(axis=(1, 3))
    assert np.abs(shrink(noise, 3) - blocks).max() <= 0.5
    for size in ((0, 5), (5, -1), (MAX_SIDE + 1, 5)):
        with pytest.raises(InputError, match="picture size"):
            render(quarter, size)
    monkeypatch.setattr(module.Offscreen, "longest", 1000)
    with pytest.raises(InputError, match="must be 1 to 1000 pixels a side"):
        render(quarter, (600, 20), supersample=2)


FORKED = """
import os, sys
from scalarviz.view.out.offscreen import available, render
print(render(lambda viewport: None, (3, 2)).shape, flush=True)
child = os.fork()
if not child: os._exit(0 if 'spawn' in available() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or bool(available()))
"""


def test_a_fresh_process_needs_no_display_and_no_settings_and_its_forked_child_says_that_it_cannot_draw(tmp_path):
    """It would wait for the parent's threads for ever."""
    environment, command = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, [sys.executable, "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "(2, 3, 3)"), done.stderr


def test_threads_that_draw_at_once_draw_what_one_draws_also_after_an_error():
    def draw(size):
        return [sv.render({"w": np.linspace(-1, 1, 12).reshape(3, 4)}, size) for _ in range(3)]

    with pytest.raises(ZeroDivisionError):
        render(lambda _: 1 // 0, (160, 160))  # the turn is given back
    sizes = (240, 200), (200, 240), (160, 160)
    alone = [draw(size) for size in sizes]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(draw, sizes, timeout=60))
    assert all(np.array_equal(found, wanted) for found, wanted in zip(together, alone, strict=True))


# ---- tiles


@pytest.mark.parametrize(("size", "supersample"), [((1280, 720), 1), ((641, 363), 2), ((360, 641), 1)])
def test_tiles_make_the_picture_of_one_piece(monkeypatch, size, supersample):
    scene = rgb(40, steps=3)
    scene.run.set_weights(4, [np.nan])  # a mark that is painted by the pixel
    whole = sv.render(scene, size, supersample=supersample).astype(int)
    monkeypatch.setattr(module, "FRAMEBUFFER", 300)
    monkeypatch.setattr(module, "TILE", 260)
    away = np.abs(whole - sv.render(scene, size, supersample=supersample)).max(axis=2)
    if size[1] % 20 == 0:  # else the patterns of marks begin at another pixel, for the whole picture
        assert away.max() <= 2  # the noise that smooths the background
    assert (away > 2).mean() < 0.02
    for seam in range(260 // supersample, min(size), 260 // supersample):
        for lines in (away[seam - 1 : seam + 1], away[:, seam - 1 : seam + 1]):
            assert (lines > 2).mean() < 0.03
