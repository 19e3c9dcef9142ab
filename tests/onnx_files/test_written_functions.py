"""What a forward computes by itself, between layers and without any, written as ONNX: onnxruntime computes the same."""

import math
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from kit.onnx_files import assert_near, by_objects, computed, stored
from scalarviz import Value, nn
from scalarviz.errors import InputError
from scalarviz.scalar import ops


class Made(nn.Module):
    """A module of a function and its parts."""

    def __init__(self, function, **parts):
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.function(self, x)


def agrees(net, folder, shape, ids=None, samples=3):
    """Write it; onnxruntime gives the network's numbers, and the file has its weights. The file."""
    path, random = folder / "net.onnx", np.random.default_rng(7)
    net.to_onnx(path, shape)
    x = random.integers(0, ids, (samples, *shape)) if ids else random.normal(size=(samples, *shape)).astype(np.float32)
    assert_near(
        np.concatenate([y.reshape(samples, -1) for y in computed(path, x)], 1), by_objects(net, x.astype(float))
    )
    kept = stored(path)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(kept[name], array.astype(np.float32))
    return path


PLAIN = ("tanh", "sigmoid", "relu", "exp", "sin", "cos", "abs", "square", "softplus", "neg", "leaky_relu")
LISTS = {
    "operators": lambda x: [x[0] + 0.3, 0.3 - x[1], x[2] * x[3], -x[4], x[0] ** 3, abs(x[1])],
    "< and >": lambda x: [sv.where(a < b, a, b) + sv.where(a > 0.1, b, a * 2.0) for a, b in pairwise(x)],
    "<= and >=": lambda x: [sv.where(a <= b, a, 2.0) + sv.where(a >= b, 1.0, b) for a, b in pairwise(x)],
    "clip": lambda x: [sv.clip(x[0], -0.5, 0.5), sv.clip(x[1], x[2], x[2] + 1.0), sv.clip(x[3], -1.0, x[4])],
    "mean, sum": lambda x: [sv.mean(x), sv.sum([*x, 1.0, x[0]]), sv.sum(x[:2]) * x[2]],
    "max, min": lambda x: [sv.max(x), sv.min([*x, 0.25]), sv.maximum(x[0], 0.1), sv.minimum(x[1], x[2])],
    "dot": lambda x: [sv.dot(x[:2], [x[2], 0.5]), sv.dot([0.5, 0.25, 0.25], x[:3], x[4]), sv.dot([0.5, 2.0],
        x[:2])],
    "softmax": lambda x: sv.softmax([10.0 * v for v in x]),
    "logsumexp": sv.logsumexp,
}  # fmt: skip


def by_formula(name):
    """The same operation as a user would add it: by its formula."""
    row, mine = ops.TABLE[name], f"test_onnx_{name}"
    return sv.register(mine, row.args, row.value, row.partials)


@pytest.mark.parametrize("name", [name for name in ops.TABLE if not name.startswith(("test_", "doc_", "float16"))])
def test_every_operation_of_the_table_is_written_by_name_and_by_formula(tmp_path, name):
    count = len(ops.TABLE[name].args)
    low, high = {"binary_cross_entropy": (0.1, 0.9)}.get(name, (0.2, 2.0))
    for f in [by_formula(name), *([getattr(sv, name)] if name in PLAIN else [])]:

        def function(self, x, f=f):
            inside = [low + (high - low) * sv.sigmoid(v) for v in x] if name not in PLAIN else x
            return [*(f(*inside[k : k + count]) for k in range(3)), f(inside[0], *[0.3] * (count - 1))]

        agrees(Made(function), tmp_path, (6,), samples=20)


@pytest.mark.parametrize("name", LISTS)
def test_operations_of_lists_are_written(tmp_path, name):
    agrees(Made(lambda self, x: LISTS[name](x)), tmp_path, (5,), samples=20)


# ---- parts of graphs


