"""The numbers of the inspector's column add up, divide and multiply as they are printed."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.core.gather import weight_name
from scalarviz.run.opened.network import SampleGradient
from scalarviz.run.opened.rule import Update
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.text import MINUS, measure
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.screen.account import LISTED, Account, Term, account_of, factors, ledger_of
from scalarviz.view.screen.inspector import Inspector
from scalarviz.view.shown.subject import subject_of

RNG = np.random.default_rng(2)
COLOURS = RNG.random((64, 3))


def exact(text: str) -> Decimal:
    return Decimal(text.strip("()").replace(MINUS, "-").replace("+", ""))


def half_a_digit(text: str) -> Decimal:
    return Decimal(1).scaleb(int(exact(text).as_tuple().exponent)) / 2


def account(products: list[float], divisor: int, x: float = 0.5) -> Account:
    sizes = np.where(np.isnan(products), np.inf, np.abs(products))
    terms = tuple(Term(int(k), products[k] / x, x) for k in np.argsort(-sizes, kind="stable")[:LISTED])
    total = float(np.sum(products))
    update = Update(0, 1.0, 1.0, total / divisor)
    return Account(update, 3, 0, False, terms, len(products), total, divisor, (), "SGD")


sizes = st.floats(1e-12, 1e6).map(lambda x: float(f"{x:.6g}"))


@given(st.lists(st.tuples(sizes, st.booleans()), min_size=1, max_size=40), st.booleans(), st.integers(1, LISTED))
@settings(max_examples=300, deadline=None)
def test_the_column_adds_up_and_divides_as_printed(numbers, mean, listed):
    products = [size if up else -size for size, up in numbers]
    given_account = account(products, len(products) if mean else 1)
    listed = min(listed, len(given_account.terms))
    book = ledger_of(given_account, listed)
    shown = [term.value for term in book.terms] + ([] if book.rest is None else [book.rest.value])
    assert len(book.terms) == listed
    assert (book.rest is None) == (len(products) == listed)
    if book.rest is not None:
        assert sum(shown) == book.total.value
        true = Decimal(given_account.total - sum(t.product for t in given_account.terms[:listed])).scaleb(-book.power)
        assert abs(book.rest.value - true) <= book.total.place * (listed + 2) / 2 + abs(true) * Decimal("1e-9")
    for term, printed in zip(given_account.terms, book.terms, strict=False):
        assert abs(Decimal(term.product).scaleb(-book.power) - printed.value) * 2 <= printed.place * Decimal("1.0001")
    quotient = book.total.value.scaleb(book.power) / given_account.divisor
    gradient = book.gradient
    assert book.exact == (abs(quotient - gradient.value) * 2 <= gradient.place)
    assert abs(Decimal(given_account.update.gradient) - gradient.value) * 2 <= gradient.place * Decimal("1.0001")
    if abs(given_account.total) > 1e-3 * max(abs(p) for p in products) and abs(given_account.total) < 999:
        assert book.exact


@given(sizes, st.booleans(), st.floats(-5, 5).map(lambda x: round(x, 6)).filter(lambda x: abs(x) > 1e-3))
@settings(max_examples=200, deadline=None)
def test_most_rows_multiply_out_as_printed(size, up, x):
    book = ledger_of(account([size * x if up else -size * x], 1, x), 1)
    term = account([size * x if up else -size * x], 1, x).terms[0]
    delta, factor = factors(term, book.terms[0], book.power)
    product = exact(delta) * exact(factor)
    assert abs(product - book.terms[0].value) <= abs(book.terms[0].value) * Decimal("0.02") + book.terms[0].place


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_shown_as_they_are(bad):
    book = ledger_of(account([1.0, bad, 0.5], 3), 2)
    assert book.terms[0].text in ("NaN", "+∞", f"{MINUS}∞")
    assert book.total.text in ("NaN", "+∞", f"{MINUS}∞")


def test_a_gradient_of_zeros_is_zero():
    book = ledger_of(account([0.0] * 20, 20), 8)
    assert book.gradient.text == "0"
    assert {exact(term.text) for term in book.terms} == {Decimal(0)}


# of a run


def scene_of(kind=optim.SGD, hidden=(), batch=32, loss=None, engine="numpy", **kwargs) -> Scene:
    sizes, layers = (3, *hidden, 3), []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.Tanh()]
    net = nn.Sequential(*layers[:-1], nn.Sigmoid())
    net.initialize(nn.init.normal(0, 1), seed=2)
    run = sv.Run(net, loss or nn.MSELoss(), kind(net.parameters(), lr=0.5, **kwargs), (COLOURS, 1 - COLOURS),
                 batch_size=batch, engine=engine, dtype="float64")  # fmt: skip
    run.step(3)
    return Scene("rgb", run, COLOURS[0], 1 - COLOURS[0], ("r", "g", "b"), ("r", "g", "b"))


@pytest.mark.parametrize("hidden", [(), (4,)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_an_account_is_that_of_the_coming_step(hidden, reduction):
    """Terms and sum against the gradients of single samples; the new value against the step itself."""
    scene = scene_of(hidden=hidden, batch=64, loss=nn.MSELoss(reduction=reduction))
    run = scene.run
    inputs, targets = run.samples()
    single = SampleGradient(run._forward)
    own = np.array([single.gradient(x, y, run.values) for x, y in zip(inputs, targets, strict=True)])
    found = [account_of(run, k) for k in range(run.n_weights)]
    before = run.values.copy()
    run.step()
    for k, one in enumerate(found):
        assert (one.step, one.update.before, one.count) == (3, before[k], 64)
        assert one.total / one.divisor == pytest.approx(run.frame().gradient[k], rel=1e-6, abs=1e-12)
        assert one.update.after == pytest.approx(run.values[k], rel=1e-6, abs=1e-9)
        order = np.argsort(-np.abs(own[:, k]))[:LISTED]
        assert {t.sample for t in one.terms} == set(order)
        for term in one.terms:
            assert term.product == pytest.approx(own[term.sample, k], rel=1e-6)
            np.testing.assert_allclose(term.inputs, inputs[term.sample])
    run.close()


def test_asking_leaves_the_run_as_it_is():
    (asked, other) = (scene_of(optim.Adam, (4,)).run for _ in range(2))
    for step in range(5):
        account_of(asked, step)
        asked.step(2)
        other.step(2)
    assert asked.values.tobytes() == other.values.tobytes()
    assert asked.log == other.log == []
    asked.close()
    other.close()


def drawn(scene: Scene, index: int, height: float, theme=DARK):
    frame = scene.run.frame(scene.probe)
    inspector = Inspector(subject_of(scene), index)
    inspector.follow(frame)
    inspector.account = account_of(scene.run, index)
    return inspector, inspector.sketch((10.0, 20.0, 304.0, height), theme, frame, opened=True)


def test_the_columns_text_says_so():
    scene = scene_of(batch=64)
    for index in range(0, 12, 2):
        _, sketch = drawn(scene, index, 672.0)
        texts = [item.text for item in sketch.texts]
        at = texts.index("step 4: 8 largest of 64 terms")
        end = next(k for k, text in enumerate(texts) if text == "56 more")
        printed = [t for t in texts[at:end] if re.fullmatch(rf"[+{MINUS}]?[\d.]+", t)]
        terms = [exact(t) for t in printed if t[0] in "+" + MINUS][1 if index >= 9 else 0 :: 2 if index >= 9 else 1]
        rest, total = exact(texts[end + 1]), exact(texts[texts.index("sum") + 1])
        assert sum(terms) + rest == total
        gradient = texts[texts.index("÷ 64 = gradient") + 1]
        assert abs(total / 64 - exact(gradient)) <= half_a_digit(gradient)
        assert weight_name(scene.run.tensors, index) in texts
    scene.run.close()


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
@pytest.mark.parametrize("height", [672.0, 560.0, 492.0, 400.0, 300.0, 220.0])
def test_nothing_is_wider_or_higher_than_the_column_and_no_text_lies_over_another(theme, kind, height):
    scene = scene_of(kind, (4,))
    for index in (0, 13, scene.run.n_weights - 1):
        inspector, sketch = drawn(scene, index, height, theme)
        boxes = []
        for item in sketch.texts:
            wide = measure(item.text, item.size, item.bold)
            left = item.x - {"left": 0.0, "middle": wide / 2, "right": wide}[item.anchor]
            assert left >= 9, item.text
            assert left + wide <= 316, item.text
            assert item.y - 0.7 * item.size >= 20, item.text
            assert item.y <= 20 + height, item.text
            boxes.append((left, item.y - 0.72 * item.size, left + wide, item.y, item.text))
        for k, one in enumerate(boxes):
            for other in boxes[k + 1 :]:
                beside = one[2] <= other[0] + 1 or other[2] <= one[0] + 1
                assert beside or one[3] <= other[1] + 1 or other[3] <= one[1] + 1, (one, other)
        assert all(spot.box[1] + spot.box[3] <= 20 + height + 1 for spot in inspector.spots)
    scene.run.close()


@pytest.mark.parametrize(("kind", "words"), [(optim.SGD, {"SGD"}), (optim.Adam, {"Adam", "m", "v"})])
def test_the_optimisers_line_has_its_numbers(kind, words):
    scene = scene_of(kind)
    _, sketch = drawn(scene, 0, 672.0)
    texts = [item.text for item in sketch.texts]
    assert words <= set(texts)
    new = account_of(scene.run, 0).update.after
    if kind is optim.SGD:
        line, result = next((t, texts[k + 1]) for k, t in enumerate(texts) if " × " in t and t.endswith("= "))
        before, lr, g = re.fullmatch(rf"(\S+) {MINUS} (\S+) × (\S+) = ", line).groups()
        assert abs(exact(before) - exact(lr) * exact(g) - exact(result)) <= half_a_digit(result)
    else:
        result = next(t for t in reversed(texts) if "≈" in t).rpartition("≈ ")[2]
    assert abs(Decimal(new) - exact(result)) <= half_a_digit(result)
    scene.run.close()


def test_a_frozen_weight_stays():
    scene = scene_of()
    scene.run.model[0].weight[0][0].frozen = True
    _, sketch = drawn(scene, 0, 672.0)
    texts = [item.text for item in sketch.texts]
    assert "frozen: it stays" in texts
    assert "free" in texts
    scene.run.close()


def test_one_sample_is_one_term():
    scene = scene_of(batch=1)
    _, sketch = drawn(scene, 0, 672.0)
    texts = [item.text for item in sketch.texts]
    assert "step 4: one term" in texts
    assert "sum = gradient" in texts
    scene.run.close()
