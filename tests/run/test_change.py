"""`run.change`: another activation, loss, optimiser or model in the middle of a run, which keeps weights and steps."""

from __future__ import annotations

import copy
import pickle
import threading
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import FileFormatError, InputError, ScalarvizError, StateError, TypeMismatchError
from scalarviz.run.edits import Change, read_edit, write_edit
from scalarviz.run.fitting_layers import _longest
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((40, 3))
Y = np.random.default_rng(1).random((40, 3))
ENGINES = ["objects", "numpy", "numba"]


def network(hidden=5, activation=nn.Tanh):
    return nn.Sequential(nn.Linear(3, hidden, seed=1), activation(), nn.Linear(hidden, 3, seed=2), nn.Sigmoid())


def deeper():
    """One layer more in the middle, of the same width; its other layers are those of `network`, differently drawn."""
    first, middle, last = nn.Linear(3, 5, seed=7), nn.Linear(5, 5, seed=8), nn.Linear(5, 3, seed=9)
    return nn.Sequential(first, nn.ReLU(), middle, nn.ReLU(), last, nn.Sigmoid())


def make(engine="numpy", net=None, kind=optim.SGD, **kwargs):
    net = network() if net is None else net
    opt = kind(net.parameters(), lr=0.1)
    return net, Run(net, nn.MSELoss(), opt, (X, Y), engine=engine, **{"batch_size": 8, "dtype": "float64", **kwargs})


def bits(run):
    return (
        run.values.tobytes(), run._store.grad.tobytes(), run.problem.previous.tobytes(), run._store.frozen.tobytes(),
        [a.tobytes() for a in run.problem.state], type(run.optimizer), run.optimizer.hyperparameters(), run.steps,
        run.batch_size, run.sampling, run.problem.t_start, run.problem.data[:].tobytes(), repr(run.model),
        [t.name for t in run.tensors], [s.name for s in run.stages],
    )  # fmt: skip


def fresh(run, net, loss=None, kind=None, before=0):
    """A new run that begins with the numbers of `run`, at its step."""
    twin = copy.deepcopy(net)
    kind = type(run.optimizer) if kind is None else kind
    opt = kind(twin.parameters(), **run.optimizer.hyperparameters())
    made = Run(twin, loss or run.loss_function, opt, run.samples(), engine=run.engine.name, dtype=run.dtype,
               batch_size=run.batch_size, sampling=run.sampling, seed=run.seed)  # fmt: skip
    made.restore(run.state_dict(), run.optimizer_state(), run.steps)
    made.problem.t_start = run.problem.t_start
    return made


CHANGES = {
    "activation": {"activation": "relu"},
    "loss": {"loss": "L1Loss"},
    "optimiser by name": {"optimizer": "Adam", "lr": 0.02},
    "optimiser by class": {"optimizer": optim.AdamW},
    "all": {"activation": nn.LeakyReLU(0.2), "loss": nn.HuberLoss(), "optimizer": "SGD", "lr": 0.3, "momentum": 0.5,
            "batch_size": 60, "sampling": "replacement"},
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHANGES)
def test_it_goes_on_as_a_fresh_run_that_begins_there(name, engine):
    net, run = make(engine, kind=optim.Adam)
    run.step(7)
    weights, history = run.values.copy(), run.history.loss.copy()
    run.change(**CHANGES[name])
    assert (run.steps, run.values.tobytes(), run.history.loss.tobytes()) == (7, weights.tobytes(), history.tobytes())
    other = fresh(run, net)
    for each in (run, other):
        each.step(9)
    assert run.values.tobytes() == other.values.tobytes()
    assert run.values.tobytes() != weights.tobytes()
    assert run.history.step.tolist() == list(range(1, 17))
    assert len(run.log) == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHANGES)
