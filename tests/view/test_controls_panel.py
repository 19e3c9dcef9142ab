"""The panel of controls as it is drawn and asked: places, words, the four kinds, the ring. No run trains here."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.controls import Button, Reader, Segments, Slider, Switch
from scalarviz.run.source import RunSource
from scalarviz.view.ink.places import ABOUT, LABEL, Wanted, arrange
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.screen.control_contents import Contents
from scalarviz.view.screen.control_drawing import track_of
from scalarviz.view.screen.control_ring import MAGNET, Wish, turned, value_at
from scalarviz.view.screen.control_rows import (
    LEAST,
    Item,
    Placed,
    Row,
    at_the_edge,
    beside_cubes,
    height_of,
    narrowed,
    over_column,
    row_of,
    stood,
)
from scalarviz.view.screen.controls import HEAD, OPENS, RESTS, ControlsPanel, shared
from scalarviz.view.screen.touch import column_of

BOX = (940.0, 12.0, 328.0, 696.0)
X = np.random.default_rng(0).random((200, 2))


class Does:
    """Who does nothing and remembers it."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.speed = 1.0
        self.speeds = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))

    def keys_of(self, action: str) -> str:
        return action[:2].title()

    def send(self, action: str) -> None:
        self.done.append(action)

    def hurry(self, speed: float) -> None:
        self.speed = speed

    def reseed(self, seed: int) -> None:
        self.done.append(seed)

    def copy(self, words: str) -> None:
        self.done.append(words)


def named(rows: list[Row]) -> list[str]:
    return [item.name for row in rows for item in row.items]


def nothing(value: Any, reader: Any) -> None:
    return None


def slider(value: float = 0.5, **others: Any) -> Item:
    given: dict[str, Any] = {"least": 1e-3, "most": 10.0, "log": True, "usual": 0.5} | others
    return Item(
        Slider("rate", "--rate", "Does.", value=lambda r: value, change=nothing, **given), value, "Up", f"{value:g}"
    )


def segments(value: Any = "b", choices: Any = ("a", "b", "c")) -> Item:
    return Item(Segments("kind", "", "Does.", choices=choices, value=lambda r: value, change=nothing), value)


def switch(value: bool = False) -> Item:
    return Item(Switch("on", "", "Does.", value=lambda r: value, change=nothing), value)


def button(label: str = "press") -> Item:
    return Item(Button(label, "", "Does.", change=nothing))


def panel(*items: Item, box: Any = BOX, theme: Any = DARK) -> ControlsPanel:
    found = ControlsPanel(theme)
    found.toggle()
    found.place(box, ())
    found.show([row_of(item) for item in items], running=False)
    found.pass_time(OPENS)
    return found


def place(of: ControlsPanel, name: str) -> Placed:
    part = of._part(name)
    assert part is not None
    return part


def middle(box: Any) -> tuple[float, float]:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


# ---- where it stands


def test_it_stands_over_the_side_column_as_in_the_mock_up() -> None:
    places = arrange((1280, 720), [Wanted("loss", 150)], keys=True, time=True)
    assert over_column(places, column_of(places)) == BOX
    large = arrange((2560, 1440), [Wanted("loss", 150)])
    assert over_column(large, column_of(large)) == BOX  # everything is twice as large


def test_in_an_upright_picture_it_lies_over_the_block_of_panels() -> None:
    places = arrange((720, 1080), [Wanted("loss", 300, first=True)], keys=True)
    box = over_column(places, column_of(places))
    assert box is not None
    assert box[1] >= places.scene[1] + places.scene[3]
    assert box[0] + box[2] <= 720
    assert box[1] + box[3] <= 1080


def test_where_a_panel_stands_beside_the_cubes_it_does_not_lie_over_both() -> None:
    places = arrange((640, 360), [Wanted("map", 150, worth=ABOUT)], keys=True, time=True)
    assert places.panels
    assert over_column(places, column_of(places)) is None


