"""Numbers that stand together are of one moment and of the same samples, or it is said that they are not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import MINUS, again, bench_of, said_above, said_anywhere, texts
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.run.scene.scene import Scene
from scalarviz.view.cubes.scale import in_words
from scalarviz.view.ink.boxes import TITLE
from scalarviz.view.ink.sketch import rgba
from scalarviz.view.ink.text import figure, loss_text
from scalarviz.view.out.canvas import words_of
from scalarviz.view.panels.drawer import BEFORE, coming_words, loss_words, noun
from scalarviz.view.screen.account import account_of
from scalarviz.view.shown.names import parts_of, who
from scalarviz.view.shown.subject import subject_of

SCENES = ("neuron", "rgb", "xor", "playground", "uinn", "expression", "digits", "microgpt", "texture")
PROBE, TARGET = np.array([0.92, 0.58, 0.18]), np.array([0.1, 0.4, 0.8])
X = np.random.default_rng(1).random((64, 3))
pytestmark = pytest.mark.gl


def scene_of(batch=None, *, colours=False, reduction="mean", steps=20):
    net, loss = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), nn.MSELoss(reduction)
    net.initialize(nn.init.normal(0, 1), seed=2)
    rule = optim.SGD(net.parameters(), lr=0.5)
    run = sv.Run(net, loss, rule, data=(X, 1 - X), batch_size=batch, engine="numpy")
    run.step(steps)
    panels = (ColourCube(X, 1 - X),) * colours, (LossCurve(test=Curve("test", X[:8], 1 - X[:8])),)
    return Scene("s", run, PROBE, TARGET, ("r", "g", "b"), ("r", "g", "b"), sum(panels, ()))


@pytest.fixture
def scene():
    return scene_of()


def colour_of(bench, text):
    """Of the first such text."""
    shown = [sketch for layer in (bench.sketches, *bench.overlays) for sketch in layer]
    return next(item.colour for item in texts(shown) if item.text == text)


# of which samples


@pytest.mark.parametrize(
    ("batch", "colours", "reduction", "said"),
    [(None, True, "mean", "mean of all 64 colours"), (None, False, "sum", "sum of all 64 samples"),
     (16, True, "mean", "mean of 16 colours"), (1, False, "mean", "of one sample")],
)  # fmt: skip
def test_a_gradient_says_of_how_many_samples_it_is(batch, colours, reduction, said):
    scene = scene_of(batch, colours=colours, reduction=reduction)
    bench = bench_of(scene, quantity="gradient")
    assert said in said_anywhere(bench)  # below what the cubes show
    assert any(w.startswith(f"{said} · ") for w in said_anywhere(bench))  # in the legend
    bench.interaction.hover(4, (300.0, 300.0))
    loss = loss_words(bench.subject, scene.run.frame())
    assert said_anywhere(again(bench, 0.5)).count(said) == 2 + (loss == said)  # and at the pointer
    assert said not in said_anywhere(bench_of(scene)) or loss == said  # weights are of no samples
    untrained = scene_of(batch, colours=colours, reduction=reduction, steps=0)
    found = said_anywhere(bench_of(untrained, quantity="gradient"))
    assert not any(said in words for words in found if words != loss)
    bench.interaction.hover(None, None)
    bench.select(4)
    found = said_anywhere(again(bench, 0.5))
    assert ("mean gradient" in found) == (reduction == "mean" and batch != 1)
    if batch != 1:  # the inspector tells the batch from the sample drawn
        assert re.search(f"gradient: {reduction} of [^.]*; of this (sample|colour) ", " ".join(found))


def test_a_loss_of_one_sample_alone_is_not_of_all_sample():
    x = np.ones((1, 2))
    net = nn.Sequential(nn.Linear(2, 1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, x[:, :1]), engine="numpy")
    run.step()
    assert loss_words(subject_of(run), run.frame()) == "of the sample"


# of which moment


@pytest.mark.parametrize("name", SCENES)
def test_one_loss_is_told_everywhere_that_of_the_weights_shown_on_the_batch_beside_it(name):
    """In the head, as words, in the what if and in the loss that the step itself computes then; also after an edit."""
    scene = make_scene(name, steps=4)
    run, subject, told = scene.run, subject_of(scene), []
    for _ in range(3):
        frame = run.frame()
        words, of_step = loss_words(subject, frame), coming_words(subject, frame)
        every = words.endswith(f"all {subject.source.facts.samples:,} {noun(subject, 2)}")
        told.append(subject.loss(frame))
        if every:
            assert told[-1] == pytest.approx(run.evaluate(*run.samples()), rel=1e-5)
        along = account_of(run.open(), 0).along
        assert f"step {frame.step:,}, loss {loss_text(told[-1])} {words}:" in words_of(name, subject, frame)
        head = [one for one in texts(bench_of(scene).sketches) if one.size >= TITLE]
        at = [one.text for one in head].index("loss")
        assert [one.text for one in head[at + 1 : at + 3]] == [loss_text(told[-1]), words]
        run.step()
        assert along.loss == pytest.approx(run.loss, rel=1e-4)
        assert of_step or told[-1] == pytest.approx(run.loss, rel=1e-5)
        if len(told) == 2:
            run.set_weights(0, run.values[:1] + 0.1)
    assert len(set(told)) == 3


def test_after_a_change_by_hand_the_loss_is_that_of_the_numbers_shown(scene):
    bench, before = bench_of(scene), loss_text(scene.run.evaluate(X, 1 - X))
    assert colour_of(bench, before) == rgba(bench.theme.text1)
    scene.run.set_weights(4, [2.0])
    again(bench, 0.5)
    found = said_anywhere(bench)
    assert before not in found
    assert colour_of(bench, loss_text(scene.run.evaluate(X, 1 - X))) == rgba(bench.theme.text1)
    assert not any(BEFORE in words for words in found)


@pytest.mark.parametrize("quantity", ["gradient", "update"])
def test_so_are_gradient_and_update(scene, quantity):
    bench = bench_of(scene, quantity=quantity)
    bench.select(4)
    scene.run.set_weights(4, [2.0])
    found, frame, theme = said_anywhere(again(bench, 0.5)), scene.run.frame(), bench.theme
    for block, colour in ((frame.values, theme.text1), (frame.gradient, theme.text3), (frame.update, theme.text3)):
        assert colour_of(bench, figure(float(block[4]))) == rgba(colour)
    assert f"gradient and update: {BEFORE}" in found
    assert any(w.endswith(BEFORE) and w.startswith("mean of" if quantity == "gradient" else BEFORE) for w in found)
    assert any(w.startswith(f"{BEFORE} · ") for w in found)  # in the legend
    assert not any(w.startswith("last update: w") for w in found)
    bench.interaction.hover(5, (300.0, 300.0))
    assert any(BEFORE in w for w in said_above(again(bench, 0.5)))


def test_what_is_of_now_is_of_the_weights_and_the_rate_of_now(scene):
    """The sample's own gradient, the end of the test curve and the learning rate."""
    run, bench = scene.run, bench_of(scene)
    for _ in range(3):
        run.step(20)
        again(bench, 0.5)
    index = run.tensors[1].start  # a bias
    bench.select(index)
    run.set_weights(0, [-1.0])
    found = said_anywhere(again(bench, 0.5))
    line = next(w for w in found if w.startswith("gradient of this sample now: "))
    shift = 1e-3 * np.eye(len(run.values))[index]
    up, down = (run.evaluate(PROBE[None], TARGET[None], run.values.astype(float) + by) for by in (shift, -shift))
    assert float(line.split(": ")[1].replace(MINUS, "-")) == pytest.approx((up - down) / 2e-3, rel=0.02)
    curve = bench.side.drawer(LossCurve)
    assert curve.losses[-1] == pytest.approx(run.evaluate(X[:8], 1 - X[:8]))
    assert curve.steps == sorted(set(curve.steps))
    assert "lr 0.5" in found
    run.lr = 0.25
    found = said_anywhere(again(bench, 0.5))
    assert [rate in found for rate in ("lr 0.25", "lr 0.5")] == [True, False]


