"""The first look at a scene: its cubes, what is learnt, the loss; all else when it is asked for or touched.

Needs the colours of `view.notes.scenery`, its place, and kinds of `view.panels`.
"""

import re

import numpy as np
import pytest

from kit.benches import again, bench_of, box_of, pixels_of, said, texts, words
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz.lessons.scenes import one_weight
from scalarviz.view.ink.boxes import ABOUT, LEAST, STAGE
from scalarviz.view.ink.sketch import Rect, meet
from scalarviz.view.ink.theme import presenting
from scalarviz.view.micro.step_view import BACKWARD, UPDATE
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.notes.scenery import colours_at, face_room
from scalarviz.view.screen.side import MORE
from scalarviz.view.shown.names import who
from scalarviz.view.space.layout import FEW

SCENES = ("neuron", "rgb", "xor", "playground", "uinn", "expression", "digits", "texture", "microgpt")
SIZES = (1280, 720), (680, 510), (375, 812), (412, 915)
SMALL = 200
"""Weights up to which cubes fill the stage."""


@pytest.fixture(scope="module", params=SCENES)
def scene(request):
    made = make_scene(request.param)
    made.run.step(2)
    yield made
    made.run.close()


def there(bench):
    """Names of the panels that stand somewhere."""
    return {name for name, drawer in bench.side.drawers.items() if drawer.box is not None or drawer.setting is not None}


def test_at_rest_there_is_what_is_learnt_and_the_loss_and_all_else_is_asked_for(scene):
    bench = bench_of(scene, keys=(("Space", "run"),))
    side = bench.side
    column = [side.drawers[name] for name in side.column.names if name != side.column.end]
    most = min(ABOUT, max(drawer.worth for drawer in column))
    for name in side.column.names:
        rests = side.drawers[name].worth >= most or side.drawers[name].first or name == side.column.end
        assert (side.drawers[name].box is not None) == rests, name
    words = said(bench)
    assert sum(line.startswith("range of the network") for line in words) == 1  # the legend of the cubes, and no other
    assert not {"activation", "output of a neuron"}.intersection(words)
    assert not any(" = σ(" in line for line in words)
    assert len([line for line in words if any(letter.isdigit() for letter in line)]) < 200
    bench.next_panels()
    asked = again(bench)
    assert {name for name in side.column.names if side.drawers[name].box is None} == set() or len(there(asked)) > 2
    bench.next_panels()
    assert not bench.panels_shown
    bench.next_panels()
    assert there(again(bench)) == there(bench_of(scene, keys=(("Space", "run"),)))


@pytest.mark.parametrize("size", SIZES)
def test_what_is_learnt_is_seen_at_rest_in_every_size(scene, size):
    bench = bench_of(scene, size)
    worth = {name: drawer.worth for name, drawer in bench.side.drawers.items() if not drawer.panel.among}
    best = {name for name, own in worth.items() if own == max(worth.values())}
    about = {name for name, own in worth.items() if own >= ABOUT} or best
    assert about & there(bench) or (bench.places.yields and beside(bench) >= RESULT), (scene.name, size)


@pytest.mark.parametrize("size", [(1280, 720), (900, 600), (680, 510), (640, 360), (560, 420)])
def test_no_panel_takes_the_room_of_what_a_single_layer_makes_of_the_sample_until_it_is_asked_for(scene, size):
    bench = bench_of(scene, size, keys=(("Space", "run"),))
    if bench.scenery.flow is None:
        assert not bench.places.yields
        return
    assert beside(bench) >= RESULT, (scene.name, size)
    if bench.places.yields:
        assert not bench.places.panels
        assert [spot.name for sketch in bench.side.column.left_out_line() for spot in sketch.spots] == [MORE]
        bench.side.column.turn_page()
        bench.lay_out()
        assert bench.places.panels


RESULT = {"sum", "output", "target"}


def beside(bench):
    """What stands right of the cubes of a single layer."""
    return set() if bench.scenery.flow is None else set(bench.scenery.flow.rows.columns)


