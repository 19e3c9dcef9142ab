"""One table of bad values for everything that ``import scalarviz`` offers: each is refused by name, none by accident.

The layers have a table of their own in ``tests/nn``, the flags of the command line in ``tests/cli``.
"""

from __future__ import annotations

import math
from functools import partial
from types import ModuleType

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.run.panels import LossCurve

NO_NUMBERS = [None, "1", b"1", [1.0], 1j, {}, np.zeros(2), 10**400]
NO_SEQUENCES = [None, 3, Value(1.0), 1.5]
NO_SEED = [-1, 2**64, 1.5, "0", None, True]
X, Y = np.zeros((4, 3)), np.zeros((4, 2))


def net():
    return nn.Sequential(nn.Linear(3, 2))


def run(**change):
    model = net()
    given = {"model": model, "loss": nn.MSELoss(), "optimizer": optim.SGD(model.parameters(), lr=0.1), "data": (X, Y)}
    return sv.Run(**{**given, "engine": "numpy", **change})


def of(call, *values):
    return [(call, value) for value in values]


UNARY = [
    "abs",
    "cos",
    "exp",
    "log",
    "neg",
    "relu",
    "leaky_relu",
    "sigmoid",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "tanh",
]
BINARY = ["add", "div", "maximum", "minimum", "mul", "pow", "sub"]
TERNARY = ["clip", "where"]
TABLE = {
    **{name: of(getattr(sv, name), *NO_NUMBERS) for name in UNARY},
    **{name: of(partial(getattr(sv, name), Value(1.0)), *NO_NUMBERS) for name in BINARY},
    **{name: of(partial(getattr(sv, name), 1.0, 2.0), *NO_NUMBERS) for name in TERNARY},
    "mean": of(sv.mean, [], *NO_SEQUENCES, ["a"]),
    "min": of(sv.min, [], *NO_SEQUENCES, ["a"]),
    "no_grad": [*of(sv.no_grad, 3, "f", [print]), *of(sv.no_grad(), None, 3, lambda: (yield))],
    "max": of(sv.max, [], *NO_SEQUENCES, ["a"]),
    "logsumexp": of(sv.logsumexp, [], *NO_SEQUENCES, ["a"]),
    "softmax": of(sv.softmax, [], *NO_SEQUENCES, ["a"]),
    "log_softmax": of(sv.log_softmax, [], *NO_SEQUENCES, ["a"]),
    "sweep": [
        *of(lambda x: sv.sweep(x, workers=0), None, 3, "", "no_such", "no_such.py", [run]),
        *of(
            lambda x: sv.sweep("xor", x, workers=0), 3, "lr", {"lr": 3}, {"lr": []}, {"lr": [-1]}, {"no": [1]}, {1: [2]}
        ),
        *of(lambda x: sv.sweep("xor", {}, x, workers=0), None, 0, -1, 1.5, "x", [], [1, 1], [-1], [2**64], True),
        *of(lambda x: sv.sweep("xor", steps=x, workers=0), 0, -1, 1.5, "x", [1]),
        *of(lambda x: sv.sweep("xor", results=x, workers=0), 3, "", "x", "x.csv", "/no/such/../x.txt", b"x.svs"),
        *of(lambda x: sv.sweep("xor", workers=x), -1, 1.5, "x", [1], 10**9, True),
        *of(lambda x: sv.sweep("xor", options=x, workers=0), 3, {"lr": -1}, {"seed": 1}, {"no": 1}, {"lr": [1]}),
        *of(lambda x: sv.sweep("xor", keyframes=x, workers=0), None, -1, 1.5, 10**9),
        *of(lambda x: sv.sweep("xor", executor=x), 3, "tls://x", print),
    ],
    "sum": of(sv.sum, *NO_SEQUENCES, ["a"]),
    "gather": [
        *of(lambda x: sv.gather(x, 0), *NO_NUMBERS, [Weight(1.0)]),
        *of(partial(sv.gather, nn.Parameter([1.0, 2.0])), None, "1", 2, -1, 0.5, math.nan, ["a"]),
    ],
    "dot": of(lambda xs: sv.dot([1.0, 2.0], xs), [], [1.0], "ab", [None, 1.0]),
    "Value": [
        *of(Value, *NO_NUMBERS),
        *of(lambda x: Value(1.0).backward(x), *NO_NUMBERS),
        *of(lambda x: Value(1.0) + x, *NO_NUMBERS),
        *of(lambda x: x < Value(1.0), None, "1", [1.0]),
    ],
    "Weight": [
        *of(Weight, *NO_NUMBERS),
        *of(lambda x: Weight(1.0).forward(x), *NO_NUMBERS),
        *of(lambda x: Weight(1.0).backward(x), *NO_NUMBERS),
        *of(lambda x: Weight(1.0).step(x), *NO_NUMBERS, -1, math.nan, math.inf),
        *of(lambda x: Weight(1.0).initialize(x), *NO_NUMBERS, 2.0, math.nan, math.inf),
        *of(lambda x: Weight(1.0).initialize(seed=x), *NO_SEED),
        *of(lambda x: setattr(Weight(1.0), "data", x), *NO_NUMBERS),
        *of(lambda x: setattr(Weight(1.0), "grad", x), *(x for x in NO_NUMBERS if x is not None)),
    ],
    "gradcheck": [
        *of(lambda x: sv.gradcheck(Value.exp, x), *NO_NUMBERS),
        *of(lambda x: sv.gradcheck(x, 1.0), None, "exp", 3),
        *of(lambda x: sv.gradcheck(Value.exp, 1.0, step=x), *NO_NUMBERS, 0, -1e-5, math.nan, math.inf),
        *of(lambda x: sv.gradcheck(lambda v: x, 1.0), None, 1.0, [Value(1.0)]),
    ],
    "register": [
        *of(lambda x: sv.register(x, "a", "a", ("1",)), None, 3, "", "two words", "exp", "lambda"),
        *of(lambda x: sv.register("bad", x, "a", ("1",)), None, 3, "", "y", "a a", "a b c d", [1], "1"),
        *of(lambda x: sv.register("bad", "a", x, ("1",)), None, 3, "", "a +", "b", "open(a)", "a.b", "a[0]"),
        *of(lambda x: sv.register("bad", "a", "a", x), None, "1", (), ("1", "1"), (1,), ("b",), ("1 +",)),
    ],
    "lesson": of(sv.lesson, None, True, 6.0, "six", "", -1, [6]),
    "live": [
        *of(sv.live, None, "rgb", 3.0, object(), {}, [], nn.Linear),
        *of(lambda x: sv.live(net(), display=x), None, 3, "video"),
        *of(lambda x: sv.live(net(), size=x), 3, "large", (10, 10), (1e9, 1e9)),
        *of(lambda x: sv.live(net(), hide=x), None, 3, [3], "speed", ("pace",)),
        *of(lambda x: sv.live(net(), controls=x), None, "yes", 2),
    ],
    "player": [
        *of(sv.player, None, 3, net(), [], b"run.svz", "no such file.svz"),
        *of(lambda x: sv.player("run.svz", size=x), 3, "large", (10, 10)),
        *of(lambda x: sv.player("run.svz", theme=x), None, 3, "blue"),
        *of(lambda x: sv.player("run.svz", title=x), None, 3, b"a"),
    ],
    "Recording": [
        *of(sv.Recording, None, "rgb", 3, net(), sv.Run, []),
        *of(lambda x: sv.Recording(run(), every=x), None, 0, -1, 1.5, "2", True),
        *of(lambda x: sv.Recording(run(), gradients=x), None, "yes", 2),
        *of(lambda x: sv.Recording(run(), panels=x), None, "yes", 2),
        *of(lambda x: sv.Recording(run(), budget=x), None, -1, 1.5, "2"),
        *of(lambda x: sv.Recording(run(), path=x), 3, b"run.svz", "."),
    ],
    "load_recording": of(sv.load_recording, None, 3, b"run.svz", "no such file.svz", ".", __file__),
    "load_onnx": of(sv.load_onnx, None, 3, "no such file.onnx", ".", __file__),
    "draw": [
        *of(sv.draw, None, "1", 3.0, {}, [], ["a"], nn.Linear, net(), nn.Parameter([1.0]), abs),
        *of(partial(sv.draw, Value(1.0)), 1.0, None),
        *of(partial(sv.draw, net()), None, "a", [1.0], [1.0, 2.0, "a"]),
        *of(lambda x: sv.draw(Value(1.0), theme=x), None, 3, "blue"),
        *of(lambda x: sv.draw(Value(1.0), chains=x), None, 3, "yes"),
        *of(lambda x: sv.draw(Value(1.0), digits=x), "4", -1, 13, 2.5, True, [4]),
        *of(lambda x: sv.draw(Value(1.0), unfold=x), None, 3, "0", ["0"], [3]),
        *of(lambda x: sv.draw(Value(1.0)).save(x), None, 3, "a.jpg", "a"),
    ],
    "record": [
        *of(lambda x: sv.record(x, 1), None, "f", 3),
        *of(lambda x: sv.record(lambda v: v, x), None, "1", -1, 1.5),
        *of(lambda x: sv.record(lambda v: v, 1, x), None, "1", -1, 1.5),
        *of(lambda x: sv.record(lambda v: v, 1, loss=x), "f", 3),
        *of(lambda x: sv.record(lambda v: x, 1), None, 1.0, "a"),
    ],
    "watch": [
        *of(sv.watch, None, "rgb", 3.0, object(), {}, [], np.zeros(3), nn.Linear, net(), run(), {"a": "b"}, {"a": 1j}),
        *of(lambda x: sv.watch({"a": X}, budget=x), None, -1, 1.5, "2"),
        *of(lambda x: sv.watch({"a": X}).update(x), 3, "a", {}, {"b": X}, {"a": Y}, {"a": X, "b": X}),
        *of(lambda x: sv.watch({"a": X}).update(grads=x), 3, "a", {"b": X}, {"a": Y}),
        *of(lambda x: sv.watch({"a": X}).update(loss=x), *(x for x in NO_NUMBERS if x is not None)),
        *of(lambda x: sv.watch({"a": X}).update(step=x), -1, 1.5, "2"),
    ],
    "Scene": [
        *of(lambda x: sv.Scene(x, run()), None, 3, b"a"),
        *of(lambda x: sv.Scene("a", x), None, "run", net(), sv.Run),
        *of(lambda x: sv.Scene("a", run(), x), "a", [None], [[1.0], [1.0, 2.0]]),
        *of(lambda x: sv.Scene("a", run(), input_names=x), None, "rgb", (1, 2), 3),
        *of(lambda x: sv.Scene("a", run(), panels=x), None, "loss", (None,), LossCurve()),
    ],
    "Run": [
        *of(lambda x: run(model=x), None, 3, "net"),
        *of(lambda x: run(loss=x), None, 3, "mse", lambda o, t: 1.0, lambda o, t: o),
        *of(lambda x: run(optimizer=x), None, 0.1, "sgd", optim.SGD),
        *of(lambda x: run(data=x), None, X, (X,), (X, Y, Y), (X, Y[:3]), ("a", "b"), (X * 1j, Y), (X + 1e39, Y)),
        *of(lambda x: run(data=(x, Y)), None, X[:, :2], X[:0], X * math.nan, X - math.inf, X.astype(str) + "x"),
        *of(lambda x: run(batch_size=x), 0, -1, 5, 1.5, "2", True),
        *of(lambda x: run(seed=x), -1, 1.5, "0", None, True),
        *of(lambda x: run(engine=x), None, "", "gpu", "cuda:99", "cuda:-1", 3),
        *of(lambda x: run(dtype=x), None, "", "float16", float, 3),
        *of(lambda x: run().step(x), None, -1, 1.5, "1", True),
        *of(lambda x: setattr(run(), "lr", x), None, -1, "1", math.nan, math.inf),
        *of(lambda x: run().predict(x), None, "a", X[:, :2], X[:0], X * math.nan, X + 1e39),
        *of(lambda x: run().evaluate(X, x), None, "a", Y[:, :1], Y[:0], Y[:3], Y * math.nan),
        *of(lambda x: run().frame(x), "a", [1.0], [[1.0] * 3] * 2, [math.nan] * 3),
        *of(lambda x: run().predict(X, x), [1.0], np.zeros(9), 3.0),
    ],
}
MODULES = {"check": None, "mistakes": None, "nn": nn, "optim": optim, "view": None}


