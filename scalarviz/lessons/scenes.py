"""The live scenes of the lessons: `SCENES` has a function for each, which takes the seed of the first weights.

Without a seed, a scene has the numbers of its lesson's text.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..check.answers import Bump
from ..nn import BatchNorm1d, BCELoss, Linear, Module, MSELoss, Network, ReLU, Sequential, Sigmoid, Tanh, init
from ..optim import SGD, Adam
from ..run import Moment, Run, Scene, Story
from ..run.panels import Axis, ColourCube, GraphPanel, LossCurve, LossOver, PlaneMap, Points, TrainingLoop
from ..scalar import Value, Weight

Floats = NDArray[np.float64]
EXACT: Any = {"engine": "numpy", "dtype": "float64"}
BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR = np.array([[0.0], [1.0], [1.0], [0.0]])
SLOW = SimpleNamespace(steps=80)
"""Options of a scene with a few weights: so few steps that each of the first is seen."""
SCENES: dict[str, Callable[..., Scene]] = {}
"""The function of each lesson, by the lesson's number."""


def of_lesson(number: str) -> Callable[[Callable[..., Scene]], Callable[..., Scene]]:
    """Enter a function into `SCENES`."""
    return lambda make: SCENES.setdefault(number, make)


@of_lesson("01")
def one_weight(seed: int | None = None) -> Scene:
    """Return one weight and one sample: its product with 2 should become 4. The loss stands over the weight."""
    net, x, y = Linear(1, 1, bias=False, seed=seed or 0), np.array([2.0]), np.array([4.0])
    if seed is None:
        net.weight.data = [[-3.0]]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.05), data=(x[None], y[None]), **EXACT)
    panels = LossOver((0,), ("w",), ((-4.0, 8.0),)), TrainingLoop((0,), ("w",))
    story = Story("Its product with 2 should become 4.")
    return Scene("weight", run, x, y, ("x",), ("y",), panels, story=story, options=SLOW)


@of_lesson("01b")
def neuron(seed: int | None = None) -> Scene:
    """Return a neuron: three weights and a bias, one sample."""
    net, x, y = Sequential(Linear(3, 1, seed=seed or 0), Sigmoid()), np.array([0.9, 0.5, 0.1]), np.array([0.1])
    if seed is None:
        net.load_state_dict({"0.weight": [[0.8, -0.4, 0.3]], "0.bias": [0.2]})
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=1.0), data=(x[None], y[None]), **EXACT)
    story = Story("The output should become 0.1.")
    return Scene("neuron", run, x, y, ("x0", "x1", "x2"), ("out",), (LossCurve(),), story=story, options=SLOW)


def inverting(seed: int) -> Network:
    """Return three perceptrons with twelve numbers between 0 and 1."""
    net = Network(3, 3, activation=Sigmoid(), loss=MSELoss())
    net.initialize(init.uniform(0, 1), seed=seed)
    return net


OPPOSITE = Story("They should turn every colour into its opposite.")


@of_lesson("02")
def rgb_by_hand(seed: int = 0) -> Scene:
    """Return RGB by hand: three perceptrons learn to invert 216 colours."""
    net, levels, orange = inverting(seed), np.linspace(0, 1, 6), np.array([0.9, 0.5, 0.1])
    colours = np.array([[r, g, b] for r in levels for g in levels for b in levels])
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.5), data=(colours, 1 - colours), engine="numpy")
    panels = ColourCube(colours, 1 - colours), LossCurve()
    return Scene("invert", run, orange, 1 - orange, tuple("rgb"), tuple("rgb"), panels, story=OPPOSITE)


@of_lesson("03")
def hidden_layer(seed: int = 0) -> Scene:
    """Return the scene ``xor``. With ``--activation sigmoid`` many seeds get stuck, which the lesson discusses."""
    return _scene_file("xor", seed=seed, cells=20)


def _scene_file(name: str, **options: Any) -> Scene:
    file: Any = import_module(f"scalarviz.scenes.{name}")
    found: Scene = file.build(file.Options(**options))
    return found


class Diamond(Module):
    """One weight that is used twice; its sum is used twice again."""

    def __init__(self, start: float) -> None:
        self.a = Weight(start, name="a")

    def forward(self, x: object) -> Value:
        """Return four times the weight. A Run needs an input; it is ignored."""
        b = self.a + self.a
        return b + b


def graph_at(moment: Moment) -> Value:
    """Return the graph with the numbers of a moment, and its gradients."""
    a = Value(float(moment.frame.values[0]), label="a")
    b = a + a
    b.label = "b"
    c = b + b
    c.label = "c"
    loss = (c - 6.0) ** 2
    loss.backward()
    return loss


