"""The picture of any graph of stages: nothing hides anything, lines go where the graph has them, names are its own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim
from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.view.screen.selection import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import layout_for

SIZES = [(1280, 720), (640, 360)]


@st.composite
def graphs(draw):
    """Stages with sources among all that came before."""
    stages, tensors, sizes, start = [], [], {"input": draw(st.integers(1, 9))}, 0
    for k in range(draw(st.integers(1, 9))):
        sources = tuple(sorted(draw(st.sets(st.sampled_from(sorted(sizes)), min_size=1, max_size=3))))
        outputs = draw(st.sampled_from([1, 2, 3, 8, 40]))
        weight = bias = None
        if draw(st.booleans()):
            weight = Tensor(f"m{k}.weight", (outputs, sum(sizes[s] for s in sources)), start)
            bias = Tensor(f"m{k}.bias", (outputs,), start + weight.size, "bias")
            start += weight.size + bias.size
            tensors += [weight, bias]
        first = (sizes["input"],) if k == 0 else ()
        kind = "linear" if weight else "function"
        stages.append(Stage(f"m{k}", kind, outputs, weight, bias, (outputs,), first, sources))
        sizes[f"m{k}"] = outputs
    return tensors or [Tensor("w", (), 0, "value")], stages, sizes


@given(graphs(), st.sampled_from(SIZES))
@settings(max_examples=60, deadline=None)
def test_every_tensor_and_row_stands_once_and_apart(graph, size):
    tensors, stages, sizes = graph
    layout = layout_for(tensors, [*stages, Stage("end", "function", 2, sources=("input", "m0"))], size)
    rows = {p.name: p.size for p in layout.plates if p.kind == "activation"}
    assert sorted(p.name for p in layout.plates if p.kind != "activation") == sorted(t.name for t in tensors)
    assert rows == {**sizes, "end": 2}
    for a, b in combinations(layout.plates, 2):
        apart = (a.bounds[1] <= b.bounds[0] + 1e-9) | (b.bounds[1] <= a.bounds[0] + 1e-9)
        assert apart.any(), f"{a.name} and {b.name} overlap"
    flat = layout.camera.project(layout.outline)
    assert (flat.min(0) >= -1).all()
    assert (flat.max(0) <= np.array(size) + 1).all()


def test_a_line_for_every_source_and_one_that_skips_goes_over_the_others():
    weight = Tensor("a.weight", (4, 4), 0)
    stages = [Stage("a", "linear", 4, weight, None, (4,), (4,), ("input",)), Stage("b", "tanh", 4, sources=("a",)),
              Stage("c", "add", 4, sources=("input", "b"))]  # fmt: skip
    layout = layout_for([weight], stages, (1280, 720))
    assert len(layout.flow) == 1 + 1 + 5 + 1  # input-a, a-b, input-c over both, b-c
    assert layout.flow[..., 2].max() > max(p.bounds[1][2] for p in layout.plates)


# ---- networks with branches


class Dense(nn.Module):
    """Two layers read the input; the next reads whole rows, one after the other; the last one a sum."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(7, 2, seed=3)
        self.last, self.tanh = nn.Linear(2, 2, seed=4), nn.Tanh()

    def forward(self, x):
        a = self.a(x)
        return self.last([u + v for u, v in zip(a, self.c([*x, *a, *self.tanh(self.b(x))]), strict=True)])


@pytest.fixture
def run_of():
    """Runs of networks of three inputs, closed at the end."""
    runs, random = [], np.random.default_rng(0)

    def make(net, outputs):
        data = random.random((16, 3)), random.random((16, outputs))
        runs.append(Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy"))
        return runs[-1]

    yield make
    for run in runs:
        run.close()


def test_where_a_weight_comes_from_is_where_its_layer_reads(run_of):
    subject = subject_of(run_of(Dense(), 2))

    def meanings(name):
        tensor = next(tensor for tensor in subject.tensors if tensor.name == name)
        return [who(subject, tensor.start + k).meaning for k in range(tensor.size)]

    assert meanings("a.weight")[2] == "from x2 to a 0"
    assert meanings("b.weight")[4] == "from x1 to tanh 1"
    assert meanings("b.bias")[1] == "bias of tanh 1"
    rows = [f"{row}{k}" for row, count in (("x", 3), ("a ", 2), ("tanh ", 2)) for k in range(count)]
    assert meanings("c.weight")[:7] == [f"from {number} to c 0" for number in rows]
    assert meanings("last.weight")[3] == "from its input 1 to y1"  # a sum that no module made is no row
