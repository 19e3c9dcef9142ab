"""`Run`: whose weights and optimiser are, what a frame holds, divergence, files; what is no run is refused."""

import copy
import gc
import math
import pickle
import weakref

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import FAMILIES, make_optimizer
from kit.networks import NETWORKS, mlp
from kit.refusals import refusals
from kit.runs import bits, make_run
from scalarviz import Run, nn, optim
from scalarviz.errors import (
    DivergedError,
    InputError,
    ScalarvizError,
    StateError,
    TypeMismatchError,
)
from scalarviz.run.state import optimizer_state

X = np.random.default_rng(0).random((16, 3))
Y = 1 - X


def small(seed=1):
    return NETWORKS["mlp"].ours(seed)


def make(net=None, rule=None, data=(X, Y), loss=None, **options):
    net = small() if net is None else net
    rule = optim.Adam(net.parameters(), lr=0.1) if rule is None else rule
    return Run(net, loss or nn.MSELoss(), rule, data, **{"engine": "numpy", "dtype": "float64", **options})


def by_hand(net, rule, steps):
    for _ in range(steps):
        rule.zero_grad()
        for x, y in zip(X.tolist(), Y.tolist(), strict=True):
            nn.MSELoss()(net(x), y).backward(1 / len(X))
        rule.step()


# ---- whose the weights are


@pytest.mark.parametrize("name", FAMILIES)
def test_steps_by_hand_of_one_run_and_of_the_next_are_the_same_steps(name):
    ends = []
    for hand, first in ((6, 0), (3, 2), (0, 3), (0, 0)):
        net = small()
        rule = make_optimizer(name, net.parameters())
        by_hand(net, rule, hand)
        runs = [make(net, rule), make(net, rule)] if not first else [make(net, rule)]
        if first:
            runs[0].step(first)
            runs.append(make(net, rule))
        runs[-1].step(6 - hand - first)
        runs[0].close()  # too late to give anything back
        runs[-1].close()
        assert rule.steps == 6
        ends.append(np.concatenate([part.data.ravel() for part in net.parameters()]))
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-12)
    assert ends[2].tobytes() == ends[3].tobytes()


def test_held_objects_follow_the_run():
    net = small()
    weight, before = net[0].weight[2][1], net[0].weight[2][1].data
    run = make(net, dtype="float32")
    assert weight.data == np.float32(before)
    run.step(3)
    assert weight.data == run.state_dict()["0.weight"][2, 1] != np.float32(before)
    assert weight.grad == run.tensors[0].of(run.frame().gradient)[2, 1]
    assert weight is net[0].weight[2][1]
    weight.data = 0.25
    assert run.frame().values[2 * 3 + 1] == 0.25
    twin = copy.deepcopy(net)
    run.step(5)
    assert twin[0].weight.data[0, 0] != net[0].weight.data[0, 0]


def test_two_frames_of_one_step_are_different_frames():
    with make_run() as run:
        one, other = run.frame(), run.frame()
        assert one == one
        assert one != other  # which a film asks, to draw no picture twice
        assert one.step == other.step


def test_a_new_run_takes_the_weights_over():
    net = small()
    old, new = make(net), make(net)
    with pytest.raises(StateError, match="another Run"):
        old.step()
    new.step()
    for _ in range(2):
        assert net[0].weight[0][0].data == new.state_dict()["0.weight"][0, 0]
        old.close()  # must not pull the weights out of the new run
    with pytest.raises(InputError, match="no weight of the optimiser"):
        make(net, optim.SGD(small(5).parameters(), lr=0.1))
    new.step(1)  # its weights are still its own


def test_closing_returns_float64_weights_and_the_optimiser():
    net = small()
    run = make(net, dtype="float32")
    run.step(3)
    values, state = run.state_dict(), optimizer_state(run)
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


def test_runs_die_without_the_garbage_collector():
    gc.disable()
    try:
        run = make()
        run.step(2)
        run.lr = 0.1
        run.back(1)
        dead = weakref.ref(run)
        del run
        assert dead() is None
    finally:
        gc.enable()


