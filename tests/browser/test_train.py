"""A page that trains: what it computes is what the run computes, its picture is the window's, and nothing leaves it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import far
from scalarviz import nn, optim
from scalarviz.run.source import Moment
from scalarviz.view.shown.subject import subject_of

from .players import opened, painted, said, scene

EVERY = ("rgb", "xor", "neuron", "playground", "digits", "uinn", "expression")
GROWN = "frames => !scalarviz.late && scalarviz.run.frames >= frames"
LAST = """() => {
  const { run, player } = scalarviz, frame = run.frames - 1, shown = run.shown(frame, player.document);
  const rows = {};
  for (const [name, row] of Object.entries(shown.rows)) rows[name] = [...row];
  for (const { kind, name, texel, size } of run.document.plates) {
    if (kind === "activation") rows[name] = [...shown.texels.weight.subarray(texel, texel + size)];
  }
  const texels = Object.fromEntries(Object.entries(shown.texels).map(([name, all]) => [name, [...all]]));
  return { ...texels, rows, loss: run.loss.at(-1), step: run.steps.at(-1), sample: shown.sample_loss };
}"""


def written(made, path, every=1, steps=4):
    """The page of a scene's recording, which ends where the scene is now."""
    with sv.Recording(
        made, every=every, gradients=True, updates=True, activations=True, path=path / "run.svz"
    ) as record:
        made.run.step(steps)
        record.save_html(path / "page.html", open=[])
    return path / "page.html"


def stepped(page, count=1):
    frames = page.evaluate("scalarviz.run.frames")
    page.evaluate("count => void scalarviz.actions.step(count)", count)
    page.wait_for_function(GROWN, arg=frames + 1)
    return page.evaluate(LAST)


@pytest.mark.parametrize(
    "name", [*EVERY, pytest.param("microgpt", marks=pytest.mark.ci), pytest.param("texture", marks=pytest.mark.ci)]
)
def test_a_page_computes_what_the_run_computes(name, browse, tmp_path):
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    with sv.load_recording(tmp_path / "run.svz") as record:
        probe = record.probe
    for count in (1, 5):
        found = stepped(page, count)
        made.run.step(count)
        frame = made.run.frame(probe)
        weights = len(frame.values)
        assert found["step"] == frame.step
        shown = Moment(frame, subject_of(made).source).shown_loss(made.whole_loss)
        assert found["loss"] == pytest.approx(shown, rel=1e-3)
        for quantity, ours in (("weight", frame.values), ("gradient", frame.gradient), ("update", frame.update)):
            assert far(found[quantity][:weights], ours) < 2e-3, quantity
        for row, numbers in found["rows"].items():
            assert far(numbers, np.ravel(frame.activations[row])) < 2e-3, row


def test_the_picture_of_a_computed_step_has_its_numbers_and_no_others(browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    before = painted(page)
    assert "recording" in before
    stepped(page, 300)
    words = painted(page)
    assert "trained on in this page" in words
    assert "307" in words
    assert "clipped" not in words
    assert "It is too" not in words  # the sentence of another step
    assert said(page, "loss") in words
    page.locator("#speed input").fill("0.125")
    stepped(page)
    assert "lr 0.125" in painted(page)


def test_space_trains_at_the_end_and_pauses(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), "#frame=99")
    page.keyboard.press("Space")
    page.wait_for_function(GROWN, arg=12)
    page.keyboard.press("Space")
    page.wait_for_timeout(200)
    frames = page.evaluate("scalarviz.run.frames")
    page.wait_for_timeout(200)
    assert page.evaluate("scalarviz.run.frames") == frames
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("scalarviz.frame") == frames - 2
    page.get_by_role("button", name="back to step").click()
    assert page.evaluate("[scalarviz.run.frames, scalarviz.frame]") == [5, 4]


def test_forward_back_and_forward_again_has_the_same_bits(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("playground"), tmp_path), "#frame=99")
    first = [stepped(page, 7), stepped(page, 1)]
    page.get_by_role("button", name="back to step").click()
    assert [stepped(page, 7), stepped(page, 1)] == first


