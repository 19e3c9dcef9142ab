"""`sv.draw`: what is drawn against the objects themselves, its files, and what is said of wrong arguments."""

from __future__ import annotations

import copy
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError
from scalarviz.view.graph.cards import SIZE
from scalarviz.view.graph.nodes import constant_text, figure_of
from scalarviz.view.ink.svg import svg_of
from scalarviz.view.ink.text import ADVANCES, asked_advance, measure

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture) -> list[str]:
    """All texts of the picture, minus signs as Python writes them."""
    root = ET.fromstring(picture.svg)
    return [(node.text or "").replace("\N{MINUS SIGN}", "-") for node in root.iter(f"{SVG}text")]


def formula():
    a, b, w = sv.Value(2.0, "a"), sv.Value(0.5, "b"), sv.Weight(-0.7, name="w")
    z = (a * w + b).tanh()
    z.label = "z"
    return a, b, w, z


def xor_loss() -> sv.Value:
    """Two inputs, two hidden units and one output, of Values."""
    x = [sv.Value(1.0, "x1"), sv.Value(0.0, "x2")]
    w = [sv.Weight(v, name=f"w{k}") for k, v in enumerate([2.02, -2.07, -1.91, 1.87, 2.19, 2.22])]
    b = [sv.Weight(v, name=f"b{k}") for k, v in enumerate([-1.03, -0.94, 1.89])]
    h = [(w[2 * k] * x[0] + w[2 * k + 1] * x[1] + b[k]).tanh() for k in range(2)]
    return ((w[4] * h[0] + w[5] * h[1] + b[2]).tanh() - 1) ** 2


def graph_of(root: sv.Value) -> tuple[set[int], Counter]:
    """Nodes and edges of the objects, by a walk of its own."""
    nodes: set[int] = set()
    edges: Counter = Counter()
    stack = [root]
    while stack:
        value = stack.pop()
        if id(value) not in nodes:
            nodes.add(id(value))
            for parent in value.parents:
                edges[id(parent), id(value)] += 1
                stack.append(parent)
    return nodes, edges


def drawn(picture) -> tuple[set[int], Counter]:
    layout = picture.layout()
    ids = [id(box.item.node.of) for box in layout.boxes]
    assert len(ids) == len(set(ids))
    edges = Counter((id(e.source.item.node.of), id(e.target.item.node.of)) for e in layout.edges)
    return set(ids), edges


@pytest.mark.parametrize("make", [lambda: formula()[3], xor_loss, lambda: sv.Weight(1.0, name="w")])
def test_every_node_and_edge_is_drawn_once(make):
    root = make()
    nodes, edges = graph_of(root)
    exponents = {id(v.parents[1]) for v in [root] if v.op == "pow"}  # part of its power's sign
    nodes, edges = nodes - exponents, Counter({e: n for e, n in edges.items() if e[0] not in exponents})
    assert drawn(sv.draw(root, chains=True)) == (nodes, edges)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.sampled_from(["add", "mul", "sub"])), max_size=25))
def test_every_node_and_edge_of_random_graphs(steps):
    made = [sv.Value(1.5, "a"), sv.Weight(-2.0, name="w")]
    for one, two, op in steps:
        made.append(getattr(sv, op)(made[one % len(made)], made[two % len(made)]))
    assert drawn(sv.draw(made[-1], chains=True)) == graph_of(made[-1])


def test_values_and_gradients_are_those_of_the_objects():
    root = xor_loss()
    root.backward()
    for box in sv.draw(root).layout().boxes:
        value = box.item.node.of
        assert box.item.node.value == value.data
        if value.op or isinstance(value, sv.Weight) or value.label:
            assert box.item.node.grad == value.grad
            assert box.card.gradient == figure_of(value.grad)
            assert box.card.value == figure_of(value.data)


def test_a_sum_of_sums_is_one_node_unless_asked_for():
    a, b, c, d = (sv.Value(float(k), name) for k, name in enumerate("abcd", 1))
    z = a + b + c + d
    assert texts(sv.draw(z)).count("+") == 1
    assert texts(sv.draw(z, chains=True)).count("+") == 3
    named = a + b
    named.label = "ab"
    assert texts(sv.draw(named + c)).count("+") == 2  # what has a name is shown
    shared = a + b
    assert texts(sv.draw((shared + c) * shared)).count("+") == 2  # what is used elsewhere too
    assert texts(sv.draw(shared + shared)).count("+") == 2


