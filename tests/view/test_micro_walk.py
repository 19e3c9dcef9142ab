"""Walking through a step by keys and clicks: what each micro-step says and shows, and that the run stays as it was."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run import Scene
from scalarviz.run.edits import Change
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.view.ink.text import CAP_HEIGHT
from scalarviz.view.micro.told import BACKWARD, FORWARD, GRADIENTS, UPDATE, Pulse
from scalarviz.view.micro.walk import told_of
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
NAMES = ("r", "g", "b")
NETS = [((), optim.SGD), ((4,), optim.Adam), ((16, 16), optim.Adam)]


def run_of(*hidden, optimizer=optim.SGD, batch=16, loss=None, bias=True):
    sizes, layers = (3, *hidden, 3), []
    for k in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[k], sizes[k + 1], bias, seed=k + 1), nn.Tanh() if k < len(hidden) else nn.Sigmoid()]
    net = nn.Sequential(*layers)
    return sv.Run(net, loss or nn.MSELoss(), optimizer(net.parameters(), lr=0.1), (X, 1 - X), batch_size=batch, seed=3,
                  engine="numpy")  # fmt: skip


@pytest.fixture
def views():
    """Makes windows of runs that have done seven steps."""
    made = []

    def view_of(run=None, size=(1280, 720)):
        run = run or run_of()
        run.step(7)
        scene = Scene("t", run, np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.5, 0.9]), NAMES, NAMES,
                      (ColourCube(X, 1 - X), LossCurve()))  # fmt: skip
        made.append(Unseen(lambda _: LiveView(scene, size, playing=False)).view)
        made[-1].tick(0.0)
        return made[-1]

    with offscreen():
        yield view_of
        for view in made:
            view.close()


@pytest.fixture
def live(views):
    return views()


@pytest.fixture
def deep(views):
    return views(run_of(16, 16))


def settle(view):
    view.worker.settle()
    view.tick(0.0)
    view.tick(0.0)


def told(view):
    return view.bench.inside.told


def bits(run):
    state = run.state()
    arrays = [state.values, state.gradient, state.previous, state.computed, state.frozen]
    return [a.tobytes() for a in (*arrays, *state.gathered.values())], state.step


def words(view):
    return [item.text for sketch in view.bench.sketches for item in sketch.texts]


def press(view, *keys):
    for key in keys:
        view.key(key)
        view.tick(0.02)


def go_to(view, phase):
    """By a click on its arrow."""
    click(view, "phase", phase)


def click(view, name, value):
    (spot,) = [s for s in view.bench.inside.spots if (s.name, s.value) == (name, value)]
    x, y, w, h = spot.box
    at = ((x + w / 2) * view.bench.scale, (y + h / 2) * view.bench.scale)
    view.press(at)
    view.release(at)
    view.tick(0.0)


def walk(view):
    """All of a step."""
    press(view, ".")
    for _ in range(told(view).count):
        press(view, ".")
    settle(view)


def overlaps(sketches, size):
    """Texts that leave the picture or lie on one another by more than a pixel."""
    boxes, found = [], []
    for item in (item for sketch in sketches for item in sketch.texts):
        box = (item.left + 0.5, item.y - CAP_HEIGHT * item.size + 0.5, item.left + item.width - 0.5, item.y - 0.5)
        if box[0] < 0 or box[1] < 0 or box[2] > size[0] or box[3] > size[1] or item.size < 12:
            found.append((item.text, "outside"))
        found += [(item.text, text) for text, b in boxes
                  if not (box[2] <= b[0] or b[2] <= box[0] or box[3] <= b[1] or b[3] <= box[1])]  # fmt: skip
        boxes.append((item.text, box))
    return found


# ---- the way through


@pytest.mark.parametrize(("hidden", "optimizer"), NETS)
def test_a_whole_step_in_micro_steps_has_its_phases_in_order_and_ends_in_the_bits_of_right(views, hidden, optimizer):
    view, other = (views(run_of(*hidden, optimizer=optimizer)) for _ in range(2))
    press(view, ".")
    assert (told(view).step, told(view).at) == (8, 1)
    assert any("inside step 8" in text and f"1 of {told(view).count}" in text for text in words(view))
    seen = []
    while told(view) is not None and not view.worker.busy:
        seen.append(told(view).phases[told(view).phase].name)
        press(view, ".")
    settle(view)
    assert [name for name, _ in groupby(seen)] == ["zero", "forward", "loss", "backward", "gradients", "update"]
    press(other, "Right")
    settle(other)
    assert told(view) is None
    assert bits(view.run) == bits(other.run)
    assert view.run.steps == 8


def test_walking_and_leaving_changes_nothing(live):
    before = bits(live.run)
    picture = offscreen().render(live.draw, live.bench.size)
    press(live, ".", ".", ".", ",", "B", ".")
    go_to(live, GRADIENTS)
    press(live, ";", ".", ".", "Escape")
    live.bench.select(None)
    assert told(live) is None
    assert bits(live.run) == before
    settle(live)
    live.say("")
    live.tick(5.0)
    live.tick(0.0)
    assert np.array_equal(offscreen().render(live.draw, live.bench.size), picture)


def test_right_and_space_finish_the_step_and_left_leaves_it(live):
    press(live, ".", ".", "Right")
    settle(live)
    assert told(live) is None
    assert live.run.steps == 8
    press(live, ".", ".", "Left")
    settle(live)
    assert told(live) is None
    assert live.run.steps == 7
    press(live, ".", "Space")
    assert told(live) is None
    assert live.playback.running
    live.playback.pause()


def test_back_walks_back_and_enters_the_step_before(live):
    press(live, ".", ".", ".", ",")
    assert told(live).at == 2
    press(live, ",", ",")
    settle(live)
    assert (told(live).step, told(live).at) == (7, told(live).count)
    assert live.run.steps == 6
    press(live, ".")
    settle(live)
    assert live.run.steps == 7


def test_an_edit_in_mid_step_opens_it_again(live):
    press(live, ".")
    go_to(live, GRADIENTS)
    before = told(live)
    live.put(0, 3.0)
    settle(live)
    assert told(live).at == before.at
    assert told(live).frame.values[0] == 3.0
    assert not np.array_equal(told(live).frame.gradient, before.frame.gradient)


@pytest.mark.parametrize("keys", ["", "A"])
def test_typing_a_value_closes_the_step_whose_column_has_no_field_for_it(live, keys):
    live.bench.select(1)
    press(live, *keys, ".")
    settle(live)
    assert told(live) is not None
    before = live.run.values[:3].copy()
    press(live, "Enter")
    settle(live)
    assert told(live) is None
    press(live, "2", "Enter")
    settle(live)
    wanted = before * 2 if keys else [before[0], 2.0, before[2]]
    np.testing.assert_allclose(live.run.values[:3], wanted, rtol=1e-6)


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_in_the_past_a_walked_step_is_that_of_the_record(views, optimizer):
    view = views(run_of(optimizer=optimizer))
    then = bits(view.run)
    press(view, "Left", "Left")
    settle(view)
    assert view.run.steps == 5
    walk(view)
    walk(view)
    assert told(view) is None
    assert bits(view.run) == then
    assert len(view.run.branches) == 1


def numbers_of(run):
    frame = run.frame()
    return {"loss": frame.loss, "grad": float(np.abs(frame.gradient).max()), "0.weight[1][2]": float(frame.values[5])}


@pytest.mark.parametrize(("name", "phase"), [("loss", "loss"), ("grad", "gradients"), ("0.weight[1][2]", "update")])
def test_a_breakpoint_is_looked_into_where_it_became_true_and_the_step_can_be_finished(views, name, phase):
    twin = run_of()
    twin.step(7)
    before = numbers_of(twin)[name]
    twin.step(1)
    after = numbers_of(twin)[name]
    view = views()
    view.run.break_on(f"{name} {'>' if after > before else '<'} {(before + after) / 2:.9g}")
    press(view, "Right")
    settle(view)
    stop = view.worker.stopped
    assert stop.step == 8
    press(view, ",")
    settle(view)
    assert (told(view).step, told(view).phases[told(view).phase].name) == (8, phase)
    if phase != "loss":
        assert stop.weights[0] in view.micro.walk.steps[told(view).at - 1].weights
    press(view, "Right")
    settle(view)
    assert view.run.steps == 8


# ---- whose numbers


def test_one_colour_is_a_trial_step_and_the_batch_the_real_one(live):
    press(live, ".")
    assert any("a trial step" in text for text in words(live))
    go_to(live, UPDATE)
    own, one = told(live).frame.gradient, told(live).spread
    assert told(live).trial
    source = live.bench.subject.source
    assert own == pytest.approx(source.sample_gradient([0.9, 0.5, 0.1], [0.1, 0.5, 0.9], live.run.values))
    click(live, "switch", 0)
    assert told(live).trial  # it is on that side
    click(live, "switch", 1)
    assert any("mean of 16 colours: the real step" in text for text in words(live))
    batch, both = told(live).frame.gradient, told(live).spread
    assert not told(live).trial
    for spread in (one, both):  # the histogram is of the batch, and marks this colour
        assert (spread.counts.sum(), spread.own) == (16, pytest.approx(own[0]))
        assert (spread.gradient, spread.joined) == (pytest.approx(batch[0]), "mean")
    press(live, "Escape", "Right")
    settle(live)
    assert batch == pytest.approx(live.run.frame().gradient, abs=1e-6)
    assert not np.allclose(own, batch)


def test_of_losses_that_are_added_up_the_terms_have_a_sum(views):
    view = views(run_of(loss=nn.MSELoss("sum")))
    press(view, ".", "B")
    go_to(view, UPDATE)
    assert told(view).spread.joined == "sum"


def test_without_a_target_the_whole_batch_is_shown(live):
    live.bench.subject.probe[:] = 0.3
    live.bench.side.ground.probes += 1
    press(live, ".")
    assert not told(live).trial
    press(live, "B")
    assert not told(live).trial
    assert live.notice()


def test_in_a_step_of_the_batch_what_is_of_one_colour_says_so(views):
    for bias in (True, False):
        view, said = views(run_of(bias=bias)), {}
        press(view, ".", ".")
        assert "alone" not in told(view).sentence.meaning
        press(view, "B")
        for _ in range(14):
            said[told(view).sentence.name] = told(view).sentence.meaning
            press(view, ".")
        assert not told(view).trial
        assert all(said[name].endswith("this colour alone") for name in ("0.weight[0][0]", "sum r", "output r"))
        assert ("bias" in said["sum r"]) == bias


# ---- on the picture


def test_gradients_are_not_there_until_they_come_and_each_cube_carries_its_factors(views):
    view = views(run_of(4))
    press(view, ".")
    go_to(view, GRADIENTS)
    assert told(view).frame.computed.sum() == 1
    press(view, ".")
    assert told(view).frame.computed.sum() == 2
    assert view.bench.colouring.quantity == "gradient"
    go_to(view, UPDATE)
    press(view, ",")
    view.tick(1.0)
    own, shown = told(view), words(view)
    assert own.phases[GRADIENTS].done == len(own.faces) == 31
    for index, face in own.faces.items():
        left, right = (float(t.replace("−", "-")) for t in face.above.split(" × "))
        assert left * right == pytest.approx(own.frame.gradient[index], abs=2e-2 * max(abs(left), 1e-3) + 6e-4)
        assert face.below[2:] in shown
    go_to(view, FORWARD)
    view.tick(1.0)
    assert not any(text.startswith("= ") for text in words(view))  # a product alone would be taken for the weight


def test_rows_and_gradients_of_a_deep_net_come_layer_by_layer(deep):
    press(deep, ".")
    loss, seen = deep.bench.subject.probe_loss(deep.micro.walk.frame), []
    for _ in range(7):
        seen.append(sum(row.all() for name, row in told(deep).reached.items() if name != "input"))
        press(deep, ".")
    assert seen == [0, 1, 2, 3, 4, 5, 6]
    go_to(deep, GRADIENTS)
    there = {t.name for t in deep.run.tensors if t.of(told(deep).frame.computed).all()}
    assert there == {"4.weight", "4.bias"}
    go_to(deep, UPDATE)
    assert told(deep).loss == pytest.approx(loss)  # the sample's own, before the step
    assert any(text.endswith(f"{loss:.4f}") for text in words(deep) if text.startswith("loss of this"))


@pytest.mark.parametrize("size", [(1280, 720), (960, 540), (720, 1280), (640, 360)])
@pytest.mark.parametrize(("hidden", "optimizer"), NETS)
def test_no_word_lies_on_another_at_any_size(views, size, hidden, optimizer):
    view = views(run_of(*hidden, optimizer=optimizer), size)
    press(view, ".")
    for phase in range(6):
        go_to(view, phase)
        view.tick(1.0)
        assert overlaps(view.bench.sketches, view.bench.places.size) == []


def test_a_pulse_runs_along_a_line_and_comes_to_rest(views):
    view = views(run_of(4))
    press(view, ".", ".")
    view.tick(0.1)
    assert view.bench.moving
    moving = offscreen().render(view.draw, view.bench.size)
    view.tick(0.5)
    view.tick(0.5)
    assert not np.array_equal(moving, offscreen().render(view.draw, view.bench.size))
    assert not view.bench.inside.moving
    bench, (_, ways, _) = view.bench, view.bench.inside._parts()
    row, after = bench.layout.activation("1"), bench.layout.plate("2.weight")
    tops = [row.cell_centre_top(2), after.cell_centre_top(2, 2)]  # of a delta: from the weights that read the unit
    assert ways.path(Pulse("delta", 2, "0", True))[::-1] == pytest.approx(bench.project(tops))


def test_the_line_is_about_the_selected_weight(live):
    live.bench.select(5)
    press(live, ".")
    go_to(live, UPDATE)
    assert told(live).sentence.index == 5
    live.bench.select(1)
    live.tick(0.0)
    live.tick(0.0)
    assert told(live).sentence.name == "0.weight[0][1]"


def test_the_lines_of_adam_are_told_one_by_one(views):
    view = views(run_of(optimizer=optim.Adam))
    press(view, ".")
    go_to(view, UPDATE)
    assert [formula.letters.rpartition(" = ")[2] for formula in told(view).rule] == ["m'", "v'", "w'"]
    assert "Adam, line by line" in words(view)


# ---- by itself


def test_slow_motion_opens_steps_does_those_of_the_engine_and_stays_where_it_is_paused(live):
    other = run_of()
    other.step(8)
    live.playback.change_speed(-3)
    live.playback.play()
    for _ in range(4):
        live.tick(0.25)
        live.worker.settle()
    assert any("slow motion" in text for text in words(live))
    press(live, "Space")
    at = told(live).at
    for _ in range(5):
        live.tick(0.25)
    assert (told(live).at, told(live).step) == (at, 8)
    press(live, ".")
    assert told(live).at == at + 1
    press(live, "Space")
    for _ in range(120):
        live.tick(0.25)
        live.worker.settle()
        if told(live) is not None and told(live).step == 9:
            break
    assert bits(live.run) == bits(other)
    live.playback.change_speed(0)
    live.tick(0.1)
    assert told(live) is None
    live.playback.pause()


def test_samples_are_added_up_to_the_gradient_of_the_batch(live):
    press(live, ";")
    live.tick(0.1)
    assert told(live).adding == 1
    one, weight = live.micro.walk.opened, live.run.tensors[0]
    outer = np.outer(one.deltas["0"][:, 0], one.inputs[:, 0])
    assert told(live).frame.gradient[weight.span].reshape(3, 3) == pytest.approx(outer)
    for name, delta in told(live).deltas.items():  # they had come before: they are those of the batch
        assert delta == pytest.approx(one.deltas[name].sum(axis=1))
    assert {"sum ÷ 16", "sum of δ · x ÷ 16"} <= set(words(live))  # no mean of one, but 16 times less than δ · x
    for _ in range(8):
        live.tick(1.0)
    assert told(live).adding == 16
    assert told(live).frame.gradient == pytest.approx(one.gradient)
    press(live, ".")
    assert told(live).adding == 0


def test_the_bars_of_the_layers_are_of_the_samples_added_up_so_far(deep):
    press(deep, ";")
    deep.tick(0.1)
    seen, all_of_them = told(deep), deep.micro.walk.opened.gradient
    assert 1 <= seen.adding < 16
    names = {tensor.name: tensor for tensor in deep.bench.subject.tensors}
    come = {layer.name: layer.largest for layer in seen.layers if np.isfinite(layer.largest)}
    for name, largest in come.items():
        assert largest == pytest.approx(np.abs(seen.frame.gradient[names[name].span]).max())
    assert come["4.weight"] != pytest.approx(np.abs(all_of_them[names["4.weight"].span]).max())


# ---- a picture that stands still


def test_a_picture_of_a_micro_step_has_its_ribbon_and_the_run_is_as_it_was():
    run = run_of()
    run.step(4)
    before, pictures = bits(run), [sv.render(run, inside=k) for k in (None, 32, -1, 44)]
    assert bits(run) == before
    assert not np.array_equal(pictures[0], pictures[1])
    assert np.array_equal(pictures[2], pictures[3])
    assert not np.array_equal(pictures[3], sv.render(run, inside=-1, whole_batch=True))


@refusals({
    **{f"sv.render(run_of(), inside={k!r})": (InputError, "1 to 44", k) for k in (0, 45, -45, 1000, "last", True, 1.5)},
    "sv.render({'a': np.eye(3)}, inside=1)": (InputError, "Run", "recording"),
}, globals())  # fmt: skip
def test_a_micro_step_that_there_is_not_is_refused_with_those_that_there_are(refusal):
    refusal.check()


@pytest.fixture
def classes():
    rng = np.random.default_rng(1)
    net = nn.Sequential(nn.Linear(6, 16, seed=1), nn.ReLU(), nn.Linear(16, 7, seed=2))
    return sv.Run(net, nn.CrossEntropyLoss(), optim.Adam(net.parameters()), (rng.random((20, 6)), np.arange(20) % 7),
                  engine="numpy")  # fmt: skip


def test_of_many_outputs_each_has_its_delta_beside_what_it_was(classes):
    """Of one sample; of a batch both are means, and none is wanted. They come when they are computed."""
    subject = subject_of(Scene("t", classes))
    frame = subject.frame()
    at = [told_of(subject, frame, k) for k in range(1, told_of(subject, frame, 1).count + 1)]
    logits, last = frame.activations["2"], at[-1].outputs
    share = np.exp(logits - logits.max())
    assert [output.value for output in last] == pytest.approx(logits.tolist())
    assert [output.delta for output in last] == pytest.approx((share / share.sum() - np.eye(7)[0]).tolist())
    assert [k for k, output in enumerate(last) if output.wanted] == [0]
    values, deltas = (
        [bool(np.isfinite([getattr(o, of) for o in told.outputs]).all()) for told in at] for of in ("value", "delta")
    )
    assert (values, deltas) == (sorted(values), sorted(deltas))
    assert (at[values.index(True)].phase, at[deltas.index(True)].phase) == (FORWARD, BACKWARD)
    assert [bool(np.isfinite(t.layers[-1].largest)) for t in at] == [bool(t.frame.computed[-7:].all()) for t in at]
    whole = told_of(subject, frame, -1, whole_batch=True).outputs
    inputs, _ = classes.samples()
    assert [output.value for output in whole] == pytest.approx(classes.predict(inputs).mean(axis=0), abs=1e-6)
    assert [output.delta for output in whole] == pytest.approx(classes.open().gradient[-7:])
    assert not any(output.wanted for output in whole)


@pytest.mark.parametrize("whole_batch", [False, True])
@pytest.mark.parametrize(("loss", "once"), [("mean", "mean"), ("sum", "Σ")])
def test_a_gradient_of_several_products_of_a_sample_is_called_their_sum(whole_batch, loss, once):
    wx, rec, b = (sv.Weight(v, name=name) for name, v in (("wx", 0.5), ("wRec", 2.0), ("b", 1.0)))

    def model(x):
        s = 0.0
        for value in x:
            s = s * rec + value * wx
        return s + b

    data = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[2.0], [1.0]]
    run = sv.Run(model, nn.MSELoss(loss), optim.SGD([wx, rec, b], lr=0.1), data, engine="numpy", dtype="float64")
    subject, steps = subject_of(run), run.open().micro_steps()
    last = max(k for k, step in enumerate(steps, 1) if step.phase == "gradients")
    faces = told_of(subject, subject.frame(), last, whole_batch=whole_batch).faces
    assert [faces[k].above for k in range(2)] == ["Σ δ·x", "Σ δ·x"]
    assert faces[2].above == f"{once} δ·x" if whole_batch else faces[2].above.endswith("× 1")
    stage = next(k for k, step in enumerate(steps, 1) if step.kind == "stage")
    said = told_of(subject, subject.frame(), stage, whole_batch=whole_batch).sentence
    assert [formula.letters for formula in said.formulas] == ["output"]


@pytest.mark.parametrize("number", [20, 60, 93])
def test_inside_a_trial_step_dropout_shows_what_its_mask_left(number):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2, seed=2), nn.Sigmoid())
    data = X[:8], X[:8, :2]
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data, engine="numpy", seed=5)
    run.step(5)
    subject = subject_of(run)
    shown = told_of(subject, subject.frame(), number).frame.activations
    kept = shown["2"] != 0
    assert 0 < kept.sum() < 4
    np.testing.assert_allclose(shown["2"], np.where(kept, 2 * shown["1"], 0), rtol=1e-12)
    plain = run.activations(subject.probe)
    np.testing.assert_array_equal(plain["2"], plain["1"])


@pytest.mark.parametrize("action", ["add_samples", "micro_next", "whose"])
def test_a_network_that_grew_a_moment_ago_is_opened_as_it_is_now(live, action):
    before = len(live.frame().values)
    grown = nn.Sequential(nn.Linear(3, 20, seed=3), nn.Tanh(), nn.Linear(20, 3, seed=4), nn.Sigmoid())
    live.worker.do(Change(model=grown))
    live.worker.settle()
    live.send(action)
    for _ in range(3):
        settle(live)
    assert before < 143 == len(live.frame().values)
    assert told(live) is None or len(told(live).frame.values) == 143
