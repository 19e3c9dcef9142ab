"""What is selected, and that the inspector says the truth of it: names, terms, the coming step, sums as printed."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import MINUS, words
from scalarviz import nn, optim
from scalarviz.run.opened.digits import factors
from scalarviz.run.opened.network import SampleGradient
from scalarviz.run.opened.rule import Update
from scalarviz.run.opened.why import LARGEST, TermRow, Why
from scalarviz.view.cubes.picking import cells_of, sides_of
from scalarviz.view.ink.text import figure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.screen.account import account_of, ledger_of
from scalarviz.view.screen.inspector import POINTS, Inspector, ValueHistory
from scalarviz.view.shown.names import Selection, joined, parts_of, who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.arrangement import Plate, grid_for

PROBE, TARGET = np.array([0.92, 0.58, 0.18]), np.array([0.1, 0.4, 0.8])
COLOURS = np.random.default_rng(1).random((128, 3))


def penalty(net):
    mse = nn.MSELoss()
    return lambda outputs, targets: mse(outputs, targets) + 0.1 * net[0].weight[0][0] * net[0].weight[0][0]


def scene_of(*hidden, kind=optim.SGD, bias=True, batch=64, loss=None, steps=3, dtype="float64", lr=0.5):
    layers, before = [], 3
    for count in hidden:
        layers += [nn.Linear(before, count, bias=bias), nn.Tanh()]
        before = count
    net = nn.Sequential(*layers, nn.Linear(before, 3, bias=bias), nn.Sigmoid())
    net.initialize(nn.init.normal(0, 1), seed=2)
    loss, rule = loss(net) if loss is penalty else loss or nn.MSELoss(), kind(net.parameters(), lr=lr)
    run = sv.Run(net, loss, rule, (COLOURS, 1 - COLOURS), batch_size=batch, engine="numpy", dtype=dtype)
    run.step(steps)
    return sv.Scene("rgb", run, PROBE, TARGET, ("r", "g", "b"), ("r", "g", "b"))


@pytest.fixture(params=[(), (5,), (4, 6)], ids=["single", "hidden", "deep"])
def scene(request):
    with (made := scene_of(*request.param)).run:
        yield made


def inspected(scene, index):
    """An inspector of a scene's weight at the frame of now, which it returns too."""
    frame, inspector = scene.run.frame(scene.probe), Inspector(subject_of(scene), index)
    inspector.follow(frame)
    return inspector, frame


def explained(scene, index):
    inspector, frame = inspected(scene, index)
    return inspector.explanation(frame)


def low(scene, index):
    inspector, frame = inspected(scene, index)
    box, lines = (0.0, 0.0, 524.0, 106.0), inspector.explanation(frame)
    return words([inspector.sketch(box, DARK, frame, lines, low=True)])


def column(scene, index):
    inspector, frame = inspected(scene, index)
    inspector.account = account_of(scene.run.open(), index)
    return words([inspector.sketch((10.0, 20.0, 304.0, 672.0), DARK, frame, opened=True)])


def exact(text):
    return Decimal(text.strip("()").replace(MINUS, "-").replace("+", ""))


def half_a_digit(text):
    """Half of what the last printed digit is worth."""
    return Decimal(1).scaleb(int(exact(text).as_tuple().exponent)) / 2


def test_names_in_words_and_in_code():
    with (made := scene_of(4, 6)).run:
        subject = subject_of(made)
        start = {t.name: t.start for t in subject.tensors}
        for name, place, said in (
            ("0.weight", 4, "from g to h2"), ("2.weight", 7, "from h4 to k2"), ("2.bias", 5, "bias of k6"),
            ("4.weight", 8, "from k3 to g"), ("4.bias", 1, "bias of g"),
        ):  # fmt: skip
            assert who(subject, start[name] + place).name == said
        assert who(subject, start["0.weight"] + 4).code == "0.weight[1][1]"
    arrays = subject_of({"a": np.zeros((3, 4)), "k": np.zeros((2, 3, 5, 5)), "w": 1.0, "b": [1.0, 2.0]})
    found = [who(arrays, k) for k in (6, 12 + 75 + 25 + 7, 162, 164)]
    assert [(one.name, one.code_words) for one in found] == [
        ("a[1][2]", "row 2, column 3"), ("k[1][1][1][2]", "map 2, input map 2, kernel 2, 3"),
        ("w", ""), ("b[1]", ""),
    ]  # fmt: skip