def test_back_to_before_and_after_with_the_same_bits(name, engine):
    _, run = make(engine, kind=optim.Adam)
    _, plain = make(engine, kind=optim.Adam)
    run.step(4)
    before = run.state()
    then = bits(run)
    run.change(**CHANGES[name])
    run.step(5)
    after, end = run.state(), bits(run)
    run.take(before)
    assert bits(run) == then
    run.step(6)
    plain.step(10)
    assert bits(run)[:4] == bits(plain)[:4]
    run.take(after)
    assert bits(run) == end


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHANGES)
def test_undo_redo_and_any_step(name, engine):
    _, run = make(engine)
    run.step(3)
    moments = {3: bits(run)}
    run.change(**CHANGES[name])
    changed = bits(run)
    for step in (4, 5, 6):
        run.step(1)
        moments[step] = bits(run)
    for step in (5, 4, 6, 4):
        run.to(step)
        assert bits(run) == moments[step]
    run.to(6)
    words = run.undo()
    assert words == run.timeline.lines[0].edits[0].what
    assert bits(run) == moments[3]
    run.redo()
    assert bits(run) == moments[6]
    run.to(3)
    assert bits(run) == changed
    run.back(2)
    run.step(5)
    assert bits(run) == moments[6]


def test_the_weights_follow_the_run_and_the_model_has_the_new_activation():
    net, run = make()
    held = net[0].weight[2][1]
    run.change(activation="relu")
    assert isinstance(net[1], nn.ReLU)
    assert isinstance(net[3], nn.Sigmoid)
    run.step(3)
    assert held.data == run.values[7]
    assert net(X[0].tolist())[0].data == pytest.approx(run.predict(X[:1])[0][0], rel=1e-12)
    run.undo()
    assert isinstance(net[1], nn.Tanh)
    assert net(X[0].tolist())[0].data == pytest.approx(run.predict(X[:1])[0][0], rel=1e-12)
    held.data = 0.75
    assert run.values[7] == 0.75


@pytest.mark.parametrize("engine", ENGINES)
def test_one_layer_more_takes_over_those_that_fit(engine):
    net, run = make(engine, kind=optim.Adam)
    net[2].bias.frozen = True
    run.step(5)
    values, moments = run.values.copy(), [a.copy() for a in run.problem.state]
    other = deeper()
    middle = other[2].weight.data.copy()
    run.change(model=other)
    assert run.log[-1].what == "model = Sequential, taken over: 0, 4 (was 2); new: 2"
    assert [t.name for t in run.tensors] == ["0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"]
    assert other[0].weight.data.tobytes() == values[:15].tobytes()
    assert other[4].bias.data.tobytes() == values[35:].tobytes()
    assert (other[4].bias.frozen, other[2].bias.frozen) == (True, False)
    assert other[2].weight.data.tobytes() == middle.tobytes()
    for now, then in zip(run.problem.state, moments, strict=True):
        assert now[:20].tobytes() == then[:20].tobytes()
        assert not now[20:50].any()
        assert now[50:].tobytes() == then[20:].tobytes()
    assert (run.optimizer.numel(), run.optimizer.lr) == (68, 0.1)
    # the old ones stand alone
    assert net[0].weight.data.tobytes() == values[:15].tobytes()
    net[0].weight[0][0].data = 9.0
    assert run.values[0] == values[0]
    twin = fresh(run, other)
    assert twin.model[4].bias.frozen
    for each in (run, twin):
        each.step(6)
    assert run.values.tobytes() == twin.values.tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_layer_more_is_undone_and_done_again(engine):
    net, run = make(engine, kind=optim.Adam)
    held = net[0].weight[1][1]
    run.step(3)
    then = bits(run)
    other = deeper()
    new = other[2].weight[0][0]
    run.change(model=other)
    changed = bits(run)
    run.step(4)
    end, trained = bits(run), new.data
    run.undo()
    assert bits(run) == then
    assert run.model is net
    assert (held.data, new.data) == (run.values[4], trained)
    run.step(2)
    assert held.data == run.values[4]
    run.redo()
    assert bits(run) == end
    assert new.data == run.values[20]
    run.to(3)
    assert bits(run) == changed
    run.step(4)
    assert bits(run) == end