@of_lesson("04")
def order_of_backward(seed: int = 0) -> Scene:
    """Return ``b = a + a``, ``c = b + b``: the weight begins between -1 and 1, and should end at 1.5."""
    model, x, y = Diamond(-1 + 2 * float(rng.uniform(seed, rng.Stream.WEIGHTS, 0, 1)[0])), np.ones(1), np.array([6.0])
    run = Run(model, MSELoss(), SGD(model.parameters(), lr=0.005), data=(x[None], y[None]), engine="numpy")
    panels = GraphPanel("c = b + b, b = a + a", graph_at, place="above"), LossCurve()
    story = Story("Four times the weight should be 6.")
    return Scene("diamond", run, x, y, ("one",), ("c",), panels, story=story, options=SLOW)


@of_lesson("05")
def line(seed: int = 0) -> Scene:
    """Return a line through three points, whose gradients are added up. The weight should end at 2, the bias at 1."""
    net, points, wanted = Linear(1, 1, seed=seed), np.array([[-1.0], [0.0], [1.0]]), np.array([[-1.0], [1.0], [3.0]])
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.1), data=(points, wanted), engine="numpy")
    story = Story("A line should go through three points.")
    return Scene("line", run, points[2], wanted[2], ("x",), ("y",), (LossCurve(),), story=story, options=SLOW)


@of_lesson("06")
def chain_rule(seed: int | None = None) -> Scene:
    """Return two inputs, two hidden units, one output: nine parameters whose steps can be opened."""
    net = Sequential(Linear(2, 2, seed=seed or 0), Tanh(), Linear(2, 1, seed=(seed or 0) + 1))
    if seed is None:
        net[0].weight.data, net[0].bias.data = [[0.5, -1.0], [1.5, 0.5]], [0.1, -0.2]
        net[2].weight.data, net[2].bias.data = [[2.0, -0.5]], [0.3]
    x, y = np.array([1.0, 0.5]), np.array([1.0])
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.1), data=(x[None], y[None]), **EXACT)
    story = Story("The output should become 1.")
    return Scene("chain", run, x, y, ("x0", "x1"), ("out",), (LossCurve(),), story=story)


@of_lesson("07")
def why(seed: int = 0) -> Scene:
    """Return six colours, so that a gradient can be split by samples, and three perceptrons that invert them."""
    net, colours = inverting(seed), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]], float)
    sgd = SGD(net.parameters(), lr=0.5, momentum=0.5)
    run = Run(net, MSELoss(), sgd, data=(colours, 1 - colours), **EXACT)
    return Scene("why", run, colours[0], 1 - colours[0], tuple("rgb"), tuple("rgb"), (LossCurve(),), story=OPPOSITE)


LR = 0.1
EQUAL = {
    "0.weight": np.full((4, 2), 0.5),
    "0.bias": np.zeros(4),
    "2.weight": np.full((1, 4), 0.5),
    "2.bias": np.zeros(1),
}
TROUBLES: tuple[tuple[type[Module], bool, dict[str, Floats], float], ...] = (
    (Tanh, True, EQUAL, LR),  # all weights of a layer start equal
    (Tanh, True, {}, 100 * LR),  # the learning rate is a hundred times too large
    (ReLU, True, {"0.bias": np.full(4, -5.0)}, LR),  # all ReLUs are dead
    (Sigmoid, True, {"0.bias": np.full(4, 30.0)}, LR),  # all sigmoids are saturated
    (Tanh, False, {}, LR),  # without biases the output for (0, 0) is always 0, but the target is 1
    (Tanh, True, {}, LR),  # without a fault
)
"""The activation, whether there are biases, numbers to start from, and the rate. The seed modulo 6 selects a row."""


@of_lesson("08")
def nothing_learns(seed: int = 0) -> Scene:
    """Return exclusive or that may never be learnt, as the network has one fault; pupils find out why."""
    activation, bias, numbers, rate = TROUBLES[seed % len(TROUBLES)]
    net = Sequential(Linear(2, 4, bias, seed=seed), activation(), Linear(4, 1, bias, seed=seed + 100))
    net.load_state_dict(numbers, strict=False)
    wanted = XOR if bias else 1 - XOR
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=rate), data=(BITS, wanted), engine="numpy")
    story = Story("The four answers should become right. Do they?")
    return Scene("trouble", run, BITS[1], wanted[1], ("a", "b"), ("out",), (LossCurve(),), story=story)


@of_lesson("09")
def gradcheck(seed: int = 0) -> Scene:
    """Return two inputs, three ReLUs, two tanh, one output: the gradient of eight samples of a saddle has kinks."""
    net = Sequential(Linear(2, 3, seed=seed), ReLU(), Linear(3, 2, seed=seed + 1), Tanh(), Linear(2, 1, seed=seed + 2))
    points = 2 * rng.uniform(seed, rng.Stream.WEIGHTS, 9, 16).reshape(8, 2) - 1
    data = points, points[:, :1] * points[:, 1:]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.1), data=data, **EXACT)
    story = Story("The output should be the product of the inputs.")
    first = np.asarray(points[0]), np.asarray(data[1][0])
    return Scene("gradcheck", run, *first, ("x", "y"), ("out",), (LossCurve(),), story=story)


