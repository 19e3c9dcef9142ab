"""A huge graph is drawn as a large one is: what lies far below is one node before any record is made of it."""

import sys

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.view.graph import shown
from scalarviz.view.graph.shown import Shown, Wish


def chain(n: int) -> sv.Value:
    z = sv.Value(0.5)
    for k in range(n):
        z = (z * 0.999).tanh() if k % 2 else z * 1.01
    return z


def wide(n: int) -> sv.Value:
    z = sv.Value(0.25)
    for k in range(n):
        z = z + sv.Value(k / n)
    return z


def tangled(n: int, seed: int = 3) -> sv.Value:
    """Operands among the forty results before, and three weights and two numbers that all take."""
    rng = np.random.default_rng(seed)
    shared = [*(sv.Weight(0.1 * k, f"w{k}") for k in range(3)), sv.Value(0.5), sv.Value(-0.25)]
    pool = list(shared)
    for k in range(n):
        i, j = rng.integers(max(0, len(pool) - 40), len(pool), 2)
        other = shared[k % 5] if k % 7 == 0 else pool[j]
        pool.append((pool[i] * other).tanh() if k % 3 else pool[i] + other)
    return pool[-1]


def through_a_net(n: int) -> sv.Value:
    nn.init.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    (answer,) = net([chain(n), wide(n)])
    return tangled(n) + (answer - 1.0) ** 2


def picture(found: Shown) -> list[tuple[object, ...]]:
    """What each item says and takes."""
    place = {item: k for k, item in enumerate(found.items)}
    return [
        (item.name, item.title, item.node.op, item.node.name, item.folded or item.node.grad,
         sorted(place[operand] for operand in item.operands), item.weights if item.folded else 1)
        for item in found.items
    ]  # fmt: skip


@pytest.mark.parametrize("make", [chain, wide, tangled, through_a_net])
@pytest.mark.parametrize("unfold", [(), ("earlier",), ("earlier", "earlier 2")])
def test_the_picture_is_that_of_the_whole_graph(
    make: object, unfold: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    z = make(4000)  # type: ignore[operator]
    z.backward()
    monkeypatch.setattr(shown, "HUGE", sys.maxsize)
    whole = shown.shown_of([z], Wish(unfold=unfold, chains=True))
    monkeypatch.setattr(shown, "HUGE", 0)
    short = shown.shown_of([z], Wish(unfold=unfold, chains=True))
    assert short.count == whole.count  # nothing is forgotten
    assert len(short.nodes) < len(whole.nodes)  # and there was something far
    assert picture(short) == picture(whole)


def test_a_long_sum_is_a_picture_of_fifty_nodes() -> None:
    drawing = sv.draw(wide(25_000))
    assert drawing.shown().count > 25_000
    assert len(drawing.layout().boxes) < 60
    assert "earlier" in drawing.svg
