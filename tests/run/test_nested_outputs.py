"""A Run gives its loss what the model returned: lists, tuples and dicts as they are; targets as the data has them."""

from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim

CE, MSE, SAMPLES = nn.CrossEntropyLoss(), nn.MSELoss(), 5


def drawn(random, start, stop, depth=0):
    """How the numbers start .. stop - 1 of a row are arranged: a number, a slice of at least 2, or a box of such."""
    if depth == 3 or stop - start < 2 or (depth and random.random() < 0.3):
        return start if stop - start == 1 else slice(start, stop)
    cuts = sorted({start, stop, *random.integers(start, stop, 2).tolist()})
    parts = [drawn(random, a, b, depth + 1) for a, b in pairwise(cuts)]
    return [list(parts), tuple(parts), {f"part {k}": part for k, part in enumerate(parts)}][random.integers(3)]


def arranged(form, row):
    if isinstance(form, dict):
        return {name: arranged(part, row) for name, part in form.items()}
    return type(form)(arranged(p, row) for p in form) if isinstance(form, list | tuple) else row[form]


def plain(form):
    """Whether a form holds numbers only: a list of them is an array here."""
    return isinstance(form, int) or (isinstance(form, list | tuple) and all(map(plain, form)))


def pieces(form, made):
    """The numbers and rows in what was made, which has to be boxed as the form says."""
    if isinstance(form, dict):
        assert list(made) == list(form)
        return [piece for name in form for piece in pieces(form[name], made[name])]
    if isinstance(form, list | tuple):
        assert isinstance(made, (type(form), np.ndarray) if plain(form) else type(form))
        return [piece for pair in zip(form, made, strict=True) for piece in pieces(*pair)]
    return [(isinstance(form, slice), made)]


def loss_of(form, out, target, entropy, squares):
    """Of each piece an error of its own, so that no two of them may change places; target: (numbers, classes)."""
    total = 0.0
    for k, (row, piece) in enumerate(pieces(form, out)):
        number, kind = target[0][k], target[1][k]
        total = total + (k + 1) * (entropy(piece, kind) + squares(piece, number) if row else (piece - number) ** 2)
    return total


def ours(form):
    def squares(row, number):
        return MSE(row, [number] * len(row))

    class Net(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(2, 8, seed=1)

        def forward(self, x):
            return arranged(form, self.layer(x))

    return Net(), lambda out, target: loss_of(form, out, target, CE, squares)


@pytest.mark.parametrize(("engine", "seed"), [("numpy", k) for k in range(8)] + [("numba", 8), ("objects", 9)])
def test_loss_and_gradient_are_those_of_an_eager_call_and_of_pytorch(engine, seed, torch):
    random = np.random.default_rng(seed)
    form = drawn(random, 0, 8)
    (net, loss), x = ours(form), random.normal(size=(SAMPLES, 2))
    y = np.stack([random.normal(size=(SAMPLES, 8)), random.integers(0, 2, (SAMPLES, 8))], 1)
    eager = sv.mean([loss(net(a), b) for a, b in zip(x, y.tolist(), strict=True)])
    eager.backward()
    gradient = np.concatenate([np.ravel(p.grad) for p in net.parameters()])

    weight, bias = (torch.tensor(np.array(p.data), requires_grad=True) for p in net.parameters())
    functions = torch.nn.functional
    theirs = [
        loss_of(
            form, arranged(form, weight @ torch.tensor(a) + bias), torch.tensor(b),
            lambda row, k: functions.cross_entropy(row, k.long()),
            lambda row, number: functions.mse_loss(row, number.expand_as(row)),
        )
        for a, b in zip(x, y, strict=True)
    ]  # fmt: skip
    mean = sum(theirs) / SAMPLES
    mean.backward()
    assert eager.data == pytest.approx(mean.item(), rel=1e-12)
    assert gradient == pytest.approx(np.concatenate([weight.grad.numpy().ravel(), bias.grad.numpy()]), rel=1e-9)

    run = Run(net, loss, optim.SGD(net.parameters(), lr=0.01), (x, y), engine=engine, dtype="float64")
    outputs = [[v.data for v in net.layer(row)] for row in x]
    assert run.predict(x) == pytest.approx(np.array(outputs), rel=1e-12)  # in the order of the lists
    assert run.evaluate(x, y) == pytest.approx(eager.data, rel=1e-12)
    opened = run.open()
    run.step(1)
    for found, wanted in ((run.loss, eager.data), (opened.loss, eager.data), (run.frame().gradient, gradient)):
        assert found == pytest.approx(wanted, rel=1e-9)
    assert opened.gradient == pytest.approx(gradient, rel=1e-9)


def test_losses_pair_pictures_up_place_by_place_and_refuse_what_they_cannot_take():
    x, y = np.random.default_rng(0).normal(size=(2, 4, 1, 3, 3))
    net = nn.Conv2d(1, 1, 1, seed=0)
    run = Run(net, MSE, optim.SGD(net.parameters(), lr=0.1), (x, y), dtype="float64")
    assert run.evaluate(x, y) == pytest.approx(np.mean((run.predict(x) - y.reshape(4, 9)) ** 2))
    with pytest.raises(sv.ScalarvizError, match="nested differently"):
        MSE([[1.0], [2.0]], [[1.0, 2.0]])
    net = nn.Linear(1, 3)
    for part, y, said in (
        (0, [[0, 0]], "one output"),  # its cross-entropy would be 0 for every class
        (slice(0, 3), [[0, 2], [0, 3]], "sample 1 is 3"),
    ):
        with pytest.raises(sv.ScalarvizError, match=said):
            Run(net, lambda o, t, p=part: CE(o[p], t[1]), optim.SGD(net.parameters(), lr=0.1), (np.ones(len(y)), y))


def test_forward_fills_the_lists_that_it_is_given():
    """As keys of earlier letters are kept: an empty list is no row of numbers, a list of rows none of one number."""

    class Grown(nn.Module):
        def forward(self, x, rows):
            rows.append(x * 2.0)
            return sv.cat(rows)

    rows = []
    assert [Grown()([float(k)], rows).shape for k in range(3)] == [(1,), (2,), (3,)]
    assert [row.item() for row in rows] == [0.0, 2.0, 4.0]
