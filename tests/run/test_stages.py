"""Stages of any module graph: named rows in the order of the tape, and what each one reads."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.frame import is_chain

RANDOM = np.random.default_rng(0)


class Residual(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.a, self.act = nn.Linear(n, n, seed=5), nn.Tanh()

    def forward(self, x):
        return [u + v for u, v in zip(x, self.act(self.a(x)), strict=True)]


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.act = nn.Linear(3, 3, seed=1), nn.Tanh()

    def forward(self, x):
        return self.layer(self.act(self.layer(x)))


class Waves(nn.Module):
    def forward(self, x):
        return [f(k * v) for v in x for k in (1, 2) for f in (sv.sin, sv.cos)]


class Attention(nn.Module):
    """Three tokens of two numbers, one head."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(2, 2, bias=False, seed=s) for s in range(3))
        self.weigh = nn.Softmax()

    def forward(self, x):
        tokens = [x[i : i + 2] for i in (0, 2, 4)]
        q, k, v = ([layer(t) for t in tokens] for layer in (self.q, self.k, self.v))
        shares = [self.weigh([sv.dot(one, other) for other in k]) for one in q]
        return [sv.dot(share, [one[c] for one in v]) for share in shares for c in range(2)]


class Ends(nn.Module):
    """The first layer reads one end of the sample, the second the other: columns that are no whole row."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(2, 2, seed=1), nn.Linear(2, 1, seed=2)

    def forward(self, x):
        return [*self.left(x[:2]), *self.right(x[1:])]


WEIGHTS = [sv.Weight(0.3 + k, name=f"w{k}") for k in range(3)]
FIRST, SECOND = nn.Linear(3, 2, seed=1), nn.Linear(3, 1, seed=2)


def product(x):
    return [sv.tanh(w * v) for w, v in zip(WEIGHTS, x, strict=True)]


def two_layers(x):
    return FIRST(x) + SECOND(x)


MODELS = {
    "chain": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid()), 3,
              [("0", "linear", "input"), ("1", "tanh", "0"), ("2", "linear", "1"), ("3", "sigmoid", "2")]),
    "one layer": (lambda: nn.Linear(3, 3), 3, [("", "linear", "input")]),
    "residual": (lambda: nn.Sequential(nn.Linear(3, 3), Residual(), nn.Linear(3, 3)), 3,
                 [("0", "linear", "input"), ("1.a", "linear", "0"), ("1.act", "tanh", "1.a"), ("1", "add", "0 1.act"),
                  ("2", "linear", "1")]),
    "twice": (Twice, 3, [("layer", "linear", "input"), ("act", "tanh", "layer"), ("layer (2)", "linear", "act")]),
    "encoder": (lambda: nn.Sequential(Waves(), nn.Linear(12, 3)), 3, [("0", "waves", "input"), ("1", "linear", "0")]),
    "attention": (lambda: nn.Sequential(Attention(), nn.Linear(6, 3)), 6,
                  [(f"0.{n}{k}", "linear", "input") for n in "qkv" for k in ("", " (2)", " (3)")]
                  + [(f"0.weigh{k}", "softmax", f"0.q{k} 0.k 0.k (2) 0.k (3)".replace(" (", "("))
                     for k in ("", " (2)", " (3)")]
                  + [("0", "attention", "0.v 0.v(2) 0.v(3) 0.weigh 0.weigh(2) 0.weigh(3)"), ("1", "linear", "0")]),
    "numbers": (lambda: nn.Sequential(nn.Linear(3, 3), nn.LeakyReLU(0.2), nn.Linear(3, 3), nn.Softplus(2.0)), 3,
                [("0", "linear", "input"), ("1", "leaky_relu", "0"), ("2", "linear", "1"), ("3", "softplus", "2")]),
    "ends": (Ends, 3, [("left", "linear", "input"), ("right", "linear", "input")]),
    "function": (lambda: product, 3, [("output", "function", "input")]),
    "layers in a function": (lambda: two_layers, 3, [("linear", "linear", "input"), ("linear (2)", "linear", "input")]),
}  # fmt: skip


def make(name):
    build, n, stages = MODELS[name]
    model = build()
    held = {"function": WEIGHTS, "layers in a function": [*FIRST.parameters(), *SECOND.parameters()]}
    parameters = held[name] if name in held else model.parameters()
    data = RANDOM.random((8, n)), RANDOM.random((8, 3))
    return model, Run(model, nn.MSELoss(), optim.SGD(parameters, lr=0.1), data, engine="numpy", dtype="float64"), stages


@pytest.mark.parametrize("name", MODELS)
def test_every_module_has_a_named_row_in_the_order_of_the_tape(name):
    _, run, stages = make(name)
    assert [(s.name, s.kind, " ".join(s.sources).replace(" (", "(")) for s in run.stages] == stages
    assert is_chain(run.stages) == (name in ("chain", "one layer", "encoder", "numbers", "function"))


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_what_the_objects_compute(name):
    """The oracle: the modules themselves, called in plain Python with their outputs noted."""
    model, run, _ = make(name)
    run.step(2)
    x = RANDOM.random(run.n_inputs)
    found = run.activations(x)
    made = []
    inner = nn.Module.__call__

    def noted(module, *args):
        result = inner(module, *args)
        made.append([v.data for v in result])
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.Module, "__call__", noted)
        outputs = model([sv.Value(v) for v in x])
    for stage in run.stages[:-1]:
        assert any(len(m) == stage.outputs and np.allclose(m, found[stage.name], rtol=1e-12) for m in made), stage.name
    np.testing.assert_allclose([v.data for v in outputs][-run.stages[-1].outputs :], found[run.stages[-1].name])
    assert list(found) == ["input", *(s.name for s in run.stages)]


def test_columns_that_are_part_of_a_row_are_said():
    _, run, _ = make("ends")
    assert [s.whole for s in run.stages] == [False, False]
    _, run, _ = make("attention")
    assert [s.whole for s in run.stages if s.kind == "linear"] == [False] * 9 + [True]


def test_two_layers_of_a_function_keep_both_their_weights(tmp_path):
    """Two tensors of one name: one of them was lost in every state_dict and file."""
    _, run, _ = make("layers in a function")
    assert [t.name for t in run.tensors] == ["weight", "bias", "weight (2)", "bias (2)"]
    run.save(tmp_path / "w.safetensors")
    kept = run.values.copy()
    run.step(5)
    run.load(tmp_path / "w.safetensors")
    assert run.values.tobytes() == kept.tobytes()


def test_rows_of_many_samples_and_of_the_output():
    _, run, _ = make("function")
    rows = run._forward.rows(RANDOM.random((5, 3)), ["output", "input"], run.values)
    assert {name: array.shape for name, array in rows.items()} == {"output": (5, 3), "input": (5, 3)}
