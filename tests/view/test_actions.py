"""One table of what can be done: every viewer has what applies to it, and what does nothing says why.

A viewer asks its host for what a window can do; files that come in go where they belong, or say why not.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import middle
from kit.commands import make_scene
from kit.keys import of_the_window
from kit.windows import COLOURS, live_hand, make_colour_run, make_colour_scene, mirror_hand
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.io import save_picture
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube, DigitPad, Pictures
from scalarviz.view.ink.widgets import help_pages
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.registry import DRAWERS
from scalarviz.view.screen.hud import MOST_KEYS
from scalarviz.view.watch import actions
from scalarviz.view.watch.actions import ACTIONS, GESTURES, normalised
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
MODIFIERS = ["Shift", "ShiftLeft", "Control", "Alt", "AltGraph", "Meta", "CapsLock"]
KINDS = {
    "live": live_hand, "live with a word": lambda: live_hand(make_scene("microgpt")),
    "live without a colour cube": lambda: live_hand(make_colour_scene(panels=())),
    "run": lambda: mirror_hand(make_colour_run()), "weight": lambda: mirror_hand(sv.Weight(1.0, name="w")),
    "arrays": lambda: mirror_hand({"a": np.eye(3)}),
}  # fmt: skip


@pytest.fixture
def hand():
    photo = np.full((20, 30, 3), 0.25)
    pictures = Pictures(photo, 1 - photo, target_of=lambda picture: 1 - picture)
    with live_hand(make_colour_scene(panels=(ColourCube(COLOURS, 1 - COLOURS), pictures))) as made:
        yield made


# ---- the table


def test_the_table_is_sound_and_the_markdown_has_every_line():
    names, keys = [one.name for one in ACTIONS], [key for one in ACTIONS for key in one.keys]
    assert (len(names), len(keys)) == (len(set(names)), len(set(keys)))
    assert {one.kind for one in ACTIONS} == {"view", "time", "edit", "file", "host"} >= {one.kind for one in GESTURES}
    assert all(line.does == line.does.strip() and 0 < len(line.does) < 56 for line in (*ACTIONS, *GESTURES))
    for one in ACTIONS:
        for key in one.keys:
            *held, plain = key.split("+")
            assert actions.action_for_key(normalised(plain, ctrl="Ctrl" in held, shift="Shift" in held)) is one
    panels = [does for drawer in DRAWERS.values() for _, does in (*drawer.gestures, *drawer.choices, *drawer.lessons)]
    rooms = [one.does for room in (actions.WALL, actions.TOUR, actions.RUNS) for one in room]
    written = re.findall(r"^\| .+ \| (.+) \|$", of_the_window(), re.M)
    listed = [*(one.does for one in (*ACTIONS, *GESTURES)), *panels, *rooms]
    assert [does for does in written if does != "does"] == listed


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Right", "", "Right"), ("ArrowRight", "", "Right"), ("w", "w", "W"), ("KeyW", "", "W"), ("W", "W", "W"),
        ("Space", " ", "Space"), (" ", " ", "Space"), ("/", "?", "?"), ("ß", "?", "?"), ("Escape", "", "Escape"),
        ("Esc", "", "Escape"), ("F11", "", "F11"), ("Tab", "\t", "Tab"), ("[", "[", "["), ("8", "[", "["),
        ("Backslash", "\\", "\\"), ("0", "0", "0"), ("Digit0", "", "0"), ("UP", "", "Up"), (None, "", ""),
        (None, "g", "G"), ("Backspace", "", "Backspace"), (None, "\x11", ""), *((name, "", "") for name in MODIFIERS),
    ],
)  # fmt: skip
def test_keys_have_one_name_on_every_backend(name, text, expected):
    assert normalised(name, text) == expected
    assert normalised(name, text, ctrl=True) == (f"Ctrl+{expected}" if expected else "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_of_keys_has_six_and_the_list_begins_with_ten_before_all_in_groups(kind):
    """What is told first is a part of what a group tells, and a group tells each thing once."""
    with KINDS[kind]() as hand:
        here = hand.view.action_context(in_general=True)
        for line in (actions.bottom_line(here), actions.inside_line(here)):
            assert len(line) <= MOST_KEYS
            assert not line or line[-1] == ("?", "all keys")
        groups = {page.heading: page.lines for page in help_pages((1280, 720), actions.help_lines(here))}
        first, *others = groups.values()
        assert next(iter(groups)) == actions.FIRST
        assert len(first) == 10 if kind.startswith("live") else 0 < len(first) < 10
        told = [line for lines in others for line in lines]
        assert len(told) == sum(one.applies(here) for one in (*ACTIONS, *GESTURES))
        assert set(first) <= set(told)
        hand.bench.lead_keys("Escape", "elsewhere")
        assert (len(hand.bench.keys) <= MOST_KEYS, hand.bench.keys[0], hand.bench.keys[-1][0]) == (
            True, ("Escape", "elsewhere"), "?"
        )  # fmt: skip


# ---- viewers


@pytest.mark.parametrize("kind", KINDS)
def test_every_action_is_done_or_says_in_one_short_line_why_not(kind):
    with KINDS[kind]() as hand:
        view = hand.view
        here, table = view.action_context(in_general=True), {does for _, does in view.bench.interaction.table}
        assert {one.name for one in ACTIONS if one.applies(here)} <= set(view.handlers) <= set(actions.BY_NAME)
        assert all((line.does in table) == line.applies(here) for line in (*ACTIONS, *GESTURES))
        for drawer in view.bench.side.drawers.values():
            assert {does for _, does in (*drawer.gestures, *drawer.choices, *drawer.lessons)} <= table
        said = [words for _, words in actions.bottom_line(here)]
        assert said == [one.words for one in ACTIONS if one.words and one.applies(here)]
        if kind == "arrays":
            assert not any(one.applies(here) for one in ACTIONS if one.kind in ("time", "edit"))
        for one in (one for one in ACTIONS if one.name != "close"):
            view.say("")
            done, reason = view.send(one.name), one.missing(view.action_context())
            assert done == (not reason)
            if reason:
                assert view.notice() == f"{one.keys[0]}: {reason}"
                assert len(view.notice()) < 60


def test_a_key_that_means_nothing_says_so_and_a_modifier_alone_says_nothing(hand):
    bench = hand.view.bench
    before = bench.colouring.quantity, bench.cmap_name, bench.theme, bench.interaction.help
    other = [one.keys[0] for one in ACTIONS if len(one.keys[0]) == 1]  # Ctrl with another key is not that key
    for name, ctrl, said in (("F8", False, "F8"), *((k.lower(), True, f"Ctrl+{k}") for k in other)):
        if actions.action_for_key(said) is None:
            assert not hand.view.key(name, ctrl=ctrl)
            assert hand.view.notice() == f"{said} does nothing here; ? shows the keys"
    for seconds, there in ((3.9, True), (0.2, False)):  # a notice goes
        hand.view.tick(seconds)
        assert (hand.view.notice() != "") == there
    for name in MODIFIERS:
        assert not hand.view.key(name)
        assert hand.view.notice() == ""
    assert before == (bench.colouring.quantity, bench.cmap_name, bench.theme, bench.interaction.help)


def test_a_value_is_sent_and_checked_and_only_names_of_the_table_are_done(hand):
    view = hand.view
    for send, step in ((lambda: view.send("step", 3), 3), (lambda: view.key("Right", shift=True), 13)):
        send()
        assert view.worker.settle().step == step
    for value in (0, -1, 10**9 + 1):
        with pytest.raises(InputError, match=r"step: got .*allowed: 1 to 1,000,000,000"):
            view.send("step", value)
    for value in (1.5, "3", True, np.ones(3)):
        with pytest.raises(TypeMismatchError, match=r"step: got .*a whole number"):
            view.send("step", value)
    with pytest.raises(InputError, match="fit: got 1; allowed: no value"):
        view.send("fit", 1)
    for name in ("", "Space", "close_", "__init__", "tick", None, [], 3):
        with pytest.raises(UnknownNameError, match=r"no action .*allowed: .*toggle_run"):
            view.send(name)
    assert view.worker.settle().step == 13


# ---- the host


def test_escape_closes_one_thing_after_the_other_and_the_window_by_two_presses(hand):
    view = hand.view
    view.send("toggle_help")
    view.bench.select(2)
    cube = view.bench.side.drawer(ColourCube)
    cube.marked = (1.0, 0.0, 0.0)
    view.key("F11")
    for help_, selected, full in ((1, 2, True), (0, 2, True), (0, None, True), (0, None, False)):
        assert (view.bench.interaction.help, view.bench.selected, hand.host.full_screen) == (help_, selected, full)
        view.send("escape")
    assert cube.marked is None
    for between in (lambda: view.tick(2.1), lambda: view.key("g"), lambda: view.tick(1.9)):
        between()
        assert not hand.host.closed
        view.send("escape")
    assert view.notice() == "Escape again closes the window"
    view.send("escape")
    assert hand.host.closed


def test_screenshot_and_close_are_the_hosts_and_without_one_that_is_said(hand):
    hand.view.key("s")
    assert [shot.shape for shot in hand.host.shots] == [(720, 1280, 3)]
    for name, ctrl in (("q", False), ("\x11", True)):
        hand.view.key("q", name, ctrl=ctrl)
        assert hand.host.closed == ctrl
    hand.run.step(1)  # the run is free again
    with offscreen():
        view = LiveView(make_colour_scene(), (1280, 720), playing=False)
        view.tick(0.0)
        for key, said in (("S", "S: there is no window"), ("F11", "F11: there is no window"), ("Escape", "")):
            view.say("")
            view.key(key)
            assert view.notice() == said
        view.close()


@pytest.mark.parametrize(("ratio", "turns"), [(1.0, True), (2.0, False)])
def test_how_far_a_drag_has_to_go_is_counted_in_the_pointers_pixels(hand, ratio, turns):
    hand.host.pixel_ratio = ratio
    before = hand.view.bench.camera.azimuth
    hand.drag(hand.face(4), (6.0, 0.0))
    assert (hand.view.bench.camera.azimuth != before) == turns
    assert hand.view.bench.selected == (None if turns else 4)  # what was dragged was not clicked


# ---- files


def dropped(hand, path, pixels=None):
    """What is said of a file that is dropped, in which these pixels are saved."""
    if pixels is not None:
        save_picture(path, pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2))
    hand.view.open([path])
    hand.host.pass_time()
    return hand.view.notice()


def test_a_picture_is_shown_before_and_after_and_weights_are_loaded_with_their_step(hand, tmp_path):
    other = make_colour_run(seed=9)
    other.step(25)
    other.save(tmp_path / "w.safetensors")
    assert dropped(hand, tmp_path / "mine.png", np.full((8, 12, 3), 0.75)) == "mine.png: shown: before, after, target"
    after = hand.host.picture().astype(int)
    source, _, target = next(sketch.images for sketch in hand.bench.sketches if len(sketch.images) == 3)
    cells = (after[int(y), int(x)] for x, y in (middle(source.rect), middle(target.rect)))
    assert max(np.abs(cell - shade).max() for cell, shade in zip(cells, (191, 64), strict=True)) <= 1
    hand.view.key("o", ctrl=True)
    ((title, then),) = hand.host.asked
    then(tmp_path / "w.safetensors")
    hand.host.pass_time()
    assert (title, hand.view.notice()) == ("Open a picture or weights", "w.safetensors: loaded the weights of step 25")
    assert hand.view.worker.settle().step == 25
    assert np.array_equal(hand.run.values, other.values)
    hand.view.key("Space")
    hand.until(lambda: hand.run.steps > 27)


def test_what_cannot_be_opened_is_refused_in_a_line_and_changes_nothing(hand, tmp_path):
    before = hand.run.values.copy()
    net = nn.Sequential(nn.Linear(3, 4, seed=1))
    data = np.ones((2, 3)), np.ones((2, 4))
    Run(net, nn.MSELoss(), optim.SGD(net.parameters()), data, engine="numpy").save(tmp_path / "w.safetensors")
    (tmp_path / "notes.doc").write_text("words")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n....")
    said = "notes.doc cannot be opened; allowed: a picture, a table (.csv, .tsv, .txt) or weights (.safetensors)"
    for name, words in (("w.safetensors", "0.weight"), ("notes.doc", said), ("broken.png", ""), ("gone.png", "")):
        notice = dropped(hand, tmp_path / name)
        assert name in notice
        assert words in notice
    assert np.array_equal(hand.run.values, before)
    photo = np.zeros((4, 4, 3))
    for panels, words in (
        ((), "this scene has no panel for your picture"),
        ((Pictures(photo, photo),), "this scene has no target for a picture"),
    ):
        with live_hand(make_colour_scene(panels=panels)) as other:
            assert dropped(other, tmp_path / "mine.png", photo) == f"mine.png: {words}"


def test_a_picture_of_a_digit_is_read_as_ink_on_paper_whatever_its_size(tmp_path):
    net = nn.Sequential(nn.Linear(64, 10, seed=1))
    data = np.random.default_rng(0).random((16, 64)), np.arange(16)[:, None] % 10
    run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.5), data, engine="numpy")
    scene = Scene("t", run, probe=np.zeros(64), probe_target=np.array([3.0]), panels=(DigitPad((8, 8)),))
    ink, wide = np.zeros((80, 80)), np.zeros((37, 91))
    ink[10:70, 30:50] = wide[9:-9, 22:-22] = 1.0
    blocks = ink.reshape(8, 10, 8, 10).mean(axis=(1, 3))
    with live_hand(scene) as reader:
        for pixels in (ink, 1 - ink, 1 - 0.75 * wide):
            dropped(reader, tmp_path / "mine.png", pixels)
            sheet = reader.view.bench.subject.probe.reshape(8, 8)
            assert reader.view.frame().activations["input"] == pytest.approx(sheet.ravel())
            assert (sheet.max(), sheet.min() >= 0.0) == (pytest.approx(1.0), True)
            assert np.allclose(sheet, sheet[::-1, ::-1], atol=0.35)  # it lies in the middle
            assert len(pixels) == 37 or np.allclose(sheet, blocks / blocks.max(), atol=1e-6)
