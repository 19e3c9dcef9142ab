"""Networks typed as lessons and books type them, each no longer than there; PyTorch does the same beside it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.optim.lr_scheduler import LambdaLR

torch = pytest.importorskip("torch")


def two_moons(n, seed=1337, noise=0.1):
    """Two half circles that hold each other; labels -1 and 1."""
    random, angle = np.random.default_rng(seed), np.linspace(0, np.pi, n // 2)
    outer = np.stack([np.cos(angle), np.sin(angle)], 1)
    inner = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.concatenate([outer, inner]) + random.normal(scale=noise, size=(n, 2))
    return points, np.repeat([-1.0, 1.0], n // 2)


NAMES = (
    "emma olivia ava isabella sophia charlotte mia amelia harper evelyn abigail emily ella elizabeth camila luna "
    "sofia avery mila aria scarlett penelope layla chloe victoria madison eleanor grace nora riley"
)


def words():
    """Names, with the end behind each; letters are 1 to 26, the end is 0."""
    return [[ord(c) - 96 for c in word] + [0] for word in NAMES.split()]


class TestMaxMargin:
    """The demo of micrograd: a multilayer perceptron, the hinge loss and L2, on two moons."""

    def network(self):
        net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
        net.initialize(nn.init.uniform(-1.0, 1.0), seed=3)
        return net

    def test_as_a_loop_over_objects(self):
        X, y = two_moons(20)
        net, other = self.network(), self.network()
        for k in range(3):
            scores = [net(x) for x in X.tolist()]
            losses = [(1 - yi * score).relu() for yi, (score,) in zip(y.tolist(), scores, strict=True)]
            total = sum(losses) / len(losses) + 1e-4 * sum(w * w for w in net.weights())
            net.zero_grad()
            total.backward()
            for w in net.weights():
                w.data -= (1.0 - 0.9 * k / 100) * w.grad
        self.by_pytorch(other, X, y, 3)
        for ours, theirs in zip(net.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-9, atol=1e-12)

    def by_pytorch(self, net, X, y, steps):
        """Train our `net` with PyTorch's numbers."""
        parts = [torch.tensor(np.array(p.data), dtype=torch.float64, requires_grad=True) for p in net.parameters()]
        rule = torch.optim.SGD(parts, lr=1.0)
        plan = torch.optim.lr_scheduler.LambdaLR(rule, lambda k: 1.0 - 0.9 * k / 100)
        x, t = torch.tensor(X), torch.tensor(y)
        for _ in range(steps):
            a = torch.relu(x @ parts[0].T + parts[1])
            a = torch.relu(a @ parts[2].T + parts[3])
            scores = (a @ parts[4].T + parts[5])[:, 0]
            total = torch.relu(1 - t * scores).mean() + 1e-4 * sum((p * p).sum() for p in parts)
            rule.zero_grad()
            total.backward()
            rule.step()
            plan.step()
        for ours, theirs in zip(net.parameters(), parts, strict=True):
            ours.data = theirs.detach().numpy()

    @pytest.mark.parametrize("name", ["numpy", "numba"])  # not `engine`: minutes in the simulator of a GPU
    def test_as_a_run(self, name):
        X, y = two_moons(100)
        net, other = self.network(), self.network()
        optimizer = optim.SGD(net.parameters(), lr=1.0)
        LambdaLR(optimizer, lambda k: 1.0 - 0.9 * k / 100)
        run = sv.Run(
            net, lambda o, t: (1 - t[0] * o[0]).relu() + 1e-4 * sum(w * w for w in net.weights()), optimizer,
            data=(X, y[:, None]), engine=name, dtype="float64",
        )  # fmt: skip
        run.step(20)
        self.by_pytorch(other, X, y, 20)
        np.testing.assert_allclose(run.values, np.concatenate([p.data.ravel() for p in other.parameters()]), rtol=1e-8)
        run.step(80)
        assert run.history.lr[-1] == pytest.approx(1.0 - 0.9 * 99 / 100)
        accuracy = np.mean((run.predict(X)[:, 0] > 0) == (y > 0))
        assert accuracy == 1.0