def test_a_layer_less_and_models_by_name():
    _, run = make(net=deeper())
    values = run.values.copy()
    run.change(model=network())
    assert run.log[-1].what == "model = Sequential, taken over: 0, 2 (was 4)"
    assert run.values.tobytes() == values[[*range(20), *range(50, 68)]].tobytes()

    class Own(nn.Module):
        def __init__(self, hidden, seed):
            self.a, self.b = nn.Linear(3, hidden, seed=seed), nn.Linear(hidden, 3, seed=seed)

        def forward(self, x):
            return self.b(nn.Tanh()(self.a(x)))

    _, run = make(net=Own(4, 1))
    values = run.values.copy()
    run.change(model=Own(4, 2))
    assert run.values.tobytes() == values.tobytes()
    run.change(model=Own(6, 3))
    assert run.log[-1].what == "model = Own, nothing is taken over; new: a, b"
    run.step(2)


def test_a_model_with_the_same_weights_and_functions():
    net, run = make()
    run.step(2)
    values = run.values.copy()
    run.change(model=lambda x: net[2](nn.Softplus()(net[0](x))))
    assert run.values.tobytes() == values.tobytes()
    run.step(2)
    run.undo()
    assert run.values.tobytes() == values.tobytes()
    w = sv.Weight(0.5)
    with pytest.raises(InputError, match="nothing would be trained"):
        run.change(model=lambda x: [w * x[0], x[1], x[2]])
    run.change(model=lambda x: [w * x[0], x[1], x[2]], optimizer=optim.SGD([w], lr=0.1))
    run.step(3)
    assert run.values.tolist() == [w.data]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weight_that_is_tied_and_one_that_is_not_held(engine):
    net = network()
    extra = sv.Weight(0.3)
    run = Run(lambda x: [o * extra for o in net(x)], nn.MSELoss(), optim.SGD([net[0].weight, extra], lr=0.1), (X, Y),
              engine=engine, dtype="float64")  # fmt: skip
    run.step(2)
    bias = net[2].bias.data.copy()
    run.change(optimizer="Adam")
    run.step(3)
    assert net[2].bias.data.tobytes() == bias.tobytes()
    assert run.optimizer.numel() == 16


def test_a_new_optimiser_counts_from_one_and_gets_its_state():
    """Adam's first step is lr in the direction of the gradient, whatever came before."""
    net, run = make()
    old = run.optimizer
    run.change(momentum=0.9)
    run.step(20)
    before = run.values.copy()
    opt = optim.Adam(net.parameters(), lr=0.01)
    run.change(optimizer=opt)
    assert old.steps == 20
    assert np.abs(old.state_arrays()["momentum_buffer"]).sum() > 0
    run.step(1)
    g = np.abs(run.frame().gradient)
    np.testing.assert_allclose(np.abs(run.values - before), 0.01 * g / (g + 1e-8), rtol=1e-9)
    assert opt.steps == 1
    run.step(4)
    assert opt.steps == 5
    opt.lr = 0.5
    assert run.log[-1].what == "lr = 0.5"
    old.lr = 0.7  # nobody's any more
    assert len(run.log) == 3
    run.close()
    assert (opt.steps, run.steps) == (5, 25)


