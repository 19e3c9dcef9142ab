"""Running statistics in a picture: plates of their own, not trained, that spoil no range."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import box_of, words
from scalarviz import nn, optim
from scalarviz.run.questions.diagnosis import diagnose
from scalarviz.view.cubes.scale import Coloring
from scalarviz.view.ink.text import figure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.labels import FlowLabels
from scalarviz.view.screen.account import account_of
from scalarviz.view.screen.inspector import Inspector
from scalarviz.view.screen.selection import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import layout_for

SIZE = (1280, 720)
X = np.random.default_rng(0).normal(size=(32, 2)) * 3


def run_of(steps=3, wide=6):
    net = nn.Sequential(nn.Linear(2, wide, seed=1), nn.BatchNorm1d(wide), nn.ReLU(), nn.Linear(wide, 3, seed=2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), (X, X[:, :1] + np.zeros(3)), batch_size=8,
                 engine="numpy", dtype="float64")  # fmt: skip
    run.step(steps)
    return run


def colouring_of(run, quantity="weight"):
    found = Coloring(run.tensors, DARK, quantity)
    found.update(run.frame(), None)
    return found


def labels_of(run, layout):
    shapes = {t.name: t.shape for t in run.tensors}
    untrained = [t.name for t in run.tensors if t.buffer]
    return FlowLabels(layout, shapes, {}, layout.camera.project, (0, 0, *SIZE), untrained=untrained)


def test_they_stand_in_their_layer_with_their_names_and_what_counts_is_not_drawn():
    run = run_of()
    layout = layout_for(run.tensors, run.stages, SIZE)
    left = {p.name: p.corners[:, 0].min() for p in layout.plates if p.kind != "activation"}
    layers = ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "3.weight", "3.bias"]
    assert sorted(left, key=left.get) == layers  # without "1.num_batches_tracked"
    labels = labels_of(run, layout)
    said = {label.name: label.shape for label in labels.plates}
    assert (said["1.running_var"], said["1.weight"]) == ("6 · not trained", "6")
    hulls = {plate.name: layout.camera.project(plate.corners) for plate in layout.plates}
    for item in labels.names(DARK).texts:  # over, under or beside its own plate
        (start, _, end, _), low, high = box_of(item), hulls[item.text].min(axis=0), hulls[item.text].max(axis=0)
        over = start < high[0] + 10 and end > low[0] - 10
        level = low[1] < item.y + 19 and item.y - 14 < high[1]
        assert over or level, (item, low, high)


@pytest.mark.parametrize("quantity", ["weight", "update"])
def test_the_range_is_that_of_the_weights(quantity):
    run = run_of()
    before = colouring_of(run, quantity)
    run.model[1].running_var = [1e6, 2e6, 3e6, 4e6, 5e6, 6e6]
    after, frame = colouring_of(run, quantity), run.frame()
    flat = (frame.values if quantity == "weight" else frame.update)[: run.n_weights]
    assert after.range.high == pytest.approx(min(np.abs(flat).max(), 3 * np.sqrt(np.mean(flat**2))))
    assert after.range == before.range
    if quantity == "weight":  # by a range of its own
        np.testing.assert_allclose(after.units()["1.running_var"], 0.5 + 0.5 * np.arange(1, 7) / 6, rtol=1e-12)
        assert after.extents()["1.running_var"] == pytest.approx(6e6)
        assert "clipped" in after.legend().note
        assert len(after.legend().marks) == run.n_weights


def test_a_gradient_they_never_have_and_it_is_no_fault():
    run = run_of()
    frame, colouring = run.frame(), colouring_of(run, "gradient")
    assert colouring.untrained
    assert colouring.missing(frame).tolist() == [False] * run.n_weights + [True] * 13
    assert not colouring_of(run_of(0), "gradient").untrained
    assert diagnose(frame, run.tensors, run.stages) == ()


def test_the_inspector_says_what_they_are():
    run = run_of()
    subject, frame = subject_of(run), run.frame()
    index = next(t.start for t in run.tensors if t.name == "1.running_var") + 2
    found, inspector = who(subject, index), Inspector(subject, index)
    assert (found.name, found.meaning) == ("1.running_var[2]", "of channel 2; steps move it, no optimiser")
    assert inspector.explanation(frame) == ()
    account = inspector.account = account_of(run, index, along=False)
    written = words([inspector.sketch((0, 0, 304, 500), DARK, frame, opened=True)])
    run.step()
    assert account.follows
    assert account.update.after == pytest.approx(float(run.values[index]), rel=1e-13)
    assert {f"follows the batch: becomes {figure(account.update.after)}", "none"} <= set(written)
    assert not [text for text in written if "SGD" in text or "terms" in text]
    # no sample has a gradient of its own here: it is said that the batch has one
    assert Inspector(subject, 0).explanation(run.frame())[0] == ("gradient: mean of 8 samples",)


def test_inside_a_step_they_get_no_gradient_and_follow_at_its_end():
    run = run_of()
    opened = run.open()
    steps = opened.micro_steps()
    gradients = [index for step in steps if step.phase == "gradients" for index in step.weights.tolist()]
    assert sorted(gradients) == list(range(run.n_weights))
    last = [step for step in steps if step.kind == "statistic"]
    assert last == [*steps[-13:]]
    assert [step.weights.tolist() for step in last] == [[run.n_weights + k] for k in range(13)]
    assert last[-1].numbers.startswith("3 becomes 4")
    phases = {span.name: span.words for span in opened.phases()}
    assert phases["zero"] == f"{run.n_weights} gradients cleared"
    assert phases["update"] == f"{run.n_weights} weights, 13 statistics"
    run.step()
    np.testing.assert_allclose(opened.new_values, run.values, rtol=0, atol=1e-14)
    large = run_of(0, wide=40).open().micro_steps()  # of a larger net they follow tensor by tensor
    assert [(s.kind, len(s.weights), s.stage) for s in large[-3:]] == [
        ("statistic", 40, "1"), ("statistic", 40, "1"), ("statistic", 1, "1"),
    ]  # fmt: skip


@pytest.mark.gl
def test_a_picture_shows_them():
    run = run_of(30)
    layout = layout_for(run.tensors, run.stages, SIZE)
    x, y = np.round(layout.camera.project([layout.plate("1.running_var").cell_centre_top(3, 0)])[0]).astype(int)
    around = {quantity: sv.render(run, SIZE, quantity=quantity)[y - 3 : y + 4, x - 3 : x + 4].reshape(-1, 3)
              for quantity in ("weight", "gradient")}  # fmt: skip
    assert around["weight"].mean(axis=0)[2] > around["weight"].mean(axis=0)[0] + 40  # a variance is above 0: blue
    assert np.ptp(around["gradient"].mean(axis=0)) < 40  # hatched, without a colour
