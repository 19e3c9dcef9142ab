"""`sv.draw`: what is drawn against the objects themselves, where it stands, its files, and what is refused."""

from __future__ import annotations

import copy
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import scalarviz as sv
from kit.drawn import STEPS, typed
from kit.networks import NETWORKS
from scalarviz import nn
from scalarviz.view.graph.figure import GraphFigure
from scalarviz.view.graph.layout import ABOVE, AIR, BEHIND, Layout, constant_text, figure_of
from scalarviz.view.ink.figure import svg_of
from scalarviz.view.ink.sketch import Box, meet, points_of
from scalarviz.view.ink.text import ADVANCES, asked_advance
from scalarviz.view.ink.theme import get_theme

SVG = "{http://www.w3.org/2000/svg}"


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


def texts(picture) -> list[str]:
    """All texts of the picture, minus signs as Python writes them."""
    root = ET.fromstring(picture.svg)
    return [(node.text or "").replace("\N{MINUS SIGN}", "-") for node in root.iter(f"{SVG}text")]


def boxes_of(picture):
    return picture.layout().boxes


def nodes_of(picture):
    """Nodes by their names."""
    return {box.item.name: box.item for box in boxes_of(picture)}


def xor_loss() -> sv.Value:
    """Two inputs, two hidden units and one output, of Values."""
    x = [sv.Value(1.0, "x1"), sv.Value(0.0, "x2")]
    w = [sv.Weight(v, name=f"w{k}") for k, v in enumerate([2.02, -2.07, -1.91, 1.87, 2.19, 2.22])]
    b = [sv.Weight(v, name=f"b{k}") for k, v in enumerate([-1.03, -0.94, 1.89])]
    h = [(w[2 * k] * x[0] + w[2 * k + 1] * x[1] + b[k]).tanh() for k in range(2)]
    return ((w[4] * h[0] + w[5] * h[1] + b[2]).tanh() - 1) ** 2


def graph_of(roots: list[sv.Value]) -> tuple[Counter, Counter]:
    """Nodes and edges of the objects, by a walk of its own; an exponent is part of its power's sign."""
    nodes, edges, stack = Counter({id(root) for root in roots}), Counter(), [*{id(r): r for r in roots}.values()]
    while stack:
        value = stack.pop()
        for parent in value.parents[: 1 if value.op == "pow" else None]:
            edges[id(parent), id(value)] += 1
            stack += [] if id(parent) in nodes else [parent]
            nodes[id(parent)] = 1
    return nodes, edges


def test_values_and_gradients_are_those_of_the_objects_in_the_moment_in_which_it_is_asked():
    root = xor_loss()
    root.label = "z"
    picture = sv.draw(root)
    assert "no gradient yet" in texts(picture)
    root.backward()
    assert "gradient of z" in texts(picture)
    nodes_of(picture)["w0"].of.data = 3.25
    assert "+3.25" in texts(picture)
    for box in boxes_of(picture):
        value = box.item.of
        assert box.item.value == value.data
        if value.op or isinstance(value, sv.Weight) or value.label:
            assert box.item.grad == value.grad
            assert (box.card.gradient, box.card.value) == (figure_of(value.grad), figure_of(value.data))


def test_a_sum_of_sums_is_one_node_and_a_constant_exponent_a_sign_unless_asked_for_named_or_shared():
    a, b, c, d = (sv.Value(float(k), name) for k, name in enumerate("abcd", 1))
    shared, named = a + b, a + b
    named.label = "ab"
    for z, more, count in ((a + b + c + d, {}, 1), (a + b + c + d, {"chains": True}, 3), (named + c, {}, 2),
                           ((shared + c) * shared, {}, 2), (shared + shared, {}, 2)):  # fmt: skip
        assert texts(sv.draw(z, **more)).count("+") == count
    for z, signs in ((a**2, {"²"}), (a**-0.5, {"**-0.5"}), (2.0**a, {"pow"}), (a**b, {"pow", "b"})):
        assert signs <= set(texts(sv.draw(z)))


def test_gradients_that_nobody_computed_have_no_number():
    a, w = sv.Value(2.0, "a"), sv.Weight(3.0, name="w")
    dead = (a * 0.0) * w
    dead.backward()
    assert nodes_of(sv.draw(dead))["a"].grad == 0.0  # computed, and 0
    w.zero_grad()
    assert nodes_of(sv.draw(dead))["w"].grad is None
    condition, other = sv.Value(1.0, "c"), sv.Value(5.0, "o")
    chosen = sv.where(condition > 0, w, other)
    chosen.backward()
    nodes = nodes_of(sv.draw(chosen))
    assert (nodes["c"].grad, nodes["o"].grad) == (None, 0.0)  # nothing flows to a condition


