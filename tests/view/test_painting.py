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
from scalarviz.view.cubes.scale import paint as painted
from scalarviz.view.ink.places import COLUMN
from scalarviz.view.out.offscreen import offscreen
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


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"wanted": 3}, TypeMismatchError),
        ({"size": 3}, InputError),
        ({"size": (0, 4)}, InputError),
        ({"gain": 0}, InputError),
        ({"gain": math.nan}, InputError),
        ({"gain": "x"}, InputError),
        ({"other": 1}, TypeMismatchError),
        ({"place": "left"}, InputError),
    ],
)
def test_panels_that_cannot_be(fields, error):
    with pytest.raises(error):
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
    with offscreen():
        made = Workbench(scene, (1280, 720))
        made.update(made.subject.frame())
    return made


def test_what_is_drawn_is_network_target_and_ten_times_the_error_around_grey(bench):
    picture = painted(bench, (1280, 720))
    made = bench.subject.source.run.predict(
        np.stack(np.meshgrid((np.arange(40) + 0.5) / 40, (np.arange(30) + 0.5) / 30), axis=-1).reshape(-1, 2)
    ).reshape(30, 40, 3)
    shown = made, WANTED, np.clip(0.5 + 10 * (made - WANTED), 0, 1)
    for (x, y, wide, tall), pixels in zip(easel_boxes(bench.places.panels["painting"], 4 / 3), shown, strict=True):
        part = picture[round(y) : round(y) + tall, round(x) : round(x) + wide].astype(float) / 255
        rows, columns = ((np.arange(n) + 0.5) / n for n in (30, 40))
        seen = part[np.ix_((rows * tall).astype(int), (columns * wide).astype(int))]
        assert np.abs(seen - pixels).mean() < 0.06  # enlarged pixels flow into each other
        assert np.corrcoef(seen.ravel(), pixels.ravel())[0, 1] > 0.9


def test_the_hud_says_the_ratio_of_the_frame(bench):
    drawer = bench.side.drawers["painting"]
    run = bench.subject.source.run
    y, x = np.mgrid[:30, :40]
    places = np.stack([(x + 0.5).ravel() / 40, (y + 0.5).ravel() / 30], axis=1)
    wanted = f"{10 * math.log10(1 / ((run.predict(places).reshape(30, 40, 3) - WANTED) ** 2).mean()):.1f} dB"
    assert drawer.headline.value == wanted
    assert any(item.text == wanted for sketch in bench.sketches for item in sketch.texts)
    assert any(item.text == "all 1,200 pixels" for sketch in bench.sketches for item in sketch.texts)


def test_a_click_on_a_pixel_shows_its_way(bench):
    drawer = bench.side.drawers["painting"]
    bench.side.ground.hints = True
    x, y, wide, tall = easel_boxes(drawer.box, 4 / 3)[1]
    assert drawer.under((x + wide * 0.51, y + tall * 0.26)) == (7, 20)
    assert drawer.hover((x + wide * 0.51, y + tall * 0.26))
    (label,) = drawer.label(_moment(bench), (1280, 720))
    assert any("row 7, column 20" in item.text for item in label.texts)
    assert drawer.click((x + wide * 0.51, y + tall * 0.26))
    np.testing.assert_allclose(bench.subject.probe, [20.5 / 40, 7.5 / 30], atol=1e-6)
    np.testing.assert_allclose(bench.subject.target, WANTED[7, 20], atol=1e-6)
    assert drawer.under((x - 50, y)) is None


def _moment(bench):
    from scalarviz.run import Moment

    return Moment(bench.subject.frame(), bench.subject.source)


def test_looking_changes_no_bit_of_the_run():
    runs = []
    for look in (False, True):
        scene = scene_of()
        if look:
            with offscreen():
                bench = Workbench(scene, (1280, 720))
        for _ in range(6):
            scene.run.step(3)
            if look:
                with offscreen():
                    bench.update(bench.subject.frame(), "", 0.03)
        runs.append(scene.run.values.copy())
    np.testing.assert_array_equal(*runs)
