"""The sample whose way is drawn: chosen by a click or drawn by hand, everything that shows it follows at once."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of, middle, said, said_above
from kit.commands import make_scene
from kit.networks import mlp
from kit.windows import COLOURS as GRID
from kit.windows import X, live_hand, make_colour_scene, mirror_hand
from scalarviz import nn, optim
from scalarviz.cli.pictures import canvas_of
from scalarviz.errors import InputError
from scalarviz.run.edits import SetTargets
from scalarviz.run.panels import ColourCube, DigitBoard, DigitPad, LossCurve, Pictures
from scalarviz.view.ink.text import chip_text, loss_text
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.colour_cube import hexed
from scalarviz.view.shown.subject import scene_subject, subject_of

pytestmark = pytest.mark.gl

RNG = np.random.default_rng(4)
PHOTO = RNG.random((6, 9, 3)).astype(np.float32)


def colours(*hidden):
    net = mlp(3, *hidden, 3, activation="Sigmoid")(nn)
    net.initialize(nn.init.normal(0, 1), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return make_colour_scene(run, (Pictures(PHOTO, 1 - PHOTO), ColourCube(GRID, 1 - GRID), LossCurve()))


@pytest.fixture(params=[(), (16, 16)], ids=["single", "deep"])
def view(request):
    with live_hand(colours(*request.param)) as window:
        window.do("toggle_panels")  # all of them
        window.do("step")
        yield window.view


def click(view, at, *, shift=False):
    point = at[0] * view.bench.scale, at[1] * view.bench.scale
    view.press(point, shift=shift)
    view.release(point)
    view.tick(0.001)  # at once: text that waited for its pace would still be that of the sample before


def disc(view, which, place):
    """The middle of one of the discs that no other covers there, from far to near, and its input colour."""
    places = view.bench.side.drawer(ColourCube)._cubes[which]
    seen = [k for k, (x, y) in enumerate(places.centres) if places.disc_at(float(x), float(y)) == k]
    return tuple(places.centres[seen[place]]), GRID[places.visible[seen[place]]]


def swatch(view):
    spots = (spot for layer in view.bench.overlays for sketch in layer for spot in sketch.spots)
    return middle(next(spot.box for spot in spots if spot.name == "next sample"))


def picture(view, number):
    return next(sketch.images for sketch in view.bench.sketches if len(sketch.images) == 3)[number].rect


def assert_shown(view, sample, target):
    """Chips, swatch, loss and the rows of the network are those of this sample."""
    subject, frame = view.bench.subject, view.frame()
    for shown, wanted in ((subject.probe, sample), (subject.target, target), (frame.activations["input"], sample)):
        assert np.allclose(shown, wanted, atol=1e-7)
    expected = subject.source.predict(np.asarray(sample)[None], frame.values)[0]
    assert np.allclose(frame.activations[subject.stages[-1].name], expected, atol=1e-6)
    words, loss = said(view.bench), float(np.mean((np.asarray(expected, float) - target) ** 2))
    assert any(text.endswith(f"loss of this colour {loss_text(loss)}") for text in words)
    x, y = swatch(view)
    seen = offscreen().render(view.bench.draw, view.bench.size)[round(y), round(x)].astype(int)
    assert np.abs(seen - np.rint(255 * np.asarray(sample))).max() <= 2
    if len(subject.stages) == 2:
        assert all(chip_text(float(number)) in words for number in (*sample, *expected, *target))


def test_what_is_clicked_is_chosen_and_nothing_is_learnt(view):
    """A disc of either cube, a pixel of each picture, the swatch, and a disc while it trains."""
    before, log = view.run.values.copy(), len(view.run.log)
    for which, place in (("source", -1), ("source", 3), ("target", -1), ("target", 3)):
        at, colour = disc(view, which, place)
        click(view, at)
        assert_shown(view, colour, 1 - colour)
    for number in range(3):
        x, y, width, height = picture(view, number)
        for at, pixel in (((x + width / 2, y + height * 2.5 / 6), (2, 4)), ((x + 0.5, y + 0.5), (0, 0))):
            click(view, at)
            assert_shown(view, PHOTO[pixel], 1 - PHOTO[pixel])
    view.bench.select(0)
    told = str(view.bench.interaction.inspector.explanation(view.frame()))
    for number in range(33):
        click(view, swatch(view))
        if number in (0, 1, 32):  # after the last one the first
            sample = X[number % 32].astype(np.float32)
            assert_shown(view, sample, 1 - sample)
    changed = str(view.bench.interaction.inspector.explanation(view.frame()))
    assert "of this colour" in changed != told
    assert np.array_equal(view.run.values, before)
    assert len(view.run.log) == log
    view.bench.select(None)
    view.playback.play()
    at, colour = disc(view, "source", 5)
    click(view, at)
    assert np.array_equal(view.frame().activations["input"], colour)


def test_shift_teaches_and_the_target_shown_moves_too(view):
    (near, colour), (far, new) = disc(view, "source", -1), disc(view, "target", 0)
    for at, shift in ((near, False), (near, True), (far, False), (near, False)):
        click(view, at, shift=shift)  # what is chosen keeps the colour that waits for its target
    assert view.bench.side.drawer(ColourCube).marked == tuple(colour)
    assert view.run.log == []
    click(view, far, shift=True)
    view.worker.settle()
    (done,) = view.worker.log
    assert isinstance(done.edit, SetTargets)
    assert view.playback.running
    assert np.allclose(view.bench.subject.target, 1 - new)
    assert np.array_equal(view.bench.subject.probe, colour)


@pytest.mark.parametrize("seen", [True, False])
def test_what_was_taught_and_undone_is_wanted_no_more(view, seen):
    """Of the cube, of the sample that is drawn, and again after redo and before the step at which it was taught.

    Also where the cube is not seen, at rest.
    """
    cube, subject = view.bench.side.drawer(ColourCube), view.bench.subject
    for _ in range(0 if seen else 2):
        view.send("toggle_panels")
        view.tick(0.1)
    assert (cube.box is not None) == seen
    click(view, middle(picture(view, 0)))
    plain, colour = subject.target.copy(), subject.probe.copy()
    cube.retarget(tuple(colour), (1.0, 0.0, 1.0))
    view.playback.pause()
    view.worker.settle()
    taught = cube.targets.copy()
    assert np.abs(taught - (1 - GRID)).max() > 0.3
    again, before = (taught, (1.0, 0.0, 1.0)), (1 - GRID, plain)
    ways = {(): again, ("undo",): before, ("redo",): again, ("step", "first"): before}
    for actions, (targets, target) in ways.items():
        for action in actions:
            view.send(action)
            view.worker.settle()
            view.tick(0.1)
        for _ in range(3):
            view.tick(0.1)
        assert np.array_equal(cube.targets, targets)
        assert np.allclose(subject.target, target, atol=1e-6)
        if actions == ("undo",):  # what the run itself learns from says the same
            assert np.allclose(view.run.samples()[1], 1 - X, atol=1e-6)
    assert np.array_equal(subject.probe, colour)


def test_a_followed_run_follows_the_choice_and_what_nobody_knows_is_a_question_mark():
    with mirror_hand(colours()) as hand:
        view = hand.view
        view.send("toggle_panels")
        at, colour = disc(view, "source", -1)
        click(view, at)
        view.tick(0.2)
        assert_shown(view, colour, 1 - colour)
        view.bench.side.shared.choose(X[5])
        view.tick(0.001)
        assert view.bench.subject.target is None
        assert "?" in said(view.bench)
        assert not any("loss of this colour" in text or "NaN" in text for text in said(view.bench))
    assert [hexed((0.0, 0.5, 2.0)), hexed((np.nan, 0.0, 0.0))] == ["#0080ff", "no colour"]


def test_a_still_chooses_nothing_and_another_count_of_numbers_is_refused():
    scene = colours()
    bench = bench_of(scene, asked=True)  # a film: nobody is there
    bench.click(tuple(bench.side.drawer(ColourCube)._cubes["source"].centres[-1]))
    assert np.array_equal(bench.subject.probe, X[0])
    assert not any("choose it" in does for _, does in bench.side.gestures)
    subject = scene_subject(scene, subject_of(scene).source)
    for sample, target, words in (
        (np.zeros(2), None, "got the length 2; allowed: 3"),
        (np.zeros(3), np.zeros(4), "a target of length 4"),
    ):
        with pytest.raises(InputError, match=words):
            subject.choose(sample, target)
    assert np.array_equal([subject.probe, subject.target], [X[0], 1 - X[0]])
    subject.choose(np.ones(3), np.ones(3))
    assert np.array_equal([scene.probe, scene.probe_target], [X[0], 1 - X[0]])  # the scene keeps its own
    with pytest.raises(InputError, match="no sample is drawn here"):
        subject_of({"a": np.eye(3)}).choose(np.ones(3))


@pytest.fixture
def digits():
    scene = make_scene("digits", seed=3)
    scene.run.step(400)
    with live_hand(scene) as window:
        yield window


def test_a_digit_of_the_board_lies_on_the_sheet(digits):
    view, board, sheet = digits.view, digits.drawer(DigitBoard), digits.drawer(DigitPad)
    for number in (3, 17):
        x, y, _ = map(float, board._place[number])
        found = board.under((x, y))
        click(view, (x, y))
        assert np.array_equal(view.frame().activations["input"], board.inputs[found])
        assert np.array_equal(sheet.picture, board.inputs[found])
        assert (sheet.digit, sheet.drawn) == (board.labels[found], False)
        assert f"is {board.labels[found]}" in said(view.bench)
        view.move(digits.at((x, y)))
        digits.rest()
        assert {f"a {board.labels[found]}", "click: choose it"} <= set(said_above(view.bench))


def test_a_digit_that_is_drawn_is_read_at_once(digits):
    pad, view = digits.drawer(DigitPad), digits.view

    def stroke(*places, button="left"):
        x, y, width, height = pad.field
        points = [(x + (column + 0.5) * width / 8, y + (row + 0.5) * height / 8) for column, row in places]
        start, end = map(digits.at, (points[0], points[-1]))
        digits.drag(start, (end[0] - start[0], end[1] - start[1]), button=button)
        view.move(end)
        digits.rest()

    before, camera = pad.pixels.copy(), digits.bench.camera
    stroke((4, 3), (4, 4), button="right")  # erases
    assert pad.pixels[3:5, 4].max() == 0
    assert np.array_equal(pad.pixels[:, 0], before[:, 0])
    view.key("Backspace")
    digits.rest()
    assert not view.frame().activations["input"].any()
    view.key("5", "5")
    view.worker.settle()
    assert view.worker.log == []  # an empty sheet is not learnt
    stroke((4, 0), (4, 7))
    assert (pad.pixels[:, 4] > 0.9).all()
    assert ((pad.pixels > 0) & (pad.pixels < 1)).any()  # its edges are soft
    assert pad.pixels[:, [0, 1, 7]].max() == 0
    np.testing.assert_array_equal(view.frame().activations["input"], pad.pixels.ravel())
    assert {"read as 1", "your drawing"} <= set(said(digits.bench))
    assert digits.bench.camera is camera  # the drag turned nothing


# ---- A scene that names no probe: the first sample of its data is drawn, with names and numbers


def own_scene(*widths, loss=None, targets=None, **more):
    """A network that somebody wrote himself, without a probe."""
    rng, net = np.random.default_rng(3), mlp(*widths, last="Identity")(nn)
    net.initialize(nn.init.pytorch_default(), seed=3)
    data = rng.normal(0, 1, (12, widths[0])), rng.normal(0, 1, (12, widths[-1])) if targets is None else targets
    run = sv.Run(net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")
    return sv.Scene("own", run, **more)


@pytest.mark.parametrize("widths", [(4, 3), (2, 4, 1), (2, 3, 3, 2)])
def test_it_is_the_first_sample_with_its_target_names_and_numbers(widths):
    scene = own_scene(*widths)
    scene.run.step(3)
    inputs, targets = scene.run.samples()
    subject, outputs = subject_of(scene), scene.run.predict(inputs[:1])[0]
    assert np.array_equal([*subject.probe, *subject.sample.target], [*inputs[0], *targets[0]])
    assert subject.probe_loss(subject.frame()) == pytest.approx(np.mean((outputs - targets[0]) ** 2), rel=1e-5)
    names = {f"x{k}" for k in range(widths[0])} | {f"y{k}" for k in range(widths[-1])}
    numbers = {chip_text(value) for value in (*inputs[0], *outputs, *targets[0])}
    assert names | numbers <= {*" ".join(said(bench_of(scene))).replace(",", "").split()}
    options = importlib.import_module("scalarviz.scenes.rgb").Options(size=(960, 540))
    drawn = canvas_of(scene.name, options, scene).picture("", 0.0)  # films and stills, too
    assert np.abs(drawn.astype(int) - sv.render(scene, (960, 540), pace_text=" ")).mean() < 0.1
    mine = subject_of(own_scene(*widths, probe=np.ones(widths[0])))  # one that is given stays
    assert mine.probe.tolist() == [1.0] * widths[0]
    assert mine.sample.target is None  # nobody knows what it should become


@pytest.mark.parametrize("widths", [(3, 3), (3, 4, 3)])
def test_a_class_as_target_is_named_not_drawn_as_a_number(widths):
    animals, labels = ("cat", "dog", "owl"), np.arange(12) % 3
    words = said(bench_of(own_scene(*widths, loss=nn.CrossEntropyLoss(), targets=labels, output_names=animals)))
    assert any(text.startswith("target cat") for text in words)
    assert "target" not in words  # which would stand before a number