class TestLetters:
    """A letter from the three before it, by embeddings and a hidden layer (Bengio et al. 2003, as lessons type it)."""

    class Net(nn.Module):
        def __init__(self):
            self.table = nn.Embedding(27, 4, seed=1)
            self.hidden, self.out = nn.Linear(12, 20, seed=2), nn.Linear(20, 27, seed=3)

        def forward(self, x):
            rows = [number for letter in x for number in self.table(letter)]
            return self.out([v.tanh() for v in self.hidden(rows)])

    def data(self):
        X, Y = [], []
        for word in words():
            context = [0, 0, 0]
            for letter in word:
                X.append(context)
                Y.append(letter)
                context = [*context[1:], letter]
        return np.array(X), np.array(Y)

    @pytest.mark.parametrize("name", ["numpy", "numba"])  # not `engine`: minutes in the simulator of a GPU
    def test_it_is_that_of_pytorch_and_learns(self, name):
        X, Y = self.data()
        net = self.Net()
        parts = [torch.tensor(np.array(p.data), dtype=torch.float64, requires_grad=True) for p in net.parameters()]
        run = sv.Run(
            net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, Y), batch_size=32, engine=name,
            dtype="float64",
        )  # fmt: skip
        first = run.evaluate(X, Y)
        rule = torch.optim.SGD(parts, lr=0.1)
        for step in range(10):
            chosen = run.problem.indices(step)
            rows = parts[0][torch.tensor(X[chosen])].reshape(len(chosen), -1)
            logits = torch.tanh(rows @ parts[1].T + parts[2]) @ parts[3].T + parts[4]
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor(Y[chosen]))
            rule.zero_grad()
            loss.backward()
            rule.step()
            run.step()
            assert run.loss == pytest.approx(loss.item(), rel=1e-10)
        theirs = np.concatenate([p.detach().numpy().ravel() for p in parts])
        np.testing.assert_allclose(run.values, theirs, rtol=1e-8, atol=1e-12)
        run.step(600)
        assert run.evaluate(X, Y) < first - 1.0


class TestNormalisedLetters:
    """The letter model of the third part of makemore: layers without biases, each with a batch norm behind it."""

    class Net(nn.Module):
        def __init__(self, n_embd=4, n_hidden=16):
            self.C = nn.Embedding(27, n_embd, seed=1)
            self.layers = nn.Sequential(
                nn.Linear(n_embd * 3, n_hidden, bias=False, seed=2), nn.BatchNorm1d(n_hidden), nn.Tanh(),
                nn.Linear(n_hidden, n_hidden, bias=False, seed=3), nn.BatchNorm1d(n_hidden), nn.Tanh(),
                nn.Linear(n_hidden, 27, bias=False, seed=4), nn.BatchNorm1d(27),
            )  # fmt: skip
            self.layers[-1].weight.data *= 0.1  # last layer: make less confident

        def forward(self, x):
            return self.layers([number for letter in x for number in self.C(letter)])

    def theirs(self, net):
        layers = torch.nn.Sequential(
            torch.nn.Linear(12, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.Tanh(),
            torch.nn.Linear(16, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.Tanh(),
            torch.nn.Linear(16, 27, bias=False), torch.nn.BatchNorm1d(27),
        )  # fmt: skip
        other = torch.nn.ModuleDict({"C": torch.nn.Embedding(27, 4), "layers": layers}).double()
        other.load_state_dict({name: torch.tensor(array) for name, array in net.state_dict().items()})
        return other, lambda x: layers(other["C"](x).flatten(1))

    @pytest.mark.parametrize("name", ["objects", "numpy", "numba"])
    def test_it_is_that_of_pytorch_step_by_step(self, name):
        X, Y = TestLetters().data()
        net = self.Net()
        other, scores = self.theirs(net)
        run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, Y), batch_size=8,
                     engine=name, dtype="float64")  # fmt: skip
        x, y, rule = torch.tensor(X), torch.tensor(Y), torch.optim.SGD(other.parameters(), lr=0.1)
        for step in range(3 if name == "objects" else 20):
            chosen = run.problem.indices(step)
            loss = torch.nn.functional.cross_entropy(scores(x[chosen]), y[chosen])
            rule.zero_grad()
            loss.backward()
            rule.step()
            run.step()
            assert run.loss == pytest.approx(loss.item(), rel=1e-11)
        for key, array in other.state_dict().items():  # weights, running means and variances, and how many steps
            np.testing.assert_allclose(net.state_dict()[key], array.numpy(), rtol=0, atol=1e-12, err_msg=key)
        other.eval()
        with torch.no_grad():
            wanted = scores(x)
        np.testing.assert_allclose(run.predict(X), wanted.numpy(), rtol=0, atol=1e-11)
        wanted = torch.nn.functional.cross_entropy(wanted, y).item()
        assert run.evaluate(X, Y) == pytest.approx(wanted, rel=1e-11)

    def test_it_learns_and_one_letter_alone_has_a_prediction(self):
        X, Y = TestLetters().data()
        net = self.Net()
        run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, Y), batch_size=32)
        assert run.evaluate(X, Y) == pytest.approx(np.log(27), rel=0.02)  # nearly uniform
        run.step(1500)
        assert run.evaluate(X, Y) < 1.6
        np.testing.assert_allclose(run.predict(X[:1]), run.predict(X)[:1], rtol=1e-5, atol=1e-5)
        run.close()
        by_hand = [v.data for v in net.eval()(X[0])]
        np.testing.assert_allclose(by_hand, run.predict(X[:1])[0], rtol=1e-4, atol=1e-4)


