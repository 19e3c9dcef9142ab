"""What lectures and courses type with arrays, typed with ours: the words are the same.

None is longer than in its lecture; where they write ``torch.``, here stands NumPy or ``sv``. PyTorch, or a count, says
what is right.
"""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim

torch = pytest.importorskip("torch")

NAMES = (
    "emma", "olivia", "ava", "isabella", "sophia", "charlotte", "mia", "amelia", "harper", "evelyn", "abigail", "emily",
    "ella", "camila", "luna", "nora",
)  # fmt: skip
LETTERS = sorted(set("".join(NAMES)))
IDS = {".": 0, **{letter: k + 1 for k, letter in enumerate(LETTERS)}}


def drawn(*shapes, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape) for shape in shapes]


class TestBatchNormByHand:
    """nn-zero-to-hero, "backprop ninja": a letter model whose norm is written out; the whole batch is in one graph."""

    n, block, vocabulary, embedding, hidden = 8, 3, 27, 4, 6

    def forward(self, C, W1, b1, W2, b2, gain, bias):
        random = np.random.default_rng(1)
        X, Y, n = random.integers(0, 27, (self.n, self.block)), random.integers(0, 27, self.n), self.n
        emb = C[X]
        embcat = emb.view(emb.shape[0], -1)
        hprebn = embcat @ W1 + b1
        bnmeani = 1 / n * hprebn.sum(0, keepdim=True)
        bndiff = hprebn - bnmeani
        bndiff2 = bndiff**2
        bnvar = 1 / (n - 1) * (bndiff2).sum(0, keepdim=True)
        bnvar_inv = (bnvar + 1e-5) ** -0.5
        bnraw = bndiff * bnvar_inv
        hpreact = gain * bnraw + bias
        h = hpreact.tanh()
        logits = h @ W2 + b2
        logit_maxes = logits.max(1, keepdim=True).values
        norm_logits = logits - logit_maxes
        counts = norm_logits.exp()
        counts_sum = counts.sum(1, keepdims=True)
        counts_sum_inv = counts_sum**-1
        probs = counts * counts_sum_inv
        logprobs = probs.log()
        loss = -logprobs[range(n), Y].mean()
        steps = [logprobs, probs, counts, counts_sum, counts_sum_inv, norm_logits, logit_maxes, logits, h, hpreact,
                 bnraw, bnvar_inv, bnvar, bndiff2, bndiff, hprebn, bnmeani]  # fmt: skip
        short = gain * (hprebn - hprebn.mean(0, keepdim=True)) / (hprebn.var(0, keepdim=True) + 1e-5).sqrt() + bias
        return loss, steps, (short - hpreact).abs().max()

    def test_every_step_of_it_has_pytorchs_gradient(self):
        inputs, hidden, vocabulary = self.block * self.embedding, self.hidden, self.vocabulary
        numbers = drawn((vocabulary, self.embedding), (inputs, hidden), hidden, (hidden, vocabulary), vocabulary,
                        (1, hidden), (1, hidden))  # fmt: skip
        ours = [nn.Parameter(array) for array in numbers]
        theirs = [torch.tensor(array, requires_grad=True) for array in numbers]
        (loss, found, short), (wanted_loss, wanted, _) = self.forward(*ours), self.forward(*theirs)
        for step in wanted:
            step.retain_grad()
        wanted_loss.backward()
        loss.backward()
        assert loss.item() == pytest.approx(wanted_loss.item(), rel=1e-13)
        assert short.data < 1e-13
        for a, b in zip([*found, *ours], [*wanted, *theirs], strict=True):
            np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-9, atol=1e-14)


class Bigram(nn.Module):
    def __init__(self):
        self.W = nn.Parameter(np.zeros((len(IDS), len(IDS))))

    def forward(self, x):
        return self.W[x[0]]


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_bigrams_learn_what_counting_finds(name):
    """makemore, first part: one layer on one letter ends where the counted shares are."""
    pairs = np.array([(IDS[a], IDS[b]) for word in NAMES for a, b in zip(f".{word}", f"{word}.", strict=True)])
    counts = np.zeros((len(IDS), len(IDS)))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    shares = counts / counts.sum(1, keepdims=True)
    best = -np.log(shares[pairs[:, 0], pairs[:, 1]]).mean()
    net = Bigram()
    run = sv.Run(
        net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=10.0), data=(pairs[:, :1], pairs[:, 1:]),
        engine=name, dtype="float64",
    )  # fmt: skip
    assert run.evaluate(pairs[:, :1], pairs[:, 1:]) == pytest.approx(np.log(len(IDS)), rel=1e-12)
    run.step(2000)
    assert best < run.loss < best + 0.005
    np.testing.assert_allclose((net.W * 1.0).softmax(1).data, shares, atol=0.02)


