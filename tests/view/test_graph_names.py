"""Names in graphs with branches: where a weight comes from is where its layer reads, and names do not run together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.view.screen.selection import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((16, 3))


class Residual(nn.Module):
    """The last layer reads a sum that no module made."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(3, 4, seed=1), nn.Linear(4, 4, seed=2), nn.Linear(4, 2, seed=3)
        self.tanh = nn.Tanh()

    def forward(self, x):
        first = self.tanh(self.first(x))
        return self.last([a + b for a, b in zip(first, self.tanh(self.second(first)), strict=True)])


class Dense(nn.Module):
    """Two layers read the input; the last one reads whole rows, one after the other."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(7, 2, seed=3)
        self.tanh = nn.Tanh()

    def forward(self, x):
        a = self.a(x)
        return self.last([*x, *a, *self.tanh(self.b(x))])


def run_of(net):
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :2]), engine="numpy")
    run.step(2)
    return run


def meanings(run, name):
    subject = subject_of(run)
    tensor = next(t for t in subject.tensors if t.name == name)
    return [who(subject, tensor.start + k).meaning for k in range(tensor.size)]


def test_a_layer_that_reads_a_sum_reads_no_row():
    run = run_of(Residual())
    assert meanings(run, "first.weight")[4] == "from x1 to tanh 1"
    assert meanings(run, "second.weight")[6] == "from tanh 2 to tanh (2) 1"
    assert meanings(run, "second.bias")[3] == "bias of tanh (2) 3"
    assert meanings(run, "last.weight")[5] == "from its input 1 to y1"
    run.close()


def test_a_layer_that_reads_the_input_again_reads_the_input():
    run = run_of(Dense())
    assert meanings(run, "a.weight")[2] == "from x2 to a 0"
    assert meanings(run, "b.weight")[4] == "from x1 to tanh 1"
    assert meanings(run, "last.weight")[:7] == [
        f"from {row} {k} to y0".replace("x ", "x")
        for row, count in (("x", 3), ("a", 2), ("tanh", 2))
        for k in range(count)
    ]
    run.close()


def texts(run, size=(1280, 720), **scene):
    shown = Scene("t", run, X[0], X[0], ("r", "g", "b"), ("r", "g", "b")) if scene else run
    bench = Workbench(shown, size, keys=(("Space", "run"),))
    bench.update(run.frame(X[0]))
    return [item for sketch in bench.sketches for item in sketch.texts]


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280), (640, 360)])
def test_a_row_is_named_once_and_the_line_of_keys_begins_where_the_hud_does(size):
    run = run_of(Residual())
    left = {text.text: text.left for text in texts(run, size)}
    assert size != (1280, 720) or {"tanh", "tanh (2)"} <= set(left)
    assert "tanh tanh" not in left
    assert left["Space"] == left["step"]
    run.close()


@pytest.mark.parametrize("units", [(8, 8, 8), (8, 8, 8, 8), (16, 16)])
@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (640, 360)])
def test_names_in_a_line_do_not_run_together(units, size):
    sizes, layers = (3, *units), []
    for before, count in pairwise(sizes):
        layers += [nn.Linear(before, count, seed=1), nn.Tanh()]
    net = nn.Sequential(*layers, nn.Linear(sizes[-1], 3, seed=2), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy")
    found = texts(run, size, named=True)
    names = sorted((t for t in found if t.text == "tanh" or t.text.endswith(".weight")), key=lambda t: t.left)
    for k, one in enumerate(names):
        for other in (other for other in names[k + 1 :] if abs(one.y - other.y) < 12):
            assert other.left - one.left - one.width >= 5, f"{one.text}{other.text}"
    run.close()
