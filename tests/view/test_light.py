"""What an opened step lights, in all scenes: every colour is a number, and nothing that was there disappears."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, texts, words
from kit.commands import make_scene
from scalarviz import nn, optim
from scalarviz.run.opened.digits import number
from scalarviz.run.opened.equations import PASSED
from scalarviz.run.opened.micro import module_path
from scalarviz.run.panels import CurveFit, Painting, PlaneMap, Table, WordBoard
from scalarviz.run.questions.ranges import weight_extent
from scalarviz.view.cubes.atlas import DEAD, NOT_COMPUTED
from scalarviz.view.cubes.scale import LIT
from scalarviz.view.ink.boxes import ABOUT, COLUMN
from scalarviz.view.ink.sketch import Cells, Lines, Rect, meet, rgba
from scalarviz.view.ink.text import CAP_HEIGHT
from scalarviz.view.ink.theme import rgb
from scalarviz.view.micro.beside_cubes import SENTENCE, sentence
from scalarviz.view.micro.light import dark, height_scale
from scalarviz.view.micro.step_view import BACKWARD, FORWARD, GRADIENTS, LOSS, UPDATE
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.micro.wires import SECONDS
from scalarviz.view.notes.scenery import colours_at
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels import one_step
from scalarviz.view.panels.attention import percent, quoted
from scalarviz.view.screen.hud import state_of
from scalarviz.view.shown.names import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.microsteps import pass_seconds
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
SCENES = ("neuron", "rgb", "xor", "playground", "uinn", "expression", "digits", "texture", "microgpt")
TITLES = {"weight", "gradient", *(quantity.words for quantity in LIT.values())}
MOST = 60
"""Faces of a picture that are looked at."""


class Step(NamedTuple):
    """A step that is opened on a picture."""

    name: str
    bench: Workbench
    walk: Walk

    def stand(self, at: int):
        """Show a micro-step that has come to its end."""
        told = self.walk.micro_step_at(at)
        self.bench.step_drawing.show(told, animated=False)
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
        walk = Walk(open_step(subject, alone=True in sides(subject)), subject, subject.frame())
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
        wires = None if told.phase == UPDATE else bench.step_drawing._wires()
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


@pytest.mark.parametrize("phase", [BACKWARD, GRADIENTS])
def test_what_comes_back_into_a_row_has_the_hue_of_its_delta(step, phase):
    told = step.stand(step.last_of(phase))
    wires = step.bench.step_drawing._wires()
    if wires is None:
        return  # too many cubes for links
    running, cmap = wires[1]._replace(up=False, x=np.full_like(wires[1].x, np.nan)), step.bench.colouring.cmap
    deltas = step.walk.opened.delta_sums[told.layer.name]
    assert running.delta == pytest.approx(deltas)
    for row, delta in enumerate(deltas):
        numbers = np.where(np.arange(len(deltas))[:, None] == row, running.numbers, np.nan)
        shapes = wires[0].sketch(running._replace(numbers=numbers), step.bench.theme, cmap).shapes
        wanted = cmap(np.sign(delta) * (0.45 + 0.55 * abs(delta) / np.abs(deltas).max()) if delta else 0.0)
        assert all(item.colour == pytest.approx(wanted) for item in shapes if isinstance(item, Lines))


@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (680, 510), (640, 360), (560, 420), (390, 844)])
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
        said = [text.bound for sketch in step.bench._on_cubes for text in sketch.texts if text.bound is not None]
        there = {(bound.name, bound.index) for bound in said if bound.name in told.reached}
        drawn = step.bench.layout.plates if step.bench.scenery.values.size else ()
        rows = {p.name: told.reached[p.name] for p in drawn if p.kind == "activation" and p.name in told.reached}
        assert there == {(name, k) for name, row in rows.items() for k in np.flatnonzero(row)}, told.sentence.name


def test_the_legend_is_that_of_what_the_heading_names_and_has_the_colours_of_the_cubes(step):
    """While no cube has a number all show their weights; nothing says the new ones before the update."""
    bench = step.bench
    kinds = {(told.phase, told.stage, told.sentence.name.split(" ")[0]): at
             for at, told in ((at, step.walk.micro_step_at(at)) for at in range(1, len(step.walk) + 1))}  # fmt: skip
    for at in kinds.values():
        told = step.stand(at)
        lit, scale = ~bench.colouring.missing(told.frame), bench.colouring.legend()
        title = "weight" if not lit.any() else bench.colouring.shows.words
        assert (title == "weight and change") == (told.phase == UPDATE and lit.any())  # the cubes have both
        assert (
            bench.step_drawing.hud_state(state_of(bench.subject, told.frame, "", bench.colouring.shows)).quantity
            == title
        )
        assert {title} == {*words([bench.strip.legend((0, 0, 300, 66), told.frame, "")])} & TITLES
        assert [tick.text for tick in scale.labels if tick.place in (0, 0.5, 1)][1::2] == ["0"]
        if not lit.any():
            values = np.asarray(told.frame.values, float)
            unit = 0.5 + 0.5 * np.clip(values / weight_extent(values), -1, 1)
            bar = bench.strip._bar("dark", 3000, scale.cmap)[0][0] / 255
            at_weights = bar[np.minimum((unit * len(bar)).astype(int), len(bar) - 1)]
            assert at_weights == pytest.approx(dark(values, lit, bench.theme), abs=2.5 / 255)
        if told.phase == GRADIENTS:
            assert [one.numbers for one in told.sentence.formulas if one.letters.endswith("w'")] in ([], [()])
        shown = [
            *(part for parts in bench.parts.values() for part in parts),
            *(part for own in bench.overlays for part in own),
        ]
        known = one_step.UNKNOWN in words(shown)
        assert known == (step.name == "neuron" and told.phase < BACKWARD)


def test_what_was_there_at_rest_is_there_in_a_step(step):
    bench = step.bench
    bench.step_drawing.show(None)
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


def test_answers_stand_nowhere_before_the_stage_that_computes_them(step):
    bench = step.bench
    last = bench.subject.stages[-1].name
    first = next(at for at in range(1, len(step.walk) + 1) if step.walk.micro_step_at(at).reached[last].all())
    for at in (1, first - 1, first):
        step.stand(at)
        texts_now = [*words(bench.side.spread_out()), *(w for part in bench.parts.values() for w in words(part))]
        shares = [text for text in texts_now if re.match(r"(read as|end) .*\d( %)?$", text)]
        tables = [name for name, d in bench.side.drawers.items() if isinstance(d.panel, Table) and d.box is not None]
        assert bench.side.shared.answered == (at == first)
        if step.name == "microgpt":  # who looks at whom, and what a ReLU leaves
            among = words(bench.side.spread_out())
            assert {"looks at", "ReLU"} & set(among) == ({"looks at", "ReLU"} if at > 1 else set())
        assert bool(shares) == (at == first and step.name in ("digits", "microgpt")), (at, shares)
        assert any("." in word for name in tables for word in words(bench.side.drawn(name))) == (
            at == first and bool(tables)
        )


def test_the_sample_of_a_step_is_marked_where_samples_are_drawn_and_that_of_a_whole_batch_nowhere(step):
    """Its place is that of the inputs in the panel's own units, in each of its pictures."""
    bench, probe = step.bench, step.bench.subject.probe
    real = Walk(open_step(bench.subject, alone=False), bench.subject, bench.subject.frame())
    for trial in (True, False):
        step._replace(walk=step.walk if trial else real).stand(1)
        expected, found = 0, list[tuple[float, float]]()
        for name, drawer in bench.side.drawers.items():
            if isinstance(drawer.panel, Painting | PlaneMap | CurveFit) and drawer.box is not None:
                sketches = [*bench.side.drawn(name), *bench.side.spread_out()]
                found += rings(sketches, bench.theme)
                expected += 3 if isinstance(drawer.panel, Painting) else 1
        mine = trial or len(real.opened.batch) == 1
        assert len(found) == expected * mine, (step.name, trial)
        painted = [drawer for drawer in bench.side.drawers.values() if isinstance(drawer.panel, Painting) and mine]
        for x, y, wide, high in (spot.box for drawer in painted for spot in drawer._spots):
            assert any(np.allclose((x + probe[0] * wide, y + probe[1] * high), at, atol=1) for at in found)