def test_it_shows_the_numbers_of_the_moment_in_which_it_is_asked():
    _, _, w, z = formula()
    picture = sv.draw(z)
    before = texts(picture)
    assert "+0.97" not in before
    assert "no gradient yet" in before
    z.backward()
    after = texts(picture)
    assert "+0.97" in after  # 2 * (1 - tanh(-0.9)**2)
    assert "gradient of z" in after
    w.data = 3.25
    assert "+3.25" in texts(picture)


def test_gradients_that_nobody_computed_have_no_number():
    a, w = sv.Value(2.0, "a"), sv.Weight(3.0, name="w")
    dead = (a * 0.0) * w
    dead.backward()
    cards = {box.item.node.name: box.card for box in sv.draw(dead).layout().boxes}
    assert cards["a"].gradient == "0"  # computed, and 0
    w.zero_grad()
    cards = {box.item.node.name: box.card for box in sv.draw(dead).layout().boxes}
    assert cards["w"].gradient is None
    condition, other = sv.Value(1.0, "c"), sv.Value(5.0, "o")
    chosen = sv.where(condition > 0, w, other)
    chosen.backward()
    nodes = {box.item.node.name: box.item.node for box in sv.draw(chosen).layout().boxes}
    assert nodes["c"].grad is None  # nothing flows to a condition
    assert nodes["o"].grad == 0.0


def test_variables_give_names_where_there_are_none():
    first, second = sv.Value(1.0), sv.Value(2.0, "mine")
    parts = [first * second, first + second]
    result = parts[0] * parts[1]
    assert {"first", "mine", "parts[0]", "parts[1]", "result"} <= set(texts(sv.draw(result)))


def test_names_are_of_objects_and_not_of_where_they_were():
    """A function makes other Values at each call, which may stand where a named one stood before."""
    kept = sv.Weight(2.0)
    gone = [sv.Value(float(k)) for k in range(64)]
    picture = sv.draw(lambda x: (x * kept).tanh() + 1.0, 3.0)
    del gone
    said = texts(picture)
    assert "kept" in said
    assert not any(text.startswith("gone") for text in said)


def test_a_constant_exponent_is_part_of_the_sign():
    x = sv.Value(3.0, "x")
    assert "**2" in texts(sv.draw(x**2))
    assert "**-0.5" in texts(sv.draw(x**-0.5))
    assert "pow" in texts(sv.draw(2.0**x))
    e = sv.Value(2.0, "e")
    assert {"pow", "e"} <= set(texts(sv.draw(x**e)))


def test_a_network_is_asked_as_for_a_prediction_and_is_as_before():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Tanh(), nn.Linear(2, 1))
    net[1].eval()
    inner = net([0.25, -0.5])
    books = [(m._books.inputs, m._books.outputs) for m in net.modules()]
    modes, before = [m.training for m in net.modules()], copy.deepcopy(net.state_dict())
    picture = sv.draw(net, [1.0, 0.0])
    assert {"x1", "x2", "0.weight[0][0]"} <= set(texts(picture))
    assert "+1.00" in texts(picture)
    assert [m.training for m in net.modules()] == modes
    after = [(m._books.inputs, m._books.outputs) for m in net.modules()]
    assert all(a[0] is b[0] and a[1] is b[1] for a, b in zip(books, after, strict=True))
    assert all((net.state_dict()[name] == before[name]).all() for name in before)
    assert sv.draw(net).layout().boxes[-1].item.node.of is inner[0]  # without inputs: its last call


def test_a_neuron_and_a_function_are_drawn():
    net = nn.Network(2, 2, activation=nn.Sigmoid())
    neuron = net.perceptrons[1]
    picture = sv.draw(neuron, [0.5, 1.0])
    assert {"sigmoid", "0.weight[1][0]", "0.bias[1]", "x1"} <= set(texts(picture))
    assert figure_of(neuron([0.5, 1.0]).data).replace("\N{MINUS SIGN}", "-") in texts(picture)
    assert "sin" in texts(sv.draw(lambda x: (x * 2).sin(), 1.0))


