"""Walking through a step by keys and clicks: what each micro-step says and shows, and that the run stays as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import MINUS, bench_of, box_of, words
from kit.commands import make_scene
from kit.networks import mlp
from kit.runs import bits
from kit.windows import Hand, live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.lessons.scenes import order_of_backward
from scalarviz.run import Scene
from scalarviz.run.edits import Change
from scalarviz.run.panels import ColourCube, GraphPanel, LossCurve
from scalarviz.run.source import Moment
from scalarviz.view import step_drawing
from scalarviz.view.graph.figure import LOSS_NODE
from scalarviz.view.graph.layout import figure_of
from scalarviz.view.ink.sketch import Path
from scalarviz.view.ink.text import delta_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.micro.beside_cubes import TALL, histogram, ribbon, sentence
from scalarviz.view.micro.step_view import GRADIENTS, LOSS, UPDATE, Phase, product_formula, product_text
from scalarviz.view.micro.walk import Walk, micro_step_of, spread_of
from scalarviz.view.micro.walk import open_step as opened_step
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.drawer import SharedState
from scalarviz.view.panels.registry import drawer_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.microsteps import READ, pass_seconds

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
SIGNED = rf"[+{MINUS}]?\d+\.\d+"
ONE, WANTED = np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.5, 0.9])


def run_of(*hidden, rule=optim.SGD, loss="mean", steps=7):
    net = mlp(3, *hidden, 3)(nn)
    net.initialize(seed=1)
    data = X, 1 - X
    run = sv.Run(net, nn.MSELoss(loss), rule(net.parameters(), lr=0.1), data, batch_size=16, seed=3, engine="numpy")
    run.step(steps)
    return run


def scene_of(run):
    return Scene("t", run, ONE, WANTED, ("r", "g", "b"), ("r", "g", "b"), (ColourCube(X, 1 - X), LossCurve()))


@contextmanager
def opened(*hidden, **options) -> Iterator[Hand]:
    """A window of a run that has done seven steps."""
    with live_hand(scene_of(run_of(*hidden, **options))) as hand:
        yield hand


@pytest.fixture
def hand():
    with opened() as made:
        yield made


def told(hand):
    return hand.view.bench.step_drawing.micro_step


def phase(hand):
    return told(hand).phases[told(hand).phase].name


def said(hand):
    return words(hand.view.bench.sketches)


def press(hand, *keys):
    for key in keys:
        hand.view.key(key)
        hand.view.tick(0.02)
    hand.settled(2, 0.0)


def click(hand, name, value):
    """On an arrow of the ribbon, or a side of the switch."""
    (spot,) = [spot for spot in hand.view.bench.step_drawing.spots if (spot.name, spot.value) == (name, value)]
    hand.click(hand.middle(spot.box))


# ---- the way through


@pytest.mark.parametrize(("hidden", "rule"), [((), optim.SGD), ((4,), optim.Adam), ((16, 16), optim.Adam)])
def test_a_whole_step_in_micro_steps_has_its_phases_in_order_and_ends_in_the_bits_of_right(hidden, rule):
    """And the line and the rule are of the selected weight."""
    plain, seen = run_of(*hidden, rule=rule, steps=8), []
    with opened(*hidden, rule=rule) as hand:
        press(hand, ".")
        assert any("inside step 8" in text and f"1 of {told(hand).count}" in text for text in said(hand))
        click(hand, "phase", UPDATE)
        for index in (5, 1):
            hand.view.bench.select(index)
            hand.settled(2, 0.0)
            assert told(hand).sentence.index == index
            parts = ["m'", "v'", "w'"] if rule is optim.Adam else []
            assert [formula.letters.rpartition(" = ")[2] for formula in told(hand).rule] == parts
            for formula, part in zip(told(hand).rule[-1:], parts[-1:], strict=True):
                assert (part, formula.numbers[-2].text.strip()) in (("w'", "="), ("w'", "≈"))
                after = hand.view.micro.walk.opened.update(index).after
                assert float(formula.numbers[-1].text.replace(MINUS, "-")) == pytest.approx(after, rel=1e-3)
        press(hand, "Escape", "Escape", ".")
        while told(hand) is not None:
            seen.append(phase(hand))
            press(hand, ".")
        assert [name for name, _ in groupby(seen)] == ["zero", "forward", "loss", "backward", "gradients", "update"]
        assert bits(hand.run) == bits(plain)


@pytest.mark.parametrize("current", range(6))
def test_on_a_telephone_all_phases_but_one_have_names(current):
    names = ("zero", "forward", "loss", "backward", "gradients", "update")
    phases = [Phase(name, "12", 1, 12) for name in names]
    said = words([ribbon((24.0, 0.0, 342.0, 44.0), DARK, phases, current)])
    known = [name for name in names if name in said or {"backward": "back", "gradients": "grad"}.get(name) in said]
    assert names[current] in known
    assert len(known) == 5


def test_walking_and_leaving_changes_no_bit_and_no_pixel(hand):
    before, picture = bits(hand.run), hand.picture()
    press(hand, ".", ".", ".", ",", "B", ".")
    click(hand, "phase", GRADIENTS)
    press(hand, ";", ".", ".", "Escape")
    hand.view.bench.select(None)
    hand.view.say("")
    assert (told(hand), bits(hand.run)) == (None, before)
    assert np.array_equal(hand.picture(), picture)


def test_back_enters_the_step_before_right_finishes_it_left_leaves_it_and_space_goes_on(hand):
    press(hand, ".", ".", ".", ",")
    assert told(hand).position == 2
    press(hand, ",", ",")
    assert (told(hand).step, told(hand).position, hand.run.steps) == (7, told(hand).count, 6)
    for keys, steps in ((".", 7), (("Left", "."), 6), ((".", "Right"), 7), ((".", ".", "Left"), 6)):
        press(hand, *keys)
        assert (hand.run.steps, told(hand) is not None) == (steps, keys == ("Left", "."))
    press(hand, ".")
    while told(hand).position < told(hand).count:
        press(hand, ".")
    press(hand, "Space")
    assert (told(hand), hand.view.playback.running) == (None, True)
    hand.view.playback.pause()


@pytest.mark.parametrize("more", ["", "A"])
def test_an_edit_opens_the_step_again_and_typing_a_value_closes_it(hand, more):
    hand.view.bench.select(1)
    press(hand, *more, ".")
    click(hand, "phase", GRADIENTS)
    before = told(hand)
    hand.view.set_weight(0, 3.0)
    hand.settled()
    assert (told(hand).position, told(hand).frame.values[0]) == (before.position, 3.0)
    assert not np.array_equal(told(hand).frame.gradient, before.frame.gradient)
    values = hand.run.values[:3].copy()
    press(hand, "Enter")
    assert told(hand) is None  # its column has no field for a number
    press(hand, "2", "Enter")
    np.testing.assert_allclose(hand.run.values[:3], values * 2 if more else [3.0, 2.0, values[2]], rtol=1e-6)


def test_in_the_past_a_walked_step_is_that_of_the_record():
    with opened(rule=optim.Adam) as hand:
        then = bits(hand.run)
        press(hand, "Left", "Left")
        for _ in range(2):
            press(hand, ".")
            press(hand, *"." * told(hand).count)
        assert told(hand) is None
        assert (bits(hand.run), len(hand.run.branches)) == (then, 1)


@pytest.mark.parametrize(("name", "of"), [("loss", "loss"), ("grad", "gradients"), ("0.weight[1][2]", "update")])
def test_a_breakpoint_is_looked_into_where_it_became_true_and_the_step_can_be_finished(hand, name, of):
    frames = [run_of(steps=steps).frame() for steps in (7, 8)]
    before, after = ({"loss": f.loss, "grad": np.abs(f.gradient).max()}.get(name, f.values[5]) for f in frames)
    hand.run.break_on(f"{name} {'>' if after > before else '<'} {(before + after) / 2:.9g}")
    press(hand, "Right")
    stop = hand.view.worker.stopped
    press(hand, ",")
    assert (stop.step, told(hand).step, phase(hand)) == (8, 8, of)
    assert of == "loss" or stop.weights[0] in hand.view.micro.walk.steps[told(hand).position - 1].weights
    press(hand, "Right")
    assert hand.run.steps == 8


def test_space_plays_an_opened_step_to_its_end_stands_there_and_leaves_it_when_it_is_pressed_again(hand):
    before, seen, tick, taken = bits(hand.run), [], 0.2, 0.0
    press(hand, ".")
    walk = hand.view.micro.walk
    assert len(pass_seconds(walk)) == len(walk)
    press(hand, "Space")
    while told(hand).position < len(walk):
        seen += [told(hand).position] * (told(hand).position not in seen)
        hand.host.pass_time(tick)
        taken += tick
        if told(hand).position == 5 and taken:  # a hand stops it, and Space goes on
            press(hand, "Space")
            hand.settled(4, 0.25)
            assert told(hand).position == 5
            press(hand, "Space")
            hand.host.pass_time(READ)
            seen.append(5)
    assert seen == [*range(1, len(walk))]
    assert taken == pytest.approx(sum(pass_seconds(walk)[:-1]), abs=tick * len(walk) + 0.6)
    hand.settled(12, 0.25)
    assert (told(hand).position, bits(hand.run), hand.view.playback.running) == (len(walk), before, False)
    press(hand, "Space")
    assert (told(hand), hand.view.playback.running) == (None, True)


def test_slow_motion_opens_steps_does_those_of_the_engine_and_stays_where_it_is_paused(hand):
    view = hand.view
    view.playback.change_speed(-3)
    view.playback.play()
    hand.settled(4, 0.25)
    assert any("slow motion" in text for text in said(hand))
    press(hand, "Space")
    at = told(hand).position
    hand.settled(5, 0.25)
    assert (told(hand).position, told(hand).step) == (at, 8)
    press(hand, ".")
    assert told(hand).position == at + 1
    press(hand, "Space")
    while told(hand) is None or told(hand).step < 9:
        hand.settled(1, 0.25)
    assert bits(hand.run) == bits(run_of(steps=8))
    view.playback.change_speed(0)
    view.tick(0.1)
    assert told(hand) is None
    view.playback.pause()


@pytest.mark.parametrize("action", ["add_samples", "micro_next", "whose"])
def test_a_network_that_grew_a_moment_ago_is_opened_as_it_is_now(hand, action):
    hand.view.worker.do(Change(model=mlp(3, 20, 3)(nn)))
    hand.view.worker.settle()
    hand.view.send(action)
    hand.settled(6, 0.0)
    assert len(hand.view.frame().values) == 143
    assert told(hand) is None or len(told(hand).frame.values) == 143


# ---- whose numbers


@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_one_colour_is_a_trial_step_and_the_batch_the_real_one(loss):
    with opened(loss=loss) as hand:
        press(hand, ".")
        click(hand, "phase", UPDATE)
        assert any("trial step" in text for text in said(hand))
        own, one = told(hand).frame.gradient, told(hand).gradient_histogram
        source = hand.view.bench.subject.source
        assert own == pytest.approx(source.sample_gradient(ONE, WANTED, hand.run.values))
        for side in (0, 1):  # it is on the first one
            assert told(hand).trial
            click(hand, "switch", side)
        assert any(f"{loss} of 16 colours: real step" in text for text in said(hand))
        batch, both, trial = told(hand).frame.gradient, told(hand).gradient_histogram, told(hand).trial
        for spread in (one, both):  # the histogram is of the batch, and marks this colour
            assert (spread.counts.sum(), spread.reduction) == (16, loss)
            assert (spread.probe_term, spread.gradient) == pytest.approx((own[0], batch[0]))
        press(hand, "Escape", "Right")
        assert (trial, batch) == (False, pytest.approx(hand.run.frame().gradient, abs=1e-6))
        assert not np.allclose(own, batch)
        hand.view.bench.subject.probe[:] = 0.3  # nobody knows what it should become
        hand.view.bench.side.shared.probes += 1
        for key in (".", "B"):
            press(hand, key)
            assert not told(hand).trial
        assert hand.view.notice()


def test_a_deep_net_comes_layer_by_layer_and_its_gradients_are_of_the_samples_added_up_so_far():
    with opened(16, 16) as hand:
        press(hand, ".")
        loss, seen = hand.view.bench.subject.probe_loss(hand.view.micro.walk.frame), []
        for _ in range(7):
            seen.append(sum(row.all() for name, row in told(hand).reached.items() if name != "input"))
            press(hand, ".")
        assert seen == [0, 1, 2, 3, 4, 5, 6]
        click(hand, "phase", GRADIENTS)
        there = {tensor.name for tensor in hand.run.tensors if tensor.of(told(hand).frame.computed).all()}
        assert there == {"4.weight", "4.bias"}
        click(hand, "phase", UPDATE)
        assert told(hand).loss == pytest.approx(loss)  # the sample's own, before the step
        assert any(text.endswith(f"{loss:.4f}") for text in said(hand) if text.startswith("loss of this"))
        press(hand, "Escape", ";")
        hand.view.tick(0.1)
        now, whole = told(hand), hand.view.micro.walk.opened.gradient
        assert 1 <= now.adding < 16
        last = next(tensor for tensor in hand.run.tensors if tensor.name == "4.weight")
        assert np.abs(last.of(now.frame.gradient)).max() != pytest.approx(np.abs(last.of(whole)).max())


class Rows(nn.Module):
    """Layers for two rows of a sample, called once or for each row."""

    def __init__(self, each):
        self.each = each
        self.layers = nn.LayerNorm(3), nn.Linear(3, 2, seed=0), nn.Linear(2, 1, seed=1)

    def forward(self, x):
        for layer in self.layers:
            x = sv.stack([layer(row) for row in x], dim=-2) if self.each else layer(x)
        return x


def test_a_layer_that_is_called_with_rows_is_opened_like_its_calls_with_each():
    data = X.reshape(32, 2, 3), X[:32, :2]
    nets = [Rows(each) for each in (False, True)]
    runs = [sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy") for net in nets]
    assert [stage.name for stage in runs[0].stages][-2:] == ["layers.2", "layers.2 (2)"]
    assert runs[0].stages == runs[1].stages
    opened, wanted = (
        [(s.words, s.stage, s.formula, s.numbers, s.units.tolist()) for s in run.open().micro_steps()] for run in runs
    )
    assert opened == wanted


def test_however_small_deltas_are_they_stand_beside_their_cubes_and_share_the_gradients_range_where_they_fit():
    run = run_of(3)
    probe = 9 * ONE  # gradients are deltas times inputs
    scene = Scene("t", run, probe, run.predict(probe[None])[0] + 1e-3, ("r", "g", "b"), ("r", "g", "b"))
    with live_hand(scene, (1920, 1080)) as hand:
        press(hand, ".")
        click(hand, "phase", UPDATE)
        press(hand, ",")  # the last gradient
        bench = hand.view.bench
        deltas = np.concatenate([*bench.step_drawing.row_deltas().values()])
        assert 0 < np.abs(deltas).max() < 0.005
        assert {delta_text(float(delta)) for delta in deltas} <= set(words(bench.parts["numbers"]))
        assert np.abs(deltas).max() < bench.colouring.range.high == bench.step_drawing.delta_range.high


def test_samples_are_added_up_to_the_gradient_of_the_batch(hand):
    press(hand, ";")
    hand.view.tick(0.1)
    one = hand.view.micro.walk.opened
    outer = np.outer(one.deltas["0"][:, 0], one.inputs[:, 0])
    assert told(hand).adding == 1
    assert told(hand).frame.gradient[hand.run.tensors[0].span].reshape(3, 3) == pytest.approx(outer)
    for name, delta in told(hand).deltas.items():  # scene and side are of the sample that is added
        assert delta == pytest.approx(16 * one.deltas[name][:, 0])
        assert told(hand).frame.activations[name] == pytest.approx(one.rows[name][:, 0])
    assert np.array_equal(told(hand).sample[0], told(hand).frame.activations["input"])
    assert np.array_equal(told(hand).sample[2], told(hand).frame.activations["target"])
    assert {"sum ÷ 16", "sum of δ · x ÷ 16"} <= set(said(hand))  # no mean of one, but 16 times less than δ · x
    hand.settled(8, 1.0)
    assert (told(hand).adding, told(hand).frame.gradient) == (16, pytest.approx(one.gradient))
    press(hand, ".")
    assert told(hand).adding == 0


# ---- a picture that stands still


def test_a_picture_of_a_micro_step_leaves_the_run_as_it_was_and_one_that_there_is_not_is_refused():
    run = run_of()
    before, pictures = bits(run), [sv.render(run, inside=k) for k in (None, 32, -1, 44)]
    pictures.append(sv.render(run, inside=-1, whole_batch=True))
    same = [[np.array_equal(one, other) for other in pictures] for one in pictures]
    assert np.array_equal(same, np.eye(5, dtype=bool) | np.outer([0, 0, 1, 1, 0], [0, 0, 1, 1, 0]).astype(bool))
    for number in (0, 45, -45, 1000, "last", True, 1.5):
        with pytest.raises(InputError, match=f"1 to 44.*{number}|{number}.*1 to 44"):
            sv.render(run, inside=number)
    with pytest.raises(InputError, match=r"Run.*recording"):
        sv.render({"a": np.eye(3)}, inside=1)
    assert bits(run) == before


def test_a_key_at_rest_makes_nothing_of_an_opened_step(hand, monkeypatch):
    """That took longer than all else that a look changes."""
    monkeypatch.setattr(step_drawing, "CubeTexts", None)
    for key in "lcwguj":
        hand.key(key)
        hand.picture()


@pytest.mark.parametrize("hidden", [(), (4,)])
def test_where_a_cube_was_before_its_update_is_drawn_over_no_number(hidden):
    bench = bench_of(scene_of(run_of(*hidden)))
    with offscreen():
        told = micro_step_of(bench.subject, bench.subject.frame(), -1, whole_batch=True)
        bench.step_drawing.show(told, animated=False)
        bench.update(told.frame)
        drawn = bench.sketches
        numbers = [box_of(text) for sketch in drawn for text in sketch.texts if re.fullmatch(SIGNED, text.text)]
        edges = [one.points for sketch in drawn if sketch.over for one in sketch.shapes
                 if isinstance(one, Path) and one.width == 1.0]  # fmt: skip
        parts = [np.linspace(a, b, 60) for path in edges for a, b in pairwise(path)]
        points = np.concatenate(parts)
        assert len(edges) >= 12
        for left, top, right, low in numbers:
            inside = (points > (left, top + 3)).all(axis=1) & (points < (right, low - 3)).all(axis=1)
            assert not inside.any()


def test_of_many_outputs_each_has_its_delta_beside_what_it_was():
    """Of one sample; of a batch both are means, and none is wanted."""
    net = nn.Sequential(nn.Linear(6, 16, seed=1), nn.ReLU(), nn.Linear(16, 7, seed=2))
    data = np.random.default_rng(1).random((20, 6)), np.arange(20) % 7
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.Adam(net.parameters()), data, engine="numpy")
    subject = subject_of(Scene("t", run))
    frame = subject.frame()
    at = [micro_step_of(subject, frame, k) for k in range(1, micro_step_of(subject, frame, 1).count + 1)]
    logits, last = frame.activations["2"], at[-1].outputs
    share = np.exp(logits - logits.max())
    assert [output.value for output in last] == pytest.approx(logits.tolist())
    assert [output.delta for output in last] == pytest.approx((share / share.sum() - np.eye(7)[0]).tolist())
    assert [output.is_target for output in last] == [True] + 6 * [False]
    whole = micro_step_of(subject, frame, -1, whole_batch=True).outputs
    assert [output.value for output in whole] == pytest.approx(run.predict(run.samples()[0]).mean(axis=0), abs=1e-6)
    assert [output.delta for output in whole] == pytest.approx(run.open().gradient[-7:])
    assert not any(output.is_target for output in whole)


@pytest.mark.parametrize("rule", [optim.Adam, optim.NAdam, optim.RMSprop])
def test_in_a_column_no_line_of_a_sentence_is_cramped_cut_or_below_its_place(rule):
    subject = subject_of(scene_of(run_of(4, rule=rule)))
    walk = Walk(opened_step(subject, alone=False), subject, subject.frame())
    for at in range(1, len(walk) + 1):
        for high, pitch in ((TALL, 1.1), (TALL + 16, 1.3)):  # in the lowest, lines move closer before numbers go
            drawn = sentence((0.0, 0.0, 304.0, high), DARK, walk.micro_step_at(at).sentence)[0].texts
            rows = sorted({round(text.y, 3) for text in drawn})
            assert all(below - above >= pitch * 13 for above, below in pairwise(rows))
            assert all(text.left + text.width <= 304.5 and text.y <= high + 12 for text in drawn)  # below it is air


@pytest.mark.parametrize("whole_batch", [False, True])
@pytest.mark.parametrize(("loss", "once"), [("mean", "mean"), ("sum", "Σ")])
def test_a_gradient_of_several_products_of_a_sample_is_called_their_sum(whole_batch, loss, once):
    wx, rec, b = (sv.Weight(v, name=name) for name, v in (("wx", 0.5), ("wRec", 2.0), ("b", 1.0)))
    data = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[2.0], [1.0]]
    run = sv.Run(lambda x: (x[0] * wx * rec + x[1] * wx) * rec + x[2] * wx + b, nn.MSELoss(loss),
                 optim.SGD([wx, rec, b], lr=0.1), data, engine="numpy", dtype="float64")  # fmt: skip
    subject, steps = subject_of(run), run.open().micro_steps()
    last = max(k for k, step in enumerate(steps, 1) if step.phase == "gradients")
    faces = micro_step_of(subject, subject.frame(), last, whole_batch=whole_batch).cube_texts
    assert [faces[k].above for k in range(2)] == ["Σ δ·x", "Σ δ·x"]
    assert faces[2].above == f"{once} δ·x" if whole_batch else faces[2].above.endswith("× 1")


@pytest.mark.parametrize("whole_batch", [False, True])
@pytest.mark.parametrize("expr", ["a*tanh(w*x + b) + c", "a*x**2 + b*x + c + d", "where(x > a, w*x, b) + c"])
def test_a_formulas_graph_shows_the_numbers_that_have_come_and_marks_the_node_of_now(expr, whole_batch):
    scene = make_scene("expression", expr=expr)
    subject = subject_of(scene)
    frame, kept = subject.frame(), set()
    panel = next(panel for panel in scene.panels if isinstance(panel, GraphPanel))
    drawer = drawer_of(panel, SharedState(subject, DARK))
    box = (0.0, 0.0, 900.0, 400.0)
    walk = Walk(opened_step(subject, alone=not whole_batch), subject, frame)
    for at in range(1, len(walk) + 1):
        told = walk.micro_step_at(at)
        drawer.shared.set_opened_step(told)
        drawn = words(drawer.draw(Moment(told.before, subject.source), box, None))
        whole = [name for name in told.nodes if not any(other.startswith(f"{name} + ") for other in told.nodes)]
        there = [x for name in whole for x in told.nodes[name] if x is not None]  # not of sums inside a sum
        assert all(figure_of(x) in drawn for x in there)
        if told.phase == 0:  # inputs, the target and weights
            assert sum(seen.value is not None for seen in told.nodes.values()) == len(told.frame.values) + 2
        assert (told.current_node in told.nodes) == (told.phase > 0)
        kept.add(told.current_node)
    assert kept >= told.nodes.keys() - {"x", "y"}
    assert all(seen.value is not None for seen in told.nodes.values())
    assert told.samples in drawn
    drawer.shared.set_opened_step(None)
    notes = words(drawer.draw(Moment(frame, subject.source), box, None))
    assert any(note.startswith("value, gradient of ") and note.endswith("row 1 of 60") for note in notes)


def test_a_part_of_the_loss_has_a_number_once_the_loss_has_one():
    scene = order_of_backward()
    subject = subject_of(scene)
    frame = subject.frame()
    panel = next(panel for panel in scene.panels if isinstance(panel, GraphPanel))
    drawer, walk = drawer_of(panel, SharedState(subject, DARK)), Walk(opened_step(subject, alone=False), subject, frame)
    gap = 4 * float(frame.values[0]) - 6
    for at in range(1, len(walk) + 1):
        told = walk.micro_step_at(at)
        drawer.shared.set_opened_step(told)
        drawn = words(drawer.draw(Moment(told.before, subject.source), (0.0, 0.0, 900.0, 400.0), None))
        of_loss = told.nodes[LOSS_NODE]
        assert (figure_of(gap) in drawn, figure_of(2 * gap) in drawn) == tuple(x is not None for x in of_loss), at


def test_a_new_weight_looks_new_and_momentum_is_said_to_go_its_own_way_where_it_does():
    run = run_of(rule=optim.Adam, steps=60)
    subject, step, said = subject_of(run), run.open(), set()
    walk = Walk(step, subject, subject.frame())
    for at in range(walk.first_of(UPDATE), len(walk) + 1):
        sentence = walk.micro_step_at(at).sentence
        for formula in (sentence.formulas[0], sentence.short):
            first, last = (formula.numbers[k].text for k in (0, -1))
            assert first.split(f" {MINUS} ")[0].split(" + ")[0] != last
        kept = {line.name: line.result for line in step.line(sentence.index)}
        against = kept["m'"] * step.gradient[sentence.index] < 0
        assert ("still has the sign of earlier gradients" in sentence.meaning) == against
        assert "m' = 0.9 · m + 0.1 · g = " in sentence.meaning
        said.add(against)
    assert said == {True, False}


@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_numbers_of_a_batch_are_told_by_those_of_its_samples(loss):
    run = run_of(2, loss=loss)
    subject, step = subject_of(run), run.open()
    walk, over = Walk(step, subject, subject.frame()), " / 16" if loss == "mean" else ""
    assert walk.micro_step_at(walk.first_of(LOSS)).sentence.formulas[0].letters == f"Σ loss{over}"
    names = [step.name(k) for k in range(len(step.values))]
    for at in range(walk.first_of(GRADIENTS), walk.first_of(UPDATE)):
        sentence = walk.micro_step_at(at).sentence
        assert sentence.formulas[0].letters == f"{loss} of 16 δ · x = g"
        assert f"){over} = " in "".join(word.text for word in sentence.formulas[0].numbers) or not over
        assert "rest" in "".join(word.text for word in sentence.formulas[0].numbers)
        bias = "bias" in names[sentence.index]  # which meets 1 in every sample
        assert ("product of means" in sentence.meaning) == (loss == "mean" and not bias)


@pytest.mark.parametrize("number", [20, 60, 93])
def test_inside_a_trial_step_dropout_shows_what_its_mask_left(number):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2, seed=2), nn.Sigmoid())
    rule, data = optim.SGD(net.parameters(), lr=0.5), (X[:8], X[:8, :2])
    run = sv.Run(net, nn.MSELoss(), rule, data, engine="numpy", seed=5)
    run.step(5)
    subject = subject_of(run)
    shown, plain = micro_step_of(subject, subject.frame(), number).frame.activations, run.activations(subject.probe)
    kept = shown["2"] != 0
    assert 0 < kept.sum() < 4
    np.testing.assert_allclose(shown["2"], np.where(kept, 2 * shown["1"], 0), rtol=1e-12)
    np.testing.assert_array_equal(plain["2"], plain["1"])


# ---- from plain data


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_a_product_is_true_as_printed(w, x):
    """In the line and on a cube: ``=`` stands only where the printed digits give the number."""
    formula, face = product_formula("w × x", w, x, w * x), product_text(w, x)
    for line, whole in (("".join(word.text for word in formula.numbers), False), (" ".join(face[:2]), True)):
        sign = "=" if "=" in line else "≈"
        left, made = line.translate(str.maketrans("−", "-", ",()")).split(sign)
        a, b = (Decimal(part.strip()) for part in left.split("×"))
        result = Decimal(made.strip())
        exact = abs(a * b - result) <= Decimal("0.5") * Decimal(1).scaleb(result.as_tuple().exponent)
        assert exact if sign == "=" else not (whole and exact)
    assert [word.tone for word in formula.numbers if word.tone != "dim"] == ["violet", "plain", "violet"]


def test_a_sum_beyond_its_terms_has_no_mark_among_them_and_zeros_have_no_histogram():
    found = spread_of(np.full(9, 0.5), 4.5, None, "9 samples", "sample", "sum")
    assert (found.counts.sum(), found.reach) == (9, 0.5)
    sketch = histogram((20.0, 10.0, 304.0, 150.0), DARK, found)
    assert "sum +4.5000" in words([sketch])
    assert not any(getattr(shape, "colour", None) == DARK.selection for shape in sketch.shapes)
    for terms in (np.zeros(9), np.array([np.nan, 1.0])):
        assert spread_of(terms, 0.0, None, "9 samples", "sample") is None