def test_variables_give_names_to_objects_where_there_are_none():
    first, second = sv.Value(1.0), sv.Value(2.0, "mine")
    parts = [first * second, first + second]
    result = parts[0] * parts[1]
    assert {"first", "mine", "parts[0]", "parts[1]", "result"} <= set(texts(sv.draw(result)))
    rows = sv.nn.Linear(2, 1, seed=0)([[1.0, 2.0], [3.0, 4.0]])
    assert {"rows[0][0]", "rows[1][0]"} <= set(texts(sv.draw(rows)))
    assert {"x1", "x2"} <= set(texts(sv.draw(lambda x: (x * x).sum(), [1.0, 2.0])))
    # a function makes other Values at each call, which may stand where a named one stood before
    kept = sv.Weight(2.0)
    gone = [sv.Value(float(k)) for k in range(64)]
    picture = sv.draw(lambda x: (x * kept).tanh() + 1.0, 3.0)
    del gone
    assert "kept" in texts(picture)
    assert not any(text.startswith("gone") for text in texts(picture))


def test_a_network_is_asked_as_for_a_prediction_and_is_as_before():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Tanh(), nn.Linear(2, 1))
    net[1].eval()
    inner = net([0.25, -0.5])

    def state():
        return [(id(m._books.inputs), id(m._books.outputs), m.training) for m in net.modules()]

    before, weights = state(), copy.deepcopy(net.state_dict())
    assert {"x1", "x2", "0.weight[0][0]", "+1.00"} <= set(texts(sv.draw(net, [1.0, 0.0])))
    assert state() == before
    assert all((net.state_dict()[name] == weights[name]).all() for name in weights)
    assert boxes_of(sv.draw(net))[-1].item.of is inner[0]  # without inputs: its last call
    net = nn.Network(2, 2, activation=nn.Sigmoid())
    neuron = net.perceptrons[1]
    value = figure_of(neuron([0.5, 1.0]).data).replace("\N{MINUS SIGN}", "-")
    assert {"sigmoid", "0.weight[1][0]", "0.bias[1]", "x1", value} <= set(texts(sv.draw(neuron, [0.5, 1.0])))
    assert "sin" in texts(sv.draw(lambda x: (x * 2).sin(), 1.0))


def test_large_graphs_fold_by_module_and_unfold_by_name():
    net, sample = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3)), [0.1, 0.2, 0.3]
    picture = sv.draw(net, sample)
    assert {"0", "1", "2", "Linear", "Tanh", "64 weights"} <= set(texts(picture))
    assert len(boxes_of(picture)) == 6
    for names in ("1", ["1"], {"1"}, (name for name in "1"), np.array(["1"])):
        assert texts(sv.draw(net, sample, unfold=names)).count("tanh") == 16
    loss = nn.MSELoss()(net(sample), [0.0, 0.0, 0.0])
    assert {"0", "Linear", "²"} <= set(texts(sv.draw(loss)))  # whose weights they are, the objects know
    assert len(boxes_of(sv.draw(loss, unfold=True))) > 100


# ---- a huge graph: what lies far below is one node before any record is made of it


def wide(n: int) -> sv.Value:
    z = sv.Value(0.25)
    for k in range(n):
        z = z + sv.Value(k / n)
    return z


def tangled(n: int) -> sv.Value:
    """Operands among the forty results before, three weights and two numbers that all take."""
    rng = np.random.default_rng(3)
    shared = [*(sv.Weight(0.1 * k, f"w{k}") for k in range(3)), sv.Value(0.5), sv.Value(-0.25)]
    pool = list(shared)
    for k in range(n):
        i, j = rng.integers(max(0, len(pool) - 40), len(pool), 2)
        other = shared[k % 5] if k % 7 == 0 else pool[j]
        pool.append((pool[i] * other).tanh() if k % 3 else pool[i] + other)
    return pool[-1]


