"""What an opened step lights, in all scenes: every colour is a number, and nothing that was there disappears."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from kit.benches import again, texts, words
from kit.commands import make_scene
from scalarviz.view.cubes.atlas import NOT_COMPUTED
from scalarviz.view.ink.boxes import ABOUT
from scalarviz.view.ink.sketch import Lines, Rect, meet
from scalarviz.view.ink.text import CAP_HEIGHT
from scalarviz.view.micro.light import dark, height_scale
from scalarviz.view.micro.told import BACKWARD, FORWARD, GRADIENTS, LOSS, UPDATE
from scalarviz.view.micro.walk import Walk, opened, sides
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
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


@pytest.mark.parametrize("size", [(1280, 720), (680, 510), (640, 360), (560, 420), (375, 812)])
def test_a_link_runs_in_gaps_and_covers_no_face_of_its_layer(step, size):
    step, met = step._replace(bench=again(Workbench(step.bench.subject, size))), 0
    bench = step.bench
    for at in range(1, len(step.walk) + 1, max(1, len(step.walk) // 12)):
        told = step.stand(at)
        wires = None if told.phase == UPDATE else bench.inside._wires()
        if wires is None:
            continue
        links = wires[0].sketch(wires[1], bench.theme, bench.colouring.cmap)
        ends = [(item.starts, item.ends) for item in links.shapes if isinstance(item, Lines)]
        along = np.concatenate([a + t * (b - a) for a, b in ends for t in np.linspace(0, 1, 25)] or [np.zeros((0, 2))])
        own = (told.layer.weight, told.layer.bias)
        for plate in (plate for plate in bench.layout.plates if plate.name in [t.name for t in own if t is not None]):
            quads = bench.project(np.concatenate([plate.corners_of(k)[[4, 5, 7, 6]] for k in range(plate.size)]))
            for element, quad in enumerate(quads.reshape(-1, 4, 2)):
                on = along[within(along, quad) > 2.0]
                hits = [bench.cube_at((float(x), float(y))) for x, y in on[:3]]  # else that face is hidden there
                assert not any(hit is not None and hit.flat == plate.start + element for hit in hits), (at, element)
        met += len(along)
    assert met or step.name in ("neuron", "expression", "digits", "texture", "microgpt")  # no links there


@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (680, 510), (640, 360), (560, 420), (375, 812)])
def test_a_chip_lies_on_no_name_and_on_no_lit_face(step, size):
    step = step._replace(bench=again(Workbench(step.bench.subject, size)))
    bench = step.bench
    for phase in (FORWARD, BACKWARD, GRADIENTS):
        told = step.stand(step.last_of(phase))
        shapes = [shape for sketch in bench.parts["numbers"] for shape in sketch.tops if isinstance(shape, Rect)]
        chips = [(one.x, one.y, one.width, one.height) for one in shapes if (one.radius, one.height) == (5, 18)]
        written = texts([*bench.side.spread_out(), *bench.scenery.static])
        names = [(one.left, one.y - CAP_HEIGHT * one.size, one.width, CAP_HEIGHT * one.size) for one in written]
        assert not any(meet(chip, name) for chip in chips for name in names), (step.name, size, phase)
        lit = ~bench.colouring.missing(told.frame)
        for plate in (plate for plate in bench.layout.plates if plate.start >= 0 and chips):
            for element in np.flatnonzero(lit[plate.start : plate.start + plate.size]).tolist():
                quad = bench.project(plate.corners_of(element)[[4, 5, 7, 6]])
                for x, y, wide, high in chips:
                    grid = np.stack(np.meshgrid(np.linspace(x, x + wide, 9), np.linspace(y, y + high, 5)), -1)
                    assert within(grid.reshape(-1, 2), quad).max() <= 3, (step.name, size, phase)  # its rim
        if size == (1280, 720) and step.name == "playground":  # each number has its place
            rows = [
                row for name, row in step.walk.frame.activations.items() if name != step.bench.subject.stages[-1].name
            ]
            assert len(chips) >= len(rows)


def within(points: np.ndarray, quad: np.ndarray) -> np.ndarray:
    """How many pixels points (N, 2) lie inside of a convex quadrangle (4, 2); negative: outside."""
    edges, to = np.roll(quad, -1, axis=0) - quad, points[:, None] - quad
    turned = (edges[:, 0] * to[..., 1] - edges[:, 1] * to[..., 0]) / np.hypot(*edges.T)
    (a, b), (c, d) = edges[:2]
    return (turned * np.sign(a * d - b * c)).min(axis=1)


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
