"""A network's answers over a plane, in one map and in small ones among the cubes; cards and features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scalarviz.scenes import neuron
from scalarviz.scenes.playground.panels import other_layers

import scalarviz as sv
from kit.benches import KEYS, again, assert_readable, bench_of, box_of, overlap, pixels_of, said_anywhere, signed, texts
from kit.commands import make_scene
from kit.networks import mlp
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.panels import (
    Axis,
    CurveFit,
    Features,
    LossCurve,
    LossOver,
    NeuronMaps,
    PlaneMap,
    Points,
    TrainingLoop,
)
from scalarviz.run.source import Moment, RunSource
from scalarviz.view.ink.sketch import Cells, Lines, Path, Rect
from scalarviz.view.ink.text import short
from scalarviz.view.ink.theme import DARK, LIGHT, class_colours, get_map, rgb, signed_shades
from scalarviz.view.panels import one_step
from scalarviz.view.panels.neuron_maps import hidden_of
from scalarviz.view.panels.one_step import CALLS, Standing, WeightPlace
from scalarviz.view.panels.pace import fractions, places
from scalarviz.view.panels.points import BACK, DRAWN, HARD, SHARE, TEST, around, inside, shades

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (40, 2))
T = np.where(X[:, 0] > 0, 1.0, -1.0)
AXES = Axis("x", -1.25, 1.25), Axis("y", -1.0, 1.0, (0.0, 50.0))
POINTS = Points(X, T, np.arange(40) >= 30)
PLANE = PlaneMap("the plane", *AXES, span=(-1.0, 1.0), says=("left", "right"))
SHOWN = replace(PLANE, points=lambda moment: POINTS)
MAPS = PLANE, LossCurve(), NeuronMaps(*AXES)


def products(points):
    return np.stack([points[:, 0], points[:, 1], points[:, 0] * points[:, 1]], axis=1)


def run_of(*sizes, data, activation="Tanh", loss=None):
    net = mlp(*sizes, activation=activation, last="Identity")(nn)
    net.initialize(seed=1)
    return sv.Run(net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.2), data, engine="numpy", seed=0)


def scene_of(*hidden, panels=MAPS, classes=1, steps=20, activation="Tanh"):
    targets = T[:30, None] if classes == 1 else (T[:30, None] > 0).astype(int)
    loss = nn.MSELoss() if classes == 1 else nn.CrossEntropyLoss()
    run = run_of(2, *(hidden or [4]), classes, data=(X[:30], targets), activation=activation, loss=loss)
    run.step(steps)
    return sv.Scene("s", run, input_names=("x", "y"), panels=panels)


def maps(bench):
    return bench.side.drawers["neurons"]


def plane(bench):
    return bench.side.drawers["plane"]


def edges(box):
    """Left, top, right, bottom."""
    return box[0], box[1], box[0] + box[2], box[1] + box[3]


@pytest.mark.parametrize("size", [(640, 360), (1024, 768), (1280, 720), (720, 1080), (1920, 1080)])
@pytest.mark.parametrize("hidden", [(4, 2), (8, 8), (4, 4, 3), (16,)])
def test_no_map_lies_on_another_on_a_cube_or_on_a_word(size, hidden):
    bench = bench_of(make_scene("playground", hidden=hidden), size, keys=KEYS)
    boxes, room = [edges(box) for box in maps(bench).boxes.values()], edges(bench.places.scene)
    assert len(boxes) == sum(hidden)
    boxes = boxes if bench.layout.turns else []  # others are pointed at where nothing is drawn
    corners = [bench.project(p.corners_of(k)) for p in bench.layout.plates for k in range(p.size)]
    cubes = [(*flat.min(axis=0), *flat.max(axis=0)) for flat in corners]
    said = {item.text: box_of(item) for item in texts([*bench.scenery.static, *bench.side.spread_out()])}
    assert {"h1", "h4", "k1", "k2"} <= said.keys() or hidden != (4, 2) or size[0] < 1000
    for k, box in enumerate(boxes):
        assert room[0] <= box[0] <= box[2] <= room[2]
        assert not any(overlap(box, other) for other in boxes[:k])
        assert not any(overlap(box, cube, 3.0) for cube in cubes)
        assert not any(overlap(box, text, 1.0) for text in said.values())


@pytest.mark.gl
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_place_has_the_colour_of_the_answer_there(theme):
    scene = scene_of(4, 3, panels=(replace(PLANE, cells=5), *MAPS[1:]))
    bench = bench_of(scene, theme=theme)
    picture, source, layers = pixels_of(bench), RunSource(scene.run), hidden_of(bench.subject)
    for row, column in np.ndindex(5, 5):
        at = np.array([-1.25 + 2.5 * (column + 0.5) / 5, 1.0 - 2.0 * (row + 0.5) / 5])
        x, y = (round(v) for v in plane(bench).axes.point(at[0] + 0.15, at[1] + 0.1))  # off the line in the middle
        expected = get_map("weight", theme)(np.clip(scene.run.predict(at[None])[0, 0], -1, 1) * SHARE) * 255
        near = np.abs(picture[y - 4 : y + 5, x - 4 : x + 5] - expected).max(axis=2)
        assert (near <= 2).mean() > 0.4, (row, column)
    assert len(maps(bench).boxes) == 7
    for (index, unit), (x, y, wide, high) in maps(bench).boxes.items():
        for across, down in ((0.2, 0.25), (0.75, 0.3), (0.5, 0.8)):
            place, row = np.array([[-1.25 + 2.5 * across, 1 - 2 * down]]), layers[index].row
            answer = source.rows(place, [row])[row][:, unit : unit + 1]
            seen = picture[int(y + down * high), int(x + across * wide)]
            away = (bench.subject.probe - place[0]) / (2.5, 2)
            if np.hypot(*(away * (wide, high))) > 7:  # not below the dot of the sample
                assert np.abs(seen - signed_shades(answer, (-1.0, 1.0), theme)[0, 0]).max() <= 12, (index, unit, across)


def test_maps_are_of_the_frame_and_of_what_the_scene_makes_of_a_point_and_change_nothing():
    one, other = (run_of(3, 4, 1, data=(products(X), T[:, None])) for _ in range(2))
    panels = replace(PLANE, cells=3, inputs=products), NeuronMaps(*AXES, inputs=products)
    bench = bench_of(sv.Scene("s", one, panels=panels), keys=KEYS)
    points = np.stack(np.meshgrid([-2.5 / 3, 0, 2.5 / 3], [2 / 3, 0, -2 / 3]), axis=-1).reshape(-1, 2)
    for _ in range(6):
        frame = bench.subject.frame()
        moment = Moment(frame, bench.subject.source)
        answers = moment.predict(products(points)).ravel()
        one.step()
        bench.update(frame, "", 1 / 30)
        np.testing.assert_allclose(plane(bench).grid.numbers.ravel(), answers, atol=1e-6)
        row, half = maps(bench).layers[0].row, fractions(len(maps(bench).grid.numbers))[0]
        rows = moment.rows(products(np.array([[-1.25 + 2.5 * half, 1 - 2 * half]])), row)[row][0]
        np.testing.assert_allclose(maps(bench).grid.numbers[0, 0, : len(rows)], rows, atol=1e-6)
    other.step(6)
    np.testing.assert_array_equal(one.values, other.values)


def test_outputs_without_a_bound_have_a_round_range():
    drawer = maps(bench_of(scene_of(4, 3, activation="ReLU")))
    largest, said = float(np.abs(drawer.grid.numbers).max()), float(drawer.scale.labels[2][1])
    assert largest <= said <= 2.5 * largest
    assert f"{said:.0e}"[0] in "125"


def test_colours_of_nan_of_infinity_of_hard_answers_and_of_classes():
    found = signed_shades(np.array([[np.nan, np.inf], [np.nan, -np.inf]]), (-1, 1))
    np.testing.assert_array_equal(found[:, 1], get_map("weight").bytes([1.0, -1.0]))
    inks = {tuple(np.rint(255 * np.array(rgb(c))).astype(int)) for c in (DARK.ink, DARK.paper)}
    assert {tuple(found[0, 0]), tuple(found[1, 0])} == inks  # a checkerboard
    rows = RNG.uniform(-1, 1, (6, 6, 1))
    hard = shades(PLANE, rows, DARK, hard=True)
    np.testing.assert_array_equal(hard, signed_shades(np.sign(rows[..., 0]), (-1, 1), DARK, SHARE))
    sure = shades(replace(PLANE, classes=("a", "b", "c")), np.eye(3)[None], LIGHT)[0]
    expected = SHARE * class_colours(3) * 255 + (1 - SHARE) * 255 * np.array(rgb(LIGHT.background))
    assert np.abs(sure - expected).max() <= 1


def test_probabilities_are_those_of_softmax():
    scene = scene_of(panels=(replace(PLANE, classes=("left", "right"), cells=6),), classes=2)
    found, panel = plane(bench_of(scene)).grid.numbers, scene.panels[0]
    raised = np.exp(scene.run.predict(places(panel.across, panel.up, *[fractions(6)] * 2)).astype(float))
    np.testing.assert_allclose(found.reshape(-1, 2), raised / raised.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("size", [(1280, 720), (720, 1080), (960, 640)])
def test_many_classes_can_be_read(size):
    classes = tuple("a class with a name" + str(k) for k in range(8))
    bench = bench_of(scene_of(panels=(replace(SHOWN, classes=classes),), classes=len(classes)), size, keys=KEYS)
    assert_readable(bench.side.drawn("plane"), size)
    assert {*classes, "train", "test", "\N{MINUS SIGN}1.25", "x  +1.25", "0", "50"} <= set(said_anywhere(bench))


def test_pointing_at_a_map_shows_its_card_with_the_largest_weights():
    with live_hand(scene_of(12, 2, steps=0)) as hand:
        tensors = {t.name: t.of(hand.run.values) for t in hand.bench.subject.tensors}
        weight, bias = tensors["2.weight"][1], tensors["2.bias"][1]
        hand.view.move(hand.middle(maps(hand.bench).boxes[1, 1]))
        largest = np.argsort(-np.abs(weight))[:4]
        assert {text for text in hand.words() if text.startswith("· h")} == {f"· h{k + 1}" for k in largest}
        numbers = {signed(number) for number in (*weight[largest], bias)}
        assert {"k2", "tanh of", "bias", "and 8 smaller", *numbers} <= set(hand.words())
        hand.view.move((3.0, 3.0))
        assert "tanh of" not in hand.words()


def test_plus_and_minus_beside_a_layer_change_it_and_a_click_on_a_feature_switches_it():
    with live_hand(make_scene("playground")) as hand:
        for layer, which, hidden in ((0, 1, (5, 2)), (0, 0, (4, 2)), (1, 3, (4, 2, 2)), (2, 2, (4, 2))):
            hand.view.move(hand.middle(maps(hand.bench).boxes[layer, 0]))
            button = maps(hand.bench).buttons(layer)[which]
            hand.view.move(hand.middle(button.box))
            assert {"layer", button.tip, f"hidden layers: {', '.join(map(str, hidden))}"} <= set(hand.words())
            hand.press(hand.middle(button.box))
            assert [each.units for each in maps(hand.bench).layers] == list(hidden)
            assert len(maps(hand.bench).boxes) == maps(hand.bench).grid.numbers.shape[2] == sum(hidden)
        hand.view.move((3.0, 3.0))
        assert "layer" not in hand.words()
        moment = lambda: Moment(hand.view.shown, hand.bench.subject.source)  # noqa: E731
        for place, on in ((2, [True] * 3), (0, [False, True, True])):
            hand.press(hand.middle(hand.drawer(Features).spots[place].box))
            assert [*hand.drawer(Features).panel.on(moment())] == [*on, *[False] * 4]
            assert hand.bench.layout.plate("1.weight").shape == (4, 3)
        hand.view.move(hand.middle(hand.drawer(Features).spots[0].box))
        assert {"x", "the network does not use it", "click: switch it on"} <= set(hand.words())
        assert hand.run.steps == 0  # it goes on standing
        for _ in range(2):
            hand.do("undo")
        assert [*hand.drawer(Features).panel.on(moment())] == [True, True, *[False] * 5]
    for hidden in ((65,), (1,) * 7):
        with pytest.raises(InputError, match="at most 6 hidden layers of at most 64 neurons"):
            other_layers(hidden)
    assert other_layers((64, 1)).words() == "hidden layers 64, 1"


def test_pointing_says_where_and_what_and_switches_switch():
    with live_hand(scene_of(panels=(SHOWN,))) as hand:
        found = plane(hand.bench)
        point = found.axes.point(1.21, -0.97)
        hand.view.move(hand.at(point))
        said, answer = hand.words(), float(hand.run.predict(np.array([found.numbers(point)]))[0, 0])
        assert any(text.startswith("x 1.2") and text.endswith(", y 0.75") for text in said)  # as the axis says
        assert signed(answer, 3) in said
        for switched in (False, True):
            discs = [c for sketch in hand.bench.sketches for c in sketch.tops if isinstance(c, Cells)]
            hollow = [c.rings is not None and np.isclose(c.rects[:, 2], BACK).any() for c in discs]
            assert any(hollow) != switched
            (picture,) = [i for sketch in hand.bench.side.drawn("plane") for i in sketch.images]
            assert (len(np.unique(picture.pixels.reshape(-1, 3), axis=0)) <= 2) == switched
            for which in (TEST, HARD):
                x, y, wide, high = found.toggles[which].box
                hand.press(hand.at((x + wide - 6, y + high / 2)))
            if not switched:
                assert np.isfinite(found.spots).all(axis=1).tolist() == (~POINTS.back).tolist()


# ---- Panels of one neuron: the loss over its weights, the four calls of a step, the curve between its points


NUMBERS = st.floats(-50, 50)


def made(**options):
    return make_scene("neuron", **{"dtype": "float64", **options})


def standing(run, own):
    frame = run.frame()
    return Standing(RunSource(run), frame, one_step.place_of(frame, own), own, tuple(run.samples()))


def shapes(bench, kind, ink):
    """Those of one colour in the picture."""
    sketches = [*bench.sketches, *bench.side.floating()]
    every = [shape for sketch in sketches for shape in sketch.shapes if isinstance(shape, kind)]
    return [shape for shape in every if ink in (getattr(shape, "colour", None), getattr(shape, "fill", None))]


def ball(bench):
    """Where the ball is, in pixels."""
    (found,) = [disc for disc in shapes(bench, Rect, DARK.text1) if disc.radius == 6.5]
    return np.array([found.x + 6.5, found.y + 6.5])


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(1, 2))
def test_the_losses_are_those_of_the_formula(w, b, weights):
    with made(weights=weights).run as run:
        x, y = neuron.points(0.0, 0)
        places = np.array([[w, b], [b, w]])[:, :weights]
        own = [((p[0] * x + (p[1] if weights == 2 else 0.0) - y) ** 2).mean() for p in places]
        np.testing.assert_allclose(standing(run, range(weights)).losses(places), own, rtol=1e-12)


@given(st.floats(0.01, 3), st.floats(-4, 4), st.floats(-5, 5), st.floats(0.01, 5))
def test_the_rate_from_which_a_step_lands_higher_is_two_over_the_bend(bend, lowest, start, rate):
    """Of a parabola: gradient descent lands higher if and only if the rate is above 2 / f''."""
    assume(abs(start - lowest) > 1e-3)
    slope = 2 * bend * (start - lowest)
    place = WeightPlace(np.array([start - rate * slope]), np.array([start]), np.array([slope]), rate)
    before, after, limit = one_step.steepness(lambda p: bend * (p[:, 0] - lowest) ** 2, place)
    assert limit == pytest.approx(1 / bend, rel=1e-6)
    assume(abs(rate * bend - 1) > 1e-6)
    assert (after > before) == (rate > limit) == one_step.verdict(place, ("w",), (before, after, limit))[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flags", [{}, {"weights": 2}, {"noise": 0.3}])
def test_a_step_downhill_is_never_said_to_end_higher_however_near_to_the_lowest_point_it_is(dtype, flags):
    """Of exact numbers each step ends lower with this rate: what rounding makes of the last ones is not told."""
    own, said = tuple(range(flags.get("weights", 1))), set()
    with made(dtype=dtype, **flags).run as run:
        for _ in range(450):
            run.step()
            at = standing(run, own)
            said.add(one_step.verdict(at.place, ("w", "b")[: len(own)], one_step.steepness(at.losses, at.place))[1:])
    at_rest = ("too small to change the loss", False), ("it does not move", False)
    assert said <= {("downhill", False), *at_rest}
    assert said.intersection(at_rest)


@pytest.mark.parametrize("weights", [1, 2])
@pytest.mark.parametrize(("rate", "says"), [(0.1, "downhill"), (0.9, "past the minimum"), (1.1, "lr is above 1.0")])
def test_what_is_said_and_drawn_of_a_step(rate, says, weights):
    scene = made(lr=rate, weights=weights)
    with scene.run as run:
        bench = bench_of(scene, asked=True)
        assert {one_step.UNKNOWN, "no step yet", *CALLS} <= set(said_anywhere(bench))
        drawn = [DARK.pulse, DARK.gradient[0]]  # of the step, and of a falling tangent
        before = sum(len(shapes(bench, object, ink)) for ink in drawn)
        run.step()
        said = said_anywhere(again(bench))
        assert sum(len(shapes(bench, object, ink)) for ink in drawn) > before
        assert "all four happened in step 1" in said
        assert any(text.startswith(f"loss {run.history.loss[-1]:.4f} at ") for text in said)
        gradient = [short(number) for number in run.frame().gradient]
        two = [f"grad w {gradient[0]}, b {gradient[-1]}"]
        for line in two if weights == 2 else [says, f"−{rate} × slope {gradient[0]} = +"]:
            assert any(line in each for each in said), line


@pytest.mark.gl
@pytest.mark.parametrize("trial", [True, False])
def test_inside_a_step_they_happen_one_after_another(trial):
    with live_hand(made(lr=0.2), steps=20) as hand:
        hand.view.micro.trial, seen = trial, {}
        for _ in range(7):
            hand.do("micro_next")
            seen[hand.bench.step_drawing.micro_step.phase] = " | ".join(hand.words())
        x, y = (numbers[-1:] if trial else numbers for numbers in neuron.points(0.0, 0))
        gradient, loss = (2 * x * (-1.5 * x - y)).mean(), ((1.5 * x + y) ** 2).mean()
        assert sorted(seen) == [0, 1, 2, 3, 4, 5]
        moved = f"| w = {signed(-1.5 - 0.2 * gradient)}".replace("+", "")
        since = {f"| loss {loss:.2f}": 2, f"| w.grad = −{abs(gradient):.3g}": 4, "| slope −": 4, moved: 5}
        for text, first in since.items():
            assert next(phase for phase in range(6) if text in seen[phase]) == first, text
        assert (hand.bench.colouring.quantity, hand.run.steps) == ("change", 0)


def test_a_still_shows_the_way_there_and_looking_changes_no_bit():
    scene, other = made(weights=2, lr=0.05), made(weights=2, lr=0.05)
    with scene.run as run, other.run as alone:
        for _ in range(3):
            run.step(3)
            bench = bench_of(scene)
        alone.step(9)
        assert run.values.tobytes() == alone.values.tobytes()
        assert run.history.loss.tobytes() == alone.history.loss.tobytes()
        (way,) = [path.points for path in shapes(bench, Path, DARK.flow) if len(path.points) == 10]
        np.testing.assert_allclose(way[-1], ball(bench), atol=1e-3)
        run.to(0)
        np.testing.assert_allclose(way[0], ball(bench_of(scene)), atol=1e-3)


def test_a_network_with_too_few_weights_is_said():
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=neuron.points(0, 0)) as run:
        panels = LossOver((0, 1), ("w", "b"), ((-1, 1), (-1, 1))), TrainingLoop((1,), ("b",)), CurveFit()
        said = said_anywhere(bench_of(sv.Scene("mine", run, panels=panels), asked=True))
    assert sum("this network has 1 weight" in line for line in said) == 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_an_axis_holds_its_numbers_with_air_and_what_is_near(numbers):
    axis, low, high = around("x", np.array(numbers)), min(numbers), max(numbers)
    assert axis.least < low <= high < axis.most
    if low <= 0 <= high or 0 < min(abs(low), abs(high)) <= (high - low) / 2:
        assert axis.least < 0 < axis.most
    elif high > low:
        assert axis.most - axis.least <= 1.25 * (high - low) * (1 + 1e-9)


@given(st.floats(-1e30, 1e30), st.floats(-1e30, 1e30))
def test_a_line_is_cut_at_the_edges_however_steep_it_is(slope, height):
    x = np.linspace(-1, 2, 7)
    y = slope * x + height
    starts, ends = inside(x, y, (-1.0, 1.0))
    for points in (starts, ends):
        assert (np.abs(points[:, 1]) <= 1).all()
        assert ((points[:, 0] >= -1) & (points[:, 0] <= 2)).all()
        within = np.abs(points[:, 1]) < 1
        scale = max(abs(slope), abs(height), 1.0)
        np.testing.assert_allclose(points[within, 1], slope * points[within, 0] + height, atol=1e-9 * scale)
    reached = (np.maximum(y[1:], y[:-1]) >= -1) & (np.minimum(y[1:], y[:-1]) <= 1)
    assert (len(starts) > 0) == reached.any()
    assert len(inside(x, np.where(x > 0, np.nan, y / max(abs(y).max(), 1.0)), (-1.0, 1.0))[0]) == 2


@pytest.mark.parametrize(("count", "weight"), [(9, 0.5), (9, 2.0), (200, 0.5), (3 * DRAWN, 0.5)])
def test_points_zero_and_the_errors_of_a_few_are_where_the_numbers_are(count, weight):
    net, x = nn.Sequential(nn.Linear(1, 1, bias=False)), np.linspace(-1, 2, count)
    net.initialize(neuron.begin_at(weight, 0.0))
    sgd, data = optim.SGD(net.parameters(), lr=0.1), (x[:, None], 2.0 * x[:, None])
    with sv.Run(net, nn.MSELoss(), sgd, data=data, engine="numpy") as run:
        bench = bench_of(sv.Scene("mine", run, panels=(CurveFit(),)))
    drawer, said = bench.side.drawer(CurveFit), said_anywhere(bench)
    assert drawer.seen.sum() == min(count, DRAWN)
    assert np.diff(np.flatnonzero(drawer.seen)).max() <= 4  # evenly out of all
    assert np.isfinite(drawer.spots).all(axis=1).tolist() == drawer.seen.tolist()
    np.testing.assert_allclose(drawer.axes.points(x, 2.0 * x)[drawer.seen], drawer.spots[drawer.seen])
    assert ("y over x" in said, f"{DRAWN:,} of {count:,}" in said) == (True, count > DRAWN)
    drawn = [s for sketch in bench.side.drawn("curve") for s in (*sketch.shapes, *sketch.tops) if isinstance(s, Lines)]
    (zero,) = [lines for lines in drawn if lines.colour == DARK.grid]
    np.testing.assert_allclose([zero.starts[0, 1], zero.ends[0, 1]], drawer.axes.point(0.0, 0.0)[1], atol=1e-3)
    errors = [lines for lines in drawn if lines.colour == DARK.flow]
    assert len(errors) == (count == 9)
    for lines in errors:  # from what is wanted to what is said
        np.testing.assert_allclose(lines.starts, drawer.axes.points(x, 2.0 * x), atol=1e-3)
        np.testing.assert_allclose(lines.ends, drawer.axes.points(x, weight * x), atol=1e-3)


def test_a_click_on_a_point_shows_its_way():
    with live_hand(make_scene("neuron", dtype="float64")) as hand:
        x, y = neuron.points(0.0, 0)
        spot, subject = hand.drawer(CurveFit).spots[2], hand.bench.subject
        before = subject.probe.tolist()
        hand.press(hand.at((spot[0] + 30, spot[1] - 30)))
        assert subject.probe.tolist() == before
        hand.view.move(hand.at(spot))
        assert any(f"error {signed(-1.5 * x[2, 0] - y[2, 0])}" in text for text in hand.words())
        hand.press(hand.at(spot))
        assert [*subject.probe, *subject.target] == [*x[2], *y[2]]


def test_data_that_cannot_be_drawn_over_one_number_is_said():
    with pytest.raises(InputError), np.errstate(over="ignore"):
        around("x", np.array([-1.7e308, 1.7e308]))
    net, data = nn.Sequential(nn.Linear(2, 1)), (np.zeros((4, 2)), np.zeros((4, 1)))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy") as run:
        said = said_anywhere(bench_of(sv.Scene("s", run, panels=(CurveFit("points"),))))
    assert "points: needs one input, one target" in said
