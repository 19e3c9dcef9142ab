"""A page that trains with something else than was recorded: each choice has the effect of the window's own control."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import reader_of
from kit.runs import far
from scalarviz import optim
from scalarviz.run.edits.numbers import SetLimits
from scalarviz.run.scene.own_controls import own_controls
from scalarviz.run.source import Moment
from scalarviz.view.shown.subject import subject_of

from .players import opened, painted, said, scene
from .test_train import LAST, stepped, waited, written


def chosen(made, label, value):
    """Set one of the window's controls of a scene's run."""
    reader = reader_of(made)
    (control,) = (one for one in own_controls(reader) if one.label == label)
    made.run.do(control.change(value, reader))


def chooses(page, label, name):
    """Choose in the row of changes, and wait for the frame."""
    frames = page.evaluate("scalarviz.run.frames")
    if page.locator("#changes").is_hidden():
        page.get_by_role("button", name="change").click()
    field = page.locator("#changes label", has_text=label).locator("select, input")
    if field.evaluate("one => one.tagName") == "SELECT":
        field.select_option(name)
    else:
        field.fill(name)
        page.keyboard.press("Enter")
    page.wait_for_function("n => !scalarviz.training.waiting && scalarviz.run.frames === n", arg=frames + 1)


def same(page, made, count):
    """The page and the run are as far after so many steps, and show the same loss."""
    found = stepped(page, count)
    made.run.step(count)
    assert far(found["weight"][: len(made.run.values)], made.run.values) < 1e-4
    assert far(found["gradient"][: len(made.run.values)], made.run.frame().gradient) < 1e-3
    return found


@pytest.mark.parametrize(
    ("name", "rules"), [("rgb", ("Adam", "momentum", "SGD")), ("xor", ("momentum", "AdamW", "SGD"))]
)
def test_another_optimiser_does_what_it_does_in_the_run(name, rules, browse, tmp_path):
    """Also the recorded one, chosen again: it begins anew."""
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    for rule in rules:
        chooses(page, "optimiser", rule)
        chosen(made, "optimiser", rule)
        assert float(page.get_by_label("lr", exact=True).input_value()) == made.run.optimizer.lr
        same(page, made, 20)
        assert type(made.run.optimizer).__name__ in painted(page).split()
    assert page.get_by_label("no bias correction").is_hidden()
    hash = page.evaluate("location.hash")
    assert hash.startswith("#train=67&did=rule:")
    page.get_by_role("button", name="undo").click()
    assert page.evaluate("scalarviz.run.steps[scalarviz.frame]") == 47
    again = opened(browse(reduced_motion="reduce"), tmp_path / "page.html", hash)
    waited(again, 67)
    assert again.evaluate("location.hash") == hash


@pytest.mark.parametrize(
    "did", ["rule:99@9,rule:-1@9,rule:1.5@9,rule:1e400@9,rule:length@9,l1:-1@9,l2:NaN@9,l1:1e999@9"]
)
def test_a_choice_that_does_not_exist_does_nothing(did, browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), f"#train=12&did={did}")
    waited(page, 12)
    assert page.evaluate("location.hash") == "#train=12"
    assert np.isfinite(stepped(page)["loss"])


def test_a_step_with_other_formulas_does_not_open_and_says_why(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path, steps_inside=[6]), "#frame=99")
    chooses(page, "optimiser", "Adam")
    stepped(page)
    page.keyboard.press(".")
    assert "no words for its optimiser" in said(page, "about")
    page.evaluate("scalarviz.go(4)")  # before the change
    page.keyboard.press(".")
    page.wait_for_function("() => scalarviz.walk", timeout=8000)


def test_parameter_groups_have_no_choice_of_optimisers(browse, tmp_path):
    made = scene("xor", steps=0)
    first, *others = made.run.model.parameters()
    made.run.change(optimizer=optim.SGD([{"params": [first], "lr": 0.1}, {"params": others, "lr": 0.2}]))
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    page.get_by_role("button", name="change").click()
    assert page.locator("#changes label", has_text="optimiser").is_hidden()
    same(page, made, 3)


@pytest.mark.parametrize(("name", "rule", "before"), [("rgb", "SGD", {"l1": 0.01}), ("xor", "AdamW", {})])
def test_penalties_are_those_of_the_run(name, rule, before, browse, tmp_path):
    """Also with penalties in the recorded update, in place of which others come, and of each optimiser."""
    made = scene(name)
    made.run.do(SetLimits(**before))
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    limits = [("l1", 0.02), ("l2", 0.05), ("l1", 0.0)]
    if rule != "SGD":
        chooses(page, "optimiser", rule)
        chosen(made, "optimiser", rule)
    now = {"l1": 0.0, "l2": 0.0} | before
    for label, value in limits:
        chooses(page, f"{label} ", f"{value}")
        now[label] = value
        made.run.do(SetLimits(**now))
        found = same(page, made, 20)
        moment = Moment(made.run.frame(), subject_of(made).source)
        assert found["loss"] == pytest.approx(moment.shown_loss(made.whole_loss), rel=1e-3)
    hash = page.evaluate("location.hash")
    again = opened(browse(reduced_motion="reduce"), tmp_path / "page.html", hash)
    assert waited(again, 67) == page.evaluate(LAST)


def test_the_head_says_the_batch_of_the_line(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), "#frame=99")
    chooses(page, "batch", "3")
    assert "batch 3" in painted(page)
    page.evaluate("scalarviz.go(1)")
    assert "batch 1 " in painted(page)


@pytest.mark.parametrize("name", ["xor", "playground", "uinn"])
def test_another_activation_does_what_it_does_in_the_run(name, browse, tmp_path):
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    bends = page.evaluate("scalarviz.training.told.bends.map(one => one.name)")
    assert sorted(bends) == ["gelu", "relu", "sigmoid", "tanh"]
    for bend in [*bends[1:], bends[0]]:
        chooses(page, "activation", bend)
        chosen(made, "activation", bend)
        found = same(page, made, 20)
        with sv.load_recording(tmp_path / "run.svz") as record:
            frame = made.run.frame(record.probe)
        moment = Moment(frame, subject_of(made).source)
        assert found["loss"] == pytest.approx(moment.shown_loss(made.whole_loss), rel=1e-3)
        for row, numbers in found["rows"].items():
            assert far(numbers, np.ravel(frame.activations[row])) < 1e-3, row
        words = painted(page)
        labels = page.evaluate("k => Object.values(scalarviz.training.told.bends[k].labels)", bends.index(bend))
        assert all(label in words for label in labels)
    page.evaluate("scalarviz.training.change('bend', 1)")
    page.evaluate("scalarviz.go(2)")  # in the recording
    assert labels[0] in painted(page)


def test_a_network_without_one_hidden_activation_has_no_choice_of_them(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#train=9&did=bend:1@8")
    waited(page, 9)
    page.get_by_role("button", name="change").click()
    assert page.locator("#changes label", has_text="activation").is_hidden()
    assert page.evaluate("location.hash") == "#train=9"
