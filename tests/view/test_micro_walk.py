"""Walking through a step in a window: by keys and clicks, on the picture, and without changing a bit of the run."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.micro.ribbon import arrows
from scalarviz.view.micro.told import BACKWARD, GRADIENTS, UPDATE, Pulse
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
NAMES = ("r", "g", "b")


def run_of(*hidden, optimizer=optim.SGD, batch=16):
    sizes, layers = (3, *hidden, 3), []
    for k in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[k], sizes[k + 1], seed=k + 1), nn.Tanh() if k < len(hidden) else nn.Sigmoid()]
    net = nn.Sequential(*layers)
    return sv.Run(net, nn.MSELoss(), optimizer(net.parameters(), lr=0.1), (X, 1 - X), batch_size=batch, seed=3,
                  engine="numpy")  # fmt: skip


def view_of(run, steps=7, size=(1280, 720), **options):
    run.step(steps)
    scene = Scene("t", run, np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.5, 0.9]), NAMES, NAMES,
                  (ColourCube(X, 1 - X), LossCurve()))  # fmt: skip
    return Unseen(lambda _: LiveView(scene, size, playing=False, **options)).view


@pytest.fixture
def live():
    view = view_of(run_of())
    with offscreen():
        view.tick(0.0)
        yield view
        view.close()


@pytest.fixture
def deep():
    view = view_of(run_of(16, 16))
    with offscreen():
        view.tick(0.0)
        yield view
        view.close()


def settle(view):
    view.worker.settle()
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


def overlaps(sketches, size):
    """Texts that leave the picture or lie on one another by more than a pixel."""
    boxes, found = [], []
    for item in (item for sketch in sketches for item in sketch.texts):
        wide = measure(item.text, item.size, item.bold)
        left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
        box = (left + 0.5, item.y - CAP_HEIGHT * item.size + 0.5, left + wide - 0.5, item.y - 0.5)
        if box[0] < 0 or box[1] < 0 or box[2] > size[0] or box[3] > size[1] or item.size < 12:
            found.append((item.text, "outside"))
        found += [(item.text, text) for text, b in boxes
                  if not (box[2] <= b[0] or b[2] <= box[0] or box[3] <= b[1] or b[3] <= box[1])]  # fmt: skip
        boxes.append((item.text, box))
    return found


# ---- the way through


def test_the_first_key_opens_the_coming_step_and_the_ribbon_says_so(live):
    press(live, ".")
    assert told(live).step == 8
    assert told(live).at == 1
    said = words(live)
    assert any(text.startswith("paused inside step 8  ·  micro-step 1 of 44") for text in said)
    assert {"zero", "forward", "loss", "backward", "gradients", "update"} <= set(said)


def test_the_phases_come_in_their_order(live):
    seen = []
    for _ in range(44):
        press(live, ".")
        name = told(live).phases[told(live).phase].name
        if not seen or seen[-1] != name:
            seen.append(name)
    assert seen == ["zero", "forward", "loss", "backward", "gradients", "update"]


@pytest.mark.parametrize("hidden", [(), (4,), (16, 16)])
@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_a_whole_step_in_micro_steps_ends_in_the_bits_of_right(hidden, optimizer):
    with offscreen():
        view, other = view_of(run_of(*hidden, optimizer=optimizer)), view_of(run_of(*hidden, optimizer=optimizer))
        press(view, ".")
        for _ in range(told(view).count):
            press(view, ".")
        settle(view)
        press(other, "Right")
        settle(other)
        assert told(view) is None
        assert bits(view.run) == bits(other.run)
        assert view.run.steps == 8
        view.close()
        other.close()


def test_walking_and_leaving_changes_nothing(live):
    before = bits(live.run)
    picture = offscreen().render(live.draw, live.bench.size)
    press(live, ".", ".", ".", ",", "B", ".")
    live.bench.inside.asked("phase", GRADIENTS)
    press(live, ";", ".", ".")
    press(live, "Escape")
    live.bench.select(None)
    assert told(live) is None
    assert bits(live.run) == before
    settle(live)
    live.say("")
    live.tick(5.0)
    live.tick(0.0)
    again = offscreen().render(live.draw, live.bench.size)
    assert np.array_equal(again, picture)


def test_right_and_space_finish_the_step(live):
    press(live, ".", ".", "Right")
    settle(live)
    assert told(live) is None
    assert live.run.steps == 8
    press(live, ".", "Space")
    assert told(live) is None
    assert live.playback.running
    live.playback.pause()


def test_back_walks_back_and_enters_the_step_before(live):
    press(live, ".", ".", ".", ",")
    assert told(live).at == 2
    press(live, ",", ",")
    settle(live)
    live.tick(0.0)
    assert told(live).step == 7
    assert told(live).at == told(live).count
    assert live.run.steps == 6


def test_back_from_a_pause_enters_the_step_that_was_done(live):
    press(live, ",")
    settle(live)
    live.tick(0.0)
    assert told(live).step == 7
    press(live, ".")
    settle(live)
    assert live.run.steps == 7


def test_an_edit_in_mid_step_opens_it_again(live):
    live.bench.inside.show(None)
    press(live, ".")
    live.bench.inside.asked("phase", GRADIENTS)
    live.tick(0.0)
    before, at = told(live), told(live).at
    live.put(0, 3.0)
    live.worker.settle()
    live.tick(0.0)
    assert told(live).at == at
    assert told(live).frame.values[0] == 3.0
    assert not np.array_equal(told(live).frame.gradient, before.frame.gradient)


def test_a_click_on_an_arrow_goes_to_its_phase(live):
    press(live, ".")
    x, y, w, h = arrows(live.bench.inside._ribbon)[BACKWARD]
    at = ((x + w / 2) * live.bench.scale, (y + h / 2) * live.bench.scale)
    live.press(at)
    live.release(at)
    live.tick(0.0)
    assert told(live).phase == BACKWARD
    assert told(live).phases[BACKWARD].done == 1


# ---- whose numbers


def test_one_colour_is_a_trial_step_and_the_batch_the_real_one(live):
    press(live, ".")
    live.bench.inside.asked("phase", UPDATE)
    live.tick(0.0)
    assert told(live).trial
    own = told(live).frame.gradient
    assert own == pytest.approx(
        live.bench.subject.source.sample_gradient([0.9, 0.5, 0.1], [0.1, 0.5, 0.9], live.run.values)
    )
    press(live, "B")
    assert not told(live).trial
    batch = told(live).frame.gradient
    press(live, "Escape", "Right")
    settle(live)
    assert batch == pytest.approx(live.run.frame().gradient, abs=1e-6)
    assert not np.allclose(own, batch)


def test_the_switch_says_whose_numbers_they_are(live):
    press(live, ".")
    assert any("a trial step, leaving it changes nothing" in text for text in words(live))
    press(live, "B")
    assert any("mean of 16 colours: the real step" in text for text in words(live))


def test_without_a_target_the_whole_batch_is_shown(live):
    live.bench.subject.probe[:] = 0.3
    live.bench.side.ground.probes += 1
    press(live, ".")
    assert not told(live).trial
    press(live, "B")
    assert not told(live).trial
    assert "nobody knows" in live.notice()


# ---- on the picture


def test_gradients_are_not_there_until_they_come(live):
    press(live, ".")
    live.bench.inside.asked("phase", GRADIENTS)
    live.tick(0.0)
    assert told(live).frame.computed.sum() == 1
    press(live, ".")
    assert told(live).frame.computed.sum() == 2
    assert live.bench.colouring.quantity == "gradient"
    assert sum(text.startswith("w ") for text in words(live)) >= 10


def test_a_cube_carries_its_two_factors(live):
    press(live, ".")
    for _ in range(31):
        press(live, ".")
    frame, own = told(live).frame, told(live)
    assert own.phases[GRADIENTS].done == 12
    for index, face in own.faces.items():
        left, right = (float(t.replace("−", "-").replace("e-", "e-")) for t in face.above.split(" × "))
        assert left * right == pytest.approx(frame.gradient[index], abs=2e-2 * max(abs(left), 1e-3) + 6e-4)
    assert sum(text.startswith(("= ", "≈ ")) for text in words(live)) == 12


def test_the_rows_of_a_deep_net_light_up_one_after_the_other(deep):
    press(deep, ".")
    seen = [sum(row.all() for name, row in told(deep).reached.items() if name != "input")]
    for _ in range(6):
        press(deep, ".")
        seen.append(sum(row.all() for name, row in told(deep).reached.items() if name != "input"))
    assert seen == [0, 1, 2, 3, 4, 5, 6]


def test_gradients_of_a_deep_net_come_layer_by_layer_the_last_first(deep):
    press(deep, ".")
    deep.bench.inside.asked("phase", GRADIENTS)
    deep.tick(0.0)
    tensors = {t.name: t for t in deep.run.tensors}
    there = {name: bool(t.of(told(deep).frame.computed).all()) for name, t in tensors.items()}
    assert {name for name, come in there.items() if come} == {"4.weight", "4.bias"}


@pytest.mark.parametrize("size", [(1280, 720), (960, 540), (720, 1280), (640, 360)])
@pytest.mark.parametrize(("hidden", "optimizer"), [((), optim.SGD), ((4,), optim.Adam), ((16, 16), optim.Adam)])
def test_no_word_lies_on_another_at_any_size(size, hidden, optimizer):
    with offscreen():
        view = view_of(run_of(*hidden, optimizer=optimizer), size=size)
        view.tick(0.0)
        press(view, ".")
        for phase in range(6):
            view.bench.inside.asked("phase", phase)
            view.tick(1.0)
            assert overlaps(view.bench.sketches, view.bench.places.size) == []
        view.close()


def test_a_pulse_is_on_its_way_and_comes_to_rest(live):
    press(live, ".", ".")
    live.tick(0.1)
    assert live.bench.moving
    moving = offscreen().render(live.draw, live.bench.size)
    live.tick(0.5)
    live.tick(0.5)
    rest = offscreen().render(live.draw, live.bench.size)
    assert not np.array_equal(moving, rest)
    assert not live.bench.inside.moving


# ---- by itself


def test_in_slow_motion_steps_are_opened_by_themselves(live):
    live.playback.change_speed(-3)
    live.playback.play()
    for _ in range(3):
        live.tick(0.2)
        live.worker.settle()
    first = told(live)
    assert first is not None
    assert any("slow motion" in text for text in words(live))
    for _ in range(60):
        live.tick(0.25)
        live.worker.settle()
        if told(live) is not None and told(live).step > first.step:
            break
    assert told(live).step == first.step + 1
    assert live.run.steps == first.step
    live.playback.pause()


def test_slow_motion_does_the_steps_of_the_engine(live):
    other = run_of()
    other.step(8)
    live.playback.change_speed(-3)
    live.playback.play()
    for _ in range(120):
        live.tick(0.25)
        live.worker.settle()
        if live.run.steps == 8:
            break
    assert bits(live.run) == bits(other)
    live.playback.pause()


def test_samples_are_added_up_to_the_gradient_of_the_batch(live):
    press(live, ";")
    live.tick(0.1)
    first = told(live)
    assert first.adding == 1
    one = live.micro.walk.opened
    weight = live.run.tensors[0]
    assert first.frame.gradient[weight.span].reshape(3, 3) == pytest.approx(
        np.outer(one.deltas["0"][:, 0], one.inputs[:, 0])
    )
    for name, delta in told(live).deltas.items():  # they had come before: they are those of the batch, not of one in 16
        assert delta == pytest.approx(one.deltas[name].sum(axis=1))
    assert "sum ÷ 16" in words(live)  # what stands there is no mean of one, and 16 times less than δ · x
    assert "sum of δ · x ÷ 16" in words(live)
    for _ in range(8):
        live.tick(1.0)
    assert told(live).adding == 16
    assert told(live).frame.gradient == pytest.approx(one.gradient)
    assert any("16 of 16" in text or text == "16" for text in words(live))
    press(live, ".")
    assert told(live).adding == 0


def test_in_a_step_of_the_batch_what_is_of_one_colour_says_so(live):
    press(live, ".", ".")
    assert told(live).trial
    assert "alone" not in told(live).sentence.meaning
    press(live, "B")
    said = {}
    for _ in range(14):
        said[told(live).sentence.name] = told(live).sentence.meaning
        press(live, ".")
    assert not told(live).trial
    assert said["0.weight[0][0]"].endswith(", of this colour alone")
    assert said["sum r"] == "products and bias, of this colour alone"
    assert said["output r"] == "sigmoid, of this colour alone"


def test_the_bars_of_the_layers_are_of_the_samples_added_up_so_far(deep):
    press(deep, ";")
    deep.tick(0.1)
    seen, frame = told(deep), told(deep).frame
    assert 1 <= seen.adding < 16
    names = {tensor.name: tensor for tensor in deep.bench.subject.tensors}
    come = [layer for layer in seen.layers if np.isfinite(layer.largest)]
    assert come
    for layer in come:
        assert layer.largest == pytest.approx(np.abs(frame.gradient[names[layer.name].span]).max())
        if layer.name == "4.weight":
            assert layer.largest != pytest.approx(np.abs(deep.micro.walk.opened.gradient[names[layer.name].span]).max())


def test_the_histogram_is_of_the_batch_and_marks_this_colour(live):
    press(live, ".")
    live.bench.inside.asked("phase", UPDATE)
    live.tick(0.0)
    one = told(live).spread
    assert one.counts.sum() == 16
    assert one.own == pytest.approx(told(live).frame.gradient[0])
    press(live, "B")
    both = told(live).spread
    assert both.mean == pytest.approx(one.mean)
    assert both.own == pytest.approx(one.own)
    assert both.mean == pytest.approx(told(live).frame.gradient[0])


def test_the_line_is_about_the_selected_weight(live):
    live.bench.select(5)
    press(live, ".")
    live.bench.inside.asked("phase", UPDATE)
    live.tick(0.0)
    assert told(live).sentence.index == 5
    live.bench.select(1)
    live.tick(0.0)
    live.tick(0.0)
    assert told(live).sentence.name == "0.weight[0][1]"


def test_the_lines_of_adam_are_told_one_by_one():
    with offscreen():
        view = view_of(run_of(optimizer=optim.Adam))
        view.tick(0.0)
        press(view, ".")
        view.bench.inside.asked("phase", UPDATE)
        view.tick(0.0)
        assert [formula.letters.rpartition(" = ")[2] for formula in told(view).rule] == ["m'", "v'", "w'"]
        assert "Adam, line by line" in [t.text for s in view.bench.sketches for t in s.texts]
        view.close()


def test_the_loss_of_the_sample_is_that_before_the_step(deep):
    press(deep, ".")
    before = deep.bench.subject.probe_loss(deep.micro.walk.frame)
    deep.bench.inside.asked("phase", UPDATE)
    deep.tick(0.0)
    assert told(deep).loss == pytest.approx(before)
    assert any(text.endswith(f"{before:.4f}") for text in words(deep) if text.startswith("loss of this"))


def test_a_pause_in_slow_motion_stays_inside_the_step(live):
    live.playback.change_speed(-3)
    live.playback.play()
    for _ in range(4):
        live.tick(0.25)
    press(live, "Space")
    at, step = told(live).at, told(live).step
    for _ in range(5):
        live.tick(0.25)
    assert (told(live).at, told(live).step) == (at, step)
    assert any(text.startswith("paused inside") for text in words(live))
    press(live, ".")
    assert told(live).at == at + 1
    press(live, "Space")
    for _ in range(3):
        live.tick(0.25)
    assert told(live).at > at + 1
    live.playback.change_speed(0)
    live.tick(0.1)
    assert told(live) is None
    live.playback.pause()


def numbers_of(run):
    frame = run.frame()
    return {"loss": frame.loss, "grad": float(np.abs(frame.gradient).max()), "0.weight[1][2]": float(frame.values[5])}


@pytest.mark.parametrize(("name", "phase"), [("loss", "loss"), ("grad", "gradients"), ("0.weight[1][2]", "update")])
def test_a_breakpoint_is_looked_into_where_it_became_true(name, phase):
    twin = run_of()
    twin.step(7)
    before = numbers_of(twin)[name]
    twin.step(1)
    after = numbers_of(twin)[name]
    with offscreen():
        view = view_of(run_of())
        view.tick(0.0)
        view.run.break_on(f"{name} {'>' if after > before else '<'} {(before + after) / 2:.9g}")
        press(view, "Right")
        settle(view)
        stop = view.worker.stopped
        assert stop.step == 8
        press(view, ",")
        settle(view)
        view.tick(0.0)
        assert told(view).step == 8
        assert told(view).phases[told(view).phase].name == phase
        if phase != "loss":
            assert stop.weights[0] in view.micro.walk.steps[told(view).at - 1].weights
        view.close()


def test_a_step_is_finished_after_a_breakpoint_too(live):
    live.run.break_on("step > 7.5")
    press(live, "Right")
    settle(live)
    assert live.worker.stopped is not None
    press(live, ".", ".", "Right")
    settle(live)
    assert live.run.steps == 9


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_in_the_past_a_walked_step_is_that_of_the_record(optimizer):
    with offscreen():
        view = view_of(run_of(optimizer=optimizer))
        view.tick(0.0)
        then = bits(view.run)
        press(view, "Left", "Left")
        settle(view)
        view.tick(0.0)
        assert view.run.steps == 5
        for _ in range(2):
            press(view, ".")
            for _ in range(told(view).count):
                press(view, ".")
            settle(view)
            view.tick(0.0)
        assert told(view) is None
        assert bits(view.run) == then
        assert len(view.run.branches) == 1
        view.close()


def test_left_leaves_the_opened_step(live):
    press(live, ".", ".", "Left")
    settle(live)
    live.tick(0.0)
    assert told(live) is None
    assert live.run.steps == 6


def test_a_small_net_of_two_layers_has_its_gradients_on_its_cubes():
    with offscreen():
        view = view_of(run_of(4))
        view.tick(0.0)
        press(view, ".")
        view.bench.inside.asked("phase", UPDATE)
        press(view, ",")
        view.tick(1.0)
        assert told(view).phases[GRADIENTS].done == 31
        shown = words(view)
        for index, face in told(view).faces.items():
            assert face.below[2:] in shown, index
        view.bench.inside.asked("phase", 1)
        view.tick(1.0)
        assert not any(text.startswith("= ") for text in words(view))  # a product alone would be taken for the weight
        view.close()


def test_a_pulse_of_a_delta_comes_from_the_weights_that_read_the_unit():
    with offscreen():
        view = view_of(run_of(4))
        view.tick(0.0)
        press(view, ".")
        bench, (_, ways, _) = view.bench, view.bench.inside._parts()
        path = ways.path(Pulse("delta", 2, "0", True))
        row, after = bench.layout.activation("1"), bench.layout.plate("2.weight")
        tops = [row.cell_centre_top(2), after.cell_centre_top(2, 2)]
        assert path[::-1] == pytest.approx(bench.project(tops))
        view.close()


@pytest.mark.parametrize("keys", ["", "A"])
def test_typing_a_value_closes_the_step_whose_column_has_no_field_for_it(live, keys):
    """The keys went into a field that nothing showed."""
    live.bench.select(1)
    press(live, *keys, ".")
    settle(live)
    assert told(live) is not None
    before = live.run.values[:3].copy()
    press(live, "Enter")
    settle(live)
    assert told(live) is None
    assert live.bench.touch.inspector.entry is not None
    press(live, "2", "Enter")
    settle(live)
    wanted = before * 2 if keys else [before[0], 2.0, before[2]]
    np.testing.assert_allclose(live.run.values[:3], wanted, rtol=1e-6)


def test_a_sum_without_a_bias_speaks_of_none():
    net = nn.Sequential(nn.Linear(3, 3, bias=False, seed=1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    with offscreen():
        view = view_of(run)
        view.tick(0.0)
        said = {}
        for _ in range(8):
            press(view, ".")
            said[told(view).sentence.name] = told(view).sentence.meaning
        view.close()
    assert said["sum r"] == "the products"
