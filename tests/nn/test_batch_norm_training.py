"""Batch normalisation while it is trained: PyTorch's numbers after every step, on every engine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from scalarviz import Run, memory, nn, optim
from scalarviz.engine import problem as problems
from scalarviz.engine.cpu import machine, team
from scalarviz.errors import InputError
from scalarviz.scalar.mask import Draws

torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")

ENGINES = ["objects", "numpy", "numba"]
N, STEPS = 23, 20


class Twice:
    """One norm that is called twice, and a residual around it."""

    def build(self, layers, norm):
        self.one, self.two = layers.Linear(3, 4, bias=False), layers.Linear(4, 4, bias=False)
        self.norm, self.out = norm(4), layers.Linear(4, 2)

    def forward(self, x):
        first = self.norm(self.one(x))
        second = self.norm(self.two([v.tanh() for v in first] if isinstance(first, list) else first.tanh()))
        both = [a + b for a, b in zip(first, second, strict=True)] if isinstance(first, list) else first + second
        return self.out(both)


class OurTwice(Twice, nn.Module):
    def __init__(self, **given):
        self.build(nn, lambda n: nn.BatchNorm1d(n, **given))


class TheirTwice(Twice, torch.nn.Module):
    def __init__(self, **given):
        torch.nn.Module.__init__(self)
        self.build(torch.nn, lambda n: torch.nn.BatchNorm1d(n, **given))


class Masked(torch.nn.Module):
    """Dropout with the masks of a run of ours: the step that comes is counted by whoever trains."""

    def __init__(self, p, units):
        super().__init__()
        self.p, self.units, self.step = p, units, 0

    def forward(self, x):
        if not self.training:
            return x
        found = Draws(SEED, self.step).factors(0, np.arange(self.units), len(x), self.p, np.float64)
        return x * torch.tensor(found.T)


@pytest.fixture(autouse=True)
def one_thread():
    """PyTorch's second thread waits longer for the first, in nets so small, than it computes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SEED = 5


def mlp(layers, width=4, outputs=2, **given):
    return layers.Sequential(layers.Linear(3, width, bias=False), layers.BatchNorm1d(width, **given), layers.Tanh(),
                             layers.Linear(width, outputs))  # fmt: skip


def masked(layers):
    drop = layers.Dropout(0.4) if layers is nn else Masked(0.4, 4)
    return layers.Sequential(layers.Linear(3, 4), layers.Tanh(), drop, layers.BatchNorm1d(4), layers.Linear(4, 2))


def raw(layers):
    return layers.Sequential(layers.BatchNorm1d(3), layers.Linear(3, 2))


def in_sequence(layers):
    return layers.Sequential(layers.Linear(3, 4), layers.BatchNorm1d(4), layers.BatchNorm1d(4, affine=False),
                             layers.Tanh(), layers.Linear(4, 2))  # fmt: skip


def picture(layers):
    cut = nn.Unflatten((1, 5, 5)) if layers is nn else torch.nn.Unflatten(1, (1, 5, 5))
    return layers.Sequential(
        cut, layers.Conv2d(1, 2, 3, bias=False), layers.BatchNorm2d(2), layers.ReLU(),
        layers.Conv2d(2, 2, 2, bias=False), layers.BatchNorm2d(2, momentum=0.3), layers.Flatten(), layers.Linear(8, 2),
    )  # fmt: skip


def line(layers):
    cut = nn.Unflatten((1, 6)) if layers is nn else torch.nn.Unflatten(1, (1, 6))
    return layers.Sequential(cut, layers.Conv1d(1, 3, 3, bias=False), layers.BatchNorm1d(3), layers.Tanh(),
                             layers.Flatten(), layers.Linear(12, 2))  # fmt: skip


def twice(layers, **given):
    return (OurTwice if layers is nn else TheirTwice)(**given)