def conv_by_hand(self, x):
    patches = [[x[y + i][z + j] for i in range(2) for j in range(2)] for y in range(3) for z in range(3)]
    return [self.kernels @ patch + self.bias for patch in patches]


def recurrent(self, x):
    h = [Value(0.0), Value(0.0)]
    for number in x:
        h = [v.tanh() for v in self.cell([number, *h])]
    return h


class Doubled(nn.Linear):
    """A layer that computes something else than the one that it is made of."""

    def forward(self, x):
        return [2.0 * v for v in super().forward(x)]


LINEAR = nn.Linear(3, 2, seed=0)
GRAPHS = {
    "a line": (Made(lambda self, x: self.slope * x + self.offset, slope=sv.Weight(2.0),
        offset=sv.Weight(1.0)), ()),
    "a product with a parameter": (Made(lambda self, x: self.w @ x + self.b, w=nn.Parameter(np.ones((2, 3))),
                                        b=nn.Parameter([1.0, 2.0])), (3,)),
    "a convolution by hand": (Made(conv_by_hand, kernels=nn.Parameter(np.arange(8.0).reshape(2, 4)),
                                   bias=nn.Parameter([0.5, -0.5])), (4, 4)),
    "a cell that is called again": (Made(recurrent, cell=nn.Linear(3, 2, seed=5)), (6,)),
    "sums of weights": (Made(lambda self, x: [x[0] * (self.w * self.w).sum(), self.w.sum() + x[1],
        abs(self.w).sum()],
                             w=nn.Parameter([1.0, -2.0, 3.0])), (2,)),
    "an input, part of it twice": (Made(lambda self, x: [*x, *x]), (3,)),
    "a number that is known": (Made(lambda self, x: [x[0], Value(2.5), Value(-1.0)]), (1,)),
    "a layer of two others": (Made(lambda self, x: self.c([*self.a(x), *self.b(x[:2]), 1.0]), a=LINEAR,
                                   b=nn.Linear(2, 2, seed=1), c=nn.Linear(5, 2, seed=2)), (3,)),
    "another number in training": (Made(lambda self, x: [v * (5.0 if self.training else 1.0) for v in x]), (2,)),
    "a subclass that does more": (Doubled(2, 3, seed=0), (2,)),
    **{f"outputs {k}": (Made(lambda self, x, f=f: f(x, self.layer(x)), layer=nn.Linear(2, 2, seed=0)), (2,))
       for k, f in enumerate((
           lambda x, y: (y, [y[0]]), lambda x, y: ([y[1], y[0]], y), lambda x, y: (x, y, x),
       ))},
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_a_function_of_ones_own_is_written(tmp_path, name):
    agrees(GRAPHS[name][0], tmp_path, GRAPHS[name][1])


@pytest.mark.parametrize(("net", "shape"), [
    (Made(lambda self, x: [self.t[x[0]][1], self.t[x[1]][0] * 2.0, sv.gather(self.u, x[2])],
          t=nn.Parameter(np.arange(8.0).reshape(4, 2)), u=nn.Parameter([5.0, 6.0, 7.0, 8.0])), (3,)),
    (Made(lambda self, x: [*self.t(x[0]), x[0] * 0.5 + x[1]], t=nn.Embedding(4, 2, seed=0)), (2,)),
])  # fmt: skip
def test_ids_choose_rows(tmp_path, net, shape):
    agrees(net, tmp_path, shape, ids=4)


def test_numbers_beyond_float32_are_refused(tmp_path):
    net = nn.Linear(1, 1, seed=0)
    net.weight.data = [[1e300]]
    with pytest.raises(InputError, match=r"weight.*float64"):
        net.to_onnx(tmp_path / "net.onnx")
    net.to_onnx(tmp_path / "net.onnx", dtype="float64")
    net.weight.data = [[math.inf]]
    net.to_onnx(tmp_path / "net.onnx")  # an infinity is one in float32 too