def test_large_graphs_fold_by_module_and_unfold_by_name():
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
    picture = sv.draw(net, [0.1, 0.2, 0.3])
    assert {"0", "1", "2", "Linear", "Tanh", "64 weights"} <= set(texts(picture))
    assert len(picture.layout().boxes) == 6
    unfolded = sv.draw(net, [0.1, 0.2, 0.3], unfold="1")
    assert texts(unfolded).count("tanh") == 16
    out = net([0.1, 0.2, 0.3])
    loss = nn.MSELoss()(out, [0.0, 0.0, 0.0])
    assert {"0", "Linear", "**2"} <= set(texts(sv.draw(loss)))  # whose weights they are, the objects know
    assert len(sv.draw(loss, unfold=True).layout().boxes) > 100


def test_a_module_that_is_called_twice_is_folded_without_a_circle():
    class Twice(nn.Module):
        def __init__(self):
            self.layer, self.out = nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.out(self.layer([h.tanh() for h in self.layer(x)]))

    picture = sv.draw(Twice(), [0.1] * 8)
    titles = [box.card.left for box in picture.layout().boxes if box.card.folded]
    assert "layer" in titles
    for edge in picture.layout().edges:
        assert edge.source.x + edge.source.width < edge.target.x


def test_long_chains_without_modules_show_their_end():
    x = sv.Value(1.001, "x")
    y = x
    for _ in range(3000):
        y = (y * x).tanh()
    picture = sv.draw(y)
    assert "earlier" in texts(picture)
    assert len(picture.layout().boxes) < 60
    more = sv.draw(y, unfold="earlier")
    assert "earlier 2" in texts(more)
    assert len(more.layout().boxes) > len(picture.layout().boxes) + 40


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_nearest_of_those_that_can_be_written_so(value):
    said = figure_of(value).replace("\N{MINUS SIGN}", "-")
    assert len(said) <= 8
    assert (said == "0") == (value == 0)
    mantissa, e, power = said.partition("e")
    assert bool(e) == (value != 0 and not 0.005 < abs(value) < 9999.5)
    place = int(power) if e else -len(mantissa.partition(".")[2])  # of its last digit
    assert abs(Decimal(said) - Decimal(value)) <= Decimal("0.5") * Decimal(10) ** place


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 12))
def test_a_number_has_as_many_decimals_as_asked_for(value, digits):
    said = figure_of(value, digits).replace("\N{MINUS SIGN}", "-")
    assert (said == "0") == (value == 0)
    mantissa, e, power = said.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not e and value:
        assert decimals == digits
    assert float(mantissa) != 0 or value == 0
    place = (int(power) if e else 0) - decimals
    assert abs(Decimal(said) - Decimal(value)) <= Decimal("0.5") * Decimal(10) ** place


def test_four_decimals_are_those_of_micrograds_drawing():
    """The neuron of its lecture, as `draw_dot` writes it: ``data %.4f | grad %.4f``."""
    x1, x2 = sv.Value(2.0, label="x1"), sv.Value(0.0, label="x2")
    w1, w2 = sv.Value(-3.0, label="w1"), sv.Value(1.0, label="w2")
    n = x1 * w1 + x2 * w2 + sv.Value(6.8813735870195432, label="b")
    e = (2 * n).exp()
    o = (e - 1) / (e + 1)
    o.backward()
    picture = sv.draw(o, digits=4, chains=True)
    said = [text.lstrip("+") for text in texts(picture)]
    for wanted in (
        "0.7071",
        "6.8814",
        "0.8814",
        "5.8284",
        "-6.0000",
        "-1.5000",
        "1.0000",
        "0.5000",
        "0.0429",
        "-0.1036",
    ):
        assert wanted in said
    assert "+0.04" in texts(sv.draw(o))
    for box in picture.layout().boxes:
        longest = max(measure(text, SIZE, True) for text in (box.card.value, box.card.gradient or ""))
        assert longest < box.card.width - box.card.cell
    for wrong in (-1, 13, 2.0, True, "4"):
        with pytest.raises(InputError, match="draw: digits"):
            sv.draw(o, digits=wrong)


def test_special_numbers_are_written_as_what_they_are():
    assert [figure_of(v) for v in (math.nan, math.inf, -math.inf)] == ["NaN", "+∞", "\N{MINUS SIGN}∞"]
    assert [constant_text(v) for v in (1.0, 0.5, 1e-8, 1e20)] == ["1", "0.5", "1e\N{MINUS SIGN}8", "1e20"]