def test_a_painting_stays_as_it_was_at_the_beginning_of_a_step(step):
    bench = step.bench
    for drawer in (one for one in bench.side.drawers.values() if isinstance(one.panel, Painting)):
        step.stand(1)
        was, drawer.grid.whole, drawer.grid._live = drawer.grid.numbers, False, True
        for at in (2, len(step.walk)):
            bench.step_drawing.show(step.walk.micro_step_at(at))
            for _ in range(8):
                bench.update(bench.step_drawing.micro_step.frame, "", 1.0)
            assert drawer.grid.numbers is was
            assert not drawer.moving


def rings(sketches, theme):
    """The middles of what is drawn as a ring around a sample."""
    shapes = [shape for sketch in sketches for shape in sketch.shapes if isinstance(shape, Rect)]
    mine = [one for one in shapes if one.stroke == theme.selection and one.radius == one.width / 2 > 4]
    return [(one.x + one.radius, one.y + one.radius) for one in mine]


def test_units_say_their_numbers_and_zero_reads_unlike_a_small_one():
    scene = make_scene("uinn")
    scene.run.step(300)
    with offscreen():
        bench = again(Workbench(subject := subject_of(scene), (1280, 720)))
        step = Step("uinn", bench, Walk(open_step(subject, alone=True), subject, subject.frame()))
        step.stand(step.last_of(FORWARD))
    scene.run.close()
    assert not bench.slab.atlas.marks & DEAD
    minus, texts_now = "\N{MINUS SIGN}", texts(bench.parts["numbers"])
    written = [(t.x, t.y, t.text.replace(minus, "-")) for t in texts_now if re.fullmatch(rf"[\d.e{minus}]+", t.text)]
    places = [place for place in bench.step_drawing._parts()[2] if place.bare]
    assert {place.name for place in places} >= {"input", "1", "3"}
    for place in places:
        error = 0.005 if place.apart[1] > 18 else 0.05 + 1e-6
        for value, (x, y) in zip(step.walk.frame.activations[place.name].tolist(), place.tops.tolist(), strict=True):
            near = [text for a, b, text in written if abs(a - x) <= 40 and abs(b - y) <= 48]
            assert any((t == "0") == (value == 0) and abs(float(t) - value) <= error for t in near), place.name