def test_a_window_draws_again_when_only_the_moment_changed(scene):
    with live_hand(scene, (640, 360)) as made:
        made.rest()
        assert not made.view.tick(0.1)
        before = loss_text(scene.run.evaluate(X, 1 - X))
        assert before in made.words()
        made.view.worker.edit(lambda run: run.set_targets(np.zeros((64, 3))), "targets")
        made.rest()
        assert before not in made.words()


# what they are called


@pytest.mark.parametrize("name", SCENES)
def test_a_thing_has_one_name_and_no_name_in_code_stands_on_the_screen_but_in_the_inspectors_line(name):
    """At rest, at the pointer over each tensor, with each selected, with parts of it selected, and after an edit."""
    scene = make_scene(name, steps=4)
    scene.run.step(1)
    bench, code = bench_of(scene), re.compile(r"\d\.(weight|bias)|weight\[|_pool|_relu|^\d (relu|tanh|linear)")
    for tensor in bench.subject.tensors:
        index = tensor.start + tensor.size // 2
        known = who(bench.subject, index)
        bench.interaction.hover(index, (300.0, 300.0))
        found = said_anywhere(again(bench, 0.5))
        assert known.name in found
        assert not [text for text in found if code.search(text)]
        bench.interaction.hover(None, None)
        bench.select(index)
        found = said_anywhere(again(bench, 0.5))
        assert known.name in found
        assert {text for text in found if code.search(text)} <= {known.code_words}
        for part in parts_of(bench.subject, index):
            assert not code.search(f"{part.words} {part.short}")
        bench.select(None)
    scene.run.set_weights(0, [0.5])
    assert not [text for text in said_anywhere(again(bench, 0.5)) if code.search(text)]
    with live_hand(scene) as hand:
        for _ in range(40):
            hand.do("micro_next")
            assert not [text for text in hand.words() if code.search(text)]


