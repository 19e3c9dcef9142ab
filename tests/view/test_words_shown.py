"""Words in a picture: when they change, the table of layers, what a hall reads, and mistakes that are on."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import KEYS, again, bench_of, box_of, overlap, pixels_of, said, said_anywhere, texts, words
from kit.commands import make_scene
from kit.networks import mlp
from kit.windows import X, live_hand, make_colour_scene
from scalarviz import Run, mistakes, nn, optim
from scalarviz.run import Scene
from scalarviz.run.opened.digits import MINUS
from scalarviz.run.opened.micro import PHASES
from scalarviz.run.panels import GraphPanel, LossCurve, Made, Table, TrainingLoop
from scalarviz.run.questions.diagnosis import layer_rows
from scalarviz.view.drawing import GraphView
from scalarviz.view.ink.boxes import LABEL, MARGIN
from scalarviz.view.ink.sketch import TextItem, meet
from scalarviz.view.ink.text import chip_text, delta_text, short
from scalarviz.view.ink.theme import DARK, LIGHT, presenting
from scalarviz.view.micro.captions import caption_at_rest
from scalarviz.view.micro.step_view import LOSS
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.render import render
from scalarviz.view.step_drawing import INSIDE
from scalarviz.view.watch.viewer import PRESSED_SECONDS
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
FRAME = 1 / 60


@pytest.fixture
def scene():
    with (made := make_colour_scene(panels=())).run:
        yield made


def step_of(texts):
    """The step of the HUD."""
    return next(after for word, after in pairwise(texts) if word == "step" and after[0].isdigit())


class Shown:
    """A picture of a scene that runs, whose words change ten times a second."""

    def __init__(self, scene, size=(1280, 720), steps=0, keys=KEYS):
        self.run, self.bench = scene.run, Workbench(scene, size, text_hz=10.0, keys=keys)
        self.after(0.2, steps)

    def after(self, seconds, steps=0, pace=""):
        self.run.step(steps)
        self.frame = self.bench.subject.frame() if steps or not hasattr(self, "frame") else self.frame
        self.bench.update(self.frame, pace, seconds)
        return said_anywhere(self.bench)


def test_a_step_after_a_rest_is_written_at_once_and_so_is_the_end(scene, monkeypatch):
    """The curve shows the step in this frame: so do the HUD and the numbers on the cubes."""
    with live_hand(scene, steps=3, duration=2.0) as hand:
        view, advance = hand.view, hand.view.playback.tick
        hand.settled(30, FRAME)
        view.send("step")
        hand.settled(1, FRAME)
        assert view.shown.step == 1
        assert step_of(said_anywhere(hand.bench)) == "1"
        # the last step may be done before the frame is drawn in which it was asked for
        monkeypatch.setattr(view.playback, "tick", lambda seconds: (advance(seconds), view.worker.settle()))
        view.send("toggle_run")
        for _ in range(180):
            view.tick(FRAME)
        assert view.shown.step == 3
        assert any("paused at the end" in text for text in said_anywhere(hand.bench))


def test_the_numbers_of_the_inspector_are_of_the_frame_that_its_equation_is_of(scene):
    shown = Shown(scene, steps=5)
    shown.bench.select(2)
    for _ in range(3):
        shown.after(0.02, 40)
        said = words(shown.bench.overlays[0])
        value = said[said.index("value") + 1]
        result = re.search(r"last update: [^=]*= [^=]*= ([^ ]+)", " ".join(said)).group(1)
        assert float(value.replace(MINUS, "-")) == pytest.approx(float(result.replace(MINUS, "-")), abs=1e-4)


def test_words_of_a_panel_are_of_the_frame_that_the_hud_speaks_of(scene):
    """A table, the four calls of a step and a graph: all say the step of the HUD, at every frame that runs."""

    def made(moment):
        return Made((sv.Value(float(moment.step), label="s"),), f"graph of {moment.step}")

    table = Table("mine", lambda moment: [(f"table of {moment.step}",)], lines=1)
    panels = LossCurve("here"), table, TrainingLoop((0,), ("w",)), GraphPanel("graph", made)
    shown, seen = Shown(replace(scene, panels=panels), (1280, 900), steps=1), set()
    shown.bench.next_panels()  # all of them
    for _ in range(39):
        said = shown.after(FRAME, 1)
        step = step_of(said)
        assert step in words(shown.bench.side.drawn("loss"))  # though the curve grows in every frame
        assert {f"table of {step}", f"all four happened in step {step}"} <= set(said)
        aged = any(text.startswith("step ") for text in said)  # it is dear: else it says of which step it is
        assert any(text.endswith(f"graph of {step}") for text in said) or aged
        seen.add(step)
    assert 5 < len(seen) < 12
    assert shown.bench.moving
    assert {"table of 40", "paused"} <= set(shown.after(0.1, pace="paused"))
    assert not shown.bench.moving


def test_a_number_on_a_cube_is_of_the_moment_of_its_colour():
    """A weight that jumps over its lowest point has another sign at every step: orange is below 0, blue above."""
    neuron, signs = make_scene("neuron", lr=1.1), set()
    with neuron.run as run:
        shown = Shown(neuron, steps=20, keys=())
        for _ in range(5):  # within a tenth of a second
            said, bench = shown.after(0.01, 1), shown.bench
            plate, value = bench.layout.plates[0], float(run.values[0])
            assert chip_text(value, signed=True) in said
            x, y = bench.project([0.9 * plate.cell_corners(0, 0)[4] + 0.1 * plate.tops[plate.grid.element(0, 0)]])[0]
            red, _, blue = pixels_of(bench)[round(y), round(x), :3]  # the main face, beside its number
            assert (red > blue) == (value < 0)
            signs.add(value < 0)
    assert signs == {True, False}


# ---- the table of layers


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_it_says_the_numbers_of_the_frame_shown_and_of_which_samples_until_it_is_closed(size):
    net = mlp(3, 6, 6, 3, activation="ReLU", last="Identity")(nn)
    net.initialize(seed=1)
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy")
    run.step(20)

    def told(hand):
        hand.settled(3, 0.5)
        return words(hand.view.bench.layers.sketches)

    with live_hand(Scene("t", run), size) as hand:
        view = hand.view
        view.key("d", "d")
        now, subject = told(hand), view.bench.subject
        assert "layers at step 20" in now
        for number, row in enumerate(layer_rows(view.shown, subject.tensors, subject.stages), 1):
            assert {f"layer {number}", short(row.gradient), short(row.ratio)} <= set(now)
        assert any("mean of all 32 samples" in text for text in now)
        assert "dead: 0 for all of the first 32 samples" in now
        view.send("back", 15)
        assert "layers at step 5" in told(hand)
        view.send("step", 15)
        assert told(hand) == now
        for close in ("d", "Escape"):
            view.key(close, close)
            assert not told(hand)
            view.key("d", "d")
        assert not hand.host.closed


# ---- a picture for a hall


@pytest.fixture
def rgb_scene():
    made = make_scene("rgb", hidden=[4])
    made.run.step(3)
    yield made
    made.run.close()


def test_no_small_print_is_written_and_another_look_stays_for_a_hall(rgb_scene):
    benches = [bench_of(rgb_scene, theme=presenting("dark", hall)) for hall in (False, True)]
    for bench in benches:
        bench.update(bench.subject.frame(), "a pace that is small print")
    plain, hall = ({*said(bench)} for bench in benches)
    assert {"a pace that is small print", "layer 1", "layer 2"} <= plain
    assert {"loss", "step", "layer 1", "layer 2"} <= hall
    assert not any(text.startswith("4×3") or ".weight" in text or "small print" in text for text in hall)
    assert min(item.size for item in texts(benches[1].sketches)) * benches[1].scale >= LABEL * 1.5
    benches[1].set_look(theme="light")
    assert again(benches[1]).theme == presenting(LIGHT)
    drawn = [render(rgb_scene, (640, 360), **look) for look in ({}, {"presenter": True}, {"theme": presenting(DARK)})]
    assert (drawn[0] != drawn[1]).any()
    np.testing.assert_array_equal(drawn[1], drawn[2])


def test_numbers_grow_with_their_cubes_and_large_pictures_have_more_room():
    scene = make_scene("rgb")
    scene.run.step(3)
    benches = [bench_of(scene, size) for size in ((800, 450), (1280, 720), (1600, 900), (1920, 1080), (3840, 2160))]
    sizes = [bench.scenery.values.size for bench in benches]
    assert sizes == sorted(sizes)
    assert LABEL <= min(sizes) < max(sizes) <= 1.6 * LABEL
    rooms, scales = [bench.places.size[0] for bench in benches], [bench.scale for bench in benches]
    assert rooms == sorted(rooms)
    assert scales == sorted(scales)
    assert rooms[1] < rooms[3] == pytest.approx(rooms[4])  # beyond that all grows alike


KEPT = {
    "rgb": {"pictures"}, "xor": {"plane", "table"}, "digits": {"probe"}, "uinn": {"model"}, "microgpt": {"word"},
    "playground": {"plane"}, "texture": {"painting"}, "expression": {"curve"}, "neuron": {"loss over weights"},
}  # fmt: skip
"""By scene, the panels that a step needs."""


@pytest.mark.ci
@pytest.mark.parametrize("name", KEPT)
def test_a_hall_keeps_all_that_a_step_needs_in_letters_that_are_read_from_the_last_row(name):
    scene = make_scene(name)
    scene.run.step(3)
    bench = bench_of(scene, (1920, 1080), presenting("dark"))
    subject, frame = bench.subject, bench.subject.frame()
    walk = Walk(open_step(subject, alone=True in sides(subject)), subject, frame)
    for at in (None, *(walk.first_of(phase) for phase in range(len(PHASES))), len(walk)):
        step = None if at is None else walk.micro_step_at(at)
        bench.step_drawing.show(step, animated=False)
        bench.update(frame if step is None else step.frame)
        written = [item for item in texts(bench.sketches) if item.text.strip()]
        assert min(item.size for item in written) * bench.scale >= 28
        joined = " ".join(item.text for item in written)
        if step is None:
            assert subject.purpose in joined
            continue
        bound = step.sentence.bound
        assert any(way in joined for way in ([step.sentence.caption.text] if bound is None else bound.ways))
        made = [word.text.strip() for formula in step.sentence.formulas[:1] for word in formula.numbers if word.bold]
        short = step.sentence.short
        made += [] if short is None else [word.text.strip() for word in short.numbers if word.bold]
        assert not made or any(text in joined for text in made)
        assert INSIDE in bench.places.panels
        lifted = {panel for panel, box in bench.side._above.items() if box}
        assert KEPT[name] <= {*bench.places.panels, *lifted}
        assert "loss" not in bench.places.panels
        if bench.scenery.flow is not None and step.phase > LOSS:
            deltas = next(iter(step.deltas.values()))
            assert all(f"δ {delta_text(float(delta))}" in joined for delta in deltas if delta == delta)


@pytest.mark.ci
@pytest.mark.parametrize("keys", [(), KEYS], ids=["still", "window"])
@pytest.mark.parametrize("size", [(390, 844), (360, 780), (844, 390), (1080, 1920)])
@pytest.mark.parametrize("name", KEPT)
def test_a_telephone_shows_all_that_a_step_needs_on_one_screen(name, size, keys):
    """Cubes, words, numbers, phases and the result: inside the picture, apart from each other, and large enough."""
    scene = make_scene(name)
    scene.run.step(3)
    bench = bench_of(scene, size, keys=keys)
    subject, frame = bench.subject, bench.subject.frame()
    walk = Walk(open_step(subject, alone=True in sides(subject)), subject, frame)
    for at in (None, *(walk.first_of(phase) for phase in range(len(PHASES))), len(walk)):
        step = None if at is None else walk.micro_step_at(at)
        bench.step_drawing.show(step, animated=False)
        bench.update(frame if step is None else step.frame)
        (width, height), standing = bench.places.size, size[1] > size[0]
        written = [item for item in texts(bench.sketches) if item.text.strip()]
        small = [item.text for item in written if item.size * bench.scale < 13]
        assert not small or name == "expression"  # its graph is drawn at the size that it has room for
        boxes = [(item.text, *box_of(item)) for item in written if item.size * bench.scale >= 13]
        for number, (text, left, top, right, bottom) in enumerate(boxes):
            assert min(left, top, width - right, height - bottom) >= 0, text
            covered = [other for other, *box in boxes[:number] if overlap((left, top, right, bottom), tuple(box), 0.5)]
            assert not covered, (text, covered)
        x, y, wide, high = bench.places.scene
        for plate in bench.layout.plates:
            corners = bench.project(plate.corners)
            assert (corners >= (x, y)).all()
            assert (corners <= (x + wide, y + high + 10)).all()
        lifted = {panel for panel, box in bench.side._above.items() if box}
        assert (KEPT | {"xor": {"plane"}, "uinn": {"table"}})[name] <= {*bench.places.panels, *lifted} or size[0] < 390
        flow = bench.scenery.flow
        assert flow is None or {"sum", "output", "target"} == {*flow.rows.columns}
        said = {item.text for item in written}
        joined = " ".join(item.text for item in written)
        if step is None:
            caption = caption_at_rest(subject, frame)
            assert not standing or caption is None or any(way in joined for way in caption.ways)
            continue
        bound = step.sentence.bound
        assert any(way in joined for way in ([step.sentence.caption.text] if bound is None else bound.ways))
        assert step.sentence.solved(text.strip() for text in said) or step.sentence.solved(said)
        assert {*(step.phases[step.phase].name[:end] for end in (4, None))} & said
        parts = [bench.places.scene, bench.places.strip, bench.places.time, *bench.places.panels.values()]
        parts = [box for box in parts if box is not None]
        assert not any(meet(one, other) for one, other in combinations(parts, 2))
        if flow is not None and step.phase > LOSS:
            deltas = next(iter(step.deltas.values()))
            assert all(f"δ {delta_text(float(delta))}" in said for delta in deltas if delta == delta)


@pytest.mark.ci
@pytest.mark.parametrize("size", [(390, 784), (390, 844), (1080, 1920)])
@pytest.mark.parametrize("name", KEPT)
def test_a_panel_of_a_file_is_readable_in_a_standing_picture_and_as_large_as_it_can_be(name, size, tmp_path):
    """Its texts keep their size while it shrinks; it has the whole width, or all the height that the cubes spare."""
    scene = make_scene(name)
    with sv.Recording(scene, panels=True, path=tmp_path / "panels.svz"):
        scene.run.step(3)
    bench = bench_of(sv.load_recording(tmp_path / "panels.svz"), size)
    bench.timed = True
    bench.lay_out()
    bench.update(bench.subject.frame())
    (width, height), panels = bench.places.size, bench.places.panels.values()
    assert panels
    written = [item for part in bench.side.column.names for item in texts(bench.side.drawn(part)) if item.text.strip()]
    assert written
    assert min(item.size for item in written) * bench.scale >= 13
    boxes = [box_of(item) for item in written]
    assert all(min(left, top, width - right, height - bottom) >= 0 for left, top, right, bottom in boxes)
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair, 0.5)]
    fills = max(x + wide for x, _, wide, _ in panels) - min(box[0] for box in panels) >= width - 2 * MARGIN - 1
    assert fills
    drawn = [sketch.copied[1] for part in bench.side.column.names for sketch in bench.side.drawn(part) if sketch.copied]
    across = max(box[0] + box[2] for box in drawn) - min(box[0] for box in drawn)
    assert across >= 0.9 * (width - 2 * MARGIN) or bench.places.scene[3] <= max(240, 0.27 * height)


def test_a_hall_has_the_target_and_the_line_of_keys_too_and_r_on_a_run_that_stands_lets_it_stand():
    with live_hand(make_scene("rgb"), theme=presenting("dark", True)) as hand:
        assert {"target", "Space", "?", "0.08"} <= set(hand.words())
        for _ in range(2):
            hand.do("step", 3)
            hand.do("restart")
            assert (hand.view.playback.running, hand.view.frame().step) == (False, 0)
            hand.view.playback.end = 3  # and where it had come to its end


def ground(sketch):
    return sketch.shapes[0].x, sketch.shapes[0].y, sketch.shapes[0].width, sketch.shapes[0].height


@pytest.mark.parametrize(("size", "hall"), [((1280, 720), False), ((1280, 720), True), ((1000, 600), True)])
def test_keys_that_are_pressed_are_shown_for_a_while_and_cover_nothing(rgb_scene, size, hall):
    with live_hand(rgb_scene, size, theme=presenting("dark", hall), playing=True, wait=None) as hand:
        bench = hand.view.bench
        hand.settled()
        caps = {part for cap in bench.story.text.caps for part in (cap.key, cap.does)}
        assert {"Space", "begin"} <= caps
        for key, held, wanted in (
            ("g", {}, {"G", "colour by gradient"}), ("Right", {"shift": True}, {"Shift+Right", "train one step"})
        ):  # fmt: skip
            hand.view.key(key, **held)
            hand.view.say("some news")
            hand.view.tick(0.1)
            assert (wanted <= set(hand.texts())) == hall
            layers = [sketch for layer in bench.overlays for sketch in layer]
            (news,) = [sketch for sketch in layers if "some news" in words([sketch])]
            taken = [ground(news), *[bench.places.time] * bool(bench._time)]
            taken += [image.rect for sketch in bench._numbers for image in sketch.images]
            story = [text for text in texts(bench.story.sketches) if text.text not in caps]
            for card in (sketch for sketch in layers if wanted & {*words([sketch])}):
                assert not any(meet(ground(card), box) for box in taken)
                assert not any(overlap(box_of(one), box_of(mark)) for one in story for mark in texts([card]))
        assert not bench._time or not meet(ground(news), bench.places.time)
        assert "G" not in hand.texts()
        hand.view.tick(PRESSED_SECONDS + 0.1)
        hand.view.tick(0.1)
        assert "Shift+Right" not in hand.texts()


@pytest.mark.parametrize("name", ["rgb", "neuron", "xor"])
@pytest.mark.parametrize("size", [(1024, 768), (1280, 800), (1280, 720), (800, 600)])
def test_no_key_of_a_presenter_lies_on_the_line_about_panels_without_room(name, size):
    with live_hand(make_scene(name), size, theme=presenting("dark")) as hand:
        for _ in range(2):
            bench = hand.view.bench
            keys = [box_of(one) for one in texts(bench._key_line)]
            rest = [box_of(one) for one in texts(bench.side.column.left_out_line())]
            assert keys
            assert not [(one, other) for one in keys for other in rest if overlap(one, other)]
            hand.key(".")


# ---- mistakes that are on


def mistakes_said(subject, size=(680, 510)):
    """The texts of a picture that speak of mistakes; they begin at the left, and nothing of them is cut."""
    found = [item for item in texts(bench_of(subject, size).sketches) if "mistake" in item.text]
    assert all(0 <= one.x < 100 and one.x + one.width <= size[0] and 0 < one.y < size[1] for one in found)
    return [one.text.rstrip(" ·") for one in found]


@pytest.mark.parametrize("size", [(680, 510), (240, 360), (1280, 720), (320, 180)])
def test_it_is_named_while_it_is_on_in_any_thread_and_a_run_makes_none_but_that_of_its_beginning(size):
    model, found = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), []
    assert mistakes_said(model, size) == []
    with mistakes.overwrite(), mistakes.wrong_order("found"), mistakes.no_zero_grad():
        thread = threading.Thread(target=lambda: found.append(mistakes_said(model, size)))
        thread.start()
        thread.join(30)
        assert found == [mistakes_said(model, size)]
    assert found[0][0] in ("3 mistakes on", "mistake on: overwrite, wrong_order (found), no_zero_grad")
    assert mistakes_said(model, size) == []
    data, sgd = (np.eye(3), np.eye(3)[:, :2]), optim.SGD(model.parameters(), lr=0.1)
    with sv.Run(model, nn.MSELoss(), sgd, data=data, engine="numpy") as run, mistakes.overwrite():
        assert mistakes_said(run, size) == []
        with mistakes.symmetric_init():
            assert mistakes_said(run, size) == ["mistake on: symmetric_init"]


def words_in(ink):
    """Texts of a graph's picture that speak of mistakes: within it, at its foot."""
    found = [one for one in ink if isinstance(one, TextItem) and "mistake" in one.text]
    assert all(one.x + one.width <= ink.width and ink.height - 60 < one.y < ink.height - 2 for one in found)
    return [one.text for one in found]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_picture_of_a_graph_names_it_while_it_is_on_and_when_it_was_made_with_it(theme):
    a = sv.Value(3.0)
    b = a * a
    (b + a).backward()
    plain = sv.draw(b + a, theme=theme)
    before, high = plain.svg, plain.ink(theme).height
    with offscreen():
        view = GraphView(plain, (640, 360))
        with mistakes.wrong_order("found"), mistakes.overwrite():
            made = sv.draw(b + a, theme=theme)
            view._reread()
            for ink in (plain.ink(theme), made.ink(theme), view.ink):
                assert words_in(ink) == ["mistake on: wrong_order (found), overwrite"]
            assert plain.ink(theme).height > high  # it stands below, over nothing
        view._reread()
    assert words_in(plain.ink(theme)) == words_in(view.ink) == []
    assert plain.svg == before
    assert words_in(made.ink(theme)) == ["drawn with the mistake wrong_order (found), overwrite"]
    assert "drawn with the mistake" in made.svg