def test_no_name_of_a_kernel_is_counted_from_nought_and_two_ends_of_one_name_are_told_apart():
    with make_scene("digits").run as run:
        subject, kernel = subject_of(run), next(tensor for tensor in run.tensors if len(tensor.shape) == 4)
        names = {who(subject, kernel.start + k).name for k in range(kernel.size)}
    counted = [[int(number) for number in re.findall(r"\d+", name.partition(" of ")[0])] for name in names]
    assert sorted(counted) == (np.argwhere(np.ones(kernel.shape)) + 1).tolist()
    with (made := make_scene("rgb")).run:
        subject = subject_of(made)
        found = [who(subject, k).name for k in range(9)]
    assert found == [f"from input {a} to output {b}" for b in "rgb" for a in "rgb"]


def test_lit_products_add_up_to_the_sums_and_what_goes_on_to_the_deltas(step):
    walk, opened_step = step.walk, step.walk.opened
    for at, phase in enumerate(walk.phases, start=1):
        told = walk.micro_step_at(at)
        if phase == FORWARD and told.layer is not None and told.output_row in told.sums:
            found = told.sums[told.output_row]
            whole = opened_step.means[told.layer.name]
            assert found.numbers[found.complete] == pytest.approx(np.asarray(whole)[found.complete], rel=1e-5, abs=1e-7)
        if phase == BACKWARD and told.layer is not None and told.layer.weight is not None:
            passed = told.layer.weight.of(np.asarray(told.frame.state["passed on"]))
            there = ~np.isnan(passed).any(axis=0)
            above = np.asarray(opened_step.adjoint_sums[told.input_row])
            assert passed.sum(axis=0)[there] == pytest.approx(above[there], rel=1e-6, abs=1e-12)


def test_backward_lights_the_weights_that_read_the_layer_with_the_letter_that_the_loss_reads_last():
    subject = subject_of(make_scene("microgpt"))
    walk = Walk(open_step(subject, alone=True), subject, subject.frame())
    spans = {tensor.name.removesuffix(".weight"): tensor for tensor in subject.tensors}
    readers = {"layers.0.up": ["layers.0.down"], "layers.0.q": ["layers.0.o"],
               "token": ["layers.0.k", "layers.0.q", "layers.0.v"]}  # fmt: skip
    found = set()
    for at, step in enumerate(walk.steps, start=1):
        if step.phase != "backward" or step.stage not in readers:
            continue
        passed = np.asarray(walk.micro_step_at(at).frame.state["passed on"])
        found.add(step.stage)
        lit = sorted(name for name, tensor in spans.items() if not np.isnan(tensor.of(passed)).any())
        assert lit == readers[step.stage]
        if step.stage == "layers.0.up":  # what is behind ReLU: its delta is that of the sum, or 0
            sums = walk.opened.delta_sums.items()
            calls = [row for name, row in sums if name.startswith("layers.0.up") and row.any()]
            through = spans["layers.0.down"].of(passed).sum(axis=0)
            assert calls[-1][calls[-1] != 0] == pytest.approx(through[calls[-1] != 0], rel=1e-9)
    assert found == {*readers}


def test_a_cube_rises_by_its_change_at_one_scale_and_none_leaves_its_tray(step):
    told, bench = step.stand(step.last_of(UPDATE)), step.bench
    change = np.nan_to_num(np.asarray(told.frame.state["change"], float))
    rise = bench.slab.atlas.lift
    np.testing.assert_array_equal(np.sign(rise), np.sign(change.astype(np.float32)))
    moved = change != 0
    scale = rise[moved] * bench.step_drawing._height / change[moved]
    assert scale == pytest.approx(bench.step_drawing._scale, rel=1e-3)
    assert np.abs(rise).max() < 1
    assert f"height: change × {bench.step_drawing._scale:,.10g}" in " ".join(words(bench.parts["numbers"]))
    bench.step_drawing.show(None)
    again(bench)
    assert bench.slab.atlas.lift is None
    assert bench.slab.atlas.instead is None


@pytest.mark.parametrize(("most", "scale"), [(0.5, 1.0), (0.001, 500.0), (0.0, 1.0), (np.inf, 1.0), (60.0, 0.01)])
def test_a_scale_of_heights_is_one_two_or_five(most, scale):
    assert height_scale(np.array([0.0, most, -most / 2, np.nan]), 1.0) == pytest.approx(scale)


def test_numbers_stay_in_backward_and_deltas_stand_beside_them(step):
    told, bench = step.stand(step.last_of(BACKWARD)), step.bench
    before, deltas = bench.step_drawing.rows_frame(told.frame).activations, bench.step_drawing.row_deltas()
    for name, row in walk_rows(step).items():
        np.testing.assert_array_equal(before[name], row)
    assert told.phase > LOSS
    every = [np.asarray(row) for row in step.walk.opened.delta_sums.values()]
    assert all(any(np.array_equal(row, one, equal_nan=True) for one in every) for row in deltas.values())


def walk_rows(step: Step):
    """The numbers of the sample in rows that are drawn."""
    return {name: row for name, row in step.walk.frame.activations.items() if step.bench.layout.activation(name)}


def test_the_line_has_numbers_in_a_column_at_each_gradient_and_each_update(step):
    """Of a rule that has no room w, its change and the new w, of the weight whose gradient was told of."""
    walk, named = step.walk, {}
    for at, now in enumerate(walk.steps, start=1):
        if now.phase in ("gradients", "update") and now.kind != "statistic":
            told = walk.micro_step_at(at).sentence
            written = words(sentence((0.0, 0.0, COLUMN, SENTENCE), step.bench.theme, told))
            count = next(k for k in range(len(written) + 1) if " ".join(written[:k]) == told.caption.text)
            name, *numbers = written[count:]
            numbers = [name, *numbers] if not told.name.endswith(name.lstrip("\N{HORIZONTAL ELLIPSIS}")) else numbers
            assert any(any(digit in said for digit in "0123456789") for said in numbers), (now.words, written)
            named.setdefault((*now.weights.tolist(),), []).append(told.index)
            if told.short is not None and now.phase == "update":
                check_sum(*"".join(word.text for word in told.short.numbers).split(" = "))
    assert all(one[:1] * len(one) == one for one in named.values())