def test_a_rate_that_is_too_high_stops_and_says_so(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("expression"), tmp_path), "#frame=99")
    page.locator("#speed input").fill("1e30")
    page.get_by_role("button", name="train on").click()
    page.wait_for_function("() => document.getElementById('about').textContent.includes('diverged')")
    assert page.get_by_role("button", name="train on").is_visible()
    page.get_by_role("button", name="back to step").click()
    page.locator("#speed input").fill("0.01")
    assert np.isfinite(stepped(page)["loss"])


def test_a_weight_gets_another_value_and_training_goes_on_from_it(browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    page.evaluate("scalarviz.select(4)")
    page.locator("#card input").fill("-3")
    page.keyboard.press("Enter")
    page.wait_for_function(GROWN, arg=6)
    found = page.evaluate(LAST)
    assert far(found["gradient"][:12], made.run.frame().gradient) < 1e-6  # that of the last step
    assert "diverged" not in said(page, "about")
    made.run.values[4] = -3.0
    assert far(found["weight"][:12], made.run.values) < 1e-6
    assert found["loss"] == pytest.approx(
        Moment(made.run.frame(), subject_of(made).source).shown_loss(made.whole_loss), rel=1e-4
    )
    found = stepped(page, 5)
    made.run.step(5)
    assert far(found["weight"][:12], made.run.values) < 1e-5
    page.keyboard.press("Home")
    assert not page.locator("#card input").is_visible()


def test_an_address_repeats_what_was_done_to_the_bit(browse, tmp_path):
    file = written(scene("playground"), tmp_path)
    page = opened(browse(reduced_motion="reduce"), file, "#frame=99")
    stepped(page, 7)
    page.locator("#speed input").fill("0.125")
    stepped(page, 5)
    page.evaluate("scalarviz.select(4)")
    page.locator("#card input").fill("-0.7")
    page.keyboard.press("Enter")
    page.wait_for_function(GROWN, arg=8)
    wanted = stepped(page, 300)
    hash = page.evaluate("location.hash")
    assert hash == "#train=319&did=lr:0.125@14,4:-0.7@19"
    other = opened(browse(reduced_motion="reduce"), file, hash)
    other.wait_for_function("() => scalarviz.run.steps.at(-1) === 319")
    assert other.evaluate(LAST) == wanted


@pytest.mark.parametrize("did", ["1e400", "-5", "9&did=lr:NaN@5,99999:1@5,4:9@1e9,<b>:1@2,4:1e999@8"])
def test_a_damaged_address_does_no_harm(did, browse, tmp_path):
    hash = f"#train={did}"
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), hash)
    page.wait_for_timeout(500)
    assert page.evaluate("scalarviz.run.steps.at(-1)") in (7, 9)
    assert np.isfinite(stepped(page)["loss"])


def test_many_computed_frames_are_thinned(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), "#frame=99")
    stepped(page)
    page.evaluate("scalarviz.pace(120)")
    page.get_by_role("button", name="train on").click()
    page.wait_for_function(GROWN, arg=40)
    page.get_by_role("button", name="pause").first.click()
    steps = page.evaluate("scalarviz.run.steps")
    assert steps == sorted(steps)


@pytest.mark.parametrize("where", ["worker", "page"])
def test_it_trains_where_workers_are_forbidden_too(where, browse, tmp_path):
    page = browse(reduced_motion="reduce")
    if where == "page":
        page.add_init_script("window.Worker = class { constructor() { throw new Error('forbidden'); } };")
    made = scene("rgb")
    opened(page, written(made, tmp_path), "#frame=99")
    found = stepped(page, 3)
    made.run.step(3)
    assert far(found["weight"][: len(made.run.values)], made.run.values) < 1e-5


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ((nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1)), "Dropout"),
        ((nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)), "BatchNorm"),
    ],
)
def test_a_page_that_cannot_train_says_why(layers, why, tmp_path):
    net = nn.Sequential(*layers)
    random = np.random.default_rng(0)
    with sv.Run(
        net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (random.normal(size=(8, 2)), random.normal(size=(8, 1)))
    ) as run:
        path = tmp_path / "page.html"
        with sv.Recording(run, activations=True, path=tmp_path / "run.svz") as record:
            run.step(3)
            with contextlib.suppress(RuntimeWarning):
                record.save_html(path)
    text = path.read_text("utf-8")
    assert 'id="engine"' not in text
    assert "worker-src" not in text
    assert why


def test_a_page_says_that_it_holds_the_samples(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    assert "holds 1,024 samples" in said(page, "about")
