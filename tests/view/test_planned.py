"""The picture of the scene `microgpt`: what stands where, what is drawn there, and what it says to hands."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scalarviz.scenes import microgpt

from kit.benches import again, bench_of, box_of, overlap, said, texts
from scalarviz.run import Moment
from scalarviz.run.panels import WordBoard
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.theme import rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.word_scene import greys
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.actions import Here
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.telling import ending_caps

pytestmark = pytest.mark.gl

ORDER = ["token", "position", "q", "k", "v", "o", "up", "down", "letters"]
KEYS = (("Space", "run"), ("E", "type a name"))


def file_of_words(folder, letters="abcdefghijklmnopqrstuvwxyz"):
    """Words in which every letter comes."""
    path = folder / "words.txt"
    path.write_text("\n".join([f"{a}{b}{a}" for a in letters for b in "aeiou"] + ["olivia"]))
    return path


def build(folder, **more):
    return microgpt.build(microgpt.Options(text=file_of_words(folder), engine="numpy", batch=4, steps=50, **more))


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    made = build(tmp_path_factory.mktemp("words"))
    made.run.step(3)
    yield made
    made.run.close()


@pytest.fixture
def bench(scene):
    return shown(scene)


def shown(scene, size=(1280, 720), theme="dark", keys=KEYS):
    return bench_of(scene, size, theme=theme, keys=keys)


def drawer_of(bench):
    return bench.side.drawer(WordBoard)


def after(bench, seconds=None):
    return said(again(bench, seconds))


# ---- where it stands


def test_plates_are_named_read_from_left_to_right_and_fill_the_picture(bench):
    sheet, low, high = bench.scenery.blueprint, [], []
    assert [c.title for c in sheet.captions] == ORDER
    assert [(h.text, h.count) for h in sheet.headings] == [("embedding", 16 * 27 + 256), ("attention", 1024),
                                                           ("MLP", 2048), ("head", 16 * 27)]  # fmt: skip
    places = [(c.x, c.y) for c in sheet.captions]
    assert places == sorted(places)
    assert not any("weight" in text and "." in text for text in said(bench))
    for caption in sheet.captions:  # a plate stands below its name
        corners = bench.project(bench.layout.plate(caption.tensor).corners)
        assert abs(corners[:, 0].min() - caption.x) < 4
        assert 36 < corners[:, 1].min() - caption.y < 46
        low.append(corners[:, 0].min())
        high.append(corners[:, 0].max())
    assert min(low) < 30  # the left margin is not wasted
    assert max(high) > 0.85 * bench.places.scene[2]


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [(1280, 720), (1280, 800), (1024, 768), (1920, 1080), (2560, 1080)])
@pytest.mark.parametrize("word", ["olivia", "", "a", "abcdefghijklmno"])
def test_no_text_lies_on_another_or_leaves_the_picture(scene, size, theme, word):
    bench = shown(scene, size, theme)
    drawer = drawer_of(bench)
    drawer.state.word, drawer.state.chosen, drawer.stale = word, len(word), True
    again(bench)
    assert bench.spread
    wide, high = bench.places.size
    beside_maps = [t for t in texts(bench.sketches) if t.size == 12]
    boxes = [(t, box_of(t)) for t in texts(bench.sketches) if t not in beside_maps]
    for t, (left, top, right, bottom) in boxes:
        assert min(left, top) >= -1, t
        assert max(right - wide, bottom - high) <= 1, t
        assert t.size >= 13, t
    for (s, a), (t, b) in combinations(boxes, 2):
        assert not overlap(a, b, 1), (s.text, t.text, a, b)


def test_several_layers_and_narrow_pictures_stand_as_before_with_names(scene, tmp_path):
    made = build(tmp_path, layers=2)
    bench = shown(made)
    assert not bench.spread
    assert {"token", "q 1", "down 2", "letters", "reads olivia"} <= set(said(bench))
    made.run.close()
    narrow = shown(scene, (720, 1280))
    assert not narrow.spread
    assert "reads olivia" in said(narrow)


def test_turned_by_hand_it_shows_plates_alone_and_comes_back(bench):
    bench.orbit(60, 0)
    found = after(bench)
    assert bench.scenery.blueprint is None
    assert "head 1" not in found
    assert {"what comes next", "new names", "up"} <= set(found)  # names stay
    boxes = [(t.text, box_of(t)) for t in texts(bench.sketches) if t.x > bench.places.scene[2]]
    assert not [(a[0], b[0]) for a, b in combinations(boxes, 2) if overlap(a[1], b[1], 1)]
    bench.fit_camera()
    assert "head 1" in after(bench)


# ---- what is drawn there


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_drawn_pixels_are_the_numbers_of_the_run(scene, theme):
    """Attention by its shares, the relu strip and the stream by the rows of the run's own stages."""
    bench = shown(scene, theme=theme)
    pixels = offscreen().render(bench.draw, bench.size)[..., :3] / 255
    drawer, sheet = drawer_of(bench), bench.scenery.blueprint
    read = drawer._read
    moment = Moment(bench.subject.frame(), bench.subject.source)
    at = len("olivia")
    rows = moment.rows(scene.probe[None], "layers.0.up (7)", "layers.0.o (7)", "layers.0.down (7)", "layers.0.up")
    hidden = np.maximum(rows["layers.0.up (7)"][0], 0)
    np.testing.assert_allclose(read.reading.hidden[1][at], hidden, rtol=0, atol=1e-5)
    first, second, third = (numbers[at] for numbers in read.reading.stream)
    np.testing.assert_allclose(second - first, rows["layers.0.o (7)"][0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(third - second, rows["layers.0.down (7)"][0], rtol=0, atol=1e-5)

    cmap = get_map("weight", theme)
    x, y, wide, high = sheet.rows[0]
    most = max(np.abs(numbers).max() for numbers in read.reading.stream)
    for channel in (1, 6, 11):
        place = int(y + high * 2.5 / 7), int(x + wide * (channel + 0.5) / 16)
        wanted = cmap(read.reading.stream[0][2, channel] / most)
        assert np.abs(pixels[place] - wanted).max() < 0.03
    up = bench.layout.plate("layers.0.up.weight")
    room = sheet.rooms["hidden"]
    strongest = int(np.argmax(hidden))
    _, down = bench.project(up.cell_centre_top(strongest, 15))[0]
    column = int(room[0] + room[2] / 2)
    wanted = cmap(hidden[strongest] / read.reading.hidden[1].max())
    assert min(np.abs(pixels[int(down) + k, column] - wanted).max() for k in (-1, 0, 1)) < 0.03
    left, top, _, cell = next(s.box for s in drawer.spots if s.value == 3 and s.box[0] < sheet.rooms["next"][0]
                              and s.box[1] < bench.places.strip[1])  # fmt: skip
    for column in range(4):
        found = pixels[int(top + cell / 2), int(left + 14 + (column + 0.5) * cell)]
        np.testing.assert_allclose(found, greys(read.reading.attention[0, 3, column : column + 1],
                                                bench.theme)[0], atol=0.02)  # fmt: skip


def test_a_frame_lies_around_the_rows_of_the_chosen_letter(scene):
    bench = shown(scene)
    pixels = offscreen().render(bench.draw, bench.size)[..., :3] / 255
    selection = np.array(rgb(bench.theme.selection))
    uses = dict(drawer_of(bench)._read.reading.uses)
    assert uses["token.weight"][-1] == "abcdefghijklmnopqrstuvwxyz".index("a")
    for name, rows in uses.items():
        plate = bench.layout.plate(name)
        x, y = bench.project(plate.cell_corners(rows[-1], 8)[4:]).mean(axis=0)
        half = 0.5 * np.ptp(bench.project(plate.cell_corners(rows[-1], 8)[4:])[:, 1])
        around = pixels[int(y - half - 4) : int(y + half + 4), int(x)]
        assert (np.abs(around - selection).max(axis=1) < 0.1).sum() >= 2, name


def test_all_of_it_is_of_the_frame_that_is_shown(tmp_path):
    """A film's numbers of each step are those of a still of that step."""
    made = build(tmp_path)
    bench = shown(made, keys=())
    for _ in range(3):
        made.run.step(1)
        again(bench, 1 / 30)
        fresh = shown(made, keys=())
        for part in ("stream", "likely", "attention"):
            np.testing.assert_array_equal(getattr(drawer_of(bench)._read.reading, part),
                                          getattr(drawer_of(fresh)._read.reading, part))  # fmt: skip
    made.run.close()


def test_new_names_enter_letter_by_letter_and_say_their_step(tmp_path):
    made = build(tmp_path)
    bench = shown(made, keys=())
    names = drawer_of(bench).names
    assert len(names.words) == 5
    assert not any(text.startswith("step ") for text in said(bench))
    grown = []
    for _ in range(120):
        made.run.step(1)
        grown.append(names.words if again(bench, 0.1) else ())
    enters = [[words[-1]] for words in grown[:1]]
    for before, now in pairwise(grown):
        if now[:-1] == before[:-1]:
            enters[-1].append(now[-1])
        else:
            enters.append([now[-1]])
    assert len(enters) >= 4
    for words in enters[1:-1]:
        assert len(words[0]) <= 1
        assert all(b.startswith(a) and len(b) - len(a) <= 1 for a, b in pairwise(words))
    steps = [int(t.removeprefix("step ").replace(",", "")) for t in said(bench) if t.startswith("step ")]
    assert steps == sorted(steps)
    assert 0 < steps[0] <= made.run.steps
    assert names.moving
    for _ in range(7):  # it pauses: all of them are of what is shown, and those that the closing sentence tells
        again(bench, 0.1)
    claim = made.story.claim(Moment(bench.subject.frame(), bench.subject.source))
    assert claim == f"They now say {', '.join(word or 'nothing' for word in names.words[:3])}."
    assert {step for _, step in names._lines} == {made.run.steps}
    assert not names.moving
    assert not any(text.startswith("step ") for text in said(bench))
    made.run.step(1)
    drawer_of(bench).warm(2)
    again(bench, 0.1)
    assert {step for _, step in names._lines} == {made.run.steps}  # all of them anew
    made.run.close()


def test_a_rate_that_has_come_to_nothing_is_said_with_the_last_one(tmp_path):
    made = build(tmp_path, lr=0.003)
    bench = shown(made, keys=())
    made.run.step(49)
    assert "lr 6e\N{MINUS SIGN}5" in after(bench)
    made.run.step(1)
    found = after(bench)
    assert "lr 0 (was 6e\N{MINUS SIGN}5)" in found
    assert "lr 0.0" not in found
    made.run.close()


@pytest.mark.parametrize(
    ("high", "word", "sides"), [(800, "olivia", 2), (720, "olivia", 1), (720, "abcdefghijklmno", 0)]
)
def test_attention_has_its_letters_where_they_can_be_read(scene, high, word, sides):
    bench = shown(scene, (1280, high))
    assert bench.places.time is not None
    drawer_of(bench).state.word, drawer_of(bench).stale = word, True
    again(bench)
    beside = [t.text for t in texts(bench.sketches) if t.size == 12]
    assert beside.count(word[-1]) == sides * 4 * word.count(word[-1])


# ---- hands


@pytest.fixture
def view(tmp_path):
    made = build(tmp_path)
    made.run.step(5)
    host = Unseen(lambda size: LiveView(made, size, playing=False), (1280, 800))
    with offscreen():
        host.view.tick(0.5)
        yield host.view
        host.view.close()


def click(view, x, y):
    at = (x * view.bench.scale, y * view.bench.scale)
    view.press(at)
    view.release(at)
    view.tick(0.3)


def test_a_word_is_typed_without_pointing_and_other_keys_keep_their_meaning(view):
    state, bench = drawer_of(view.bench).state, view.bench
    view.key("g", "g")
    assert bench.colouring.quantity == "gradient"  # nothing is being typed: letters are keys
    view.key("e", "e")
    assert state.typing
    for letter in "wgcf":
        view.key(letter, letter)
    assert (state.word, bench.colouring.quantity) == ("wgcf", "gradient")  # no letter did anything else
    step = view.frame().step
    view.key("Right")
    view.tick(0.02)  # now it is asked for
    view.worker.settle()
    view.tick(0.3)
    assert view.frame().step == step + 1
    view.key("Return")
    assert not state.typing
    view.key("w", "w")
    assert (state.word, bench.colouring.quantity) == ("wgcf", "weight")
    for key in ("e", "a", "Escape"):
        view.key(key, key if len(key) == 1 else "")
    assert (state.word, state.typing) == ("wgcf", False)


def test_field_letters_and_maps_are_clicked(view):
    drawer, state = drawer_of(view.bench), drawer_of(view.bench).state
    x, y, wide, high = next(spot.box for spot in drawer.spots if spot.name == "field")
    click(view, x + wide / 2, y + high / 2)
    assert state.typing
    view.key("i", "i")
    view.tick(0.5)
    cell = next(spot.box for spot in drawer.spots if spot.value == 0 and spot.box[1] > y)
    click(view, cell[0] + 10, cell[1] + 15)
    assert (state.word, state.chosen) == ("i", 0)
    view.key("Escape")
    view.tick(0.5)
    box = next(spot.box for spot in drawer.spots if spot.value == 3 and spot.box[1] < y)
    click(view, box[0] + box[2] / 2, box[1] + box[3] / 2)
    assert state.chosen == 3
    assert view.bench.selected is None


def test_braces_move_the_temperature(view):
    drawer = drawer_of(view.bench)
    for key, wanted in (("}", 0.7), ("{", 0.6), ("{", 0.5)):
        view.key("braceright" if key == "}" else "braceleft", key, shift=True)
        assert drawer.temperature == pytest.approx(wanted)
    view.tick(0.5)
    assert any("temperature 0.5" in text for text in said(view.bench))


def test_before_the_first_step_the_field_takes_the_place_of_the_story(tmp_path):
    made = build(tmp_path)
    view = Unseen(lambda size: LiveView(made, size, playing=True, wait=None), (1280, 800)).view
    with offscreen():
        view.tick(0.0)
        assert any("invent names" in text for text in said(view.bench))
        assert "what comes next" not in said(view.bench)
        x, y, wide, high = next(spot.box for spot in drawer_of(view.bench).spots if spot.name == "field")
        at = ((x + wide / 2) * view.bench.scale, (y + high / 2) * view.bench.scale)
        view.press(at)
        view.release(at)
        typed = drawer_of(view.bench).typing
        view.key("e", "e")
        view.tick(0.5)
        shown_then = said(view.bench)
        view.close()
    assert not typed  # what is not to be seen is not touched
    assert "what comes next" in shown_then


def test_at_the_end_it_is_said_that_a_name_can_be_typed(scene):
    assert [cap.key for cap in ending_caps(Here(subject_of(scene)))][:2] == ["R", "E"]
    assert "E" not in [cap.key for cap in ending_caps(Here(subject_of({"w": np.eye(2)})))]
