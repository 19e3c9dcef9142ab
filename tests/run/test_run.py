"""`Run`: ownership, frames, prediction, divergence, data, saving."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import weakref

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, ScalarvizError, nn, optim
from scalarviz.errors import DivergedError, FileFormatError, InputError, StateError

X = np.random.default_rng(0).random((16, 3))
Y = 1 - X


def small(seed=1, activation=nn.Tanh):
    return nn.Sequential(nn.Linear(3, 4, seed=seed), activation(), nn.Linear(4, 3, seed=seed + 1), nn.Sigmoid())


def make(net=None, lr=0.1, data=(X, Y), optimizer=optim.Adam, **kwargs):
    net = net or small()
    return Run(net, nn.MSELoss(), optimizer(net.parameters(), lr=lr), data, **{"engine": "numpy", **kwargs})


def test_held_objects_follow_the_run():
    net = small()
    weight, before = net[0].weight[2][1], net[0].weight[2][1].data
    run = make(net)
    assert weight.data == np.float32(before)
    run.step(3)
    assert weight.data == run.state_dict()["0.weight"][2, 1]
    assert weight.data != np.float32(before)
    assert weight.grad == run.tensors[0].of(run.frame().gradient)[2, 1]
    assert weight is net[0].weight[2][1]
    weight.data = 0.25
    assert run.frame().values[2 * 3 + 1] == 0.25


def test_gradient_at_rest_is_the_last_steps():
    net = small()
    run = make(net, dtype="float64", engine="numpy")
    run.step(4)
    values = run.frame().values - run.frame().update
    twin = small()
    for tensor, parameter in zip(run.tensors, twin.parameters(), strict=True):
        parameter.data = tensor.of(values)
    twin.zero_grad()
    for x, y in zip(X, Y, strict=True):
        nn.MSELoss()(twin(x.tolist()), y.tolist()).backward(1 / len(X))
    expected = np.concatenate([p.grad.ravel() for p in twin.parameters()])
    np.testing.assert_allclose(run.frame().gradient, expected, rtol=0, atol=1e-15)


def test_a_new_run_takes_the_weights_over():
    net = small()
    old = make(net)
    old.step(2)
    new = make(net)
    with pytest.raises(StateError, match="another Run took over"):
        old.step()
    new.step()
    assert net[0].weight[0][0].data == new.state_dict()["0.weight"][0, 0]
    old.close()  # must not pull the weights out of the new run
    assert net[0].weight[0][0].data == new.state_dict()["0.weight"][0, 0]


def test_a_new_run_goes_on_with_the_state_of_the_same_optimiser():
    def trained(cut):
        net = small()
        adam = optim.Adam(net.parameters(), lr=0.05)
        first = Run(net, nn.MSELoss(), adam, (X, Y), engine="numpy", dtype="float64")
        first.step(cut)
        second = Run(net, nn.MSELoss(), adam, (X, Y), engine="numpy", dtype="float64")
        second.step(8 - cut)
        first.close()  # too late to give anything back
        second.close()
        return second.values.copy(), adam.steps

    at_once, in_two = trained(0), trained(5)
    assert in_two[1] == at_once[1] == 8
    np.testing.assert_array_equal(in_two[0], at_once[0])


def test_a_run_is_not_copied():
    run = make()
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(StateError, match="copy its model"):
            copying(run)


def test_close_returns_float64_weights_and_the_optimiser():
    net = small()
    run = make(net)
    run.step(3)
    values = run.state_dict()
    state = run.optimizer_state()
    run.close()
    run.close()
    assert net[0].weight.data.dtype == np.float64
    np.testing.assert_array_equal(net[0].weight.data, values["0.weight"].astype(float))
    with pytest.raises(StateError, match="closed"):
        run.step()
    assert run.optimizer.steps == 3
    kept = next(iter(run.optimizer.state_arrays().values()))
    np.testing.assert_array_equal(kept[:12], state[f"{run.optimizer.state[0]}.0.weight"].ravel())
    assert run.predict(X).shape == (16, 3)  # looking stays possible


def test_a_run_goes_on_where_hand_written_steps_stopped():
    """5 steps by hand and 5 by a Run are 10 steps by hand."""
    ends = []
    for by_hand in (10, 5):
        net = small()
        opt = optim.Adam(net.parameters(), lr=0.05)
        for _ in range(by_hand):
            opt.zero_grad()
            for x, y in zip(X, Y, strict=True):
                nn.MSELoss()(net(x.tolist()), y.tolist()).backward(1 / len(X))
            opt.step()
        run = Run(net, nn.MSELoss(), opt, (X, Y), engine="numpy", dtype="float64")
        run.step(10 - by_hand)
        ends.append(run.frame().values)
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-13)


def test_runs_die_without_the_garbage_collector():
    gc.disable()
    try:
        net = small()
        run = make(net)
        run.step(2)
        run.frame(X[0])
        dead = weakref.ref(run)
        del run
        assert dead() is None
    finally:
        gc.enable()


def test_frame_is_a_copy():
    run = make()
    first = run.frame()
    assert math.isnan(first.loss)
    assert not first.computed.any()
    assert not first.update.any()
    run.step(1)
    second = run.frame()
    assert second.step == 1
    assert second.computed.all()
    np.testing.assert_array_equal(second.update, second.values - first.values)
    assert not np.shares_memory(second.values, run._store.value)


def test_looking_changes_no_bit():
    ends = []
    for looks in (False, True):
        run = make(batch_size=5)
        for _ in range(6):
            run.step(2)
            if looks:
                run.frame(X[0])
                run.predict(X)
                run.evaluate(X, Y)
                run.loss, run.history.loss  # noqa: B018
        ends.append(run.frame().values.tobytes())
    assert ends[0] == ends[1]


def test_stages_and_activations():
    run = make(dtype="float64")
    assert [(s.name, s.kind, s.outputs) for s in run.stages] == [
        ("0", "linear", 4), ("1", "tanh", 4), ("2", "linear", 3), ("3", "sigmoid", 3),
    ]  # fmt: skip
    found = run.frame(X[3]).activations
    w, b = run.state_dict()["0.weight"], run.state_dict()["0.bias"]
    np.testing.assert_allclose(found["0"], w @ X[3] + b, rtol=1e-14)
    np.testing.assert_allclose(found["1"], np.tanh(w @ X[3] + b), rtol=1e-14)
    np.testing.assert_allclose(found["3"], run.predict(X[3:4])[0], rtol=1e-14)


def test_the_stages_of_a_function_of_two_layers_are_theirs_and_its_own():
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    run = Run(
        lambda x: [p + q for p, q in zip(a(x), b(x), strict=True)], nn.MSELoss(),
        optim.SGD([*a.parameters(), *b.parameters()], lr=0.1), (X, Y), engine="numpy",
    )  # fmt: skip
    assert [(s.name, s.kind, s.sources) for s in run.stages] == [
        ("linear", "linear", ("input",)), ("linear (2)", "linear", ("input",)),
        ("output", "add", ("linear", "linear (2)")),
    ]  # fmt: skip
    assert run.n_weights == 24


def test_dead_units_are_named():
    net = small(activation=nn.ReLU)
    net[0].bias.data = [-100.0, 100.0, -100.0, 1.0]
    assert make(net).frame().dead["1"].tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("inputs", "units", "least", "most"), [(300, 300, 256, 256), (1000, 300, 33, 255), (9000, 40, 32, 32)]
)
def test_a_large_net_is_asked_with_fewer_samples_for_dead_units(inputs, units, least, most):
    """Unit k answers the k-th sample alone: as many live as samples were asked."""
    net = nn.Sequential(nn.Linear(inputs, units, bias=False), nn.ReLU(), nn.Linear(units, 1))
    net[0].weight.data = np.eye(units, inputs)
    dead = make(net, data=(np.eye(300, inputs), np.zeros(300))).frame().dead["1"]
    asked = int(np.count_nonzero(~dead))
    assert dead.tolist() == [k >= asked for k in range(units)]
    assert least <= asked <= most
    assert asked == 32 or asked * (inputs + 2 * units) <= 2**18  # numbers of their forward pass


def test_dead_units_are_those_of_the_frames_own_values():
    run = make(small(activation=nn.ReLU), lr=0.5)
    for _ in range(20):
        run.step(1)
        frame = run.frame()
        weight, bias = (t.of(frame.values) for t in run.tensors[:2])
        assert frame.dead["1"].tolist() == (~(X.astype(np.float32) @ weight.T + bias > 0).any(axis=0)).tolist()


def test_evaluate_is_the_loss_of_the_next_step():
    run = make(dtype="float64")
    before = run.evaluate(X, Y)
    run.step(1)
    assert run.loss == pytest.approx(before, rel=1e-14)
    assert run.evaluate(X, Y) < before
    assert run.predict(X, run.frame().values).tolist() == run.predict(X).tolist()


def test_sum_reduction_scales_with_the_batch():
    net = small()
    loss = nn.MSELoss(reduction="sum")
    run = Run(net, loss, optim.SGD(net.parameters(), lr=0.01), (X, Y), engine="numpy", dtype="float64")
    expected = sum(loss(net(x.tolist()), y.tolist()).data for x, y in zip(X, Y, strict=True))
    assert run.evaluate(X, Y) == pytest.approx(expected)


@pytest.mark.parametrize("lr", [1e30, 1e39])
def test_divergence_names_step_and_weight(lr):
    w = sv.Weight(1.0, name="w")
    run = Run(lambda x: w * x[0], nn.MSELoss(), optim.SGD([w], lr=lr), ([[1.0], [2.0]], [[0.0], [0.0]]), engine="numpy")
    with pytest.raises(DivergedError, match=r"step \d+.*first weight is w\b"):
        run.step(50)
    assert run.steps == len(run.history) <= 3
    assert not np.isfinite(run.frame().values).all()  # it stands where it broke, for all to see


def test_divergence_stops_at_the_first_bad_step_however_it_was_cut():
    stops = []
    for chunks in ([60], [1] * 60):
        w = sv.Weight(1.0)
        run = Run(lambda x, w=w: w * x[0], nn.MSELoss(), optim.SGD([w], lr=3.0), ([[3.0]], [[0.0]]), engine="numpy")
        with pytest.raises(DivergedError):
            for n in chunks:
                run.step(n)
        stops.append(run.steps)
    assert stops[0] == stops[1] > 5


def test_progress_can_stop_between_chunks():
    run = make()
    seen = []
    run.step(10_000, progress=lambda r: seen.append(r.steps) or r.steps < 20)
    assert seen[-1] == run.steps >= 20
    assert run.steps < 10_000


def test_save_and_load_go_on_bit_for_bit(tmp_path):
    straight = make(batch_size=5)
    straight.step(20)
    first = make(batch_size=5)
    first.step(8)
    first.save(tmp_path / "a.safetensors", {"scene": "rgb"})
    second = make(small(seed=9), batch_size=5)
    saved = second.load(tmp_path / "a.safetensors")
    assert (saved.steps, saved.optimizer, saved.notes) == (8, "Adam", {"scene": "rgb"})
    second.step(12)
    assert second.steps == 20
    assert second.frame().values.tobytes() == straight.frame().values.tobytes()


def test_loading_what_does_not_fit_lists_everything_and_changes_nothing(tmp_path):
    wrong = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    make(wrong, data=(X, Y[:, :2])).save(tmp_path / "a.safetensors")
    run = make()
    before = run.frame().values
    with pytest.raises(InputError, match=r"2\.weight has shape \(2, 4\).*2\.bias has shape \(2,\)"):
        run.load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(run.frame().values, before)
    sgd = make(optimizer=optim.SGD)
    make().save(tmp_path / "adam.safetensors")
    with pytest.raises(InputError, match="trained with Adam"):
        sgd.load(tmp_path / "adam.safetensors")
    sgd.load(tmp_path / "adam.safetensors", optimizer=False)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(FileFormatError):
        run.load(tmp_path / "text")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": (X, Y[:5])}, "16 inputs but 5 targets"),
        ({"data": X}, "pair"),
        ({"data": (X * np.nan, Y)}, r"data\[0\].*\[0, 0\] is nan"),
        ({"data": (X, np.where(Y[3, 1] == Y, np.inf, Y))}, r"data\[1\].*\[3, 1\] is inf"),
        ({"data": (np.zeros((0, 3)), np.zeros((0, 3)))}, "none of them 0"),
        ({"data": (X[:, :2], Y)}, r"2 inputs|takes 3"),
        ({"data": (X, Y[:, :2])}, "3.*2|2.*3"),
        ({"data": (np.array([["a"]]), Y)}, "array of real numbers"),
        ({"batch_size": 17}, "larger than the data set of 16"),
        ({"batch_size": 0}, "whole number >= 1"),
        ({"batch_size": 2.5}, "whole number"),
        ({"batch_size": True}, "whole number"),
        ({"seed": -1}, "whole number >= 0"),
        ({"engine": "gpu"}, "auto, objects, numpy, numba"),
        ({"engine": "cuda:99"}, 'engine="cuda:99" (needs|finds|names|cannot)'),
        ({"dtype": "float16"}, "float32, float64"),
    ],
)
def test_bad_input_of_run(change, words):
    with pytest.raises(ScalarvizError, match=words):
        make(**change)


def test_bad_model_loss_and_optimiser():
    net = small()
    opt = optim.SGD(net.parameters(), lr=0.1)
    for arguments in (
        (None, nn.MSELoss(), opt),
        (net, "mse", opt),
        (net, nn.MSELoss(), None),
        (net, nn.MSELoss(), 0.1),
    ):
        with pytest.raises(ScalarvizError):
            Run(*arguments, (X, Y))

    class Own(optim.SGD):
        def step(self):
            super().step()

    with pytest.raises(InputError, match=r"overrides step\(\)"):
        Run(net, nn.MSELoss(), Own(net.parameters(), lr=0.1), (X, Y))


@pytest.mark.parametrize("n", [-1, 1.5, "3", True])
def test_bad_steps(n):
    with pytest.raises(InputError, match="whole number"):
        make().step(n)


def test_bad_looks():
    run = make()
    for call in (
        lambda: run.frame([1.0, 2.0]),
        lambda: run.predict([[1.0]]),
        lambda: run.predict(X, np.zeros(3)),
        lambda: run.evaluate(X, Y[:, :1]),
        lambda: run.weight_name(10_000),
    ):
        with pytest.raises(InputError):
            call()


def test_deepcopy_of_a_trained_net_is_independent():
    net = small()
    run = make(net)
    run.step(1)
    twin = copy.deepcopy(net)
    run.step(5)
    assert twin[0].weight.data[0, 0] != net[0].weight.data[0, 0]


def test_history_thins_above_a_million(monkeypatch):
    from scalarviz.run import history

    monkeypatch.setattr(history, "LIMIT", 1000)
    found = history.History()
    for first in range(0, 5000, 700):
        found.extend(first, np.arange(first, first + 700, dtype=float), 0.1)
    assert 500 <= len(found) <= 1000
    assert (found.step[0], found.step[-1]) == (1, 5600)
    assert (np.diff(found.step) > 0).all()
    np.testing.assert_array_equal(found.loss, found.step - 1.0)


def test_an_optimiser_of_another_model_is_refused_before_anything_moves():
    mine, other = small(), small(seed=5)
    run = make(mine)
    with pytest.raises(InputError, match="none of them is in this model's graph"):
        Run(mine, nn.MSELoss(), optim.SGD(other.parameters(), lr=0.1), (X, Y), engine="numpy")
    run.step(1)  # and the weights are still those of the run before