def test_the_table_has_everything_that_is_exported():
    assert set(TABLE) | set(MODULES) | {"ScalarvizError"} == set(sv.__all__)
    assert all(isinstance(getattr(sv, name), ModuleType) for name in MODULES)


@pytest.mark.parametrize("name", TABLE)
def test_bad_values_are_refused_by_name(name):
    for call, value in TABLE[name]:
        with pytest.raises(sv.ScalarvizError) as caught:
            call(value)
        assert len(str(caught.value)) > 15, value


HYPER = [None, "1", [1.0], -1, math.nan, math.inf, -math.inf]
OPTIMIZERS = {
    "SGD": [
        *of(lambda x: optim.SGD(net().parameters(), lr=x), *HYPER),
        *of(lambda x: optim.SGD(net().parameters(), momentum=x), *HYPER),
        *of(lambda x: optim.SGD(net().parameters(), weight_decay=x), *HYPER),
        *of(lambda x: optim.SGD(net().parameters(), nesterov=x), True),
    ],
    **{
        kind.__name__: [
            *of(lambda x, kind=kind: kind(net().parameters(), lr=x), *HYPER),
            *of(
                lambda x, kind=kind: kind(net().parameters(), betas=x), None, 0.9, (0.9,), (0.9, 1.0), (-0.1, 0.9), "ab"
            ),
            *of(lambda x, kind=kind: kind(net().parameters(), eps=x), *HYPER),
            *of(lambda x, kind=kind: kind(net().parameters(), weight_decay=x), *HYPER),
        ]
        for kind in (optim.Adam, optim.AdamW)
    },
}
INITIALISERS = {
    "uniform": [*of(nn.init.uniform, *HYPER[:3], 2.0, math.nan), *of(lambda x: nn.init.uniform(0, x), *HYPER)],
    "normal": [*of(nn.init.normal, *HYPER[:3], math.nan), *of(lambda x: nn.init.normal(0, x), *HYPER)],
    "xavier_uniform": of(nn.init.xavier_uniform, *HYPER, 0),
    "kaiming_uniform": of(nn.init.kaiming_uniform, *HYPER, 0),
    "manual_seed": of(nn.init.manual_seed, *NO_SEED),
    "apply": [
        *of(lambda x: nn.init.apply(net(), x), "uniform", 3, lambda *_: np.zeros(7), lambda *_: "a"),
        *of(lambda x: net().initialize(seed=x), *NO_SEED[:-2]),
    ],
    "pytorch_default": of(lambda x: net().freeze(x), None, 3, "9.*", ""),  # it takes nothing; a name does
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_bad_numbers_of_optimisers(name):
    for call, value in OPTIMIZERS[name] + of(getattr(optim, name), None, [], 3, "w", net(), [1.0], [None]):
        with pytest.raises(sv.ScalarvizError):
            call(value)


@pytest.mark.parametrize("name", INITIALISERS)
def test_bad_numbers_of_initialisers(name):
    for call, value in INITIALISERS[name]:
        with pytest.raises(sv.ScalarvizError):
            call(value)
