"""Pictures that are larger than a framebuffer: drawn in tiles, without a seam."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import InputError
from scalarviz.run import Scene
from scalarviz.run.panels import LossCurve, Table
from scalarviz.view.out import offscreen as module
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.render import render

X = np.random.default_rng(0).random((32, 3))


@pytest.fixture
def small_tiles(monkeypatch):
    """As if a framebuffer held 300 pixels."""

    def use():
        monkeypatch.setattr(module, "FRAMEBUFFER", 300)
        monkeypatch.setattr(module, "TILE", 260)

    return use


def scene_of():
    net = nn.Sequential(nn.Linear(3, 40, seed=1), nn.Tanh(), nn.Linear(40, 3, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, 1 - X), engine="numpy")
    return Scene("tiled", run, panels=(Table("a table", [("one", "two")]), LossCurve()))


@pytest.mark.parametrize("supersample", [1, 2])
@pytest.mark.parametrize("size", [(1280, 720), (641, 363), (360, 641)])
def test_tiles_make_the_picture_of_one_piece(small_tiles, size, supersample):
    scene = scene_of()
    scene.run.step(3)
    scene.run.set_weights(4, [np.nan])  # a mark that is painted by the pixel
    whole = render(scene, size, supersample=supersample).astype(int)
    small_tiles()
    tiled = render(scene, size, supersample=supersample).astype(int)
    away = np.abs(whole - tiled).max(axis=2)
    if size[1] % 20 == 0:  # else the patterns of marks begin at another pixel, for the whole picture
        assert away.max() <= 2  # the noise that smooths the background
    assert (away > 2).mean() < 0.02
    for seam in range(260 // supersample, min(size), 260 // supersample):
        for lines in (away[seam - 1 : seam + 1], away[:, seam - 1 : seam + 1]):
            assert (lines > 2).mean() < 0.03


def test_every_tile_is_asked_for_once_and_together_they_cover_the_picture(small_tiles):
    small_tiles()
    from vispy import gloo

    seen = []

    def draw(viewport):
        seen.append(viewport)
        gloo.set_scissor(0, 0, 260, 260)
        gloo.clear(color=(len(seen) / 255, 0, 0, 1))

    picture = offscreen().render(draw, (600, 301))
    assert len(seen) == 3 * 2
    assert all(view[2:] == (600, 301) for view in seen)
    assert picture.shape == (301, 600, 3)
    assert [picture[y, x, 0] for y in (0, 299) for x in (0, 300, 599)] == [1, 2, 3, 4, 5, 6]


def test_what_no_viewport_holds_is_refused(monkeypatch):
    monkeypatch.setattr(module.Offscreen, "longest", 1000)
    with pytest.raises(InputError, match="must be 1 to 1000 pixels a side"):
        offscreen().render(lambda viewport: None, (600, 20), supersample=2)


@pytest.mark.ci
def test_a_very_large_picture_is_the_small_one_enlarged():
    scene = scene_of()
    scene.run.step(3)
    large, small = render(scene, (7680, 4320), supersample=2), render(scene, (1280, 720), supersample=4)
    shrunk = large.reshape(720, 6, 1280, 6, 3).mean(axis=(1, 3))
    assert np.abs(shrunk - small).mean() < 1
    assert (np.abs(shrunk - small).max(axis=2) > 40).mean() < 0.01
