"""What a cell has of the window's actions: each works or is named as not there; all else that is sent does nothing."""

import pathlib
import re

import numpy as np
import pytest

from scalarviz.errors import UnknownNameError
from scalarviz.view.cell.asked import ALLOWED, NOT_HERE, OWN, keys_of, markdown
from scalarviz.view.watch.actions import ACTIONS

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "notebooks.md"


def test_each_action_is_done_by_python_or_by_the_browser_or_named_as_not_there_also_in_the_docs():
    assert sorted([*ALLOWED, *OWN, *NOT_HERE]) == sorted(one.name for one in ACTIONS)
    assert {one["name"] for one in keys_of(())} == {*ALLOWED, *OWN}
    (table,) = re.findall(r"<!-- keys: [^\n]*-->\n(.*)\n?<!-- end of keys -->", DOCS.read_text("utf-8"), re.DOTALL)
    assert table.strip() == markdown().strip(), "docs/notebooks.md: put scalarviz.view.cell.asked.markdown() in"


def test_what_python_does_is_done_or_its_reason_is_said(cell, watch, scene):
    """Every action of the table, after a step, with a cube selected: none raises, what it refuses it says."""
    page, quiet = watch(cell(scene)).stepped(3), set()
    page.say(kind="select", index=3)

    def why(play, name):
        play.viewer.say("")
        return play.asked.take({"kind": "do", "name": name}), play.viewer.notice()

    for name in ALLOWED:
        trouble, notice = page.ask(lambda play, name=name: why(play, name))
        page.settle()
        assert trouble == "", name
        quiet |= set() if notice else {name}
    assert not page.shown.session.error
    assert {"cooler", "warmer", "show_moment"}.isdisjoint(quiet)  # SGD keeps nothing, and no words are read here
    assert {"freeze", "toggle_sizes", "next_map", "hide_more", "undo"} <= quiet
    for name in (*NOT_HERE, *OWN):
        with pytest.raises(UnknownNameError, match=f"no action {name!r} in a cell"):
            page.shown.act(name)


NAN, INF = float("nan"), float("inf")
HOSTILE = {
    "do": [{}, {"name": 3}, *({"name": one} for one in ("__class__", "x" * 10**6, "close", "screenshot", "open")),
           *({"name": "step", "value": one} for one in ("1", -1, 1.5, True, [1])), {"name": "restart", "value": 2}],
    "select": [{"index": -1}, {"index": 12}, {"index": "0"}],
    "set": [{"index": 0}, {"index": 99, "value": 1.0}, {"index": True, "value": 1.0},
            *({"index": 0, "value": one} for one in ("1", None, NAN, INF, 10**400, {"a": 1}))],
    "go": [{"step": -3}, {"step": "3"}, {"step": 1, "near": "yes"}],
    "branch": [{"number": 4}, {"number": -1}, {}],
    "control": [{}, {"name": "no such"}, {"name": "learning rate"}, {"name": "learning rate", "held": 1},
                *({"name": "learning rate", "value": one} for one in ("0.1", NAN, -1.0)),
                *({"name": "optimiser", "value": one} for one in ("LBFGS", [["Adam"] * 1000], {"a": []})),
                {"name": "batch", "value": 3}, {"name": "pace", "value": 3.0}, {"name": "layer 1", "value": 10**9},
                {"name": "seed", "value": -1}],
    "eval": [{"code": "1"}],
    "look": [{}, {"theme": "red", "density": 1}, {"theme": ["dark"], "density": 1}, {"theme": "dark"},
             *({"theme": "dark", "density": one} for one in ("2", True, NAN, 10**400))],
    "panel": [{}, *({"name": "pictures", "what": "press", "at": [5, 5], "button": "left", **bad} for bad in (
        {"name": 3}, {"name": "no such"}, {"what": "fly"}, {"button": "middle"}, {"button": None},
        *({"at": one} for one in (None, [1], ["1", 2], [NAN, 1], [1e300, 1], [True, 1])), {"what": "key"},
        {"what": "release", "shift": "y"}, {"what": "key", "key": "x"}, {"what": "key", "key": ["7"]}))],
}  # fmt: skip
LATER = [{"kind": "branch", "number": 4}, {"kind": "control", "name": "seed", "value": -1}]
"""The run is asked for these, and it refuses."""


@pytest.mark.gl
def test_hostile_messages_do_nothing_but_say_why(cell, watch, scene):
    shown = cell(scene)
    page = watch(shown).stepped(2)
    values, log = scene.run.values.copy(), len(scene.run.log)
    page.say(kind="panel", name="pictures", what="press", at=[5, 5], button="left")
    told = [{"kind": kind, **said} for kind, some in HOSTILE.items() for said in some]
    for said in [None, [], "step", 7, {}, {"kind": None}, {"kind": ["do"]}, *told]:
        shown.hear(said)
        why = page.ask(lambda play, said=said: play.asked.take(said))
        assert (why and "Traceback" not in why) or said in LATER, said
        assert len(why) < 600
    page.settle()
    assert not shown.session.error
    assert (scene.run.steps, scene.run.lr, len(scene.run.log)) == (2, 0.5, log)
    assert np.array_equal(scene.run.values, values)
    page.wait(lambda p: p.known["notice"])


def test_a_flood_of_messages_is_forgotten_from_its_beginning_and_places_without_a_name_are_nobody(cell, watch, scene):
    shown = cell(scene)
    for place in (None, 3, "", "x" * 65, ["a"], {}):
        for kind in ("ready", "drawn", "gone"):
            shown.hear({"kind": kind, "place": place, "number": 1})
    assert shown.channel.places == 0
    assert not shown.session.alive
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    for _ in range(20_000):
        shown.session.put({"kind": "release"})
    page.stepped(1)  # the last 256 are done before it