MODELS = {
    "mlp": (mlp, 3), "affine=False": (lambda layers: mlp(layers, affine=False), 3),
    "momentum=None": (lambda layers: mlp(layers, momentum=None), 3),
    "momentum=0.3": (lambda layers: mlp(layers, momentum=0.3, eps=1e-3), 3),
    "no statistics": (lambda layers: mlp(layers, track_running_stats=False), 3), "behind dropout": (masked, 3),
    "on the inputs": (raw, 3), "two in sequence": (in_sequence, 3), "picture": (picture, 25), "line": (line, 6),
    "twice": (twice, 3), "twice, momentum=None": (lambda layers: twice(layers, momentum=None), 3),
}  # fmt: skip
"""Models by layers, ours or PyTorch's, and how many inputs they have."""


def data(inputs, outputs=2, classes=False):
    draw = np.random.default_rng(4)
    x = draw.normal(1.0, 2.0, (N, inputs))
    return x, draw.integers(0, outputs, N) if classes else draw.normal(size=(N, outputs))


def beside(net):
    """PyTorch's own with the numbers of `net` are made by this; to be called with its model."""

    def filled(model):
        state = net.state_dict()
        model.double().load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        return model

    return filled


def together(name, engine, optimiser, theirs_of, batch, loss=None, theirs_loss=None, classes=False, steps=STEPS):
    """Train both step by step; all numbers of the state are compared after each."""
    make, inputs = MODELS[name]
    net = make(nn)
    theirs = beside(net)(make(torch.nn))
    x, y = data(inputs, classes=classes)
    run = Run(net, loss or nn.MSELoss(), optimiser(net.parameters()), (x, y), batch_size=batch, engine=engine,
              dtype="float64", seed=SEED)  # fmt: skip
    descent, theirs_loss = theirs_of(theirs.parameters()), theirs_loss or torch.nn.MSELoss()
    for step in range(steps):
        ids = run.problem.indices(step)
        for module in theirs.modules():
            if isinstance(module, Masked):
                module.step = step
        descent.zero_grad()
        said = theirs_loss(theirs(torch.tensor(x[ids])), torch.tensor(y[ids]))
        said.backward()
        descent.step()
        run.step()
        assert run.loss == pytest.approx(said.item(), abs=1e-12)
        ours = net.state_dict()
        for key, array in theirs.state_dict().items():
            np.testing.assert_allclose(ours[key], array.numpy(), rtol=0, atol=1e-12, err_msg=key)
    if "no statistics" not in name:
        theirs.eval()
        np.testing.assert_allclose(run.predict(x), theirs(torch.tensor(x)).detach().numpy(), rtol=0, atol=1e-11)
    run.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_descent_is_pytorchs_step_by_step(name, engine):
    """The last batch of an epoch does not exist: 23 samples are two batches of 9, others at every epoch."""
    sgd = {"lr": 0.05, "momentum": 0.8}
    steps = 6 if engine == "objects" and name != "mlp" else STEPS
    together(name, engine, lambda p: optim.SGD(p, **sgd), lambda p: torch.optim.SGD(p, **sgd), 9, steps=steps)


