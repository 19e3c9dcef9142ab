"""The sample whose way is drawn is chosen by a click: everything that shows it follows at once, nothing is learnt."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import scalarviz as sv
from kit.networks import mlp
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.edits import SetTargets
from scalarviz.run.panels import ColourCube, DigitBoard, DigitPad, LossCurve, Pictures
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.text import chip_text, loss_text
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.colour_cube import hexed
from scalarviz.view.shown.subject import scene_subject, subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.watch.viewer import Viewer
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
RNG = np.random.default_rng(4)
X = RNG.random((32, 3))
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
PHOTO = RNG.random((6, 9, 3)).astype(np.float32)
SIZE = (1280, 720)
DIGITS, LABELS = RNG.random((40, 16)), np.arange(40) % 10


def colours(*hidden: int) -> Scene:
    net = mlp(3, *hidden, 3, activation="Sigmoid")(nn)
    net.initialize(nn.init.normal(0, 1), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    panels = (Pictures(PHOTO, 1 - PHOTO), ColourCube(GRID, 1 - GRID), LossCurve())
    return Scene("t", run, X[0], 1 - X[0], ("r", "g", "b"), ("r", "g", "b"), panels)


def digits() -> Scene:
    net = nn.Sequential(nn.Linear(16, 10, seed=1))
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.5), (DIGITS, LABELS), engine="numpy")
    panels = (DigitBoard(DIGITS, LABELS, (4, 4)), DigitPad((4, 4)), LossCurve())
    return Scene("d", run, DIGITS[0], LABELS[:1], output_names=tuple("0123456789"), panels=panels)


def live(scene: Scene) -> LiveView:
    view = LiveView(scene, SIZE, playing=False)
    view.send("step")
    view.worker.settle()
    view.tick(0.02)
    return view


@pytest.fixture(params=[(), (16, 16)], ids=["single", "deep"])
def view(request: pytest.FixtureRequest) -> Iterator[LiveView]:
    with offscreen():
        made = live(colours(*request.param))
        yield made
        made.close()


def click(view: Viewer, at: tuple[float, float], *, shift: bool = False) -> None:
    scale = view.bench.scale
    point = at[0] * scale, at[1] * scale
    view.press(point, shift=shift)
    view.release(point)
    view.tick(0.001)  # at once: text that waited for its pace would still be that of the sample before


def disc(view: Viewer, which: str, place: int) -> tuple[tuple[float, float], np.ndarray]:
    """The middle of one of the discs that no other covers there, from far to near, and its input colour."""
    places = view.bench.side.drawer(ColourCube)._cubes[which]
    seen = [k for k, (x, y) in enumerate(places.centres) if places.disc_at(float(x), float(y)) == k]
    row = int(places.visible[seen[place]])
    x, y = places.centres[seen[place]]
    return (float(x), float(y)), GRID[row]


def middle(box: tuple[float, float, float, float]) -> tuple[float, float]:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def swatch(view: Viewer) -> tuple[float, float]:
    spots = (spot for layer in view.bench.overlays for sketch in layer for spot in sketch.spots)
    return middle(next(spot.box for spot in spots if spot.name == "next sample"))


def picture(view: Viewer, number: int) -> tuple[float, float, float, float]:
    return next(sketch.images for sketch in view.bench.sketches if len(sketch.images) == 3)[number].rect


def words(view: Viewer) -> list[str]:
    return [item.text for sketch in view.bench.sketches for item in sketch.texts]


def above(view: Viewer) -> set[str]:
    return {item.text for layer in view.bench.overlays for sketch in layer for item in sketch.texts}


def assert_shown(view: Viewer, sample: np.ndarray, target: np.ndarray) -> None:
    """Chips, swatch, loss and the rows of the network are those of this sample."""
    subject = view.bench.subject
    assert np.allclose(subject.probe, sample, atol=1e-7)
    assert np.allclose(subject.target, target, atol=1e-7)
    frame = view.frame()
    assert np.allclose(frame.activations["input"], sample, atol=1e-7)
    last = frame.activations[subject.stages[-1].name]
    expected = subject.source.predict(np.asarray(sample)[None], frame.values)[0]
    assert np.allclose(last, expected, atol=1e-6)
    loss = float(np.mean((np.asarray(expected, float) - target) ** 2))
    assert any(text.endswith(f"loss of this colour {loss_text(loss)}") for text in words(view))
    x, y = swatch(view)
    seen = offscreen().render(view.bench.draw, view.bench.size)[round(y), round(x)].astype(int)
    assert np.abs(seen - np.rint(255 * np.asarray(sample))).max() <= 2
    if len(subject.stages) == 2:
        said = words(view)
        assert all(chip_text(float(number)) in said for number in (*sample, *expected, *target))


def test_what_is_clicked_is_chosen_and_nothing_is_learnt(view: LiveView) -> None:
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
    for number in range(33):
        click(view, swatch(view))
        if number < 3 or number == 32:  # after the last one the first
            sample = X[number % 32].astype(np.float32)
            assert_shown(view, sample, 1 - sample)
            view.move(swatch(view))
            view.tick(0.02)
            said = {hexed(sample), f"sample {number % 32 + 1} of 32", "click: the next of the 32 samples"}
            assert said <= above(view)
            view.move((5.0, 5.0))
    assert np.array_equal(view.run.values, before)
    assert len(view.run.log) == log
    view.playback.play()
    at, colour = disc(view, "source", 5)
    click(view, at)
    assert np.array_equal(view.frame().activations["input"], colour)


def test_the_inspector_speaks_of_the_chosen_colour(view: LiveView) -> None:
    view.bench.select(0)
    inspector = view.bench.touch.inspector
    assert inspector is not None
    said = str(inspector.explanation(view.frame()))
    for _ in range(2):  # the first one is shown already
        click(view, swatch(view))
    view.tick(0.2)
    assert view.bench.selected == 0
    changed = str(inspector.explanation(view.frame()))
    assert "of this colour" in changed
    assert changed != said


def test_shift_teaches_and_the_target_shown_moves_too(view: LiveView) -> None:
    (near, colour), (far, new) = disc(view, "source", -1), disc(view, "target", 0)
    click(view, near)
    click(view, near, shift=True)
    click(view, far)  # keeps the colour that waits for its target
    click(view, near)
    assert view.bench.side.drawer(ColourCube).marked == tuple(colour)
    assert view.run.log == []
    click(view, far, shift=True)
    view.worker.settle()
    (done,) = view.worker.log
    assert isinstance(done.edit, SetTargets)
    assert np.allclose(view.bench.subject.target, 1 - new)
    assert np.array_equal(view.bench.subject.probe, colour)


def settle(view: LiveView) -> None:
    view.worker.settle()
    for _ in range(3):
        view.tick(0.1)


@pytest.mark.parametrize("how", ["disc", "pixel", "swatch", "the scene's own"])
def test_what_was_taught_and_undone_is_wanted_no_more(view: LiveView, how: str) -> None:
    """Of the cube, of the sample that is drawn, and again after redo and before the step at which it was taught."""
    cube = view.bench.side.drawer(ColourCube)
    places = {
        "disc": lambda: disc(view, "source", -1)[0],
        "pixel": lambda: middle(picture(view, 0)),
        "swatch": lambda: swatch(view),
    }
    if how in places:
        click(view, places[how]())
    plain, colour = view.bench.subject.target.copy(), view.bench.subject.probe.copy()
    cube.retarget(tuple(colour), (1.0, 0.0, 1.0))
    view.playback.pause()
    settle(view)
    taught = cube.targets.copy()
    assert np.allclose(view.bench.subject.target, (1.0, 0.0, 1.0), atol=1e-6)
    assert np.abs(taught - (1 - GRID)).max() > 0.3
    view.send("undo")
    settle(view)
    assert np.array_equal(cube.targets, 1 - GRID)
    assert np.allclose(view.bench.subject.target, plain, atol=1e-6)
    assert np.allclose(view.run.samples()[1], 1 - X, atol=1e-6)  # what the run itself learns from says the same
    view.send("redo")
    settle(view)
    assert np.array_equal(cube.targets, taught)
    assert np.allclose(view.bench.subject.target, (1.0, 0.0, 1.0), atol=1e-6)
    view.send("step", 3)
    view.send("first")
    settle(view)
    assert view.worker.latest.step == 0
    assert np.array_equal(cube.targets, 1 - GRID)  # it was taught at step 1
    assert np.allclose(view.bench.subject.target, plain, atol=1e-6)
    assert np.array_equal(view.bench.subject.probe, colour)


def test_a_followed_run_follows_the_choice_as_well() -> None:
    scene = colours()
    with offscreen():
        view = Mirror(subject_of(scene), SIZE)
        view.tick(0.02)
        at, colour = disc(view, "source", -1)
        click(view, at)
        view.tick(0.2)
        assert_shown(view, colour, 1 - colour)
        view.close()


def test_a_digit_of_the_board_lies_on_the_sheet() -> None:
    with offscreen():
        view = live(digits())
        board = view.bench.side.drawer(DigitBoard)
        for number in (3, 17):
            x, y, _ = board._place[number]
            found = board.under((float(x), float(y)))
            assert found is not None
            click(view, (float(x), float(y)))
            label = board.labels[found]
            assert np.array_equal(view.frame().activations["input"], board.inputs[found])
            sheet = view.bench.side.drawer(DigitPad).sheet
            assert np.array_equal(sheet.picture, board.inputs[found])
            assert (sheet.label, sheet.drawn) == (label, False)
            assert f"is {label}" in words(view)
            view.move((float(x) * view.bench.scale, float(y) * view.bench.scale))
            view.tick(0.02)
            assert {f"a {label}", "click: show its way"} <= above(view)
        (item,) = board.sketch().small  # of those that overlap the one on top is found
        order = np.rint(item.cells[:, 0] * len(board.labels)).astype(int)
        ends = item.rects[:, :2].min(axis=0), (item.rects[:, :2] + item.rects[:, 2:]).max(axis=0)
        hit = 0
        for x, y in RNG.uniform(*ends, (400, 2)):
            inside = [k for k, (a, b, w, h) in zip(order, item.rects, strict=True) if a < x < a + w and b < y < b + h]
            assert board.under((x, y)) == (inside[-1] if inside else None)
            hit += bool(inside)
        assert 20 < hit < 400
        view.close()


def test_what_nobody_knows_is_a_question_mark(view: LiveView) -> None:
    view.bench.side.ground.choose(X[5])
    view.tick(0.001)
    assert view.bench.subject.target is None
    assert "?" in words(view)
    assert not any("loss of this colour" in text or "NaN" in text for text in words(view))


def test_a_still_and_numbers_without_a_network_choose_nothing() -> None:
    scene = colours()
    with offscreen():
        bench = Workbench(scene, SIZE)  # a film: nobody is there
        bench.update(scene.run.frame(scene.probe))
        places = bench.side.drawer(ColourCube)._cubes["source"]
        bench.click(tuple(places.centres[-1]))
        assert np.array_equal(bench.subject.probe, X[0])
        assert not any("show its way" in does for _, does in bench.side.gestures)


def test_another_count_of_numbers_is_refused_and_the_scene_keeps_its_own_sample() -> None:
    scene = colours()
    subject = scene_subject(scene, subject_of(scene).source)
    for sample, target, said in (
        (np.zeros(2), None, "got 2 numbers; allowed: 3 numbers"),
        (np.zeros(3), np.zeros(4), "a target of 4 numbers"),
    ):
        with pytest.raises(InputError, match=said):
            subject.choose(sample, target)
        assert np.array_equal(subject.probe, X[0])
        assert np.array_equal(subject.target, 1 - X[0])
    subject.choose(np.ones(3), np.ones(3))
    assert np.array_equal(scene.probe, X[0])
    assert np.array_equal(scene.probe_target, 1 - X[0])
    with pytest.raises(InputError, match="no sample is drawn here"):
        subject_of({"a": np.eye(3)}).choose(np.ones(3))


def test_a_colour_without_a_number_has_no_name() -> None:
    assert hexed((0.0, 0.5, 2.0)) == "#0080ff"
    assert hexed((np.nan, 0.0, 0.0)) == "no colour"