def test_torch_agrees_on_a_run_that_was_changed_twice():
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    net, run = make(kind=optim.SGD, batch_size=40)
    theirs = torch.nn.Sequential(
        torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3), torch.nn.Sigmoid()
    ).double()
    theirs.load_state_dict({k: torch.tensor(v) for k, v in net.state_dict().items()})
    x, y = torch.tensor(X), torch.tensor(Y)

    def train(model, loss, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()

    run.step(10)
    train(theirs, torch.nn.MSELoss(), torch.optim.SGD(theirs.parameters(), lr=0.1), 10)
    run.change(activation="softplus", loss=nn.HuberLoss(), optimizer="AdamW", lr=0.03, betas=(0.8, 0.9))
    changed = torch.nn.Sequential(theirs[0], torch.nn.Softplus(), theirs[2], theirs[3])
    adamw = torch.optim.AdamW(changed.parameters(), lr=0.03, betas=(0.8, 0.9))
    run.step(15)
    train(changed, torch.nn.HuberLoss(), adamw, 15)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, changed.state_dict()[name].numpy(), rtol=1e-9)
    run.change(activation=nn.LeakyReLU(0.3))
    last = torch.nn.Sequential(theirs[0], torch.nn.LeakyReLU(0.3), theirs[2], theirs[3])
    run.step(15)
    train(last, torch.nn.HuberLoss(), adamw, 15)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, last.state_dict()[name].numpy(), rtol=1e-9)


def test_frames_after_it_are_of_the_new_weights():
    _, run = make()
    run.step(3)
    old = run.frame(X[0])
    run.change(model=deeper())
    frame = run.frame(X[0])
    assert len(frame.values) == len(frame.update) == len(frame.gradient) == run.n_weights == 68
    assert frame.edited
    assert not frame.computed[20:50].any()
    assert frame.computed[:20].all()
    assert not frame.update[20:50].any()
    np.testing.assert_array_equal(frame.update[:20], old.update[:20])
    assert old.values.size == 38
    run.step(1)
    assert not run.frame().edited


def test_other_data_and_more_of_it_go_on():
    """Pictures of many features: the data stands in the form of its graph."""
    random = np.random.default_rng(0)
    x, y = random.random((20, 1, 4, 4)), random.integers(0, 3, 20)

    def pictures(width):
        return nn.Sequential(nn.Conv2d(1, width, 3, seed=1), nn.Tanh(), nn.Flatten(), nn.Linear(4 * width, 3, seed=2))

    net = pictures(2)
    run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numpy", dtype="float64")
    run.step(2)
    before = run.state()
    run.add_samples(x[:3], y[:3])
    run.change(model=pictures(5))
    assert "new: 0, 3" in run.log[-1].what
    run.step(2)
    run.refill(x[:7], y[:7])
    run.step(2)
    end = bits(run)
    run.take(before)
    assert run.problem.data.shape[1] == 20
    run.step(1)
    run.undo()
    assert bits(run) == end
    run.to(2)
    assert (run.problem.data.shape[1], run.n_weights) == (23, 5 * 10 + 3 * 21)
    run.step(4)
    assert bits(run) == end


class Needy(optim.Optimizer):
    """Has no usual learning rate."""

    def __init__(self, params, lr):
        super().__init__(params, lr)

    def update(self, w, g, state, lr, t):
        return w - lr * g, {}