@pytest.mark.parametrize("lanes", [4, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_what_is_the_same_on_all_lanes_is_computed_on_one(name, lanes, monkeypatch):
    """As with many lanes; in one block, and in three of which the last has one lane."""
    monkeypatch.setattr(machine, "NARROW_FROM", 2)
    monkeypatch.setattr(problems, "default_block", lambda *given: lanes)
    together(name, "numba", lambda p: optim.SGD(p, lr=0.05), lambda p: torch.optim.SGD(p, lr=0.05), 9, steps=6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mlp", "picture", "twice", "momentum=None"])
@pytest.mark.parametrize("batch", [5, N])
def test_adam_is_pytorchs_step_by_step(batch, name, engine):
    """Layers in front have no bias: its gradient is nothing but rounding, and Adam makes steps of that.

    So it does with a batch of 2, whose two numbers a channel are always -1 and 1.
    """
    adam = {"lr": 0.01, "eps": 1e-8}
    steps = 6 if engine == "objects" and name != "mlp" else STEPS
    together(name, engine, lambda p: optim.Adam(p, **adam), lambda p: torch.optim.Adam(p, **adam), batch, steps=steps)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weighted_loss_is_divided_by_its_batch(engine):
    weight = [0.5, 2.0]
    theirs = torch.nn.CrossEntropyLoss(weight=torch.tensor(weight, dtype=torch.float64))
    together("mlp", engine, lambda p: optim.SGD(p, lr=0.1), lambda p: torch.optim.SGD(p, lr=0.1), 7,
             nn.CrossEntropyLoss(weight=weight), theirs, classes=True)  # fmt: skip


def started(engine="numba", dtype="float32", name="picture", batch=9, threads=1):
    make, inputs = MODELS[name]
    nn.init.manual_seed(3)
    net = make(nn)
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data(inputs), batch_size=batch, engine=engine,
               dtype=dtype, threads=threads, seed=SEED)  # fmt: skip


@pytest.mark.parametrize("name", ["picture", "behind dropout"])
def test_threads_blocks_and_calls_change_no_bit(name, monkeypatch):
    monkeypatch.setattr(problems, "default_block", lambda *given: 4)
    monkeypatch.setattr(team, "WORTH", 0)
    monkeypatch.setattr(team, "processors", lambda: 2)
    found = set()
    for threads, calls in ((1, (12,)), (2, (12,)), (2, (1, 7, 4)), (1, (5, 7))):
        run = started(name=name, threads=threads)
        assert run.engine.threads == threads
        for count in calls:
            run.step(count)
        found.add((run.values.tobytes(), run.history.loss.tobytes()))
        run.close()
    assert len(found) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_rewinding_brings_running_statistics_back(engine):
    run = started(engine, "float64", "mlp")
    trainer, store = run._training.trainer, run._store
    trainer.train(0, 3, 0.01)
    kept = store.value.copy()
    trainer.snapshot()
    losses = trainer.train(3, 4, 0.01)
    after = store.value.copy()
    trainer.rewind()
    np.testing.assert_array_equal(store.value, kept)
    np.testing.assert_array_equal(trainer.train(3, 4, 0.01), losses)
    np.testing.assert_array_equal(store.value, after)


@pytest.mark.parametrize("engine", ENGINES)
def test_evaluation_reads_the_statistics_of_the_moment(engine):
    """A norm that is frozen in eval behind one that is trained: the numbers of each step are what it reads."""
    nn.init.manual_seed(3)
    net = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
    )
    net[4].eval()
    net[4].running_mean, net[4].running_var = [0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0]
    x, y = data(3)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), (x, y), batch_size=9, engine=engine,
              dtype="float64")  # fmt: skip
    theirs = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4),
        torch.nn.Linear(4, 2),
    )  # fmt: skip
    beside(net)(theirs)
    theirs[4].eval()
    descent = torch.optim.SGD(theirs.parameters(), lr=0.05)
    for step in range(6):
        ids = run.problem.indices(step)
        descent.zero_grad()
        torch.nn.MSELoss()(theirs(torch.tensor(x[ids])), torch.tensor(y[ids])).backward()
        descent.step()
    run.step(6)
    for key, array in theirs.state_dict().items():
        np.testing.assert_allclose(net.state_dict()[key], array.numpy(), rtol=0, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("given", [{}, {"track_running_stats": False}], ids=str)
def test_a_batch_of_one_number_a_channel_is_refused_as_in_pytorch(given, engine):
    x, y = data(3)
    net = mlp(nn, **given)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        beside(net)(mlp(torch.nn, **given))(torch.tensor(x[:1]))
    with pytest.raises(InputError, match=r"a batch of 1 sample .* take a larger batch"):
        Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), batch_size=1, engine=engine)
    run = started(engine, "float64", "mlp")
    run.step(2)
    before = run.values.copy()
    with pytest.raises(InputError, match="take a larger batch"):
        run.change(batch_size=1)
    assert run.problem.batch == 9
    np.testing.assert_array_equal(run.values, before)
    run.step(2)
    picture = started(engine, "float64", "picture", batch=1)  # nine numbers a channel
    picture.step(1)
    picture.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_does_not_fit_into_memory_is_refused_with_its_size(engine, monkeypatch):
    net, (x, y) = mlp(nn), data(3)
    make = partial(Run, net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine=engine)
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    monkeypatch.setattr("scalarviz.run.run.check_run", lambda *given: None)
    with pytest.raises(InputError, match=r"rows .* for all 23 samples of a batch .* take a smaller batch"):
        make()


