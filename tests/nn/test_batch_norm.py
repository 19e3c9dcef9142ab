"""Batch normalisation in training: PyTorch's numbers after every step, on every engine and by hand."""

import numpy as np
import pytest

from kit.runs import ENGINES
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError

torch = None  # `with_pytorch` sets it


@pytest.fixture(autouse=True)
def with_pytorch(torch):
    """PyTorch as a name of this file, which `.ci/run` runs."""
    globals()["torch"] = torch


N, SEED = 23, 5


def twice(layers, **given):
    """One norm that is called twice, and a residual around it."""

    class Twice(layers.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = layers.Linear(3, 4, bias=False), layers.Linear(4, 4, bias=False)
            self.norm, self.out = layers.BatchNorm1d(4, **given), layers.Linear(4, 2)

        def forward(self, x):
            first = self.norm(self.one(x))
            second = self.norm(self.two(first.tanh()))
            return self.out(first + second)

    return Twice()


@pytest.fixture(autouse=True)
def one_thread(with_pytorch):
    """PyTorch's second thread waits longer for the first, in nets so small, than it computes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def mlp(layers, **given):
    return layers.Sequential(layers.Linear(3, 4, bias=False), layers.BatchNorm1d(4, **given), layers.Tanh(),
                             layers.Linear(4, 2))  # fmt: skip


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


def partly(layers):
    """A norm that is frozen in evaluation behind one that is trained: it reads its numbers as they are."""
    net = layers.Sequential(layers.Linear(3, 4), layers.BatchNorm1d(4), layers.Tanh(), layers.Linear(4, 4),
                            layers.BatchNorm1d(4), layers.Linear(4, 2))  # fmt: skip
    net[4].eval()
    if layers is nn:
        net[4].running_mean, net[4].running_var = [0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0]
    return net


MODELS = {
    "mlp": (mlp, 3), "momentum=None": (lambda layers: mlp(layers, momentum=None), 3),
    "no statistics": (lambda layers: mlp(layers, track_running_stats=False), 3),
    "on the inputs": (raw, 3), "two in sequence": (in_sequence, 3), "picture": (picture, 25),
    "in evaluation": (partly, 3), "twice": (twice, 3),
    "twice, momentum=None": (lambda layers: twice(layers, momentum=None), 3),
}  # fmt: skip


def data(inputs):
    draw = np.random.default_rng(4)
    return draw.normal(1.0, 2.0, (N, inputs)), draw.normal(size=(N, 2))


def beside(net, model):
    """PyTorch's model with the numbers of `net`."""
    model.double().load_state_dict({name: torch.tensor(array) for name, array in net.state_dict().items()})
    return model


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_training_is_pytorchs_step_by_step(name, engine):
    """The last batch of an epoch does not exist: 23 samples are two batches of 9, others at every epoch.

    All numbers of the state are compared after each step.
    """
    make, inputs = MODELS[name]
    net = make(nn)
    theirs = beside(net, make(torch.nn))
    x, y = data(inputs)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05, momentum=0.8), (x, y), batch_size=9,
              engine=engine, dtype="float64", seed=SEED)  # fmt: skip
    descent, theirs_loss = torch.optim.SGD(theirs.parameters(), lr=0.05, momentum=0.8), torch.nn.MSELoss()
    for step in range(6 if engine == "objects" and name != "mlp" else 20):
        ids = run._problem.indices(step)
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
@pytest.mark.parametrize("given", [{}, {"track_running_stats": False}], ids=str)
def test_a_batch_of_one_number_a_channel_is_refused_as_in_pytorch(given, engine):
    x, y = data(3)
    net = mlp(nn, **given)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        beside(net, mlp(torch.nn, **given))(torch.tensor(x[:1]))
    with pytest.raises(InputError, match=r"a batch of 1 sample .* use a larger batch"):
        Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), batch_size=1, engine=engine)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), batch_size=9, engine=engine)
    run.step(2)
    before = run.values.copy()
    with pytest.raises(InputError, match="use a larger batch"):
        run.change(batch_size=1)
    assert run._problem.batch == 9
    np.testing.assert_array_equal(run.values, before)


@pytest.mark.parametrize("momentum", [0.3, None])
def test_a_norm_that_is_called_by_hand_takes_the_whole_batch(momentum):
    norm, (x, _) = nn.BatchNorm1d(3, momentum=momentum), data(3)
    theirs = beside(norm, torch.nn.BatchNorm1d(3, momentum=momentum))
    for rows in (x[:9], x[9:]):
        found = [[v.data for v in row] for row in norm(rows.tolist())]
        np.testing.assert_allclose(found, theirs(torch.tensor(rows)).detach().numpy(), rtol=0, atol=1e-12)
    for name, array in theirs.state_dict().items():
        np.testing.assert_allclose(norm.state_dict()[name], array.numpy(), rtol=0, atol=1e-12, err_msg=name)