@given(st.integers(160, 1100), st.integers(160, 900), st.floats(0, 1))
def test_without_a_column_it_lies_over_no_cube(wide: int, high: int, share: float) -> None:
    places = arrange((wide, high))
    right = share * places.size[0]
    box = beside_cubes(places, right)
    if box is not None:
        assert box[0] > right
        assert box[2] >= LEAST
        assert box[0] + box[2] <= places.size[0]
    edge, kept = at_the_edge(places), narrowed(places)
    assert edge[0] >= 0
    assert edge[0] + edge[2] <= places.size[0]
    for part in (kept.scene, kept.hud, kept.strip, kept.time):
        assert part is None or part[0] + part[2] <= max(edge[0], 5.0)


@given(st.floats(100, 1200), st.floats(0, 1500), st.lists(st.floats(60, 300), max_size=4))
def test_rows_and_panels_share_the_room(room: float, rows: float, heights: list[float]) -> None:
    wanted = [Wanted(f"p{k}", own, own * 1.5) for k, own in enumerate(heights)]
    high, boxes = shared((10.0, 50.0, 300.0, room), rows, wanted)
    assert 0 <= high <= min(rows, room) + 1e-6
    bottom = 50 + high
    for box in boxes.values():
        assert box[1] >= bottom
        bottom = box[1] + box[3]
    assert bottom <= 50 + room + 1e-6


# ---- what it looks like


def reader_of(hidden: int) -> Reader:
    parts = [nn.Linear(2, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Tanh(), nn.Linear(3, 1, seed=3)]
    net = nn.Sequential(*(parts if hidden else [nn.Linear(2, 1, seed=1)]))
    run = sv.Run(
        net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, X[:, :1]), l2=0.01 * hidden, engine="numpy"
    )
    return Reader(run.frame(), RunSource(run))


SCENE = (
    Slider("noise", "--noise", "More noise.", least=0, most=1, value=lambda r: 0.25, change=nothing),
    Segments("data", "", "Kinds.", choices=("circle", "xor", "gauss", "spiral", "plane", "regress-gauss"),
             value=lambda r: "xor", change=nothing),
    Switch("show what is held back", "", "Points.", value=lambda r: True, change=nothing),
    Switch("discretise", "", "Two colours.", value=lambda r: False, change=nothing),
    Button("new points", "", "Others.", change=nothing, anew=True),
)  # fmt: skip


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("box", [BOX, (332.0, 12.0, LEAST, 336.0), (940.0, 12.0, 328.0, 1100.0)])
@pytest.mark.parametrize("hidden", [0, 1])
def test_no_words_overlap_leave_the_box_or_are_too_small(theme: Any, box: Any, hidden: int) -> None:
    made = ControlsPanel(theme)
    made.toggle()
    made.place(box, [Wanted("loss", 88.0, 150.0)])
    rows = Contents(Does(), SCENE, lambda reader: "scalarviz t").rows(reader_of(hidden), {})
    made.show(rows, running=True)
    made.pass_time(OPENS)
    seen = set()
    for _ in range(len(rows) + 1):
        sketch = made.sketch()
        assert sketch is not None
        boxes = []
        for one in sketch.texts:
            wide = measure(one.text, one.size, one.bold)
            left = one.x - {"left": 0.0, "middle": wide / 2, "right": wide}[one.anchor]
            assert one.size >= 12
            assert box[0] + 4 <= left
            assert left + wide <= box[0] + box[2] - 4, one
            assert box[1] <= one.y - one.size
            assert one.y <= box[1] + box[3]
            boxes.append((left, one.y - 0.72 * one.size, left + wide, one.y, one.text))
            seen.add(one.text)
        for a, b in combinations(boxes, 2):
            across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            assert min(across, down) <= 1, (a[4], b[4])
        made.scroll(-1)
    labels = {row.label for row in rows if row.look != "tools"} - {""}
    assert labels <= seen  # by scrolling everything is seen, and nothing is cut


