# pyright: strict
"""A script of a user who checks types strictly: tests/house/test_types.py checks it, and runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, KeysView
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, TensorDataset

import scalarviz as sv
import scalarviz.nn.functional as F
from scalarviz import nn, optim


class Net(nn.Module):
    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.act = nn.Tanh()
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.act(self.fc1(x)))


class Pair(nn.Module):
    """A forward with other arguments, and with a result that is no array."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(2, 3), nn.Linear(2, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.scale = nn.Parameter(np.ones(3))
        self.gain = sv.Weight(1.0)

    def forward(self, x: Any, other: Any, scaled: bool = False, *, deep: int = 1) -> tuple[Any, Any]:
        h, g = self.left(x), F.relu(self.right(other))
        for layer in self.layers * deep:
            h = layer(h)
        return (h * self.scale if scaled else h), g * self.gain


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()

    def forward(self, x: Any) -> tuple[Any, Any]:
        return self.pair(x, x, scaled=True, deep=2)


class Residual(nn.Sequential):
    def forward(self, x: Any) -> Any:
        return x + super().forward(x)


class Squares(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.tensor([float(index), 1.0])
        return x, x[:1] ** 2


def huber(outputs: Any, targets: Any) -> Any:
    return sv.mean([(o - t) ** 2 for o, t in zip(outputs, targets, strict=True)])


X = np.random.default_rng(0).random((16, 2))
Y = X[:, :1]


def everything_that_is_data() -> Iterator[sv.Run]:
    net = Net()
    opt = optim.Adam(net.parameters(), lr=1e-2, betas=(0.9, 0.99))
    pairs = TensorDataset(torch.ones(4, 2), torch.ones(4, 1))
    yield sv.Run(net, nn.MSELoss(), opt, data=(X, Y))
    yield sv.Run(net, nn.MSELoss(), opt, (X.astype(np.float32), Y[:, 0]), batch_size=4, seed=1, engine="numpy")
    yield sv.Run(net, huber, opt, data=([[0, 0], [0, 1]], [[0], [1]]))
    yield sv.Run(net, nn.MSELoss(), opt, data=(torch.ones(4, 2), torch.ones(4, 1)))
    yield sv.Run(net, nn.MSELoss(), opt, data=pairs)
    yield sv.Run(net, nn.MSELoss(), opt, data=DataLoader(pairs, batch_size=2, shuffle=True))
    yield sv.Run(net, nn.MSELoss(), opt, data=Squares())
    yield sv.Run(net, nn.MSELoss(), opt, data=DataLoader(Squares(), batch_size=2))


def watched(run: sv.Run) -> None:
    """What a Run and its past offer."""
    run.step(3)
    run.step(2, progress=lambda run: run.loss > 0.0)
    assert_type(run.loss, float)
    assert_type(run.lr, float)
    run.lr = 0.02
    assert_type(run.history.loss, NDArray[np.float64])
    assert_type(run.history["loss"], NDArray[Any])
    assert_type(run.history[-1].loss, float)
    assert_type([entry.step for entry in run.history], list[int])
    assert_type([entry.lr for entry in run.history[:3]], list[float])
    assert_type(run.predict(X), NDArray[Any])
    assert_type(run.evaluate(X, Y), float)
    assert_type(run.steps, int)
    print(run.model([1.0, 2.0]), run.model(X)[0], run.model.training)
    print(run.model.parameters(), run.model.fc1.weight.data.shape, run.why(run.model.weights()[0]))
    run.on_step(lambda run: print(run.steps, run.loss), every=2).remove()
    run.break_on("loss < 0.001")
    run.back(2)
    run.to(4)
    run.set_numbers(run.model.fc1.weight[0][0], lr=0.25)
    run.undo()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"
        run.save(path)
        run.load(path)
    run.close()


def by_hand() -> None:
    """A loop over samples, one over an array, and the words of micrograd."""
    net = Net()
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.5)
    crit = nn.MSELoss()
    for _ in range(2):
        opt.zero_grad()
        loss = sv.mean([crit(net(x), y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)])
        loss.backward()
        assert_type(nn.utils.clip_grad_norm_(net.parameters(), 1.0), float)
        opt.step()
        schedule.step()
        print(loss.item(), f"{loss.data:.3f}", schedule.get_last_lr()[0])
    total: Any = sum(crit(net(x), y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)) / len(X)
    total.backward()
    squares: Any = sum((net(x)[0] - y) ** 2 for x, (y,) in zip(X.tolist(), Y.tolist(), strict=True))
    squares.backward()
    for p in net.parameters():
        p.data -= 0.1 * p.grad
    for group in opt.param_groups:
        group["lr"] = group["lr"] * 0.5
    assert_type(opt.param_groups[0].keys(), KeysView[str])
    opt.load_state_dict(opt.state_dict())