def test_the_lines_are_true_as_printed(scene):
    run, frame = scene.run, scene.run.frame(PROBE)
    gradient = SampleGradient(run._forward).gradient(PROBE, TARGET, frame.values - frame.update)
    for tensor in run.tensors:
        for index in range(tensor.start, tensor.start + tensor.size, 3):
            (line, *_), *_, update = explained(scene, index)
            factor = "" if tensor.role == "bias" else r" (\S+) × (\S+) ="
            found = re.fullmatch(rf"gradient: mean of 64 samples' δ(?:·x)?; of this sample{factor} (\S+)", line)
            *parts, own = found.groups()
            assert ("δ·x" in line) == (tensor.role == "weight")
            assert abs(Decimal(float(gradient[index])) - exact(own)) <= half_a_digit(own)
            if parts:
                assert abs(exact(parts[0]) * exact(parts[1]) - exact(own)) <= half_a_digit(own)
            before, lr, g, after = re.fullmatch(rf"(\S+) {MINUS} (\S+) × (\S+) = (\S+)", update[-1]).groups()
            assert abs(exact(before) - exact(lr) * exact(g) - exact(after)) <= half_a_digit(after)
            assert exact(lr) == Decimal("0.5")
            assert abs(Decimal(float(frame.values[index])) - exact(after)) <= half_a_digit(after)
            assert exact(before) != exact(after) or frame.update[index] == 0


def test_what_cannot_be_told_is_not_and_what_a_weight_is_stands_there():
    with (adam := scene_of(kind=optim.Adam, lr=0.1)).run:
        assert len(explained(adam, 0)) == 1
    with (bare := scene_of(bias=False)).run:
        assert " × 0.58 = " in explained(bare, 4)[0][0]
    with (own := scene_of(loss=penalty, batch=None, lr=0.1)).run:
        assert explained(own, 0)[0] == ("gradient: mean of all 128 samples",)
        assert "δ·x" in explained(own, 1)[0][0]
    with (new := scene_of(steps=0)).run:
        assert explained(new, 0) == ()
        assert "not computed yet" in (said := low(new, 1))
        assert not {"last update", "0"} & set(said)
        assert not {"not computed yet", "0"} & {*column(new, 1)}
    with (made := scene_of()).run as run:
        frame = run.frame()
        shown = {figure(float(block[1])) for block in (frame.values, frame.gradient, frame.update)}
        assert shown | {"value since step 3", "0.weight[0][1]"} <= set(low(made, 1))
        run.set_weights(1, [0.7])  # the column has one gradient, that of the coming step
        gradient = figure(account_of(run.open(), 1).update.gradient)
        assert {gradient} == {gradient, figure(float(frame.gradient[1]))} & {*column(made, 1)}
        run.model[0].weight[0][1].frozen = True
        assert "frozen" in low(made, 1)
        assert {"frozen: no update", "free"} <= set(column(made, 1))
    with (alone := scene_of(batch=1)).run:
        assert {"step 4: one term", "sum = gradient"} <= set(column(alone, 0))


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW, optim.RMSprop])
def test_every_line_of_a_rule_stands_there_whole_and_its_numbers_give_its_result(kind):
    with (made := scene_of(5, kind=kind, lr=0.01)).run as run:
        said, lines = "".join(column(made, 1)).replace(" ", ""), run.open().update(1).lines
        assert len(lines) > 1
        for line in lines:
            numbers = line.equation(4).replace("e−0", "e−")
            assert " = " in numbers
            assert numbers.replace(" ", "") in said


@pytest.mark.parametrize("lr", [0.5, 1e-4])
def test_a_run_in_float16_says_what_of_its_step_the_network_sees(lr):
    with (made := scene_of(5, dtype="float16", lr=lr)).run as run:
        before = run.frame().values
        run.step()
        frame = run.frame()
        coming = [account_of(run.open(), index, along=False).rounded for index in range(run.n_weights)]
        run.step()
        after = run.frame().values
        for index, text in enumerate(coming):
            line = " ".join(ways[0] for ways in Inspector(subject_of(made), index).explanation(frame))
            assert f"float32 weight: {frame.master[index]:.7g}" in line
            assert ("same float16" in line) == (before[index] == frame.values[index] and frame.update[index] != 0)
            kept = figure(float(frame.values[index])) + " stays" in text and "too small" in text
            assert kept == (frame.values[index] == after[index])
            assert kept or text.endswith(f"becomes {figure(float(after[index]))}")


def reason(products, divisor, x=0.5):
    sizes = np.where(np.isnan(products), np.inf, np.abs(products))
    largest = np.argsort(-sizes, kind="stable")[:LARGEST]
    rows = tuple(TermRow(int(k), "", products[k] / x, x, products[k]) for k in largest)
    total, others = float(np.sum(products)), float(np.sum(np.delete(products, largest)))
    update, more = Update(0, 1.0, 1.0, total / divisor), len(products) - len(rows)
    return Why("w", 0, 4, 1, rows, more, others, total, divisor, total / divisor, None, "", update)