def test_it_slides_in_from_the_right_and_is_not_there_before_and_after() -> None:
    made = ControlsPanel(DARK)
    assert made.sketch() is None
    made.toggle()
    made.place(BOX, ())
    made.show([row_of(slider())], running=False)
    lefts = []
    for _ in range(4):
        sketch = made.sketch()
        assert sketch is not None
        lefts.append(float(sketch.triangles[:, 0].min()))
        assert made.moving == (len(lefts) < 4)
        made.pass_time(OPENS / 3 + 1e-9)
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[0] > BOX[0] + BOX[2] - 20
    assert lefts[-1] == pytest.approx(BOX[0] - 1)
    assert lefts[0] - lefts[1] > lefts[2] - lefts[3]  # ease out
    made.toggle()
    assert made.sketch() is None
    assert not made.owns(middle(BOX))


def test_the_same_picture_is_not_drawn_twice() -> None:
    made = panel(slider(), switch())
    first = made.sketch()
    assert made.show([row_of(slider()), row_of(switch())], running=False) is False
    assert made.sketch() is first
    assert made.show([row_of(slider(0.25)), row_of(switch())], running=False)
    assert made.sketch() is not first


def test_what_a_control_does_is_said_when_the_pointer_rests() -> None:
    made = panel(slider())
    made.hover(middle(place(made, "rate").box))
    made.show([row_of(slider())], running=False)
    assert made.label((1280, 720)) == []
    made.pass_time(RESTS)
    assert made.show([row_of(slider())], running=False)
    words = {text.text for sketch in made.label((1280, 720)) for text in sketch.texts}
    assert {"rate", "Does.", "key Up  \N{MIDDLE DOT}  --rate  \N{MIDDLE DOT}  double click types it"} <= words
    made.hover(None)
    assert made.label((1280, 720)) == []


@pytest.mark.parametrize(("layers", "units"), [(1, 1), (2, 64), (3, 512), (6, 512), (5, 8)])
def test_a_number_of_units_stands_between_its_signs(layers: int, units: int) -> None:
    net = nn.Sequential(
        *(part for k in range(layers) for part in (nn.Linear(2 if k == 0 else units, units), nn.Tanh()))
    )
    net.append(nn.Linear(units, 1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X[:3], X[:3, :1]), engine="numpy")
    rows = Contents(Does()).rows(Reader(run.frame(), RunSource(run)), {})
    for width in (LEAST, BOX[2]):  # of one run: making a million weights is nearly all of the time
        made = ControlsPanel(DARK)
        made.toggle()
        made.place((100.0, 12.0, width, 696.0), ())
        made.show(rows, running=False)
        (row,) = [one for one in made._stood if one.row.look == "layers"]
        assert len(row.row.middles) == layers
        for k in range(layers):
            less, more = row.parts[2 * k].box, row.parts[2 * k + 1].box
            middle, half = (less[0] + more[0] + more[2]) / 2, measure(str(units), 13, True) / 2
            sign = min(4.0, less[2] / 2 - 0.5)
            assert sign > 3
            assert less[0] + less[2] / 2 + sign <= middle - half
            assert middle + half <= more[0] + more[2] / 2 - sign
            assert row.box[0] <= less[0]
            assert more[0] + more[2] <= row.box[0] + row.box[2] + 0.01


# ---- the pointer


def test_a_slider_follows_the_hand_and_its_usual_value_is_magnetic() -> None:
    made = panel(slider())
    part = place(made, "rate")
    left, right, y = track_of(part)
    usual = left + (right - left) * part.item.control.share(0.5)  # type: ignore[attr-defined]
    at = left + 0.25 * (right - left)
    assert made.press((at, y)) == Wish("set", part.item, 0.01, held=True)
    for off, caught in ((MAGNET - 0.5, True), (-MAGNET + 0.5, True), (MAGNET + 1.5, False), (-MAGNET - 1.5, False)):
        wish = made.drag((usual + off, y + 300))  # however far above or below
        assert wish is not None
        assert (wish.value == 0.5) is caught
    assert made.drag((-1000, y)).value == 1e-3  # type: ignore[union-attr]
    assert made.drag((5000, y)).value == 10.0  # type: ignore[union-attr]
    assert made.release((5000, y)) is None
    assert made.drag((usual, y)) is None