BAD = [
    ({"activation": "sinus"}, InputError, "activation must be one of tanh, relu"),
    ({"activation": 3}, TypeMismatchError, "activation must be one of"),
    ({"activation": nn.Linear}, TypeMismatchError, "activation must be one of"),
    ({"activation": nn.Linear(3, 3)}, TypeMismatchError, "activation must be one of"),
    ({"loss": "squares"}, InputError, "loss must be one of MSELoss"),
    ({"loss": 3}, TypeMismatchError, "loss must be one of"),
    ({"loss": nn.Module}, TypeMismatchError, "loss must be one of"),
    ({"loss": "NLLLoss"}, ScalarvizError, "NLLLoss takes one target a sample"),
    ({"loss": lambda o, t: o}, InputError, "the loss"),
    ({"optimizer": "Adadelta"}, InputError, "optimizer must be one of SGD, Adam, AdamW, RMSprop"),
    ({"optimizer": 3}, TypeMismatchError, "optimizer must be one of"),
    ({"optimizer": int}, TypeMismatchError, "optimizer must be one of"),
    ({"optimizer": Needy}, InputError, "give its numbers too"),
    ({"optimizer": "Adam", "momentum": 0.5}, ScalarvizError, "momentum"),
    ({"optimizer": "Adam", "lr": -1}, InputError, "lr must be"),
    ({"optimizer": optim.SGD([sv.Weight(1.0)], lr=0.1)}, InputError, "nothing would be trained"),
    ({"model": 3}, TypeMismatchError, "model must be"),
    ({"model": nn.Linear}, TypeMismatchError, "model must be"),
    ({"model": nn.Linear(4, 3)}, InputError, "takes 4 inputs"),
    ({"model": nn.Linear(3, 4)}, InputError, "4"),
    ({"activation": "relu", "batch_size": 41}, InputError, "batch_size 41 is larger"),
    ({"activation": "relu", "sampling": "no"}, InputError, "sampling must be"),
    ({"activation": "relu", "momentum": -1}, InputError, "momentum"),
    ({"activation": "relu", "engine": "gpu"}, InputError, "gpu"),
    ({"activation": "relu", "beta": 2}, InputError, "has no beta"),
]


