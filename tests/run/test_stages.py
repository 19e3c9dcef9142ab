"""Stages of any module graph: named rows in the order of computation, what each reads; and ids that data brings."""

import numpy as np
import pytest

import scalarviz as sv
from kit.nested import numbers
from kit.networks import NETWORKS
from kit.refusals import refusals
from kit.runs import make_run
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, TracingError, TypeMismatchError


class Attention(nn.Module):
    """Three tokens of two numbers, one head."""

    def __init__(self):
        self.q, self.k, self.v = (nn.Linear(2, 2, bias=False, seed=s) for s in range(3))
        self.weigh = nn.Softmax()

    def forward(self, x):
        tokens = [x[i : i + 2] for i in (0, 2, 4)]
        q, k, v = ([layer(t) for t in tokens] for layer in (self.q, self.k, self.v))
        shares = [self.weigh([sv.dot(one, other) for other in k]) for one in q]
        return [sv.dot(share, [one[c] for one in v]) for share in shares for c in range(2)]


WEIGHTS = [sv.Weight(0.3 + k, name=f"w{k}") for k in range(3)]
FIRST, SECOND = nn.Linear(3, 2, seed=1), nn.Linear(3, 1, seed=2)


def product(x):
    return [sv.tanh(w * v) for w, v in zip(WEIGHTS, x, strict=True)]


def two_layers(x):
    return sv.cat([FIRST(x), SECOND(x)])


# what it is, how many numbers a sample has, and name, kind and sources of each stage
MODELS = {
    "chain": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid()), 3,
              [("0", "linear", "input"), ("1", "tanh", "0"), ("2", "linear", "1"), ("3", "sigmoid", "2")]),
    "one layer": (lambda: nn.Linear(3, 3), 3, [("", "linear", "input")]),
    "attention": (lambda: nn.Sequential(Attention(), nn.Linear(6, 3)), 6,
                  [(f"0.{n}{k}", "linear", "input") for n in "qkv" for k in ("", " (2)", " (3)")]
                  + [(f"0.weigh{k}", "softmax", f"0.q{k} 0.k 0.k (2) 0.k (3)") for k in ("", " (2)", " (3)")]
                  + [("0", "attention", "0.v 0.v (2) 0.v (3) 0.weigh 0.weigh (2) 0.weigh (3)"), ("1", "linear", "0")]),
    "residual": (lambda: nn.Sequential(nn.Linear(3, 3), NETWORKS["residual"].ours(), nn.LeakyReLU(0.2)), 3,
                 [("0", "linear", "input"), ("1.a", "linear", "0"), ("1.b", "linear", "0"),
                  ("1", "residual", "0 1.a 1.b"), ("2", "leaky_relu", "1")]),
    "function": (lambda: product, 3, [("output", "function", "input")]),
    "layers in a function": (lambda: two_layers, 3, [("linear", "linear", "input"), ("linear (2)", "linear", "input")]),
}  # fmt: skip
HELD = {"function": WEIGHTS, "layers in a function": [*FIRST.parameters(), *SECOND.parameters()]}


def make(name):
    build, n, stages = MODELS[name]
    model, draw = build(), np.random.default_rng(0)
    data = draw.random((8, n)), draw.random((8, 3))
    rule = optim.SGD(HELD[name] if name in HELD else model.parameters(), lr=0.1)
    return Run(model, nn.MSELoss(), rule, data, engine="numpy", dtype="float64"), stages


@pytest.mark.parametrize("name", MODELS)
def test_every_module_has_a_named_row_in_the_order_of_computation(name):
    run, stages = make(name)
    assert [(s.name, s.kind, " ".join(s.sources)) for s in run.stages] == stages
    assert list(run.activations(run.samples()[0][0])) == ["input", *(s.name for s in run.stages)]
    whole = [s.whole for s in run.stages if s.kind == "linear"]
    assert whole == {"attention": [False] * 9 + [True]}.get(name, [True] * len(whole))


