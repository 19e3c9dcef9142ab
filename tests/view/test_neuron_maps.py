"""Small maps among the cubes, and features: what they show, where they stand, what a hand finds there."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from scalarviz.scenes.playground.panels import other_layers

import scalarviz as sv
from kit.benches import KEYS, Box, bench_of, box_of, middle, overlap, pixels_of, said_anywhere, signed, texts
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run import Moment
from scalarviz.run.edits import SetWeights
from scalarviz.run.panels import Axis, Features, LossCurve, NeuronMaps, PlaneMap
from scalarviz.run.source import RunSource
from scalarviz.view.ink.maps import signed_shades
from scalarviz.view.panels.neuron_card import hidden_of
from scalarviz.view.space.chain import chain_of
from scalarviz.view.space.layout import layout_for
from scalarviz.view.space.lying import WAYS, Turns

X = np.random.default_rng(8).uniform(-1, 1, (30, 2))
AXES = Axis("x", -1.5, 1.5), Axis("y", -1.0, 1.0)
MAPS = NeuronMaps(*AXES)
NAMES = ("x", "y", "xy")
FEATURES = Features(
    NAMES, *AXES, lambda p: np.stack([p[:, 0], p[:, 1], p[:, 0] * p[:, 1]], 1), lambda moment: (True, True, False)
)


def run_of(*sizes, data=None, activation=nn.Tanh):
    layers = [m for k, (a, b) in enumerate(pairwise(sizes)) for m in (nn.Linear(a, b, seed=k + 1), activation())]
    net, data = nn.Sequential(*layers[:-1]), data or (np.zeros((2, sizes[0])), np.zeros((2, sizes[-1])))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy", seed=0)


def scene_of(*hidden, panels=(MAPS,), **more):
    run = run_of(2, *hidden, 1, data=(X, np.sign(X[:, :1] * X[:, 1:])), **more)
    run.step(3)
    plane = PlaneMap("the plane", *AXES, span=(-1.0, 1.0))
    return sv.Scene("s", run, input_names=("x", "y"), panels=(plane, LossCurve(), *panels))


def maps(bench):
    return bench.side.drawers["neurons"]


def edges(box) -> Box:
    return box[0], box[1], box[0] + box[2], box[1] + box[3]


# ---- where the cubes stand


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("sizes", [(2, 3, 1), (7, 8, 8, 1), (2, 3, 5, 4, 2, 3), (2, 12, 8, 1), (2, 2, 2, 2, 2, 2, 1)])
def test_the_flow_turns_and_every_output_meets_its_input(sizes, rows):
    run = run_of(*sizes)
    layout = layout_for(run.tensors, run.stages, (1280, 720), turns=Turns(rows=rows))
    chain = chain_of(run.tensors, run.stages)
    assert layout.turns
    spots = [p for p in (layout.plates if rows else layout.spots) if p.kind == "activation" and p.name != "input"]
    assert [p.name for p in spots] == [layer.row for layer in chain][: len(chain) if rows else -1]
    for k, (layer, spot) in enumerate(zip(chain, spots, strict=False)):
        plate = layout.plate(layer.weight.name)
        want = {"down": [0.0, -1.0], "right": [1.0, 0.0], "up": [0.0, 1.0]}[WAYS[k % 4]]
        along = spot.cell_centre(0)[:2] - plate.cell_centre(0, 0)[:2]
        assert along @ want > 0
        assert abs(along @ plate.axes[0][:2][::-1]) < 1e-9 or WAYS[k % 4] == "up"
        for unit in range(layer.outputs if k + 1 < len(chain) else 0):  # a unit, its map and column are in one line
            way = layout.plate(chain[k + 1].weight.name).cell_centre(0, unit)[:2] - spot.cell_centre(unit)[:2]
            assert abs(way @ np.array([want[1], -want[0]])) < 1e-9
    for one, other in combinations([plate.bounds for plate in layout.plates], 2):
        assert (one[0] >= other[1] - 1e-9).any() or (other[0] >= one[1] - 1e-9).any()


@pytest.mark.parametrize(("sizes", "room"), [((2, 1), 720.0), ((2, 30, 1), 720.0), ((2, 4, 1), 60.0)])
def test_networks_of_one_layer_wide_ones_and_small_cubes_do_not_turn(sizes, room):
    run = run_of(*sizes)
    assert not layout_for(run.tensors, run.stages, (1280, 720), (0.0, 0.0, room, room), turns=Turns()).turns


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
    assert {"h1", "h2", "h3", "h4", "k1", "k2"} <= said.keys() or hidden != (4, 2) or size[0] < 1000
    for k, box in enumerate(boxes):
        assert room[0] <= box[0] <= box[2] <= room[2]
        assert not any(overlap(box, other) for other in boxes[:k])
        assert not any(overlap(box, cube, 3.0) for cube in cubes)
        assert not any(overlap(box, text, 1.0) for text in said.values())


# ---- what the maps show


@pytest.mark.gl
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_map_has_the_colours_of_its_unit(theme):
    scene = scene_of(4, 3)
    bench = bench_of(scene, theme=theme)
    picture, source, layers = pixels_of(bench), RunSource(scene.run), hidden_of(bench.subject)
    probe, compared = bench.subject.probe, 0
    assert len(maps(bench).boxes) == 7
    for (index, unit), (x, y, wide, high) in maps(bench).boxes.items():
        for across, down in ((0.2, 0.25), (0.75, 0.3), (0.5, 0.8)):
            place, row = np.array([[-1.5 + 3 * across, 1 - 2 * down]]), layers[index].row
            answer = source.rows(place, [row])[row][0, unit]
            expected = signed_shades(np.array([[answer]]), (-1.0, 1.0), theme)[0, 0].astype(int)
            if np.hypot((probe[0] - place[0, 0]) / 3 * wide, (probe[1] - place[0, 1]) / 2 * high) > 7:
                seen = picture[int(y + down * high), int(x + across * wide)]
                assert np.abs(seen - expected).max() <= 12, (index, unit, across, down)
                compared += 1
    assert compared > 14


def test_the_maps_follow_the_frame_and_looking_changes_nothing():
    one, other = scene_of(4, 3), scene_of(4, 3)
    bench = bench_of(one, keys=KEYS)
    for _ in range(6):
        frame = bench.subject.frame()
        one.run.step()
        bench.update(frame, "", 1 / 30)
        assert (maps(bench).moving, maps(bench).work.moment.frame) == (False, frame)
    other.run.step(6)
    np.testing.assert_array_equal(one.run.values, other.run.values)


@pytest.mark.gl
def test_outputs_without_a_bound_have_a_round_range_and_numbers_that_are_none_leave_the_picture_whole():
    scene = scene_of(4, 3, activation=nn.ReLU)
    drawer = maps(bench_of(scene))
    largest, said = float(np.abs(drawer.work.rows).max()), float(drawer.scale.labels[2][1])
    assert largest <= said <= 2.5 * largest
    assert f"{said:.0e}"[0] in "125"
    scene.run.do(SetWeights(0, np.array([np.nan, 0.0, 1e30])))
    bench = bench_of(scene)
    assert re.fullmatch(r".*e.{,5}", maps(bench).scale.labels[2][1])
    x, y, wide, high = (int(v) for v in maps(bench).boxes[0, 0])
    inks = np.unique(pixels_of(bench)[y + 3 : y + high - 3, x + 3 : x + wide - 3].reshape(-1, 3), axis=0)
    assert np.ptp(inks.sum(axis=1)) > 300  # the checkerboard of what is no number


# ---- the card, and hands


def test_pointing_at_a_map_shows_its_card_with_the_largest_weights():
    with live_hand(scene_of(12, 2)) as hand:
        tensors = {t.name: t.of(hand.run.values) for t in hand.bench.subject.tensors}
        weight, bias = tensors["2.weight"][1], tensors["2.bias"][1]
        hand.view.move(hand.middle(maps(hand.bench).boxes[1, 1]))
        largest = np.argsort(-np.abs(weight))[:4]
        assert {text for text in hand.words() if text.startswith("· h")} == {f"· h{k + 1}" for k in largest}
        numbers = {signed(number) for number in (*weight[largest], bias)}
        assert {"k2", "tanh of", "bias", "and 8 smaller", *numbers} <= set(hand.words())
        hand.view.move((3.0, 3.0))
        assert "tanh of" not in hand.words()


@pytest.mark.parametrize("size", [(640, 360), (1280, 720)])
@pytest.mark.parametrize("hidden", [(4, 2), (8, 8), (6,)])
def test_the_card_leaves_its_neuron_and_the_buttons_free_and_no_word_half_covered(size, hidden):
    with live_hand(make_scene("playground", hidden=hidden), size) as hand:
        drawer, moment = maps(hand.bench), Moment(hand.view.shown, hand.bench.subject.source)
        for unit, box in drawer.boxes.items():
            drawer.hover(middle(box))
            ground = drawer.label(moment, size)[0].shapes[0]
            card = left, top, right, bottom = edges((ground.x, ground.y, ground.width, ground.height))
            assert min(left, top, size[0] - right, size[1] - bottom) >= 0
            assert not any(overlap(card, edges(b)) for b in (box, *(spot.box for spot in drawer.buttons(unit[0]))))
            for one in (edges(item) for item in hand.bench.scenery.reserved if item[3] < 20):
                assert left - 1 <= one[0] < one[2] <= right + 1 or not overlap(card, one, 1.0), unit


def test_plus_and_minus_beside_a_layer_change_it():
    with live_hand(make_scene("playground")) as hand:
        for layer, which, hidden in ((0, 1, (5, 2)), (0, 0, (4, 2)), (1, 3, (4, 2, 2)), (2, 2, (4, 2))):
            hand.view.move(hand.middle(maps(hand.bench).boxes[layer, 0]))
            button = maps(hand.bench).buttons(layer)[which]
            hand.view.move(hand.middle(button.box))
            assert {"layer", button.tip, f"hidden layers: {', '.join(map(str, hidden))}"} <= set(hand.words())
            hand.press(hand.middle(button.box))
            assert [each.units for each in maps(hand.bench).layers] == list(hidden)
            assert len(maps(hand.bench).boxes) == maps(hand.bench).work.rows.shape[2] == sum(hidden)
        hand.view.move((3.0, 3.0))
        assert "layer" not in hand.words()
    for hidden in ((65,), (1,) * 7):
        with pytest.raises(InputError, match="at most 6 hidden layers of at most 64 neurons"):
            other_layers(hidden)
    assert other_layers((64, 1)).words() == "hidden layers 64, 1"


# ---- features


def test_a_feature_of_the_playground_is_switched_on_the_picture_and_undone():
    with live_hand(make_scene("playground")) as hand:
        moment = lambda: Moment(hand.view.shown, hand.bench.subject.source)  # noqa: E731
        for place, on in ((2, [True] * 3), (0, [False, True, True])):
            hand.press(hand.middle(hand.drawer(Features).spots[place].box))
            assert [*hand.drawer(Features).panel.on(moment())] == [*on, *[False] * 4]
            assert hand.bench.layout.plate("1.weight").shape == (4, 3)
        hand.view.move(hand.middle(hand.drawer(Features).spots[0].box))
        assert {"x", "the network does not get it", "click: switch it on"} <= set(hand.words())
        assert hand.run.frame().frozen[:12].reshape(4, 3)[:, 0].all()  # its column stays, frozen
        assert moment().rows(np.array([[0.5, 0.5]]), "0")["0"][0, 0] == hand.run.steps == 0  # it goes on standing
        for _ in range(2):
            hand.do("undo")
        assert [*hand.drawer(Features).panel.on(moment())] == [True, True, *[False] * 5]


def test_a_function_that_raises_takes_its_own_pictures_away_alone():
    def broken(points):
        raise ValueError("no plane")

    panels = NeuronMaps(*AXES, inputs=broken), replace(FEATURES, on=lambda moment: (True,))
    bench = bench_of(scene_of(4, 2, panels=panels))
    notes = "\n".join(bench.side.ground.notes)
    assert re.fullmatch(
        "maps of neurons: .*no plane.*\nfeatures: .*there are 3 features, but 1 on or off, 1 rows", notes
    )
    assert not maps(bench).boxes
    assert not bench.side.moving
    assert "loss" in said_anywhere(bench)