sizes = st.floats(1e-12, 1e6).map(lambda size: float(f"{size:.6g}"))
numbers = sizes | sizes.map(lambda size: -size)


@given(st.lists(numbers, min_size=1, max_size=40), st.booleans(), st.integers(1, LARGEST))
@settings(max_examples=300, deadline=None)
def test_the_column_adds_up_and_divides_as_printed(products, mean, listed):
    one = reason(products, len(products) if mean else 1)
    listed = min(listed, len(one.rows))
    book = ledger_of(one, listed)
    assert len(book.terms) == listed
    assert (book.rest is None) == (len(products) == listed)
    if book.rest is not None:
        assert sum(term.value for term in book.terms) + book.rest.value == book.total.value
        true = Decimal(one.total - sum(row.product for row in one.rows[:listed])).scaleb(-book.power)
        assert abs(book.rest.value - true) <= book.total.place * (listed + 2) / 2 + abs(true) * Decimal("1e-9")
    largest, first = Decimal(products[one.rows[0].sample]).scaleb(-book.power), book.terms[0]
    assert abs(largest - first.value) * 20 <= abs(largest) or first.place <= Decimal("1e-5"), "two digits, while room"
    for term, printed in zip(one.rows, book.terms, strict=False):
        assert abs(Decimal(term.product).scaleb(-book.power) - printed.value) * 2 <= printed.place * Decimal("1.0001")
        delta, factor = factors(term.delta, term.x, printed, book.power)
        off = abs(exact(delta) * exact(factor) - printed.value)
        assert off <= abs(printed.value) * Decimal("0.02") + printed.place
    quotient, gradient = book.total.value.scaleb(book.power) / one.divisor, book.gradient
    assert book.exact == (abs(quotient - gradient.value) * 2 <= gradient.place)
    assert abs(Decimal(one.update.gradient) - gradient.value) * 2 <= gradient.place * Decimal("1.0001")
    assert book.exact or abs(one.total) <= 1e-3 * max(map(abs, products)) or abs(one.total) >= 999


def test_what_is_not_finite_is_shown_as_it_is_and_zeros_are_zero():
    for bad in (float("nan"), float("inf"), -float("inf")):
        book = ledger_of(reason([1.0, bad, 0.5], 3), 2)
        assert {book.terms[0].text, book.total.text} <= {"NaN", "+∞", f"{MINUS}∞"}
    book = ledger_of(reason([0.0] * 20, 20), 8)
    assert {exact(term.text) for term in (*book.terms, book.gradient)} == {Decimal(0)}


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_an_account_is_that_of_the_coming_step(reduction):
    """Its terms are those of the opened step, and the new value that of the step itself."""
    with scene_of(4, loss=nn.MSELoss(reduction=reduction), batch=128, lr=0.01).run as run:
        opened, before, inputs = run.open(), run.values.copy(), run.samples()[0]
        found, terms = ([of(k) for k in range(run.n_weights)] for of in (lambda k: account_of(opened, k), opened.terms))
        run.step()
        for k, (one, of) in enumerate(zip(found, terms, strict=True)):
            why = one.why
            assert (one.step, one.update.before, why.count) == (3, before[k], of.count)
            assert why.total / why.divisor == pytest.approx(run.frame().gradient[k], rel=1e-6, abs=1e-12)
            assert one.update.after == pytest.approx(run.values[k], rel=1e-6, abs=1e-9)
            largest = np.argsort(-np.abs(of.products), kind="stable")[:LARGEST]
            assert [row.sample for row in why.rows] == of.array["sample"][largest].tolist()
            assert [row.product / why.divisor for row in why.rows] == pytest.approx(of.products[largest].tolist())
            assert all(np.array_equal(one.samples[row.sample][0], inputs[row.sample]) for row in why.rows)


def test_a_history_holds_its_ends_stays_small_and_goes_back():
    history = ValueHistory()
    for step in range(10_000):
        history.add(step, float(np.sin(step / 700)))
        assert (history.steps[0], history.steps[-1], len(history.steps) <= POINTS) == (0, step, True)
    assert np.allclose(history.values, np.sin(np.array(history.steps) / 700))
    assert 0 < np.min(np.diff(history.steps)) <= np.max(np.diff(history.steps)) < 120
    history = ValueHistory()
    for step, value in ((5, 1.0), (6, 2.0), (7, 3.0), (6, 2.5), (6, 9.0)):  # the last one is an edit
        history.add(step, value)
    assert (history.steps, history.values) == ([5, 6], [1.0, 9.0])