@pytest.mark.parametrize(
    "name", [*MODELS, *(name for name, row in NETWORKS.items() if not (row.draws or row.remembers))]
)
def test_rows_are_what_the_modules_compute_by_themselves(name, monkeypatch):
    run = make(name)[0] if name in MODELS else make_run(name, "cross-entropy" if name in ("words", "gpt") else "mse")
    run.step(2)
    x, made, inner = run.samples()[0][3], [], nn.Module.__call__
    found = run.activations(x)

    def noted(module, *args, **kwargs):
        result = inner(module, *args, **kwargs)
        first = result[0] if isinstance(result, tuple) else result
        made.append(np.ravel(first.data))
        return result

    monkeypatch.setattr(nn.Module, "__call__", noted)
    shape = NETWORKS[name].shape if name in NETWORKS else x.shape
    outputs = run.model(x.reshape(shape).tolist())
    for stage in run.stages[:-1]:
        calls = [m.reshape(-1, stage.outputs) for m in made if m.size % stage.outputs == 0]  # one with rows is several
        assert any(np.isclose(m, found[stage.name], rtol=1e-11).all(axis=1).any() for m in calls), stage.name
    last = run.stages[-1]
    given = numbers(outputs)[-last.outputs :]
    if last.name != "output" or name == "function":
        np.testing.assert_allclose(given, found[last.name], rtol=1e-11)
    np.testing.assert_allclose(run.predict(x[None]).ravel()[-len(given) :], given, rtol=1e-11)


def test_two_layers_of_a_function_keep_both_their_weights():
    """Two tensors of one name: one of them was lost in every state_dict and file."""
    run, _ = make("layers in a function")
    assert [t.name for t in run.tensors] == list(run.state_dict()) == ["weight", "bias", "weight (2)", "bias (2)"]


class Pair(nn.Module):
    """Two ids of one table, the second of a smaller one as well; and a number that is none."""

    def __init__(self, rows=9):
        self.large, self.small = nn.Embedding(rows, 2, seed=1), nn.Embedding(5, 2, seed=2)
        self.out = nn.Linear(7, 1, seed=3)

    def forward(self, x):
        return self.out([*self.large(x[0]), *self.large(x[1]), *self.small(x[1]), x[2]])


X, Y = np.array([[8, 4, 0.5], [0, 0, -7.0], [3, 2, 100.0]]), np.array([[1.0], [2.0], [3.0]])


def pairs(x=X):
    net = Pair()
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, Y), engine="numpy")


ENTRANCES = {
    "data": lambda x, k: pairs(x), "refill": lambda x, k: pairs().refill(x, Y),
    "add_samples": lambda x, k: pairs().add_samples(x, Y), "predict": lambda x, k: pairs().predict(x),
    "evaluate": lambda x, k: pairs().evaluate(x, Y), "frame": lambda x, k: pairs().frame(x[k]),
    "activations": lambda x, k: pairs().activations(x[k]), "request_frame": lambda x, k: pairs().request_frame(x[k]),
    "open": lambda x, k: pairs().open(sample=(x[k], Y[k])),
}  # fmt: skip


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize(("sample", "column", "number"), [(1, 0, 9.0), (2, 0, -1.0), (2, 1, 1.5)])
def test_an_id_that_there_is_not_is_refused_with_its_place_at_every_entrance(entrance, sample, column, number):
    x = X.copy()
    x[sample, column] = number
    with pytest.raises(InputError) as caught:
        ENTRANCES[entrance](x, sample)
    assert f"column {column}" in str(caught.value)
    assert f"{number}" in str(caught.value)
    if entrance in ("data", "refill", "add_samples", "predict", "evaluate"):
        assert f"{entrance}: " in str(caught.value)
        assert f"sample {sample}" in str(caught.value)


def ids_among_targets(targets):
    table, net = nn.Parameter([[1.0], [2.0]]), nn.Linear(1, 1, seed=0)
    loss = lambda outputs, wanted: (outputs[0] - table[wanted[0]][0]).square()  # noqa: E731
    return Run(net, loss, optim.SGD(net.parameters(), lr=0.1), ([[0.5], [1.0]], targets), engine="numpy")


V, T = InputError, TypeMismatchError
ROWS = {
    "ids_among_targets([[0], [2]])": (V, "targets", "sample 1", "column 0", 2),
    "ids_among_targets([[0], [1]]).set_targets([[0], [2]])": (V, "sample 1", 2),
    "pairs().change(model=Pair(8))": (V, "change", "sample 0", "column 0", 8),
    **{f"nn.Embedding(9, 2)({bad})": (OutOfRangeError, "0 to 8") for bad in (9, -1, 1.5)},
    "sv.gather([sv.Weight(1.0)], 0)": (T, "nn.Embedding"), "sv.gather(nn.Parameter([1.0]), '0')": (T, "number"),
    "sv.trace(lambda x: [[sv.Weight(1.0)]][x[0]], 1)": (TracingError, "nn.Embedding"),
    "nn.Parameter(np.zeros((2, 3)))[sv.Value(1.0), sv.Value(1.0)]": (V, "only the first index"),
}  # fmt: skip


@refusals(ROWS, globals())
def test_refusals(refusal):
    refusal.check()
