"""A step that a page computed opens in it: with the numbers and the texts of the run's own opened step."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kit.runs import far
from scalarviz.run.edits.numbers import SetLimits
from scalarviz.view.ink.sketch import BEND
from scalarviz.view.ink.text import chip_text, delta_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.micro.equations import EQUATIONS, SLOPES
from scalarviz.view.micro.walk import Walk, open_step
from scalarviz.view.page.lists import SHAPES, PictureLists
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

from .players import flat, opened, painted, said, scene
from .test_train import stepped, written
from .test_train_choices import chooses, chosen

ZERO = "zero: Each gradient begins at 0, because the backward pass adds to it."
SCENES = ("rgb", "xor", "neuron", "expression", "playground", "uinn")
FOUND = """() => { const { walk } = scalarviz, listed = all => [...all];
    return { loss: walk.told.loss, step: walk.told.step, weight: listed(walk.written["weight before"]),
        rows: Object.fromEntries([...walk.rows].map(([name, row]) => [name, listed(row)])),
        deltas: Object.fromEntries(Object.entries(walk.written).filter(([name]) => name.startsWith("\u03b4 of "))
            .map(([name, row]) => [name.slice(5), listed(row)])),
        ...Object.fromEntries(Object.entries(walk.numbers).map(([name, all]) => [name, listed(all)])) }; }"""
FILLED = """ats => { const { player, walk } = scalarviz, found = [];
    for (const at of ats) {
        scalarviz.reach(at);
        player.draw();
        const { theme, moment, measure } = player.overlay.ink, ink = { theme, moment, measure, pen: 0 }, texts = [];
        ink.text = (x, y, text) => texts.push(text);
        const free = part => /^step of |^range|^\\d decimals$|^moved/.test(part); // of panels; with room; tested apart
        for (const record of walk.listAt(at, 0)) {
            if (record[0].endsWith("number") && !record.some(free)) paint(ink, record);
        }
        found.push(texts);
    }
    return found; }"""


def trained(page, count):
    """A page that did so many steps, and opened the one after them."""
    stepped(page, count)
    page.keyboard.press(".")
    page.wait_for_function("() => scalarviz.walk", timeout=8000)
    return page.evaluate(FOUND)


def own_walk(made, alone):
    """The step that the run would open now, with its sample alone or with the batch."""
    subject = subject_of(made)
    frame = made.run.frame(subject.probe)
    return subject, Walk(open_step(subject, alone=alone), subject, frame)


def sides_of(page):
    """Yield whether the page shows the sample alone, on each side of the switch."""
    for _ in page.evaluate("scalarviz.made.map(one => one.told.alone)"):
        yield page.evaluate("scalarviz.walk.told.alone")
        page.evaluate("scalarviz.other()")


@pytest.mark.parametrize("name", SCENES)
def test_a_computed_step_has_the_numbers_of_the_runs_own(name, browse, tmp_path):
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps_inside=[6]), "#frame=99")
    trained(page, 5)
    made.run.step(5)
    assert said(page, "said") == ZERO
    check_numbers(page, made)


def check_numbers(page, made):
    """Check that the opened step of a page has the numbers of the one that the run would open, on both sides."""
    for alone in sides_of(page):
        found, (_, walk) = page.evaluate(FOUND), own_walk(made, alone)
        step, weights = walk.opened, len(walk.frame.values)
        assert found["step"] == step.step
        assert found["loss"] == pytest.approx(step.loss, rel=1e-4)
        factors = {"product": walk.lighting.forward_factors, "passed on": walk.lighting.backward_factors}
        ours = {"gradient": step.gradient, "change": walk.change, "weight": step.values}
        for quantity, numbers in (ours | {name: x * step.values for name, x in factors.items()}).items():
            known = ~np.isnan(numbers[:weights])
            assert not known.any() or far(np.array(found[quantity])[known], numbers[:weights][known]) < 1e-4, quantity
        means = walk.frame.activations | {"nodes": step._passes.means[: len(found["rows"]["nodes"])]}
        for name, row in found["rows"].items():
            assert far(row, means.get(name, walk.subject.target)) < 1e-4, name
        for name, row in found["deltas"].items():
            if name in step.delta_sums:
                np.testing.assert_allclose(row, step.delta_sums[name], rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", SCENES)
def test_its_texts_are_those_of_the_window_at_the_same_weights(name, browse, tmp_path):
    """All that is written in a computed step also stands in the window's picture."""
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps_inside=[6]), "#frame=99")
    found = trained(page, 40)
    made.run.step(40)
    made.run.values[:] = found["weight"]
    for alone in sides_of(page):
        subject, walk = own_walk(made, alone)
        ats = [*range(1, len(walk) + 1)]
        check_texts(subject, walk, page.evaluate(FILLED, ats))
        page.evaluate("scalarviz.reach(scalarviz.walk.count)")
        there = any("lr" in word.text for line in walk.micro_step_at(len(walk)).sentence.why for word in line)
        assert ("(lr" in painted(page)) == there  # in place of the sentence


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("rgb", {"optimiser": "Adam"}),
        ("rgb", {"l2 ": "0.05"}),
        ("xor", {"activation": "relu"}),
        ("xor", {"activation": "gelu", "optimiser": "AdamW"}),
        ("playground", {"activation": "sigmoid", "optimiser": "momentum"}),
    ],
)
def test_a_step_with_other_formulas_opens_with_its_own_numbers_and_no_foreign_words(name, changes, browse, tmp_path):
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps_inside=[6]), "#frame=99")
    for label, value in changes.items():
        chooses(page, label, value)
        if label == "l2 ":
            made.run.do(SetLimits(l2=float(value)))
        else:
            chosen(made, label, value)
    page.evaluate("document.activeElement.blur()")
    trained(page, 5)
    made.run.step(5)
    check_numbers(page, made)
    bend, seen = changes.get("activation", ""), 0
    kind = type(made.run.optimizer).__name__
    for alone in sides_of(page):
        made.run.values[:] = page.evaluate(FOUND)["weight"]
        subject, walk = own_walk(made, alone)
        check_texts(subject, walk, page.evaluate(FILLED, [*range(1, len(walk) + 1)]))
        for at in range(1, len(walk) + 1):
            page.evaluate("at => scalarviz.reach(at)", at)
            words = painted(page)
            assert kind in words.split()
            assert not bend or ("tanh 1" not in words and "h1²" not in words)
            ours = walk.micro_step_at(at).sentence.formulas[:1]  # of the run, which has that activation
            needs = alone and bend in SLOPES and any(formula.needs == BEND for formula in ours)
            assert not needs or ours[0].letters in words
            seen += needs
        apart = (walk.change * walk.opened.gradient[: len(walk.change)] > 0).any()
        assert ("go with their gradient" in said(page, "remark")) == apart
        assert ("lr · g" in words) == (changes.keys() == {"activation"})
        assert ("w + Δw = w'" in words) == (changes.keys() != {"activation"})
        ends = page.evaluate("['weight before', 'weight after'].map(name => scalarviz.walk.written[name].at(-1))")
        assert changes.keys() == {"activation"} or all(piece in words for piece in EQUATIONS["moved"](*ends))
    assert (seen > 3) == (bend in SLOPES)


