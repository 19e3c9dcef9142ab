"""The sample whose way is drawn is chosen by a click: everything that shows it follows at once, nothing is learnt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
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
    sizes, layers = (3, *hidden, 3), []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.Sigmoid()]
    net = nn.Sequential(*layers)
    net.initialize(nn.init.normal(0, 1), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    names = ("r", "g", "b")
    panels = (Pictures(PHOTO, 1 - PHOTO), ColourCube(GRID, 1 - GRID), LossCurve())
    return Scene("t", run, X[0], 1 - X[0], names, names, panels)


def digits() -> Scene:
    net = nn.Sequential(nn.Linear(16, 10, seed=1))
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.5), (DIGITS, LABELS), engine="numpy")
    panels = (DigitBoard(DIGITS, LABELS, (4, 4)), DigitPad((4, 4)), LossCurve())
    names = tuple(map(str, range(10)))
    return Scene("d", run, DIGITS[0], LABELS[:1], output_names=names, panels=panels)


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


def words(view: Viewer) -> list[str]:
    return [item.text for sketch in view.bench.sketches for item in sketch.texts]


def above(view: Viewer) -> list[str]:
    return [item.text for layer in view.bench.overlays for sketch in layer for item in sketch.texts]


def filled(view: Viewer, box: tuple[float, float, float, float]) -> np.ndarray:
    """The colour of the picture in the middle of a box, 0..255."""
    picture = offscreen().render(view.bench.draw, view.bench.size)
    x, y, width, height = box
    return picture[round((y + height / 2) * view.bench.scale), round((x + width / 2) * view.bench.scale)].astype(int)


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
    assert np.abs(filled(view, view.bench.swatch.box) - np.rint(255 * np.asarray(sample))).max() <= 2
    if view.bench.swatch.box and len(subject.stages) == 2:
        said = words(view)
        assert all(chip_text(float(number)) in said for number in (*sample, *expected, *target))


@pytest.mark.parametrize("which", ["source", "target"])
def test_a_disc_of_either_cube_is_chosen(view: LiveView, which: str) -> None:
    before, log = view.run.values.copy(), len(view.run.log)
    for place in (-1, 3):
        at, colour = disc(view, which, place)
        click(view, at)
        assert_shown(view, colour, 1 - colour)
    assert np.array_equal(view.run.values, before)
    assert len(view.run.log) == log


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_pixel_of_each_picture_is_chosen(view: LiveView, number: int) -> None:
    images = next(s.images for s in view.bench.sketches if len(s.images) == 3)
    x, y, width, height = images[number].rect
    click(view, (x + width * 4.5 / 9, y + height * 2.5 / 6))
    assert_shown(view, PHOTO[2, 4], 1 - PHOTO[2, 4])
    click(view, (x + 0.5, y + 0.5))
    assert_shown(view, PHOTO[0, 0], 1 - PHOTO[0, 0])


def test_the_swatch_takes_one_sample_of_the_data_after_the_other(view: LiveView) -> None:
    x, y, width, height = view.bench.swatch.box
    middle = x + width / 2, y + height / 2
    for number in range(3):
        click(view, middle)
        assert_shown(view, X[number].astype(np.float32), (1 - X[number]).astype(np.float32))
        view.move(middle)
        view.tick(0.02)
        assert {hexed(X[number]), f"sample {number + 1} of 32", "click: the next of the 32 samples"} <= set(above(view))
    for _ in range(30):
        click(view, middle)
    assert_shown(view, X[0].astype(np.float32), (1 - X[0]).astype(np.float32))  # after the last one the first


def test_the_inspector_speaks_of_the_chosen_colour(view: LiveView) -> None:
    view.bench.select(0)
    inspector = view.bench.touch.inspector
    assert inspector is not None
    said = str(inspector.explanation(view.frame()))
    x, y, width, height = view.bench.swatch.box
    for _ in range(2):  # the first one is shown already
        click(view, (x + width / 2, y + height / 2))
    view.tick(0.2)
    assert view.bench.selected == 0
    changed = str(inspector.explanation(view.frame()))
    assert "of this colour" in changed
    assert changed != said


def test_while_it_trains_the_choice_is_followed_too(view: LiveView) -> None:
    view.playback.play()
    at, colour = disc(view, "source", 5)
    click(view, at)
    assert np.array_equal(view.frame().activations["input"], colour)


def test_shift_teaches_and_the_target_shown_moves_too(view: LiveView) -> None:
    (near, colour), (far, new) = disc(view, "source", -1), disc(view, "target", 0)
    click(view, near)
    click(view, near, shift=True)
    assert view.bench.side.drawer(ColourCube).marked == tuple(colour)
    assert view.run.log == []
    click(view, far, shift=True)
    view.worker.settle()
    (done,) = view.worker.log
    assert isinstance(done.edit, SetTargets)
    assert np.allclose(view.bench.subject.target, 1 - new)
    assert np.array_equal(view.bench.subject.probe, colour)


def test_a_plain_click_keeps_the_colour_that_waits_for_its_target(view: LiveView) -> None:
    at, colour = disc(view, "source", -1)
    click(view, at, shift=True)
    click(view, disc(view, "target", 0)[0])
    assert view.bench.side.drawer(ColourCube).marked == tuple(colour)
    assert view.run.log == []


def settle(view: LiveView) -> None:
    view.worker.settle()
    for _ in range(3):
        view.tick(0.1)


@pytest.mark.parametrize("how", ["disc", "pixel", "swatch", "the scene's own"])
def test_what_was_taught_and_undone_is_wanted_no_more(view: LiveView, how: str) -> None:
    """Of the cube, of the sample that is drawn, and again after redo and before the step at which it was taught."""
    cube = view.bench.side.drawer(ColourCube)
    if how == "disc":
        click(view, disc(view, "source", -1)[0])
    elif how == "pixel":
        x, y, width, height = next(s.images for s in view.bench.sketches if len(s.images) == 3)[0].rect
        click(view, (x + width / 2, y + height / 2))
    elif how == "swatch":
        x, y, width, height = view.bench.swatch.box
        click(view, (x + width / 2, y + height / 2))
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
    settle(view)
    assert np.array_equal(cube.targets, taught)
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
        board = view.bench.side.drawer(DigitBoard).columns
        for number in (3, 17):
            x, y, _ = board._place[number]
            found = board.digit_at(float(x), float(y))
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
            assert {f"a {label}", "click: show its way"} <= set(above(view))
        view.close()


def test_the_digit_on_top_is_found_where_they_overlap() -> None:
    with offscreen():
        view = live(digits())
        board = view.bench.side.drawer(DigitBoard).columns
        (item,) = board.sketch().small
        order = np.rint(item.cells[:, 0] * len(board.labels)).astype(int)
        points = RNG.uniform(
            item.rects[:, :2].min(axis=0), (item.rects[:, :2] + item.rects[:, 2:]).max(axis=0), (400, 2)
        )
        hit = 0
        for x, y in points:
            inside = [k for k, (a, b, w, h) in zip(order, item.rects, strict=True) if a < x < a + w and b < y < b + h]
            assert board.digit_at(x, y) == (inside[-1] if inside else None)
            hit += bool(inside)
        assert 20 < hit < 400
        view.close()


def test_what_nobody_knows_is_a_question_mark() -> None:
    for hidden in ((), (16, 16)):
        with offscreen():
            view = live(colours(*hidden))
            view.bench.side.ground.choose(X[5])
            view.tick(0.001)
            assert view.bench.subject.target is None
            assert "?" in words(view)
            assert not any("loss of this colour" in text for text in words(view))
            assert not any("NaN" in text for text in words(view))
            view.close()


def test_a_still_and_numbers_without_a_network_choose_nothing() -> None:
    scene = colours()
    with offscreen():
        bench = Workbench(scene, SIZE)  # a film: nobody is there
        bench.update(scene.run.frame(scene.probe))
        places = bench.side.drawer(ColourCube)._cubes["source"]
        bench.click(tuple(places.centres[-1]))
        assert np.array_equal(bench.subject.probe, X[0])
        assert not any("show its way" in does for _, does in bench.side.gestures)


@pytest.mark.parametrize(
    ("sample", "target", "said"),
    [(np.zeros(2), None, "got 2 numbers; allowed: 3 numbers"), (np.zeros(3), np.zeros(4), "a target of 4 numbers")],
)
def test_another_count_of_numbers_is_refused(sample: np.ndarray, target: np.ndarray | None, said: str) -> None:
    scene = colours()
    subject = subject_of(scene)
    with pytest.raises(InputError, match=said):
        subject.choose(sample, target)
    assert np.array_equal(subject.probe, X[0])
    assert np.array_equal(subject.target, 1 - X[0])


def test_the_scene_keeps_its_own_sample() -> None:
    scene = colours()
    subject = scene_subject(scene, subject_of(scene).source)
    subject.choose(np.ones(3), np.ones(3))
    assert np.array_equal(scene.probe, X[0])
    assert np.array_equal(scene.probe_target, 1 - X[0])
    with pytest.raises(InputError, match="no sample is drawn here"):
        subject_of({"a": np.eye(3)}).choose(np.ones(3))


def test_a_colour_without_a_number_has_no_name() -> None:
    assert hexed((0.0, 0.5, 2.0)) == "#0080ff"
    assert hexed((np.nan, 0.0, 0.0)) == "no colour"
