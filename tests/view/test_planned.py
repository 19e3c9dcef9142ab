"""The picture of the scene `microgpt`: what stands where, what is drawn there, and what it says to hands."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scalarviz.scenes import microgpt

from scalarviz.run import Moment
from scalarviz.run.panels import WordBoard
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.ink.theme import rgb
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.word_scene import greys
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.actions import Here
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.telling import ending_caps
from scalarviz.view.workbench import Workbench

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]

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
    with offscreen():
        bench = Workbench(scene, size, theme, keys=keys)
        bench.update(bench.subject.frame(), "numpy")
    return bench


def drawer_of(bench):
    return bench.side.drawer(WordBoard)


def again(bench, seconds=None):
    with offscreen():
        bench.update(bench.subject.frame(), "numpy", seconds)
    return [t.text for sketch in bench.sketches for t in sketch.texts]


def texts(bench):
    return [t for sketch in bench.sketches for t in sketch.texts]


def box_of(t):
    wide = measure(t.text, t.size, t.bold)
    left = t.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[t.anchor] * wide
    return left, t.y - CAP_HEIGHT * t.size, left + wide, t.y


def overlap(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


# ---- where it stands


def test_plates_are_named_and_read_from_left_to_right(bench):
    captions = bench.scenery.blueprint.captions
    assert [c.title for c in captions] == ORDER
    assert [h.text for h in bench.scenery.blueprint.headings] == ["embedding", "attention", "MLP", "head"]
    assert [h.count for h in bench.scenery.blueprint.headings] == [16 * 27 + 256, 1024, 2048, 16 * 27]
    places = [(c.x, c.y) for c in captions]
    assert places == sorted(places)
    assert not any("weight" in t.text and "." in t.text for t in texts(bench))


def test_a_plate_stands_below_its_name_and_fills_the_picture(bench):
    low, high = [], []
    for caption in bench.scenery.blueprint.captions:
        plate = bench.layout.plate(caption.tensor)
        corners = bench.project(plate.corners)
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
    beside_maps = [t for t in texts(bench) if t.size == 12]
    boxes = [(t, box_of(t)) for t in texts(bench) if t not in beside_maps]
    for t, (left, top, right, bottom) in boxes:
        assert left >= -1, t
        assert top >= -1, t
        assert right <= wide + 1, t
        assert bottom <= high + 1, t
        assert t.size >= 13, t
    for (s, a), (t, b) in combinations(boxes, 2):
        assert not overlap(a, b), (s.text, t.text, a, b)


def test_several_layers_and_narrow_pictures_stand_as_before_with_names(tmp_path):
    made = build(tmp_path, layers=2)
    bench = shown(made)
    assert not bench.spread
    said = [t.text for t in texts(bench)]
    assert {"token", "q 1", "down 2", "letters", "reads olivia"} <= set(said)
    made.run.close()


def test_a_narrow_picture_keeps_the_word_in_its_block(scene):
    bench = shown(scene, (720, 1280))
    assert not bench.spread
    assert "reads olivia" in [t.text for t in texts(bench)]


def test_turned_by_hand_it_shows_plates_alone_and_comes_back(bench):
    with offscreen():
        bench.orbit(60, 0)
    said = again(bench)
    assert bench.scenery.blueprint is None
    assert "head 1" not in said
    assert "what comes next" in said
    assert "new names" in said
    boxes = [(t.text, box_of(t)) for t in texts(bench) if t.x > bench.places.scene[2]]
    assert not [(a[0], b[0]) for a, b in combinations(boxes, 2) if overlap(a[1], b[1])]
    assert "up" in said  # names stay
    with offscreen():
        bench.fit_camera()
        bench.update(bench.subject.frame(), "numpy", None)
    assert "head 1" in again(bench)


# ---- what is drawn there


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_drawn_pixels_are_the_numbers_of_the_run(scene, theme):
    """Attention by its shares, the relu strip and the stream by the rows of the run's own stages."""
    bench = shown(scene, theme=theme)
    pixels = offscreen().render(bench.draw, bench.size)[..., :3] / 255
    drawer, sheet = drawer_of(bench), bench.scenery.blueprint
    read = drawer._read
    moment = Moment(bench._frame, bench.subject.source)
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
    assert not any(t.text.startswith("step ") for t in texts(bench))
    grown = []
    for _ in range(120):
        made.run.step(1)
        again(bench, 0.1)
        grown.append((names._number, names.words[-1]))
    enters = [[word for number, word in grown if number == n] for n in sorted({n for n, _ in grown})][1:]
    assert len(enters) >= 4
    for words in enters[:-1]:
        assert len(words[0]) <= 1
        assert all(b.startswith(a) and len(b) - len(a) <= 1 for a, b in pairwise(words))
    steps = [int(t.text.removeprefix("step ").replace(",", "")) for t in texts(bench) if t.text.startswith("step ")]
    assert steps == sorted(steps)
    assert 0 < steps[0] <= made.run.steps
    assert names.moving
    for _ in range(7):  # it pauses: all of them are of what is shown, and those that the closing sentence tells
        again(bench, 0.1)
    claim = made.story.claim(Moment(bench._frame, bench.subject.source))
    assert claim == f"They now say {', '.join(word or 'nothing' for word in names.words[:3])}."
    assert {step for _, step in names._lines} == {made.run.steps}
    assert not names.moving
    assert not any(t.text.startswith("step ") for t in texts(bench))
    made.run.step(1)
    drawer_of(bench).warm(2)
    again(bench, 0.1)
    assert {step for _, step in names._lines} == {made.run.steps}  # all of them anew
    made.run.close()