def check_texts(subject, walk, found):
    """Check that what a page writes at each micro-step stands in the window's picture.

    A page's panels above the cubes leave them more room in an opened step: they have one height, beside the time bar.
    """
    bench, timed = Workbench(subject, SHAPES[0], DARK), Workbench(subject, SHAPES[0], DARK, timed=True)
    for drawer, beside_time in zip(bench.side.drawers.values(), timed.side.drawers.values(), strict=True):
        if drawer.panel.place == "above":
            drawer.above = beside_time.box[3]
    bench.follow(walk.frame)
    bench.step_drawing.show(None)
    lists = PictureLists(bench)
    for at, texts in enumerate(found, 1):
        step = walk.micro_step_at(at)
        bench.step_drawing.show(step, animated=False)
        bench.update(step.frame, step.headline.removeprefix("paused "))
        words = {one[3] for one in flat(lists) if one[0] == "text"}
        words |= {word.removeprefix("batch 1  ·  ") for word in words}  # it stands above, where there is room
        formulas = (*step.sentence.formulas, *filter(None, (step.sentence.short,)))
        words |= {word.text for formula in formulas for word in formula.numbers}  # some have no room
        words |= {word.text for line in step.sentence.why for word in line}
        words |= {delta_text(float(x)) for row in step.deltas.values() for x in row}
        words |= {chip_text(float(x)) for row in step.frame.activations.values() for x in np.ravel(row)}
        ways = () if step.sentence.bound is None else step.sentence.bound.ways
        for first, last in combinations(range(len(texts) + 1), 2):  # a whole sentence, in lines for another width
            words |= {*texts[first:last]} if " ".join(texts[first:last]) in ways else set()
        assert len(texts) > 3
        assert set(texts) <= words, (at, set(texts) - words)


def test_keys_in_a_hurry_back_from_a_frame_and_of_another_quantity(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path, steps_inside=[3]), "#step=5")
    page.evaluate("for (let k = 0; k < 3; k++) scalarviz.next()")  # the first one opens, which takes a moment
    page.wait_for_function("() => scalarviz.walk && scalarviz.at === 3")
    assert page.evaluate("scalarviz.walk.told.step") == 6
    page.keyboard.press("u")
    assert said(page, "remark") == "the cubes of an opened step show what it is about"
    page.keyboard.press("Escape")
    assert page.evaluate("[scalarviz.frame, scalarviz.quantity]") == [2, "weight"]
    page.keyboard.press(",")
    page.wait_for_function("() => scalarviz.walk && scalarviz.at === scalarviz.walk.count")
    assert page.evaluate("scalarviz.walk.told.step") == 5


