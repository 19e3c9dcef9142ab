"""A product that is alone in a sum is that product: -1.5 * 0 is -0.0 on every engine, as IEEE 754 has it.

A sum that begins at 0.0 loses the sign, and ``1 / (w * x)`` would be inf instead of -inf.
"""

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES
from scalarviz import Run, nn, optim

every = pytest.mark.parametrize("engine", ENGINES)
dtypes = pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
NUMBERS = (-1.5, 2.0)
BATCHES = (1, 3, 6, 40)
"""Samples that have kernels of their own."""

PRODUCTS = {
    "weight": lambda w, x, c, one: [w[0] * x[0], x[0] * w[0], sv.dot(w[:1], x[:1])],
    "weight of several inputs": lambda w, x, c, one: [w[0] * x[0], w[0] * x[1]],
    "weight of each input": lambda w, x, c, one: [w[0] * x[0], w[1] * x[1]],
    "weights of an input": lambda w, x, c, one: [a * x[0] for a in w],
    "inputs": lambda w, x, c, one: [x[0] * x[2], sv.dot(x[:1], x[2:])],
    "constant": lambda w, x, c, one: [c * x[0], x[0] * c, sv.dot([c], x[:1])],
    "rows": lambda w, x, c, one: [(one * x[0]) * (one * x[2]), c * (one * x[0]), sv.dot([one * x[0]], w[:1])],
    "graph": lambda w, x, c, one: [w[0] * (one * x[0]).tanh(), (w[0] * x[0]).sin() + w[1] * x[0]],
}
"""Numbers with the sign of c * x, of 40 weights `w` that are c, inputs (x, x, c), c, and a weight 1."""


class Layer(nn.Module):
    def __init__(self, outputs):
        self.layer = nn.Linear(1, outputs, bias=False)

    def forward(self, x):
        return self.layer(x[:1])


class Convolution(nn.Module):
    """Of one channel, without neighbours, over a picture of a row."""

    def __init__(self, outputs):
        self.layer = nn.Conv2d(1, outputs, 1, bias=False)

    def forward(self, x):
        return [v for plane in self.layer([[x[:2]]]) for row in plane for v in row]


class Written(nn.Module):
    """A function of the weights, the inputs, the number that the weights are, and a weight 1."""

    def __init__(self, made, number):
        self.weight, self.one = nn.Parameter(np.full(40, number)), nn.Parameter([1.0])
        self.made, self.number = made, number

    def forward(self, x):
        return [*self.made(list(self.weight), x, self.number, self.one[0]), self.one[0]]


def signs(made, engine, dtype, number, batch):
    """The sign of each number that a net makes of -0.0 and 0.0, as its loss and its predictions have it."""
    net = made(number)
    if not isinstance(net, Written):
        net.load_state_dict({name: np.full(array.shape, number) for name, array in net.state_dict().items()})
    x = np.resize([0.0, -0.0], batch)
    data = np.stack([x, x, np.full(batch, number)], axis=1), 0.5 ** np.arange(batch)[:, None]

    def loss(found, target):
        return sv.sum([sv.where(1.0 / v > 0, target[0], -target[0]) for v in found]) / len(found)

    still = optim.SGD(net.parameters(), lr=0.0)
    with Run(net, loss, still, data, batch_size=None, engine=engine, dtype=dtype) as run:
        run.step()
        return run.loss, np.copysign(1, run.predict(data[0])), x, data[1][:, 0]


def products(made, engine, dtype, sign=lambda number, x: number * x):
    """Numbers of `made` have the sign of what IEEE 754 makes of the number and of 0."""
    for number in NUMBERS:
        for batch in BATCHES:
            found, predicted, x, size = signs(made, engine, dtype, number, batch)
            wanted = np.copysign(1, sign(number, x))[:, None] * np.ones(predicted.shape)
            if made(number).__class__ is Written:
                wanted[:, -1] = 1
            np.testing.assert_array_equal(predicted, wanted)
            assert found == pytest.approx((wanted.mean(axis=1) * size).mean(), rel=1e-5)


@every
@dtypes
@pytest.mark.parametrize("kind", PRODUCTS)
def test_a_product_alone_keeps_its_sign(kind, dtype, engine):
    products(lambda number: Written(PRODUCTS[kind], number), engine, dtype)


@every
@dtypes
@pytest.mark.parametrize("kind", [Layer, Convolution])
def test_a_layer_of_one_input_keeps_its_sign(kind, dtype, engine):
    for outputs in (1, 40):
        products(lambda number, outputs=outputs: kind(outputs), engine, dtype)


@every
@dtypes
def test_a_zero_that_is_added_counts(dtype, engine):
    """As Python's ``sum`` does it: 0.0 + -0.0 is 0.0."""
    sums = {
        lambda w, x, c, one: [0 + w[0] * x[0], w[0] * x[0] + 0.0, sum([w[1] * x[1]])]: lambda c, x: 0.0 + c * x,
        lambda w, x, c, one: [0 - w[0] * x[0], 0.0 - w[1] * x[1]]: lambda c, x: 0.0 - c * x,
        lambda w, x, c, one: [w[0] * x[0] - 0.0]: lambda c, x: c * x - 0.0,
    }
    for made, sign in sums.items():
        products(lambda number, made=made: Written(made, number), engine, dtype, sign)