@pytest.mark.parametrize("width", [560, 570, 600, 640])
def test_one_weight_and_its_bowl_stand_side_by_side_in_a_small_window(width):
    bench = bench_of(make_scene("neuron"), (width, 3 * width // 4), keys=(("Space", "run"),))
    assert beside(bench) >= RESULT
    assert "loss over weights" in there(bench)


@pytest.mark.parametrize("size", [(1280, 720), (680, 510), (640, 360), (375, 812)])
def test_cubes_fill_most_of_the_smaller_side_of_their_stage(scene, size):
    if len(scene.run.values) > SMALL:
        return
    bench = bench_of(scene, size)
    corners = bench.project(np.concatenate([plate.corners for plate in bench.layout.plates]))
    filled = np.ptp(corners, axis=0).max() / min(bench.places.scene[2:])
    assert filled >= 0.55, (scene.name, size, filled)


@pytest.mark.parametrize("name", ["rgb", "xor", "neuron"])
@pytest.mark.parametrize("size", [(560, 420), (640, 360), (680, 510), (1280, 720)])
def test_numbers_on_cubes_are_readable_also_in_a_small_picture(name, size):
    bench = bench_of(make_scene(name), size)
    assert bench.scenery.values.size >= 13


@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (680, 510), (640, 360), (560, 420), (375, 812)])
def test_a_cube_of_six_pixels_a_digit_has_its_number(scene, size):
    bench = bench_of(scene, size)
    if not bench.layout.turns and len(scene.run.values) > FEW:
        return
    rooms = [face_room(plate, bench.project) for plate in bench.layout.plates if plate.kind != "activation"]
    assert min(wide for wide, _ in rooms) < 30 or min(high for _, high in rooms) < 19 or bench.scenery.values.size >= 13


@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (680, 510), (640, 360), (560, 420)])
def test_a_panel_above_the_cubes_leaves_them_room_and_inside_a_step_it_is_the_stage(scene, size):
    bench = bench_of(scene, size)
    above = [drawer for drawer in bench.side.drawers.values() if drawer.panel.place == "above"]
    assert all(drawer.box is None or bench.places.scene[3] >= 80 for drawer in above)
    subject = bench.subject
    if above:
        walk = Walk(open_step(subject, alone=True in sides(subject)), subject, subject.frame())
        told = walk.micro_step_at(len(walk))
        bench.step_drawing.show(told, animated=False)
        bench.update(told.frame)
        assert all(drawer.box is not None and (drawer.box[2] >= STAGE or not drawer.wide) for drawer in above)


@pytest.mark.gl
@pytest.mark.parametrize("name", ["neuron", "rgb", "xor", "playground"])
def test_a_face_has_exactly_the_colour_that_the_legend_gives_its_number(name):
    made = make_scene(name)
    made.run.step(5)
    bench = bench_of(made)
    pixels, colouring = pixels_of(bench), bench.colouring
    for plate in bench.layout.plates:
        if plate.kind != "activation":
            off = -0.8 * plate.half * plate.axes[0] - 0.8 * plate.half * plate.axes[1]  # beside the number
            for place, value in zip(bench.project(plate.tops + off), colouring.drawn[plate.start :], strict=False):
                x, y = (int(part) for part in place)
                wanted = 255 * colours_at(colouring.cmap, colouring.range.unit(value))
                assert np.abs(pixels[y, x] - wanted).max() <= 1.5, (name, plate.name)


@pytest.mark.gl
def test_the_loss_over_a_weight_keeps_its_place_inside_a_step_and_no_cube_is_below_it():
    with live_hand(make_scene("neuron"), size=(1280, 720)) as hand:
        drawer, boxes = hand.bench.side.drawers["loss over weights"], set()
        for action in ["step", *["micro_next"] * 7]:
            hand.do(action)
            hand.settled()
            boxes.add(drawer.box)
            tops = hand.bench.project(hand.bench.layout.plates[0].corners)
            assert tops[:, 1].min() > drawer.box[1] + drawer.box[3]
        assert len(boxes) == 1


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (853, 480), (640, 360), (680, 510)])
def test_the_loss_over_a_weight_shows_each_micro_step_at_any_height(size):
    with live_hand(one_weight(), size=size) as hand:
        hand.do("micro_next")
        phase = 0
        while phase < UPDATE:
            hand.do("micro_next")
            phase, found = hand.bench.step_drawing.micro_step.phase, words(hand.bench.side.drawn("loss over weights"))
            unknown = any(line.startswith("slope unknown") for line in found)
            assert (unknown, "w = \N{MINUS SIGN}1.00" in found) == (phase < BACKWARD, phase == UPDATE)
        assert hand.bench.places.scene[3] >= 80 or size[1] < STAGE