@pytest.mark.parametrize(("wrong", "kind", "says"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_what_does_not_fit_changes_nothing(wrong, kind, says):
    net, run = make()
    _, plain = make()
    run.step(2)
    before, activation = bits(run), net[1]
    with pytest.raises(kind, match=says):
        run.change(**wrong)
    assert bits(run) == before
    assert net[1] is activation
    assert run.log == []
    run.step(5)
    plain.step(7)
    assert bits(run)[:5] == bits(plain)[:5]


def test_activations_that_nobody_finds():
    class Own(nn.Module):
        def __init__(self):
            self.a = nn.Linear(3, 3, seed=1)

        def forward(self, x):
            return self.a(x)

    _, run = make(net=Own())
    with pytest.raises(InputError, match=r"activation is for an nn\.Sequential.*give model="):
        run.change(activation="relu")
    _, run = make(net=nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()))
    with pytest.raises(InputError, match="no activation before a layer with weights"):
        run.change(activation="relu")


def test_an_engine_that_cannot_be_made_changes_nothing(monkeypatch):
    net, run = make()
    run.step(2)
    before, other = bits(run), deeper()
    values = other[0].weight.data.copy()
    make_trainer = run._make_trainer
    monkeypatch.setattr(run, "_make_trainer", lambda problem: (_ for _ in ()).throw(InputError("no room")))
    for wanted in ({"activation": "relu"}, {"model": other}, {"optimizer": "Adam"}):
        with pytest.raises(InputError, match="no room"):
            run.change(**wanted)
        assert bits(run) == before
    assert other[0].weight.data.tobytes() == values.tobytes()
    assert other[0].weight.store.owner is None
    assert net[0].weight.store is run._store
    monkeypatch.setattr(run, "_make_trainer", make_trainer)
    run.step(1)
    net[0].weight[0][0].data = 0.5
    assert run.values[0] == 0.5


def test_weights_of_another_run_are_taken_from_it():
    other, theirs = make(net=deeper())
    _, run = make()
    run.change(model=other)
    with pytest.raises(StateError, match="another Run took over"):
        theirs.step(1)
    run.step(1)
    _, closed = make()
    closed.close()
    with pytest.raises(StateError, match="closed"):
        closed.change(activation="relu")


def test_names_are_data_and_objects_are_written_by_name():
    edit = Change(activation="ReLU", optimizer=optim.Adam, numbers={"lr": 0.1}, batch_size=3)
    assert str(edit) == "activation = relu, optimizer = Adam, lr = 0.1, batch size = 3"
    assert read_edit(write_edit(edit)) == edit
    assert Change(activation=nn.LeakyReLU()) == Change(activation="leaky_relu")
    assert Change(activation=nn.Softplus(2.0)) != Change(activation="softplus")
    assert str(Change(activation=nn.Softplus(2.0))) == "activation = Softplus"
    net, run = make()
    run.do(edit)
    assert run.log[-1].edit == edit
    assert read_edit(write_edit(run.log[-1].edit)) == edit
    _, other = make()
    other.do(run.log[-1].edit)
    assert isinstance(other.model[1], nn.ReLU)
    for thing in ({"model": network()}, {"optimizer": optim.Adam(net.parameters())}, {"loss": nn.MSELoss()}):
        text = write_edit(Change(**thing))
        with pytest.raises(FileFormatError, match="cannot be read back"):
            read_edit(text)
    with pytest.raises(InputError, match="nothing is named"):
        Change()


def test_beside_a_thread_weights_of_another_network_are_read_whole():
    """By whoever holds them, while networks of two sizes come and go."""
    first, second = network(), deeper()
    _, run = make("numba", first)
    worker = Worker(run).start()
    try:
        for k in range(40):
            run.change(model=(second, first)[k % 2])
            model = (second, first)[k % 2]
            worker.train_to(run.steps + 50)
            for layer in (model[0], model[len(model) - 2]):
                assert layer.weight.data.shape == layer.weight.shape
                assert np.isfinite(layer.weight.data).all()
                assert layer.weight[0][0].data is not None
            model[0].weight[1][1].data = float(k)
            assert model[0].weight[1][1].data == k
        assert len(run.log) >= 40
        assert worker.error is None
    finally:
        worker.close(5.0)
    assert run.values[4] == run.model[0].weight.data[1, 1]


@given(st.integers(0, 6), st.integers(0, 6), st.data())
@settings(max_examples=150, deadline=None)
def test_the_longest_row_of_layers_is_none_shorter_than_any(n, m, data):
    """Of all pairs of rising places, by trying."""
    same = [[data.draw(st.booleans()) for _ in range(m)] for _ in range(n)]
    found = _longest(same)
    assert all(same[i][j] for i, j in found)
    assert all(a < b and c < d for (a, c), (b, d) in pairwise(found))
    most = 0
    for size in range(min(n, m), 0, -1):
        rows, columns = combinations(range(n), size), list(combinations(range(m), size))
        if any(all(same[i][j] for i, j in zip(r, c, strict=True)) for r in rows for c in columns):
            most = size
            break
    assert len(found) == most


class Breaks(nn.Module):
    """Its forward is broken off, by an error or by Ctrl-C."""

    def __init__(self, error):
        self.a, self.error = nn.Linear(3, 3, seed=1), error

    def forward(self, x):
        raise self.error


@pytest.mark.parametrize("error", [ValueError("my own"), KeyboardInterrupt()])
def test_what_is_broken_off_changes_nothing(error, monkeypatch):
    net, run = make()
    run.step(2)
    before, activation = bits(run), net[1]
    with pytest.raises(type(error)):
        run.change(model=nn.Sequential(Breaks(error), nn.Tanh(), nn.Linear(3, 3)), activation="relu")
    assert bits(run) == before
    broken = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), Breaks(error))
    tanh = broken[1]
    with pytest.raises(type(error)):
        run.change(model=broken, activation="relu")
    assert broken[1] is tanh
    other, values = deeper(), deeper()[0].weight.data.copy()

    def broken_off(problem):
        raise error

    monkeypatch.setattr(run, "_make_trainer", broken_off)
    for wanted in ({"activation": "relu"}, {"model": other}, {"optimizer": "Adam"}):
        with pytest.raises(type(error)):
            run.change(**wanted)
        assert bits(run) == before
    assert net[1] is activation
    assert other[0].weight.data.tobytes() == values.tobytes()
    monkeypatch.undo()
    run.change(model=other)
    run.step(1)
    run.undo()
    assert bits(run) == before


