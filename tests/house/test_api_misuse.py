"""Random calls of every public name with hostile arguments: each succeeds, or is refused by the package in words.

Anything else (an error out of NumPy or Python's insides, a warning, a state that a refused call changed) is a defect.
`make hunt` does more calls.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import random
import re
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit import hunt
from scalarviz import Value, Weight, data, io, nn, optim
from scalarviz.errors import DivergedError
from scalarviz.run import edits, panels
from scalarviz.scalar import ops

CALLS = 2500
PYTHONS = re.compile(  # what the interpreter says of a call that does not fit a signature
    r"unexpected keyword argument|positional arguments?|required (positional|keyword-only) argument"
    r"|takes no (keyword )?arguments|multiple values for|takes exactly|takes at (most|least)"
    r"|keywords must be strings|expected \d argument"
)


class Sly:
    """An object without anything that is asked for, and a bad text."""

    def __repr__(self):
        raise RuntimeError("no text")


def circle(kind=list):
    thing = kind()
    thing.append(thing) if kind is list else thing.update(a=thing)
    return thing


def deep(levels, kind=list):
    thing = 1.0
    for _ in range(levels):
        thing = kind([thing])
    return thing


NUMBERS = [
    0, 1, -1, 2, 3, 7, True, False, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**400, 10**5000, -(10**400), 0.0, -0.0,
    0.5, -0.5, 1e-320, 1e308, 1e39, float("nan"), float("inf"), -float("inf"), 1j, complex("nan"),
    decimal.Decimal("0.1"), fractions.Fraction(1, 3), decimal.Decimal("NaN"), datetime.date(2026, 1, 1),
]  # fmt: skip
TEXTS = [
    "", "a", "1", "mean", "sum", "float32", "numpy", "objects", "float16", "0.weight", "0.*", "[", "0.weight[9][9]",
    "\ud800", "x" * 5000, "\0", "exp", "weight", "dark", "nowhere/file.png", "#ff8800", b"", b"1", bytearray(b"ab"),
]  # fmt: skip
SCALARS = [np.dtype(code).type for code in "?bBhHiIlLqQefdgFD"]


def things(rng):
    """Makers of hostile arguments; called each time, so that no two calls share one."""
    shape = rng.choice([(), (0,), (1,), (2,), (3,), (6,), (0, 3), (3, 0), (1, 3), (4, 3), (4, 2), (2, 3, 4), (1,) * 5])
    dtype = rng.choice("?bBhHiIlLqQefdgFDOSUM")
    base = np.ones(shape, "M8[s]" if dtype == "M" else dtype)
    return [
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice(SCALARS)(rng.choice([0, 1])),
        lambda: base,
        lambda: base * np.nan if dtype in "efdg" else base,
        lambda: np.full(shape, rng.choice([np.inf, -np.inf, np.nan, 1e300, 1e-320])),
        lambda: np.full(shape, rng.choice([None, "a", Sly(), 10**400, Value(1.0)]), object),
        lambda: np.ma.masked_array(np.ones(shape), np.ones(shape, bool)),
        lambda: np.zeros(2, [("a", int), ("b", float)]),
        lambda: np.broadcast_to(1.0, shape),
        lambda: rng.choice([None, Ellipsis, NotImplemented, slice(None), Sly(), Sly, int, object(), np, len, abs]),
        lambda: rng.choice([[], (), {}, set(), range(3), [1.0], (1.0, 2.0), [1.0] * 3, [[1.0], [2.0, 1.0]]]),
        lambda: rng.choice([[None], ["a", "b"], [[]], [Sly()], [[1.0, None]], [1j], {1.0, 2.0}, {"a": 1}, {1: 2}]),
        lambda: rng.choice([[10**400] * 3, [float("nan")] * 3, [True, False], [Value(1.0)] * 3, [b"a"], [{}]]),
        lambda: (n for n in (1.0, 2.0, 3.0)),
        lambda: circle(rng.choice([list, dict])),
        lambda: deep(rng.choice([3, 40, 70, 3000]), rng.choice([list, tuple])),
        lambda: rng.choice([Value, Weight, nn.Linear, nn.MSELoss, optim.SGD, sv.Run]),
        lambda: rng.choice([Value(1.0), Weight(2.0), nn.Parameter([1.0, 2.0]), nn.ReLU(), nn.MSELoss()]),
        lambda: nn.Linear(3, 2),
        lambda: rng.choice([lambda *a, **k: 1.0, lambda *a: None, lambda *a, **k: a, lambda *a, **k: Value(1.0)]),
        lambda: rng.choice([Path("a.png"), Path("a.cube"), Path("."), memoryview(b"ab"), iter([1.0])]),
    ]  # fmt: skip


class World:
    """Objects to call, and all that a refused call may not change."""

    def __init__(self, folder):
        self.folder = folder
        self.net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh(), nn.Linear(2, 2, seed=2))
        self.loop = nn.Sequential(nn.Linear(3, 2, seed=1), nn.ReLU())
        self.network = nn.Network(3, 2, nn.Sigmoid(), nn.MSELoss())
        self.opt = optim.Adam(self.net.parameters(), lr=0.01)
        self.sgd = optim.SGD(self.loop.parameters(), lr=0.01, momentum=0.9)
        x = np.arange(12.0).reshape(4, 3) / 12
        self.run = sv.Run(self.net, nn.MSELoss(), self.opt, (x, x[:, :2]), batch_size=2, engine="numpy")
        self.run.step(1)
        self.weight = Weight(1.0, name="w")
        self.loop([1.0, 2.0, 3.0])

    def state(self):
        run = self.run
        kept = [*run.state_dict().values(), *run.optimizer_state().values(), *run.samples()]
        kept += [*self.loop.state_dict().values(), *self.network.state_dict().values()]
        flags = [p.frozen_flags.tobytes() for net in (self.net, self.loop, self.network) for p in net.parameters()]
        numbers = run.steps, run.batch_size, run.lr, run.engine.name, len(run.history), run.call_seconds
        own = self.weight.data, self.weight.grad, self.weight.frozen, self.weight.name, self.weight.pending()
        opts = [opt.hyperparameters() for opt in (self.opt, self.sgd)], self.sgd.steps, self.sgd.state_dict()["state"]
        return [a.tobytes() for a in kept], flags, repr((numbers, own, opts)), set(ops.TABLE), repr(self.net)


def setter(thing, name, good):
    return (lambda value: setattr(thing, name, value)), [good], {}


def taken(thing, name):
    return getattr(thing, name)


def targets(w):
    """Name to (function, good arguments, good named arguments)."""
    x, y = np.ones((4, 3)), np.ones((4, 2))
    loop, run, sgd, p = w.loop, w.run, w.sgd, w.loop[0].weight
    never = {"progress": lambda r: False}
    found = {}
    for name in (
        "abs", "cos", "exp", "log", "neg", "relu", "leaky_relu", "sigmoid", "sin", "softplus", "sqrt", "square", "tanh",
    ):  # fmt: skip
        found[f"sv.{name}"] = getattr(sv, name), [1.0], {}
        found[f"Value.{name}"] = getattr(Value(1.0), name), [], {}
    for name in ["add", "div", "maximum", "minimum", "mul", "pow", "sub"]:
        found[f"sv.{name}"] = getattr(sv, name), [1.0, Value(2.0)], {}
    for name in (
        "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "lt", "le", "gt", "ge",
    ):  # fmt: skip
        found[f"Value.__{name}__"] = getattr(Value(1.5), f"__{name}__"), [2], {}
    for name in ("clip", "where"):
        found[f"sv.{name}"] = getattr(sv, name), [Value(1.0), 0.0, 2.0], {}
    found |= {
        **{f"sv.{name}": (getattr(sv, name), [[1.0, Value(2.0)]], {}) for name in ("sum", "max", "logsumexp")},
        "sv.dot": (sv.dot, [[1.0, 2.0], [1.0, Value(1.0)], 1.0], {}),
        "sv.gradcheck": (sv.gradcheck, [Value.exp, 1.0], {"step": 1e-5, "tolerance": 1e-6}),
        "sv.record": (sv.record, [lambda v: v, 3, 0], {"loss": None, "blocks": ()}),
        "sv.register": (sv.register, ["exp", "a", "a", ("1",)], {"latex": "a"}),
        "Value": (Value, [1.0], {}), "Value.backward": (Value(1.0).backward, [1.0], {}),
        "Weight": (Weight, [1.0, "name"], {}),
        "Weight.forward": (w.weight.forward, [1.0], {}), "Weight.backward": (w.weight.backward, [1.0], {}),
        "Weight.step": (w.weight.step, [0.01], {}),
        "Weight.initialize": (w.weight.initialize, [0.0, 1.0], {"seed": 0}),
        **{f"Weight.{n}=": setter(w.weight, n, v) for n, v in
           {"data": 1.0, "grad": 1.0, "frozen": False, "requires_grad": True, "name": "w"}.items()},
        "Parameter": (nn.Parameter, [[1.0]], {}),
        **{f"Parameter.{n}=": setter(p, n, v) for n, v in
           {"data": np.ones((2, 3)), "grad": np.ones((2, 3)), "frozen": False, "requires_grad": True}.items()},
        "Parameter[]": (p.__getitem__, [(0, 1)], {}), "Parameter.weight": (p.weight, [1], {}),
        "Parameter.weight_name": (p.weight_name, [1], {}),
        "Row[]": (p[0].__getitem__, [1], {}), "Row.data=": setter(p[0], "data", [1.0] * 3),
        "Row.grad=": setter(p[0], "grad", [1.0] * 3), "Row.frozen=": setter(p[0], "frozen", False),
    }  # fmt: skip
    found |= layers(w) | modules(w)
    for name in ("uniform", "normal"):
        found[f"init.{name}"] = getattr(nn.init, name), [0.0, 1.0], {}
    for name in ("xavier_uniform", "kaiming_uniform"):
        found[f"init.{name}"] = getattr(nn.init, name), [1.0], {}
    for kind in (optim.SGD, optim.Adam, optim.AdamW):
        found[kind.__name__] = kind, [loop.parameters()], {"lr": 0.1, "weight_decay": 0.1}
    found |= {
        "Adam.betas": (lambda **k: optim.Adam(loop.parameters(), **k), [], {"betas": (0.9, 0.9), "eps": 1e-8}),
        "SGD.nesterov": (lambda **k: optim.SGD(loop.parameters(), **k), [], {"momentum": 0.9, "nesterov": True}),
        "SGD.lr=": setter(sgd, "lr", 0.1), "SGD.load": (sgd.load_state_dict, [copy.deepcopy(sgd.state_dict())], {}),
        "SGD.owns": (sgd.owns, [p, 0], {}), "SGD.held_mask": (sgd.held_mask, [p], {}),
        "init.apply": (nn.init.apply, [loop, nn.init.normal(), 0], {}),
        "init.manual_seed": (nn.init.manual_seed, [0], {}),
        "Run": (sv.Run, [loop, nn.MSELoss(), sgd, (x, y)],
                {"batch_size": 2, "seed": 0, "engine": "numpy", "dtype": "float64", "threads": 1}),
        "Run.step": (lambda *a: run.step(*a, **never), [1], {}),
        "progress": (lambda p: run.step(0, progress=p), [len], {}),
        "Run.lr=": setter(run, "lr", 0.1),
        "Run.call_seconds=": setter(run, "call_seconds", 0.05),
        "Run.predict": (run.predict, [x], {"values": None}), "Run.evaluate": (run.evaluate, [x, y], {"values": None}),
        "Run.activations": (run.activations, [x[0]], {"values": None}), "Run.frame": (run.frame, [x[0]], {}),
        "Run.set_weights": (run.set_weights, [0, [1.0]], {}), "Run.weight_name": (run.weight_name, [0], {}),
        "Run.set_targets": (run.set_targets, [y], {}), "Run.add_samples": (run.add_samples, [x, y], {}),
        "Run.refill": (run.refill, [x, y], {}), "Run.batch_size=": setter(run, "batch_size", 2),
        "Run.change": (run.change, [], {"lr": 0.1, "betas": (0.8, 0.9), "batch_size": 2, "engine": "numpy"}),
        "Run.open": (run.open, [None, 1], {"step": None}), "Run.open frame": (run.open, [run.frame()], {}),
        "Run.open sample": (run.open, [None, ([0.1] * 3, [0.2] * 2)], {}),
        "Run.why": (run.why, [0], {"step": 1}), "Run.why name": (run.why, ["0.weight[1][2]"], {}),
        "Run.compare": (run.compare, [0, 1, 5], {}), "Opened.terms": (run.open().terms, ["0.bias[1]", 10], {}),
        "Opened.update": (run.open().update, [w.net[0].weight[1][2]], {}), "Opened.name": (run.open().name, [3], {}),
        "Opened.loss_along": (run.open().loss_along, [0, 5], {}),
        "Opened.outer_products": (lambda *a, **k: list(run.open().outer_products(*a, **k)), ["0"], {"counts": [1, 2]}),
        "Run.do": (run.do, [edits.SetWeights(0, np.ones(1))], {"gesture": "g"}),
        "SetWeights": (edits.SetWeights, [0, [1.0]], {}), "AddToWeights": (edits.AddToWeights, [0, [1.0]], {}),
        "SetFrozen": (edits.SetFrozen, [0, [True]], {}), "SetEngine": (edits.SetEngine, ["numpy", "why"], {}),
        "SetOptimizer": (edits.SetOptimizer, [{"lr": 0.1}], {}), "Call": (edits.Call, [len, "what"], {}),
        "read_edit": (edits.read_edit, [edits.write_edit(edits.SetWeights(0, np.ones(1)))], {}),
        **{f"Adam.{n}=": setter(w.opt, n, v) for n, v in
           {"lr": 0.1, "betas": (0.9, 0.9), "eps": 1e-8, "weight_decay": 0.1, "weight_decy": 0.1}.items()},
        "SGD.momentum=": setter(sgd, "momentum", 0.9), "SGD.nesterov=": setter(sgd, "nesterov", True),
        "Run.adopt_engine": (run.adopt_engine, ["numpy"], {"why": "asked"}),
        "Run.load_engine": (run.load_engine, ["numpy"], {}),
        "Run.restore": (run.restore, [run.state_dict(), run.optimizer_state(), 1], {}),
        "Run.save": (run.save, [w.folder / "a.safetensors"], {"notes": {"a": "b"}}),
        "Run.load": (run.load, [w.folder / "kept.safetensors"], {"optimizer": True}),
    }  # fmt: skip
    return found | files(w) | scenes(w)


def layers(w):
    return {
        **{kind.__name__: (kind, [], {}) for kind in (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Identity)},
        "Softplus": (nn.Softplus, [2.0], {}), "LeakyReLU": (nn.LeakyReLU, [0.1], {}),
        "Linear": (nn.Linear, [3, 2], {"bias": True, "init": nn.init.normal(), "seed": 0}),
        "Perceptron": (nn.Perceptron, [3, nn.Tanh()], {"bias": True, "init": nn.init.normal(), "seed": 0}),
        "Network": (nn.Network, [3, 2, nn.Tanh(), nn.MSELoss()], {"bias": True, "init": None, "seed": 0}),
        "Conv2d": (nn.Conv2d, [1, 2, 3, 1, 1], {"bias": True, "init": None, "seed": 0}),
        "MaxPool2d": (nn.MaxPool2d, [2, 1, 1], {}), "AvgPool2d": (nn.AvgPool2d, [2, 1, 1], {}),
        "BatchNorm1d": (nn.BatchNorm1d, [3, 1e-5], {"affine": True}),
        "BatchNorm2d": (nn.BatchNorm2d, [3, 1e-5], {"affine": True}),
        "LayerNorm": (nn.LayerNorm, [3, 1e-5, True, True], {}), "Flatten": (nn.Flatten, [1, -1], {}),
        "Unflatten": (nn.Unflatten, [(1, 2, 2)], {}), "Softmax": (nn.Softmax, [-1], {}),
        "Sequential": (nn.Sequential, [nn.Tanh(), nn.ReLU()], {}),
        **{kind.__name__: (kind, ["mean"], {}) for kind in (nn.L1Loss, nn.BCELoss, nn.CrossEntropyLoss)},
        "MSELoss": (nn.MSELoss, ["mean", 0.5], {}), "HuberLoss": (nn.HuberLoss, ["sum", 1.0], {}),
        **{f"{loss!r}()": (loss, [[0.5, 0.2], [0.1, 0.9]], {}) for loss in
           (nn.L1Loss(), nn.BCELoss(), nn.MSELoss(), nn.HuberLoss(), nn.MSELoss("sum"))},
        "CrossEntropyLoss()": (nn.CrossEntropyLoss(), [[0.5, 0.2], 1], {}),
    }  # fmt: skip


def modules(w):
    picture = np.ones((1, 3, 3))
    norm = nn.BatchNorm2d(1)
    norm.eval()
    loop = w.loop
    made = [
        nn.Conv2d(1, 1, 2), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Flatten(), nn.Flatten(2), nn.ReLU(), nn.Softplus(2),
        norm, nn.LayerNorm(3),
    ]  # fmt: skip
    called = {f"{module!r}()": (module, [picture], {}) for module in made}
    return called | {
        "Linear()": (nn.Linear(3, 2), [[1.0, 2.0, 3.0]], {}), "Unflatten()": (nn.Unflatten((2, 2)), [[1.0] * 4], {}),
        "Softmax()": (nn.Softmax(), [[1.0, 2.0]], {}), "net()": (loop, [[1.0, 2.0, 3.0]], {}),
        "Perceptron()": (nn.Perceptron(3), [[1.0, 2.0, 3.0]], {}), "Network()": (w.network, [[1.0] * 3], {}),
        "perceptron()": (w.network.perceptrons[0], [[1.0] * 3], {}), "ReLU()": (nn.ReLU(), [1.0], {}),
        "perceptrons[]": (w.network.perceptrons.__getitem__, [0], {}),
        "net.backward": (loop.backward, [[1.0, 2.0]], {}), "net.freeze": (loop.freeze, ["0.*"], {}),
        "net.unfreeze": (loop.unfreeze, ["0.*"], {}), "net.initialize": (loop.initialize, [None, 0], {}),
        "net.train": (loop.train, [True], {}), "net[]": (loop.__getitem__, [0], {}),
        "net.append": (nn.Sequential().append, [nn.Tanh()], {}),
        "net.load_state_dict": (loop.load_state_dict, [loop.state_dict(), True], {}),
        "net.load one": (lambda v: loop.load_state_dict({**loop.state_dict(), "0.weight": v}), [np.ones((2, 3))], {}),
        "net.register_buffer": (nn.Sequential().register_buffer, ["kept", np.ones(2)], {}),
        "net.named_parameters": (lambda *a: list(loop.named_parameters(*a)), ["a", True], {}),
        "net.named_modules": (lambda *a: list(loop.named_modules(*a)), ["a"], {}),
        "net.named_buffers": (lambda *a: list(loop.named_buffers(*a)), ["a"], {}),
        "nn.batch_reduction": (nn.batch_reduction, [nn.MSELoss()], {}),
    }  # fmt: skip


def files(w):
    rgb, cube = np.ones((2, 2, 3)), io.sample(lambda c: c, 2)
    return {
        "load_picture": (io.load_picture, [w.folder / "a.png"], {}),
        "save_picture": (io.save_picture, [w.folder / "b.png", rgb, None], {}),
        "check_picture_name": (io.check_picture_name, [w.folder / "b.png"], {}),
        "shrink": (io.shrink, [io.Picture(rgb.astype("f")), 1], {}), "Picture": (io.Picture, [rgb, None], {}),
        "read_cube": (io.read_cube, [w.folder / "a.cube"], {}),
        "write_cube": (io.write_cube, [w.folder / "b.cube", cube], {}),
        "sample": (io.sample, [lambda c: c, 2, "t"], {}),
        "Lut": (io.Lut, [np.ones((2, 2, 2, 3)), "title", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)], {}),
        "Lut()": (cube, [rgb], {}),
        "check_lut_name": (io.check_lut_name, [w.folder / "b.cube"], {}),
        "save_tensors": (io.save_tensors, [w.folder / "b.safetensors", {"a": rgb}, {"a": "b"}], {}),
        "save one": (lambda v: io.save_tensors(w.folder / "b.safetensors", {"a": v}), [rgb], {}),
        "load_tensors": (io.load_tensors, [w.folder / "kept.safetensors"], {}),
        "read_idx": (io.read_idx, [w.folder / "a.idx", 3], {}),
        "find_idx": (io.find_idx, [w.folder, "a-idx3-ubyte"], {}),
        "check_target": (io.check_target, [w.folder / "c"], {}),
        "write_bytes": (io.write_bytes, [w.folder / "c", b"1"], {}),
        "data.target": (data.target, ["warm"], {}), "data.random_colours": (data.random_colours, [3, 0], {}),
        "data.colour_grid": (data.colour_grid, [2], {}), "data.parse_colour": (data.parse_colour, ["#ff8800"], {}),
        "data.parse_pair": (data.parse_pair, ["#ff8800:#0044cc"], {}),
        "data.hex_colour": (data.hex_colour, [rgb[0, 0]], {}),
    }  # fmt: skip


def scenes(w):
    rgb, rows = np.ones((2, 2, 3)), np.ones((4, 3))
    return {
        "Scene": (sv.Scene, ["name", w.run],
                  {"probe": rows[0], "input_names": ("r", "g", "b"), "panels": (panels.LossCurve(),), "notes": []}),
        "Pictures": (panels.Pictures, [rgb, rgb, "photo"], {}), "ColourCube": (panels.ColourCube, [rows, rows], {}),
        "TestCurve": (panels.TestCurve, ["test", rows, rows], {"accuracy": False}),
        "LossCurve": (panels.LossCurve, ["batch"], {"place": "column"}),
        "DigitBoard": (panels.DigitBoard, [np.ones((2, 4)), np.array([1, 2]), (2, 2)], {}),
        "view.render": (sv.view.render, ["hostile", (160, 160)], {"theme": "dark", "cmap": None, "quantity": "weight"}),
    }  # fmt: skip


def spoilt(args, kwargs, rng):
    """The arguments with one or two of them, or their number, changed."""
    args, kwargs = list(args), dict(kwargs)
    for _ in range(rng.choice([1, 1, 1, 2])):
        places = [*range(len(args)), *kwargs]
        what = rng.choice(things(rng))()
        change = rng.random()
        if places and change < 0.85:
            place = rng.choice(places)
            (args if isinstance(place, int) else kwargs)[place] = what
        elif change < 0.92:
            args.append(what)
        elif change < 0.96:
            kwargs[rng.choice(["inplace", "device", "banana", "\ud800"])] = what
        elif args:
            args.pop()
    return args, kwargs


def defect(error):
    """Whether an error is neither the package's own nor Python's about a signature."""
    own = isinstance(error, sv.ScalarvizError) or (type(error) is TypeError and PYTHONS.search(str(error)))
    return not own


def brief(thing):
    try:
        return " ".join(repr(thing).split())[:70]
    except Exception:
        return f"<{type(thing).__name__}>"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    w = World(tmp_path)
    w.run.save(tmp_path / "kept.safetensors")
    io.save_picture(tmp_path / "a.png", np.ones((2, 2, 3)))
    io.write_cube(tmp_path / "a.cube", io.sample(lambda c: c, 2))
    (tmp_path / "a.idx").write_bytes(bytes([0, 0, 8, 3, *[0, 0, 0, 1] * 3, 7]))
    return tmp_path


@pytest.mark.ci
def test_every_call_succeeds_or_is_refused_in_words(folder):
    call_at_random(folder, 0)


@pytest.mark.hunt
def test_no_other_call_has_another_end(folder):
    for seed in hunt.seeds():
        call_at_random(folder, seed)


def call_at_random(folder, seed):
    rng = random.Random(seed)
    found, slow, count = {}, Counter(), Counter()
    w = World(folder)
    names = sorted(targets(w))
    for k in range(CALLS):
        if k % 40 == 0:
            w = World(folder)
            calls = targets(w)
            before = w.state()
        name = names[k % len(names)]
        function, args, kwargs = calls[name]
        args, kwargs = spoilt(args, kwargs, rng)
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                function(*args, **kwargs)
            count["done"] += 1
            before = w.state()
        except Exception as error:
            count["refused"] += 1
            text = f"{name}({', '.join(map(brief, args))}, {brief(kwargs)})"
            if defect(error):
                found.setdefault((name, type(error).__name__), f"{text}: {brief(error)}")
            elif w.state() != before and not isinstance(error, DivergedError):  # of weights that an edit made NaN
                found.setdefault((name, "changed"), f"{text}: refused, but changed something ({error!r:.100})")
            elif len(str(error)) > 1500:
                found.setdefault((name, "long"), f"{text}: a message of {len(str(error))} characters")
            before = w.state()
        slow[name] += time.perf_counter() - start
    print(count, slow.most_common(8))
    assert not found, f"{len(found)} defects\n" + "\n".join(found.values())
