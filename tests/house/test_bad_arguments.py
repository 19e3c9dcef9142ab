"""One table of bad values for everything that ``import scalarviz`` offers: each is refused by name, none by accident.

Calls that random ones found stand at the end. The layers have a table of their own in ``tests/nn``, the flags of the
command line in ``tests/cli``.
"""

from __future__ import annotations

import math
from functools import partial
from types import ModuleType

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, TypeMismatchError
from scalarviz.run.panels import Axis, Features, LossCurve, NeuronMaps, PlaneMap, PointEdits, Points

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


# ---- panels that describe pictures of a plane


def plane(**change):
    given = {"title": "a", "across": Axis("x", 0.0, 1.0), "up": Axis("y", 0.0, 1.0)}
    return PlaneMap(**{**given, **change})


def neurons(**change):
    return NeuronMaps(**{"across": Axis("x", 0.0, 1.0), "up": Axis("y", 0.0, 1.0), **change})


def features(**change):
    given = {"names": ("a", "b"), "across": Axis("x", 0.0, 1.0), "up": Axis("y", 0.0, 1.0), "values": len, "on": len}
    return Features(**{**given, **change})


PANELS = {
    "NeuronMaps": [
        *of(lambda x: neurons(across=x), None, (0.0, 1.0), "x"),
        *of(lambda x: neurons(up=x), None, (0.0, 1.0), "y"),
        *of(lambda x: neurons(inputs=x), None, X, "itself"),
        *of(lambda x: neurons(place=x), None, "column", "overlay", 3),
        *of(lambda x: neurons(change=x), (4, 2), "change", 3),
    ],
    "Features": [
        *of(lambda x: features(names=x), None, "ab", (), ("a", "a"), (1, 2)),
        *of(lambda x: features(across=x), None, (0.0, 1.0), "x"),
        *of(lambda x: features(up=x), None, (0.0, 1.0), "y"),
        *of(lambda x: features(values=x), None, X, "values"),
        *of(lambda x: features(on=x), None, (True, False), "on"),
        *of(lambda x: features(rows=x), (0, 1), "rows", 3),
        *of(lambda x: features(change=x), "change", 3),
        *of(lambda x: features(place=x), None, "column", "left"),
    ],
    "PlaneMap": [
        *of(lambda x: plane(title=x), None, 3, b"a"),
        *of(lambda x: plane(across=x), None, (0.0, 1.0), "x"),
        *of(lambda x: plane(up=x), None, (0.0, 1.0), "y"),
        *of(lambda x: plane(inputs=x), None, X, "itself"),
        *of(lambda x: plane(output=x), None, -1, 0.5, "0", True),
        *of(lambda x: plane(span=x), None, 1.0, (1.0, 0.0), (0.0,), (0.0, math.nan), (0.0, math.inf), "01", (0, 1, 2)),
        *of(lambda x: plane(says=x), None, "ab", ("a",), ("a", 2), ("a", "b", "c")),
        *of(lambda x: plane(cells=x), 0, -1, 1.5, "8", 10_000, True),
        *of(lambda x: plane(points=x), X, "points", 3),
        *of(lambda x: plane(classes=x), None, "ab", ("a",), tuple("abcdefghi"), (1, 2)),
        *of(lambda x: plane(edits=x), print, "add", (print, print)),
        *of(lambda x: plane(place=x), None, "left", 3),
        *of(lambda x: Axis(x, 0.0, 1.0), None, 3),
        *of(lambda x: Axis("x", x, 1.0), None, "0", 1.0, 2.0, math.nan, -math.inf),
        *of(lambda x: Axis("x", 0.0, 1.0, x), 1.0, (1.0, 1.0), ("a", "b"), (0.0, math.inf)),
        *of(lambda x: Points(x, np.zeros(4)), None, "a", np.zeros(4), np.zeros((4, 3)), np.zeros((3, 2)), X * 1j),
        *of(lambda x: Points(np.zeros((4, 2)), x), None, "a", np.zeros(3), np.zeros((4, 1))),
        *of(lambda x: Points(np.zeros((4, 2)), np.zeros(4), x), np.zeros(4), [True], "a", np.zeros((4, 1), bool)),
        *of(lambda x: PointEdits(x, print), None, 3, "add"),
        *of(lambda x: PointEdits(print, x), None, 3, "remove"),
    ],
}


@pytest.mark.parametrize("name", PANELS)
def test_bad_values_for_panels_of_a_plane(name):
    for call, value in PANELS[name]:
        with pytest.raises(sv.ScalarvizError) as caught:
            call(value)
        assert len(str(caught.value)) > 20, value


def test_what_panels_allow_is_taken():
    assert plane(classes=("a", "b"), cells=8, span=(-1, 1), edits=PointEdits(print, print)).cells == 8
    assert Axis("x", -1.0, 1.0, (0.0, 50.0)).units(0.0) == 25.0
    assert Axis("x", -1.0, 3.0).units(2.0) == 2.0
    points = Points(np.zeros((0, 2)), np.zeros(0))
    assert not len(points.back)


