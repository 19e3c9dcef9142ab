"""`sv.view.cube(w)`: what one cube is given is drawn, picked and kept, wherever its weight goes; bad input is told."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, box_of, overlap, texts
from kit.networks import mlp
from kit.refusals import refusals
from kit.windows import X
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownAttributeError
from scalarviz.run import Scene
from scalarviz.view import cube
from scalarviz.view.cubes.looks import LOOKS
from scalarviz.view.interaction import plate_of
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of

SIZE = (960, 540)
GREEN = (0.1, 0.8, 0.4)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    LOOKS._looks.clear()


def network(*sizes):
    net = mlp(*sizes)(nn)
    net.initialize(seed=1)
    return net


def drawn(bench):
    return offscreen().render(lambda box: bench.slab.draw(bench.camera, box), bench.size).astype(int)


def share_of(bench, flat):
    plate = plate_of(bench.layout, flat)
    return bench.slab.share_of(bench.layout.plates.index(plate), flat - plate.start)


def middle(bench, flat):
    """The pixel in the middle of a cube's face."""
    plate = plate_of(bench.layout, flat)
    x, y = bench.camera.project(plate.corners_of(flat - plate.start, share_of(bench, flat))[4:].mean(axis=0))[0]
    return int(x), int(y)


@pytest.mark.gl
@pytest.mark.parametrize("hidden", [(), (6,), (64, 64)], ids=["cubes", "small cubes", "cells"])
def test_a_colour_is_drawn_on_its_cube_alone(hidden):
    net = network(3, *hidden, 3)
    bench = bench_of(net, SIZE)
    before, handle = drawn(bench), cube(net[0].weight[1][2])
    handle.colour = GREEN
    assert bench.moving
    after, (x, y) = drawn(again(bench)), middle(bench, 5)
    np.testing.assert_allclose(after[y, x], 255 * np.array(GREEN), atol=3)
    changed = np.argwhere(np.any(before != after, axis=2))[::7, ::-1] + 0.5
    assert {bench.pick(tuple(at)) for at in changed.tolist()} <= {5, None}
    handle.colour = None
    np.testing.assert_array_equal(drawn(again(bench)), before)


@pytest.mark.gl
def test_small_hidden_and_coloured_cubes_are_picked_as_drawn_whatever_the_numbers_say():
    """Every cube has a colour of its own, so that the drawn pixel says which one it is."""
    net, rng = network(3, 6, 3), np.random.default_rng(3)
    bench, sizes = bench_of(net, SIZE), {}
    for flat, weight in enumerate(net.weights()):
        handle = cube(weight)
        handle.colour = ((flat + 1) / 255.0, 1.0, 0.0)
        if flat % 3 == 1:
            handle.size = sizes[flat] = float(rng.uniform(0.3, 1))
        if flat % 5 == 2:
            handle.visible, sizes[flat] = False, 0.0
    for by_value in (True, False):
        bench.set_look(sizing=type(bench.sizing)(by_value))
        again(bench)
        assert {flat: share_of(bench, flat) for flat in sizes} == pytest.approx(sizes, abs=0.004)
    image, agreed, hits = drawn(bench), 0, 0
    for x, y in rng.integers((60, 60), (700, 420), (1000, 2)).tolist():
        red, green, blue = image[y, x]
        if green == 255 and blue == 0:  # a main face, unshaded
            hits += 1
            agreed += bench.pick((x + 0.5, y + 0.5)) == red - 1
    assert hits > 60
    assert agreed >= hits - 1  # a pixel on the very edge may go either way


def test_labels_stand_above_their_cubes_and_on_no_other_word():
    net, labels = network(3, 3), ("look here", "and here", "here too")
    for k, label in enumerate(labels):
        cube(net[0].weight[0][k]).label = label
    bench = bench_of(net, SIZE)
    above = texts(sketch for layer in bench.overlays for sketch in layer)
    items = {item.text: item for item in above if item.text in labels}
    for k, label in enumerate(labels):
        x, y = middle(bench, k)
        assert abs(items[label].x - x) < 160
        assert 0 < y - items[label].y < 220
    boxes = [box_of(item) for item in [*items.values(), *texts(bench.sketches)]]
    assert not [1 for k, a in enumerate(boxes[:3]) for b in boxes[k + 1 :] if overlap(a, b)]
    for k in range(3):
        cube(net[0].weight[0][k]).label = ""
    assert not {*labels} & {t.text for layer in again(bench).overlays for sketch in layer for t in sketch.texts}


def test_it_goes_with_the_weight_into_a_run_and_out_again_and_what_is_gone_is_forgotten():
    net = network(3, 3)
    cube(net[0].weight[0][0]).colour = GREEN
    assert LOOKS.looks_of(subject_of(net).source) == {0: LOOKS.look(net[0].weight, 0)}
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy") as taken:
        taken.step(2)
        for thing in (taken, Scene("t", taken)):
            assert list(LOOKS.looks_of(subject_of(thing).source)) == [0]
    assert list(LOOKS.looks_of(subject_of(net).source)) == [0]
    assert cube(net[0].weight[0][0]).colour == GREEN
    a, b = sv.Weight(1.0, name="a"), sv.Weight(-0.5, name="b")
    cube(b).colour = "#1acc66"
    assert list(LOOKS.looks_of(subject_of([a, b]).source)) == [1]
    assert LOOKS.looks_of(subject_of(a).source) == LOOKS.looks_of(subject_of({"w": np.eye(2)}).source) == {}
    assert len(LOOKS._looks) == 2
    del b
    gc.collect()
    assert len(LOOKS._looks) == 1


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


@refusals(
    {
        **{f"{name} = {bad!r}": (lambda it, name=name, bad=bad: setattr(it, name, bad), error, fact)
           for name, rows in BAD.items() for bad, error, fact in rows},
        **{f"cube({bad})": (lambda it, bad=bad: cube(bad), TypeMismatchError, "cube: got", "allowed: a Weight")
           for bad in (1.0, "w", None, nn.Linear(2, 2).weight, np.ones(2), sv.Value(1.0))},
    }
)  # fmt: skip
def test_bad_input_is_told_and_changes_nothing(refusal):
    handle = cube(sv.Weight(1.0, name="w"))
    refusal.check(handle)
    assert repr(handle) == "cube(w)"
