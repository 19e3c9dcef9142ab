"""Small maps among the cubes, and features: what they show, where they stand, what a hand finds there."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from scalarviz.scenes.playground.panels import other_layers

import scalarviz as sv
from kit.benches import KEYS, bench_of, middle, pixels_of, said_anywhere, text_boxes
from kit.commands import make_scene
from kit.windows import Window
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.edits import AddToWeights, SetWeights
from scalarviz.run.panels import Axis, Features, LossCurve, NeuronMaps, PlaneMap
from scalarviz.run.source import RunSource
from scalarviz.view.ink.maps import signed_shades
from scalarviz.view.ink.sketch import Path, Polygon, meet
from scalarviz.view.panels.neuron_card import hidden_of
from scalarviz.view.panels.neuron_maps import rounded_up
from scalarviz.view.space.chain import chain_of
from scalarviz.view.space.layout import layout_for
from scalarviz.view.space.lying import WAYS, Turns

RNG = np.random.default_rng(8)
X = RNG.uniform(-1, 1, (30, 2))
AXES = Axis("x", -1.5, 1.5), Axis("y", -1.0, 1.0)
MAPS = NeuronMaps(*AXES)
NAMES = ("x", "y", "xy")
FEATURES = Features(
    NAMES, *AXES, lambda p: np.stack([p[:, 0], p[:, 1], p[:, 0] * p[:, 1]], 1), lambda moment: (True, True, False)
)


class Squares(nn.Module):
    """A point and its squares."""

    stage = "features"

    def forward(self, row):
        return [*row, *(value * value for value in row)]


def scene_of(*hidden, activation=nn.Tanh, panels=(MAPS,), before=None):
    layers, count = ([before] if before else []), 4 if before else 2
    for k, units in enumerate(hidden):
        layers += [nn.Linear(count, units, seed=k + 1), activation()]
        count = units
    net = nn.Sequential(*layers, nn.Linear(count, 1, seed=9))
    data = X, np.sign(X[:, :1] * X[:, 1:])
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy", seed=0)
    run.step(3)
    plane = PlaneMap("the plane", *AXES, span=(-1.0, 1.0))
    return sv.Scene("s", run, input_names=("x", "y"), panels=(plane, LossCurve(), *panels))


def maps(bench):
    return bench.side.drawers["neurons"]


# ---- where the cubes stand


def network(*sizes):
    net = nn.Sequential(*[m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.Tanh())])
    data = np.zeros((2, sizes[0])), np.zeros((2, sizes[-1]))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy")
    return run.tensors, run.stages


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("sizes", [(2, 3, 1), (7, 8, 8, 1), (2, 3, 5, 4, 2, 3), (2, 12, 8, 1), (2, 2, 2, 2, 2, 2, 1)])
def test_the_flow_turns_and_every_output_meets_its_input(sizes, rows):
    tensors, stages = network(*sizes)
    layout = layout_for(tensors, stages, (1280, 720), turns=Turns(rows=rows))
    assert layout.turns
    chain = chain_of(tensors, stages)
    spots = [p for p in (layout.plates if rows else layout.spots) if p.kind == "activation" and p.name != "input"]
    assert [p.name for p in spots] == [layer.row for layer in chain][: len(chain) if rows else -1]
    for k, (layer, spot) in enumerate(zip(chain, spots, strict=False)):
        plate = layout.plate(layer.weight.name)
        want = {"down": [0.0, -1.0], "right": [1.0, 0.0], "up": [0.0, 1.0]}[WAYS[k % 4]]
        along = spot.cell_centre(0)[:2] - plate.cell_centre(0, 0)[:2]
        assert along @ want > 0
        assert abs(along @ plate.axes[0][:2][::-1]) < 1e-9 or WAYS[k % 4] == "up"
        if k + 1 < len(chain):
            following = layout.plate(chain[k + 1].weight.name)
            for unit in range(layer.outputs):  # a unit, its map and its column are in one line
                way = following.cell_centre(0, unit)[:2] - spot.cell_centre(unit)[:2]
                assert abs(way @ np.array([want[1], -want[0]])) < 1e-9
    for one, other in combinations([plate.bounds for plate in layout.plates], 2):
        assert (one[0] >= other[1] - 1e-9).any() or (other[0] >= one[1] - 1e-9).any()


def test_other_networks_stand_as_before():
    for sizes in ((2, 1), (2, 30, 1)):
        tensors, stages = network(*sizes)
        plain, asked = (layout_for(tensors, stages, (1280, 720), turns=turns) for turns in (None, Turns()))
        assert not asked.turns
        assert [p.name for p in plain.plates] == [p.name for p in asked.plates]
    small = layout_for(*network(2, 4, 1), (320, 320), (0.0, 0.0, 60.0, 60.0), turns=Turns())
    assert not small.turns  # cubes would be too small


def test_what_is_made_of_a_sample_first_is_what_the_first_layer_reads():
    run = scene_of(4, 2, before=Squares()).run
    chain = chain_of(run.tensors, run.stages)
    assert [layer.weight.shape for layer in chain] == [(4, 4), (2, 4), (1, 2)]
    assert chain[0].source == run.stages[0].name
    plain = layout_for(run.tensors, run.stages, (1280, 720))
    assert plain.activation(run.stages[0].name).size == 4
    assert plain.activation("input") is None


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
        assert not maps(bench).moving
        assert maps(bench).work.moment.frame is frame
    other.run.step(6)
    np.testing.assert_array_equal(one.run.values, other.run.values)


def test_outputs_without_a_bound_have_a_round_range_that_the_legend_says():
    bench = bench_of(scene_of(4, 3, activation=nn.ReLU))
    largest = rounded_up(float(np.abs(maps(bench).work.rows).max()))
    scale = maps(bench).scale
    assert (scale.note, float(scale.labels[2][1])) == ("relu", largest)
    assert {"output of a neuron", scale.labels[0][1], scale.labels[2][1]} <= set(said_anywhere(bench))
    for value, rounded in ((0.011, 0.02), (0.5, 0.5), (0.51, 1.0), (3.0, 5.0), (0.0, 1.0), (np.nan, 1.0)):
        assert rounded_up(value) == pytest.approx(rounded)


@pytest.mark.gl
def test_numbers_that_are_too_large_or_none_leave_the_picture_whole():
    scene = scene_of(4, 3, activation=nn.ReLU)
    scene.run.do(SetWeights(0, np.array([np.nan, 0.0, 1e30])))
    bench = bench_of(scene)
    assert "e" in maps(bench).scale.labels[2][1]
    assert all(len(text) < 9 for _, text in maps(bench).scale.labels)
    assert len(maps(bench).boxes) == 7
    x, y, wide, high = (int(v) for v in maps(bench).boxes[0, 0])
    inks = np.unique(pixels_of(bench)[y + 3 : y + high - 3, x + 3 : x + wide - 3].reshape(-1, 3), axis=0)
    assert np.ptp(inks.sum(axis=1)) > 300  # the checkerboard of what is no number


@pytest.mark.parametrize("size", [(640, 360), (1280, 720), (720, 1080)])
@pytest.mark.parametrize("hidden", [(4, 2), (8, 8), (4, 4, 3), (16,)])
def test_nothing_lies_on_anything_else(size, hidden):
    bench = bench_of(scene_of(*hidden, panels=(MAPS, FEATURES)), size, keys=KEYS)
    boxes, (left, _, width, _) = [*maps(bench).boxes.values()], bench.places.scene
    if not bench.layout.turns:
        return
    assert len(boxes) == sum(hidden)
    corners = [bench.project(p.corners_of(k)) for p in bench.layout.plates for k in range(p.size)]
    cubes = [(*flat.min(axis=0), *np.ptp(flat, axis=0)) for flat in corners]
    texts = [box for box, _ in text_boxes(*bench.scenery.static, *bench.side.spread_out())]
    for k, box in enumerate(boxes):
        assert left <= box[0] <= box[0] + box[2] <= left + width
        assert not any(meet(box, other) for other in boxes[:k])
        assert not any(meet(box, cube, -3.0) for cube in cubes)
        assert not any(meet(box, text, -1.0) for text in texts)
    for k, box in enumerate(texts):
        assert 0 <= box[0] <= box[0] + box[2] <= bench.places.size[0]
        assert not any(meet(box, other, -1.0) for other in texts[:k])


@pytest.mark.parametrize("size", [(1024, 768), (1920, 1080)])
def test_all_neurons_of_the_default_playground_are_named(size):
    """Beside their maps, of which none lies on a name."""
    scene = make_scene("playground")
    with scene.run:
        bench = bench_of(scene, size, keys=KEYS)
        names = {text: box for box, text in text_boxes(*bench.side.spread_out())}
        assert {"h1", "h2", "h3", "h4", "k1", "k2"} <= set(names)
        for name in ("h1", "h4", "k1", "k2"):
            assert not any(meet(names[name], box) for box in maps(bench).boxes.values())


# ---- the card


def test_pointing_at_a_map_shows_its_card_with_the_largest_weights():
    with Window(scene_of(12, 2)) as window:
        tensors = {t.name: t.of(window.run.values) for t in window.bench.subject.tensors}
        weight, bias = tensors["2.weight"][1], tensors["2.bias"][1]
        window.move(middle(maps(window.bench).boxes[1, 1]))
        largest = np.argsort(-np.abs(weight))[:4]
        assert {text for text in window.words if text.startswith("· h")} == {f"· h{k + 1}" for k in largest}
        numbers = {f"{number:+.2f}".replace("-", "\N{MINUS SIGN}") for number in (*weight[largest], bias)}
        assert {"k2", "tanh of", "bias", "and 8 smaller", *numbers} <= set(window.words)
        window.move((3.0, 3.0))
        assert "tanh of" not in window.words


@pytest.mark.parametrize("size", [(640, 360), (1280, 720)])
@pytest.mark.parametrize("hidden", [(4, 2), (8, 8), (6,)])
def test_the_card_leaves_its_neuron_and_the_buttons_free_and_no_word_half_covered(size, hidden):
    with Window(make_scene("playground", hidden=hidden), size) as window:
        drawer, moment = maps(window.bench), window.bench.subject.source
        said = [item for item in window.bench.scenery.reserved if item[3] < 20]
        assert said or size[0] < 1000  # over the arrow that leaves the last layer, where there is room for it
        for unit, box in drawer.boxes.items():
            drawer.hover(middle(box))
            (first, *_) = drawer.label(sv.run.Moment(window.view.shown, moment), size)
            ground = first.shapes[0]
            card = ground.x, ground.y, ground.width, ground.height
            assert 0 <= ground.x <= ground.x + ground.width <= size[0]
            assert 0 <= ground.y <= ground.y + ground.height <= size[1]
            assert not any(meet(card, other) for other in (box, *(spot.box for spot in drawer.buttons(unit[0]))))
            for x, y, wide, high in said:
                whole = ground.x <= x + 1 and x + wide <= ground.x + ground.width + 1
                assert whole or not meet(card, (x, y, wide, high), -1.0), unit


# ---- hands


def test_plus_and_minus_beside_a_layer_change_it():
    with Window(make_scene("playground")) as window:
        for layer, which, hidden in ((0, 1, (5, 2)), (0, 0, (4, 2)), (1, 3, (4, 2, 2)), (2, 2, (4, 2))):
            window.move(middle(maps(window.bench).boxes[layer, 0]))
            button = maps(window.bench).buttons(layer)[which]
            window.move(middle(button.box))
            assert {"layer", button.tip, f"hidden layers: {', '.join(map(str, hidden))}"} <= set(window.words)
            window.press(middle(button.box))
            assert [each.units for each in maps(window.bench).layers] == list(hidden)
            assert len(maps(window.bench).boxes) == sum(hidden)
            assert maps(window.bench).work.rows.shape[2] == sum(hidden)
        window.move((3.0, 3.0))
        assert "layer" not in window.words


def test_buttons_lie_on_no_map_and_are_reached_from_their_layer():
    change = replace(MAPS, change=lambda hidden: None)
    with Window(scene_of(4, 2, 1, panels=(change,))) as window:
        found = maps(window.bench)
        for layer, count in ((0, 4), (1, 4), (2, 3)):  # the last neuron stays
            buttons = found.buttons(layer)
            assert len(buttons) == count
            for button in buttons:
                assert not any(meet(button.box, box) for box in found.boxes.values())
                start, end = (np.array(middle(box)) for box in (found.boxes[layer, 0], button.box))
                for share in np.linspace(0, 1, 30):  # on the way to it nothing is lost
                    window.view.move(tuple(start + share * (end - start)))
                    assert found.covers(tuple(start + share * (end - start)))
                window.move(middle(button.box))
                assert button.tip in window.words
    still = bench_of(scene_of(4, 2, panels=(change,)))
    assert maps(still).buttons(0) == []  # nobody could press them


def test_more_than_there_may_be_is_refused_in_words():
    for hidden in ((65,), (1,) * 7):
        with pytest.raises(InputError, match="at most 6 hidden layers of at most 64 neurons"):
            other_layers(hidden)
    assert other_layers((64, 1)).words() == "hidden layers 64, 1"


def test_an_opened_step_and_cubes_alone_have_rows_in_the_place_of_maps():
    with Window(scene_of(4, 2, panels=(MAPS, FEATURES))) as window:
        assert window.bench.layout.spots
        window.send("micro_next")
        assert window.bench.inside.told is not None
        assert window.bench.layout.turns
        assert not window.bench.layout.spots
        assert not maps(window.bench).setting
        rows = {p.name for p in window.bench.layout.plates if p.kind == "activation"}
        assert rows == {"input", "1", "3", "4"}


# ---- features


def spots(window):
    return [spot.box for spot in window.bench.side.drawers["features"].spots]


@pytest.mark.gl
def test_features_that_are_off_are_dim_and_have_no_switch_without_a_hand():
    bench = bench_of(scene_of(4, 2, panels=(MAPS, FEATURES)))
    picture = pixels_of(bench)
    rects = [s for sketch in bench.sketches for s in sketch.small][-1].rects
    assert len(rects) == 3
    inks = [picture[int(y) + 2 : int(y + h) - 2, int(x) + 2 : int(x + w) - 2] for x, y, w, h in rects]
    shares = [np.ptp(part.max(axis=2)) for part in inks]
    assert shares[2] < 0.5 * min(shares[:2])
    assert bench.side.drawers["features"].spots == []
    assert {"features", *NAMES} <= set(said_anywhere(bench))


def test_a_line_leads_from_a_feature_to_its_cubes_which_are_dim_while_it_is_off():
    features = replace(FEATURES, on=lambda moment: (True, False, False), rows=lambda moment: (0, 1, None))
    bench = bench_of(scene_of(4, 2, panels=(MAPS, features)))
    shapes = [shape for sketch in bench.side.spread_out() for shape in sketch.shapes]
    (line,) = [shape for shape in shapes if isinstance(shape, Path)]
    dim = [shape for shape in shapes if isinstance(shape, Polygon)]
    weights = bench.layout.plate("0.weight")
    assert len(dim) == 4
    for unit, face in enumerate(dim):
        centre = bench.project([weights.cell_corners(unit, 1)[4:].mean(axis=0)])[0]
        assert np.hypot(*(face.points.mean(axis=0) - centre)) < 5
    assert np.hypot(*(line.points[-1] - bench.project([weights.cell_centre(0, 0)])[0])) < 60


def test_a_click_on_a_feature_does_what_the_scene_makes_of_it():
    features = replace(FEATURES, change=lambda name: AddToWeights(0, np.array([float(NAMES.index(name))])))
    with Window(scene_of(4, 2, panels=(MAPS, features))) as window:
        before = window.run.values[0]
        window.press(middle(spots(window)[2]))
        assert window.run.values[0] == pytest.approx(before + 2.0)
        window.move(middle(spots(window)[1]))
        assert {"y", "the network gets it", "click: switch it off"} <= set(window.words)


def test_a_feature_of_the_playground_is_switched_on_the_picture_and_undone():
    with Window(make_scene("playground"), playing=False) as window:
        moment = lambda: sv.run.Moment(window.view.shown, window.bench.subject.source)  # noqa: E731
        panel = window.drawer(Features).panel
        window.press(middle(spots(window)[2]))
        assert [*panel.on(moment())] == [True, True, True, *[False] * 4]
        assert window.bench.layout.plate("1.weight").shape == (4, 3)
        window.press(middle(spots(window)[0]))
        assert [*panel.on(moment())] == [False, True, True, *[False] * 4]
        assert window.run.frame().frozen[:12].reshape(4, 3)[:, 0].all()  # its column stays, frozen
        assert moment().rows(np.array([[0.5, 0.5]]), "0")["0"][0, 0] == 0.0
        assert window.run.steps == 0  # a run that stands goes on standing
        for _ in range(2):
            window.send("undo")
        assert [*panel.on(moment())] == [True, True, *[False] * 5]


@pytest.mark.parametrize("hidden", [(), (40, 3)])
def test_features_stand_left_of_cubes_that_do_not_turn(hidden):
    with Window(make_scene("playground", hidden=hidden)) as window:
        assert not window.bench.layout.turns
        assert len(spots(window)) == 7
        right = max(x + wide for x, _, wide, _ in spots(window))
        assert right < min(window.bench.project(plate.corners)[:, 0].min() for plate in window.bench.layout.plates)
        window.press(middle(spots(window)[2]))
        assert len(window.run.log) == 1


def test_a_function_that_raises_takes_its_own_pictures_away_alone():
    def broken(points):
        raise ValueError("no plane")

    panels = NeuronMaps(*AXES, inputs=broken), replace(FEATURES, on=lambda moment: (True,))
    bench = bench_of(scene_of(4, 2, panels=panels))
    assert [note.partition(":")[0] for note in bench.side.ground.notes] == ["maps of neurons", "features"]
    assert "no plane" in bench.side.ground.notes[0]
    assert "there are 3 features, but 1 on or off, 1 rows" in bench.side.ground.notes[1]
    assert not maps(bench).boxes
    assert not bench.side.moving
    assert "loss" in said_anywhere(bench)