@pytest.mark.parametrize("bold", [False, True])
def test_widths_of_letters_are_the_fonts_own(bold):
    assert {letter: asked_advance(letter, bold) for letter in ADVANCES[bold]} == ADVANCES[bold]


# ---- files and notebooks


def test_svg_and_png_are_written_whole(tmp_path):
    _, _, _, z = formula()
    picture = sv.draw(z, theme="dark")
    path = picture.save(tmp_path / "graph.svg")
    assert path.read_text(encoding="utf-8") == picture.svg
    size = ET.fromstring(picture.svg)
    from PIL import Image

    with Image.open(picture.save(tmp_path / "graph.png")) as image:
        assert image.size == (2 * int(size.get("width")), 2 * int(size.get("height")))
        assert image.getpixel((3, 3)) == (0x14, 0x16, 0x1A)


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_svg_and_png_are_the_same_drawing(tmp_path, theme):
    """Qt paints the SVG, we the PNG; without the letters, which Qt takes from another font."""
    pytest.importorskip("PySide6.QtSvg")
    from PIL import Image

    loss = xor_loss()
    loss.backward()
    picture = sv.draw(loss, theme=theme)
    ink = picture.ink(theme)
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


def test_auto_follows_the_page_and_other_themes_do_not():
    *_, z = formula()
    auto, dark = sv.draw(z), sv.draw(z, theme="dark")
    assert "prefers-color-scheme:dark" in auto.svg
    assert '[data-jp-theme-light="false"]' in auto.svg
    assert "<style>" not in dark.svg
    background = sv.view.drawing.get_theme("dark").background
    assert f'fill="{background}"' in dark.svg
    assert f"fill:{background}" in auto.svg


def test_notebooks_show_it():
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter

    *_, z = formula()
    data, _ = DisplayFormatter().format(sv.draw(z))
    ET.fromstring(data["image/svg+xml"])
    assert data["text/html"] == data["image/svg+xml"]
    data, _ = DisplayFormatter().format(sv.draw(z, theme="light"))
    assert "text/html" not in data
    assert "image/svg+xml" in data


def test_names_cannot_break_the_svg():
    x = sv.Value(1.0, "<script>&\"'")
    y = x * sv.Weight(2.0, name="w</text>")
    assert {"<script>&\"'", "w</text>"} <= set(texts(sv.draw(y)))


@pytest.mark.parametrize("letter", ["\0", "\x1b", "\ud800", "\uffff"], ids=ascii)
def test_letters_that_xml_has_not_are_replaced(letter):
    picture = sv.draw(sv.Value(1.0, f"a{letter}b") * 2.0)
    assert "a\N{REPLACEMENT CHARACTER}b" in texts(picture)
    picture.svg.encode()


# ---- bad arguments


def test_wrong_arguments_are_refused_in_words(tmp_path):
    *_, z = formula()
    net = nn.Linear(2, 1)
    for bad in (3.0, "z", None, {"a": 1}, object(), nn.Linear, net.weight):
        with pytest.raises((sv.ScalarvizError, TypeError), match="draw"):
            sv.draw(bad)
    for call, words in (
        (lambda: sv.draw([]), "empty"),
        (lambda: sv.draw(z, 1.0), "takes no inputs"),
        (lambda: sv.draw(net), "not been called yet"),
        (lambda: sv.draw(lambda x: x), "needs an example input"),
        (lambda: sv.draw(z, theme="blue"), "auto"),
        (lambda: sv.draw(z, chains="yes"), "chains"),
        (lambda: sv.draw(z, unfold="nothing"), "unfold"),
        (lambda: sv.draw(z, unfold=3), "unfold"),
        (lambda: sv.draw(z).save(tmp_path / "graph.jpg"), ".svg or .png"),
        (lambda: sv.draw(z).save(tmp_path), ".svg or .png"),
        (lambda: sv.draw(net, [1.0]), "2"),
    ):
        with pytest.raises(sv.ScalarvizError, match=words):
            call()


def test_what_is_too_large_is_refused_in_words():
    net = nn.Linear(3, 3000)
    with pytest.raises(sv.ScalarvizError, match="nodes are left"):
        sv.draw(net, [0.0] * 3, unfold=True)


def test_a_graph_that_is_being_recorded_has_no_numbers():
    with pytest.raises(sv.ScalarvizError, match="recorded"):
        sv.trace(lambda x: sv.draw(x[0] * 2), n_inputs=1)
