"""Small maps among the cubes: what they show, where they stand, and what a hand finds there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scalarviz.scenes import playground

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Moment
from scalarviz.run.edits import AddToWeights, Change, SetWeights
from scalarviz.run.panels import Axis, Features, LossCurve, NeuronMaps, PlaneMap
from scalarviz.run.source import Source
from scalarviz.view.ink.maps import signed_shades
from scalarviz.view.ink.text import measure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.neuron_card import hidden_of
from scalarviz.view.panels.neuron_maps import Button, near, rounded_up
from scalarviz.view.space.chain import chain_of
from scalarviz.view.space.layout import layout_for
from scalarviz.view.space.lying import WAYS, Turns
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
RNG = np.random.default_rng(8)
X = RNG.uniform(-1, 1, (30, 2))
Y = np.sign(X[:, :1] * X[:, 1:])
AXES = Axis("x", -1.5, 1.5), Axis("y", -1.0, 1.0)
MAPS = NeuronMaps(*AXES)
NAMES = ("x", "y", "xy")


def values(points):
    return np.stack([points[:, 0], points[:, 1], points[:, 0] * points[:, 1]], axis=1)


FEATURES = Features(NAMES, *AXES, values, lambda moment: (True, True, False))


class Squares(nn.Module):
    """A point and its squares."""

    stage = "features"

    def forward(self, row):
        return [*row, *(value * value for value in row)]


def scene_of(*hidden, activation=nn.Tanh, panels=(MAPS,), before=None, outputs=1):
    layers, count = ([before] if before else []), 4 if before else 2
    for k, units in enumerate(hidden):
        layers += [nn.Linear(count, units, seed=k + 1), activation()]
        count = units
    net = nn.Sequential(*layers, nn.Linear(count, outputs, seed=9))
    loss = nn.MSELoss() if outputs == 1 else nn.CrossEntropyLoss()
    targets = Y if outputs == 1 else (Y > 0).astype(int)
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.1), (X, targets), engine="numpy", seed=0)
    run.step(3)
    plane = PlaneMap("the plane", *AXES, span=(-1.0, 1.0))
    return sv.Scene("s", run, input_names=("x", "y"), panels=(plane, LossCurve(), *panels))


def bench_of(scene, size=(1280, 720), theme="dark", *, hands=False):
    with offscreen():
        bench = Workbench(scene, size, theme, keys=(("?", "all keys"),) if hands else ())
        bench.update(bench.subject.frame())
    return bench


def drawer(bench):
    return bench.side.drawers["neurons"]


def words(bench):
    above = [sketch for layer in bench.overlays for sketch in layer]
    return [t.text for sketch in [*bench.sketches, *above] for t in sketch.texts]


def picture_of(bench):
    return offscreen().render(bench.draw, bench.size).astype(int)


# where the cubes stand


def network(*sizes):
    net = nn.Sequential(*[m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.Tanh())])
    data = np.zeros((2, sizes[0])), np.zeros((2, sizes[-1]))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy")
    return run.tensors, run.stages


SIZES = [
    (2, 4, 2, 1),
    (2, 3, 1),
    (7, 8, 8, 1),
    (2, 4, 4, 4, 1),
    (2, 3, 5, 4, 2, 3),
    (2, 12, 8, 1),
    (2, 2, 2, 2, 2, 2, 1),
]


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_flow_turns_and_every_output_meets_its_input(sizes, rows):
    tensors, stages = network(*sizes)
    layout = layout_for(tensors, stages, (1280, 720), turns=Turns(rows=rows))
    assert layout.turns
    chain = chain_of(tensors, stages)
    spots = [p for p in (layout.plates if rows else layout.spots) if p.kind == "activation" and p.name != "input"]
    assert [p.name for p in spots] == [layer.row for layer in chain][: len(chain) if rows else -1]
    for k, (layer, spot) in enumerate(zip(chain, spots, strict=False)):
        plate = layout.plate(layer.weight.name)
        out = plate.axes[0]
        want = {"down": [0.0, -1.0], "right": [1.0, 0.0], "up": [0.0, 1.0]}[WAYS[k % 4]]
        along = spot.cell_centre(0)[:2] - plate.cell_centre(0, 0)[:2]
        assert along @ want > 0
        assert abs(along @ out[:2][::-1]) < 1e-9 or WAYS[k % 4] == "up"
        if k + 1 < len(chain):
            following = layout.plate(chain[k + 1].weight.name)
            for unit in range(layer.outputs):  # a unit, its map and its column of the next layer are in one line
                way = following.cell_centre(0, unit)[:2] - spot.cell_centre(unit)[:2]
                side = np.array([want[1], -want[0]])
                assert abs(way @ side) < 1e-9
    for a in range(len(layout.plates)):
        for b in range(a):
            one, other = layout.plates[a].bounds, layout.plates[b].bounds
            assert (one[0] >= other[1] - 1e-9).any() or (other[0] >= one[1] - 1e-9).any(), (a, b)


def test_other_networks_stand_as_before():
    for sizes in ((2, 1), (2, 30, 1)):
        tensors, stages = network(*sizes)
        plain, asked = (layout_for(tensors, stages, (1280, 720), turns=turns) for turns in (None, Turns()))
        assert not asked.turns
        assert [p.name for p in plain.plates] == [p.name for p in asked.plates]
    tensors, stages = network(2, 4, 1)
    assert not layout_for(
        tensors, stages, (320, 320), (0.0, 0.0, 60.0, 60.0), turns=Turns()
    ).turns  # cubes would be too small


def test_what_is_made_of_a_sample_first_is_what_the_first_layer_reads():
    scene = scene_of(4, 2, before=Squares())
    stages, tensors = scene.run.stages, scene.run.tensors
    assert [layer.weight.shape for layer in chain_of(tensors, stages)] == [(4, 4), (2, 4), (1, 2)]
    assert chain_of(tensors, stages)[0].source == stages[0].name
    plain = layout_for(tensors, stages, (1280, 720))
    assert plain.activation(stages[0].name).size == 4
    assert plain.activation("input") is None


# what the maps show


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_map_has_the_colours_of_its_unit(theme):
    scene = scene_of(4, 3)
    bench = bench_of(scene, theme=theme)
    picture, run = picture_of(bench), scene.run
    layers = hidden_of(bench.subject)
    assert len(drawer(bench).boxes) == 7
    from scalarviz.run.source import RunSource

    source: Source = RunSource(run)
    for (index, unit), (x, y, wide, high) in drawer(bench).boxes.items():
        for across, down in ((0.2, 0.25), (0.75, 0.3), (0.5, 0.8)):
            place = np.array([[-1.5 + 3 * across, 1 - 2 * down]])
            layer = layers[index]
            answer = source.rows(place, [layer.row])[layer.row][0, unit]
            expected = signed_shades(np.array([[answer]]), (-1.0, 1.0), theme)[0, 0].astype(int)
            seen = picture[int(y + down * high), int(x + across * wide)]
            probe = bench.subject.probe
            away = np.hypot((probe[0] - place[0, 0]) / 3 * wide, (probe[1] - place[0, 1]) / 2 * high)
            if away > 7:
                assert np.abs(seen - expected).max() <= 12, (index, unit, across, down)


def test_the_maps_follow_the_frame_and_looking_changes_nothing():
    one, other = scene_of(4, 3), scene_of(4, 3)
    with offscreen():
        bench = Workbench(one, (1280, 720), keys=(("?", "all keys"),))
        for _ in range(6):
            frame = bench.subject.frame()
            one.run.step()
            bench.update(frame, "", 1 / 30)
            assert not drawer(bench).work.late(drawer(bench)._moment)
            assert drawer(bench).work.moment.frame is frame
    other.run.step(6)
    np.testing.assert_array_equal(one.run.values, other.run.values)


def test_outputs_without_a_bound_have_a_round_range_that_the_legend_says():
    bench = bench_of(scene_of(4, 3, activation=nn.ReLU))
    rows = drawer(bench).work.rows
    scale = drawer(bench).scale
    assert drawer(bench)._largest == rounded_up(float(np.abs(rows).max()))
    assert scale.note == "relu"
    assert {"output of a neuron", scale.labels[0][1], scale.labels[2][1]} <= set(words(bench))
    assert [rounded_up(v) for v in (0.011, 0.5, 0.51, 3.0, 7.0, 10.0, 0.0, np.nan, np.inf)] == pytest.approx(
        [0.02, 0.5, 1.0, 5.0, 10.0, 10.0, 1.0, 1.0, 1.0]
    )


def test_numbers_that_are_too_large_or_none_leave_the_picture_whole():
    scene = scene_of(4, 3, activation=nn.ReLU)
    scene.run.do(SetWeights(0, np.array([np.nan, 0.0, 1e30])))
    bench = bench_of(scene)
    assert drawer(bench)._largest > 1e28
    assert all(len(text) < 9 for _, text in drawer(bench).scale.labels)
    assert len(drawer(bench).boxes) == 7
    x, y, wide, high = (int(v) for v in drawer(bench).boxes[0, 0])
    inks = np.unique(picture_of(bench)[y + 3 : y + high - 3, x + 3 : x + wide - 3].reshape(-1, 3), axis=0)
    assert np.ptp(inks.sum(axis=1)) > 300  # the checkerboard of what is no number


@pytest.mark.parametrize("size", [(640, 360), (1280, 720), (2560, 1440), (720, 1080)])
@pytest.mark.parametrize("hidden", [(4, 2), (8, 8), (4, 4, 3), (3,), (16,)])
def test_nothing_lies_on_anything_else(size, hidden):
    bench = bench_of(scene_of(*hidden, panels=(MAPS, FEATURES)), size, hands=True)
    boxes = [*drawer(bench).boxes.values()]
    if not bench.layout.turns:
        return
    assert len(boxes) == sum(hidden)
    scene = bench.places.scene
    cubes = []
    for plate in bench.layout.plates:
        for element in range(plate.size):
            flat = bench.project(plate.corners_of(element))
            cubes.append((*flat.min(axis=0), *flat.max(axis=0)))
    texts = []
    for sketch in [*bench.scenery.static, *bench.side.spread_out()]:
        for t in sketch.texts:
            wide = measure(t.text, t.size, t.bold)
            left = t.x - {"left": 0.0, "middle": wide / 2, "right": wide}[t.anchor]
            texts.append((left, t.y - 0.72 * t.size, left + wide, t.y, t.text))
            assert left >= 0
            assert left + wide <= bench.places.size[0]

    def meet(one, other, air=0.0):
        return all(one[k] < other[k + 2] - air and other[k] < one[k + 2] - air for k in (0, 1))

    rects = [(x, y, x + w, y + h) for x, y, w, h in boxes]
    for k, one in enumerate(rects):
        assert scene[0] <= one[0] <= one[2] <= scene[0] + scene[2]
        assert not any(meet(one, other) for other in rects[:k])
        assert not any(meet(one, cube, 3.0) for cube in cubes), (k, one)
        assert not any(meet(one, text, 1.0) for text in texts)
    for k, one in enumerate(texts):
        assert not any(meet(one, other, 1.0) for other in texts[:k]), one


# hands


def playing(scene):
    view = LiveView(scene, (1280, 720), playing=False)
    view.send("step")
    view.worker.settle()
    view.tick(0.02)
    return view


def middle(view, box):
    x, y, wide, high = box
    return (x + wide / 2) * view.bench.scale, (y + high / 2) * view.bench.scale


def press(view, at):
    view.press(at)
    view.release(at)
    view.worker.settle()
    view.tick(0.02)


def test_pointing_at_a_map_shows_its_card_with_the_weights():
    with offscreen():
        view = playing(scene_of(4, 2))
        view.move(middle(view, drawer(view.bench).boxes[1, 1]))
        view.tick(0.02)
        run = view.worker.latest
        weight = next(t for t in view.bench.subject.tensors if t.name == "2.weight").of(run.values)[1]
        bias = next(t for t in view.bench.subject.tensors if t.name == "2.bias").of(run.values)[1]
        said = words(view.bench)
        assert {"k2", "tanh of", *(f"· h{k}" for k in (1, 2, 3, 4)), "bias"} <= set(said)
        for number in (*weight, bias):
            assert f"{number:+.2f}".replace("-", chr(8722)) in said
        view.move((3.0, 3.0))
        view.tick(0.02)
        assert "tanh of" not in words(view.bench)
        view.close()


def test_a_long_layer_names_the_largest_weights_only():
    with offscreen():
        view = playing(scene_of(12, 2))
        view.move(middle(view, drawer(view.bench).boxes[1, 0]))
        view.tick(0.02)
        weight = next(t for t in view.bench.subject.tensors if t.name == "2.weight").of(view.worker.latest.values)[0]
        largest = {f"· h{k + 1}" for k in np.argsort(-np.abs(weight))[:4]}
        assert {text for text in words(view.bench) if text.startswith("· h")} == largest
        assert "and 8 smaller" in words(view.bench)
        view.close()


def test_an_opened_step_and_cubes_alone_have_rows_in_the_place_of_maps():
    with offscreen():
        view = playing(scene_of(4, 2, panels=(MAPS, FEATURES)))
        assert view.bench.layout.spots
        view.send("micro_next")
        view.worker.settle()
        view.tick(0.02)
        assert view.bench.inside.told is not None
        assert view.bench.layout.turns
        assert not view.bench.layout.spots
        assert not drawer(view.bench).setting
        assert {p.name for p in view.bench.layout.plates if p.kind == "activation"} == {"input", "1", "3", "4"}
        view.close()


def test_another_network_has_its_own_maps():
    with offscreen():
        view = playing(scene_of(4, 2))
        net = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1))
        view.worker.edit(lambda run: run.change(model=net), "another network")
        view.worker.settle()
        view.tick(0.02)
        assert {index for index, _ in drawer(view.bench).boxes} == {0}
        assert len(drawer(view.bench).boxes) == 5
        assert drawer(view.bench).work.rows.shape[2] == 5
        view.close()


def test_a_click_on_a_feature_switches_it():
    switched = []

    def change(name):
        switched.append(name)
        return AddToWeights(0, np.array([1.0]))

    with offscreen():
        features = replace(FEATURES, change=change)
        view = playing(scene_of(4, 2, panels=(MAPS, features)))
        before = view.worker.latest.values[0]
        boxes = view.bench.side.drawers["features"].boxes
        press(view, middle(view, boxes[2]))
        assert switched == ["xy"]
        assert view.worker.latest.values[0] == pytest.approx(before + 1.0)
        view.move(middle(view, boxes[1]))
        view.tick(0.02)
        assert {"y", "the network gets it", "click: switch it off"} <= set(words(view.bench))
        view.close()


def test_features_that_are_off_are_dim_and_have_no_line():
    scene = scene_of(4, 2, panels=(MAPS, FEATURES))
    bench = bench_of(scene)
    picture = picture_of(bench)
    column = bench.side.drawers["features"]
    rects = [s for sketch in bench.sketches for s in sketch.small][-1].rects
    assert len(rects) == 3
    shares = [
        np.ptp(picture[int(y) + 2 : int(y + h) - 2, int(x) + 2 : int(x + w) - 2].max(axis=2)) for x, y, w, h in rects
    ]
    assert shares[2] < 0.5 * min(shares[:2])
    assert column.boxes == {}  # no hand, no switch
    assert {"features", *NAMES} <= set(words(bench))


def test_a_function_that_raises_takes_its_own_pictures_away_alone():
    def broken(points):
        raise ValueError("no plane")

    maps, features = NeuronMaps(*AXES, inputs=broken), replace(FEATURES, on=lambda moment: (True,))
    bench = bench_of(scene_of(4, 2, panels=(maps, features)))
    said = [
        "maps of neurons: ValueError: no plane",
        "features: ValueError: there are 3 features, but 1 on or off, 1 rows",
    ]
    assert bench.side.ground.notes == said
    assert not drawer(bench).boxes
    assert not bench.side.moving
    assert "loss" in words(bench)


class Sizes:
    """Hidden layers as a hand wants them."""

    def __init__(self):
        self.wanted = []

    def change(self, hidden):
        self.wanted.append(hidden)
        if not hidden:
            return None
        layers, count = [], 2
        for units in hidden:
            layers += [nn.Linear(count, units), nn.Tanh()]
            count = units
        return Change(model=nn.Sequential(*layers, nn.Linear(count, 1)))


def test_plus_and_minus_beside_a_layer_change_it():
    sizes = Sizes()
    with offscreen():
        view = playing(scene_of(4, 2, panels=(replace(MAPS, change=sizes.change),)))
        for layer, which, hidden in ((0, 1, (5, 2)), (0, 0, (4, 2)), (1, 3, (4, 2, 2)), (2, 2, (4, 2))):
            view.move(middle(view, drawer(view.bench).boxes[layer, 0]))
            view.tick(0.02)
            button = drawer(view.bench)._buttons(layer)[which]
            view.move(middle(view, button.box))
            view.tick(0.02)
            said = words(view.bench)
            assert {"layer", button.says, f"hidden layers: {', '.join(map(str, hidden))}"} <= set(said)
            press(view, middle(view, button.box))
            assert sizes.wanted[-1] == hidden
            assert [each.units for each in drawer(view.bench).layers] == list(hidden)
            assert len(drawer(view.bench).boxes) == sum(hidden)
        view.move((3.0, 3.0))
        view.tick(0.02)
        assert "layer" not in words(view.bench)
        view.close()


def test_buttons_lie_on_no_map_and_the_last_neuron_stays():
    with offscreen():
        view = playing(scene_of(4, 2, 1, panels=(replace(MAPS, change=lambda hidden: None),)))
        found = drawer(view.bench)
        for layer, count in ((0, 4), (1, 4), (2, 3)):
            buttons = found._buttons(layer)
            assert len(buttons) == count
            assert all(min(button.hidden) > 0 for button in buttons)
            for button in buttons:
                for x, y, wide, high in found.boxes.values():
                    left, top, across, down = button.box
                    assert x >= left + across or left >= x + wide or y >= top + down or top >= y + high
        view.close()
    still = bench_of(scene_of(4, 2, panels=(replace(MAPS, change=lambda hidden: None),)))
    assert drawer(still)._buttons(0) == []  # nobody could press them


def test_a_layer_of_one_unit_is_near_where_its_map_is():
    maps = [(100.0, 50.0, 40.0, 40.0)]
    assert near((120, 70), maps, ())
    assert not near((400, 300), maps, ())
    assert near((400, 300), maps, [Button((390.0, 290.0, 20.0, 20.0), True, (2,), "")])


@pytest.mark.parametrize("size", [(640, 360), (1280, 720)])
@pytest.mark.parametrize("hidden", [(4, 2), (8, 8), (6,)])
def test_the_card_leaves_its_neuron_and_the_buttons_free_and_no_word_half_covered(size, hidden):
    scene = playground.build(playground.Options(engine="numpy", hidden=hidden))
    host = Unseen(lambda size: LiveView(scene, size, playing=False), size)
    view = host.view
    try:
        host.pass_time(0.5)
        drawer = view.bench.side.drawer(NeuronMaps)
        words = [item for item in view.bench.scenery.reserved if item[3] < 20]
        assert words or size[0] < 1000  # over the arrow that leaves the last layer, where there is room for it
        for key, (x, y, wide, high) in drawer.boxes.items():
            drawer.hover((x + wide / 2, y + high / 2))
            (first, *_) = drawer.label(Moment(view.shown, view.bench.subject.source), size)
            corners = first.triangles[:6]
            left, top = corners[:, :2].min(axis=0) + 1
            right, foot = corners[:, :2].max(axis=0) - 1
            assert 0 <= left < right <= size[0]
            assert 0 <= top < foot <= size[1]
            for box in [drawer.boxes[key], *(button.box for button in drawer._buttons(key[0]))]:
                apart = box[0] + box[2] <= left or right <= box[0] or box[1] + box[3] <= top or foot <= box[1]
                assert apart, (key, box)
            for box in words:
                apart = box[0] + box[2] <= left or right <= box[0] or box[1] + box[3] <= top or foot <= box[1]
                assert apart or (left <= box[0] and box[0] + box[2] <= right), key
    finally:
        view.close()
        scene.run.close()


@pytest.mark.parametrize("size", [(1024, 768), (1280, 720), (1920, 1080)])
@pytest.mark.parametrize("hands", [False, True])
def test_all_neurons_of_the_default_playground_are_named(size, hands):
    """Beside their maps, of which none lies on a name."""
    scene = playground.build(playground.Options(engine="numpy"))
    bench = bench_of(scene, size, hands=hands)
    places = bench.side.drawer(NeuronMaps)._places
    names = {item.text: item for sketch in bench.side.spread_out() for item in sketch.texts}
    assert {"h1", "h2", "h3", "h4", "k1", "k2"} <= set(names)
    for name in places.names.values():
        item = names[name]
        right = item.x + measure(name, item.size, True)
        for x, y, wide, high in places.boxes.values():
            assert right < x - 1 or item.x > x + wide or item.y < y or item.y - 12 > y + high
    scene.run.close()