def test_a_slider_with_stops_stands_at_them_alone() -> None:
    item = Item(slider().control, 1.0, stops=(0.01, 1.0, 10.0))
    part = place(panel(item), "rate")
    left, right, _ = track_of(part)
    found = {value_at(part, x) for x in np.linspace(left, right, 50)}
    assert found == {0.01, 1.0, 10.0}


def test_a_press_counts_where_it_is_let_go() -> None:
    made = panel(segments(), switch(), button())
    cells = place(made, "kind").cells
    assert made.press(middle(cells[2])) is None
    assert made.release(middle(cells[2])) == Wish("set", segments(), "c")
    made.press(middle(cells[2]))
    assert made.release(middle(place(made, "on").box)) is None
    made.press(middle(place(made, "on").box))
    assert made.release(middle(place(made, "on").box)) == Wish("set", switch(), True)
    made.press(middle(place(made, "press").box))
    assert made.release(middle(place(made, "press").box)) == Wish("set", button())
    assert made.press((BOX[0] + 2, BOX[1] + 2)) is None


def test_cells_fill_their_list_without_a_gap() -> None:
    part = place(panel(segments(choices=("one", "two", "three and more", "4"))), "kind")
    edges = [(x, x + wide) for x, _, wide, _ in part.cells]
    assert edges[0][0] == pytest.approx(part.box[0])
    assert edges[-1][1] == pytest.approx(part.box[0] + part.box[2])
    for (_, end), (begin, _) in pairwise(edges):
        assert end == pytest.approx(begin)


def test_the_wheel_scrolls_rows_that_have_no_room_and_stops_at_both_ends() -> None:
    made = panel(*(Item(Switch(f"s{k}", "", "Does.", value=lambda r: True, change=nothing), True) for k in range(40)))
    assert made._part("s39") is None
    assert not made.scroll(1)
    while made.scroll(-1):
        pass
    assert made._part("s39") is not None
    assert made._part("s0") is None
    while made.scroll(1):
        pass
    assert made._part("s0") is not None


def test_rows_that_scroll_leave_no_place_empty_and_none_is_cut() -> None:
    rows = [row_of(one) for k in range(9) for one in (replaced(slider(), f"a{k}"), replaced(segments(), f"b{k}"))]
    made = ControlsPanel(DARK)
    made.toggle()
    for high in range(330, 720, 30):
        made.place((940.0, 12.0, 328.0, float(high)), [Wanted("loss", 88.0, 150.0)])
        made.show(rows, running=False)
        made.pass_time(OPENS)
        while True:
            seen = made._seen
            bottom = seen[-1].box[1] + seen[-1].box[3]
            assert bottom == pytest.approx(12 + HEAD + made._height, abs=1)
            assert all(a.box[1] + a.box[3] <= b.box[1] + 0.01 for a, b in pairwise(seen))
            if not made.scroll(-1):
                break
        assert seen[-1].row.label == "b8"
        while made.scroll(1):
            pass


def replaced(item: Item, label: str) -> Item:
    return replace(item, control=replace(item.control, label=label))


def test_a_touch_pad_turns_by_parts_of_a_notch() -> None:
    made = panel(*(replaced(slider(), f"s{k}") for k in range(30)))
    assert [made.scroll(-0.25) for _ in range(8)] == [False, False, False, True] * 2


def test_the_bar_is_dragged_to_both_ends() -> None:
    made = panel(*(replaced(slider(), f"s{k}") for k in range(30)))
    edge = BOX[0] + BOX[2] - 5
    for y, name in ((BOX[1] + BOX[3] - 15, "s29"), (BOX[1] + HEAD, "s0")):
        assert made.press((edge, BOX[1] + 200)) is None
        assert made.drag((edge, y)) is None
        assert made._part(name) is not None
        assert made.release((edge, y)) is None
        first = made._first
        made.drag((edge, BOX[1] + 300))
        assert made._first == first