@pytest.mark.parametrize(("make", "nodes"), [(wide, 25_000), (tangled, 4000)])
def test_in_the_picture_of_a_huge_graph_no_node_is_forgotten_and_none_drawn_twice(make, nodes):
    z = make(nodes)
    z.backward()
    for unfold in ((), "earlier", ["earlier", "earlier 2"]):
        found = sv.draw(z, unfold=unfold, chains=True).shown()
        held = [id(of) for item in found.items for of in item.held]
        assert len(held) == len(set(held)) == len(found.objects) > nodes / 2
        deeper = 1 if isinstance(unfold, str) else len(unfold)
        assert 48 * (1 + deeper) < len(found.items) < 170 * (1 + deeper)
        assert next(item for item in found.items if item.name.startswith("earlier")).grad is not None
        for k, item in enumerate(found.items):
            assert not set(item.operands) - set(found.items[:k])


class Tower(nn.Module):
    """Two layers over some letters, with products that no module made between them."""

    def __init__(self):
        self.table, self.hidden, self.out = nn.Embedding(5, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, letters):
        read = [[number * 0.5 for number in self.table(letter)] for letter in letters]
        return [number for x in read for number in self.out([h * h for h in self.hidden(x)])]


def test_a_folded_graph_fits_a_window_and_says_what_each_fold_holds():
    letters = [0, 1, 2, 3, 4, 0, 1]
    picture = sv.draw(Tower(), letters)
    cards = {box.card.left: (box.card.value, box.card.gradient) for box in boxes_of(picture)}
    assert list(cards) == ["table", "after table", "hidden", "after hidden", "out"]
    assert (cards["hidden"], cards["after hidden"]) == (("Linear", "72 weights"), ("×", "56 nodes"))
    assert picture.layout().width < 1280
    assert sum(not box.item.folded for box in boxes_of(sv.draw(Tower(), letters, unfold="after hidden"))) == 56
    deep = nn.Sequential(*(part for _ in range(150) for part in (nn.Linear(4, 4), nn.Tanh())))
    cards = {box.card.left: box.card.value for box in boxes_of(sv.draw(deep, [0.1] * 4))}
    assert (len(cards) < 60, cards["earlier"]) == (True, "0 … 251")


# ---- numbers


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.one_of(st.none(), st.integers(0, 12)))
def test_a_number_is_the_nearest_of_those_that_can_be_written_so(value, digits):
    said = figure_of(value, digits).replace("\N{MINUS SIGN}", "-")
    assert (said == "0") == (value == 0)
    mantissa, e, power = said.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if digits is None:
        assert len(said) <= 8
        assert bool(e) == (value != 0 and not 0.005 < abs(value) < 9999.5)
    elif not e and value:
        assert decimals == digits
    assert float(mantissa) != 0 or value == 0
    place = (int(power) if e else 0) - decimals  # of its last digit
    assert abs(Decimal(said) - Decimal(value)) <= Decimal("0.5") * Decimal(10) ** place


def test_four_decimals_are_those_of_micrograds_drawing():
    """The neuron of its lecture, as `draw_dot` writes it: ``data %.4f | grad %.4f``."""
    x1, x2, w1, w2 = (sv.Value(v, label=n) for v, n in ((2.0, "x1"), (0.0, "x2"), (-3.0, "w1"), (1.0, "w2")))
    n = x1 * w1 + x2 * w2 + sv.Value(6.8813735870195432, label="b")
    e = (2 * n).exp()
    o = (e - 1) / (e + 1)
    o.backward()
    said = {text.lstrip("+") for text in texts(sv.draw(o, digits=4, chains=True))}
    wanted = "0.7071 6.8814 0.8814 5.8284 -6.0000 -1.5000 1.0000 0.5000 0.0429 -0.1036"
    assert said >= set(wanted.split())
    assert [figure_of(v) for v in (math.nan, math.inf, -math.inf)] == ["NaN", "+∞", "\N{MINUS SIGN}∞"]
    assert [constant_text(v) for v in (1.0, 0.5, 1e-8, 1e20)] == ["1", "0.5", "1e\N{MINUS SIGN}8", "1e20"]


@pytest.mark.parametrize("bold", [False, True])
def test_widths_of_letters_are_the_fonts_own(bold):
    assert {letter: asked_advance(letter, bold) for letter in ADVANCES[bold]} == ADVANCES[bold]


# ---- files and notebooks

PAINT = """
import sys
from PySide6.QtCore import QByteArray
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
app = QGuiApplication([])
drawing = QSvgRenderer(QByteArray(open(sys.argv[1], "rb").read()))
image = QImage(drawing.defaultSize() * 2, QImage.Format.Format_RGB888)
image.fill(0)
painter = QPainter(image)
drawing.render(painter)
painter.end()
image.save(sys.argv[2])
"""


