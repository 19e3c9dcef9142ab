"""A page that trains with something else than was recorded: each choice has the effect of the window's own control."""

from __future__ import annotations

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.commands import reader_of
from kit.runs import far
from scalarviz import optim
from scalarviz.run.edits.numbers import SetLimits
from scalarviz.run.scene.own_controls import own_controls
from scalarviz.run.source import Moment
from scalarviz.view.ink.text import loss_text
from scalarviz.view.shown.subject import subject_of

from .players import opened, painted, pixels_of, said, scene
from .test_train import LAST, rated, stepped, waited, written


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


def test_a_step_without_zero_grad_does_not_open_and_says_why(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path, steps_inside=[6]), "#frame=99")
    page.evaluate("scalarviz.training.change('keep', 1)")
    stepped(page)
    page.keyboard.press(".")
    assert "no step sets its gradients to 0" in said(page, "about")
    page.evaluate("scalarviz.go(4)")  # before the change
    page.keyboard.press(".")
    page.wait_for_function("() => scalarviz.walk", timeout=8000)


TOO_LARGE = {"rgb": 1000, "neuron": 10, "playground": 10, "digits": 10}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_rate_that_is_too_large_is_said_and_the_usual_one_is_not(name, browse, tmp_path):
    """Also from an address, and no longer after an undo; a loss that another change raised is not the rate's."""
    page = opened(browse(reduced_motion="reduce"), written(scene(name), tmp_path), "#frame=99")
    field, words, losses = page.get_by_label("lr", exact=True), "since lr is", []
    field.fill(field.input_value())
    for _ in range(12):
        losses = [stepped(page)["loss"]]
        assert words not in said(page, "about")
    rated(page, TOO_LARGE[name])
    while words not in said(page, "about"):
        losses.append(stepped(page)["loss"])
        assert np.isfinite(losses[-1])
        assert len(losses) < 99
    assert f"from {loss_text(losses[0])} to {loss_text(max(losses))} since" in said(page, "about")
    assert max(losses) > 1.5 * losses[0]
    again = opened(browse(reduced_motion="reduce"), tmp_path / "page.html", page.evaluate("location.hash"))
    waited(again, 18 + len(losses))
    again.wait_for_function("() => !scalarviz.training.address.repeated")
    page.evaluate("scalarviz.training.undo()")
    assert words not in said(page, "about")
    page.evaluate("scalarviz.training.change(0, 1e4)")
    page.wait_for_function("() => !scalarviz.training.waiting")
    assert words not in said(page, "about")


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


@pytest.mark.parametrize("name", ["xor", "playground"])
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


DISCS = """frame => scalarviz.pictures.listOf("plane", frame, "dark")
  .filter(([kind]) => kind === "cells").flatMap(([, rects]) => rects)"""
MAP = """() => {
  const { samples } = scalarviz.training.changes, found = [];
  for (let y = 0; y < innerHeight; y += 3) for (let x = 0; x < innerWidth; x += 3) {
    if (samples.under({ clientX: x, clientY: y })) found.push([x, y]);
  }
  return [0, 1].map(k => found.map(at => at[k])).map(some => [Math.min(...some), Math.max(...some)]);
}"""


def put(page, kind, share, press):
    """Choose a kind, and press a place of the map: the place and what the page added, its x, y and kind."""
    frames = page.evaluate("scalarviz.run.frames")
    if page.locator("#changes").is_hidden():
        page.get_by_role("button", name="change").click()
    button = page.locator("#changes span button").nth(kind)
    if button.get_attribute("aria-pressed") == "false":
        button.click()
    page.evaluate("scrollTo(0, 0)")
    place = [low + part * (high - low) for part, (low, high) in zip(share, page.evaluate(MAP), strict=True)]
    press(*place)
    page.wait_for_function("n => !scalarviz.training.waiting && scalarviz.run.frames === n", arg=frames + 1)
    what, _, said, _ = page.evaluate("scalarviz.run.line.did.at(-1)")
    assert what == "add"
    return place, [float(part) for part in said.split(";")]