# ---- what is seen


def test_looking_changes_no_bit_and_a_frame_is_a_copy():
    run, plain = make(batch_size=5), make(batch_size=5)
    first = run.frame()
    assert math.isnan(first.loss)
    assert not first.computed.any()
    assert not first.update.any()
    for step in range(1, 7):
        before = run.frame().values
        run.step(1)
        plain.step(1)
        frame = run.frame(X[0])
        assert (frame.step, frame.computed.all()) == (step, True)
        np.testing.assert_array_equal(frame.update, frame.values - before)
        frame.values[:], frame.gradient[:] = 9, 9
        run.predict(X), run.evaluate(X, Y), run.loss, run.history.loss
    assert bits(run) == bits(plain)


def test_losses_of_data_are_those_of_predictions_and_of_the_step():
    run = make(batch_size=16)
    assert run.predict(X, run.frame().values).tolist() == run.predict(X).tolist()
    before = run.evaluate(X, Y)
    assert before == pytest.approx(np.mean((run.predict(X) - Y) ** 2), rel=1e-13)
    run.step(1)
    assert run.loss == pytest.approx(before, rel=1e-14)


def test_dead_units_are_those_of_the_frames_own_values():
    net = mlp(3, 4, 3, activation="ReLU")(nn)
    net[0].bias.data = [-100.0, 100.0, -100.0, 1.0]
    run = make(net, optim.SGD(net.parameters(), lr=0.5))
    assert run.frame().dead["1"].tolist() == [True, False, True, False]
    net[0].bias.data = [-0.5, 0.0, -1.0, 0.1]
    for _ in range(12):
        run.step(1)
        frame = run.frame()
        weight, bias = (t.of(frame.values) for t in run.tensors[:2])
        assert frame.dead["1"].tolist() == (~(X @ weight.T + bias > 0).any(axis=0)).tolist()


def test_a_history_above_a_million_steps_is_thinned():
    run = make_run("one weight", optimizer="sgd", engine="numba", samples=2, batch_size=1)
    run.step(1_300_000)
    found = run.history
    assert 500_000 <= len(found) <= 1_000_000
    assert (found.step[0], found.step[-1]) == (1, 1_300_000)
    assert (np.diff(found.step) > 0).all()
    assert found.loss[-1] == run.loss


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float64"), np.float16])
def test_a_dtype_of_numpy_and_a_number_of_steps_with_an_exponent_mean_what_their_names_mean(dtype):
    run, named = make(dtype=dtype), make(dtype=np.dtype(dtype).name)
    run.step(1e1)
    named.step(10)
    assert run.dtype == named.dtype == np.dtype(dtype).name
    assert bits(run) == bits(named)
    for wrong in (1.5, np.inf, np.nan, -1e1):
        with pytest.raises(InputError, match="n must be a whole number"):
            run.step(wrong)


def test_progress_can_stop_between_chunks():
    run, seen = make(), []
    run.step(10_000, progress=lambda r: seen.append(r.steps) or r.steps < 20)
    assert 20 <= seen[-1] == run.steps < 10_000


# ---- divergence


def parabola(lr, x=3.0):
    w = sv.Weight(1.0, name="w")
    return make(lambda v: w * v[0], optim.SGD([w], lr=lr), ([[x]], [[0.0]]), dtype="float32")


@pytest.mark.parametrize("lr", [3.0, 1e30, 1e39])
def test_divergence_stops_at_the_first_bad_step_and_names_the_weight_however_it_was_cut(lr):
    stops = []
    for chunks in ([60], [1] * 60, [7] * 9):
        run = parabola(lr)
        with pytest.raises(DivergedError, match=r"\bw\b" if lr > 3 else "lr is 3") as caught:
            for n in chunks:
                run.step(n)
        assert f"step {run.steps}" in str(caught.value)
        assert run.steps == len(run.history)
        assert not np.isfinite([run.loss, *run.values]).all()  # it stands where it broke, for all to see
        stops.append(run.steps)
    assert stops[0] == stops[1] == stops[2] > (5 if lr == 3.0 else 0)


