"""What an opened step lights, in all scenes: every colour is a number, and nothing that was there disappears."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, words
from kit.commands import make_scene
from scalarviz import nn
from scalarviz.view.cubes.atlas import NOT_COMPUTED
from scalarviz.view.ink.boxes import ABOUT
from scalarviz.view.ink.theme import rgb
from scalarviz.view.micro.light import dark, height_scale
from scalarviz.view.micro.told import BACKWARD, FORWARD, GRADIENTS, LOSS, UPDATE
from scalarviz.view.micro.walk import Walk, opened, sides
from scalarviz.view.notes.values import colours_at
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.microsteps import pass_seconds
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
SCENES = ("neuron", "rgb", "xor", "playground", "uinn", "expression", "digits", "texture", "microgpt")
MOST = 60
"""Faces of a picture that are looked at."""


class Step(NamedTuple):
    """A step that is opened on a picture."""

    name: str
    bench: Workbench
    walk: Walk

    def stand(self, at: int):
        """Show a micro-step that has come to its end."""
        told = self.walk.told(at)
        self.bench.inside.show(told, runs=False)
        self.bench.update(told.frame, told.headline)
        return told

    def last_of(self, phase: int) -> int:
        """The last micro-step of a phase."""
        return max(at for at, of in enumerate(self.walk.phases, start=1) if of == phase)


@pytest.fixture(scope="module", params=SCENES)
def step(request):
    scene = make_scene(request.param)
    scene.run.step(20)
    subject = subject_of(scene)
    bench = again(Workbench(subject, (1280, 720), keys=(("Space", "run"),)))
    with offscreen():
        walk = Walk(opened(subject, alone=True in sides(subject)), subject, subject.frame())
        yield Step(request.param, bench, walk)
    scene.run.close()


def faces(step: Step, wanted: np.ndarray):
    """Weights of `wanted` whose faces are seen, and the pixel of each."""
    bench, found = step.bench, []
    for plate in (plate for plate in bench.layout.plates if plate.start >= 0):
        places = bench.project(plate.tops + 0.4 * plate.half * (plate.axes[0] + plate.axes[1]))
        for k in np.flatnonzero(wanted[plate.start : plate.start + plate.size])[:: max(1, plate.size // MOST)].tolist():
            at = tuple(places[k].tolist())
            hit = bench.cube_at(at)
            if hit is not None and hit.flat == plate.start + k:
                found.append((plate.start + k, int(at[0] * bench.scale), int(at[1] * bench.scale)))
    return found


def colour_of(step: Step, index: int) -> np.ndarray:
    """What the legend says of a number."""
    slab = step.bench.slab
    number, plate = next(
        (n, p) for n, p in enumerate(step.bench.layout.plates) if 0 <= index - p.start < p.size and p.start >= 0
    )
    return slab.colours_of(number)[index - plate.start]


@pytest.mark.parametrize("phase", [FORWARD, BACKWARD, GRADIENTS])
def test_a_face_has_the_colour_of_its_number_and_light_around_it_changes_none(step, phase):
    told = step.stand(step.last_of(phase))
    bench, lit = step.bench, ~step.bench.colouring.missing(told.frame)
    if not bench.slab.detailed(bench.camera, bench.density):
        assert step.name in ("digits", "texture", "microgpt")  # cubes below six pixels have no face of one colour
        return
    seen = faces(step, lit) + faces(step, ~lit)
    picture = offscreen().render(bench.draw_below, bench.size)
    bench.slab.bloom.shine(None)
    without = offscreen().render(bench.draw_below, bench.size)
    weights = dark(np.asarray(told.frame.values, float), np.zeros(len(lit), bool), bench.theme)
    assert seen
    for index, x, y in seen:
        assert picture[y, x].tolist() == without[y, x].tolist()
        wanted = colour_of(step, index) if lit[index] else weights[index]
        assert picture[y, x] / 255 == pytest.approx(wanted, abs=2.5 / 255), (index, lit[index])


def test_nothing_is_hatched_and_what_has_not_come_has_no_number(step):
    for at in range(1, len(step.walk) + 1, max(1, len(step.walk) // 12)):
        told = step.stand(at)
        assert not step.bench.slab.atlas.marks & NOT_COMPUTED
        for name, row in step.bench.inside.rows(told.frame).activations.items():
            assert told.reached[name].all(), (name, row)


def test_what_was_there_at_rest_is_there_in_a_step(step):
    bench = step.bench
    bench.inside.show(None)
    again(bench)
    kept = {name for name, d in bench.side.drawers.items() if d.worth >= ABOUT and (d.box is not None or d.setting)}
    names = words(bench.scenery.static)
    among = words(bench.side.spread_out())
    step.stand(step.last_of(FORWARD))
    there = {name for name, d in bench.side.drawers.items() if d.box is not None or d.setting}
    assert kept <= there
    now = " ".join(words(bench.scenery.static))
    rows = [name for name in names if not name.startswith("  ")]  # units, which give way where there is no room
    assert [name for name in rows if name not in now] == []
    assert set(among) <= set(words(bench.side.spread_out()))


def test_lit_products_add_up_to_the_sums_and_what_goes_on_to_the_deltas(step):
    walk, opened_step = step.walk, step.walk.opened
    for at, phase in enumerate(walk.phases, start=1):
        told = walk.told(at)
        if phase == FORWARD and told.layer is not None and told.makes in told.sums:
            found = told.sums[told.makes]
            whole = opened_step.means[told.layer.name] if opened_step.trial else walk.frame.activations[told.layer.name]
            assert found.numbers[found.whole] == pytest.approx(np.asarray(whole)[found.whole], rel=1e-5, abs=1e-7)
        if phase == BACKWARD and told.layer is not None and told.layer.weight is not None:
            passed = told.layer.weight.of(np.asarray(told.frame.state["passed on"]))
            there = ~np.isnan(passed).any(axis=0)
            above = np.asarray(opened_step.adjoint_sums[told.reads])
            assert passed.sum(axis=0)[there] == pytest.approx(above[there], rel=1e-6, abs=1e-12)


def test_a_cube_rises_by_its_change_at_one_scale_and_none_leaves_its_tray(step):
    told, bench = step.stand(step.last_of(UPDATE)), step.bench
    change = np.nan_to_num(np.asarray(told.frame.state["change"], float))
    rise = bench.slab.atlas.lift
    np.testing.assert_array_equal(np.sign(rise), np.sign(change.astype(np.float32)))
    moved = change != 0
    scale = rise[moved] * bench.inside._height / change[moved]
    assert scale == pytest.approx(bench.inside._scale, rel=1e-3)
    assert np.abs(rise).max() < 1
    assert f"height: change × {bench.inside._scale:,.10g}" in " ".join(words(bench.parts["numbers"]))
    bench.inside.show(None)
    again(bench)
    assert bench.slab.atlas.lift is None
    assert bench.slab.atlas.instead is None


@pytest.mark.parametrize(("most", "scale"), [(0.5, 1.0), (0.001, 500.0), (0.0, 1.0), (np.inf, 1.0), (60.0, 0.01)])
def test_a_scale_of_heights_is_one_two_or_five(most, scale):
    assert height_scale(np.array([0.0, most, -most / 2, np.nan]), 1.0) == pytest.approx(scale)


def test_numbers_stay_in_backward_and_deltas_stand_beside_them(step):
    told, bench = step.stand(step.last_of(BACKWARD)), step.bench
    before, deltas = bench.inside.rows(told.frame).activations, bench.inside.row_deltas()
    for name, row in walk_rows(step).items():
        np.testing.assert_array_equal(before[name], row)
    assert told.phase > LOSS
    every = [np.asarray(row) for row in step.walk.opened.joined.values()]
    assert all(any(np.array_equal(row, one, equal_nan=True) for one in every) for row in deltas.values())


def walk_rows(step: Step):
    """The numbers of the sample in rows that are drawn."""
    return {name: row for name, row in step.walk.frame.activations.items() if step.bench.layout.activation(name)}


# ---- A convolution's window, dropout, and the flash of the loss.


def own(net, loss, x, y):
    """A step of a user's network, opened with its first sample."""
    net.initialize(seed=1)
    run = sv.Run(net, loss, sv.optim.SGD(list(net.parameters()), lr=0.1), (x, y), batch_size=8, seed=1)
    run.step(5)
    subject = subject_of(sv.Scene(name="own", run=run, probe=x[0].ravel(), probe_target=np.ravel(y[0]) * 1.0))
    bench = again(Workbench(subject, (1280, 720)))
    return Step("own", bench, Walk(opened(subject, alone=True), subject, subject.frame()))


