"""What anybody could send to a cell: it does nothing but say why."""

import numpy as np
import pytest

NAN, INF = float("nan"), float("inf")
HOSTILE = [
    None, [], "step", 7, {}, {"kind": None}, {"kind": ["do"]}, {"kind": "eval", "code": "1"},
    {"kind": "do"}, {"kind": "do", "name": 3}, {"kind": "do", "name": "__class__"}, {"kind": "do", "name": "x" * 10**6},
    {"kind": "do", "name": "close"}, {"kind": "do", "name": "screenshot"}, {"kind": "do", "name": "open"},
    {"kind": "do", "name": "step", "value": "1"}, {"kind": "do", "name": "step", "value": -1},
    {"kind": "do", "name": "step", "value": 1.5}, {"kind": "do", "name": "step", "value": True},
    {"kind": "do", "name": "restart", "value": 2}, {"kind": "do", "name": "step", "value": [1]},
    {"kind": "select", "index": -1}, {"kind": "select", "index": 12}, {"kind": "select", "index": "0"},
    {"kind": "set", "index": 0}, {"kind": "set", "index": 0, "value": "1"}, {"kind": "set", "index": 0, "value": None},
    {"kind": "set", "index": 99, "value": 1.0}, {"kind": "set", "index": 0, "value": NAN},
    {"kind": "set", "index": 0, "value": INF}, {"kind": "set", "index": 0, "value": 10**400},
    {"kind": "set", "index": True, "value": 1.0}, {"kind": "set", "index": 0, "value": {"a": 1}},
    {"kind": "go", "step": -3}, {"kind": "go", "step": "3"}, {"kind": "go", "step": 1, "near": "yes"},
    {"kind": "branch", "number": 4}, {"kind": "branch", "number": -1}, {"kind": "branch"},
    {"kind": "control"}, {"kind": "control", "name": "no such"}, {"kind": "control", "name": "learning rate"},
    {"kind": "control", "name": "learning rate", "value": "0.1"},
    {"kind": "control", "name": "learning rate", "value": NAN},
    {"kind": "control", "name": "learning rate", "value": -1.0},
    {"kind": "control", "name": "batch", "value": 3}, {"kind": "control", "name": "optimiser", "value": "LBFGS"},
    {"kind": "control", "name": "optimiser", "value": [["Adam"] * 1000]},
    {"kind": "control", "name": "optimiser", "value": {"a": []}},
    {"kind": "control", "name": "pace", "value": 3.0}, {"kind": "control", "name": "learning rate", "held": 1},
    {"kind": "control", "name": "layer 1", "value": 10**9}, {"kind": "control", "name": "seed", "value": -1},
]  # fmt: skip
LATER = [{"kind": "branch", "number": 4}, {"kind": "control", "name": "seed", "value": -1}]
"""The run is asked for these, and it refuses."""


def test_hostile_messages_do_nothing_but_say_why(cell, watch, scene):
    shown = cell(scene)
    page = watch(shown)
    page.do("step", 2)
    page.wait(lambda p: p.step == 2)
    values, log = scene.run.values.copy(), len(scene.run.log)
    for said in HOSTILE:
        shown.hear(said)
        why = shown.session.call(lambda play, said=said: play.asked.take(said))
        assert (why and "Traceback" not in why) or said in LATER, said
        assert len(why) < 600
    shown.session.call(lambda play: play.viewer.worker.settle())
    assert not shown.session.error
    assert (scene.run.steps, scene.run.lr, len(scene.run.log)) == (2, 0.5, log)
    assert np.array_equal(scene.run.values, values)
    page.wait(lambda p: p.known["notice"])


def test_a_flood_of_messages_is_forgotten_from_its_beginning(cell, watch, scene):
    shown = cell(scene)
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    for k in range(20_000):
        shown.session.put({"kind": "select", "index": k % 12})
    page.do("step")
    page.wait(lambda p: p.step == 1, seconds=120)  # the last 256 of them are done before it, each lays out anew


@pytest.mark.parametrize("place", [None, 3, "", "x" * 65, ["a"], {}])
def test_places_without_a_name_are_nobody(cell, scene, place):
    shown = cell(scene)
    for kind in ("ready", "drawn", "gone"):
        shown.hear({"kind": kind, "place": place, "number": 1})
    assert shown.channel.places == 0
    assert not shown.session.alive