MINUS = "\N{MINUS SIGN}"


def check_sum(left: str, right: str) -> None:
    """What is printed left gives what is printed right, to its last place."""
    python = left.replace("rest ", "").replace(MINUS, "-").replace("·", "*").replace("×", "*")
    result = Decimal(right.replace(MINUS, "-"))
    found = Decimal(eval(python, {"__builtins__": {}}))
    assert abs(found - result) <= Decimal("0.50001").scaleb(result.as_tuple().exponent), (left, right)


# ---- who looks at whom


only_words = pytest.mark.parametrize("step", ["microgpt"], indirect=True)
WORD = ("start", *"olivia")


def shares_at(step: Step) -> int:
    """The micro-step at which they come."""
    return next(at for at, now in enumerate(step.walk.steps, start=1) if now.words.startswith("attention"))


def board_of(step: Step):
    """The panel's name, and who draws it."""
    return next((name, d) for name, d in step.bench.side.drawers.items() if isinstance(d.panel, WordBoard))


def part_of(step: Step, at: int, gone: float):
    """What stands in the column when a micro-step has gone so far."""
    inside, (name, _) = step.bench.step_drawing, board_of(step)
    inside.show(step.walk.micro_step_at(at), animated=True)
    inside._elapsed = gone * SECONDS
    step.bench.update(inside.micro_step.frame, inside.micro_step.headline)
    return step.bench.side.drawn(name)


@only_words
def test_captions_name_letters_and_numbers(step):
    told = [(now, step.walk.micro_step_at(at).sentence) for at, now in enumerate(step.walk.steps, start=1) if now.op]
    said = {now.words.partition(":")[0]: sentence.meaning.rpartition("; ")[2]
            for now, sentence in told if now.phase == "forward" and not len(now.units)}  # fmt: skip
    own = quoted("a")
    assert said.pop("attention") in {f"head {h}: {own} looks at {quoted(k)}" for h in range(1, 5) for k in WORD}
    assert said.pop("values") in {f"head {h}, number {k} of {own}" for h in range(1, 5) for k in range(1, 5)}
    assert {*said} == {"sum with position", "RMSNorm", "residual sum"}
    assert {*said.values()} <= {f"number {k} of {own}" for k in range(1, 17)}
    layers = [(now, said) for now, said in told if now.phase in ("forward", "backward") and len(now.units)]
    names = [sentence.name.removeprefix("δ of ").partition(": ") for _, sentence in layers]
    assert {name for name, *_ in names} >= {"v", "o", "up", "down", "letters"}
    follow = {f"{k} after {own}" for k in (*map(quoted, board_of(step)[1].state.letters), "end")}
    assert all(unit in follow if name == "letters" else unit.endswith(f" of {own}") for name, _, unit in names)
    assert all("as at each of 7 letters" in sentence.meaning for _, sentence in layers)
    for now, letters in ((now, said.formulas[0].letters) for now, said in told if now.phase == "gradients"):
        zeros = re.fullmatch(r"sum over 7 letters(?:, (\d) of them 0)?: δ · x = g", letters)[1]
        read = step.walk.opened.terms(int(now.weights[now.column]), 999).products
        assert np.count_nonzero(read) == 7 - int(zeros or 0)


@only_words
def test_a_norm_that_comes_with_a_layer_is_said_and_the_stream_has_what_the_first_one_leaves(step):
    told = [(now, step.walk.micro_step_at(at).sentence) for at, now in enumerate(step.walk.steps, start=1)]
    normed = {name.partition(":")[0] for now, (name, meaning, *_) in ((n, (s.name, s.meaning)) for n, s in told)
              if now.formula == "Σ w · RMSNorm(x)" and meaning.startswith("after RMSNorm; ")}  # fmt: skip
    assert normed & {"q", "k", "v"}
    assert "up" in normed
    (first,) = [now for now, sentence in told if sentence.name == "RMSNorm"]
    drawer = board_of(step)[1]
    assert first.value == pytest.approx(drawer._read.stream[0][-1, first.column], rel=1e-4)


@only_words
def test_a_delta_that_comes_back_in_several_ways_is_their_sum_as_printed(step):
    back = [now for now in step.walk.steps if now.phase == "backward" and "residual" in now.formula]
    assert [now.formula for now in back] == ["residual sum + (δ − y · mean δy) / √mean"] * 2
    for now in back:
        read = [own for name in (now.stage, *now.other_calls) if (own := step.walk.opened.delta_sums[name]).any()]
        assert not len(now.units) or now.value == read[-1][now.column]


