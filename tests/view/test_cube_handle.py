"""`sv.view.cube(w)`: what one cube is given is drawn, picked and kept, wherever its weight goes; bad input is told."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, box_of, overlap, texts
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownAttributeError
from scalarviz.run import Scene
from scalarviz.view import cube, render
from scalarviz.view.cubes.own import LOOKS
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror

SIZE = (960, 540)
X = np.random.default_rng(0).random((16, 3))
GREEN = (0.1, 0.8, 0.4)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    LOOKS._looks.clear()


def run(*hidden, steps=3):
    sizes, layers = (3, *hidden, 3), []
    for k in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[k], sizes[k + 1], seed=k + 1), nn.Sigmoid()]
    net = nn.Sequential(*layers)
    made = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy")
    made.step(steps)
    return made


def drawn(bench):
    return offscreen().render(lambda box: bench.slab.draw(bench.camera, box), bench.size)


def middle(bench, flat):
    """The pixel in the middle of a cube's face."""
    plate = next(p for p in bench.layout.plates if p.kind != "activation" and p.start <= flat < p.start + p.size)
    share = bench.slab.share_of(bench.layout.plates.index(plate), flat - plate.start)
    x, y = bench.camera.project(plate.corners_of(flat - plate.start, share)[4:].mean(axis=0))[0]
    return int(x), int(y)


@pytest.mark.gl
@pytest.mark.parametrize("hidden", [(), (6,), (64, 64)], ids=["cubes", "small cubes", "cells"])
def test_a_colour_is_drawn_on_its_cube_alone(hidden):
    made = run(*hidden)
    bench = bench_of(made, SIZE)
    before = drawn(bench)
    handle = cube(made.model[0].weight[1][2])
    handle.colour = GREEN
    assert bench.moving
    after = drawn(again(bench))
    assert bench.slab.own_version == LOOKS.version
    x, y = middle(bench, 5)
    np.testing.assert_allclose(after[y, x], 255 * np.array(GREEN), atol=3)
    rows, cols = np.nonzero(np.any(before != after, axis=2))
    assert {bench.pick((col + 0.5, row + 0.5)) for row, col in zip(rows[::7], cols[::7], strict=True)} <= {5, None}
    handle.colour = None
    np.testing.assert_array_equal(drawn(again(bench)), before)


@pytest.mark.gl
def test_what_is_not_visible_is_not_picked_and_a_size_is_a_share_whatever_the_number_says():
    made = run()
    bench = bench_of(made, SIZE)
    x, y = middle(bench, 4)
    handle = cube(made.model[0].weight[1][1])
    for handle.visible in (True, False, True):
        assert (again(bench).pick((x + 0.5, y + 0.5)) == 4) == handle.visible
    handle.size = 0.5
    for by_value in (False, True):
        bench.set_look(sizing=type(bench.sizing)(by_value))
        again(bench)
        assert bench.slab.share_of(next(k for k, p in enumerate(bench.layout.plates) if p.start == 0), 4) == 0.5
    x, y = middle(bench, 4)
    assert bench.pick((x + 0.5, y + 0.5)) == 4


@pytest.mark.gl
def test_a_thousand_pixels_of_small_hidden_and_coloured_cubes_are_picked_as_drawn():
    """Every cube has a colour of its own, so that the drawn pixel says which one it is."""
    made, rng = run(6), np.random.default_rng(3)
    weights = list(made.model.weights())
    for number, weight in enumerate(weights):
        handle = cube(weight)
        handle.colour = ((number + 1) / 255.0, 1.0, 0.0)
        if number % 3 == 1:
            handle.size = float(rng.uniform(0.3, 1))
        handle.visible = number % 5 != 2
    bench = bench_of(made, SIZE)
    image = drawn(bench).astype(int)
    flat = {number + 1: weight._block.start + weight._index for number, weight in enumerate(weights)}
    agreed = hits = 0
    for x, y in rng.integers((60, 60), (700, 420), (1000, 2)):
        red, green, blue = image[y, x]
        picked = bench.pick((x + 0.5, y + 0.5))
        if green == 255 and blue == 0:  # a main face, unshaded
            hits += 1
            agreed += picked == flat[red]
    assert hits > 60
    assert agreed >= hits - 1  # a pixel on the very edge may go either way


@pytest.mark.gl
def test_labels_stand_above_their_cubes_and_on_no_other_word():
    made = run()
    labels = ("look here", "and here", "here too")
    for k, label in enumerate(labels):
        cube(made.model[0].weight[0][k]).label = label
    bench = bench_of(made, SIZE)
    items = {t.text: t for layer in bench.overlays for sketch in layer for t in sketch.texts if t.text in labels}
    for k, label in enumerate(labels):
        x, y = middle(bench, k)
        assert abs(items[label].x - x) < 160
        assert 0 < y - items[label].y < 220
    boxes = [box_of(item) for item in [*items.values(), *texts(bench.sketches)]]
    assert not [1 for k, a in enumerate(boxes[:3]) for b in boxes[k + 1 :] if overlap(a, b)]
    for k in range(3):
        cube(made.model[0].weight[0][k]).label = ""
    found = [t.text for layer in again(bench).overlays for sketch in layer for t in sketch.texts]
    assert not {*labels} & {*found}