def networks() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 3))
    assert_type(net[0].training, bool)
    assert_type(net[0].weight.requires_grad, bool)
    assert_type(net[0].weight.shape, tuple[int, ...])
    assert_type(net[0].weight[2].frozen, bool)
    assert_type(net[0].weight[2][0].frozen, bool)
    assert_type(net[0].weight[2][0].name, str)
    assert_type(net[0].weight[0, 1].requires_grad, bool)
    net[0].bias[0].frozen = True
    assert_type(net[1:][0].training, bool)
    assert_type(net[:2], nn.Sequential)
    assert_type(net.weights()[0], sv.Weight)
    assert_type([w.grad for w in net.weights()[:2]], list[float])
    assert_type([w.data for w in net.weights()], list[float])
    first: nn.Linear = net[0]
    print(type(first) is nn.Linear, first.out_features)
    weight: sv.Weight = net[0].weight[0][1]
    weight.data = first.in_features / 4
    net[0].weight[0][1].data = 0.25
    net[0].weight.data[:, 0] = 1.0
    print(net[0].weight[0][1].data + 1.0, net[0].weight[0].data.sum(), (net[0].weight[0] * X[0, 0]).sum().data)
    for layer in net:
        print(type(layer) is nn.Tanh)
        if isinstance(layer, nn.Linear):
            assert layer.bias is not None
            layer.bias[0].data = 0.0
            assert_type(layer.out_features, int)
    for name, part in net.named_parameters():
        print(name, part.data, part.grad)
    print([name for name, module in net.named_modules() if isinstance(module, nn.Linear)])

    net.eval()
    print((net(X).argmax(1) == Y[:, 0]).mean(), net(X).softmax(-1) if not len(X) else "", net(X).tolist()[0])
    out = net([1.0, 2.0])
    assert_type(out.numel(), int)
    assert_type(out.shape, tuple[int, ...])
    out.sum().backward()
    number = out[0] * 2 + 1
    print(-out, abs(out), out @ out, out > 0, 2 * out, 1 - out, out / 2, 1 / out, out**2, float(number), out.tolist())
    print(np.argmax(net(X), 1), np.asarray(out.data), out.data.round(), out.exp().data, (net(X) > 0).mean())
    print(net[0].in_features, net[0].weight[0].sum().data, net[0].weight[0][0] * 2, sv.exp(net[0].weight[0][0]))
    nested = nn.Sequential(net, nn.Tanh())
    print(nested[0][0].weight[0], len(nested), nested)
    print(
        number.data,
        len(out),
        *out,
        out.T,
        out[0].data,
        out.max().data,
        (out * 2 + 1).relu().mean().data,
        [value.data for value in out],
    )
    loss: sv.Value = nn.CrossEntropyLoss()(net([1.0, 2.0]), 1)
    loss.backward()
    states = net.state_dict()
    assert_type(states["0.weight"].ndim, int)
    net.load_state_dict(states)
    net.load_state_dict({name: torch.tensor(array) for name, array in states.items()}, strict=False)
    net.train().zero_grad()
    net.freeze("0.*")

    pair = Pair()
    left, right = pair([1.0, 2.0], [3.0, 4.0], scaled=True)
    print(left.data, right.data, Both()([1.0, 2.0])[0].data, Residual(nn.Linear(2, 2))([1.0, 2.0]).data)
    mlp = nn.MLP(2, [4], 1, nn.ReLU)
    print(mlp([1.0, 2.0]).data, nn.Dropout(0.5), nn.Conv2d(1, 2, 3, padding=1), nn.Softmax(-1))


def scalars() -> None:
    a, b = sv.Value(2.0, "a"), sv.Weight(3.0)
    c = (a * b + 1.0).tanh() ** 2 - a / b
    assert_type(c, sv.Value)
    assert_type(c.exp(), sv.Value)
    assert_type(sv.relu(c), sv.Value)
    assert_type(sv.mean([a, b, c]), sv.Value)
    assert_type(sv.dot([a, b], [1.0, 2.0]), sv.Value)
    c.backward()
    assert_type(b.grad, float)
    b.data = b.data - 0.1 * b.grad
    assert_type(a.parents, tuple[sv.Value, ...])
    rows = sv.stack([sv.softmax([a, b]), sv.softmax([b, a])])
    print(rows.data, np.tanh(rows).data, torch.relu(rows).data, sv.cat([rows, rows], 0).shape)
    p = nn.Parameter([[1.0, 2.0], [3.0, 4.0]])
    print((p @ [1.0, 2.0]).data, (p * p).sum().data, (p + 1 - p / 2).data, (2 * p).mean().data, p[:, 1].data, p.T.data)
    print(p.exp().mean().data, (p[0] - 1).relu().sum().data, (-p).tanh().data, (p > 2).data)


def pictures(run: sv.Run) -> None:
    """A picture, a film and a window."""
    assert_type(sv.render(run).shape, tuple[Any, ...])
    sv.film(run, "out.mp4", steps=10)
    sv.show(run, block=False)
    sv.show(sv.watch(run.model), block=False)
    sv.view.save_png("out.png", sv.render(run, size=(320, 180)))
    sv.draw(sv.Value(1.0) * 2.0)


def main() -> None:
    scalars()
    networks()
    by_hand()
    for run in everything_that_is_data():
        watched(run)


if __name__ == "__main__":
    main()