@only_words
def test_every_delta_that_a_backward_step_takes_was_told_by_one_before_it(step):
    """From the loss to the embedding: each crossing of a norm, and of attention, has the δ on its other side."""
    told = [now for now in step.walk.steps if now.phase == "backward"]
    values, by = [now.value for now in told], {now.words.partition(":")[0]: now.value for now in told}
    crossed = [now for now in told if now.op in ("rms", "sum and rms")]
    assert [module_path(now.stage) for now in crossed if len(now.units)] == ["layers.0.o", "token"]
    for now in crossed:
        *residual, delta, y, mean, root = now.factors
        before = values[: told.index(now)]
        assert delta in before
        assert not residual or residual[0] in before
        assert now.value == pytest.approx(sum(residual) + (delta - y * mean) / root, rel=1e-9)
    shared = next(now for now in told if now.formula == "δ · share")
    assert shared.factors[0] == by["values"]


@only_words
def test_each_letter_has_its_score_and_share_and_their_sum_adds_up(step):
    at, drawer = shares_at(step), board_of(step)[1]
    looks = step.walk.opened.attention("layers.0.o (7)")
    for head in range(4):
        drawer.state.head = head
        shares = words(part_of(step, at, 1.0))
        assert {f"head {head + 1}: {quoted('a')} looks back", *WORD} <= {*shares}
        for score, share in zip(looks.scores[head], looks.shares[head], strict=True):
            assert {number(score, 2, signed=True), percent(share)} <= {*shares}
        largest = int(np.argmax(looks.shares[head]))
        *_, what, left, right = words(part_of(step, at, 1.0)[:1])
        assert what == f"q · k / √4 for {quoted(WORD[largest])}"
        check_sum(left, right.removeprefix("= "))
        assert number(looks.scores[head][largest], 2) == number(float(right.removeprefix("= ").replace(MINUS, "-")), 2)
        products = looks.queries[head] * looks.keys[head]
        np.testing.assert_allclose(products.sum(axis=1) / 2, looks.scores[head], rtol=1e-9)
        *_, left, right = words(part_of(step, at + 1, 1.0)[:1])
        check_sum(left, right.removeprefix("= "))
        assert right.removeprefix("= ") in {f"{taken:.3g}".replace("-", MINUS) for taken in looks.outputs[head]}
    drawer.state.head = -1


@only_words
def test_the_caption_of_a_share_is_a_whole_quotient_of_scores_and_no_first_power(step):
    at = shares_at(step)
    said = "".join(word.text for word in step.walk.micro_step_at(at).sentence.formulas[0].numbers)
    a, b, terms, made = re.fullmatch(
        r"e\^\(\(?(.+?)\)? . \(?(.+?)\)?\) / \((.+)\) = (.+)", said.replace(MINUS, "-")
    ).groups()
    powers = np.exp(float(a) - float(b))
    assert powers < 1
    assert powers / sum(map(float, terms.replace("rest ", "").split(" + "))) == pytest.approx(float(made), rel=6e-3)
    step.stand(at)
    assert said in "".join(words(part for parts in step.bench.parts.values() for part in parts))


@only_words
def test_the_stream_begins_with_the_norm_and_what_a_relu_leaves_with_the_layer_that_reads_it(step):
    """What stands among the cubes was made by the micro-step, and has come when it is told of."""
    bench, drawer = step.bench, board_of(step)[1]
    numbers, seen = drawer._read.stream, []
    for at, now in enumerate(step.walk.steps, start=1):
        if now.phase != "forward":
            continue
        step.stand(at)
        drawn = [one for sketch in bench.side.spread_out() for one in sketch.shapes if isinstance(one, Cells)]
        rows = sum(len(one.fills) == stream.size for one in drawn for stream in numbers[:1])
        seen.append((rows, "ReLU" in words(bench.side.spread_out())))
        if not len(now.units) and now.words.partition(":")[0] in ("RMSNorm", "residual sum"):
            assert now.value == pytest.approx(numbers[rows - 1][-1, now.column], rel=1e-4)
    assert [rows for rows, _ in seen] == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert [relu for _, relu in seen] == [False] * 9 + [True] * 3


@only_words
def test_a_named_weight_is_ringed_on_a_small_plate_too(step):
    for at in [k for k, phase in enumerate(step.walk.phases, start=1) if phase == GRADIENTS]:
        index = step.stand(at).sentence.index
        plate = next(
            plate for plate in step.bench.layout.plates if 0 <= index - plate.start < plate.size and plate.start >= 0
        )
        (ring,) = step.bench.step_drawing._outline_weight().shapes
        assert np.asarray(ring.points)[:4] == pytest.approx(step.bench.step_drawing._face(plate, index)[[0, 1, 3, 2]])


@only_words
def test_what_comes_back_by_a_name_is_the_slope_along_it(step):
    """What comes back through a norm, and through the sum around it, is the slope of the loss: by finite differences.

    A letter's number is moved where it enters; what a layer's sums, or the sum behind it, change by times their δ.
    """
    opened = step.walk.opened
    through, stream, entry = (now for now in step.walk.steps if now.op in ("rms", "sum and rms"))
    values, at, deltas = opened.values, entry.column, opened.delta_sums
    matrix = {t.name.removesuffix(".weight"): t.of(values) for t in opened.tensors if len(t.shape) == 2}

    def normed(x):
        return x / np.sqrt((x * x).mean() + 1e-5)

    def slope(made, moved):
        return (made(moved(1e-6)) - made(moved(-1e-6))) / 2e-6

    start = opened.rows["token (7)"][:, 0] + matrix["position"][6]
    middle = opened.rows["layers.0.o (7)"][:, 0] + normed(start)

    def read(x, names):
        return sum(deltas[f"layers.0.{name} (7)"] @ matrix[f"layers.0.{name}"] @ normed(x) for name in names)

    kept = {"o": lambda x: deltas["layers.0.o (7)"] @ x, "down": lambda x: deltas["layers.0.down (7)"] @ x}
    for now, x, residual, layers in (
        (through, middle, kept["down"], lambda x: read(x, ["up"])),
        (stream, normed(start), kept["o"], lambda x: read(x, "qkv")),
        (entry, start, None, lambda x: read(normed(x), "qkv") + kept["o"](normed(x))),
    ):
        moved = lambda by, x=x: x + by * (np.arange(len(x)) == at)  # noqa: E731
        *through_sum, delta, y, mean, root = now.factors
        slopes = [slope(residual, moved)] if residual else []
        assert through_sum == pytest.approx(slopes, rel=1e-5, abs=1e-9)
        assert (delta - y * mean) / root == pytest.approx(slope(layers, moved), rel=1e-5, abs=1e-9)