@pytest.mark.parametrize(
    ("name", "options", "size"),
    [("playground", {}, (1280, 720)), ("xor", {"batch": 4}, (1280, 720)), ("xor", {}, (390, 844))],
)
def test_a_press_on_the_map_adds_a_sample_as_the_runs_own_edit_does(name, options, size, browse, tmp_path):
    """Its disc is where the pointer was; a batch of all samples stays one."""
    made, phone = scene(name, **options), size[0] < 500
    page = opened(browse(reduced_motion="reduce", viewport=dict(zip(("width", "height"), size, strict=True)),
                         has_touch=phone), written(made, tmp_path), "#frame=99")  # fmt: skip
    panel, count = made.panels[0], len(made.run.samples()[0])
    axes = [(axis.least, axis.most) for axis in (panel.across, panel.up)]
    for k, share in enumerate([(0.2, 0.3), (0.6, 0.85)]):
        before, frame = page.evaluate(DISCS, 99), page.evaluate("scalarviz.frame")
        at, (x, y, kind) = put(page, k, share, page.touchscreen.tap if phone else page.mouse.click)
        assert kind == k
        wanted = [low + part * (high - low) for part, (low, high) in zip((share[0], 1 - share[1]), axes, strict=True)]
        assert np.abs(np.subtract((x, y), wanted)).max() < 0.03 * np.ptp(axes[0])
        after = page.evaluate(DISCS, 99)
        assert len(after) == len(before) + 8  # a rim, and its inside
        assert page.evaluate(DISCS, frame) == before
        scale = page.evaluate("devicePixelRatio")
        pixel = pixels_of(page.screenshot())[round(at[1] * scale), round(at[0] * scale)]
        inks = page.evaluate("scalarviz.training.changes.samples.slot.ground.inks.dark")
        assert np.abs(pixel - [*bytes.fromhex(inks[k])]).max() < 12
        made.run.add_samples(panel.inputs(np.array([[x, y]])), [[panel.span[k]]])
        moment = Moment(made.run.frame(), subject_of(made).source)
        assert page.evaluate(LAST)["loss"] == pytest.approx(moment.shown_loss(made.whole_loss), rel=1e-4)
        if not phone:
            assert f"of all {count + k + 1} samples" in painted(page)
        same(page, made, 20)
    assert page.get_by_label("batch").input_value() == str(made.run.batch_size)
    page.keyboard.press("Escape")
    assert not page.locator("#changes span button[aria-pressed=true]").count()
    hash = page.evaluate("location.hash")
    page.get_by_role("button", name="undo").click()
    assert page.evaluate(DISCS, page.evaluate("scalarviz.frame")) == before
    again = opened(browse(reduced_motion="reduce"), tmp_path / "page.html", hash)
    assert waited(again, 47)["weight"] == page.evaluate(LAST)["weight"]
    assert again.evaluate("location.hash") == hash


def test_samples_are_added_while_the_page_trains(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("playground"), tmp_path), "#train")
    page.evaluate("scalarviz.training.toggle()")
    page.get_by_role("button", name="change").click()
    page.locator("#changes span button").first.click()
    (left, right), (top, bottom) = page.evaluate(MAP)
    for k in range(3):
        page.mouse.click((left + right) / 2 + 20 * k, (top + bottom) / 2)
    page.wait_for_function("() => scalarviz.run.line.did.length === 3 && scalarviz.training.running")
    steps = [step for _, step, *_ in page.evaluate("scalarviz.run.line.did")]
    page.wait_for_function("step => scalarviz.run.steps.at(-1) > step", arg=steps[-1])


@pytest.mark.parametrize(("name", "samples", "did"), [
    ("playground", 250, "add:NaN;0;1@9,add:-;0;1@9,add:1e400;0;1@9,add:0;6.001;1@9,add:-1e9;0;1@9,add:0;0;2@9"),
    ("playground", 250, "add:;;1@9,add:0;0;@9,add:0;0;0.5@9,add:0;0;-1@9,add:0;0;1;1@9,add:1@9,add:;;;@9,add:0;0@9"),
    ("rgb", None, "add:0;0;1@9"),
])  # fmt: skip
def test_samples_that_cannot_be_added_do_nothing(name, samples, did, browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene(name), tmp_path), f"#train=12&did={did}")
    waited(page, 12)
    assert page.evaluate("location.hash") == "#train=12"
    if samples:
        assert page.evaluate("scalarviz.training.line.sizesAt(scalarviz.frame).samples") == samples
    assert np.isfinite(stepped(page)["loss"])


def test_no_more_than_200_samples_are_added(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("playground"), tmp_path), "#frame=99")
    page.evaluate(
        """async () => { for (let k = 0; k < 230; k++) await scalarviz.training.change("add", "0.5;-0.3;1"); }"""
    )
    assert page.evaluate("scalarviz.training.line.sizesAt(scalarviz.frame).samples") == 450


