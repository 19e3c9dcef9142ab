"""Legends against their maps, the board of digits and the sheet to draw on, and places of any panels at any size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import overlap
from scalarviz import nn, optim
from scalarviz.run.panels import DigitBoard, DigitPad
from scalarviz.view.cubes.scale import LegendScale
from scalarviz.view.ink.boxes import ABOUT, COLUMN, PRESENTER, Wanted, arrange
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import render
from scalarviz.view.panels.digits import BoardDrawer, PadDrawer
from scalarviz.view.panels.drawer import Ground
from scalarviz.view.screen.strip import bar_pixels, legend
from scalarviz.view.shown.subject import subject_of

BOX = (10.0, 20.0, 304.0, 240.0)
RNG = np.random.default_rng(2)
BOARD = DigitBoard(RNG.random((80, 64)), np.arange(80) % 10, (8, 8))


@pytest.mark.gl
@pytest.mark.parametrize("name", ["weight", "gradient", "grey", "viridis"])
def test_the_legend_has_the_colours_of_the_map_and_a_mark_above_its_own(name):
    cmap = get_map(name, DARK)
    scale = LegendScale(name, "", cmap, [], np.array([0.0, 0.25, 1.0]))
    sketch = legend((24.0, 40.0, 344.0, 76.0), DARK, scale, bar_pixels(cmap, 344))
    picture = render(lambda _: Painter((400, 300)).draw([sketch]), (400, 300))
    unit = (np.arange(344) + 0.5) / 344
    expected = cmap(2 * unit - 1 if cmap.diverging else unit) * 255
    assert np.abs(picture[40 + 14 + 20 + 7, 24 : 24 + 344] - expected).max() <= 1.0
    assert set(np.nonzero(picture[40 + 14 + 20 - 4].max(axis=1) > 90)[0]) == {24, 24 + 86, 24 + 343}


@pytest.fixture
def columns():
    made = BoardDrawer(BOARD, Ground(subject_of(sv.Weight(0.0)), DARK))
    made.lay_out(BOX)
    return made


def shown(columns):
    """Left, top, width and height of each digit, and whether it has a frame, in the order of `columns.labels`."""
    (item,) = columns.sketch().small
    order = np.argsort(np.rint(item.cells[:, 0] * len(columns.labels)))
    return item.rects[order], item.cells[order, 1] > 0.25


@pytest.mark.parametrize("wrongly", [0, 7, 60])
def test_six_of_each_class_stand_in_the_column_they_are_read_as_and_wrong_ones_are_framed(columns, wrongly):
    assert np.bincount(columns.labels).tolist() == [6] * 10
    np.testing.assert_array_equal(columns.inputs, BOARD.inputs[:60])
    read = columns.labels.copy()
    read[:wrongly] = RNG.integers(0, 10, wrongly)
    columns.move(read, None)
    boxes, framed = shown(columns)
    column = (boxes[:, 0] + boxes[:, 2] / 2 - BOX[0]) // (BOX[2] / 10)
    np.testing.assert_array_equal(column, read)
    np.testing.assert_array_equal(framed, read != columns.labels)
    assert f"{int(framed.sum())} of {len(framed)} wrong" in [item.text for item in columns.sketch().texts]


@pytest.mark.parametrize("crowd", [6, 10, 35, 60])
def test_a_crowd_stays_in_the_panel_and_each_digit_is_seen(columns, crowd):
    columns.move(np.where(np.arange(60) < crowd, 4, columns.labels), None)
    boxes, _ = shown(columns)
    assert (boxes[:, :2] >= (BOX[0] - 0.5, BOX[1] + 22)).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= (BOX[0] + BOX[2] + 0.5, BOX[1] + BOX[3] - 20)).all()
    middles = boxes[:, :2] + boxes[:, 2:] / 2
    away = np.abs(middles[:, None] - middles) / boxes[:, None, 2:]
    assert (away < 0.64).all(axis=2).sum() == 60  # each is near itself alone


@pytest.mark.gl
def test_the_pixels_of_a_digit_are_its_shades_and_a_wrong_one_has_a_frame(columns):
    columns.move(np.where(np.arange(60) == 3, 0, columns.labels), None)
    picture = render(lambda _: Painter((330, 280)).draw([columns.sketch()]), (330, 280)).astype(int)
    ink, paper, frame, panel = (np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) for colour in
                                (DARK.activation[-1], DARK.activation[0], DARK.selection, DARK.panel))  # fmt: skip
    for k in (0, 12, 3):
        left, top, width, _ = shown(columns)[0][k]
        pixel = width / 10  # eight and a border of one on each side
        rows, across = ([round(at + (n + 1.5) * pixel - 0.5) for n in range(8)] for at in (top, left))
        brightness = (picture[np.ix_(rows, across)] - paper).sum(axis=2) / (ink - paper).sum()
        assert np.corrcoef(brightness.ravel(), columns.inputs[k])[0, 1] > 0.97
        edge = picture[rows[3], round(left + 0.5 * pixel)]
        assert np.abs(edge - (frame if k == 3 else panel)).max() <= 2


def panel_of(logits):
    """What the sheet to draw on says of such outputs of a network."""
    net = nn.Linear(64, 10, seed=1)
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters()), (np.ones((1, 64)), [3]))
    names = tuple("0123456789")
    scene = sv.Scene("t", run, np.zeros(64), [3.0], output_names=names, panels=(DigitPad((8, 8)),))
    pad = PadDrawer(scene.panels[0], Ground(subject_of(scene), DARK))
    pad.lay_out(BOX)
    frame = pad.ground.subject.frame()
    (last,) = pad.ground.subject.stages
    (sketch,) = pad.draw(sv.run.Moment(frame.with_activations({last.name: np.array(logits)}), None), BOX, None)
    return sketch.texts


@pytest.mark.parametrize("winner", [0, 1, 9])
@pytest.mark.parametrize("rest", [0.0, 0.05, 0.3, 0.55])
def test_the_bars_say_the_softmax_and_their_numbers_never_touch(winner, rest):
    """Only one share can be as wide as 100; the ones beside it are then 0."""
    likely = np.full(10, rest / 9)
    likely[winner] = 1 - rest
    found = panel_of(np.log(likely + 1e-12) + 1000.0)
    numbers = sorted((t for t in found if t.anchor == "middle" and t.y < BOX[1] + 22 + 90), key=lambda t: t.left)
    assert [t.text for t in numbers] == [f"{100 * share:.0f}" for share in likely]
    assert all(a.left + a.width < b.left for a, b in pairwise(numbers))
    assert {f"read as {winner}", "is 3"} <= {t.text for t in found}


def test_outputs_that_are_not_finite_are_no_share():
    said = [t.text for t in panel_of([np.nan] * 10)]
    assert "outputs are not finite" in said
    assert "%" not in said


KINDS = st.lists(
    st.tuples(st.floats(40, 400), st.sampled_from([0.0, 325.0, 420.0]), st.integers(0, ABOUT + 1)), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(kinds=KINDS, loss=st.booleans(), keys=st.booleans(), time=st.booleans(), hall=st.booleans(),
       size=st.tuples(*[st.integers(160, 4000)] * 2))  # fmt: skip
@example([(300.0, 0.0, ABOUT)], False, True, True, False, (640, 360))
@example([(117.0, 0.0, 0), (166.0, 0.0, 2)], True, True, True, True, (1024, 768))
@example([(140.0, 0.0, 1), (250.0, 0.0, 2)], True, True, True, False, (720, 1140))
def test_any_panels_are_inside_and_apart_or_left_out_by_name(kinds, loss, keys, time, hall, size):
    wanted = [Wanted(f"panel {k}", *kind) for k, kind in enumerate(kinds)]
    if loss:
        wanted.insert(len(wanted) // 2, Wanted("loss", 150.0, 420.0, first=True))
    places = arrange(size, wanted, keys=keys, time=time, presenter=hall)
    found = [*places.panels.values(), places.scene, *(box for box in (places.hud, places.strip, places.time) if box)]
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in found]
    for k, box in enumerate(boxes):
        assert 0 <= box[0] < box[2] <= places.size[0] + 0.01
        assert 0 <= box[1] < box[3] <= places.size[1] + 0.01
        assert not any(overlap(box, other, 0.01) for other in boxes[:k])
    if len(places.panels) < len(wanted) and places.panels:  # how many, below the last panel
        x, y, wide, high = places.more
        assert not any(overlap((x, y, x + wide, y + high), box, 0.01) for box in boxes[: len(places.panels)])
    for want in wanted:
        if want.name in places.panels and want.worth < ABOUT:
            own = places.panels[want.name][3]
            assert want.height - 0.01 <= own
            assert own <= max(want.height, want.most) + 0.01 or want.first
    about = max(wanted, key=lambda want: want.worth, default=None)
    if loss and places.panels and places.size[1] >= 200 and about.worth < ABOUT and "loss" not in places.panels:
        ((x, _, wide, _),) = places.panels.values()  # only where one alone has room, which shows most
        beside = x > places.scene[0] + places.scene[2]
        assert about.name in places.panels
        assert not beside or (about.worth > 0 and wide != COLUMN)
    plain = arrange(size, wanted, keys=keys)
    assert places.scale == plain.scale * (PRESENTER if hall else 1.0) >= 1
    if places.time is not None and not hall:  # no panel makes way for the time bar, and it keeps to its place
        assert places.panels.keys() == plain.panels.keys()
        assert places.strip is None or places.strip[1] + places.strip[3] + 8 <= places.time[1]
        assert places.keys is None or places.time[1] + places.time[3] < places.keys - 10