def test_formulas_and_the_legend_of_rows_come_when_what_they_are_about_is_touched():
    bench = bench_of(make_scene("rgb"))
    assert not any(" = σ(" in line for line in said(bench))
    tops = bench.project(bench.layout.plates[0].tops)
    assert bench.hover(tuple(tops[0] * bench.scale))
    bench.renew()
    assert any(" = σ(" in line for line in said(bench))
    bench.hover(None)
    bench.renew()
    assert not any(" = σ(" in line for line in said(bench))
    bench = bench_of(make_scene("xor"))
    row = next(plate for plate in bench.layout.plates if plate.kind == "activation")
    assert "activation" not in said(bench)
    bench.hover(tuple(bench.project(row.tops)[0] * bench.scale))
    bench.renew()
    assert "activation" in said(bench)


@pytest.mark.ci
def test_what_stands_in_a_row_has_as_many_decimals_in_formulas_and_on_the_cubes_of_an_update():
    random, scene = np.random.default_rng(0), make_scene("rgb")
    bench = bench_of(scene, asked=True)
    for _ in range(40):
        scene.run.set_weights(0, random.normal(0, 10 ** random.uniform(-2, 1), 12).tolist())
        lines = [line for line in said(again(bench, 0.5)) if "σ(" in line and "·" in line]
        assert len(lines) == 3
        products = [found for line in lines for found in re.findall(r"\.(\d+)·\d*\.(\d+)", line)]
        assert len(products) == 9
        assert len({(len(w), len(x)) for w, x in products}) == 1, lines
    for name in ("rgb", "xor"):
        with live_hand(make_scene(name)) as hand:
            hand.do("step", 50)
            hand.until(
                lambda hand=hand: (
                    hand.do("micro_next")
                    and hand.bench.step_drawing.micro_step.position == hand.bench.step_drawing.micro_step.count
                )
            )
            faces = hand.bench.step_drawing.micro_step.cube_texts.values()
            assert len({len(face.below.partition(".")[2]) for face in faces}) == 1


@pytest.mark.parametrize("name", ["neuron", "rgb"])
def test_a_hall_keeps_target_keys_and_the_formulas_that_are_asked_for(name):
    bench = bench_of(make_scene(name), theme=presenting("dark"), keys=(("Space", "run"),))
    bench.interaction.hovered = 0
    found = said(again(bench, 0.5))
    assert {"target", "Space"} <= set(found)
    assert any("·" in line and " = " in line for line in found)


def panels_with(bench, text):
    """Boxes of what lies over the picture and says a text."""
    found = []
    for sketch in (sketch for layer in bench.overlays for sketch in layer if sketch.shapes and sketch.texts):
        said, rect = [one.text for one in sketch.texts], sketch.shapes[0]
        if isinstance(rect, Rect) and (said[0] == text or any(one.startswith(f"{text}:") for one in said)):
            found.append((rect.x, rect.y, rect.width, rect.height))
    return found


