"""Panels of a scene: a user's pictures and tables, places, kinds of one's own, and room for more than fit."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.run.panels import (
    Beside,
    ColourCube,
    DigitBoard,
    DigitPad,
    Image,
    LossCurve,
    Panel,
    Pictures,
    Table,
)
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.run.source import RunSource
from scalarviz.view.ink.places import Wanted, arrange
from scalarviz.view.ink.sketch import Sketch, rgba
from scalarviz.view.ink.text import measure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels import registry
from scalarviz.view.panels.image import LARGEST, as_pixels
from scalarviz.view.panels.pace import SETTLE, Pace
from scalarviz.view.shown.subject import Subject, scene_subject, subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl

RNG = np.random.default_rng(5)
X = RNG.random((60, 2))
PIXELS = RNG.integers(0, 256, (7, 9, 3), dtype=np.uint8)


@pytest.fixture
def run():
    net = nn.Sequential(nn.Linear(2, 5, seed=1), nn.Tanh(), nn.Linear(5, 1, seed=2))
    made = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :1]), engine="numpy")
    made.step(3)
    yield made
    made.close()


def bench_of(scene, size=(1280, 720), **options):
    bench = Workbench(scene, size, **options)
    bench.update(bench.subject.frame())
    return bench


def again(bench):
    """The next picture, of another step."""
    bench.subject.source.run.step(1)
    bench.update(bench.subject.frame())
    return words(bench)


def picture_of(bench):
    return offscreen().render(bench.draw, bench.size).astype(int)


def words(bench):
    above = [sketch for layer in bench.overlays for sketch in layer]
    return [t.text for sketch in [*bench.sketches, *above] for t in sketch.texts]


def inside(box, scale=1.0):
    x, y, width, height = (round(v * scale) for v in box)
    return slice(y, y + height), slice(x, x + width)


# a picture of a function


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_a_function_paints_every_moment_exactly(run, dtype):
    def paint(moment):
        shade = np.full((4, 8, 3), moment.step * 10 % 256)
        return shade.astype(np.uint8) if dtype == np.uint8 else (shade / 255).astype(dtype)

    bench = bench_of(sv.Scene("s", run, panels=(Image("mine", paint), LossCurve())))
    for step in (3, 4, 5):
        picture = picture_of(bench)
        x, y, width, _ = bench.places.panels["image"]
        middle = picture[int(y + 21 + width / 4), int(x + width / 2)]  # twice as wide as high, over the whole width
        assert np.abs(middle - step * 10).max() <= 1
        again(bench)
    assert "mine" in words(bench)


def test_a_moment_asks_at_the_values_of_its_frame_and_not_at_those_of_now(run):
    seen = []

    def paint(moment):
        seen.append((moment.step, moment.predict(X)[0, 0], moment.tensor("0.weight"), moment.rows(X, "1")["1"].shape,
                     moment.evaluate(X, X[:, :1])))  # fmt: skip
        return PIXELS

    subject = scene_subject(sv.Scene("s", run, panels=(Image("mine", paint),)), RunSource(run))
    bench, frame = Workbench(subject, (1280, 720)), subject.frame()
    then, weights, loss = run.predict(X)[0, 0], run.values[:10].reshape(5, 2).copy(), run.evaluate(X, X[:, :1])
    run.step(50)
    bench.update(frame)
    ((step, predicted, tensor, shape, evaluated),) = seen
    assert (step, predicted, shape, evaluated) == (3, then, (60, 5), loss)
    np.testing.assert_array_equal(tensor, weights)
    assert predicted != run.predict(X)[0, 0]


@settings(max_examples=60, deadline=None)
@given(height=st.integers(1, 700), width=st.integers(1, 700), whole=st.booleans(), data=st.data())
def test_what_is_shown_is_what_was_painted(height, width, whole, data):
    colour = np.array(data.draw(st.tuples(*[st.integers(0, 255)] * 3)))
    given_ = np.broadcast_to(colour, (height, width, 3)).astype(np.uint8 if whole else np.float64)
    pixels = as_pixels(given_ if whole else given_ / 255)
    assert pixels.dtype == np.uint8
    assert max(pixels.shape[:2]) == min(max(height, width), LARGEST)
    assert np.abs(pixels.astype(int) - colour).max() <= 1


def raises(error):
    def paint(moment):
        raise error

    return paint


WRONG = [
    (raises(ValueError("too dark")), "ValueError: too dark"),
    (raises(KeyError("sky")), "KeyError: 'sky'"),
    (raises(RecursionError()), "RecursionError:"),
    (lambda moment: None, "paint returned shape (); allowed: (H, W, 3)"),
    (lambda moment: np.zeros((4, 4)), "paint returned shape (4, 4); allowed: (H, W, 3)"),
    (lambda moment: np.zeros((0, 4, 3)), "paint returned shape (0, 4, 3); allowed: (H, W, 3)"),
    (lambda moment: np.zeros((4, 4, 3), int), "paint returned dtype int64; allowed: uint8, or floats in 0..1"),
    (lambda moment: np.full((4, 4, 3), "a"), "paint returned dtype <U1; allowed: uint8, or floats in 0..1"),
    (lambda moment: [[1, 2], [3]], "ValueError: setting an array element with a sequence"),
    (lambda moment: moment.predict([[1.0]]), "predict: the inputs"),
    (lambda moment: moment.tensor("weight"), "no tensor 'weight'; allowed: 0.weight, 0.bias"),
    (lambda: 1, "TypeError: "),
]


@pytest.mark.parametrize(("paint", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_a_function_does_wrong_stands_in_its_place_and_the_rest_goes_on(run, paint, said):
    wrong = [True]

    def painted(*moment):
        return paint(*moment) if wrong[0] else PIXELS

    scene = sv.Scene("s", run, panels=(Image("mine", painted), LossCurve()))
    bench, plain = bench_of(scene, keys=(("?", "all keys"),)), bench_of(replace(scene, panels=(LossCurve(),)))
    (line,) = [text for text in words(bench) if text.startswith(said[:24])]
    assert len(line) < 60
    assert {"mine", *words(plain)} - {"loss"} <= set(words(bench)) | {"log"}
    for _ in range(2):
        bench.update(bench.subject.frame(), "", 1.0)
    (note,) = bench.side.ground.notes  # the console is told once, and where it failed
    assert note.startswith("panel 'mine': ")
    assert re.search(r"\.py, line \d+\)$", note)
    wrong[0] = False
    assert line not in again(bench)


def test_a_window_tells_its_console_where_the_function_failed(run):
    scene = sv.Scene("s", run, panels=(Image("mine", raises(ValueError("dark"))),))
    host = Unseen(lambda size: LiveView(scene, size, playing=False), (1280, 720))
    host.pass_time(0.1)
    host.pass_time(0.1)
    host.close_soon()
    (note,) = host.told
    assert "test_scene_panels.py, line " in note


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_no_colours_are_black_or_full(run):
    strange = np.array([[[np.nan, 0.5, 2.0], [np.inf, -np.inf, -1.0]]])
    np.testing.assert_array_equal(as_pixels(strange), [[[0, 128, 255], [255, 0, 0]]])
    own = PIXELS.copy()
    shown = as_pixels(own)
    own[...] = 0  # a painted array may be used again
    np.testing.assert_array_equal(shown, PIXELS)


def test_a_slow_function_takes_a_quarter_of_the_time_and_says_of_which_step_it_is():
    pace, made, clock = Pace(live=True), [], 0.0
    for frame in range(400):  # 60 a second
        seconds = 1 / 60 + (0.1 if made and made[-1] == clock else 0.0)  # the work takes its time
        clock += seconds
        if pace.due(frame, seconds):
            made.append(clock)
            pace.did(0.1)
        assert pace.old == (frame > 0)
    assert 0.22 < 0.1 * len(made) / clock < 0.26
    last, waited = 399, 0.0
    while pace.old:
        if pace.due(last, 1 / 60):
            pace.did(0.1)
        waited += 1 / 60
        assert waited < 1.0
    assert not pace.late
    assert waited >= SETTLE


def test_a_fast_function_never_has_an_age_and_a_film_never_waits():
    window, film = Pace(live=True), Pace(live=False, pause=10.0)
    for frame in range(50):
        assert window.due(frame, 1 / 60)
        window.did(0.001)
        assert film.due(frame, 1 / 60)
        film.did(5.0)
        assert not window.old
        assert not film.old
        assert not window.due(frame, 1 / 60)


def test_the_age_stands_beside_the_title(run):
    def paint(moment):
        time.sleep(0.05)
        return PIXELS

    bench = bench_of(sv.Scene("s", run, panels=(Image("mine", paint, note="mine too"),)), keys=(("?", "all keys"),))
    assert "mine too" in words(bench)
    run.step(4)
    frame = bench.subject.frame()
    bench.update(frame, "", 0.02)
    assert "step 3" in words(bench)
    assert bench.moving
    for _ in range(40):
        bench.update(frame, "", 0.02)
    assert "mine too" in words(bench)
    assert "step 3" not in words(bench)


def test_the_accuracy_of_a_step_before_says_so_and_is_dim(run):
    net = nn.Sequential(nn.Linear(2, 3, seed=1))
    classes = np.arange(60) % 3
    own = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), (X, classes), engine="numpy")
    bench = bench_of(
        sv.Scene("s", own, panels=(LossCurve(test=Curve("test", X, classes, accuracy=True)),)), keys=(("?", "keys"),)
    )

    def colours():
        return {t.text: t.colour for s in bench.sketches for t in s.texts if re.search(r"\d\.\d %", t.text)}

    assert set(colours().values()) == {rgba(bench.theme.text1)}
    own.step(1)
    frame = bench.subject.frame()
    bench.update(frame, "", 0.02)
    said = colours()
    assert set(said.values()) == {rgba(bench.theme.text3)}
    assert any(text.endswith("% at step 0") for text in said)
    for _ in range(60):
        bench.update(frame, "", 0.02)
    share = f"{100 * np.mean(own.predict(X).argmax(axis=1) == classes):.1f} %"
    assert colours() == {share: rgba(bench.theme.text1), f"test accuracy {share}": rgba(bench.theme.text1)}
    assert not bench.moving
    own.close()


# tables


def test_a_table_has_its_words_in_columns_that_do_not_touch(run):
    rows = [("0.weight", "12", "a"), ("b", "3", "long word here"), ("", "x", "")]
    bench = bench_of(sv.Scene("s", run, panels=(Table("mine", rows, heads=("name", "size", "more")),)))
    texts = {t.text: t for sketch in bench.sketches for t in sketch.texts}
    assert {"mine", "name", "size", "more", "0.weight", "12", "a", "b", "3", "long word here", "x"} <= set(texts)
    assert texts["name"].x == texts["0.weight"].x == texts["b"].x
    assert texts["0.weight"].x + measure("0.weight", 13) < texts["12"].x
    assert texts["12"].y == texts["0.weight"].y < texts["b"].y < texts["x"].y
    x, _, width, _ = bench.places.panels["table"]
    assert texts["long word here"].x + measure("long word here", 13) <= x + width


def test_a_table_of_a_function_follows_and_wide_words_are_cut(run):
    bench = bench_of(sv.Scene("s", run, panels=(Table("mine", lambda m: [(f"step {m.step}", "w" * 200)]),)))
    assert "step 3" in words(bench)
    assert any(text.startswith("www") and text.endswith("…") for text in words(bench))
    assert "step 4" in again(bench)


def test_rows_that_do_not_fit_are_counted(run):
    bench = bench_of(sv.Scene("s", run, panels=(Table("mine", [(f"row {k}",) for k in range(100)]),)))
    shown = [text for text in words(bench) if text.startswith("row ")]
    assert shown == [f"row {k}" for k in range(len(shown))]
    assert 5 < len(shown) < 20
    assert f"and {100 - len(shown)} more" in words(bench)


@pytest.mark.parametrize("panels", [LossCurve(), "loss", None, [3], (LossCurve,), {LossCurve()}])
def test_what_is_no_tuple_of_panels(run, panels):
    with pytest.raises(TypeMismatchError, match=r"Scene: panels= "):
        sv.Scene("s", run, panels=panels)


def test_a_scene_without_a_word_shows_its_loss_and_one_with_none_shows_none(run):
    assert list(bench_of(sv.Scene("s", run)).places.panels) == ["loss"]
    empty = bench_of(sv.Scene("s", run, panels=[]))
    assert empty.places.panels == {}
    assert empty.places.scene[2] == 1280  # the cubes have it all


def test_a_pad_needs_a_sample_of_its_size(run):
    with pytest.raises(InputError, match=r"DigitPad of 4 x 4 pixels: the scene's probe .* got 2 numbers"):
        bench_of(sv.Scene("s", run, panels=(DigitPad((4, 4)),)))


GREY, SHEETS = np.zeros((4, 5, 3)), np.zeros((6, 16))
BAD = [
    (lambda: Pictures(GREY, GREY[:3]), InputError, r"Pictures: got shapes \(4, 5, 3\) and \(3, 5, 3\); allowed"),
    (lambda: Pictures(GREY[..., 0], GREY[..., 0]), InputError, r"allowed: \(H, W, 3\)"),
    (lambda: Pictures("photo.png", GREY), TypeMismatchError, "Pictures: the source must be an array"),
    (lambda: Pictures(GREY, GREY, label=3), TypeMismatchError, "Pictures: the label must be a text, got int 3"),
    (lambda: ColourCube(GREY[0], GREY[1, :2]), InputError, r"ColourCube: got shapes .* allowed: \(N, 3\)"),
    (lambda: ColourCube(np.zeros((0, 3)), np.zeros((0, 3))), InputError, r"ColourCube: got shapes \(0, 3\)"),
    (lambda: DigitBoard(SHEETS, np.arange(6), (4, 5)), InputError, r"4 x 5 pixels: got shapes .* allowed: \(N, 20\)"),
    (lambda: DigitBoard(SHEETS, np.arange(5), (4, 4)), InputError, r"got shapes \(6, 16\) and \(5,\)"),
    (lambda: DigitBoard(SHEETS, np.arange(6) + 7, (4, 4)), InputError, r"labels are whole numbers 0 to 9, got"),
    (lambda: DigitBoard(SHEETS, np.arange(6) / 2, (4, 4)), InputError, r"labels are whole numbers 0 to 9"),
    (lambda: DigitPad(16), InputError, r"DigitPad: side is \(H, W\), got 16"),
    (lambda: DigitPad((4, 0)), InputError, "DigitPad: W must be a whole number >= 1, got 0"),
    (lambda: LossCurve(3), TypeMismatchError, "LossCurve: the label must be a text, got int 3"),
    (lambda: LossCurve("a", "test"), TypeMismatchError, "test is TestCurve or HeldBack or None, got str"),
    (lambda: Curve("t", X, X[:3]), InputError, r"\(60, 2\) and \(3, 2\); allowed: one target a sample"),
    (lambda: Curve("t", X[:0], X[:0]), InputError, r"\(0, 2\) and \(0, 2\); allowed: one target a sample"),
    (lambda: Image("t", PIXELS), TypeMismatchError, "Image: paint must be a function, got ndarray"),
    (lambda: Image(None, raises), TypeMismatchError, "Image: the title must be a text, got NoneType"),
    (lambda: Table("t", [("a",), "b"]), InputError, "row 1 must be a list of str"),
    (lambda: Table("t", 3), InputError, "rows are a list of rows, got int 3"),
    (lambda: Table("t", [("a", "b")], heads=("x",)), InputError, "row 0 has 2 words; allowed: 1"),
    (lambda: Table("t", [], heads="x"), TypeMismatchError, "heads is a tuple of texts"),
    (lambda: Table("t", [()]), InputError, "row 0 has 0 words"),
    (lambda: Table("t", "abc"), InputError, "rows are a list of rows, got str"),
    (lambda: Table("t", [("a", 3)]), InputError, r"row 0 must be a list of str, got \('a', 3\)"),
    (lambda: Table("t", [("a", "b"), ("c",)]), InputError, "row 1 has 1 words; allowed: 2, as the others"),
]


@pytest.mark.parametrize(("make", "error", "said"), BAD, ids=[said for *_, said in BAD])
def test_descriptions_are_checked_when_they_are_made(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_what_was_drawn_by_hand_has_no_target():
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 10, seed=1))
    sheets, labels = RNG.random((12, 1, 4, 4)), np.arange(12) % 10
    own = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), (sheets, labels), engine="numpy")
    own.step(2)
    scene = sv.Scene("s", own, probe=sheets[3], probe_target=[3.0], panels=(DigitPad((4, 4)), LossCurve()))
    with offscreen():
        view = LiveView(scene, (1280, 720), playing=False)
        view.tick(0.1)
        subject, pad = view.bench.subject, view.bench.side.drawer(DigitPad)
        assert subject.probe_loss(view.frame()) == pytest.approx(own.evaluate(sheets[3:4], [[3]]))
        view.bench.select(5)
        before = view.bench.touch.inspector.explanation(view.frame())
        view.bench.select(None)  # it stands over the sheet
        x, y, width, height = pad.sheet.box
        view.press((x + 0.5 * width, y + 0.2 * height))
        view.move((x + 0.5 * width, y + 0.8 * height))
        view.release((x + 0.5 * width, y + 0.8 * height))
        view.tick(0.2)
        np.testing.assert_array_equal(view.frame().activations["input"], pad.sheet.picture)
        assert subject.target is None
        assert subject.probe_loss(view.frame()) is None
        view.bench.select(5)
        after = view.bench.touch.inspector.explanation(view.frame())
        view.close()
    assert "of this sample" in str(before)
    assert after
    assert "of this sample" not in str(after)


# places


@pytest.mark.parametrize("place", ["left", None, 3, ("column",)])
def test_what_is_no_place(place):
    with pytest.raises(InputError, match=r"place of LossCurve: got .*allowed: \"column\", \"overlay\""):
        LossCurve(place=place)


def test_places_that_there_are_not(run):
    for place, error, said in (
        (Beside("7"), UnknownNameError, "there is no stage '7'; allowed: input, 0, 1, 2"),
        (Beside("1", 5), InputError, "stage '1' has no unit 5; allowed: 0 to 4"),
        (Beside("1", -1), InputError, "stage '1' has no unit -1"),
    ):
        with pytest.raises(error, match=said):
            bench_of(sv.Scene("s", run, panels=(Image("m", lambda m: PIXELS, place=place),)))
    with pytest.raises(InputError, match="this kind cannot stand beside a stage; allowed: image, table"):
        bench_of(sv.Scene("s", run, panels=(LossCurve(place=Beside("1")),)))


def apart(a, b):
    return a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280), (640, 360), (160, 160)])
@pytest.mark.parametrize("turn", [(0, 0), (200, 60)])
def test_panels_over_the_scene_stand_inside_it_and_apart(run, size, turn):
    flat = Image("m", lambda m: np.full((4, 4, 3), 255, np.uint8))
    panels = [replace(flat, place="overlay"), LossCurve(place="overlay")]
    panels += [replace(flat, title=f"unit {k}", place=Beside("1", k)) for k in range(5)]
    panels += [Table("t", [("a",)], place=Beside("input"))]
    bench = bench_of(sv.Scene("s", run, panels=panels), size)
    if turn != (0, 0):
        bench.orbit(*turn)
    picture = picture_of(bench)
    boxes = [d.box for d in bench.side.drawers.values() if d.box is not None]
    x, y, width, height = bench.places.scene
    for k, box in enumerate(boxes):
        assert x <= box[0] - 8 < box[0] + box[2] + 8 <= x + width + 0.01
        assert y <= box[1] - 8 < box[1] + box[3] + 8 <= y + height + 0.01
        assert all(apart(box, other) for other in boxes[:k])
    images = [d.box for d in bench.side.drawers.values() if isinstance(d.panel, Image) and d.box is not None]
    for left, top, wide, high in images:  # its own pixels are in front of the cubes
        spot = picture[round((top + 0.6 * high) * bench.scale), round((left + 0.5 * wide) * bench.scale)]
        assert spot.min() > 240
    if size == (1280, 720):
        assert len(boxes) >= 6


def test_a_panel_beside_a_unit_moves_with_the_cubes(run):
    panel = Image("m", lambda m: PIXELS, place=Beside("1", 2))
    bench = bench_of(sv.Scene("s", run, panels=(panel,)))
    before = bench.side.drawer(Image).box
    plate = bench.layout.activation("1")
    ends = bench.project(plate.corners_of(2))
    assert before[0] == pytest.approx(ends[:, 0].max() + 14)
    bench.orbit(120.0, 0.0)
    picture_of(bench)
    moved = bench.side.drawer(Image).box
    assert moved != before
    assert moved[0] == pytest.approx(bench.project(plate.corners_of(2))[:, 0].max() + 14)
    with offscreen():
        bench.show_panels(False)
    assert bench.side.drawer(Image).box is None


def test_what_lies_under_a_panel_is_not_touched(run):
    bench = bench_of(sv.Scene("s", run, panels=(Image("m", lambda m: PIXELS, place=Beside("1", 2)),)))
    x, y, width, height = bench.side.drawer(Image).box
    spots = [(x + a * width, y + b * height) for a in np.linspace(0, 1, 9) for b in np.linspace(0, 1, 9)]
    assert any(bench.pick(spot) is not None for spot in spots)
    for spot in spots:
        bench.hover(spot)
        bench.click(spot)
        assert bench.touch.hovered is None
        assert bench.selected is None


# more than fit


KINDS = st.lists(
    st.builds(
        lambda height, most, worth: (height, most, worth),
        st.floats(40, 400), st.sampled_from([0.0, 325.0, 420.0]), st.integers(0, 2),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(kinds=KINDS, loss=st.booleans(), width=st.integers(160, 3000), height=st.integers(160, 3000))
def test_any_panels_are_inside_and_apart_or_left_out_by_name(kinds, loss, width, height):
    wanted = [Wanted(f"panel {k}", *kind) for k, kind in enumerate(kinds)]
    if loss:
        wanted.insert(len(wanted) // 2, Wanted("loss", 150.0, 420.0, first=True))
    places = arrange((width, height), wanted)
    boxes = [places.scene, *places.panels.values()]
    for k, box in enumerate(boxes):
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[0] + box[2] <= places.size[0] + 0.01
        assert box[1] + box[3] <= places.size[1] + 0.01
        assert all(apart(box, (o[0], o[1], o[2] - 0.01, o[3] - 0.01)) for o in boxes[:k])
    for want in wanted:
        assert (want.name in places.panels) != (want.name in places.left_out)
        if want.name in places.panels:
            own = places.panels[want.name][3]
            assert own >= want.height - 0.01
            assert own <= max(want.height, want.most) + 0.01 or want.first
    if loss and places.panels and places.size[1] >= 200:
        assert "loss" in places.panels
    if places.left_out and places.panels:
        assert all(apart(places.more, (b[0], b[1], b[2], b[3] - 0.01)) for b in boxes[1:])


def test_panels_without_room_are_counted_and_a_click_brings_them(run):
    many = [Table(f"table {k}", [("a",)] * 8) for k in range(7)]
    with offscreen():
        view = LiveView(sv.Scene("s", run, panels=[*many, LossCurve()]), (1280, 720), playing=False)
        view.tick(0.1)
        seen, pages = set(), 0
        while len(seen) < 7:
            names = {text for text in words(view.bench) if text.startswith("table ")}
            assert 1 <= len(names) < 7
            assert f"+{7 - len(names)} panels (click)" in words(view.bench)
            assert "loss" in words(view.bench)
            assert names - seen, "a page that shows nothing new"
            seen |= names
            x, y, _, height = view.bench.places.more
            at = (x + 20) * view.bench.scale, (y + height / 2) * view.bench.scale
            view.press(at)
            view.release(at)
            view.tick(0.1)
            pages += 1
        view.close()
    assert pages < 7


@dataclass(frozen=True, slots=True, eq=False)
class Bar(Panel):
    """A bar of a height."""

    share: float


class BarDrawer(sv.view.Drawer[Bar]):
    """For the tests."""

    name, height = "bar", 50.0

    def draw(self, moment, box, seconds):
        if moment.step > 3:
            raise ValueError("no more")
        sketch = Sketch()
        sketch.rect(*box[:2], box[2] * self.panel.share, box[3], fill="#ff0000")
        return [sketch]


@pytest.fixture
def bars():
    sv.view.register_panel(Bar, BarDrawer)
    yield
    registry._USERS.pop(Bar)


def test_a_kind_of_ones_own_is_drawn_and_its_error_is_one_line(run, bars):
    bench = bench_of(sv.Scene("s", run, panels=(Bar(0.5), LossCurve())))
    red = (np.abs(picture_of(bench)[inside(bench.places.panels["bar"])] - (255, 0, 0)).max(axis=2) < 3).mean()
    assert red == pytest.approx(0.5, abs=0.01)
    assert "bar: ValueError: no more" in again(bench)


@pytest.mark.parametrize("given", [None, "a picture", Sketch(), [Sketch(), 3]])
def test_a_drawer_that_returns_no_list_of_sketches_says_so_in_its_place(run, bars, monkeypatch, given):
    monkeypatch.setattr(BarDrawer, "draw", lambda self, moment, box, seconds: given)
    said = words(bench_of(sv.Scene("s", run, panels=(Bar(0.5), LossCurve()))))
    assert any(line.startswith(f"bar: draw gave {type(given).__name__}, not") for line in said)


class Told(BarDrawer):
    """Writes down what it is told."""

    takes = False
    gestures = (("Drag", "the bar: pull it"),)
    lessons = (("Click", "the bar: teach it"),)

    def __init__(self, panel, ground):
        super().__init__(panel, ground)
        self.told = []

    def press(self, at, button):
        self.told.append(("press", button))
        return self.takes

    def drag(self, at, by, button):
        self.told.append(("drag", by, button))
        return True

    def release(self, at):
        self.told.append("release")

    def click(self, at):
        self.told.append("click")
        return True

    def hover(self, at):
        self.told.append("over" if at else "gone")
        return True

    def key(self, name, text):
        self.told.append(("key", name))
        return name == "Tab"

    def let_go(self):
        self.told.append("let go")
        return True


@pytest.mark.parametrize("takes", [False, True])
def test_hands_reach_the_panel_below_the_pointer_alone(run, bars, monkeypatch, takes):
    monkeypatch.setattr(Told, "takes", takes)
    sv.view.register_panel(Bar, Told)
    with offscreen():
        view = LiveView(sv.Scene("s", run, panels=(Bar(0.5), LossCurve())), (1280, 720), playing=False)
        view.tick(0.1)
        told, camera = view.bench.side.drawers["bar"].told, view.bench.camera
        assert {("Drag", "the bar: pull it"), ("Click", "the bar: teach it")} <= set(view.bench.touch.table)
        x, y, width, height = view.bench.places.panels["bar"]
        on, off = (x + width / 2, y + height / 2), (300.0, 650.0)

        def heard(*steps):
            told.clear()
            for step, *what in steps:
                getattr(view, step)(*what)
            return [word for word in told if word not in ("over", "gone")]

        click = heard(("move", on), ("press", on), ("release", on))
        assert click == [("press", "left"), "release" if takes else "click"]
        small, far = (on[0] + 1, on[1]), (on[0] + 40, on[1] - 9)
        pulled = heard(("press", on, "right"), ("move", small), ("move", far), ("release", far))
        moved = [("drag", (1.0, 0.0), "right"), ("drag", (39.0, -9.0), "right"), "release"]
        assert pulled == [("press", "right"), *(moved if takes else [("drag", (40.0, -9.0), "right")])]
        assert view.bench.camera is camera
        assert heard(("move", on), ("key", "Tab"), ("key", "w")) == [("key", "Tab"), ("key", "W")]
        assert view.bench.panels_shown  # the panel took the key
        assert heard(("move", off), ("key", "w"), ("press", off), ("release", off)) == []
        assert heard(("send", "escape")) == ["let go"]
        view.send("toggle_help")
        assert heard(("press", on), ("release", on), ("key", "Tab")) == []
        view.close()


def test_a_kind_that_nobody_draws_is_refused_with_the_list_of_those_that_are(run):
    with pytest.raises(TypeMismatchError, match=r"no drawer for panels of the kind Bar; allowed: Pictures, ColourCube,"
                       r" DigitBoard, DigitPad, LossCurve, Image, .*WordBoard.*; try sv.view.register_panel\(Bar"
                       ):  # fmt: skip
        bench_of(sv.Scene("s", run, panels=(Bar(0.5),)))


@pytest.mark.parametrize(
    ("kind", "drawer", "said"),
    [
        (int, BarDrawer, "the kind must be a subclass of Panel, got int"),
        (Panel, BarDrawer, "the kind must be a subclass of Panel"),
        (Bar(0.5), BarDrawer, "the kind must be a subclass of Panel, got Bar"),
        (Bar, int, "the drawer must be a subclass of Drawer, got int"),
        (Bar, None, "the drawer must be a subclass of Drawer, got NoneType"),
        (LossCurve, BarDrawer, "LossCurve has a drawer; subclass it"),
    ],
)
def test_what_cannot_be_registered(kind, drawer, said):
    with pytest.raises(TypeMismatchError, match=said):
        sv.view.register_panel(kind, drawer)
    assert not registry._USERS


def test_a_subclass_is_drawn_as_its_base_unless_it_has_its_own(run):
    @dataclass(frozen=True, slots=True, eq=False)
    class Steps(LossCurve):
        pass

    assert list(bench_of(sv.Scene("s", run, panels=(Steps("mine"),))).places.panels) == ["loss"]


# sources, and several at once


def test_what_a_source_cannot_do_is_a_sentence_in_the_panels_place():
    grid = RNG.random((5, 3))
    panels = (Pictures(PIXELS / 255, PIXELS / 255), ColourCube(grid, grid), Image("mine", lambda m: m.predict(grid)))
    bench = bench_of(Subject(subject_of(sv.Weight(1.0)).source, panels=panels))
    said = words(bench)
    assert "pictures: a weight cannot predict" in said
    assert "colours: a weight cannot predict" in said
    assert "a weight cannot predict; try a Run or a Scene" in said
    assert bench.side.gestures == (("Drag", "the colour cube: turn it"),)  # no click chooses a sample: there is none


def test_several_pictures_in_one_process_share_nothing():
    def made(seed):
        net = nn.Sequential(nn.Linear(3, 3, seed=seed), nn.Sigmoid())
        own = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (GRID, 1 - GRID), engine="numpy")
        return sv.Scene("s", own, panels=(ColourCube(GRID, 1 - GRID), LossCurve()))

    scenes = [made(1), made(2)]
    with offscreen():
        first, second = (LiveView(scene, (1280, 720), playing=False) for scene in scenes)
        third = Mirror(scene_subject(scenes[0], RunSource(scenes[0].run)), (1280, 720))
        for view in (first, second, third):
            view.tick(0.1)
        cubes = [view.bench.side.drawer(ColourCube) for view in (first, second, third)]
        before = second.run.samples()[1]
        cubes[0].marked = (1.0, 0.0, 0.0)
        cubes[0].retarget((1.0, 0.0, 0.0), (1.0, 1.0, 1.0))
        cubes[0].drag((0.0, 0.0), (50.0, 0.0), "left")
        first.worker.settle()
        for view in (first, second):
            view.close()
    assert cubes[1].marked is cubes[2].marked is None
    np.testing.assert_array_equal(cubes[1].targets, 1 - GRID)
    np.testing.assert_array_equal(second.run.samples()[1], before)
    assert not np.array_equal(first.run.samples()[1], before)
    (done,) = first.run.log
    assert done.what == f"other targets for {len(GRID)} samples"
    assert second.run.log == []


GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), -1).reshape(-1, 3)


def test_a_followed_run_can_be_taught_too():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    own = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (GRID, 1 - GRID), engine="numpy")
    with offscreen():
        view = Mirror(scene_subject(sv.Scene("s", own, panels=(ColourCube(GRID, 1 - GRID),)), RunSource(own)),
                      (1280, 720))  # fmt: skip
        view.tick(0.1)
        cube = view.bench.side.drawer(ColourCube)
        for which in ("source", "target"):
            x, y = cube._cubes[which].centres[-1]
            view.press((x, y), shift=True)
            view.release((x, y))
            view.tick(0.1)
    assert cube.marked is None
    assert len(own.log) == 1
    own.close()