@only_words
def test_one_number_is_followed_from_the_embedding_to_the_update(step):
    """What a stage has made stands in the equation of the next; the letter told of last is the word's own."""
    walk = step.walk
    told = {(now.phase, now.words.partition(":")[0], now.stage): now for now in walk.steps if now.op}
    made = [now for now in walk.steps if now.phase == "forward"]
    columns = {now.column for now in made if len(now.units) in (0, 16) and not now.formula.startswith("e^")}
    assert len(columns - {made[6].column}) <= 1
    by = {now.words.partition(":")[0] + now.stage: now for now in made}
    summed, normed = by["sum with positionlayers.0.q (7)"], by["RMSNormlayers.0.q (7)"]
    first, last = by["residual sumlayers.0.up (7)"], by["residual sumletters (7)"]
    assert summed.factors[0] == by["embeddingtoken"].value
    assert normed.factors[0] == summed.value
    assert {normed.value, by["linearlayers.0.o"].value} == {*first.factors}
    assert {first.value, by["relu, then linearlayers.0.down"].value} == {*last.factors}
    classes = walk.opened.targets[:, 0]
    assert made[-1].column == classes[6] == told["backward", f"δ of {16 * 27} outputs", "letters"].column
    logits = np.array([walk.opened.rows[f"letters{f' ({k})' if k > 1 else ''}"][:, 0] for k in range(1, 8)])
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    meaning = walk.micro_step_at(1 + walk.steps.index(made[-1])).sentence.meaning
    left, right = re.search(r"share = e\^(.+) = ([\d.]+)", meaning).groups()
    power, _, rest = left.replace("(−", "(-").partition(" / ")
    found = np.exp(float(power.strip("()").replace(MINUS, "-"))) / eval(rest.replace("rest ", ""))
    assert f"{found:.3g}" == right == f"{shares[6, made[-1].column]:.3g}"
    sentence = walk.micro_step_at(walk.first_of(LOSS)).sentence
    said = "".join(word.text for word in sentence.formulas[0].numbers).replace("rest ", "").replace(MINUS, "-")
    assert f"ln {shares[6, made[-1].column]:.4g}" in said
    python = re.sub(r"ln ([\d.e-]+)", r"np.log(\1)", said.partition(" = ")[0])
    assert f"{eval(python):.4g}" == said.partition(" = ")[2] == f"{walk.opened.loss:.4g}"


@only_words
def test_adams_new_weight_can_be_worked_out_from_the_screen(step):
    """From what stands there in either size, and the number that it gives is the new weight."""
    walk, bench = step.walk, step.bench
    for at in (at for at, phase in enumerate(walk.phases, 1) if phase == UPDATE):
        told = step.stand(at)
        column = (
            words(one for one in bench.parts["inside"])
            if "inside" in bench.parts
            else words(bench.step_drawing.texts())
        )
        said = "".join(word.text for word in told.sentence.formulas[0].numbers)
        assert "".join(said.split()) in "".join("".join(column).split())
        left, right = said.replace(MINUS, "-").split(" = ")
        python = re.sub(r"√([\d.e-]+)", r"(\1) ** 0.5", left.replace("·", "*"))
        index = told.sentence.index
        assert float(f"{eval(python):.4g}") == pytest.approx(float(right), rel=2e-4)
        assert float(right) == pytest.approx(float(walk.opened.new_values[index]), rel=1e-3)
        assert "trial step: undone before the real one" in told.headline


def test_before_the_forward_pass_all_gradients_are_0(step):
    sentence = step.stand(1).sentence
    count = step.walk.n_weights
    assert sentence.formulas[0].letters == f"{count:,} gradient{'s' * (count > 1)}"
    assert "".join(word.text for word in sentence.formulas[0].numbers) == "= 0"
    assert "0" in words(part for parts in step.bench.parts.values() for part in parts)


@only_words
def test_rows_light_one_after_another_and_then_all_values_flow(step):
    at, seen, heads = shares_at(step), [], 4
    for k in range(7):
        lines, light = part_of(step, at, (k + 0.5) / 7)
        title = next(said for said in words([lines]) if said.startswith("head "))
        seen.append(title.rpartition(" looks")[0].rpartition(": ")[2])
        assert [said for said in words([lines]) if said in WORD] == list(WORD[: k + 1])
        veils = Counter(item.fill[3] for item in light.shapes if item.fill is not None)
        now, *others = sorted(veils.items())
        assert [now, [count for _, count in others]] == [(0.0, heads), [heads * n for n in (k, 6 - k) if n]]
    assert seen == [*map(quoted, WORD)]
    flown = [sum(float(np.ptp(item.fills, axis=0).max()) > 1e-6 for item in part_of(step, at + 1, gone)[0].shapes
                 if isinstance(item, Cells)) for gone in (0.0, 0.5, 1.0)]  # fmt: skip
    assert flown == [0, 4 + 1, 7 + 1]  # and their sum