def members(spans):
    return [i for start, count in spans for i in range(start, start + count)]


KERNEL = np.arange(3 * 2 * 2 * 2).reshape(3, 2, 2, 2)
PAIR = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 4))
CASES = {
    "a weight": (PAIR, 4, {"network": range(20), "layer": range(8), "tensor": range(6), "neuron": [3, 4, 5, 7],
                           "row": [3, 4, 5], "column": [1, 4], "weight": [4]}),
    "a bias stands in its neuron": (PAIR, 7, {"network": range(20), "layer": range(8), "neuron": [3, 4, 5, 7],
                                              "tensor": [6, 7], "weight": [7]}),
    "a kernel": (nn.Sequential(nn.Conv2d(2, 3, 2, seed=0), nn.ReLU(), nn.Flatten()), int(KERNEL[1, 1, 0, 1]), {
        "layer": range(27), "tensor": range(24), "neuron": [*KERNEL[1].ravel(), 25], "row": KERNEL[1].ravel(),
        "column": KERNEL[:, 1].ravel(), "weight": [KERNEL[1, 1, 0, 1]]}),
    "no bias": (nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 2)), 4, {
        "network": range(12), "tensor": range(6), "row": [3, 4, 5], "column": [1, 4], "weight": [4]}),
    "a number": ({"w": 1.0, "m": np.zeros((2, 3)), "v": np.zeros(4)}, 0, {"network": range(11), "weight": [0]}),
    "a vector": ({"w": 1.0, "m": np.zeros((2, 3)), "v": np.zeros(4)}, 8, {
        "network": range(11), "tensor": [7, 8, 9, 10], "weight": [8]}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_parts_that_a_number_stands_in(name):
    thing, index, wanted = CASES[name]
    found = parts_of(subject_of(thing), index)
    assert {part.kind: members(part.spans) for part in found} == {kind: list(part) for kind, part in wanted.items()}
    assert all(set(members(inner.spans)) != set(members(outer.spans)) for outer, inner in pairwise(found))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40))
@settings(max_examples=200)
def test_toggled_weights_are_those_that_were_clicked_an_odd_number_of_times(clicks):
    chosen, wanted = None, set()
    for index in clicks:
        wanted ^= {index}
        chosen = Selection(index, ((index, 1),), "one") if chosen is None else chosen.toggled(index)
    if not wanted:
        assert chosen is None
        return
    assert chosen.main in chosen
    assert np.array_equal(np.flatnonzero(chosen.mask(0, 40)), sorted(wanted))
    assert np.array_equal(chosen.numbers_of(np.arange(40)), sorted(wanted))
    assert np.array_equal(chosen.mask(10, 5), chosen.mask(0, 40)[10:15])
    assert (chosen.count, chosen.spans) == (len(wanted), joined([(n, 1) for n in wanted]))
    assert all(a + n < b for (a, n), (b, _) in pairwise(chosen.spans))


@given(st.integers(1, 6), st.integers(1, 6), st.data())
@settings(max_examples=200)
def test_the_sides_enclose_the_selected_cells(rows, cols, data):
    """A point is inside if a ray from it crosses an odd number of sides; oracle of the mask itself."""
    cells = np.array(data.draw(st.lists(st.booleans(), min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)
    starts, ends, inward = sides_of(cells)
    upright = starts[:, 0] == ends[:, 0]
    for r in range(rows):
        for c in range(cols):
            crossed = upright & (starts[:, 0] > c) & (starts[:, 1] < r) & (ends[:, 1] > r)
            assert (np.count_nonzero(crossed) % 2 == 1) == cells[r, c]
    for start, end, into in zip(starts, ends, inward, strict=True):
        along = (end - start) / max(np.abs(end - start).max(), 1)
        inside = np.floor(start + along * 0.5 + into * 0.5 + 0.5).astype(int)
        assert cells[inside[1], inside[0]], (start, end, into)


@pytest.mark.parametrize("shape", [(3, 4), (7,), (5, 2, 3, 3), (200, 1), (4, 3)])
def test_the_cells_are_those_of_the_elements(shape):
    grid, size, rng = grid_for(shape), int(np.prod(shape)), np.random.default_rng(0)
    plate = Plate("p", "weight", size, grid, np.zeros(3), np.eye(3), 0.4, 0.4, 0)
    for _ in range(20):
        mask = rng.random(size) < 0.3
        cells = cells_of(plate, mask)
        assert all(cells[grid.places(k)] == mask[k] for k in range(size))
    if len(shape) == 4:  # a row of kernels is one region, gaps included
        mask = np.zeros(shape, bool)
        mask[1] = True
        assert len(sides_of(cells_of(plate, mask.ravel()))[0]) == 4