def test_a_rate_that_has_come_to_nothing_is_said_with_the_last_one(tmp_path):
    made = build(tmp_path, lr=0.003)
    bench = shown(made, keys=())
    made.run.step(49)
    assert "lr 6e\N{MINUS SIGN}5" in again(bench)
    made.run.step(1)
    said = again(bench)
    assert "lr 0 (was 6e\N{MINUS SIGN}5)" in said
    assert "lr 0.0" not in said
    made.run.close()


@pytest.mark.parametrize(
    ("high", "word", "sides"), [(800, "olivia", 2), (720, "olivia", 1), (720, "abcdefghijklmno", 0)]
)
def test_attention_has_its_letters_where_they_can_be_read(scene, high, word, sides):
    bench = shown(scene, (1280, high))
    assert bench.places.time is not None
    drawer_of(bench).state.word, drawer_of(bench).stale = word, True
    again(bench)
    beside = [t.text for t in texts(bench) if t.size == 12]
    assert beside.count(word[-1]) == sides * 4 * word.count(word[-1])


# ---- hands


class Hand:
    """A window, a mouse and a keyboard."""

    def __init__(self, window):
        self.window, self.view, self.bench = window, window.view, window.view.bench

    def spin(self, seconds):
        import time

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.window.application.process_events()
            time.sleep(0.002)

    def xdo(self, *words):
        import subprocess

        subprocess.run(["xdotool", *map(str, words)], check=True)
        self.spin(0.08)

    def click(self, x, y):
        at = np.array([x, y]) * self.bench.scale
        corner = self.window.canvas.native.mapToGlobal(self.window.canvas.native.rect().topLeft())
        self.xdo("mousemove", corner.x() + round(at[0]), corner.y() + round(at[1]))
        self.xdo("click", 1)

    def until(self, condition):
        import time

        end = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            self.spin(0.02)


@pytest.fixture
def hand(screen, tmp_path):
    made = build(tmp_path)
    made.run.step(5)
    window = Window(lambda size: LiveView(made, size, playing=False), "microgpt", (1280, 800), shots="out").show()
    driver = Hand(window)
    driver.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    driver.xdo("mousemove", 1200, 300)  # away from the word
    driver.until(lambda: drawer_of(driver.bench).spots)
    yield driver
    window.close()