def test_svg_and_png_are_the_same_drawing_and_are_written_whole(tmp_path):
    """Qt paints the SVG, we the PNG; without the letters, which Qt takes from another font."""
    pytest.importorskip("PySide6.QtSvg")
    loss = xor_loss()
    loss.backward()
    picture = sv.draw(loss, theme="light")
    assert picture.save(tmp_path / "graph.svg").read_text(encoding="utf-8") == picture.svg
    size = ET.fromstring(picture.svg)
    with Image.open(picture.save(tmp_path / "graph.png")) as image:
        assert image.size == (2 * int(size.get("width")), 2 * int(size.get("height")))
    ink = picture.ink("light")
    for part in ink.parts:
        part.texts.clear()
    picture.ink = lambda *_: ink
    (tmp_path / "graph.svg").write_text(svg_of(ink), encoding="utf-8")
    files = [str(tmp_path / "graph.svg"), str(tmp_path / "qt.png")]
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run([sys.executable, "-c", PAINT, *files], check=True, env=env, timeout=60)
    with Image.open(files[1]) as image:
        theirs = np.asarray(image.convert("RGB")).astype(int)
    difference = np.abs(picture.pixels().astype(int) - theirs).max(axis=2)
    assert theirs.std() > 5
    assert (difference > 60).mean() < 0.01  # edges are smoothed in two ways
    assert difference.mean() < 1.5


def test_notebooks_show_it_and_auto_follows_their_look():
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter

    z, ground = xor_loss(), get_theme("dark").background
    data, _ = DisplayFormatter().format(sv.draw(z))
    ET.fromstring(data["image/svg+xml"])
    assert data["text/html"] == data["image/svg+xml"]
    for words in ("prefers-color-scheme:dark", '[data-jp-theme-light="false"]', f"fill:{ground}"):
        assert words in data["text/html"]
    data, _ = DisplayFormatter().format(sv.draw(z, theme="dark"))
    assert "text/html" not in data
    assert "<style>" not in data["image/svg+xml"]
    assert f'fill="{ground}"' in data["image/svg+xml"]


@pytest.mark.parametrize("letter", ["\0", "\x1b", "\ud800", "\uffff", "<script>&\"'"], ids=ascii)
def test_names_cannot_break_the_svg(letter):
    picture = sv.draw(sv.Value(1.0, f"a{letter}b") * 2.0)
    assert f"a{letter if len(letter) > 1 else chr(0xFFFD)}b" in texts(picture)
    picture.svg.encode()


def test_what_has_no_graph_yet_or_one_that_is_too_large_is_refused_in_words():
    for call, words in (
        (lambda: sv.draw(nn.Linear(2, 1)), "not been called yet"),
        (lambda: sv.draw(lambda x: x), "needs an example input"),
        (lambda: sv.draw(nn.Linear(3, 1000), [0.0] * 3, unfold=True), "nodes to draw"),
        (lambda: sv.trace(lambda x: sv.draw(x[0] * 2), n_inputs=1), "recorded"),  # there are no numbers
    ):
        with pytest.raises(sv.ScalarvizError, match=words):
            call()


# ---- where nodes and edges stand


@settings(max_examples=80, deadline=None)
@given(graphs(), st.booleans(), st.sampled_from([None, 0, 4, 12]))
def test_random_graphs_are_drawn_whole(roots, chains, digits):
    layout = sv.draw(roots, chains=chains, digits=digits).layout()
    if chains:
        edges = Counter((id(e.source.item.of), id(e.target.item.of)) for e in layout.edges)
        assert (Counter(id(box.item.of) for box in layout.boxes), edges) == graph_of(roots)
    check(layout)
    check_texts(layout, "light" if chains else "dark")


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_drawn_whole_folded_or_not(name):
    net, sample = NETWORKS[name].ours(), NETWORKS[name].samples(1)[0].tolist()
    for unfold in ((), *sv.draw(net, sample).folds):
        layout = sv.draw(net, sample, unfold=unfold).layout()
        check(layout)
        check_texts(layout, "dark")


def test_a_pointer_is_told_all_of_a_long_name():
    long, lines = sv.Value(2.0, label="layers.3.attention.query.weight[3][14]"), sv.Value(3.0, label="two\n\tlines")
    drawing = sv.draw(long * lines)
    boxes = {box.item.name: box for box in drawing.layout().boxes}
    box = boxes[long.label]
    assert (box.card.left, boxes[lines.label].card.left) == ("layers.3.att…weight[3][14]", "two lines")
    assert drawing.ink("dark").spot((box.x + 1, box.y + 1)).tip.startswith(long.label)