@of_lesson("10")
def own_operation(seed: int = 0) -> Scene:
    """Return six bell curves that learn two hills."""
    net, xs = Sequential(Linear(1, 6, seed=seed), Bump(), Linear(6, 1, seed=seed + 1)), np.linspace(-2, 2, 41)[:, None]
    wanted = np.exp(-4 * (xs - 1) ** 2) + 0.6 * np.exp(-4 * (xs + 1) ** 2)
    run = Run(net, MSELoss(), Adam(net.parameters(), lr=0.03), data=(xs, wanted), engine="numpy")
    story = Story("The output should be two hills.")
    return Scene("bells", run, xs[30], wanted[30], ("x",), ("out",), (LossCurve(),), story=story)


@of_lesson("11")
def from_neuron_to_gpt(seed: int = 0) -> Scene:
    """Return the scene ``microgpt``: 4,192 weights learn to write given names."""
    return _scene_file("microgpt", seed=seed)


class Square(Module):
    """The square of each number."""

    def forward(self, x: Any) -> Any:
        """Return each number times itself."""
        return x * x


@of_lesson("12")
def own_value(seed: int | None = None) -> Scene:
    """Return exclusive or with only sums and products: one unit with three parameters."""
    net = Sequential(Linear(2, 1, seed=seed or 0), Square())
    if seed is None:
        net.load_state_dict({"0.weight": [[0.9, -0.4]], "0.bias": [0.3]})
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.08), data=(BITS, XOR), **EXACT)
    corners, points = (Axis("x", -0.2, 1.2), Axis("y", -0.2, 1.2)), Points(BITS, XOR[:, 0])
    plane = PlaneMap("output", *corners, span=(0, 1), says=("0", "1"), cells=24, points=lambda _: points)
    story = Story("One unit should learn exclusive or.")
    return Scene("square", run, BITS[1], XOR[1], ("x", "y"), ("out",), (plane,), story=story)


STARTS = (
    (init.kaiming_uniform(), False),
    (init.normal(0, 0.1), False),  # too small
    (init.normal(0, 2), False),  # too large
    (init.normal(0, 0.1), True),
)
"""The initialiser of lesson 13, and whether each layer has a batch norm. The seed modulo 4 selects a row."""


@of_lesson("13")
def deep_circle(seed: int = 0) -> Scene:
    """Return six hidden layers that learn where a circle is. How the weights begin decides whether they do."""
    start, norm = STARTS[seed % len(STARTS)]
    parts: list[Module] = []
    for inputs in (2, 8, 8, 8, 8, 8):
        parts += [Linear(inputs, 8), *([BatchNorm1d(8)] if norm else []), ReLU()]
    net = Sequential(*parts, Linear(8, 1), Sigmoid())
    net.initialize(start, seed=seed)
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (96, 2))
    inside = np.where((points**2).sum(axis=1) < 1.2, 1.0, 0.0)[:, None]
    run = Run(net, BCELoss(), SGD(net.parameters(), lr=0.1), data=(points, inside), engine="numpy")
    corners, dots = (Axis("x", -1.5, 1.5), Axis("y", -1.5, 1.5)), Points(points, inside[:, 0])
    plane = PlaneMap("output", *corners, span=(0, 1), says=("outside", "inside"), cells=30, points=lambda _: dots)
    story = Story("The map should show a circle. Does it?")
    return Scene("circle", run, points[0], inside[0], ("x", "y"), ("inside",), (plane, LossCurve()), story=story)


@of_lesson("14")
def long_valley(seed: int | None = None) -> Scene:
    """Return two weights in a long valley: the second input is ten times as large as the first. Momentum trains."""
    net, x, y = Linear(2, 1, bias=False), np.array([[1.0, 0.0], [0.0, 10.0]]), np.zeros((2, 1))
    across, up = rng.uniform(seed or 0, rng.Stream.WEIGHTS, 0, 2).tolist()
    net.weight.data = [[-4.0, 0.5]] if seed is None else [[-4.5 + across, 0.3 + 0.3 * up]]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.005, momentum=0.9), data=(x, y), **EXACT)
    panels = LossOver((0, 1), ("w0", "w1"), ((-5.0, 2.0), (-0.8, 0.8))), LossCurve()
    story = Story("Both weights should become 0.")
    return Scene("valley", run, x[1], y[1], ("x0", "x1"), ("out",), panels, story=story)