@pytest.mark.parametrize(("name", "options"), [("xor", {}), ("playground", {"data": "plane"})])
def test_a_map_of_other_inputs_or_targets_takes_no_samples(name, options, browse, tmp_path):
    made = scene(name, **options)
    panel, *others = made.panels
    if name == "xor":
        made.panels = (replace(panel, inputs=lambda points: panel.inputs(points)[:, ::-1]), *others)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    assert {*page.evaluate("scalarviz.training.told.slots.map(({ ground }) => ground)")} == {None}
    page.get_by_role("button", name="change").click()
    assert not page.get_by_text("add a point").count()


DROP = """([text, type]) => {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from(atob(text), one => one.charCodeAt(0))], "a.png", { type }));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


PIXELS = """number => {
  const list = scalarviz.pictures.listOf("painting", 99, "dark");
  const one = list.filter(([kind]) => kind === "image")[number], drawn = [];
  if (!one) return null;
  const { drawImage } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.drawImage = function (picture, ...more) {
    drawn.push(picture);
    return drawImage.call(this, picture, ...more);
  };
  scalarviz.player.overlay.ink.films.clear();
  scalarviz.player.draw();
  CanvasRenderingContext2D.prototype.drawImage = drawImage;
  const { width, height } = drawn[number];
  return [...drawn[number].getContext("2d").getImageData(0, 0, width, height).data];
}"""


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def test_a_dropped_picture_is_learnt_as_in_the_window(browse, tmp_path):
    """Its panel shows what the network paints, and the picture; the address does not say that it repeats it."""
    dice = np.random.default_rng(1)
    first, other = dice.integers(0, 256, (2, 16, 24, 3), np.uint8)
    (tmp_path / "first.png").write_bytes(png(first))
    made = scene("texture", picture=tmp_path / "first.png", hidden=(8,), batch=64)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    same(page, made, 5)
    hash = page.evaluate("location.hash")
    frames = page.evaluate("scalarviz.run.frames")
    page.evaluate(DROP, [base64.b64encode(b"no picture").decode(), "image/png"])
    page.wait_for_function("() => document.getElementById('about').textContent.includes('cannot read')")
    page.evaluate(DROP, [base64.b64encode(png(other)).decode(), "image/png"])
    page.wait_for_function("n => !scalarviz.training.waiting && scalarviz.run.frames === n", arg=frames + 1)
    made.run.do(made.panels[0].other((other / np.float32(255)).astype(np.float32)))
    found = same(page, made, 5)
    with sv.load_recording(tmp_path / "run.svz") as record:
        probe = record.probe
    error = made.run.predict(np.reshape(probe, (1, -1)))[0] - other[8, 12] / 255
    assert found["sample"] == pytest.approx(np.mean(error**2), rel=1e-3)
    pictures = [page.evaluate(PIXELS, k) for k in (0, 1)]
    high, wide = first.shape[:2]
    y, x = ((np.arange(count) + 0.5) / count for count in (high, wide))
    places = np.stack([np.tile(x, high), np.repeat(y, wide)], axis=1)
    network = 255 * made.run.predict(places).reshape(high, wide, 3)
    assert np.abs(np.reshape(pictures[0], (high, wide, 4))[..., :3] - network).max() <= 1.0
    assert (np.reshape(pictures[1], (high, wide, 4))[..., :3] == other).all()
    assert page.evaluate(PIXELS, 2) is None  # the error, which is not computed
    assert page.evaluate("location.hash") in ("", "#")
    assert said(page, "about") == "a dropped picture is not in the address"
    page.keyboard.press("Control+z")
    assert page.evaluate("location.hash") == hash


def test_an_address_without_room_for_all_changes_says_so(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    for k in range(3):
        page.evaluate("k => scalarviz.training.change(k, 0.25)", k)
        page.wait_for_function("() => !scalarviz.training.waiting")
    assert "did=0:0.25" in page.evaluate("location.hash")
    page.evaluate("scalarviz.run.line.did.push(...Array.from({ length: 400 }, (_, k) => [String(k % 12), 4, 0.5, 1]))")
    page.evaluate("scalarviz.training.address.tell()")
    assert page.evaluate("location.hash") in ("", "#")
    assert said(page, "about") == "these are too many changes for an address"


def test_a_network_without_one_hidden_activation_has_no_choice_of_them(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#train=9&did=bend:1@8")
    waited(page, 9)
    page.get_by_role("button", name="change").click()
    assert page.locator("#changes label", has_text="activation").is_hidden()
    assert page.evaluate("location.hash") == "#train=9"