def test_it_opens_while_the_page_trains(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path, steps_inside=[6]), "#frame=99")
    page.keyboard.press("Space")
    page.wait_for_function("() => scalarviz.run.computed > 2")
    page.keyboard.press(".")
    page.wait_for_function("() => scalarviz.walk", timeout=8000)
    frame, frames, step = page.evaluate("[scalarviz.frame, scalarviz.run.frames, scalarviz.run.steps.at(-1)]")
    assert frame == frames - 1
    assert page.evaluate(FOUND)["step"] == step + 1
    assert page.evaluate("scalarviz.walk.written['weight before'][4]") == pytest.approx(
        page.evaluate("scalarviz.run.shown(scalarviz.frame).texels.weight[4]"), rel=1e-6
    )


def test_it_closes_like_any_other_and_nothing_is_changed(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path, steps_inside=[6]), "#frame=99")
    before = trained(page, 5)
    assert "micro-step 1 of 44" in painted(page)
    assert "whole batch" in page.locator("#inner").inner_text()
    page.keyboard.press("Escape")
    assert page.evaluate("[scalarviz.walk, scalarviz.frame]") == [None, 5]
    page.keyboard.press(".")
    page.wait_for_function("() => scalarviz.walk", timeout=8000)
    assert page.evaluate(FOUND) == before
    page.keyboard.press("Escape")
    page.evaluate("scalarviz.go(scalarviz.held[0])")
    page.keyboard.press(".")
    assert page.evaluate("scalarviz.walk.computed ?? false") is False


HERE = "[scalarviz.at, scalarviz.walk?.told.alone ?? null, scalarviz.run.steps[scalarviz.frame], location.hash]"


@pytest.mark.parametrize("name", ["xor", *(pytest.param(name, marks=pytest.mark.hunt) for name in ("rgb", "uinn"))])
def test_the_address_names_the_micro_step_of_recorded_and_computed_steps(name, browse, tmp_path):
    file = written(scene(name), tmp_path, steps_inside=[6])
    page = opened(browse(reduced_motion="reduce"), file, "#frame=1")
    for begin, at in (("#step=4", 4), ("#train=12&did=lr:0.0625@7", 12)):
        page.evaluate("hash => scalarviz.follow(hash)", begin)
        page.wait_for_function(
            "at => scalarviz.run.steps[scalarviz.frame] === at && !scalarviz.training.address.repeated", arg=at
        )
        page.keyboard.press(".")
        page.wait_for_function("() => scalarviz.walk", timeout=8000)
        page.evaluate("[1, 2, 3, 4].forEach(() => scalarviz.next())")
        for alone in sides_of(page):
            wanted, found = page.evaluate(HERE), page.evaluate(FOUND)
            assert wanted == [5, alone, at, f"{begin}&micro=5{'' if alone else '&whole=1'}"]
            other = opened(browse(reduced_motion="reduce"), file, wanted[-1])
            other.wait_for_function("() => scalarviz.at === 5", timeout=8000)
            assert other.evaluate(HERE) == wanted
            assert other.evaluate(FOUND) == found
            assert other.evaluate(FILLED, [5]) == page.evaluate(FILLED, [5])
            other.context.close()
        page.keyboard.press("Escape")
        assert page.evaluate(HERE) == [0, None, at, begin]


@pytest.mark.parametrize("asked", ["micro=1e999", "micro=44.4&whole=<b>", "micro=99"])
def test_a_micro_step_beyond_the_last_is_the_last(asked, browse, tmp_path):
    page = opened(
        browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path, steps_inside=[6]), f"#frame=1&{asked}"
    )
    page.wait_for_function("() => scalarviz.at === 44", timeout=8000)
    assert page.evaluate(HERE) == [44, True, 4, "#step=4&micro=44"]


def test_another_address_in_an_open_step_closes_it_and_opens_its_own(browse, tmp_path):
    page = opened(
        browse(reduced_motion="reduce"), written(scene("xor"), tmp_path, steps_inside=[6]), "#train=40&micro=3"
    )
    for address in ("#train=30&did=bend:1@20&micro=9", "#train=12&micro=2"):
        page.wait_for_function("() => scalarviz.walk && !scalarviz.training.address.repeated", timeout=8000)
        page.evaluate("hash => { location.hash = hash; }", address)
        step, micro = (int(part.split("=")[1]) for part in (address.split("&")[0], address.split("&")[-1]))
        page.wait_for_function(
            "([step, at]) => scalarviz.walk?.told.step === step && scalarviz.at === at",
            arg=[step + 1, micro],
            timeout=8000,
        )
        assert page.evaluate("location.hash") == address
    page.evaluate("scalarviz.training.home()")
    assert page.evaluate("[scalarviz.walk, scalarviz.run.computed]") == [None, 0]


def test_an_action_while_the_page_repeats_an_address_opens_nothing(browse, tmp_path):
    hash = "#train=1000000&micro=5"
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path, steps_inside=[6]), hash)
    page.evaluate("scalarviz.training.home()")
    page.wait_for_function("() => !scalarviz.training.waiting")
    page.wait_for_timeout(300)
    assert page.evaluate(HERE) == [0, None, 7, ""]