@pytest.fixture(scope="module")
def pictures():
    draw = np.random.default_rng(0)
    net = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.4), nn.Flatten(),
                        nn.Linear(36, 2))  # fmt: skip
    with offscreen():
        yield own(net, nn.CrossEntropyLoss(), draw.normal(size=(16, 2, 6, 8)), draw.integers(0, 2, 16))


def slides(step: Step) -> list[int]:
    """Micro-steps in which a window slides."""
    return [at for at in range(1, len(step.walk) + 1) if len(step.walk.lighting.stops(at)) > 1]


def test_under_a_window_the_kernels_make_what_numpy_makes(pictures):
    check_windows(pictures)


def test_the_digits_windows_too(step):
    if step.name == "digits":
        assert len(slides(step)) == 2
        check_windows(step)
    else:
        assert slides(step) == []


def check_windows(step: Step):
    walk = step.walk
    for at in slides(step):
        told, stage = step.stand(at), walk.stages[walk.steps[at - 1].stage]
        tensors = {t.name.rpartition(".")[2]: t for t in walk.subject.tensors if t.name.startswith(f"{stage.name}.")}
        kernels = tensors["weight"].of(np.asarray(walk.frame.values, float))
        bias = tensors["bias"].of(np.asarray(walk.frame.values, float))
        source = np.asarray(walk.frame.activations[stage.sources[0]], float).reshape(stage.input_shape)
        around = np.pad(source, ((0, 0), (1, 1), (1, 1)))
        seats = np.pad(np.arange(source.size).reshape(source.shape), ((0, 0), (1, 1), (1, 1)), constant_values=-1)
        for stop in told.stops:
            channel, row, column = np.unravel_index(stop.unit, stage.shape)
            products = kernels * around[:, row : row + 3, column : column + 3]
            assert stop.window.place.stage == stage.sources[0]
            assert list(stop.window.place.units) == seats[:, row : row + 3, column : column + 3].ravel().tolist()
            np.testing.assert_allclose(stop.window.products, products.ravel(), rtol=1e-6, atol=1e-9)
            np.testing.assert_array_equal(stop.window.weights, np.r_[tensors["weight"].span])
            made = products.sum(axis=(1, 2, 3)) + bias
            assert walk.opened.means[stage.name][stop.unit] == pytest.approx(made[channel], rel=1e-6, abs=1e-9)
            assert stop.made[stop.unit]
        come = [stop.made.sum() for stop in told.stops]
        assert come == sorted(come)
        assert told.stops[-1].made.all()
        assert abs(walk.opened.means[stage.name]).argmax() == told.stops[-1].unit
        lit = told.frame.state["product"][told.stops[-1].window.weights]
        np.testing.assert_allclose(lit, told.stops[-1].window.products, rtol=1e-6, atol=1e-9)


