"""A picture that a network paints: at which pixels, how near it is said to be, and where the three pictures stand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run import Scene
from scalarviz.run.panels import LossCurve, Painting, psnr
from scalarviz.view.ink.places import COLUMN
from scalarviz.view.panels import painting as easels
from scalarviz.view.panels.painting import FILM, STILL, Easel, easel_boxes, easel_height
from scalarviz.view.workbench import Workbench

RNG = np.random.default_rng(8)
WANTED = RNG.random((30, 40, 3)).astype(np.float32)


def exact(places):
    """A network that has learnt `WANTED` by heart."""
    rows, columns = (places[:, 1] * 30).astype(int), (places[:, 0] * 40).astype(int)
    return WANTED[rows, columns]


@pytest.mark.parametrize(("seconds", "longest"), [(None, STILL), (1 / 30, FILM)])
def test_films_and_stills_are_always_painted_at_the_same_pixels(seconds, longest):
    big = np.zeros((900, 1200, 3), np.float32)
    for _ in range(2):
        made = Easel(live=False).paint(1, seconds, big, lambda places: np.zeros((len(places), 3)))
        assert len(made.columns) == longest
        assert abs(len(made.rows) / longest - 0.75) < 0.01
    assert not made.whole


def test_pixels_are_those_of_the_picture():
    easel = Easel(live=True)
    made = easel.paint(1, 0.1, np.tile(WANTED, (4, 4, 1)), lambda places: exact(places * 4 % 1))
    assert made.psnr > 100
    assert not made.whole
    assert easel.unfinished
    assert len(np.unique(made.rows)) == len(made.rows) < 120


def test_at_rest_all_pixels_are_painted_and_a_new_frame_begins_anew(monkeypatch):
    monkeypatch.setattr(easels, "LADDER", (8, 12))
    monkeypatch.setattr(easels, "_BEGIN", 0)
    easel, asked = Easel(live=True), []

    def predict(places):
        asked.append(len(places))
        return exact(places)

    assert not easel.paint("one", 0.02, WANTED, predict).whole
    for _ in range(200):
        made = easel.paint("one", 0.02, WANTED, predict)
        if made.whole:
            break
    assert made.whole
    assert made.psnr == math.inf
    np.testing.assert_array_equal(made.colours, WANTED)
    assert sum(asked[1:]) == 1200
    assert not easel.unfinished
    count = len(asked)
    assert easel.paint("one", 0.02, WANTED, predict) is made
    assert len(asked) == count
    assert not easel.paint("two", 0.02, WANTED, predict).whole
    assert not easel.paint("two", 0.02, WANTED.copy(), predict).whole


@pytest.mark.parametrize(("cost", "way"), [(1e-3, -1), (1e-9, 1)])
def test_a_dear_network_is_painted_at_fewer_pixels_a_quick_one_at_more(monkeypatch, cost, way):
    clock = [0.0]
    monkeypatch.setattr(easels.time, "perf_counter", lambda: clock[0])
    easel, big = Easel(live=True), np.zeros((500, 500, 3), np.float32)

    def predict(places):
        clock[0] += cost * len(places)
        return np.zeros((len(places), 3))

    sizes = [len(easel.paint(k, 0.03, big, predict).rows) for k in range(20)]
    assert (np.sign(np.diff(sizes)) * way >= 0).all()
    assert sizes[-1] == (easels.LADDER[0] if way < 0 else easels.LADDER[-1])


def test_the_ratio_is_the_definition():
    ours, theirs = RNG.random((2, 5, 4, 3))
    assert psnr(ours, theirs) == pytest.approx(10 * math.log10(1 / ((ours - theirs) ** 2).mean()))
    assert psnr(ours, ours) == math.inf
    assert math.isnan(psnr(ours * math.nan, theirs))
    for bad in (ours[:2], np.zeros((0, 3))):
        with pytest.raises(InputError, match="psnr"):
            psnr(bad, theirs)


@given(st.floats(0.05, 20), st.floats(80, 700))
def test_pictures_stand_apart_and_inside(aspect, high):
    box = (10.0, 20.0, float(COLUMN), min(high, easel_height(aspect)))
    places = easel_boxes(box, aspect)
    for k, (x, y, wide, tall) in enumerate(places):
        assert x >= 10
        assert y >= 20 + 20
        assert x + wide <= 10 + COLUMN + 1
        assert min(wide, tall) >= 1
        if min(wide, tall) > 20:
            assert wide / tall == pytest.approx(aspect, rel=0.06)
        for u, v, wider, taller in places[:k]:
            assert x >= u + wider or y >= v + taller or u >= x + wide or v >= y + tall
    if high >= easel_height(aspect) and 0.3 < aspect < 5:
        assert max(y + tall for _, y, _, tall in places) <= 20 + box[3] + 2


@pytest.mark.parametrize("fields", [
    {"wanted": 3}, {"size": 3}, {"size": (0, 4)}, {"gain": 0}, {"gain": math.nan}, {"gain": "x"}, {"other": 1},
    {"place": "left"},
])  # fmt: skip
def test_panels_that_cannot_be(fields):
    with pytest.raises((InputError, TypeMismatchError), match="Painting"):
        Painting(**{"wanted": lambda moment: WANTED, "size": (30, 40), **fields})


def scene_of(other=None):
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid())
    net.initialize(seed=1)
    y, x = np.mgrid[:30, :40]
    data = np.stack([(x + 0.5).ravel() / 40, (y + 0.5).ravel() / 30], axis=1), WANTED.reshape(-1, 3)
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data=data, batch_size=64, engine="numpy")
    panel = Painting(lambda moment: WANTED, (30, 40), other=other)
    return Scene("painting", run, input_names=("x", "y"), panels=(panel, LossCurve()))


@pytest.fixture
def bench():
    scene = scene_of()
    scene.run.step(5)
    made = Workbench(scene, (1280, 720))
    made.update(made.subject.frame())
    return made


def test_network_target_and_ten_times_the_error_are_drawn_and_how_near_it_is(bench):
    y, x = np.mgrid[:30, :40]
    places = np.stack([(x + 0.5).ravel() / 40, (y + 0.5).ravel() / 30], axis=1)
    made = bench.subject.source.run.predict(places).reshape(30, 40, 3)
    shown = np.clip(made, 0, 1), WANTED, np.clip(0.5 + 10 * (made - WANTED), 0, 1)
    (sketch,) = bench.side.drawn("painting")
    boxes = easel_boxes(bench.places.panels["painting"], 4 / 3)
    for item, box, pixels in zip(sketch.images, boxes, shown, strict=True):
        assert item.rect == box
        np.testing.assert_allclose(item.pixels / 255, pixels, atol=0.005)
    wanted = f"{10 * math.log10(1 / ((made - WANTED) ** 2).mean()):.1f} dB"
    assert bench.side.drawers["painting"].headline.value == wanted
    assert {wanted, "all 1,200 pixels"} <= {item.text for sketch in bench.sketches for item in sketch.texts}


def test_a_click_on_a_pixel_shows_its_way(bench):
    drawer = bench.side.drawers["painting"]
    bench.side.ground.hints = True
    x, y, wide, tall = easel_boxes(drawer.box, 4 / 3)[1]
    at = x + wide * 0.51, y + tall * 0.26
    assert drawer.under(at) == (7, 20)
    assert drawer.under((x - 50, y)) is None
    bench.hover(at)
    said = [item.text for sketch in bench.side.label(bench.subject.frame(), (1280, 720)) for item in sketch.texts]
    assert any("row 7, column 20" in text for text in said)
    assert drawer.click(at)
    np.testing.assert_allclose(bench.subject.probe, [20.5 / 40, 7.5 / 30], atol=1e-6)
    np.testing.assert_allclose(bench.subject.target, WANTED[7, 20], atol=1e-6)


def test_looking_changes_no_bit_of_the_run(bench):
    run, twin = bench.subject.source.run, scene_of().run
    twin.step(5)
    for _ in range(6):
        run.step(3)
        bench.update(bench.subject.frame(), "", 0.03)
        twin.step(3)
    np.testing.assert_array_equal(run.values, twin.values)