@only_words
def test_who_looked_at_whom_stays_in_the_column_to_the_end_of_the_step(step):
    for at in range(1, len(step.walk) + 1):
        written = words(part_of(step, at, 1.0))
        assert {*WORD, "share %"} <= {*written}
        back = at > shares_at(step) + 1 and any(f"gradients back to {quoted('a')}" in said for said in written)
        assert back == (step.walk.micro_step_at(at).looking.reached > 3)
        if back:
            *_, left, right = words(part_of(step, at, 1.0)[:1])
            check_sum(left, right.removeprefix("= "))


# ---- A convolution's window, dropout, and the flash of the loss.


def own(net, loss, x, y):
    """A step of a user's network, opened with its first sample."""
    net.initialize(seed=1)
    run = sv.Run(net, loss, sv.optim.SGD(list(net.parameters()), lr=0.1), (x, y), batch_size=8, seed=1)
    run.step(5)
    subject = subject_of(sv.Scene(name="own", run=run, probe=x[0].ravel(), probe_target=np.ravel(y[0]) * 1.0))
    bench = again(Workbench(subject, (1280, 720)))
    return Step("own", bench, Walk(open_step(subject, alone=True), subject, subject.frame()))


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


def test_frames_stand_where_a_delta_passed_and_where_a_kernels_gradient_comes_from(step, pictures):
    for one in (step, pictures) if step.name == "digits" else ():
        opened, stages = one.walk.opened, one.walk.stages
        maps = [stage for stage in stages.values() if stage.weight is not None and len(stage.shape) == 3]
        for at, now in enumerate(one.walk.steps, start=1):
            told = one.walk.micro_step_at(at)
            if now.stage not in {stage.name for stage in maps} or now.phase not in ("backward", "gradients"):
                continue
            places, row = opened.origins(now, told.sentence.index), one.walk.row_of(stages[now.stage])
            if now.phase == "gradients":
                ours, theirs = (np.array(place.units) for place in places)
                x = np.where(theirs < 0, 0.0, one.walk.inputs(stages[now.stage])[theirs, 0])  # -1: the border's zeros
                gradient = float(opened.deltas[now.stage][ours, 0] @ x)
                assert gradient == pytest.approx(opened.gradient[told.sentence.index], rel=1e-9, abs=1e-15)
                assert told.marks[row].tolist() == ours.tolist()
                continue
            pool = next(place for place in places if stages[place.stage].kind == "max_pool2d")
            under = opened.window(pool.stage, *pool.units).place.units
            assert told.marks[row].tolist() == [now.column]
            assert now.column in under
            assert "max'" in now.formula
            largest = np.argmax(opened.means[opened.window(pool.stage, *pool.units).place.stage][list(under)])
            slopes = PASSED[now.op]
            assert now.factors[:slopes] == (1.0, 1.0)
            assert under[largest] == now.column
            assert sum(now.factors[slopes:]) == pytest.approx(now.value, rel=1e-12)


def test_no_formula_calls_an_output_by_the_name_of_an_input(step):
    letters = {"y", "t"}.intersection(step.walk.subject.sample.inputs)
    for at in range(1, len(step.walk) + 1):
        told = step.walk.micro_step_at(at)
        if told.phase in (LOSS, BACKWARD) and letters:
            said = [formula.letters for formula in told.sentence.formulas] + [row[0] for row in told.table]
            assert not any(re.search(r"(?<![a-z])[yt](?![a-z])", text) for text in said), said


def test_while_a_window_slides_its_products_light_and_nothing_flashes_over_three_times_a_second(pictures):
    step, bench = pictures, pictures.bench
    (at,) = slides(step)
    seconds, told, seen = pass_seconds(step.walk)[at - 1], step.walk.micro_step_at(at), []
    bench.step_drawing.show(told, seconds=seconds)
    weights = told.stops[0].window.weights
    for _ in range(round(30 * seconds)):
        stop, colouring = bench.step_drawing._window_stop, bench.colouring
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
    assert np.abs(step.walk.opened.delta_sums[stage.name][struck]).max() > 0  # what would come, were they not
    told = step.stand(step.last_of(FORWARD))
    assert (told.frame.activations[stage.name][struck] == 0).all()
    step.stand(step.last_of(BACKWARD))
    assert (step.bench.step_drawing.row_deltas()[stage.name][struck] == 0).all()


def test_the_loss_flashes_once(step):
    bench, told = step.bench, step.walk.micro_step_at(step.last_of(LOSS))
    bench.step_drawing.show(told, seconds=0.6)
    light = []
    for _ in range(20):
        bench.update(told.frame, told.headline, 1 / 30)
        over = [shape for sketch in bench.step_drawing.overlay(0.0) for shape in sketch.shapes]
        light.append(max([shape.fill[3] for shape in over if getattr(shape, "fill", None)], default=0.0))
    top = int(np.argmax(light))
    assert max(light) > 0.2
    assert (np.diff(light[: top + 1]) > 0).all()
    assert (np.diff(light[top:18]) < 0).all()
    assert light[-1] == 0
    bench.step_drawing.show(told, animated=False)
    assert not any(sketch.shapes for sketch in bench.step_drawing.overlay(None))


