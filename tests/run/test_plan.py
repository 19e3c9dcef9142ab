"""Plans of scenes: what they hold, and bad ones."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.run import Group, Placed, Plan, Room

FIRST, SECOND = Placed("0.weight", "first"), Placed("1.weight", "second", turned=True)


@pytest.fixture(scope="module")
def run():
    net = nn.Sequential(nn.Linear(3, 4, bias=False, seed=0), nn.Linear(4, 2, bias=False, seed=1))
    made = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.ones((2, 3)), np.ones((2, 2))),
                  engine="numpy")  # fmt: skip
    yield made
    made.close()


def test_a_scene_keeps_a_plan_of_its_network(run):
    plan = Plan((Group("all", ((FIRST,), Room("between", 30), (SECOND,))),), "the row")
    assert sv.Scene("s", run, plan=plan).plan is plan
    assert [placed.title for placed in plan.plates] == ["first", "second"]


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [(lambda: Placed(3, "a"), TypeMismatchError, "the tensor"),
     (lambda: Placed("a", None), TypeMismatchError, "the title"),
     (lambda: Placed("a", "a", turned="yes"), TypeMismatchError, "turned"),
     (lambda: Room("a", 0), InputError, "more than 0"),
     (lambda: Room("a", float("nan")), InputError, "more than 0"),
     (lambda: Room("a", 1e9), InputError, "at most 400"),
     (lambda: Room("a", True), TypeMismatchError, "number of pixels"),
     (lambda: Room("a", "wide"), TypeMismatchError, "number of pixels"),
     (lambda: Room(1, 2), TypeMismatchError, "the name"),
     (lambda: Group("a", ()), TypeMismatchError, "columns"),
     (lambda: Group("a", (Room("b", 3),)), TypeMismatchError, "columns"),
     (lambda: Group("a", ((),)), TypeMismatchError, "columns"),
     (lambda: Group("a", (FIRST,)), TypeMismatchError, "columns"),
     (lambda: Group("a", "0.weight"), TypeMismatchError, "columns"),
     (lambda: Group(None, ((FIRST,),)), TypeMismatchError, "the title"),
     (lambda: Plan(()), TypeMismatchError, "groups"),
     (lambda: Plan("all"), TypeMismatchError, "groups"),
     (lambda: Plan((Group("a", ((FIRST,),)),), 4), TypeMismatchError, "the stream"),
     (lambda: Plan((Group("a", ((FIRST, FIRST),)),)), InputError, "'0.weight' comes twice"),
     (lambda: Plan((Group("a", ((FIRST,), Room("r", 1), Room("r", 2))),)), InputError, "'r' comes twice")],
)  # fmt: skip
def test_bad_plans(make, kind, said):
    with pytest.raises(kind, match=said):
        make()


def test_plans_of_another_network(run):
    with pytest.raises(InputError, match=r"leaves out 1\.weight"):
        sv.Scene("s", run, plan=Plan((Group("a", ((FIRST,),)),)))
    other = Placed("2.weight", "third")
    with pytest.raises(UnknownNameError, match=r"no tensor '2\.weight'; allowed: 0\.weight, 1\.weight"):
        sv.Scene("s", run, plan=Plan((Group("a", ((FIRST, SECOND, other),)),)))
    with pytest.raises(TypeMismatchError, match="plan= is a Plan or None"):
        sv.Scene("s", run, plan="left to right")
    net = nn.Linear(2, 2, seed=0)
    made = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(2), np.eye(2)), engine="numpy")
    both = Plan((Group("a", ((Placed("weight", "w"),), (Placed("bias", "b"),))),))
    with pytest.raises(InputError, match="a plan places matrices"):
        sv.Scene("s", made, plan=both)
    made.close()
