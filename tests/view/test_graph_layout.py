"""The picture of a graph: nodes never overlap, edges end at nodes and run under none, no text is cut."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn
from scalarviz.view.graph.cards import ABOVE, AIR, BEHIND, said_of
from scalarviz.view.graph.figure import ink_of
from scalarviz.view.graph.layout import Layout, columns_of
from scalarviz.view.ink.sketch import TextItem, points_of
from scalarviz.view.ink.theme import get_theme

UNARY = ("tanh", "exp", "sin", "relu", "sigmoid", "square", "neg", "abs", "softplus")
BINARY = ("add", "sub", "mul", "div", "pow", "maximum")
NAMES = ("", "", "", "x", "hidden", "a_rather_long_name_of_a_result", "ŷ", "0.weight[12][345]")
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1e-300, -3.2e-7, 0.005, -0.00499, 9.995, -99.95, 12345.678, -9.99e9, 1e300,
                     math.inf, -math.inf, math.nan]),
    st.floats(-10, 10),
)  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> list[sv.Value]:
    """Results of a random graph whose nodes are taken any number of times."""
    made: list[sv.Value] = []
    for _ in range(draw(st.integers(1, 8))):
        number, name = draw(NUMBERS), draw(st.sampled_from(NAMES))
        made.append(sv.Weight(number, name=name) if draw(st.booleans()) else sv.Value(number, name))
    for _ in range(draw(st.integers(0, 30))):
        kind = draw(st.integers(0, 9))
        some = [made[draw(st.integers(0, len(made) - 1))] for _ in range(8)]
        if kind < 3:
            node = getattr(some[0], draw(st.sampled_from(UNARY)))()
        elif kind < 8:
            node = getattr(sv, draw(st.sampled_from(BINARY)))(some[0], some[1])
        elif kind == 8:
            node = sv.where(some[0] > some[1], some[2], some[3])
        else:
            node = sv.dot(some[:3], some[3:6], some[6])
        node.label = draw(st.sampled_from(NAMES))
        made.append(node)
    roots = made[-draw(st.integers(1, 3)) :]
    if draw(st.booleans()):
        roots[-1].backward()
    return roots


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] - 0.01 and b[0] < a[2] - 0.01 and a[1] < b[3] - 0.01 and b[1] < a[3] - 0.01


def check(layout: Layout) -> None:
    """All that must hold of any layout."""
    frames = []
    for box in layout.boxes:
        wide = max(box.width, box.card.name_width)
        left = box.x + box.width / 2 - wide / 2
        frames.append((left, box.y - (ABOVE if box.card.above else 0), left + wide, box.y + box.height))
    for k, frame in enumerate(frames):
        assert frame[0] >= 0
        assert frame[1] >= 0
        assert frame[2] <= layout.width + 0.01
        assert frame[3] <= layout.height + 0.01
        for other in frames[:k]:
            assert not overlap(frame, other)
    for edge in layout.edges:
        source, target = edge.source, edge.target
        start, end = edge.pieces[0][0], edge.pieces[-1][3]
        assert start == (source.x + source.width, source.y + source.height / 2) or (
            start[0] == source.x + source.width and abs(start[1] - source.y - source.height / 2) < 1e-6
        )
        assert 0 < target.x - end[0] < 8  # the head fills the rest
        assert target.y + 3 < end[1] < target.y + target.height - 3
        for before, after in pairwise(edge.pieces):
            assert before[3] == after[0]
        points = np.concatenate([points_of(piece) for piece in edge.pieces])
        assert (np.diff(points[:, 0]) >= -1e-3).all()  # always on to the right
        for box, frame in zip(layout.boxes, frames, strict=True):
            if box is not source and box is not target:
                inside = (points[:, 0] > frame[0] + 0.5) & (points[:, 0] < frame[2] - 0.5)
                inside &= (points[:, 1] > frame[1] + 0.5) & (points[:, 1] < frame[3] - 0.5)
                assert not inside.any()


def check_texts(layout: Layout, theme: str) -> None:
    """No text leaves its node, meets another one, or leaves the picture."""
    ink = ink_of(layout, get_theme(theme), "loss")
    texts = [part.texts for part in ink.parts]
    for box, letters in zip(layout.boxes, texts[2:], strict=False):
        for text in letters:
            if text.text != box.card.above:
                assert text.left >= box.x + 2
                assert text.left + text.width <= box.x + box.width - 2
    frames = [(t.left, t.y - 10, t.left + t.width, t.y + 3) for group in texts for t in group]
    for k, frame in enumerate(frames):
        assert frame[0] >= 0
        assert frame[1] >= 0
        assert frame[2] <= ink.width
        assert frame[3] <= ink.height
        for other in frames[:k]:
            assert not overlap(frame, other)


@settings(max_examples=80, deadline=None)
@given(graphs(), st.booleans(), st.sampled_from(["dark", "light"]))
def test_random_graphs_are_drawn_whole(roots, chains, theme):
    layout = sv.draw(roots, chains=chains).layout()
    check(layout)
    check_texts(layout, theme)


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_columns_are_the_longest_way_from_a_leaf(roots):
    items = sv.draw(roots, chains=True).shown().items
    column = columns_of(items)
    users = {item: [other for other in items if item in other.operands] for item in items}
    for item in items:
        if item.operands:
            assert column[item] == 1 + max(column[o] if o.operands else 0 for o in item.operands)
            assert all(column[o] < column[item] for o in item.operands)
        elif users[item]:
            assert column[item] == min(column[user] for user in users[item]) - 1


@pytest.mark.parametrize("sizes", [(2, 4, 1), (3, 16, 16, 3), (40, 8, 2)])
def test_networks_are_drawn_whole_folded_or_not(sizes):
    layers = [m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.Tanh())]
    net = nn.Sequential(*layers)
    picture = sv.draw(net, [0.1] * sizes[0])
    check(picture.layout())
    for name in picture.folds:
        layout = sv.draw(net, [0.1] * sizes[0], unfold=name).layout()
        check(layout)
        check_texts(layout, "dark")


@pytest.mark.parametrize("letters", range(1, 20))
def test_names_of_any_width_leave_room_for_the_arrow(letters):
    """A name that is a little wider than its node moves the node by less than the arrow's head is long."""
    a = sv.Value(1.0, "a")
    b = a.tanh()
    b.label = "i" * letters
    c = (b + a).tanh()
    c.label = "wii" * letters
    check(sv.draw(c).layout())