def test_a_word_is_typed_in_the_window_without_pointing(hand):
    state, bench = drawer_of(hand.bench).state, hand.bench
    hand.xdo("key", "g")
    assert bench.colouring.quantity == "gradient"  # nothing is being typed: letters are keys
    hand.xdo("key", "e")
    assert state.typing
    for letter in "wgcf":
        hand.xdo("key", letter)
    assert state.word == "wgcf"
    assert bench.colouring.quantity == "gradient"  # no letter did anything else
    step = hand.view.frame().step
    hand.xdo("key", "Right")
    hand.until(lambda: hand.view.frame().step == step + 1)  # other keys keep their meaning
    hand.xdo("key", "Return")
    assert not state.typing
    hand.xdo("key", "w")
    assert (state.word, bench.colouring.quantity) == ("wgcf", "weight")
    hand.xdo("key", "e")
    hand.xdo("key", "a")
    hand.xdo("key", "Escape")
    assert (state.word, state.typing) == ("wgcf", False)
    assert not hand.window.closed


def test_before_the_first_step_the_field_takes_the_place_of_the_story(screen, tmp_path):
    made = build(tmp_path)
    window = Window(
        lambda size: LiveView(made, size, playing=True, wait=None), "microgpt", (1280, 800), shots="out"
    ).show()
    hand = Hand(window)
    hand.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    hand.until(lambda: any("invent names" in t.text for t in texts(hand.bench)))
    assert "what comes next" not in [t.text for t in texts(hand.bench)]
    x, y, wide, high = next(spot.box for spot in drawer_of(hand.bench).spots if spot.name == "field")
    hand.click(x + wide / 2, y + high / 2)  # what is not to be seen is not touched
    assert not drawer_of(hand.bench).typing
    hand.xdo("key", "e")
    hand.xdo("key", "b")
    hand.until(lambda: "what comes next" in [t.text for t in texts(hand.bench)])
    assert not any("invent names" in t.text for t in texts(hand.bench))
    hand.xdo("key", "Return")
    hand.xdo("key", "Tab")
    hand.xdo("key", "e")
    assert not drawer_of(hand.bench).typing
    assert "not shown here" in hand.view.notice()
    window.close()


def test_at_the_end_it_is_said_that_a_name_can_be_typed(scene):
    caps = [cap.key for cap in ending_caps(Here(subject_of(scene)))]
    assert caps[:2] == ["R", "E"]
    other = subject_of({"w": np.eye(2)})
    assert "E" not in [cap.key for cap in ending_caps(Here(other))]


def test_field_letters_and_maps_are_clicked_in_the_window(hand):
    drawer = drawer_of(hand.bench)
    state = drawer.state
    x, y, wide, high = next(spot.box for spot in drawer.spots if spot.name == "field")
    hand.click(x + wide / 2, y + high / 2)
    assert state.typing
    hand.xdo("key", "i")
    cell = next(spot.box for spot in drawer.spots if spot.value == 0 and spot.box[1] > y)
    hand.click(cell[0] + 10, cell[1] + 15)
    assert (state.word, state.chosen) == ("i", 0)
    hand.xdo("key", "Escape")
    hand.until(lambda: state.word == "olivia" and len(drawer.spots) > 20)
    box = next(spot.box for spot in drawer.spots if spot.value == 3 and spot.box[1] < y)
    hand.click(box[0] + box[2] / 2, box[1] + box[3] / 2)
    assert state.chosen == 3
    assert hand.bench.selected is None


def test_braces_move_the_temperature_in_the_window(hand):
    drawer = drawer_of(hand.bench)
    hand.xdo("key", "braceright")
    assert drawer.temperature == 0.7
    hand.xdo("key", "braceleft")
    hand.xdo("key", "braceleft")
    assert drawer.temperature == 0.5
    hand.until(lambda: any("temperature 0.5" in t.text for t in texts(hand.bench)))