# ---- keys


def test_tab_goes_round_and_shows_where_it_is() -> None:
    made = panel(slider(), segments(), switch(), button())
    names = []
    for _ in range(5):
        assert made.key("Tab") is True
        names.append(made._touched.focus)
    assert names == ["rate", "kind", "on", "press", "rate"]
    made.key("Tab", shift=True)
    assert made._touched.focus == "press"


def test_the_ring_crosses_no_word() -> None:
    made = panel(
        replace(slider(), ticks=((0.001, "0.001"), (0.1, "0.1"), (10.0, "10"))), segments(), switch(), button()
    )
    for _ in range(4):
        made.key("Tab")
        sketch = made.sketch()
        assert sketch is not None
        ring = sketch.triangles[np.isclose(sketch.triangles[:, 7], 2.0) & (sketch.triangles[:, 15] > 0)]
        left, top = ring[:, :2].min(0) + 2
        right, bottom = ring[:, :2].max(0) - 2
        for text in sketch.texts:
            width = measure(text.text, text.size, text.bold)
            begin = text.x - width * {"left": 0.0, "middle": 0.5, "right": 1.0}[text.anchor]
            if begin < right and begin + width > left:
                assert not any(text.y - 0.7 * text.size < edge < text.y for edge in (top, bottom)), text.text


def test_arrows_and_space_do_what_the_pointer_does() -> None:
    made = panel(slider(), segments(), switch(), button())
    made.key("Tab")
    assert made.key("Right") == Wish("set", slider(), 1.0)
    assert made.key("Down") == Wish("set", slider(), 0.2)
    assert made.key("Enter") == Wish("type", slider())
    assert made.key("Space") is True
    made.key("Tab")
    assert made.key("Left") == Wish("set", segments(), "a")
    assert made.key("Space") == Wish("set", segments(), "c")
    made.key("Tab")
    assert made.key("Space") == Wish("set", switch(), True)
    made.key("Tab")
    assert made.key("Space") == made.key("Enter") == Wish("set", button())
    assert made.key("Up") is True
    assert made._touched.focus == "on"
    assert made.key("W") is made.key("5") is False


def test_arrows_go_along_a_row_of_buttons() -> None:
    made = ControlsPanel(DARK)
    made.toggle()
    made.place(BOX, ())
    made.show([Row("tools", tuple(button(name) for name in "abcde")), row_of(slider())], running=False)
    made.pass_time(OPENS)
    made.key("Tab")
    for name, focus in (("Right", "b"), ("Right", "c"), ("Left", "b"), ("Down", "rate")):
        assert made.key(name) is True
        assert made._touched.focus == focus


def test_the_ring_brings_what_it_goes_to_into_sight() -> None:
    made = panel(
        *(Item(Slider(f"s{k}", "", "D.", least=0, most=1, value=lambda r: 0, change=nothing), 0.5) for k in range(30))
    )
    for _ in range(31):
        made.key("Tab")
        assert made._part(made._touched.focus) is not None
    made.key("Tab", shift=True)
    assert made._part("s29") is not None


@settings(max_examples=200)
@given(st.floats(1e-4, 12), st.sampled_from([1, -1]), st.booleans(), st.booleans())
def test_a_notch_goes_its_way_and_stays_on_the_track(value: float, way: int, log: bool, whole: bool) -> None:
    item = slider(float(round(value)) if whole else value, log=log, least=1 if whole else 1e-3, usual=None, whole=whole)
    new = turned(item, way)
    if new is None:
        assert item.value >= 10 if way > 0 else item.value <= item.control.least  # type: ignore[attr-defined]
        return
    assert (new - item.value) * way > 0 or not item.control.least <= item.value <= 10  # type: ignore[attr-defined]
    assert item.control.least <= new <= 10  # type: ignore[attr-defined]


