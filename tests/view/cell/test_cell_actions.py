"""What a cell has of the window's actions: each works, or is named as not there, with what to do instead."""

import pathlib
import re

import numpy as np
import pytest

from scalarviz.errors import UnknownNameError
from scalarviz.view.cell.asked import ALLOWED, NOT_HERE, OWN, keys_of, markdown
from scalarviz.view.watch.actions import ACTIONS

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "notebooks.md"


def test_each_action_is_done_by_python_or_by_the_browser_or_named_as_not_there():
    groups = ({*ALLOWED}, {*OWN}, {*NOT_HERE})
    assert sum(map(len, groups)) == len(set.union(*groups)) == len(ACTIONS)
    assert set.union(*groups) == {one.name for one in ACTIONS}
    assert {one["name"] for one in keys_of(())} == groups[0] | groups[1]


def test_the_docs_name_them():
    (table,) = re.findall(r"<!-- keys: [^\n]*-->\n(.*)\n?<!-- end of keys -->", DOCS.read_text("utf-8"), re.DOTALL)
    assert table.strip() == markdown().strip(), "docs/notebooks.md: put scalarviz.view.cell.asked.markdown() in"


def test_what_python_does_is_done_or_its_reason_is_said(cell, watch, scene):
    """Every action of the table, after a step, with a cube selected: none raises, what it refuses it says."""
    shown = cell(scene)
    page = watch(shown)
    page.do("step", 3)
    page.wait(lambda p: p.step == 3)
    page.say(kind="select", index=3)

    def why(play, name):
        play.viewer.say("")
        return play.asked.take({"kind": "do", "name": name}), play.viewer.notice()

    quiet = []
    for name in ALLOWED:
        trouble, notice = shown.session.call(lambda play, name=name: why(play, name))
        shown.session.call(lambda play: play.viewer.worker.settle())
        assert trouble == "", name
        if not notice:
            quiet.append(name)
    assert not shown.session.error
    assert {"cooler", "warmer", "show_moment"}.isdisjoint(quiet)  # SGD keeps nothing, and no words are read here
    assert {"freeze", "toggle_sizes", "next_map", "hide_more", "undo"} <= set(quiet)


@pytest.mark.parametrize("name", sorted(set(NOT_HERE) | set(OWN)))
def test_what_is_not_there_is_refused_in_words(cell, scene, name):
    with pytest.raises(UnknownNameError, match=f"no action {name!r} in a cell"):
        cell(scene).act(name)


def test_what_the_optimiser_keeps_reaches_the_page(cell, watch, made):
    page = watch(cell(made("digits")))
    page.do("step", 2)
    page.wait(lambda p: p.step == 2)
    page.do("show_moment")
    page.wait(lambda p: "exp_avg" in p.frames[-1][0]["buffers"] and p.known["known"]["update"])
    said, arrays = page.frames[-1]
    sent = arrays[said["buffers"].index("exp_avg")]
    state = page.shown.session.call(lambda play: play.viewer.shown.state["exp_avg"])
    assert state.any()
    assert np.array_equal(sent[: len(state)], state.astype(np.float32))
    shows = page.known["showing"]["quantity"]
    assert (shows["name"], shows["words"], shows["scale"]) == ("exp_avg", "m (exp_avg)", "symlog")
    page.do("show_weights")
    page.wait(lambda p: p.known["quantity"] == "weight" and p.frames[-1][0]["buffers"] == ["weight"])


def test_maps_and_sizes_reach_the_page(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    page.do("toggle_sizes")
    page.do("hide_more")
    page.wait(lambda p: p.known["showing"]["sizing"] == {"byValue": True, "threshold": 0.01})
    assert page.known["head"]["about"] == "by colour and size, below 1 % hidden"
    page.do("next_map")
    page.wait(lambda p: p.known["showing"]["quantity"]["map"] == "grey")
    assert set(page.known["showing"]["map"]) == {"dark", "light"}
    for _ in range(3):
        page.do("next_map")
    page.wait(lambda p: p.known["showing"]["quantity"]["map"] == "weight" and p.known["showing"]["map"] is None)