def test_an_engine_beside_it_and_numbers_without_it():
    net, run = make()
    run.step(2)
    run.change(activation="relu", engine="numba", lr=0.3)
    assert [done.what for done in run.log] == ["activation = relu, lr = 0.3", "engine = numba"]
    other = fresh(run, net)
    for each in (run, other):
        each.step(4)
    assert run.values.tobytes() == other.values.tobytes()
    run.undo()
    assert (run.engine.name, run.lr) == ("numpy", 0.3)
    run.undo()
    assert (run.lr, isinstance(net[1], nn.Tanh)) == (0.1, True)


def test_nested_sequentials_and_constants_of_ones_own():
    inner = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh())
    net = nn.Sequential(inner, nn.Sequential(nn.Linear(4, 3, seed=2), nn.Tanh()), nn.Sigmoid())
    _, run = make(net=net)
    run.change(activation=nn.Softplus(3.0))
    assert (inner[1].beta, type(net[1][1]), type(net[2])) == (3.0, nn.Tanh, nn.Sigmoid)
    run.step(2)
    run.change(activation=nn.LeakyReLU)
    assert run.log[-1].what == "activation = leaky_relu"
    assert type(inner[1]) is nn.LeakyReLU
    run.back(1)
    assert inner[1].beta == 3.0
    run.to(0)
    assert inner[1].beta == 3.0
    run.undo()
    assert type(inner[1]) is nn.Tanh


def test_what_waits_for_a_weight_is_done_to_that_weight():
    """Asked for before the network became another one, done after it: its flat index is another one there."""
    net, run = make()
    first, last = net[0], net[2]
    longer = nn.Sequential(first, nn.Tanh(), nn.Linear(5, 5, seed=3), nn.Tanh(), last, nn.Sigmoid())
    shorter = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    worker, wait = Worker(run).start(), threading.Event()
    try:
        for model, goes_on in ((longer, True), (shorter, False)):
            wait.clear()
            busy = worker.ask(lambda run: wait.wait(20))
            worker.ask(lambda run, model=model: run.change(model=model))
            last.weight[1][2].data = 0.625
            last.bias.frozen = True
            assert last.weight[1][2].data == 0.625
            wait.set()
            assert busy.done.wait(20)
            worker.settle()
            assert worker.error is None
            if goes_on:
                assert (last.weight[1][2].data, last.bias.frozen) == (0.625, True)
                assert run.log[-1].what == "freeze 4.bias[0] and 2 more"
                last.bias.frozen = False
                last.weight[1][2].data = 0.0
                worker.settle()
        assert len(run.values) == 12
        assert (run.values != 0.625).all()
    finally:
        wait.set()
        worker.close(5.0)


def test_weights_that_two_models_share_have_the_names_of_the_model_in_the_run():
    net, run = make()
    longer = nn.Sequential(net[0], nn.Tanh(), nn.Linear(5, 5, seed=3), nn.Tanh(), net[2], nn.Sigmoid())
    run.change(model=longer)
    names = ["0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"]
    assert [t.name for t in run.tensors] == list(run.state_dict()) == names
    assert [s.name for s in run.stages if s.kind == "linear"] == ["0", "2", "4"]
    run.change(activation="relu")
    assert [t.name for t in run.tensors] == names
    run.undo()
    run.undo()
    assert [t.name for t in run.tensors] == ["0.weight", "0.bias", "2.weight", "2.bias"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda frame: pickle.loads(pickle.dumps(frame))])
def test_a_copied_frame_holds_its_numbers(copied):
    """And not the network, which is an object of this process."""
    _, run = make()
    run.step(3)
    frame = run.frame(X[0])
    twin = copied(frame)
    assert frame.forward is not None
    assert twin.forward is None
    assert (twin.step, twin.loss, twin.values.tobytes()) == (frame.step, frame.loss, frame.values.tobytes())
    assert twin.activations.keys() == frame.activations.keys()