@pytest.mark.parametrize("engine", ["numpy", "objects"])
def test_a_loss_of_probabilities_says_that_it_was_given_others(engine):
    net = nn.Linear(3, 1, seed=0)
    with make(net, data=(X * 50, Y[:, :1] > 0.5), loss=nn.BCELoss(), engine=engine) as run:
        with pytest.raises(DivergedError, match=r"from 0 to 1.*BCEWithLogitsLoss") as caught:
            run.step(20)
        assert "learning rate" not in str(caught.value)


def test_a_loss_an_optimiser_or_a_network_of_pytorch_is_named_with_ours(torch):
    own = type("Net", (torch.nn.Module,), {})
    for loss, said in ((torch.nn.MSELoss(), r"MSELoss.*nn\.MSELoss\(\)"), (torch.nn.L1Loss, r"L1Loss.*nn\.L1Loss\(\)"),
                       (torch.nn.functional.mse_loss, "mse_loss.*function")):  # fmt: skip
        with pytest.raises(T, match=said):
            make(loss=loss)
    with pytest.raises(T, match=r"Net.*PyTorch.*sv\.watch"):
        make(own(), optim.SGD(small().parameters()))
    with pytest.raises(T, match=r"optim\.AdamW\(net.*PyTorch's AdamW"):
        make(rule=torch.optim.AdamW(torch.nn.Linear(1, 1).parameters()))
    with pytest.raises(T, match=r"scalarviz\.nn\.Linear"):
        nn.Sequential(torch.nn.Linear(2, 1))


# ---- files


def test_loading_what_does_not_fit_lists_everything_and_changes_nothing(tmp_path):
    make(mlp(3, 4, 2)(nn), data=(X, Y[:, :2])).save(tmp_path / "a.safetensors")
    run, sgd = make(), make(rule=optim.SGD((net := small()).parameters()), net=net)
    before = bits(run), bits(sgd)
    with pytest.raises(InputError, match=r"2\.weight.*\(2, 4\).*2\.bias.*\(2,\)"):
        run.load(tmp_path / "a.safetensors")
    run.save(tmp_path / "adam.safetensors")
    with pytest.raises(InputError, match="Adam"):
        sgd.load(tmp_path / "adam.safetensors")
    assert (bits(run), bits(sgd)) == before
    sgd.load(tmp_path / "adam.safetensors", optimizer=False)
    assert sgd.values.tobytes() == run.values.tobytes()


# ---- what is refused

FIXED = {
    "loss_function": "change(loss=", "seed": "restart(seed=", "model": "change(model=", "dtype": "dtype=",
    "optimizer": "change(optimizer=", "engine": "change(engine=", "momentum": "change(momentum=", "l2": "change(l2=",
    "steps": "run.to(", "learning_rate": "run.lr", "batchsize": "'batch_size'", "momentm": "'momentum'",
    "step": "cannot be set", "other": "no attribute",
}  # fmt: skip
"""By attribute, what the refusal says."""


class Noted(Run):
    note = ""


def test_an_attribute_is_an_edit_or_is_refused_with_the_call_that_changes_it():
    net = small()
    run = Noted(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, Y), engine="numpy")
    before = {**vars(run)}
    for name, said in FIXED.items():
        with pytest.raises(sv.ScalarvizError) as refused:
            setattr(run, name, 9)
        assert name in str(refused.value)
        assert said in str(refused.value)
    assert vars(run) == before
    run.note, run.lr, run.batch_size = "its own", 0.25, 2
    assert (run.note, run.optimizer.lr, run._problem.batch, len(run.log)) == ("its own", 0.25, 2, 2)


P, C = np.zeros((4, 1, 8, 8)), np.arange(4)
NAN, INF, COPIES = np.nan, np.inf, (copy.copy, copy.deepcopy, pickle.dumps)