class TinyNet:
    """The network of tinygrad's and teenygrad's tests of optimisers: a product, relu, log_softmax, a scale."""

    def __init__(self, tensor):
        x, W, m = drawn((1, 4), (4, 4), (1, 4), seed=1337)
        self.x = tensor(x, requires_grad=True)
        self.W = tensor(W, requires_grad=True)
        self.m = tensor(m, requires_grad=False)

    def forward(self):
        out = self.x.matmul(self.W).relu()
        out = out.log_softmax(1)
        return out.mul(self.m).add(self.m).sum()


def trained(tensor, rule, steps, options):
    net = TinyNet(tensor)
    optimizer = rule([net.x, net.W], **options)
    for _ in range(steps):
        out = net.forward()
        optimizer.zero_grad()
        out.backward()
        optimizer.step()
    return net.x.detach().numpy(), net.W.detach().numpy()


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("lr", [0.001, 9.0])
@pytest.mark.parametrize(("rule", "options"), [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {}),
    ("AdamW", {}), ("RMSprop", {}), ("Adagrad", {}),
])  # fmt: skip
def test_optimisers_step_as_pytorchs(rule, options, lr, decay):
    options = {**options, "lr": lr, "weight_decay": decay}
    found = trained(nn.Parameter, getattr(optim, rule), 10, options)
    wanted = trained(torch.tensor, getattr(torch.optim, rule), 10, options)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


class LSTM(nn.Module):
    """Dive into Deep Learning, "LSTM": the three gates and the cell, written out."""

    def __init__(self, inputs, hidden):
        random = np.random.default_rng(3)
        self.hidden = hidden

        def three():
            return [nn.Parameter(random.standard_normal(s) * 0.3) for s in ((inputs, hidden), (hidden, hidden), hidden)]

        self.i, self.f, self.g, self.o = three(), three(), three(), three()

    def forward(self, xs):
        H = C = np.zeros(self.hidden)
        for X in xs:
            i, f, g, o = (X @ W_x + H @ W_h + b for W_x, W_h, b in (self.i, self.f, self.g, self.o))
            C = sv.sigmoid(f) * C + sv.sigmoid(i) * sv.tanh(g)
            H = sv.sigmoid(o) * sv.tanh(C)
        return H


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_an_lstm_by_hand_is_pytorchs(name):
    net, (X, Y) = LSTM(3, 4), drawn((10, 4, 3), (10, 4))
    theirs = torch.nn.LSTM(3, 4, batch_first=True).double()
    parts = dict(theirs.named_parameters())
    for k, part in enumerate(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")):
        joined = np.concatenate([gate[k].data.T for gate in (net.i, net.f, net.g, net.o)])
        parts[part].data.copy_(torch.tensor(joined))
    parts["bias_hh_l0"].data.zero_()
    rule = torch.optim.Adam([p for part, p in parts.items() if part != "bias_hh_l0"], lr=0.01)
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data=(X, Y), engine=name, dtype="float64")
    for _ in range(20):
        loss = (theirs(torch.tensor(X))[0][:, -1] - torch.tensor(Y)).square().mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
        run.step()
        assert run.loss == pytest.approx(loss.item(), rel=1e-11)
    np.testing.assert_allclose(run.predict(X), theirs(torch.tensor(X))[0][:, -1].detach().numpy(), atol=1e-10)


class Head(nn.Module):
    """The GPT lecture's head: every position looks at itself and at those before it."""

    def __init__(self, positions, width, size):
        key, query, value = drawn((width, size), (width, size), (width, size), seed=5)
        self.key, self.query, self.value = nn.Parameter(key), nn.Parameter(query), nn.Parameter(value)
        self.tril = np.tril(np.ones((positions, positions)))

    def forward(self, x):
        k, q, v = (x @ part for part in (self.key, self.query, self.value))
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril == 0, float("-inf"))
        return (wei.softmax(-1) @ v).sum(0)


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_a_head_of_attention(name):
    net, (X, Y) = Head(5, 6, 4), drawn((12, 5, 6), (12, 4))
    parts = [torch.tensor(np.array(p.data), requires_grad=True) for p in (net.key, net.query, net.value)]
    rule = torch.optim.SGD(parts, lr=0.05)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), data=(X, Y), engine=name, dtype="float64")
    for _ in range(5):
        k, q, v = (torch.tensor(X) @ part for part in parts)
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum(1)
        loss = (out - torch.tensor(Y)).square().mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
        run.step()
        assert run.loss == pytest.approx(loss.item(), rel=1e-11)
    np.testing.assert_allclose(run.values, np.concatenate([p.detach().numpy().ravel() for p in parts]), rtol=1e-9)
