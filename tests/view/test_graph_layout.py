"""The picture of a graph: nodes never overlap, edges end at nodes and run under none, no text is cut."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.drawn import STEPS, typed
from kit.networks import NETWORKS
from scalarviz.view.graph.cards import ABOVE, AIR, BEHIND
from scalarviz.view.graph.figure import GraphFigure
from scalarviz.view.graph.layout import Layout
from scalarviz.view.ink.sketch import Box, meet, points_of
from scalarviz.view.ink.theme import get_theme

NAMES = ("", "", "", "x", "hidden", "a_rather_long_name_of_a_result", "ŷ", "0.weight[12][345]")
ODD = (0.0, -0.0, 1e-300, -3.2e-7, 0.005, -0.00499, 9.995, -99.95, 12345.678, -9.99e9, 1e300, math.inf, math.nan)
SEEDS = st.integers(0, 10**6)
NUMBERS = st.one_of(st.sampled_from(ODD), st.floats(-10, 10))


@st.composite
def graphs(draw: st.DrawFn) -> list[sv.Value]:
    """Results of a random graph whose nodes are taken any number of times."""
    numbers, steps = draw(st.lists(NUMBERS, min_size=11, max_size=11)), st.tuples(st.sampled_from(STEPS), SEEDS)
    leaves, names = numbers[:3], Random(draw(SEEDS))
    w = [sv.Weight(number, name=names.choice(NAMES)) for number in numbers[3:]]
    roots = typed(draw(st.lists(steps, max_size=30)), [sv.Value(v, names.choice(NAMES)) for v in leaves], w)
    roots = roots[: draw(st.integers(1, 3))]
    stack, seen = list(roots), set[int]()
    while stack:
        node = stack.pop()
        if node.op and id(node) not in seen:
            seen.add(id(node))
            node.label, stack = names.choice(NAMES), [*stack, *node.parents]
    if draw(st.booleans()):
        roots[0].backward()
    return roots


def check_apart(frames: list[Box], width: float, height: float) -> None:
    """All are in the picture, and none lies on another one."""
    for k, (x, y, wide, high) in enumerate(frames):
        assert min(x, y) >= 0
        assert x + wide <= width
        assert y + high <= height
        assert not any(meet((x, y, wide, high), other, -0.01) for other in frames[:k])


def check(layout: Layout) -> None:
    """All that must hold of any layout."""
    frames = []
    for box in layout.boxes:
        wide, above = max(box.width, box.card.name_width), ABOVE if box.card.above else 0
        frames.append((box.x + box.width / 2 - wide / 2, box.y - above, wide, box.height + above))
    check_apart(frames, layout.width + 0.01, layout.height + 0.01)
    for edge in layout.edges:
        source, target = edge.source, edge.target
        start, end = edge.pieces[0][0], edge.pieces[-1][3]
        assert start == pytest.approx((source.x + source.width, source.y + source.height / 2), abs=1e-6)
        assert 0 < target.x - end[0] < 8  # the head fills the rest
        assert target.y + 3 < end[1] < target.y + target.height - 3
        for before, after in pairwise(edge.pieces):
            assert before[3] == after[0]
        points = np.concatenate([points_of(piece) for piece in edge.pieces])
        assert (np.diff(points[:, 0]) >= -1e-3).all()  # always on to the right
        for box, frame in zip(layout.boxes, frames, strict=True):
            if box is not source and box is not target:
                x, y, wide, high = frame
                inside = (points > (x + 0.5, y + 0.5)) & (points < (x + wide - 0.5, y + high - 0.5))
                assert not inside.all(axis=1).any()


def check_texts(layout: Layout, theme: str) -> None:
    """No text leaves its node, meets another one, or leaves the picture."""
    ink = GraphFigure(layout, get_theme(theme), "loss")
    texts = [part.texts for part in ink.parts]
    for box, letters in zip(layout.boxes, texts[2:], strict=False):
        for text in letters:
            if text.text != box.card.above:
                air = (AIR - 0.5, BEHIND + AIR - 0.5) if box.card.folded else (2, 2)
                assert text.left >= box.x + air[0]
                assert text.left + text.width <= box.x + box.width - air[1]
        assert not box.item.folded or len(letters) in (2, 3)  # name, class, how many
    check_apart([(t.left, t.y - 10, t.width, 13) for group in texts for t in group], ink.width, ink.height)


@settings(max_examples=80, deadline=None)
@given(graphs(), st.booleans(), st.sampled_from([None, 0, 4, 12]))
def test_random_graphs_are_drawn_whole(roots, chains, digits):
    layout = sv.draw(roots, chains=chains, digits=digits).layout()
    check(layout)
    check_texts(layout, "light" if chains else "dark")


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_drawn_whole_folded_or_not(name):
    net, sample = NETWORKS[name].ours(), NETWORKS[name].samples(1)[0].tolist()
    for unfold in ((), *sv.draw(net, sample).folds):
        layout = sv.draw(net, sample, unfold=unfold).layout()
        check(layout)
        check_texts(layout, "dark")


def test_names_of_any_width_leave_room_for_the_arrow_and_a_pointer_is_told_all_of_a_long_one():
    """A name that is a little wider than its node moves the node by less than the arrow's head is long."""
    for letters in range(1, 20):
        a = sv.Value(1.0, "a")
        b = a.tanh()
        b.label = "i" * letters
        c = (b + a).tanh()
        c.label = "wii" * letters
        check(sv.draw(c).layout())
    long, lines = sv.Value(2.0, label="layers.3.attention.query.weight[3][14]"), sv.Value(3.0, label="two\n\tlines")
    drawing = sv.draw(long * lines)
    boxes = {box.item.name: box for box in drawing.layout().boxes}
    box = boxes[long.label]
    assert (box.card.left, boxes[lines.label].card.left) == ("layers.3.att…weight[3][14]", "two lines")
    assert drawing.ink("dark").spot((box.x + 1, box.y + 1)).tip.startswith(long.label)


def test_the_end_of_a_long_chain_stands_beside_the_rest_of_it():
    """All results take the folded inputs, whose line runs along the chain: its last nodes stayed behind, high above."""
    z = sv.Value(0.5)
    for k in range(300):
        z = (z * 1.0001).sin() if k % 3 == 0 else z + 0.1
    boxes = sv.draw(z).layout().boxes
    earlier = next(box for box in boxes if box.item.name == "earlier")
    heights = [box.y for box in boxes if box.item.op]
    assert abs(heights[-2] - heights[-1]) < 30
    assert max(heights) - min(heights) < 6 * earlier.height