def test_a_long_name_keeps_its_beginning_and_its_end_and_a_pointer_is_told_all_of_it():
    long = sv.Value(2.0, label="layers.3.attention.query.weight[3][14]")
    lines = sv.Value(3.0, label="two\n\tlines")
    layout = sv.draw(long * lines).layout()
    cards = {box.item.node.name: box for box in layout.boxes}
    box = cards[long.label]
    assert box.card.left == "layers.3.att…weight[3][14]"
    assert box.width < 300
    assert said_of(box.item).startswith(long.label)
    assert cards[lines.label].card.left == "two lines"


def test_what_is_written_on_a_fold_keeps_off_its_frame():
    nn.init.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    drawing = sv.draw(net, [2.0, 3.0, -1.0])
    layout = drawing.layout()
    ink = ink_of(layout, get_theme("light"), "")
    words = [shape for shape in ink if isinstance(shape, TextItem)]
    for box in (box for box in layout.boxes if box.item.folded):
        mine = [w for w in words if box.x <= w.left <= box.x + box.width and box.y < w.y < box.y + box.height]
        assert len(mine) == 3  # name, class, how many
        assert all(w.left >= box.x + AIR - 0.5 for w in mine)
        assert all(w.left + w.width <= box.x + box.width - BEHIND - AIR + 0.5 for w in mine)


def test_the_end_of_a_long_chain_stands_beside_the_rest_of_it():
    """All results take the folded inputs, whose line runs along the chain: its last nodes stayed behind, high above."""
    z = sv.Value(0.5)
    for k in range(300):
        z = (z * 1.0001).sin() if k % 3 == 0 else z + 0.1
    *_, before, last = (box for box in sv.draw(z).layout().boxes if not box.item.node.leaf)
    earlier = next(box for box in sv.draw(z).layout().boxes if box.item.name == "earlier")
    assert abs(before.y - last.y) < 30
    heights = [box.y for box in sv.draw(z).layout().boxes if box.item.node.op]
    assert max(heights) - min(heights) < 6 * earlier.height