def changed(array, place, number):
    copied = array.astype(float)
    copied[place] = number
    return copied


def pictures(x=P, y=C, *, channels=2, inputs=72, pool=1, loss=None):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(channels, 2, 3, padding=1), nn.MaxPool2d(pool), nn.Flatten(),
                        nn.Linear(inputs, 10))  # fmt: skip
    return make(net, data=(x, y), loss=loss or nn.CrossEntropyLoss())


def unlike(loss):
    return make(nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()), data=(np.zeros((4, 3)), np.zeros((4, 4))), loss=loss)


class Own(optim.SGD):
    def step(self):
        super().step()


V, T = InputError, TypeMismatchError
ROWS = {
    "make(data=(X, Y[:5]))": (V, 16, 5), "make(data=X)": (ScalarvizError, "pair"),
    "make(data=((X, X[:, :1]), Y))": (V, "2 arrays of 16 rows", "np.hstack"),
    "make(data=([X, X], Y))": (V, "2 arrays of 16 rows", "np.hstack"),
    "make(data=(X * NAN, Y))": (V, "data[0]", "[0, 0]", "nan"),
    "make(data=(X, changed(Y, (3, 1), INF)))": (V, "data[1]", "[3, 1]", "inf"),
    "make(data=(np.zeros((0, 3)), np.zeros((0, 3))))": (V, 0), "make(data=(X[:, :2], Y))": (V, 2, 3),
    "make(data=(np.array([['a']]), Y))": (ScalarvizError, "real numbers"),
    "make(batch_size=17)": (V, "batch", 17, 16), "make(seed=-1)": (V, "seed", -1, ">= 0"),
    "make(dtype='float8')": (ScalarvizError, "float8", "'float16', 'float32', 'float64'"),
    "make(engine='gpu')": (ScalarvizError, "gpu", "auto, objects, numpy, numba"),
    "make(engine='cuda:99')": (ScalarvizError, 'engine="cuda:99"'), "make(loss='mse')": (T, "loss", "str"),
    "make(rule=0.1)": (T, "optim", "got 0.1"), "make(net := small(), Own(net.parameters(), lr=0.1))": (V, "step()"),
    "make(small(), optim.SGD(small().parameters()))": (V, "no weight", "parameters"),
    "make().step(-1)": (V, -1, ">= 0"), "make().frame([1.0, 2.0])": (V, 3, 2),
    "make().predict([[1.0]])": (V, 3), "make().predict(X, np.zeros(3))": (V, 31, 3),
    "make().evaluate(X, Y[:, :1])": (V, 3, 1),
    **{f"COPIES[{k}](make())": (StateError, "copy its model") for k in range(3)},
    "pictures(inputs=50)": (V, "Linear(50, 10) '4'", 50, 72),
    "pictures(channels=3)": (V, "Conv2d(3, 2) '1'", "(3, H, W)", "(2, 6, 6)"),
    "pictures(pool=9)": (V, "MaxPool2d(9) '2'", "(9, 9)", "(6, 6)"),
    "pictures(P.reshape(4, 64))": (V, "Conv2d(1, 2) '0'", "(64,)"),
    "pictures(changed(P, (2, 0, 3, 4), NAN))": (V, "data[0]", "[2, 0, 3, 4]", "nan", "1 of 4"),
    "pictures(y=changed(C, 3, NAN))": (V, "data[1]"), "pictures(y=changed(C, 2, 10))": (V, "sample 2", 10, "0 .. 9"),
    "pictures(y=changed(C, 1, 0.5))": (V, "sample 1", 0.5),
    "pictures(loss=nn.MSELoss())": (V, "(10,)", "Linear '4'", "(1,)", "CrossEntropyLoss"),
    **{f"unlike(nn.{loss}())": (V, loss, "(2,)", "Sigmoid '1'", "(4,)", "(N, 2)") for loss in ("MSELoss", "BCELoss")},
}  # fmt: skip


@refusals(ROWS, globals())
def test_refused(refusal):
    refusal.check()
