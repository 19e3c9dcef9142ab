"""What learners type, as their books have it: each example no longer than its original, and it learns."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim


def two_moons(n=100, noise=0.1, seed=1337):
    rng, a = np.random.default_rng(seed), np.linspace(0, np.pi, n // 2)
    x = np.concatenate([np.c_[np.cos(a), np.sin(a)], np.c_[1 - np.cos(a), 0.5 - np.sin(a)]])
    return x + rng.normal(0, noise, x.shape), np.repeat([-1.0, 1.0], n // 2)


@pytest.mark.slow  # 100 steps of 100 samples, node by node
def test_max_margin_with_l2_on_two_moons():
    """The demo of micrograd, by hand."""
    X, y = two_moons()
    model = nn.MLP(2, [16, 16], 1, nn.ReLU, seed=1)
    for k in range(100):
        scores = [model(row)[0] for row in X]
        data_loss = sv.sum([(1 - yi * s).relu() for yi, s in zip(y, scores, strict=True)]) / len(y)
        reg_loss = 1e-4 * sv.sum([w * w for w in model.weights()])
        total_loss = data_loss + reg_loss
        accuracy = np.mean([(yi > 0) == (s.data > 0) for yi, s in zip(y, scores, strict=True)])
        model.zero_grad()
        total_loss.backward()
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
    assert accuracy == 1.0
    assert total_loss.data < 0.05


def test_nielsens_digits():
    """Chapter 1 of his book: sigmoids, half the squared error of a sample, mini-batches of 10, rate 3."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_digits(return_X_y=True)
    X, targets = X / 16, np.eye(10)[y]
    net = nn.Sequential(nn.Linear(64, 30, seed=1), nn.Sigmoid(), nn.Linear(30, 10, seed=2), nn.Sigmoid())
    cost = nn.MSELoss("sum", factor=0.5, batch_reduction="mean")
    run = Run(net, cost, optim.SGD(net.parameters(), lr=3.0), (X[:1500], targets[:1500]), batch_size=10, engine="numpy")
    for _ in range(10):  # epochs
        run.step(150)
    assert (run.predict(X[1500:]).argmax(axis=1) == y[1500:]).mean() > 0.88


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
        rows = [outputs[k : k + len(chars)] for k in range(0, len(outputs), len(chars))]
        return sv.sum([loss_of_one(row, t) for row, t in zip(rows, targets, strict=True)])

    run = Run(rnn, loss, optim.Adam(rnn.parameters(), lr=0.02), (X, Y), engine="numpy")
    run.step(250)
    said = run.predict(X).reshape(len(text), length, len(chars)).argmax(axis=2)
    assert (said[:, -1] == Y[:, -1]).all()  # eight letters are enough to know the next