# ---- found by random calls


HUGE = 10**400


def circle():
    rows = [1.0]
    rows.append(rows)
    return rows


def parameter():
    return nn.Parameter([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def groups():
    rules = [{"params": [Weight(1.0)]}, {"params": [Weight(2.0)], "lr": 0.2}]
    return optim.SGD(rules, lr=0.1).param_groups


def set_group(name):
    groups()[0][name] = 0.1


def in_place(p, other):
    with sv.no_grad():
        p -= other


CALLS = {
    "a list that holds itself, added": lambda: parameter() + circle(),
    "a list that holds itself, multiplied": lambda: parameter()[:, [0, 2]] * circle(),
    "a list that holds itself, in a product": lambda: parameter() @ circle(),
    "a list that holds itself, in place": lambda: in_place(parameter(), circle()),
    "ids that hold themselves": lambda: sv.gather(parameter(), circle()),
    "an index that holds itself": lambda: parameter()[circle()],
    "an index of Values that holds itself": lambda: parameter()[:, [0, 2]][circle()],
    "an index of Values beyond": lambda: parameter()[:, [0, 2]][9],
    "an index of Values that is huge": lambda: parameter()[:, [0, 2]][2**63],
    "an index of Values that is a text": lambda: parameter()[:, [0, 2]]["a"],
    "a class that no float holds": lambda: nn.CrossEntropyLoss()([1.0, 2.0], HUGE),
    "a class below all": lambda: nn.NLLLoss()([1.0, 2.0], -HUGE),
    "a class that is a list": lambda: nn.NLLLoss()([1.0, 2.0], [[]]),
    "a class in two lists": lambda: nn.MultiMarginLoss()([1.0, 2.0], [[1, 0]]),
    "outputs without a length": lambda: nn.CrossEntropyLoss()(np.array(1.0), 0),
    "weights that no float holds": lambda: nn.CrossEntropyLoss([HUGE, 1]),
    "a power that is an array": lambda: nn.MultiMarginLoss(np.ones(2)),
    "a list as a group's number": lambda: groups()[0][["lr"]],
    "an array as a group's number": lambda: groups()[0][np.array(["lr", "lr"])],
    "a set as a group's number": lambda: set_group({"lr"}),
    "a sample's number that is a list": lambda: run().sample([0, 1]),
    "a sample's number that is none": lambda: run().sample(True),
    "a sample that there is not": lambda: run().sample(4),
    "a branch that there is not": lambda: run().switch(10**5000),
    "a pace that is none": lambda: run().restore(run().state_dict(), {}, 1, (0.1, None, None)),
    "an operation that is a list": lambda: sv.scalar.function(["exp"]),
    "a probability set to 5": lambda: setattr(nn.Dropout(), "p", 5),
    "a probability set to an array": lambda: setattr(nn.Dropout(), "p", np.ones(2)),
    "a clipping length that is infinite": lambda: run(clip_norm=math.inf),
    "an array as last_epoch": lambda: optim.lr_scheduler.StepLR(optim.SGD([Weight(1.0)]), 2, last_epoch=np.zeros(2)),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_call_that_random_ones_found_is_refused_in_one_line(what):
    with pytest.raises(sv.ScalarvizError) as caught:
        CALLS[what]()
    assert 10 < len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@refusals({
    "a class as the model": (lambda: run(model=nn.Linear), TypeMismatchError, "model", "class Linear"),
    "a class as the loss": (lambda: run(loss=nn.MSELoss), TypeMismatchError, "loss", "MSELoss()"),
    "a text as the loss": (lambda: run(loss="mse"), TypeMismatchError, "loss", "function of Values", "str"),
    "a clipping length of 0": (lambda: run(clip_norm=0), InputError, "clip_norm", "above 0", "None"),
    "a sample below the first": (lambda: run().sample(-5), OutOfRangeError, -5, 4),
    "a pace that is a number": (lambda: run().restore(run().state_dict(), {}, 1, 0.1), TypeMismatchError, "pace"),
    "an index of Values beyond its shape": (lambda: parameter()[:, [0, 2]][2], IndexError, "(2, 2)", 2),
})  # fmt: skip
def test_a_refusal_says_what_is_allowed(refusal):
    refusal.check()


def test_a_probability_that_is_set_counts_from_the_next_call_on():
    dropout = nn.Dropout(0.5)
    dropout.p = 1
    assert [v.data for v in dropout([Value(1.0), 2.0])] == [0.0, 0.0]
    dropout.p = 0
    assert repr(dropout) == "Dropout(p=0, inplace=False)"
    assert [float(v) for v in dropout([1.0, 2.0])] == [1.0, 2.0]


@pytest.mark.filterwarnings("error")
def test_an_infinity_is_a_result_of_arrays_too():
    big = nn.Parameter([1e300, 2.0])
    assert (big * 1e300).data.tolist() == [math.inf, 2e300]
    assert (big**9999).data.tolist() == [math.inf, math.inf]
    np.testing.assert_array_equal((big[::-1] - math.inf).data, [-math.inf] * 2)
