"""Running statistics in a picture: plates of their own, not trained, that spoil no range."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.questions.diagnosis import diagnose
from scalarviz.view.cubes.scale import Coloring
from scalarviz.view.ink.text import figure, measure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.labels import FlowLabels
from scalarviz.view.screen.account import account_of
from scalarviz.view.screen.inspector import Inspector
from scalarviz.view.screen.selection import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import layout_for

SIZE = (1280, 720)


def run_of(steps=3):
    net = nn.Sequential(nn.Linear(2, 6, seed=1), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3, seed=2))
    x = np.random.default_rng(0).normal(size=(32, 2)) * 3
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), (x, x[:, :1] + np.zeros(3)), batch_size=8,
                 engine="numpy", dtype="float64")  # fmt: skip
    run.step(steps)
    return net, run


def colouring_of(run, quantity="weight"):
    found = Coloring(run.tensors, DARK, quantity)
    found.update(run.frame(), None)
    return found


def test_they_stand_in_their_layer_and_what_counts_is_not_drawn():
    _, run = run_of()
    layout = layout_for(run.tensors, run.stages, SIZE)
    left = {p.name: p.corners[:, 0].min() for p in layout.plates if p.kind != "activation"}
    assert "1.num_batches_tracked" not in left
    assert sorted(left, key=left.get) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "3.weight", "3.bias",
    ]  # fmt: skip
    untrained = [t.name for t in run.tensors if t.buffer]
    shapes = {t.name: t.shape for t in run.tensors}
    labels = FlowLabels(layout, shapes, {}, layout.camera.project, (0, 0, *SIZE), untrained=untrained)
    said = {label.name: label.shape for label in labels.plates}
    assert said["1.running_var"] == "6 · not trained"
    assert said["1.weight"] == "6"


@pytest.mark.parametrize("quantity", ["weight", "update"])
def test_the_range_is_that_of_the_weights(quantity):
    net, run = run_of()
    before = colouring_of(run, quantity)
    net[1].running_var = [1e6, 2e6, 3e6, 4e6, 5e6, 6e6]
    after = colouring_of(run, quantity)
    weights = {t.name: t.of(run.frame().values if quantity == "weight" else run.frame().update)
               for t in run.tensors if not t.buffer}  # fmt: skip
    flat = np.concatenate([a.ravel() for a in weights.values()])
    top = min(np.abs(flat).max(), 3 * np.sqrt(np.mean(flat**2)))
    assert after.range.high == pytest.approx(top)
    assert after.range == before.range
    units = after.units()
    if quantity == "weight":  # by a range of its own
        np.testing.assert_allclose(units["1.running_var"], 0.5 + 0.5 * np.arange(1, 7) / 6, rtol=1e-12)
        assert after.extents()["1.running_var"] == pytest.approx(6e6)
        assert "clipped" in after.legend().note
        assert len(after.legend().marks) == run.n_weights


def test_a_gradient_they_never_have_and_it_is_no_fault():
    _, run = run_of()
    frame, colouring = run.frame(), colouring_of(run, "gradient")
    assert colouring.untrained
    assert colouring.missing(frame).tolist() == [False] * run.n_weights + [True] * 13
    assert not colouring_of(run_of(0)[1], "gradient").untrained
    assert diagnose(frame, run.tensors, run.stages) == ()


def test_the_inspector_says_what_they_are():
    _, run = run_of()
    subject = subject_of(run)
    index = next(t.start for t in run.tensors if t.name == "1.running_var") + 2
    found = who(subject, index)
    assert (found.name, found.meaning) == ("1.running_var[2]", "of channel 2; steps move it, no optimiser")
    assert Inspector(subject, index).explanation(run.frame()) == ()
    account = account_of(run, index, along=False)
    inspector = Inspector(subject, index)
    inspector.account = account
    written = [text.text for text in inspector.sketch((0, 0, 304, 500), DARK, run.frame(), opened=True).texts]
    run.step()
    assert account.follows
    assert account.update.after == pytest.approx(float(run.values[index]), rel=1e-13)
    assert f"follows the batch: becomes {figure(account.update.after)}" in written
    assert "none" in written
    assert not [text for text in written if "SGD" in text or "terms" in text]
    # no sample has a gradient of its own here: it is said that the batch has one
    assert Inspector(subject, 0).explanation(run.frame())[0] == ("gradient: mean of 8 samples",)


def test_inside_a_step_they_get_no_gradient_and_follow_at_its_end():
    _, run = run_of()
    opened = run.open()
    steps = opened.micro_steps()
    gradients = [index for step in steps if step.phase == "gradients" for index in step.weights.tolist()]
    assert sorted(gradients) == list(range(run.n_weights))
    last = [step for step in steps if step.kind == "statistic"]
    assert [step.kind for step in steps[-13:]] == ["statistic"] * 13
    assert len(last) == 13
    assert [step.weights.tolist() for step in last] == [[run.n_weights + k] for k in range(13)]
    assert last[-1].numbers == "3 becomes 4: it follows what the steps compute"
    words = {span.name: span.words for span in opened.phases()}
    assert words["zero"] == f"{run.n_weights} gradients cleared"
    assert words["update"] == f"{run.n_weights} weights, 13 statistics"
    run.step()
    np.testing.assert_allclose(opened.new_values, run.values, rtol=0, atol=1e-14)


def test_of_a_larger_net_they_follow_tensor_by_tensor():
    net = nn.Sequential(nn.Linear(2, 40), nn.BatchNorm1d(40), nn.Linear(40, 3), nn.BatchNorm1d(3).eval())
    x = np.random.default_rng(0).normal(size=(32, 2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), (x, x[:, :1] + np.zeros(3)), engine="numpy")
    steps = run.open().micro_steps()
    assert [(s.kind, len(s.weights), s.stage) for s in steps[-3:]] == [
        ("statistic", 40, "1"), ("statistic", 40, "1"), ("statistic", 1, "1"),
    ]  # fmt: skip
    assert steps[-4].kind == "stage"


def test_a_picture_shows_them():
    _, run = run_of(30)
    for quantity in ("weight", "gradient", "update"):
        picture = sv.render(run, (640, 360), quantity=quantity)
        assert picture.shape == (360, 640, 3)
    layout = layout_for(run.tensors, run.stages, SIZE)
    place = layout.camera.project([layout.plate("1.running_var").cell_centre_top(3, 0)])[0]
    colours = {}
    for quantity in ("weight", "gradient"):
        picture = sv.render(run, SIZE, quantity=quantity)
        x, y = np.round(place).astype(int)
        colours[quantity] = picture[y - 3 : y + 4, x - 3 : x + 4].reshape(-1, 3).mean(axis=0)
    assert colours["weight"][2] > colours["weight"][0] + 40  # a variance is above 0: blue
    assert np.ptp(colours["gradient"]) < 40  # hatched, without a colour


def test_every_name_stands_over_under_or_beside_its_own_plate():
    """Words that are shorter than the room they may need stand at the end of it where their plate is."""
    layers = [nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 5), nn.BatchNorm1d(5, affine=False)]
    net = nn.Sequential(*layers, nn.ReLU(), nn.Linear(5, 2))
    x = np.random.default_rng(0).normal(size=(32, 3))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), (x, x[:, :2]), batch_size=8, engine="numpy")
    layout = layout_for(run.tensors, run.stages, SIZE)
    shapes = {t.name: t.shape for t in run.tensors if t.role in ("weight", "buffer")}
    untrained = [t.name for t in run.tensors if t.buffer]
    left, top, right, bottom = layout.rect
    box = (left, top, right - left, bottom - top)
    labels = FlowLabels(layout, shapes, {}, layout.camera.project, box, untrained=untrained)
    hulls = {plate.name: layout.camera.project(plate.corners) for plate in layout.plates}
    words = labels.names(DARK).texts
    assert [item.text for item in words] == [label.name for label in labels.plates]
    assert {"1.running_mean", "1.running_var", "4.running_mean", "4.running_var"} < {item.text for item in words}
    for item in words:
        width = measure(item.text, item.size, item.bold)
        start = item.x - width * {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor]
        low, high = hulls[item.text].min(axis=0), hulls[item.text].max(axis=0)
        over = start < high[0] + 10 and start + width > low[0] - 10
        level = low[1] < item.y + 19 and item.y - 14 < high[1]
        assert over or level, (item, low, high)