def test_the_sum_of_the_selected_weight_is_told_of(pictures):
    """In forward the line names the unit to which the weight adds, with the sum that NumPy finds."""
    walk = pictures.walk
    stage = next(stage for stage in walk.subject.stages if stage.weight is not None)
    at = next(at for at, now in enumerate(walk.steps, 1) if (now.phase, now.stage) == ("forward", stage.name))
    values, x = np.asarray(walk.frame.values, float), walk.frame.activations[stage.sources[0]]
    sums = stage.weight.of(values) @ x + stage.bias.of(values)
    asked = [
        (k, row) for row in range(stage.outputs) for k in (stage.weight.start + 36 * row + 7, stage.bias.start + row)
    ]
    named = set()
    for index, row in (*asked, (None, int(walk.opened.targets[0, 0]))):  # of none the class that is wanted
        sentence = walk.micro_step_at(at, index).sentence
        said = sentence.formulas[0].numbers[-1].text.replace("−", "-")
        assert float(said) == pytest.approx(sums[row], rel=1e-3)
        named.add((row, sentence.name))
    assert len(named) == len({name for _, name in named}) == stage.outputs


@pytest.fixture(scope="module")
def words_net():
    """A network that reads words, of which every row is drawn; the first sample is 5, 2, 5."""
    draw = np.random.default_rng(0)
    read = draw.integers(0, 7, (16, 3))
    read[0] = 5, 2, 5
    net = nn.Sequential(nn.Embedding(7, 6), nn.Flatten(), nn.Linear(18, 4), nn.ReLU(), nn.Linear(4, 2))
    with offscreen():
        yield own(net, nn.MSELoss(), read, draw.normal(size=(16, 2)))


def test_of_an_embedding_the_rows_of_the_words_light(words_net):
    step = words_net
    at = next(at for at, now in enumerate(step.walk.steps, 1) if now.phase == "forward")
    told = step.walk.micro_step_at(at)
    lit = told.frame.state["read"][:42].reshape(7, 6)
    np.testing.assert_array_equal(lit[[2, 5]], np.asarray(told.frame.values, float)[:42].reshape(7, 6)[[2, 5]])
    assert np.isnan(np.delete(lit, [2, 5], axis=0)).all()
    row, column = np.unravel_index(np.nanargmax(np.abs(lit)), lit.shape)
    assert told.sentence.formulas[0].letters == f"row {row + 1}"
    said = told.sentence.formulas[0].numbers[-1].text.replace("−", "-")
    assert float(said) == pytest.approx(lit[row, column], rel=1e-3)


def test_links_of_a_layer_end_at_its_own_row_where_that_is_drawn(words_net):
    bench, found = words_net.bench, 0
    for at, now in enumerate(words_net.walk.steps, start=1):
        plate, told = bench.layout.activation(now.stage), words_net.stand(at)
        if plate is not None and told.layer is not None and told.layer.name == now.stage and now.phase == "forward":
            wires = bench.step_drawing._wires()
            assert wires is not None
            assert wires[0].sums == pytest.approx(bench.project(plate.tops))
            found += 1
    assert found == 2


class Joined(nn.Module):
    """A layer that reads two others, joined."""

    def __init__(self) -> None:
        self.a, self.b, self.out = nn.Linear(2, 2, seed=1), nn.Linear(2, 2, seed=2), nn.Linear(4, 2, seed=3)

    def forward(self, x):
        return self.out([*self.a(x[:2]), *self.b(x[2:])])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lost", [None, np.inf, np.nan])
@pytest.mark.parametrize("whole", [False, True])
def test_micro_steps_are_drawn_also_of_joined_rows_and_of_weights_that_are_lost(lost, whole):
    draw = np.random.default_rng(0)
    net = Joined()
    if lost is not None:
        net.a.weight[0][0].data = lost
    data = draw.normal(size=(6, 4)), draw.normal(size=(6, 2))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data) as run:
        count = len((run.open() if whole else run.open(sample=0)).micro_steps())
        for at in range(1, count + 1, 3 if lost is None else 5):
            assert sv.render(run, (160, 160), inside=np.int64(at), whole_batch=whole).shape == (160, 160, 3)


def test_the_legend_reaches_what_is_lit_and_deltas_have_the_hue_of_their_sign(step):
    theme = step.bench.theme
    for at in range(1, len(step.walk) + 1, max(1, len(step.walk) // 15)):
        told, bench = step.stand(at), step.bench
        lit = np.abs(np.asarray(bench.colouring.flat)[~bench.colouring.missing(told.frame)])
        assert lit.max(initial=0.0) <= bench.colouring.range.high * (1 + 1e-9)
        drawn = sentence((0.0, 0.0, 2000.0, SENTENCE), theme, told.sentence)[0].texts
        every = [word for formula in told.sentence.formulas for word in formula.numbers]
        plain = {word.text for word in every if word.tone != "violet"}
        for word in (word for word in every if word.tone == "violet" and word.text not in plain):
            said = word.text.translate(str.maketrans({MINUS: "-", "·": "*", "×": "*", ",": ""})).replace("rest", "")
            hue = theme.gradient[0 if eval(said.strip(" /") or "0") < 0 else 4]
            assert {text.colour for text in drawn if text.text == word.text} <= {rgba(hue, 1.0)}