def test_moving_to_another_engine_goes_on_with_the_statistics():
    ends = []
    for engines in (["numpy"] * 3, ["numba", "objects", "numpy"], ["objects", "numba", "numpy"]):
        run = started(engines[0], "float64", "mlp")
        for engine in engines:
            run.adopt_engine(engine)
            run.step(4)
        ends.append(run.values.copy())
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-11)


# ---- running statistics that are None, as PyTorch's may be


def without(norm, which):
    """What PyTorch's users write to take the statistics of the batch in eval() too, and what comes close to it."""
    if "statistics" in which:
        norm.running_mean, norm.running_var = None, None
    if "count" in which:
        norm.num_batches_tracked = None
    if "tracking" in which:
        norm.track_running_stats = False


@pytest.mark.parametrize("momentum", [0.3, None])
@pytest.mark.parametrize("which", ["statistics", "statistics and count", "count", "tracking", "statistics, tracking"])
def test_statistics_that_are_set_to_none_are_those_of_pytorch(which, momentum):
    net = mlp(nn, momentum=momentum)
    theirs = beside(net)(mlp(torch.nn, momentum=momentum))
    without(net[1], which)
    without(theirs[1], which)
    assert list(net.state_dict()) == list(theirs.state_dict())
    x, y = data(3)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), batch_size=8, engine="numpy",
              dtype="float64")  # fmt: skip
    descent = torch.optim.SGD(theirs.parameters(), lr=0.1)
    for step in range(3):
        chosen = run.problem.indices(step)
        descent.zero_grad()
        torch.nn.MSELoss()(theirs(torch.tensor(x[chosen])), torch.tensor(y[chosen])).backward()
        descent.step()
    run.step(3)
    predicted = run.predict(x)
    run.close()
    rows = [[v.data for v in row] for row in net[1]([net[0](row) for row in x.tolist()])]  # by hand, in training
    with torch.no_grad():
        np.testing.assert_allclose(rows, theirs[1](theirs[0](torch.tensor(x))).numpy(), rtol=0, atol=1e-12)
        for name, array in theirs.state_dict().items():
            np.testing.assert_allclose(net.state_dict()[name], array.numpy(), rtol=0, atol=1e-12, err_msg=name)
        again = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numpy", dtype="float64")
        np.testing.assert_allclose(again.predict(x), theirs.eval()(torch.tensor(x)).numpy(), rtol=0, atol=1e-12)
    assert predicted.shape == (N, 2)


def test_one_statistic_alone_and_one_of_another_size_are_said():
    norm = nn.BatchNorm1d(3)
    norm.running_mean = None
    for call in (lambda: norm([[1, 2, 3], [3, 4, 5]]), lambda: norm.eval()([1, 2, 3])):
        with pytest.raises(InputError, match="running_mean is None, running_var is not"):
            call()
    norm.reset_running_stats()
    assert list(norm.state_dict()) == ["weight", "bias", "running_var", "num_batches_tracked"]
    norm.running_mean = [1.0, 2.0]
    with pytest.raises(InputError, match=r"running statistics of shape \(3,\), got \(2,\)"):
        norm([1, 2, 3])


def test_a_count_is_one_that_a_float64_has():
    norm = nn.BatchNorm1d(3)
    norm.num_batches_tracked = 2**53
    assert int(norm.num_batches_tracked) == 2**53
    for bad in (2**53 + 2, 10**30, -1, 0.5, np.nan):
        with pytest.raises(InputError, match=r"whole number >= 0, at most 2\*\*53"):
            norm.num_batches_tracked = bad