def test_nielsens_digits():
    """Chapter 1 of his book: one hidden layer of sigmoids, half the sum of squares, batches of ten, a rate of 3."""
    digits = importlib.import_module("scalarviz.scenes._digits_data").load_digits("sklearn")
    X = digits.train.reshape(len(digits.train), -1)
    net = nn.Sequential(nn.Linear(64, 30), nn.Sigmoid(), nn.Linear(30, 10), nn.Sigmoid())
    net.initialize(nn.init.normal(), seed=0)
    loss = nn.MSELoss("sum", factor=0.5, batch_reduction="mean")
    run = sv.Run(
        net, loss, optim.SGD(net.parameters(), lr=3.0), data=(X, np.eye(10)[digits.train_labels]), batch_size=10
    )
    run.step(30 * (len(X) // 10))
    found = run.predict(digits.test.reshape(len(digits.test), -1)).argmax(1)
    assert np.mean(found == digits.test_labels) > 0.93


class RNN(nn.Module):
    """Letters in, letters out, one after another."""

    def __init__(self, vocabulary, hidden):
        self.hidden = hidden
        self.inner = nn.Linear(vocabulary + hidden, hidden, seed=1)
        self.outer = nn.Linear(hidden, vocabulary, seed=2)

    def forward(self, letters):
        h, logits = [0.0] * self.hidden, []
        for x in letters:
            h = [v.tanh() for v in self.inner([*x, *h])]
            logits.append(self.outer(h))
        return logits


def test_an_unrolled_rnn_learns_a_line_by_heart():
    """min-char-rnn with its inner loop written out: every letter's state comes from the one before."""
    text, length = "a recurrent net reads one letter at a time ", 8
    chars = sorted(set(text))
    ids = np.array([chars.index(c) for c in text * 2])
    starts = range(len(text))
    X = np.stack([np.eye(len(chars))[ids[k : k + length]] for k in starts])
    Y = np.stack([ids[k + 1 : k + length + 1] for k in starts])
    rnn, loss_of_one = RNN(len(chars), 24), nn.CrossEntropyLoss()

    def loss(outputs, targets):
        return sv.sum([loss_of_one(row, t) for row, t in zip(outputs, targets, strict=True)])

    run = sv.Run(rnn, loss, optim.Adam(rnn.parameters(), lr=0.02), (X, Y), engine="numpy")
    run.step(250)
    said = run.predict(X).reshape(len(text), length, len(chars)).argmax(axis=2)
    assert (said[:, -1] == Y[:, -1]).all()  # eight letters are enough to know the next