def test_rungs_of_a_logarithmic_slider_are_one_two_five() -> None:
    values, value = [], 0.01
    while value is not None:
        values.append(value)
        value = turned(slider(value), 1)
    assert values == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]


# ---- what it holds


def held(reader: Reader, **others: Any) -> list[Row]:
    return Contents(Does(), **others).rows(reader, {})


def test_what_acts_at_once_is_above_the_rule_and_what_starts_anew_below_it() -> None:
    labels = [row.label or row.look for row in held(reader_of(1), controls=SCENE, command=lambda r: "x")]
    assert labels == [
        "tools", "learning rate", "batch", "optimiser", "pace", "regularisation", "regularisation rate", "activation",
        "noise", "data", "show what is held back", "discretise", "rule", "layers", "new points", "seed",
    ]  # fmt: skip


def test_a_scenes_control_takes_the_place_of_the_runs_own() -> None:
    mine = Segments("batch", "--batch", "Mine.", choices=(1, 2), value=lambda r: 2, change=nothing)
    rows = held(reader_of(0), controls=[mine])
    assert [row.items[0].control.does for row in rows if row.label == "batch"] == ["Mine."]


def test_a_command_that_is_none_has_no_button() -> None:
    for command in (None, lambda reader: None, lambda reader: ""):
        assert "copy as command" not in named(held(reader_of(0), command=command))


def test_the_command_is_copied_beside_the_seed_and_in_a_row_of_its_own_without_one() -> None:
    def command(reader: Reader) -> str:
        return "x"

    assert [item.name for item in held(reader_of(0), command=command)[-1].items] == ["reseed", "copy as command"]
    alone = held(reader_of(0), command=command, hide=["seed"])
    assert alone[-1].label == "copy as command"
    assert "reseed" not in named(alone)
    assert "copy as command" not in named(held(reader_of(0), command=command, hide=["copy as command"]))


def test_buttons_stand_below_the_words_that_leave_them_no_room() -> None:
    button = Button("copy as command", "", "Copies.", change=nothing)
    row = Row("buttons", (Item(button),), "seed", "4,294,967,295")
    for width in (400.0, 200.0, 120.0):
        (one,) = stood([row], (0.0, 0.0, width, 0.0))
        (part,) = one.parts
        said = measure(row.label, LABEL) + 10 + measure(row.note, LABEL, True)
        assert part.box[0] >= said or part.box[1] >= 28
        assert part.box[1] + part.box[3] <= one.box[3] == height_of(row, width)


def test_the_pace_stands_at_the_speeds_there_are() -> None:
    does = Does()
    reader = reader_of(0)
    item = next(row for row in Contents(does).rows(reader, {}) if row.label == "pace").items[0]
    for stop in item.stops:
        item.control.change(stop, reader)
        assert does.speed in does.speeds
    assert does.speed == float("inf")
    assert next(row for row in Contents(does).rows(reader, {}) if row.label == "pace").items[0].shown == "no limit"


def test_a_flag_that_the_scene_has_not_is_not_named() -> None:
    class Options:
        lr = 0.5

    first = reader_of(0)
    rows = Contents(Does()).rows(Reader(first.frame, first.source, Options()), {})
    flags = {row.label: row.items[0].control.flag for row in rows if row.look in ("slider", "segments")}
    assert (flags["learning rate"], flags["batch"]) == ("--lr", "")


def test_rows_end_above_the_panels_that_stay() -> None:
    made = ControlsPanel(DARK)
    made.toggle()
    made.place(BOX, [Wanted("loss", 88.0, 150.0, first=True), Wanted("pictures", 84.0, 117.0)])
    made.show(held(reader_of(0)), running=False)
    made.pass_time(OPENS)
    assert list(made.side) == ["loss", "pictures"]
    top = min(box[1] for box in made.side.values())
    assert all(one.box[1] + one.box[3] <= top for one in made._seen)
    assert made._seen[0].box[1] == BOX[1] + HEAD
    assert made.owns((BOX[0] + 20, BOX[1] + 60))
    assert not made.owns(middle(made.side["loss"]))