class Listed(nn.Module):
    """Layers in a list, beside one with a name."""

    def __init__(self):
        super().__init__()
        self.layers, self.reader = [nn.Linear(3, 4), nn.Linear(4, 4)], nn.Linear(4, 3)

    def forward(self, x):
        for layer in self.layers:
            x = [value.tanh() for value in layer(x)]
        return self.reader(x)


@pytest.mark.ci
@pytest.mark.parametrize("name", [*SCENES, "a list of layers"])
def test_no_word_of_code_is_a_name_in_the_panel_of_controls_and_a_place_in_a_list_is_none(name):
    if name in SCENES:
        scene = make_scene(name)
    else:
        net = Listed()
        run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy")
        scene = Scene("t", run, PROBE, TARGET)
    with live_hand(scene, (1920, 1300)) as hand:
        for action in (None, "toggle_controls", "toggle_layers", "micro_next"):
            if action is not None:
                hand.do(action)
            found = {*hand.words(), *(spot.words for spot in hand.bench.spots)}
            if action == "toggle_controls":
                items = [item for row in hand.view.controls.shown(hand.view.shown) for item in row.items]
                bends = [one for item in items if item.name == "activation" for one in item.control.choices]
                assert {in_words(bend) for bend in bends} <= found
            assert not [one for one in found if re.search(r"[a-z]_[a-z]|^layers[.]|[a-z]\.\d|\d\.(weight|bias)", one)]
        if name not in SCENES:
            assert {"layer 1", "layer 2", "reader"} <= set(hand.words())


# of which moment, while time goes on


@pytest.mark.parametrize("name", SCENES)
def test_while_time_goes_on_every_number_on_a_picture_is_of_the_frame_whose_step_it_says(name):
    """Those on cubes, and the value, the gradient and the account of the inspector; at rest, after an edit too."""
    with live_hand(make_scene(name), playing=True) as hand:
        bench, stale = hand.bench, 0.0
        bench.select(0)
        hand.settled()
        for _ in range(30):
            hand.host.pass_time(0.03)
            said, found = bench.side.shared.words_frame, said_anywhere(bench)
            assert {f"{said.step:,}", figure(float(said.values[0]))} <= set(found)
            on_cubes = bench.scenery.cubes(said, bench.colouring, bench.activations)
            assert [t.text for t in texts(bench._on_cubes)] == [t.text for t in texts(on_cubes)]
            terms = [re.match(r"step ([\d,]+): .*term", text) for text in found]
            of = [int(one[1].replace(",", "")) for one in terms if one]
            stale = stale + 0.03 if any(step != said.step + 1 for step in of) else 0.0
            assert stale <= 0.4
        hand.do("toggle_run")
        for _ in range(2):
            gradient = figure(float(hand.run.open().gradient[0]))
            hand.until(lambda said=gradient: said in said_anywhere(bench))
            assert figure(float(hand.view.frame().values[0])) in said_anywhere(bench)
            assert not any(text.startswith("not computed") for text in said_anywhere(bench))
            hand.do("double")