def test_while_a_window_slides_its_products_light_and_nothing_flashes_over_three_times_a_second(pictures):
    step, bench = pictures, pictures.bench
    (at,) = slides(step)
    seconds, told, seen = pass_seconds(step.walk)[at - 1], step.walk.told(at), []
    bench.inside.show(told, seconds=seconds)
    weights = told.stops[0].window.weights
    for _ in range(round(30 * seconds)):
        stop, colouring = bench.inside._stop, bench.colouring
        bench.update(told.frame, "", 1 / 30)
        seen.append(told.stops.index(stop))
        if stop is not told.stops[-1]:
            unit = np.clip(colouring.range.unit(stop.window.products), 0, 1)
            assert bench.slab.atlas.instead[weights] == pytest.approx(colours_at(colouring.cmap, unit), abs=1e-6)
            row = bench.slab.atlas.span(bench.layout.activation(stop.row))
            waits = bench.slab.atlas.instead[row][~stop.made]
            assert waits == pytest.approx(np.tile(rgb(bench.theme.tray), (len(waits), 1)), abs=1e-6)
    changes = np.flatnonzero(np.diff(seen))
    assert sorted(set(seen)) == list(range(len(told.stops)))
    assert np.diff(changes).min() >= 30 // 6 - 1
    assert len(changes) <= 6 * seconds  # a flash is two


def test_what_is_struck_out_stays_dark_forward_and_back(pictures):
    step = pictures
    stage = next(stage for stage in step.walk.subject.stages if stage.kind == "dropout")
    rows = step.walk.opened.rows
    struck = (rows[stage.name][:, 0] == 0) & (rows[stage.sources[0]][:, 0] != 0)
    assert 0 < struck.sum() < len(struck)
    assert np.abs(step.walk.opened.joined[stage.name][struck]).max() > 0  # what would come, were they not
    told = step.stand(step.last_of(FORWARD))
    assert (told.frame.activations[stage.name][struck] == 0).all()
    step.stand(step.last_of(BACKWARD))
    assert (step.bench.inside.row_deltas()[stage.name][struck] == 0).all()


def test_the_loss_flashes_once(step):
    bench, told = step.bench, step.walk.told(step.last_of(LOSS))
    bench.inside.show(told, seconds=0.6)
    light = []
    for _ in range(20):
        bench.update(told.frame, told.headline, 1 / 30)
        over = [shape for sketch in bench.inside.overlay(0.0) for shape in sketch.shapes]
        light.append(max([shape.fill[3] for shape in over if getattr(shape, "fill", None)], default=0.0))
    top = int(np.argmax(light))
    assert max(light) > 0.2
    assert (np.diff(light[: top + 1]) > 0).all()
    assert (np.diff(light[top:18]) < 0).all()
    assert light[-1] == 0
    bench.inside.show(told, runs=False)
    assert not any(sketch.shapes for sketch in bench.inside.overlay(None))