@pytest.mark.ci
@pytest.mark.parametrize("name", SCENES)
def test_what_is_said_at_the_pointer_covers_no_prompt_no_other_cube_where_there_is_room_and_says_nothing_twice(name):
    with live_hand(make_scene(name)) as hand:
        bench, count = hand.bench, len(hand.run.values)
        faces = {}
        for plate in bench.layout.plates:
            room = np.array(face_room(plate, bench.project))
            corners = (bench.project(plate.tops) - room / 2).tolist()
            faces |= {(plate.name, plate.kind, k): (*corner, *room) for k, corner in enumerate(corners)}
        for index in range(0, count, max(count // 12, 1)):
            known = who(bench.subject, index)
            hand.view.move(hand.face(index))
            if bench.interaction.hovered != index:
                continue  # another cube stands before it
            for prompt in (False, True):
                if prompt:
                    hand.do("break_on")
                hand.settled(1)
                (box,) = panels_with(bench, known.name)
                words = texts(bench.sketches) if count <= SMALL else []
                taken = [*faces.values(), *((text.left, text.y - 10, text.width, 10) for text in words)]
                assert count > SMALL or not any(meet(box, other, -2.0) for other in taken), index
                if prompt:
                    assert not meet(box, *panels_with(bench, "pause when"))
                    hand.key("Escape")
        bench.select(index)
        hand.picture()
        inspector = bench.interaction.inspector.box
        assert all(meet(box, inspector) for box in panels_with(bench, known.name))  # nothing at the pointer


@pytest.mark.ci
@pytest.mark.parametrize("name", SCENES)
def test_branches_leave_the_time_bar_wide_buttons_have_names_and_each_control_is_there_or_the_panel_scrolls(name):
    with live_hand(make_scene(name)) as hand:
        bench = hand.bench
        hand.do("step", 5)
        for branch in range(5):
            hand.do("back", 3)
            hand.run.set_weights(0, [0.1 * branch])
            hand.do("step", 6)
        hand.do("undo")
        hand.settled()
        scale = bench.bar._plan.scale
        assert scale.right - scale.left > 0.4 * bench.bar.box[2]
        areas = {"more panels", "next sample"}  # with words of their own beside them, or none but a picture
        assert not [spot for spot in bench.spots if not (spot.words or spot.tip) and spot.name not in areas]
        hand.do("toggle_controls")
        hand.settled()
        wanted = {item.name for row in hand.view.controls.shown(hand.view.shown) for item in row.items}
        there = {spot.name for spot in bench.spots}
        assert wanted <= there or "scrolls" in there
        while hand.view.controls.panel.scroll(-1):
            hand.view.refresh()
            hand.settled(1)
            there |= {spot.name for spot in bench.spots}
        assert wanted <= there


@pytest.mark.gl
@pytest.mark.parametrize("presenter", [False, True])
@pytest.mark.parametrize("size", [(1024, 768), (1280, 720), (1920, 1080)])
def test_the_panel_of_controls_lies_inside_the_window_with_all_its_words(size, presenter):
    with live_hand(make_scene("rgb"), size=size, theme=presenting("dark", presenter)) as hand:
        hand.do("toggle_controls")
        panel, (width, height) = hand.view.controls.panel, hand.bench.places.size
        x, y, wide, high = panel.box
        assert min(x, y, width - x - wide, height - y - high) >= 0
        assert wide >= LEAST
        boxes = [box_of(text) for text in panel.sketch().texts]
        assert all(x <= left < right <= x + wide for left, _, right, _ in boxes)


@pytest.mark.parametrize(("name", "least"), [("texture", 470), ("digits", 370)])
def test_what_is_learnt_is_large_at_the_end_of_the_network_and_nothing_covers_it(name, least):
    bench = bench_of(make_scene(name))
    drawer = bench.side.drawers[bench.side.column.end]
    corners = bench.project(np.concatenate([plate.corners for plate in bench.layout.plates]))
    assert drawer.box[2] >= least
    assert corners[:, 0].max() < drawer.box[0]
    assert not any(meet(box, drawer.box) for box in bench.scenery.words)
    if name == "digits":
        assert drawer._tile >= 22


@pytest.mark.parametrize("size", [(1280, 720), (1000, 600), (1920, 1080)])
def test_names_of_units_follow_the_name_of_their_layer(size):
    found = texts(bench_of(make_scene("texture"), size).sketches)
    for units in (item for item in found if re.fullmatch(r"\s*[a-z]1 \N{HORIZONTAL ELLIPSIS} [a-z]64", item.text)):
        assert any(item.y == units.y and item.x < units.x and "ReLU" in item.text for item in found), units.text
