"""One table of what can be done: every viewer has what applies to it, and what does nothing says why."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.registry import OWN
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch import actions
from scalarviz.view.watch.actions import ACTIONS, GESTURES, Here, normalised
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror

X = np.random.default_rng(0).random((16, 3))
MODIFIERS = ["Shift", "ShiftLeft", "Control", "Alt", "AltGraph", "Meta", "CapsLock"]


def run():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")


def made(kind):
    if kind in ("live", "live without a colour cube"):
        return LiveView(Scene("t", run(), panels=() if "out" in kind else (ColourCube(X, 1 - X),)), (1280, 720),
                        playing=False)  # fmt: skip
    things = {"run": run, "weight": lambda: sv.Weight(1.0, name="w"), "arrays": lambda: {"a": np.eye(3)}}
    return Mirror(subject_of(things[kind]()), (1280, 720))


@pytest.fixture(params=["live", "live without a colour cube", "run", "weight", "arrays"])
def view(request):
    viewer = Unseen(lambda size: made(request.param)).view
    with offscreen():
        viewer.tick(0.0)
        yield viewer
        viewer.close()


@pytest.fixture
def live():
    viewer = Unseen(lambda size: made("live")).view
    with offscreen():
        viewer.tick(0.0)
        yield viewer
        viewer.close()


@pytest.fixture
def arrays():
    viewer = Unseen(lambda size: made("arrays")).view
    with offscreen():
        viewer.tick(0.0)
        yield viewer
        viewer.close()


# ---- the table


def test_no_name_and_no_key_stands_twice():
    names = [action.name for action in ACTIONS]
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(names) == len(set(names))
    assert len(keys) == len(set(keys))


def test_every_line_says_what_it_does_and_of_what_kind():
    kinds = {"view", "time", "edit", "file", "host"}
    assert {action.kind for action in ACTIONS} == kinds
    assert {gesture.kind for gesture in GESTURES} <= kinds
    for line in (*ACTIONS, *GESTURES):
        assert line.does == line.does.strip() != ""
        assert len(line.does) < 56


def test_every_key_of_the_table_is_found():
    for action in ACTIONS:
        for key in action.keys:
            *held, plain = key.split("+")
            assert actions.find(normalised(plain, ctrl="Ctrl" in held, shift="Shift" in held)) is action
    assert actions.find("F8") is None


def test_the_markdown_has_every_line():
    rows = re.findall(r"^\| (.+) \| (.+) \|$", actions.markdown(), re.M)
    said = [does for _, does in rows if does != "does"]
    panels = [does for drawer in OWN.values() for _, does in (*drawer.gestures, *drawer.choices, *drawer.lessons)]
    rooms = [does for room in (actions.WALL, actions.TOUR, actions.RUNS) for does in (one.does for one in room)]
    assert said == [*(line.does for line in (*ACTIONS, *GESTURES)), *panels, *rooms]
    assert "a colour of the cube, then its new target: teach it" in panels


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


# ---- viewers


@pytest.mark.gl
def test_a_viewer_can_do_what_applies_to_it_and_nothing_without_a_name(view):
    applying = {action.name for action in ACTIONS if action.applies(view.here(in_general=True))}
    assert applying <= set(view.handlers) <= set(actions.BY_NAME)


@pytest.mark.gl
def test_every_action_is_done_or_says_in_one_short_line_why_not(view):
    for action in ACTIONS:
        if action.name == "close":
            continue
        view.say("")
        done = view.send(action.name)
        reason = action.missing(view.here())
        assert done == (not reason)
        if reason:
            assert view.notice() == f"{action.keys[0]}: {reason}"
            assert len(view.notice()) < 60


@pytest.mark.gl
def test_lists_hold_what_applies_and_no_more(view):
    here = view.here(in_general=True)
    listed = [does for _, does in view.bench.touch.table]
    for line in (*ACTIONS, *GESTURES):
        assert (line.does in listed) == line.applies(here), line
    lines = [
        does
        for drawer in view.bench.side.drawers.values()
        for _, does in (*drawer.gestures, *drawer.choices, *drawer.lessons)
    ]
    assert set(lines) <= set(listed)
    assert [words for _, words in actions.bottom_line(here)] == [
        a.words for a in ACTIONS if a.words and a.applies(here)
    ]


@pytest.mark.gl
def test_what_trains_nowhere_has_no_time_and_no_learning_rate(arrays):
    for action in ACTIONS:
        if action.kind in ("time", "edit"):
            assert not action.applies(arrays.here())
    assert arrays.key("space", " ")
    assert arrays.notice() == "Space: this window only shows, it does not train"
    assert arrays.key("g")
    assert arrays.notice() == "G: plain numbers have no gradient"
    assert arrays.bench.colouring.quantity == "weight"


@pytest.mark.gl
def test_a_gradient_that_is_not_there_yet_is_said_and_shown_when_it_comes(live):
    assert live.key("g")
    assert live.notice() == "G: no gradient yet: take a step"
    assert live.bench.colouring.quantity == "gradient"
    live.send("step")
    live.worker.settle()
    live.tick(0.1)
    live.say("")
    assert live.send("show_gradients")
    assert live.notice() == ""


@pytest.mark.gl
def test_a_notice_goes_after_a_while(live):
    live.say("news")
    live.tick(3.9)
    assert live.notice() == "news"
    live.tick(0.2)
    assert live.notice() == ""


@pytest.mark.gl
@pytest.mark.parametrize(("name", "ctrl", "said"), [("F8", False, "F8"), ("d", True, "Ctrl+D")])
def test_a_key_that_means_nothing_says_so(live, name, ctrl, said):
    assert not live.key(name, ctrl=ctrl)
    assert live.notice() == f"{said} does nothing here; ? shows the keys"


@pytest.mark.gl
@pytest.mark.parametrize("name", MODIFIERS)
def test_a_modifier_alone_says_nothing(live, name):
    assert not live.key(name)
    assert live.notice() == ""


@pytest.mark.gl
def test_a_value_is_sent_and_checked(live):
    live.send("step", 3)
    assert live.worker.settle().step == 3
    live.send("step")
    assert live.worker.settle().step == 4
    live.key("Right", shift=True)
    assert live.worker.settle().step == 14
    for value in (0, -1, 10**9 + 1):
        with pytest.raises(InputError, match=r"step: got .*allowed: 1 to 1,000,000,000"):
            live.send("step", value)
    for value in (1.5, "3", True, np.ones(3)):
        with pytest.raises(TypeMismatchError, match=r"step: got .*a whole number"):
            live.send("step", value)
    with pytest.raises(InputError, match="fit: got 1; allowed: no value"):
        live.send("fit", 1)
    assert live.worker.settle().step == 14


@pytest.mark.gl
@pytest.mark.parametrize("name", ["", "Space", "close_", "__init__", "tick", None, [], 3])
def test_only_names_of_the_table_are_done(live, name):
    with pytest.raises(UnknownNameError, match=r"no action .*there are .*toggle_run"):
        live.send(name)


# ---- Escape


@pytest.mark.gl
def test_escape_closes_one_thing_after_the_other_and_the_window_by_two_presses(live):
    live.send("toggle_help")
    live.bench.select(2)
    cube = live.bench.side.drawer(ColourCube)
    cube.marked = (1.0, 0.0, 0.0)
    live.send("escape")
    assert not live.bench.help
    assert live.bench.selected == 2
    live.send("escape")
    assert live.bench.selected is cube.marked is None
    assert not live.host.closed
    live.send("escape")
    assert live.notice() == "Escape again closes the window"
    live.tick(1.9)
    live.send("escape")
    assert live.host.closed


@pytest.mark.gl
@pytest.mark.parametrize("between", ["time", "a key"])
def test_two_presses_apart_do_not_close_the_window(live, between):
    live.send("escape")
    if between == "time":
        live.tick(2.1)
    else:
        live.key("g")
    live.send("escape")
    assert not live.host.closed
    assert live.notice() == "Escape again closes the window"


@pytest.mark.gl
def test_ctrl_q_closes_at_once_and_q_does_not(live):
    live.key("q", "q")
    assert not live.host.closed
    live.key("q", "\x11", ctrl=True)
    assert live.host.closed


@pytest.mark.gl
@pytest.mark.parametrize("key", [action.keys[0] for action in ACTIONS if len(action.keys[0]) == 1
                                 and actions.find(f"Ctrl+{action.keys[0]}") is None])  # fmt: skip
def test_ctrl_with_another_key_is_not_that_key(live, key):
    before = live.bench.colouring.quantity, live.bench.cmap_name, live.bench.theme, live.bench.help
    assert not live.key(key.lower(), ctrl=True)
    assert before == (live.bench.colouring.quantity, live.bench.cmap_name, live.bench.theme, live.bench.help)


def test_what_applies_is_said_of_a_subject_alone():
    here = Here(subject_of({"a": np.eye(3)}), trains=False)
    assert [a.name for a in ACTIONS if a.kind == "time" and a.applies(here)] == []
    assert actions.action_of("fit").applies(here)