@pytest.mark.gl
def test_it_goes_with_the_weight_into_a_run_and_out_again():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    cube(net[0].weight[0][0]).colour = GREEN
    assert LOOKS.of(subject_of(net).source) == {0: LOOKS.look(net[0].weight, 0)}
    made = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    made.step(2)
    assert list(LOOKS.of(subject_of(made).source)) == [0]
    assert list(LOOKS.of(subject_of(Scene("t", made)).source)) == [0]
    made.close()
    assert list(LOOKS.of(subject_of(net).source)) == [0]
    assert cube(net[0].weight[0][0]).colour == GREEN


@pytest.mark.gl
def test_lone_weights_and_lists_too():
    a, b = sv.Weight(1.0, name="a"), sv.Weight(-0.5, name="b")
    cube(b).colour = "#1acc66"
    assert list(LOOKS.of(subject_of([a, b]).source)) == [1]
    assert LOOKS.of(subject_of(a).source) == {}
    assert LOOKS.of(subject_of({"w": np.eye(2)}).source) == {}
    bench = bench_of([a, b], SIZE)
    x, y = middle(bench, 1)
    np.testing.assert_allclose(drawn(bench)[y, x], (0x1A, 0xCC, 0x66), atol=2)


@pytest.mark.gl
def test_windows_and_pictures_show_it_and_training_is_the_same_with_it():
    made, plain_run = run(), run()
    handle = cube(made.model[0].weight[0][0])
    plain = render(made, SIZE)
    for make in (
        lambda size: LiveView(Scene("t", made), size, playing=False),
        lambda size: Mirror(subject_of(made), size),
    ):
        host = Unseen(make, SIZE)
        with offscreen():
            for _ in range(5):
                host.view.tick(0.3)
        before = host.picture()
        handle.colour = GREEN
        with offscreen():
            assert host.view.tick(0.3)
        assert np.any(host.picture() != before)
        handle.reset()
        host.view.close()
    handle.colour = GREEN
    assert np.any(render(made, SIZE) != plain)
    made.step(20)
    plain_run.step(20)
    np.testing.assert_array_equal(plain_run.values, made.values)


def test_what_is_gone_is_forgotten():
    w = sv.Weight(1.0)
    cube(w).label = "soon gone"
    assert len(LOOKS._looks) == 1
    del w
    gc.collect()
    assert len(LOOKS._looks) == 0


def test_a_handle_says_what_it_knows():
    w = sv.Weight(1.0, name="w")
    assert repr(cube(w)) == "cube(w)"
    handle = cube(w)
    handle.size, handle.label = 0.25, "small"
    assert repr(cube(w)) == "cube(w, size=0.25, label='small')"
    assert cube(w).colour is None
    assert cube(w).visible
    handle.reset()
    assert repr(cube(w)) == "cube(w)"
    assert len(LOOKS._looks) == 0


@pytest.mark.parametrize("given", [1.0, "w", None, nn.Linear(2, 2).weight, np.ones(2), sv.Value(1.0)])
def test_only_a_weight_has_a_cube(given):
    with pytest.raises(TypeMismatchError, match=r"cube: got .*; allowed: a Weight"):
        cube(given)


BAD = {
    "colour": [("red", InputError, "#rrggbb"), ("#12345", InputError, "#rrggbb"), (3, TypeMismatchError, "#rrggbb"),
               ((1, 2, 3), InputError, "from 0 to 1"), ((0, 1), InputError, "three numbers"),
               ((0, 0, float("nan")), InputError, "from 0 to 1"), (("a", 1, 1), TypeMismatchError, "three numbers")],
    "size": [(0, InputError, "visible = False hides it"), (1.5, InputError, "up to 1"),
             (float("nan"), InputError, "up to 1"), ("large", TypeMismatchError, "a number"),
             (True, TypeMismatchError, "a number")],
    "visible": [(3, TypeMismatchError, "visible"), (None, TypeMismatchError, "visible")],
    "label": [(3, TypeMismatchError, "label"), ("two\nlines", InputError, "one line"), ("x" * 61, InputError, "60")],
    "color": [("#ffffff", UnknownAttributeError, "colour, size, visible and label")],
    "weight": [(None, UnknownAttributeError, "colour")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "error", "said"), [(name, *case) for name, cases in BAD.items() for case in cases]
)
def test_bad_input_is_told_and_changes_nothing(name, given, error, said):
    handle = cube(sv.Weight(1.0, name="w"))
    with pytest.raises(error, match=said):
        setattr(handle, name, given)
    assert repr(handle) == "cube(w)"
